//! Who waits for whom, in a run that ended because nothing moved any more.

use super::paused_port::{PausedPort, link_name, paused_port};
use afflux_net::record::{Ended, Output};
use afflux_scenario::Scenario;
use afflux_units::{Span, Time};
use serde::Serialize;

/// So many of them are named in the warning.
const NAMED: usize = 6;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stalled {
    /// `run.stall`: for so long no frame had left the network.
    pub for_ns: u64,
    /// Frames that waited in it at the end.
    pub frames: u64,
    pub ports: Vec<StuckPort>,
}

/// A paused port with waiting frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StuckPort {
    /// `from>to`.
    pub link: String,
    #[serde(flatten)]
    pub port: PausedPort,
    pub priority: u8,
    pub frames: u64,
    /// Links out of the far end for which frames wait there that came over this one. Empty: the far end pauses for a reason of its own.
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
    Some(Stalled { for_ns: Time(patience.0).round_ns(), frames: output.counters.in_flight_packets, ports: ports.collect() })
}

/// For a person.
pub fn warning(scenario: &Scenario, output: &Output) -> Option<String> {
    let Stalled { for_ns, frames, ports } = of(scenario, output)?;
    let far_end = |port: &StuckPort| port.link.split_once('>').map_or(String::new(), |(_, to)| to.to_string());
    let one = |port: &StuckPort| {
        let held = format!("{} ({} {}, priority {})", port.link, port.frames, if port.frames == 1 { "frame" } else { "frames" }, port.priority);
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
