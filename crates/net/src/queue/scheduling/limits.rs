//! Credit limits of a port that virtual output queues send through.

use afflux_units::Pace;

/// Credit limits of one port.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes per credit.
    pub credit: u32,
    /// Time in ps between two credits; 0 if credits are granted as they are requested.
    pub interval: u64,
    /// `most`: most credits in flight or unused. `round_trip`: time in ps from the use of a credit
    /// to the earliest use of the credit that replaces it.
    pub most: Option<u32>,
    pub round_trip: u64,
    /// Time of a byte through the fabric, which each core has of its own.
    pub fabric: Option<Pace>,
}
