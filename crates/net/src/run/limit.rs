//! Ends a run that would exceed its memory limit.
//!
//! Records are counted where they are made, and the counts are summed up after each window. The run
//! ends shortly after the window in which the records exceed their share of the memory. This end
//! follows from the plan alone, whatever the engine and the number of threads.
//!
//! The run also ends if the process as a whole comes near its limit before, because more frames or
//! flows exist than was expected. The time of this end depends on the machine.

use crate::memory;
use crate::record::Ended;
use crate::shard::Shard;
use crate::spec::MaxMemory;
use crate::world::World;
use afflux_engine::memory::Meter;

/// Added to a worker's count of records to report that the process takes too much memory.
const PROCESS: u64 = 1 << 62;
/// Interval, in events and in bytes of new records, at which the memory of the process is read.
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
    /// Returns the limit of the plan, if it has one. With `looks`, this worker reads the memory of
    /// the process on behalf of all workers.
    pub fn new(world: &'w World<'p>, looks: bool) -> Option<Self> {
        let max = world.plan.run.max_memory?;
        Some(Limit {
            world,
            max,
            meter: if looks { Meter::new() } else { None },
            seen: (0, 0),
            near: false,
            ended: None,
        })
    }

    /// Returns the bytes of records that this worker keeps, plus `PROCESS` if the process is close
    /// to its limit. `total` is the sum over all workers at their latest meeting.
    #[inline]
    pub fn report(&mut self, shard: &Shard, total: u64, events: u64) -> u64 {
        if self.meter.is_some() && (events >= self.seen.0 + EVENTS || total >= self.seen.1 + BYTES)
        {
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
        // Frames and flows are estimated only above half of the limit, because they cannot double
        // the memory at once. The estimate assumes that the other shards are like this one.
        let growing = if taken > self.max.bytes / 2 {
            shard.growing() * self.world.shards.len() as u64
        } else {
            0
        };
        self.near |= taken + growing > self.max.bytes;
    }

    /// Ends the run if the records of all workers, `total` bytes at the `end` of a window, exceed
    /// the limit.
    #[inline]
    pub fn check(&mut self, total: u64, end: u64) {
        if total > self.max.records && self.ended.is_none() {
            self.ended = Some(if total >= PROCESS { Ended::Process } else { Ended::Records });
            self.world.stop_by(end + self.world.settling);
        }
    }

    /// Returns the reason for the end, if this limit ended the run.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }
}
