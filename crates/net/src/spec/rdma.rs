//! RDMA over converged Ethernet: queue pairs.

use afflux_units::Span;

#[derive(Debug, Clone, PartialEq)]
pub struct RdmaConfig {
    /// Payload of a full frame.
    pub payload: u16,
    pub recovery: RdmaRecovery,
    pub control: RateControl,
    pub window: RdmaWindow,
    pub cnp: Cnp,
    pub entropy: Entropy,
    /// A frame out of order is notified of as a marked one is.
    pub cnp_out_of_order: bool,
    /// The same gap, or the same block, is not answered negatively again before.
    pub nack_interval: Span,
    /// Priority of what the receiver sends; `None`: that of the flow.
    pub ack_priority: Option<u8>,
}

impl RdmaConfig {
    /// Bytes that data and acknowledgements have more than the profile says.
    pub fn overhead(&self) -> u16 {
        if matches!(self.control, RateControl::Hpcc(_)) { crate::telemetry::BYTES } else { 0 }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum RdmaRecovery {
    /// What comes out of order is dropped, and everything from the gap on is sent again.
    GoBackN {
        rto: Span,
    },
    Irn(Irn),
}

/// Selective repeat (Mittal et al., SIGCOMM 2018).
#[derive(Debug, Clone, PartialEq)]
pub struct Irn {
    /// Bytes in flight at most; `None`: rate times idle round trip of the flow's path.
    pub bdp: Option<u64>,
    /// With at most so many full frames in flight, and with more.
    pub few: u32,
    pub rto_low: Span,
    pub rto_high: Span,
    /// Without them nothing that is lost without a later frame is repeated.
    pub timeouts: bool,
    /// ConWeave's ns-3: everything that is not known to be held is repeated, an acknowledgement without NACK ends that, and skipped blocks are
    /// forgotten.
    pub ns3: bool,
}

/// How congestion sets a queue pair's rate. All start at the NIC's.
#[derive(Debug, Clone, PartialEq)]
pub enum RateControl {
    None,
    Dcqcn(DcqcnConfig),
    Timely(TimelyConfig),
    Swift(SwiftConfig),
    Hpcc(HpccConfig),
}

/// What the hash of a frame comes from, where switches choose by hash.
#[derive(Debug, Clone, PartialEq)]
pub enum Entropy {
    /// The flow: one path.
    Flow,
    /// Each frame its own; acknowledgements bring back those of frames that came unmarked. Needs [`Cnp::Ack`].
    Reps(Reps),
}

/// Recycled entropies (REPS).
#[derive(Debug, Clone, PartialEq)]
pub struct Reps {
    /// Entropies that are kept.
    pub cache: u8,
    /// After a time-out those kept are used over and over for so long.
    pub freeze: Option<Span>,
    /// Then so many frames draw theirs.
    pub explore: u8,
}

/// Bytes that may be unacknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RdmaWindow {
    None,
    /// `None`: rate times idle round trip of the flow's path.
    Fixed(Option<u64>),
    /// The same times the rate over the NIC's.
    Scaled(Option<u64>),
}

/// How a receiver tells of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cnp {
    /// A bit in the acknowledgement.
    Ack,
    /// A frame of its own, per flow at most one in this time.
    Packet { interval: Span },
}

/// DCQCN (Zhu et al., SIGCOMM 2015).
#[derive(Debug, Clone, PartialEq)]
pub struct DcqcnConfig {
    /// Weight of a notification in alpha.
    pub g: f64,
    pub cut: DcqcnCut,
    /// Period of alpha's updates.
    pub alpha_period: Span,
    /// Of the timer that raises the rate.
    pub increase_period: Span,
    /// Bytes sent after which the rate is raised too.
    pub byte_counter: Option<u64>,
    /// Raises that only go back towards the target.
    pub fast_recovery: u32,
    /// Bits per second.
    pub additive: u64,
    pub hyper: u64,
    pub min_rate: u64,
    /// The target is set to the rate at every cut, not only at the first after a raise.
    pub clamp_target: bool,
    /// Part of the rate that the first notification leaves.
    pub first_rate: f64,
    pub initial_alpha: f64,
}

/// When a notification cuts the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DcqcnCut {
    /// At once (the paper): receivers limit how often. Alpha falls where none has come for `alpha_period`.
    AtOnce,
    /// Looked for at the end of every such time since the first (NVIDIA's adapters), a nanosecond after alpha's update. Alpha is updated at the
    /// end of every `alpha_period`, whether one has come or not.
    Polled { period: Span },
}

/// TIMELY (Mittal et al., SIGCOMM 2015).
#[derive(Debug, Clone, PartialEq)]
pub struct TimelyConfig {
    pub t_low: Span,
    pub t_high: Span,
    /// What differences of round trips are measured in.
    pub min_rtt: Span,
    /// Of the newest difference.
    pub weight: f64,
    pub beta: f64,
    /// Bits per second.
    pub additive: u64,
    /// From so many completions with a falling round trip on, so many steps at once.
    pub hyper_after: u32,
    /// Bytes of a completion.
    pub segment: u64,
    pub min_rate: u64,
}

/// HPCC (Li et al., SIGCOMM 2019).
#[derive(Debug, Clone, PartialEq)]
pub struct HpccConfig {
    /// Target utilisation.
    pub eta: f64,
    /// Round trips of additive increase before a multiplicative one.
    pub max_stage: u32,
    /// Bytes per round trip.
    pub additive: f64,
    /// `None`: the idle round trip of the flow's path.
    pub base_rtt: Option<Span>,
}

/// Swift (Kumar et al., SIGCOMM 2020). Windows in frames.
#[derive(Debug, Clone, PartialEq)]
pub struct SwiftConfig {
    /// Target without switches and scaling, and per switch of the path.
    pub base: Span,
    pub hop: Span,
    /// Fabric scaling: up to this much more for windows from `fs_max` down to `fs_min`.
    pub fs_range: Span,
    pub fs_min: f64,
    pub fs_max: f64,
    pub ai: f64,
    pub beta: f64,
    /// Largest decrease.
    pub max_mdf: f64,
    pub initial_window: f64,
    pub min_window: f64,
    pub max_window: f64,
    /// So many in a row set the window to its minimum.
    pub timeouts: u32,
}
