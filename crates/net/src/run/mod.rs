//! Runs a plan with one of the engines.

mod classical;
mod heap;
mod limit;
mod merge;
pub mod outside;
mod sorter;
mod stall;
mod viewer;
mod window;

use crate::record::{Ended, Engine, Output};
use crate::shard::Shard;
use crate::spec::{EngineKind, Plan};
use crate::world::World;
use crate::{Progress, RunError};
use afflux_engine::Exchange;
use afflux_units::Time;
use std::time::Instant;

/// Runs `plan`. The result is deterministic: the same plan gives the same [`Output`] (except for
/// its `engine` part) with either packet engine and any number of threads. The flow-level engine
/// ([`EngineKind::Ideal`]) gives different results.
///
/// # Errors
/// [`RunError::Cancelled`] if `progress` was cancelled. The shards have then reached different
/// times, so there is no output.
pub fn run(plan: &Plan, progress: &Progress) -> Result<Output, RunError> {
    assert!(plan.undrawn.is_empty(), "a plan with flows that are not drawn is for estimates");
    if plan.run.engine == EngineKind::Ideal {
        return crate::ideal::run(plan, progress);
    }
    let wall = Instant::now();
    let classical = plan.run.engine == EngineKind::Classical;
    let workers = if classical { 1 } else { plan.run.threads.max(1) as usize };
    let world = World::new(plan, workers)?;
    let mut shards: Vec<Shard> =
        (0..workers).map(|i| Shard::new(&world, i as u16, classical)).collect();
    let done: Vec<window::Done> = if classical {
        vec![classical::work(&mut shards[0], progress)]
    } else if workers == 1 {
        vec![window::work(&mut shards[0], &Exchange::new(1), 1, progress)]
    } else {
        let exchange = Exchange::new(workers);
        std::thread::scope(|scope| {
            let handles: Vec<_> = shards
                .iter_mut()
                .map(|shard| scope.spawn(|| window::work(shard, &exchange, workers, progress)))
                .collect();
            handles
                .into_iter()
                .map(|handle| {
                    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        })
    };
    if done.iter().any(|d| d.cancelled) {
        return Err(RunError::Cancelled);
    }
    let last = shards.iter().map(|s| s.last).max().unwrap_or(0);
    let end = if done.iter().any(|d| d.reached_until) { world.until() } else { last };
    let engine = Engine {
        events: done.iter().map(|d| d.events).sum(),
        thread_cpu_s: done.iter().map(|d| d.cpu_s).collect(),
        wall_s: wall.elapsed().as_secs_f64(),
        window_ps: window::windows(&world).length(),
    };
    let stopped =
        plan.run.until_done && world.until() < plan.run.until.map_or(u64::MAX, |until| until.0);
    let mut output = merge::merge(&world, shards, &done, end, classical);
    output.started = world.started.take();
    output.end = Time(end);
    let reached = done.iter().any(|d| d.reached_until);
    output.ended = match done.iter().find_map(|d| d.limited) {
        Some(limited) if reached => limited,
        _ if reached && !stopped => Ended::Until,
        _ => Ended::Done,
    };
    output.engine = engine;
    #[cfg(test)]
    assert!(
        crate::checks::failed_checks(plan, &output).is_empty(),
        "{:?}",
        crate::checks::failed_checks(plan, &output)
    );
    Ok(output)
}
