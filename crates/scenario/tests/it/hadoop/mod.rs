//! Tests Hadoop jobs: times that can be calculated by hand, every byte sent once, the same results
//! from both engines.

mod attempts;
mod engines;
mod errors;
mod job;
mod traces;

use crate::common::parse_with;
use afflux_net::Progress;
use afflux_net::record::{Output, TaskRecord};
use afflux_net::spec::Flow;
use afflux_scenario::{Overrides, Scenario};

/// A scenario in which everything takes a fixed time, or none.
const FIXED: &str = r#"format = 1
[topology]
kind = "star"
hosts = 5
[host]
timing = "exact"

[host.transport]
initial_window = 100000
[[traffic]]
kind = "hadoop"
name = "sort"
size = "8MB"
reducers = 1
[traffic.cluster]
compute = "0-1"
data = 2
master = 3
client = 4
message_delay = "5us"
map_slots = 1
reduce_slots = 1
container_start = "1s"
jvm_start = "500ms"
master_init = "250ms"
disks = { count = 1, read = "8Gbps", write = "4Gbps", seek = "0s" }
block_size = "8MB"
map_cpu_per_mb = "10us"
reduce_cpu_per_mb = "100us"
slow_start = [1.0, 1.0]
event_poll = "1us"
fetch_service = "2ms"
rpc_service = "1ms"
client_start = "3s"
samples = 0
resources = "0B"
containers_per_heartbeat = 4
submit_rpcs = 0
launch_rpcs = 0
localized_files = [0, 0]
master_rpcs = 0
task_rpcs = [0, 0]
umbilical_rpcs = [1, 1]
task_reads = 0
block_rpcs = 0
commit_rpcs = 0
history = "0B"
history_rpcs = 0
unregister = "0s"
client_poll = "1s"
[run]
fct_end = "last_byte"
"#;

const SMALL: &str = r#"format = 1
[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 5
host_rate = "25Gbps"
[host.transport]
stack = "linux"
min_rto = "5ms"
[[traffic]]
kind = "hadoop"
size = "40MB"
files = 3
reducers = 7
[traffic.cluster]
compute = "0-4"
data = "5-8"
master = 9
block_size = "2MB"
map_slots = 2
reduce_slots = 2
output_replication = 2
container_start = ["10ms", "50ms"]
jvm_start = "10ms"
master_init = "5ms"
unregister = "10ms"
node_heartbeat = "20ms"
master_heartbeat = "20ms"
event_poll = "15ms"
client_start = "10ms"
client_poll = "50ms"
sample_size = "20kB"
map_cpu_per_mb = "2ms"
reduce_cpu_per_mb = "2ms"
output_cached = 0.5
disks = { seek = "1ms" }
log_size = "5kB"
"#;

fn load(text: &str) -> Scenario {
    parse_with(text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario) -> Output {
    afflux_net::run(&scenario.plan, &Progress::default()).unwrap()
}

fn span(task: &TaskRecord) -> u64 {
    (task.finish.unwrap() - task.start).0
}

fn task<'a>(output: &'a Output, phase: &str) -> &'a TaskRecord {
    output
        .tasks
        .iter()
        .find(|task| {
            task.phase == phase
                && (task.task.is_some()
                    || matches!(phase, "job" | "submit" | "master" | "commit" | "end"))
        })
        .unwrap()
}

/// Returns the flows of a class, in order of their starts, each with the time from the decision to
/// send until its end is known.
fn exchanges(scenario: &Scenario, output: &Output, class: &str) -> Vec<(Flow, u64)> {
    let delay = 5_000_000;
    let known = |(flow, record): (&Flow, &afflux_net::record::FlowRecord)| {
        (flow.clone(), (record.finish.unwrap() - record.start.unwrap()).0 + 2 * delay)
    };
    output
        .all_flows(&scenario.plan)
        .filter(|(flow, _)| scenario.classes[flow.class as usize] == class)
        .map(known)
        .collect()
}

const MS: u64 = 1_000_000_000;
