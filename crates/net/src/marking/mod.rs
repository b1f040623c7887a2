//! Which frames a queue marks or, where they are not ECN-capable, drops early.

use crate::Model;
use crate::spec::{self, Compare, Limit, MarkAt};
use afflux_engine::random::Stream;

/// RED on the instantaneous or averaged queue; a step is its special case.
#[derive(Debug, Clone)]
pub struct Red {
    kmin: u64,
    kmax: u64,
    /// No instantaneous length below this is marked.
    quiet: u64,
    /// Lengths are counted in frames instead of bytes.
    pub in_packets: bool,
    pmax: f64,
    or_equal: bool,
    pub at: MarkAt,
    pub weight: Option<f64>,
    pub drop_incapable: bool,
}

impl Red {
    pub fn new(config: &spec::Marking) -> Self {
        let value = |limit: Limit| match limit {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(packets) => packets as u64,
        };
        let or_equal = config.compare == Compare::AtOrAbove;
        Red {
            quiet: value(config.kmin) + !or_equal as u64,
            kmin: value(config.kmin),
            kmax: value(config.kmax),
            in_packets: matches!(config.kmin, Limit::Packets(_)),
            pmax: config.pmax.get(),
            or_equal,
            at: config.at,
            weight: config.average_weight,
            drop_incapable: config.drop_incapable,
        }
    }

    /// An instantaneous length at which nothing is ever marked.
    #[inline(always)]
    pub fn is_quiet(&self, length: u64) -> bool {
        self.weight.is_none() && length < self.quiet
    }

    /// Is a frame that sees this length to be marked? Draws only between the thresholds.
    pub fn hit(&self, length: f64, stream: &mut Stream) -> bool {
        let above = |k: u64| if self.or_equal { length >= k as f64 } else { length > k as f64 };
        if !above(self.kmin) {
            return false;
        }
        if above(self.kmax) {
            return true;
        }
        let p = self.pmax * (length - self.kmin as f64) / (self.kmax - self.kmin) as f64;
        stream.next_f64() < p
    }

    /// The average after an arrival that finds `length`; an idle spell counts as that many arrivals that found nothing
    /// (Floyd and Jacobson 1993).
    pub fn average(&self, weight: f64, average: f64, length: f64, idle_arrivals: f64) -> f64 {
        if length == 0.0 { libm::pow(1.0 - weight, idle_arrivals) * average } else { average + weight * (length - average) }
    }
}

pub const MODELS: &[Model] = &[
    Model {
        kind: "marking",
        name: "ecn step",
        source: "DCTCP (SIGCOMM 2010): mark when the instantaneous queue exceeds K",
        faithful: "at enqueue or dequeue; `>` or `>=`; bytes or packets; frames that are not ECN-capable are dropped by the same rule, as WRED on switches does, unless told otherwise",
        simplified: "per queue only (no pool or port marking)",
    },
    Model {
        kind: "marking",
        name: "red",
        source: "Floyd and Jacobson 1993; WRED of switches: linear from kmin to pmax at kmax, always above",
        faithful: "instantaneous or averaged (idle time decays the average by (1-w)^m); at enqueue or dequeue",
        simplified: "marks are drawn independently: no count correction p/(1-count*p), no gentle region above kmax",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Probability;

    fn red(kmin: u64, kmax: u64, pmax: f64, compare: Compare) -> Red {
        Red::new(&spec::Marking {
            kmin: Limit::Bytes(kmin),
            kmax: Limit::Bytes(kmax),
            pmax: Probability::new(pmax).unwrap(),
            at: MarkAt::Enqueue,
            compare,
            average_weight: None,
            drop_incapable: true,
        })
    }

    #[test]
    fn step_at_the_threshold() {
        let mut stream = Stream::new(1, 1, 1);
        assert!(!red(100, 100, 1.0, Compare::Above).hit(100.0, &mut stream));
        assert!(red(100, 100, 1.0, Compare::Above).hit(101.0, &mut stream));
        assert!(red(100, 100, 1.0, Compare::AtOrAbove).hit(100.0, &mut stream));
    }

    #[test]
    fn slope_between_the_thresholds() {
        let (mut stream, red) = (Stream::new(1, 1, 1), red(100, 300, 0.2, Compare::Above));
        let share = |length: f64, stream: &mut Stream| (0..100_000).filter(|_| red.hit(length, stream)).count() as f64 / 1e5;
        assert!((share(200.0, &mut stream) - 0.1).abs() < 0.005);
        assert!((share(300.0, &mut stream) - 0.2).abs() < 0.005);
        assert_eq!(share(301.0, &mut stream), 1.0);
    }
}
