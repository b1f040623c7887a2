//! Models the timing of real hosts: interrupts, the path from the kernel to the transmitter, gaps
//! between frames, and clocks.
//!
//! Without this model, simultaneous senders keep their phases for ever, and at a full queue one
//! flow gets all the space (Floyd and Jacobson, On Traffic Phase Effects, 1992). Every part only
//! delays frames and keeps their order.

use crate::Model;
use crate::frame::Frame;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Word, keys};
use afflux_engine::random::Stream;
use afflux_units::{Rate, Span};
use std::collections::VecDeque;

/// No timing of real hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exact;
impl Word for Exact {
    const WORD: &'static str = "exact";
}

keys! {
    /// Timing of real hosts. Parts without a key have their defaults. The value `"0ns"` makes a
    /// part exact.
    pub struct Keys as "Timing" => Config {
        /// Longest time from the arrival of a frame to the interrupt, if no other frame is waiting.
        /// The time is uniform from 0 for each interrupt. At the interrupt the kernel takes all
        /// frames that have arrived. RDMA frames need no interrupt.
        receive: Duration = none "`\"20us\"` on links from 10 Gbps on, `\"50us\"` below: interrupt moderation of Linux's drivers (NVIDIA, Broadcom and Amazon \
            3 to 20 us, Intel 50 us and more)", check up_to_a_millisecond;
        /// Longest time from the kernel's hand-over of a frame to an idle transmitter until the
        /// frame starts. The time is uniform from 0 for each burst.
        send: Duration = none "`\"2us\"` on links from 10 Gbps on, `\"5us\"` below: an estimate of softirq, driver, doorbell and fetch across PCIe", check up_to_a_millisecond;
        /// Longest time from the hand-over of an RDMA frame to an idle transmitter until the frame
        /// starts. The NIC starts RDMA frames itself.
        nic_send: Duration = "50ns" from "an estimate: the jitter of a fetch across PCIe", check up_to_a_millisecond;
        /// Longest additional gap behind a frame, but at most 1/64 of the frame's time. The gap is
        /// uniform from 0 for each frame.
        gap: Duration = "20ns" from "the smallest that ended every lock of saturated transmitters; from 10 Gbps on IEEE 802.3 allows gaps of 9 to 15 byte times",
            check up_to_a_millisecond;
        /// Largest difference between clocks, in millionths. Each port sends more slowly than its
        /// rate by a constant share, which is uniform from 0.
        clock_ppm: f64 = 100.0 from "Ethernet allows ±100, IEEE 802.3", in 0.0 to 1000.0;
    }
}

fn up_to_a_millisecond(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    if time <= Span::from_ms(1) {
        Ok(time)
    } else {
        Err(Wrong::at(key, format!("\"{time}\": write at most \"1ms\"")))
    }
}

pub const MODEL: Model = Model {
    kind: "host",
    name: "timing",
    source: "Floyd and Jacobson 1992 (random delay up to a frame's time at the sender); interrupt moderation in the drivers of Linux 6.12; clocks and gaps of \
             IEEE 802.3; its size was chosen so that equal flows share a drop-tail port as between real Linux hosts",
    faithful: "frames that arrive within an interrupt's delay are dealt with together; one delay for each burst that finds an idle transmitter; gaps \
               between frames; clocks that differ; the order of frames is kept",
    simplified: "delays are uniform and independent of load and frame size; no processor time; interrupts have no frame count and do not adapt; links that lose \
                 frames or go down have no delayed interrupts; the ideal completion time is without them, so they count as queueing",
};

/// Identifiers of the random number streams.
const NOISE: u64 = 0x6e6f_6973;
const CLOCK: u64 = 0x636c_6f63;

/// Lowest rate of fast NICs, which have shorter times for interrupt moderation and hand-over.
const FAST: Rate = Rate(10_000_000_000);
/// Largest additional gap as a part of the frame's time: 2^-GAP_SHIFT.
const GAP_SHIFT: u32 = 6;

/// Returns the default for the longest time until an interrupt, in ps.
pub fn interrupt(rate: u64) -> u64 {
    Span::from_us(if rate >= FAST.0 { 20 } else { 50 }).0
}

impl Config {
    /// Returns the actual rate in bit/s of a port with this nominal rate.
    pub fn clocked(&self, rate: u64, seed: u64, port: u64) -> u64 {
        let slower = Stream::new(seed, CLOCK, port).next_f64() * self.clock_ppm * 1e-6;
        rate - (rate as f64 * slower) as u64
    }
    /// Returns the mean waiting times in ps of a kernel's frame at the sender and at the receiver
    /// of a link with this rate.
    pub fn mean_waits(&self, rate: u64) -> (u64, u64) {
        (self.send(rate) / 2, self.receive(rate) / 2)
    }
    fn receive(&self, rate: u64) -> u64 {
        self.receive.map_or(interrupt(rate), |receive| receive.0)
    }
    fn send(&self, rate: u64) -> u64 {
        self.send.map_or(Span::from_us(if rate >= FAST.0 { 2 } else { 5 }).0, |send| send.0)
    }
}

/// Random delays of one port: of its own host's transmitter, of the host at the other end of the
/// link, or of both.
pub struct Noise {
    stream: Stream,
    /// Longest delays, in ps.
    receive: u64,
    send: u64,
    nic_send: u64,
    gap: u64,
    /// Time in ps at which the kernel takes the latest frame.
    taken: u64,
    /// Gaps in ps behind the frames that a plain port holds, oldest first.
    gaps: VecDeque<u64>,
}

impl Noise {
    /// Returns the delays of a port with this rate. `own` is the timing of the sending host, `peer`
    /// that of the receiving host.
    pub fn new(
        own: Option<&Config>,
        peer: Option<&Config>,
        rate: u64,
        seed: u64,
        port: u64,
    ) -> Noise {
        Noise {
            stream: Stream::new(seed, NOISE, port),
            receive: peer.map_or(0, |config| config.receive(rate)),
            send: own.map_or(0, |config| config.send(rate)),
            nic_send: own.map_or(0, |config| config.nic_send.0),
            gap: own.map_or(0, |config| config.gap.0),
            taken: 0,
            gaps: VecDeque::new(),
        }
    }

    fn draw(&mut self, most: u64) -> u64 {
        if most == 0 { 0 } else { self.stream.below(most + 1) }
    }

    /// Returns the time at which the receiving host processes a frame that arrives at `at`. RDMA
    /// frames get even picoseconds and others odd ones, and no two kernel frames get the same
    /// picosecond, because their order must not depend on the engine.
    pub fn received(&mut self, at: u64, frame: &Frame) -> u64 {
        if frame.is_of_nic() {
            return at + (at & 1);
        }
        self.taken =
            if at > self.taken { (at + self.draw(self.receive)) | 1 } else { self.taken + 2 };
        self.taken
    }

    /// Returns the time at which an idle transmitter starts a frame that it gets at `at`.
    pub fn starts(&mut self, at: u64, frame: &Frame) -> u64 {
        let most = if frame.is_of_nic() { self.nic_send } else { self.send };
        at + self.draw(most)
    }

    /// Returns a random additional gap behind a frame that takes `time`.
    pub fn gap(&mut self, time: u64) -> u64 {
        let most = self.gap.min(time >> GAP_SHIFT);
        self.draw(most)
    }

    /// Stores the gap behind the latest frame of a plain port. `first` is true if the port holds no
    /// other frame.
    pub fn keep_gap(&mut self, gap: u64, first: bool) {
        if first {
            self.gaps.clear();
        }
        self.gaps.push_back(gap);
    }

    /// Discards the gap of the oldest frame, which has left, and returns the gap behind the next
    /// one.
    pub fn next_gap(&mut self) -> u64 {
        self.gaps.pop_front();
        self.gaps.front().copied().unwrap_or(0)
    }

    pub fn kept_gaps(&self) -> impl Iterator<Item = u64> + '_ {
        self.gaps.iter().copied()
    }

    /// Returns the mean of the gaps that [`Self::gap`] draws.
    pub fn mean_gap(&self, time: u64) -> u64 {
        self.gap.min(time >> GAP_SHIFT) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise() -> Noise {
        let config = Keys::default().resolve(&"host.timing".into()).unwrap();
        Noise::new(Some(&config), Some(&config), 10_000_000_000, 1, 1)
    }

    #[test]
    fn an_interrupt_takes_all_that_is_there_in_order() {
        let (mut noise, frame) = (noise(), Frame::default());
        let first = noise.received(1_000_000, &frame);
        assert!((1_000_000..=21_000_001).contains(&first) && first % 2 == 1);
        let later: Vec<u64> = (0..3).map(|i| noise.received(1_000_001 + i, &frame)).collect();
        assert_eq!(later, [first + 2, first + 4, first + 6]);
        let rdma = Frame { flags: Frame::RDMA_DATA, ..frame };
        assert_eq!(
            (noise.received(1_000_003, &rdma), noise.received(1_000_004, &rdma)),
            (1_000_004, 1_000_004)
        );
        assert!(noise.received(first + 7, &frame) > first + 6);
    }

    #[test]
    fn delays_are_uniform_up_to_their_bounds() {
        let (mut noise, frame) = (noise(), Frame::default());
        let mean = |draw: &mut dyn FnMut() -> u64| {
            (0..20_000).map(|_| draw()).sum::<u64>() as f64 / 20_000.0
        };
        let send = mean(&mut || noise.starts(0, &frame));
        assert!((0.98e6..1.02e6).contains(&send), "{send}");
        // Times of a full frame and of an acknowledgement at 10 Gbps.
        for (time, most) in [(1_230_400, 19_225.0), (67_200, 1_050.0)] {
            let gap = mean(&mut || noise.gap(time));
            assert!((gap / (most / 2.0) - 1.0).abs() < 0.03, "{gap}");
        }
    }
}
