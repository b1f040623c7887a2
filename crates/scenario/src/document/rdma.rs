//! `kind = "rdma"` of `[host.transport]`.

use super::{Duration, Off, Or, Size};
use crate::tree::{Key, Wrong};
use afflux_config::tagged;
use afflux_config::words;
use afflux_net::congestion::rate;
use afflux_net::congestion::rate::RdmaCongestion;
use afflux_net::spec::RateControl;
use afflux_units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The table of RDMA, with a table of parameters for each congestion control.
macro_rules! rdma {
    ($($(#[$doc:meta])* $module:ident $name:ident($config:ident): $machine:ty;)+) => {
            /// RDMA over converged Ethernet: a queue pair per flow, whose frames the NIC makes when its transmitter is free.
            #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(deny_unknown_fields)]
            pub struct Rdma {
                /// How losses are avoided or repaired. Default `"lossless"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub mode: Option<RdmaMode>,
                /// What sets the rate; all start at the NIC's. Default `"dcqcn"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub congestion: Option<RdmaCongestion>,
                /// Payload of a full frame. Default: `mtu` less the profile's headers (1000 B for `"ns3rdma"`).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub payload: Option<Size>,
                /// Bytes that may be unacknowledged, with go-back-N; IRN has `bdp`, Swift and HPCC their own. Default `"none"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub window: Option<RdmaWindow>,
                /// Their number. Default: rate of the NIC times idle round trip of the flow's path.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub window_size: Option<Size>,
                /// How receivers tell of marks. Default: as the DCQCN parameters say, otherwise `"ack"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub cnp: Option<Cnp>,
                /// With `cnp = "packet"`: least time between two of a flow. Default `"50us"` (the paper of DCQCN); newer NVIDIA adapters have 4 us.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub cnp_interval: Option<Duration>,
                /// What the hash of frames comes from, by which switches choose paths; needs `cnp = "ack"` unless it is the flow. Default `"flow"`.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                #[schemars(schema_with = "afflux_config::name_or_table::<Entropy>")]
                pub entropy: Option<Entropy>,
                /// A frame out of order is notified of as a marked one is. Default `false`; `true` with `run.compat = "conweave-ns3"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub cnp_out_of_order: Option<bool>,
                /// The same gap (go-back-N), or the same block beyond it (IRN), is not answered negatively again before. Default `"4us"` (ConWeave's ns-3).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub nack_interval: Option<Duration>,
                /// Time-out of go-back-N, from the last frame sent or acknowledgement. Default `"4ms"` (ConWeave's ns-3).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub rto: Option<Duration>,
                /// Time-out of IRN with few frames in flight. Default `"100us"` (the paper of IRN).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub rto_low: Option<Duration>,
                /// With more. Default `"320us"` (the paper of IRN).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub rto_high: Option<Duration>,
                /// How many are few. Default 3 (the paper of IRN).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub rto_low_frames: Option<u32>,
                /// Bytes that IRN may have in flight. Default: rate of the NIC times idle round trip of the flow's path.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub bdp: Option<Size>,
                /// Priority of acknowledgements and notifications, 0 to 7. Default: that of the flow. NICs send them before data in any case.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub ack_priority: Option<u8>,
                $(
                    #[doc = concat!("Parameters of `congestion = \"", stringify!($module), "\"`.")]
                    #[serde(skip_serializing_if = "Option::is_none")]
                    pub $module: Option<rate::$module::Keys>,
                )+
            }

            impl Rdma {
                /// The congestion controls whose parameters are written.
                pub fn controls(&self) -> Vec<RdmaCongestion> {
                    [$((RdmaCongestion::$name, self.$module.is_some())),+].into_iter().filter(|(_, given)| *given).map(|(control, _)| control).collect()
                }

                /// Checks the parameters of `control`; `nic` is the rate of the first host's link.
                pub fn control(&mut self, control: RdmaCongestion, nic: Rate, key: &Key) -> Result<RateControl, Wrong> {
                    match control {
                        RdmaCongestion::None => Ok(RateControl::None),
                        $(RdmaCongestion::$name => {
                            let table = self.$module.get_or_insert_default();
                            table.resolve(&key.clone().name(control.name()), nic).map(RateControl::$name)
                        })+
                    }
                }
            }
    };
}
afflux_net::rate_controls!(rdma);

tagged! {
    /// What the hash of frames comes from: a name, or a table with `kind` and parameters.
    pub enum Entropy, default "kind" {
        /// The flow: one path for all of its frames.
        "flow" => OfFlow,
        /// Each frame its own; those of frames that came unmarked are used again (REPS).
        "reps" => Reps,
    }
}

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfFlow {}

/// Recycled entropies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reps {
    /// Entropies that a sender keeps, 1 to 255. Default 8 (uet-htsim).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<u8>,
    /// After a time-out those kept are used in turn for so long, or `"off"`. Default `"off"`: uet-htsim freezes for 10 ms where switches trim, so that a
    /// time-out means a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<Or<Off, Duration>>,
    /// Frames that draw theirs after that. Default 16 (uet-htsim).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explore: Option<u8>,
}

words! {
    /// How losses are avoided or repaired.
    pub enum RdmaMode {
        /// Switches pause (`switch.pfc`); go-back-N for what is lost all the same.
        Lossless,
        /// IRN: selective repeat, without flow control.
        Irn,
        /// IRN over switches that pause; without time-outs, as in ConWeave's ns-3.
        IrnPfc,
        /// Go-back-N without flow control.
        GbnNoPfc,
        /// Switches obey pauses of hosts (`switch.honours_pause`) but send none; go-back-N.
        SemiLossless,
    }
    /// Bytes that may be unacknowledged.
    pub enum RdmaWindow {
        /// Any number.
        None,
        /// Always the same.
        Fixed,
        /// In proportion to the rate.
        Scaled,
    }
    /// How receivers tell of marks.
    pub enum Cnp {
        /// By a bit in the acknowledgement (the simulators).
        Ack,
        /// By a frame of its own, at most one per flow in `cnp_interval` (adapters).
        Packet,
    }
}
