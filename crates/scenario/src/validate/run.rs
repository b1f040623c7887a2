//! `[run]`: resolves and checks the settings of the run.

use crate::document::{Run, Until};
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Or, Size};
use afflux_net::spec::{EngineKind, FctEnd, RunConfig};
use afflux_units::{Bytes, Span, Time};

pub struct Running {
    pub config: RunConfig,
    pub warmup: Span,
    pub size_bounds: Vec<u64>,
    pub max_memory: Option<u64>,
}

/// Latest end of the simulated time: 100 days, well before 2^64 ps.
const LATEST: Span = Span::from_s(100 * 86_400);

pub fn check(run: &mut Run) -> Result<Running, Wrong> {
    let at = |name: &str| Key::from("run").name(name);
    let (until, until_done) = match fill(&mut run.until, Or::NONE).0 {
        None => (None, false),
        Some(Until::Jobs) => (None, true),
        Some(Until::Time(Duration(span))) => (Some(span), false),
    };
    if until.is_some_and(|until| until == Span::ZERO || until > LATEST) {
        return Err(Wrong::at(
            at("until"),
            "write a time above 0, up to 2400h, \"jobs\" or \"off\"",
        ));
    }
    let warmup = fill(&mut run.warmup, Duration(Span::ZERO)).0;
    if let Some(until) = until.filter(|until| warmup >= *until) {
        return Err(Wrong::at(
            at("warmup"),
            format!(
                "\"{warmup}\" is not before until = \"{until}\", so no flow would count: write a shorter warm-up"
            ),
        ));
    }
    let seed = fill(&mut run.seed, 1);
    if seed > i64::MAX as u64 {
        return Err(Wrong::at(
            at("seed"),
            format!("found {seed}: write a whole number up to {}", i64::MAX),
        ));
    }
    let threads = fill(&mut run.threads, 1);
    if !(1..=1024).contains(&threads) {
        return Err(Wrong::at(
            at("threads"),
            format!("found {threads}: write a number from 1 to 1024"),
        ));
    }
    let bounds = fill(&mut run.size_bounds, vec![Size(Bytes(100_000)), Size(Bytes(10_000_000))]);
    let size_bounds: Vec<u64> = bounds.iter().map(|Size(bytes)| bytes.0).collect();
    if size_bounds.first() == Some(&0) || size_bounds.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(Wrong::at(
            at("size_bounds"),
            "write ascending sizes above 0, as in [\"100kB\", \"10MB\"]",
        ));
    }
    let max_memory = run.max_memory.map(|Size(bytes)| bytes.0);
    if max_memory == Some(0) {
        return Err(Wrong::at(at("max_memory"), "\"0B\": write a size above 0"));
    }
    let stall =
        fill(&mut run.stall, Or::some(Duration(Span::from_s(10)))).0.map(|Duration(span)| span);
    if stall.is_some_and(|stall| stall < Span::from_ms(1) || stall > LATEST) {
        return Err(Wrong::at(at("stall"), "write a time from 1ms to 2400h, or \"off\""));
    }
    let config = RunConfig {
        seed,
        until: until.map(|span| Time(span.0)),
        until_done,
        fct_end: fill(&mut run.fct_end, FctEnd::LastAck),
        engine: fill(&mut run.engine, EngineKind::WindowLog),
        threads,
        compat: run.compat,
        stall,
        // Set once the plan is complete.
        max_memory: None,
    };
    Ok(Running { config, warmup, size_bounds, max_memory })
}
