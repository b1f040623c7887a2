//! Implements HULL's pacer: a token bucket between a host's TCP and its NIC, for flows that have
//! met congestion.

use crate::Model;
use crate::frame::Frame;
use afflux_config::keys::{above_zero, within};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Size, Speed, keys};
use afflux_engine::random::Stream;
use afflux_units::{Bytes, Span};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

keys! {
    /// HULL's pacer (Alizadeh et al., NSDI 2012): a token bucket for data of TCP flows that got ECN
    /// marks. Defaults: the authors' ns-2.
    pub struct Keys as "Pacer" => Config {
        /// Time between two changes of the rate (T_r).
        interval: Duration = "64us" from "qjump's ns-2 has 7.2 us at 10 Gbps", check time;
        /// Weight of the bytes that arrived in the last interval.
        eta: f64 = 0.125, check share;
        /// Additional rate, in bits per second, for each waiting bit, at every change
        /// (`qlength_factor`).
        queue_gain: f64 = 122.0 from "qjump's ns-2 has 3000 at 10 Gbps", check |gain, at| within(gain, 0.0, 1e6, Some("a number from 0 to 1e6"), at);
        /// Probability that an acknowledgement with an ECN echo puts its flow under the pacer
        /// (p_a).
        probability: f64 = 0.125, check share;
        /// Time for which a flow stays under the pacer (T_i).
        timeout: Duration = "10ms" from "qjump's ns-2 has 1 ms at 10 Gbps", check time;
        /// Minimum rate.
        min_rate: Speed = "10Mbps", check above_zero;
        /// Maximum rate.
        max_rate: Speed = none "the NIC's", check |Speed(most), at| match most {
            most if most < min_rate => Err(Wrong::at(at, format!("\"{most}\" is below min_rate = \"{min_rate}\""))),
            most => Ok(most),
        };
        /// Size of the token bucket.
        bucket: Size as u64 = "3100B" from "qjump's ns-2", check |Size(Bytes(bytes)), at| match bytes {
            0 => Err(Wrong::at(at, "\"0B\": write a size above 0")),
            bytes => Ok(bytes),
        };
    }
}

fn time(Duration(span): Duration, key: Key) -> Result<Span, Wrong> {
    let right = span >= Span::from_us(1) && span <= Span::from_s(1);
    if right {
        Ok(span)
    } else {
        Err(Wrong::at(key, format!("\"{span}\": write a time from 1us to 1s")))
    }
}

fn share(found: f64, key: Key) -> Result<f64, Wrong> {
    if found > 0.0 && found <= 1.0 {
        Ok(found)
    } else {
        Err(Wrong::at(key, format!("found {found}: write a number above 0 and up to 1")))
    }
}

pub struct Pacer {
    config: Config,
    least: f64,
    most: f64,
    /// Current rate in bit/s.
    rate: f64,
    /// Tokens in bits, at the time `at`.
    tokens: f64,
    at: u64,
    /// Time of the next change of the rate (`change`), and bytes handed over since the last change
    /// (`taken`).
    change: u64,
    taken: u64,
    queue: VecDeque<Frame>,
    queued: u64,
    flows: FxHashMap<u32, Paced>,
    stream: Stream,
    /// Time of the pending wake-up event in ps; 0 for none.
    pub armed: u64,
}

#[derive(Debug, Clone, Copy)]
struct Paced {
    until: u64,
    /// Number of frames of the flow that wait here.
    waiting: u32,
}

impl Pacer {
    /// Returns a pacer for a NIC with a rate of `line` bit/s.
    pub fn new(config: &Config, line: u64, stream: Stream) -> Self {
        let most = config.max_rate.map_or(line, |rate| rate.0.min(line)) as f64;
        let least = (config.min_rate.0 as f64).min(most);
        Pacer {
            least,
            most,
            rate: most,
            tokens: config.bucket as f64 * 8.0,
            at: 0,
            change: config.interval.0,
            taken: 0,
            queue: VecDeque::new(),
            queued: 0,
            flows: FxHashMap::default(),
            stream,
            armed: 0,
            config: config.clone(),
        }
    }

    /// Handles an acknowledgement with ECN echo of this flow.
    pub fn on_echo(&mut self, now: u64, flow: u32) {
        if self.stream.next_f64() < self.config.probability {
            let until = now + self.config.timeout.0;
            self.flows.entry(flow).or_insert(Paced { until, waiting: 0 }).until = until;
        }
    }

    /// True if frames of this flow wait for tokens. As long as one frame waits, later frames must
    /// wait too, so that they do not overtake it.
    pub fn holds(&mut self, now: u64, flow: u32) -> bool {
        let Some(paced) = self.flows.get(&flow) else { return false };
        let holds = now < paced.until || paced.waiting > 0;
        if !holds {
            self.flows.remove(&flow);
        }
        holds
    }

    pub fn take(&mut self, now: u64, frame: Frame) {
        self.update(now);
        self.taken += frame.size as u64;
        self.queued += frame.size as u64;
        self.flows.get_mut(&frame.flow).expect("asked before").waiting += 1;
        self.queue.push_back(frame);
    }

    /// Returns the next frame for which there are enough tokens.
    pub fn release(&mut self, now: u64) -> Option<Frame> {
        self.update(now);
        let bits = self.queue.front()?.size as f64 * 8.0;
        // A frame larger than the bucket leaves when the bucket is full.
        if self.tokens < bits.min(self.config.bucket as f64 * 8.0) {
            return None;
        }
        self.tokens = (self.tokens - bits).max(0.0);
        let frame = self.queue.pop_front()?;
        self.queued -= frame.size as u64;
        if let Some(paced) = self.flows.get_mut(&frame.flow) {
            paced.waiting -= 1;
        }
        Some(frame)
    }

    /// Returns the time of the next wake-up; 0 if none is needed.
    pub fn wake(&self, now: u64) -> u64 {
        let Some(next) = self.queue.front() else { return 0 };
        let bits = (next.size as f64 * 8.0).min(self.config.bucket as f64 * 8.0) - self.tokens;
        let at = now + (bits / self.rate * 1e12) as u64 + 1;
        at.min(self.change)
    }

    /// Returns the number and the bytes of waiting frames.
    pub fn held(&self) -> (u64, u64) {
        (self.queue.len() as u64, self.queued)
    }

    fn fill(&mut self, now: u64) {
        self.tokens = (self.tokens + self.rate * (now - self.at) as f64 / 1e12)
            .min(self.config.bucket as f64 * 8.0);
        self.at = now;
    }

    /// Updates the rate, R = (1 - eta) R + eta M / T + beta Q at every interval (HULL, §4.2), and
    /// adds the tokens up to `now`.
    fn update(&mut self, now: u64) {
        let every = self.config.interval.0;
        while self.change <= now {
            self.fill(self.change);
            let arrived = self.taken as f64 * 8.0 / (every as f64 / 1e12);
            let rate = (1.0 - self.config.eta) * self.rate
                + self.config.eta * arrived
                + self.config.queue_gain * self.queued as f64 * 8.0;
            let changed = rate.clamp(self.least, self.most);
            self.taken = 0;
            self.change += every;
            if changed == self.rate
                && self.queue.is_empty()
                && self.tokens >= self.config.bucket as f64 * 8.0
            {
                // The state is constant from here on, so the remaining intervals can be skipped.
                self.change += (now.saturating_sub(self.change) / every) * every;
            }
            self.rate = changed;
        }
        self.fill(now);
    }
}

pub const MODEL: Model = Model {
    kind: "host",
    name: "pacer",
    source: "Alizadeh et al., NSDI 2012 (HULL); pFabric.patch's defaults",
    faithful: "a token bucket; every 64 us its rate is set from the bytes that arrived and the bytes that wait (eta 0.125); each ECN echo puts its flow \
               under the pacer with probability 0.125, for 10 ms; the frames of other flows are not delayed",
    simplified: "only data of TCP flows (including ns-2's TCP of pFabric's comparison), not of multipath connections; a flow stays under the pacer while \
                 any of its frames waits there; beta is per waiting bit (ns-2's qlength_factor); waits in the pacer count as queueing in the split; its \
                 queue has no limit",
};

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Rate;

    const G: f64 = 1e9;

    fn pacer(probability: f64) -> Pacer {
        let config = Config {
            interval: Span::from_us(64),
            eta: 0.125,
            queue_gain: 122.0,
            probability,
            timeout: Span::from_ms(10),
            min_rate: Rate::from_mbps(10),
            max_rate: None,
            bucket: 3_000,
        };
        Pacer::new(&config, 1_000_000_000, Stream::new(1, 1, 1))
    }

    fn frame(flow: u32) -> Frame {
        Frame { flow, size: 1_500, ..Frame::default() }
    }

    #[test]
    fn flows_are_associated_for_a_while_by_chance() {
        let mut sure = pacer(1.0);
        assert!(!sure.holds(0, 3));
        sure.on_echo(5, 3);
        let end = 5 + Span::from_ms(10).0;
        assert!(sure.holds(end - 1, 3) && !sure.holds(end - 1, 4) && !sure.holds(end, 3));
        let mut rare = pacer(0.125);
        (0..8_000).for_each(|flow| rare.on_echo(0, flow));
        let held = (0..8_000).filter(|&flow| rare.holds(1, flow)).count();
        assert!((900..1_100).contains(&held), "{held}");
    }

    /// While the pacer is idle, the rate falls by an eighth per interval. It rises with the waiting
    /// bytes.
    #[test]
    fn the_rate_follows_what_comes_and_waits() {
        let mut pacer = pacer(1.0);
        pacer.on_echo(0, 1);
        let at = |us: u64| Span::from_us(us).0;
        pacer.update(at(64 * 10));
        assert!((pacer.rate / (G * libm::pow(0.875, 10.0)) - 1.0).abs() < 1e-12);
        pacer.update(at(64 * 1_000));
        assert_eq!(pacer.rate, 1e7);
        // Two frames empty the bucket, four wait: 6,000 B for 64 us.
        let now = at(64 * 1_000);
        (0..6).for_each(|_| pacer.take(now, frame(1)));
        let sent = std::iter::from_fn(|| pacer.release(now)).count();
        assert_eq!((sent, pacer.held()), (2, (4, 6_000)));
        // Tokens for 1,500 B at 10 Mbps take 1.2 ms, so the rate changes before.
        assert_eq!(pacer.wake(now), at(64 * 1_001));
        pacer.update(at(64 * 1_001));
        let expected = 0.875 * 1e7 + 0.125 * (9_000.0 * 8.0 / 64e-6) + 122.0 * 6_000.0 * 8.0;
        assert!((pacer.rate / expected - 1.0).abs() < 1e-12, "{} {expected}", pacer.rate);
    }

    /// Frames of a flow whose time is up still wait behind the earlier frames of the flow.
    #[test]
    fn no_frame_overtakes_another() {
        let mut pacer = pacer(1.0);
        pacer.on_echo(0, 1);
        (0..4).for_each(|_| pacer.take(0, frame(1)));
        let late = Span::from_ms(11).0;
        pacer.update(1);
        assert!(pacer.holds(late, 1));
        let mut now = 1;
        let mut gaps = Vec::new();
        while pacer.queue.front().is_some() {
            match pacer.release(now) {
                Some(_) => gaps.push(now),
                None => now = pacer.wake(now),
            }
        }
        // Two frames leave at once, then one per 12 us or more, at the rate that 1 Gbps has fallen
        // to.
        assert!(
            gaps[1] == 1
                && gaps[2] >= Span::from_us(12).0
                && gaps[3] >= gaps[2] + Span::from_us(11).0,
            "{gaps:?}"
        );
        assert!(!pacer.holds(late, 1));
    }
}
