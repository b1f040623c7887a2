//! Packet-hops per second of a permutation on a fat-tree: `speed K BYTES ENGINE [explain] [threads]`.
use afflux_net::spec::*;
use afflux_net::{Progress, run};
use afflux_units::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let k: u32 = args[1].parse().unwrap();
    let bytes: u64 = args[2].parse().unwrap();
    let engine = if args[3] == "classical" { EngineKind::Classical } else { EngineKind::WindowLog };
    let explain = args.get(4).is_some_and(|a| a == "explain");
    let threads: u32 = args.get(5).map_or(1, |a| a.parse().unwrap());
    let flows_per_host: u32 = args.get(6).map_or(1, |a| a.parse().unwrap());
    let half = k / 2;
    let hosts = k * half * half;
    let racks = k * half;
    let (rate, delay) = (Rate::from_gbps(100), Span::from_us(1));
    let node = |name: String, kind, tier, group| Node { name, kind, config: 0, group, tier };
    let mut nodes: Vec<Node> = (0..hosts).map(|h| node(format!("host{h}"), NodeKind::Host, 0, Some(h / half / half))).collect();
    nodes.extend((0..racks).map(|e| node(format!("edge{e}"), NodeKind::Switch, 1, Some(e / half))));
    nodes.extend((0..racks).map(|a| node(format!("agg{a}"), NodeKind::Switch, 2, Some(a / half))));
    nodes.extend((0..half * half).map(|c| node(format!("core{c}"), NodeKind::Switch, 3, None)));
    let (edge, agg, core) = (hosts, hosts + racks, hosts + 2 * racks);
    let link = |a, b| Link { a, b, rate, delay, loss: Probability::ZERO, down: vec![] };
    let mut links: Vec<Link> = (0..hosts).map(|h| link(h, edge + h / half)).collect();
    for pod in 0..k {
        for e in 0..half {
            links.extend((0..half).map(|a| link(edge + pod * half + e, agg + pod * half + a)));
        }
        for a in 0..half {
            links.extend((0..half).map(|c| link(agg + pod * half + a, core + a * half + c)));
        }
    }
    let mut s = afflux_engine::random::Stream::new(1, 2, 3);
    let mut flows = Vec::new();
    for r in 0..flows_per_host {
        let shift = 1 + s.below(hosts as u64 - 1) as u32;
        for h in 0..hosts {
            flows.push(Flow {
                id: (r * hosts + h) as i64,
                src: h,
                dst: (h + shift + (s.below(3) as u32) * half) % hosts,
                bytes,
                start: Start::At(Time(0)),
                deadline: None,
                class: 0,
                job: u32::MAX,
                transport: 0,
                group: None,
                priority: 0,
            });
        }
    }
    flows.retain(|f| f.src != f.dst);
    let plan = Plan {
        topology: Topology { nodes, links, hosts },
        hosts: vec![HostConfig { delay: Span::ZERO, queue: None, scheduling: Scheduling::Fifo }],
        switches: vec![SwitchConfig {
            buffer: Buffer::Shared { total: 200_000 * k as u64, alpha: 1.0, reserved_per_queue: 0 },
            marking: Some(Marking {
                kmin: Limit::Bytes(100_000),
                kmax: Limit::Bytes(100_000),
                pmax: Probability::ONE,
                at: MarkAt::Enqueue,
                compare: Compare::Above,
                average_weight: None,
                drop_incapable: true,
            }),
            scheduling: Scheduling::Fifo,
            forwarding: Forwarding::StoreAndForward,
            latency: Span::ZERO,
            balance: Balance::Ecmp(RouteHash::OwnSeed),
            queue_length: QueueLength::ThroughTransmission,
        }],
        transports: vec![TransportConfig::Tcp(TcpConfig {
            congestion: CongestionControl::Dctcp(DctcpConfig { gain_shift: 4, initial_alpha: 1024 }),
            mss: 1460,
            initial_window: 10,
            max_window: None,
            receive_window: None,
            recovery: Recovery::Sack,
            dupack_threshold: Some(3),
            delayed_ack: None,
            min_rto: Span::from_ms(1),
            min_rto_on_variance: false,
            initial_rto: Span::from_ms(1),
            max_rto: Span::from_s(1),
            ecn: EcnMode::Dctcp,
        })],
        wire: Wire { name: "".into(), data_header: 58, ack: 64, sack_base: 2, sack_block: 8, min_frame: 64, gap: 20 },
        flows,
        run: RunConfig { seed: 1, until: None, fct_end: FctEnd::LastAck, engine, threads },
        record: Record { explain, ..Record::default() },
    };
    let t = std::time::Instant::now();
    let out = run(&plan, &Progress::default()).unwrap();
    let c = out.counters;
    let cpu: f64 = out.engine.thread_cpu_s.iter().sum();
    let last = out.flows.iter().filter_map(|f| f.finish).max();
    println!(
        "hops {} drops {} marks {} timeouts {} end {} lastflow {:?} wall {:.2} cpu {:?} Mhop/s {:.2} ns/hop {:.1}",
        c.packet_hops,
        c.dropped_packets,
        c.ecn_marks,
        c.timeouts,
        out.end,
        last.map(|t| t.to_string()),
        t.elapsed().as_secs_f64(),
        out.engine.thread_cpu_s,
        c.packet_hops as f64 / cpu / 1e6,
        cpu * 1e9 / c.packet_hops as f64
    );
    let rss = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", rss.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}
