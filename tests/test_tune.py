"""Tuning: meaning of ranges and objectives, reproducibility of the search, and a known optimum that
the search must find."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import INCAST
from here import Here

import afflux
from afflux.comparison.paired import Difference, of_pairs
from afflux.metrics import UNFINISHED, named
from afflux.tuning.evaluate import alike, first_seeds, front, hopeless
from afflux.tuning.objective import objective, objectives
from afflux.tuning.result import Candidate, Tuning
from afflux.tuning.space import Choices, Range, parameter

pytest.importorskip("optuna", reason="needs the Python package optuna")

#: Two long DCTCP flows into one port of 10 Gbps, and short messages that queue behind them.
DCTCP = """\
format = 1
name = "dctcp-k"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "25us"

[switch]
buffer = "2MB"
ecn = { k = "100kB" }

[host.transport]
stack = "basic"
congestion = "dctcp"
min_rto = "10ms"

[[traffic]]
kind = "pairs"
class = "long"
pairs = [[0, 3], [1, 3]]
sizes = "1GB"
jitter = "50us"

[[traffic]]
kind = "random"
class = "mice"
sources = "2"
destinations = "3"
sizes = "2kB"
flows_per_second = 4000
duration = "40ms"

[run]
warmup = "10ms"
until = "50ms"

[record]
explain = false
"""
#: C·RTT/7 (Alizadeh et al., SIGCOMM 2010, equation 13): 10 Gbps times 100 us, divided by 8 · 7, in
#: bytes.
LEAST_K = 10e9 * 100e-6 / 8 / 7
QUICK = (
    INCAST.replace("rounds = 3", "rounds = 2")
    .replace('bytes = "200kB"', 'bytes = "50kB"')
    .replace("paths = true", "")
)


def kilobytes(setting: str) -> float:
    assert setting.endswith("kB")
    return float(setting.removesuffix("kB"))


def test_the_k_of_dctcp_is_found(tmp_path):
    (tmp_path / "dctcp-k.toml").write_text(DCTCP)
    found = afflux.tune(
        tmp_path / "dctcp-k.toml",
        {"switch.ecn.k": "2kB..500kB"},
        ["throughput", "fct.by_class.mice.p99_ns"],
        budget=16,
        slack=0.005,
        out=tmp_path / "out",
        executor=Here(),
    )
    # Above this bound the link is never idle. Below it throughput is lost, and more so for a lower
    # K.
    tried = {
        1e3 * kilobytes(c.changes["switch.ecn.k"]): c.mean(found.objectives[0])
        for c in found.candidates
        if not c.stopped
    }
    most = max(tried.values())
    assert all(goodput > 0.99 * most for k, goodput in tried.items() if k > LEAST_K)
    low = [goodput for k, goodput in sorted(tried.items()) if k < LEAST_K / 2]
    assert len(low) >= 2
    assert low == sorted(low)
    assert low[-1] < 0.985 * most
    # The chosen K is near the bound, so the messages' queue is hardly longer than necessary.
    chosen = 1e3 * kilobytes(found.chosen.changes["switch.ecn.k"])
    assert LEAST_K < chosen < 3 * LEAST_K
    assert [d.metric for d in found.confirmed] == list(found.objectives)
    goodput, wait = found.confirmed
    assert goodput.share > -0.01
    assert (wait.verdict, wait.seeds) == ("better", 5)
    assert wait.share_high < -0.2
    # The confirmation uses other seeds than the search.
    assert {path.name for path in (tmp_path / "out" / "points").glob("as-it-is-*")} == {
        f"as-it-is-{seed}" for seed in range(1, 11)
    }
    # A lower K reduces throughput, a higher K delays the messages.
    by_goodput, by_wait = found.sensitivity
    assert kilobytes(by_goodput.low) > kilobytes(by_wait.low)
    assert kilobytes(by_wait.high) < kilobytes(by_goodput.high)
    assert all(difference.share < -0.01 for _, difference in by_goodput.harm)
    # The written file is the chosen scenario.
    best = afflux.load(found.path)
    assert best.get("switch.ecn.k") == found.chosen.changes["switch.ecn.k"]
    alone = best.run(seed=1).summary["goodput_bps"]
    assert alone == found.chosen.values["goodput_bps"][1]


def test_the_sentence_of_a_search():
    goodput, time = objectives(["throughput", "fct"])
    own, chosen = Candidate("as-it-is", {}, {}), Candidate("k", {"switch.ecn.k": "20kB"}, {})

    def sentence(*differences: Difference) -> str:
        return Tuning(
            (goodput, time),
            ("switch.ecn.k",),
            own,
            (chosen,),
            (chosen,),
            (),
            chosen,
            differences,
            (),
            (),
            (),
            Path("best.toml"),
        ).sentence()

    base = [10e6, 12e6, 11e6, 13e6, 14e6]
    noise = (0.95, 1.08, 0.97, 1.03, 1.0)
    better = of_pairs(
        time, "k", [(old, 0.6 * old * new) for old, new in zip(base, noise, strict=True)]
    )
    worse = of_pairs(
        time, "k", [(old, 1.6 * old * new) for old, new in zip(base, noise, strict=True)]
    )
    unclear = of_pairs(goodput, "k", [(9e9, 9e9 * new) for new in noise])
    assert sentence(unclear, better) == (
        "Take switch.ecn.k = 20kB. Against the scenario as it is, with seeds that the search has not seen: goodput while busy 9.05 Gbps instead of 9.00 Gbps, "
        "cannot tell: between 5.6 % less and 7.0 % more; "
        "mean completion time 7.26 ms instead of 12.0 ms, 40 % less (95 % interval 36 to 43 %, 5 paired seeds)."
    )
    assert sentence(unclear).startswith(
        "Cannot tell whether switch.ecn.k = 20kB, the best of the search, is better than the scenario as it is."
    )
    assert sentence(unclear, worse).startswith(
        "Keep the scenario as it is. The best of the search, switch.ecn.k = 20kB, does not hold with other seeds:"
    )


def test_the_sentence_of_a_search_of_one_setting():
    own = Candidate("as-it-is", {}, {"fct_mean_ns": {1: 1.0}})
    found = Tuning((named("fct"),), (), own, (own,), (own,), (), own, (), (), (), (), Path("x"))
    assert found.sentence().endswith("than the scenario as it is, of 1 setting.")


def test_the_sentence_of_a_front_with_the_baseline_names_the_last_objective():
    """The table below it has settings that are better in another objective."""
    goodput, time = objectives(["throughput", "fct"])
    own, other = Candidate("as-it-is", {}, {}), Candidate("k", {"switch.ecn.k": "20kB"}, {})
    found = Tuning(
        (goodput, time), (), own, (other,), (other, own), (), own, (), (), (), (), Path("x")
    )
    assert found.sentence() == (
        "Nothing that was tried is better than the scenario as it is in mean completion time, within the slack of the objectives before it, "
        "of 1 setting."
    )
    # With one objective, the best of the search may have lost to the baseline over twice the seeds.
    alone = replace(found, objectives=(time,), finalists=(own, other))
    assert alone.sentence().endswith("than the scenario as it is, of 1 setting.")


def test_settings_that_cannot_be_told_apart():
    (time,) = objectives(["fct"])
    base = {1: 10.0, 2: 12.0, 3: 11.0, 4: 13.0, 5: 14.0}
    noise = dict(zip(base, (0.95, 1.08, 0.97, 1.03, 1.0), strict=True))
    settings = [
        base,
        {seed: base[seed] * noise[seed] for seed in base},
        {seed: 2 * base[seed] for seed in base},
    ]
    candidates = [
        Candidate(str(place), {}, {time.name: values}) for place, values in enumerate(settings)
    ]
    assert alike(candidates, (time,), list(base)) == [1, 1, 0]
    assert alike(candidates, (time,), [1, 2]) == [None] * 3


def test_the_same_call_gives_the_same_answer_and_continues(tmp_path):
    (tmp_path / "small.toml").write_text(QUICK)
    vary = {
        "switch.buffer": "4packets..200packets",
        "host.transport.min_rto": "200us..5ms",
        "host.transport.congestion": "newreno,cubic",
    }

    def tune(out: str, executor: Here, seed: int = 1) -> afflux.Tuning:
        return afflux.tune(
            tmp_path / "small.toml",
            vary,
            "job_time",
            budget=6,
            seeds=[1, 2, 3],
            seed=seed,
            out=tmp_path / out,
            executor=executor,
        )

    def told(found: afflux.Tuning) -> dict:
        return found.to_dict() | {"scenario": None}

    one, other = Here(), Here(last_first=True)
    first = tune("one", one)
    assert told(tune("other", other)) == told(first)
    # No point is simulated twice, and a repetition simulates nothing.
    assert len(one.simulated) == len(set(one.simulated))
    again = Here()
    assert told(tune("one", again)) == told(first)
    assert again.simulated == []
    assert len(first.candidates) == 6
    assert [c.name for c in tune("one", Here(), seed=2).candidates] != [
        c.name for c in first.candidates
    ]
    assert any("3 seeds are few" in note for note in first.notes)
    # The best three settings and the baseline are compared again.
    assert len(first.finalists) == 4
    assert first.chosen is first.finalists[0]
    means = [c.mean(first.objectives[0]) for c in first.finalists]
    assert means == sorted(means)
    assert all(len(c.values["job_time_mean_ns"]) == 6 for c in first.finalists)
    assert "scenario as it is" in first.sentence()


def test_a_refused_setting_is_a_failed_one(tmp_path):
    (tmp_path / "small.toml").write_text(QUICK)
    found = afflux.tune(
        tmp_path / "small.toml",
        {"switch.ecn.kmax": "10packets..100packets"},
        "fct_p99",
        set={"switch.ecn": {"kmin": "30packets", "kmax": "60packets", "pmax": 1.0}},
        budget=4,
        seeds=[1, 2],
        sensitivity=False,
        out=tmp_path / "out",
        executor=Here(),
    )
    refused = [c for c in found.candidates if c.error]
    assert refused
    assert all(float(c.changes["switch.ecn.kmax"].removesuffix("packets")) < 30 for c in refused)
    # Two further notes: few flows for the percentile, and few seeds.
    assert len(found.notes) == len(refused) + 2


def test_command(invoke, tmp_path):
    (tmp_path / "small.toml").write_text(QUICK)
    arguments = [
        "tune",
        "small.toml",
        "--vary",
        "switch.buffer=4packets..200packets",
        "--objective",
        "job_time",
        "--budget",
        "2",
        "--seeds",
        "1-2",
    ]
    done = invoke(*arguments, "--no-sensitivity")
    assert done.exit_code == 0, done.stderr
    for words in (
        "job time",
        "as-it-is",
        "afflux export sonic out/tune-small/best.toml",
        "too few",
    ):
        assert words in done.stdout, words
    assert max(map(len, done.stdout.splitlines())) <= 100
    told = json.loads(invoke(*arguments, "--no-sensitivity", "--json").stdout)
    assert set(told) == {
        "objectives",
        "own",
        "candidates",
        "front",
        "finalists",
        "chosen",
        "confirmed",
        "unfinished",
        "left_out",
        "sensitivity",
        "notes",
        "doubts",
        "scenario",
    }
    assert invoke("check", told["scenario"]).exit_code == 0


@pytest.mark.parametrize(
    ("vary", "metrics", "words"),
    [
        ({"switch.buffer": "4packets"}, "job_time", "expected a range"),
        ({"switch.buffer": "4packets..200kB"}, "job_time", "units of the same kind"),
        ({"switch.buffer": "9packets..4packets"}, "job_time", "below the second"),
        ({"switch.buffer": "4packets..9packets:cubic"}, "job_time", ":log or :linear"),
        ({"switch.buffer": "4packets..9packets"}, "job_tme", "job_time"),
        ({"switch.buffer": "4packets..9packets"}, [], "--objective is missing"),
        ({}, "job_time", "--vary is missing"),
        ({"switch.alpha": "1..1e400"}, "job_time", "the second end is too large"),
        ({"switch.alpha": "1e-200..1e200"}, "job_time", "the ends are too far apart"),
        ({"run.seed": "1..9"}, "job_time", "run.seed cannot be varied: write --seeds instead"),
        ({"switch.buffer": "4packets..9packets"}, "fct.by_class.nobody.p99_ns", "no number at"),
    ],
)
def test_what_cannot_be_tuned(tmp_path, vary, metrics, words):
    (tmp_path / "small.toml").write_text(QUICK)
    with pytest.raises((ValueError, LookupError), match=words):
        afflux.tune(
            tmp_path / "small.toml",
            vary,
            metrics,
            budget=1,
            seeds=[1],
            out=tmp_path / "out",
            executor=Here(),
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 10**12}, "--budget 1000000000000: expected a whole number from 1 to 100000"),
        ({"budget": 1.5}, "--budget 1.5: expected a whole number"),
        ({"budget": 0}, "--budget 0: expected a whole number"),
        ({"budget": 60_000, "seeds": [1, 2]}, "more than 100,000 points"),
        ({"seed": 2**32}, "--seed 4294967296: expected a whole number from 0 to 4294967295"),
        ({"seed": -1}, "--seed -1: expected a whole number"),
        ({"slack": math.nan}, "--slack nan: expected a number that is not negative"),
        ({"seeds": [2**63 - 2]}, "a seed is at most 9223372036854775807: name smaller ones"),
    ],
)
def test_wrong_numbers_are_refused_first(tmp_path, options, words):
    """Some of them ended the search after the baseline or the last setting was simulated, and a huge
    budget took all memory."""
    (tmp_path / "small.toml").write_text(QUICK)
    vary = {"switch.buffer": "4packets..9packets"}
    with pytest.raises(ValueError, match=words):
        afflux.tune(tmp_path / "small.toml", vary, "fct", out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_key_is_varied_once(invoke, tmp_path):
    """The first range was dropped without a word."""
    (tmp_path / "small.toml").write_text(QUICK)
    vary = (
        "--vary",
        "switch.buffer=4packets..9packets",
        "--vary",
        "switch.buffer=20packets,30packets",
    )
    done = invoke("tune", tmp_path / "small.toml", *vary, "--objective", "fct_mean")
    assert done.exit_code == 2
    assert "--vary switch.buffer is given twice" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_seed_cannot_be_set(invoke, tmp_path):
    (tmp_path / "small.toml").write_text(QUICK)
    of_search = ("--vary", "switch.buffer=4packets..9packets", "--objective", "fct_mean")
    done = invoke("tune", tmp_path / "small.toml", *of_search, "--set", "run.seed=9")
    assert done.exit_code == 2
    assert "run.seed cannot be set: write --seeds instead" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    (tmp_path / "small.toml").write_text(QUICK)
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(afflux.MissingExtra, match=r"-m pip install 'optuna>="):
        afflux.tune(tmp_path / "small.toml", {"switch.buffer": "4packets..9packets"}, "job_time")


def test_ranges():
    sizes = parameter("k", "20kB..4MB")
    assert isinstance(sizes, Range)
    assert (sizes.low, sizes.high, sizes.log, sizes.whole) == (20e3, 4e6, True, True)
    assert [sizes.setting(value) for value in (20_000.4, 123_456, 1_234_567.8, 9e9)] == [
        "20kB",
        "123kB",
        "1.23MB",
        "4MB",
    ]
    assert (sizes.number("64KiB"), sizes.number("3packets"), sizes.number("off")) == (
        65_536,
        None,
        None,
    )
    assert sizes.drifts("100kB") == [25e3, 50e3, 71e3, 141e3, 200e3, 400e3]
    times = parameter("t", "100ns..900ns")
    assert (times.log, times.setting(123_456)) == (False, "123ns")
    assert parameter("t", "100ns..900ns:log").log
    assert not parameter("t", "1us..900us:linear").log
    count = parameter("n", "1..64")
    assert [count.setting(value) for value in (1, 33.4, 64)] == [1, 33, 64]
    share = parameter("p", "0.01..1")
    assert (share.log, share.setting(0.012_345)) == (True, 0.0123)
    assert parameter("p", "0..1").setting(0.6) == 1
    assert parameter("p", "0.0..1.0").setting(0.123_456) == 0.123
    assert parameter("c", "cubic,dctcp") == Choices("c", ("cubic", "dctcp"))


def test_an_end_of_the_range_proposes_the_next_one():
    logarithmic, linear, plain = (
        parameter("k", "20kB..2MB"),
        parameter("k", "100us..500us:linear"),
        parameter("n", "2..12"),
    )
    assert [logarithmic.beyond(value) for value in ("20kB", "21kB", "200kB", "1.9MB", "2MB")] == [
        "2kB..200kB",
        "2kB..200kB",
        None,
        "200kB..20MB",
        "200kB..20MB",
    ]
    assert [linear.beyond(value) for value in ("100us", "300us", "500us")] == [
        "50us..300us",
        None,
        "300us..700us",
    ]
    assert [plain.beyond(value) for value in (2, 7, 12)] == ["1..7", None, "7..17"]


def test_an_end_of_the_range_is_named():
    log, linear = parameter("k", "20kB..500kB"), parameter("t", "100us..500us:linear")
    assert log.end("500kB", ["484kB", "500kB"]) == "at the upper end"
    assert log.end("20kB", []) == "at the lower end"
    assert (
        log.end("484kB", ["20kB", "484kB", "off"])
        == "the largest value that was tried, next to the upper end (500kB)"
    )
    assert (
        linear.end("110us", ["110us", "300us"])
        == "the smallest value that was tried, next to the lower end (100us)"
    )
    # A value beyond it was tried and is no better, or the value is further inside.
    assert log.end("484kB", ["484kB", "490kB"]) is None
    assert log.end("300kB", ["300kB"]) is None
    assert log.end("off", []) is None


def test_rows_that_differ_look_different():
    from afflux.commands.tune import _digits, _value

    fct = objective("fct_p99")
    assert _digits(fct, [408_700.0, 408_000.0]) is None
    means = [408_001.0, 408_049.0]
    assert [_value(fct, mean, _digits(fct, means)) for mean in means] == ["408.00 µs", "408.05 µs"]


def test_objectives():
    assert objective("class.web.fct_p99").path == ("fct", "by_class", "web", "p99_ns")
    assert objective("class.storage.goodput").lower_is_better is False
    with pytest.raises(ValueError, match=r"write class\.NAME\.MEASURE"):
        objective("class.web.p99")
    assert objective("throughput").lower_is_better is False
    assert objective("job_time").name == "job_time_mean_ns"
    # Names of `afflux compare --metric` are objectives, too.
    for name in ("fct_mean", "fct_mean_ns", "slowdown_p99", "goodput_flow_mean", "query.p99"):
        assert objective(name) == named(name)
    assert objective("unfinished:max") == replace(UNFINISHED, lower_is_better=False)
    assert objective("ecn_marks:max").lower_is_better is False
    made = objective("fct.by_class.mice.p99_ns")
    assert (made.title, made.path, made.lower_is_better) == (
        "fct mice p99",
        ("fct", "by_class", "mice", "p99_ns"),
        True,
    )
    made = objective("goodput.by_class.mice.bps")
    assert (made.title, made.show(2e9), made.lower_is_better) == (
        "goodput mice",
        "2.00 Gbps",
        False,
    )
    # A class may have a colon in its name.
    for name in ("class.a:b.fct_mean", 'class."a:b.c".fct_mean', "fct.by_class.a:b.mean_ns"):
        assert objective(name) == named(name)
        assert objective(f"{name}:max") == replace(named(name), lower_is_better=False)
    for wrong in ("fct_mean:most", ":max", "fct_mean:max:min"):
        with pytest.raises(ValueError, match="--objective"):
            objective(wrong)
    with pytest.raises(ValueError, match="twice"):
        objectives(["goodput", "throughput"])


def test_fronts_and_hopeless_ones():
    assert front([[1, 5], [2, 2], [3, 3], [5, 1], [2, 2]]) == [0, 1, 3, 4]
    metric = objective("job_time")

    def candidate(*values: float) -> Candidate:
        return Candidate("x", {}, {metric.name: dict(enumerate(values))})

    known = candidate(10, 20, 30)
    assert hopeless(candidate(11, 22), known, [metric])
    assert not hopeless(candidate(11, 19), known, [metric])
    assert not hopeless(candidate(10.1, 20.1), known, [metric])
    assert [first_seeds(count) for count in (1, 2, 3, 5, 9, 12)] == [1, 2, 2, 2, 3, 4]


def test_ranges_of_whole_numbers_do_not_reach_0():
    """`1..64` proposed 0..8, and the scenario refused 0."""
    assert [parameter("w", "1..64").beyond(value) for value in (1, 64)] == [None, "8..512"]
    assert parameter("w", "1..64").end(1, [64]) is None
    assert parameter("w", "2..64").beyond(2) == "1..11"
    assert parameter("w", "1..5").beyond(1) is None
    assert parameter("w", "0..5").beyond(0) is None


def test_relative_paths_are_choices():
    paths = ("../a.py", "../b.py")
    assert parameter("p", "../a.py,../b.py") == parameter("p", paths) == Choices("p", paths)
    # Values of a list are choices, also if they look like ranges or have commas.
    assert parameter("p", ["1..2", "a,b"]).values == ("1..2", "a,b")
    assert parameter("p", [1, 2]).setting("2") == 2
    for wrong in (["a"], ["a", "a"], []):
        with pytest.raises(ValueError, match=r"^p: "):
            parameter("p", wrong)


def test_the_commands_for_devices_take_paths_with_blanks(invoke, tmp_path):
    (tmp_path / "small.toml").write_text(QUICK)
    words = "--vary switch.buffer=4packets,90packets --objective job_time --budget 1 --seeds 1"
    done = invoke("tune", "small.toml", *words.split(), "--no-sensitivity", "-o", "out of here")
    assert "afflux export linux 'out of here/best.toml'" in done.stdout, done.output
