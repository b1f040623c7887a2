//! Transports to which the links on a flow's path say how fast it may send.

use afflux_units::{Rate, Span};

/// What PDQ and D3 have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Rated {
    /// Payload of a full segment.
    pub payload: u16,
    /// Bytes of the scheduling header, on every frame both ways.
    pub header: u16,
    /// Least time-out; a lost frame is found by those sent after it, or by this.
    pub min_rto: Span,
    /// What links take for a round trip.
    pub interval: Span,
    /// Give flows up whose deadline cannot be met any more.
    pub early_termination: bool,
}

/// Hong, Caesar and Godfrey, SIGCOMM 2012.
#[derive(Debug, Clone, PartialEq)]
pub struct Pdq {
    pub rated: Rated,
    /// K: flows that end within so many round trips together do not hold others up; 0 is no early start.
    pub early_start: f64,
    /// X: a paused flow probes every X round trips times its place in the list, at least every one; 0 is no suppression.
    pub suppression: f64,
    /// Of several paused flows one is let go per such time.
    pub dampening: Span,
    /// M: most flows that a link keeps.
    pub most: u32,
}

/// Wilson, Ballani, Karagiannis and Rowstron, SIGCOMM 2011.
#[derive(Debug, Clone, PartialEq)]
pub struct D3 {
    pub rated: Rated,
    /// What a flow is granted at least. One that has no more sends a request per round trip, and no data.
    pub base_rate: Rate,
    /// Gains of a link's estimate of its capacity: for what is not used, and for the queue.
    pub alpha: f64,
    pub beta: f64,
}
