//! Tests that both engines, with any number of threads, give the same results for Hadoop jobs.

use super::attempts::slow_node;
use super::{SMALL, load, run};
use afflux_net::record::Output;
use afflux_net::spec::EngineKind;

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
