//! Frame sizes in memory that is allocated in cells.

/// Bytes of metadata that a frame adds in its first cell.
pub const METADATA: u64 = 64;

/// Returns the memory in bytes that a frame takes. `cell`: bytes of a cell; `None` counts exact
/// bytes.
pub fn charged(frame: u64, cell: Option<u16>) -> u64 {
    cell.map_or(frame, |cell| (frame + METADATA).div_ceil(cell.into()) * u64::from(cell))
}
