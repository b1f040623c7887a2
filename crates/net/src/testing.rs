//! Builds small fabrics and plans for tests.

use crate::congestion::Flavour;
use crate::congestion::newreno::RenoFlavour;
use crate::congestion::rate::dcqcn::DcqcnParameters;
use crate::spec::*;
use crate::transport::ndp::NdpConfig;
use crate::transport::rdma::keys::RdmaMode;
use afflux_units::{Probability, Rate, Span, Time};

pub fn node(name: String, kind: NodeKind, tier: u8, group: Option<u32>) -> Node {
    Node { name, kind, config: 0, group, tier }
}

pub fn link(a: NodeId, b: NodeId, rate: Rate, delay: Span) -> Link {
    Link::new(a, b, rate, delay)
}

/// A star: one switch, links of 100 Gbps with a delay of 1 us.
pub fn star(hosts: u32) -> Topology {
    let mut nodes: Vec<Node> =
        (0..hosts).map(|h| node(format!("host{h}"), NodeKind::Host, 0, Some(0))).collect();
    nodes.push(node("switch0".into(), NodeKind::Switch, 1, Some(0)));
    let links =
        (0..hosts).map(|h| link(h, hosts, Rate::from_gbps(100), Span::from_us(1))).collect();
    Topology { nodes, links, hosts, ..Default::default() }
}

pub fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> Topology {
    let hosts = leaves * hosts_per_leaf;
    let (rate, delay) = (Rate::from_gbps(100), Span::from_us(1));
    let mut nodes: Vec<Node> = (0..hosts)
        .map(|h| node(format!("host{h}"), NodeKind::Host, 0, Some(h / hosts_per_leaf)))
        .collect();
    nodes.extend((0..leaves).map(|l| node(format!("leaf{l}"), NodeKind::Switch, 1, Some(l))));
    nodes.extend((0..spines).map(|s| node(format!("spine{s}"), NodeKind::Switch, 2, None)));
    let mut links: Vec<Link> =
        (0..hosts).map(|h| link(h, hosts + h / hosts_per_leaf, rate, delay)).collect();
    for l in 0..leaves {
        links.extend((0..spines).map(|s| link(hosts + l, hosts + leaves + s, rate, delay)));
    }
    Topology { nodes, links, hosts, ..Default::default() }
}

/// A fat tree. Aggregation switch j of each pod is linked to cores j·k/2 … j·k/2+k/2−1.
pub fn fat_tree(k: u32, oversubscription: u32) -> Topology {
    let half = k / 2;
    let per_rack = half * oversubscription;
    let (pods, racks) = (k, k * half);
    let hosts = racks * per_rack;
    let (rate, delay) = (Rate::from_gbps(100), Span::from_us(1));
    let mut nodes: Vec<Node> = (0..hosts)
        .map(|h| node(format!("host{h}"), NodeKind::Host, 0, Some(h / per_rack / half)))
        .collect();
    nodes.extend((0..racks).map(|e| node(format!("edge{e}"), NodeKind::Switch, 1, Some(e / half))));
    nodes.extend((0..racks).map(|a| node(format!("agg{a}"), NodeKind::Switch, 2, Some(a / half))));
    nodes.extend((0..half * half).map(|c| node(format!("core{c}"), NodeKind::Switch, 3, None)));
    let (edge, agg, core) = (hosts, hosts + racks, hosts + 2 * racks);
    let mut links: Vec<Link> =
        (0..hosts).map(|h| link(h, edge + h / per_rack, rate, delay)).collect();
    for pod in 0..pods {
        for e in 0..half {
            links.extend(
                (0..half).map(|a| link(edge + pod * half + e, agg + pod * half + a, rate, delay)),
            );
        }
        for a in 0..half {
            links.extend(
                (0..half).map(|c| link(agg + pod * half + a, core + a * half + c, rate, delay)),
            );
        }
    }
    Topology { nodes, links, hosts, ..Default::default() }
}

/// A BCube: a switch of each level connects the hosts that differ only in the digit of that level.
pub fn bcube(ports: u32, levels: u32) -> Topology {
    let hosts = ports.pow(levels);
    let per_level = hosts / ports;
    let mut nodes: Vec<Node> =
        (0..hosts).map(|h| node(format!("host{h}"), NodeKind::Host, 0, Some(h / ports))).collect();
    nodes.extend((0..levels * per_level).map(|s| {
        node(format!("level{}_{}", s / per_level, s % per_level), NodeKind::Switch, 1, None)
    }));
    let mut links = Vec::new();
    for host in 0..hosts {
        for level in 0..levels {
            let weight = ports.pow(level);
            let switch =
                hosts + level * per_level + host / (weight * ports) * weight + host % weight;
            links.push(link(host, switch, Rate::from_gbps(100), Span::from_us(1)));
        }
    }
    Topology { nodes, links, hosts, relays: true, ..Default::default() }
}

/// Frame sizes: 1460-byte segments in 1500-byte frames, 40-byte acknowledgements.
pub fn wire() -> Wire {
    Wire {
        name: "test".into(),
        data_header: 40,
        ack: 40,
        cnp: 40,
        syn: 52,
        sack_base: 4,
        sack_block: 8,
        min_frame: 40,
        gap: 0,
    }
}

pub fn host() -> HostConfig {
    let parts = HostParts {
        nic: NicKeys::default().resolve(&"host".into()).expect("defaults are right"),
        kind: SchedulingKind::Fifo,
        scheduling: Scheduling::One,
        qdisc: None,
    };
    HostKeys::default().resolve(&"host".into(), parts).expect("defaults are right")
}

/// Timing of real hosts, with default settings.
pub fn timing() -> Option<Timing> {
    Some(TimingKeys::default().resolve(&"host.timing".into()).expect("defaults are right"))
}

/// A queueing discipline with default settings.
pub fn qdisc(kind: &str, ring: Option<u64>, rings: u8) -> Qdisc {
    let mut keys = match kind {
        "fq_codel" => QdiscKeys::default(),
        "fq" => QdiscKeys::Fq(Default::default()),
        "pfifo" => QdiscKeys::Pfifo(Default::default()),
        other => panic!("{other:?}"),
    };
    let kind = keys
        .resolve(&"host.qdisc".into())
        .expect("defaults are right")
        .expect("one that holds frames");
    Qdisc { kind, ring, rings }
}

/// PFC with generous headroom: more than 3 round trips at 100 Gbps.
pub fn pfc(priorities: u8) -> Pfc {
    let pfc = PfcKeys::default().resolve(&"switch.pfc".into(), Formula::Sonic, 0);
    Pfc { priorities, deadlock_after: None, ..pfc.expect("defaults are right") }
}

/// SONiC's rules without reserves. They hardly limit lossy traffic.
pub fn sonic_rules(alpha: f64) -> SonicRules {
    SonicRules {
        alpha,
        reserved: 0,
        lossy_ingress_alpha: None,
        lossy_alpha: 8.0,
        queue_reserved: 0,
        lossy_pool: None,
        headroom_pool: None,
        xon: 0,
        xon_offset: 0,
        own: Box::default(),
    }
}

/// Memory that counts bytes.
pub fn mmu(total: u64, rules: Rules) -> Mmu {
    Mmu { total, cell: None, bypass: 0, rules }
}

pub fn switch() -> SwitchConfig {
    let parts = SwitchParts {
        buffer: Buffer::Static { per_queue: Limit::Bytes(225_000), drop_when: Compare::Above },
        pfc: None,
        marking: None,
        aqm: None,
        scheduling: Scheduling::One,
        own: Vec::new(),
        balance: Balance::default(),
    };
    SwitchKeys::default().resolve(&"switch".into(), parts).expect("defaults are right")
}

pub fn fq_codel(codel: CodelConfig, quantum: u32, flows: u32, limit: u32, drop_batch: u32) -> Aqm {
    Aqm::FqCodel(FqCodelConfig {
        target: codel.target,
        interval: codel.interval,
        ecn: codel.ecn,
        quantum,
        flows,
        limit,
        drop_batch,
    })
}

/// Marking at enqueue of frames that find a queue longer than `threshold`.
pub fn step(threshold: Limit) -> Marking {
    Marking {
        kmin: threshold,
        kmax: threshold,
        pmax: Probability::ONE,
        at: MarkAt::Enqueue,
        compare: Compare::Above,
        average_weight: None,
        idle_frame: None,
        incapable: Incapable::Drop,
        gentle: false,
        spacing: Spacing::Independent,
        hard_drop: false,
    }
}

pub fn newreno() -> CongestionControl {
    CongestionControl::Newreno(NewrenoConfig { flavour: RenoFlavour::Linux })
}

/// DCTCP with an alpha at the start.
pub fn dctcp_from(initial_alpha: f64) -> CongestionControl {
    CongestionControl::Dctcp(DctcpConfig { gain: 0.0625, initial_alpha, flavour: Flavour::Linux })
}

pub fn rfc5681() -> CongestionControl {
    CongestionControl::Newreno(NewrenoConfig { flavour: RenoFlavour::Rfc5681 })
}

pub fn ledbatpp() -> LedbatppConfig {
    LedbatppConfig {
        target: Span::from_ms(60),
        slowest: 16,
        constant: 1.0,
        base_history: 10,
        base_interval: Span::from_s(60),
        slowdown_interval: 9,
    }
}

pub fn tcp() -> TcpConfig {
    TcpConfig {
        min_rto: Span::from_us(200),
        initial_rto: Span::from_ms(1),
        max_rto: Span::from_s(60),
        ..TcpConfig::basic(newreno(), 1460)
    }
}

/// The transports of a plan with TCP alone.
pub fn tcp_only(config: TcpConfig) -> Vec<TransportConfig> {
    vec![TransportConfig::Tcp(config)]
}

/// TCP with the settings of Linux, but a minimum time-out of 10 ms.
pub fn linux() -> TcpConfig {
    TcpConfig {
        recovery: Recovery::Rack,
        proportional_reduction: true,
        tail_probe: true,
        undo: true,
        idle_restart: true,
        burst: Burst::Linux,
        small_queues: true,
        kernel: true,
        delayed_ack: Some(DelayedAck { segments: 2, timeout: Span::from_ms(40), quick: 16 }),
        sack_compression: Some(SackCompression { part: 20, most: Span::from_ms(1), segments: 44 }),
        handshake: true,
        min_rto: Span::from_ms(10),
        min_rto_on_variance: true,
        estimator: Estimator::Linux,
        ..tcp()
    }
}

pub fn dctcp() -> TcpConfig {
    TcpConfig { congestion: dctcp_from(1.0), ecn: EcnMode::Dctcp, ..tcp() }
}

/// RDMA as in ConWeave's ns-3: DCQCN of NVIDIA's adapters, go-back-N.
pub fn rdma() -> RdmaConfig {
    RdmaConfig {
        payload: 1460,
        pauses: RdmaMode::Lossless.pauses(),
        recovery: RdmaRecovery::GoBackN { rto: Span::from_ms(4) },
        control: RateControl::Dcqcn(dcqcn()),
        window: RdmaWindow::None,
        cnp: Cnp::Ack,
        entropy: Entropy::Flow,
        cnp_out_of_order: true,
        nack_interval: Span::from_us(4),
        ack_priority: None,
    }
}

pub fn dcqcn() -> DcqcnConfig {
    DcqcnConfig {
        parameters: DcqcnParameters::Conweave,
        g: 1.0 / 256.0,
        decrease_period: Some(Span::from_us(4)),
        alpha_period: Span::from_us(1),
        increase_period: Span::from_us(300),
        byte_counter: None,
        fast_recovery: 1,
        additive: 40_000_000,
        hyper: 100_000_000,
        min_rate: 100_000_000,
        clamp_target: false,
        first_rate: 1.0,
        initial_alpha: 1.0,
    }
}

/// TIMELY with thresholds for round trips of some microseconds.
pub fn timely() -> TimelyConfig {
    TimelyConfig {
        t_low: Span::from_us(10),
        t_high: Span::from_us(100),
        min_rtt: Span::from_us(8),
        weight: 0.875,
        beta: 0.8,
        additive: 100_000_000,
        hyper_after: 5,
        segment: 16_000,
        min_rate: 100_000_000,
    }
}

pub fn swift() -> SwiftConfig {
    SwiftConfig {
        base: Span::from_us(6),
        hop: Span::from_us(1),
        fs_range: Span::from_us(30),
        fs_min: 0.1,
        fs_max: 100.0,
        ai: 1.0,
        beta: 0.8,
        max_mdf: 0.5,
        initial_window: 12.0,
        min_window: 0.01,
        max_window: 1e6,
        timeouts: 5,
    }
}

pub fn hpcc() -> HpccConfig {
    HpccConfig { eta: 0.95, max_stage: 5, additive: 80.0, base_rtt: None }
}

pub fn irn() -> RdmaConfig {
    let irn = Irn {
        bdp: None,
        few: 3,
        rto_low: Span::from_us(100),
        rto_high: Span::from_us(320),
        timeouts: true,
        ns3: false,
    };
    RdmaConfig { recovery: RdmaRecovery::Irn(irn), ..rdma() }
}

/// Returns each transport that repairs losses, some of them in two forms.
pub fn reliable() -> Vec<TransportConfig> {
    vec![
        TransportConfig::Tcp(tcp()),
        TransportConfig::Tcp(linux()),
        TransportConfig::Mptcp(mptcp()),
        TransportConfig::Rdma(rdma()),
        TransportConfig::Rdma(irn()),
        TransportConfig::Pfabric(pfabric()),
        TransportConfig::Pdq(pdq()),
        TransportConfig::D3(d3()),
        TransportConfig::Nack(nack()),
        TransportConfig::Ndp(ndp()),
    ]
}

/// MPTCP with two subflows between the same addresses, and LIA.
pub fn mptcp() -> MptcpConfig {
    MptcpConfig {
        tcp: TcpConfig { congestion: CongestionControl::Coupled(Coupling::Lia), ..tcp() },
        receive: Receive::Unlimited,
        manager: PathManager::DiffPorts(2),
        scheduler: PathScheduler::LowestRtt,
        opportunistic: true,
    }
}

/// Two hosts with one disjoint path per entry of `rates`, each with two switches and 5 us per link.
pub fn parallel(rates: &[Rate]) -> Topology {
    let mut nodes = vec![
        node("host0".into(), NodeKind::Host, 0, None),
        node("host1".into(), NodeKind::Host, 0, None),
    ];
    let mut links = Vec::new();
    for (way, &rate) in rates.iter().enumerate() {
        let near = nodes.len() as u32;
        nodes.push(node(format!("near{way}"), NodeKind::Switch, 1, None));
        nodes.push(node(format!("far{way}"), NodeKind::Switch, 1, None));
        let fast = Rate::from_gbps(100);
        links.extend([
            link(0, near, fast, Span::from_us(5)),
            link(near, near + 1, rate, Span::from_us(5)),
            link(near + 1, 1, fast, Span::from_us(5)),
        ]);
    }
    Topology { nodes, links, hosts: 2, ..Default::default() }
}

/// Transport of the pFabric study: a window of 12 to 23 segments, time-outs of 45 us, probes after
/// five time-outs.
pub fn pfabric() -> Pfabric {
    let rto = Span::from_us(45);
    let tcp = TcpConfig {
        initial_window: 12,
        max_window: Some(23),
        dupack_threshold: None,
        min_rto: rto,
        initial_rto: rto,
        ..tcp()
    };
    Pfabric {
        tcp,
        fixed_timeout: true,
        probe_after: Some(5),
        constant_window: false,
        ranked: true,
        pooled: false,
    }
}

/// TCP that the pFabric study compares with: a window of up to 149 segments, estimated time-outs of
/// at least 200 us.
pub fn ns2_tcp(congestion: CongestionControl) -> Pfabric {
    let ecn = if matches!(congestion, CongestionControl::Dctcp(_)) {
        EcnMode::Dctcp
    } else {
        EcnMode::Off
    };
    let rto = Span::from_us(200);
    let tcp = TcpConfig {
        congestion,
        ecn,
        max_window: Some(149),
        min_rto: rto,
        initial_rto: rto,
        ..pfabric().tcp
    };
    Pfabric {
        tcp,
        fixed_timeout: false,
        probe_after: None,
        constant_window: false,
        ranked: false,
        pooled: false,
    }
}

pub fn flow(id: i64, src: u32, dst: u32, bytes: u64, start: Time) -> Flow {
    Flow {
        id,
        src,
        dst,
        bytes,
        start: Start::At(start),
        stop: Flow::ENDLESS,
        deadline: None,
        class: 0,
        job: Flow::NO_JOB,
        transport: 0,
        group: None,
        connection: None,
        priority: 0,
    }
}

pub fn plan(topology: Topology, flows: Vec<Flow>) -> Plan {
    Plan {
        topology,
        hosts: vec![host()],
        switches: vec![switch()],
        transports: tcp_only(tcp()),
        wire: wire(),
        flows,
        undrawn: Vec::new(),
        applications: None,
        run: RunConfig { stall: None, ..RunConfig::default() },
        record: Record::default(),
    }
}

/// PDQ with settings for round trips of some microseconds.
pub fn pdq() -> Pdq {
    let (min_rto, interval) = (Span::from_us(500), Span::from_us(10));
    let (early_start, suppressed_probing, dampening, max_flows) =
        (2.0, 0.2, Span::from_us(10), 1_000);
    Pdq {
        payload: 1444,
        header: 16,
        min_rto,
        interval,
        early_termination: true,
        early_start,
        suppressed_probing,
        dampening,
        max_flows,
    }
}

pub fn d3() -> D3 {
    let Pdq { payload, header, min_rto, interval, early_termination: quench, .. } = pdq();
    D3 {
        payload,
        header,
        min_rto,
        interval,
        quench,
        base_rate: Rate::from_mbps(40),
        alpha: 0.1,
        beta: 1.0,
        forget: Some(Span::from_ms(2)),
    }
}

pub fn nack() -> Nack {
    Nack { rate: None, payload: 1460, report: Span::from_us(20), timeout: Span::from_us(60) }
}

/// NDP with a first window of 12 frames.
pub fn ndp() -> NdpConfig {
    NdpConfig {
        payload: 1460,
        initial_window: 12,
        pull_rate: 1.0,
        spread: true,
        rto: Span::from_us(200),
    }
}

/// Queues of eight full frames that trim.
pub fn trimming() -> Option<Aqm> {
    Some(Aqm::Trim(TrimConfig { data: 12_000, headers: 24_000, header: 64 }))
}
