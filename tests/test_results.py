"""The result directory: files, columns and types of the contract, and sums that must be equal."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import afflux
from afflux.results.explain import LABELS
from afflux.results.format import FORMAT

I64, I32, F64, TEXT, BOOL = "int64", "int32", "double", "string", "bool"
COLUMNS = {
    "flows": {
        "id": I64,
        "class": TEXT,
        "job": TEXT,
        "src": I32,
        "dst": I32,
        "bytes": I64,
        "start_ns": I64,
        "finish_ns": I64,
        "status": TEXT,
        "fct_ns": I64,
        "ideal_ns": I64,
        "slowdown": F64,
        "deadline_ns": I64,
        "deadline_met": BOOL,
        "packets_sent": I64,
        "packets_retransmitted": I64,
        "timeouts": I64,
        "ecn_marked": I64,
        "packets_reordered": I64,
        **{f"{label}_ns": I64 for label in LABELS},
        "src_name": TEXT,
        "dst_name": TEXT,
        "delivered_bytes": I64,
        "goodput_bps": F64,
        "queueing_host_ns": I64,
        "kernel": "bool",
    },
    "ports": {
        "time_ns": I64,
        "node": TEXT,
        "port": I32,
        "queue": I32,
        "peer": TEXT,
        "queue_bytes": I64,
        "queue_bytes_max": I64,
        "tx_bytes": I64,
        "rx_bytes": I64,
        "drops": I64,
        "in_discards": I64,
        "ecn_marks": I64,
        "pause_frames_tx": I64,
        "pause_frames_rx": I64,
        "paused_ns": I64,
        "latency_ns_max": I64,
        "cnps": I64,
    },
    "links": {
        "link": I32,
        "from": TEXT,
        "to": TEXT,
        "rate_bps": I64,
        "frames": I64,
        "bytes": I64,
        "utilisation": F64,
        "busy_ns": I64,
    },
    "jobs": {
        "job": TEXT,
        "phase": TEXT,
        "task": TEXT,
        "node": I32,
        "start_ns": I64,
        "finish_ns": I64,
        "bytes_in": I64,
        "bytes_out": I64,
        "node_name": TEXT,
    },
    "paths": {
        "flow": I64,
        "subflow": I64,
        "path": TEXT,
        "frames": I64,
        "bytes": I64,
        "fct_ns": I64,
    },
}
STATISTICS = {"mean", "p50", "p95", "p99", "p999"}


@pytest.fixture
def result(command, scenario, tmp_path) -> Path:
    done = command("run", scenario(), "-o", "result")
    assert done.returncode == 0, done.stderr
    return tmp_path / "result"


def rows(result: Path, table: str) -> list[dict]:
    return parquet.read_table(result / f"{table}.parquet").to_pylist()


def test_files(result):
    assert {path.name for path in result.iterdir()} == {
        "scenario.toml",
        "summary.json",
        *(f"{name}.parquet" for name in COLUMNS),
    }


@pytest.mark.parametrize("table", COLUMNS)
def test_columns_and_types(result, table):
    schema = parquet.read_schema(result / f"{table}.parquet")
    assert {field.name: str(field.type) for field in schema} == COLUMNS[table]


def test_summary_keys(result):
    summary = json.loads((result / "summary.json").read_text())
    assert {
        "format",
        "afflux_version",
        "build",
        "scenario_hash",
        "seed",
        "threads",
        "simulated_ns",
        "wall_s",
        "cpu_s",
        "engine_cpu_s",
        "peak_rss_bytes",
        "events",
        "packet_hops",
        "drops",
        "in_discards",
        "ecn_marks",
        "pause_frames",
        "retransmits",
        "timeouts",
        "delivered_bytes",
        "busy_ns",
        "goodput_bps",
        "goodput_flow_mean_bps",
        "goodput",
        "conservation",
        "result_hash",
        "ports_hash",
        "counters_hash",
    } <= set(summary)
    assert {"started", "finished", "unfinished"} <= set(summary["flows"])
    assert {f"{name}_ns" for name in STATISTICS} <= set(summary["fct"]["all"])
    assert set(summary["slowdown"]["all"]) >= STATISTICS
    assert list(summary["slowdown"]["by_size"]) == ["le_100KB", "100KB_10MB", "gt_10MB"]
    assert list(summary["slowdown"]["by_class"]) == ["default"]
    for balance in (summary["conservation"]["packets"], summary["conservation"]["bytes"]):
        assert balance["sent"] == balance["delivered"] + balance["dropped"] + balance["in_flight"]
    assert summary["cpu_s"] >= summary["engine_cpu_s"] > 0


def test_the_split_adds_up(result):
    flows = rows(result, "flows")
    assert any(flow["recovery_ns"] for flow in flows), "the scenario is meant to lose frames"
    for flow in flows:
        parts = [flow[f"{label}_ns"] for label in LABELS]
        assert min(parts) >= 0
        assert sum(parts) == flow["fct_ns"] == flow["finish_ns"] - flow["start_ns"]
        assert flow["propagation_ns"] + flow["serialization_ns"] == flow["ideal_ns"]
        assert flow["slowdown"] == pytest.approx(flow["fct_ns"] / flow["ideal_ns"], rel=1e-3)


def test_tables_and_summary_agree(result):
    summary = json.loads((result / "summary.json").read_text())
    flows, ports, links = (rows(result, table) for table in ("flows", "ports", "links"))
    assert summary["flows"]["finished"] == sum(flow["status"] == "finished" for flow in flows)
    for key, column in [("timeouts", "timeouts"), ("retransmits", "packets_retransmitted")]:
        assert summary[key] == sum(flow[column] for flow in flows)
    assert summary["timeouts"] > 0
    assert summary["drops"] == sum(port["drops"] for port in ports if port["queue"] == -1)
    assert summary["packet_hops"] == sum(link["frames"] for link in links)
    fct = sorted(flow["fct_ns"] for flow in flows)
    assert summary["fct"]["all"]["mean_ns"] == pytest.approx(sum(fct) / len(fct))
    assert summary["fct"]["all"]["p50_ns"] == pytest.approx((fct[11] + fct[12]) / 2)


def test_goodput_of_flows_and_of_their_class(result):
    summary, flows = json.loads((result / "summary.json").read_text()), rows(result, "flows")
    goodputs = [flow["goodput_bps"] for flow in flows]
    assert goodputs == pytest.approx(
        [8e9 * flow["bytes"] / flow["fct_ns"] for flow in flows], rel=1e-3
    )
    assert [flow["delivered_bytes"] for flow in flows] == [flow["bytes"] for flow in flows]
    (group,) = summary["goodput"]["by_class"].values()
    assert group == {
        "bps": summary["goodput_bps"],
        "jain": pytest.approx(sum(goodputs) ** 2 / (len(goodputs) * sum(x * x for x in goodputs))),
        "flows": len(flows),
    }
    assert summary["goodput_flow_mean_bps"] == pytest.approx(sum(goodputs) / len(goodputs))


def test_resolved_scenario_gives_the_same_result(result, command):
    done = command("run", result / "scenario.toml", "--json", "-o", "again")
    assert done.returncode == 0, done.stderr
    first, second = json.loads((result / "summary.json").read_text()), json.loads(done.stdout)
    for key in ("result_hash", "ports_hash", "counters_hash", "scenario_hash"):
        assert first[key] == second[key]


def test_resolved_scenario_refuses_another_input(command, scenario, tmp_path):
    text = scenario().read_text()
    text = text[: text.index("[[traffic]]")] + '[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n'
    flows = tmp_path / "flows.csv"
    flows.write_text("start_ns,src,dst,bytes\n0,1,2,1000\n")
    assert command("run", scenario(text=text), "-o", "first").returncode == 0
    flows.write_text("start_ns,src,dst,bytes\n0,1,2,2000\n")
    done = command("run", tmp_path / "first/scenario.toml", "-o", "second")
    assert done.returncode == 2
    assert "flows.csv" in done.stderr
    assert not (tmp_path / "second").exists()


def test_jobs_are_told_by_block_and_kind(result):
    opened = afflux.Result.open(result)
    jobs = opened.summary["jobs"]
    assert list(jobs["by_block"]) == ["query"]
    assert list(jobs["by_kind"]) == ["query"]
    assert (
        jobs["by_block"]["query"]
        == jobs["by_kind"]["query"]
        == {key: jobs[key] for key in jobs["by_block"]["query"]}
    )
    assert set(opened.jobs.column("phase")) == {"query"}


def test_a_result_of_the_previous_format_is_read(result, tmp_path):
    """Format 1 belongs to afflux 0.1: its summary has fewer keys and no digests. Format 2 does not
    distinguish jobs."""
    old = tmp_path / "old"
    shutil.copytree(result, old)
    summary = json.loads((old / "summary.json").read_text())
    assert summary["format"] == FORMAT == 4
    since = "format build ended_by early_end delivered_bytes busy_ns goodput_flow_mean_bps goodput failed_checks failed_checks_total warnings host_names"
    for key in (*since.split(), "digests", "summary_digest"):
        summary.pop(key, None)  # names of hosts only where the scenario gives some
    for key in ("by_block", "by_kind"):
        del summary["jobs"][key]
    (old / "summary.json").write_text(json.dumps(summary | {"format": 2}))
    with pytest.warns(afflux.UncheckedResult):
        jobs = afflux.Result.open(old).summary["jobs"]
    assert (jobs["by_block"], jobs["by_kind"], jobs["started"]) == ({}, {}, 3)
    (old / "summary.json").write_text(json.dumps(summary | {"afflux_version": "0.1.0"}))
    with pytest.warns(afflux.UncheckedResult):
        opened = afflux.Result.open(old)
    assert (
        opened.summary["failed_checks"],
        opened.summary["host_names"],
        opened.summary["ended_by"],
    ) == ([], [], None)
    assert (opened.summary["build"], opened.summary["goodput"]) == (None, None)
    assert opened.explain().slowest(1) == afflux.Result.open(result).explain().slowest(1)
    (old / "summary.json").write_text(
        json.dumps(summary | {"format": FORMAT + 1, "afflux_version": "9.0"})
    )
    with pytest.raises(
        afflux.Error,
        match=r"has result format 5 \(afflux 9.0\), and this afflux reads formats 1 to 4: install a newer version",
    ):
        afflux.Result.open(old)
