//! Connections over several paths.

use super::determinism::{same_everywhere, traffic};
use crate::spec::*;
use crate::testing::*;
use crate::record::Output;
use crate::{Progress, run};
use afflux_units::{Bytes, Probability, Rate, Span, Time};

const COUPLINGS: [Coupling; 5] = [Coupling::Lia, Coupling::Olia, Coupling::Balia, Coupling::Wvegas, Coupling::QueueAware { segments: 10 }];

fn coupled(coupling: Coupling) -> MptcpConfig {
    MptcpConfig { tcp: TcpConfig { congestion: CongestionControl::Coupled(coupling), ..mptcp().tcp }, ..mptcp() }
}

fn over(topology: Topology, flows: Vec<Flow>, config: MptcpConfig) -> Plan {
    Plan { transports: vec![TransportConfig::Mptcp(config)], ..plan(topology, flows) }
}

fn done(plan: &Plan) -> Output {
    run(plan, &Progress::default()).unwrap()
}

fn seconds(output: &Output, flow: usize) -> f64 {
    let f = &output.flows[flow];
    (f.finish.expect("finished").0 - f.start.unwrap().0) as f64 * 1e-12
}

/// Scarce memory: drops, time-outs and reinjection.
fn scarce(mut plan: Plan) -> Plan {
    plan.switches[0].buffer = Buffer::Static { per_queue: Limit::Bytes(20_000), drop_when: Compare::Above };
    plan.record.paths = true;
    plan
}

#[test]
fn both_engines_and_any_threads_agree() {
    for (number, coupling) in COUPLINGS.into_iter().enumerate() {
        for scheduler in [PathScheduler::LowestRtt, PathScheduler::RoundRobin, PathScheduler::Redundant] {
            let config = MptcpConfig { scheduler, receive: Receive::Window(Bytes(60_000)), ..coupled(coupling) };
            let plan = scarce(over(fat_tree(4, 1), traffic(16, 60, 40, 300_000, number as u64), config));
            let output = same_everywhere(&format!("{coupling:?} {scheduler:?}"), &plan);
            assert!(output.counters.dropped_packets > 0 && output.flows.iter().all(|f| f.finish.is_some()));
        }
    }
}

/// As Linux: handshakes, delayed acknowledgements, RACK, small queues; and a mesh of NICs.
#[test]
fn a_mesh_of_linux_hosts_agrees() {
    let tcp = TcpConfig { congestion: CongestionControl::Coupled(Coupling::Lia), ..linux() };
    let config = MptcpConfig { tcp, manager: PathManager::FullMesh(8), ..mptcp() };
    let rates = [Rate::from_gbps(10), Rate::from_gbps(5), Rate::from_gbps(1)];
    let flows = (0..20).map(|id| flow(id, id as u32 % 2, 1 - id as u32 % 2, 200_000 + 7_000 * id as u64, Time::from_ns(3_000 * id as u64))).collect();
    let output = same_everywhere("mesh", &scarce(over(parallel(&rates), flows, config)));
    let subflows = output.paths.iter().map(|path| path.subflow).max();
    assert_eq!(subflows, Some(2));
}
