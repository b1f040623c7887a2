//! What a balancer writes on frames for the switches behind it, in [`Extra`](crate::frame::Extra). It takes no room on the wire.

use super::conga::Congestion;
use super::conweave;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tag {
    #[default]
    None,
    Conga(Congestion),
    /// On data frames between ToRs.
    Conweave(conweave::Tag),
    /// On a NOTIFY: the path.
    Notify(u32),
    /// On a data frame behind the ToR of its destination: if it comes late, then because of this.
    Late(conweave::Cause),
}
