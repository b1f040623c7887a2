//! Specifies processors that handle arriving frames.

use afflux_units::Span;

/// A processor that handles the frames arriving at a node by any link, one after the other. It
/// models a router built from a personal computer, or a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processor {
    /// Processing time of a frame.
    pub packet: Span,
    /// Additional time for the arrival of a frame, taken before all other work. Dropped frames need
    /// it too.
    pub interrupt: Span,
    /// Maximum number of frames at the processor, including the one in process. More frames are
    /// dropped.
    pub queue: u32,
    pub stall: Option<Stall>,
}

/// Alternation from the start of the run: the processor works for `work`, then does nothing for
/// `pause`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    pub work: Span,
    pub pause: Span,
}
