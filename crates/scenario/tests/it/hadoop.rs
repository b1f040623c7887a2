//! Tests Hadoop jobs: times that can be calculated by hand, every byte sent once, the same results
//! from both engines.

use crate::common::{NoParquet, VALID, folder, parse, parse_with};
use afflux_net::Progress;
use afflux_net::record::{Output, TaskRecord};
use afflux_net::spec::{EngineKind, Flow};
use afflux_scenario::{Overrides, Scenario};
use afflux_units::{Span, Time};
use std::collections::BTreeMap;

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

#[test]
fn one_map_and_one_reducer_take_the_sum_of_their_parts() {
    // All tasks run on one compute node, so only the block, the output and calls to the master
    // cross the network.
    let scenario = load(&FIXED.replace("compute = \"0-1\"", "compute = 0"));
    let output = run(&scenario);
    let flows: Vec<_> = output.all_flows(&scenario.plan).collect();
    // The map's request to the data node opens the connection that also carries the block: a
    // handshake of 4 us.
    let opens = |flow: &Flow, record: &afflux_net::record::FlowRecord| {
        flow.bytes == 500 && record.split.window == 4_028_800
    };
    let late: Vec<_> = flows
        .iter()
        .filter(|(_, record)| {
            record.finish.unwrap() - record.start.unwrap() != record.ideal
                && record.bytes_received <= 1_000
        })
        .collect();
    assert!(matches!(late[..], [(flow, record)] if opens(flow, record)), "other calls are alone");
    assert_eq!(span(task(&output, "submit")), 3_000 * MS);
    // The block is read from disk (8 ms) while it crosses the network (0.65 ms). Its output goes to
    // disk (16 ms). A call within the host takes 1 ms.
    assert_eq!(span(task(&output, "map")), (1_000 + 500 + 8 + 16 + 1) * MS);
    let [(block, _)] = exchanges(&scenario, &output, "read").try_into().unwrap();
    assert_eq!((block.src, block.dst, block.bytes), (2, 0, 8_062_500));
    // The map opens the connection and sends a request; the block is the answer.
    let between = calls(&scenario, &output);
    assert_eq!((between.get(&(0, 2)), between.get(&(2, 0))), (Some(&1), None));
    let request = output
        .all_flows(&scenario.plan)
        .find(|(flow, _)| (flow.src, flow.dst) == (0, 2) && flow.bytes < 1_000)
        .unwrap()
        .0;
    let opens = |flow: &Flow| scenario.plan.transports[usize::from(flow.transport)].tcp().handshake;
    assert!(opens(request) && !opens(&block));
    // Adds up a call to the master, one for outputs after at most a microsecond, the fetch within
    // the host, and the write of outputs in memory to disk.
    let shuffle = span(task(&output, "shuffle"));
    let parts = (1_000 + 500 + 1 + 1 + 2 + 16) * MS;
    assert!((parts..parts + 1_000_000).contains(&shuffle), "{shuffle}");
    assert!(exchanges(&scenario, &output, "fetch").is_empty());
    assert_eq!(span(task(&output, "merge")), 0);
    // The output crosses the network at 80 Gbit/s. The data node then writes it to disk (16 ms) for
    // the sync.
    let [(written, took)] = exchanges(&scenario, &output, "write").try_into().unwrap();
    assert_eq!((written.src, written.dst, written.bytes), (0, 2, 8_062_500));
    assert_eq!(span(task(&output, "reduce")), took + 16 * MS);
    let paced = written.bytes * 8 * 1_000 / 80;
    assert!(took > paced && took < paced + MS / 10, "{took} {paced}");
    // The client checks at whole seconds after its submission, and asks once.
    let [request, answer] =
        [1, 0].map(|back| exchanges(&scenario, &output, "rpc").iter().rev().nth(back).unwrap().1);
    let end = task(&output, "end").finish.unwrap();
    let look = end.0 - answer - request - MS + 5_000_000;
    assert_eq!(look % (1_000 * MS), 0, "{look}");
    assert_eq!(task(&output, "job").finish, Some(end));
}

/// Counts the flows of class `rpc` by source and destination.
fn calls(scenario: &Scenario, output: &Output) -> BTreeMap<(u32, u32), i64> {
    let mut calls = BTreeMap::new();
    for (flow, _) in exchanges(scenario, output, "rpc") {
        *calls.entry((flow.src, flow.dst)).or_default() += 1;
    }
    calls
}

#[test]
fn calls_cross_the_network_as_often_as_hadoop_makes_them() {
    // All tasks run on host 0. Host 2 has the blocks, host 3 is the name node and the resource
    // manager, host 4 the client.
    let alone = FIXED.replace("compute = \"0-1\"", "compute = 0");
    // TCP's handshake is the first round trip of a connection, and is not a flow.
    type Calls<'a> = &'a [((u32, u32), i64)];
    let cases: [(&str, &str, Calls); 13] = [
        ("task_rpcs = [0, 0]", "task_rpcs = [7, 0]", &[((0, 3), 6)]),
        ("task_rpcs = [0, 0]", "task_rpcs = [0, 12]", &[((0, 3), 11)]),
        ("task_reads = 0", "task_reads = 2", &[((0, 2), 2)]),
        ("block_rpcs = 0", "block_rpcs = 4", &[((0, 3), 1), ((0, 2), 3)]),
        ("launch_rpcs = 0", "launch_rpcs = 4", &[((3, 0), 3)]),
        // The tasks find the files that the master's node has fetched.
        (
            "localized_files = [0, 0]\n",
            "localized_files = [2, 4]\n",
            &[((0, 3), 2 + 4 * 2), ((0, 2), 4)],
        ),
        ("master_rpcs = 0", "master_rpcs = 28", &[((0, 3), 27)]),
        ("commit_rpcs = 0", "commit_rpcs = 7", &[((0, 3), 7)]),
        // Version 1 lists the directory of one task, and moves its file with four calls. The task's
        // own commit has two calls less.
        ("commit_rpcs = 0\n", "commit_rpcs = 7\ncommitter = \"v1\"\n", &[((0, 3), 7 + 1 + 4)]),
        (
            "task_rpcs = [0, 0]",
            "task_rpcs = [0, 12]\ncommitter = \"v1\"",
            &[((0, 3), 11 - 2 + 1 + 4)],
        ),
        ("history_rpcs = 0", "history_rpcs = 49", &[((0, 3), 49)]),
        ("unregister = \"0s\"", "unregister = \"1s\"", &[((0, 3), 1)]),
        ("submit_rpcs = 0", "submit_rpcs = 75", &[((4, 3), 75)]),
    ];
    for (from, to, more) in cases {
        assert!(alone.contains(from), "{from}");
        // A longer job would have more heartbeats, so heartbeats are made rare.
        let text = alone
            .replace(from, to)
            .replace("resources = \"0B\"", "resources = \"500kB\"")
            .replace("[traffic.cluster]", "[traffic.cluster]\nmaster_heartbeat = \"20s\"");
        let scenario = load(&text);
        let baseline = load(&text.replace(to, from));
        let before = calls(&baseline, &run(&baseline));
        let after = calls(&scenario, &run(&scenario));
        let expected: BTreeMap<(u32, u32), i64> = more
            .iter()
            .flat_map(|((from, to), count)| [((*from, *to), *count), ((*to, *from), *count)])
            .collect();
        let found: BTreeMap<(u32, u32), i64> = after
            .iter()
            .map(|(pair, count)| (*pair, count - before.get(pair).unwrap_or(&0)))
            .filter(|(_, more)| *more != 0)
            .collect();
        assert_eq!(found, expected, "{to}");
    }
}

#[test]
fn a_call_on_a_new_connection_takes_one_round_trip_more() {
    // A call takes the server 1 ms and, between hosts, a few microseconds. The handshake takes no
    // time of the server.
    let spread = |count: u32| {
        let text = FIXED
            .replace("compute = \"0-1\"", "compute = 0")
            .replace("master_rpcs = 0", &format!("master_rpcs = {count}"));
        span(task(&run(&load(&text)), "master"))
    };
    let [none, one, two, three] = [0, 1, 2, 3].map(spread);
    let call = one - none;
    assert!((MS..MS + MS / 10).contains(&call), "{call}");
    let connected = two - none;
    assert!(connected > call && connected < call + MS / 10, "{connected}");
    assert_eq!(three - two, call);
}

#[test]
fn the_commit_of_version_1_takes_longer_with_each_task() {
    // A call takes the server 1 ms and, between hosts, a few microseconds.
    let commit = |reducers: u32, committer: &str| {
        let text = FIXED
            .replace("compute = \"0-1\"", "compute = 0")
            .replace("reducers = 1", &format!("reducers = {reducers}"));
        span(task(
            &run(&load(&text.replace(
                "commit_rpcs = 0",
                &format!("commit_rpcs = 0\ncommitter = \"{committer}\""),
            ))),
            "commit",
        ))
    };
    for reducers in [1, 3] {
        assert_eq!(commit(reducers, "v2"), 0);
        let calls = u64::from(1 + 4 * reducers);
        assert!(
            (calls * MS..calls * MS + MS).contains(&commit(reducers, "v1")),
            "{reducers} reducers"
        );
    }
}

/// Two reducers, each on its own node. One of them gets its part of the only map's output over the
/// network.
fn two_reducers(keys: &str) -> String {
    FIXED
        .replace("kind = \"star\"", "kind = \"star\"\nrate = \"10Gbps\"")
        .replace("reducers = 1", "reducers = 2")
        .replace("message_delay", &format!("{keys}message_delay"))
}

#[test]
fn a_fetch_that_exceeds_its_time_out_is_repeated_after_a_penalty() {
    let longest_of = |text: &str| {
        let output = run(&load(text));
        let shuffles = output
            .tasks
            .iter()
            .filter(|task| task.phase == "shuffle" && task.task.is_some())
            .map(span);
        shuffles.max().unwrap()
    };
    let longest = |keys: &str| longest_of(&two_reducers(keys));
    // The answer takes the server 2 ms, and 3.2 ms for 4 MB. It is too late 30 times; after that
    // there are no time-outs any more.
    let once = longest("");
    let penalties = 13_000 + 16_900 + 28 * 20_000;
    for (key, timeout_us) in [("fetch_read_timeout", 4_000), ("fetch_connect_timeout", 1)] {
        let found =
            longest(&format!("{key} = \"{timeout_us}us\"\nfetch_retry_delay_max = \"20s\"\n"))
                - once;
        // A request is known to have arrived, handshake included, some 20 us after its start.
        let least = penalties * MS + 30 * timeout_us * (MS / 1_000);
        assert!((least..least + 2 * MS).contains(&found), "{key}: {found} {least}");
    }
    // Tez fails 15 times, with penalties of 2 s times 1.3 to the power of the failures: in all 2 s
    // times (1.3^16 - 1.3) / 0.3.
    let tez = "framework = \"tez\"\n";
    let found = longest_of(
        &two_reducers("fetch_read_timeout = \"4ms\"\n")
            .replace("reducers = 2\n", &format!("reducers = 2\n{tez}")),
    ) - longest_of(
        &two_reducers("").replace("reducers = 2\n", &format!("reducers = 2\n{tez}")),
    );
    let least = 434_944 * MS + 15 * 4 * MS;
    assert!((least..least + 2 * MS).contains(&found), "{found} {least}");
}

#[test]
fn a_time_out_that_no_fetch_exceeds_changes_nothing() {
    let digest = |keys: &str| {
        let output = run(&load(&two_reducers(keys)));
        format!("{:?}{:?}{:?}{:?}", output.flows, output.started, output.tasks, output.end)
    };
    assert!(
        digest("") == digest("fetch_read_timeout = \"180s\"\nfetch_connect_timeout = \"180s\"\n"),
        "not even the end of the run"
    );
}

/// Two maps and two reducers, one of each per node. Node 1 has a slow link.
fn slow_node(rate: &str, keys: &str) -> String {
    FIXED
        .replace(
            "[host]\n",
            &format!(
                "[[topology.override]]\nlink = \"host1-switch0\"\nrate = \"{rate}\"\n[host]\n"
            ),
        )
        .replace("block_size = \"8MB\"", "block_size = \"4MB\"")
        .replace("reducers = 1", "reducers = 2")
        .replace("message_delay", &format!("{keys}message_delay"))
}

#[test]
fn a_slow_map_gets_a_second_attempt_which_counts_if_it_ends_first() {
    let maps = |keys: &str| -> Vec<TaskRecord> {
        let output = run(&load(&slow_node("2Mbps", keys)));
        output
            .tasks
            .iter()
            .filter(|task| task.phase == "map" && task.task.is_some())
            .copied()
            .collect()
    };
    // The block of 4 MB takes the slow map 16 s.
    let (alone, speculated) = (maps(""), maps("map_speculative = true\n"));
    assert_eq!((alone.len(), speculated.len()), (2, 2));
    let [fast, slow] = [0, 1].map(|node| alone.iter().find(|map| map.node == Some(node)).unwrap());
    assert!(span(slow) > 17_500 * MS, "{slow:?}");
    assert_eq!(span(fast), speculated.iter().find(|map| map.task == fast.task).map(span).unwrap());
    let again = speculated.iter().find(|map| map.task == slow.task).unwrap();
    assert_eq!(again.node, Some(0));
    // A map counts as two thirds done while its block is on the network, so the attempt is too slow
    // once it has run for twice the time of the other map. The next scan follows within 1 s, and
    // heartbeats of the master, of the node and of the master again within 1 s each.
    let slow_since = slow.start + Span(2 * span(fast));
    assert!(
        again.start >= slow_since && again.start <= slow_since + Span::from_ms(4_010),
        "{} {}",
        again.start,
        slow_since
    );
    // The second attempt takes as long as the other map took on this node, within two calls.
    assert!(span(again).abs_diff(span(fast)) < 2 * MS, "{} {}", span(again), span(fast));
}

#[test]
fn a_second_attempt_of_a_reducer_fetches_again_and_one_of_the_two_is_recorded() {
    let [(alone, once), (fetches, output)] = ["", "reduce_speculative = true\n"].map(|keys| {
        let scenario = load(&slow_node("1Mbps", keys));
        let output = run(&scenario);
        (exchanges(&scenario, &output, "fetch").len(), output)
    });
    // Each reducer fetches the output of the map on the other node. The second attempt fetches the
    // output of the map on the slow node.
    assert_eq!((alone, fetches), (2, 3));
    for phase in ["shuffle", "merge", "reduce"] {
        let mut tasks: Vec<_> = output
            .tasks
            .iter()
            .filter(|task| task.phase == phase)
            .filter_map(|task| task.task)
            .collect();
        tasks.sort_unstable();
        assert_eq!(tasks, [0, 1], "{phase}");
    }
    // The second fetch shares the slow link with the output of the first attempt.
    assert!(span(task(&output, "job")) > span(task(&once, "job")));
}

#[test]
fn a_node_is_given_so_many_containers_per_heartbeat() {
    let text = FIXED
        .replace("compute = \"0-1\"", "compute = 0")
        .replace("map_slots = 1", "map_slots = 4")
        .replace("block_size = \"8MB\"", "block_size = \"2MB\"")
        .replace("message_delay", "master_heartbeat = \"100ms\"\nmessage_delay");
    for (count, rounds) in [(1, 4), (2, 2), (4, 1)] {
        let text = text.replace(
            "containers_per_heartbeat = 4",
            &format!("containers_per_heartbeat = {count}\nnode_heartbeat = \"300ms\""),
        );
        let output = run(&load(&text));
        let mut starts: Vec<Time> = output
            .tasks
            .iter()
            .filter(|task| task.phase == "map" && task.task.is_some())
            .map(|task| task.start)
            .collect();
        starts.sort_unstable();
        assert_eq!(starts.len(), 4);
        starts.dedup();
        assert_eq!(starts.len(), rounds, "{count} per heartbeat");
        // The master learns of an ended container at its next heartbeat.
        assert!(
            starts.windows(2).all(|two| two[1] - two[0] >= Span::from_ms(150)
                && two[1] - two[0] <= Span::from_ms(450))
        );
    }
}

#[test]
fn a_node_tells_at_once_that_a_container_has_ended() {
    // Two maps run one after the other. The second does not wait for a heartbeat of the node.
    let text = FIXED
        .replace("compute = \"0-1\"", "compute = 0")
        .replace("block_size = \"8MB\"", "block_size = \"4MB\"")
        .replace("message_delay", "node_heartbeat = \"20s\"\nmessage_delay");
    let output = run(&load(&text));
    let maps: Vec<&TaskRecord> =
        output.tasks.iter().filter(|task| task.phase == "map" && task.task.is_some()).collect();
    assert!(maps[1].start > maps[0].finish.unwrap());
    assert!(maps[1].start - maps[0].finish.unwrap() <= Span::from_ms(1_010), "{:?}", maps);
}

#[test]
fn a_container_that_is_used_again_keeps_its_connections() {
    let to_name_node = |framework: &str, calls_of_map: u32| {
        let text = FIXED
            .replace("compute = \"0-1\"", "compute = 0")
            .replace("block_size = \"8MB\"", "block_size = \"4MB\"")
            .replace(
                "[traffic.cluster]",
                &format!(
                    "framework = \"{framework}\"\n[traffic.cluster]\nmaster_heartbeat = \"20s\""
                ),
            )
            .replace("task_rpcs = [0, 0]", &format!("task_rpcs = [{calls_of_map}, 0]"));
        let scenario = load(&text);
        calls(&scenario, &run(&scenario))[&(0, 3)]
    };
    let of_two_maps = |framework: &str| to_name_node(framework, 7) - to_name_node(framework, 0);
    assert_eq!(of_two_maps("mapreduce"), 6 + 6);
    // The second map does not authenticate again.
    assert_eq!(of_two_maps("tez"), 6 + 5);
}

#[test]
fn with_half_of_the_processors_their_work_takes_twice_as_long() {
    let scenario = load(&FIXED.replace("jvm_start", "cpu_share = 0.5\njvm_start"));
    let output = run(&scenario);
    // Starts of containers, the master's work, and 20 us per megabyte of 8 MB take longer. Reading
    // and disks are as fast as before.
    let once = run(&load(FIXED));
    let phase = |phase: &str| span(task(&output, phase)) - span(task(&once, phase));
    assert_eq!(phase("submit"), 0);
    assert_eq!(phase("master"), (1_000 + 500 + 250) * MS);
    assert_eq!(phase("map"), 1_500 * MS);
    // The reducer writes at 40 Gbit/s instead of 80 Gbit/s.
    let [(written, took)] = exchanges(&scenario, &output, "write").try_into().unwrap();
    let paced = written.bytes * 8 * 1_000 / 40;
    assert!(took > paced && took < paced + MS / 10, "{took} {paced}");
}

#[test]
fn a_fetch_from_another_host_is_a_request_and_an_answer() {
    let scenario = load(&FIXED.replace("kind = \"star\"", "kind = \"star\"\nrate = \"10Gbps\""));
    let output = run(&scenario);
    let (map, reduce) = (task(&output, "map"), task(&output, "shuffle"));
    let fetches = exchanges(&scenario, &output, "fetch");
    if map.node == reduce.node {
        assert!(fetches.is_empty());
    } else {
        assert_eq!((fetches.len(), fetches[0].0.bytes), (1, 8_000_030));
        assert_eq!((Some(fetches[0].0.src), Some(fetches[0].0.dst)), (map.node, reduce.node));
    }
}

#[test]
fn every_byte_crosses_the_network_once() {
    for (seed, framework) in [(1, "mapreduce"), (2, "tez"), (3, "mapreduce"), (4, "tez")] {
        let text = SMALL.replace("files = 3", &format!("files = 3\nframework = \"{framework}\""));
        let scenario =
            parse_with(&text, &Overrides { seed: Some(seed), ..Overrides::default() }).unwrap();
        let output = run(&scenario);
        assert!(
            output
                .all_flows(&scenario.plan)
                .all(|(flow, record)| flow.bytes == record.bytes_received)
        );
        let sum = |class: &str, from: u32| {
            exchanges(&scenario, &output, class)
                .iter()
                .filter(|(flow, _)| flow.src >= from)
                .map(|(flow, _)| flow.bytes)
                .sum::<u64>()
        };
        let of = |phase: &str| -> Vec<&TaskRecord> {
            output.tasks.iter().filter(|task| task.phase == phase && task.task.is_some()).collect()
        };
        let (maps, reducers) = (of("map"), of("shuffle"));
        assert_eq!((maps.len(), reducers.len(), of("reduce").len()), (21, 7, 7));
        // Each map reads its block from a data node, and the client (host 9) reads ten samples.
        let wire = |bytes: u64| bytes + bytes * 4 / 512;
        let samples = 10 * 20_000;
        assert_eq!(
            sum("read", 0),
            maps.iter().map(|map| wire(map.bytes_in)).sum::<u64>() + samples
        );
        // Each reducer gets its part of each output on another node, with a header.
        let segment = maps[0].bytes_out.div_ceil(7);
        let elsewhere = reducers
            .iter()
            .map(|reducer| maps.iter().filter(|map| map.node != reducer.node).count() as u64)
            .sum::<u64>();
        assert_eq!(sum("fetch", 0), elsewhere * (segment + 30));
        // There are two copies of the output and of the history (only MapReduce has one), and four
        // of the resources.
        let output_bytes: u64 = of("reduce").iter().map(|reduce| reduce.bytes_out).sum();
        assert_eq!(output_bytes, 40_000_000);
        let blocks: u64 =
            of("reduce").iter().map(|reduce| blocks(reduce.bytes_out).map(wire).sum::<u64>()).sum();
        assert_eq!(
            sum("write", 0),
            2 * blocks
                + 4 * wire(500_000)
                + if framework == "tez" { 0 } else { 2 * wire(1_000_000) }
        );
        assert!(sum("log", 0) > 0);
        // A node never runs more tasks of a kind at a time than it has slots.
        for maps in [&maps, &reducers] {
            for task in maps.iter() {
                let at_once = maps
                    .iter()
                    .filter(|other| {
                        other.node == task.node
                            && other.start <= task.start
                            && other.finish.unwrap() > task.start
                    })
                    .count();
                assert!(at_once <= 2, "{at_once}");
            }
        }
    }
}

fn blocks(bytes: u64) -> impl Iterator<Item = u64> {
    let block = 2_000_000;
    (0..bytes.div_ceil(block)).map(move |index| block.min(bytes - index * block))
}

#[test]
fn both_engines_and_any_threads_agree() {
    let background = "[run]\nuntil = \"jobs\"\n[[traffic]]\nkind = \"background\"\nrate = \"2Gbps\"\nhosts = \"0-4\"\n";
    let datagrams =
        background.replace("rate =", "protocol = \"datagram\"\nrate =").replace("2Gbps", "6Gbps");
    let shallow = "[switch]\nbuffer = \"200kB\"\n";
    let tez = SMALL.replace("files = 3", "files = 3\nframework = \"tez\"");
    let texts = [
        SMALL.to_string(),
        format!("{SMALL}{background}{shallow}"),
        format!("{tez}{datagrams}{shallow}"),
    ];
    for (place, text) in texts.iter().enumerate() {
        // While jobs wait without traffic of their own, only background traffic is simulated, so
        // the waits are shortened.
        let quick = [("3s", "100ms"), ("1s", "20ms"), ("500ms", "10ms"), ("250ms", "5ms")];
        let text = quick.iter().fold(text.clone(), |text, (long, short)| {
            text.replace(&format!("\"{long}\""), &format!("\"{short}\""))
        });
        let mut scenario = load(&text);
        let digest = |output: &Output| {
            format!(
                "{:?}{:?}{:?}{:?}{:?}{:?}",
                output.flows,
                output.started,
                output.tasks,
                output.links,
                output.counters,
                output.end
            )
        };
        let fast = digest(&run(&scenario));
        // Three and seven threads run only once; `make fuzz` runs them over thousands of scenarios.
        for &threads in if place == 0 { &[2, 3, 7][..] } else { &[2] } {
            scenario.plan.run.threads = threads;
            assert!(digest(&run(&scenario)) == fast, "{threads} threads: {text}");
        }
        scenario.plan.run.engine = EngineKind::Classical;
        assert!(digest(&run(&scenario)) == fast, "classical: {text}");
    }
}

#[test]
fn both_engines_agree_on_failed_fetches_and_second_attempts() {
    // An answer takes a few milliseconds if the output comes from a disk.
    let fails = SMALL.replace("log_size", "fetch_read_timeout = \"6ms\"\nfetch_retry_delay_max = \"2ms\"\ncommitter = \"v1\"\nlog_size");
    let second = slow_node("3Mbps", "map_speculative = true\nreduce_speculative = true\n");
    for (text, threads) in [(fails, 2), (second, 1)] {
        let mut scenario = load(&text);
        let digest = |output: &Output| {
            format!(
                "{:?}{:?}{:?}{:?}{:?}",
                output.flows, output.started, output.tasks, output.counters, output.end
            )
        };
        let fast = digest(&run(&scenario));
        scenario.plan.run.threads = threads;
        assert!(digest(&run(&scenario)) == fast, "{threads} threads: {text}");
        scenario.plan.run.engine = EngineKind::Classical;
        assert!(digest(&run(&scenario)) == fast, "classical: {text}");
    }
}

#[test]
fn background_traffic_keeps_to_its_rate_and_ends_with_the_jobs() {
    for protocol in ["tcp", "datagram"] {
        let text = format!(
            "{SMALL}[run]\nuntil = \"jobs\"\n[[traffic]]\nkind = \"background\"\nprotocol = \"{protocol}\"\nrate = \"5Gbps\"\nhosts = \"0-4\"\n"
        );
        let scenario = load(&text);
        let output = run(&scenario);
        let job = task(&output, "job").finish.unwrap();
        assert!(output.end >= job && output.end <= job + Span::from_s(1), "logs take their time");
        for record in &output.flows[..5] {
            assert!(record.finish.is_none());
            // The first ten segments of a connection are not paced, and up to 64 KiB leave
            // together, ahead of the pace.
            let nominal = output.end.0 as f64 * 1e9 / 8e12;
            let most = nominal + 10.0 * 1_460.0 + 65_536.0;
            assert!(
                (0.95 * nominal..most).contains(&(record.bytes_received as f64)),
                "{protocol}: {} of {nominal}",
                record.bytes_received
            );
        }
    }
}

#[test]
fn traces_become_jobs() {
    let folder = folder("hadoop-trace");
    std::fs::write(folder.join("trace.tsv"), "job0\t9\t9\t4000000\t0\t1000000\njob1\t10\t1\t6000000\t5000000\t700\njob2\t12\t2\t9\t9\t9\n").unwrap();
    let (head, tail) = SMALL.split_once("[[traffic]]").unwrap();
    let (_, cluster) = tail.split_once("[traffic.cluster]").unwrap();
    let block = "[[traffic]]\nkind = \"hadoop_trace\"\nfile = \"trace.tsv\"\njobs = 2\ntime_scale = 0.1\nbytes_per_reducer = \"3MB\"\n[traffic.cluster]";
    let path = folder.join("trace.toml");
    std::fs::write(&path, format!("{head}{block}{cluster}")).unwrap();
    let scenario = afflux_scenario::load(&path, &Overrides::default(), &NoParquet)
        .unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = scenario.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["hadoop_trace.job0", "hadoop_trace.job1"]);
    let output = run(&scenario);
    let count = |job: u32, phase: &str| {
        output
            .tasks
            .iter()
            .filter(|task| task.job == job && task.phase == phase && task.task.is_some())
            .count()
    };
    assert_eq!(
        (count(0, "map"), count(0, "reduce"), count(1, "map"), count(1, "reduce")),
        (2, 0, 3, 2)
    );
    let submitted: Vec<Time> =
        output.tasks.iter().filter(|task| task.phase == "job").map(|task| task.start).collect();
    assert!(submitted.contains(&Time::ZERO) && submitted.contains(&Time::from_ns(100_000_000)));
    // Maps write the output if there are no reducers: the output of the first job, twice.
    let written: u64 = exchanges(&scenario, &output, "write")
        .iter()
        .filter(|(flow, _)| flow.job == 0 && (flow.src < 5))
        .map(|(flow, _)| flow.bytes)
        .sum();
    assert!(written >= 1_000_000, "{written}");
}

/// Changes of `SMALL`, and the error of each: the line, the key and what is wrong.
const WRONG: [(&str, &str, &str); 21] = [
    (
        "compute = \"0-4\"",
        "compute = \"0-14\"",
        "17: key traffic[0].cluster.compute: host 14 is out of range: the fabric has the hosts 0 to 9",
    ),
    (
        "output_replication = 2",
        "output_replication = 5",
        "23: key traffic[0].cluster.output_replication: found 5: there are 4 data nodes",
    ),
    (
        "map_slots = 2",
        "node_memory = \"8GiB\"",
        "21: key traffic[0].cluster.node_memory: has no effect with map_slots and reduce_slots: remove it",
    ),
    (
        "map_slots = 2\n",
        "",
        "16: key traffic[0].cluster: map_slots is missing: write both map_slots and reduce_slots, or neither",
    ),
    (
        "map_slots = 2\nreduce_slots = 2",
        "map_memory = \"9GiB\"",
        "21: key traffic[0].cluster.map_memory: \"9663676416B\" does not fit node_memory = \"8589934592B\"",
    ),
    (
        "container_start = [\"10ms\", \"50ms\"]",
        "cpu_share = 0",
        "24: key traffic[0].cluster.cpu_share: found 0: write a number from 0.01 to 1",
    ),
    (
        "container_start = [\"10ms\", \"50ms\"]",
        "container_start = [\"50ms\", \"10ms\"]",
        "24: key traffic[0].cluster.container_start: [\"50ms\", \"10ms\"]: the first is the least, the second the most",
    ),
    (
        "container_start = [\"10ms\", \"50ms\"]",
        "next_task = \"1s\"",
        "24: key traffic[0].cluster.next_task: has no effect with framework = \"mapreduce\": remove it",
    ),
    (
        "output_cached = 0.5",
        "output_cached = 1.5",
        "36: key traffic[0].cluster.output_cached: found 1.5: write a number from 0 to 1",
    ),
    (
        "output_cached = 0.5",
        "fetch_read_timeout = \"0s\"",
        "36: key traffic[0].cluster.fetch_read_timeout: \"0ps\": write a time above 0, up to 24h, or \"off\"",
    ),
    (
        "output_cached = 0.5",
        "fetch_connect_timeout = \"25h\"",
        "36: key traffic[0].cluster.fetch_connect_timeout: \"90000s\": write a time above 0, up to 24h, or \"off\"",
    ),
    (
        "output_cached = 0.5",
        "fetch_retry_delay_max = \"5s\"",
        "36: key traffic[0].cluster.fetch_retry_delay_max: has no effect with fetch_connect_timeout = \"off\" and fetch_read_timeout = \"off\": \
         remove it",
    ),
    ("output_cached = 0.5", "committer = \"v3\"", "36: key traffic[0].cluster.committer: "),
    ("output_cached = 0.5", "map_speculative = 1", "36: key traffic[0].cluster.map_speculative: "),
    (
        "reducers = 7\n[traffic.cluster]",
        "framework = \"tez\"\n[traffic.cluster]\nreduce_speculative = true",
        "17: key traffic[0].cluster.reduce_speculative: has no effect with framework = \"tez\": remove it",
    ),
    (
        "reducers = 7\n[traffic.cluster]",
        "framework = \"tez\"\n[traffic.cluster]\nfetch_read_timeout = \"9s\"\nfetch_retry_delay_max = \"9s\"",
        "18: key traffic[0].cluster.fetch_retry_delay_max: has no effect with framework = \"tez\": remove it",
    ),
    ("size = \"40MB\"", "size = \"0B\"", "13: key traffic[0].size: \"0B\": write a size above 0"),
    (
        "reducers = 7",
        "reducers = 0",
        "15: key traffic[0].reducers: found 0: write a number from 1 to 100000",
    ),
    (
        "map_slots = 2",
        "map_slot = 2",
        "21: key traffic[0].cluster.map_slot: unknown key (did you mean \"map_slots\"?)",
    ),
    (
        "stack = \"linux\"\nmin_rto = \"5ms\"",
        "kind = \"datagram\"",
        "15: key traffic[0].cluster: Hadoop needs TCP, and the transport of this block sends datagrams: write another transport",
    ),
    (
        "log_size = \"5kB\"\n",
        "\n[[traffic]]\nkind = \"background\"\nrate = \"20Gbps\"\n",
        "39: key traffic[1]: background traffic does not end: write [run] until = \"jobs\" or a time",
    ),
];

#[test]
fn what_is_wrong_is_said() {
    for (from, to, message) in WRONG {
        assert!(SMALL.contains(from), "{from}");
        let error = parse(&SMALL.replacen(from, to, 1))
            .err()
            .unwrap_or_else(|| panic!("no error with {to}"));
        assert!(
            error.to_string().starts_with(&format!("fabric.toml:{message}")),
            "{error}\n{message}"
        );
    }
    let alone = VALID.replacen("[run]", "[run]\nuntil = \"jobs\"", 1);
    let error = parse(&alone).err().unwrap().to_string();
    assert!(error.contains("the traffic has no jobs"), "{error}");
}
