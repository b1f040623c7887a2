//! Conventional event-heap engine with two events per hop (arrival, end of transmission). It is the
//! oracle (the reference for results) and the speed baseline.

use super::guests::Door;
use super::heap::Heap;
use super::limit::Limit;
use super::stall::Stall;
use super::viewer::Viewer;
use crate::Progress;
use crate::frame::{Change, Extra, Frame, Rank, Ties};
use crate::shard::{Outlet, Shard, Slab};

/// Key of the heap, packed so that comparing keys is comparing numbers: the time, then the rank,
/// then the slot of the frame in the slab. An end of transmission has rank 0, which no frame has
/// and which comes first, and its port in place of the slot.
#[derive(Clone, Copy)]
struct Key(u128);

impl Key {
    const SLOT_BITS: u32 = 64 - Rank::BITS;

    #[inline(always)]
    fn new(at: u64, rank: u64, slot: u32) -> Key {
        assert!(slot >> Self::SLOT_BITS == 0, "more than 2^25 events or ports");
        Key((at as u128) << 64 | (rank << Self::SLOT_BITS | slot as u64) as u128)
    }
    fn at(self) -> u64 {
        (self.0 >> 64) as u64
    }
    fn rank(self) -> u64 {
        self.0 as u64 >> Self::SLOT_BITS
    }
    fn slot(self) -> u32 {
        self.0 as u32 & ((1 << Self::SLOT_BITS) - 1)
    }
}

pub(super) struct Later {
    heap: Heap,
    /// Frames of the keys in the heap. They stay in place while their keys move.
    frames: Slab<Frame>,
    /// Number of keys in the heap, without those of samples.
    pending: i64,
    now: u64,
    ties: Ties,
    /// Whether each port belongs to a guest. The list is empty without guests.
    guest_ports: Vec<bool>,
    /// Frames that arrive at guests, which are handled at the beginning of a window.
    at_guests: Heap,
    /// PAUSE frames for ports of guests of which these have not been told, with their times.
    pauses: Vec<(u64, Frame)>,
}

impl Later {
    pub fn new(ties: Ties) -> Self {
        Later {
            heap: Heap::new(),
            frames: Slab::default(),
            pending: 0,
            now: 0,
            ties,
            guest_ports: Vec::new(),
            at_guests: Heap::new(),
            pauses: Vec::new(),
        }
    }

    /// Returns the time of the next event.
    #[inline(always)]
    pub fn next(&mut self) -> Option<u64> {
        self.heap.peek().map(|key| Key(key).at())
    }

    /// Handles the next event.
    #[inline(always)]
    pub fn step(&mut self, shard: &mut Shard) {
        let key = Key(self.heap.peek().expect("something is to happen"));
        let at = key.at();
        assert!(at >= self.now, "an event in the past");
        self.now = at;
        self.heap.pop();
        if key.rank() == 0 {
            self.pending -= 1;
            let port = key.slot();
            shard.transmission_ended(self, at, shard.ports[port as usize].node, port);
        } else {
            let frame = *self.frames.remove(key.slot());
            self.pending -= (key.rank() < Rank::SAMPLES.number()) as i64;
            let node = shard.node_of(&frame);
            shard.handle(self, at, node, &frame);
        }
    }

    /// Completes the transmissions that end at `end`, the last instant of the run, at nodes that
    /// handle arrivals first. The events of these transmissions lie 1 ps later.
    fn end_transmissions(&mut self, shard: &mut Shard, end: u64) {
        while let Some(key) = self
            .heap
            .peek()
            .map(Key)
            .filter(|key| key.rank() == 0 && key.at() == end.saturating_add(1))
        {
            self.heap.pop();
            let (port, node) = (key.slot(), shard.ports[key.slot() as usize].node);
            if shard.nodes[node as usize].arrivals_first {
                shard.transmission_ended(self, key.at(), node, port);
            }
        }
    }

    /// Returns the number of frames on links, and their bytes.
    pub fn in_flight(&self) -> (u64, u64) {
        let frames = self
            .heap
            .iter()
            .chain(self.at_guests.iter())
            .map(Key)
            .filter(|key| key.rank() != 0)
            .map(|key| &self.frames[key.slot()]);
        frames
            .filter(|frame| frame.is_traffic())
            .fold((0, 0), |(count, bytes), frame| (count + 1, bytes + frame.size as u64))
    }

    #[cold]
    #[inline(never)]
    fn push_for_guest(&mut self, at: u64, frame: Frame) {
        let rank = self.ties.rank(&frame);
        let slot = self.frames.insert(frame);
        self.pending += 1;
        self.at_guests.push(Key::new(at, rank.number(), slot).0);
    }

    /// Lets the guests run through the window that ends before `end`, if something happens at them.
    fn run_guests(&mut self, shard: &mut Shard, door: &mut Door, end: u64, events: &mut u64) {
        while let Some(key) = self.at_guests.peek().map(Key).filter(|key| key.at() < end) {
            self.at_guests.pop();
            self.pending -= 1;
            *events += 1;
            let frame = *self.frames.remove(key.slot());
            let node = shard.node_of(&frame);
            shard.handle(self, key.at(), node, &frame);
        }
        if !self.pauses.is_empty() {
            self.pauses.sort_by_key(|(at, frame)| (*at, frame.port));
            let due = self.pauses.partition_point(|(at, _)| *at < end);
            self.pauses.drain(..due).for_each(|(at, frame)| shard.tell_pause(at, &frame));
        }
        self.pending += door.run(shard, end);
        for &node in &door.nodes {
            Door::file(shard, self, node);
        }
    }

    /// Returns the time in ps of the next event, arrival at a guest, or action of a guest.
    fn first(&mut self, door: &mut Door) -> Option<u64> {
        let arrival = self.at_guests.peek().map(|key| Key(key).at());
        let guest = Some(door.due()).filter(|due| *due != u64::MAX);
        [self.next(), arrival, guest].into_iter().flatten().min()
    }

    #[inline(always)]
    fn push(&mut self, at: u64, rank: Rank, frame: Frame) {
        debug_assert!(at >= self.now, "an event in the past: {frame:?}");
        let slot = self.frames.insert(frame);
        self.pending += (rank < Rank::SAMPLES) as i64;
        self.heap.push(Key::new(at, rank.number(), slot).0);
    }
}

impl Outlet for Later {
    const CLASSICAL: bool = true;

    #[inline(always)]
    fn frame(
        &mut self,
        at: u64,
        _shard: u16,
        frame: &Frame,
        change: Change,
        _extras: &mut Slab<Extra>,
    ) {
        let mut frame = *frame;
        frame.leave(change);
        if self.guest_ports.get(frame.port as usize) == Some(&true) {
            return self.push_for_guest(at, frame);
        }
        self.push(at, self.ties.rank(&frame), frame);
    }
    fn pause(&mut self, at: u64, _shard: u16, frame: Frame) {
        if self.guest_ports.get(frame.port as usize) == Some(&true) {
            self.pauses.push((at, frame));
        }
        self.push(at, Rank::of_event(&frame), frame);
    }
    fn event(&mut self, at: u64, event: Frame) {
        self.push(at, Rank::of_event(&event), event);
    }
    fn start(&mut self, at: u64, _shard: u16, event: Frame) {
        self.event(at, event);
    }
    #[inline(always)]
    fn sent(&mut self, at: u64, port: u32) {
        self.pending += 1;
        self.heap.push(Key::new(at, 0, port).0);
    }
}

/// Result of [`turn_of_guests`]: the guests have run, the next event is due before they run again,
/// or the run has ended.
enum Turn {
    OfGuests,
    OfEvents,
    Over,
}

/// Lets the guests run through the next window in which anything happens, once.
#[inline(never)]
fn turn_of_guests(
    shard: &mut Shard,
    later: &mut Later,
    door: &mut Door,
    unseen: &mut u64,
    progress: &Progress,
    done: &mut super::window::Done,
) -> Turn {
    let windows = super::window::windows(shard.world);
    let until = shard.world.until();
    let first = later.first(door);
    let alive = shard.live != 0 && later.pending != 0;
    let Some(window) = first.map(|first| windows.of(first)).filter(|w| windows.start(*w) <= until)
    else {
        // Guests keep the run going until its end.
        done.reached_until = alive;
        later.end_transmissions(shard, if alive { until } else { shard.last });
        return Turn::Over;
    };
    if window < *unseen || !alive {
        return Turn::OfEvents;
    }
    *unseen = window + 1;
    let end = windows.start(*unseen).min(until.saturating_add(1));
    later.run_guests(shard, door, end, &mut done.events);
    progress.advance(windows.start(window), 0, 0);
    done.cancelled = progress.cancelled();
    if done.cancelled { Turn::Over } else { Turn::OfGuests }
}

pub fn work(shard: &mut Shard, progress: &Progress, mut door: Option<Door>) -> super::window::Done {
    let cpu = crate::clock::thread_cpu_s();
    let mut later = Later::new(shard.world.ties);
    let mut done = super::window::Done {
        events: 0,
        windows: 0,
        cpu_s: 0.0,
        in_flight: (0, 0),
        reached_until: false,
        limited: None,
        cancelled: false,
    };
    let windows = super::window::windows(shard.world);
    let mut limit = Limit::new(shard.world, true);
    let mut viewer = Viewer::default();
    let mut stall = Stall::new(shard.world, windows);
    // End of the current window, if the memory limit or the stall detection is checked there.
    let mut end = if limit.is_some() || stall.is_some() { windows.length() } else { u64::MAX };
    let (mut reported_hops, mut reported_flows) = (0, 0);
    shard.begin(&mut later);
    if let Some(door) = &door {
        shard.live += door.alive();
        later.pending += door.alive();
        let guests = shard.ports.iter().map(|port| door.at[port.node as usize]);
        later.guest_ports = guests.collect();
    }
    // First window that the guests have not run through.
    let mut unseen = 0;
    loop {
        if let Some(door) = &mut door {
            match turn_of_guests(shard, &mut later, door, &mut unseen, progress, &mut done) {
                Turn::OfGuests => continue,
                Turn::OfEvents => {}
                Turn::Over => break,
            }
        }
        let Some(at) = later.next() else { break };
        // Events at the instant at which the last frame is absorbed are still handled.
        if (shard.live == 0 || later.pending == 0) && at > shard.last {
            later.end_transmissions(shard, shard.last);
            break;
        }
        if at >= end {
            if let Some(limit) = &mut limit {
                let kept = limit.report(shard, shard.kept, done.events);
                limit.check(kept, end);
            }
            if let Some(stall) = &mut stall {
                stall.check(
                    shard.world,
                    end,
                    windows.start(windows.of(at)),
                    (shard.counters.sent_packets, shard.counters.absorbed()),
                );
            }
            end = windows.start(windows.of(at) + 1);
        }
        if at > shard.world.until() {
            later.end_transmissions(shard, shard.world.until());
            done.reached_until = true;
            break;
        }
        done.events += 1;
        later.step(shard);
        if done.events.is_multiple_of(65_536) {
            progress.advance(
                at,
                shard.counters.packet_hops - reported_hops,
                shard.flows_done - reported_flows,
            );
            (reported_hops, reported_flows) = (shard.counters.packet_hops, shard.flows_done);
            viewer.look(shard, at, progress);
            if progress.cancelled() {
                done.cancelled = true;
                break;
            }
        }
    }
    if let Some(door) = door {
        door.close(shard);
    }
    viewer.close(shard, shard.last, progress);
    done.limited = limit.and_then(|limit| limit.ended()).or(stall.and_then(|stall| stall.ended()));
    progress.advance(
        0,
        shard.counters.packet_hops - reported_hops,
        shard.flows_done - reported_flows,
    );
    done.in_flight = later.in_flight();
    done.cpu_s = crate::clock::thread_cpu_s() - cpu;
    done
}
