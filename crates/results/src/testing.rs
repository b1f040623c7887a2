//! A small handmade run for tests.

use afflux_net::record::{
    Counters, Engine, FlowRecord, LinkRecord, Output, PortRecord, Split, Status,
};
use afflux_net::spec::{
    Flow, Link, Node, NodeKind, Plan, PortSeries, Record, RunConfig, Start, Topology, Wire,
};
use afflux_scenario::{Job, JobKind, Packets, Scenario, Warning};
use afflux_units::{Rate, Span, Time};

/// Returns a flow that starts at `start` ps.
pub fn flow(src: u32, dst: u32, bytes: u64, start: u64) -> Flow {
    Flow {
        id: 100,
        src,
        dst,
        bytes,
        start: Start::At(Time(start)),
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

/// Returns the record of a flow that took `fct` ps: a third of it queueing, and a third of the rest
/// propagation.
pub fn finished_flow(start: u64, fct: u64) -> FlowRecord {
    let queueing = fct / 3;
    FlowRecord {
        start: Some(Time(start)),
        finish: Some(Time(start + fct)),
        given_up: None,
        status: Status::Finished,
        ideal: Span(fct - queueing),
        propagation: Span((fct - queueing) / 3),
        split: Split { queueing, ..Split::default() },
        packets_sent: 12,
        packets_retransmitted: 2,
        timeouts: 1,
        ecn_marked: 4,
        packets_reordered: 3,
        bytes_received: 1_000,
        last_received: Some(Time(start + fct)),
    }
}

/// Returns four hosts under two leaves with two spines. Links 0–3 belong to the hosts, links 4–7
/// are uplinks.
pub fn topology() -> Topology {
    let node =
        |name: &str, kind, group, tier| Node { name: name.into(), kind, config: 0, group, tier };
    let mut nodes: Vec<Node> = (0..4)
        .map(|host| node(&format!("host{host}"), NodeKind::Host, Some(host / 2), 0))
        .collect();
    nodes.extend((0..2).map(|leaf| node(&format!("leaf{leaf}"), NodeKind::Switch, Some(leaf), 1)));
    nodes.extend((0..2).map(|spine| node(&format!("spine{spine}"), NodeKind::Switch, None, 2)));
    let ends = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)];
    let link = |(a, b)| Link::new(a, b, Rate::from_gbps(10), Span::from_us(1));
    Topology { nodes, links: ends.into_iter().map(link).collect(), hosts: 4, ..Default::default() }
}

fn plan() -> Plan {
    let flows = vec![
        Flow { id: 7, job: 0, deadline: Some(Span::from_us(50)), ..flow(0, 2, 50_000, 1_000_000) },
        Flow {
            id: 8,
            class: 1,
            deadline: Some(Span::from_us(50)),
            ..flow(1, 3, 5_000_000, 2_000_499)
        },
        Flow {
            id: 9,
            start: Start::After { group: 0, delay: Span::from_us(1) },
            ..flow(2, 0, 100, 0)
        },
    ];
    Plan {
        topology: topology(),
        hosts: Vec::new(),
        switches: Vec::new(),
        transports: Vec::new(),
        wire: Wire {
            name: "ethernet".into(),
            data_header: 58,
            ack: 64,
            cnp: 64,
            syn: 64,
            sack_base: 4,
            sack_block: 8,
            min_frame: 64,
            gap: 20,
        },
        flows,
        undrawn: Vec::new(),
        applications: None,
        run: RunConfig { seed: 3, threads: 2, stall: None, ..RunConfig::default() },
        record: Record {
            ports: Some(PortSeries { interval: Span::from_us(10), nodes: vec![4] }),
            ..Record::default()
        },
    }
}

fn records() -> Vec<FlowRecord> {
    let unfinished = FlowRecord {
        finish: None,
        status: Status::Running,
        split: Split::default(),
        ..finished_flow(2_000_499, 40_000_000)
    };
    let finished = FlowRecord { bytes_received: 50_000, ..finished_flow(1_000_000, 40_000_001) };
    vec![finished, unfinished.clone(), FlowRecord { start: None, bytes_received: 0, ..unfinished }]
}

fn scenario() -> Scenario {
    Scenario {
        name: "small".into(),
        plan: plan(),
        classes: vec!["default".into(), "batch".into()],
        jobs: vec![Job::new(JobKind::Query, "query.0", None)],
        blocks: vec!["query".into()],
        warmup: Span::ZERO,
        size_bounds: vec![100_000, 10_000_000],
        resolved: "format = 1\n".into(),
        hash: "abc".into(),
        notes: vec!["a note".into()],
        warnings: vec![Warning {
            message: "small.toml:3: key switch.ecn: marks nothing".into(),
            file: "small.toml".into(),
            line: Some(3),
            key: "switch.ecn".into(),
            text: "marks nothing".into(),
        }],
        cost: None,
        switch_settings: Vec::new(),
        own_congestion: None,
        kernels: Vec::new(),
        followed: None,
        packets: Packets { mtu: 1500, link_header: 18, priority_of_dscp: [0; 64] },
    }
}

/// Returns a run with three flows: one finished in a job, one unfinished with a deadline, one not
/// started.
pub fn run() -> (Scenario, Output) {
    let port = PortRecord {
        time: Time::from_ns(10_000),
        node: 4,
        port: 2,
        queue: -1,
        queue_bytes: 1,
        queue_bytes_max: 2,
        tx_bytes: 3,
        rx_bytes: 4,
        drops: 5,
        in_discards: 6,
        ecn_marks: 7,
        cnps: 12,
        pause_frames_tx: 8,
        pause_frames_rx: 9,
        paused: 10_499,
        latency_max: 11_500,
    };
    let counters = Counters {
        packet_hops: 100,
        sent_packets: 20,
        sent_bytes: 20_000,
        delivered_packets: 15,
        delivered_bytes: 15_000,
        in_flight_packets: 2,
        in_flight_bytes: 2_000,
        dropped_packets: 3,
        dropped_bytes: 3_000,
        drops_buffer: 1,
        drops_loss: 2,
        ecn_marks: 4,
        retransmits: 2,
        timeouts: 1,
        ..Counters::default()
    };
    let output = Output {
        flows: records(),
        links: (0..16)
            .map(|link| LinkRecord { frames: link, bytes: 1_000 * link, busy: 1_000_000 * link })
            .collect(),
        ports: vec![port],
        counters,
        end: Time::from_ns(100_000),
        engine: Engine {
            events: 55,
            thread_cpu_s: vec![0.25, 0.5],
            wall_s: 0.5,
            window_ps: 1,
            windows: 50,
        },
        ..Output::default()
    };
    (scenario(), output)
}
