"""Comparisons of designs: pairing, intervals, and the permitted conclusions."""

import json
import math
import re
from pathlib import Path

import pytest
from made import design

import afflux
from afflux.comparison import changes, circumstances
from afflux.comparison.paired import Difference, of_pairs
from afflux.metrics import COST, JOB_TIME, METRICS
from afflux.results import split
from afflux.results.designs import Designs, gather
from afflux.terminal import comparison
from afflux.words import text


def designs(**values: list[float]) -> Designs:
    """Returns designs by name, with job times in ms."""
    return Designs(design(name, job=times) for name, times in values.items())


def job_time(found: afflux.Comparison) -> Difference:
    (difference,) = [d for d in found.differences if d.metric is JOB_TIME]
    return difference


def test_pairing_finds_what_the_spread_of_seeds_hides():
    # Seeds differ by far more than designs, but the difference between the designs is the same for
    # each seed.
    base = [10.0, 50.0, 20.0, 90.0, 30.0, 70.0]
    found = job_time(afflux.compare(designs(base=base, other=[value - 2 for value in base])))
    assert (found.difference, found.low, found.high) == (
        pytest.approx(-2e6),
        pytest.approx(-2e6),
        pytest.approx(-2e6),
    )
    # The verdict uses the ratio, which differs between seeds.
    assert found.verdict == "better"
    assert found.share == pytest.approx(
        math.prod((value - 2) / value for value in base) ** (1 / 6) - 1
    )
    assert -0.2 < found.share_low < found.share < found.share_high < 0
    assert (found.ratio, found.ratio_low, found.ratio_high) == tuple(
        map(pytest.approx, (1 + found.share, 1 + found.share_low, 1 + found.share_high))
    )


def test_a_change_has_the_unit_of_its_interval():
    """Counts have an interval of the difference. A change in percent beside it would mislead."""
    drops = next(metric for metric in METRICS if metric.name == "drops")
    found = of_pairs(drops, "other", [(5.0, 0.0), (15.0, 0.0), (10.0, 0.0)])
    assert changes.by(found).endswith(" %")
    assert (changes.in_unit_of_interval(found), changes.interval(found)) == (
        f"{changes.MINUS}10",
        f"{changes.MINUS}22.4 to +2.42",
    )
    times = of_pairs(JOB_TIME, "other", [(5e6, 4e6), (15e6, 13e6), (10e6, 8e6)])
    assert changes.in_unit_of_interval(times).endswith(" %")
    assert changes.interval(times).endswith(" %")
    # Without an interval the share says more.
    one = of_pairs(drops, "other", [(5.0, 4.0)])
    assert changes.in_unit_of_interval(one) == changes.by(one) == f"{changes.MINUS}20.0 %"
    shown = [*comparison.differences("", "a", "b", [found])]
    assert f"{changes.MINUS}10" in [*shown[0].columns[3].cells]


def test_an_interval_that_spans_zero_tells_nothing():
    base = [10.0, 10.0, 10.0, 10.0, 10.0, 10.0]
    found = afflux.compare(designs(base=base, other=[12.0, 8.0, 11.0, 9.5, 10.5, 9.0]))
    assert job_time(found).low < 0 < job_time(found).high
    assert job_time(found).verdict == "cannot tell"
    assert job_time(found).seeds_to_decide > 100
    assert "Cannot tell" in found.sentence()


@pytest.mark.parametrize("seeds", [1, 2])
def test_few_seeds_tell_nothing_however_clear_they_seem(seeds):
    found = afflux.compare(
        designs(base=[100.0 + seed for seed in range(seeds)], other=[1.0] * seeds)
    )
    assert job_time(found).verdict == "too few seeds"
    assert (job_time(found).low is None) == (seeds == 1)
    assert "tell a difference from chance" in found.sentence()
    assert any("at least 3" in note for note in found.notes)


def test_three_seeds_may_be_enough_if_the_difference_is_large():
    assert (
        job_time(afflux.compare(designs(base=[100.0, 101.0, 102.0], other=[1.0, 1.1, 1.0]))).verdict
        == "better"
    )
    assert (
        job_time(
            afflux.compare(designs(base=[100.0, 101.0, 102.0], other=[80.0, 120.0, 60.0]))
        ).verdict
        == "cannot tell"
    )


def test_five_seeds_are_enough_and_the_same_is_the_same():
    base = [1.0, 2.0, 3.0, 4.0, 5.0]
    found = afflux.compare(designs(base=base, worse=[value * 2 for value in base], same=base))
    times = [d for d in found.differences if d.metric is JOB_TIME]
    assert [d.verdict for d in times] == ["worse", "same"]
    assert times[0].share == pytest.approx(1)
    assert (
        "worse has a higher job time than base: 6.00 ms instead of 3.00 ms, 100 % more"
        in found.sentence()
    )


def test_seeds_of_one_side_are_left_out_and_named():
    base, other = (
        designs(base=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        designs(other=[2.0, 3.0, 4.0, 5.0, 6.0]),
    )
    found = afflux.compare(Designs([*base.values(), *other.values()]))
    assert job_time(found).seeds == 5
    assert found.notes == ("other: seed 6 left out, which only one side has",)
    alone = Designs([base["base"], design("late", job=[1.0], seeds=[9])])
    with pytest.raises(ValueError, match="no seed in common"):
        afflux.compare(alone)


def test_prices_are_no_sample():
    prices = [("deep", 100.0, "EUR"), ("shallow", 40.0, "EUR"), ("abroad", 40.0, "USD")]
    made = {
        name: design(name, job=[5.0], price=price, currency=currency)
        for name, price, currency in prices
    }
    found = afflux.compare(Designs([made["deep"], made["shallow"]]))
    (cost,) = [d for d in found.differences if d.metric is COST]
    assert (cost.difference, cost.share, cost.verdict) == (-60, pytest.approx(-0.6), "lower")
    mixed = afflux.compare(Designs([made["deep"], made["abroad"]]))
    assert COST not in [d.metric for d in mixed.differences]
    assert any("currencies" in note for note in mixed.notes)


def test_every_metric_is_in_the_summary(scenario):
    summary = afflux.load(scenario(("[switch]", "[cost]\nswitch = 1\n\n[switch]"))).run().summary
    assert {
        metric.name: metric.of(summary) for metric in METRICS if metric.of(summary) is None
    } == {}
    assert summary["cost"] == {"currency": "USD", "total": 1.0, "switches": 1, "ports": 9}
    assert len({metric.name for metric in METRICS}) == len(METRICS)


@pytest.fixture
def results(command, scenario):
    """Creates results of two designs with two seeds each, in `out`."""
    for name, buffer in [("wide", "90packets"), ("narrow", "9packets")]:
        path = scenario(
            ('name = "small"', f'name = "{name}"'),
            ("30packets", buffer),
            ("rounds = 3", "rounds = 2"),
            name=f"{name}.toml",
        )
        for seed in (1, 2):
            assert command("run", path, "--seed", seed).returncode == 0
    return ["out/wide-1", "out/wide-2", "out/narrow-1", "out/narrow-2"]


def test_command(command, results, tmp_path):
    done = command("compare", *results, "--baseline", "out/narrow-1")
    assert done.returncode == 0, done.stderr
    for words in ("wide against narrow", "job time", "queue drops", "too few seeds", "at least 3"):
        assert words in done.stdout, words
    assert max(map(len, done.stdout.splitlines())) <= 100
    found = json.loads(command("compare", *results, "--json").stdout)
    assert (found["baseline"], found["designs"]) == ("wide", ["narrow"])
    drops = next(d for d in found["differences"] if d["metric"] == "drops")
    of = {
        dir: json.loads((tmp_path / dir / "summary.json").read_text())["drops"] for dir in results
    }
    assert (
        drops["difference"]
        == (of["out/narrow-1"] + of["out/narrow-2"] - of["out/wide-1"] - of["out/wide-2"]) / 2
    )
    assert (drops["seeds"], drops["verdict"]) == (2, "too few seeds")
    assert drops["low"] <= drops["difference"] <= drops["high"]


def test_baseline_by_name(invoke, command, results):
    found = json.loads(invoke("compare", *results, "--baseline", "narrow", "--json").stdout)
    assert (found["baseline"], found["designs"]) == ("narrow", ["wide"])
    by_dir = json.loads(
        invoke("compare", *results[:2], "--baseline", "out/narrow-2", "--json").stdout
    )
    assert (by_dir["baseline"], by_dir["designs"]) == ("narrow", ["wide"]), (
        "the directory need not be named once more"
    )
    for name in ("compare", "report"):
        done = invoke(
            name,
            *results,
            "--baseline",
            "narow",
            *(["-o", "page.html"] if name == "report" else []),
        )
        assert done.exit_code == 2
        assert (
            "--baseline: there is no design called 'narow' (did you mean 'narrow'?): there are wide, narrow"
            in done.stderr
        )


def test_baseline_of_a_report(invoke, results, tmp_path):
    for name, others in (("wide", "narrow"), ("narrow", "wide")):
        done = invoke("report", *results, "--baseline", name, "-o", "page.html")
        assert done.exit_code == 0, done.output
        page = (tmp_path / "page.html").read_text()
        assert page.index(f"<b>{name}</b>") < page.index(f"<b>{others}</b>")
        assert f'<span lang="en">Against {name}</span>' in page
        (row,) = [
            row
            for row in re.findall(r"<tr[^>]*>.*?</tr>", page[: page.index('id="measures"')])
            if "baseline" in row and 'scope="row"' in row
        ]
        assert f"<span>{name}</span>" in row


def test_baseline_of_a_sweep(invoke, scenario):
    arguments = [
        "sweep",
        scenario(("rounds = 3", "rounds = 2")),
        "--vary",
        "switch.buffer=9packets,30packets,90packets",
        "--seeds",
        "1-3",
        "--jobs",
        "1",
    ]
    done = invoke(*arguments, "--baseline", "switch.buffer=9packet")
    assert (done.exit_code, "did you mean 'switch.buffer=9packets'" in done.stderr) == (2, True), (
        done.output
    )
    assert not Path("out").exists(), "a wrong name is found before anything is simulated"
    done = invoke(*arguments, "--baseline", "switch.buffer=9packets")
    assert done.exit_code == 0, done.output
    titles = [line.rstrip() for line in done.stdout.splitlines() if " against " in line]
    assert titles == [
        "buffer=30packets against buffer=9packets",
        "buffer=90packets against buffer=9packets",
    ], "a table per design"
    found = json.loads(invoke(*arguments, "--baseline", "switch.buffer=30packets", "--json").stdout)
    assert len(found["rows"]) == 9
    assert (found["comparison"]["baseline"], len(found["comparison"]["designs"])) == (
        "switch.buffer=30packets",
        2,
    )
    assert isinstance(json.loads(invoke(*arguments, "--json").stdout), list)


def test_baseline_of_a_study(invoke):
    done = invoke("study", "hadoop", "--quick", "--baseline", "nothing")
    assert done.exit_code == 2
    assert "--baseline: there is no design called 'nothing'" in done.stderr
    done = invoke("study", "--baseline", "deep")
    assert (done.exit_code, "needs the name of a study" in done.stderr) == (2, True)


def test_what_cannot_be_compared(command, scenario, results):
    for arguments, words in [
        (["out/wide-1", "out/wide-2"], "only one design"),
        (["out/wide-1", "nowhere"], "nowhere is not a result directory"),
        (["out/wide-1", "out/wide-1", "out/narrow-1"], ""),  # a result named twice counts once
    ]:
        done = command("compare", *arguments)
        assert done.returncode == (2 if words else 0)
        assert words in done.stderr
    assert (
        command(
            "run", scenario(('name = "small"', 'name = "wide"')), "--seed", "1", "-o", "out/again"
        ).returncode
        == 0
    )
    done = command("compare", "out/wide-1", "out/again", "out/narrow-1")
    assert done.returncode == 2
    assert "are both 'wide' with seed 1" in done.stderr
    assert (
        command(
            "run", scenario(('name = "small"', 'name = "wide"')), "--seed", "3", "-o", "out/other"
        ).returncode
        == 0
    )
    done = command("compare", "out/wide-1", "out/other", "out/narrow-1")
    assert done.returncode == 2
    assert "switch.buffer" in done.stderr
    assert "run.seed" not in done.stderr


def test_gathering():
    with pytest.raises(ValueError, match="no results"):
        gather([])
    with pytest.raises(LookupError, match="no design called 'x'"):
        designs(base=[1.0])["x"]


def test_the_cause_in_the_answer_is_the_part_in_the_table(scenario):
    """The answer and the table leave out flows of the warm-up and flows that only one design finished,
    so they show the same mean.
    """
    runs = []
    for name, buffer in (("narrow", "9packets"), ("wide", "90packets")):
        changed = (
            ('name = "small"', f'name = "{name}"'),
            ("30packets", buffer),
            ("[record]", '[run]\nwarmup = "4ms"\nuntil = "11ms"\n[record]'),
        )
        loaded = afflux.load(scenario(*changed, name=f"{name}.toml"))
        runs += [loaded.run(seed=seed) for seed in (1, 2, 3)]
    found = afflux.compare(runs, "wide")
    assert all(run.summary["flows"]["in_warmup"] for run in runs)
    assert len({run.summary["flows"]["unfinished"] for run in runs}) > 1
    lead = next(
        d for d in found.of("narrow") if d.verdict == "worse" and d.metric.name.startswith("fct")
    )
    wait = circumstances.chief_wait(found, lead)
    table = split.changes(found.of_name, "wide")["narrow"]
    assert wait is not None
    assert table is not None
    assert wait.metric.name == "recovery"
    assert (round(wait.baseline_mean), round(wait.design_mean)) == pytest.approx(
        tuple(mean.parts_ns["recovery"] for mean in (table.all.baseline, table.all.design)), abs=2
    )


STAR = {"kind": "star", "hosts": 4, "rate": "10Gbps"}


def cut(name: str, until: str, **topology: str) -> list[afflux.Result]:
    """Returns results of three seeds, of which `until` decides which flows finish."""
    blocks = {"kind": "random", "sizes": "websearch", "load": 0.4, "duration": "4ms"}
    scenario = afflux.Scenario(
        name=name,
        topology=STAR | topology,
        traffic=[blocks | {"load_basis": "host_payload"}],
        run={"until": until},
    )
    return [scenario.run(seed=seed) for seed in (1, 2, 3)]


def test_other_finished_flows_do_not_make_another_fabric():
    short, long = cut("short", "3ms"), cut("long", "off")
    found = afflux.compare([*short, *long], "short")
    notes = " ".join(map(str, found.notes))
    assert "a fabric that is slower by itself" not in notes
    assert "with long and short are of different flows" in notes
    assert {"slowdown_mean", "slowdown_p50"} <= {d.metric.name for d in found.differences}
    # Half the rate is another fabric, whichever flows finish.
    slow = cut("slow", "3ms", rate="5Gbps")
    found = afflux.compare([*long, *slow], "long")
    (note,) = (str(note) for note in found.notes if "Slowdown is not compared" in note)
    assert "alone, the same flows take" in note
    assert not any(d.metric.name.startswith("slowdown") for d in found.differences)


def test_the_time_alone_is_a_mean_over_flows():
    """A single large flow weighed as much as all small ones of one kind."""

    def results(name: str, rate: str) -> list[afflux.Result]:
        small = {"kind": "incast", "to": 0, "senders": 3, "bytes": "10kB", "jitter": "10us"}
        small |= {"rounds": 20, "period": "100us", "class": "small"}
        large = {"kind": "incast", "to": 0, "senders": 1, "bytes": "1MB", "class": "large"}
        topology = STAR | {"rate": rate}
        scenario = afflux.Scenario(name=name, topology=topology, traffic=[small, large])
        return [scenario.run(seed=seed) for seed in (1, 2, 3)]

    fast, slow = results("fast", "10Gbps"), results("slow", "5Gbps")
    found = afflux.compare([*fast, *slow], "fast")
    (note,) = (str(note) for note in found.notes if "Slowdown is not compared" in note)
    for own in (fast, slow):
        alone = [ns for result in own for ns in result.flows.column("ideal_ns")]
        assert f"{text.time(sum(alone) / len(alone))} on average" in note or (
            f"{text.time(sum(alone) / len(alone))} with" in note
        )


def test_flows_without_any_in_common_are_not_the_same_flows():
    """Equally many flows finished, of another size. They were called the same flows, which take
    longer alone in a slower fabric."""

    def sized(name: str, size: str) -> list[afflux.Result]:
        blocks = {"kind": "incast", "to": 0, "senders": 3, "bytes": size, "jitter": "10us"}
        scenario = afflux.Scenario(name=name, topology=STAR, traffic=[blocks])
        return [scenario.run(seed=seed) for seed in (1, 2, 3)]

    found = afflux.compare([*sized("small", "10kB"), *sized("large", "20kB")], "small")
    (note,) = (str(note) for note in found.notes if "Slowdown is not compared" in note)
    assert "large and small have no flow in common" in note
    assert "the same flows" not in note
    assert not any(d.metric.name.startswith("slowdown") for d in found.differences)


def test_measures_after_different_warm_ups_are_not_judged():
    """Results that differ in their warm-up alone were established as worse."""
    times = [10.0, 12.0, 11.0, 13.0, 14.0]
    both = Designs(
        design(name, job=[by * time for time in times], fct=[by * time for time in times])
        for name, by in (("all", 1.0), ("late", 1.5))
    )
    assert afflux.compare(both).differences[0].established
    for result in both["late"].results.values():
        result.summary["warmup_ns"] = 1_000_000
    found = afflux.compare(both)
    (note,) = (note for note in found.notes if "warm-up" in note)
    assert note.startswith("late has a warm-up of 1.000 ms and all one of 0 ns")
    of = {d.metric.name: d for d in found.differences}
    for name in ("job_time_mean_ns", "fct_mean_ns", "slowdown_p50"):
        d = of[name]
        assert (d.verdict, d.established, d.p, d.bounds) == ("other warm-up", None, None, None)
    # The goodput while busy and the drops are those of the whole run.
    assert of["goodput_bps"].verdict == "same"
    assert {d.metric.name for d in found.differences if d.established is not None} <= {
        "goodput_bps",
        "unfinished",
    }
    asked = afflux.compare(both, metrics=["fct_mean"])
    assert (
        asked.sentence() == "The mean completion time is not judged, because the warm-ups differ."
    )
