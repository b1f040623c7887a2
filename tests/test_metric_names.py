"""`compare`, `sweep` and `tune` take the same names of metrics, from one list."""

import re

import pytest
from made import design, spread

import afflux
from afflux.commands import compare, options, sweep, tune
from afflux.metrics import ALIASES, METRICS, named, names
from afflux.results.designs import Designs
from afflux.tuning.objective import objective

#: Names of every kind.
NAMES = [
    *ALIASES,
    *(metric.name for metric in METRICS),
    "fct_mean",
    "goodput_flow_mean",
    "class.web.fct_p99",
    "class.web.throughput",
    "class.web.p99_slowdown",
    "query.p99",
    "job.sort.mean",
    "fct.by_size.le_100KB.p99_ns",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_and_an_objective_have_the_same_names(name):
    metric = named(name)
    direction = ":min" if metric.name == "ecn_marks" else ""
    assert objective(f"{name}{direction}").name == metric.name
    assert objective(f"{name}:max").path == metric.path


@pytest.mark.parametrize(
    ("path", "lower"),
    [
        ("deadlines.met_share", False),
        ("deadlines.by_class.web.met", False),
        ("flows.finished", False),
        ("jobs.started", False),
        ("conservation.bytes.delivered", False),
        ("goodput.by_class.web.jain", False),
        ("deadlines.missed_share", True),
        ("jobs.unfinished", True),
        ("conservation.packets.dropped", True),
        ("drops_by_reason.buffer", True),
        ("queueing.host_mean_ns", True),
        ("slowdown.all.p99", True),
        ("balance.imbalance.mean", True),
        ("slowdown.all.ideal_mean_ns", None),
        ("slowdown.all.count", None),
        ("goodput.by_class.web.flows", None),
        ("balance.reroutes", None),
        ("conservation.packets.sent", None),
        ("cost.total", None),
    ],
)
def test_paths_say_what_is_better(path, lower):
    assert named(path).lower_is_better is lower


def test_names_with_dots_stand_in_quotes_within_paths():
    assert named('slowdown.by_class."web.v2".p99').path == ("slowdown", "by_class", "web.v2", "p99")
    with pytest.raises(LookupError, match=r"metric slowdown\.\.p99: expected names with dots"):
        named("slowdown..p99")


def test_names_of_classes_and_blocks_may_stand_in_quotes():
    assert named('class."web v2.1".fct_mean') == named("class.web v2.1.fct_mean")
    assert named('query."web.v2".p99') == named("query.web.v2.p99")


def test_more_deadlines_met_is_better():
    """Every path but `goodput` counted as better if lower."""
    both = Designs([design("few"), design("many")])
    for place, of in enumerate(both.values()):
        for seed, result in of.results.items():
            result.summary["deadlines"] = {"met_share": 0.4 + 0.3 * place + 0.01 * seed}
    found = afflux.compare(both, metrics=["deadlines.met_share"])
    (d,) = [d for d in found.differences if d.metric.name == "deadlines.met_share"]
    assert (d.verdict, d.established) == ("better", True)


def test_objectives_without_a_better_direction_need_one():
    for name in ("ecn_marks", "flows.in_warmup", "balance.reroutes"):
        with pytest.raises(ValueError, match=f"write {name}:min or {name}:max"):
            objective(name)
        assert objective(f"{name}:max").lower_is_better is False
    # A price is minimized.
    assert objective("cost").lower_is_better is objective("cost.total").lower_is_better is True


def test_intervals_of_shares_end_at_1():
    share = named("deadlines.met_share")
    one = design("high", seeds=range(1, 4))
    for result, met in zip(one.results.values(), (0.7, 1.0, 0.95), strict=True):
        result.summary["deadlines"] = {"met_share": met}
    value = one.value(share)
    assert (value.high, value.low < value.mean < 1) == (1.0, True)
    assert named("class.web.jain").most == 1.0


def test_short_names():
    assert {name: named(name).name for name in ALIASES} == ALIASES
    assert named("class.web.throughput") == named("class.web.goodput_bps")
    assert named("class.web.fct") == named("class.web.fct_mean_ns")


def test_comparisons_take_short_names(command, scenario):
    both = Designs([design("a", job=spread(2.0, 0.1)), design("b", job=spread(1.0, 0.1))])
    for short, full in ALIASES.items():
        by_short, by_full = (afflux.compare(both, metrics=[name]) for name in (short, full))
        assert by_short.asked == by_full.asked == (named(full),)
        assert by_short.sentence() == by_full.sentence()
    # Two names of one metric are one question.
    assert len(afflux.compare(both, metrics=["throughput", "goodput"]).asked) == 1
    for name in ("a", "b"):
        path = scenario(('name = "small"', f'name = "{name}"'))
        assert command("run", path).returncode == 0
    shown = command("compare", "out/a-1", "out/b-1", "--metric", "throughput").stdout
    assert "\ngoodput while busy " in shown
    assert "\nFCT mean " not in shown


def test_sweeps_take_short_names(invoke, scenario):
    words = "--metric p99_slowdown --metric throughput --metric goodput --metric fct.by_size.100KB_10MB.p95_ns"
    done = invoke("sweep", scenario(), "--vary", "switch.buffer=9packets", *words.split())
    (head,) = [line for line in done.stdout.splitlines() if line.startswith("buffer ")]
    assert re.split("  +", head) == [
        "buffer",
        "slowdown p99",
        "goodput while busy",
        "fct 100KB_10MB p95",
    ]


@pytest.mark.parametrize("name", ["thrughput", "fct_p98", "nothing.at.all"])
def test_unknown_names_list_what_would_be_right(name, command, invoke, scenario):
    path = scenario()
    shown = [
        invoke("sweep", path, "--vary", "switch.buffer=9packets", "--metric", name),
        invoke("tune", path, "--vary", "switch.buffer=9packets,90packets", "--objective", name),
    ]
    for done in shown:
        assert done.exit_code == 2
        message = " ".join(done.stderr.split())
        assert f"there is no metric called '{name}'" in message
        assert ", ".join(names()) in message
        for example in ("class.NAME.fct_p99", "query.p99", "slowdown.by_class.NAME.p99"):
            assert example in message
    near = "(did you mean 'throughput'?)"
    assert all((near in done.stderr) is (name == "thrughput") for done in shown)


def test_a_path_to_no_number_is_refused(scenario):
    runs = [afflux.load(scenario()).set("name", name).run() for name in ("a", "b")]
    for path in ("fct.all", "fct.all.nothing", "drops_by_reason.buffer.more", "jobs.each"):
        with pytest.raises(LookupError, match=f"both have {path}: the results have job_time"):
            afflux.compare(runs, metrics=[path])


def test_completion_and_help_are_of_one_list():
    assert options.measures("") == names()
    assert options.measures("p99") == ["p99_slowdown"]
    assert {"job_time", "p99_slowdown", "throughput", "fct_p99_ns", "cost"} <= {*names()}
    for where in (compare.Metrics, sweep.Metrics, tune.Objective):
        (option,) = where.__metadata__
        assert option.autocompletion is options.measures
        assert {"job_time", "fct_p99", "p99_slowdown", "throughput"} <= {
            *option.help.replace(",", "").split()
        }
