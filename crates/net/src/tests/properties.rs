//! throw-away probes
use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Bytes, Probability, Rate, Span, Time};

fn digest(o: &Output) -> String {
    format!("{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}", o.end, o.counters, o.flows, o.links, o.ports, o.paths, o.uplinks, o.captures)
}
fn with(p: &Plan, e: EngineKind, t: u32) -> Output {
    let mut p = p.clone();
    p.run.engine = e;
    p.run.threads = t;
    run(&p, &Progress::default()).unwrap()
}
fn compare(name: &str, p: &Plan) -> bool {
    let a = digest(&with(p, EngineKind::Classical, 1));
    for t in [1, 2, 3] {
        let b = digest(&with(p, EngineKind::WindowLog, t));
        if a != b {
            for (x, y) in a.lines().zip(b.lines()) {
                if x != y {
                    let at = x.bytes().zip(y.bytes()).position(|(x, y)| x != y).unwrap_or(0);
                    let c = |s: &str| s[at.saturating_sub(120)..(at + 100).min(s.len())].to_string();
                    eprintln!("MISMATCH {name} threads {t}\n  classical {}\n  window    {}", c(x), c(y));
                    break;
                }
            }
            return false;
        }
    }
    true
}

/// until inside the window of the only frame
#[test]
fn p1_until_in_window() {
    for until in [500, 1_000, 1_100, 1_119, 1_120, 1_500, 2_000, 2_200, 2_239, 2_240, 3_000, 3_300, 4_200] {
        let mut p = plan(star(2), vec![flow(0, 0, 1, 1000, Time::ZERO)]);
        p.run.until = Some(Time::from_ns(until));
        compare(&format!("until {until}"), &p);
    }
}

#[test]
fn p2_samples_past_until() {
    for (interval, until) in [(60, 100), (200, 100), (30, 100), (7, 100)] {
        for nodes in 1..4u32 {
            let mut p = plan(star(4), vec![flow(0, 0, 1, 3_000_000, Time::ZERO), flow(1, 2, 1, 1000, Time::from_ns(50_000))]);
            p.run.until = Some(Time::from_ns(until * 1000));
            p.record.ports = Some(PortSeries { interval: Span::from_us(interval), nodes: (4 - nodes + 1..5).collect() });
            p.transports = vec![TransportConfig::Tcp(TcpConfig { max_window: Some(1), initial_window: 1, ..tcp() })];
            compare(&format!("samples {interval} until {until} nodes {nodes}"), &p);
        }
    }
}

#[test]
fn p3_karn() {
    let mut p = plan(star(2), vec![flow(0, 0, 1, 146_000, Time::ZERO)]);
    p.transports =
        vec![TransportConfig::Tcp(TcpConfig { max_window: Some(1), initial_window: 1, initial_rto: Span::from_us(1), min_rto: Span::from_us(1), ..tcp() })];
    let o = run(&p, &Progress::default()).unwrap();
    eprintln!("karn: {:?}", o.flows[0]);
}

#[test]
fn p4_window_limit() {
    let mut p = plan(star(2), vec![flow(0, 0, 1, 1_460_000, Time::ZERO)]);
    p.transports = vec![TransportConfig::Tcp(TcpConfig { max_window: Some(1), initial_window: 1, ecn: EcnMode::Dctcp, ..dctcp() })];
    p.switches[0].marking = Some(Marking {
        kmin: Limit::Bytes(0),
        kmax: Limit::Bytes(0),
        pmax: Probability::ONE,
        at: MarkAt::Enqueue,
        compare: Compare::AtOrAbove,
        average_weight: None,
        drop_incapable: false,
    });
    p.record.ports = Some(PortSeries { interval: Span::from_ms(100), nodes: vec![0] });
    p.run.until = Some(Time::from_ns(1_000_000));
    let o = run(&p, &Progress::default()).unwrap();
    eprintln!("limit 1: sent {} in {} ; {:?}", o.flows[0].packets_sent, o.end, o.flows[0].finish);
}

#[test]
fn p5_paths() {
    let mut t = leaf_spine(2, 2, 1);
    for (i, l) in t.links.iter_mut().enumerate() {
        if t.nodes[l.b as usize].name == "spine1" && t.nodes[l.a as usize].name == "leaf0" {
            eprintln!("link {i} down");
            l.down = vec![Down { from: Time::from_ns(100_000), to: None, detect: Span::ZERO }];
        }
    }
    let mut p = plan(t, (0..20).map(|i| flow(i, 0, 1, 1000, Time::from_ns(200_000 + i as u64))).collect());
    p.record.paths = true;
    let o = run(&p, &Progress::default()).unwrap();
    eprintln!("paths {:?}", o.paths.iter().take(3).collect::<Vec<_>>());
    let _ = (Rate(1), Bytes(1));
}

#[test]
fn p6_big_star() {
    let mut p = plan(star(8300), (0..8299).map(|i| flow(i as i64, i as u32, 8299, 1460, Time::ZERO)).collect());
    p.switches[0].buffer = Buffer::Static { per_queue: Limit::Bytes(6_000_000), drop_when: Compare::Above };
    p.record.explain = false;
    compare("big star", &p);
}

#[test]
fn p7_classic_ecn_reductions() {
    let mut p = plan(star(3), vec![flow(0, 0, 2, 200_000_000, Time::ZERO)]);
    p.topology.links[2].rate = Rate::from_gbps(10);
    p.topology.links[2].delay = Span::from_us(50);
    p.transports = vec![TransportConfig::Tcp(TcpConfig { ecn: EcnMode::Classic, ..tcp() })];
    p.switches[0].buffer = Buffer::Unlimited;
    // threshold one BDP: halving once never leaves the link idle
    p.switches[0].marking = Some(Marking {
        kmin: Limit::Packets(100),
        kmax: Limit::Packets(100),
        pmax: Probability::ONE,
        at: MarkAt::Enqueue,
        compare: Compare::Above,
        average_weight: None,
        drop_incapable: false,
    });
    p.record.captures = vec![Capture { link: 0, reverse: false }];
    p.record.ports = Some(PortSeries { interval: Span::from_us(200), nodes: vec![3] });
    let o = run(&p, &Progress::default()).unwrap();
    let cwr: Vec<_> = o.captures[0].iter().filter(|c| c.cwr).map(|c| (c.time.0 / 1_000_000, c.sequence / 1460)).collect();
    eprintln!("cwr at us: {:?}", &cwr[..cwr.len().min(20)]);
    let l: Vec<_> = o.ports.iter().filter(|r| r.port == 2).map(|r| r.queue_bytes / 1500).skip(20).take(60).collect();
    eprintln!("queue {l:?} fct {:?} link busy {}", o.flows[0].finish, o.links[5].busy);
}
