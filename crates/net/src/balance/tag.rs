//! What a balancer writes on frames for the switches behind it, in [`Extra`](crate::frame::Extra). It takes no room on the wire.

use super::conweave::tag as conweave;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tag {
    #[default]
    None,
    Conga(Congestion),
    /// On data frames between ToRs.
    Conweave(conweave::Tag),
    /// From a next hop to a ToR.
    Quality(Quality),
    /// On a NOTIFY: the path.
    Notify(u32),
    /// On a data frame behind the ToR of its destination: if it comes late, then because of this.
    Late(conweave::Cause),
}

/// What CONGA writes on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Congestion {
    /// The path it is on and the most on the way so far; acknowledgements have none.
    pub seen: Option<(u32, u32)>,
    /// A path from the destination's leaf, and its metric.
    pub report: Option<(u32, u32)>,
}

/// What a next hop says: of its links to a rack, the best is in this band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quality {
    pub of: u32,
    pub rack: u32,
    pub band: u32,
}
