use super::*;
use crate::testing::{finished_flow, flow, run};
use afflux_net::State;
use afflux_net::record::{
    FlowRecord, OutsideRecord, PathRecord, ReorderRecord, RoundTrips, SenderRecord, Status,
    UplinkRecord,
};
use afflux_net::spec::Flow;
use afflux_scenario::JobKind;
use afflux_units::{Span, Time};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, StringArray};
use arrow_schema::DataType;
use std::net::Ipv4Addr;

/// Returns `name type` of each column, with `?` if it is nullable.
fn columns(kind: Kind) -> Vec<String> {
    let (scenario, output) = run();
    let table = Tables::new(&scenario, &output).get(kind).unwrap();
    let short = |data_type: &DataType| match data_type {
        DataType::Int64 => "i64",
        DataType::Int32 => "i32",
        DataType::Float64 => "f64",
        DataType::Boolean => "bool",
        DataType::Utf8 => "string",
        other => panic!("{other}"),
    };
    table
        .schema
        .fields()
        .iter()
        .map(|field| {
            format!(
                "{} {}{}",
                field.name(),
                short(field.data_type()),
                if field.is_nullable() { "?" } else { "" }
            )
        })
        .collect()
}

fn only(kind: Kind, scenario: &Scenario, output: &Output) -> RecordBatch {
    let mut table = Tables::new(scenario, output).get(kind).unwrap();
    assert_eq!(table.batches.len(), 1);
    table.batches.remove(0)
}
fn i64s(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    batch[name].as_primitive::<Int64Type>().iter().collect()
}
fn i32s(batch: &RecordBatch, name: &str) -> Vec<Option<i32>> {
    batch[name].as_primitive::<Int32Type>().iter().collect()
}
fn f64s(batch: &RecordBatch, name: &str) -> Vec<Option<f64>> {
    batch[name].as_primitive::<Float64Type>().iter().collect()
}
fn strings<'a>(batch: &'a RecordBatch, name: &str) -> Vec<Option<&'a str>> {
    batch[name].as_any().downcast_ref::<StringArray>().unwrap().iter().collect()
}

#[test]
fn columns_of_the_contract() {
    let flows = "id i64, class string, job string?, src i32, dst i32, bytes i64, start_ns i64?, finish_ns i64?, status string, fct_ns i64?, \
        ideal_ns i64?, slowdown f64?, deadline_ns i64?, deadline_met bool?, packets_sent i64, packets_retransmitted i64, timeouts i64?, ecn_marked i64, \
        packets_reordered i64, propagation_ns i64?, serialization_ns i64?, recovery_ns i64?, reordering_ns i64?, paused_ns i64?, queueing_ns i64?, \
        pacing_ns i64?, window_ns i64?, application_ns i64?, src_name string, dst_name string, delivered_bytes i64, goodput_bps f64?, queueing_host_ns i64?, kernel bool";
    assert_eq!(columns(Kind::Flows).join(", "), flows);
    let ports = "time_ns i64, node string, port i32, queue i32, peer string, queue_bytes i64, queue_bytes_max i64, tx_bytes i64, rx_bytes i64, drops i64, \
        in_discards i64, ecn_marks i64, pause_frames_tx i64, pause_frames_rx i64, paused_ns i64, latency_ns_max i64, cnps i64";
    assert_eq!(columns(Kind::Ports).join(", "), ports);
    let links = "link i32, from string, to string, rate_bps i64, frames i64, bytes i64, utilisation f64, busy_ns i64";
    assert_eq!(columns(Kind::Links).join(", "), links);
    let jobs = "job string, phase string, task string, node i32?, start_ns i64?, finish_ns i64?, bytes_in i64, bytes_out i64, node_name string?";
    assert_eq!(columns(Kind::Jobs).join(", "), jobs);
    assert_eq!(
        columns(Kind::Paths).join(", "),
        "flow i64, subflow i64, path string, frames i64, bytes i64, fct_ns i64?"
    );
    let imbalance = "time_ns i64, node string, uplinks i32, bytes_min i64, bytes_max i64, bytes_avg f64, imbalance f64?";
    assert_eq!(columns(Kind::Imbalance).join(", "), imbalance);
    let senders = "time_ns i64, flow i64, subflow i64, window_bytes i64?, threshold_bytes i64?, in_flight_bytes i64, smoothed_rtt_ns i64?, pacing_bps i64?, state string?";
    assert_eq!(columns(Kind::Senders).join(", "), senders);
    let packets = "flow i64, subflow i64, protocol string, src_address string, src_port i32, dst_address string, dst_port i32, sent_packets i64, sent_bytes i64, \
        received_packets i64, received_bytes i64, dropped_packets i64, retransmitted_bytes i64?, last_sent_ns i64?, last_received_ns i64?, \
        delay_ns_least i64?, delay_ns_mean f64?, delay_ns_most i64?, round_trips i64?, round_trip_ns_least i64?, round_trip_ns_mean f64?, \
        round_trip_ns_most i64?";
    assert_eq!(columns(Kind::Packets).join(", "), packets);
    assert_eq!(
        columns(Kind::Reorder).join(", "),
        "time_ns i64, node string, port i32, queues i64, bytes i64"
    );
}

#[test]
fn flows() {
    let (scenario, output) = run();
    let batch = only(Kind::Flows, &scenario, &output);
    assert_eq!(i64s(&batch, "id"), [Some(7), Some(8), Some(9)]);
    assert_eq!(strings(&batch, "class"), [Some("default"), Some("batch"), Some("default")]);
    assert_eq!(strings(&batch, "job"), [Some("query.0"), None, None]);
    assert_eq!(strings(&batch, "status"), [Some("finished"), Some("running"), Some("running")]);
    assert_eq!(i64s(&batch, "start_ns"), [Some(1_000), Some(2_000), None]);
    assert_eq!(i64s(&batch, "finish_ns"), [Some(41_000), None, None]);
    assert_eq!(i64s(&batch, "fct_ns"), [Some(40_000), None, None]);
    // The third flow has not started: the network does not know its ideal time.
    assert_eq!(i64s(&batch, "ideal_ns"), [Some(26_667), Some(26_667), None]);
    assert_eq!(f64s(&batch, "slowdown"), [Some(40_000.0 / 26_667.0), None, None]);
    let met: Vec<_> = batch["deadline_met"].as_boolean().iter().collect();
    assert_eq!(
        (i64s(&batch, "deadline_ns"), met),
        (vec![Some(50_000), Some(50_000), None], vec![Some(true), Some(false), None])
    );
    let mut sooner = output.clone();
    let mut early = scenario.clone();
    let mut met = |end: u64, deadline: u64, status| {
        (sooner.end, sooner.flows[1].status) = (Time::from_ns(1_000 * end), status);
        early.plan.flows[1].deadline = Some(Span::from_us(deadline));
        early.plan.flows[2].deadline = Some(Span::from_us(1));
        let batch = only(Kind::Flows, &early, &sooner);
        batch["deadline_met"].as_boolean().iter().skip(1).collect::<Vec<_>>()
    };
    // The second flow starts at 2.0 us.
    assert_eq!(met(100, 99, Status::Running), [None, None], "not yet due; not started");
    assert_eq!(met(100, 97, Status::Running), [Some(false), None], "still running when it was due");
    assert_eq!(met(100, 99, Status::Terminated), [Some(false), None], "given up before it was due");
    let sum = ["propagation_ns", "serialization_ns", "queueing_ns", "window_ns"]
        .map(|name| i64s(&batch, name)[0].unwrap())
        .iter()
        .sum::<i64>();
    assert_eq!(sum, 40_000);
    assert_eq!(batch["application_ns"].null_count(), 2);
    // 50000 B in 40.000001 us; 1000 B until the end at 100 us; the third flow has not started.
    assert_eq!(i64s(&batch, "delivered_bytes"), [Some(50_000), Some(1_000), Some(0)]);
    assert_eq!(
        f64s(&batch, "goodput_bps"),
        [
            Some(50_000.0 * 8e12 / 40_000_001.0),
            Some(1_000.0 * 8e12 / (100_000_000.0 - 2_000_499.0)),
            None
        ]
    );
    let mut silent = scenario.clone();
    silent.plan.record.explain = false;
    assert_eq!(
        only(Kind::Flows, &silent, &output)["propagation_ns"].null_count(),
        3,
        "not explained"
    );
}

#[test]
fn ports_and_links() {
    let (scenario, output) = run();
    let batch = only(Kind::Ports, &scenario, &output);
    assert_eq!(
        (strings(&batch, "node"), i32s(&batch, "port"), strings(&batch, "peer")),
        (vec![Some("leaf0")], vec![Some(2)], vec![Some("spine0")])
    );
    assert_eq!(
        (i32s(&batch, "queue"), i64s(&batch, "paused_ns"), i64s(&batch, "latency_ns_max")),
        (vec![Some(-1)], vec![Some(10)], vec![Some(12)])
    );
    let batch = only(Kind::Links, &scenario, &output);
    assert_eq!(batch.num_rows(), 16);
    assert_eq!(
        (i32s(&batch, "link")[11], strings(&batch, "from")[11], strings(&batch, "to")[11]),
        (Some(11), Some("spine1"), Some("leaf0"))
    );
    assert_eq!(
        (
            i64s(&batch, "rate_bps")[11],
            f64s(&batch, "utilisation")[11],
            i64s(&batch, "busy_ns")[11]
        ),
        (Some(10_000_000_000), Some(0.11), Some(11_000))
    );
}

#[test]
fn jobs_span_their_flows() {
    let (mut scenario, mut output) = run();
    let batch = only(Kind::Jobs, &scenario, &output);
    assert_eq!(
        (strings(&batch, "job"), strings(&batch, "phase"), strings(&batch, "task")),
        (vec![Some("query.0")], vec![Some("query")], vec![Some("")])
    );
    assert_eq!(
        (i64s(&batch, "start_ns"), i64s(&batch, "finish_ns"), i32s(&batch, "node")),
        (vec![Some(1_000)], vec![Some(41_000)], vec![None])
    );
    assert_eq!(
        (i64s(&batch, "bytes_in"), i64s(&batch, "bytes_out")),
        (vec![Some(50_000)], vec![Some(50_000)])
    );
    scenario.jobs[0].kind = JobKind::Coflow;
    assert_eq!(strings(&only(Kind::Jobs, &scenario, &output), "phase"), [Some("coflow")]);
    scenario.jobs[0].arrival = Some(Time::from_ns(500));
    scenario.plan.flows[1].job = 0;
    let batch = only(Kind::Jobs, &scenario, &output);
    assert_eq!(
        (i64s(&batch, "start_ns"), i64s(&batch, "finish_ns")),
        (vec![Some(500)], vec![None])
    );
    output.flows[1] = finished_flow(2_000_000, 90_000_000);
    assert_eq!(i64s(&only(Kind::Jobs, &scenario, &output), "finish_ns"), [Some(92_000)]);
}

#[test]
fn paths_by_name() {
    let (scenario, mut output) = run();
    output.paths = vec![PathRecord {
        flow: 0,
        subflow: 0,
        nodes: vec![0, 4, 6, 5, 2],
        frames: 3,
        bytes: 4_000,
    }];
    let batch = only(Kind::Paths, &scenario, &output);
    assert_eq!(
        (i64s(&batch, "flow"), strings(&batch, "path")),
        (vec![Some(7)], vec![Some("host0>leaf0>spine0>leaf1>host2")])
    );
    assert_eq!(
        (i64s(&batch, "bytes"), i64s(&batch, "fct_ns")),
        (vec![Some(4_000)], vec![Some(40_000)])
    );
}

#[test]
fn imbalance_over_all_uplinks() {
    let (scenario, mut output) = run();
    let uplink =
        |time, node, link, bytes| UplinkRecord { time: Time::from_ns(time), node, link, bytes };
    output.uplinks = vec![
        uplink(0, 4, 4, 300),
        uplink(0, 4, 5, 100),
        uplink(0, 5, 7, 50),
        uplink(100, 4, 4, 0),
        uplink(100, 4, 5, 0),
        uplink(100, 6, 1, 9),
    ];
    let batch = only(Kind::Imbalance, &scenario, &output);
    assert_eq!(strings(&batch, "node"), [Some("leaf0"), Some("leaf1"), Some("leaf0")], "ToRs only");
    assert_eq!(f64s(&batch, "imbalance"), [Some(1.0), Some(2.0), None]);
    let windows: Vec<f64> =
        super::imbalances(&scenario, &output).into_iter().map(|(_, imbalance)| imbalance).collect();
    assert_eq!(windows, [1.0, 2.0], "where anything was sent");
    assert_eq!(
        (i64s(&batch, "bytes_min"), f64s(&batch, "bytes_avg")),
        (vec![Some(100), Some(0), Some(0)], vec![Some(200.0), Some(25.0), Some(0.0)])
    );
}

#[test]
fn reorder_queues_by_port() {
    let (scenario, mut output) = run();
    let record = |time, port, queues, bytes| ReorderRecord {
        time: Time::from_ns(time),
        node: 4,
        port,
        queues,
        bytes,
    };
    output.reordering = vec![
        record(10_000, -1, 3, 4_500),
        record(10_000, 0, 1, 1_500),
        record(10_000, 1, 2, 3_000),
        record(20_000, -1, 0, 0),
    ];
    let batch = only(Kind::Reorder, &scenario, &output);
    assert_eq!(
        (i64s(&batch, "time_ns")[3], strings(&batch, "node")[0]),
        (Some(20_000), Some("leaf0"))
    );
    assert_eq!(
        (i32s(&batch, "port"), i64s(&batch, "queues")),
        (vec![Some(-1), Some(0), Some(1), Some(-1)], vec![Some(3), Some(1), Some(2), Some(0)])
    );
    assert_eq!(i64s(&batch, "bytes"), [Some(4_500), Some(1_500), Some(3_000), Some(0)]);
}

#[test]
fn what_senders_do_not_have_is_null() {
    let (scenario, mut output) = run();
    let some = SenderRecord {
        time: Time::from_ns(7),
        window: 14_600,
        smoothed: 12_499,
        state: Some(State::Recovery),
        ..SenderRecord::new(0, 2_920)
    };
    output.senders =
        vec![some, SenderRecord { rate: 5_000_000, subflow: 1, ..SenderRecord::new(0, 0) }];
    let batch = only(Kind::Senders, &scenario, &output);
    assert_eq!(
        (i64s(&batch, "time_ns"), i64s(&batch, "subflow")),
        (vec![Some(7), Some(0)], vec![Some(0), Some(1)])
    );
    assert_eq!(
        (i64s(&batch, "window_bytes"), i64s(&batch, "threshold_bytes")),
        (vec![Some(14_600), None], vec![None, None])
    );
    assert_eq!(
        (i64s(&batch, "smoothed_rtt_ns"), i64s(&batch, "pacing_bps")),
        (vec![Some(12), None], vec![None, Some(5_000_000)])
    );
    assert_eq!(i64s(&batch, "in_flight_bytes"), [Some(2_920), Some(0)]);
    assert_eq!(strings(&batch, "state"), [Some("recovery"), None]);
}

/// Ideal time, slowdown, time-outs and parts of a kernel's flow are unknown, and its retransmissions
/// count.
#[test]
fn flows_of_kernels() {
    let (scenario, mut output) = run();
    let before = crate::summary(&scenario, &output, &crate::ProcessStart::now());
    let real = |transport| Flow { transport, ..flow(0, 2, 5_000, 1_000_000) };
    output.started = vec![real(Flow::OUTSIDE), real(Flow::OUTSIDE_OPEN)];
    let done = FlowRecord {
        ideal: Span(0),
        propagation: Span(0),
        packets_retransmitted: 3,
        bytes_received: 5_000,
        ..finished_flow(1_000_000, 8_000_000)
    };
    let open = FlowRecord { finish: None, status: Status::Terminated, ..done.clone() };
    output.flows.extend([done, open]);
    let times = RoundTrips { samples: 2, sum: 9_000, least: 3_000, most: 6_000 };
    output.outside = vec![OutsideRecord {
        flow: 3,
        protocol: 6,
        multipath: true,
        source: (Ipv4Addr::new(10, 0, 0, 1), 5),
        destination: (Ipv4Addr::new(10, 0, 0, 3), 80),
        sent_packets: 9,
        sent_bytes: 5_100,
        received_packets: 8,
        received_bytes: 5_000,
        dropped_packets: 1,
        retransmitted_bytes: 100,
        last_sent: Some(Time(9_000)),
        last_received: None,
        delays: times,
        round_trips: RoundTrips::default(),
    }];
    let batch = only(Kind::Flows, &scenario, &output);
    for name in ["ideal_ns", "timeouts", "propagation_ns"] {
        assert_eq!(i64s(&batch, name)[3..], [None, None], "{name}");
    }
    assert_eq!(f64s(&batch, "slowdown")[3..], [None, None]);
    assert_eq!(i64s(&batch, "fct_ns")[3..], [Some(8_000), None]);
    let kernel: Vec<_> = batch["kernel"].as_boolean().iter().flatten().collect();
    assert_eq!(kernel, [false, false, false, true, true]);
    let batch = only(Kind::Packets, &scenario, &output);
    assert_eq!(strings(&batch, "protocol"), [Some("mptcp")]);
    assert_eq!(strings(&batch, "dst_address"), [Some("10.0.0.3")]);
    assert_eq!(
        (i64s(&batch, "delay_ns_least"), f64s(&batch, "delay_ns_mean")),
        (vec![Some(3)], vec![Some(4.5)])
    );
    assert_eq!(
        (i64s(&batch, "round_trips"), f64s(&batch, "round_trip_ns_mean")),
        (vec![Some(0)], vec![None])
    );
    let after = crate::summary(&scenario, &output, &crate::ProcessStart::now());
    assert_eq!((after.flows.of_kernels, after.flows.started), (2, before.flows.started + 2));
    assert_eq!(after.retransmits, before.retransmits + 6);
    assert_eq!(after.fct.all.sample.count, before.fct.all.sample.count + 1);
    // A flow without an end is not one whose completion was cut off.
    assert_eq!(after.fct.all.sample.unfinished, before.fct.all.sample.unfinished);
    assert_eq!(after.slowdown.all, before.slowdown.all);
    assert_eq!(after.failed_checks, before.failed_checks);
}

#[test]
fn what_is_recorded() {
    let (mut scenario, output) = run();
    let names = |scenario: &Scenario| {
        Tables::new(scenario, &output).recorded().into_iter().map(Kind::name).collect::<Vec<_>>()
    };
    assert_eq!(names(&scenario), ["flows", "ports", "links", "jobs"]);
    scenario.plan.record.paths = true;
    scenario.plan.record.ports = None;
    scenario.plan.record.imbalance = Some(Span::from_us(100));
    assert_eq!(names(&scenario), ["flows", "links", "jobs", "paths", "imbalance"]);
    scenario.plan.record.reordering = Some(Span::from_us(10));
    assert_eq!(names(&scenario).last(), Some(&"reorder"));
    assert!(Kind::ALL.into_iter().all(|kind| Kind::from_name(kind.name()) == Some(kind)));
}

#[test]
fn many_rows_come_in_batches() {
    let (mut scenario, mut output) = run();
    let rows = 2 * BATCH_ROWS + 1;
    scenario.plan.flows = (0..rows as u64).map(|start| flow(0, 1, 1, start)).collect();
    output.flows = (0..rows as u64).map(|start| finished_flow(start, 7_000)).collect();
    let table = Tables::new(&scenario, &output).get(Kind::Flows).unwrap();
    assert_eq!((table.batches.len(), table.rows()), (3, rows));
    scenario.plan.flows.clear();
    output.flows.clear();
    let table = Tables::new(&scenario, &output).get(Kind::Flows).unwrap();
    assert_eq!((table.batches.len(), table.schema.fields().len()), (0, 34));
}
