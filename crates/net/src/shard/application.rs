//! Connects applications with the network. Flow starts go to the sources' shards, and flow ends
//! come back, both as messages.

use super::{Outlet, Shard};
use crate::app::{Due, Runtime};
use crate::frame::{Event, Frame};
use crate::memory::Kept;
use crate::spec::{FlowId, Start};
use afflux_units::Time;

/// Stands for the timers of applications in place of a flow. It sorts after all flows, so that the
/// applications know of all arrivals of an instant when their timers run.
const TIMERS: FlowId = FlowId::MAX;

impl<'a> Shard<'a> {
    /// Starts the applications, in the shard of their home.
    pub(super) fn begin_applications<O: Outlet>(&mut self, out: &mut O) {
        let Some(applications) = &self.world.plan.applications else { return };
        if self.world.place[applications.home as usize].shard == self.index {
            self.applications = Some(Runtime::new(applications));
            self.tell_applications(out, 0, Due::Begin);
        }
    }

    /// Processes an event at the applications' home: expired timers, or a message that a flow has
    /// arrived.
    #[cold]
    #[inline(never)]
    pub(super) fn on_application<O: Outlet>(&mut self, out: &mut O, now: u64, event: Frame) {
        if event.flow == TIMERS {
            return self.tell_applications(out, now, Due::Timers);
        }
        // The message counted in `live` while it was on its way.
        self.live -= 1;
        let read = Time((event.dst as u64) << 32 | event.hash as u64);
        self.tell_applications(out, now, Due::Received { flow: event.flow, read });
    }

    fn tell_applications<O: Outlet>(&mut self, out: &mut O, now: u64, due: Due) {
        let world = self.world;
        let Some(mut runtime) = self.applications.take() else {
            unreachable!("events of applications come to their home")
        };
        let (before, tasks) = (runtime.agenda.timers() as i64, runtime.agenda.tasks.len());
        if runtime.tell(now, due, &world.started) {
            self.last = self.last.max(now);
        }
        let (timers, started) =
            (runtime.agenda.timers() as i64 - before, std::mem::take(&mut runtime.agenda.started));
        self.kept += Kept::FLOW * started.len() as u64
            + Kept::TASK * (runtime.agenda.tasks.len() - tasks) as u64;
        // A run goes on while an application has timers or flows.
        self.live += timers + started.len() as i64;
        for flow in started {
            let spec = world.flow(flow);
            let Start::At(at) = spec.start else {
                unreachable!("applications start flows by the clock")
            };
            self.post(
                out,
                at.0,
                spec.src,
                Frame { flow, seq: Event::Start as u32, ..Frame::default() },
            );
        }
        if let Some(at) = runtime.agenda.next_to_file() {
            let home = world.place[self.home() as usize].local;
            let event = self.event(home, TIMERS, Event::Application);
            out.event(at, event);
        }
        if world.plan.run.until_done && runtime.agenda.all_done() {
            world.stop_by(now + world.latency());
        }
        self.applications = Some(runtime);
    }

    fn home(&self) -> u32 {
        self.world.plan.applications.as_ref().expect("there are applications").home
    }

    /// Sends a message to the applications' home: a flow of theirs has arrived completely, and the
    /// host will have read all of it by `read`.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_received<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        flow: FlowId,
        read: u64,
    ) {
        self.live += 1;
        let event = Frame {
            flow,
            seq: Event::Application as u32,
            dst: (read >> 32) as u32,
            hash: read as u32,
            ..Frame::default()
        };
        self.post(out, now + self.world.latency(), self.home(), event);
    }

    /// Schedules an event of any node. `at` must be at least the applications' latency from now.
    fn post<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, event: Frame) {
        let place = self.world.place[node as usize];
        let port = self.world.shard_ports[place.shard as usize] + place.local;
        out.start(at, place.shard, Frame { port, flags: Frame::EVENT, ..event });
    }
}
