//! Discounting rate estimator of CONGA: X grows by the bytes sent and loses a fixed fraction at
//! every tick, so that X is about R·Tdre/α.

use super::Site;
use afflux_config::Duration;
use afflux_config::tree::{Key, Wrong};
use afflux_units::Span;

/// Estimators of a switch, one for each port to another switch.
pub struct Estimators {
    every: u64,
    alpha: f64,
    /// True if bytes count when they are given to the port instead of when it sends them, and only
    /// bytes that the balancer sees (ConWeave's simulator).
    routed: bool,
    ticking: bool,
    /// Meter of each port; `None` for ports to hosts.
    meters: Vec<Option<Meter>>,
}

struct Meter {
    x: u64,
    /// X of a port that sends all the time.
    full: f64,
    /// Bytes that the port had sent at the last update.
    seen: u64,
    /// Number of the last tick, for estimators that work without wake-ups.
    tick: u64,
}

/// Key of the wake-ups that estimators request.
pub const TICK: u32 = u32::MAX;

impl Estimators {
    /// Creates the estimators. X loses the fraction `alpha` at every tick. `ports`: rate in bit/s
    /// of each port whose load matters.
    pub fn new((every, alpha): (Span, f64), routed: bool, ports: &[Option<u64>]) -> Self {
        // C·τ in bytes, from bit/s and ps.
        let full = |rate: u64| rate as f64 * (every.0 as f64 / alpha) / 8e12;
        let meters = ports
            .iter()
            .map(|rate| rate.map(|rate| Meter { x: 0, full: full(rate), seen: 0, tick: 0 }))
            .collect();
        Estimators { every: every.0, alpha, routed, ticking: false, meters }
    }

    /// Starts the ticks when a frame is at the switch. They continue until all loads have decayed
    /// to 0. Returns true if this call started them.
    #[inline(always)]
    pub fn run(&mut self, site: &mut impl Site) -> bool {
        let begins = !self.ticking && !self.routed;
        if begins {
            self.begin(site);
        }
        begins
    }

    #[inline(never)]
    fn begin(&mut self, site: &mut impl Site) {
        self.ticking = true;
        for (port, meter) in self
            .meters
            .iter_mut()
            .enumerate()
            .filter_map(|(port, meter)| Some((port as u16, meter.as_mut()?)))
        {
            meter.seen = site.sent(port);
        }
        self.wake(site);
    }

    /// Requests the next tick. Ticks are at multiples of the interval, at all switches.
    fn wake(&self, site: &mut impl Site) {
        let next = (site.now() / self.every + 1) * self.every;
        site.wake(next, TICK);
    }

    /// Handles a tick. Returns true if another tick follows.
    pub fn on_tick(&mut self, site: &mut impl Site) -> bool {
        let mut busy = false;
        for (port, meter) in self
            .meters
            .iter_mut()
            .enumerate()
            .filter_map(|(port, meter)| Some((port as u16, meter.as_mut()?)))
        {
            meter.catch_up(site, port);
            meter.x = decayed(meter.x, self.alpha);
            busy |= meter.x > 0 || site.queued(port) > 0;
        }
        self.ticking = busy;
        if busy {
            self.wake(site);
        }
        busy
    }

    /// Counts a frame of `size` bytes that is given to `port`, if bytes count when they are routed.
    pub fn routed(&mut self, site: &impl Site, port: u16, size: u16) {
        if self.routed {
            let (every, alpha) = (self.every, self.alpha);
            let meter = self.meters[port as usize].as_mut().expect("a port whose load matters");
            meter.forget(site.now() / every, alpha);
            meter.x += size as u64;
        }
    }

    /// Returns X as a fraction of its value for a port that sends all the time.
    pub fn load(&mut self, site: &mut impl Site, port: u16) -> f64 {
        let (every, alpha, routed) = (self.every, self.alpha, self.routed);
        let meter = self.meters[port as usize].as_mut().expect("a port whose load matters");
        if routed {
            meter.forget(site.now() / every, alpha);
        } else {
            meter.catch_up(site, port);
        }
        meter.x as f64 / meter.full
    }
}

/// Checks the interval of a periodic clock: at least 1 ns, so that a run ends, and at most 1 s.
pub fn interval(Duration(span): Duration, at: Key) -> Result<Span, Wrong> {
    if span < Span::from_ns(1) || span > Span::from_s(1) {
        return Err(Wrong::at(at, format!("\"{span}\": write a time from \"1ns\" to \"1s\"")));
    }
    Ok(span)
}

fn decayed(x: u64, alpha: f64) -> u64 {
    (x as f64 * (1.0 - alpha)) as u64
}

impl Meter {
    fn catch_up(&mut self, site: &mut impl Site, port: u16) {
        let sent = site.sent(port);
        self.x += sent - std::mem::replace(&mut self.seen, sent);
    }

    /// Applies all ticks up to number `tick`.
    fn forget(&mut self, tick: u64, alpha: f64) {
        while self.tick < tick && self.x > 0 {
            self.x = decayed(self.x, alpha);
            self.tick += 1;
        }
        self.tick = tick;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::{BalanceCounters, Tag};
    use crate::frame::Frame;
    use crate::spec::{FlowId, NodeId};

    /// Site with one port that sends at a constant rate.
    struct Constant {
        now: u64,
        bytes_per_tick: u64,
        every: u64,
        wakes: Vec<u64>,
    }

    impl Site for Constant {
        fn now(&self) -> u64 {
            self.now
        }
        fn sent(&mut self, _: u16) -> u64 {
            self.now * self.bytes_per_tick / self.every
        }
        fn queued(&mut self, _: u16) -> u64 {
            0
        }
        fn wake(&mut self, at: u64, key: u32) {
            assert_eq!(key, TICK);
            self.wakes.push(at);
        }
        fn node(&self) -> NodeId {
            unreachable!()
        }
        fn tor_of(&self, _: u32) -> NodeId {
            unreachable!()
        }
        fn came_from(&self, _: &Frame) -> NodeId {
            unreachable!()
        }
        fn bytes_before(&mut self, _: u16, _: u8) -> u64 {
            unreachable!()
        }
        fn rack(&self) -> Option<u32> {
            unreachable!()
        }
        fn rack_of(&self, _: u32) -> u32 {
            unreachable!()
        }
        fn source_of(&self, _: &Frame) -> u32 {
            unreachable!()
        }
        fn connection(&self, _: &Frame) -> u64 {
            unreachable!()
        }
        fn ns3_key(&self, _: FlowId) -> u64 {
            unreachable!()
        }
        fn paths(&self, _: u32) -> &[u32] {
            unreachable!()
        }
        fn epoch(&self) -> usize {
            unreachable!()
        }
        fn members(&self, _: u32) -> &[u16] {
            unreachable!()
        }
        fn capacity(&self, _: u16, _: u32) -> u64 {
            unreachable!()
        }
        fn peer(&self, _: u16) -> NodeId {
            unreachable!()
        }
        fn hash(&self, _: &Frame) -> u32 {
            unreachable!()
        }
        fn below(&mut self, _: u64) -> u64 {
            unreachable!()
        }
        fn tag(&mut self, _: &mut Frame) -> &mut Tag {
            unreachable!()
        }
        fn take_tag(&mut self, _: &mut Frame) -> Tag {
            unreachable!()
        }
        fn send(&mut self, _: u32, _: FlowId, _: u32, _: u16, _: u8, _: Tag) {
            unreachable!()
        }
        fn release(&mut self, _: Frame) {
            unreachable!()
        }
        fn keep_running(&mut self, _: bool) {
            unreachable!()
        }
        fn counters(&mut self) -> &mut BalanceCounters {
            unreachable!()
        }
    }

    /// At a constant rate R, just before the k-th tick, X = R·Tdre/α·(1 − (1−α)^k), as specified in
    /// CONGA §3.2.
    #[test]
    fn approaches_its_closed_form() {
        let (every, alpha) = (Span::from_us(32), 0.2);
        // Half of 100 Gbps.
        let bytes_per_tick = 200_000;
        let mut site = Constant { now: 0, bytes_per_tick, every: every.0, wakes: Vec::new() };
        let mut estimators = Estimators::new((every, alpha), false, &[Some(100_000_000_000)]);
        assert!(estimators.run(&mut site));
        for k in 1..60 {
            site.now = k as u64 * every.0;
            assert_eq!(site.wakes, [site.now]);
            let x = bytes_per_tick as f64 / alpha
                * (1.0 - (0..k).fold(1.0, |left, _| left * (1.0 - alpha)));
            let full = 100e9 / 8.0 * 160e-6;
            assert!((estimators.load(&mut site, 0) - x / full).abs() < 5.0 / full, "tick {k}");
            site.wakes.clear();
            assert!(estimators.on_tick(&mut site));
        }
        assert!(
            (estimators.load(&mut site, 0) - 0.4).abs() < 1e-3,
            "half, of which a fifth has just gone"
        );
        // The port stops sending, and X decays to 0. No further wake-ups are requested.
        site.bytes_per_tick = 0;
        estimators.meters[0].as_mut().unwrap().seen = 0;
        for _ in 0..100 {
            site.wakes.clear();
            estimators.on_tick(&mut site);
        }
        assert_eq!((estimators.meters[0].as_ref().unwrap().x, site.wakes.as_slice()), (0, &[][..]));
    }
}
