//! Tests CUBIC: the curve, its regions, and reductions.

use super::*;
use afflux_units::Span;

fn config() -> CubicConfig {
    CubicConfig {
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        tcp_friendly: true,
        hystart: HyStart::Off,
        flavour: Flavour::Linux,
        tick: Some(Span::from_ms(4)),
        mss: 1448,
        paced: false,
    }
}

/// A window in congestion avoidance with an acknowledgement per segment, evenly spaced over a
/// fixed round trip.
struct Clock {
    cubic: Cubic,
    window: Window,
    now: u64,
    rtt: u64,
}

impl Clock {
    fn new(config: &CubicConfig, cwnd: u32, rtt: Span) -> Self {
        let window = Window { cwnd, credit: 0, ssthresh: 2, limit: u32::MAX };
        Clock { cubic: Cubic::new(config), window, now: 5 * SECOND, rtt: rtt.0 }
    }
    fn ack(&mut self) {
        self.now += self.rtt / u64::from(self.window.cwnd);
        let ack = Ack {
            now: self.now,
            rtt: self.rtt,
            acked: 1,
            delivered: 1,
            may_grow: true,
            ..Ack::default()
        };
        self.cubic.on_ack(&mut self.window, &ack);
    }
    fn lose(&mut self) {
        self.window.ssthresh = self.cubic.on_loss(&self.window, 0);
        self.window.cwnd = self.window.ssthresh;
        self.window.credit = 0;
    }
    fn until(&mut self, time: u64) {
        while self.now < time {
            self.ack();
        }
    }
}

#[test]
fn cube_roots() {
    for n in [1u64, 2, 3, 7, 100, 12_345, 1 << 20, 2_642_245] {
        assert_eq!((cube_root(n.pow(3) - 1), cube_root(n.pow(3))), (n - 1, n));
    }
    assert_eq!(cube_root(u64::MAX), 2_642_245);
}

/// spec/transports.md §9 item 5: K = cbrt(W_max * 0.3 / 0.4), the curve through K / 2, K and 2
/// K, symmetrical about the plateau.
#[test]
fn the_curve_is_cubic() {
    for flavour in [Flavour::Linux, Flavour::Ns3] {
        for (w_max, expected) in [(100u32, 4.2), (1_000, 9.1), (10_000, 19.6)] {
            let mut clock =
                Clock::new(&CubicConfig { flavour, ..config() }, w_max, Span::from_ms(100));
            clock.ack();
            clock.window.cwnd = w_max;
            clock.lose();
            clock.ack();
            let k = match &clock.cubic.arithmetic {
                Arithmetic::Linux(linux) => linux.k as f64 / 1024.0,
                Arithmetic::Ns3(ns3) => ns3.k,
            };
            assert!((k - expected).abs() < 0.05, "{flavour:?} {w_max}: K = {k}");
            let start = clock.now;
            let low = f64::from(clock.window.cwnd);
            for at in [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5] {
                clock.until(start + (at * k * SECOND as f64) as u64);
                // The target is a round trip ahead, and the window follows it within a round
                // trip.
                let curve = |t: f64| {
                    f64::from(w_max) + (f64::from(w_max) - low) * libm::pow(t / k - 1.0, 3.0)
                };
                let (least, most) = (curve(at * k - 0.1) - 2.0, curve(at * k + 0.1) + 2.0);
                let cwnd = f64::from(clock.window.cwnd);
                assert!(
                    cwnd >= least.min(f64::from(w_max) - 2.0) && cwnd <= most,
                    "{flavour:?} {w_max} at {at} K: {cwnd}, curve {least}..{most}"
                );
            }
        }
    }
}

/// In the Reno-friendly region the average window is that of standard TCP: sqrt(1.5 / p).
#[test]
fn as_reno_on_short_paths() {
    for (flavour, rtt) in [(Flavour::Linux, 40), (Flavour::Ns3, 1), (Flavour::Ns3, 40)] {
        let mut clock = Clock::new(&CubicConfig { flavour, ..config() }, 60, Span::from_ms(rtt));
        let period = 3_000;
        let (mut sum, mut time) = (0.0, 0u64);
        for cycle in 0..60 {
            for _ in 0..period {
                let before = clock.now;
                let cwnd = clock.window.cwnd;
                clock.ack();
                if cycle >= 10 {
                    sum += f64::from(cwnd) * (clock.now - before) as f64;
                    time += clock.now - before;
                }
            }
            clock.lose();
        }
        let (mean, expected) = (sum / time as f64, libm::sqrt(1.5 * f64::from(period)));
        assert!(
            (mean / expected - 1.0).abs() < 0.05,
            "{flavour:?} {rtt} ms: {mean}, expected {expected}"
        );
    }
}

#[test]
fn reductions_and_fast_convergence() {
    let mut cubic = Cubic::new(&config());
    let window = |cwnd| Window { cwnd, credit: 0, ssthresh: 2, limit: u32::MAX };
    assert_eq!((cubic.on_loss(&window(1000), 0), cubic.last_max), (700, 1000));
    // The window is below the last maximum: 800 * 1741 / 2048.
    assert_eq!((cubic.on_loss(&window(800), 0), cubic.last_max), (560, 680));
    assert_eq!((cubic.on_loss(&window(2), 0), cubic.last_max), (2, 1));
    cubic.on_state(State::Loss, &mut window(2), 0);
    assert_eq!(cubic.last_max, 0);
    let mut slow = Cubic::new(&CubicConfig { fast_convergence: false, ..config() });
    slow.on_loss(&window(1000), 0);
    assert_eq!((slow.on_loss(&window(800), 0), slow.last_max), (560, 800));
    let mut ns3 = Cubic::new(&CubicConfig { flavour: Flavour::Ns3, ..config() });
    ns3.on_loss(&window(1000), 0);
    assert_eq!((ns3.on_loss(&window(801), 0), ns3.last_max), (560, 680));
    ns3.on_state(State::Loss, &mut window(2), 0);
    assert_eq!(ns3.last_max, 680);
}

/// Before the first loss a window grows by at least 5 % per round trip, and never by more than
/// half per window of acknowledgements.
#[test]
fn limits_of_growth() {
    let mut clock = Clock::new(&config(), 200, Span::from_ms(10));
    let start = clock.now;
    clock.until(start + 10 * clock.rtt);
    let grown = f64::from(clock.window.cwnd) / 200.0;
    assert!((1.5..1.7).contains(&grown), "{grown}");
    // The window is far below the curve.
    let mut clock = Clock::new(&config(), 10_000, Span::from_ms(100));
    clock.cubic.last_max = 10_000;
    clock.window.cwnd = 10;
    clock.ack();
    let start = clock.now;
    clock.until(start + 3 * clock.rtt);
    // One segment for two acknowledged: a factor e^(1/2) per round trip.
    assert!((43..=46).contains(&clock.window.cwnd), "{}", clock.window.cwnd);
}

#[test]
fn idle_time_is_not_on_the_curve() {
    let run = |idle: u64| {
        let mut clock = Clock::new(&config(), 1_000, Span::from_ms(100));
        clock.lose();
        clock.until(7 * SECOND);
        clock.now += idle;
        clock.cubic.on_restart(clock.now, idle);
        clock.until(10 * SECOND + idle);
        clock.window.cwnd
    };
    assert_eq!(run(0), run(100 * SECOND));
}

/// In the first second of an epoch (ns-3: 10 ms), delay samples are ignored.
#[test]
fn samples_right_after_a_reduction_are_discarded() {
    for (flavour, wait) in [(Flavour::Linux, SECOND), (Flavour::Ns3, 10_000 * US)] {
        let mut clock = Clock::new(&CubicConfig { flavour, ..config() }, 100, Span::from_ms(2));
        clock.ack();
        let before = clock.cubic.least_delay;
        clock.lose();
        clock.ack();
        clock.rtt /= 2;
        let start = clock.now;
        clock.until(start + wait - 5_000 * US);
        assert_eq!(clock.cubic.least_delay, before);
        clock.until(start + wait + 5_000 * US);
        assert!(clock.cubic.least_delay < before);
    }
}
