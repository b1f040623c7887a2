//! RDMA over converged Ethernet: queue pairs.

use super::Cnp;
pub use crate::transport::rdma::reps::RepsConfig as Reps;
use afflux_units::Span;

#[derive(Debug, Clone, PartialEq)]
pub struct RdmaConfig {
    /// Payload of a full frame.
    pub payload: u16,
    pub pauses: super::Pauses,
    pub recovery: RdmaRecovery,
    pub control: super::RateControl,
    pub window: RdmaWindow,
    pub cnp: Cnp,
    pub entropy: Entropy,
    /// A frame out of order causes a congestion notification, like a marked one.
    pub cnp_out_of_order: bool,
    /// The same gap, or the same block, is not answered negatively again before.
    pub nack_interval: Span,
    /// Priority of what the receiver sends; `None`: that of the flow.
    pub ack_priority: Option<u8>,
}

impl RdmaConfig {
    /// Bytes that data and acknowledgements have more than the profile says.
    pub fn overhead(&self) -> u16 {
        if self.control.has_telemetry() { crate::telemetry::BYTES } else { 0 }
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

/// What the hash of a frame comes from, where switches choose by hash.
#[derive(Debug, Clone, PartialEq)]
pub enum Entropy {
    /// The flow: one path.
    Flow,
    /// Each frame its own; acknowledgements bring back those of frames that came unmarked. Needs [`Cnp::Ack`].
    Reps(Reps),
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
