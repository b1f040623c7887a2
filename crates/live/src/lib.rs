//! Live mode: simulates the links, queues, switches and flows of a plan in real time, and passes
//! packets of real Linux hosts through.
//!
//! A real host is an anonymous network namespace, or a machine behind an existing interface. Only
//! file descriptors keep a namespace alive, and its TUN devices (one per NIC) vanish with it. The
//! processes of the command live in a process namespace whose first process dies with this process.
//! Therefore nothing remains after any kind of exit.
#![cfg(target_os = "linux")]

mod addresses;
mod capability;
mod clock;
mod command;
mod error;
mod host;
pub mod kernels;
mod lateness;
mod offload;
mod options;
mod packet;
mod plan;
mod precedence;
mod relay;
mod report;
mod sys;
mod wire;

pub use capability::{Capability, capabilities};
pub use error::LiveError;
pub use options::{Control, Options};
pub use report::Report;

use crate::addresses::PREFIX_BITS;
use crate::host::Nic;
use afflux_net::record::Output;
use afflux_net::spec::Plan;
use afflux_scenario::Scenario;

/// Result of a finished run.
#[derive(Debug)]
pub struct Finished {
    /// The simulated plan: the scenario's plan without the traffic of real hosts.
    pub plan: Plan,
    pub output: Output,
    pub report: Report,
}

/// Runs `scenario` until it ends. The calling thread forwards the packets. The command dies with
/// this thread, and the thread's scheduling class is changed permanently.
///
/// # Errors
/// [`LiveError`] names the missing capability or the mistake. Nothing remains of the run.
pub fn run(
    scenario: &Scenario,
    options: &Options,
    control: &Control,
) -> Result<Finished, LiveError> {
    let real = addresses::chosen(&scenario.plan, options.hosts.as_deref())?;
    let attached = wire::attached(&scenario.plan, &options.attach)?;
    if let Some(other) = attached.iter().find(|attached| !real.contains(&attached.host)) {
        let name = &scenario.plan.topology.nodes[other.host as usize].name;
        return Err(LiveError::Wrong(format!(
            "--attach {name}={}: {name} is not among the real hosts that --hosts names",
            other.interfaces.join(",")
        )));
    }
    let (plan, mut notes) = plan::between(scenario, &real)?;
    let hosts = host::create(&plan, &real, &attached, scenario.packets.mtu, control)?;
    for (index, host) in hosts.iter().enumerate() {
        let addresses: Vec<String> = host.nics.iter().map(|nic| nic.address.to_string()).collect();
        // Inside the command's process namespace this process is not visible, so the command gets
        // its paths by environment variables.
        let place = match host.path_outside() {
            None if host.nics.iter().all(Nic::is_known) => {
                format!("behind {}", host.interfaces().join(", "))
            }
            None => format!(
                "behind {}, nobody answers yet: that machine must have the address, in a network of /{PREFIX_BITS}",
                host.interfaces().join(", ")
            ),
            Some(path) if options.command.is_empty() => format!("nsenter --net={path}"),
            Some(_) => format!("nsenter --net=$AFFLUX_NETNS_{index}"),
        };
        (control.say)(&format!("{}  {}  {place}", host.name, addresses.join(" ")));
    }
    let command = if options.command.is_empty() {
        None
    } else {
        Some(command::start(&options.command, &hosts)?)
    };
    let (output, watched) = afflux_net::outside::drive(&plan, |driven| {
        relay::relay(driven, &hosts, command, &scenario.packets, options, control)
    })
    .map_err(LiveError::Run)?;
    let watched = watched?;
    notes.extend(watched.notes.iter().cloned());
    let report = report::report(&plan, &output, &hosts, watched, options, notes);
    Ok(Finished { plan, output, report })
}
