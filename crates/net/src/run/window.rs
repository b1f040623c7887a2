//! The fast engine: every worker takes its shard through the windows.

use crate::Progress;
use crate::frame::{AckExtra, Frame, Rank};
use crate::shard::{Outlet, Shard, Slab};
use crate::world::World;
use afflux_engine::{Exchange, WindowLog, Windows};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What one shard has for another.
#[derive(Default)]
pub struct Mail {
    frames: Vec<(u64, Frame)>,
    extras: Vec<AckExtra>,
}

/// An event that a node makes for itself inside the window under way.
#[derive(Clone, Copy)]
struct Soon {
    at: u64,
    rank: Rank,
    event: Frame,
}

impl PartialEq for Soon {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.rank) == (other.at, other.rank)
    }
}
impl Eq for Soon {}
impl PartialOrd for Soon {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Soon {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.rank).cmp(&(other.at, other.rank))
    }
}

/// Files what happens later: in this worker's log, in the mail to another, or in the heap of the node at hand.
struct Later {
    me: u16,
    log: WindowLog<Frame>,
    /// End of the window under way.
    window_end: u64,
    soon: BinaryHeap<Reverse<Soon>>,
    mail: Vec<Mail>,
    /// Earliest time in the mail.
    mail_next: u64,
    /// Entries filed less entries taken, less one for each series of samples, which always has its next one filed.
    pending: i64,
    until: u64,
}

impl Outlet for Later {
    const CLASSICAL: bool = false;

    #[inline(always)]
    fn frame(&mut self, at: u64, shard: u16, frame: Frame, extras: &mut Slab<AckExtra>) {
        self.pending += 1;
        if shard == self.me { self.log.push(at, frame) } else { self.post(at, shard, frame, extras) }
    }

    fn event(&mut self, at: u64, event: Frame) {
        if at < self.window_end {
            self.soon.push(Reverse(Soon { at, rank: Rank::of(&event), event }));
        } else if at <= self.until {
            self.pending += 1;
            self.log.push(at, event);
        }
    }

    fn start(&mut self, at: u64, shard: u16, event: Frame) {
        if at > self.until {
            return;
        }
        self.pending += 1;
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
    #[inline(never)]
    fn post(&mut self, at: u64, shard: u16, mut frame: Frame, extras: &mut Slab<AckExtra>) {
        let mail = &mut self.mail[shard as usize];
        if frame.has(Frame::EXTRA) {
            mail.extras.push(*extras.remove(frame.aux));
            frame.aux = mail.extras.len() as u32 - 1;
        }
        self.mail_next = self.mail_next.min(at);
        mail.frames.push((at, frame));
    }
}

/// A worker's result besides its shard.
pub struct Done {
    pub events: u64,
    pub cpu_s: f64,
    pub in_flight: (u64, u64),
    pub reached_until: bool,
    pub cancelled: bool,
}

/// Windows no longer than this: events of one node and window should fit the cache.
const LONGEST_WINDOW: u64 = 1 << 25;

pub fn windows(world: &World) -> Windows {
    Windows::new(world.lookahead.min(LONGEST_WINDOW))
}

/// Takes `shard` through the run.
pub fn work(shard: &mut Shard, exchange: &Exchange<Mail>, workers: usize, progress: &Progress) -> Done {
    let _abort = exchange.abort_on_panic();
    let cpu = super::thread_cpu_s();
    let world = shard.world;
    let me = shard.index as usize;
    let windows = windows(world);
    let until = world.until;
    let mut later = Later {
        me: shard.index,
        log: WindowLog::new(windows),
        window_end: 0,
        soon: BinaryHeap::new(),
        mail: (0..workers).map(|_| Mail::default()).collect(),
        mail_next: u64::MAX,
        pending: 0,
        until,
    };
    let mut sorter = Sorter::new(shard);
    let mut done = Done { events: 0, cpu_s: 0.0, in_flight: (0, 0), reached_until: false, cancelled: false };
    let (mut reported_hops, mut reported_flows) = (0, 0);
    later.pending -= shard.begin(&mut later);
    for round in 0.. {
        for to in (0..workers).filter(|&to| to != me) {
            exchange.post(round, me, to, &mut later.mail[to]);
        }
        let mut next = later.log.next_window();
        if later.mail_next != u64::MAX {
            let mailed = windows.of(later.mail_next);
            next = Some(next.map_or(mailed, |n| n.min(mailed)));
            later.mail_next = u64::MAX;
        }
        // A cancelled worker makes the sum of what is pending so small that all see it.
        let pending = if round % 64 == 0 && progress.cancelled() { i64::MIN / 1024 } else { later.pending };
        let turn = exchange.meet(round, me, next, shard.live, pending);
        for from in (0..workers).filter(|&from| from != me) {
            exchange.open(round, from, me, |mail| {
                for (at, mut frame) in mail.frames.drain(..) {
                    if frame.has(Frame::EXTRA) {
                        frame.aux = shard.extras.insert(mail.extras[frame.aux as usize]);
                    }
                    later.log.push(at, frame);
                }
                mail.extras.clear();
            });
        }
        if turn.pending < -(1 << 40) {
            done.cancelled = true;
            break;
        }
        let Some(window) = turn.next.filter(|_| turn.live != 0 && turn.pending != 0) else { break };
        let start = windows.start(window);
        if start > until {
            done.reached_until = true;
            break;
        }
        later.log.advance(window);
        later.window_end = start + windows.length();
        sorter.collect(&mut later.log);
        done.events += sorter.taken as u64;
        later.pending -= sorter.taken as i64;
        for i in 0..sorter.active.len() {
            let node = sorter.active[i];
            sorter.sort(node, shard);
            run_node(shard, &mut later, &sorter, node, start, &mut done);
        }
        if round % 256 == 255 {
            progress.advance(start, shard.counters.packet_hops - reported_hops, shard.flows_done - reported_flows);
            (reported_hops, reported_flows) = (shard.counters.packet_hops, shard.flows_done);
        }
    }
    progress.advance(0, shard.counters.packet_hops - reported_hops, shard.flows_done - reported_flows);
    later.log.for_each_left(|frame| {
        if frame.kind() != Frame::EVENT {
            done.in_flight.0 += 1;
            done.in_flight.1 += frame.size as u64;
        }
    });
    done.cpu_s = super::thread_cpu_s() - cpu;
    done
}

/// The events of one node in one window, in order.
#[inline(always)]
fn run_node(shard: &mut Shard, later: &mut Later, sorter: &Sorter, node: u32, start: u64, done: &mut Done) {
    match &sorter.wide {
        None => {
            let entries = &sorter.entries[sorter.at..];
            for &key in &sorter.keys {
                run_entry(shard, later, &entries[(key & 0xffff) as usize], node, start, done);
            }
        }
        Some(order) => order.iter().for_each(|&i| run_entry(shard, later, &sorter.entries[sorter.at + i as usize], node, start, done)),
    }
    while let Some(Reverse(soon)) = later.soon.pop() {
        run_soon(shard, later, soon, node, done);
    }
    shard.finish_window(later, later.window_end.min(later.until.saturating_add(1)), node);
}

#[inline(always)]
fn run_entry(shard: &mut Shard, later: &mut Later, frame: &Frame, node: u32, start: u64, done: &mut Done) {
    let now = start + frame.offset as u64;
    if !later.soon.is_empty() {
        let rank = Rank::of(frame);
        while let Some(&Reverse(soon)) = later.soon.peek()
            && (soon.at, soon.rank) < (now, rank)
        {
            later.soon.pop();
            run_soon(shard, later, soon, node, done);
        }
    }
    if now > later.until {
        // Only in the window in which the run ends.
        if frame.kind() != Frame::EVENT {
            done.in_flight.0 += 1;
            done.in_flight.1 += frame.size as u64;
        }
        return;
    }
    shard.handle(later, now, node, *frame);
}

fn run_soon(shard: &mut Shard, later: &mut Later, soon: Soon, node: u32, done: &mut Done) {
    done.events += 1;
    if soon.at <= later.until {
        shard.handle(later, soon.at, node, soon.event);
    }
}

/// Brings a window's entries into the order in which their nodes deal with them: a counting sort by node, then small keys per node.
struct Sorter {
    /// Node of each port, then of each node's pseudo port.
    node_of_port: Vec<u32>,
    /// Entries by node, and the nodes that have any.
    entries: Vec<Frame>,
    first: Vec<u32>,
    count: Vec<u32>,
    active: Vec<u32>,
    taken: usize,
    /// The node at hand: its entries, and their order.
    at: usize,
    keys: Vec<u64>,
    /// Order by index where a node has more entries than a key can number.
    wide: Option<Vec<u32>>,
}

impl Sorter {
    fn new(shard: &Shard) -> Self {
        let nodes = shard.nodes.len();
        let mut node_of_port: Vec<u32> = shard.ports.iter().map(|p| p.node).collect();
        node_of_port.extend(0..nodes as u32);
        Sorter {
            node_of_port,
            entries: Vec::new(),
            first: vec![0; nodes],
            count: vec![0; nodes],
            active: Vec::new(),
            taken: 0,
            at: 0,
            keys: Vec::new(),
            wide: None,
        }
    }

    /// Takes the log of the current window.
    fn collect(&mut self, log: &mut WindowLog<Frame>) {
        for &node in &self.active {
            self.count[node as usize] = 0;
        }
        self.active.clear();
        let mut total = 0;
        for piece in log.pieces() {
            total += piece.len();
            for frame in piece {
                let node = self.node_of_port[frame.port as usize];
                let count = &mut self.count[node as usize];
                if *count == 0 {
                    self.active.push(node);
                }
                *count += 1;
            }
        }
        // Nodes in ascending order: what is next to each other in memory is used one after the other.
        if self.active.len() * 8 > self.count.len() {
            self.active.clear();
            self.active.extend((0..self.count.len() as u32).filter(|&n| self.count[n as usize] > 0));
        } else {
            self.active.sort_unstable();
        }
        self.taken = total;
        let mut next = 0;
        for &node in &self.active {
            self.first[node as usize] = next;
            next += self.count[node as usize];
        }
        if self.entries.len() < total {
            self.entries.resize(total.next_power_of_two(), Frame::default());
        }
        for piece in log.pieces() {
            for frame in piece {
                let at = &mut self.first[self.node_of_port[frame.port as usize] as usize];
                self.entries[*at as usize] = *frame;
                *at += 1;
            }
        }
        for &node in &self.active {
            self.first[node as usize] -= self.count[node as usize];
        }
        log.clear();
    }

    /// Orders the entries of one node: by time, class, port; events at one moment by rank.
    fn sort(&mut self, node: u32, shard: &Shard) {
        let count = self.count[node as usize] as usize;
        self.at = self.first[node as usize] as usize;
        let entries = &self.entries[self.at..self.at + count];
        self.keys.clear();
        if count > u16::MAX as usize {
            let mut order: Vec<u32> = (0..count as u32).collect();
            order.sort_unstable_by_key(|&i| (entries[i as usize].offset, Rank::of(&entries[i as usize])));
            self.wide = Some(order);
            return;
        }
        self.wide = None;
        let first_port = shard.nodes[node as usize].first_port;
        let mut events = 0;
        self.keys.extend(entries.iter().enumerate().map(|(i, frame)| {
            let event = frame.kind() == Frame::EVENT;
            events += event as u32;
            let port = if event { 0 } else { frame.port - first_port };
            (frame.offset as u64) << 32 | (Rank::class(frame) as u64) << 29 | (port as u64) << 16 | i as u64
        }));
        self.keys.sort_unstable();
        if events > 1 {
            let mut i = 0;
            while i + 1 < count {
                let mut end = i + 1;
                while end < count && self.keys[end] >> 16 == self.keys[i] >> 16 {
                    end += 1;
                }
                if end - i > 1 {
                    self.keys[i..end].sort_unstable_by_key(|&key| Rank::of(&entries[(key & 0xffff) as usize]));
                }
                i = end;
            }
        }
    }
}
