//! Estimator of the round-trip time and the retransmission time-out (RFC 6298), optionally with
//! Linux's lower bound.

use crate::spec::{Estimator, TcpConfig};

/// Round-trip estimator. All times are in ps.
#[derive(Debug, Clone, Copy)]
pub struct Rtt {
    smoothed: u64,
    variance: u64,
    /// Time-out without back-off.
    timeout: u64,
    backoff: u32,
    /// Linux's estimator: smoothed deviation, largest deviation in the current round trip, and
    /// segment whose acknowledgement ends that round trip.
    deviation: u64,
    largest: u64,
    round_end: u32,
}

impl Rtt {
    pub fn new(config: &TcpConfig) -> Self {
        Rtt {
            smoothed: 0,
            variance: 0,
            timeout: config.initial_rto.0,
            backoff: 0,
            deviation: 0,
            largest: 0,
            round_end: 0,
        }
    }

    /// Adds a round-trip sample in ps. `una` and `next` determine when a round trip is over.
    #[inline]
    pub fn sample(&mut self, rtt: u64, una: u32, next: u32, config: &TcpConfig) {
        match config.estimator {
            Estimator::Rfc6298 => self.sample_rfc(rtt),
            Estimator::Linux => self.sample_linux(rtt, una, next, config),
        }
        let spread = (4 * self.variance).max(config.granularity.0);
        self.timeout = if config.min_rto_on_variance {
            self.smoothed + spread.max(config.min_rto.0)
        } else {
            (self.smoothed + spread).max(config.min_rto.0)
        };
        self.timeout = self.timeout.min(config.max_rto.0);
        // Karn: the back-off lasts until a segment that was sent only once gives a sample (RFC 6298
        // §5).
        self.backoff = 0;
    }

    #[inline(always)]
    fn sample_rfc(&mut self, rtt: u64) {
        if self.smoothed == 0 {
            self.smoothed = rtt;
            self.variance = rtt / 2;
        } else {
            // (2.3): RTTVAR <- 3/4 RTTVAR + 1/4 |SRTT - R'|, SRTT <- 7/8 SRTT + 1/8 R', in that order.
            self.variance = (3 * self.variance + self.smoothed.abs_diff(rtt)) / 4;
            self.smoothed = (7 * self.smoothed + rtt) / 8;
        }
    }

    /// Adds a sample as Linux's tcp_rtt_estimator. The variance is the largest smoothed deviation
    /// of a round trip. Once per round trip it falls by a quarter of the difference. If a sample is
    /// below the smoothed round trip by more than the deviation, its deviation counts an eighth.
    fn sample_linux(&mut self, rtt: u64, una: u32, next: u32, config: &TcpConfig) {
        let floor = config.min_rto.0 / 4;
        if self.smoothed == 0 {
            self.smoothed = rtt;
            self.deviation = rtt / 2;
            self.variance = self.deviation.max(floor);
            self.largest = self.variance;
            self.round_end = next;
            return;
        }
        let (off, shorter) = (self.smoothed.abs_diff(rtt), rtt < self.smoothed);
        self.smoothed = (7 * self.smoothed + rtt) / 8;
        let mut change = (off as i64 - self.deviation as i64) / 4;
        if shorter && change > 0 {
            change /= 8;
        }
        self.deviation = self.deviation.saturating_add_signed(change);
        self.largest = self.largest.max(self.deviation);
        self.variance = self.variance.max(self.largest);
        if una > self.round_end {
            if self.largest < self.variance {
                self.variance -= (self.variance - self.largest) / 4;
            }
            self.round_end = next;
            self.largest = floor;
        }
    }

    pub fn smoothed(&self) -> u64 {
        self.smoothed
    }
    pub fn backed_off(&self) -> bool {
        self.backoff > 0
    }

    pub fn timeout(&self, config: &TcpConfig) -> u64 {
        self.timeout.saturating_mul(1 << self.backoff.min(40)).min(config.max_rto.0)
    }
    /// Cancels the back-off, because no segment was lost after all.
    pub fn forgive(&mut self) {
        self.backoff = 0;
    }
    /// Returns the time-out without back-off, in ps.
    pub fn single_timeout(&self) -> u64 {
        self.timeout
    }
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Span;

    #[test]
    fn rfc_6298_and_linux_floors() {
        let config = crate::testing::tcp();
        let mut rtt = Rtt::new(&config);
        assert_eq!(rtt.timeout(&config), Span::from_ms(1).0);
        rtt.sample(Span::from_us(100).0, 0, 0, &config);
        // SRTT 100, RTTVAR 50: 100 + 4 * 50 = 300 us, above the floor of 200 us.
        assert_eq!(rtt.timeout(&config), Span::from_us(300).0);
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.timeout(&config), Span::from_us(1200).0);
        let linux = TcpConfig { min_rto: Span::from_ms(200), min_rto_on_variance: true, ..config };
        rtt.sample(Span::from_us(100).0, 0, 0, &linux);
        assert_eq!(rtt.timeout(&linux), Span::from_us(200_100).0);
    }
}
