//! A distribution function given by points with straight lines between them.

/// Largest size in bytes, a petabyte: whole bytes up to it are exact in `f64`.
pub(super) const LARGEST_BYTES: f64 = 1e15;

/// A point: the size in units, and the share of flows up to this size.
pub(super) type Point = (f64, f64);

/// Middle column of three, which ns-2 does not use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ranks {
    /// Whether the file has this column.
    pub given: bool,
    /// First line in which the value is not 1. All files of ns-2 have 1.
    pub other: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    /// Points whose coordinates never decrease. The first share may be above 0 (that share of flows
    /// has exactly the first size), and the last is 1. Repeated sizes are jumps, repeated shares
    /// are gaps.
    points: Vec<Point>,
    unit_bytes: u64,
    /// Whether sizes are rounded up to whole units: ns-2 draws with `interpolation_ 2` and rounds
    /// packets up (pFabric's scripts).
    whole_units: bool,
    ranks: Ranks,
}

impl Table {
    /// Creates a table. `points` must be as described at the field.
    pub fn new(points: Vec<Point>, unit_bytes: u64, whole_units: bool) -> Self {
        Self::of_file(points, unit_bytes, whole_units, Ranks::default())
    }
    pub fn of_file(points: Vec<Point>, unit_bytes: u64, whole_units: bool, ranks: Ranks) -> Self {
        assert!(
            points.last().is_some_and(|last| last.1 == 1.0)
                && points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1)
        );
        Table { points, unit_bytes, whole_units, ranks }
    }
    pub fn ranks(&self) -> Ranks {
        self.ranks
    }
    pub fn whole_units(&self) -> bool {
        self.whole_units
    }
    pub fn sample(&self, u: f64) -> u64 {
        let units = self.invert(u);
        if self.whole_units {
            return (units.ceil() as u64).max(1) * self.unit_bytes;
        }
        ((units * self.unit_bytes as f64 + 0.5) as u64).max(1)
    }
    pub fn quantile(&self, p: f64) -> f64 {
        self.invert(p) * self.unit_bytes as f64
    }
    /// Returns the mean size in bytes. Each straight piece contributes its share times the middle
    /// of its sizes.
    pub fn mean(&self) -> f64 {
        let (first, share) = self.points[0];
        let pieces = self
            .points
            .windows(2)
            .map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0);
        (first * share + pieces.sum::<f64>()) * self.unit_bytes as f64
    }
    /// Returns the shares `from` and `to` of every piece that flows fall into, and whether all
    /// flows of the piece have one size.
    pub fn pieces(&self) -> Vec<(f64, f64, bool)> {
        let first = (0.0, self.points[0].1, true);
        let rest =
            self.points.windows(2).map(|pair| (pair[0].1, pair[1].1, pair[0].0 == pair[1].0));
        std::iter::once(first).chain(rest).filter(|(from, to, _)| to > from).collect()
    }
    /// Returns the size in units at share `p`. At a gap with several sizes, it is the one after the
    /// gap.
    fn invert(&self, p: f64) -> f64 {
        let after = self.points.partition_point(|point| point.1 <= p);
        let Some(&(x1, p1)) = self.points.get(after) else {
            return self.points[self.points.len() - 1].0;
        };
        let Some(&(x0, p0)) = after.checked_sub(1).and_then(|before| self.points.get(before))
        else {
            return x1;
        };
        x0 + (x1 - x0) * ((p - p0) / (p1 - p0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn jumps_and_gaps() {
        // Half the flows have exactly 100 B, none has 100 to 200 B, and the rest is uniform up to
        // 300 B.
        let table =
            Table::new(vec![(100.0, 0.0), (100.0, 0.5), (200.0, 0.5), (300.0, 1.0)], 1, false);
        assert_eq!(table.sample(0.25), 100);
        assert_eq!(table.sample(0.5), 200);
        assert_eq!(table.sample(0.75), 250);
        assert_eq!(table.mean(), 0.5 * 100.0 + 0.5 * 250.0);
        // A first share above 0 is a jump as well.
        let atom = Table::new(vec![(100.0, 0.5), (200.0, 0.5), (300.0, 1.0)], 1, false);
        assert_eq!(atom.mean(), table.mean());
        assert_eq!((atom.sample(0.0), atom.sample(0.49)), (100, 100));
    }

    #[test]
    fn packets_round_up() {
        let table = Table::new(vec![(1.0, 0.5), (2.0, 1.0)], 1_460, true);
        assert_eq!(
            (table.sample(0.1), table.sample(0.5), table.sample(0.51)),
            (1_460, 1_460, 2_920)
        );
    }

    proptest! {
        #[test]
        fn samples_rise_and_average_to_the_mean(sizes in prop::collection::vec(0.0..1e6f64, 2..12), mut shares in prop::collection::vec(0.0..1.0f64, 2..12)) {
            let count = sizes.len().min(shares.len());
            let mut sizes = sizes[..count].to_vec();
            sizes.sort_by(f64::total_cmp);
            shares.truncate(count);
            shares.sort_by(f64::total_cmp);
            shares[count - 1] = 1.0;
            let table = Table::new(sizes.iter().copied().zip(shares.iter().copied()).collect(), 1, false);
            let draws = 20_000;
            let samples: Vec<u64> = (0..draws).map(|i| table.sample((i as f64 + 0.5) / draws as f64)).collect();
            prop_assert!(samples.is_sorted());
            prop_assert!(samples[0] >= 1);
            let mean = samples.iter().sum::<u64>() as f64 / draws as f64;
            // A midpoint sum of a monotone function is within half a step of its range; one byte is
            // for rounding.
            prop_assert!((mean - table.mean()).abs() <= 1.0 + sizes[count - 1] / draws as f64, "{} {}", mean, table.mean());
        }
    }
}
