"""Parts of completion times, and the sentences above the figures, tested without a browser."""

from types import SimpleNamespace
from typing import Any

import pytest
from conftest import INCAST

import afflux
from afflux.report import alike, completion, parts, phases, split
from afflux.results.designs import Design, gather
from afflux.results.explain import LABELS
from afflux.results.statistics import Estimate


def run(
    seed: int, times: dict[str, tuple[int, int]], finish: int | None = None, name: str = "d"
) -> Any:
    """Returns a result whose only job has these phases."""
    each = [
        {"name": phase, "start_ns": start, "finish_ns": end}
        for phase, (start, end) in times.items()
    ]
    last = max(end for _, end in times.values()) if finish is None else finish
    jobs = {"each": [{"name": "sort", "start_ns": 0, "finish_ns": last, "phases": each}]}
    return SimpleNamespace(
        summary={"seed": seed, "name": name, "result_hash": f"{name} {seed} {times}", "jobs": jobs},
        scenario=None,
    )


def design(name: str, *results: Any) -> Design:
    return Design(name, {result.summary["seed"]: result for result in results})


def sort(seed: int, map_end: int, reduce_end: int, name: str) -> Any:
    times = {
        "submit": (0, 10),
        "master": (10, 60),
        "map": (80, map_end),
        "shuffle": (100, map_end + 40),
        "reduce": (map_end + 40, reduce_end),
    }
    return run(seed, times, reduce_end + 5, name)


def test_phases_of_a_job_add_up_to_its_time():
    (job,) = phases.jobs(sort(1, 300, 500, "d"))
    # The start phase lasts until the first map, the shuffle phase starts at the end of the last
    # map, and time after the last phase belongs to the job's end.
    assert job == {"start": 80, "map": 220, "shuffle": 40, "reduce": 165}
    assert sum(job.values()) == 505


def test_an_unfinished_job_has_no_phases():
    result = sort(1, 300, 500, "d")
    result.summary["jobs"]["each"][0]["finish_ns"] = None
    assert phases.jobs(result) == []


def test_many_phases_are_put_together():
    times = {f"stage{place}": (100 * place, 100 * place + 100 + place) for place in range(12)}
    found = phases.of([design("a", run(1, times))])
    assert found["labels"][-1] == phases.OTHERS
    assert len(found["labels"]) == phases.PHASES
    assert sum(found["designs"][0]) == 1211


def test_differences_add_up_and_have_the_interval_of_the_pairs():
    before = [(300, 500), (320, 530), (310, 540), (305, 505)]
    after = [(200, 380), (190, 420), (230, 420), (215, 400)]
    sides = [
        design(name, *(sort(seed, *times, name) for seed, times in enumerate(side, 1)))
        for name, side in (("old", before), ("new", after))
    ]
    found = phases.of(sides)
    change = found["changes"][1]
    assert found["changes"][0] is None
    assert change["pairs"] == 4
    assert (
        sum(by for by, _, _ in change["parts"])
        == change["total"][0]
        == sum(found["designs"][1]) - sum(found["designs"][0])
    )
    maps = [new - old for (old, _), (new, _) in zip(before, after, strict=True)]
    by, low, high = change["parts"][found["labels"].index("map")]
    assert (by, low, high) == pytest.approx(
        (Estimate.of(maps).mean, *Estimate.of(maps).bounds), abs=1
    )
    said = found["said"][1]
    assert (
        said["en"]
        == "With new the job takes 114 ns less than with old: 100 ns of it in the map phase."
    )
    assert said["ja"] == "new のジョブは old より 114 ns 短く、うち 100 ns は map フェーズです。"


def test_with_two_pairs_there_is_no_interval():
    sides = [
        design(name, *(sort(seed, end + seed, 500 + end, name) for seed in (1, 2)))
        for name, end in (("old", 300), ("new", 200))
    ]
    change = phases.of(sides)["changes"][1]
    assert all(low is None and high is None for _, low, high in (*change["parts"], change["total"]))


def test_rounded_means_add_up():
    found = parts.Breakdown.of(
        [design("a", *(run(seed, {"x": (0, 1)}) for seed in (1, 2, 3)))],
        lambda result: [1, result.summary["seed"] % 2, 1],
    )
    assert sum(found.means[0]) == round((3 + 2 + 3) / 3)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> list[afflux.Result]:
    folder = tmp_path_factory.mktemp("incast")
    scenario = afflux.Scenario.parse(INCAST, folder / "small.toml")
    buffers = {"large": "1MB", "larger": "2MB", "small": "15packets"}
    cases = [(name, buffer, seed) for name, buffer in buffers.items() for seed in (1, 2, 3)]
    return [
        scenario.set("name", name)
        .set("switch.buffer", buffer)
        .run(seed=seed, out=folder / f"{name}-{seed}")
        for name, buffer, seed in cases
    ]


def test_the_split_is_the_sum_of_all_flows(results):
    designs = list(gather(results).values())
    group = split.of(designs)["groups"][0]
    sums = [
        sum(sum(result.flows.column(f"{label}_ns")) for result in of_design.results.values())
        for of_design in designs
        for label in LABELS
    ]
    shown = [3 * ns for of_design in group["designs"] for ns in of_design]
    assert shown == pytest.approx(sums, abs=3)
    en, ja = (group["said"][2][language] for language in ("en", "ja"))
    assert en.startswith("With small all flows together take ")
    assert "the largest change is recovery, +" in en
    assert "変化が最も大きいのは損失回復" in ja
    assert group["said"][1]["en"].startswith("With larger and large all flows together take ")


def test_a_single_design_says_its_largest_parts(results):
    (group, *_) = split.of([gather(results)["large"]])["groups"]
    assert group["said"][0]["en"].startswith(
        "Of the time that all flows take together, queueing is "
    )


def test_sentences_of_completion_times(results):
    designs = gather(results)
    found = completion.of([designs["large"], designs["small"]])
    said = found["groups"][0]["said"]
    best, worst = sorted(
        ("large", "small"),
        key=lambda name: max(
            flow for result in designs[name].results.values() for flow in result.flows["fct_ns"]
        ),
    )
    assert f" with {best}, within " in said["fct"]["en"]
    assert f" with {worst}" in said["fct"]["en"]
    assert said["slowdown"]["ja"]
    (alone,) = completion.of([designs["large"]])["groups"]
    assert alone["said"]["fct"]["en"].startswith("Half of the flows are done within ")
    (same,) = completion.of([designs["large"], designs["larger"]])["groups"]
    assert same["said"]["fct"]["en"].startswith(
        "With every design half of the flows are done within "
    )


def test_equal_designs_and_why(results):
    found = alike.of(list(gather(results).values()))
    assert [one["as"] for one in found] == [0, 0, 2]
    assert found[1]["why"]["en"] == "no frame was dropped"
    assert found[0]["why"] is found[2]["why"] is None
