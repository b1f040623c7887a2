//! Round-trip time and retransmission time-out: RFC 6298, with Linux's floor by choice.

use crate::spec::TcpConfig;

/// All in picoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Rtt {
    smoothed: u64,
    variance: u64,
    /// Without back-off.
    timeout: u64,
    backoff: u32,
}

impl Rtt {
    pub fn new(config: &TcpConfig) -> Self {
        Rtt { smoothed: 0, variance: 0, timeout: config.initial_rto.0, backoff: 0 }
    }

    /// A sample from a segment that was sent once (Karn's rule).
    pub fn sample(&mut self, rtt: u64, config: &TcpConfig) {
        if self.smoothed == 0 {
            self.smoothed = rtt;
            self.variance = rtt / 2;
        } else {
            // (2.3): RTTVAR <- 3/4 RTTVAR + 1/4 |SRTT - R'|, SRTT <- 7/8 SRTT + 1/8 R', in that order.
            self.variance = (3 * self.variance + self.smoothed.abs_diff(rtt)) / 4;
            self.smoothed = (7 * self.smoothed + rtt) / 8;
        }
        let spread = 4 * self.variance;
        self.timeout = if config.min_rto_on_variance { self.smoothed + spread.max(config.min_rto.0) } else { (self.smoothed + spread).max(config.min_rto.0) };
        self.timeout = self.timeout.min(config.max_rto.0);
        // Karn: backed off until a segment that was sent once has been measured (RFC 6298 §5).
        self.backoff = 0;
    }

    pub fn timeout(&self, config: &TcpConfig) -> u64 {
        self.timeout.saturating_mul(1 << self.backoff.min(40)).min(config.max_rto.0)
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
        rtt.sample(Span::from_us(100).0, &config);
        // SRTT 100, RTTVAR 50: 100 + 4 * 50 = 300 us, above the floor of 200 us.
        assert_eq!(rtt.timeout(&config), Span::from_us(300).0);
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.timeout(&config), Span::from_us(1200).0);
        let linux = TcpConfig { min_rto: Span::from_ms(200), min_rto_on_variance: true, ..config };
        rtt.sample(Span::from_us(100).0, &linux);
        assert_eq!(rtt.timeout(&linux), Span::from_us(200_100).0);
    }
}
