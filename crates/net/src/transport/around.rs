//! What the keys of a transport are read in.

use crate::spec::{Compat, Wire};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Or, Size, Speed, Unlimited};
use afflux_units::{Bytes, Rate, Span};

/// What the keys of a transport are read in.
pub struct Around<'a> {
    pub wire: &'a Wire,
    /// Payload of a full frame, and where that comes from.
    pub payload: u16,
    pub why: &'a str,
    /// The longest round trip of the idle fabric.
    pub idle: Span,
    /// Of the first host's NIC.
    pub nic: Rate,
    pub compat: Option<Compat>,
}

impl Around<'_> {
    /// The default of [`Self::payload`].
    pub fn full(&self) -> Size {
        Size(Bytes(self.payload.into()))
    }

    pub fn payload(&self, Size(bytes): Size, key: Key) -> Result<u16, Wrong> {
        match u16::try_from(bytes.0) {
            Ok(payload) if payload > 0 && payload <= self.payload => Ok(payload),
            _ => Err(Wrong::at(key, format!("\"{bytes}\": write a size from 1B to {}B ({})", self.payload, self.why))),
        }
    }

    /// A default for times that are a round trip.
    pub fn idle(&self) -> Span {
        self.idle.max(Span::from_us(1)).min(Span::from_s(20))
    }

    /// Frames that such a round trip holds.
    pub fn window(&self) -> u32 {
        let bits = self.idle().0 as u128 * self.nic.0 as u128 / 1_000_000_000_000;
        (bits.div_ceil(8 * u128::from(self.payload.max(1))) as u32).clamp(1, 1_000_000)
    }
}

pub fn time(Duration(span): Duration, key: Key) -> Result<Span, Wrong> {
    let right = span >= Span::from_us(1) && span <= Span::from_s(60);
    if right { Ok(span) } else { Err(Wrong::at(key, format!("\"{span}\": write a time from 1us to 60s"))) }
}

/// Of a source that sends at a rate of its own.
pub fn pace(given: Or<Unlimited, Speed>, key: Key) -> Result<Option<Rate>, Wrong> {
    match given.0 {
        Some(Speed(Rate(0))) => Err(Wrong::at(key, "\"0bps\": write a rate above 0, or \"unlimited\"")),
        given => Ok(given.map(|speed| speed.0)),
    }
}

/// Of what a receiver sends.
pub fn priority(given: u8, key: Key) -> Result<u8, Wrong> {
    if given > 7 { Err(Wrong::at(key, format!("found {given}: write a priority from 0 (lowest) to 7"))) } else { Ok(given) }
}
