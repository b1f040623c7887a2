//! ConWeave at a switch: the source's ToR, the destination's ToR, and switches between them, which
//! only follow pinned paths.

use super::destination::{Destination, Handling};
use super::paths::Known;
use super::reorder::{Held, ReorderQueues};
use super::source::{ReplyOutcome, Source};
use super::table::Table;
use super::{Cause, ConweaveConfig, Kind, ReorderMemory, Reply, Rules};
use crate::balance::{Choice, End, Holding, Policy, Role, Site, Tag};
use crate::frame::Frame;
use crate::spec::FlowId;

/// Control frames have the smallest size (bytes) and the highest priority.
const CONTROL_SIZE: u16 = 64;
const CONTROL_PRIORITY: u8 = 7;
/// Flag in `Frame::seq` of a control frame that tells a CLEAR from a reply. The bits below hold the
/// epoch.
const CLEAR: u32 = 1 << 31;

pub struct Conweave {
    rules: Rules,
    sources: Table<Source>,
    destinations: Table<Destination>,
    queues: ReorderQueues,
    /// Paths by destination rack, once a frame has gone to it.
    known: Vec<Option<Known>>,
    /// Number of route changes at the last look at the paths.
    routes: usize,
}

impl Policy for Conweave {
    type Config = ConweaveConfig;
    fn new(config: &ConweaveConfig, ports: &[Option<u64>]) -> Self {
        let rules = Rules::new(config);
        Conweave {
            sources: Table::new(rules.source_age),
            destinations: Table::new(rules.age),
            queues: ReorderQueues::new(ports.len(), rules.reorder_queues),
            known: Vec::new(),
            routes: 0,
            rules,
        }
    }

    #[inline]
    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        role: Role,
        hops: &[u16],
    ) -> Choice {
        match role {
            Role::Source => self.depart(site, frame),
            Role::Transit => Choice::Follow,
            Role::Destination => self.arrive(site, frame, hops[0]),
        }
    }

    fn on_control_frame(&mut self, site: &mut impl Holding, frame: &Frame, tag: Tag) {
        let now = site.now();
        if let Tag::Notify(path) = tag {
            let rack = site.rack_of(site.destination_of(frame.flow));
            self.see_paths(site, rack);
            let known = self.known[rack as usize].as_mut().expect("just seen");
            if let Ok(place) = site.paths(rack).binary_search(&path) {
                known.note_busy(now + self.rules.path_busy, place);
            }
            return;
        }
        let epoch = frame.seq & !CLEAR;
        let Some(source) = self.sources.find(site.slots(End::Source), now, frame.flow) else {
            return;
        };
        if frame.seq & CLEAR != 0 {
            source.on_clear(epoch, &self.rules);
            return;
        }
        let heard = source.on_reply(now, epoch, &self.rules);
        let counters = &mut site.counters().conweave;
        counters.replies_in_time += (heard == ReplyOutcome::InTime) as u64;
        counters.replies_late += (heard == ReplyOutcome::Late) as u64;
    }

    fn on_wake(&mut self, site: &mut impl Holding, flow: FlowId) {
        let now = site.now();
        let Some(destination) = self.destinations.find(site.slots(End::Destination), now, flow)
        else {
            return;
        };
        if destination.armed != now {
            return;
        }
        destination.armed = 0;
        if destination.flush_at() <= now { self.flush(site, flow) } else { self.arm(site, flow) }
    }

    fn leaves_transit(&self) -> bool {
        true
    }
    fn reorder_queues(&self) -> Option<&ReorderQueues> {
        Some(&self.queues)
    }
    fn is_charged(&self) -> bool {
        self.rules.charged
    }
    fn holds_charged(config: &ConweaveConfig) -> bool {
        config.reorder_memory == ReorderMemory::Shared
    }
    fn header(config: &ConweaveConfig) -> u16 {
        Rules::new(config).header
    }
    fn unused(config: &ConweaveConfig) -> Option<(&'static str, &'static str)> {
        let text = "has no effect with reorder_memory = \"unbounded\": remove one of the two";
        (config.reorder_memory == ReorderMemory::Unbounded).then_some(("reorder_queues", text))
    }
}

impl Conweave {
    fn depart(&mut self, site: &mut impl Holding, frame: &mut Frame) -> Choice {
        let (now, rack) = (site.now(), site.rack_of(frame.dst));
        self.see_paths(site, rack);
        let known = self.known[rack as usize].as_ref().expect("just seen");
        if known.count() == 0 {
            // The ToR is reached by other than shortest paths, or not at all.
            return Choice::Follow;
        }
        let source = self.sources.entry(site.slots(End::Source), now, frame.flow);
        let place = |site: &_, path: u32| Site::paths(site, rack).binary_search(&path).ok();
        let lost =
            site.epoch() > 0 && source.path().is_some_and(|path| place(site, path).is_none());
        let draws = if source.draws(now, lost, &self.rules) {
            [(); 2].map(|()| site.below(known.count()))
        } else {
            [0; 2]
        };
        let site_then = &*site;
        let draw = || known.choose(now, site_then.paths(rack), draws);
        let sent = source.send(now, lost, &self.rules, draw, |path| {
            known.round_trip(place(site_then, path).expect("a path"))
        });
        site.counters().reroutes += sent.rerouted as u64;
        let counters = &mut site.counters().conweave;
        counters.requests += (sent.tag.kind == Kind::Request) as u64;
        counters.tails += (sent.tag.kind == Kind::Tail) as u64;
        *site.tag(frame) = Tag::Conweave(sent.tag);
        site.grow(frame, self.rules.header);
        frame.pin(sent.path);
        Choice::Follow
    }

    /// Handles a data frame at its destination's ToR. `port` leads to the host.
    fn arrive(&mut self, site: &mut impl Holding, frame: &mut Frame, port: u16) -> Choice {
        let Tag::Conweave(tag) = site.take_tag(frame) else { return Choice::Follow };
        site.shrink(frame, self.rules.header);
        let (now, flow) = (site.now(), frame.flow);
        let destination = self.destinations.entry(site.slots(End::Destination), now, flow);
        let arrived = destination.arrive(now, &tag, frame.has(Frame::CE), &self.rules);
        site.counters().conweave.old_epoch += arrived.old as u64;
        if arrived.notify {
            site.counters().conweave.notifies += 1;
            send(site, frame, 0, Tag::Notify(tag.path));
        }
        match arrived.answer {
            Some(Reply::Rtt { epoch }) => {
                site.counters().conweave.replies += 1;
                send(site, frame, epoch, Tag::None);
            }
            Some(Reply::Clear { epoch }) => {
                site.counters().conweave.clears += 1;
                send(site, frame, CLEAR | epoch, Tag::None);
            }
            None => {}
        }
        match arrived.handling {
            Handling::Pass(why) => {
                let waits = destination.is_reordering();
                // A switch on the way may have chosen another path because it had lost the frame's
                // path. The frame may then have been overtaken.
                note(site, frame, why.or((!frame.has(Frame::PINNED)).then_some(Cause::PathLost)));
                if arrived.release {
                    // The TAIL precedes the frames that have waited for it.
                    site.release(*frame);
                    self.flush(site, flow);
                    return Choice::Held;
                }
                if waits {
                    self.arm(site, flow);
                }
                Choice::Follow
            }
            Handling::TooLate => {
                let counters = &mut site.counters().conweave;
                (counters.out_of_order, counters.too_late) =
                    (counters.out_of_order + 1, counters.too_late + 1);
                Choice::Follow
            }
            Handling::Open => {
                site.counters().conweave.out_of_order += 1;
                match self.queues.open(port) {
                    Some(queue) => {
                        destination.queue = queue;
                        self.hold(site, *frame, port, queue, tag.epoch);
                        self.arm(site, flow);
                        Choice::Held
                    }
                    None => {
                        let why = destination.do_without_queue(tag.epoch);
                        site.counters().conweave.no_queue += 1;
                        note(site, frame, why);
                        Choice::Follow
                    }
                }
            }
            Handling::Hold => {
                site.counters().conweave.out_of_order += 1;
                let queue = destination.queue;
                self.hold(site, *frame, port, queue, tag.epoch);
                Choice::Held
            }
        }
    }

    /// Puts a frame into a reorder queue if memory is available.
    fn hold(&mut self, site: &mut impl Holding, frame: Frame, port: u16, queue: u32, epoch: u32) {
        if !self.rules.charged || site.charge(&frame, port, self.queues.length(queue)) {
            self.queues.hold(queue, Held { frame, epoch });
        }
    }

    /// Requests a wake-up for the time at which the flow's reorder queue must be released.
    fn arm(&mut self, site: &mut impl Holding, flow: FlowId) {
        let now = site.now();
        let Some(destination) = self.destinations.find(site.slots(End::Destination), now, flow)
        else {
            return;
        };
        let at = destination.flush_at();
        if destination.is_reordering() && (destination.armed == 0 || at < destination.armed) {
            destination.armed = at;
            site.wake(at, flow);
        }
    }

    /// Releases the frames that wait for a flow's TAIL.
    fn flush(&mut self, site: &mut impl Holding, flow: FlowId) {
        let now = site.now();
        let destination = self.destinations.entry(site.slots(End::Destination), now, flow);
        let (queue, by_tail) = (destination.queue, destination.release());
        let counters = &mut site.counters().conweave;
        counters.flushes += 1;
        counters.flushes_by_tail += by_tail as u64;
        let port = self.queues.port(queue);
        while let Some(Held { mut frame, epoch }) = self.queues.take(queue) {
            note(site, &mut frame, destination.pass_held(epoch));
            if self.rules.charged { site.release_charged(frame, port) } else { site.release(frame) }
        }
        self.queues.close(queue);
    }

    /// Loads the paths to a rack, unless that was done since the routes last changed.
    #[inline(always)]
    fn see_paths(&mut self, site: &impl Holding, rack: u32) {
        if self.routes != site.epoch() || self.known.get(rack as usize).is_none_or(Option::is_none)
        {
            self.look_at_paths(site, rack);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_at_paths(&mut self, site: &impl Holding, rack: u32) {
        if self.routes != site.epoch() {
            self.routes = site.epoch();
            self.known.clear();
        }
        if self.known.len() <= rack as usize {
            self.known.resize_with(rack as usize + 1, || None);
        }
        let round_trips =
            site.paths(rack).iter().map(|&path| 2 * site.propagation(path, rack)).collect();
        self.known[rack as usize] = Some(Known::new(round_trips));
    }
}

/// Sends a control frame in reply to a data frame.
fn send(site: &mut impl Holding, frame: &Frame, seq: u32, tag: Tag) {
    site.send(site.source_of(frame), frame.flow, seq, CONTROL_SIZE, CONTROL_PRIORITY, tag);
}

/// Tags a frame that may arrive late at its host.
fn note(site: &mut impl Holding, frame: &mut Frame, why: Option<Cause>) {
    if let Some(cause) = why {
        *site.tag(frame) = Tag::Late(cause);
    }
}
