//! Buffer of a deep-buffer switch with virtual output queues (Broadcom's Jericho line): a cap per
//! queue, a small on-chip memory, and DRAM that is large but slower than all ports together.
//!
//! A queue is FIFO. Once it has begun to use DRAM, it continues there until it is empty. So its
//! part in DRAM is always its newest part, `min(bytes put there, bytes in the queue)`, and needs no
//! update when frames leave.

use crate::Model;
use crate::queue::scheduling::Limits;
use crate::queue::{QueueView, Reason};
use afflux_config::keys::{at_most_a_second, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Chance, Duration, Off, Or, Size, Speed, Unlimited, Word, keys, words};
use afflux_units::{Bytes, Pace, Rate, Span};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BySpeed;
impl Word for BySpeed {
    const WORD: &'static str = "by_speed";
}

words! {
    /// Ingress sources that have a separate queue for each egress port and priority.
    pub enum Ingress {
        /// One queue per ingress core, as in hardware. With one core this equals a switch with
        /// output queues.
        Core,
        /// One queue per ingress port (N×N queues, as textbooks draw switches with virtual output
        /// queues).
        Port,
    }
}

keys! {
    /// With `sharing = "voq"`: virtual output queues in on-chip memory and DRAM.
    pub struct Keys as "Voq" => Config(pfc: bool) of written {
        /// Whether there is a queue per ingress core or per ingress port.
        ingress: Ingress = "core" from "hardware, recalled; `\"port\"` is a switch with N×N queues";
        /// With `ingress = "core"`: number of ports per ingress core. Ports belong to cores in the
        /// order of the links.
        ports_per_core: u32 = none "all, as in a leaf of one chip", check |ports, at| match (ingress, ports) {
            (Ingress::Port, _) => Err(meaningless(at, "ingress = \"port\"")),
            (Ingress::Core, 0) => Err(Wrong::at(at, "found 0: write a number of ports from 1")),
            (Ingress::Core, ports) => Ok(ports),
        };
        /// With several cores, or with limits on credits: bytes that a queue may send per credit.
        credit: Size as Option<u32> = {(per_core(ingress, ports_per_core).is_some() || written.is_limited()).then_some(Size(Bytes(2_000)))}
            "`\"2kB\"` (a guess; 1 to 4 kB are usual)",
            check |Size(Bytes(bytes)), at| match bytes {
                _ if per_core(ingress, ports_per_core).is_none() && !written.is_limited() => {
                    let what = "has no effect with one ingress core, because each port then has one queue per priority: remove it, or write ports_per_core, \
                                credit_speedup, max_credits or fabric_speedup";
                    Err(Wrong::at(at, what))
                }
                64..=1_000_000 => Ok(bytes as u32),
                _ => Err(Wrong::at(at, format!("\"{}\": write a size from 64B to 1MB", Bytes(bytes)))),
            };
        /// Time from a frame's request for a credit to the grant. The frame can leave after this
        /// time at the earliest. It is added to `latency`.
        grant_latency: Duration = "1500ns" from "a guess: 1 to 2 us within one box, 5 to 10 us across a chassis", check at_most_a_second;
        /// Rate at which the scheduler of an egress port grants credits, as a multiple of the
        /// port's rate, or `"unlimited"`: credits are granted as soon as they are requested. Below
        /// 1 the credits limit the port's throughput.
        credit_speedup: Or<Unlimited, f64> as Option<f64> = "unlimited" from "as before there was this key; 1.02 is recalled of hardware",
            check |given, at| given.0.map(|times| speedup(times, at)).transpose();
        /// Most credits that an egress port may have in flight or unused, or `"unlimited"`. A used
        /// credit can be granted again, and pays for data `grant_latency` later. So a port sends at
        /// most `max_credits` times `credit` per `grant_latency`.
        max_credits: Or<Unlimited, u32> as Option<u32> = "unlimited", check |given, at| match given.0 {
            Some(_) if grant_latency == Span::ZERO => Err(meaningless(at, "grant_latency = \"0ps\"")),
            Some(0 | 1_000_001..) => Err(Wrong::at(at, "write a number of credits from 1 to 1000000, or \"unlimited\"")),
            given => Ok(given),
        };
        /// Rate of the fabric from an ingress core to an egress port, as a multiple of the port's
        /// rate, or `"unlimited"`. Each core has its own fabric. Below 1, a port that only one core
        /// feeds cannot reach its rate.
        fabric_speedup: Or<Unlimited, f64> as Option<f64> = "unlimited",
            check |given, at| given.0.map(|times| speedup(times, at)).transpose();
        /// Most bytes of a queue, or `"by_speed"` for Arista's limits by port speed: 10G 50 MB, 25G
        /// 125 MB, 40G 200 MB, 50G 250 MB, 100G 500 MB, that is 40 ms each (and at least 12.5 MB,
        /// as at 1G).
        max_bytes: Or<BySpeed, Size> as Option<u64> = "by_speed" from "7500R architecture paper, as quoted; it also says 5 ms",
            check |given, at| given.0.map(|bytes| size(bytes, at)).transpose();
        /// Most bytes of a queue, as the time that its port takes to send them, or `"off"`. The
        /// smaller of the two caps applies.
        max_time: Or<Off, Duration> as Option<Span> = "off" from "`\"5ms\"` is the other reading of Arista's table: 15.6 MB at 25G",
            check |given, at| match given.0 {
                Some(Duration(Span::ZERO)) => Err(Wrong::at(at, "\"0ps\": write a time above 0, or \"off\"")),
                given => given.map(|span| at_most_a_second(span, at)).transpose(),
            };
        /// Size of the on-chip memory.
        on_chip: Size as u64 = "16MB" from "Jericho and Jericho+", check size;
        /// Queue length in bytes above which a queue moves to DRAM. It stays in DRAM until it is
        /// empty. A queue also moves if the on-chip memory is full.
        evict_bytes: Size as u64 = "200kB" from "NCS 5500, recalled", check size;
        /// Queue length in packets from which a queue moves to DRAM until it is empty.
        evict_packets: u32 = 6000 from "NCS 5500, recalled", check |packets, at| match packets {
            0 => Err(Wrong::at(at, "found 0: write a number of packets from 1")),
            packets => Ok(packets),
        };
        /// Size of the DRAM.
        dram: Size as u64 = "4GB" from "Arista, per Jericho or Jericho+ chip", check size;
        /// Bandwidth of the DRAM for writing and reading together, or `"unlimited"`. A frame that
        /// the DRAM cannot write soon enough is dropped.
        dram_bandwidth: Or<Unlimited, Speed> as Option<Rate> = "900Gbps" from "Jericho+, recalled", check |given, at| match given.0 {
            Some(Speed(rate)) if rate < Rate::from_mbps(1) => Err(Wrong::at(at, format!("\"{rate}\": write a rate of 1Mbps and more"))),
            given => Ok(given.map(|Speed(rate)| rate)),
        };
        /// Most bytes that may wait to be written to DRAM. They do not count towards `on_chip`.
        write_buffer: Size as u64 = "1MB" from "a guess", check size;
        /// Share of the DRAM that is reserved for the queues, in equal parts.
        reserved: Chance as f64 = 0.3 from "Arista, Jericho2", check |Chance(share), _| Ok(share.get());
        /// Share of the DRAM that the queues may use together beyond their reserved parts.
        dynamic: Chance as f64 = 0.55 from "Arista, Jericho2; the rest is for multicast", check |Chance(share), at| match share.get() {
            dynamic if reserved + dynamic > 1.0 => {
                Err(Wrong::at(at, format!("found {dynamic}: together with reserved = {reserved} it exceeds the DRAM, so write at most the rest of 1")))
            }
            dynamic => Ok(dynamic),
        };
        /// With `[switch.pfc]`: a priority of an ingress port is paused above this many bytes.
        xoff: Size as Option<u64> = {pfc.then_some(Size(Bytes(1_000_000)))} "`\"1MB\"` (a guess: thresholds of such switches are not public)",
            check |given, at| with_pfc(pfc, &at).and_then(|()| size(given, at));
        /// With `[switch.pfc]`: a paused priority is resumed at or below this many bytes.
        xon: Size as Option<u64> = {xoff.map(|bytes| Size(Bytes(bytes / 2)))} "half of `xoff` (a guess)",
            check |Size(Bytes(bytes)), at| match with_pfc(pfc, &at).map(|()| xoff.expect("with flow control")) {
                Ok(xoff) if bytes > xoff => Err(Wrong::at(at, format!("\"{}\" is above xoff = \"{}\": write no more than that", Bytes(bytes), Bytes(xoff)))),
                known => known.map(|_| bytes),
            };
    }
}

/// Checks a key that has an effect with PFC only.
fn with_pfc(pfc: bool, at: &Key) -> Result<(), Wrong> {
    if pfc {
        Ok(())
    } else {
        Err(Wrong::at(at.clone(), "has no effect without PFC: write [switch.pfc], or remove it"))
    }
}

impl Keys {
    /// True if a port may have to wait for credits or for the fabric.
    fn is_limited(&self) -> bool {
        let speedups = [&self.credit_speedup, &self.fabric_speedup];
        speedups.iter().any(|given| given.as_ref().is_some_and(|given| given.0.is_some()))
            || self.max_credits.as_ref().is_some_and(|given| given.0.is_some())
    }
}

fn speedup(times: f64, key: Key) -> Result<f64, Wrong> {
    if (0.001..=1_000.0).contains(&times) {
        Ok(times)
    } else {
        Err(Wrong::at(
            key,
            format!("found {times}: write a number from 0.001 to 1000, or \"unlimited\""),
        ))
    }
}

impl Config {
    /// True if a port may have to wait for credits or for the fabric.
    pub fn is_limited(&self) -> bool {
        self.credit_speedup.is_some() || self.max_credits.is_some() || self.fabric_speedup.is_some()
    }

    /// Returns the limits of the credits of a port of this rate; `None` if nothing limits them.
    pub fn limits(&self, rate: Rate) -> Option<Limits> {
        let times = |speedup: f64| Rate(((rate.0 as f64 * speedup) as u64).max(1));
        let credit = self.credit.unwrap_or(0);
        self.is_limited().then(|| Limits {
            credit,
            interval: self
                .credit_speedup
                .map_or(0, |speedup| times(speedup).serialize(credit.into()).0),
            most: self.max_credits,
            round_trip: self.grant_latency.0,
            fabric: self.fabric_speedup.map(|speedup| times(speedup).pace()),
        })
    }

    /// Returns the number of ports per ingress core; the ports of a core share its queues. `None`:
    /// one core has all ports.
    pub fn per_core(&self) -> Option<u32> {
        per_core(self.ingress, self.ports_per_core)
    }

    /// Returns the number of ingress cores of a switch with `ports` ports.
    pub fn cores(&self, ports: usize) -> usize {
        self.per_core().map_or(1, |per_core| ports.div_ceil(per_core as usize))
    }
}

fn per_core(ingress: Ingress, ports_per_core: Option<u32>) -> Option<u32> {
    if ingress == Ingress::Port { Some(1) } else { ports_per_core }
}

fn size(Size(bytes): Size, key: Key) -> Result<u64, Wrong> {
    match bytes {
        Bytes(0) => Err(Wrong::at(key, "\"0B\": write a size above 0")),
        // With this limit, products of sizes and times fit 128 bits, and sums fit 64.
        bytes if bytes.0 > 1 << 40 => {
            Err(Wrong::at(key, format!("\"{bytes}\": write a size up to 1TiB")))
        }
        bytes => Ok(bytes.0),
    }
}

/// Default cap of a queue by port speed: 10G 50 MB, 25G 125 MB, 40G 200 MB, 50G 250 MB, 100G 500
/// MB, which is 40 ms each, and 1G 12.5 MB (Arista 7500R architecture paper, as quoted).
const CAP_TIME: Span = Span::from_ms(40);
const LEAST_CAP: u64 = 12_500_000;

#[derive(Debug, Clone)]
pub struct Voq {
    /// Most bytes of a queue, by port.
    caps: Box<[u64]>,
    /// Number of queues per port.
    queues: usize,
    on_chip: u64,
    evict_bytes: u64,
    evict_packets: u32,
    /// DRAM in bytes reserved for each queue, and DRAM shared by all queues beyond that.
    reserved: u64,
    dynamic: u64,
    writes: Option<Writes>,
    ledger: Box<[Ledger]>,
    /// Sums over the queues in bytes. Between updates (`set_occupancy`) they are upper bounds.
    on_chip_used: u64,
    dynamic_used: u64,
}

/// Pending writes to DRAM.
#[derive(Debug, Clone)]
struct Writes {
    /// Time to write and read a byte.
    pace: Pace,
    /// Time in ps at which all accepted frames are written, and the longest permitted time in ps
    /// from now until then.
    free_at: u64,
    room: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ledger {
    dram: u64,
    /// Bytes of this queue that the sums `on_chip_used` and `dynamic_used` include.
    on_chip_counted: u64,
    dynamic_counted: u64,
}

/// Memory that a frame is stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    OnChip,
    Dram,
}

impl Voq {
    pub fn new(config: &Config, rates: &[Rate], queues: usize) -> Self {
        let cap = |rate: &Rate| {
            let bytes =
                config.max_bytes.unwrap_or_else(|| bytes_in(*rate, CAP_TIME).max(LEAST_CAP));
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
            // Every byte is written and read, so writing gets half of the bandwidth.
            writes: config.dram_bandwidth.map(|Rate(both)| {
                let rate = Rate(both / 2);
                Writes {
                    pace: rate.pace(),
                    free_at: 0,
                    room: rate.serialize(config.write_buffer).0,
                }
            }),
            ledger: vec![Ledger::default(); count].into(),
            on_chip_used: 0,
            dynamic_used: 0,
        }
    }

    /// Returns the number of queues per port.
    pub fn queues(&self) -> usize {
        self.queues
    }

    /// Updates the account of `queue` at port `port` after departures. `bytes`: length of the
    /// queue, at most what the account holds.
    pub fn set_occupancy(&mut self, port: u32, queue: usize, bytes: u64) {
        let reserved = self.reserved;
        let ledger = &mut self.ledger[port as usize * self.queues + queue];
        ledger.dram = ledger.dram.min(bytes);
        let (on_chip, dynamic) = (bytes - ledger.dram, ledger.dram.saturating_sub(reserved));
        self.on_chip_used -= ledger.on_chip_counted - on_chip;
        self.dynamic_used -= ledger.dynamic_counted - dynamic;
        (ledger.on_chip_counted, ledger.dynamic_counted) = (on_chip, dynamic);
    }

    /// Decides whether a frame of `size` bytes may join the queue, and in which memory. The queue's
    /// account must be up to date (`set_occupancy`). `None` means that the sums, which are upper bounds
    /// unless `exact`, do not decide. Lossless frames are not `capped`: PFC limits them at ingress.
    #[allow(clippy::too_many_arguments)]
    pub fn admit(
        &self,
        now: u64,
        port: u32,
        queue: usize,
        length: QueueView,
        size: u16,
        capped: bool,
        exact: bool,
    ) -> Option<Result<Place, Reason>> {
        let bytes = size as u64;
        if capped && length.bytes + bytes > self.caps[port as usize] {
            return Some(Err(Reason::Buffer));
        }
        let ledger = &self.ledger[port as usize * self.queues + queue];
        let full = exact.then_some(Err(Reason::Buffer));
        if ledger.dram == 0
            && length.bytes + bytes <= self.evict_bytes
            && length.frames < self.evict_packets
        {
            if self.on_chip_used + bytes <= self.on_chip {
                return Some(Ok(Place::OnChip));
            }
            if !exact {
                return None;
            }
        }
        if self.dynamic_used + (ledger.dram + bytes).saturating_sub(self.reserved)
            - ledger.dynamic_counted
            > self.dynamic
        {
            return full;
        }
        Some(match &self.writes {
            Some(writes)
                if writes.free_at.saturating_sub(now) + writes.pace.of(bytes) > writes.room =>
            {
                Err(Reason::Dram)
            }
            _ => Ok(Place::Dram),
        })
    }

    /// Adds a frame to the queue's account in `place`.
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

/// Returns the whole bytes that a link of this rate sends in `time`.
fn bytes_in(rate: Rate, time: Span) -> u64 {
    (rate.0 as u128 * time.0 as u128 / 8_000_000_000_000) as u64
}

pub const MODEL: Model = Model {
    kind: "buffer",
    name: "voq",
    source: "Jericho-class switches: caps by port speed (Arista 7500R architecture paper, as quoted), on-chip memory and eviction to DRAM (Cisco NCS 5500 \
             notes, recalled), credits (guessed sizes)",
    faithful: "one queue per ingress core (or port), egress port and priority or class; tail drop at a cap in bytes or time; a queue above 200 kB or 6000 packets \
               goes on in DRAM until it is empty; if the DRAM is too slow for all ports, frames are dropped for that reason, and counted as such; \
               reserved and dynamic shares of the DRAM; the egress scheduler chooses the class (strict priority, DWRR or ETS), then credits in turn over its \
               queues; if the scenario says so, credits that run out: a scheduler per egress port, by the same rule for the classes, with a rate and a \
               number of credits in flight, and a fabric from each core to each port with a rate",
    simplified: "a frame joins its queue at the earliest time at which its credit can arrive; without limits credits come faster than the port sends, so \
                 the port never waits for a credit; the fabric delays the next frame of its core but not the frame itself, and the egress buffer has no \
                 account of its own; DRAM bandwidth for reading a byte is charged when the byte is written; with a discipline that reorders (FQ-CoDel) the \
                 part of a queue in DRAM still counts as its newest; one memory for all cores; no cells, no descriptors, no multicast",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            ingress: Ingress::Core,
            ports_per_core: None,
            credit: None,
            grant_latency: Span::ZERO,
            credit_speedup: None,
            max_credits: None,
            fabric_speedup: None,
            max_bytes: None,
            max_time: None,
            on_chip: 300_000,
            evict_bytes: 200_000,
            evict_packets: 6_000,
            dram: 10_000_000,
            dram_bandwidth: None,
            write_buffer: 100_000,
            reserved: 0.3,
            dynamic: 0.5,
            xoff: None,
            xon: None,
        }
    }

    fn view(bytes: u64) -> QueueView {
        QueueView { bytes, frames: (bytes / 1_000) as u32 }
    }

    #[test]
    fn caps_by_speed_and_by_time() {
        let rates: Vec<Rate> = [1, 10, 25, 40, 50, 100].map(Rate::from_gbps).into();
        let caps = |config: &Config| Voq::new(config, &rates, 1).caps.to_vec();
        assert_eq!(
            caps(&config()),
            [12_500_000, 50_000_000, 125_000_000, 200_000_000, 250_000_000, 500_000_000]
        );
        // 5 ms at 25 Gbps are 15.6 MB.
        assert_eq!(caps(&Config { max_time: Some(Span::from_ms(5)), ..config() })[2], 15_625_000);
        assert_eq!(
            caps(&Config {
                max_time: Some(Span::from_ms(5)),
                max_bytes: Some(1_000_000),
                ..config()
            })[2],
            1_000_000
        );
    }

    #[test]
    fn a_queue_is_in_dram_from_its_eviction_until_it_is_empty() {
        let mut voq = Voq::new(&config(), &[Rate::from_gbps(25); 2], 1);
        voq.join(0, 0, 0, 1_000, Place::OnChip);
        assert_eq!(voq.admit(0, 0, 0, view(1_000), 1_000, true, true), Some(Ok(Place::OnChip)));
        for _ in 0..199 {
            voq.join(0, 0, 0, 1_000, Place::OnChip);
        }
        assert_eq!(voq.admit(0, 0, 0, view(200_000), 1_000, true, true), Some(Ok(Place::Dram)));
        voq.join(0, 0, 0, 1_000, Place::Dram);
        // The oldest frames leave first, so the rest is in DRAM.
        voq.set_occupancy(0, 0, 500);
        assert_eq!((voq.ledger[0].dram, voq.on_chip_used), (500, 0));
        assert_eq!(voq.admit(0, 0, 0, view(500), 1_000, true, true), Some(Ok(Place::Dram)));
        voq.set_occupancy(0, 0, 0);
        assert_eq!(voq.admit(0, 0, 0, view(0), 1_000, true, true), Some(Ok(Place::OnChip)));
    }

    #[test]
    fn many_packets_evict_too() {
        let voq = Voq::new(&config(), &[Rate::from_gbps(25)], 1);
        assert_eq!(
            voq.admit(0, 0, 0, QueueView { bytes: 64_000, frames: 6_000 }, 64, true, true),
            Some(Ok(Place::Dram))
        );
    }

    #[test]
    fn a_full_chip_sends_queues_to_dram() {
        let mut voq = Voq::new(&config(), &[Rate::from_gbps(25); 2], 1);
        (0..150).for_each(|_| voq.join(0, 0, 0, 1_000, Place::OnChip));
        (0..150).for_each(|_| voq.join(0, 1, 0, 1_000, Place::OnChip));
        assert_eq!(voq.admit(0, 1, 0, view(150_000), 1_000, true, false), None);
        assert_eq!(voq.admit(0, 1, 0, view(150_000), 1_000, true, true), Some(Ok(Place::Dram)));
    }

    #[test]
    fn dram_has_a_part_for_each_queue_and_one_for_all() {
        // DRAM of 10 MB: 1.5 MB reserved for each of two queues, 5 MB shared by both.
        let mut voq = Voq::new(&config(), &[Rate::from_gbps(25); 2], 1);
        (0..6_500).for_each(|_| voq.join(0, 0, 0, 1_000, Place::Dram));
        assert_eq!(
            voq.admit(0, 0, 0, view(6_500_000), 1_000, true, true),
            Some(Err(Reason::Buffer))
        );
        assert_eq!(voq.admit(0, 0, 0, view(6_500_000), 1_000, true, false), None);
        assert_eq!(voq.admit(0, 1, 0, view(1_499_000), 1_000, true, true), Some(Ok(Place::Dram)));
    }

    #[test]
    fn dram_writes_at_half_its_bandwidth() {
        // DRAM bandwidth of 8 Gbps for both directions: 2 ns per byte.
        let mut voq = Voq::new(
            &Config { dram_bandwidth: Some(Rate::from_gbps(8)), ..config() },
            &[Rate::from_gbps(25)],
            1,
        );
        (0..100).for_each(|_| voq.join(0, 0, 0, 1_000, Place::Dram));
        let asked = |now| voq.admit(now, 0, 0, view(100_000), 1_000, true, true);
        assert_eq!(asked(0), Some(Err(Reason::Dram)));
        assert_eq!(asked(1_999_999), Some(Err(Reason::Dram)));
        assert_eq!(asked(2_000_000), Some(Ok(Place::Dram)));
    }

    #[test]
    fn a_megabyte_may_wait_to_be_written() {
        // Values of Jericho+: 450 Gbps for writing, so 17.8 us for 1 MB.
        let config = Config {
            dram_bandwidth: Some(Rate::from_gbps(900)),
            write_buffer: 1_000_000,
            ..config()
        };
        assert_eq!(Voq::new(&config, &[Rate::from_gbps(25)], 1).writes.unwrap().room, 17_777_778);
    }
}
