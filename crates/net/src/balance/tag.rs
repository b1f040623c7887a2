//! What a balancer writes on frames for the switches behind it, in [`Extra`](crate::frame::Extra). It takes no room on the wire.

use super::conga::Congestion;
use super::conweave;
use super::glb::Quality;

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
