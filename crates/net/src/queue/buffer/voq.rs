//! The memory of a deep-buffer switch with virtual output queues (Broadcom's Jericho line): a cap per queue, a small on-chip memory,
//! and DRAM that is large but slower than all ports together.
//!
//! A queue is first in, first out, and goes on in DRAM until it is empty once it has begun to. So what it has in DRAM is always its newest
//! part: `min(what was put there, what is in the queue)`, and nothing needs to be done when frames leave.

use crate::Model;
use crate::queue::{QueueView, Reason};
use crate::spec::{self, VoqCap};
use afflux_units::{Pace, Rate, Span};

/// By port speed, per queue: 10G 50 MB, 25G 125 MB, 40G 200 MB, 50G 250 MB, 100G 500 MB, which is 40 ms each, and 1G 12.5 MB (Arista 7500R
/// architecture paper, as quoted).
const CAP_TIME: Span = Span::from_ms(40);
const LEAST_CAP: u64 = 12_500_000;

#[derive(Debug, Clone)]
pub struct Voq {
    /// Most bytes of a queue, by port.
    caps: Box<[u64]>,
    /// Per port.
    queues: usize,
    on_chip: u64,
    evict_bytes: u64,
    evict_packets: u32,
    /// DRAM set aside for each queue, and for whoever comes.
    reserved: u64,
    dynamic: u64,
    writes: Option<Writes>,
    ledger: Box<[Ledger]>,
    /// Sums over the queues; upper bounds between settlings.
    on_chip_used: u64,
    dynamic_used: u64,
}

/// What DRAM still has to do.
#[derive(Debug, Clone)]
struct Writes {
    /// Time of a byte's writing and reading.
    pace: Pace,
    /// When everything accepted is written, and how far ahead of now that may be.
    free_at: u64,
    room: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ledger {
    dram: u64,
    /// What of this queue is in the sums.
    on_chip_counted: u64,
    dynamic_counted: u64,
}

/// Where a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    OnChip,
    Dram,
}

impl Voq {
    pub fn new(config: &spec::Voq, rates: &[Rate], queues: usize) -> Self {
        let cap = |rate: &Rate| {
            let bytes = match config.max_bytes {
                VoqCap::BySpeed => bytes_in(*rate, CAP_TIME).max(LEAST_CAP),
                VoqCap::Bytes(bytes) => bytes,
            };
            config.max_time.map_or(bytes, |time| bytes.min(bytes_in(*rate, time)))
        };
        let count = rates.len() * queues;
        let share = |share: f64| (config.dram as f64 * share) as u64;
        Voq {
            caps: rates.iter().map(cap).collect(),
            queues,
            on_chip: config.on_chip,
            evict_bytes: config.evict_bytes,
            evict_packets: config.evict_packets,
            reserved: share(config.reserved) / count.max(1) as u64,
            dynamic: share(config.dynamic),
            // Every byte is written and read.
            writes: config.dram_bandwidth.map(|Rate(both)| {
                let rate = Rate(both / 2);
                Writes { pace: rate.pace(), free_at: 0, room: rate.serialize(config.write_buffer).0 }
            }),
            ledger: vec![Ledger::default(); count].into(),
            on_chip_used: 0,
            dynamic_used: 0,
        }
    }

    /// Queues of each port.
    pub fn queues(&self) -> usize {
        self.queues
    }

    /// `queue` of the switch's port `port` now has `bytes`, no more than when it was last told.
    pub fn told(&mut self, port: u32, queue: usize, bytes: u64) {
        let reserved = self.reserved;
        let ledger = &mut self.ledger[port as usize * self.queues + queue];
        ledger.dram = ledger.dram.min(bytes);
        let (on_chip, dynamic) = (bytes - ledger.dram, ledger.dram.saturating_sub(reserved));
        self.on_chip_used -= ledger.on_chip_counted - on_chip;
        self.dynamic_used -= ledger.dynamic_counted - dynamic;
        (ledger.on_chip_counted, ledger.dynamic_counted) = (on_chip, dynamic);
    }

    /// May a frame of `size` bytes join the queue, which has just been told, and where would it be? No answer means that it depends on the sums, which
    /// are upper bounds unless `exact`.
    pub fn admit(&self, now: u64, port: u32, queue: usize, length: QueueView, size: u16, exact: bool) -> Option<Result<Place, Reason>> {
        let bytes = size as u64;
        if length.bytes + bytes > self.caps[port as usize] {
            return Some(Err(Reason::Buffer));
        }
        let ledger = &self.ledger[port as usize * self.queues + queue];
        let full = exact.then_some(Err(Reason::Buffer));
        if ledger.dram == 0 && length.bytes + bytes <= self.evict_bytes && length.frames < self.evict_packets {
            if self.on_chip_used + bytes <= self.on_chip {
                return Some(Ok(Place::OnChip));
            }
            if !exact {
                return None;
            }
        }
        if self.dynamic_used + (ledger.dram + bytes).saturating_sub(self.reserved) - ledger.dynamic_counted > self.dynamic {
            return full;
        }
        Some(match &self.writes {
            Some(writes) if writes.free_at.saturating_sub(now) + writes.pace.of(bytes) > writes.room => Err(Reason::Dram),
            _ => Ok(Place::Dram),
        })
    }

    /// A frame joins the queue there.
    pub fn join(&mut self, now: u64, port: u32, queue: usize, size: u16, place: Place) {
        let (reserved, bytes) = (self.reserved, size as u64);
        let ledger = &mut self.ledger[port as usize * self.queues + queue];
        match place {
            Place::OnChip => {
                ledger.on_chip_counted += bytes;
                self.on_chip_used += bytes;
            }
            Place::Dram => {
                ledger.dram += bytes;
                let dynamic = ledger.dram.saturating_sub(reserved);
                self.dynamic_used += dynamic - ledger.dynamic_counted;
                ledger.dynamic_counted = dynamic;
                if let Some(writes) = &mut self.writes {
                    writes.free_at = writes.free_at.max(now) + writes.pace.of(bytes);
                }
            }
        }
    }
}

/// Whole bytes that a link of this rate sends in `time`.
fn bytes_in(rate: Rate, time: Span) -> u64 {
    (rate.0 as u128 * time.0 as u128 / 8_000_000_000_000) as u64
}

pub const MODEL: Model = Model {
    kind: "buffer",
    name: "voq",
    source: "Jericho-class switches: caps by port speed (Arista 7500R architecture paper, as quoted), on-chip memory and eviction to DRAM (Cisco NCS 5500 \
             notes, recalled), credits (guessed sizes)",
    faithful: "one queue per ingress core (or port), egress port and priority; tail drop at a cap in bytes or time; a queue above 200 kB or 6000 packets goes \
               on in DRAM until it is empty; DRAM too slow for all ports is a cause of drops of its own; reserved and dynamic shares of the DRAM; credits in \
               turn over the queues of the highest priority",
    simplified: "a frame joins its queue when its credit could first be there; credits come faster than the port sends, so the port never waits for one, and \
                 the egress buffer that this fills is not kept apart; a byte's reading is charged when it is written; one memory for all cores; no cells, no \
                 descriptors, no multicast",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> spec::Voq {
        spec::Voq {
            ports_per_core: None,
            credit: 2_000,
            grant_latency: Span::ZERO,
            max_bytes: VoqCap::BySpeed,
            max_time: None,
            on_chip: 300_000,
            evict_bytes: 200_000,
            evict_packets: 6_000,
            dram: 10_000_000,
            dram_bandwidth: None,
            write_buffer: 100_000,
            reserved: 0.3,
            dynamic: 0.5,
        }
    }

    fn view(bytes: u64) -> QueueView {
        QueueView { bytes, frames: (bytes / 1_000) as u32 }
    }

    #[test]
    fn caps_by_speed_and_by_time() {
        let rates: Vec<Rate> = [1, 10, 25, 40, 50, 100].map(Rate::from_gbps).into();
        let caps = |config: &spec::Voq| Voq::new(config, &rates, 1).caps.to_vec();
        assert_eq!(caps(&config()), [12_500_000, 50_000_000, 125_000_000, 200_000_000, 250_000_000, 500_000_000]);
        // 5 ms at 25 Gbps are 15.6 MB.
        assert_eq!(caps(&spec::Voq { max_time: Some(Span::from_ms(5)), ..config() })[2], 15_625_000);
        assert_eq!(caps(&spec::Voq { max_time: Some(Span::from_ms(5)), max_bytes: VoqCap::Bytes(1_000_000), ..config() })[2], 1_000_000);
    }

    #[test]
    fn a_queue_is_in_dram_from_its_eviction_until_it_is_empty() {
        let mut voq = Voq::new(&config(), &[Rate::from_gbps(25); 2], 1);
        voq.join(0, 0, 0, 1_000, Place::OnChip);
        assert_eq!(voq.admit(0, 0, 0, view(1_000), 1_000, true), Some(Ok(Place::OnChip)));
        for _ in 0..199 {
            voq.join(0, 0, 0, 1_000, Place::OnChip);
        }
        assert_eq!(voq.admit(0, 0, 0, view(200_000), 1_000, true), Some(Ok(Place::Dram)));
        voq.join(0, 0, 0, 1_000, Place::Dram);
        // The oldest leave first: what is left is in DRAM.
        voq.told(0, 0, 500);
        assert_eq!((voq.ledger[0].dram, voq.on_chip_used), (500, 0));
        assert_eq!(voq.admit(0, 0, 0, view(500), 1_000, true), Some(Ok(Place::Dram)));
        voq.told(0, 0, 0);
        assert_eq!(voq.admit(0, 0, 0, view(0), 1_000, true), Some(Ok(Place::OnChip)));
    }

    #[test]
    fn many_packets_evict_too() {
        let voq = Voq::new(&config(), &[Rate::from_gbps(25)], 1);
        assert_eq!(voq.admit(0, 0, 0, QueueView { bytes: 64_000, frames: 6_000 }, 64, true), Some(Ok(Place::Dram)));
    }

    #[test]
    fn a_full_chip_sends_queues_to_dram() {
        let mut voq = Voq::new(&config(), &[Rate::from_gbps(25); 2], 1);
        (0..150).for_each(|_| voq.join(0, 0, 0, 1_000, Place::OnChip));
        (0..150).for_each(|_| voq.join(0, 1, 0, 1_000, Place::OnChip));
        assert_eq!(voq.admit(0, 1, 0, view(150_000), 1_000, false), None);
        assert_eq!(voq.admit(0, 1, 0, view(150_000), 1_000, true), Some(Ok(Place::Dram)));
    }

    #[test]
    fn dram_has_a_part_for_each_queue_and_one_for_all() {
        // 10 MB: 1.5 MB set aside for each of two queues, 5 MB for both.
        let mut voq = Voq::new(&config(), &[Rate::from_gbps(25); 2], 1);
        (0..6_500).for_each(|_| voq.join(0, 0, 0, 1_000, Place::Dram));
        assert_eq!(voq.admit(0, 0, 0, view(6_500_000), 1_000, true), Some(Err(Reason::Buffer)));
        assert_eq!(voq.admit(0, 0, 0, view(6_500_000), 1_000, false), None);
        assert_eq!(voq.admit(0, 1, 0, view(1_499_000), 1_000, true), Some(Ok(Place::Dram)));
    }

    #[test]
    fn dram_writes_at_half_its_bandwidth() {
        // 8 Gbps for both directions: 2 ns per byte.
        let mut voq = Voq::new(&spec::Voq { dram_bandwidth: Some(Rate::from_gbps(8)), ..config() }, &[Rate::from_gbps(25)], 1);
        (0..100).for_each(|_| voq.join(0, 0, 0, 1_000, Place::Dram));
        let asked = |now| voq.admit(now, 0, 0, view(100_000), 1_000, true);
        assert_eq!(asked(0), Some(Err(Reason::Dram)));
        assert_eq!(asked(1_999_999), Some(Err(Reason::Dram)));
        assert_eq!(asked(2_000_000), Some(Ok(Place::Dram)));
    }

    #[test]
    fn a_megabyte_may_wait_to_be_written() {
        // As Jericho+ has it: 450 Gbps for writing, 17.8 us for 1 MB.
        let config = spec::Voq { dram_bandwidth: Some(Rate::from_gbps(900)), write_buffer: 1_000_000, ..config() };
        assert_eq!(Voq::new(&config, &[Rate::from_gbps(25)], 1).writes.unwrap().room, 17_777_778);
    }
}
