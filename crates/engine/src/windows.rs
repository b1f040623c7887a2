//! Division of simulated time into windows.

/// Windows of equal length, numbered from 0 at time 0.
#[derive(Debug, Clone, Copy)]
pub struct Windows {
    length: u64,
    /// Reciprocal that replaces the division by `length`, exact for times below 2^60 ps (13 days).
    multiplier: u64,
    ceil_log2: u32,
}

impl Windows {
    /// Exclusive upper bound of all times, in ps.
    pub const TIME_LIMIT: u64 = 1 << 60;

    /// Creates windows of `length` ps, from 1 to 2^32 − 1, so that an offset within a window fits
    /// in 32 bits.
    pub fn new(length: u64) -> Self {
        assert!(length > 0 && length <= u32::MAX as u64);
        // With l = ceil(log2 length) and m = ceil(2^(63+l) / length) < 2^64 the error m·length − 2^(63+l) is below
        // length ≤ 2^l, so floor(t·m / 2^(63+l)) is exact for every t < 2^63 (Granlund and Montgomery).
        let ceil_log2 = 64 - (length - 1).leading_zeros();
        let multiplier = (1u128 << (63 + ceil_log2)).div_ceil(length as u128) as u64;
        Windows { length, multiplier, ceil_log2 }
    }
    pub fn length(&self) -> u64 {
        self.length
    }
    /// Returns the number of the window that contains `time`.
    #[inline(always)]
    pub fn of(&self, time: u64) -> u64 {
        debug_assert!(time < Self::TIME_LIMIT);
        // The time is doubled so that the result is in the upper half of the product.
        (((2 * time) as u128 * self.multiplier as u128) >> 64) as u64 >> self.ceil_log2
    }
    #[inline(always)]
    pub fn start(&self, window: u64) -> u64 {
        window * self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn division_is_exact() {
        let mut stream = Stream::new(1, 1, 1);
        for length in
            (1..200).chain([1_000_000, 1_005_120, 999_983, u32::MAX as u64, 1 << 20, (1 << 20) + 1])
        {
            let windows = Windows::new(length);
            for _ in 0..2_000 {
                let time = stream.below(Windows::TIME_LIMIT);
                for t in [time, time / length * length, (time / length * length).saturating_sub(1)]
                {
                    assert_eq!(windows.of(t), t / length, "{t} / {length}");
                }
            }
            assert_eq!(windows.of(Windows::TIME_LIMIT - 1), (Windows::TIME_LIMIT - 1) / length);
        }
    }
}
