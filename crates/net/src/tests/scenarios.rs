//! Named scenarios that differ from a base by a change, and changes that several tests make.

use crate::spec::*;
use crate::testing::*;
use afflux_units::{Probability, Rate, Span, Time};

/// Scenarios on the same base.
pub struct Scenarios {
    base: Plan,
    pub plans: Vec<(&'static str, Plan)>,
}

impl Scenarios {
    pub fn new(base: Plan) -> Self {
        Scenarios { base, plans: Vec::new() }
    }

    /// Adds the base with a change.
    pub fn add(&mut self, name: &'static str, change: impl FnOnce(&mut Plan)) {
        self.add_to(self.base.clone(), name, change);
    }

    /// Adds the base with TCP of this configuration and a change of the switches.
    pub fn add_switch(
        &mut self,
        name: &'static str,
        config: TcpConfig,
        change: impl FnOnce(&mut SwitchConfig),
    ) {
        self.add(name, |p| {
            p.transports = tcp_only(config);
            change(&mut p.switches[0]);
        });
    }

    /// Adds another base with a change.
    pub fn add_to(&mut self, mut base: Plan, name: &'static str, change: impl FnOnce(&mut Plan)) {
        change(&mut base);
        self.plans.push((name, base));
    }
}

/// TCP that reacts to marks as in RFC 3168.
pub fn classic() -> TcpConfig {
    TcpConfig { ecn: EcnMode::Classic, ..tcp() }
}

/// TCP for an active queue management that marks or drops.
pub fn tcp_for(marks: bool) -> TcpConfig {
    if marks { classic() } else { tcp() }
}

pub fn step_at(bytes: u64, at: MarkAt) -> Option<Marking> {
    Some(Marking { at, ..step(Limit::Bytes(bytes)) })
}

pub fn red(at: MarkAt, weight: Option<f64>) -> Option<Marking> {
    Some(Marking {
        kmax: Limit::Bytes(80_000),
        pmax: Probability::new(0.3).unwrap(),
        at,
        compare: Compare::AtOrAbove,
        average_weight: weight,
        ..step(Limit::Bytes(20_000))
    })
}

pub fn codel(ecn: bool) -> CodelConfig {
    CodelConfig { target: Span::from_us(2), interval: Span::from_us(20), ecn }
}

pub fn fast_pie(ecn: bool) -> PieConfig {
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

pub fn fast_pi2(coupling: Option<f64>) -> Pi2Config {
    let (target, t_update, ecn) = (Span::from_us(2), Span::from_us(2), coupling.is_some());
    Pi2Config { target, t_update, alpha: 1_000.0, beta: 10_000.0, ecn, scalable: ecn, coupling }
}

pub fn shared(total: u64, alpha: f64) -> Buffer {
    Buffer::Shared { total, alpha, reserved_per_queue: 0 }
}

/// Scheduling by strict priority in this number of queues.
pub fn priorities(queues: u8) -> Scheduling {
    Scheduling::Priorities { queues }
}

/// Makes the switches lossless, with this memory.
pub fn make_lossless(p: &mut Plan, memory: Mmu, pfc: Pfc) {
    let switch = &mut p.switches[0];
    (switch.buffer, switch.pfc, switch.honours_pause) = (Buffer::Mmu(memory), Some(pfc), true);
}

/// PFC whose pauses last for 5 us.
pub fn short_pauses(priorities: u8) -> Pfc {
    Pfc { pause: PauseTime::Time(Span::from_us(5)), ..pfc(priorities) }
}

/// Serves eight priorities strictly, in switches and hosts.
pub fn strict(p: &mut Plan) {
    (p.switches[0].scheduling, p.hosts[0].scheduling) = (priorities(8), priorities(8));
}

/// Gives the flows the priorities 0 to 2 in turn.
pub fn take_turns(p: &mut Plan) {
    p.flows.iter_mut().for_each(|f| f.priority = (f.id % 3) as u8);
}

pub fn all_nodes(p: &Plan) -> Vec<NodeId> {
    (0..p.topology.nodes.len() as u32).collect()
}

/// Samples the ports of these nodes.
pub fn samples(us: u64, nodes: impl IntoIterator<Item = NodeId>) -> Option<PortSeries> {
    Some(PortSeries { interval: Span::from_us(us), nodes: nodes.into_iter().collect() })
}

/// Samples all ports every 7 us.
pub fn sample_ports(p: &mut Plan) {
    p.record.ports = samples(7, all_nodes(p));
}

/// Captures a link in one direction.
pub fn capture(link: u32, reverse: bool) -> Capture {
    Capture { link, reverse }
}

pub const UNEQUAL_RATES: [Rate; 4] =
    [Rate::from_gbps(100), Rate::from_gbps(25), Rate::from_gbps(40), Rate(33_333_333_333)];
pub const UNEQUAL_DELAYS: [u64; 4] = [25, 300, 1_000, 50_000];

/// Gives the links these rates in turn, and these delays in ns.
pub fn mix(topology: &mut Topology, rates: &[Rate], delays: &[u64]) {
    for (i, link) in topology.links.iter_mut().enumerate() {
        link.rate = rates[i % rates.len()];
        link.delay = Span::from_ns(delays[i % delays.len()]);
    }
}

/// Makes the links lose frames.
pub fn lose<'a>(links: impl IntoIterator<Item = &'a mut Link>, probability: f64) {
    let loss = Probability::new(probability).unwrap();
    links.into_iter().for_each(|link| link.loss = loss);
}

/// Interrupts links from 50 to 150 us.
pub fn interrupt<'a>(links: impl IntoIterator<Item = &'a mut Link>) {
    for link in links {
        link.down = vec![Down {
            from: Time::from_ns(50_000),
            to: Some(Time::from_ns(150_000)),
            detect: Span::from_us(10),
            converge: Span::ZERO,
        }];
    }
}

/// Sorts flows by their start.
pub fn by_start(mut flows: Vec<Flow>) -> Vec<Flow> {
    flows.sort_by_key(|flow| match flow.start {
        Start::At(time) => time,
        Start::After { .. } => Time(u64::MAX),
    });
    flows
}

/// Sorts flows by their start, and numbers them.
pub fn numbered(flows: Vec<Flow>) -> Vec<Flow> {
    let mut flows = by_start(flows);
    flows.iter_mut().enumerate().for_each(|(id, flow)| flow.id = id as i64);
    flows
}
