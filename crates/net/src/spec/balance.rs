//! Choice among equal-cost next hops.

use afflux_units::Span;

/// What is not said here about acknowledgements and control frames: they go by hash.
#[derive(Debug, Clone, PartialEq)]
pub enum Balance {
    /// One path per flow by hash.
    Ecmp,
    /// The same; where a next hop fails, no other's flows move.
    Resilient,
    /// By hash with unequal shares.
    Wcmp(Wcmp),
    /// Every frame by itself; acknowledgements too.
    Spray(Spray),
    Drill(Drill),
    LetFlow(LetFlow),
    Conga(Conga),
    Dlb(Dlb),
    Detail(Detail),
    Presto(Presto),
    /// On every switch of the fabric; not with cut-through, nor with virtual output queues.
    Conweave(super::Conweave),
}

impl Balance {
    /// The ToR of a frame's source chooses all of its path.
    pub fn pins(&self) -> bool {
        match self {
            Balance::Ecmp | Balance::Resilient | Balance::Wcmp(_) | Balance::Spray(_) | Balance::Drill(_) | Balance::Dlb(_) | Balance::Detail(_) => false,
            Balance::LetFlow(_) | Balance::Conga(_) | Balance::Presto(_) | Balance::Conweave(_) => true,
        }
    }

    /// With the deviations of ConWeave's ns-3 simulator.
    pub fn follow_ns3(&mut self) {
        match self {
            Balance::Drill(drill) => drill.ns3 = true,
            Balance::LetFlow(letflow) => letflow.ns3 = true,
            Balance::Conga(conga) => conga.ns3 = true,
            Balance::Conweave(conweave) => conweave.manner = super::ConweaveManner::Ns3,
            _ => {}
        }
    }

    /// Frames wait at the ToR of their destination, in the switch's memory.
    pub fn holds_charged(&self) -> bool {
        matches!(self, Balance::Conweave(conweave) if conweave.manner == super::ConweaveManner::Paper)
    }

    /// It tells flows apart by addresses and ports.
    pub fn needs_ports(&self) -> bool {
        match self {
            Balance::LetFlow(letflow) => letflow.ns3,
            Balance::Conga(conga) => conga.ns3,
            _ => false,
        }
    }
}

/// How frames are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spray {
    Random,
    /// In turn, per switch and destination rack.
    RoundRobin,
}

/// Shares of next hops.
#[derive(Debug, Clone, PartialEq)]
pub struct Wcmp {
    /// By node that is the next hop; `None`: by capacity.
    pub weights: Option<Vec<u32>>,
    /// Size of the table in which a next hop has as many entries as its share; `None`: shares are exact.
    pub entries: Option<u32>,
}

/// The least loaded of a few queues, for each frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Drill {
    /// Next hops drawn: d.
    pub samples: u32,
    /// Next hops remembered: m.
    pub memory: u32,
    /// As ConWeave's ns-3 simulator.
    pub ns3: bool,
}

/// A discounting rate estimator: every `every`, X loses the part `alpha`.
#[derive(Debug, Clone, PartialEq)]
pub struct RateEstimator {
    pub every: Span,
    pub alpha: f64,
}

/// Flowlets to the least congested path.
#[derive(Debug, Clone, PartialEq)]
pub struct Conga {
    pub gap: Span,
    pub estimator: RateEstimator,
    /// Bits of a metric: Q.
    pub bits: u8,
    /// When what has not been heard of again begins to be forgotten.
    pub aging: Span,
    /// As ConWeave's ns-3 simulator.
    pub ns3: bool,
}

/// The port with little waiting.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// Bytes from which on a port is less favoured, and from which on it is to be avoided.
    pub thresholds: [u64; 2],
}

/// Port quality.
#[derive(Debug, Clone, PartialEq)]
pub struct Dlb {
    /// What ends a flowlet; `None`: each frame by itself.
    pub idle: Option<Span>,
    /// Of bytes sent.
    pub past: RateEstimator,
    pub past_weight: u32,
    pub future_weight: u32,
    /// Bytes in a queue that is as bad as it gets.
    pub future_range: u64,
    pub bands: u32,
    /// Next hops tell of theirs: on every switch of the fabric.
    pub remote: bool,
}

/// Pieces of flows over all paths in turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Presto {
    /// Bytes of a piece.
    pub cell: u64,
}

/// Flowlets on paths drawn at random.
#[derive(Debug, Clone, PartialEq)]
pub struct LetFlow {
    /// A frame later than this after the one before begins a flowlet.
    pub gap: Span,
    /// Tells flows apart as ConWeave's ns-3 simulator does.
    pub ns3: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteHash {
    /// Each switch hashes with its own seed.
    OwnSeed,
    /// All switches hash alike: polarisation.
    SameSeed,
    /// Both directions of a flow hash alike, and so do all switches of a tier: both take the same way where ports are in the same order.
    Symmetric,
    /// As ConWeave's ns-3 simulator: MurmurHash3 of addresses and ports with the switch's number for a seed, modulo the number of next hops.
    Murmur3,
}
