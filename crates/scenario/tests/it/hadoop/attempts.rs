//! Tests fetches that fail and are repeated, and second attempts of slow tasks.

use super::{FIXED, MS, exchanges, load, run, span, task};
use afflux_net::record::TaskRecord;
use afflux_units::Span;

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

#[test]
fn a_call_opens_another_connection_after_its_time_out() {
    // The job's master connects to the resource manager, whose link is down for 32 s then.
    let opened = |keys: &str, down: &str| {
        let text = FIXED
            .replace("master_rpcs = 0", "master_rpcs = 2")
            .replace("[host]\n", &format!("{down}[host]\n"))
            .replace("message_delay", &format!("{keys}message_delay"));
        let scenario = load(&text);
        let output = run(&scenario);
        let calls =
            output.all_flows(&scenario.plan).filter(|(flow, _)| flow.src == 3 || flow.dst == 3);
        let starts: Vec<_> =
            calls.map(|(flow, record)| (flow.src, record.start.unwrap())).collect();
        let (_, asked) = *starts.iter().find(|(from, _)| *from != 3).unwrap();
        let (_, answered) = *starts.iter().find(|(from, _)| *from == 3).unwrap();
        (asked, (answered - asked).0)
    };
    let (asked, at_once) = opened("", "");
    let down = format!(
        "[[topology.fault]]\nlink = \"host3-switch0\"\ndown = [{{ from = \"{asked}\", to = \"{}\" }}]\n",
        asked + Span::from_s(32)
    );
    // SYNs are sent 0, 1, 3, 7 and 15 s after each opening, and without a time-out after 31 and
    // 63 s.
    for (keys, later) in [
        ("", 20 + 15),
        ("rpc_connect_timeout = \"5s\"\n", 6 * 5 + 3),
        ("rpc_connect_timeout = \"off\"\n", 63),
    ] {
        let waited = opened(keys, &down).1 - at_once;
        assert!(waited.abs_diff(later * 1_000 * MS) < 10 * MS, "{keys}: {waited}");
    }
    // A time-out that no connection exceeds changes nothing.
    assert_eq!(opened("rpc_connect_timeout = \"off\"\n", ""), (asked, at_once));
}

/// Two maps and two reducers, one of each per node. Node 1 has a slow link.
pub(super) fn slow_node(rate: &str, keys: &str) -> String {
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
