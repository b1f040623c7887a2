//! PFC headroom: memory to reserve for frames that arrive after XOFF.

use super::{response_bytes, response_time};
use crate::frame::PAUSE_FRAME;
use crate::queue::buffer::mmu::cells::{METADATA, charged};
use crate::spec::{Buffer, Formula, Headroom, Link, NodeId, NodeKind, Pfc, Plan, SwitchConfig};
use afflux_units::{Rate, Span};

/// Speed of light in a cable, in m/s (SONiC's value).
pub const SPEED_IN_CABLE: f64 = 1.98e8;

/// Properties of a port that headroom formulas use.
#[derive(Debug, Clone, Copy)]
pub struct PortFacts {
    pub rate: Rate,
    /// Propagation delay of the link in ps.
    pub delay: u64,
    /// Sizes in bytes of the largest and the smallest frame, with headers.
    pub mtu: u64,
    pub least: u64,
    /// Gap between two frames in bytes.
    pub gap: u64,
    /// Bytes of a memory cell; `None` where exact bytes are counted.
    pub cell: Option<u16>,
    /// Response time of the peer to a PAUSE frame, if it differs from the standard's.
    pub response: Option<Span>,
    /// Time from a frame's arrival until it is counted, if it is not counted at once.
    pub uncounted: Span,
}

impl PortFacts {
    pub fn of(plan: &Plan, link: &Link, switch: &SwitchConfig, pfc: &Pfc) -> Self {
        let wire = &plan.wire;
        let (cell, uncounted) = match &switch.buffer {
            Buffer::Mmu(mmu) => (mmu.cell, Span::ZERO),
            // The wait for credits lengthens the time until a frame counts.
            _ => (None, switch.least_latency()),
        };
        PortFacts {
            rate: link.rate,
            delay: link.delay.0,
            mtu: plan.largest_frame(),
            least: wire.least(),
            gap: wire.gap.into(),
            cell,
            response: pfc.response,
            uncounted,
        }
    }

    fn time(&self, bytes: u64) -> u128 {
        u128::from(self.rate.serialize(bytes + self.gap).0)
    }

    /// Returns the time in ps during which counted frames can still arrive after the frame that
    /// triggers XOFF. It consists of our own frame in transmission, the PAUSE frame, the cable, the
    /// peer's response, the cable again, and the time until a frame counts.
    fn arriving(&self, delay: Span) -> u128 {
        let response = self.response.unwrap_or_else(|| response_time(self.rate)).0;
        self.time(self.mtu.max(self.least))
            + self.time(PAUSE_FRAME.into())
            + u128::from(2 * delay.0 + response + self.uncounted.0)
    }
}

/// Returns the headroom in bytes. The length of the cable is in metres; `None`: it follows from the
/// delay of the link.
pub fn headroom(headroom: Headroom, cable: Option<f64>, port: PortFacts) -> u64 {
    match headroom {
        Headroom::Bytes(bytes) => bytes,
        Headroom::Formula(formula) => {
            let metres = cable.unwrap_or(port.delay as f64 * 1e-12 * SPEED_IN_CABLE);
            by_formula(formula, metres, port)
        }
    }
}

/// Largest frame in bytes that any port of the switch may send, and percentage of small packets
/// (SONiC's defaults).
const PORT_MTU: f64 = 9_100.0;
const SMALL_PACKETS: f64 = 50.0;
/// Data in the port's MAC and PHY, in KiB (SONiC's Mellanox platforms).
const MAC_PHY_KIB: f64 = 0.8;

pub fn by_formula(formula: Formula, metres: f64, port: PortFacts) -> u64 {
    let gbps = port.rate.as_gbps();
    // Bytes in flight during `times` times the one-way delay.
    let round_trip =
        |times: f64| (times * port.rate.0 as f64 * (metres / SPEED_IN_CABLE) / 8.0).ceil() as u64;
    match formula {
        Formula::Sonic => {
            let cell = f64::from(port.cell.unwrap_or(1));
            // A partly filled cell takes the memory of a full one.
            let worst = if cell > 128.0 { cell / 64.0 } else { 2.0 * cell / (1.0 + cell) };
            let occupancy = (100.0 - SMALL_PACKETS + SMALL_PACKETS * worst) / 100.0;
            // SONiC's script takes Mb/s times ns for 1024ths of a bit.
            let cable = 2.0 * metres * (gbps * 1e3) * (1e9 / SPEED_IN_CABLE) / (8.0 * 1024.0);
            let peer = response_bytes(port.rate) as f64;
            let propagation = PORT_MTU + cable + MAC_PHY_KIB * 1024.0 + peer;
            ((port.mtu as f64 + propagation * occupancy) / 1024.0).ceil() as u64 * 1024
        }
        Formula::Mellanox => {
            ((301.0 + 2.16 * metres) * gbps.max(40.0) + 2.72 * port.mtu as f64).ceil() as u64
        }
        Formula::Conweave => round_trip(2.0) + 2 * port.mtu,
        Formula::Hpcc => round_trip(3.0),
        Formula::Tub => round_trip(2.0) + 2 * port.mtu + 3_860,
        Formula::WorstCase => {
            worst_case(Span((metres / SPEED_IN_CABLE * 1e12).ceil() as u64), port)
        }
    }
}

/// Returns the most memory in bytes that frames which arrive after XOFF can take, for any frame
/// sizes.
fn worst_case(delay: Span, port: PortFacts) -> u64 {
    let (arriving, largest) = (port.arriving(delay), port.mtu.max(port.least));
    // Memory that frames of one size take if they arrive in that time.
    let take = |frame: u64| arriving * u128::from(charged(frame, port.cell)) / port.time(frame);
    let most = match port.cell {
        None => take(port.least).max(take(largest)),
        // Among frames that take the same number of cells, the shortest arrive most often.
        Some(cell) => {
            let cell = u64::from(cell);
            let cells = |frame: u64| charged(frame, port.cell) / cell;
            let shortest =
                |cells: u64| ((cells - 1) * cell + 1).saturating_sub(METADATA).max(port.least);
            (cells(port.least)..=cells(largest))
                .map(|cells| take(shortest(cells)))
                .max()
                .unwrap_or(0)
        }
    };
    // Two more frames count: the one that triggers XOFF, and the one that the peer has just begun
    // when the pause takes effect.
    u64::try_from(most).unwrap_or(u64::MAX).saturating_add(2 * charged(largest, port.cell))
}

/// Headroom of each lossless priority at a switch port.
#[derive(Debug, Clone, Copy)]
pub struct PortHeadroom {
    pub node: NodeId,
    pub peer: NodeId,
    headroom: Headroom,
    cable: Option<f64>,
    port: PortFacts,
}

impl PortHeadroom {
    /// Returns the configured headroom in bytes.
    pub fn bytes(&self) -> u64 {
        headroom(self.headroom, self.cable, self.port)
    }

    /// Returns the headroom in bytes that SONiC computes from rate and cable length.
    pub fn sonic(&self) -> u64 {
        self.by(Formula::Sonic)
    }

    /// Returns the smallest headroom in bytes that excludes loss for any frame sizes.
    pub fn worst_case(&self) -> u64 {
        self.by(Formula::WorstCase)
    }

    /// Returns the smallest headroom in bytes that excludes loss if all frames have the largest
    /// size.
    pub fn full_frames(&self) -> u64 {
        let frames = 2 + self.port.arriving(Span(self.port.delay)) / self.port.time(self.port.mtu);
        u64::try_from(frames)
            .unwrap_or(u64::MAX)
            .saturating_mul(charged(self.port.mtu, self.port.cell))
    }

    fn by(&self, formula: Formula) -> u64 {
        headroom(Headroom::Formula(formula), self.cable, self.port)
    }
}

/// Returns the headroom of all switch ports with flow control, sorted by switch, then in the order
/// of the links.
pub fn headrooms(plan: &Plan) -> Vec<PortHeadroom> {
    let mut found = Vec::new();
    for link in &plan.topology.links {
        for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
            let of_node = &plan.topology.nodes[node as usize];
            if of_node.kind != NodeKind::Switch {
                continue;
            }
            let switch = &plan.switches[of_node.config as usize];
            if let Some(pfc) = &switch.pfc {
                found.push(PortHeadroom {
                    node,
                    peer,
                    headroom: pfc.headroom,
                    cable: pfc.cable,
                    port: PortFacts::of(plan, link, switch, pfc),
                });
            }
        }
    }
    found.sort_by_key(|port| port.node);
    found
}
