//! Tests that both engines and any number of threads give the same result.

use super::applications::{Wander, example, wander};
use super::hull;
use crate::congestion::d2tcp::WithoutDeadline;
use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::transport::ndp::NdpConfig;
use crate::{Progress, run};
use afflux_engine::random::Stream;
use afflux_units::{Bytes, Probability, Rate, Span, Time};

/// Random pairs, many of which start at equal times.
pub(super) fn traffic(hosts: u32, count: u32, span_us: u64, largest: u64, seed: u64) -> Vec<Flow> {
    let mut stream = Stream::new(seed, 99, 0);
    let mut flows: Vec<Flow> = (0..count)
        .map(|id| {
            let src = stream.below(hosts as u64) as u32;
            let dst = (src + 1 + stream.below(hosts as u64 - 1) as u32) % hosts;
            // Whole microseconds make many ties.
            let start = Time::from_ns(stream.below(span_us) * 1_000);
            Flow {
                priority: stream.below(3) as u8,
                ..flow(id as i64, src, dst, 1 + stream.below(largest), start)
            }
        })
        .collect();
    flows.sort_by_key(|f| match f.start {
        Start::At(t) => t,
        Start::After { .. } => unreachable!(),
    });
    flows
}

fn step_at(bytes: u64, at: MarkAt) -> Option<Marking> {
    Some(Marking { at, ..step(Limit::Bytes(bytes)) })
}

pub(super) fn red(at: MarkAt, weight: Option<f64>) -> Option<Marking> {
    Some(Marking {
        kmax: Limit::Bytes(80_000),
        pmax: Probability::new(0.3).unwrap(),
        at,
        compare: Compare::AtOrAbove,
        average_weight: weight,
        ..step(Limit::Bytes(20_000))
    })
}

pub(super) fn codel(ecn: bool) -> CodelConfig {
    CodelConfig { target: Span::from_us(2), interval: Span::from_us(20), ecn }
}

pub(super) fn fast_pie(ecn: bool) -> PieConfig {
    PieConfig {
        target: Span::from_us(2),
        t_update: Span::from_us(2),
        alpha: 1_000.0,
        beta: 10_000.0,
        burst_allowance: Span::from_us(5),
        ecn,
        ecn_threshold: ecn.then(|| Probability::new(0.1).unwrap()),
        derandomize: false,
    }
}

pub(super) fn fast_pi2(coupling: Option<f64>) -> Pi2Config {
    let (target, t_update, ecn) = (Span::from_us(2), Span::from_us(2), coupling.is_some());
    Pi2Config { target, t_update, alpha: 1_000.0, beta: 10_000.0, ecn, scalable: ecn, coupling }
}

fn shared(total: u64, alpha: f64) -> Buffer {
    Buffer::Shared { total, alpha, reserved_per_queue: 0 }
}

/// A deep buffer in which every limit can refuse frames: the cap, the memories, and the bandwidth
/// of the DRAM.
fn deep(ports_per_core: Option<u32>) -> Buffer {
    Buffer::Voq(Voq {
        ingress: VoqIngress::Core,
        ports_per_core,
        credit: Some(2_000),
        grant_latency: Span::from_ns(1_500),
        credit_speedup: None,
        max_credits: None,
        fabric_speedup: None,
        max_bytes: Some(60_000),
        max_time: Some(Span::from_us(4)),
        on_chip: 60_000,
        evict_bytes: 20_000,
        evict_packets: 30,
        dram: 200_000,
        dram_bandwidth: Some(Rate::from_gbps(250)),
        write_buffer: 20_000,
        reserved: 0.3,
        dynamic: 0.5,
        xoff: None,
        xon: None,
    })
}

/// Returns the output as text, except for the engine's own figures.
pub(super) fn digest(output: &Output) -> String {
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        output.flows,
        output.started,
        output.tasks,
        output.links,
        output.ports,
        output.paths,
        output.uplinks,
        output.reordering,
        output.captures,
        output.gaps,
        output.waits,
        output.round_trips,
        output.senders,
        output.counters,
        output.end,
        output.storms,
        output.deadlocks,
        output.ended,
        output.stuck
    )
}

pub(super) fn same_everywhere(name: &str, plan: &Plan) -> Output {
    // Runs with more threads than cores are slow. Three and seven threads run once for each kind of
    // port here, and everywhere in `make fuzz`.
    let most = std::env::var("AFFLUX_MOST_THREADS")
        .map_or(2, |text| text.parse().expect("a number of threads"));
    same_with_threads(name, plan, most)
}

/// Runs both engines, the default one with 1, 2, 3 and 7 threads up to `most`, and compares all
/// records.
fn same_with_threads(name: &str, plan: &Plan, most: u32) -> Output {
    let with = |engine, threads| {
        let mut plan = plan.clone();
        plan.run.engine = engine;
        plan.run.threads = threads;
        plan.record.senders.get_or_insert(Span::from_us(13));
        run(&plan, &Progress::default()).unwrap()
    };
    let oracle = with(EngineKind::Classical, 1);
    let expected = digest(&oracle);
    for threads in [1, 2, 3, 7].into_iter().filter(|threads| *threads <= most) {
        let got = digest(&with(EngineKind::WindowLog, threads));
        if got != expected {
            for (a, b) in got.lines().zip(expected.lines()) {
                if a != b {
                    let at = a
                        .bytes()
                        .zip(b.bytes())
                        .position(|(x, y)| x != y)
                        .unwrap_or(a.len().min(b.len()));
                    let cut =
                        |s: &str| s[at.saturating_sub(300)..(at + 200).min(s.len())].to_string();
                    panic!(
                        "{name}: {threads} threads differ:\n got {}\n oracle {}",
                        cut(a),
                        cut(b)
                    );
                }
            }
        }
    }
    oracle
}

/// One scenario for each kind of port, to be run with seven threads.
const SEVEN_THREADS: [&str; 6] = [
    "drop-tail",
    "three priorities",
    "three priorities, shared buffer, marks at dequeue",
    "fq-codel",
    "virtual output queues of some switches, one of them recorded",
    "loss and link down",
];

/// Small scenarios, each of which tests one feature.
fn scenarios() -> Vec<(&'static str, Plan)> {
    let mut plans: Vec<(&str, Plan)> = Vec::new();
    let spray = |p: &mut Plan| p.switches[0].balance = Balance::Spray(SprayConfig {});
    let base = || plan(fat_tree(4, 2), traffic(32, 300, 200, 200_000, 1));
    let mut add = |name: &'static str, change: &dyn Fn(&mut Plan)| {
        let mut p = base();
        p.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Bytes(60_000), drop_when: Compare::Above };
        change(&mut p);
        plans.push((name, p));
    };
    add("drop-tail", &|_| {});
    add("drop-tail, packets, at or above", &|p| {
        p.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Packets(24), drop_when: Compare::AtOrAbove }
    });
    add("timing of real hosts", &|p| p.hosts[0].timing = timing());
    add("timing of real hosts, priorities, a short NIC queue, small queues", &|p| {
        p.hosts[0] = HostConfig {
            timing: timing(),
            scheduling: Scheduling::Priorities { queues: 3 },
            queue: Some(Limit::Bytes(50_000)),
            ..host()
        };
        p.transports = vec![TransportConfig::Tcp(TcpConfig { small_queues: true, ..dctcp() })];
        p.flows.iter_mut().for_each(|f| f.priority = (f.id % 3) as u8);
    });
    add("timing of real hosts, lossless, all records", &|p| {
        p.switches[0].buffer = Buffer::Mmu(super::lossless::conweave(700_000));
        p.switches[0].pfc = Some(pfc(0b111));
        p.switches[0].honours_pause = true;
        p.hosts[0].timing = timing();
        p.record.paths = true;
        p.record.waits = (0..p.topology.nodes.len() as u32).collect();
    });
    add("timing of real hosts on some, lossy links", &|p| {
        p.hosts.push(HostConfig { timing: timing(), ..p.hosts[0].clone() });
        p.topology
            .nodes
            .iter_mut()
            .filter(|n| n.kind == NodeKind::Host)
            .enumerate()
            .for_each(|(i, n)| n.config = (i % 2) as u32);
        p.topology
            .links
            .iter_mut()
            .step_by(3)
            .for_each(|link| link.loss = Probability::new(0.01).unwrap());
    });
    for (name, kind, rings) in [
        ("fq_codel", "fq_codel", 1),
        ("fq", "fq", 1),
        ("pfifo", "pfifo", 1),
        ("fq_codel behind three rings", "fq_codel", 3),
    ] {
        add(name, &|p| {
            p.hosts[0] = HostConfig {
                timing: timing(),
                qdisc: Some(qdisc(kind, Some(4_000), rings)),
                ..host()
            };
            p.transports = vec![TransportConfig::Tcp(TcpConfig { small_queues: true, ..dctcp() })];
            p.record.waits = (0..p.topology.nodes.len() as u32).collect();
        });
    }
    add("fq_codel at exact hosts that are paused", &|p| {
        p.switches[0].buffer = Buffer::Mmu(super::lossless::conweave(700_000));
        p.switches[0].pfc = Some(pfc(0b111));
        p.switches[0].honours_pause = true;
        p.hosts[0].qdisc = Some(qdisc("fq_codel", None, 1));
        p.flows.iter_mut().for_each(|f| f.priority = (f.id % 3) as u8);
    });
    add("timing of real hosts behind virtual output queues", &|p| {
        p.switches[0].buffer = Buffer::Voq(super::voq::deep());
        p.hosts[0].timing = timing();
    });
    add("newreno recovery", &|p| {
        p.transports =
            vec![TransportConfig::Tcp(TcpConfig { recovery: Recovery::NewReno, ..tcp() })]
    });
    add("dctcp, step at enqueue", &|p| {
        p.switches[0].marking = step_at(30_000, MarkAt::Enqueue);
        p.transports = vec![TransportConfig::Tcp(dctcp())];
    });
    add("dctcp, step at dequeue", &|p| {
        p.switches[0].marking = step_at(30_000, MarkAt::Dequeue);
        p.transports = vec![TransportConfig::Tcp(dctcp())];
    });
    add("d2tcp, near and far deadlines", &|p| {
        p.switches[0].marking = step_at(30_000, MarkAt::Enqueue);
        let d2tcp = D2tcpConfig {
            gain: 0.0625,
            initial_alpha: 1.0,
            least: 0.5,
            most: 2.0,
            without_deadline: WithoutDeadline::Halve,
        };
        p.transports = vec![TransportConfig::Tcp(TcpConfig {
            congestion: CongestionControl::D2tcp(d2tcp),
            ..dctcp()
        })];
        p.flows
            .iter_mut()
            .filter(|f| f.id % 4 > 0)
            .for_each(|f| f.deadline = Some(Span::from_us(20 * (f.id % 4) as u64)));
    });
    add("ledbatpp, with a target of a few frames", &|p| {
        let short = LedbatppConfig {
            target: Span::from_us(20),
            base_interval: Span::from_us(200),
            base_history: 3,
            slowdown_interval: 2,
            ..ledbatpp()
        };
        p.transports = vec![TransportConfig::Tcp(TcpConfig {
            congestion: CongestionControl::Ledbatpp(short),
            initial_window: 2,
            ..tcp()
        })];
    });
    add("classic ecn, red at enqueue", &|p| {
        p.switches[0].marking = red(MarkAt::Enqueue, None);
        p.transports = vec![TransportConfig::Tcp(TcpConfig { ecn: EcnMode::Classic, ..tcp() })];
    });
    add("classic ecn, averaged red at dequeue", &|p| {
        p.switches[0].marking = red(MarkAt::Dequeue, Some(0.02));
        p.transports = vec![TransportConfig::Tcp(TcpConfig { ecn: EcnMode::Classic, ..tcp() })];
    });
    add("averaged red drops at enqueue", &|p| {
        p.switches[0].marking = red(MarkAt::Enqueue, Some(0.02))
    });
    add("gentle red with uniform spacing", &|p| {
        let marking = red(MarkAt::Enqueue, Some(0.02)).unwrap();
        p.switches[0].marking =
            Some(Marking { gentle: true, spacing: Spacing::Uniform, ..marking });
        p.switches[0].device_queue = 1;
    });
    add("red as in linux, at dequeue", &|p| {
        let marking = red(MarkAt::Dequeue, Some(0.5)).unwrap();
        p.switches[0].marking =
            Some(Marking { spacing: Spacing::Linux, hard_drop: true, ..marking });
        p.transports = vec![TransportConfig::Tcp(TcpConfig { ecn: EcnMode::Classic, ..tcp() })];
        p.switches[0].device_queue = 2;
    });
    add("codel", &|p| p.switches[0].aqm = Some(Aqm::Codel(codel(false))));
    add("codel, marks, device queue, priorities", &|p| {
        p.switches[0].aqm = Some(Aqm::Codel(codel(true)));
        p.switches[0].device_queue = 1;
        p.switches[0].scheduling = Scheduling::Priorities { queues: 3 };
        p.switches[0].buffer = shared(300_000, 1.0);
        p.transports = vec![TransportConfig::Tcp(TcpConfig { ecn: EcnMode::Classic, ..tcp() })];
    });
    add("fq-codel", &|p| {
        p.switches[0].aqm = Some(fq_codel(codel(false), 1_514, 1_024, 24, 64));
        p.switches[0].buffer = shared(300_000, 1.0);
    });
    add("fq-codel, few buckets, marks, cut-through", &|p| {
        p.switches[0].aqm = Some(fq_codel(codel(true), 300, 3, 1_000, 64));
        p.switches[0].cut_through = Some(64);
        p.transports = vec![TransportConfig::Tcp(TcpConfig { ecn: EcnMode::Classic, ..tcp() })];
    });
    for (name, ecn, derandomize) in
        [("pie", false, false), ("pie, marks, derandomised, device queue", true, true)]
    {
        add(name, &|p| {
            p.switches[0].aqm = Some(Aqm::Pie(PieConfig { derandomize, ..fast_pie(ecn) }));
            p.transports = vec![TransportConfig::Tcp(TcpConfig {
                ecn: if ecn { EcnMode::Classic } else { EcnMode::Off },
                ..tcp()
            })];
            p.switches[0].device_queue = derandomize as u32;
        });
    }
    add("ecn#", &|p| {
        let [instant, target, interval] = [20, 2, 10].map(Span::from_us);
        p.switches[0].aqm = Some(Aqm::EcnSharp(EcnSharpConfig { instant, target, interval }));
        p.transports = vec![TransportConfig::Tcp(dctcp())];
    });
    for (name, coupling) in [("pi2", None), ("pi2, scalable", Some(2.0))] {
        add(name, &|p| {
            p.switches[0].aqm = Some(Aqm::Pi2(fast_pi2(coupling)));
            p.transports =
                vec![TransportConfig::Tcp(if coupling.is_some() { dctcp() } else { tcp() })];
        });
    }
    add("drop-tail before a device queue, short run, all records", &|p| {
        p.run.until = Some(Time::from_ns(77_777));
        p.switches[0].device_queue = 3;
        p.record.ports = Some(PortSeries {
            interval: Span::from_us(7),
            nodes: (0..p.topology.nodes.len() as u32).collect(),
        });
        p.record.imbalance = Some(Span::from_us(20));
        p.record.captures = vec![Capture { link: 0, reverse: true }];
    });
    add("red drops at dequeue", &|p| p.switches[0].marking = red(MarkAt::Dequeue, None));
    add("shared buffer", &|p| p.switches[0].buffer = shared(150_000, 0.5));
    add("shared buffer, dctcp", &|p| {
        p.switches[0].buffer = shared(200_000, 1.0);
        p.switches[0].marking = step_at(30_000, MarkAt::Enqueue);
        p.transports = vec![TransportConfig::Tcp(dctcp())];
    });
    add("shared buffer, marks at dequeue", &|p| {
        p.switches[0].buffer = shared(150_000, 2.0);
        p.switches[0].marking = step_at(30_000, MarkAt::Dequeue);
        p.transports = vec![TransportConfig::Tcp(dctcp())];
    });
    add("virtual output queues of one core", &|p| p.switches[0].buffer = deep(None));
    add("virtual output queues of one core, dctcp", &|p| {
        p.switches[0].buffer = deep(None);
        p.switches[0].marking = step_at(15_000, MarkAt::Enqueue);
        p.transports = vec![TransportConfig::Tcp(dctcp())];
    });
    add("virtual output queues of ports", &|p| p.switches[0].buffer = deep(Some(1)));
    add("virtual output queues of cores and priorities, red, spray", &|p| {
        p.switches[0].buffer = deep(Some(2));
        p.switches[0].scheduling = Scheduling::Priorities { queues: 3 };
        p.switches[0].marking = red(MarkAt::Enqueue, Some(0.02));
        spray(p);
    });
    add("virtual output queues of one core, priorities, all records", &|p| {
        p.switches[0].buffer = deep(None);
        p.switches[0].scheduling = Scheduling::Priorities { queues: 2 };
        p.record.ports = Some(PortSeries {
            interval: Span::from_us(7),
            nodes: (0..p.topology.nodes.len() as u32).collect(),
        });
        p.record.captures = vec![Capture { link: 0, reverse: true }];
    });
    for (name, cores, priorities, aqm, ecn) in [
        ("virtual output queues of one core, codel", None, 1, Aqm::Codel(codel(false)), false),
        (
            "virtual output queues of cores and priorities, codel marks",
            Some(2),
            3,
            Aqm::Codel(codel(true)),
            true,
        ),
        (
            "virtual output queues of one core, fq-codel",
            None,
            1,
            fq_codel(codel(false), 1_514, 1_024, 24, 64),
            false,
        ),
        (
            "virtual output queues of ports, fq-codel",
            Some(1),
            1,
            fq_codel(codel(true), 300, 3, 1_000, 64),
            true,
        ),
        ("virtual output queues of ports, pie", Some(1), 2, Aqm::Pie(fast_pie(false)), false),
        ("virtual output queues of cores, pi2", Some(3), 1, Aqm::Pi2(fast_pi2(None)), false),
    ] {
        add(name, &|p| {
            p.switches[0].buffer = deep(cores);
            p.switches[0].aqm = Some(aqm.clone());
            if priorities > 1 {
                p.switches[0].scheduling = Scheduling::Priorities { queues: priorities };
            }
            p.transports = vec![TransportConfig::Tcp(TcpConfig {
                ecn: if ecn { EcnMode::Classic } else { EcnMode::Off },
                ..tcp()
            })];
            p.record.ports = Some(PortSeries {
                interval: Span::from_us(7),
                nodes: (0..p.topology.nodes.len() as u32).collect(),
            });
        });
    }
    let scarce = |cores, credit_speedup, max_credits, fabric_speedup| match deep(cores) {
        Buffer::Voq(voq) => Buffer::Voq(Voq { credit_speedup, max_credits, fabric_speedup, ..voq }),
        _ => unreachable!("it is deep"),
    };
    for (name, buffer, priorities, aqm) in [
        ("one core, slow credits", scarce(None, Some(0.7), None, None), 1, None),
        ("few credits for cores and priorities", scarce(Some(2), None, Some(4), None), 3, None),
        ("ports with a slow fabric", scarce(Some(1), Some(1.02), None, Some(0.6)), 2, None),
        (
            "one core, few credits, codel",
            scarce(None, None, Some(3), Some(0.9)),
            2,
            Some(Aqm::Codel(codel(false))),
        ),
        (
            "ports, few credits, fq-codel",
            scarce(Some(1), Some(0.9), Some(5), Some(0.5)),
            1,
            Some(fq_codel(codel(false), 1_514, 64, 24, 8)),
        ),
    ] {
        add(name, &|p| {
            p.switches[0].buffer = buffer.clone();
            p.switches[0].aqm = aqm.clone();
            if priorities > 1 {
                p.switches[0].scheduling = Scheduling::Priorities { queues: priorities };
            }
            p.record.ports = Some(PortSeries {
                interval: Span::from_us(7),
                nodes: (0..p.topology.nodes.len() as u32).collect(),
            });
        });
    }
    add("few credits, red at dequeue", &|p| {
        p.switches[0].buffer = scarce(Some(3), None, Some(4), None);
        p.switches[0].marking = red(MarkAt::Dequeue, None);
    });
    for (name, cores, marking) in [
        (
            "virtual output queues of one core, dctcp marked at dequeue",
            None,
            step_at(15_000, MarkAt::Dequeue),
        ),
        (
            "virtual output queues of cores, red at dequeue",
            Some(2),
            red(MarkAt::Dequeue, Some(0.02)),
        ),
    ] {
        add(name, &|p| {
            p.switches[0].buffer = deep(cores);
            p.switches[0].marking = marking.clone();
            p.switches[0].scheduling = Scheduling::Priorities { queues: 2 };
            p.transports =
                vec![TransportConfig::Tcp(if cores.is_none() { dctcp() } else { tcp() })];
        });
    }
    add("virtual output queues of some switches, one of them recorded", &|p| {
        p.switches.push(SwitchConfig { buffer: deep(None), ..switch() });
        p.topology.nodes.iter_mut().filter(|n| n.tier == 1).for_each(|n| n.config = 1);
        p.record.ports =
            Some(PortSeries { interval: Span::from_us(7), nodes: vec![p.topology.hosts] });
        p.run.until = Some(Time::from_ns(177_777));
    });
    add("three priorities", &|p| {
        p.switches[0].scheduling = Scheduling::Priorities { queues: 3 };
        p.hosts[0].scheduling = Scheduling::Priorities { queues: 3 };
    });
    add("three priorities, shared buffer, marks at dequeue", &|p| {
        p.switches[0].scheduling = Scheduling::Priorities { queues: 3 };
        p.switches[0].buffer = shared(150_000, 1.0);
        p.switches[0].marking = step_at(20_000, MarkAt::Dequeue);
        p.transports = vec![TransportConfig::Tcp(dctcp())];
    });
    let weighted = |service: &[Service]| {
        Scheduling::Classes(Classes {
            of_priority: [0, 2, 1, 0, 0, 0, 0, 0],
            service: service.to_vec(),
            quantum: 1_500,
        })
    };
    let dwrr = weighted(&[Service::Weight(14), Service::Weight(15), Service::Weight(3)]);
    let ets = weighted(&[Service::Bandwidth(70), Service::Bandwidth(30), Service::Strict]);
    add("weighted queues in switches and hosts", &|p| {
        p.switches[0].scheduling = dwrr.clone();
        p.hosts[0].scheduling = ets.clone();
    });
    add("bandwidth shares, own marking and limits, shared buffer, acknowledgements first", &|p| {
        p.switches[0].scheduling = ets.clone();
        p.hosts[0].scheduling = dwrr.clone();
        let own =
            |alpha, limit, marking| QueueConfig { buffer: shared(200_000, alpha), limit, marking };
        p.switches[0].own = vec![
            own(1.0, None, step_at(20_000, MarkAt::Enqueue)),
            own(0.5, Some(Limit::Packets(30)), red(MarkAt::Dequeue, Some(0.02))),
            own(4.0, Some(Limit::Bytes(70_000)), None),
        ];
        p.switches[0].buffer = shared(200_000, 1.0);
        p.transports = vec![TransportConfig::Tcp(TcpConfig { ack_priority: Some(1), ..dctcp() })];
        p.record.ports = Some(PortSeries {
            interval: Span::from_us(7),
            nodes: (0..p.topology.nodes.len() as u32).collect(),
        });
    });
    let few = |cores| scarce(cores, Some(1.02), Some(6), Some(0.9));
    for (name, buffer, scheduling, aqm) in [
        ("virtual output queues of one core, weighted classes", deep(None), &dwrr, None),
        ("virtual output queues of ports, weighted classes", deep(Some(1)), &dwrr, None),
        (
            "virtual output queues of cores, bandwidth shares, own marking and limits",
            deep(Some(2)),
            &ets,
            None,
        ),
        ("few credits for cores, weighted classes", few(Some(2)), &dwrr, None),
        (
            "few credits for one core, bandwidth shares, own marking and limits",
            few(None),
            &ets,
            None,
        ),
        (
            "few credits for ports, weighted classes, codel",
            few(Some(1)),
            &dwrr,
            Some(Aqm::Codel(codel(true))),
        ),
    ] {
        add(name, &|p| {
            p.switches[0].buffer = buffer.clone();
            p.switches[0].scheduling = scheduling.clone();
            p.switches[0].aqm = aqm.clone();
            if *scheduling == ets {
                let own = |limit, marking| QueueConfig { buffer: buffer.clone(), limit, marking };
                p.switches[0].own = vec![
                    own(None, step_at(20_000, MarkAt::Enqueue)),
                    own(Some(Limit::Packets(12)), red(MarkAt::Dequeue, Some(0.02))),
                    own(Some(Limit::Bytes(30_000)), None),
                ];
            }
            p.transports =
                vec![TransportConfig::Tcp(TcpConfig { ack_priority: Some(1), ..dctcp() })];
            p.flows.iter_mut().for_each(|f| f.priority = (f.id % 3) as u8);
            p.record.ports = Some(PortSeries {
                interval: Span::from_us(7),
                nodes: (0..p.topology.nodes.len() as u32).collect(),
            });
        });
    }
    add("weighted queues, codel, device queue, cut-through", &|p| {
        p.switches[0].scheduling = dwrr.clone();
        p.switches[0].aqm = Some(Aqm::Codel(codel(true)));
        p.switches[0].device_queue = 1;
        p.switches[0].cut_through = Some(64);
        p.record.waits = (0..p.topology.nodes.len() as u32).collect();
        p.transports = vec![TransportConfig::Tcp(TcpConfig { ecn: EcnMode::Classic, ..tcp() })];
    });
    add("weighted queues, red drops at dequeue, short run", &|p| {
        p.run.until = Some(Time::from_ns(123_456));
        p.switches[0].scheduling = dwrr.clone();
        p.switches[0].marking = red(MarkAt::Dequeue, None);
        p.switches[0].queue_length = QueueLength::ThroughStart;
    });
    add("occupancy until start of transmission", &|p| {
        p.switches[0].queue_length = QueueLength::BeforeTransmission
    });
    add("occupancy through start of transmission", &|p| {
        p.switches[0].queue_length = QueueLength::ThroughStart
    });
    add("cut-through", &|p| p.switches[0].cut_through = Some(64));
    add("cut-through, shared buffer, priorities", &|p| {
        p.switches[0].cut_through = Some(64);
        p.switches[0].buffer = shared(150_000, 0.5);
        p.switches[0].scheduling = Scheduling::Priorities { queues: 2 };
    });
    add("spray", &spray);
    add("murmur3", &|p| p.switches[0].hash = RouteHash::Murmur3);
    add("spray, paths recorded", &|p| {
        spray(p);
        p.record.paths = true;
    });
    add("delayed acknowledgements", &|p| {
        let delayed_ack = Some(DelayedAck { segments: 2, timeout: Span::from_us(50), quick: 0 });
        p.transports = vec![TransportConfig::Tcp(TcpConfig { delayed_ack, ..tcp() })];
    });
    add("delayed acknowledgements, dctcp", &|p| {
        p.switches[0].marking = step_at(20_000, MarkAt::Enqueue);
        p.transports = vec![TransportConfig::Tcp(TcpConfig {
            delayed_ack: Some(DelayedAck { segments: 2, timeout: Span::from_us(50), quick: 0 }),
            ..dctcp()
        })];
    });
    add("loss and link down", &|p| {
        for (i, link) in p.topology.links.iter_mut().enumerate() {
            link.loss = Probability::new(0.01).unwrap();
            if i % 7 == 3 && i >= 32 {
                link.down = vec![Down {
                    from: Time::from_ns(50_000),
                    to: Some(Time::from_ns(150_000)),
                    detect: Span::from_us(10),
                    converge: Span::ZERO,
                }];
            }
        }
        p.record.paths = true;
    });
    add("mixed rates and delays", &|p| {
        for (i, link) in p.topology.links.iter_mut().enumerate() {
            link.rate = [
                Rate::from_gbps(100),
                Rate::from_gbps(25),
                Rate::from_gbps(40),
                Rate(33_333_333_333),
            ][i % 4];
            link.delay = Span::from_ns([25, 300, 1_000, 50_000][i % 4]);
        }
    });
    add("short run", &|p| p.run.until = Some(Time::from_ns(77_777)));
    add("short run, priorities", &|p| {
        p.run.until = Some(Time::from_ns(123_456));
        p.switches[0].scheduling = Scheduling::Priorities { queues: 3 };
    });
    add("all records", &|p| {
        p.record.ports = Some(PortSeries {
            interval: Span::from_us(7),
            nodes: (0..p.topology.nodes.len() as u32).collect(),
        });
        p.record.paths = true;
        p.record.imbalance = Some(Span::from_us(20));
        p.record.captures =
            vec![Capture { link: 0, reverse: false }, Capture { link: 40, reverse: true }];
        p.record.round_trips = true;
        (p.record.gaps, p.record.waits) =
            ((0..p.topology.nodes.len() as u32).collect(), (10..30).collect());
        p.switches[0].marking = step_at(30_000, MarkAt::Enqueue);
        p.transports = vec![TransportConfig::Tcp(dctcp())];
        p.switches[0].buffer = shared(150_000, 0.5);
    });
    add("small queues, buffers that grow", &|p| {
        let receive = Receive::Buffer(ReceiveBuffer {
            initial: Bytes(65_536),
            most: Bytes(4 << 20),
            share: 128,
        });
        // Half of the hosts' links are slower than the traffic sent to them, so their queues get
        // long.
        p.topology.links.iter_mut().take(16).for_each(|link| link.rate = Rate::from_gbps(2));
        p.flows.iter_mut().filter(|f| f.id % 9 == 0).for_each(|f| f.bytes = 3_000_000);
        p.switches[0].buffer = Buffer::Unlimited;
        p.record.paths = true;
        p.transports =
            vec![TransportConfig::Tcp(TcpConfig { receive, initial_window: 400, ..linux() })];
    });
    add("last byte, nic queue limit", &|p| {
        p.run.fct_end = FctEnd::LastByte;
        p.hosts[0].queue = Some(Limit::Bytes(40_000));
    });
    add("datagrams among tcp", &|p| {
        p.transports.push(TransportConfig::Datagram(Datagram {
            rate: Some(Rate::from_gbps(30)),
            payload: 1460,
            ecn_capable: false,
        }));
        p.flows.iter_mut().filter(|f| f.id % 5 == 0).for_each(|f| f.transport = 1);
    });
    add("datagrams with reports among tcp", &|p| {
        p.transports
            .push(TransportConfig::Nack(Nack { rate: Some(Rate::from_gbps(40)), ..nack() }));
        p.transports.push(TransportConfig::Nack(nack()));
        p.flows.iter_mut().filter(|f| f.id % 3 > 0).for_each(|f| f.transport = (f.id % 3) as u16);
        p.topology.links.iter_mut().for_each(|link| link.loss = Probability::new(0.01).unwrap());
        p.record.paths = true;
    });
    add("pulls and headers", &|p| {
        (p.switches[0].buffer, p.switches[0].aqm) = (Buffer::Unlimited, trimming());
        p.transports = vec![
            TransportConfig::Ndp(ndp()),
            TransportConfig::Ndp(NdpConfig { pull_rate: 0.9, spread: false, ..ndp() }),
        ];
        p.flows.iter_mut().filter(|f| f.id % 3 == 0).for_each(|f| f.transport = 1);
        p.topology.links.iter_mut().for_each(|link| link.loss = Probability::new(0.002).unwrap());
        p.record.paths = true;
    });
    add("pulls among tcp, header queues that overflow", &|p| {
        let aqm = Some(Aqm::Trim(TrimConfig { data: 9_000, headers: 640, header: 64 }));
        (p.switches[0].buffer, p.switches[0].aqm, p.switches[0].scheduling) =
            (Buffer::Unlimited, aqm, Scheduling::Priorities { queues: 2 });
        p.transports.push(TransportConfig::Ndp(ndp()));
        p.flows.iter_mut().filter(|f| f.id % 3 > 0).for_each(|f| f.transport = 1);
        p.record.ports =
            Some(PortSeries { interval: Span::from_us(20), nodes: (30..42).collect() });
    });
    add("processors", &|p| {
        let processor = |packet, queue| {
            Some(Processor {
                packet_time: Span::from_ns(packet),
                interrupt_time: Span::from_ns(packet / 3),
                queue,
                stall: None,
            })
        };
        p.switches.push(SwitchConfig { processor: processor(60, 40), ..p.switches[0].clone() });
        (32..40).for_each(|edge| p.topology.nodes[edge].config = 1);
        let stall = Some(Stall { work: Span::from_us(30), pause: Span::from_us(20) });
        p.hosts.push(HostConfig {
            processor: Some(Processor { stall, ..processor(0, 5).unwrap() }),
            pacer: hull::pacer(),
            ..p.hosts[0].clone()
        });
        (0..8).for_each(|host| p.topology.nodes[host].config = 1);
        p.record.ports =
            Some(PortSeries { interval: Span::from_us(20), nodes: (30..42).collect() });
    });
    add("closed loop", &|p| {
        // Three rounds of queries to each of four hosts. A round starts when the last reply of the
        // previous round has arrived.
        let mut flows = Vec::new();
        for receiver in 0..4u32 {
            for round in 0..3u32 {
                for sender in 4..24u32 {
                    let start = if round == 0 {
                        Start::At(Time::ZERO)
                    } else {
                        Start::After { group: receiver * 3 + round - 1, delay: Span::from_us(3) }
                    };
                    flows.push(Flow {
                        start,
                        group: Some(receiver * 3 + round),
                        ..flow(0, sender, receiver, 30_000, Time::ZERO)
                    });
                }
            }
        }
        flows.sort_by_key(|f| matches!(f.start, Start::After { .. }));
        flows.iter_mut().enumerate().for_each(|(i, f)| f.id = i as i64);
        p.flows = flows;
    });
    plans
}

/// Number of tests that share the scenarios and the cores. Each of them is short.
const PARTS: usize = 8;

/// Tests every eighth scenario.
fn scenarios_agree(part: usize) {
    let (mut drops, mut marks) = (0, 0);
    for (name, plan) in scenarios().iter().skip(part).step_by(PARTS) {
        let output = if SEVEN_THREADS.contains(name) {
            same_with_threads(name, plan, 7)
        } else {
            same_everywhere(name, plan)
        };
        let c = output.counters;
        eprintln!(
            "{name}: {} hops, {} drops, {} marks, {} timeouts, end {}",
            c.packet_hops, c.dropped_packets, c.ecn_marks, c.timeouts, output.end
        );
        drops += (c.dropped_packets > 0) as u32;
        marks += (c.ecn_marks > 0) as u32;
    }
    assert!(drops >= 3 && marks >= 1, "{drops} scenarios with drops, {marks} with marks");
}

#[test]
fn scenarios_agree_0_of_8() {
    scenarios_agree(0);
}

#[test]
fn scenarios_agree_1_of_8() {
    scenarios_agree(1);
}

#[test]
fn scenarios_agree_2_of_8() {
    scenarios_agree(2);
}

#[test]
fn scenarios_agree_3_of_8() {
    scenarios_agree(3);
}

#[test]
fn scenarios_agree_4_of_8() {
    scenarios_agree(4);
}

#[test]
fn scenarios_agree_5_of_8() {
    scenarios_agree(5);
}

#[test]
fn scenarios_agree_6_of_8() {
    scenarios_agree(6);
}

#[test]
fn scenarios_agree_7_of_8() {
    scenarios_agree(7);
}

#[test]
fn the_scenarios_with_seven_threads_are_there() {
    let all = scenarios();
    assert!(all.len() >= 70, "{}", all.len());
    assert!(SEVEN_THREADS.iter().all(|name| all.iter().any(|(other, _)| other == name)));
}

#[test]
fn applications() {
    let two = [example(32), Wander { seed: 9, hops: 40, bytes: 200_000, ..example(20) }];
    let planned = || traffic(32, 60, 200, 200_000, 4);
    let long = || traffic(32, 20, 30, 100_000_000, 4);
    let mut open = wander(fat_tree(4, 2), &two, planned());
    open.transports = vec![TransportConfig::Tcp(TcpConfig { handshake: true, ..tcp() })];
    assert_eq!(same_everywhere("applications", &open).started.len(), 12 * 65);
    let mut cut = wander(fat_tree(4, 2), &two, long());
    cut.run.until_done = true;
    cut.switches[0].marking = step_at(30_000, MarkAt::Dequeue);
    cut.record.ports = Some(PortSeries { interval: Span::from_us(20), nodes: (32..52).collect() });
    let output = same_everywhere("applications end the run", &cut);
    assert!(output.flows.iter().any(|flow| flow.finish.is_none()), "something is cut off");
    cut.run.until = Some(Time::from_ns(150_000));
    let output = same_everywhere("the run ends before them", &cut);
    assert_eq!(output.end, Time::from_ns(150_000));
}
