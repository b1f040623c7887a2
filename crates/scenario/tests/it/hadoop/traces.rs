//! Tests that the jobs of a trace are simulated.

use super::{SMALL, exchanges, run};
use crate::common::{NoParquet, folder};
use afflux_scenario::Overrides;
use afflux_units::Time;

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
