//! `kind = "nack"`: rate-based datagrams with negative acknowledgements.

use super::fill;
use super::hosts::Frames;
use crate::document::{Duration, Nack, Or};
use crate::tree::{Key, Wrong};
use afflux_net::spec;
use afflux_units::Span;

pub fn config(keys: &mut Nack, frames: &Frames, idle: Span, key: &Key) -> Result<spec::Nack, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let rate = fill(&mut keys.rate, Or::NONE).0.map(|speed| speed.0);
    if rate.is_some_and(|rate| rate.0 == 0) {
        return Err(Wrong::at(at("rate"), "\"0bps\": write a rate above 0, or \"unlimited\""));
    }
    let payload = frames.payload(&mut keys.payload, at("payload"))?;
    let time = |slot: &mut Option<Duration>, default: Span, name: &str| match fill(slot, Duration(default)).0 {
        span if span >= Span::from_us(1) && span <= Span::from_s(60) => Ok(span),
        span => Err(Wrong::at(at(name), format!("\"{span}\": write a time from 1us to 60s"))),
    };
    let bounded = |span: Span| span.max(Span::from_us(1)).min(Span::from_s(20));
    let idle = bounded(idle);
    let report = time(&mut keys.report, idle, "report")?;
    let timeout = time(&mut keys.timeout, Span((2 * idle.0 + report.0).min(Span::from_s(60).0)), "timeout")?;
    Ok(spec::Nack { rate, payload, report, timeout })
}
