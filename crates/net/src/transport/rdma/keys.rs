//! Settings of the RDMA transport.

use super::reps::RepsKeys;
use crate::congestion::rate::{self, RateParameters, RdmaCongestion};
use crate::spec::{self, Compat, Irn, Pauses, RateControl, RdmaConfig, RdmaRecovery};
use crate::transport::key_context::{KeyContext, priority};
use afflux_config::keys::{at_most_a_second, fill, meaningless, up_to_a_second};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Off, Or, Size, keys, tagged, words};
use afflux_units::{Rate, Span};

words! {
    /// Method to avoid or repair losses.
    pub enum RdmaMode {
        /// Switches pause (`switch.pfc`). Go-back-N repairs losses that happen nevertheless.
        Lossless,
        /// IRN: selective repeat, without flow control.
        Irn,
        /// IRN over switches that pause. As in ConWeave's ns-3, the only time-out is a long one, so
        /// that a pause does not look like a loss.
        IrnPfc,
        /// Go-back-N without flow control.
        GbnNoPfc,
        /// Switches obey pauses of hosts (`switch.honours_pause`) but send none. Go-back-N repairs
        /// losses.
        SemiLossless,
    }
    /// Limit of unacknowledged bytes.
    pub enum RdmaWindow {
        /// No limit.
        None,
        /// Constant limit.
        Fixed,
        /// Limit in proportion to the rate.
        Scaled,
    }
    /// Method by which receivers report marks.
    pub enum Cnp {
        /// A bit in the acknowledgement (as in simulators).
        Ack,
        /// A separate frame, at most one per flow in `cnp_interval` (as adapters do).
        Packet,
    }
}

/// Defines the RDMA keys, with a table of parameters for each congestion control.
macro_rules! rdma {
    ($($(#[$doc:meta])* $module:ident $name:ident($config:ident): $machine:ty;)+) => {
        keys! {
            /// RDMA over converged Ethernet: one queue pair per flow. The NIC makes a frame when
            /// its transmitter is free.
            pub struct Keys as "Rdma" => Settings(context: &KeyContext<'_>) {
                /// Method to avoid or repair losses.
                mode: RdmaMode = "lossless";
                /// Congestion control, which sets the rate. All flows start at the rate of the NIC.
                congestion: RdmaCongestion = "dcqcn";
                /// Payload of a full frame.
                payload: Size as u16 = (context.full()) "`mtu` less the profile's headers (1000 B for `\"ns3rdma\"`)", check |size, at| context.payload(size, at);
                /// Limit of unacknowledged bytes with go-back-N. IRN has `bdp` instead, and Swift
                /// and HPCC have their own windows.
                window: RdmaWindow = {mode.goes_back().then_some(RdmaWindow::None)} "`\"none\"`", check |window, at| match window {
                    _ if !mode.goes_back() => Err(meaningless(at, "IRN")),
                    RdmaWindow::Fixed | RdmaWindow::Scaled if own_window(congestion).is_some() => {
                        let names: Vec<&str> = RdmaCongestion::ALL.iter().copied().filter_map(own_window).collect();
                        Err(Wrong::at(at, format!("{} have their own windows: remove it", names.join(" and "))))
                    }
                    window => Ok(window),
                };
                /// Size of the window. Default: rate of the NIC times idle round trip of the flow's
                /// path.
                window_size: Size as Option<u64> = none, check |bytes, at| match window {
                    None => Err(meaningless(at, "IRN")),
                    Some(RdmaWindow::None) => size(bytes, payload, at.clone()).and(Err(Wrong::at(at, "needs window = \"fixed\" or \"scaled\""))),
                    Some(_) => size(bytes, payload, at),
                };
                /// Method by which receivers report marks. Default: `"packet"` where
                /// `dcqcn.parameters` is `"paper"`, `"zhu"` or `"nvidia"`, otherwise `"ack"`.
                cnp: Cnp = none;
                /// With `cnp = "packet"`: smallest time between two notifications of a flow.
                /// Default `"50us"` (the paper of DCQCN). Newer NVIDIA adapters have 4 us.
                cnp_interval: Duration = none;
                /// With `cnp = "packet"`: delay in the receiver's NIC between a marked frame and
                /// its notification. Default `"0ns"`. A laboratory with 100G adapters came near its
                /// measurements with 55 us.
                cnp_delay: Duration = none;
                /// Source of the hash by which switches choose the path of a frame. `"reps"` needs
                /// `cnp = "ack"`.
                #[schemars(schema_with = "afflux_config::name_or_table::<Entropy>")]
                entropy: Entropy as Entropy = (Entropy::Flow(FlowKeys::default())) "`\"flow\"`", check |entropy, _| Ok(entropy);
                /// A frame out of order causes a congestion notification, like a marked one.
                cnp_out_of_order: bool = (context.compat == Some(Compat::ConweaveNs3)) "`false`; `true` with `run.compat = \"conweave-ns3\"`";
                /// Smallest time between two negative acknowledgements of the same gap (go-back-N),
                /// or of the same block beyond it (IRN).
                nack_interval: Duration = "4us" from "ConWeave's ns-3", check at_most_a_second;
                /// Time-out of go-back-N and of `irn_pfc`, from the last frame sent or
                /// acknowledgement. With `irn_pfc` it may be `"off"` (the paper of IRN). A flow
                /// whose last frames are lost then never ends.
                rto: Or<Off, Duration> = {(mode != RdmaMode::Irn).then_some(if mode == RdmaMode::IrnPfc && context.compat.is_some() {
                    Or::NONE
                } else {
                    Or::some(Duration(Span::from_ms(4)))
                })} "`\"4ms\"` (ConWeave's ns-3 with go-back-N); `\"off\"` for `irn_pfc` with `run.compat`", check |time, at| match time.0 {
                    _ if mode == RdmaMode::Irn => Err(Wrong::at(at, "mode = \"irn\" has two time-outs: write rto_low and rto_high")),
                    None if mode.goes_back() => Err(Wrong::at(at, "\"off\": go-back-N needs a time-out: write a time")),
                    None => Ok(None),
                    Some(time) => up_to_a_second(time, at).map(Some),
                };
                /// Time-out of IRN with few frames in flight.
                rto_low: Duration = {(mode == RdmaMode::Irn).then_some(Duration(Span::from_us(100)))} "`\"100us\"` (the paper of IRN)",
                    check |time, at| mode.times_out(at.clone()).and_then(|()| up_to_a_second(time, at));
                /// Time-out of IRN with more frames in flight than `rto_low_frames`.
                rto_high: Duration = {(mode == RdmaMode::Irn).then_some(Duration(Span::from_us(320)))} "`\"320us\"` (the paper of IRN)", check |time, at| {
                    mode.times_out(at.clone())?;
                    let (high, low) = (up_to_a_second(time, at.clone())?, rto_low.expect("filled in"));
                    if high < low { Err(Wrong::at(at, format!("\"{high}\" is less than rto_low = \"{low}\""))) } else { Ok(high) }
                };
                /// Largest number of frames in flight, besides the last one, for which the time-out
                /// is `rto_low`.
                rto_low_frames: u32 = {(mode == RdmaMode::Irn).then_some(3)} "3 (the paper of IRN)", check |frames, at| mode.times_out(at).map(|()| frames);
                /// Bytes that IRN may have in flight. Default: rate of the NIC times idle round trip of the flow's path.
                bdp: Size as Option<u64> = none, check |bytes, at| mode.of_irn(at.clone()).and_then(|()| size(bytes, payload, at));
                /// Priority of acknowledgements and notifications, 0 to 7. Default: that of the flow. NICs send them before data in any case.
                ack_priority: u8 = none, check priority;
                $(
                    #[doc = concat!("Parameters of `congestion = \"", stringify!($module), "\"`. Default: every key has its own default.")]
                    $module: rate::$module::Keys = none;
                )+
            }
        }

        impl Keys {
            /// The congestion controls whose parameters are written.
            fn controls(&self) -> Vec<RdmaCongestion> {
                [$((RdmaCongestion::$name, self.$module.is_some())),+].into_iter().filter(|(_, given)| *given).map(|(control, _)| control).collect()
            }

            /// Checks the parameters of `control`; `nic` is the rate of the first host's link.
            fn control(&mut self, control: RdmaCongestion, nic: Rate, key: &Key) -> Result<RateControl, Wrong> {
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
crate::rate_controls!(rdma);

tagged! {
    /// Source of the hash of frames: a name, or a table with `kind` and parameters.
    pub enum Entropy, default "kind" {
        /// One hash per flow: all of its frames take one path.
        flow Flow(FlowKeys),
        /// An entropy value per frame. Values of frames that arrived unmarked are used again
        /// (REPS).
        reps Reps(RepsKeys),
    }
}

keys! {
    /// No parameters.
    pub struct FlowKeys as "OfFlow" => Flow {}
}

impl RdmaMode {
    pub fn pauses(self) -> Pauses {
        let needed = matches!(self, RdmaMode::Lossless | RdmaMode::IrnPfc);
        let instead = if needed {
            "mode = \"irn\" or \"gbn_no_pfc\""
        } else {
            "mode = \"lossless\" or \"irn_pfc\""
        };
        Pauses { key: "mode", needed, obeyed: self == RdmaMode::SemiLossless, instead }
    }

    fn goes_back(self) -> bool {
        !self.repeats()
    }

    /// True for selective repeat (IRN).
    fn repeats(self) -> bool {
        matches!(self, RdmaMode::Irn | RdmaMode::IrnPfc)
    }

    /// Refuses a key of IRN's two time-outs in any other mode.
    fn times_out(self, key: Key) -> Result<(), Wrong> {
        match self {
            RdmaMode::Irn => Ok(()),
            RdmaMode::IrnPfc => {
                Err(Wrong::at(key, "mode = \"irn_pfc\" has one time-out: write rto"))
            }
            _ => self.of_irn(key),
        }
    }

    /// Refuses a key of IRN in any other mode.
    fn of_irn(self, key: Key) -> Result<(), Wrong> {
        if self.repeats() {
            Ok(())
        } else {
            Err(Wrong::at(key, "has an effect only with IRN: remove it, or write mode = \"irn\""))
        }
    }
}

impl Keys {
    pub fn config(&mut self, key: &Key, context: &KeyContext) -> Result<RdmaConfig, Wrong> {
        let at = |name: &str| key.clone().name(name);
        let keys = self.resolve(key, context)?;
        if let Some(other) = self.controls().into_iter().find(|other| *other != keys.congestion) {
            return Err(meaningless(
                at(other.name()),
                &format!("congestion = \"{}\"", keys.congestion.name()),
            ));
        }
        let control = self.control(keys.congestion, context.nic, key)?;
        let by_frames = control.parameters().is_some_and(RateParameters::notifies_by_frames);
        let cnp = match fill(&mut self.cnp, if by_frames { Cnp::Packet } else { Cnp::Ack }) {
            Cnp::Ack if keys.cnp_interval.is_some() => {
                return Err(meaningless(at("cnp_interval"), "cnp = \"ack\""));
            }
            Cnp::Ack if keys.cnp_delay.is_some() => {
                return Err(meaningless(at("cnp_delay"), "cnp = \"ack\""));
            }
            Cnp::Ack => spec::Cnp::Ack,
            Cnp::Packet => {
                let interval = fill(&mut self.cnp_interval, Duration(Span::from_us(50)));
                let delay = fill(&mut self.cnp_delay, Duration(Span::ZERO)).0;
                if delay > Span::from_ms(10) {
                    return Err(Wrong::at(
                        at("cnp_delay"),
                        format!("\"{delay}\": write a time up to 10ms"),
                    ));
                }
                spec::Cnp::Packet { interval: up_to_a_second(interval, at("cnp_interval"))?, delay }
            }
        };
        let entropy = match self.entropy.as_mut().expect("filled in") {
            Entropy::Flow(_) => spec::Entropy::Flow,
            Entropy::Reps(_) if cnp != spec::Cnp::Ack => {
                return Err(Wrong::at(
                    at("entropy"),
                    "\"reps\" needs marks to be returned in acknowledgements: write cnp = \"ack\"",
                ));
            }
            Entropy::Reps(reps) => spec::Entropy::Reps(reps.resolve(&at("entropy"))?),
        };
        let ns3 = context.compat == Some(Compat::ConweaveNs3);
        let rto = keys.rto.flatten();
        let recovery = match (keys.rto_low, keys.rto_high, keys.rto_low_frames) {
            (Some(rto_low), Some(rto_high), Some(few)) => RdmaRecovery::Irn(Irn {
                bdp: keys.bdp,
                few,
                rto_low,
                rto_high,
                timeouts: true,
                ns3,
            }),
            _ if keys.mode == RdmaMode::IrnPfc => {
                let time = rto.unwrap_or_default();
                RdmaRecovery::Irn(Irn {
                    bdp: keys.bdp,
                    few: 0,
                    rto_low: time,
                    rto_high: time,
                    timeouts: rto.is_some(),
                    ns3,
                })
            }
            _ => RdmaRecovery::GoBackN { rto: rto.expect("filled in") },
        };
        Ok(RdmaConfig {
            payload: keys.payload,
            pauses: keys.mode.pauses(),
            recovery,
            control,
            window: match keys.window {
                None | Some(RdmaWindow::None) => spec::RdmaWindow::None,
                Some(RdmaWindow::Fixed) => spec::RdmaWindow::Fixed(keys.window_size),
                Some(RdmaWindow::Scaled) => spec::RdmaWindow::Scaled(keys.window_size),
            },
            cnp,
            entropy,
            cnp_out_of_order: keys.cnp_out_of_order,
            nack_interval: keys.nack_interval,
            ack_priority: keys.ack_priority,
        })
    }
}

/// Returns the name of a congestion control that has its own window.
fn own_window(control: RdmaCongestion) -> Option<&'static str> {
    control.about().and_then(|about| about.window)
}

fn size(Size(bytes): Size, payload: u16, key: Key) -> Result<u64, Wrong> {
    let right = bytes.0 >= payload.into() && bytes.0 <= 1 << 40;
    if right {
        Ok(bytes.0)
    } else {
        Err(Wrong::at(
            key,
            format!(
                "\"{bytes}\": write at least a full frame's payload, {payload} B, at most 1 TiB"
            ),
        ))
    }
}
