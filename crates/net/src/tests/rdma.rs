//! Tests queue pairs: equal results from both engines, closed forms, and the split of their
//! completion times.

use super::determinism::{same_everywhere, traffic};
use super::lossless::{conweave, sonic};
use super::scenarios::*;
use crate::record::{Output, PortRecord};
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Probability, Rate, Span, Time};

fn transport(config: RdmaConfig) -> Vec<TransportConfig> {
    vec![TransportConfig::Rdma(config)]
}

fn marking() -> Option<Marking> {
    Some(Marking {
        kmax: Limit::Bytes(80_000),
        pmax: Probability::new(0.2).unwrap(),
        at: MarkAt::Dequeue,
        ..step(Limit::Bytes(20_000))
    })
}

fn flow_control() -> Pfc {
    Pfc {
        headroom: Headroom::Formula(Formula::Conweave),
        refresh: Refresh::OnArrival,
        ..short_pauses(0b111)
    }
}

/// Returns a plan with random pairs and an additional incast, over a small fabric that pauses.
fn busy(config: RdmaConfig) -> Plan {
    let topology = leaf_spine(3, 2, 4);
    let hosts = topology.hosts;
    let mut flows = traffic(hosts, 200, 100, 100_000, 3);
    flows.extend(
        (0..hosts - 1)
            .map(|src| flow(0, src, hosts - 1, 300_000, Time::from_ns(1_000 * (src as u64 % 4)))),
    );
    let mut p = plan(topology, numbered(flows));
    p.transports = transport(config);
    make_lossless(&mut p, conweave(700_000), flow_control());
    p.switches[0].marking = marking();
    p.switches[0].queue_length = QueueLength::BeforeTransmission;
    p
}

fn reports(name: &str, output: &Output) {
    let c = output.counters;
    eprintln!(
        "{name}: {} hops, {} pauses, {} drops, {} marks, {} retransmits, {} timeouts, end {}",
        c.packet_hops,
        c.pause_frames,
        c.dropped_packets,
        c.ecn_marks,
        c.retransmits,
        c.timeouts,
        output.end
    );
}

/// Checks that all time beyond the ideal is accounted for.
pub(super) fn adds_up(output: &Output) {
    for record in &output.flows {
        let (Some(start), Some(finish)) = (record.start, record.finish) else { continue };
        let s = record.split;
        let waits =
            s.recovery + s.reordering + s.paused + s.queueing + s.pacing + s.window + s.application;
        assert_eq!(waits + record.ideal.0, finish.since(start).0);
    }
}

fn no_pfc(p: &mut Plan) {
    let switch = &mut p.switches[0];
    (switch.buffer, switch.pfc, switch.honours_pause) =
        (Buffer::Mmu(conweave(300_000)), None, false);
}

fn small(p: &mut Plan) {
    no_pfc(p);
    p.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(30_000), drop_when: Compare::Above };
}

/// Ports whose queues are short and count the frame in transmission, with this marking.
fn plain(p: &mut Plan, marking: Option<Marking>) {
    small(p);
    p.switches[0].marking = marking;
    p.switches[0].queue_length = QueueLength::ThroughTransmission;
}

/// Serves acknowledgements first, and outside of the memory.
fn bypass(p: &mut Plan) {
    strict(p);
    p.switches[0].buffer = Buffer::Mmu(Mmu { bypass: 0x80, ..conweave(700_000) });
}

fn spray(p: &mut Plan) {
    small(p);
    p.switches[0].balance = Balance::Spray(SprayConfig {});
}

fn controlled(control: RateControl, base: RdmaConfig) -> RdmaConfig {
    RdmaConfig { control, ..base }
}

/// DCQCN with the parameters of its paper.
fn paper() -> RdmaConfig {
    let dcqcn = DcqcnConfig {
        decrease_period: None,
        alpha_period: Span::from_us(55),
        increase_period: Span::from_us(55),
        byte_counter: Some(100_000),
        fast_recovery: 5,
        ..dcqcn()
    };
    RdmaConfig {
        cnp: Cnp::Packet { interval: Span::from_us(50), delay: Span::ZERO },
        cnp_out_of_order: false,
        ..controlled(RateControl::Dcqcn(dcqcn), rdma())
    }
}

/// A scenario: its name, its transport, and the change of the rest of its plan.
type Row = (&'static str, RdmaConfig, fn(&mut Plan));

fn lossless() -> Vec<Row> {
    let first = || RdmaConfig { ack_priority: Some(7), ..rdma() };
    let window = |window| RdmaConfig { window, ..rdma() };
    vec![
        ("lossless", rdma(), |_| {}),
        ("lossless, timing of real NICs", rdma(), |p| p.hosts[0].timing = timing()),
        ("lossless, acknowledgements first", first(), bypass),
        ("lossless, whole nanoseconds", first(), |p| {
            bypass(p);
            p.run.compat = Some(Compat::ConweaveNs3);
        }),
        ("lossless, sonic, refreshed pauses", rdma(), |p| {
            make_lossless(p, sonic(1_000_000), short_pauses(0b101));
            strict(p);
        }),
        ("lossless, the paper's parameters, notifications alone", paper(), |_| {}),
        ("lossless, fixed window, all records", window(RdmaWindow::Fixed(None)), |p| {
            sample_ports(p);
            p.record.paths = true;
            p.record.captures = vec![capture(0, true), capture(0, false)];
            p.run.until = Some(Time::from_ns(177_777));
        }),
        ("lossless, scaled window", window(RdmaWindow::Scaled(Some(40_000))), |_| {}),
        ("timely", controlled(RateControl::Timely(timely()), rdma()), |_| {}),
        ("hpcc", controlled(RateControl::Hpcc(hpcc()), rdma()), |_| {}),
    ]
}

fn go_back_n() -> Vec<Row> {
    let freezing = Reps { cache: 8, freeze: Some(Span::from_us(50)), explore: 16 };
    vec![
        ("go-back-n, timing of real NICs", rdma(), |p| {
            small(p);
            p.hosts[0].timing = timing();
        }),
        ("go-back-n without flow control", rdma(), no_pfc),
        ("go-back-n over plain ports", rdma(), |p| plain(p, Some(step(Limit::Bytes(15_000))))),
        ("go-back-n, spray", rdma(), spray),
        (
            "go-back-n, recycled entropies that freeze",
            RdmaConfig { entropy: Entropy::Reps(freezing), ..rdma() },
            small,
        ),
        (
            "swift, go-back-n over plain ports",
            controlled(RateControl::Swift(swift()), rdma()),
            |p| plain(p, None),
        ),
        ("mixed rates and delays, cut-through", rdma(), |p| {
            plain(p, marking());
            p.switches[0].cut_through = Some(64);
            mix(&mut p.topology, &UNEQUAL_RATES, &[25, 300, 1_000, 5_000]);
        }),
        ("beside TCP and datagrams", rdma(), |p| {
            let rate = Some(Rate::from_gbps(10));
            p.transports.extend([
                TransportConfig::Tcp(tcp()),
                TransportConfig::Datagram(Datagram { rate, payload: 1460, ecn_capable: true }),
            ]);
            p.flows.iter_mut().for_each(|f| f.transport = (f.id % 5).min(2) as u16);
        }),
    ]
}

fn selective_repeat() -> Vec<Row> {
    let RdmaRecovery::Irn(of_irn) = irn().recovery else { unreachable!() };
    let recovery = |irn| RdmaConfig { recovery: RdmaRecovery::Irn(irn), ..rdma() };
    let recycling = Reps { cache: 8, freeze: None, explore: 16 };
    vec![
        ("irn", irn(), no_pfc),
        (
            "irn, recycled entropies, paths",
            RdmaConfig { cnp_out_of_order: false, entropy: Entropy::Reps(recycling), ..irn() },
            |p| {
                no_pfc(p);
                p.record.paths = true;
            },
        ),
        ("irn over plain ports", irn(), |p| plain(p, None)),
        (
            "irn as in ns-3, whole nanoseconds, spray, loss",
            recovery(Irn { ns3: true, bdp: Some(104_000), ..of_irn.clone() }),
            |p| {
                spray(p);
                p.run.compat = Some(Compat::ConweaveNs3);
                lose(&mut p.topology.links, 0.01);
            },
        ),
        ("irn with flow control", recovery(Irn { timeouts: false, ..of_irn }), |_| {}),
        ("swift, irn", controlled(RateControl::Swift(swift()), irn()), no_pfc),
        ("hpcc, irn, plain ports", controlled(RateControl::Hpcc(hpcc()), irn()), |p| {
            plain(p, None)
        }),
        ("links down, loss", irn(), |p| {
            small(p);
            lose(&mut p.topology.links, 0.02);
            interrupt(&mut p.topology.links[14..15]);
        }),
    ]
}

#[test]
fn engines_agree() {
    let (mut paused, mut drops, mut marks, mut repeats) = (0, 0, 0, 0);
    for (name, config, change) in [lossless(), go_back_n(), selective_repeat()].concat() {
        let mut plan = busy(config);
        change(&mut plan);
        let output = same_everywhere(name, &plan);
        reports(name, &output);
        adds_up(&output);
        paused += (output.counters.pause_frames > 10) as u32;
        drops += (output.counters.dropped_packets > 10) as u32;
        marks += (output.counters.ecn_marks > 10) as u32;
        repeats += (output.counters.retransmits > 10) as u32;
    }
    assert!(
        paused >= 7 && drops >= 7 && marks >= 12 && repeats >= 7,
        "{paused} with pauses, {drops} with drops, {marks} with marks, {repeats} with repeats"
    );
}

fn finish(p: &Plan, flow: usize) -> u64 {
    let output = run(p, &Progress::default()).unwrap();
    adds_up(&output);
    output.flows[flow].finish.unwrap().0
}

/// Two queue pairs of one NIC take turns. They end within a frame of each other, after the time of
/// both.
#[test]
fn queue_pairs_take_turns() {
    let mut p =
        plan(star(3), vec![flow(0, 0, 1, 146_000, Time::ZERO), flow(1, 0, 2, 146_000, Time::ZERO)]);
    p.transports = transport(rdma());
    // A frame takes 120 ns and an acknowledgement 3.2 ns, over two links of 1 us in each direction.
    let alone = 100 * 120_000 + 120_000 + 2 * 3_200 + 4_000_000;
    // The last frame of the first flow is the 199th of 200.
    assert_eq!((finish(&p, 0), finish(&p, 1)), (alone + 99 * 120_000, alone + 100 * 120_000));
    let output = run(&p, &Progress::default()).unwrap();
    assert_eq!(
        output.flows[0].split.queueing,
        99 * 120_000,
        "waiting for the other's frames is queueing in the NIC"
    );
}

/// A window of w bytes sends w per round trip.
#[test]
fn a_fixed_window() {
    let mut p = plan(star(2), vec![flow(0, 0, 1, 100 * 1460, Time::ZERO)]);
    p.transports = transport(RdmaConfig { window: RdmaWindow::Fixed(Some(10 * 1460)), ..rdma() });
    let round_trip = 2 * 120_000 + 2 * 3_200 + 4_000_000;
    assert_eq!(finish(&p, 0), 10 * round_trip + 9 * 120_000);
    let output = run(&p, &Progress::default()).unwrap();
    assert_eq!(output.flows[0].split.window, 9 * (round_trip - 10 * 120_000));
}

/// Loses the frame at `seq` of flow 0: the link from its host is down just while the frame passes.
fn lossy(config: RdmaConfig, seq: u64) -> Plan {
    let mut p = plan(star(2), vec![flow(0, 0, 1, 50 * 1460, Time::ZERO)]);
    p.transports = transport(config);
    let from = Time(seq * 120_000 + 1_000);
    p.topology.links[0].down = vec![Down {
        from: Time(from.0 + 900_000),
        to: Some(Time(from.0 + 901_000)),
        detect: Span::from_ms(1),
        converge: Span::ZERO,
    }];
    p
}

/// Frame 10 is lost together with the frames on the wire at that time. Go-back-N retransmits
/// everything from there on.
#[test]
fn go_back_n_and_selective_repeat() {
    let mut repeated = Vec::new();
    for config in [rdma(), irn()] {
        let config = RdmaConfig { control: RateControl::None, ..config };
        let p = lossy(config, 10);
        let output = same_everywhere("one gap", &p);
        reports("one gap", &output);
        adds_up(&output);
        let lost = output.counters.drops_down;
        assert!(lost > 0);
        let record = &output.flows[0];
        assert_eq!((record.timeouts, record.status), (0, crate::record::Status::Finished));
        assert!(record.split.recovery > 0);
        repeated.push((record.packets_retransmitted, lost));
    }
    let (go_back, selective) = (repeated[0], repeated[1]);
    // Go-back-N retransmits the data in flight for more than a round trip.
    assert!(go_back.0 >= 30, "{repeated:?}");
    assert!((selective.1..selective.1 + 3).contains(&selective.0), "{repeated:?}");
}

/// Swift spaces frames while its window is below one. An acknowledgement that lifts the window above
/// one ends that at once.
#[test]
fn a_window_that_opens_ends_the_spacing() {
    let mut p = plan(star(2), vec![flow(0, 0, 1, 2 * 1460, Time::ZERO)]);
    let control = RateControl::Swift(SwiftConfig { initial_window: 0.1, ..swift() });
    p.transports = transport(controlled(control, rdma()));
    let round_trip = 2 * 120_000 + 2 * 3_200 + 4_000_000;
    assert_eq!(finish(&p, 0), 2 * round_trip);
}

/// Three frames in flight besides the last one still have IRN's short time-out, as in ConWeave's
/// ns-3, and four have the long one.
#[test]
fn few_frames_have_the_short_timeout() {
    for (frames, rto) in [(4, Span::from_us(100)), (5, Span::from_us(320))] {
        let mut p = plan(star(2), vec![flow(0, 0, 1, frames * 1460, Time::ZERO)]);
        p.transports = transport(RdmaConfig { control: RateControl::None, ..irn() });
        p.topology.links[0].down = vec![Down {
            from: Time(1),
            to: Some(Time(3_000_000)),
            detect: Span::from_ms(1),
            converge: Span::ZERO,
        }];
        let end = finish(&p, 0);
        assert!((rto.0..rto.0 + 20_000_000).contains(&end), "{frames} frames: {end}");
    }
}

/// If the last frame is lost, only the timer detects it.
#[test]
fn a_lost_tail_waits_for_the_timer() {
    for (config, rto) in [(rdma(), Span::from_ms(4)), (irn(), Span::from_us(100))] {
        let mut p = lossy(config, 49);
        p.run.until = Some(Time(Span::from_ms(20).0));
        let output = same_everywhere("lost tail", &p);
        let record = &output.flows[0];
        // The frame before the last one was on the wire, too.
        assert_eq!((record.timeouts, record.packets_retransmitted), (1, 2), "{record:?}");
        assert!(
            record.split.recovery >= rto.0 && record.finish.unwrap().0 > rto.0,
            "{:?}",
            record.split
        );
    }
}

/// A queue pair whose frames leave further apart than the time-out has no time-outs, because all
/// that was sent is acknowledged in between.
#[test]
fn slow_frames_have_no_timeouts() {
    let slow = DcqcnConfig { min_rate: 50_000_000, ..dcqcn() };
    let flows = (0..30).map(|src| flow(src.into(), src + 1, 0, 200_000, Time::ZERO)).collect();
    let mut p = plan(star(31), flows);
    p.transports = transport(controlled(RateControl::Dcqcn(slow), irn()));
    p.switches[0].buffer = Buffer::Unlimited;
    p.switches[0].marking = marking();
    p.record.senders = Some(Span::from_us(50));
    let output = run(&p, &Progress::default()).unwrap();
    let slowest = output.senders.iter().map(|record| record.rate).min().unwrap();
    assert!(slowest < 1_500 * 8 * 1_000_000 / 100, "a frame per 100 us or more: {slowest}");
    assert_eq!((output.counters.timeouts, output.counters.retransmits), (0, 0));
}

/// The port of the receiver counts a notification, and the other ports on its path do not. Hosts of
/// a BCube forward notifications of others.
#[test]
fn a_notification_counts_once() {
    let several = |topology: Topology| {
        let last = topology.hosts - 1;
        let flows = (0..last).map(|src| flow(src as i64, src, last, 200_000, Time::ZERO));
        let mut p = plan(topology, flows.collect());
        p.transports = transport(RdmaConfig { control: RateControl::None, ..rdma() });
        p.switches[0].buffer = Buffer::Unlimited;
        p.switches[0].marking = Some(step(Limit::Bytes(10_000)));
        let nodes = (0..p.topology.nodes.len() as NodeId).collect();
        p.record.ports = Some(PortSeries { interval: Span::from_us(1), nodes });
        same_everywhere("notifications that are counted", &p)
    };
    for topology in [leaf_spine(2, 2, 2), bcube(3, 2)] {
        let last = topology.hosts - 1;
        let output = several(topology);
        let sent = output.ports.iter().filter(|row| row.queue < 0);
        let (of_last, others): (Vec<_>, Vec<_>) = sent.partition(|row| row.node == last);
        let all = |rows: &[&PortRecord]| rows.iter().map(|row| row.cnps).sum::<u64>();
        // The series ends with the last whole interval.
        let (counted, sent) = (all(&of_last), output.counters.cnps);
        assert!(counted > 100 && counted <= sent && sent < counted + 10, "{counted} of {sent}");
        assert_eq!(all(&others), 0);
    }
}

/// Notifications in separate frames are sent at most once per interval.
#[test]
fn notifications_are_spaced() {
    let mut p = plan(
        star(5),
        (1..5).map(|src| flow(src as i64 - 1, src, 0, 2_000_000, Time::ZERO)).collect(),
    );
    p.switches[0].buffer = Buffer::Unlimited;
    p.switches[0].marking = Some(step(Limit::Bytes(10_000)));
    let run_with = |cnp| {
        let mut p = p.clone();
        p.transports = transport(RdmaConfig { cnp, control: RateControl::None, ..rdma() });
        same_everywhere("notifications", &p)
    };
    let in_acks = run_with(Cnp::Ack);
    let alone = run_with(Cnp::Packet { interval: Span::from_us(50), delay: Span::ZERO });
    let more = alone.counters.sent_packets - in_acks.counters.sent_packets;
    // Four flows send 8 MB at 100 Gbps (657 us with headers), and each is marked almost all the
    // time.
    assert!((4 * 12..=4 * 14).contains(&more), "{more} notifications");
    assert!(
        alone.counters.cnps == more && in_acks.counters.cnps > 10 * more,
        "{} {}",
        alone.counters.cnps,
        in_acks.counters.cnps
    );
    // The receiver's NIC holds notifications back. Those that are due when a flow ends are not
    // sent.
    let late = run_with(Cnp::Packet { interval: Span::from_us(50), delay: Span::from_us(55) });
    let (sent, marks) = (late.counters.cnps, late.counters.ecn_marks);
    assert!(
        (more - 8..=more).contains(&sent) && marks == alone.counters.ecn_marks,
        "{sent} of {more} notifications, {marks} marks"
    );
}

/// `compat` names only the mechanisms that it changes, and each has a unique name.
#[test]
fn compat_is_a_list() {
    let names: Vec<&str> = Compat::ConweaveNs3.deviations().iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        [
            "whole_nanoseconds",
            "ecmp_hash",
            "flow_ports",
            "drill_memory",
            "flowlet_key",
            "conga_routed",
            "conga_reports",
            "conga_choice",
            "conga_aging",
            "conweave_tags",
            "conweave_queues",
            "conweave_release",
            "conweave_age",
            "cnp_out_of_order",
            "irn_plain_ack",
            "irn_repeats",
            "irn_forgets"
        ]
    );
}

/// In this mode, a frame of 1048 B takes 83 ns of a link with 100 Gbps, and an acknowledgement of
/// 60 B takes 4 ns.
#[test]
fn whole_nanoseconds() {
    let mut p = plan(star(2), vec![flow(0, 0, 1, 10_000, Time::ZERO)]);
    p.wire = Wire { data_header: 48, ack: 60, cnp: 60, gap: 0, min_frame: 0, ..wire() };
    p.transports = transport(RdmaConfig { payload: 1_000, ..rdma() });
    p.run.compat = Some(Compat::ConweaveNs3);
    let output = same_everywhere("whole nanoseconds", &p);
    assert_eq!(output.flows[0].finish.unwrap().0, (10 * 83 + 83 + 2 * 4 + 4_000) * 1_000);
    assert_eq!(output.flows[0].ideal.0, output.flows[0].finish.unwrap().0);
}

/// Two spines, the second of which has 25 Gbps to the destination instead of 100 Gbps. Marks from
/// there reach the sender, and entropies that lead there are not used again.
#[test]
fn recycled_entropies_leave_a_slow_path() {
    let share = |entropy, balance| {
        let mut topology = leaf_spine(2, 2, 4);
        let id = |name: &str| {
            topology.nodes.iter().position(|node| node.name == name).unwrap() as NodeId
        };
        let (leaf, slow) = (id("leaf1"), id("spine1"));
        topology.links.iter_mut().find(|link| (link.a, link.b) == (leaf, slow)).unwrap().rate =
            Rate::from_gbps(25);
        let mut p = plan(
            topology,
            (0..4).map(|h| flow(h, h as u32, 4 + h as u32, 2_000_000, Time::ZERO)).collect(),
        );
        p.switches[0].buffer = Buffer::Unlimited;
        p.switches[0].balance = balance;
        p.switches[0].marking = Some(step(Limit::Bytes(20_000)));
        p.transports =
            vec![TransportConfig::Rdma(RdmaConfig { cnp_out_of_order: false, entropy, ..irn() })];
        p.record.paths = true;
        let output = same_everywhere("entropies", &p);
        assert!(output.flows.iter().all(|flow| flow.finish.is_some()));
        let frames = |over: bool| {
            output
                .paths
                .iter()
                .filter(|path| path.nodes.contains(&slow) == over)
                .map(|path| path.frames)
                .sum::<u64>() as f64
        };
        frames(true) / (frames(true) + frames(false))
    };
    let sprayed = share(Entropy::Flow, Balance::Spray(SprayConfig {}));
    let recycled =
        share(Entropy::Reps(Reps { cache: 8, freeze: None, explore: 16 }), Balance::default());
    eprintln!("{sprayed:.3} over the slow path sprayed, {recycled:.3} recycled");
    assert!((0.48..0.52).contains(&sprayed), "{sprayed}");
    // A share in proportion to the links would be a fifth.
    assert!(recycled < 0.35, "{recycled}");
}
