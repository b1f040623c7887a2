use super::*;
use crate::testing::{finished_flow, flow, run};
use afflux_net::record::Status;
use afflux_net::spec::{Flow, Start};
use afflux_scenario::{Job, JobKind};
use afflux_units::{Span, Time};
use serde_json::{Value, json};

fn value(scenario: &Scenario, output: &Output) -> Value {
    serde_json::from_str(&summary(scenario, output, &ProcessStart::now()).to_json()).unwrap()
}

#[test]
fn keys_of_the_contract() {
    let (scenario, output) = run();
    let value = value(&scenario, &output);
    let keys = "format afflux_version build scenario_hash seed threads simulated_ns wall_s cpu_s engine_cpu_s peak_rss_bytes events packet_hops flows fct slowdown drops \
        in_discards ecn_marks cnps pause_frames retransmits timeouts delivered_bytes busy_ns goodput_bps goodput_flow_mean_bps goodput conservation failed_checks failed_checks_total cost result_hash ports_hash counters_hash notes warnings";
    for key in keys.split_ascii_whitespace() {
        assert!(value.get(key).is_some(), "{key}");
    }
    for key in ["mean_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns"] {
        assert!(value["fct"]["all"][key].is_number(), "{key}");
    }
    for group in [
        &value["slowdown"]["all"],
        &value["slowdown"]["by_size"]["le_100KB"],
        &value["slowdown"]["by_class"]["default"],
    ] {
        for key in ["mean", "p50", "p95", "p99", "p999"] {
            assert!(group[key].is_number(), "{key}");
        }
    }
    assert_eq!(value["afflux_version"], env!("CARGO_PKG_VERSION"));
    assert!(value["build"].as_str().unwrap().starts_with(env!("CARGO_PKG_VERSION")));
    assert_eq!(
        (&value["seed"], &value["threads"], &value["simulated_ns"]),
        (&json!(3), &json!(2), &json!(100_000))
    );
    assert_eq!(
        (&value["engine_cpu_s"], &value["events"], &value["packet_hops"]),
        (&json!(0.75), &json!(55), &json!(100))
    );
    assert_eq!(
        value["flows"],
        json!({"started": 2, "finished": 1, "unfinished": 1, "not_started": 1, "in_warmup": 0, "of_kernels": 0})
    );
    assert_eq!(
        (&value["drops"], &value["in_discards"], &value["drops_by_reason"]["loss"]),
        (&json!(3), &json!(0), &json!(2))
    );
    // 51000 bytes. The second flow is active from 2 us to the end at 100 us, the first from 1 us
    // on.
    assert_eq!(
        (
            &value["delivered_bytes"],
            &value["busy_ns"],
            value["goodput_bps"].as_f64().unwrap().round()
        ),
        (&json!(51_000), &json!(99_000), 4_121_212_121.0)
    );
    assert!(value["goodput_flow_mean_bps"].as_f64().unwrap() > 1e8);
    // The second flow is still running after its deadline.
    let half = json!({"flows": 2, "met": 1, "missed": 1, "terminated": 0, "met_share": 0.5, "missed_share": 0.5});
    let deadlines = value["deadlines"].as_object().unwrap();
    assert!(
        half.as_object().unwrap().iter().all(|(key, part)| deadlines[key] == *part),
        "{deadlines:?}"
    );
    assert_eq!(
        (&deadlines["by_class"]["default"]["met"], &deadlines["by_class"]["batch"]["missed_share"]),
        (&json!(1), &json!(1.0))
    );
    assert_eq!(
        (&value["jobs"]["finished"], &value["jobs"]["p99_ns"]),
        (&json!(1), &json!(40_000.0))
    );
    let query = json!({
        "started": 1, "finished": 1, "unfinished": 0, "not_started": 0, "censored": false,
        "mean_ns": 40_000.0, "p50_ns": 40_000.0, "p95_ns": 40_000.0, "p99_ns": 40_000.0, "p999_ns": 40_000.0,
    });
    assert_eq!(
        (&value["jobs"]["by_block"], &value["jobs"]["by_kind"]),
        (&json!({ "query": query }), &json!({ "query": query }))
    );
    assert_eq!(value["notes"], json!(["a note"]));
    assert_eq!(value["warnings"], json!([{"key": "switch.ecn", "text": "marks nothing"}]));
}

/// A flow that was given up has missed its deadline. A flow that is still running before its
/// deadline is neither met nor missed.
#[test]
fn deadlines_given_up_and_still_open() {
    let (mut scenario, mut output) = run();
    output.flows[0].status = Status::Terminated;
    output.flows[0].finish = None;
    scenario.plan.flows[1].deadline = Some(Span::from_ms(5));
    let value = value(&scenario, &output);
    let deadlines = &value["deadlines"];
    assert_eq!(
        (&deadlines["flows"], &deadlines["met"], &deadlines["missed"], &deadlines["terminated"]),
        (&json!(2), &json!(0), &json!(1), &json!(1))
    );
    // The shares are those of the one flow whose outcome is known.
    assert_eq!((&deadlines["met_share"], &deadlines["missed_share"]), (&json!(0.0), &json!(1.0)));
    assert_eq!(deadlines["by_class"]["batch"]["met_share"], json!(null), "not yet due");
}

#[test]
fn unfinished_flows_censor_their_groups() {
    let (scenario, output) = run();
    let value = value(&scenario, &output);
    assert_eq!(
        (&value["slowdown"]["all"]["censored"], &value["slowdown"]["all"]["count"]),
        (&json!(true), &json!(1))
    );
    let alone: Vec<f64> = output
        .flows
        .iter()
        .filter(|record| record.start.is_some())
        .map(|record| record.ideal.0 as f64 / 1e3)
        .collect();
    assert_eq!(
        value["slowdown"]["all"]["ideal_mean_ns"].as_f64().unwrap().round(),
        (alone.iter().sum::<f64>() / alone.len() as f64).round()
    );
    assert_eq!(value["fct"]["by_size"]["le_100KB"]["censored"], json!(false));
    let mut of_unfinished = value["slowdown"]["by_size"]["100KB_10MB"].clone();
    // The ideal completion time of the unfinished flow is known.
    assert!(
        of_unfinished
            .as_object_mut()
            .and_then(|group| group.remove("ideal_mean_ns"))
            .is_some_and(|ideal| ideal.as_f64() > Some(0.0))
    );
    assert_eq!(
        of_unfinished,
        json!({"count": 0, "unfinished": 1, "not_started": 0, "censored": true, "mean": null, "p50": null, "p95": null, "p99": null, "p999": null})
    );
    let never = |group: &str| value["fct"]["by_size"][group]["not_started"].as_u64();
    assert_eq!(
        (never("le_100KB"), never("100KB_10MB"), never("gt_10MB")),
        (Some(1), Some(0), Some(0))
    );
    assert_eq!(value["fct"]["all"]["not_started"], value["flows"]["not_started"]);
    assert_eq!(value["slowdown"]["by_size"]["gt_10MB"]["censored"], json!(false));
    assert_eq!(value["slowdown"]["by_class"]["batch"]["unfinished"], json!(1));
}

#[test]
fn percentiles_without_the_warmup() {
    let (mut scenario, mut output) = run();
    scenario.warmup = Span::from_us(10);
    // Starts at 0, 1, … us, slowdowns 1, 2, …: ten flows are excluded, those at 10…20 us remain.
    scenario.plan.flows = (0..21)
        .map(|k| Flow {
            bytes: if k % 2 == 0 { 100_000 } else { 100_001 },
            ..flow(0, 1, 1, k * 1_000_000)
        })
        .collect();
    output.flows = (0..21).map(|k| finished_flow(k * 1_000_000, (k + 1) * 3_000_000)).collect();
    output.flows.iter_mut().for_each(|record| record.ideal = Span::from_us(3));
    let value = value(&scenario, &output);
    let slowdown = &value["slowdown"]["all"];
    assert_eq!(
        (&slowdown["count"], &slowdown["mean"], &slowdown["p50"], &slowdown["p95"]),
        (&json!(11), &json!(16.0), &json!(16.0), &json!(20.5))
    );
    assert_eq!(value["fct"]["all"]["p50_ns"], json!(48_000.0));
    assert_eq!(
        (
            &value["fct"]["by_size"]["le_100KB"]["count"],
            &value["fct"]["by_size"]["100KB_10MB"]["count"]
        ),
        (&json!(6), &json!(5))
    );
    assert_eq!(
        (&value["flows"]["started"], &value["flows"]["in_warmup"]),
        (&json!(21), &json!(10))
    );
    assert_eq!(
        (&value["deadlines"], value["slowdown"]["by_class"].as_object().unwrap().len()),
        (&json!(null), 1)
    );
}

#[test]
fn jobs_by_block_and_kind() {
    let (mut scenario, mut output) = run();
    scenario.warmup = Span::from_us(10);
    scenario.blocks = vec!["web".into(), "read".into(), "sort".into()];
    // In the block "read", the first query starts in the warm-up, the third one does not end, and
    // the last one does not start.
    let job = |block, kind| Job { block, ..Job::new(kind, "", None) };
    scenario.jobs = vec![
        job(1, JobKind::Query),
        job(1, JobKind::Query),
        job(1, JobKind::Query),
        job(2, JobKind::Coflow),
        job(1, JobKind::Query),
    ];
    scenario.plan.flows =
        (0..5).map(|k| Flow { job: k, ..flow(0, 1, 1, u64::from(k) * 10_000_000) }).collect();
    output.flows = (0..5).map(|k| finished_flow(k * 10_000_000, (k + 1) * 1_000_000)).collect();
    output.flows[2].finish = None;
    output.flows[2].status = Status::Running;
    scenario.plan.flows[4].start = Start::At(Time::from_ns(200_000));
    output.flows[4].start = None;
    output.flows[4].finish = None;
    let value = value(&scenario, &output);
    let jobs = |group: &str, name: &str| {
        let of = &value["jobs"][group][name];
        (
            of["started"].clone(),
            of["finished"].clone(),
            of["unfinished"].clone(),
            of["not_started"].clone(),
            of["censored"].clone(),
            of["p50_ns"].clone(),
        )
    };
    let read = (json!(2), json!(1), json!(1), json!(1), json!(true), json!(2_000.0));
    assert_eq!((jobs("by_block", "read"), jobs("by_kind", "query")), (read.clone(), read));
    assert_eq!(
        jobs("by_block", "sort"),
        (json!(1), json!(1), json!(0), json!(0), json!(false), json!(4_000.0))
    );
    assert_eq!(value["jobs"]["by_block"].as_object().unwrap().len(), 2, "blocks with jobs");
    assert_eq!(
        (&value["jobs"]["started"], &value["jobs"]["by_kind"]["coflow"]["mean_ns"]),
        (&json!(3), &json!(4_000.0))
    );
}

#[test]
fn nothing_at_all_is_still_a_summary() {
    let (mut scenario, mut output) = run();
    scenario.plan.flows.clear();
    scenario.jobs.clear();
    output.flows.clear();
    output.end = Time(0);
    let value = value(&scenario, &output);
    assert_eq!(
        (&value["goodput_bps"], &value["fct"]["all"]["mean_ns"], &value["jobs"]),
        (&json!(0.0), &json!(null), &json!(null))
    );
}

#[test]
fn conservation_is_checked() {
    let (scenario, mut output) = run();
    let balance = |value: &Value| value["conservation"].clone();
    let before = balance(&value(&scenario, &output));
    assert_eq!(
        before["packets"],
        json!({"sent": 20, "delivered": 15, "dropped": 3, "in_flight": 2})
    );
    assert_eq!((&before["bytes"]["sent"], &before["holds"]), (&json!(20_000), &json!(true)));
    output.counters.in_flight_bytes += 1;
    assert_eq!(balance(&value(&scenario, &output))["holds"], json!(false));
}

#[test]
fn terminated_flows_are_unfinished() {
    let (scenario, mut output) = run();
    output.flows[0].status = Status::Terminated;
    let value = value(&scenario, &output);
    assert_eq!(
        (
            &value["flows"]["finished"],
            &value["flows"]["unfinished"],
            &value["slowdown"]["all"]["count"]
        ),
        (&json!(0), &json!(2), &json!(0))
    );
}
