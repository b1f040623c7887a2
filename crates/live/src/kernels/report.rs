//! Report of a run with kernels: `kernels.json`, and the files of the result.

use super::error::tail;
use super::relay::Resident;
use crate::addresses::address;
use afflux_net::spec::Plan;
use afflux_scenario::KernelHost;
use serde::Serialize;

/// Report of a run with kernels.
#[derive(Debug, Clone, Serialize)]
pub struct KernelReport {
    /// Why the run failed: a guest that spun or ended, a command or a kernel parameter that failed.
    pub failure: Option<String>,
    /// Number of flows of kernels in the table of flows.
    pub flows: usize,
    /// With `record.waits`: waiting time in ns of packets whose flows the network did not
    /// distinguish, so that the table of waits lacks it.
    pub shared_wait_ns: u64,
    pub hosts: Vec<HostReport>,
}

#[derive(Debug, Clone, Serialize)]
pub struct HostReport {
    pub name: String,
    pub image: String,
    pub addresses: Vec<String>,
    pub commands: Vec<CommandReport>,
    pub sent_packets: u64,
    pub received_packets: u64,
    /// Packets for which the guest had no buffer.
    pub overruns: u64,
    /// Packets that are not IPv4, or not for a host with a kernel.
    pub ignored: u64,
    /// Virtual time in seconds at which the kernel ended, if that was before the end of the run.
    pub ended_s: Option<f64>,
    /// Files that the guest left in `/results`, as named in the result.
    pub files: Vec<String>,
    /// Number of times that the guest was given the clock, and the real time in seconds that it
    /// had it. The real time differs from run to run.
    pub turns: u64,
    pub wall_s: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct CommandReport {
    pub start_s: f64,
    pub command: String,
    /// Exit status; `None` if the command was running at the end.
    pub status: Option<i32>,
    /// Virtual time in seconds at which it ended.
    pub end_s: Option<f64>,
}

impl KernelReport {
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("plain data");
        text.push('\n');
        text
    }
}

/// Makes the report and the files of the result.
pub fn make(
    plan: &Plan,
    kernels: &[KernelHost],
    residents: Vec<Resident>,
    mut failure: Option<String>,
) -> (KernelReport, Vec<(String, Vec<u8>)>) {
    let (mut hosts, mut files) = (Vec::new(), Vec::new());
    for (mut resident, kernel) in residents.into_iter().zip(kernels) {
        let name = plan.topology.nodes[resident.host as usize].name.clone();
        let console = from_first_mark(&resident.guest.console());
        let commands = commands(kernel, &console);
        failure = failure.or_else(|| complaint(&name, &commands, &console));
        let left = resident.guest.serial().map(|archive| afflux_kernel::unpack(&archive));
        let counts = resident.guest.counts();
        let mut report = HostReport {
            name: name.clone(),
            image: kernel.image.clone(),
            addresses: (0..resident.nics)
                .map(|nic| address(resident.host, nic).to_string())
                .collect(),
            commands,
            sent_packets: counts.sent,
            received_packets: counts.received,
            overruns: counts.overruns,
            ignored: resident.ignored,
            ended_s: resident.ended.map(|ns| ns as f64 / 1e9),
            files: Vec::new(),
            turns: counts.turns,
            wall_s: counts.wall.as_secs_f64(),
        };
        for (path, content) in left.unwrap_or_default() {
            let file = format!("{name}.{}", path.replace('/', "_"));
            report.files.push(file.clone());
            files.push((file, content));
        }
        files.push((format!("{name}.console"), console.into_bytes()));
        files.push((format!("{name}.pcap"), resident.pcap.finish()));
        hosts.push(report);
    }
    (KernelReport { failure, flows: 0, shared_wait_ns: 0, hosts }, files)
}

/// Returns the console from the first line that a guest's own scripts or a panic wrote. Lines
/// before it describe the machine.
fn from_first_mark(console: &str) -> String {
    let console = console.replace('\r', "");
    let is_mark = |line: &&str| line.starts_with("[afflux]") || line.contains("Kernel panic");
    let skipped = console.lines().position(|line| is_mark(&line)).unwrap_or(0);
    let mut text = String::new();
    for line in console.lines().skip(skipped) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Returns what became of the commands until the end of the run.
fn commands(kernel: &KernelHost, console: &str) -> Vec<CommandReport> {
    let console = console.split_once("[afflux] over\n").map_or(console, |(before, _)| before);
    let end = |number: usize| {
        let mark = format!("[afflux] end {number}: status ");
        let line = console.lines().find_map(|line| line.strip_prefix(&mark))?;
        let (status, at) = line.strip_suffix(" s")?.split_once(" at ")?;
        Some((status.parse().ok()?, at.parse().ok()?))
    };
    let report = |(number, (start, command)): (usize, &(afflux_units::Span, String))| {
        let (status, end_s) = end(number).unzip();
        let start_s = start.0 as f64 / 1e12;
        CommandReport { start_s, command: command.clone(), status, end_s }
    };
    kernel.commands.iter().enumerate().map(report).collect()
}

/// Returns the message about a command or a kernel parameter that has failed.
fn complaint(name: &str, commands: &[CommandReport], console: &str) -> Option<String> {
    if let Some(line) = console.lines().find(|line| line.starts_with("[afflux] sysctl ")) {
        return Some(format!("{name}: {}", line.trim_start_matches("[afflux] ")));
    }
    let failed =
        commands.iter().find(|command| command.status.is_some_and(|status| status != 0))?;
    Some(format!(
        "{name}: the command \"{}\" ended with status {} at {} s{}",
        failed.command,
        failed.status.unwrap_or(0),
        failed.end_s.unwrap_or(0.0),
        tail(console)
    ))
}
