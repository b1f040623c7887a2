//! Tests the messages for wrong keys of Hadoop jobs.

use super::SMALL;
use crate::common::{VALID, parse};

/// Changes of `SMALL`, and the error of each: the line, the key and what is wrong.
const WRONG: [(&str, &str, &str); 22] = [
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
        "21: key traffic[0].cluster.map_memory: \"9GiB\" does not fit node_memory = \"8589934592B\"",
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
        "36: key traffic[0].cluster.fetch_read_timeout: \"0s\": write a time above 0, up to 24h, or \"off\"",
    ),
    (
        "output_cached = 0.5",
        "fetch_connect_timeout = \"25h\"",
        "36: key traffic[0].cluster.fetch_connect_timeout: \"25h\": write a time above 0, up to 24h, or \"off\"",
    ),
    (
        "output_cached = 0.5",
        "rpc_connect_timeout = \"0s\"",
        "36: key traffic[0].cluster.rpc_connect_timeout: \"0s\": write a time above 0, up to 24h, or \"off\"",
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
