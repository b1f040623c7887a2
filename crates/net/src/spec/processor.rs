//! Processors that deal with what arrives.

use afflux_units::Span;

/// A processor that deals with the frames that arrive at a node by any link, one after the other: a router made of a personal computer, or a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processor {
    /// What a frame takes.
    pub packet: Span,
    /// What the arrival of a frame takes on top, of all other work, whether the frame is dropped or not.
    pub interrupt: Span,
    /// Frames that it holds at most, the one that it is at included; what comes then is dropped.
    pub queue: u32,
    pub stall: Option<Stall>,
}

/// From the run's start on it works for a while, then does nothing, in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    pub work: Span,
    pub pause: Span,
}
