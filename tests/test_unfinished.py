"""Flows and jobs that the end of a run cuts off, or keeps from starting: they count in comparisons,
in searches and in the tables of sweeps."""

import copy
import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from here import Here

import afflux
from afflux.commands.tune import _beyond
from afflux.comparison import censored
from afflux.comparison.censored import Value
from afflux.comparison.paired import of_pairs
from afflux.comparison.unfinished import Left, with_never_started
from afflux.decision.measures import Tenant
from afflux.decision.measures import value as of_tenant
from afflux.metrics import JOBS_UNFINISHED, METRICS, UNFINISHED, Metric, named, of_class
from afflux.tuning.objective import objective
from afflux.tuning.result import Candidate, Drift, Tuning
from afflux.tuning.search import _unharmed
from afflux.tuning.work import Undone, Work, begun, stalls
from afflux.words import text

#: Rounds of an incast follow each other, and a lost tail costs `min_rto`. With 200 ms the first loss
#: keeps all further rounds from starting.
CLOSED = """\
format = 1
name = "closed"

[topology]
kind = "star"
hosts = 17
rate = "25Gbps"
delay = "1us"

[switch]
buffer = "100kB"

[host.transport]
congestion = "dctcp"
min_rto = "5ms"

[[traffic]]
kind = "incast"
name = "ask"
class = "query"
to = 0
senders = 16
bytes = "256kB"
rounds = 10
closed_loop = true
jitter = "10us"

[[traffic]]
kind = "pairs"
class = "web"
pairs = [[1, 2], [3, 4]]
sizes = "20kB"

[run]
until = "30ms"
"""


def run(seed: int = 1, **changes: Any) -> afflux.Result:
    scenario = afflux.Scenario.parse(CLOSED)
    for key, value in changes.items():
        scenario.set(key.replace("__", "."), value)
    return scenario.run(seed=seed)


@pytest.fixture(scope="module")
def runs() -> Mapping[str, Mapping[int, afflux.Result]]:
    """Results of both time-outs by seed."""
    return {
        rto: {seed: run(seed, name=rto, host__transport__min_rto=rto) for seed in (1, 2, 3)}
        for rto in ("5ms", "200ms")
    }


def rows(result: afflux.Result, table: str) -> list[dict[str, Any]]:
    made = result.table(table)
    columns = [made.column(name) for name in made.column_names]
    return [dict(zip(made.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def test_a_flow_that_never_started_did_not_finish(runs):
    for of_seed in runs.values():
        for result in of_seed.values():
            flows = rows(result, "flows")
            assert len(flows) == 162
            assert UNFINISHED.of(result.summary) == sum(flow["finish_ns"] is None for flow in flows)
            assert sum(flow["start_ns"] is None for flow in flows) > 16


def test_a_comparison_counts_flows_and_jobs_that_never_started(runs):
    before = copy.deepcopy([result.summary for of in runs.values() for result in of.values()])
    found = afflux.compare([result for of in runs.values() for result in of.values()], "5ms")
    values = {d.metric.name: (d.baseline_mean, d.design_mean, d.verdict) for d in found.differences}
    for name, table, counts in (
        ("unfinished", "flows", lambda row: True),
        ("class.query.unfinished", "flows", lambda row: row["class"] == "query"),
        ("jobs_unfinished", "jobs", lambda row: True),
    ):
        means = [
            sum(
                sum(row["finish_ns"] is None and counts(row) for row in rows(result, table))
                for result in of_seed.values()
            )
            / 3
            for of_seed in runs.values()
        ]
        assert values[name][:2] == pytest.approx(means), name
        assert values[name][2] == "worse", name
        assert means[1] > 1.5 * means[0]
    assert found.sentence().startswith("200ms leaves more flows unfinished: ")
    # The results themselves stay as they are.
    assert before == [result.summary for of in runs.values() for result in of.values()]


def test_tables_say_what_never_started_if_the_summary_does_not(runs):
    """Results of earlier versions have no numbers of jobs, and of flows by class, that never
    started."""
    result = runs["200ms"][1]
    older = copy.deepcopy(result.summary)
    for group in (older["jobs"], *older["fct"]["by_class"].values()):
        group.pop("not_started", None)
    found = with_never_started(afflux.Result(older, None, result.recorded, result.table)).summary
    idle = sum(job["start_ns"] is None for job in rows(result, "jobs"))
    assert idle > 0
    assert found["jobs"]["not_started"] == idle
    assert JOBS_UNFINISHED.of(found) == idle + found["jobs"]["unfinished"]
    assert {name: group["not_started"] for name, group in found["fct"]["by_class"].items()} == {
        name: sum(
            flow["start_ns"] is None and flow["class"] == name for flow in rows(result, "flows")
        )
        for name in ("query", "web")
    }


def test_a_known_start_beyond_the_end_is_none():
    """The table has such starts where arrivals do not wait for each other."""
    late = {"kind": "pairs", "class": "late", "pairs": [[5, 6]], "sizes": "9kB", "start": "1s"}
    result = run(traffic=[late, {"kind": "pairs", "pairs": [[1, 2]], "sizes": "9kB"}])
    assert result.flows["start_ns"] == [0, 10**9]
    assert result.summary["fct"]["by_class"]["late"]["not_started"] == 1
    older = copy.deepcopy(result.summary)
    for group in older["fct"]["by_class"].values():
        group.pop("not_started")
    found = with_never_started(afflux.Result(older, None, result.recorded, result.table)).summary
    assert found["fct"]["by_class"]["late"]["not_started"] == 1


def test_an_unfinished_flow_counts_with_its_time_so_far(runs):
    for of_seed in runs.values():
        for result in of_seed.values():
            end = result.summary["simulated_ns"]
            begun = [flow for flow in rows(result, "flows") if flow["start_ns"] is not None]
            times = [
                end - flow["start_ns"] if flow["fct_ns"] is None else flow["fct_ns"]
                for flow in begun
            ]
            cut = sum(flow["fct_ns"] is None for flow in begun)
            assert cut
            found = censored.value(named("fct_mean"), result)
            assert found == Value(pytest.approx(sum(times) / len(times)), False, cut)
            # It is what a decision measures.
            assert of_tenant(result, None, "fct_mean") == found
            if result.summary["name"] == "200ms":
                # The finished flows alone are faster.
                assert found.number > 1.3 * result.summary["fct"]["all"]["mean_ns"]
            of_query = [
                time for time, flow in zip(times, begun, strict=True) if flow["class"] == "query"
            ]
            found = censored.value(of_class("query", "fct_mean_ns"), result)
            assert found.number == pytest.approx(sum(of_query) / len(of_query))
            assert of_tenant(result, Tenant("query", ("query",)), "fct_mean") == found
            small = [
                time for time, flow in zip(times, begun, strict=True) if flow["bytes"] <= 100_000
            ]
            found = censored.value(objective("fct.by_size.le_100KB.mean_ns"), result)
            assert found == Value(pytest.approx(sum(small) / len(small)))


def test_a_quantile_among_the_finished_flows_lies_between_two_bounds():
    done = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    # The median of ten is between the fifth and the sixth: 5 and 6 if the flow that was cut off
    # after 2 takes longest, 4 and 5 if it takes no longer.
    assert censored.statistic(done, [2.0], "p50") == Value(5.5, True, 1, low=4.5)
    # A flow that has taken longer than the median already does not change it.
    assert censored.statistic(done, [7.5], "p50") == Value(5.5, True, 1)
    # The 95th percentile is beyond the finished flows.
    assert censored.statistic(done, [2.0], "p95") == Value(pytest.approx(8.55), False, 1)


def test_size_classes_have_the_bounds_of_the_run():
    """Only the default bounds were known."""
    result = run(1, run__size_bounds=["10kB", "1MB"])
    begun = [flow for flow in rows(result, "flows") if flow["start_ns"] is not None]
    for name, low, high in (("le_10KB", 0, 10_000), ("10KB_1MB", 10_001, 1_000_000)):
        of_size = [flow for flow in begun if low <= flow["bytes"] <= high]
        group = result.summary["fct"]["by_size"][name]
        if group["count"] + group["unfinished"]:
            found = censored.value(objective(f"fct.by_size.{name}.mean_ns"), result)
            assert (found.count or group["count"]) == len(of_size)
    assert result.summary["fct"]["by_size"]["10KB_1MB"]["censored"]


def test_an_unfinished_job_counts_with_its_time_so_far(runs):
    result = runs["200ms"][2]
    end = result.summary["simulated_ns"]
    times = [
        (end if job["finish_ns"] is None else job["finish_ns"]) - job["start_ns"]
        for job in rows(result, "jobs")
        if job["start_ns"] is not None
    ]
    wanted = Value(pytest.approx(sum(times) / len(times)), False, 1)
    for name in ("job_time_mean", "query.mean", "query.ask.mean"):
        assert censored.value(named(name), result) == wanted, name


def test_jobs_that_would_arrive_after_the_end_are_not_measured():
    """Tests jobs whose start in the table is later than the end: they have no time so far."""
    scenario = afflux.Scenario.parse(CLOSED.replace("closed_loop = true", 'period = "5ms"'))
    scenario.set("run.until", "12ms")
    scenario.set("switch.buffer", "9MB")
    result = scenario.run(seed=1)
    jobs = rows(result, "jobs")
    assert [job["start_ns"] for job in jobs] == [place * 5_000_000 for place in range(10)]
    times = [job["finish_ns"] - job["start_ns"] for job in jobs[:3]]
    for metric in (named("job_time_mean"), named("query.mean")):
        assert censored.value(metric, result) == Value(pytest.approx(sum(times) / 3))
    assert of_tenant(result, None, "query_mean") == Value(pytest.approx(sum(times) / 3))
    found = afflux.compare([result, run(1, name="closed-too", run__until="12ms")])
    assert JOBS_UNFINISHED.of(found.of_name["closed"].first.summary) == 7


def test_where_everything_finishes_the_values_are_those_of_the_summary():
    result = run(1, run__until="5s")
    assert result.summary["flows"]["not_started"] == result.summary["flows"]["unfinished"] == 0
    for metric in (*METRICS, named("query.p95"), of_class("web", "fct_p99_ns")):
        number = metric.of(result.summary)
        assert censored.value(metric, result) == (None if number is None else Value(number))
    # The statistics over the tables are the same.
    for metric in METRICS:
        if metric.path[0] in ("fct", "slowdown", "jobs") and not metric.counter:
            cut = {**result.summary}
            cut[metric.path[0]] = _cut(cut[metric.path[0]], metric)
            other = afflux.Result(cut, None, result.recorded, result.table)
            assert censored.value(metric, other).number == pytest.approx(
                metric.of(result.summary)
            ), metric.name


def _cut(groups: dict[str, Any], metric: Metric) -> dict[str, Any]:
    """Returns the groups as if some flows or jobs had not finished."""
    if metric.path[0] == "jobs":
        return groups | {"censored": True}
    return groups | {"all": groups["all"] | {"censored": True}}


@pytest.fixture
def closed(tmp_path):
    path = tmp_path / "closed.toml"
    path.write_text(CLOSED)
    return path


def test_sweeps_mark_times_of_finished_flows(invoke, closed, runs):
    vary = ("--vary", "host.transport.min_rto=5ms,200ms", "--seeds", "1-3")
    shown = invoke("sweep", closed, *vary).stdout
    for rto, of_seed in runs.items():
        summaries = [result.summary for result in of_seed.values()]
        mean = sum(summary["fct"]["all"]["mean_ns"] for summary in summaries) / 3
        assert f"{text.time(mean)}*" in shown
        left = sum(
            summary["flows"]["unfinished"] + summary["flows"]["not_started"]
            for summary in summaries
        )
        assert re.search(rf"^{rto} .* {text.digits(left / 3, 3)} of 162$", shown, re.M), shown
    assert "* some flows or jobs did not finish, so the true values are higher\n" in shown
    assert "flows not finished: those that never started count, too\n" in shown
    # Counters need no marks.
    shown = invoke("sweep", closed, *vary, "--metric", "drops").stdout
    assert "*" not in shown
    assert "not finished" not in shown
    # A table of finished flows has neither marks nor the column.
    shown = invoke("run", closed, "--seeds", "1-2", "--set", "run.until=1s").stdout
    assert "FCT mean" in shown
    assert "*" not in shown
    assert "not finished" not in shown


def test_the_card_of_a_sweep_marks_times_of_finished_flows(closed, tmp_path):
    """A notebook shows the same values and marks as the terminal."""
    vary = {"host.transport.min_rto": ["5ms", "200ms"]}
    found = afflux.sweep(closed, vary, seeds=[1], out=tmp_path / "cut", executor=Here())
    shown = found._repr_html_()
    for row in found.rows:
        for show, key in ((text.time, "fct_mean_ns"), (text.digits, "slowdown_p99")):
            assert f">{show(row[key])}*</td>" in shown
        # Rates and counters need no marks.
        assert f">{text.rate(row['goodput_bps'])}</td>" in shown
        assert f">{row['unfinished']:.0f} of 162</td>" in shown
    for words in (
        '<th scope="row" style="text-align: left">*</th>'
        '<td style="text-align: left">some flows or jobs did not finish, so the true values are higher</td>',
        '<th scope="col">flows not finished</th>',
        "flows not finished: those that never started count, too",
    ):
        assert words in shown, words
    assert re.search(
        r"(?m)^  \*  +some flows or jobs did not finish, so the true values", repr(found)
    )
    whole = afflux.sweep(
        closed, {"run.until": ["1s"]}, seeds=[1], out=tmp_path / "whole", executor=Here()
    )
    assert "FCT mean" in repr(whole)
    assert "*" not in repr(whole)
    assert "not finish" not in whole._repr_html_()


def test_the_files_of_a_sweep_count_queries_that_never_started(closed, tmp_path):
    vary = {"host.transport.min_rto": ["5ms", "200ms"]}
    found = afflux.sweep(closed, vary, seeds=[1], out=tmp_path / "cut", executor=Here())
    lines = csv.DictReader(found.path.read_text().splitlines())
    for row, line in zip(found.rows, lines, strict=True):
        point = f"host.transport.min_rto={row['host.transport.min_rto']}-1"
        jobs = rows(afflux.Result.open(tmp_path / "cut" / "points" / point), "jobs")
        assert sum(job["start_ns"] is None for job in jobs) > 0
        assert row["jobs_unfinished"] == sum(job["finish_ns"] is None for job in jobs)
        assert float(line["jobs_unfinished"]) == row["jobs_unfinished"]


def test_runs_with_several_seeds_mark_times_of_finished_flows(invoke, closed):
    shown = invoke("run", closed, "--seeds", "1-2").stdout
    assert re.search(r"ms\* .* of 162$", shown, re.M), shown
    assert "* some flows or jobs did not finish, so the true values are higher\n" in shown


def tuned(path: Path, own: str, objectives: list[str]) -> Tuning:
    return afflux.tune(
        path,
        {"host.transport.min_rto": "5ms,200ms"},
        objectives,
        budget=2,
        seeds=[1, 2, 3, 4, 5],
        set={"host.transport.min_rto": own},
        sensitivity=False,
        out=path.parent / own,
        executor=Here(),
    )


def test_a_search_takes_no_setting_for_the_few_flows_that_it_finishes(closed):
    pytest.importorskip("optuna", reason="needs the Python package optuna")
    found = tuned(closed, "5ms", ["fct", "fct_p99"])
    assert found.chosen is found.own
    assert [one.name for one in found.left_out] == ["host.transport.min_rto=200ms"]
    own, worse = found.own.left, found.left_out[0].left
    assert worse.unfinished > 1.5 * own.unfinished
    assert found.sentence() == (
        "Nothing that was tried is better than the scenario as it is, of 2 settings. "
        f"Flows not finished: {_number(own.unfinished)} of 162 with the scenario as it is ({_number(own.never_started)} never started)."
    )
    assert found.notes[-1] == (
        f"left out of the choice, because they stall: host.transport.min_rto=200ms ({_number(worse.never_started)} of 162 flows never start); "
        f"with as-it-is {_number(own.never_started)} of 162 flows never start"
    )
    # With the other baseline the same setting is recommended.
    found = tuned(closed, "200ms", ["fct", "fct_p99"])
    assert found.chosen.changes == {"host.transport.min_rto": "5ms"}
    assert found.sentence().startswith("Take host.transport.min_rto = 5ms. ")
    assert "mean completion time including unfinished flows " in found.sentence()
    undone = found.undone
    assert found.sentence().endswith(
        f" Flows not finished: {_number(undone.chosen.unfinished)} of 162 with the setting ({_number(undone.chosen.never_started)} never started), "
        f"{_number(undone.own.unfinished)} of 162 with the scenario as it is ({_number(undone.own.never_started)} never started)."
    )
    told = found.to_dict()
    assert told["left_out"] == ["as-it-is", "host.transport.min_rto=200ms"]
    assert told["unfinished"]["verdict"] == "better"
    assert told["own"]["unfinished_included"] == ["fct_mean_ns", "fct_p99_ns"]


def _number(value: float) -> str:
    return UNFINISHED.brief(value)


def test_the_output_of_a_search_counts_unfinished_flows(invoke, closed):
    pytest.importorskip("optuna", reason="needs the Python package optuna")
    done = invoke(
        "tune",
        closed,
        *("--vary", "host.transport.min_rto=5ms,200ms", "--set", "host.transport.min_rto=200ms"),
        *("--objective", "fct_mean", "--budget", "2", "--seeds", "1-3", "--no-sensitivity"),
    )
    assert done.exit_code == 0, done.output
    shown = " ".join(done.stdout.split())
    assert re.search(r"5ms [\d.]+ ms\* [\d.]+ of 162 \d chosen", shown), done.stdout
    assert re.search(r"FCT mean\* [\d.]+ ms [\d.]+ ms −", shown), done.stdout
    assert re.search(r"flows not finished [\d.]+ [\d.]+ −", shown), done.stdout
    assert (
        "* flows or jobs that did not finish count with their time until the end of the run, so the true values are higher"
        in shown
    )


def test_a_better_time_of_fewer_flows_is_doubted():
    time = named("fct_mean")
    base = [10e6, 12e6, 11e6, 13e6, 14e6]
    noise = (0.95, 1.08, 0.97, 1.03, 1.0)
    better = of_pairs(
        time, "k", [(old, 0.6 * old * new) for old, new in zip(base, noise, strict=True)]
    )
    more = of_pairs(UNFINISHED, "k", [(10, 20), (12, 21), (9, 20), (11, 22), (10, 21)])
    same = of_pairs(UNFINISHED, "k", [(10, 10), (12, 11), (9, 10), (11, 12), (10, 9)])
    own, chosen = Candidate("as-it-is", {}, {}), Candidate("k", {"switch.ecn.k": "20kB"}, {})

    def sentence(difference, bounds=frozenset(), stalled: bool = False) -> str:
        undone = Undone(
            Left(20.8, 160, 0),
            Left(10.4, 160, 0),
            difference,
            frozenset({time.name}),
            bounds,
            stalled,
        )
        return Tuning(
            (time,), ("switch.ecn.k",), own, (chosen,), (chosen,), (), chosen, (better,), (), (), (), Path("best.toml"), undone=undone
        ).sentence()  # fmt: skip

    size = "mean completion time including unfinished flows 7.26 ms instead of 12.0 ms, 40 % less (95 % interval 36 to 43 %, 5 paired seeds)."
    left = (
        "Flows not finished: 20.8 of 160 with the setting, 10.4 of 160 with the scenario as it is."
    )
    doubt = (
        "Cannot tell whether switch.ecn.k = 20kB, the best of the search, is better than the scenario as it is: "
        f"it leaves more flows unfinished. With other seeds: {size} {left}"
    )
    sure = f"Take switch.ecn.k = 20kB. Against the scenario as it is, with seeds that the search has not seen: {size} {left}"
    # The value is a lower bound, and more flows did not finish.
    assert sentence(more, frozenset({time.name})) == doubt
    # Lower bounds with as many unfinished flows are comparable, and so are values that no unfinished
    # flow can change.
    assert sentence(same, frozenset({time.name})) == sure
    assert sentence(more) == sure
    assert sentence(same, stalled=True) == doubt


def test_a_value_that_stalls_is_not_safe():
    time = named("fct_mean")
    better = of_pairs(time, "k", [(10.0, 5.0), (11.0, 6.0), (12.0, 6.5)])
    tried = [(1.0, "1ms", None), (2.0, "2ms", better), (4.0, "4ms", better)]
    assert _unharmed(tried, []) == ("4ms", [])
    assert _unharmed(tried, ["4ms"]) == ("2ms", [tried[2]])
    drift = Drift("k", time, "1ms", "2ms", (("4ms", better),), (("4ms", better),), ("4ms",))
    assert list(_beyond(drift)) == ["4ms: stalls"]
    assert drift.to_dict()["tried"][0]["stalled"] is True


def test_settings_that_stall():
    def work(*started: int) -> dict[int, Work]:
        return {seed: Work(160, one) for seed, one in enumerate(started, 1)}

    assert stalls(work(32, 16, 16, 16, 16), work(96, 96, 96, 80, 80))
    assert not stalls(work(96, 96, 96, 80, 80), work(32, 16, 16, 16, 16))
    # A few flows less are no stall, and neither is a difference that is not clear.
    assert not stalls(work(90, 90, 91, 80, 78), work(96, 96, 96, 80, 80))
    assert not stalls(work(160, 20, 160, 20, 96), work(96, 96, 96, 96, 96))
    # With too few seeds the means decide.
    assert stalls(work(16, 16), work(96, 96))
    assert not stalls({}, {})
    jobs = {1: Work(500, 500, jobs=3, finished=1)}
    assert stalls(jobs, {1: Work(900, 900, jobs=3, finished=3)})
    assert begun(jobs) == "2 of 3 jobs do not finish"
    assert begun(work(32, 16)) == "136 of 160 flows never start"
