//! The end of a run that would take more memory than it may.
//!
//! What records take is counted where they are made, and summed up after each window: the run ends a little after the window in which they exceed
//! their part of the memory. So that end follows from the plan alone, whatever the engine and the number of threads. Should the process as a whole
//! come near its limit before, because more frames or flows are under way than was expected, the run ends as well; when that is depends on the
//! machine.

use crate::memory;
use crate::record::Ended;
use crate::shard::Shard;
use crate::spec::MaxMemory;
use crate::world::World;
use afflux_engine::memory::Meter;

/// Added to what is kept: the process takes too much.
const PROCESS: u64 = 1 << 62;
/// The process is looked at after so many events, or so many more bytes of records.
const EVENTS: u64 = 20_000;
const BYTES: u64 = 1 << 20;

pub struct Limit<'w, 'p> {
    world: &'w World<'p>,
    max: MaxMemory,
    meter: Option<Meter>,
    seen: (u64, u64),
    near: bool,
    ended: Option<Ended>,
}

impl<'w, 'p> Limit<'w, 'p> {
    /// Of the plan, if it has one; `looks`: this worker looks at the process for all of them.
    pub fn new(world: &'w World<'p>, looks: bool) -> Option<Self> {
        let max = world.plan.run.max_memory?;
        Some(Limit { world, max, meter: if looks { Meter::new() } else { None }, seen: (0, 0), near: false, ended: None })
    }

    /// What the worker of a shard keeps, for the others; all of them together kept `total` when they met last.
    #[inline]
    pub fn report(&mut self, shard: &Shard, total: u64, events: u64) -> u64 {
        if self.meter.is_some() && (events >= self.seen.0 + EVENTS || total >= self.seen.1 + BYTES) {
            self.look(shard, total, events);
        }
        if self.near { shard.kept + PROCESS } else { shard.kept }
    }

    #[cold]
    fn look(&mut self, shard: &Shard, total: u64, events: u64) {
        self.seen = (events, total);
        let resident = self.meter.as_ref().and_then(Meter::resident).unwrap_or(0);
        let flows = (self.world.plan.flows.len() + self.world.started.count()) as u64;
        let taken = resident + memory::finishing(flows, total & (PROCESS - 1));
        // Less than half of it cannot become all at once. The other shards are taken to be like this one.
        let growing = if taken > self.max.bytes / 2 { shard.growing() * self.world.shards.len() as u64 } else { 0 };
        self.near |= taken + growing > self.max.bytes;
    }

    /// All workers keep `total` at the `end` of a window: does the run end because of it?
    #[inline]
    pub fn check(&mut self, total: u64, end: u64) {
        if total > self.max.records && self.ended.is_none() {
            self.ended = Some(if total >= PROCESS { Ended::Process } else { Ended::Records });
            self.world.stop_by(end + self.world.settling);
        }
    }

    /// If it was ended by this.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }
}
