//! Runs a scenario without Python or files around it, for profilers: `hops SCENARIO.toml [key=value]…`.

use afflux_scenario::{FlowColumns, Overrides, Reader, load};
use std::path::Path;

struct NoParquet;

impl Reader for NoParquet {
    fn parquet(&self, _: &Path, _: u64) -> Result<FlowColumns, String> {
        Err("this example reads no Parquet".into())
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("usage: hops SCENARIO.toml [key=value]…");
    let set = args
        .map(|pair| {
            pair.split_once('=').map(|(k, v)| (k.to_string(), v.to_string())).expect("key=value")
        })
        .collect();
    let scenario = load(Path::new(&path), &Overrides { set, ..Overrides::default() }, &NoParquet)
        .unwrap_or_else(|error| panic!("{error}"));
    let expected = afflux_net::expected(&scenario.plan).unwrap_or_else(|error| panic!("{error}"));
    let estimate = afflux_net::memory::Memory::of(&scenario.plan, &expected).bytes;
    let output = afflux_net::run(&scenario.plan, &afflux_net::Progress::default())
        .unwrap_or_else(|error| panic!("{error}"));
    // PAUSE frames do not count as packet hops, as in `make bench`.
    let (hops, cpu) = (
        output.counters.packet_hops - output.counters.pause_frames,
        output.engine.thread_cpu_s.iter().sum::<f64>(),
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak_kb: u64 = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .and_then(|l| l.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0);
    println!(
        "packet_hops {hops} drops {} ecn_marks {} pause_frames {} ns_per_hop {:.1} threads {:?} memory {} MB, estimated {} MB",
        output.counters.dropped_packets,
        output.counters.ecn_marks,
        output.counters.pause_frames,
        cpu * 1e9 / hops as f64,
        output.engine.thread_cpu_s,
        peak_kb / 1_000,
        estimate / 1_000_000
    );
    for task in output.tasks.iter().filter(|task| task.task.is_none()) {
        let seconds = |time: afflux_units::Time| time.0 as f64 * 1e-12;
        println!(
            "{} {}: {:.3} to {:.3} s",
            scenario.jobs[task.job as usize].name,
            task.phase,
            seconds(task.start),
            task.finish.map_or(f64::NAN, seconds)
        );
    }
}
