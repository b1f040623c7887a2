"""Means of the parts of completion times, the parts of the difference between designs, and the
period that a report shows."""

import io
import json
import re
from fractions import Fraction

import pytest
import reported
from conftest import INCAST
from rich.console import Console

import afflux
from afflux import report
from afflux.report import busy, series
from afflux.report.split import of as of_split
from afflux.results import split
from afflux.results.designs import gather
from afflux.results.explain import ALL, LABELS, Sums
from afflux.results.split import Mean
from afflux.terminal import explanation

#: Flows for two designs. Host 3 is down for a while, so its flow waits for a time-out. One flow
#: does not finish.
FLOWS = """\
id,start_ns,src,dst,bytes,class
0,0,1,0,146000,bulk
1,0,2,0,1460,mice
2,130000,1,3,43800,bulk
3,200000,1,3,1460,mice
4,250000,2,0,1460,mice
"""
LISTED = """\
format = 1
name = "listed"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "1us"

[[topology.fault]]
link = "host3-switch0"
down = [{ from = "200us", to = "210us" }]

[host]
timing = "exact"

[host.transport]
kind = "tcp"
min_rto = "1ms"
initial_rto = "1ms"

[[traffic]]
kind = "flows"
file = "flows.csv"

[run]
until = "20ms"
"""


@pytest.fixture
def listed(tmp_path):
    (tmp_path / "flows.csv").write_text(FLOWS)
    return afflux.Scenario.parse(LISTED, tmp_path / "listed.toml")


def sums(flows: int, **parts: int) -> Sums:
    return Sums(flows, dict.fromkeys(LABELS, 0) | parts, dict.fromkeys(LABELS, 0.0))


def test_the_parts_of_a_mean_add_up_whatever_is_rounded():
    for flows in (3, 7, 10, 13):
        mean = Mean.of([sums(flows, propagation=10, queueing=1, recovery=2, window=4, pacing=8)])
        assert mean.fct_ns == round(Fraction(25, flows))
        assert sum(mean.parts_ns.values()) == mean.fct_ns


def test_runs_weigh_the_same_and_those_without_flows_nothing():
    mean = Mean.of([sums(1, queueing=100), sums(100, queueing=100), sums(0)])
    assert (mean.fct_ns, mean.flows) == (round((100 + 1) / 2), 101)
    assert Mean.of([sums(0)]) is None


def test_groups_are_those_of_the_summary(listed):
    result = listed.run()
    by_size, by_class = (split.groups([result.explain()], [by]) for by in ("size", "class"))
    assert [group.name for group in by_size] == [ALL, "le_100KB", "100KB_10MB"]
    assert [group.name for group in by_class] == [ALL, "bulk", "mice"]
    for group in (*by_size, *by_class):
        assert sum(group.mean.parts_ns.values()) == group.mean.fct_ns
        assert sum(group.mean.shares.values()) == pytest.approx(1)
    whole = by_size[0].mean
    assert whole.fct_ns == round(result.summary["fct"]["all"]["mean_ns"])
    fct = result.flows["fct_ns"]
    for label in LABELS:
        parts = result.flows[f"{label}_ns"]
        assert whole.parts_ns[label] == pytest.approx(sum(parts) / len(parts), abs=1)
        assert whole.shares[label] == pytest.approx(sum(parts) / sum(fct), abs=1e-5)
        assert whole.flow_shares[label] == pytest.approx(
            sum(part / time for part, time in zip(parts, fct, strict=True)) / len(fct)
        )
    # One flow of five waits for a time-out. The wait is most of the total time, but a small share
    # in the mean of shares.
    assert whole.shares["recovery"] > 0.5 > 0.25 > whole.flow_shares["recovery"]


def test_groups_are_without_the_warm_up(listed):
    result = listed.set("run.warmup", "50us").run()
    (whole, *_) = split.groups([result.explain()])
    assert (whole.mean.flows, whole.mean.fct_ns) == (
        3,
        round(result.summary["fct"]["all"]["mean_ns"]),
    )


def test_one_grouping_needs_no_list(listed):
    explanation = listed.run().explain()
    for by in ("size", "class"):
        assert split.groups([explanation], by=by) == split.groups([explanation], [by])
    with pytest.raises(ValueError, match=r"^by 'colour': write size or class$"):
        split.groups([explanation], by="colour")


def adds_up(change: split.Comparison) -> None:
    for group in change.changes:
        assert (
            sum(group.parts_ns.values())
            == group.fct_ns
            == group.design.fct_ns - group.baseline.fct_ns
        )


def test_the_same_flows_are_compared_one_by_one(listed):
    before = listed.run()
    # The time-out comes too late for one flow to finish.
    after = (
        listed.set("name", "patient")
        .set("host.transport.min_rto", "30ms")
        .set("host.transport.initial_rto", "30ms")
        .run()
    )
    change = split.compare(before, after, "class")
    adds_up(change)
    assert (change.paired, change.seeds, change.all.design.flows, change.all.left_out) == (
        True,
        1,
        4,
        (1,),
    )
    # The flow that waits is excluded from both, and there is no other difference.
    assert change.all.fct_ns == 0
    assert change.sentence() == (
        "The mean completion time of the 4 flows that finished in both and its parts are the same with patient and listed (50.65 µs)."
    )
    assert change.sentence().ja == (
        "両方で完了したフロー 4 本では、patient と listed の平均完了時間とその内訳は同じです（50.65 µs）。"
    )
    assert change.note() == (
        "Both designs have the same flows, so they are compared flow by flow, over the 4 that finished in both (1 seed); "
        "left out: 1 that did not finish in one or both."
    )
    assert change.note().ja == (
        "両構成のフローは同じなので、両方で完了した 4 本をフローごとに比べています（シード 1 個）。除いたのは、一方または両方で完了しなかった 1 本です。"
    )
    mice = change.of("class", "mice")
    assert (mice.design.flows, mice.left_out) == (2, (1,))
    # The comparison in the opposite direction gives the same result.
    back = split.compare(after, before, "class")
    assert (back.all.left_out, back.all.fct_ns) == ((1,), 0)


def test_flows_left_out_of_a_pair_are_counted_by_cause_in_both_orders(listed):
    """One run has a warm-up, in which two flows start, and ends before two others finish: one that
    waits for a time-out and one that has not started."""
    whole = listed.run()
    cut = listed.set("name", "cut").set("run.warmup", "50us").set("run.until", "240us").run()
    assert (cut.summary["flows"]["in_warmup"], cut.summary["flows"]["not_started"]) == (2, 1)
    for change in (split.compare(whole, cut, "class"), split.compare(cut, whole, "class")):
        adds_up(change)
        found = [
            (one.name, one.design.flows, one.left_out, one.in_warmup) for one in change.changes
        ]
        assert found == [(ALL, 1, (2,), (2,)), ("bulk", 1, (0,), (1,))]
        assert change.note() == (
            "Both designs have the same flows, so they are compared flow by flow, over the 1 that finished in both (1 seed); "
            "left out: 2 that did not finish in one or both, 2 that started in the warm-up of one or both."
        )
        assert change.note().ja == (
            "両構成のフローは同じなので、両方で完了した 1 本をフローごとに比べています（シード 1 個）。除いたのは、"
            "一方または両方で完了しなかった 2 本、一方または両方のウォームアップ中に始まった 2 本です。"
        )
        assert "The mean completion time of the one flow that finished in both and" in (
            change.sentence()
        )
        assert "両方で完了したフロー 1 本では、" in change.sentence().ja
        assert change.to_dict()["groups"][0]["in_warmup"] == [2]


def test_a_mean_of_all_flows_needs_no_restriction(listed):
    """If the same flows count in both runs, the means are those of the summaries."""
    early, late = (
        listed.set("name", name).set("run.warmup", "50us").set("host.mtu", mtu).run()
        for name, mtu in (("early", "1500B"), ("late", "9000B"))
    )
    change = split.compare(early, late)
    assert (change.paired, change.all.left_out, change.all.in_warmup) == (True, (0,), (2,))
    assert "finished in both" not in change.sentence()
    assert change.sentence().startswith("With late the mean completion time is ")
    assert change.note().endswith("left out: 2 that started in the warm-up of one or both.")
    assert change.all.design.fct_ns == round(late.summary["fct"]["all"]["mean_ns"])


def test_what_a_lost_frame_costs_is_named(listed):
    lost = listed.run()
    kept = listed.set("name", "kept").set("topology.fault", []).run()
    change = split.compare(lost, kept)
    adds_up(change)
    assert change.paired
    parts = change.all.parts_ns
    assert parts["recovery"] < 0.99 * change.all.fct_ns < 0
    assert re.search(
        r"is [\d.]+ µs less than with listed \(.* instead of .*\): recovery −[\d.]+ µs",
        change.sentence(),
    )
    assert "損失回復 −" in change.sentence().ja
    # The difference over all flows is the one that `compare` prints.
    assert change.all.fct_ns == round(kept.summary["fct"]["all"]["mean_ns"]) - round(
        lost.summary["fct"]["all"]["mean_ns"]
    )


def test_other_flows_are_compared_by_their_means(listed, tmp_path):
    before = listed.run()
    (tmp_path / "flows.csv").write_text(FLOWS.replace("250000,2,0,1460", "260000,2,0,1460"))
    after = afflux.Scenario.parse(LISTED, tmp_path / "listed.toml").set("name", "later").run()
    change = split.compare(before, after)
    adds_up(change)
    assert not change.paired
    assert change.all.left_out == (0, 0)
    assert (
        "are not the same, so the means are those of all finished flows: 5 with listed, 5 with later"
        in change.note()
    )
    late = (
        afflux.Scenario.parse(LISTED, tmp_path / "listed.toml")
        .set("name", "late")
        .set("run.warmup", "50us")
        .run()
    )
    change = split.compare(before, late)
    assert (change.all.left_out, change.all.in_warmup) == ((0, 0), (0, 2))
    assert change.note() == (
        "The flows of the two designs are not the same, so the means are those of all finished flows: 5 with listed, 3 with late (1 seed); "
        "left out, because they started in the warm-up: 0 with listed, 2 with late."
    )
    assert change.note().ja == (
        "両構成のフローは同じではないので、完了した全フローの平均を比べています（listed は 5 本、late は 3 本、シード 1 個）。"
        "ウォームアップ中に始まった listed 0 本、late 2 本は除きました。"
    )


def test_designs_are_compared_over_their_seeds(tmp_path):
    results = reported.incast(tmp_path)
    designs = afflux.Designs(
        afflux.Design(
            name,
            {
                seed: one
                for one in results
                if one.summary["name"] == name
                for seed in [one.summary["seed"]]
            },
        )
        for name in reported.DESIGNS
    )
    change = split.changes(designs, "tail-drop", ["size", "class"])["dctcp"]
    adds_up(change)
    assert (change.seeds, {group.by for group in change.changes}) == (2, {"size", "class"})
    means = [
        [one.summary["fct"]["all"]["mean_ns"] for one in design.results.values()]
        for design in designs.values()
    ]
    if change.paired and change.all.left_out == (0,):
        assert change.all.fct_ns == pytest.approx(sum(means[1]) / 2 - sum(means[0]) / 2, abs=1)


def test_commands(command, listed, tmp_path):
    listed.run(out=tmp_path / "out/listed-1")
    listed.set("name", "kept").set("topology.fault", []).run(out=tmp_path / "out/kept-1")
    done = command("explain", "out/kept-1", "--against", "out/listed-1", "--by", "class")
    assert done.returncode == 0, done.stderr
    for words in (
        "With kept the mean completion time is",
        "recovery −",
        "The difference by class",
        "Both designs have the same flows",
    ):
        assert words in done.stdout, words
    assert max(map(len, done.stdout.splitlines()[2:-3])) <= 100
    found = json.loads(
        command("explain", "out/kept-1", "--against", "out/listed-1", "--json").stdout
    )
    assert (found["baseline"], found["design"], found["paired"]) == ("listed", "kept", True)
    assert sum(found["groups"][0]["parts_ns"].values()) == found["groups"][0]["difference_ns"]
    compared = command("compare", "out/kept-1", "out/listed-1", "--baseline", "out/listed-1")
    assert "With kept the mean completion time is" in compared.stdout
    assert (
        json.loads(command("compare", "out/kept-1", "out/listed-1", "--json").stdout)["split"][
            "listed"
        ]["groups"][0]["difference_ns"]
        > 0
    )
    for options, message in (
        (("--against", "out/listed-1", "--flow", "1"), "--against compares mean completion times"),
        (("--by", "colour"), "write size or class"),
    ):
        done = command("explain", "out/kept-1", *options)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_shares_weigh_flows_alike(command, listed, tmp_path):
    listed.run(out=tmp_path / "out/listed-1")
    by_time = command("explain", "out/listed-1").stdout
    by_flow = command("explain", "out/listed-1", "--shares").stdout
    share = re.compile(r"recovery .*?([\d.]+) %")
    assert "parts of the mean completion time" in by_time
    assert "mean share of each flow's completion time" in by_flow
    assert float(share.search(by_time)[1]) > 2 * float(share.search(by_flow)[1])


@pytest.mark.parametrize(
    "names",
    [[f"host{n}" for n in range(9)], [f"rack{n}" for n in range(9)]],
    ids=["numbers", "names"],
)
def test_hosts_have_queues_of_their_own(command, scenario, names, tmp_path):
    every = 'ports = { interval = "100us", nodes = "all" }'
    named = f"hosts = {json.dumps(names)}" if names[0] != "host0" else "hosts = 9"
    at_once = ('stack = "basic"', 'stack = "basic"\ninitial_window = 40')
    assert (
        command(
            "run",
            scenario(('ports = { interval = "100us" }', every), ("hosts = 9", named), at_once),
        ).returncode
        == 0
    )
    plain, with_hosts = (
        command("explain", "out/small-1", *options).stdout for options in ((), ("--hosts",))
    )
    ports = [
        [line for line in text.splitlines() if re.match(r"\w+ → ", line)]
        for text in (plain, with_hosts)
    ]
    assert ports[0][0].startswith(f"switch0 → {names[0]}")
    # Each sends 60 kB at once, and the switch has 45 kB.
    assert ports[1][0].split()[0] in names
    assert all(line.startswith("switch0") for line in ports[0])
    assert "a host's own queue was longer: " in plain
    # On the page and in figures, switch ports come first or are the only ones.
    (design,) = gather([tmp_path / "out/small-1"]).values()
    for found, count in ((series.of([design]), 18), (series.of([design], hosts=False), 9)):
        owners = [port["name"].split()[0] for port in found["views"][0]["ports"]]
        assert (owners[:9], len(owners)) == (["switch0"] * 9, count)


def quiet_after(
    busy: int, quiet: int, *, sent: int = 0, queued: int = 0, again: int = 0
) -> tuple[range, list[int], list[int]]:
    """Returns one sample per us: a busy period, a quiet period with `sent` bytes and `queued` bytes
    per sample, and another busy period."""
    times = range(1_000, 1_000 * (busy + quiet + again) + 1, 1_000)
    return (
        times,
        [100] * busy + [sent] * quiet + [100] * again,
        [50] * busy + [queued] * quiet + [50] * again,
    )


@pytest.mark.parametrize(
    ("run", "until"),
    [
        (quiet_after(100, 900), 100_000),
        # A little traffic now and then, and a few retransmitted frames at the end.
        (quiet_after(100, 900, sent=2), 100_000),
        (quiet_after(100, 900, sent=1, again=5), 100_000),
        # The busy period is so short that a second, finer analysis is needed.
        (quiet_after(100, 90_000), 100_000),
        # No cut: the quiet period is not longer; too much traffic follows; too much traffic
        # remains; a standing queue remains.
        (quiet_after(100, 100), None),
        (quiet_after(100, 900, again=100), None),
        (quiet_after(100, 900, sent=10), None),
        (quiet_after(100, 900, queued=10), None),
        (quiet_after(0, 100), None),
    ],
)
def test_until_when_a_run_is_shown(run, until):
    found = busy.until(*run)
    # The result is exact to one sample.
    assert found is None if until is None else until <= found <= 1.04 * until


def test_bursts_are_shown_whole():
    """Bursts of 1 ms every 10 ms: two, and twenty of them."""
    for bursts in (2, 20):
        sent = ([100] * 10 + [0] * 90) * bursts
        assert busy.until(range(100, 100 * len(sent) + 1, 100), sent, sent) is None


def test_until_when_bars_are_shown():
    assert busy.bars([*range(1, 100), 300], 300) == 95
    assert busy.bars([10, 300], 300) is None
    assert busy.bars([], 300) is None


def test_views_of_a_run_with_a_straggler(tmp_path):
    results = reported.stragglers(tmp_path)
    data = reported.data_of(report.write(results, tmp_path / "report.html"))
    ports = data["ports"]
    short, whole = ports["views"]
    assert 0.99 < ports["share"] < 1
    assert short["end_ns"] < 0.2 * ports["end_ns"] == 0.2 * whole["end_ns"]
    assert short["bucket_ns"] * short["buckets"] >= short["end_ns"]
    sent = [
        sum(sum(port["series"][0]["-1"].get("tx_bytes", [])) for port in view["ports"])
        for view in (short, whole)
    ]
    assert 0.99 * sent[1] <= sent[0] < sent[1]
    for run in data["replay"]["runs"]:
        busy_view, whole_view = run["ports"]["views"]
        assert busy_view["end_ns"] < whole_view["end_ns"]
        assert busy_view["frame_ns"] < whole_view["frame_ns"]
    # The totals contain all drops of the whole run.
    totals = data["replay"]["runs"][0]["ports"]["totals"]["d"]
    assert sum(totals.values()) == results[0].summary["drops"]
    # Without a straggler nothing is cut.
    (tmp_path / "even").mkdir()
    even = afflux.Scenario.parse(INCAST, tmp_path / "even" / "small.toml").run(seed=1)
    assert (
        len(reported.data_of(report.write([even], tmp_path / "even.html"))["ports"]["views"]) == 1
    )


def test_idle_time_before_a_straggler_is_not_in_the_goodput(tmp_path):
    with_it, without = (
        reported.stragglers(tmp_path)[0].summary,
        afflux.Scenario.parse(reported.ONE_ROUND, tmp_path / "alone.toml").run(seed=1).summary,
    )
    assert with_it["simulated_ns"] > 5 * without["simulated_ns"]
    assert with_it["goodput_bps"] == pytest.approx(without["goodput_bps"], rel=0.02)
    assert with_it["busy_ns"] < 0.2 * with_it["simulated_ns"]
    assert with_it["delivered_bytes"] == 8 * 200_000 + 2 * 1_460


def test_a_class_may_have_any_name(listed, tmp_path):
    """A class called `all` replaced the column of all flows, or was missing, and a class with the
    name of a size class hid the others."""
    (tmp_path / "flows.csv").write_text(FLOWS.replace("bulk", "all").replace("mice", "le_100KB"))
    result = listed.run()
    whole, *classes = split.groups([result.explain()], ["class"])
    assert [group.name for group in (whole, *classes)] == [None, "le_100KB", "all"]
    assert whole.mean.flows == 5
    assert sum(group.mean.flows for group in classes) == 5
    assert [group.to_dict()["class"] for group in (whole, *classes)] == [None, "le_100KB", "all"]
    console = Console(width=100, file=io.StringIO())
    console.print(*explanation.parts([whole, *classes], 100, per_flow=False))
    head = next(line for line in console.file.getvalue().splitlines() if "mean  " in line)
    assert re.split(" {2,}", head.strip()) == ["mean", "all flows", "le_100KB", "all"]
    data = of_split([gather([result])["listed"]])
    assert [(group["by"], group["name"]) for group in data["groups"]] == [
        ("all", "all"),
        ("size", "≤ 100 kB"),
        ("size", "100 kB – 10 MB"),
        ("class", "all"),
        ("class", "le_100KB"),
    ]


def test_runs_in_which_no_flow_finished_count_their_unfinished_flows(tmp_path):
    """An empty split was taken for one that was not recorded."""
    scenario = afflux.Scenario.parse(INCAST, tmp_path / "small.toml")
    whole = scenario.run(seed=1)
    short = scenario.set("run.until", "100us").run(seed=2)
    (design,) = gather([whole, short]).values()
    assert [len(one) for one in split.explained(design)] == [24, 0]
    assert split.groups(split.explained(design))[0].unfinished == 8
