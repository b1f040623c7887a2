//! Choice among equal-cost next hops.

use afflux_units::Span;

/// What is not said here about acknowledgements and control frames: they go by hash.
#[derive(Debug, Clone, PartialEq)]
pub enum Balance {
    /// One path per flow by hash.
    Ecmp,
    /// Every data frame draws a next hop; acknowledgements too.
    Spray,
    LetFlow(LetFlow),
    /// On every switch of the fabric; not with cut-through, nor with virtual output queues.
    Conweave(super::Conweave),
}

impl Balance {
    /// The ToR of a frame's source chooses all of its path.
    pub fn pins(&self) -> bool {
        match self {
            Balance::Ecmp | Balance::Spray => false,
            Balance::LetFlow(_) | Balance::Conweave(_) => true,
        }
    }

    /// Frames wait at the ToR of their destination, in the switch's memory.
    pub fn holds_charged(&self) -> bool {
        matches!(self, Balance::Conweave(conweave) if conweave.manner == super::ConweaveManner::Paper)
    }

    /// It tells flows apart by addresses and ports.
    pub fn needs_ports(&self) -> bool {
        match self {
            Balance::Ecmp | Balance::Spray | Balance::Conweave(_) => false,
            Balance::LetFlow(letflow) => letflow.ns3,
        }
    }
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
    /// As ConWeave's ns-3 simulator: MurmurHash3 of addresses and ports with the switch's number for a seed, modulo the number of next hops.
    Murmur3,
}
