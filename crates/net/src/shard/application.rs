//! Applications meet the network: starts go to the sources' shards, ends come back, both as messages.

use super::{Outlet, Shard};
use crate::app::{Due, Runtime};
use crate::frame::{Event, Frame};
use crate::memory::Kept;
use crate::spec::{FlowId, Start};
use afflux_units::Time;

/// Instead of a flow in events: the applications' timers. After all flows, so that what has arrived is known.
const TIMERS: FlowId = FlowId::MAX;

impl<'a> Shard<'a> {
    /// The home's shard: applications begin.
    pub(super) fn begin_applications<O: Outlet>(&mut self, out: &mut O) {
        let Some(applications) = &self.world.plan.applications else { return };
        if self.world.place[applications.home as usize].shard == self.index {
            self.applications = Some(Runtime::new(applications));
            self.tell_applications(out, 0, Due::Begin);
        }
    }

    /// An event of the applications' home.
    #[cold]
    #[inline(never)]
    pub(super) fn on_application<O: Outlet>(&mut self, out: &mut O, now: u64, event: Frame) {
        if event.flow == TIMERS {
            return self.tell_applications(out, now, Due::Timers);
        }
        // The message has arrived.
        self.live -= 1;
        let read = Time((event.dst as u64) << 32 | event.hash as u64);
        self.tell_applications(out, now, Due::Received { flow: event.flow, read });
    }

    fn tell_applications<O: Outlet>(&mut self, out: &mut O, now: u64, due: Due) {
        let world = self.world;
        let Some(mut runtime) = self.applications.take() else { unreachable!("events of applications come to their home") };
        let (before, tasks) = (runtime.agenda.timers() as i64, runtime.agenda.tasks.len());
        if runtime.tell(now, due, &world.started) {
            self.last = self.last.max(now);
        }
        let (timers, started) = (runtime.agenda.timers() as i64 - before, std::mem::take(&mut runtime.agenda.started));
        self.kept += Kept::FLOW * started.len() as u64 + Kept::TASK * (runtime.agenda.tasks.len() - tasks) as u64;
        // A run goes on while an application has timers or flows.
        self.live += timers + started.len() as i64;
        for flow in started {
            let spec = world.flow(flow);
            let Start::At(at) = spec.start else { unreachable!("applications start flows by the clock") };
            self.post(out, at.0, spec.src, Frame { flow, seq: Event::Start as u32, ..Frame::default() });
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

    /// All of an application's flow has arrived, and will have been read by `read`: a message to its home.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_received<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId, read: u64) {
        self.live += 1;
        let event = Frame { flow, seq: Event::Application as u32, dst: (read >> 32) as u32, hash: read as u32, ..Frame::default() };
        self.post(out, now + self.world.latency(), self.home(), event);
    }

    /// An event for any node, not before the latency has passed.
    fn post<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, event: Frame) {
        let place = self.world.place[node as usize];
        let port = self.world.shard_ports[place.shard as usize] + place.local;
        out.start(at, place.shard, Frame { port, flags: Frame::EVENT, ..event });
    }
}
