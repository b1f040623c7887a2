//! H-TCP (Leith and Shorten), in the integer arithmetic of Linux tcp_htcp.c. Times are in ticks of
//! the kernel's clock.

use super::controller::divides_a_second;
use super::{About, Ack, Controller, Opening, Parameters, Sender, State, Window};
use crate::Model;
use afflux_config::{Duration, keys};

keys! {
    /// Parameters of H-TCP.
    pub struct Keys as "Htcp" => HtcpConfig(_sender: &Sender) {
        /// Whether the increase is proportional to the round trip, from 10 to 200 ms.
        rtt_scaling: bool = true from "Linux";
        /// Whether the back-off adapts under steady bandwidth only.
        bandwidth_switch: bool = true from "Linux";
        /// Tick of the kernel's clock.
        tick: Duration = "4ms" from "Linux with HZ = 250", check divides_a_second;
    }
}

impl HtcpConfig {
    pub fn start<C: From<Box<Htcp>>>(&self, _: Opening) -> C {
        Box::new(Htcp::new(self)).into()
    }
}

impl Parameters for HtcpConfig {
    fn about(&self) -> About {
        ABOUT
    }
}

const MS: u64 = 1_000_000_000;
const SECOND: u64 = 1_000 * MS;
/// Scale of alpha and beta, which are kept in units of 1/128.
const ONE: u64 = 128;
const BETA_MIN: u64 = 64;
const BETA_MAX: u64 = 102;

#[derive(Debug, Clone)]
pub struct Htcp {
    /// Tick in ps.
    tick: u64,
    hz: u64,
    rtt_scaling: bool,
    bandwidth_switch: bool,
    alpha: u64,
    beta: u64,
    /// True if a congestion event has been seen under steady bandwidth, so beta may adapt.
    adapt: bool,
    /// Segments of the newest acknowledgement.
    acked: u32,
    /// Segments since `counted_from`, the tick at which bandwidth was last measured.
    counted: u32,
    counted_from: Option<u64>,
    min_rtt: u64,
    max_rtt: u64,
    last_congestion: Option<u64>,
    /// True until the current congestion event is over.
    congested: bool,
    max_bandwidth: u64,
    old_max_bandwidth: u64,
    bandwidth: u64,
    /// State before the acknowledgement. Linux measures before it leaves a state.
    state: State,
}

impl Htcp {
    pub fn new(config: &HtcpConfig) -> Self {
        Htcp {
            tick: config.tick.0,
            hz: SECOND / config.tick.0,
            rtt_scaling: config.rtt_scaling,
            bandwidth_switch: config.bandwidth_switch,
            alpha: ONE,
            beta: BETA_MIN,
            adapt: false,
            acked: 1,
            counted: 0,
            counted_from: None,
            min_rtt: 0,
            max_rtt: 0,
            last_congestion: None,
            congested: false,
            max_bandwidth: 0,
            old_max_bandwidth: 0,
            bandwidth: 0,
            state: State::Open,
        }
    }

    fn measure(&mut self, window: &Window, ack: &Ack, now: u64, since: u64) {
        let open = self.state == State::Open;
        if open {
            self.acked = ack.acked;
        }
        if ack.rtt > 0 {
            let rtt = ack.rtt.div_ceil(self.tick);
            if rtt < self.min_rtt || self.min_rtt == 0 {
                self.min_rtt = rtt;
            }
            if open {
                self.max_rtt = self.max_rtt.max(self.min_rtt);
                if rtt > self.max_rtt && rtt <= self.max_rtt + (20 * MS).div_ceil(self.tick) {
                    self.max_rtt = rtt;
                }
            }
        }
        if !self.bandwidth_switch {
            return;
        }
        if !open {
            self.counted = 0;
            self.counted_from = Some(now);
            return;
        }
        self.counted += ack.acked;
        // Before the first measurement, the last one counts as long ago.
        let time = self.counted_from.map_or(u64::from(u32::MAX), |from| now - from);
        let window = window.cwnd.wrapping_sub(((self.alpha >> 7) as u32).max(1));
        if self.counted >= window && time >= self.min_rtt && self.min_rtt > 0 {
            let current = u64::from(self.counted) * self.hz / time;
            if since / self.min_rtt <= 3 {
                // A reduction was at most three round trips ago.
                self.bandwidth = current;
                self.max_bandwidth = current;
            } else {
                self.bandwidth = (3 * self.bandwidth + current) / 4;
                self.max_bandwidth = self.max_bandwidth.max(self.bandwidth);
            }
            self.counted = 0;
            self.counted_from = Some(now);
        }
    }

    /// Updates alpha. `since`: ticks since the end of the last congestion event.
    fn update_alpha(&mut self, since: u64) {
        let mut factor = increase(since, self.hz);
        if self.rtt_scaling && self.min_rtt > 0 {
            let scale = ((self.hz << 3) / (10 * self.min_rtt)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
    }

    fn update_beta(&mut self) {
        if self.bandwidth_switch {
            let (new, old) = (self.max_bandwidth, self.old_max_bandwidth);
            self.old_max_bandwidth = new;
            if !(4 * old..=6 * old).contains(&(5 * new)) {
                self.beta = BETA_MIN;
                self.adapt = false;
                return;
            }
        }
        if self.adapt && self.min_rtt > (10 * MS).div_ceil(self.tick) && self.max_rtt > 0 {
            self.beta = ((self.min_rtt << 7) / self.max_rtt).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.beta = BETA_MIN;
            self.adapt = true;
        }
    }
}

/// Returns the increase in segments per round trip, `since` ticks after congestion: 1 for a second,
/// then 1 + 10 x + x^2 / 4.
fn increase(since: u64, hz: u64) -> u64 {
    match since.checked_sub(hz) {
        None | Some(0) => 1,
        Some(x) => 1 + (10 * x + (x / 2) * (x / 2) / hz) / hz,
    }
}

impl Controller for Htcp {
    // Not inlined, so that the path of NewReno and DCTCP stays small.
    #[inline(never)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let now = ack.now / self.tick;
        // The connection began when the first acknowledged segment was sent.
        let last_congestion = *self.last_congestion.get_or_insert((ack.now - ack.rtt) / self.tick);
        self.measure(window, ack, now, now - last_congestion);
        self.state = ack.state;
        if !ack.may_grow || ack.acked == 0 {
            return;
        }
        if window.slow_start() {
            window.slow_start_increase(ack.acked);
            return;
        }
        if (u64::from(window.credit) * self.alpha) >> 7 >= u64::from(window.cwnd) {
            window.cwnd = (window.cwnd + 1).min(window.limit);
            window.credit = 0;
            self.update_alpha(now - last_congestion);
        } else {
            window.credit += self.acked;
        }
        self.acked = 1;
    }

    /// Reacts to losses and ECN echoes.
    fn on_loss(&mut self, window: &Window, now: u64) -> u32 {
        self.update_beta();
        let now = now / self.tick;
        self.update_alpha(now - self.last_congestion.unwrap_or(now));
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        (((u64::from(window.cwnd) * self.beta) >> 7) as u32).max(2)
    }

    fn on_state(&mut self, state: State, _: &mut Window, now: u64) {
        if state != State::Open {
            self.state = state;
            self.congested = true;
        } else if !std::mem::take(&mut self.congested) {
            return;
        }
        self.last_congestion = Some(now / self.tick);
    }

    #[cfg(test)]
    fn details(&self) -> String {
        format!(" alpha {:.2} beta {:.2}", self.alpha as f64 / 128.0, self.beta as f64 / 128.0)
    }
}

pub const ABOUT: About = About::of(MODEL);

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "htcp",
    source: "Leith and Shorten, H-TCP (draft-leith-tcp-htcp-06); Linux tcp_htcp.c with its defaults",
    faithful: "alpha by the time since congestion with scaling by the round trip, adaptive back-off with the bandwidth switch, both in 1/128 and whole \
               ticks of the kernel's clock, above 10 ms only; counting of segments; a congestion event ends with recovery",
    simplified: "a sender that sees duplicates but no loss yet is in the normal state (Linux: Disorder); spurious reductions are not undone",
};

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Span;

    fn htcp(tick_ms: u64, rtt_scaling: bool, bandwidth_switch: bool) -> Htcp {
        Htcp::new(&HtcpConfig { rtt_scaling, bandwidth_switch, tick: Span::from_ms(tick_ms) })
    }

    fn window(cwnd: u32) -> Window {
        Window { cwnd, credit: 0, ssthresh: 2, limit: u32::MAX }
    }

    /// Returns an acknowledgement of `acked` segments.
    fn ack(now: u64, rtt: u64, acked: u32) -> Ack {
        Ack { now, rtt, acked, delivered: acked, may_grow: true, ..Ack::default() }
    }

    /// spec/transports.md §9 item 6: 1, 11.25, 22, 45 before the other factors, here truncated to
    /// whole segments.
    #[test]
    fn alpha_grows_with_the_time_since_congestion() {
        for hz in [100, 250, 1000] {
            let at = |seconds: f64| increase((seconds * hz as f64) as u64, hz);
            assert_eq!(
                [at(0.0), at(0.5), at(1.0), at(2.0), at(3.0), at(5.0)],
                [1, 1, 1, 11, 22, 45],
                "{hz}"
            );
        }
        // The fraction is truncated: 11.25 in units of 1/128 would be 1440.
        let mut htcp = htcp(4, false, false);
        htcp.update_alpha(500);
        assert_eq!(htcp.alpha, 2 * 11 * 64);
        htcp.beta = BETA_MAX;
        htcp.update_alpha(500);
        assert_eq!(htcp.alpha, 2 * 11 * 26);
    }

    #[test]
    fn alpha_is_scaled_by_the_round_trip() {
        // Ticks of 4 ms. The standard is 100 ms; 300 ms counts as 200 ms; a data centre's one tick
        // counts as a tenth of 100 ms.
        for (rtt, since, expected) in
            [(25, 500, 11), (75, 500, 22), (50, 500, 22), (1, 500, 1), (1, 750, 2), (1, 100, 1)]
        {
            let mut htcp = htcp(4, true, false);
            htcp.min_rtt = rtt;
            htcp.update_alpha(since);
            assert_eq!(htcp.alpha, expected * ONE, "{rtt} ticks, {since} ticks after");
        }
    }

    #[test]
    fn beta_follows_the_round_trips() {
        let event = |htcp: &mut Htcp, bandwidth: u64| {
            htcp.max_bandwidth = bandwidth;
            htcp.on_loss(&window(1000), 0)
        };
        let mut htcp = htcp(4, true, true);
        (htcp.min_rtt, htcp.max_rtt) = (30, 40);
        // The first event changes the bandwidth from none. The second is the first with steady
        // bandwidth. The third adapts.
        assert_eq!(event(&mut htcp, 1000), 500);
        assert_eq!((event(&mut htcp, 1000), htcp.adapt), (500, true));
        htcp.max_rtt = 40;
        assert_eq!((event(&mut htcp, 1000), htcp.beta), (750, 96));
        // The difference of the round trips fades by 5 %.
        assert_eq!(htcp.max_rtt, 39);
        // A change of exactly 20 % is steady, a larger one is not.
        assert_eq!(event(&mut htcp, 1200), (30 << 7) / 39 * 1000 / 128);
        assert_eq!((event(&mut htcp, 1441), htcp.adapt), (500, false));
        assert_eq!(event(&mut htcp, 1441), 500);
        // Beta stays within 0.5 and 0.8.
        htcp.max_rtt = 300;
        assert_eq!((event(&mut htcp, 1441), htcp.beta), (500, BETA_MIN));
        htcp.max_rtt = 30;
        assert_eq!((event(&mut htcp, 1441), htcp.beta), (796, BETA_MAX));
        // 10 ms are 3 ticks. At or below that, beta does not adapt.
        (htcp.min_rtt, htcp.max_rtt) = (3, 4);
        assert_eq!((event(&mut htcp, 1441), htcp.beta), (500, BETA_MIN));
        assert_eq!(htcp.on_loss(&window(3), 0), 2);
    }

    #[test]
    fn the_largest_round_trip_rises_by_20_ms_at_most() {
        let mut htcp = htcp(4, true, true);
        let mut w = window(1000);
        for (rtt_ms, state, expected) in [
            (40, State::Open, 10),
            (60, State::Open, 15),
            (84, State::Open, 15),
            (80, State::Open, 20),
            (90, State::Recovery, 20),
            // The measurement precedes the change of the state.
            (88, State::Open, 20),
            (88, State::Open, 22),
        ] {
            if state != State::Open {
                htcp.on_state(state, &mut window(2), SECOND);
            }
            htcp.on_ack(&mut w, &Ack { state, ..ack(SECOND, rtt_ms * MS, 1) });
            assert_eq!((htcp.min_rtt, htcp.max_rtt), (10, expected), "{rtt_ms} ms, {state:?}");
        }
    }

    /// In steady state the window grows by alpha segments per round trip.
    #[test]
    fn growth_after_congestion() {
        for (tick, rtt_ms) in [(4, 100u64), (1, 100)] {
            let mut htcp = htcp(tick, true, true);
            let mut w = window(1000);
            let mut now = SECOND;
            htcp.on_ack(&mut w, &ack(now, rtt_ms * MS, 1));
            w.cwnd = htcp.on_loss(&w, now);
            htcp.on_state(State::Recovery, &mut window(2), now);
            htcp.on_state(State::Open, &mut window(2), now);
            htcp.state = State::Open;
            w.credit = 0;
            let (start, from) = (now, f64::from(w.cwnd));
            for (seconds, tolerance) in [(1u64, 1.0), (2, 4.0), (4, 10.0), (6, 20.0)] {
                while now < start + seconds * SECOND {
                    now += rtt_ms * MS / u64::from(w.cwnd);
                    htcp.on_ack(&mut w, &ack(now, rtt_ms * MS, 1));
                }
                // Ten round trips per second with 1 + 10 x + x^2 / 4 each. Counters and whole
                // segments lose a little.
                let x = seconds as f64 - 1.0;
                let expected = 10.0 * (seconds as f64 + 5.0 * x * x + x * x * x / 12.0);
                let grown = f64::from(w.cwnd) - from;
                assert!(
                    (grown - expected).abs() <= tolerance + 0.07 * expected,
                    "tick {tick}, {seconds} s: {grown}, expected {expected}"
                );
            }
        }
    }

    #[test]
    fn bandwidth_is_measured_per_round_trip() {
        let mut htcp = htcp(4, true, true);
        let mut w = window(100);
        w.ssthresh = u32::MAX;
        let mut now = SECOND;
        // 100 segments every 100 ms: 1,000 per second. For the first measurement, the last one
        // counts as long ago.
        for round in 0..10 {
            for _ in 0..100 {
                now += MS;
                htcp.on_ack(&mut w, &Ack { may_grow: false, ..ack(now, 100 * MS, 1) });
            }
            if round > 2 {
                assert!((950..=1050).contains(&htcp.bandwidth), "{}", htcp.bandwidth);
            }
        }
        htcp.on_state(State::Recovery, &mut window(2), now);
        htcp.on_ack(&mut w, &Ack { state: State::Recovery, ..ack(now, 100 * MS, 1) });
        assert_eq!((htcp.counted, htcp.congested), (0, true));
    }
}
