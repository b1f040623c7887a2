//! Tests LEDBAT++: base delay, growth and decrease, slowdowns.

use super::*;

const MS: u64 = 1_000_000_000;
const MINUTE: u64 = 60_000 * MS;

fn config() -> LedbatppConfig {
    let (target, base_interval) = (Span::from_ms(60), Span::from_s(60));
    LedbatppConfig {
        target,
        slowest: 16,
        constant: 1.0,
        base_history: 10,
        base_interval,
        slowdown_interval: 9,
    }
}

/// A connection whose acknowledgements are made by a test.
struct Connection {
    control: Ledbatpp,
    window: Window,
    now: u64,
    state: State,
    may_grow: bool,
}

impl Connection {
    fn new(config: &LedbatppConfig) -> Self {
        let window = Window { cwnd: LEAST_WINDOW, credit: 0, ssthresh: u32::MAX, limit: u32::MAX };
        Connection {
            control: Ledbatpp::new(config),
            window,
            now: MS,
            state: State::Open,
            may_grow: true,
        }
    }
    /// Creates a connection in congestion avoidance, without slowdowns, with this window and
    /// base delay.
    fn in_avoidance(config: &LedbatppConfig, cwnd: u32, base_ms: u64) -> Self {
        let mut connection = Connection::new(config);
        (connection.window.cwnd, connection.window.ssthresh) = (cwnd, cwnd);
        connection.control.phase = Phase::Normal { due: u64::MAX };
        connection.control.measure(connection.now, base_ms * MS);
        connection
    }
    /// Fills all four samples of the filter.
    fn round_trip(&mut self, ms: u64) {
        for _ in 0..FILTER {
            self.control.measure(self.now, ms * MS);
        }
    }
    fn ack(&mut self, rtt: u64, segments: u32) {
        let ack = Ack {
            now: self.now,
            rtt,
            state: self.state,
            acked: segments,
            delivered: segments,
            may_grow: self.may_grow,
            ..Ack::default()
        };
        self.control.on_ack(&mut self.window, &ack);
    }
    /// Acknowledges `count` segments one by one.
    fn acks(&mut self, ms: u64, count: u32) {
        for _ in 0..count {
            self.ack(ms * MS, 1);
        }
    }
}

#[test]
fn base_delay_is_the_least_of_ten_minutes() {
    let mut control = Ledbatpp::new(&config());
    control.measure(0, 30 * MS);
    control.measure(MS, 20 * MS);
    control.measure(2 * MS, 40 * MS);
    assert_eq!(control.base, 20 * MS);
    for minute in 1..10 {
        control.measure(minute * MINUTE, (50 + minute) * MS);
        assert_eq!(control.base, 20 * MS, "minute {minute}");
    }
    // The minute of the 20 ms is the eleventh from the end now.
    control.measure(10 * MINUTE, 90 * MS);
    assert_eq!(control.base, 51 * MS);
    // Lower samples count at once. Minutes without samples do not count.
    control.measure(10 * MINUTE + MS, 45 * MS);
    assert_eq!(control.base, 45 * MS);
    control.measure(100 * MINUTE, 70 * MS);
    assert_eq!(control.base, 45 * MS);

    let mut short = Ledbatpp::new(&LedbatppConfig {
        base_history: 1,
        base_interval: Span::from_ms(5),
        ..config()
    });
    short.measure(0, 2 * MS);
    short.measure(5 * MS, 3 * MS);
    assert_eq!(short.base, 3 * MS);
}

#[test]
fn current_delay_is_the_least_of_four_samples() {
    let mut control = Ledbatpp::new(&config());
    assert_eq!(control.queueing(), 0);
    let currents = [20, 90, 80, 70, 60, 95].map(|ms| {
        control.measure(MS, ms * MS);
        control.current / MS
    });
    assert_eq!(currents, [20, 20, 20, 20, 60, 60]);
    assert_eq!(control.queueing(), 40 * MS);
}

/// GAIN = 1 / min(16, ceil(120 ms / base)).
#[test]
fn gain_depends_on_the_base_delay() {
    for (base, slower) in [
        (1_000, 16),
        (7_499, 16),
        (7_500, 16),
        (8_000, 15),
        (8_001, 15),
        (20_000, 6),
        (60_000, 2),
        (119_999, 2),
        (120_000, 1),
        (500_000, 1),
    ] {
        let mut control = Ledbatpp::new(&config());
        control.measure(MS, base * 1_000_000);
        assert_eq!(control.slower, slower, "{base} us");
    }
    let mut control = Ledbatpp::new(&LedbatppConfig { slowest: 4, ..config() });
    control.measure(MS, MS);
    assert_eq!(control.slower, 4);
}

/// W += GAIN per round trip as long as the delay is at or below the target.
#[test]
fn growth_below_the_target() {
    for queueing in [0, 30, 60] {
        let mut connection = Connection::in_avoidance(&config(), 100, 20);
        connection.round_trip(20 + queueing);
        connection.acks(20 + queueing, 599);
        assert_eq!(connection.window.cwnd, 100);
        connection.acks(20 + queueing, 2);
        assert_eq!(connection.window.cwnd, 101, "{queueing} ms");
        connection.may_grow = false;
        connection.acks(20 + queueing, 5_000);
        assert_eq!(connection.window.cwnd, 101, "the window is not the limit");
    }
}

/// W += max(GAIN - Constant * W * (delay / target - 1), -W / 2) per round trip above the
/// target.
#[test]
fn decrease_above_the_target() {
    for (constant, queueing, expected) in [
        (1.0, 66, 90),
        (2.0, 66, 80),
        (0.5, 66, 95),
        (1.0, 75, 75),
        (1.0, 90, 50),
        (1.0, 600, 50),
        (10.0, 120, 50),
    ] {
        let mut connection =
            Connection::in_avoidance(&LedbatppConfig { constant, ..config() }, 100, 20);
        connection.round_trip(20 + queueing);
        connection.may_grow = false;
        connection.acks(20 + queueing, 100);
        // GAIN is a sixth of a segment.
        assert!(
            connection.window.cwnd.abs_diff(expected) <= 1,
            "{constant}, {queueing} ms: {}",
            connection.window.cwnd
        );
        assert_eq!(connection.window.ssthresh, connection.window.cwnd, "no slow start follows");
        if queueing == 600 {
            connection.acks(20 + queueing, 5_000);
            assert_eq!(connection.window.cwnd, LEAST_WINDOW);
        }
    }
    // If increase and decrease are equal, the window stays: 1/6 = 100 * 0.1/60.
    let mut connection = Connection::in_avoidance(&config(), 100, 20);
    connection.acks(20, 3);
    connection.control.recent = [80_100_000_000; FILTER];
    for _ in 0..1_000 {
        connection.ack(80_100_000_000, 1);
    }
    assert!(connection.window.cwnd.abs_diff(100) <= 1, "{}", connection.window.cwnd);
}

#[test]
fn the_first_slow_start_grows_by_gain_and_ends_at_three_quarters_of_the_target() {
    let mut connection = Connection::new(&config());
    // GAIN = 1/6: the window grows by a sixth of the arriving segments.
    connection.acks(20, 60);
    assert_eq!((connection.window.cwnd, connection.window.ssthresh), (12, u32::MAX));
    connection.round_trip(65);
    connection.acks(65, 6);
    assert_eq!(
        (connection.window.cwnd, connection.control.phase),
        (13, Phase::First),
        "not above 45 ms"
    );
    connection.round_trip(66);
    connection.acks(66, 1);
    assert_eq!((connection.window.cwnd, connection.window.ssthresh), (13, 13));
    // The first slowdown is two round trips later.
    assert_eq!(connection.control.phase, Phase::Normal { due: connection.now + 132 * MS });
    // Later slow starts, here after a time-out, are not ended by delay.
    connection.window.ssthresh = 20;
    connection.acks(66, 42);
    assert_eq!(connection.window.cwnd, 20);
    connection.acks(66, 42);
    assert_eq!(connection.window.cwnd, 20, "congestion avoidance from the threshold on");
}

#[test]
fn slowdowns() {
    let mut connection = Connection::in_avoidance(&config(), 50, 20);
    let begin = connection.now + 5 * MS;
    connection.control.phase = Phase::Normal { due: begin };
    connection.round_trip(40);
    connection.acks(40, 1);
    assert_eq!(connection.window.cwnd, 50, "not before it is due");
    connection.now = begin;
    connection.acks(40, 1);
    assert_eq!((connection.window.cwnd, connection.window.ssthresh), (2, 50));
    // The window is frozen for two round trips of 40 ms.
    connection.now = begin + 80 * MS - 1;
    connection.acks(20, 100);
    assert_eq!(connection.window.cwnd, 2);
    connection.now += 1;
    connection.ack(20 * MS, 0);
    assert_eq!(connection.control.phase, Phase::Ramp { from: begin });
    // Slow start by GAIN, whatever the delay. The earlier fraction of a segment is dropped.
    connection.round_trip(100);
    connection.acks(100, 48 * 6 - 6);
    assert_eq!(connection.window.cwnd, 49);
    connection.now = begin + 200 * MS;
    connection.acks(100, 6);
    assert_eq!(connection.window.cwnd, 50);
    connection.may_grow = false;
    connection.round_trip(20);
    connection.acks(20, 1);
    // The next slowdown is after nine times its duration: slowdowns take a tenth of the time.
    assert_eq!(connection.control.phase, Phase::Normal { due: begin + 200 * MS + 9 * 200 * MS });
    connection.now = begin + 2_000 * MS - 1;
    connection.acks(20, 1);
    assert_eq!(connection.window.cwnd, 50);
    connection.now += 1;
    connection.acks(20, 1);
    assert_eq!(connection.window.cwnd, 2);
}

/// A slowdown begins neither in recovery nor in the slow start after a time-out.
#[test]
fn slowdowns_wait() {
    for (state, ssthresh) in [(State::Recovery, 50), (State::Loss, 50), (State::Open, 60)] {
        let mut connection = Connection::in_avoidance(&config(), 50, 20);
        connection.control.phase = Phase::Normal { due: 0 };
        (connection.state, connection.window.ssthresh) = (state, ssthresh);
        connection.acks(20, 1);
        assert_eq!(connection.window.cwnd, 50, "{state:?}");
    }
}

#[test]
fn losses_halve() {
    let mut connection = Connection::in_avoidance(&config(), 50, 20);
    let phase = connection.control.phase;
    assert_eq!(connection.control.on_loss(&connection.window, 5 * MS), 25);
    assert_eq!(connection.control.on_timeout(&connection.window, 5 * MS), 25);
    assert_eq!(connection.control.on_ecn(&connection.window, 5 * MS), 25);
    assert_eq!(connection.control.phase, phase, "no effect on slowdowns");
    connection.window.cwnd = 3;
    assert_eq!(connection.control.on_loss(&connection.window, 5 * MS), 2);
    // Recovery controls the window.
    connection.state = State::Recovery;
    connection.round_trip(500);
    connection.acks(500, 100);
    assert_eq!(connection.window.cwnd, 3);

    // A loss ends the first slow start, or that of a slowdown.
    connection.control.phase = Phase::First;
    connection.round_trip(40);
    connection.control.on_loss(&connection.window, 7 * MS);
    assert_eq!(connection.control.phase, Phase::Normal { due: 87 * MS });
    connection.control.phase = Phase::Ramp { from: 3 * MS };
    connection.control.on_loss(&connection.window, 7 * MS);
    assert_eq!(connection.control.phase, Phase::Normal { due: 7 * MS + 9 * 4 * MS });
}

#[test]
fn a_loss_in_a_slowdown_halves_the_window_that_it_comes_back_to() {
    let mut connection = Connection::in_avoidance(&config(), 50, 20);
    connection.control.phase = Phase::Normal { due: 0 };
    connection.acks(20, 1);
    assert_eq!(connection.control.on_loss(&connection.window, connection.now), 2);
    // The sender does this after a loss.
    connection.window.ssthresh = 2;
    connection.acks(20, 1);
    assert_eq!(connection.window.cwnd, 2);
    connection.now += 40 * MS;
    connection.ack(20 * MS, 0);
    assert_eq!(connection.window.ssthresh, 25);
    connection.acks(20, 1_000);
    assert!(connection.window.cwnd >= 25, "{}", connection.window.cwnd);
}

/// The largest windows and the longest delays do not overflow.
#[test]
fn extremes() {
    let config =
        LedbatppConfig { target: Span::from_us(1), slowest: 1024, constant: 10.0, ..config() };
    let mut connection = Connection::in_avoidance(&config, u32::MAX - 1, 1);
    connection.window.limit = u32::MAX - 1;
    connection.ack(MS, u32::MAX);
    connection.round_trip(3_600_000);
    connection.ack(3_600_000 * MS, u32::MAX);
    assert_eq!(connection.window.cwnd, u32::MAX / 2 - 1);
    let long = LedbatppConfig { target: Span::from_s(1), slowest: 1, constant: 0.1, ..config };
    let mut connection = Connection::in_avoidance(&long, 2, 1);
    connection.round_trip(3_600_000);
    connection.ack(3_600_000 * MS, 1_000);
    assert_eq!(connection.window.cwnd, 2);
}
