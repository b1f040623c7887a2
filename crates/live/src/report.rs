//! Report of a live run: `live.json`.

use crate::Options;
use crate::host::Host;
use crate::lateness::Lateness;
use crate::relay::Watched;
use afflux_net::checks;
use afflux_net::record::Output;
use afflux_net::routing::Ports;
use afflux_net::spec::Plan;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Shortest base round-trip time in us that is reported without a warning. Below it, the machine's
/// own delay is a large part.
const LEAST_HONEST_RTT_US: f64 = 500.0;

/// Report of a live run, and whether the run is valid.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub scenario_seed: u64,
    /// True if packets left in time.
    pub valid: bool,
    /// Reasons why the run is invalid.
    pub wrong: Vec<String>,
    pub notes: Vec<String>,
    pub duration_s: f64,
    /// True if Ctrl-C ended the run.
    pub interrupted: bool,
    pub real_time_scheduling: bool,
    /// Upper bound in us on the 99th percentile of `lateness_us`.
    pub bound_us: f64,
    /// Delay in us between the instant at which a packet should leave for its host and the instant
    /// at which it does. Excludes the first packet of each NIC.
    pub lateness_us: Quantiles,
    /// Lateness in us of the first packet of each NIC. It does not affect validity.
    pub first_lateness_us: Quantiles,
    /// Upper bound in us on the time that an arriving packet waited while the thread processed
    /// others.
    pub pickup_us: Quantiles,
    /// Shortest propagation delay in us of a round trip between two real hosts that have exchanged
    /// packets.
    pub base_rtt_us: Option<f64>,
    /// Processor time in seconds of the forwarding thread.
    pub cpu_s: f64,
    pub packets: PacketCounts,
    pub hosts: Vec<HostReport>,
    /// Counters of every recorded port, up to its last sample.
    pub ports: Vec<PortReport>,
    pub command: Option<CommandReport>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Quantiles {
    pub count: u64,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

/// Packet counts of real hosts. `dropped`, `dropped_by_loss` and `marked` include simulated hosts.
#[derive(Debug, Clone, Serialize)]
pub struct PacketCounts {
    pub entered: u64,
    pub delivered: u64,
    /// Packets that the network dropped, of real and simulated hosts.
    pub dropped: u64,
    pub dropped_by_loss: u64,
    pub marked: u64,
    /// ECN marks written into packets of real hosts.
    pub marks_written: u64,
    /// Packets that are not IPv4, or not from or for a host of the scenario.
    pub ignored: u64,
    /// Packets longer than the scenario's MTU, which are lost.
    pub too_long: u64,
    /// Packets for hosts that are not real.
    pub to_simulated_hosts: u64,
    /// Packets lost in a host's device, because the host sent faster than afflux read.
    pub unread: u64,
    /// Packets that the receiving kernel did not accept.
    pub refused: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct HostReport {
    pub name: String,
    pub addresses: Vec<String>,
    /// Interfaces of this machine that lead to the host. Empty if the host is a namespace.
    pub interfaces: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct PortReport {
    pub node: String,
    pub port: u32,
    /// Node at the other end of the link.
    pub peer: String,
    pub tx_bytes: u64,
    pub drops: u64,
    pub ecn_marks: u64,
    /// Mean over the samples, and peak at any time, in bytes.
    pub queue_bytes_mean: f64,
    pub queue_bytes_max: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct CommandReport {
    pub command: Vec<String>,
    /// Exit status. `None` if the command was killed.
    pub status: Option<i32>,
}

impl Report {
    /// Returns the text of `live.json`.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and strings") + "\n"
    }
}

fn us(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

impl From<&Lateness> for Quantiles {
    fn from(lateness: &Lateness) -> Self {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| us(lateness.quantile(share)));
        Quantiles { count: lateness.count(), p50, p99, p999, max: us(lateness.most()) }
    }
}

pub(crate) fn report(
    plan: &Plan,
    output: &Output,
    hosts: &[Host],
    watched: Watched,
    options: &Options,
    mut notes: Vec<String>,
) -> Report {
    let lateness = Quantiles::from(&watched.lateness);
    let bound_us = us(options.bound);
    let base_rtt_us = watched.base_rtt.map(|span| span.0 as f64 / 1e6);
    let wrong = invalid(plan, output, &watched, lateness.p99, bound_us);
    for (host, nic) in hosts
        .iter()
        .flat_map(|host| host.nics.iter().map(move |nic| (host, nic)))
        .filter(|(_, nic)| !nic.is_known())
    {
        notes.push(format!(
            "nobody behind {} has said that it is {} ({})",
            nic.name, nic.address, host.name
        ));
    }
    if watched.refused > 0 {
        notes.push(format!(
            "{} packets were not taken by the kernels of their hosts",
            watched.refused
        ));
    }
    if let Some(rtt) = base_rtt_us.filter(|rtt| *rtt < LEAST_HONEST_RTT_US) {
        notes.push(format!(
            "the base round trip of {rtt:.0} us is below {LEAST_HONEST_RTT_US:.0} us: hosts and forwarding add tens of microseconds, so this is not honest in real time; lengthen all delays and slow all rates by the same factor instead"
        ));
    }
    let first = Quantiles::from(&watched.first);
    if first.max > bound_us {
        notes.push(format!(
            "the first packet to each host is not part of the lateness: with the set-up for it the latest of {} left {:.0} us late",
            first.count, first.max
        ));
    }
    let c = &output.counters;
    Report {
        scenario_seed: plan.run.seed,
        valid: wrong.is_empty(),
        wrong,
        notes,
        duration_s: watched.duration.as_secs_f64(),
        interrupted: watched.interrupted,
        real_time_scheduling: watched.real_time,
        bound_us,
        lateness_us: lateness,
        first_lateness_us: first,
        pickup_us: Quantiles::from(&watched.pickup),
        base_rtt_us,
        cpu_s: output.engine.thread_cpu_s.iter().sum(),
        packets: PacketCounts {
            entered: watched.entered,
            delivered: watched.delivered,
            dropped: c.dropped_packets,
            dropped_by_loss: c.drops_loss,
            marked: c.ecn_marks,
            marks_written: watched.marks,
            ignored: watched.ignored,
            too_long: watched.too_long,
            to_simulated_hosts: watched.to_nobody,
            unread: watched.unread,
            refused: watched.refused,
        },
        hosts: hosts
            .iter()
            .map(|host| HostReport {
                name: host.name.clone(),
                addresses: host.nics.iter().map(|nic| nic.address.to_string()).collect(),
                interfaces: host.interfaces(),
            })
            .collect(),
        ports: ports(plan, output),
        command: (!options.command.is_empty())
            .then(|| CommandReport { command: options.command.clone(), status: watched.status }),
    }
}

/// Returns the reasons why the run is invalid. `p99` is the lateness in us.
fn invalid(
    plan: &Plan,
    output: &Output,
    watched: &Watched,
    p99: f64,
    bound_us: f64,
) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(error) = &watched.broken {
        let seconds = watched.duration.as_secs_f64();
        wrong.push(format!("{error}: the run ended there, at {seconds:.3} s"));
    }
    if p99 > bound_us {
        wrong.push(format!(
            "packets left {p99:.0} us late at the 99th percentile, and at most {bound_us:.0} us are allowed: the machine fell behind"
        ));
    }
    if watched.unread > 0 {
        wrong.push(format!(
            "{} packets were lost in the hosts' devices before they could be read",
            watched.unread
        ));
    }
    if watched.too_long > 0 {
        wrong.push(format!(
            "{} packets were longer than host.mtu: segments are joined on their way (`ethtool -K … tso off gso off` at the other end, `gro off lro off` here)",
            watched.too_long
        ));
    }
    for failed in checks::failed_checks(plan, output) {
        wrong.push(format!("a check of the result itself failed ({}: {}): this is a defect of afflux, please report it", failed.check, failed.detail));
    }
    wrong
}

fn ports(plan: &Plan, output: &Output) -> Vec<PortReport> {
    let links = Ports::new(&plan.topology);
    let name = |node: u32| plan.topology.nodes[node as usize].name.clone();
    let mut reports: BTreeMap<(u32, u32), (PortReport, u64)> = BTreeMap::new();
    for row in output.ports.iter().filter(|row| row.queue < 0) {
        let (report, samples) = reports.entry((row.node, row.port)).or_insert_with(|| {
            let peer = name(links.of(row.node)[row.port as usize].peer);
            (
                PortReport {
                    node: name(row.node),
                    port: row.port,
                    peer,
                    tx_bytes: 0,
                    drops: 0,
                    ecn_marks: 0,
                    queue_bytes_mean: 0.0,
                    queue_bytes_max: 0,
                },
                0,
            )
        });
        report.tx_bytes += row.tx_bytes;
        report.drops += row.drops;
        report.ecn_marks += row.ecn_marks;
        report.queue_bytes_max = report.queue_bytes_max.max(row.queue_bytes_max);
        // Sum of all samples, divided below by their number.
        report.queue_bytes_mean += row.queue_bytes as f64;
        *samples += 1;
    }
    reports
        .into_values()
        .map(|(report, samples)| PortReport {
            queue_bytes_mean: report.queue_bytes_mean / samples as f64,
            ..report
        })
        .collect()
}
