//! Arrival processes: the gaps between the starts of flows.

use crate::{Draws, TrafficError, purpose};
use afflux_engine::random::Stream;
use afflux_units::Time;

/// A renewal process: gaps are drawn independently around a mean. They do not depend on sizes,
/// destinations or the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// Exponential gaps, −ln(1−u)/λ: the sampler of the HPCC and ConWeave generators.
    Poisson,
    /// Log-normal gaps of the given mean. `sigma` is the standard deviation of their logarithm: 1
    /// or 2 in Parsimon (NSDI'23).
    LogNormal { sigma: f64 },
    /// Equal gaps. The first arrival is at the start, or with `random_phase` at a uniformly drawn
    /// time within the first gap, so that hosts are not in step.
    Fixed { random_phase: bool },
}

/// Largest `sigma`. With a larger one, the mean depends on gaps too rare to occur in a simulation.
const LARGEST_SIGMA: f64 = 5.0;
const PS_PER_SECOND: f64 = 1e12;

impl Arrivals {
    pub(crate) fn check(&self) -> Result<(), TrafficError> {
        match self {
            Arrivals::LogNormal { sigma } if !(0.0..=LARGEST_SIGMA).contains(sigma) => {
                Err(TrafficError::parameter(
                    "sigma",
                    sigma,
                    format!("a number from 0 to {LARGEST_SIGMA}"),
                ))
            }
            _ => Ok(()),
        }
    }
    /// Returns a gap as a multiple of the mean.
    fn gap(&self, stream: &mut Stream) -> f64 {
        match self {
            Arrivals::Poisson => -libm::log(1.0 - stream.next_f64()),
            Arrivals::LogNormal { sigma } => {
                libm::exp(sigma * normal(stream) - sigma * sigma / 2.0)
            }
            Arrivals::Fixed { .. } => 1.0,
        }
    }
    /// Returns the time until the first arrival as a multiple of the mean gap. A random process has
    /// begun long before, so that its rate is the same at any time.
    fn first_gap(&self, stream: &mut Stream) -> f64 {
        match self {
            Arrivals::Fixed { random_phase: false } => 0.0,
            Arrivals::Fixed { random_phase: true } => stream.next_f64(),
            Arrivals::Poisson => self.gap(stream),
            // The start falls anywhere into a gap, and into one in proportion to its length.
            Arrivals::LogNormal { sigma } => {
                let gap = libm::exp(sigma * normal(stream) + sigma * sigma / 2.0);
                gap * stream.next_f64()
            }
        }
    }
    /// Returns the arrivals of `host` at a rate of `per_second` flows per second, from `start` on.
    pub fn times(self, per_second: f64, start: Time, draws: &Draws, host: u32) -> ArrivalTimes {
        ArrivalTimes {
            process: self,
            mean_ps: PS_PER_SECOND / per_second,
            clock: start,
            first: true,
            stream: draws.stream(purpose::GAP, u64::from(host)),
        }
    }
}

/// Returns a standard normal number by Box and Muller's cosine. Their sine is not used, so that
/// every gap takes the same two draws.
fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - stream.next_f64())).sqrt();
    radius * libm::cos(std::f64::consts::TAU * stream.next_f64())
}

/// Arrivals in order, in whole nanoseconds. The clock runs in whole picoseconds, so rounding does
/// not accumulate. The iterator ends only at the latest time of a run.
#[derive(Debug, Clone)]
pub struct ArrivalTimes {
    process: Arrivals,
    mean_ps: f64,
    clock: Time,
    first: bool,
    stream: Stream,
}

impl Iterator for ArrivalTimes {
    type Item = Time;
    fn next(&mut self) -> Option<Time> {
        let gap = if std::mem::take(&mut self.first) {
            self.process.first_gap(&mut self.stream)
        } else {
            self.process.gap(&mut self.stream)
        };
        // A rate of 0 has infinite gaps, for which the conversion saturates.
        self.clock = Time(
            self.clock
                .0
                .checked_add((gap * self.mean_ps + 0.5) as u64)
                .filter(|ps| *ps <= Time::LATEST.0)?,
        );
        Some(Time::from_ns(self.clock.round_ns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Span;

    fn gaps(process: Arrivals, count: usize) -> Vec<f64> {
        let times: Vec<Time> =
            process.times(1e6, Time::ZERO, &Draws::new(1, "test"), 4).take(count).collect();
        times.windows(2).map(|pair| pair[1].since(pair[0]).as_seconds() * 1e6).collect()
    }
    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn means_and_spreads() {
        let poisson = gaps(Arrivals::Poisson, 200_000);
        let square: Vec<f64> = poisson.iter().map(|gap| gap * gap).collect();
        assert!((mean(&poisson) - 1.0).abs() < 0.01, "{}", mean(&poisson));
        // The second moment of an exponential is twice the square of its mean.
        assert!((mean(&square) - 2.0).abs() < 0.05, "{}", mean(&square));
        let log_normal = gaps(Arrivals::LogNormal { sigma: 1.0 }, 200_000);
        assert!((mean(&log_normal) - 1.0).abs() < 0.02, "{}", mean(&log_normal));
        let logarithms: Vec<f64> = log_normal.iter().map(|gap| libm::log(gap.max(1e-4))).collect();
        assert!((mean(&logarithms) + 0.5).abs() < 0.01, "{}", mean(&logarithms));
    }

    /// Counts arrivals in one mean gap from the start, over many hosts.
    #[test]
    fn the_rate_holds_from_the_start() {
        for process in [
            Arrivals::Poisson,
            Arrivals::LogNormal { sigma: 0.0 },
            Arrivals::LogNormal { sigma: 1.0 },
            Arrivals::LogNormal { sigma: 2.0 },
            Arrivals::Fixed { random_phase: true },
        ] {
            let draws = Draws::new(3, "test");
            let arrivals: usize = (0..40_000)
                .map(|host| {
                    let times = process.times(1e6, Time::ZERO, &draws, host);
                    times.take_while(|time| time.0 < 1_000_000).count()
                })
                .sum();
            let rate = arrivals as f64 / 40_000.0;
            assert!((rate - 1.0).abs() < 0.04, "{process:?}: {rate}");
        }
    }

    #[test]
    fn fixed_gaps_and_whole_nanoseconds() {
        let start = Time::from_ns(10);
        let thirds =
            Arrivals::Fixed { random_phase: false }.times(3e9, start, &Draws::new(1, ""), 0);
        // The gap is a third of a nanosecond. The clock drifts by no more than the picosecond
        // rounding of each gap.
        let times: Vec<Time> = thirds.take(3_001).collect();
        assert_eq!(times[0], start);
        assert_eq!(times[3_000], start + Span::from_ns(999));
        let phased: Vec<Time> = Arrivals::Fixed { random_phase: true }
            .times(1e3, start, &Draws::new(1, ""), 7)
            .take(3)
            .collect();
        assert!(phased[0] > start && phased[0] < start + Span::from_ms(1));
        assert_eq!(phased[1].since(phased[0]), Span::from_ms(1));
        assert!(phased.iter().all(|time| time.0 % 1_000 == 0));
    }

    #[test]
    fn a_rate_of_zero_never_arrives() {
        assert_eq!(
            Arrivals::Fixed { random_phase: true }
                .times(0.0, Time::ZERO, &Draws::new(1, ""), 0)
                .next(),
            None
        );
        assert_eq!(Arrivals::Poisson.times(1e-30, Time::ZERO, &Draws::new(1, ""), 0).next(), None);
        assert!(Arrivals::LogNormal { sigma: f64::NAN }.check().is_err());
    }

    #[test]
    fn a_higher_rate_keeps_the_order_of_draws() {
        let at = |rate| {
            Arrivals::Poisson.times(rate, Time::ZERO, &Draws::new(1, "a"), 0).nth(9).unwrap().0
                as f64
        };
        assert!((at(1e3) / at(2e3) - 2.0).abs() < 1e-6);
    }
}
