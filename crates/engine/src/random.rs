//! Named random streams: one per entity and purpose, derived from the seed. Adding a flow, a port
//! or a thread therefore does not change the random numbers of other entities.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// A small random stream (8 bytes) for entities that draw on the hot path.
#[derive(Debug, Clone)]
pub struct Stream(SplitMix64);

impl Stream {
    /// Creates the stream of `entity` for `purpose`. Each caller defines its own purpose constants,
    /// which are unique within a simulation.
    pub fn new(seed: u64, purpose: u64, entity: u64) -> Self {
        // Three rounds of SplitMix64's finaliser decorrelate neighbouring seeds, purposes and
        // entities.
        Stream(SplitMix64::seed_from_u64(mix(mix(mix(seed) ^ purpose) ^ entity)))
    }
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// Returns a uniform number in [0, 1) with 53 random bits.
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// Returns a uniform integer in `0..n`, for `n > 0` (Lemire's multiplication; the bias is below
    /// 2^-32 for n < 2^32).
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.next_u64() as u128 * n as u128) >> 64) as u64
    }
}

/// SplitMix64's finaliser: a bijection with full avalanche.
pub const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_independent_of_each_other() {
        let mut a = Stream::new(1, 2, 3);
        let first: Vec<u64> = (0..4).map(|_| a.next_u64()).collect();
        for other in [Stream::new(2, 2, 3), Stream::new(1, 3, 3), Stream::new(1, 2, 4)] {
            let mut other = other;
            assert_ne!(first[0], other.next_u64());
        }
        let mut again = Stream::new(1, 2, 3);
        assert_eq!(first, (0..4).map(|_| again.next_u64()).collect::<Vec<_>>());
    }

    #[test]
    fn mean_of_uniform_draws() {
        let mut stream = Stream::new(7, 0, 0);
        let mean = (0..100_000).map(|_| stream.next_f64()).sum::<f64>() / 100_000.0;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
