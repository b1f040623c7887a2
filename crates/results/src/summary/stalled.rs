//! Wait-for relation of ports in a run that ended because no frame moved any more.

use super::paused_port::{PausedPort, link_name, paused_port};
use afflux_net::record::{Ended, Output};
use afflux_scenario::Scenario;
use afflux_units::{Span, Time};
use serde::Serialize;

/// Number of ports that the warning names.
const NAMED: usize = 6;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stalled {
    /// `run.stall` in ns: for this time no frame had left the network.
    pub for_ns: u64,
    /// Frames that waited in the network at the end.
    pub frames: u64,
    pub ports: Vec<StuckPort>,
}

/// A paused port with waiting frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StuckPort {
    /// Name of the link, `from>to`.
    pub link: String,
    #[serde(flatten)]
    pub port: PausedPort,
    pub priority: u8,
    pub frames: u64,
    /// Links out of the far end that the frames received over this link wait for. Empty if the far
    /// end sends PAUSE for another reason.
    pub waits_for: Vec<String>,
}

pub fn of(scenario: &Scenario, output: &Output) -> Option<Stalled> {
    if output.ended != Ended::Stalled {
        return None;
    }
    let topology = &scenario.plan.topology;
    let ports = output.stuck.iter().map(|stuck| StuckPort {
        link: link_name(topology, stuck.link),
        port: paused_port(topology, stuck.link),
        priority: stuck.priority,
        frames: stuck.frames,
        waits_for: stuck.waits_for.iter().map(|link| link_name(topology, *link)).collect(),
    });
    let patience = scenario.plan.run.stall.unwrap_or(Span::ZERO);
    Some(Stalled {
        for_ns: Time(patience.0).round_ns(),
        frames: output.counters.in_flight_packets,
        ports: ports.collect(),
    })
}

/// Returns a warning for the user.
pub fn warning(scenario: &Scenario, output: &Output) -> Option<String> {
    let Stalled { for_ns, frames, ports } = of(scenario, output)?;
    let far_end = |port: &StuckPort| {
        port.link.split_once('>').map_or(String::new(), |(_, to)| to.to_string())
    };
    let one = |port: &StuckPort| {
        let held = format!(
            "{} ({} {}, priority {})",
            port.link,
            port.frames,
            if port.frames == 1 { "frame" } else { "frames" },
            port.priority
        );
        match port.waits_for.is_empty() {
            true => format!("{held} for {}, which sends PAUSE", far_end(port)),
            false => format!("{held} for {}", port.waits_for.join(" and ")),
        }
    };
    let mut told: Vec<String> = ports.iter().take(NAMED).map(one).collect();
    if ports.len() > NAMED {
        told.push(format!("and {} more (summary.json, stalled)", ports.len() - NAMED));
    }
    Some(format!(
        "warning: the run ended without progress: {} {} in the network, and none left it for {}. Who waits for whom: {}",
        frames,
        if frames == 1 { "frame waits" } else { "frames wait" },
        super::ending::seconds(for_ns as f64 * 1e-9),
        told.join("; ")
    ))
}
