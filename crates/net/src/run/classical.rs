//! The textbook engine: a binary heap, two events per hop (arrival, end of transmission). The oracle and the baseline.

use crate::Progress;
use crate::frame::{AckExtra, Event, Frame, Rank};
use crate::shard::{Outlet, Shard, Slab};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What the heap orders: small, since it moves a lot; frames lie still in a slab.
#[derive(Clone, Copy)]
struct Entry {
    at: u64,
    /// Class and what tells events of one moment apart; ends of transmission have 0, the lowest.
    rank: u64,
    /// Where the frame lies, or the port whose transmission ends.
    slot: u32,
}

impl Entry {
    #[inline(always)]
    fn key(&self) -> u128 {
        (self.at as u128) << 64 | self.rank as u128
    }
}
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

struct Later {
    heap: BinaryHeap<Reverse<Entry>>,
    frames: Slab<Frame>,
    /// Entries but samples.
    pending: i64,
}

impl Later {
    fn push(&mut self, at: u64, frame: Frame) {
        let slot = self.frames.insert(frame);
        self.heap.push(Reverse(Entry { at, rank: Rank::of(&frame).number() + 1, slot }));
    }
}

impl Outlet for Later {
    const CLASSICAL: bool = true;

    fn frame(&mut self, at: u64, _shard: u16, frame: Frame, _extras: &mut Slab<AckExtra>) {
        self.pending += 1;
        self.push(at, frame);
    }
    fn event(&mut self, at: u64, event: Frame) {
        self.pending += (event.seq < Event::Sample as u32) as i64;
        self.push(at, event);
    }
    fn start(&mut self, at: u64, _shard: u16, event: Frame) {
        self.event(at, event);
    }
    fn sent(&mut self, at: u64, port: u32) {
        self.pending += 1;
        self.heap.push(Reverse(Entry { at, rank: 0, slot: port }));
    }
}

pub fn work(shard: &mut Shard, progress: &Progress) -> super::window::Done {
    let cpu = super::thread_cpu_s();
    let until = shard.world.until;
    let mut later = Later { heap: BinaryHeap::new(), frames: Slab::default(), pending: 0 };
    let mut done = super::window::Done { events: 0, cpu_s: 0.0, in_flight: (0, 0), reached_until: false, cancelled: false };
    let (mut reported_hops, mut reported_flows) = (0, 0);
    shard.begin(&mut later);
    while let Some(&Reverse(entry)) = later.heap.peek() {
        // What happens at the moment at which the last frame is absorbed still happens.
        if (shard.live == 0 || later.pending == 0) && entry.at > shard.last {
            break;
        }
        if entry.at > until {
            done.reached_until = true;
            break;
        }
        later.heap.pop();
        done.events += 1;
        if entry.rank == 0 {
            later.pending -= 1;
            let node = shard.ports[entry.slot as usize].node;
            shard.transmission_ended(&mut later, entry.at, node, entry.slot);
        } else {
            let frame = *later.frames.remove(entry.slot);
            later.pending -= (frame.kind() != Frame::EVENT || frame.seq < Event::Sample as u32) as i64;
            let node = shard.node_of(&frame);
            shard.handle(&mut later, entry.at, node, frame);
        }
        if done.events.is_multiple_of(65_536) {
            progress.advance(entry.at, shard.counters.packet_hops - reported_hops, shard.flows_done - reported_flows);
            (reported_hops, reported_flows) = (shard.counters.packet_hops, shard.flows_done);
            if progress.cancelled() {
                done.cancelled = true;
                break;
            }
        }
    }
    progress.advance(0, shard.counters.packet_hops - reported_hops, shard.flows_done - reported_flows);
    for Reverse(entry) in later.heap.iter().filter(|Reverse(entry)| entry.rank != 0) {
        let frame = &later.frames[entry.slot];
        if frame.kind() != Frame::EVENT {
            done.in_flight.0 += 1;
            done.in_flight.1 += frame.size as u64;
        }
    }
    done.cpu_s = super::thread_cpu_s() - cpu;
    done
}
