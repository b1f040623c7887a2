use super::super::super::Control;
use super::super::arithmetic::SECOND;
use super::super::bottleneck::{MS, Network, Path};
use super::*;
use crate::spec::CongestionControl;
use afflux_engine::random::Stream;
use afflux_units::Span;

const STARTUP: u8 = 100;
const DRAIN: u8 = 101;
const PROBE_RTT: u8 = 102;

fn config() -> BbrConfig {
    BbrConfig {
        flavour: Flavour::Linux,
        probe_rtt_interval: Span::from_s(10),
        probe_rtt_time: Span::from_ms(200),
        send_quantum: Some(1),
    }
}

fn opening() -> Opening {
    Opening { mss: 1460, initial_window: 10, random: Stream::new(1, 1, 1) }
}

fn bbr(control: &Control) -> &Bbr {
    let Control::Bbr(bbr) = control else { panic!() };
    bbr
}

fn label(control: &Control) -> u8 {
    let bbr = bbr(control);
    match bbr.core.mode {
        Mode::Startup => STARTUP,
        Mode::Drain => DRAIN,
        Mode::ProbeBandwidth => bbr.cycle.phase as u8,
        Mode::ProbeRtt => PROBE_RTT,
    }
}

fn network(path: Path, flows: usize, seed: u64) -> Network {
    Network::new(path, &CongestionControl::Bbr(config()), flows, seed)
}

/// spec/transports.md §9 item 7.
#[test]
fn one_flow_with_a_deep_buffer() {
    let path = Path::new(100_000_000, 40 * MS, 2000);
    let (product, frame) = (path.product(), path.frame());
    let mut network = network(path, 1, 3);
    network.run(32_000 * MS, label);
    let startup = network.stays(STARTUP)[0].1;
    let drain = network.stays(DRAIN)[0].1;
    let peak = network
        .seen
        .iter()
        .filter(|seen| seen.now <= drain)
        .map(|seen| seen.queue)
        .fold(0.0, f64::max);
    assert!(startup < 900 * MS, "{startup}");
    assert!(peak <= 1.89 * product + 8.0 && peak >= 1.5 * product, "{peak} of {product}");
    assert!(drain - startup < 250 * MS, "{} ms", (drain - startup) / MS);
    // The queue has pulses of a quarter every eight round trips, and is nearly empty between
    // them.
    let steady: Vec<_> =
        network.seen.iter().filter(|seen| seen.now > 2000 * MS && seen.now < 9900 * MS).collect();
    let highest = steady.iter().map(|seen| seen.queue).fold(0.0, f64::max);
    assert!(highest <= 0.27 * product + 8.0 && highest >= 0.2 * product, "{highest} of {product}");
    let cruising: Vec<f64> =
        steady.iter().filter(|seen| (3..8).contains(&seen.label)).map(|seen| seen.queue).collect();
    let mean = cruising.iter().sum::<f64>() / cruising.len() as f64;
    assert!(mean < 0.03 * product, "{mean} of {product}");
    let probes: Vec<u64> = network
        .stays(0)
        .iter()
        .map(|stay| stay.0)
        .filter(|&start| start > 2000 * MS && start < 9900 * MS)
        .collect();
    let period = (probes[probes.len() - 1] - probes[0]) as f64
        / (probes.len() - 1) as f64
        / (40 * MS + frame) as f64;
    assert!((7.5..8.8).contains(&period), "{period} round trips");
    // PROBE_RTT runs every ten seconds.
    let dips = network.stays(PROBE_RTT);
    assert_eq!(dips.len(), 3, "{dips:?}");
    for (index, (from, to)) in dips.iter().enumerate() {
        assert!((to - from) >= 200 * MS && (to - from) < 330 * MS, "{} ms", (to - from) / MS);
        if index > 0 {
            let gap = from - dips[index - 1].1;
            assert!((9999 * MS..10_100 * MS).contains(&gap), "{gap}");
        }
    }
    // Each PROBE_RTT costs its 200 ms and the round trip in which the pipe fills again: a
    // little over 2 %.
    let undisturbed = network.share(0, 2000 * MS, 9900 * MS);
    assert!((0.99..=1.0).contains(&undisturbed), "{undisturbed}");
    let share = network.share(0, 2000 * MS, 32_000 * MS) / undisturbed;
    assert!((1.0 - 0.24 / 10.2 - 0.001..1.0 - 0.2 / 10.2).contains(&share), "{share}");
    // The bandwidth estimate matches the link.
    let estimate = bbr(&network.flows[0].control).bandwidth.get() as f64 / rate(1, frame) as f64;
    assert!((estimate - 1.0).abs() < 0.01, "{estimate}");
    assert_eq!(network.flows[0].lost, 0);
}

#[test]
fn random_loss_is_no_sign_of_congestion() {
    let mut network = network(Path { loss: 10_000, ..Path::new(100_000_000, 40 * MS, 2000) }, 1, 5);
    network.run(15_000 * MS, label);
    let share = network.share(0, 3000 * MS, 15_000 * MS);
    assert!(share > 0.95, "{share}");
    assert_eq!(network.flows[0].timeouts, 0);
}

/// Flows that share a queue drain it together.
#[test]
fn two_flows_share() {
    let mut network = network(Path::new(100_000_000, 20 * MS, 2000), 2, 7);
    network.run(60_000 * MS, label);
    let shares = [0, 1].map(|flow| network.share(flow, 10_000 * MS, 60_000 * MS));
    assert!(shares[0] + shares[1] > 0.96, "{shares:?}");
    assert!(shares[0] / shares[1] > 0.5 && shares[0] / shares[1] < 2.0, "{shares:?}");
    let queue = network
        .seen
        .iter()
        .filter(|seen| seen.now > 10_000 * MS)
        .map(|seen| seen.queue)
        .fold(0.0, f64::max);
    // Two windows of two products each, minus the pipe.
    assert!(queue < 1.4 * network.path.product(), "{queue}");
}

/// Acknowledgements that arrive in bunches: without an allowance for them the pipe would run
/// empty.
#[test]
fn bunches_of_acknowledgements() {
    let path = Path { hold: 20 * MS, ..Path::new(100_000_000, 10 * MS, 2000) };
    let mut network = network(path, 1, 9);
    network.run(9_000 * MS, label);
    let bbr = bbr(&network.flows[0].control);
    assert!(extra_window(&bbr.extra, bbr.rate()) > 50);
    let share = network.share(0, 3000 * MS, 9000 * MS);
    assert!(share > 0.9, "{share}");
}

/// A buffer of a tenth of the pipe: many losses, but neither time-outs nor an idle link.
#[test]
fn a_shallow_buffer() {
    let mut network = network(Path::new(100_000_000, 40 * MS, 33), 1, 11);
    network.run(15_000 * MS, label);
    let share = network.share(0, 3000 * MS, 15_000 * MS);
    assert!(share > 0.9, "{share}");
    assert_eq!(network.flows[0].timeouts, 0);
}

/// A policer at a fifth of the link: after two similar intervals the sender keeps to the
/// policer's rate for 48 rounds.
#[test]
fn a_policer() {
    let path = Path { police: Some((8333 / 5, 200.0)), ..Path::new(100_000_000, 40 * MS, 2000) };
    let mut network = network(path, 1, 13);
    let mut in_use = 0;
    for step in 1..=200 {
        network.run(step * 100 * MS, label);
        let bbr = bbr(&network.flows[0].control);
        if bbr.policer.in_use {
            in_use += 1;
            let estimate = bbr.policer.rate as f64 / rate(8333 / 5, SECOND) as f64;
            assert!((0.8..1.3).contains(&estimate), "{estimate}");
        }
    }
    assert!(in_use > 60, "{in_use}");
    assert!(network.share(0, 5000 * MS, 20_000 * MS) > 0.15);
}

/// During an outage of two seconds no frame arrives.
#[test]
fn an_outage() {
    let mut network = network(Path::new(100_000_000, 40 * MS, 2000), 1, 15);
    network.run(5_000 * MS, label);
    network.path.loss = 1_000_000;
    network.run(7_000 * MS, label);
    network.path.loss = 0;
    network.run(15_000 * MS, label);
    assert!(network.flows[0].timeouts > 0);
    let share = network.share(0, 10_000 * MS, 15_000 * MS);
    assert!(share > 0.9, "{share}");
}

#[test]
fn pacing_before_and_after_the_first_round_trip() {
    let mut window = Window { cwnd: 10, credit: 0, ssthresh: u32::MAX, limit: u32::MAX };
    let mut bbr = Bbr::new(&config(), opening());
    let expected = |rtt: f64| 0.99 * 739.0 / 256.0 * 10.0 * 1460.0 * 8.0 / rtt;
    assert!((bbr.pacing_rate().unwrap() as f64 / expected(1e-3) - 1.0).abs() < 1e-4);
    bbr.on_established(&window, 5 * MS, 20 * MS);
    assert!((bbr.pacing_rate().unwrap() as f64 / expected(20e-3) - 1.0).abs() < 1e-4);
    assert_eq!(bbr.target(rate(100, MS), UNIT), 2000);
    // After an idle time in PROBE_BW, the pacing rate does not exceed the estimate.
    bbr.bandwidth.update(10, 0, rate(1, MS));
    bbr.core.full.reached = true;
    bbr.start_probing();
    bbr.on_restart(50 * MS, 0);
    assert!((bbr.pacing_rate().unwrap() as f64 / (0.99 * 1460.0 * 8.0 / 1e-3) - 1.0).abs() < 1e-4);
    assert!(bbr.core.idle_restart);
    // The window is restored after a spurious loss.
    window.cwnd = 40;
    assert_eq!(bbr.on_loss(&window, 0), u32::MAX);
    assert_eq!(bbr.on_undo(&window, &Sampler::default()), Some(40));
}

/// One flow for 60 s at 100 Mb/s and 300 ms, with queues of 3,750,000 B and 375,000 B, against
/// Linux 6.12.117 (its first 0.3 s are the handshake): goodput, goodput of the second half, and
/// segments lost.
#[test]
fn as_linux() {
    for (buffer, goodput, half, lost) in
        [(2477, 85.801, 89.293, 4536.0), (248, 84.67, 88.253, 16859.0)]
    {
        let config = BbrConfig { send_quantum: None, ..config() };
        let path = Path { delayed: Some(40 * MS), ..Path::new(100_000_000, 300 * MS, buffer) };
        let mut network = Network::new(path, &CongestionControl::Bbr(config), 1, 3);
        let window = network.flows[0].window;
        network.flows[0].control.on_established(&window, 0, 300 * MS);
        network.run(59_700 * MS, label);
        let flow = &network.flows[0];
        let least = 100.0 * 1448.0 / 1514.0;
        let ours = [
            network.share(0, 0, 59_700 * MS) * least * 59.7 / 60.0,
            network.share(0, 29_700 * MS, 59_700 * MS) * least,
        ];
        assert!(
            (ours[0] / goodput - 1.0).abs() < 0.005 && (ours[1] / half - 1.0).abs() < 0.005,
            "{ours:?} {goodput} {half}"
        );
        assert!((flow.lost as f64 / lost - 1.0).abs() < 0.04, "{} of {lost}", flow.lost);
        assert_eq!(flow.timeouts, 0);
    }
}
