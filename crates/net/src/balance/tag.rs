//! What a balancer writes on frames for the switches behind it, in [`Extra`](crate::frame::Extra). It takes no room on the wire.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tag {
    #[default]
    None,
}
