//! Tests that an external congestion control that copies a built-in one gives the same results.

use super::determinism::{digest, same_everywhere, traffic};
use crate::congestion::{Ack, Algorithm, Factory, Foreign, Window};
use crate::spec::*;
use crate::testing::*;
use std::sync::Arc;

#[derive(Debug, Clone)]
struct Reno;

impl Algorithm for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.acked > 0 && ack.may_grow {
            window.reno_increase(ack.acked);
        }
    }
    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        window.half()
    }
    fn on_ecn(&mut self, window: &Window, _: u64) -> u32 {
        window.half()
    }
    fn on_timeout(&mut self, window: &Window, _: u64) -> u32 {
        window.half()
    }
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
    fn copy(&self) -> Box<dyn Algorithm> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct Makes;

impl Factory for Makes {
    fn make(&self, _: u32, _: u32) -> Box<dyn Algorithm> {
        Box::new(Reno)
    }
}

#[test]
fn as_the_built_in_one() {
    let paced = Pacing { most: None, slow_start_percent: 200, avoidance_percent: 120 };
    for (name, tcp) in [
        ("basic", tcp()),
        ("marks", TcpConfig { ecn: EcnMode::Classic, ..tcp() }),
        ("linux", linux()),
        ("paced", TcpConfig { pacing: Some(paced), ..linux() }),
    ] {
        let mut plan = plan(fat_tree(4, 2), traffic(32, 200, 200, 200_000, 1));
        plan.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Bytes(30_000), drop_when: Compare::Above };
        plan.switches[0].marking = (tcp.ecn != EcnMode::Off).then(|| step(Limit::Bytes(10_000)));
        plan.transports = tcp_only(tcp.clone());
        let built_in = same_everywhere(name, &plan);
        assert!(built_in.flows.iter().any(|flow| flow.timeouts > 0), "{name}");
        let congestion = CongestionControl::External(Foreign(Arc::new(Makes)));
        plan.transports = tcp_only(TcpConfig { congestion, ..tcp });
        assert_eq!(digest(&same_everywhere(name, &plan)), digest(&built_in), "{name}");
    }
}
