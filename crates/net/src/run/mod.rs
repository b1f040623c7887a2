//! Runs a plan with one of the engines.

mod classical;
mod guests;
mod heap;
mod limit;
mod merge;
pub mod outside;
mod packet;
mod sorter;
mod stall;
mod viewer;
mod window;

use crate::record::{Carried, Ended, Engine, Output};
use crate::shard::Shard;
use crate::spec::{EngineKind, Flow, FlowId, Plan};
use crate::world::World;
use crate::{Progress, RunError};
use afflux_engine::Exchange;
use afflux_units::Time;
use guests::{Carriers, Door};
use packet::Outsiders;
use std::time::Instant;

/// Runs `plan`. The result is deterministic: the same plan gives the same [`Output`] (except for
/// its `engine` part) with either packet engine and any number of threads. The flow-level engine
/// ([`EngineKind::Ideal`]) gives different results.
///
/// # Errors
/// [`RunError::Cancelled`] if `progress` was cancelled. The shards have then reached different
/// times, so there is no output.
pub fn run(plan: &Plan, progress: &Progress) -> Result<Output, RunError> {
    run_with(plan, progress, None)
}

/// Runs `plan` like [`run`], with guests at some of its hosts. The result also depends on the
/// guests: the same arrivals must give the same packets.
///
/// # Errors
/// The errors of [`run`].
///
/// # Panics
/// With guests: if the plan has applications or no end, or runs on the flow-level engine.
pub fn run_with(
    plan: &Plan,
    progress: &Progress,
    mut outsiders: Option<Outsiders>,
) -> Result<Output, RunError> {
    let mut with_transport = None;
    let mut transport = 0;
    if outsiders.is_some() {
        assert!(plan.applications.is_none() && plan.run.until.is_some(), "validated");
        transport = packet::add_transport(with_transport.insert(plan.clone()));
    }
    let planned = plan.flows.len();
    let plan = with_transport.as_ref().unwrap_or(plan);
    assert!(plan.undrawn.is_empty(), "a plan with flows that are not drawn is for estimates");
    if plan.run.engine == EngineKind::Ideal {
        return crate::ideal::run(plan, progress);
    }
    #[cfg(test)]
    let _alone = alone(plan);
    let wall = Instant::now();
    let classical = plan.run.engine == EngineKind::Classical;
    let workers = if classical { 1 } else { plan.run.threads.max(1) as usize };
    let world = World::new(plan, workers)?;
    let mut shards: Vec<Shard> =
        (0..workers).map(|i| Shard::new(&world, i as u16, classical)).collect();
    let carriers = outsiders.as_ref().map(|found| Carriers::new(&world, found.hosts, transport));
    let mut doors: Vec<Option<Door>> = Vec::new();
    for shard in &mut shards {
        let both = outsiders.as_mut().zip(carriers.as_ref());
        doors.push(both.map(|(outsiders, carriers)| Door::new(shard, outsiders, carriers)));
    }
    let done: Vec<window::Done> = if classical {
        vec![classical::work(&mut shards[0], progress, doors.remove(0))]
    } else if workers == 1 {
        vec![window::work(&mut shards[0], &Exchange::new(1), 1, progress, doors.remove(0))]
    } else {
        let exchange = Exchange::new(workers);
        std::thread::scope(|scope| {
            let handles: Vec<_> = shards
                .iter_mut()
                .zip(doors)
                .map(|(shard, door)| {
                    let exchange = &exchange;
                    scope.spawn(move || window::work(shard, exchange, workers, progress, door))
                })
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
        windows: done[0].windows,
    };
    let stopped = plan.run.until_done && world.until() < plan.run.until.unwrap_or(Time::LATEST).0;
    let carried = carried(&world, &shards);
    let mut output = merge::merge(&world, shards, &done, end, classical);
    if carriers.is_some() {
        // The flows that carry packets of guests have no results of their own.
        output.flows.truncate(planned);
        output.carried = carried;
    } else {
        output.started = world.started.take();
    }
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

/// Lets runs with several threads run alone, because their threads wait for each other at every
/// window. If several tests shared the cores with them, most of the processor time would be waiting.
#[cfg(test)]
fn alone(plan: &Plan) -> impl Sized {
    use std::sync::{PoisonError, RwLock};
    static RUNNING: RwLock<()> = RwLock::new(());
    if plan.run.threads > 1 && plan.run.engine == EngineKind::WindowLog {
        (Some(RUNNING.write().unwrap_or_else(PoisonError::into_inner)), None)
    } else {
        (None, Some(RUNNING.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Returns the flows that have carried packets of guests.
fn carried(world: &World, shards: &[Shard]) -> Vec<Carried> {
    let of = |&(flow, ends): &(FlowId, Option<(u64, u64)>)| {
        let Flow { src, dst, .. } = *world.flow(flow);
        Carried { flow, src, dst, ends }
    };
    let outside = shards.iter().filter_map(|shard| shard.outside.as_ref());
    let mut all: Vec<Carried> =
        outside.flat_map(|outside| outside.carried.iter().map(of)).collect();
    all.sort_unstable_by_key(|one| one.flow);
    all
}
