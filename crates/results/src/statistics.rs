//! Means and percentiles, computed like numpy's.

/// Sorted finite numbers, with their mean.
pub struct Distribution {
    /// Values in ascending order.
    values: Vec<f64>,
    mean: f64,
}

impl Distribution {
    /// Returns `None` for an empty sample. The mean is summed in the given order, so that it is
    /// reproducible.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.sort_unstable_by(f64::total_cmp);
        Some(Self { values, mean })
    }

    pub fn count(&self) -> u64 {
        self.values.len() as u64
    }

    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the `q`-quantile, `0 <= q <= 1`, with linear interpolation: `numpy.quantile(values,
    /// q)`, to the last bit.
    pub fn quantile(&self, q: f64) -> f64 {
        let position = q * (self.values.len() - 1) as f64;
        let below = position.floor();
        let t = position - below;
        let a = self.values[below as usize];
        let b = self.values[(below as usize + 1).min(self.values.len() - 1)];
        // Like numpy's `_lerp`, interpolate from the nearer end.
        if t < 0.5 { a + (b - a) * t } else { b - (b - a) * (1.0 - t) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numpy_linear() {
        let d = Distribution::of(vec![15.0, 20.0, 35.0, 40.0, 50.0]).unwrap();
        assert_eq!(d.mean(), 32.0);
        assert_eq!(d.quantile(0.0), 15.0);
        assert_eq!(d.quantile(0.4), 29.0);
        assert_eq!(d.quantile(0.5), 35.0);
        assert_eq!(d.quantile(0.95), 48.0);
        assert_eq!(d.quantile(1.0), 50.0);
        // Values of numpy.quantile([1.1, 2.7, 3.3], [0.99, 0.999]).
        let d = Distribution::of(vec![3.3, 1.1, 2.7]).unwrap();
        assert_eq!((d.quantile(0.99), d.quantile(0.999)), (3.288, 3.2988));
        assert_eq!(Distribution::of(vec![7.0]).unwrap().quantile(0.999), 7.0);
        assert!(Distribution::of(Vec::new()).is_none());
    }
}
