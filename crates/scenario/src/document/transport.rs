//! `[host.transport]` and `[host.transports.NAME]`.

use super::{Auto, Duration, Off, Or, Rdma, Size, Unlimited};
use crate::tree::{Key, Wrong};
use afflux_config::tagged;
use afflux_config::words;
use afflux_net::congestion::{self, Congestion, Sender};
use afflux_net::spec::{CongestionControl, EcnMode, Estimator, PathScheduler, Recovery, TransportConfig};
use afflux_net::transports::{Around, D3, Datagram, Nack, Ndp, Pdq, Pfabric};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

tagged! {
    /// How hosts send, chosen by `kind`; without it `"tcp"`.
    pub enum Transport, default "tcp" {
        /// TCP.
        "tcp" => Tcp,
        /// A constant rate without acknowledgement or repetition.
        "datagram" => Datagram,
        /// A constant rate, and repetition of what is reported missing.
        "nack" => Nack,
        /// NDP: a first window at once, then what the receiver pulls; needs switches that trim.
        "ndp" => Ndp,
        /// RDMA over converged Ethernet.
        "rdma" => Rdma,
        /// pFabric's minimal transport, or the TCP without fast retransmit that it was made from.
        "pfabric" => Pfabric,
        /// PDQ: the most critical flows send, the others wait.
        "pdq" => Pdq,
        /// D3: rates by deadline, first come, first served.
        "d3" => D3,
    }
}

impl Transport {
    /// What it says, if its table of keys stands with the transport itself.
    pub fn declared(&mut self, key: &Key, around: &Around) -> Option<Result<TransportConfig, Wrong>> {
        Some(match self {
            Transport::Datagram(keys) => keys.resolve(key, around).map(TransportConfig::Datagram),
            Transport::Pdq(keys) => keys.resolve(key, around).map(TransportConfig::Pdq),
            Transport::D3(keys) => keys.resolve(key, around).map(TransportConfig::D3),
            Transport::Pfabric(keys) => keys.config(key, around).map(TransportConfig::Pfabric),
            Transport::Nack(keys) => keys.resolve(key, around).map(TransportConfig::Nack),
            Transport::Ndp(keys) => keys.resolve(key, around).map(TransportConfig::Ndp),
            _ => return None,
        })
    }
}

/// The table of TCP, with a table of parameters for each congestion control.
macro_rules! tcp {
    ($($(#[$doc:meta])* $module:ident $name:ident($config:ident): $($machine:ident($held:ty)),+;)+) => {
            /// TCP: byte streams with acknowledgements. `stack` chooses the defaults of the other keys: without it, those of a Linux machine with CUBIC.
            #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(deny_unknown_fields)]
            pub struct Tcp {
                /// Whose machine: the defaults of the keys below. Default `"linux"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub stack: Option<Stack>,
                /// Congestion control. Default `"cubic"`, with `stack = "basic"` or `"ns3"` `"newreno"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub congestion: Option<Congestion>,
                /// Payload of a full segment. Default: `mtu` less the profile's headers (1460 B for `"ethernet"`).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub mss: Option<Size>,
                /// Initial window in segments. Default 10 (RFC 6928; Linux) unless the congestion control has its own.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub initial_window: Option<u32>,
                /// Window in segments above which the congestion window never grows. Default `"unlimited"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub max_window: Option<Or<Unlimited, u32>>,
                /// A fixed window of the receiver. Default: with `stack = "linux"` a `receive_buffer` instead, otherwise `"unlimited"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub receive_window: Option<Or<Unlimited, Size>>,
                /// A receive buffer, instead of a fixed `receive_window`: what has arrived and not been read takes room (Linux's `SO_RCVBUF`, doubled). Default
                /// with `stack = "linux"`: `"128KiB"`, or room for two segments if they need more (Linux's `tcp_rmem[1]`); otherwise none.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub receive_buffer: Option<Size>,
                /// The buffer grows up to this with what the application reads per round trip (Linux's `tcp_rmem[2]`). Default: it does
                /// not grow; `"6MiB"` with `stack = "linux"` if neither a `receive_buffer` nor a `receive_window` is written.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub receive_buffer_max: Option<Size>,
                /// Share of the buffer that payload can take; the rest is the kernel's bookkeeping. Default 0.5.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub receive_buffer_share: Option<f64>,
                /// The receiving application reads for a while, then does not, in turn from the connection's start; needs `receive_buffer`. Default: it
                /// reads at once.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub reader: Option<Reader>,
                /// Connections are opened by SYN and SYN-ACK, and closed. Default `true`; with `stack = "basic"` `false`: they are open from the start.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub handshake: Option<bool>,
                /// A connection starts with the slow start threshold that the last one to the same host left (Linux's `tcp_no_metrics_save` and
                /// `tcp_no_ssthresh_metrics_save` both 0). Default `false`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub ssthresh_cache: Option<bool>,
                /// Which losses a sender knows of. Default `"rack"` (RFC 8985) with `stack = "linux"`, otherwise `"sack"` (RFC 6675).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub recovery: Option<Recovery>,
                /// The window falls to the threshold over a round trip: proportional rate reduction (RFC 6937). Default `true`, `false` with
                /// `stack = "basic"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub prr: Option<bool>,
                /// Tail loss probes (RFC 8985). Default `true` with `stack = "linux"`, otherwise `false`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub tail_probe: Option<bool>,
                /// A time-out is checked with new data (F-RTO, RFC 5682), and reductions that turn out needless are taken back (RFC 3522). Default `true`
                /// with `stack = "linux"`, otherwise `false`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub undo: Option<bool>,
                /// After an idle spell longer than the time-out a connection starts from a smaller window (Linux's `tcp_slow_start_after_idle`). Default
                /// `true` with `stack = "linux"`, otherwise `false`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub idle_restart: Option<bool>,
                /// Duplicate acknowledgements (or SACKed segments above a hole) that mean a loss; `"off"`: no fast retransmit. Default 3 (RFC 5681).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub dupack_threshold: Option<Or<Off, u32>>,
                /// Delayed acknowledgements, or `"off"`: every segment is acknowledged. Default: on with `stack = "linux"`, otherwise `"off"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub delayed_ack: Option<Or<Off, DelayedAck>>,
                /// Of duplicate acknowledgements the fourth and later ones at an edge are sent at most once per twentieth of a round trip, at most 1 ms
                /// apart (Linux's `tcp_comp_sack_delay_ns`). Default `true` with `stack = "linux"`, otherwise `false`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub sack_compression: Option<bool>,
                /// Data are spread over the round trip: twice the window per round trip in slow start, 1.2 times later (Linux with `fq`). Default `false`.
                /// BBR always paces.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub pacing: Option<bool>,
                /// Segments that leave together, as with segmentation offload: a sender with something outstanding waits until the window has room for as
                /// many, or for a third of itself. `"auto"`: what Linux does, a millisecond's worth and up to 64 KB on short paths, and it waits only where
                /// the next acknowledgement is near. Default `"auto"` with `stack = "linux"`, otherwise 1.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub burst: Option<Or<Auto, u32>>,
                /// Of a connection only a millisecond's worth, two buffers of segmentation offload at least and 1 MiB at most (no bound where it is paced),
                /// waits at its host's own transmitter: Linux's small queues (`tcp_limit_output_bytes`). Default `true` with `stack = "linux"`, otherwise `false`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub small_queues: Option<bool>,
                /// Timers expire on multiples of this (a kernel's clock tick: 4 ms with HZ = 250). Default `"0ns"`: exact.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub tick: Option<Duration>,
                /// How the variance of the round trip is estimated. Default `"linux"` with `stack = "linux"`, otherwise `"rfc6298"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub rtt_estimator: Option<Estimator>,
                /// Floor of the retransmission time-out. Default `"200ms"` (Linux's TCP_RTO_MIN; RFC 6298 says 1 s). Data centres often set less
                /// (1 to 10 ms; 200 us in the pFabric study): where no tail loss probe helps, one lost tail costs 200 ms with this default.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub min_rto: Option<Duration>,
                /// Least value of the time-out's variance term (RFC 6298's clock granularity G). Default `"0ns"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub granularity: Option<Duration>,
                /// `true`: the floor is on the variance term, so the time-out is at least the round trip plus `min_rto` (Linux); `false`: on the whole
                /// time-out (RFC 6298). Default `true`, `false` with `stack = "ns3"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub min_rto_on_variance: Option<bool>,
                /// Time-out before the first round-trip sample. Default with a handshake `"1s"` (RFC 6298), else: what one sample of the longest path without queues gives, because connections
                /// are open from the start (RFC 6298 §2.2); a connection without any sample has 1 s (§2.1).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub initial_rto: Option<Duration>,
                /// Ceiling of the time-out with back-off. Default `"120s"` (Linux's TCP_RTO_MAX), or `min_rto` or `initial_rto` if longer.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub max_rto: Option<Duration>,
                /// Explicit congestion notification. Default `"dctcp"` with `congestion = "dctcp"` or `"d2tcp"`, otherwise `"off"`. BBR version 1 does not react to it; version 3 does with `"dctcp"`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub ecn: Option<EcnMode>,
                /// Priority of what the receiver sends, acknowledgements above all, 0 to 7. Default: that of the flow. RDMA's are often in a higher class.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub ack_priority: Option<u8>,
                /// HyStart++ (RFC 9406) in the first slow start. Default `false`; `congestion = "cubic"` has `cubic.hystart` for it.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub hystart_plusplus: Option<bool>,
                /// Connections take several paths (Multipath TCP, RFC 8684): each subflow is such a TCP. Default: they do not.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub mptcp: Option<Mptcp>,
                $(
                    #[doc = concat!("Parameters of `congestion = \"", stringify!($module), "\"`.")]
                    #[serde(skip_serializing_if = "Option::is_none")]
                    pub $module: Option<congestion::$module::Keys>,
                )+
            }

            impl Tcp {
                /// The congestion controls whose parameters are written.
                pub fn controls(&self) -> Vec<Congestion> {
                    [$((Congestion::$name, self.$module.is_some())),+].into_iter().filter(|(_, given)| *given).map(|(control, _)| control).collect()
                }

                /// Checks the parameters of `control`.
                pub fn control(&mut self, control: Congestion, sender: &Sender, key: &Key) -> Result<CongestionControl, Wrong> {
                    match control {
                        $(Congestion::$name => {
                            let table = self.$module.get_or_insert_default();
                            table.resolve(&key.clone().name(control.name()), sender).map(CongestionControl::$name)
                        })+
                    }
                }
            }
    };
}
afflux_net::congestion_controls!(tcp);

/// Multipath TCP (RFC 8684). `receive_window` and `receive_buffer` are the connection's, everything else is each subflow's. A segment carries 24 B less,
/// for its option.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mptcp {
    /// Which subflows are opened. Default `"ndiffports"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<PathManager>,
    /// Subflows of a connection, 1 to 32; with `manager = "fullmesh"` at most so many. Default 2, with `"fullmesh"` 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subflows: Option<u8>,
    /// Which subflow gets the next segment. Default `"lowest_rtt"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<PathScheduler>,
    /// How the windows of the subflows go together. Default `"lia"`. `"off"`: each subflow has `congestion` to itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupling: Option<Coupling>,
    /// Of `coupling = "queue_aware"`: segments of its own that a subflow may have in queues before it gives way to its siblings. Default 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_segments: Option<u32>,
    /// Where the receive window is full, the oldest segment goes on another subflow too if that one is much faster, and the subflow that holds
    /// the window up is slowed down (opportunistic retransmission and penalisation). Default `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opportunistic: Option<bool>,
}

words! {
    /// Path managers.
    pub enum PathManager {
        /// Subflows between the same two addresses, told apart by their ports.
        Ndiffports,
        /// From every NIC of the source to every one of the destination.
        Fullmesh,
    }
    /// Coupled congestion controls.
    pub enum Coupling {
        /// None.
        Off,
        /// RFC 6356.
        Lia,
        /// Khalili et al. 2012.
        Olia,
        /// Peng et al. 2016.
        Balia,
        /// Weighted Vegas, Cao et al. 2012.
        Wvegas,
        /// LIA, and a subflow with a long queue gives way.
        QueueAware,
    }
}

words! {
    /// Whose TCP.
    pub enum Stack {
        /// The RFCs' machine with the fewest parts, for closed forms: connections are open, every segment is acknowledged, RFC 6675, no window of
        /// the receiver, no tail loss probe, no limit to what waits in the host.
        Basic,
        /// Linux 6.12 as a machine has it that nobody has tuned.
        Linux,
        /// ns-3's, where it differs: SACK by RFC 6675 with proportional rate reduction, every segment acknowledged, ns-3's CUBIC.
        Ns3,
    }
}

/// When the receiving application reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reader {
    /// It reads everything for so long.
    pub read: Duration,
    /// Then nothing for so long.
    pub sleep: Duration,
}

/// Delayed acknowledgements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayedAck {
    /// Acknowledge at the latest every so many full segments. Default 2 (RFC 5681 §4.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u32>,
    /// Acknowledge at the latest after this time. Default `"40ms"` (Linux's TCP_DELACK_MIN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Acknowledgements that are not delayed at the start of a connection and after disorder. Default 16 with `stack = "linux"`, otherwise 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick: Option<u32>,
}
