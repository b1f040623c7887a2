//! Window engine: each worker thread takes its shard through the time windows.

use super::guests::Door;
use super::limit::Limit;
use super::sorter::Sorter;
use super::stall::Stall;
use super::viewer::Viewer;
use crate::Progress;
use crate::frame::{Change, Extra, Frame, Rank};
use crate::record::Ended;
use crate::shard::{Outlet, Shard, Slab};
use crate::world::World;
use afflux_engine::{Exchange, WindowLog, Windows};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Frames and metadata that one shard sends to another.
#[derive(Default)]
pub struct Mail {
    frames: Vec<(u64, Frame)>,
    extras: Vec<Extra>,
}

/// An event that a node schedules for itself inside the current window.
#[derive(Clone, Copy)]
struct InWindowEvent {
    at: u64,
    rank: Rank,
    event: Frame,
}

impl PartialEq for InWindowEvent {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.rank) == (other.at, other.rank)
    }
}
impl Eq for InWindowEvent {}
impl PartialOrd for InWindowEvent {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for InWindowEvent {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.rank).cmp(&(other.at, other.rank))
    }
}

/// Files later events: into this worker's log, the mail to another worker, or the heap of the
/// current node.
struct Later {
    me: u16,
    log: WindowLog<Frame>,
    /// Start and end of the current window, in ps.
    window_start: u64,
    window_end: u64,
    soon: BinaryHeap<Reverse<InWindowEvent>>,
    /// Time in the current window at which the NIC of the current node looks for its next frame;
    /// `u64::MAX` if it does not.
    nic_at: u64,
    mail: Vec<Mail>,
    /// Earliest time in the mail.
    mail_next: u64,
    /// Number of entries filed minus entries taken, minus one for each series of samples (a series
    /// always has its next sample filed).
    pending: i64,
    until: u64,
}

impl Outlet for Later {
    const CLASSICAL: bool = false;

    #[inline(always)]
    fn frame(
        &mut self,
        at: u64,
        shard: u16,
        frame: &Frame,
        change: Change,
        extras: &mut Slab<Extra>,
    ) {
        self.pending += 1;
        debug_assert!(at >= self.window_end, "a frame arrives in the window in which it was sent");
        if shard == self.me {
            self.log.push_changed(at, frame, |frame| frame.leave(change))
        } else {
            self.post(at, shard, frame, change, extras)
        }
    }

    #[inline(always)]
    fn has_pending_event(&self) -> bool {
        !self.soon.is_empty()
    }

    fn pause(&mut self, at: u64, shard: u16, frame: Frame) {
        self.pending += 1;
        if shard == self.me {
            self.log.push(at, frame);
        } else {
            self.mail_next = self.mail_next.min(at);
            self.mail[shard as usize].frames.push((at, frame));
        }
    }

    fn event(&mut self, at: u64, event: Frame) {
        if at > self.until {
            // The event is never handled, but while it is pending the run does not end before
            // `until`.
            self.pending += 1;
        } else if at < self.window_end {
            assert!(at >= self.window_start, "an event in the past");
            self.soon.push(Reverse(InWindowEvent { at, rank: Rank::of_event(&event), event }));
        } else {
            self.pending += 1;
            self.log.push(at, event);
        }
    }

    #[inline(always)]
    fn nic_looks(&mut self, at: u64) -> bool {
        let soon = at < self.window_end && at <= self.until;
        if soon {
            self.nic_at = at;
        }
        soon
    }

    fn start(&mut self, at: u64, shard: u16, event: Frame) {
        self.pending += 1;
        if at > self.until {
            return;
        }
        if shard == self.me {
            debug_assert!(at >= self.window_end);
            self.log.push(at, event);
        } else {
            self.mail_next = self.mail_next.min(at);
            self.mail[shard as usize].frames.push((at, event));
        }
    }
}

impl Later {
    fn new(me: u16, workers: usize, windows: Windows, until: u64) -> Self {
        Self {
            me,
            log: WindowLog::new(windows),
            window_start: 0,
            window_end: 0,
            soon: BinaryHeap::new(),
            nic_at: u64::MAX,
            mail: (0..workers).map(|_| Mail::default()).collect(),
            mail_next: u64::MAX,
            pending: 0,
            until,
        }
    }

    /// Returns the next window with an event: one of this worker's, one that it has just posted, or
    /// one of the guests.
    fn next_window(&mut self, windows: Windows, door: Option<&mut Door>) -> Option<u64> {
        let mailed = std::mem::replace(&mut self.mail_next, u64::MAX);
        let mailed = (mailed != u64::MAX).then_some(mailed);
        let due = door.map(|door| door.due()).filter(|&due| due <= self.until);
        let others = mailed.into_iter().chain(due).min().map(|at| windows.of(at));
        self.log.next_window().into_iter().chain(others).min()
    }

    /// Files what another worker has posted.
    fn receive(&mut self, mail: &mut Mail, extras: &mut Slab<Extra>) {
        for (at, mut frame) in mail.frames.drain(..) {
            if frame.has(Frame::EXTRA) {
                let extra = std::mem::take(&mut mail.extras[frame.aux as usize]);
                frame.aux = extras.insert(extra);
            }
            self.log.push(at, frame);
        }
        mail.extras.clear();
    }

    #[inline(never)]
    fn post(
        &mut self,
        at: u64,
        shard: u16,
        frame: &Frame,
        change: Change,
        extras: &mut Slab<Extra>,
    ) {
        let mut frame = *frame;
        frame.leave(change);
        let mail = &mut self.mail[shard as usize];
        if frame.has(Frame::EXTRA) {
            mail.extras.push(extras.take(frame.aux));
            frame.aux = mail.extras.len() as u32 - 1;
        }
        self.mail_next = self.mail_next.min(at);
        mail.frames.push((at, frame));
    }
}

/// Result of a worker in addition to its shard.
#[derive(Default)]
pub struct Done {
    pub events: u64,
    /// Number of visited windows, the same for all workers.
    pub windows: u64,
    pub cpu_s: f64,
    pub in_flight: (u64, u64),
    pub reached_until: bool,
    /// Reason for an early end: lack of memory or of progress.
    pub limited: Option<Ended>,
    pub cancelled: bool,
}

/// Largest window length in ps. The events of a node in a window should fit into the cache.
const LONGEST_WINDOW: u64 = 1 << 25;

pub fn windows(world: &World) -> Windows {
    Windows::new(world.lookahead.min(LONGEST_WINDOW))
}

/// Runs `shard` from the first window to the last.
pub fn work(
    shard: &mut Shard,
    exchange: &Exchange<Mail>,
    workers: usize,
    progress: &Progress,
    mut door: Option<Door>,
) -> Done {
    let _abort = exchange.abort_on_panic();
    let cpu = crate::clock::thread_cpu_s();
    let world = shard.world;
    let me = shard.index as usize;
    let windows = windows(world);
    let mut later = Later::new(shard.index, workers, windows, world.until());
    let mut sorter = Sorter::new(shard, windows);
    let mut done = Done::default();
    let mut limit = Limit::new(world, me == 0);
    let mut stall = Stall::new(world, windows);
    let mut viewer = Viewer::default();
    // Bytes of all records when the workers last met, and the end of the latest window.
    let (mut kept, mut end) = (0, 0);
    let mut reported = Reported::default();
    later.pending -= shard.begin(&mut later);
    if let Some(door) = &door {
        shard.live += door.alive();
        later.pending += door.alive();
    }
    for round in 0.. {
        for to in (0..workers).filter(|&to| to != me) {
            exchange.post(round, me, to, &mut later.mail[to]);
        }
        let next = later.next_window(windows, door.as_mut());
        // A cancelled worker makes the sum of pending entries so small that all workers notice.
        let pending =
            if round % 64 == 0 && progress.cancelled() { i64::MIN / 1024 } else { later.pending };
        let own = limit.as_mut().map_or(0, |limit| limit.report(shard, kept, done.events));
        let turn = exchange.meet(
            round,
            me,
            next,
            (shard.live, pending, [own, shard.counters.sent_packets, shard.counters.absorbed()]),
        );
        kept = turn.counts[0];
        for from in (0..workers).filter(|&from| from != me) {
            exchange.open(round, from, me, |mail| later.receive(mail, &mut shard.extras));
        }
        if turn.pending < -(1 << 40) {
            done.cancelled = true;
            break;
        }
        let to_come = turn.live != 0 && turn.pending != 0;
        if let Some(limit) = limit.as_mut().filter(|_| to_come) {
            limit.check(kept, end);
        }
        if let Some(stall) = stall.as_mut().filter(|_| to_come) {
            let next = turn.next.map_or(u64::MAX, |window| windows.start(window));
            stall.check(world, end, next, (turn.counts[1], turn.counts[2]));
        }
        later.until = world.until();
        let Some(window) = turn.next.filter(|_| to_come) else {
            // Pending entries lie beyond the end of the run, in the same window as the end or
            // later.
            done.reached_until = to_come;
            break;
        };
        let start = windows.start(window);
        if start > later.until {
            done.reached_until = true;
            break;
        }
        later.log.advance(window);
        (later.window_start, later.window_end) = (start, start + windows.length());
        end = later.window_end;
        done.windows += 1;
        run_window(shard, &mut later, &mut sorter, door.as_mut(), &mut done);
        if round % 256 == 255 {
            reported.report(shard, start, progress);
            viewer.look(shard, end - 1, progress);
        }
    }
    if let Some(door) = door {
        door.close(shard);
    }
    viewer.close(shard, end.saturating_sub(1), progress);
    done.limited = limit.and_then(|limit| limit.ended()).or(stall.and_then(|stall| stall.ended()));
    reported.report(shard, 0, progress);
    later.log.for_each_left(|frame| {
        if frame.is_traffic() {
            done.in_flight.0 += 1;
            done.in_flight.1 += frame.size as u64;
        }
    });
    done.cpu_s = crate::clock::thread_cpu_s() - cpu;
    done
}

/// Counts that the progress of the run has already.
#[derive(Default)]
struct Reported {
    hops: u64,
    flows: u64,
}

impl Reported {
    /// Adds what the shard has done since the last report, up to `start` in ps.
    fn report(&mut self, shard: &Shard, start: u64, progress: &Progress) {
        let (hops, flows) = (shard.counters.packet_hops, shard.flows_done);
        progress.advance(start, hops - self.hops, flows - self.flows);
        *self = Reported { hops, flows };
    }
}

/// Handles all events of a window.
fn run_window(
    shard: &mut Shard,
    later: &mut Later,
    sorter: &mut Sorter,
    mut door: Option<&mut Door>,
    done: &mut Done,
) {
    sorter.collect(&mut later.log);
    done.events += sorter.taken as u64;
    later.pending -= sorter.taken as i64;
    if let Some(door) = &mut door {
        run_guests(shard, later, sorter, door, done);
    }
    // The loop runs one node ahead: the state of the next node is prefetched while the events of
    // the current node are handled.
    for i in 0..=sorter.active.len() {
        if let Some(&node) = sorter.active.get(i) {
            sorter.sort(node, shard);
        }
        if i > 0 {
            let node = sorter.active[i - 1];
            if door.as_ref().is_some_and(|door| door.at[node as usize]) {
                continue;
            }
            run_node(shard, later, sorter.entries(node), node, later.window_start, done);
        }
    }
}

/// Handles the events of the guests' nodes in one window: first the arrivals, then the guests
/// themselves, then everything else at their nodes.
#[inline(never)]
fn run_guests(
    shard: &mut Shard,
    later: &mut Later,
    sorter: &mut Sorter,
    door: &mut Door,
    done: &mut Done,
) {
    let start = later.window_start;
    let mut others = Vec::new();
    for &node in &door.nodes {
        if sorter.active.binary_search(&node).is_err() {
            continue;
        }
        sorter.sort(node, shard);
        let entries = sorter.entries(node);
        entries
            .iter()
            .filter(|frame| frame.is_traffic())
            .for_each(|frame| run_entry(shard, later, frame, node, start, done));
        let rest: Vec<Frame> =
            entries.iter().filter(|frame| !frame.is_traffic()).copied().collect();
        rest.iter()
            .filter(|frame| frame.kind() == Frame::PAUSE)
            .for_each(|frame| shard.tell_pause(start + frame.offset as u64, frame));
        others.push((node, rest));
    }
    later.pending += door.run(shard, later.window_end.min(later.until.saturating_add(1)));
    for &node in &door.nodes {
        let rest = others.iter().find(|other| other.0 == node).map(|other| &other.1[..]);
        if rest.is_none() && !Door::sends(shard, node) {
            continue;
        }
        Door::file(shard, later, node);
        run_node(shard, later, rest.unwrap_or(&[]), node, start, done);
    }
}

/// Handles the events of one node in one window, in order.
#[inline(always)]
fn run_node(
    shard: &mut Shard,
    later: &mut Later,
    entries: &[Frame],
    node: u32,
    start: u64,
    done: &mut Done,
) {
    if shard.nodes[node as usize].eager && later.window_end <= later.until {
        return shard.pass_eagerly(later, start, node, entries);
    }
    shard.begin_window(later, start, node);
    if shard.nodes[node as usize].loops && later.window_end <= later.until {
        return run_loop(shard, later, entries, node, start, done);
    }
    for frame in entries {
        run_entry(shard, later, frame, node, start, done);
    }
    run_before(shard, later, node, (u64::MAX, Rank::FIRST), done);
    shard.finish_window(later, later.window_end.min(later.until.saturating_add(1)), node);
}

/// Handles the events of a switch in one window, if the switch passes runs of frames in a loop.
#[inline(never)]
fn run_loop(
    shard: &mut Shard,
    later: &mut Later,
    mut entries: &[Frame],
    node: u32,
    start: u64,
    done: &mut Done,
) {
    loop {
        if later.soon.is_empty() {
            let passed = shard.pass(later, start, node, entries);
            entries = &entries[passed..];
        }
        let Some((frame, rest)) = entries.split_first() else { break };
        run_entry(shard, later, frame, node, start, done);
        entries = rest;
    }
    while !later.soon.is_empty()
        && let Some(Reverse(soon)) = later.soon.pop()
    {
        run_in_window(shard, later, soon, node, done);
    }
    shard.finish_window(later, later.window_end, node);
}

#[inline(always)]
fn run_entry(
    shard: &mut Shard,
    later: &mut Later,
    frame: &Frame,
    node: u32,
    start: u64,
    done: &mut Done,
) {
    let now = start + frame.offset as u64;
    if !later.soon.is_empty() || later.nic_at <= now {
        run_before(shard, later, node, (now, Rank::of(frame, shard.world.ties)), done);
    }
    if now > later.until {
        // Happens only in the window in which the run ends.
        later.pending += 1;
        if frame.is_traffic() {
            done.in_flight.0 += 1;
            done.in_flight.1 += frame.size as u64;
        }
        return;
    }
    shard.handle(later, now, node, frame);
}

/// Handles the events that the node has scheduled for itself before `end`, and its NIC.
#[inline(always)]
fn run_before(shard: &mut Shard, later: &mut Later, node: u32, end: (u64, Rank), done: &mut Done) {
    loop {
        let nic = (later.nic_at, Rank::NIC);
        match later.soon.peek() {
            Some(&Reverse(soon)) if (soon.at, soon.rank) < nic => {
                if (soon.at, soon.rank) >= end {
                    return;
                }
                later.soon.pop();
                run_in_window(shard, later, soon, node, done);
            }
            _ if nic >= end => return,
            _ => {
                later.nic_at = u64::MAX;
                done.events += 1;
                shard.on_nic(later, nic.0, node, 0);
            }
        }
    }
}

fn run_in_window(
    shard: &mut Shard,
    later: &mut Later,
    soon: InWindowEvent,
    node: u32,
    done: &mut Done,
) {
    done.events += 1;
    shard.handle(later, soon.at, node, &soon.event);
}
