//! Arithmetic of Linux: gains in units of 1/256, rates in segments per microsecond times 2^24.

/// Scale of gains.
pub const UNIT: u32 = 256;
const RATE_SCALE: u32 = 24;
pub const MICROSECOND: u64 = 1_000_000;
pub const MILLISECOND: u64 = 1000 * MICROSECOND;
pub const SECOND: u64 = 1000 * MILLISECOND;

/// Returns the rate of `delivered` segments in `interval` (ps), rounded down.
#[inline]
pub fn rate(delivered: u32, interval: u64) -> u64 {
    (((delivered as u128) << RATE_SCALE) * MICROSECOND as u128 / interval as u128) as u64
}

/// Returns the segments that `rate` delivers in `time` (ps), rounded down.
#[inline]
pub fn volume(rate: u64, time: u64) -> u64 {
    (rate as u128 * time as u128 / ((MICROSECOND as u128) << RATE_SCALE)) as u64
}

/// Returns `gain` times the product of rate and round trip in segments, rounded up.
#[inline]
pub fn product(rate: u64, rtt: u64, gain: u32) -> u32 {
    let unit = (MICROSECOND as u128 * UNIT as u128) << RATE_SCALE;
    let product = rate as u128 * rtt as u128 * gain as u128;
    product.div_ceil(unit).min(u32::MAX as u128) as u32
}

/// Returns the pacing rate in bytes of payload per second: 1 % less than `gain` times the rate.
#[inline]
pub fn paced(rate: u64, gain: u32, mss: u32) -> u64 {
    let bytes = (rate as u128 * mss as u128 * gain as u128) >> 8;
    ((bytes * 990_000) >> RATE_SCALE) as u64
}

/// Returns the segments that Linux passes to segmentation offload at a rate in bytes per second: a
/// millisecond's worth, at most what the offload takes at once.
#[inline]
pub fn offload(rate: u64, more: u64, mss: u32) -> u32 {
    ((rate >> 10) + more).min(65_536 - 1 - 320) as u32 / mss
}

/// Returns the bytes that Linux passes on at once in addition, if the round trip is short
/// (tcp_tso_rtt_log = 9).
#[inline]
pub fn near(min_rtt: u64) -> u64 {
    let halvings = (min_rtt / MICROSECOND) >> 9;
    if halvings < 32 { 65_536 >> halvings } else { 0 }
}

#[inline]
pub fn scaled(value: u32, by: u32) -> u32 {
    ((value as u64 * by as u64) >> 8) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux's values for 100 Mb/s of 1448 B segments: 8 in a millisecond. Then the limits.
    #[test]
    fn offload_burst() {
        assert_eq!(offload(12_500_000, 0, 1448), 8);
        assert_eq!(offload(1_250_000_000, 0, 1460), 44);
        assert_eq!(offload(10_000, 0, 1460), 0);
    }
}
