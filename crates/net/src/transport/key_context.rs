//! Context and common checks for the keys of a transport's settings.

use crate::spec::{Compat, Wire};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Or, Size, Speed, Unlimited};
use afflux_units::{Bytes, Rate, Span};

/// Context in which the keys of a transport are resolved.
pub struct KeyContext<'a> {
    pub wire: &'a Wire,
    /// Payload of a full frame in bytes, and the explanation of this limit for error messages.
    pub payload: u16,
    pub why: &'a str,
    /// Longest round trip of the idle fabric.
    pub idle: Span,
    /// Rate of the first host's NIC.
    pub nic: Rate,
    pub compat: Option<Compat>,
}

impl KeyContext<'_> {
    /// Returns [`Self::payload`] as the default of a size key.
    pub fn full(&self) -> Size {
        Size(Bytes(self.payload.into()))
    }

    pub fn payload(&self, Size(bytes): Size, key: Key) -> Result<u16, Wrong> {
        match u16::try_from(bytes.0) {
            Ok(payload) if payload > 0 && payload <= self.payload => Ok(payload),
            _ => Err(Wrong::at(
                key,
                format!("\"{bytes}\": write a size from 1B to {}B ({})", self.payload, self.why),
            )),
        }
    }

    /// Returns the default for times that are one round trip: the idle round trip, within 1 us to
    /// 20 s.
    pub fn idle(&self) -> Span {
        self.idle.max(Span::from_us(1)).min(Span::from_s(20))
    }

    /// Returns the number of full frames in flight that fill the NIC for such a round trip, 1 to
    /// 1,000,000.
    pub fn window(&self) -> u32 {
        let bits = self.idle().0 as u128 * self.nic.0 as u128 / 1_000_000_000_000;
        (bits.div_ceil(8 * u128::from(self.payload.max(1))) as u32).clamp(1, 1_000_000)
    }
}

pub fn time(Duration(span): Duration, key: Key) -> Result<Span, Wrong> {
    let right = span >= Span::from_us(1) && span <= Span::from_s(60);
    if right {
        Ok(span)
    } else {
        Err(Wrong::at(key, format!("\"{span}\": write a time from 1us to 60s")))
    }
}

/// Checks the configured rate of a source. `None` is unlimited.
pub fn pace(given: Or<Unlimited, Speed>, key: Key) -> Result<Option<Rate>, Wrong> {
    match given.0 {
        Some(Speed(Rate(0))) => {
            Err(Wrong::at(key, "\"0bps\": write a rate above 0, or \"unlimited\""))
        }
        given => Ok(given.map(|speed| speed.0)),
    }
}

/// Checks the priority of frames that a receiver sends.
pub fn priority(given: u8, key: Key) -> Result<u8, Wrong> {
    if given > 7 {
        Err(Wrong::at(key, format!("found {given}: write a priority from 0 (lowest) to 7")))
    } else {
        Ok(given)
    }
}
