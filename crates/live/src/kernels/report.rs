//! Report of a run with kernels: `kernels.json`, and the files of the result.

use super::error::tail;
use super::relay::Resident;
use crate::addresses::address;
use afflux_net::spec::Plan;
use afflux_scenario::KernelHost;
use serde::Serialize;
use std::collections::BTreeSet;

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
    failure: Option<String>,
) -> (KernelReport, Vec<(String, Vec<u8>)>) {
    let (mut hosts, mut files, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let mut names = Names::with_own_files(plan, kernels);
    for (mut resident, kernel) in residents.into_iter().zip(kernels) {
        let name = plan.topology.nodes[resident.host as usize].name.clone();
        let console = from_first_mark(&resident.guest.console());
        let commands = commands(kernel, &console);
        failed.extend(complaint(&name, &commands, &console));
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
            let file = names.unused(format!("{name}.{}", path.replace('/', "_")));
            report.files.push(file.clone());
            files.push((file, content));
        }
        files.push((format!("{name}.console"), console.into_bytes()));
        files.push((format!("{name}.pcap"), resident.pcap.finish()));
        hosts.push(report);
    }
    let failure = failure.or_else(|| first(failed));
    (KernelReport { failure, flows: 0, shared_wait_ns: 0, hosts }, files)
}

/// Names of files in the result.
struct Names(BTreeSet<String>);

impl Names {
    /// Consoles and captures of all hosts keep their names.
    fn with_own_files(plan: &Plan, kernels: &[KernelHost]) -> Names {
        let hosts = kernels.iter().map(|kernel| &plan.topology.nodes[kernel.host as usize].name);
        Names(hosts.flat_map(|name| [format!("{name}.console"), format!("{name}.pcap")]).collect())
    }

    /// Returns the name, or the first with a number behind it that no other file has.
    fn unused(&mut self, name: String) -> String {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.clone())
            .chain(numbered)
            .find(|name| !self.0.contains(name))
            .expect("numbers do not end");
        self.0.insert(free.clone());
        free
    }
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
        // Output without a newline at its end stands before the mark.
        let line = console
            .lines()
            .filter(|line| !line.starts_with("[afflux] start "))
            .find_map(|line| Some(line.split_once(&mark)?.1))?;
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

/// Returns the message about the first command or kernel parameter of a host that has failed, and
/// the time of the failure in seconds.
fn complaint(name: &str, commands: &[CommandReport], console: &str) -> Option<(f64, String)> {
    if let Some(line) = console.lines().find(|line| line.starts_with("[afflux] sysctl ")) {
        return Some((0.0, format!("{name}: {}", line.trim_start_matches("[afflux] "))));
    }
    let ended = |command: &&CommandReport| command.end_s.unwrap_or(0.0);
    let failed = commands
        .iter()
        .filter(|command| command.status.is_some_and(|status| status != 0))
        .min_by(|a, b| ended(a).total_cmp(&ended(b)))?;
    let text = format!(
        "{name}: the command \"{}\" ended with status {} at {} s{}",
        failed.command,
        failed.status.unwrap_or(0),
        ended(&failed),
        tail(console)
    );
    Some((ended(&failed), text))
}

/// Returns the message of the failure that came first, with the number of other hosts that failed:
/// those may be its consequence.
fn first(failed: Vec<(f64, String)>) -> Option<String> {
    let others = failed.len().saturating_sub(1);
    let (_, text) = failed.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(match others {
        0 => text,
        1 => format!("{text}\n(later a command failed on another host, too: see kernels.json)"),
        _ => format!(
            "{text}\n(later commands failed on {others} other hosts, too: see kernels.json)"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(command: &str, status: i32, end_s: f64) -> CommandReport {
        CommandReport {
            start_s: 0.0,
            command: command.into(),
            status: Some(status),
            end_s: Some(end_s),
        }
    }

    #[test]
    fn no_file_of_a_guest_replaces_another() {
        let mut names = Names(BTreeSet::from(["host0.console".to_string()]));
        let left = ["host0.a_b", "host0.a_b", "host0.a_b", "host0.console"];
        assert_eq!(
            left.map(|name| names.unused(name.into())),
            ["host0.a_b", "host0.a_b_2", "host0.a_b_3", "host0.console_2"]
        );
    }

    #[test]
    fn the_first_failure_is_named() {
        let client = [ended("client", 1, 0.7)];
        let server = [ended("late", 2, 0.9), ended("nosuch", 127, 0.1), ended("fine", 0, 0.0)];
        let failed: Vec<_> = [("host0", &client[..]), ("host4", &server[..])]
            .iter()
            .filter_map(|(name, commands)| complaint(name, commands, ""))
            .collect();
        let text = first(failed.clone()).unwrap();
        assert!(
            text.starts_with("host4: the command \"nosuch\" ended with status 127 at 0.1 s"),
            "{text}"
        );
        assert!(
            text.ends_with("(later a command failed on another host, too: see kernels.json)"),
            "{text}"
        );
        assert_eq!(first(failed[..1].to_vec()), Some(failed[0].1.clone()));
        assert_eq!(first(Vec::new()), None);
    }
}
