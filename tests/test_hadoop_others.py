"""The Hadoop study's table of variants that the source mentions but has not measured."""

import pytest

from afflux.results.statistics import interval
from afflux.scenario import Scenario
from afflux.studies import files
from afflux.studies.hadoop.cases import BASE, OTHERWISE, Case
from afflux.studies.hadoop.others import CHANGED, DELAYS, QUESTIONS, delays, differences, table
from afflux.studies.hadoop.runs import Run, read


def run(design: str, seed: int) -> Run:
    return Run(Case(design, "mapreduce", 10, True), BASE.cpu, BASE.disk, seed)


def test_seeds_that_both_have() -> None:
    runs = {run("deep", seed): 30.0 for seed in (1, 2, 3)} | {
        run("deep_codel", 1): 27.0,
        run("deep_codel", 3): 24.3,
        run("pfc_watchdog", 1): 9.0,
    }
    # Runs with other constants, sizes and frameworks are excluded.
    runs |= {
        Run(Case("deep_codel", "tez", 10, True), BASE.cpu, BASE.disk, 2): 1.0,
        run("deep_codel", 2)._replace(cpu=4.0): 1.0,
    }
    (one,) = differences(runs)
    assert (one.design, one.samples, one.baseline_mean, one.design_mean) == (
        "deep_codel",
        2,
        30e9,
        25.65e9,
    )
    assert one.ratio == pytest.approx((0.9 * 0.81) ** 0.5)
    assert "| `deep_codel` | 2 | 25.6 | 30.0 (`deep`) | -14.6 (-56.3 to +66.7) |" in table([one])


def test_what_is_assumed_otherwise_changes_both_designs() -> None:
    runs = {
        run("deep", 1): 31.0,
        run("deep", 2): 33.0,
        run("shallow", 1): 28.0,
        run("shallow", 2): 28.0,
    }
    runs |= {run("deep_1500B", 1): 40.0, run("shallow_1500B", 1): 30.0, run("deep_100ms", 2): 35.0}
    deep = QUESTIONS[0]
    study, small, long = deep.answers(runs)
    assert (study[0], study[1].difference, study[1].samples) == ("", 4e9, 2)
    assert (small[0], small[1].difference) == ("1500B", 10e9)
    # Only the deep buffer has the cap.
    assert (long[0], long[1].difference, long[1].baseline_mean) == ("100ms", 7e9, 28e9)
    assert deep.table(runs).splitlines()[2].endswith("| 2 | 32.0 | 28.0 | 4.0 (-8.7 to 16.7) | – |")


def test_what_is_assumed_is_compared_over_the_same_seeds() -> None:
    """The deep buffer costs 3, 5 and 40 s. With frames of 1500 B it is 4 and 6 s for the first two
    seeds: 1 s more, although the means say that it is less."""
    runs = {run("shallow", seed): 28.0 for seed in (1, 2, 3)}
    runs |= {run("deep", seed): 28.0 + more for seed, more in ((1, 3.0), (2, 5.0), (3, 40.0))}
    runs |= {run("shallow_1500B", seed): 30.0 for seed in (1, 2)}
    runs |= {run("deep_1500B", seed): 30.0 + more for seed, more in ((1, 4.0), (2, 6.0))}
    deep = QUESTIONS[0]
    study, small = (one for _, one in deep.answers(runs))
    assert small.difference < study.difference
    assert deep.changes("1500B", runs) == [1.0, 1.0]
    assert deep.changed("1500B", runs) == "+1.0 (+1.0 to +1.0)"
    assert deep.table(runs).splitlines()[3].endswith(" | +1.0 (+1.0 to +1.0) |")


def test_delays_are_added_to_the_job_without_traffic() -> None:
    quiet = Case("deep", "tez", 10, False)
    runs = {Run(quiet, BASE.cpu, BASE.disk, seed): 30.0 for seed in (1, 2)}
    runs |= {
        Run(quiet._replace(design="deep_30ms"), BASE.cpu, BASE.disk, seed): 36.0 for seed in (1, 2)
    }
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
    found = differences(runs)
    assert [one.design for one in found] == list(CHANGED)
    assert table(found) in readme
    for question in QUESTIONS:
        assert [name for name, _ in question.answers(runs)] == list(question.assumed)
        assert question.table(runs) in readme
    assert delays(runs) in readme
    words = " ".join(readme.split())
    deep, pfc, dctcp, _ = QUESTIONS
    fewer = [one.changed("4_connections", runs) for one in (pfc, dctcp)]
    assert all(
        max(one.changes("4_connections", runs)) < 0 and len(one.changes("4_connections", runs)) == 3
        for one in (pfc, dctcp)
    )
    for said in (
        f"{deep.changed('4500B', runs)} s with 4500 B (three seeds), {deep.changed('1500B', runs)} s with 1500 B (two)",
        f"PFC alone {fewer[0]} s and DCTCP {fewer[1]} s. Both intervals include no difference",
        f"less with each of three seeds ({fewer[0]} s over these)",
    ):
        assert said in words
    asked = {name for question in QUESTIONS for name in question.assumed if name}
    assert OTHERWISE.keys() == asked | {name for name, _ in DELAYS}


def test_without_the_standing_queue_the_deep_buffer_costs_nothing() -> None:
    """The answer names the queues as the cause: CoDel ends them, and the difference with them."""
    runs = read()

    def longer(design: str) -> list[float]:
        own, shallow = (
            {one.seed: seconds for one, seconds in runs.items() if one == run(name, one.seed)}
            for name in (design, "shallow")
        )
        return [own[seed] - shallow[seed] for seed in sorted(own.keys() & shallow.keys())]

    assert len(longer("deep")) == len(longer("deep_codel")) == 5
    assert min(longer("deep")) > 1
    low, high = interval(longer("deep_codel"), signed=True) or (1.0, -1.0)
    assert low < 0 < high
    assert abs(sum(longer("deep_codel"))) / 5 < 0.05
    readme = " ".join((files("hadoop") / "README.md").read_text(encoding="utf-8").split())
    assert "with CoDel against these queues nothing is left of the difference" in readme
