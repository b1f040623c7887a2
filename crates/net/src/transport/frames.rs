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
    /// True if frames carry more fields than fit into a frame, and need a record next to it.
    pub carry_more: bool,
    /// Number of frames out of a data frame and its acknowledgement that have options which
    /// captures keep (0 to 2).
    pub with_options: u64,
}

impl Frames {
    /// Returns frames without additional headers, fields and options.
    pub fn plain(payload: u16) -> Frames {
        Frames { payload, data: 0, answer: Some(0), carry_more: false, with_options: 0 }
    }
}
