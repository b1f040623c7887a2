"""A percentile is neither judged nor shown where a run has too few flows or jobs for it: the rule is
the same for comparisons, reports, sweeps, decisions and searches."""

import io
import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from here import Here
from made import Made, compare, design, spread, summary
from rich import console
from test_report_verdicts import BY_NAME, table, text

import afflux
from afflux.comparison.paired import Difference
from afflux.metrics import JOB_TIME, named
from afflux.report import dots, markup, measures
from afflux.results import percentiles
from afflux.results.designs import Designs
from afflux.terminal import points
from afflux.terminal.decision import decision

# Values and reports.


def counted_design(name: str, flows: int, jobs: int, seeds: int = 1) -> afflux.Design:
    """Returns a design with percentiles of this many flows and jobs per run."""
    results = {}
    for seed in range(1, seeds + 1):
        made = summary(name, seed, job=2.0 + seed / 10)
        for kind in ("fct", "slowdown"):
            made[kind]["all"] |= {"count": flows, "p999_ns": 30e6, "p999": 30.0}
        made["jobs"] |= {"finished": jobs, "p99_ns": 3e6}
        results[seed] = Made(made)
    return afflux.Design(name, results)  # type: ignore[arg-type]


P99, P999 = BY_NAME["fct_p99_ns"], BY_NAME["fct_p999_ns"]
JOB_P99 = BY_NAME["job_time_p99_ns"]


@pytest.mark.parametrize(
    ("metric", "count", "needed"),
    [
        (P99, 99, 100),
        (P99, 100, None),
        (P999, 999, 1_000),
        (P999, 1_000, None),
        (BY_NAME["slowdown_p999"], 172, 1_000),
        (JOB_P99, 99, 100),
        (JOB_P99, 100, None),
        (BY_NAME["fct_p50_ns"], 1, None),
        (BY_NAME["fct_mean_ns"], 1, None),
        (JOB_TIME, 1, None),
        (BY_NAME["goodput_bps"], 1, None),
    ],
)
def test_a_percentile_needs_enough_flows_or_jobs(metric, count, needed):
    assert percentiles.lacking(metric, counted_design("a", count, count)) == needed


def test_percentiles_of_few_flows_are_not_shown():
    one = counted_design("small", 172, 5)
    figure = dots.own_figure(one, markup.Terms())
    rows = [text(line) for line in re.findall(r"<tr style.*?</tr>", figure, re.S)]
    assert rows == [
        "Job time2.10 ms",
        "Mean completion time5.00 ms",
        "Median completion time4.00 ms",
        "p99 completion time20.0 ms",
        "p99.9 completion timeneeds 1,000 flows per run–",
    ]
    assert "1 回の実行に 1,000 本のフローが必要" in figure
    # The axis ends at the largest value that is shown.
    assert "30" not in re.sub(r".*<tfoot>", "", text(figure))
    shown = measures.section(
        Designs([one]),
        None,
        markup.Terms(),
        metrics=[P99, P999, JOB_P99],
        asked=[],
        currency="",
        lead="",
    )
    cells = [text(line) for line in re.findall(r'<tr><th scope="row">.*?</tr>', shown, re.S)]
    assert cells == [
        "FCT p99one flow in a hundred is slower20.0 ms",
        "FCT p99.9–needs 1,000 flows per run",
        "Job time p99–needs 100 jobs per run",
    ]
    assert "1 回の実行に 100 個のジョブが必要" in shown


def test_percentiles_that_are_not_judged_have_neither_value_nor_verdict():
    """`compare` judges no percentile of too few flows or jobs, so the page does not show it. A page
    that is about such a percentile, as that of a decision, shows it with a caveat."""
    found = compare(counted_design("a", 24, 5, 3), counted_design("b", 24, 5, 3))
    cells = [
        text(line)
        for line in re.findall(
            r'<tr><th scope="row">.*?</tr>', table(found, metrics=[P99, P999, JOB_P99]), re.S
        )
    ]
    assert cells == [
        "FCT p99–needs 100 flows per run–needs 100 flows per run",
        "FCT p99.9–needs 1,000 flows per run–needs 1,000 flows per run",
        "Job time p99–needs 100 jobs per run–needs 100 jobs per run",
    ]
    asked = table(found, metrics=[P99, JOB_P99], asked=[P99, JOB_P99])
    assert "FCT p99of fewer than 100 flows per run20.0 msbaseline20.0 mssame" in text(asked)
    assert "Job time p99of fewer than 100 jobs per run3.00 msbaseline" in text(asked)
    assert "1 回の実行のフローは 100 本未満" in asked
    assert "1 回の実行のジョブは 100 個未満" in asked


def test_a_design_with_too_few_flows_is_not_judged_beside_others():
    found = compare(
        counted_design("a", 100, 5, 3),
        counted_design("b", 100, 5, 3),
        counted_design("c", 99, 5, 3),
    )
    assert text(table(found, metrics=[P99])).endswith(
        "FCT p99of fewer than 100 flows per run20.0 msbaseline20.0 mssame20.0 mssame"
    )


def test_metrics_of_classes_follow_the_same_rule():
    made = summary("a", 1)
    made["fct"]["by_class"] = {"web": {"count": 99, "p99_ns": 1e6}}
    one = afflux.Design("a", {1: Made(made)})  # type: ignore[dict-item]
    assert percentiles.withheld(named("class.web.fct_p99"), one) == "needs 100 flows per run"


# Comparisons.


def of_flows(name: str, flows: int, p99: list[float], **numbers: list[float]) -> afflux.Design:
    """Returns a design whose distributions have this many flows in each run."""
    made = design(name, p99=p99, slow99=p99, **numbers)
    for result in made.results.values():
        for kind in ("fct", "slowdown"):
            result.summary[kind]["all"]["count"] = flows
    return made


def of(found: afflux.Comparison, name: str) -> Difference:
    (d,) = [d for d in found.differences if d.metric.name == name]
    return d


SLOW, QUICK = spread(20.0, 0.01), spread(2.0, 0.02)


def test_a_percentile_of_enough_flows_is_judged():
    found = compare(of_flows("a", 100, SLOW), of_flows("b", 100, QUICK))
    assert (of(found, "fct_p99_ns").verdict, of(found, "fct_p99_ns").needed) == ("better", None)
    assert found.sentence().startswith("b has the lower p99 completion time:")
    assert not any("not judged" in note for note in found.notes)


def test_a_percentile_of_too_few_flows_is_not_judged():
    enough = compare(of_flows("a", 100, SLOW), of_flows("b", 100, QUICK))
    for flows in ((99, 100), (100, 99)):
        found = compare(of_flows("a", flows[0], SLOW), of_flows("b", flows[1], QUICK))
        d = of(found, "fct_p99_ns")
        assert (d.verdict, d.needed, d.p, d.established) == ("too few flows", 100, None, None)
        assert d.bounds is None
        # The values and their change stay: they are facts.
        assert d.design_mean < d.baseline_mean
        assert d.share == of(enough, "fct_p99_ns").share
        assert "p99" not in found.sentence()
        assert found.sentence().startswith(
            "No main measure that is judged differs between b and a."
        )
        # It is not one of the differences that are judged together.
        assert found.family == enough.family - 2
        (note,) = [note for note in found.notes if "not judged" in note]
        assert note == (
            "FCT p99, slowdown p99 with b: not judged, because such percentiles need at least 100 flows in each run"
        )
        assert note.ja == (
            "b の FCT p99、スローダウン p99 は判定しません。この百分位数には 1 回の実行に 100 本以上のフローが必要です"
        )
        assert {"verdict": "too few flows", "needed": 100}.items() <= d.to_dict().items()


def test_asking_for_a_percentile_of_too_few_flows_says_what_it_needs():
    designs = Designs([of_flows("a", 24, SLOW), of_flows("b", 24, QUICK)])
    found = afflux.compare(designs, metrics=["fct_p99"])
    assert found.sentence() == (
        "The p99 completion time is not judged: it needs at least 100 flows in each run."
    )
    assert found.sentence().ja == (
        "完了時間の p99は判定しません。1 回の実行に 100 本以上のフローが必要です。"
    )
    # With a second metric the answer is about that one, and the note says what is left out.
    both = afflux.compare(designs, metrics=["fct_p99", "fct_mean"])
    assert "p99" not in both.sentence()
    assert [note[:18] for note in both.notes if "not judged" in note] == ["FCT p99 with b: no"]


def test_equal_percentiles_of_few_flows_are_the_same():
    found = compare(of_flows("a", 24, SLOW), of_flows("b", 24, SLOW))
    assert (of(found, "fct_p99_ns").verdict, of(found, "fct_p99_ns").needed) == ("same", 100)


def test_only_the_design_with_too_few_flows_is_not_judged():
    """Another design leads in the p99. Neither its answer nor its rivals count the one that is not
    judged."""
    found = compare(
        of_flows("a", 100, SLOW), of_flows("b", 100, QUICK), of_flows("c", 60, spread(1.0, 0.02))
    )
    assert [d.verdict for d in found.differences if d.metric.name == "fct_p99_ns"] == [
        "better",
        "too few flows",
    ]
    answer = found.sentence()
    assert answer.startswith("b has a lower p99 completion time than a:")
    assert " c " not in answer
    assert [note[:29] for note in found.notes if "not judged" in note] == [
        "FCT p99, slowdown p99 with c:"
    ]


def test_jobs_are_counted_by_their_own_number():
    found = compare(counted_design("a", 5_000, 5, 3), counted_design("b", 5_000, 6, 3))
    assert of(found, "fct_p999_ns").needed is None
    assert of(found, "job_time_p99_ns").needed == 100
    (note,) = [note for note in found.notes if "not judged" in note]
    assert note == (
        "job time p99 with b: not judged, because such percentiles need at least 100 jobs in each run"
    )


def test_the_table_of_a_comparison(command, scenario):
    for name, buffer in (("wide", "90packets"), ("narrow", "9packets")):
        path = scenario(('name = "small"', f'name = "{name}"'), ("30packets", buffer))
        assert command("run", path, "--seed", 1).returncode == 0
    results = ["out/wide-1", "out/narrow-1"]
    lines = command("compare", *results).stdout.splitlines()
    for title in ("FCT p99 ", "FCT p99.9", "slowdown p99 "):
        (line,) = [line for line in lines if line.startswith(title)]
        assert line.split()[-5:] == ["%", "–", "too", "few", "flows"], line
    asked = command("compare", *results, "--metric", "fct_p99").stdout
    assert asked.startswith("The p99 completion time is not judged: it needs at least 100 flows")


# Other commands say that a percentile is of few flows.

FEW = (
    "slowdown p99 needs at least 100 flows in each run: with fewer it is close to the value of the "
    "slowest flow"
)


def printed(parts: Iterable[console.RenderableType]) -> str:
    shown = console.Console(width=200, file=(file := io.StringIO()))
    for part in parts:
        shown.print(part)
    return file.getvalue()


@pytest.fixture
def tiny(scenario) -> Path:
    """Returns a scenario with 16 flows."""
    return scenario(("rounds = 3", "rounds = 2"))


def test_sweeps_say_that_a_percentile_is_of_few_flows(tiny, tmp_path):
    def swept(rounds: int) -> afflux.Sweep:
        changed = {"traffic.0.rounds": rounds, "traffic.0.period": "1ms"}
        vary = {"switch.buffer": ["30packets"]}
        return afflux.sweep(
            tiny, vary, set=changed, out=tmp_path / f"out-{rounds}", executor=Here()
        )

    few, enough = swept(2), swept(13)
    assert f"\n{FEW}\n" in printed(points.sweep(few))
    assert FEW in few._repr_html_()
    assert FEW in re.sub(r"\s+", " ", repr(few))
    # Thirteen rounds have 104 flows.
    assert "slowdown p99" in repr(enough)
    assert "needs at least" not in repr(enough)


def test_decisions_say_that_a_percentile_is_of_few_flows(tiny, tmp_path):
    goals = [
        ("fct_p99", "99ms"),
        ("fct_p50", "99ms"),
        ("query_p95", "99ms"),
    ]
    text = tiny.read_text().replace('name = "query"', 'name = "query"\nclass = "query"')
    text += '[[design]]\nname = "a"\n[[design]]\nname = "b"\nset = { "switch.buffer" = "9MB" }\n'
    text += "".join(
        f'[[goal]]\ntenant = "query"\nmeasure = "{measure}"\nat_most = "{bound}"\n'
        for measure, bound in goals
    )
    file = tmp_path / "decision.toml"
    file.write_text(text)
    found = afflux.decide(file, seeds=[1, 2, 3], out=tmp_path / "decided", executor=Here())
    notes = [note for note in found.designs.notes if "needs" in note]
    assert notes == [
        "query: FCT p99 needs at least 100 flows in each run: with fewer it is close to the value of the slowest flow",
        "query: query time p95 needs at least 20 jobs in each run: with fewer it is close to the value of the slowest job",
    ]
    assert set(notes) <= set(json.loads((tmp_path / "decided/decision.json").read_text())["notes"])
    assert notes[0] in (tmp_path / "decided/report.html").read_text()
    assert f"note: {notes[0]}\n" in printed(decision(found, tmp_path))


def test_searches_say_that_a_percentile_is_of_few_flows(tiny, tmp_path):
    pytest.importorskip("optuna", reason="needs the Python package optuna")
    found = afflux.tune(
        tiny,
        {"switch.buffer": "30packets,60packets"},
        ["slowdown_p99", "fct_mean", "fct.by_size.100KB_10MB.p95_ns"],
        budget=1,
        seeds=[1, 2],
        sensitivity=False,
        out=tmp_path / "tuned",
        executor=Here(),
    )
    assert [note for note in found.notes if "needs" in note] == [
        FEW,
        "fct 100KB_10MB p95 needs at least 20 flows in each run: with fewer it is close to the value of the slowest flow",
    ]


def test_unfinished_flows_count_where_the_percentile_includes_them():
    one = counted_design("a", 60, 5)
    one.first.summary["fct"]["all"]["unfinished"] = 40
    assert percentiles.lacking(P99, one) == 100
    assert percentiles.lacking(P99, one, unfinished=True) is None
