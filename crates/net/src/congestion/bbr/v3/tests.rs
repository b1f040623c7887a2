use super::super::super::Control;
use super::super::bottleneck::{MS, Network, Path};
use super::*;
use crate::spec::{BbrConfig, CongestionControl};
use afflux_engine::random::Stream;
use afflux_units::Span;

const UP: u8 = 0;
const DOWN: u8 = 1;
const CRUISE: u8 = 2;
const REFILL: u8 = 3;
const STARTUP: u8 = 4;
const DRAIN: u8 = 5;
const PROBE_RTT: u8 = 6;

fn config() -> Bbr3Config {
    Bbr3Config {
        flavour: None,
        probe_rtt_interval: Span::from_s(5),
        probe_rtt_time: Span::from_ms(200),
        send_quantum: Some(1),
        ecn: false,
    }
}

fn opening() -> Opening {
    Opening { mss: 1460, initial_window: 10, random: Stream::new(1, 1, 1) }
}

fn bbr(control: &Control) -> &Bbr3 {
    let Control::Bbr3(bbr) = control else { panic!() };
    bbr
}

fn label(control: &Control) -> u8 {
    match (bbr(control).core.mode, bbr(control).phase) {
        (Mode::Startup, _) => STARTUP,
        (Mode::Drain, _) => DRAIN,
        (Mode::ProbeRtt, _) => PROBE_RTT,
        (Mode::ProbeBandwidth, Phase::Up) => UP,
        (Mode::ProbeBandwidth, Phase::Down) => DOWN,
        (Mode::ProbeBandwidth, Phase::Cruise) => CRUISE,
        (Mode::ProbeBandwidth, Phase::Refill) => REFILL,
    }
}

fn network(path: Path, flows: usize, seed: u64) -> Network {
    Network::new(path, &CongestionControl::Bbr3(config()), flows, seed)
}

/// spec/transports.md §2.4 and §9 item 7.
#[test]
fn one_flow_with_a_deep_buffer() {
    let path = Path::new(100_000_000, 40 * MS, 2000);
    let (product, frame) = (path.product(), path.frame());
    let mut network = network(path, 1, 3);
    network.run(32_000 * MS, label);
    let highest = |label: u8| {
        network
            .seen
            .iter()
            .filter(|seen| seen.label == label)
            .map(|seen| seen.queue)
            .fold(0.0, f64::max)
    };
    // Start-up keeps two products in flight, one of them in the queue.
    assert!(
        highest(STARTUP) <= 1.0 * product + 24.0 && highest(STARTUP) > 0.8 * product,
        "{}",
        highest(STARTUP)
    );
    assert!(network.stays(DRAIN)[0].1 < 900 * MS);
    assert!(highest(CRUISE) < 0.03 * product && highest(REFILL) < 0.03 * product);
    // The phases follow each other, with PROBE_RTT at times between them.
    let mut phases: Vec<(u64, u8)> = Vec::new();
    for seen in &network.seen {
        if phases.last().is_none_or(|&(_, last)| last != seen.label) {
            phases.push((seen.now, seen.label));
        }
    }
    for pair in phases.windows(2) {
        let next: &[u8] = match pair[0].1 {
            STARTUP => &[DRAIN],
            // DOWN may end at once.
            DRAIN => &[DOWN, CRUISE],
            DOWN => &[CRUISE, PROBE_RTT],
            CRUISE => &[REFILL, PROBE_RTT],
            REFILL => &[UP, PROBE_RTT],
            UP => &[DOWN, PROBE_RTT],
            _ => &[CRUISE],
        };
        assert!(next.contains(&pair[1].1), "{pair:?}");
    }
    // The next probe comes 2 to 3 s, or 63 rounds, after the last.
    let dips = network.stays(PROBE_RTT);
    for pair in network.stays(REFILL).windows(2) {
        let waited = pair[1].0 - pair[0].1;
        let dipped = dips.iter().any(|dip| dip.0 > pair[0].1 && dip.0 < pair[1].0);
        assert!(dipped || (2000 * MS..3500 * MS).contains(&waited), "{} ms", waited / MS);
    }
    assert!(dips.len() >= 5, "{dips:?}");
    for (index, (from, to)) in dips.iter().enumerate() {
        assert!((to - from) >= 200 * MS && (to - from) < 330 * MS, "{} ms", (to - from) / MS);
        if index > 0 {
            let gap = from - dips[index - 1].1;
            assert!((4999 * MS..5100 * MS).contains(&gap), "{gap}");
        }
    }
    // The window in PROBE_RTT is half of the product.
    let least = network
        .seen
        .iter()
        .filter(|seen| seen.label == PROBE_RTT)
        .map(|seen| seen.in_flight)
        .min()
        .unwrap();
    assert!((least as f64 / product - 0.5).abs() < 0.02, "{least}");
    let undisturbed = network.share(0, 1000 * MS, 4900 * MS);
    assert!(undisturbed > 0.985, "{undisturbed}");
    let share = network.share(0, 1000 * MS, 32_000 * MS);
    assert!(share > undisturbed * (1.0 - 0.5 * 0.24 / 5.2 - 0.005), "{share} {undisturbed}");
    let estimate = bbr(&network.flows[0].control).bandwidth() as f64 / rate(1, frame) as f64;
    assert!((estimate - 1.0).abs() < 0.01, "{estimate}");
    assert_eq!(network.flows[0].lost, 0);
}

/// Buffers of a tenth and a third of the pipe: version 1 keeps filling the first, version 3
/// finds its bound.
#[test]
fn shallow_buffers() {
    let first = CongestionControl::Bbr(BbrConfig {
        flavour: Flavour::Linux,
        probe_rtt_interval: Span::from_s(10),
        probe_rtt_time: Span::from_ms(200),
        send_quantum: Some(1),
    });
    for buffer in [33, 100] {
        let lost = |control: &CongestionControl| {
            let mut network = Network::new(Path::new(100_000_000, 40 * MS, buffer), control, 1, 3);
            network.run(3_000 * MS, |_| 0);
            let (lost, delivered) = (network.flows[0].lost, network.flows[0].delivered);
            network.run(23_000 * MS, |_| 0);
            let flow = &network.flows[0];
            assert_eq!(flow.timeouts, 0);
            let share = network.share(0, 3000 * MS, 23_000 * MS);
            (
                (flow.lost - lost) as f64 / (flow.delivered - delivered) as f64,
                share,
                flow.control.clone(),
            )
        };
        let (loss, share, control) = lost(&CongestionControl::Bbr3(config()));
        let bound = bbr(&control).in_flight_high;
        let room = Path::new(100_000_000, 40 * MS, buffer).product() + buffer as f64;
        assert!(bound != UNBOUNDED && (bound as f64) < 1.1 * room, "{buffer}: {bound} of {room}");
        assert!(share > 0.9, "{buffer}: {share}");
        let (loss_first, ..) = lost(&first);
        assert!(buffer > 33 || loss_first > 0.02, "{loss_first}");
        assert!(loss < 0.005 && loss <= loss_first.max(0.001), "{buffer}: {loss} {loss_first}");
    }
}

/// With more than 2 % of random loss, the window falls to where the losses end, or to its
/// least.
#[test]
fn losses_above_the_threshold() {
    let share = |loss| {
        let mut network = network(Path { loss, ..Path::new(100_000_000, 40 * MS, 2000) }, 1, 5);
        network.run(20_000 * MS, label);
        network.share(0, 5000 * MS, 20_000 * MS)
    };
    let (none, some, many) = (share(0), share(1_000), share(50_000));
    assert!(none > 0.95 && some > 0.7 && many < 0.5 * some, "{none} {some} {many}");
}

/// During an outage of two seconds no frame arrives.
#[test]
fn an_outage() {
    let mut network = network(Path::new(100_000_000, 40 * MS, 2000), 1, 15);
    network.run(4_000 * MS, label);
    network.path.loss = 1_000_000;
    network.run(6_000 * MS, label);
    network.path.loss = 0;
    network.run(15_000 * MS, label);
    assert!(network.flows[0].timeouts > 0);
    let share = network.share(0, 10_000 * MS, 15_000 * MS);
    assert!(share > 0.9, "{share}");
}

#[test]
fn bounds_come_back_after_a_loss_that_was_none() {
    let window = Window { cwnd: 50, credit: 0, ssthresh: u32::MAX, limit: u32::MAX };
    let mut bbr = Bbr3::new(&config(), opening());
    bbr.on_established(&window, 0, 20 * MS);
    assert_eq!(bbr.target(rate(100, MS), UNIT), 2000);
    bbr.in_flight_high = 80;
    bbr.on_loss(&window, 0);
    bbr.in_flight_high = 40;
    bbr.on_restart(100 * MS, 0);
    assert_eq!((bbr.on_undo(&window, &Sampler::default()), bbr.in_flight_high), (Some(50), 80));
}

#[test]
fn two_flows_share() {
    let mut network = network(Path::new(100_000_000, 20 * MS, 500), 2, 3);
    network.run(60_000 * MS, label);
    let shares = [0, 1].map(|flow| network.share(flow, 10_000 * MS, 60_000 * MS));
    assert!(shares[0] + shares[1] > 0.95, "{shares:?}");
    assert!(shares[0] / shares[1] > 0.6 && shares[0] / shares[1] < 1.6, "{shares:?}");
}

/// Marks keep the queue short on short round trips. A sender that is not told to react ignores
/// them.
#[test]
fn marks() {
    let mean = |ecn: bool| {
        let control = CongestionControl::Bbr3(Bbr3Config { ecn, ..config() });
        let mut network = Network::new(
            Path { mark: Some(20), ..Path::new(1_000_000_000, MS, 500) },
            &control,
            2,
            3,
        );
        network.run(3_000 * MS, label);
        assert!(
            network.share(0, 500 * MS, 3_000 * MS) + network.share(1, 500 * MS, 3_000 * MS) > 0.97
        );
        let queues: Vec<f64> =
            network.seen.iter().filter(|seen| seen.now > 500 * MS).map(|seen| seen.queue).collect();
        queues.iter().sum::<f64>() / queues.len() as f64
    };
    let (with, without) = (mean(true), mean(false));
    assert!(with < 20.0 && without > 3.0 * with, "{with} {without}");
}

/// (lost before + prefix) / (in flight before + prefix) = 2 % (5/256).
#[test]
fn the_bound_is_where_losses_became_too_many() {
    // There were 100 segments before this one, of which 2 % are 2 (rounded up). The third loss
    // crosses the threshold at once.
    assert_eq!(
        Bbr3::bound_from_loss(&Lost { tx_in_flight: 101, lost: 3, app_limited: false }),
        100
    );
    assert_eq!(
        Bbr3::bound_from_loss(&Lost { tx_in_flight: 101, lost: 2, app_limited: false }),
        101
    );
    assert_eq!(Bbr3::bound_from_loss(&Lost { tx_in_flight: 1, lost: 1, app_limited: false }), 0);
}

/// Bursts of 64 KiB on short round trips, and only a millisecond's worth of the rate on long
/// ones.
#[test]
fn offload_burst() {
    let config = Bbr3Config { send_quantum: None, ..config() };
    let mut bbr = Bbr3::new(&config, opening());
    bbr.core.pacing_rate = 12_500_000;
    bbr.core.min_rtt.value = 100_000_000;
    assert_eq!(bbr.quantum(), 44);
    bbr.core.min_rtt.value = 40 * MILLISECOND;
    assert_eq!(bbr.quantum(), 8);
}
