//! Memory of a switch that its queues do not share.

use crate::queue::flowcontrol::headroom::{PortFacts, headroom as port_headroom};
use crate::spec::{self, NodeId, Plan};

/// Memory of a switch that is not shared, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservedMemory {
    pub headroom: u64,
    pub reserved: u64,
}

/// Returns the memory that a switch with an MMU sets aside for headroom and reserves.
pub fn reserved_memory(plan: &Plan, node: NodeId) -> ReservedMemory {
    let switch = &plan.switches[plan.topology.nodes[node as usize].config as usize];
    let spec::Buffer::Mmu(mmu) = &switch.buffer else {
        return ReservedMemory { headroom: 0, reserved: 0 };
    };
    let links = plan.topology.links.iter().filter(|link| link.a == node || link.b == node);
    let (mut ports, mut headroom) = (0, 0);
    for link in links {
        ports += 1;
        headroom += switch.pfc.as_ref().map_or(0, |pfc| {
            port_headroom(pfc.headroom, pfc.cable, PortFacts::of(plan, link, switch, pfc))
        });
    }
    let lossless = switch.pfc.as_ref().map_or(0, |pfc| pfc.priorities);
    let settings = mmu.rules.settings();
    ReservedMemory {
        headroom: settings.headroom(headroom, lossless),
        reserved: settings.reserved(ports, lossless),
    }
}
