"""The Hadoop study's assumptions: which one decides the differences between designs, judged on
medians over seeds."""

import csv
from pathlib import Path
from statistics import median

import pytest
from conftest import REPO

from afflux.scenario import Scenario
from afflux.studies import files, find
from afflux.studies.hadoop import constant as constants
from afflux.studies.hadoop import hosts, medians, runs, sensitivity, sentences, slides, whole
from afflux.studies.hadoop.cases import BASE, DESIGNS, OTHERS, SIZES, Case, keys
from afflux.studies.hadoop.sensitivity import (
    COMPARED,
    DEFAULT,
    OBEY,
    RING,
    Difference,
    Measured,
    Run,
    change,
    changed,
    constant,
    difference,
    effective,
    read,
    table,
    variants,
    wanted,
    write,
)
from afflux.studies.hadoop.whole import Job

PAUSE = "host.honours_pause"


def made(times: dict[tuple[sensitivity.Alternatives, str], list[float]]) -> dict[Run, Measured]:
    return {
        Run(assumed, design, seed): Measured(seconds)
        for (assumed, design), values in times.items()
        for seed, seconds in enumerate(values, 1)
    }


def readme() -> str:
    return (files("hadoop") / "README.md").read_text(encoding="utf-8")


# ---------------------------------------------------------------------------------------- runs


def test_each_alternative_changes_its_own_keys_and_loads() -> None:
    for assumed in variants():
        for design in sensitivity.DESIGNS:
            run = Run(effective(assumed, design), design, 1)
            before, after = changed(Run(DEFAULT, design, 1)), changed(run)
            moved = {key for key in after if after[key] != before.get(key)}
            written = {
                key
                for one in sensitivity.assumptions()
                for value, keys_of in one.alternatives.items()
                if f"{one.name}={value}" in run.assumed
                for key in keys_of
            }
            assert moved <= written
            assert bool(moved) == bool(run.assumed), (run, moved)


@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
def test_alternatives_are_valid_together(which: int) -> None:
    chosen = tuple(
        f"{one.name}={list(one.alternatives)[which]}" for one in sensitivity.assumptions()
    )
    scenario = Scenario.load(files("hadoop") / "terasort.toml")
    for key, value in changed(Run(chosen, "pfc", 1)).items():
        scenario.set(key, value)
    assert scenario.check(seed=1)


def test_the_important_runs_come_first_and_none_comes_twice() -> None:
    every = list(wanted(5))
    distinct = list(dict.fromkeys(every))
    # PAUSE changes only designs with PFC, so the others are simulated once.
    assert [run for run in distinct if run.assumed == (OBEY,)] == [
        Run((OBEY,), "pfc", seed) for seed in range(1, 6)
    ]
    once = [run for run in distinct if run.seed == 1]
    assert distinct[: len(once)] == once
    first = {DEFAULT, (OBEY,), (RING,), (OBEY, RING)}
    more = distinct[len(once) : len(once) + 12 * 4]
    assert {run.assumed for run in more} == first
    assert {run.assumed for run in distinct[len(once) + 12 * 4 :]}.isdisjoint(first)
    assert {run.seed for run in more} == {2, 3, 4, 5}
    entries = {
        f"{one.name}={value}" for one in sensitivity.assumptions() for value in one.alternatives
    }
    assert {one for run in distinct for one in run.assumed} == entries


def test_runs_are_written_line_by_line_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "results" / "assumptions.csv"
    lines = {
        Run(DEFAULT, "deep", 1): Measured(30.25, 1, 2, 3, 4, 5),
        Run((OBEY, RING), "pfc", 2): Measured(runs.LIMIT),
    }
    for run, measured in lines.items():
        write(run, measured, file)
    assert read(file) == lines
    series = find("hadoop").part("assumptions")
    assert not [run for run in series.missing(file) if run in lines]


def test_hosts_obey_pause_only_where_it_is_assumed() -> None:
    """The default of the study is that hosts ignore PAUSE, as slide 67 has settings of the switch
    only."""
    for design in DESIGNS:
        found = keys(Case(design, "tez", 200, True), BASE)
        assert found.get(PAUSE) == (False if "pfc" in design else None)
    assert changed(Run((OBEY,), "pfc", 1))["host.honours_pause"] is True
    obey = {name for name in OTHERS if keys(Case(name, "tez", 10, True), BASE).get(PAUSE)}
    assert obey == {"pfc_watchdog", "pfc_all_obey"}


def test_designs_without_a_measured_time_load() -> None:
    for run in dict.fromkeys((*runs.others(1), *runs.varied(1))):
        scenario = Scenario.load(files("hadoop") / "terasort.toml")
        for key, value in keys(run.case, run.constants).items():
            scenario.set(key, value)
        assert scenario.check(seed=1), run.case.name


def test_designs_are_compared_with_hosts_of_one_timing() -> None:
    """PFC alone with noise would not be comparable with the shallow buffer without."""
    for design in sensitivity.DESIGNS:
        assert effective(("timing=exact",), design) == ("timing=exact",)
        assert changed(Run(("timing=exact",), design, 1))["host.timing"] == "exact"


# ---------------------------------------------------------------------------------------- differences


def test_a_difference_has_median_mean_and_the_seeds_that_agree() -> None:
    one = Difference({1: 1.0, 2: 2.0, 3: 40.0, 4: -1.0, 5: 0.02})
    assert (one.median, one.sign, one.agreeing) == (1.0, 1, 3)
    assert str(one) == "+1.0 / +8.4, 3 of 5"
    # Less than a tenth of a second is no difference, as in the source's numbers.
    assert str(Difference({1: 0.04, 2: -0.04, 3: -0.02})) == "+0.0 / +0.0, 3 of 3"


def test_a_change_is_over_the_same_seeds_and_names_a_sign_that_flips() -> None:
    some = made(
        {
            (DEFAULT, "shallow"): [28.0, 29.0, 28.0],
            (DEFAULT, "deep"): [30.0, 30.0, 40.0],
            (DEFAULT, "pfc"): [28.5, 29.5, 28.5],
            ((OBEY,), "pfc"): [36.0, 35.0, 36.0],
            ((RING,), "shallow"): [28.0, 30.0],
            ((RING,), "deep"): [26.0, 28.5],
        }
    )
    assert difference(some, DEFAULT, "deep") == Difference({1: 2.0, 2: 1.0, 3: 12.0})
    # The third seed is left out, because the ring does not have it.
    assert change(some, (RING,), "deep") == (pytest.approx(-1.75 - 1.5), True)
    assert change(some, (RING,), "pfc") is None
    found = change(some, (OBEY,), "pfc")
    assert found == (pytest.approx(7.5), False)
    default, obey, ring = (
        next(line for line in table(some).splitlines() if line.startswith(f"| {name} |"))
        for name in ("as in the study", "`honours_pause=true`", "`traffic=ring`")
    )
    assert default.split(" | ")[1] == "+2.0 / +5.0, 3 of 3"
    assert obey.split(" | ")[1:4] == [
        "as default",
        "as default",
        "+8.0 / +7.3, 3 of 3 (+7.5)",
    ]
    assert ring.split(" | ")[1] == "-1.8 / -1.8, 2 of 2 (-3.2, **sign**)"
    assert "not simulated" in ring
    assert "| every compute port full (ring) | -1.8 / -1.8, 2 of 2 | -3.2 | 16.8 of 15.0 |" in (
        constant(some)
    )
    assert sensitivity.changes(some, (OBEY,)) == (
        "longer than the shallow buffer (median, 10 GB, MapReduce): pfc +8.0 s instead of +0.5 s"
    )


def test_what_an_alternative_leaves_as_it_is_is_said_so() -> None:
    """ "+2.0 s instead of +2.0 s" would be no change."""
    usual = {(DEFAULT, "shallow"): [28.0], (DEFAULT, "deep"): [30.0], (DEFAULT, "ecn"): [28.5]}
    ring = {((RING,), "shallow"): [27.0], ((RING,), "deep"): [29.01], ((RING,), "ecn"): [30.0]}
    words = "longer than the shallow buffer (median, 10 GB, MapReduce)"
    assert sensitivity.changes(made(usual | ring), (RING,)) == (
        f"{words}: ecn +3.0 s instead of +0.5 s; deep as with the default"
    )
    ring[(RING,), "ecn"] = [27.5]
    assert sensitivity.changes(made(usual | ring), (RING,)) == (
        f"{words}: deep, ecn as with the default"
    )


def test_a_sign_hangs_on_the_median() -> None:
    times = whole.by_case(
        {
            Job(Case(design, "mapreduce", 10, True), seed): seconds
            for design, values in {"deep": [30.0, 30.0, 30.0], "dctcp": [29.0, 29.0, 60.0]}.items()
            for seed, seconds in enumerate(values, 1)
        }
    )
    (one,) = medians.judged(times)
    # The source's difference is -11.1 s. One slow seed turns the mean, not the median.
    assert (one.right, one.right_on_mean, one.ours.agreeing) == (True, False, 2)
    assert medians.check(times).holds


def test_a_median_without_a_sign_is_not_called_the_other_sign() -> None:
    """In the source PFC alone is faster than the deep buffer by 12.0 s, DCTCP by 11.1 s."""

    def times(pfc: float, dctcp: float) -> runs.Times:
        of = {"deep": 30.0, "pfc": pfc, "dctcp": dctcp}
        return whole.by_case(
            {Job(Case(design, "mapreduce", 10, True), 1): seconds for design, seconds in of.items()}
        )

    said = medians.variants(times(29.0, 29.0), times(30.02, 31.0), 10)
    assert said.endswith(
        ": dctcp with mapreduce (+1.0 / +1.0, 1 of 1) have the other sign with today's,"
        " and pfc with mapreduce (+0.0 / +0.0, 1 of 1) do not differ with today's."
    )


# ---------------------------------------------------------------------------------------- slides


def test_slides_24_51_and_82_are_judged() -> None:
    found = slides.statements()
    assert {one.slide for one in found} == {24, 51, 82}
    # The source itself agrees with what slides 51 and 82 say of it. On slide 24 it only expects.
    for one in found:
        theirs = [slides._theirs(job, one.design, one.base) for job in one.jobs]
        if one.slide != 24 or one.base == "ecn":
            assert all(map(one.agrees, theirs)), one.words
    # Slide 75: 59.3 s with DCTCP and 56.0 with H-TCP, 193.3 and 176.3, 53.9 and 50.3, 149.0 and 138.7.
    dctcp = next(one for one in found if one.design == "dctcp")
    theirs = [slides._theirs(job, dctcp.design, dctcp.base) for job in dctcp.jobs]
    assert [round(value, 1) for value in theirs] == [5.9, 9.6, 7.2, 7.4]
    assert not slides.checks(lambda _: {})


def test_a_statement_about_an_order_needs_a_difference() -> None:
    longer = next(one for one in slides.statements() if one.words == "deep: longer")
    assert longer.agrees(0.1)
    assert not longer.agrees(0.04)
    by = next(one for one in slides.statements() if "up to 10 %" in one.words)
    assert [by.agrees(value) for value in (-5.0, -20.0, -4.9, 10.0)] == [True, True, False, False]


# ---------------------------------------------------------------------------------------- the page


def test_the_readme_has_the_tables() -> None:
    page, found = readme(), read()
    exact, today = hosts.exact(), whole.by_case(whole.read())
    for shown in (
        sensitivity.assumed_table(),
        sensitivity.pause_table(found),
        table(found),
        constants.table(constants.read()),
        constant(found),
        hosts.table(),
        whole.table(whole.read()),
        whole.flipped(exact, today),
        medians.table(today),
        slides.table(today),
    ):
        assert shown in page
    words = " ".join(page.split())
    for said in (
        sentences.discards(found),
        sentences.ring_drops(found),
        sentences.lost_early(found),
        *(medians.variants(exact, today, size) for size in SIZES),
        *(whole.without_traffic(whole.read(), size) for size in SIZES),
        whole.sentence(whole.read()),
        whole.made(whole.read()),
        whole.large(whole.read(), "deep", "the deep buffer"),
        whole.large(whole.read(), "ecn", "ECN"),
        whole.large(whole.read(), "dctcp", "DCTCP"),
        *(whole.longest(whole.read(), Case("dctcp", "tez", size, True)) for size in SIZES),
        whole.contrary(whole.read()),
    ):
        assert said in words
    assert f"{sentences.made(found)}." in words
    # "1.5 %" of the finding.
    of = whole.by_case(whole.read())
    for framework in ("mapreduce", "tez"):
        ecn, shallow = (of(Case(design, framework, 200, True)) for design in ("ecn", "shallow"))
        assert 0.014 < median(ecn[seed] / shallow[seed] - 1 for seed in shallow) < 0.017
    missed = [row for row in slides.table(today).splitlines() if "**" in row]
    assert [row.split(" | ")[:2] for row in missed] == [
        ["| 24", "PFC alone stops senders, so jobs take longer"]
    ]
    alone = slides.statements()[0]
    before = [median(slides._ours(exact, job, alone.design, alone.base)) for job in alone.jobs]
    assert (
        f"With hosts of exact timing that obey PAUSE all four did, by {min(before):.0f} to {max(before):.0f} %"
        in words
    )
    with (REPO / "validation/evidence/hadoop-full-ports.csv").open(encoding="utf-8") as file:
        held = {row["qdisc"]: float(row["host_mb"]) for row in csv.DictReader(file)}
    fair, none, fifo = (f"{held[qdisc]:.1f} MB" for qdisc in ("fq_codel", "off", "pfifo"))
    assert (
        f"{fair} in each with fq_codel, {none} without a discipline and {fifo} with pfifo" in words
    )
    # An entry without runs is named.
    assert all(one in words for one in sensitivity.open_entries(found))
    judged = list(medians.judged(today))
    right, firm = (
        sum(one.right for one in judged),
        sum(one.right and one.ours.agreeing >= 4 for one in judged),
    )
    assert f"{right} of {len(judged)} signs are right on medians" in words
    assert f"{firm} of them with at least four of five seeds" in words


def test_a_constant_per_job_is_calls_times_the_queue(tmp_path: Path) -> None:
    file = tmp_path / "constant.csv"
    for causes, seconds in {(): 27.0, ("compute",): 35.0, ("compute", "v1"): 42.0}.items():
        constants.write(constants.Run(causes, 1), seconds, file)
    assert constants.table(constants.read(file)).splitlines()[2:] == [
        "| 30 ms at all compute ports | +8.0 / +8.0, 1 of 1 | +7.0 |",
        "| 30 ms at all compute ports, version 1 of the committer | +15.0 / +15.0, 1 of 1 | +0.0 |",
    ]
    links = {
        key for key in constants.changed(constants.Run(("compute", "master"), 1)) if "link" in key
    }
    assert links == {f"topology.link[{host}].delay" for host in (*range(14), 21)}
    # The page has what the runs that come with afflux say.
    page = " ".join(readme().split())
    assert all(" ".join(said.split()) in page for said in constants.sentences(constants.read()))
    # Version 1 has four calls per reducer and one to list them, one after the other, of 30 ms each.
    found = constants.read()
    commit = [
        found[constants.Run(("compute", "v1"), seed)] - found[constants.Run(("compute",), seed)]
        for seed in {run.seed for run in found if run.causes == ("compute", "v1")}
    ]
    assert all(abs(seconds - 225 * 0.03) < 0.5 for seconds in commit)


def test_hosts_are_compared_seed_by_seed() -> None:
    quiet = {constants.Run((), 1): 27.5, constants.Run(("v1",), 1): 90.0}
    busy = made({(DEFAULT, "pfc"): [28.0], ((OBEY,), "pfc"): [36.0, 37.0]})
    before = whole.by_case(
        {
            Job(Case("deep", "mapreduce", 10, False), 1): 27.0,
            Job(Case("pfc", "mapreduce", 10, True), 2): 36.0,
        }
    )
    # Earlier hosts obeyed PAUSE, so those of today must obey, too, to be comparable.
    assert dict(hosts.differences(busy, quiet, before)) == {
        "without traffic": Difference({1: 0.5}),
        "under traffic, `pfc`": Difference({2: 1.0}),
    }


def test_the_answer_has_medians() -> None:
    words = " ".join(readme().split())
    today = read()

    def longer(design: str, *assumed: str) -> Difference:
        found = difference(today, assumed, design)
        assert found is not None
        return found

    def before(design: str) -> Difference:
        own, shallow = (
            hosts.exact()(Case(name, "mapreduce", 10, True)) for name in (design, "shallow")
        )
        return Difference({seed: own[seed] - shallow[seed] for seed in own})

    def s(found: Difference) -> str:
        return f"{found.median:+.1f} s"

    deep, ecn, pfc, dctcp = (longer(design) for design in COMPARED)
    obeyed, ring = longer("pfc", OBEY), {one: longer(one, RING) for one in COMPARED}
    every = (deep, ecn, pfc, dctcp, obeyed, *ring.values())
    assert {len(one.by_seed) for one in every} == {5}
    # The answer names how many seeds agree.
    assert [one.agreeing for one in (deep, ecn, dctcp, obeyed)] == [5, 3, 5, 4]
    of_pfc = [
        change(today, assumed, "pfc")
        for assumed in variants()
        if assumed not in (DEFAULT, (OBEY,), (OBEY, RING)) and difference(today, assumed, "pfc")
    ]
    assert all(moved and abs(moved[0]) < 2 for moved in of_pfc)
    fetches = longer("ecn", "fetch_penalties=3s")
    usual = ecn.of_seeds(list(fetches.by_seed))
    fifo = longer("deep", RING, "qdisc=pfifo"), longer("deep", RING, "qdisc=pfifo", "committer=v1")
    of_fifo, of_both = (sentences._NUMBERS[len(one.by_seed)] for one in fifo)
    assert all(one.agreeing == len(one.by_seed) for one in fifo)
    assert ring["deep"].agreeing == 3
    shorter = sum(one < 0 for one in ring["dctcp"].by_seed.values())
    assert shorter == sum(one > 0 for one in ring["dctcp"].by_seed.values()) == 2
    for said in (
        f"{deep.median:.1f} s longer behind the deep buffer (median of five seeds, all with this sign; mean {deep.mean:.1f} s",
        f"changes the job's time by {s(ecn)} (three of five seeds; mean {ecn.mean:.1f} s)",
        f"the sort {dctcp.median:.1f} s longer than the shallow buffer (median, five of five seeds; mean {dctcp.mean:.1f} s)",
        f"{obeyed.median:.1f} s longer if hosts obey PAUSE (four of five seeds), and {s(pfc)} if they ignore it",
        f"{s(obeyed)} if they do (3.0 s in the source), and {s(longer('pfc', OBEY, RING))} if each node sends to the next",
        f"the deep buffer costs {s(ring['deep'])} (three seeds agree) and DCTCP {s(ring['dctcp'])}"
        f" (longer with two seeds, shorter with two), and ECN's sign turns ({ring['ecn'].median:.1f} s;",
        sentences.deciding(today),
        sentences.ranges(today),
        sentences.full_ports(today),
        f"{sentences.made(today)}. Only PAUSE moves",
        f"Where fetches time out after 3 s ECN costs {fetches.median:.1f} s ({usual.median:.1f} s as in the study with the same seeds)",
        f"with pfifo instead of fq_codel the deep buffer costs {s(fifo[0])} ({of_fifo} seeds;",
        f"a FIFO instead of fq_codel it is {fifo[0].median:.1f} s ({of_fifo} seeds),"
        f" and {fifo[1].median:.1f} s with version 1 of the committer besides ({of_both} seeds;",
        f"explain {deep.median:.1f} s of it (median)",
        f"ECN makes the job longer by {s(ecn)}, as in the source (+0.6 s), and made it shorter by {-before('ecn').median:.1f} s",
    ):
        assert said in words, said
    # Where hosts ignore PAUSE, PFC alone makes the study's own job shorter, with every seed.
    own = whole.longer(whole.read(), Case("pfc", "mapreduce", 10, True))
    assert own
    assert own.agreeing == len(own.by_seed) == 5
    assert (
        f"it changes it by {s(pfc)} with Hadoop's defaults, and makes it shorter at the fitted constants ({s(own)}, five of five seeds)"
        in words
    )
    # No other sign of the source's differences is another with exact hosts.
    assert [design for design in COMPARED if before(design).sign != longer(design).sign] == [
        "ecn",
        "pfc",
    ]
    assert before("pfc").sign == obeyed.sign


def test_what_an_assumption_changes_comes_from_the_runs() -> None:
    found = read()
    study = find("hadoop")
    shown = {
        (one.name, value): words
        for one in study.assumptions
        for value, words in one.changes.items()
    }
    for one in study.assumptions:
        for value in one.alternatives:
            assumed = (f"{one.name}={value}",)
            assert shown.get((one.name, value)) == sensitivity.changes(found, assumed)
    assert {("connections", "4"), ("mtu", "1500B"), ("deep_queue", "100ms")} <= shown.keys()
