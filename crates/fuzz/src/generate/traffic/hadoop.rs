//! Generator of Hadoop jobs, on machines so fast that jobs end within simulated milliseconds.

use super::drawn::Drawn;
use crate::choices::{ALWAYS, Choices, Draw, Draw::*, Keys, Row, int};

const JOB: &[Row] = &[
    (ALWAYS, "size", Size(200_000, 4_000_000)),
    (40, "files", Int(1, 3)),
    (60, "reducers", Int(1, 6)),
];

const TRACE: &[Row] = &[
    (ALWAYS, "size_scale", Number(0.02)),
    (ALWAYS, "time_scale", Number(0.001)),
    (50, "jobs", Int(1, 3)),
    (ALWAYS, "bytes_per_reducer", Text("100kB")),
];

const POLL: Draw = Time(50_000, 2_000_000);

const CLUSTER: &[Row] = &[
    (ALWAYS, "client_poll", POLL),
    (ALWAYS, "event_poll", POLL),
    (ALWAYS, "master_heartbeat", POLL),
    (ALWAYS, "node_heartbeat", POLL),
    (ALWAYS, "block_size", Size(100_000, 1_000_000)),
    (ALWAYS, "map_cpu_per_mb", Text("100us")),
    (ALWAYS, "reduce_cpu_per_mb", Text("100us")),
    (50, "output_replication", Int(1, 2)),
    (30, "log_size", Size(1_000, 100_000)),
    (30, "cpu_share", Number(0.5)),
    (30, "parallel_copies", Int(1, 8)),
    (40, "containers_per_heartbeat", Int(1, 4)),
    (30, "launch_rpcs", Int(0, 6)),
    (30, "master_rpcs", Int(0, 30)),
    (30, "submit_rpcs", Int(0, 80)),
    (30, "task_reads", Int(0, 4)),
    (30, "block_rpcs", Int(0, 6)),
    (30, "commit_rpcs", Int(0, 10)),
    (30, "history_rpcs", Int(0, 10)),
];

const LAST: &[Row] = &[
    // Without this, tasks of milliseconds would wait a second for the resource manager.
    (ALWAYS, "unregister", Or(50, &Text("0s"), &Text("300us"))),
    (40, "message_delay", Text("100us")),
    (ALWAYS, "disks", Table(&[(ALWAYS, "seek", Text("10us")), (40, "count", Int(1, 4))])),
];

/// Short time-outs make some fetches fail.
const FETCHES: &[Row] = &[
    (20, "fetch_connect_timeout", Time(20_000, 5_000_000)),
    (20, "fetch_read_timeout", Time(20_000, 5_000_000)),
];

const SPECULATION: &[Row] =
    &[(20, "map_speculative", Flag(true)), (20, "reduce_speculative", Flag(true))];

/// Sets a job, or the jobs of a trace.
pub fn hadoop(c: &mut Choices, keys: &mut Keys, around: &Drawn, kind: &str) {
    keys.draw(c, &[(60, "framework", Word("Framework"))]);
    if kind == "hadoop" {
        keys.draw(c, JOB);
    } else {
        keys.put("file", around.file("jobs.tsv"));
        keys.draw(c, TRACE);
    }
    let cluster = cluster(c, keys.text("framework") == Some("tez"));
    keys.put("cluster", cluster);
}

fn cluster(c: &mut Choices, tez: bool) -> Keys {
    let mut cluster = Keys::default();
    for name in ["client_start", "container_start", "jvm_start", "master_init"] {
        let least = c.scale(1_000, 200_000);
        let time = format!("{least}ns");
        if c.chance(50) {
            cluster.put(name, time);
        } else {
            cluster.put(name, vec![time, format!("{}ns", 2 * least)]);
        }
    }
    cluster.draw(c, CLUSTER);
    for (name, most) in [("localized_files", 6), ("task_rpcs", 12), ("umbilical_rpcs", 10)] {
        cluster.may(c, 30, name, |c| vec![int(c.range(0, most)), int(c.range(0, most))]);
    }
    if c.1 {
        cluster.draw(c, &[(30, "committer", Word("Committer"))]);
    }
    if c.1 && !tez {
        cluster.draw(c, FETCHES);
        // The penalty of the host after a failure is limited to less than the run. Tez has no key
        // for this limit, so it gets no short time-outs.
        if FETCHES.iter().any(|(_, key, _)| cluster.has(key)) {
            cluster.put("fetch_retry_delay_max", "100us");
        }
        cluster.draw(c, SPECULATION);
    }
    cluster.draw(c, LAST);
    cluster
}
