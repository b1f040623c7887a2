//! Frame sizes of a transport.

/// Sizes of a transport's frames in bytes, in addition to the headers of the host's wire profile.
#[derive(Debug, Clone, Copy)]
pub struct Frames {
    /// Payload of a full segment.
    pub payload: u16,
    /// Additional headers on data frames.
    pub data: u16,
    /// Additional headers on acknowledgements. `None` if nothing is acknowledged.
    pub answer: Option<u16>,
}
