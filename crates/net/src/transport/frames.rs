//! Sizes of frames.

/// Sizes of a transport's frames, in bytes beside those of the host's wire profile.
#[derive(Debug, Clone, Copy)]
pub struct Frames {
    /// Payload of a full segment.
    pub payload: u16,
    /// More headers on data.
    pub data: u16,
    /// More headers on what acknowledges them; `None` if nothing does.
    pub answer: Option<u16>,
}
