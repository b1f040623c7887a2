//! The constant-rate pattern: background traffic of datagrams.

use super::bulk::later;
use crate::{Generated, Template, TrafficError};
use afflux_net::spec::Start;
use afflux_units::{Rate, Span, Time};

/// One flow per pair that lasts `duration` at `rate`. The template's transport must be a datagram
/// source of the same rate; the flow itself contains only the bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstantRate {
    pub pairs: Vec<(u32, u32)>,
    /// Payload rate of each flow.
    pub rate: Rate,
    pub start: Time,
    pub duration: Span,
}

impl ConstantRate {
    /// Returns the payload of one flow in bytes: `rate · duration`, rounded down, at least one
    /// byte.
    pub fn bytes(&self) -> u64 {
        let bits = u128::from(self.rate.0) * u128::from(self.duration.0);
        u64::try_from(bits / 8_000_000_000_000).unwrap_or(u64::MAX).max(1)
    }
    pub fn generate(&self, template: &Template) -> Result<Generated, TrafficError> {
        if self.rate.0 == 0 || self.duration == Span::ZERO {
            return Err(TrafficError::parameter(
                "rate",
                format!("{} for {}", self.rate, self.duration),
                "a rate and a duration above 0",
            ));
        }
        let start = Start::At(later(self.start, 0, 0)?);
        let flows = self
            .pairs
            .iter()
            .map(|(src, dst)| template.flow(0, *src, *dst, self.bytes(), start))
            .collect();
        Ok(Generated { flows, ..Generated::default() }.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rate_by_duration() {
        let background = ConstantRate {
            pairs: vec![(0, 1), (2, 3)],
            rate: Rate::from_gbps(10),
            start: Time::ZERO,
            duration: Span::from_s(100),
        };
        assert_eq!(background.bytes(), 125_000_000_000);
        assert_eq!(background.generate(&Template::default()).unwrap().flows.len(), 2);
    }
}
