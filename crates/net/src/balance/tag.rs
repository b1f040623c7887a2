//! Tags that balancers write on frames for later switches, in [`Extra`](crate::frame::Extra). They
//! take no bytes on the wire.

use super::conweave::tag as conweave;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tag {
    #[default]
    None,
    Conga(Congestion),
    /// ConWeave: on data frames between ToRs.
    Conweave(conweave::Tag),
    /// Global load balancing: from a next hop to a ToR.
    Quality(Quality),
    /// ConWeave: on a NOTIFY frame, the congested path.
    Notify(u32),
    /// ConWeave: on a data frame after the ToR of its destination, the reason if the frame is late.
    Late(conweave::Cause),
}

/// CONGA's fields on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Congestion {
    /// Path of the frame, and the highest metric on the path so far; `None` on acknowledgements.
    pub seen: Option<(u32, u32)>,
    /// Reported path from the destination's leaf, and its metric.
    pub report: Option<(u32, u32)>,
}

/// Report of switch `of` that the best of its links to `rack` is in this quality band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quality {
    pub of: u32,
    pub rack: u32,
    pub band: u32,
}
