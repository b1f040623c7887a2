//! How much memory to set aside for what arrives after XOFF.

use super::{response_bytes, response_time};
use crate::frame::PAUSE_FRAME;
use crate::queue::buffer::mmu::cells::{METADATA, charged};
use crate::spec::{Buffer, Cable, Formula, Headroom, Link, NodeId, NodeKind, Pfc, Plan, SwitchConfig};
use afflux_units::{Rate, Span};

/// Of light in a cable, m/s (SONiC's).
pub const SPEED_IN_CABLE: f64 = 1.98e8;

/// What a formula is about.
#[derive(Debug, Clone, Copy)]
pub struct PortFacts {
    pub rate: Rate,
    /// One way, ps.
    pub delay: u64,
    /// Largest and smallest frame, with headers.
    pub mtu: u64,
    pub least: u64,
    /// Between two frames, in bytes.
    pub gap: u64,
    /// Cells of the memory; `None` where bytes are counted.
    pub cell: Option<u16>,
    /// Of the peer to a PAUSE frame, where it is not the standard's.
    pub response: Option<Span>,
    /// From a frame's arrival to when it counts, where that is not at once.
    pub uncounted: Span,
}

impl PortFacts {
    pub fn of(plan: &Plan, link: &Link, switch: &SwitchConfig, pfc: &Pfc) -> Self {
        let wire = &plan.wire;
        let (cell, uncounted) = match &switch.buffer {
            Buffer::Mmu(mmu) => (mmu.cell, Span::ZERO),
            // Credits make it long.
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

    /// From the frame that brings XOFF to the last start of a frame at a peer that has not stopped, and its way: our own frame in transmission, the
    /// PAUSE frame, the cable, the response, and the cable again; besides, what has arrived before XOFF but counts later.
    fn arriving(&self, delay: Span) -> u128 {
        let response = self.response.unwrap_or_else(|| response_time(self.rate)).0;
        self.time(self.mtu.max(self.least)) + self.time(PAUSE_FRAME.into()) + u128::from(2 * delay.0 + response + self.uncounted.0)
    }
}

/// Bytes of headroom.
pub fn headroom(config: &Headroom, port: PortFacts) -> u64 {
    match *config {
        Headroom::Bytes(bytes) => bytes,
        Headroom::Formula { formula, cable } => {
            let metres = match cable {
                Cable::Metres(metres) => metres,
                Cable::FromDelay => port.delay as f64 * 1e-12 * SPEED_IN_CABLE,
            };
            by_formula(formula, metres, port)
        }
    }
}

/// Largest frame that any port of the switch may send, and percentage of small packets (SONiC's defaults).
const PORT_MTU: f64 = 9_100.0;
const SMALL_PACKETS: f64 = 50.0;
/// MAC and PHY of the port, KiB (SONiC's Mellanox platforms).
const MAC_PHY_KIB: f64 = 0.8;

pub fn by_formula(formula: Formula, metres: f64, port: PortFacts) -> u64 {
    let gbps = port.rate.as_gbps();
    // Bytes on the way there and back.
    let round_trip = |times: f64| (times * port.rate.0 as f64 * (metres / SPEED_IN_CABLE) / 8.0).ceil() as u64;
    match formula {
        Formula::Sonic => {
            let cell = f64::from(port.cell.unwrap_or(1));
            // A cell with little in it takes the place of a full one.
            let worst = if cell > 128.0 { cell / 64.0 } else { 2.0 * cell / (1.0 + cell) };
            let occupancy = (100.0 - SMALL_PACKETS + SMALL_PACKETS * worst) / 100.0;
            // The script takes Mb/s times ns for 1024ths of a bit.
            let cable = 2.0 * metres * (gbps * 1e3) * (1e9 / SPEED_IN_CABLE) / (8.0 * 1024.0);
            let peer = response_bytes(port.rate) as f64;
            let propagation = PORT_MTU + cable + MAC_PHY_KIB * 1024.0 + peer;
            ((port.mtu as f64 + propagation * occupancy) / 1024.0).ceil() as u64 * 1024
        }
        Formula::Mellanox => ((301.0 + 2.16 * metres) * gbps.max(40.0) + 2.72 * port.mtu as f64).ceil() as u64,
        Formula::Conweave => round_trip(2.0) + 2 * port.mtu,
        Formula::Hpcc => round_trip(3.0),
        Formula::Tub => round_trip(2.0) + 2 * port.mtu + 3_860,
        Formula::WorstCase => worst_case(Span((metres / SPEED_IN_CABLE * 1e12).ceil() as u64), port),
    }
}

/// The most memory that frames can take which arrive after XOFF, whatever their lengths and however they fall.
fn worst_case(delay: Span, port: PortFacts) -> u64 {
    let (arriving, largest) = (port.arriving(delay), port.mtu.max(port.least));
    // What frames of one length take that arrive in that time.
    let take = |frame: u64| arriving * u128::from(charged(frame, port.cell)) / port.time(frame);
    let most = match port.cell {
        None => take(port.least).max(take(largest)),
        // Of all frames that take so many cells the shortest come most often.
        Some(cell) => {
            let cell = u64::from(cell);
            let cells = |frame: u64| charged(frame, port.cell) / cell;
            let shortest = |cells: u64| ((cells - 1) * cell + 1).saturating_sub(METADATA).max(port.least);
            (cells(port.least)..=cells(largest)).map(|cells| take(shortest(cells))).max().unwrap_or(0)
        }
    };
    // Besides, the frame that brings XOFF, and the one that has just begun when the pause takes effect.
    u64::try_from(most).unwrap_or(u64::MAX).saturating_add(2 * charged(largest, port.cell))
}

/// Headroom of a lossless priority at a switch's port.
#[derive(Debug, Clone, Copy)]
pub struct PortHeadroom {
    pub node: NodeId,
    pub peer: NodeId,
    config: Headroom,
    port: PortFacts,
}

impl PortHeadroom {
    /// What it has.
    pub fn bytes(&self) -> u64 {
        headroom(&self.config, self.port)
    }

    /// What SONiC computes there from rate and cable.
    pub fn sonic(&self) -> u64 {
        self.by(Formula::Sonic)
    }

    /// The least with which nothing is lost, whatever the frames.
    pub fn worst_case(&self) -> u64 {
        self.by(Formula::WorstCase)
    }

    /// The same if all frames are full.
    pub fn full_frames(&self) -> u64 {
        let frames = 2 + self.port.arriving(Span(self.port.delay)) / self.port.time(self.port.mtu);
        u64::try_from(frames).unwrap_or(u64::MAX).saturating_mul(charged(self.port.mtu, self.port.cell))
    }

    fn by(&self, formula: Formula) -> u64 {
        let cable = if let Headroom::Formula { cable, .. } = self.config { cable } else { Cable::FromDelay };
        headroom(&Headroom::Formula { formula, cable }, self.port)
    }
}

/// Of all ports of switches with flow control, by switch and link.
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
                found.push(PortHeadroom { node, peer, config: pfc.headroom, port: PortFacts::of(plan, link, switch, pfc) });
            }
        }
    }
    found.sort_by_key(|port| port.node);
    found
}
