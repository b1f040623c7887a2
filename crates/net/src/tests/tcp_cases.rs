//! Tests special cases of TCP one by one: a single sender or receiver with explicit input.

use crate::idle::Idle;
use crate::spec::*;
use crate::testing::{dctcp_from, linux, tcp};
use crate::transport::tcp::{
    AckIn, Arrival, Cause, Expired, Receiver, ReceiverSetup, Sender, SenderSetup,
};
use afflux_units::{Bytes, Span};

const MS: u64 = 1_000_000_000;
const US: u64 = 1_000_000;

struct Bench {
    sender: Sender,
    config: TcpConfig,
}

impl Bench {
    fn new(segments: u32, config: TcpConfig) -> Bench {
        let setup = SenderSetup {
            flow: 0,
            transport: 0,
            node: 0,
            dst: 1,
            hash: 0,
            priority: 0,
            segments,
            // The application may have more data.
            ends: u32::MAX,
            idle: Idle { round_trip: 10 * MS, ..Idle::default() },
            deadline: None,
            ecn: config.ecn,
            explain: false,
            random: afflux_engine::random::Stream::new(1, 1, 1),
        };
        Bench { sender: Sender::new(setup, 0, &config), config }
    }
    /// Returns the segments sent now; retransmissions are negative.
    fn pump(&mut self, now: u64, cause: Cause) -> Vec<i64> {
        std::iter::from_fn(|| self.sender.transmit(now, cause, &self.config))
            .map(|t| if t.retransmission { -(t.seq as i64) } else { t.seq as i64 })
            .collect()
    }
    fn ack(&mut self, now: u64, ack: AckIn) -> Vec<i64> {
        let cause = self.sender.on_ack(now, &ack, &self.config);
        self.pump(now, cause)
    }
    fn cumulative(&mut self, now: u64, next: u32) -> Vec<i64> {
        self.ack(now, AckIn { cumulative: next, trigger: next - 1, ..AckIn::default() })
    }
    /// Returns the time of the next wake-up, and the segments sent then.
    fn wake(&mut self) -> (u64, Vec<i64>) {
        let now = self.sender.wake();
        assert_ne!(now, 0, "nothing is armed");
        match self.sender.on_wake(now, &self.config) {
            Expired::Pump(cause) | Expired::TimedOut(cause) => (now, self.pump(now, cause)),
            Expired::Syn | Expired::AskWindow | Expired::InVain => (now, Vec::new()),
        }
    }
    fn cwnd(&self) -> u32 {
        self.column(2)
    }
    fn ssthresh(&self) -> u32 {
        self.column(3)
    }
    fn column(&self, at: usize) -> u32 {
        self.sender
            .snapshot()
            .split_whitespace()
            .nth(at)
            .expect("a column")
            .parse()
            .expect("a number")
    }
    fn state(&self) -> String {
        self.sender.snapshot().split_whitespace().nth(4).expect("a state").into()
    }
}

/// Linux's TCP on an open connection, with exact timers.
fn open() -> TcpConfig {
    TcpConfig { handshake: false, initial_rto: Span::from_ms(100), ..linux() }
}

/// A window that pacing fills counts as full. It grows again after a time in which the receiver was
/// the limit.
#[test]
fn a_paced_window_is_seen_to_be_full() {
    let pacing = Some(Pacing { most: None, slow_start_percent: 200, avoidance_percent: 120 });
    let receive = Receive::Buffer(ReceiveBuffer {
        initial: Bytes(20 * 1460),
        most: Bytes(20 * 1460),
        share: 256,
    });
    let mut bench = Bench::new(
        100_000,
        TcpConfig {
            pacing,
            receive,
            ecn: EcnMode::Classic,
            min_rto: Span::from_s(1),
            initial_rto: Span::from_s(1),
            ..tcp()
        },
    );
    // One acknowledgement arrives per 500 us, with round trips of 10 ms. Segments are sent when the
    // pace allows.
    let mut arrivals: std::collections::VecDeque<(u64, u32)> = Default::default();
    for seq in bench.pump(0, Cause::Start) {
        arrivals.push_back((10 * MS + 500 * US * seq as u64, seq as u32));
    }
    let (mut edge, mut stuck) = (20, 0);
    for acks in 0..2_000u32 {
        let (at, seq) = arrivals.pop_front().expect("something is under way");
        let mut sent = Vec::new();
        while bench.sender.wake() != 0 && bench.sender.wake() <= at {
            let (now, list) = bench.wake();
            sent.extend(list.into_iter().map(|s| (now, s)));
        }
        // An echo ends slow start. Then the receiver's window is the limit, and later there is
        // space for everything.
        edge = edge.max(if acks < 200 { seq + 9 } else { 1_000_000 });
        if acks == 200 {
            stuck = bench.cwnd();
        }
        let list = bench.ack(
            at,
            AckIn {
                cumulative: seq + 1,
                trigger: seq,
                edge: Some(edge),
                ece: acks == 20,
                ..AckIn::default()
            },
        );
        sent.extend(list.into_iter().map(|s| (at, s)));
        for (now, seq) in sent {
            let behind = arrivals.back().map_or(0, |&(at, _)| at + 500 * US);
            arrivals.push_back(((now + 10 * MS).max(behind), seq as u32));
        }
    }
    assert!(bench.cwnd() > stuck + 10, "{stuck} then, {} now", bench.cwnd());
}

/// No data are in flight, the receive window is closed, and the pace does not allow sending yet.
/// The sender must probe the window nevertheless.
#[test]
fn a_closed_window_is_asked_for_though_the_pace_waits() {
    let pacing = Some(Pacing { most: None, slow_start_percent: 10, avoidance_percent: 10 });
    let receive = Receive::Buffer(ReceiveBuffer {
        initial: Bytes(11 * 1460),
        most: Bytes(11 * 1460),
        share: 256,
    });
    let mut bench = Bench::new(100, TcpConfig { pacing, receive, ..tcp() });
    assert_eq!(bench.pump(0, Cause::Start).len(), 10);
    assert_eq!(
        bench
            .ack(10 * MS, AckIn { cumulative: 10, trigger: 9, edge: Some(11), ..AckIn::default() }),
        [10]
    );
    assert_eq!(
        bench.ack(
            11 * MS,
            AckIn { cumulative: 11, trigger: 10, edge: Some(11), ..AckIn::default() }
        ),
        [0i64; 0]
    );
    let (at, sent) = bench.wake();
    assert!(at > 11 * MS && sent.is_empty());
}

/// With bursts of four, a window of ten is never full, but it still is the limit. Recovery does not
/// wait for bursts.
#[test]
fn bursts_and_the_window() {
    let mut bench = Bench::new(
        10_000,
        TcpConfig {
            burst: Burst::Segments(4),
            ecn: EcnMode::Classic,
            min_rto: Span::from_s(1),
            ..tcp()
        },
    );
    let mut under_way: std::collections::VecDeque<u32> =
        bench.pump(0, Cause::Start).iter().map(|&s| s as u32).collect();
    let mut now = 10 * MS;
    let mut after_echo = 0;
    for i in 0..600 {
        let seq = under_way.pop_front().expect("something is under way");
        now += MS;
        let sent = bench
            .ack(now, AckIn { cumulative: seq + 1, trigger: seq, ece: i == 8, ..AckIn::default() });
        assert!(i < 100 || sent.len() <= 4, "{sent:?}");
        under_way.extend(sent.iter().map(|&s| s as u32));
        if i == 30 {
            after_echo = bench.cwnd();
        }
    }
    assert!(bench.cwnd() > after_echo + 10, "{after_echo} after the echo, {} later", bench.cwnd());
}

/// One acknowledgement reports two new blocks, the newer one first. This is no reordering.
#[test]
fn blocks_of_one_acknowledgement_are_not_out_of_order() {
    let mut bench = Bench::new(100, open());
    bench.pump(0, Cause::Start);
    bench.ack(10 * MS, AckIn { cumulative: 1, trigger: 0, ..AckIn::default() });
    // If reordering had been detected, a quarter of the round trip would have to pass first.
    let sent = bench.ack(
        10 * MS + 1,
        AckIn { cumulative: 1, trigger: 8, blocks: &[(8, 9), (6, 7), (4, 5)], ..AckIn::default() },
    );
    assert_eq!(sent, [-1, -2]);
}

/// A probe retransmits a segment that is already in flight again. The segment counts once.
#[test]
fn a_segment_under_way_twice_counts_once() {
    let mut bench = Bench::new(10, TcpConfig { ecn: EcnMode::Classic, ..open() });
    bench.pump(0, Cause::Start);
    bench.cumulative(10 * MS, 1);
    assert_eq!(bench.wake().1, [-9], "a probe");
    // An echo arrives late, the probe is forgotten, and there is another one.
    bench.ack(60 * MS, AckIn { cumulative: 2, trigger: 1, ece: true, ..AckIn::default() });
    assert_eq!(bench.wake().1, [-9]);
    assert_eq!(bench.sender.pipe(), 9);
    bench.cumulative(99 * MS, 10);
    assert_eq!(bench.sender.pipe(), 0);
}

/// The reordering timer waited for segments that have arrived since. The probe for the tail is
/// armed again.
#[test]
fn a_probe_after_mild_reordering() {
    let mut bench = Bench::new(10, open());
    bench.pump(0, Cause::Start);
    bench.cumulative(10 * MS, 4);
    bench.ack(
        10 * MS + US,
        AckIn { cumulative: 4, trigger: 5, blocks: &[(5, 6)], ..AckIn::default() },
    );
    let reordering = bench.sender.wake();
    assert!(reordering < 13 * MS, "{reordering}");
    bench.cumulative(10 * MS + 2 * US, 6);
    // The probe is due after two round trips and 2 ms.
    assert!((31 * MS..33 * MS).contains(&bench.sender.wake()), "{}", bench.sender.wake());
    assert_eq!(bench.wake().1, [-9]);
    // From here on, the time-out restarts: three times half a round trip is below the minimum of 10
    // ms on the variance.
    assert!((52 * MS..65 * MS).contains(&bench.sender.wake()), "{}", bench.sender.wake());
}

/// Segments sent after a retransmission arrive one by one. They do not delay its time-out.
#[test]
fn later_segments_do_not_put_the_time_out_off() {
    let mut bench = Bench::new(1_000, TcpConfig { recovery: Recovery::Sack, ..open() });
    bench.pump(0, Cause::Start);
    let mut sent = bench
        .ack(10 * MS, AckIn { cumulative: 0, trigger: 9, blocks: &[(1, 10)], ..AckIn::default() });
    assert_eq!(sent[0], 0, "the first again");
    let deadline = bench.sender.wake();
    let mut highest = 10;
    for i in 1..100u64 {
        highest += sent.iter().filter(|&&s| s >= 10).count() as u32;
        let now = 20 * MS + i * US;
        sent = bench.ack(
            now,
            AckIn {
                cumulative: 0,
                trigger: highest - 1,
                blocks: &[(1, highest)],
                ..AckIn::default()
            },
        );
    }
    assert_eq!(bench.sender.wake(), deadline);
}

/// Slow start does not grow with segments that arrive behind a hole.
#[test]
fn no_growth_in_disorder() {
    let mut bench = Bench::new(1_000, open());
    bench.pump(0, Cause::Start);
    bench.cumulative(10 * MS, 4);
    assert_eq!(bench.cwnd(), 14);
    bench.ack(
        10 * MS + US,
        AckIn { cumulative: 4, trigger: 5, blocks: &[(5, 6)], ..AckIn::default() },
    );
    assert_eq!(bench.cwnd(), 14);
    bench.cumulative(10 * MS + 2 * US, 6);
    assert_eq!(bench.cwnd(), 15);
}

/// A segment retransmitted after a time-out is lost again. The threshold falls once more. Back-offs
/// alone do not reduce it.
#[test]
fn the_threshold_falls_with_every_loss_after_a_time_out() {
    let mut bench = Bench::new(
        1_000,
        TcpConfig { tail_probe: false, undo: false, estimator: Estimator::Rfc6298, ..open() },
    );
    bench.pump(0, Cause::Start);
    bench.cumulative(10 * MS, 5);
    assert_eq!(bench.wake().1, [-5]);
    assert_eq!(bench.ssthresh(), 7);
    assert_eq!(bench.wake().1, [-5]);
    assert_eq!(bench.ssthresh(), 7);
    let now = bench.sender.wake() - US;
    // The retransmission and a new segment that was sent once are acknowledged.
    bench.ack(
        now,
        AckIn { cumulative: 6, trigger: 5, repeated: true, blocks: &[(7, 8)], ..AckIn::default() },
    );
    assert_eq!(bench.state(), "Loss");
    bench.wake();
    assert_eq!(bench.ssthresh(), 2);
}

/// The original of a segment that a time-out retransmitted arrives. Its round trip is not measured
/// from the retransmission.
#[test]
fn originals_are_not_measured_as_repetitions() {
    let mut bench = Bench::new(11, TcpConfig { tail_probe: false, ..open() });
    bench.pump(0, Cause::Start);
    bench.cumulative(10 * MS, 1);
    let (at, sent) = bench.wake();
    assert_eq!(sent, [-1]);
    bench.cumulative(at + US, 2);
    assert_eq!((bench.state().as_str(), bench.cwnd()), ("Open", 12));
    // The time-out still is that of round trips of 10 ms, with back-off. The short time since the
    // retransmission was not measured as a round trip.
    assert!(bench.sender.wake() > at + 20 * MS, "{} after {at}", bench.sender.wake());
}

/// After the loss of two SYNs, the first window has one segment (RFC 5681 §3.1). After the loss of
/// one SYN only ECN is missing.
#[test]
fn lost_syns_shrink_the_first_window() {
    for (lost, window) in [(0, 10), (1, 10), (2, 1)] {
        let mut bench =
            Bench::new(100, TcpConfig { handshake: true, ecn: EcnMode::Classic, ..open() });
        bench.sender.syn_sent(0, &bench.config);
        for _ in 0..lost {
            let (now, _) = bench.wake();
            bench.sender.syn_sent(now, &bench.config);
        }
        assert_eq!(bench.sender.requests_ecn(), lost == 0);
        let now = bench.sender.wake() - MS;
        bench.sender.on_connected(now, lost == 0, &bench.config).expect("a cause");
        assert_eq!(bench.sender.ecn == EcnMode::Off, lost > 0);
        assert_eq!(bench.pump(now, Cause::Start).len(), window);
    }
}

/// The retransmitted SYN does not request ECN. The reply accepts it nevertheless, because the first
/// SYN had arrived and requested it.
#[test]
fn the_answer_decides_about_ecn() {
    for agrees in [false, true] {
        let mut bench =
            Bench::new(100, TcpConfig { handshake: true, ecn: EcnMode::Classic, ..open() });
        bench.sender.syn_sent(0, &bench.config);
        let (now, _) = bench.wake();
        bench.sender.syn_sent(now, &bench.config);
        assert!(!bench.sender.requests_ecn());
        bench.sender.on_connected(now + MS, agrees, &bench.config).expect("a cause");
        assert_eq!(bench.sender.ecn, if agrees { EcnMode::Classic } else { EcnMode::Off });
    }
}

/// The receive window was closed for a long time. Data sent when it opens have a time-out without
/// back-off.
#[test]
fn asking_for_the_window_is_no_back_off() {
    let receive = Receive::Buffer(ReceiveBuffer {
        initial: Bytes(10 * 1460),
        most: Bytes(10 * 1460),
        share: 256,
    });
    let mut bench = Bench::new(100, TcpConfig { receive, tail_probe: false, ..open() });
    bench.pump(0, Cause::Start);
    bench.ack(10 * MS, AckIn { cumulative: 10, trigger: 9, edge: Some(10), ..AckIn::default() });
    let mut last = 0;
    for _ in 0..5 {
        let (now, sent) = bench.wake();
        assert!(sent.is_empty());
        // The reply says that the window is still closed.
        bench.ack(
            now + 10 * MS,
            AckIn { cumulative: 10, trigger: 9, edge: Some(10), ..AckIn::default() },
        );
        last = now + 10 * MS;
    }
    assert!(bench.sender.wake() > last + 300 * MS, "backed off");
    assert_eq!(
        bench
            .ack(last, AckIn { cumulative: 10, trigger: 9, edge: Some(20), ..AckIn::default() })
            .len(),
        10
    );
    assert!(bench.sender.wake() < last + 50 * MS, "{}", bench.sender.wake() - last);
}

/// After a pause, the window is halved per time-out, down to the initial window.
#[test]
fn a_pause_shrinks_the_window() {
    // The time-out is about 25 ms: 10 ms, plus four times a deviation that began with 5 ms.
    for (pause, window) in [(10, 64), (40, 32), (55, 16), (1_000, 10)] {
        let mut bench =
            Bench::new(1_000, TcpConfig { max_window: Some(64), ecn: EcnMode::Classic, ..open() });
        let (mut now, mut una) = (0, 0);
        let mut out = bench.pump(0, Cause::Start).len() as u32;
        for _ in 0..4 {
            now += 10 * MS;
            una += out;
            out = bench.cumulative(now, una).len() as u32;
        }
        assert_eq!(bench.cwnd(), 64);
        // Everything arrives, and no data are written for a while.
        bench.sender.on_ack(
            now + 10 * MS,
            &AckIn { cumulative: una + out, trigger: una, ..AckIn::default() },
            &bench.config,
        );
        bench.sender.restart(now + pause * MS, &bench.config);
        assert_eq!(bench.cwnd(), window, "after {pause} ms");
    }
}

/// A window that small messages do not use falls halfway to the initial one with each time-out in
/// which it was not the limit (Linux tcp_cwnd_application_limited), although no pause is long enough
/// for a restart.
#[test]
fn small_messages_shrink_the_window() {
    for (idle_restart, after) in [(true, 10), (false, 64)] {
        let config = TcpConfig { max_window: Some(64), idle_restart, ..open() };
        let mut bench = Bench::new(10 + 20 + 40 + 64, config);
        let (mut now, mut una) = (0, 0);
        let mut out = bench.pump(0, Cause::Start).len() as u32;
        while out > 0 {
            now += 10 * MS;
            una += out;
            out = bench.cumulative(now, una).len() as u32;
        }
        assert_eq!((bench.cwnd(), una), (64, 134));
        let mut windows = vec![64];
        for message in 1..=40 {
            now += 10 * MS;
            let Bench { sender, config } = &mut bench;
            sender.append(now, message, una + 2, (sender.idle, None), config);
            assert_eq!(bench.pump(now, Cause::Start).len(), 2);
            now += 10 * MS;
            una += 2;
            bench.cumulative(now, una);
            windows.push(bench.cwnd());
        }
        assert!(windows.is_sorted_by(|a, b| a >= b), "{windows:?}");
        assert!(!idle_restart || windows.contains(&37), "{windows:?}");
        assert_eq!(*windows.last().unwrap(), after, "{windows:?}");
    }
}

/// An echo on the acknowledgement of all data reduces the window for the next message.
#[test]
fn an_echo_with_the_last_data() {
    let mut bench = Bench::new(10, TcpConfig { ecn: EcnMode::Classic, ..open() });
    bench.pump(0, Cause::Start);
    bench.ack(10 * MS, AckIn { cumulative: 10, trigger: 9, ece: true, ..AckIn::default() });
    assert_eq!(bench.state(), "Reduced");
    assert!(bench.ssthresh() < 10);
}

/// A loss in the window of an echo halves DCTCP's window (RFC 8257 §3.5). With classic ECN the
/// echo has reduced the window already.
#[test]
fn a_loss_after_an_echo() {
    let dctcp = TcpConfig { congestion: dctcp_from(0.0), ecn: EcnMode::Dctcp, ..open() };
    for (config, halves) in [(dctcp, true), (TcpConfig { ecn: EcnMode::Classic, ..open() }, false)]
    {
        let mut bench = Bench::new(100, config);
        bench.pump(0, Cause::Start);
        bench.ack(10 * MS, AckIn { cumulative: 1, trigger: 0, ece: true, ..AckIn::default() });
        assert_eq!(bench.state(), "Reduced");
        let (window, threshold) = (bench.cwnd(), bench.ssthresh());
        let lost = AckIn { cumulative: 1, trigger: 8, blocks: &[(2, 9)], ..AckIn::default() };
        bench.ack(10 * MS + 1, lost);
        assert_eq!(bench.state(), "Recovery");
        assert_eq!(bench.ssthresh(), if halves { window / 2 } else { threshold });
    }
}

fn receiver(config: &TcpConfig, segments: u32) -> Receiver {
    let setup = ReceiverSetup {
        flow: 0,
        transport: 0,
        node: 1,
        src: 0,
        hash: 0,
        priority: 0,
        segments,
        to: segments,
        ecn: config.ecn,
        now: 0,
    };
    Receiver::new(setup, config)
}

/// The application falls asleep and wakes up before the first acknowledgement has left.
#[test]
fn an_application_that_sleeps_before_the_first_acknowledgement() {
    let buffer = ReceiveBuffer { initial: Bytes(100_000), most: Bytes(100_000), share: 256 };
    let reader = Some(Reader::Turns { read: Span::from_ms(1), sleep: Span::from_ms(1) });
    let delayed_ack = Some(DelayedAck { segments: 2, timeout: Span::from_ms(40), quick: 0 });
    let config = TcpConfig { receive: Receive::Buffer(buffer), reader, delayed_ack, ..open() };
    let mut receiver = receiver(&config, 100);
    assert!(
        receiver
            .on_data(Arrival { now: US, seq: 0, ..Arrival::default() }, &config)
            .second
            .is_none()
    );
    for ms in 1..10 {
        assert!(receiver.on_wake(ms * MS, &config).is_none(), "{ms} ms");
    }
}

/// The application takes its turns from the time at which the connection is open, no matter how
/// long the handshake took.
#[test]
fn an_application_reads_from_when_the_connection_is_open() {
    let buffer = ReceiveBuffer { initial: Bytes(100_000), most: Bytes(100_000), share: 256 };
    let reader = Some(Reader::Turns { read: Span::from_ms(1), sleep: Span::from_ms(3) });
    let config = TcpConfig { receive: Receive::Buffer(buffer), reader, handshake: true, ..open() };
    let mut receiver = receiver(&config, 100);
    receiver.answered = 2 * MS;
    assert_eq!(receiver.wake(), 0);
    receiver.on_established(9 * MS);
    assert_eq!(receiver.wake(), 10 * MS);
    // The receiver already knows that the connection is open.
    receiver.on_established(20 * MS);
    assert_eq!(receiver.wake(), 10 * MS);
}

/// Auto-tuning stays ahead of slow start, with and without the round trip of a handshake (Linux
/// tcp_rcv_space_adjust).
#[test]
fn the_buffer_grows_ahead_of_slow_start() {
    for handshake in [true, false] {
        let buffer = ReceiveBuffer { initial: Bytes(131_072), most: Bytes(6 << 20), share: 128 };
        let config = TcpConfig { receive: Receive::Buffer(buffer), handshake, ..tcp() };
        let mut receiver = receiver(&config, 1_000_000);
        if handshake {
            receiver.answered = MS;
            receiver.on_established(11 * MS);
        }
        let (mut next, mut window, mut now) = (0u32, 10u32, 20 * MS);
        for _ in 0..9 {
            now += 10 * MS;
            let mut edge = 0;
            for i in 0..window as u64 {
                receiver.on_data(
                    Arrival { now: now + i * US, seq: next, ..Arrival::default() },
                    &config,
                );
                next += 1;
                edge = receiver.announce().expect("a buffer");
            }
            window = (2 * window).min(edge - next);
        }
        let most = (6 << 20) / 2 / 1460;
        assert!(
            (most - 1..=most).contains(&window),
            "{window} segments of {most}, handshake {handshake}"
        );
    }
}
