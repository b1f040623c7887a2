//! Tests times that can be calculated by hand, and that every byte is sent once.

use super::{FIXED, MS, SMALL, exchanges, load, run, span, task};
use crate::common::parse_with;
use afflux_net::record::{Output, TaskRecord};
use afflux_net::spec::Flow;
use afflux_scenario::{Overrides, Scenario};
use afflux_units::{Span, Time};
use std::collections::BTreeMap;

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

/// An output of 8 MB takes 16 ms of writing, however many spills it has, and its merge 8 ms of
/// reading and 16 ms of writing. Early spills are written while the block is read (8 ms).
#[test]
fn every_spill_of_a_map_is_written_once() {
    let map = |buffer: &str, early: bool| {
        let keys = format!(
            "compute = 0\nsort_buffer = \"{buffer}\"\nspill_share = 1.0\nsort_overhead = 1.0\nearly_spills = {early}"
        );
        let output = run(&load(&FIXED.replace("compute = \"0-1\"", &keys)));
        span(task(&output, "map")) / MS - 1_501
    };
    assert_eq!(map("8MB", true), 8 + 16);
    // Two spills; four, of which three take longer than the block; eight.
    for buffer in ["4MB", "2MB", "1MiB"] {
        assert_eq!(map(buffer, true), 16 + 24, "{buffer}");
    }
    assert_eq!(map("2MB", false), 8 + 4 + 24);
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
