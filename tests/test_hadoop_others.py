"""The Hadoop study's tables of designs that the source mentions but has not measured, and of other
assumptions without traffic."""

from collections.abc import Mapping
from statistics import median

import pytest

from afflux.results.statistics import interval
from afflux.scenario import Scenario
from afflux.studies import files
from afflux.studies.hadoop import sensitivity
from afflux.studies.hadoop.cases import BASE, Case
from afflux.studies.hadoop.others import (
    CHANGED,
    DELAYS,
    TEZ,
    delays,
    differences,
    table,
    under_traffic,
    without_traffic,
)
from afflux.studies.hadoop.runs import Run, read
from afflux.studies.hadoop.sensitivity import DEFAULT, OBEY, Alternatives, Measured


def run(design: str, seed: int) -> Run:
    return Run(Case(design, "mapreduce", 10, True), BASE, seed)


def measured(times: dict[tuple[Alternatives, str], list[float]]) -> sensitivity.Runs:
    return {
        sensitivity.Run(assumed, design, seed): Measured(seconds)
        for (assumed, design), values in times.items()
        for seed, seconds in enumerate(values, 1)
    }


def test_seeds_that_both_have() -> None:
    runs = {
        run("deep_codel", 1): 27.0,
        run("deep_codel", 3): 24.3,
        run("deep_codel", 9): 9.0,
    }
    # Runs with other constants, sizes and frameworks are excluded.
    runs |= {
        Run(Case("deep_codel", "tez", 10, True), BASE, 2): 1.0,
        run("deep_codel", 2)._replace(constants=BASE._replace(cpu=4.0)): 1.0,
    }
    (one,) = differences(runs, measured({(DEFAULT, "deep"): [30.0, 30.0, 30.0]}))
    assert (one.design, one.samples, one.baseline_mean, one.design_mean) == (
        "deep_codel",
        2,
        30e9,
        25.65e9,
    )
    assert one.ratio == pytest.approx((0.9 * 0.81) ** 0.5)
    assert "| `deep_codel` | 2 | 25.6 | 30.0 (`deep`) | -14.6 (-56.3 to +66.7) |" in table([one])


def test_designs_whose_hosts_obey_pause_are_compared_with_such() -> None:
    runs = {run(name, 1): 33.0 for name in ("pfc_watchdog", "pfc_spines_obey", "pfc_all_obey")}
    found = differences(runs, measured({(DEFAULT, "pfc"): [30.0], ((OBEY,), "pfc"): [44.0]}))
    assert {one.design: one.baseline_mean for one in found} == {
        "pfc_watchdog": 44e9,
        "pfc_spines_obey": 30e9,
        "pfc_all_obey": 44e9,
    }
    assert table(found).splitlines()[2] == (
        "| `pfc_watchdog` | 1 | 33.0 | 44.0 (`pfc`, `honours_pause=true`) | -25.0 |"
    )


def test_what_is_assumed_otherwise_changes_both_designs() -> None:
    def quiet(design: str, *seconds: float) -> dict[Run, float]:
        case = Case(design, "tez", 10, False)
        return {Run(case, BASE, seed): took for seed, took in enumerate(seconds, 1)}

    runs = quiet("shallow", 31.0, 33.0) | quiet("deep", 28.0, 28.0)
    runs |= quiet("shallow_20_copies", 40.0) | quiet("deep_20_copies", 30.0, 7.0)
    study, copies = TEZ.answers(runs)
    assert (study[0], study[1].difference, study[1].samples) == ("", 4e9, 2)
    assert (copies[0], copies[1].difference, copies[1].samples) == ("20_copies", 10e9, 1)
    assert TEZ.table(runs).splitlines()[2].endswith("| 2 | 32.0 | 28.0 | 4.0 (-8.7 to 16.7) |")


def test_delays_are_added_to_the_job_without_traffic() -> None:
    quiet = Case("deep", "tez", 10, False)
    runs = {Run(quiet, BASE, seed): 30.0 for seed in (1, 2)}
    runs |= {Run(quiet._replace(design="deep_30ms"), BASE, seed): 36.0 for seed in (1, 2)}
    assert delays(runs).splitlines()[2:] == [
        "| 30 ms at all compute ports | Tez | 2 | 6.0 (6.0 to 6.0) |"
    ]


def test_a_choice_of_uplinks_by_load_ends_congestion_of_the_fabric() -> None:
    """Six flows of fabric.toml share an uplink with capacity for four, so they take 50 % longer.
    With DLB and GLB each flow gets its 25 Gbps. Behind a slow downlink of a spine (the leaf's own
    ports do not show it) only GLB sends less over that spine."""
    took, slow = {}, {}
    for balance in ("ecmp", "dlb", "glb"):
        scenario = (
            Scenario.load(files("hadoop") / "fabric.toml")
            .set("switch.balance", balance)
            .set("host.timing", "exact")
        )
        took[balance] = scenario.run().summary["slowdown"]["all"]["mean"]
        scenario = scenario.set("topology.link[22].rate", "10Gbps")
        slow[balance] = scenario.run().summary["slowdown"]["all"]["mean"]
    assert took["ecmp"] > 1.4
    assert max(took["dlb"], took["glb"]) < 1.02
    assert slow["glb"] < slow["ecmp"] < slow["dlb"]
    readme = (files("hadoop") / "README.md").read_text(encoding="utf-8")
    words = " ".join(readme.split())
    dlb, glb, ecmp = (f"{slow[balance]:.2f}" for balance in ("dlb", "glb", "ecmp"))
    assert (
        f"With a downlink of 10 Gbps from one spine they differ: {dlb} with DLB and {glb} with GLB ({ecmp} with equal-cost routing)"
        in words
    )
    assert (
        f"slowdown of {took['ecmp']:.2f}, {took['dlb']:.2f} with DLB and {took['glb']:.2f} with GLB"
        in words
    )


def test_the_readme_has_the_tables() -> None:
    readme = (files("hadoop") / "README.md").read_text(encoding="utf-8")
    runs = read()
    found = differences(runs, sensitivity.read())
    assert [one.design for one in found] == list(CHANGED)
    assert {one.samples for one in found} == {5}
    assert table(found) in readme
    assert [name for name, _ in TEZ.answers(runs)] == list(TEZ.assumed)
    assert TEZ.table(runs) in readme
    assert len(delays(runs).splitlines()) == 2 + 2 * len(DELAYS)
    assert delays(runs) in readme
    words = " ".join(readme.split())
    calls = [
        sum(own[seed] - base[seed] for seed in own) / len(own)
        for framework in ("mapreduce", "tez")
        for own, base in [
            [without_traffic(name, framework, runs) for name in ("deep_30ms", "deep")]
        ]
    ]
    assert f"{calls[0]:.1f} s longer with MapReduce and {calls[1]:.1f} s with Tez" in words
    everywhere = under_traffic("dctcp_everywhere", runs)
    dctcp = sensitivity.seconds(sensitivity.read(), DEFAULT, "dctcp")
    faster = [dctcp[seed] - everywhere[seed] for seed in everywhere]
    assert min(faster) > 0
    assert (
        f"faster with each of the five seeds, by {min(faster):.1f} to {max(faster):.0f} s" in words
    )


def test_without_the_standing_queue_the_deep_buffer_costs_nothing() -> None:
    """The answer names the queues as the cause: CoDel ends them, and the difference with them."""
    today = sensitivity.read()
    shallow = sensitivity.seconds(today, DEFAULT, "shallow")

    def longer(own: Mapping[int, float]) -> list[float]:
        return [own[seed] - shallow[seed] for seed in sorted(own.keys() & shallow.keys())]

    deep = longer(sensitivity.seconds(today, DEFAULT, "deep"))
    codel = longer(under_traffic("deep_codel", read()))
    assert len(deep) == len(codel) == 5
    assert min(deep) > 0
    low, high = interval(codel, signed=True) or (1.0, -1.0)
    assert low < 0 < high
    assert median(codel) <= 0
    readme = " ".join((files("hadoop") / "README.md").read_text(encoding="utf-8").split())
    words = "with CoDel against these queues nothing is left of the difference"
    assert f"{words} ({median(codel):+.1f} s;" in readme
