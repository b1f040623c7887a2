//! Specifies RDMA over converged Ethernet: queue pairs.

use super::Cnp;
pub use crate::transport::rdma::reps::RepsConfig as Reps;
use afflux_units::Span;

#[derive(Debug, Clone, PartialEq)]
pub struct RdmaConfig {
    /// Payload of a full frame in bytes.
    pub payload: u16,
    pub pauses: super::Pauses,
    pub recovery: RdmaRecovery,
    pub control: super::RateControl,
    pub window: RdmaWindow,
    pub cnp: Cnp,
    pub entropy: Entropy,
    /// True if a frame out of order causes a congestion notification, like a marked frame.
    pub cnp_out_of_order: bool,
    /// Minimum time between two negative acknowledgements of the same gap or block.
    pub nack_interval: Span,
    /// Priority of the frames that the receiver sends; `None`: priority of the flow.
    pub ack_priority: Option<u8>,
}

impl RdmaConfig {
    /// Returns the bytes of data frames and acknowledgements that the wire profile does not
    /// include.
    pub fn overhead(&self) -> u16 {
        if self.control.has_telemetry() { crate::telemetry::BYTES } else { 0 }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum RdmaRecovery {
    /// Go-back-N: the receiver drops frames out of order, and the sender retransmits everything
    /// from the gap on.
    GoBackN {
        rto: Span,
    },
    Irn(Irn),
}

/// Selective repeat of IRN (Mittal et al., SIGCOMM 2018).
#[derive(Debug, Clone, PartialEq)]
pub struct Irn {
    /// Maximum bytes in flight; `None`: rate times idle round trip of the flow's path.
    pub bdp: Option<u64>,
    /// Number of frames in flight, besides the last one, up to which the time-out is `rto_low`.
    /// Above it, the time-out is `rto_high`.
    pub few: u32,
    pub rto_low: Span,
    pub rto_high: Span,
    /// Enables time-outs. Without them, a lost frame is retransmitted only if a later frame
    /// arrives.
    pub timeouts: bool,
    /// Deviations of ConWeave's ns-3: the sender retransmits everything that it does not know to be
    /// held, ends recovery at an acknowledgement without NACK, forgets skipped blocks, and leaves
    /// its timer running when everything sent is acknowledged.
    pub ns3: bool,
}

/// Source of the hash of a frame, for switches that choose paths by hash.
#[derive(Debug, Clone, PartialEq)]
pub enum Entropy {
    /// The flow: all its frames take one path.
    Flow,
    /// Each frame has its own value. Acknowledgements return the values of frames that arrived
    /// unmarked. Needs [`Cnp::Ack`].
    Reps(Reps),
}

/// Maximum of unacknowledged bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RdmaWindow {
    None,
    /// Fixed bytes; `None`: rate times idle round trip of the flow's path.
    Fixed(Option<u64>),
    /// Bytes as in `Fixed`, multiplied by the flow's current rate divided by the rate of the NIC.
    Scaled(Option<u64>),
}
