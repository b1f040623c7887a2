//! Histogram of lateness with logarithmic buckets: each bucket is about 1/32 of its values wide.

use std::time::Duration;

/// Buckets per doubling of the lateness, as a power of two.
const FINE_BITS: u32 = 5;
const FINE: u64 = 1 << FINE_BITS;
/// Number of buckets, for lateness up to 2^40 ns (18 minutes).
const BUCKETS: usize = ((41 - FINE_BITS) * FINE as u32) as usize;

#[derive(Debug, Clone)]
pub struct Lateness {
    counts: Vec<u64>,
    count: u64,
    most_ns: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Lateness { counts: vec![0; BUCKETS], count: 0, most_ns: 0 }
    }
}

impl Lateness {
    #[inline]
    pub fn note(&mut self, ns: u64) {
        self.counts[bucket(ns).min(BUCKETS - 1)] += 1;
        self.count += 1;
        self.most_ns = self.most_ns.max(ns);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn most(&self) -> Duration {
        Duration::from_nanos(self.most_ns)
    }

    /// Returns the `share` quantile, as the upper end of its bucket: at least this share of all
    /// entries was not later.
    pub fn quantile(&self, share: f64) -> Duration {
        let needed = (share * self.count as f64).ceil() as u64;
        let mut so_far = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            so_far += count;
            if *count > 0 && so_far >= needed {
                return Duration::from_nanos(upper(bucket).min(self.most_ns));
            }
        }
        self.most()
    }
}

fn bucket(ns: u64) -> usize {
    if ns < FINE {
        return ns as usize;
    }
    let doublings = ns.ilog2() - FINE_BITS;
    ((u64::from(doublings) + 1) * FINE + ((ns >> doublings) - FINE)) as usize
}

/// Returns the largest number in the bucket.
fn upper(bucket: usize) -> u64 {
    let (doublings, fine) = (bucket as u64 / FINE, bucket as u64 % FINE);
    if doublings == 0 { fine } else { ((FINE + fine + 1) << (doublings - 1)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_in_its_bucket() {
        let numbers = (0..200_000u64)
            .chain((17..40).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]));
        for ns in numbers {
            let bucket = bucket(ns);
            assert!(ns <= upper(bucket) && upper(bucket) - ns <= ns / FINE, "{ns}");
            assert!(bucket == 0 || upper(bucket - 1) < ns, "{ns}");
        }
    }

    #[test]
    fn quantiles() {
        let mut lateness = Lateness::default();
        assert_eq!(
            (lateness.count(), lateness.quantile(0.5), lateness.most()),
            (0, Duration::ZERO, Duration::ZERO)
        );
        (1..=1000).for_each(|us| lateness.note(us * 1_000));
        let near = |found: Duration, us: u64| {
            found >= Duration::from_micros(us) && found.as_nanos() as u64 <= us * 1_000 * 33 / 32
        };
        assert!(
            near(lateness.quantile(0.5), 500) && near(lateness.quantile(0.99), 990),
            "{lateness:?}"
        );
        assert_eq!(
            (lateness.count(), lateness.quantile(1.0), lateness.most()),
            (1000, Duration::from_millis(1), Duration::from_millis(1))
        );
    }
}
