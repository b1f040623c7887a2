//! Memory in cells.

/// Of a frame, in its first cell.
pub const METADATA: u64 = 64;

/// Memory that a frame takes; `None`: bytes are counted.
pub fn charged(frame: u64, cell: Option<u16>) -> u64 {
    cell.map_or(frame, |cell| (frame + METADATA).div_ceil(cell.into()) * u64::from(cell))
}
