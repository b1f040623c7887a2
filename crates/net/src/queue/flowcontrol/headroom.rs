//! How much memory to set aside for what arrives after XOFF.

use super::response_bytes;
use crate::spec::{Cable, Formula, Headroom, Link, Mmu, Plan};
use afflux_units::Rate;

/// Of light in a cable, m/s (SONiC's).
pub const SPEED_IN_CABLE: f64 = 1.98e8;

/// What a formula is about.
#[derive(Debug, Clone, Copy)]
pub struct PortFacts {
    pub rate: Rate,
    /// One way, ps.
    pub delay: u64,
    /// Largest frame on lossless priorities, with headers.
    pub mtu: u64,
    /// 1 where bytes are counted.
    pub cell: u64,
}

impl PortFacts {
    pub fn of(plan: &Plan, link: &Link, mmu: &Mmu) -> Self {
        PortFacts { rate: link.rate, delay: link.delay.0, mtu: plan.largest_frame(), cell: mmu.cell.unwrap_or(1) as u64 }
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
            let cell = port.cell as f64;
            // A cell with little in it takes the place of a full one.
            let worst = if port.cell > 128 { cell / 64.0 } else { 2.0 * cell / (1.0 + cell) };
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
    }
}
