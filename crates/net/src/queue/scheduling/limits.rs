//! Limits of the credits of a port that virtual output queues send through.

use afflux_units::Pace;

/// Limits of the credits of one port.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a credit.
    pub credit: u32,
    /// Time between two credits; 0 where they come as they are asked for.
    pub interval: u64,
    /// Credits on their way or unused, at most; and from the use of one to the earliest use of the one that takes its place.
    pub most: Option<u32>,
    pub round_trip: u64,
    /// Time of a byte through the fabric, from each core.
    pub fabric: Option<Pace>,
}
