//! Datagrams with missing fragments.

use super::carried::Segment;
use super::notes::Note;

/// Time for which hosts wait for the rest of a datagram (Linux's time-out). Later fragments belong
/// to another datagram with the same number.
const TIMEOUT_NS: u64 = 30_000_000_000;

/// Place of a fragment in its datagram.
#[derive(Clone, Copy)]
pub struct Piece {
    pub offset: u32,
    pub length: u32,
    pub time_ns: u64,
    pub frame: u64,
}

/// Meaning of a datagram's first fragment for the further ones.
pub enum Beginning {
    /// The headers of the first fragment state all bytes.
    Whole,
    /// The further fragments continue the segment. The number is the length of its headers in
    /// bytes.
    Segment(Segment, u32),
    Left(Note),
}

/// A datagram with missing fragments.
#[derive(Default)]
pub struct Pending {
    pub beginning: Option<Beginning>,
    pub pieces: Vec<Piece>,
    /// Fragments that came before the first one.
    pub waiting: Vec<Piece>,
    /// End of the datagram in bytes, once the last fragment was seen.
    pub end: Option<u32>,
}

impl Pending {
    /// True if the piece belongs to another datagram with the same number.
    pub fn is_over(&self, piece: &Piece) -> bool {
        self.pieces.iter().any(|seen| {
            seen.offset == piece.offset || piece.time_ns.saturating_sub(seen.time_ns) > TIMEOUT_NS
        })
    }

    pub fn is_complete(&self) -> bool {
        let seen: u64 = self.pieces.iter().map(|piece| u64::from(piece.length)).sum();
        self.beginning.is_some() && self.end.is_some_and(|end| seen >= u64::from(end))
    }
}
