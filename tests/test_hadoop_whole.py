"""Job times of the whole Hadoop study: the file that comes with afflux, and what is said of it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from afflux.results.designs import Designs
from afflux.studies.hadoop import STUDY, runs, whole
from afflux.studies.hadoop.cases import Case
from afflux.studies.hadoop.whole import Job


def case(design: str, traffic: bool = True) -> Case:
    return Case(design, "mapreduce", 10, traffic)


def designs(times: dict[str, dict[int, float | None]]) -> Designs:
    """Returns designs whose jobs took these seconds by seed; None for a job without an end."""
    made: list[Any] = [
        SimpleNamespace(
            name=name,
            results={
                seed: SimpleNamespace(
                    summary={"jobs": {"mean_ns": None if of is None else 1e9 * of}},
                    kernel_failure=None,
                )
                for seed, of in by_seed.items()
            },
        )
        for name, by_seed in times.items()
    ]
    return cast(Designs, Designs(made))


def test_job_times_of_a_run_are_written_in_the_order_of_the_cases(tmp_path: Path) -> None:
    found = whole.of_designs(
        designs(
            {
                case("shallow").name: {2: 51.0, 1: 50.0},
                case("deep").name: {1: 52.123456, 2: None},
                case("deep", traffic=False).name: {1: 45.0},
            }
        )
    )
    assert found == {
        Job(case("shallow"), 1): 50.0,
        Job(case("shallow"), 2): 51.0,
        Job(case("deep"), 1): 52.1235,
        Job(case("deep", traffic=False), 1): 45.0,
    }
    file = whole.write(found, tmp_path / "job-times.csv")
    assert file.read_text(encoding="utf-8").splitlines()[1:] == [
        "design,framework,size_gb,traffic,seed,job_s",
        "deep,mapreduce,10,no,1,45.0",
        "deep,mapreduce,10,yes,1,52.1235",
        "shallow,mapreduce,10,yes,1,50.0",
        "shallow,mapreduce,10,yes,2,51.0",
    ]
    assert whole.read(file) == found


def test_jobs_are_compared_with_the_shallow_buffer_seed_by_seed() -> None:
    times = {
        Job(case("shallow"), 1): 50.0,
        Job(case("shallow"), 2): 60.0,
        Job(case("shallow"), 3): 55.0,
        Job(case("deep"), 1): 53.0,
        Job(case("deep"), 2): 59.0,
        Job(case("deep"), 3): 57.0,
        # Without a shallow job of its seed.
        Job(case("ecn"), 4): 10.0,
    }
    deep = whole.longer(times, case("deep"))
    assert deep
    assert (deep.median, round(deep.mean, 3), deep.agreeing) == (2.0, 1.333, 2)
    assert whole.longer(times, case("ecn")) is None
    assert whole.table(times).splitlines()[2:] == [
        "| mapreduce, 10 GB, under traffic | 3 | 55.0 (55.4) | +2.0 / +1.3, 2 of 3 (+15.0) "
        "| – (+0.6) | – (+0.7) | – (+3.0) | – (+3.9) |"
    ]


def test_jobs_without_traffic_that_take_longer_are_counted() -> None:
    times = {
        Job(case(design, traffic=False), seed): seconds
        for design, by_seed in {
            "shallow": [44.0, 45.0],
            "deep": [44.01, 45.7],
            "ecn": [45.0, 44.0],
        }.items()
        for seed, seconds in enumerate(by_seed, 1)
    }
    assert whole.without_traffic(times, 10) == (
        "Without traffic 2 of 4 jobs of 10 GB take 0.7 to 1.0 s longer than with the shallow buffer and the same seed,"
        " and 1 takes 1.0 s less"
    )
    alike = dict.fromkeys(times, 44.0)
    assert whole.without_traffic(alike, 10) == (
        "Without traffic none of 4 jobs of 10 GB takes longer than with the shallow buffer and the same seed,"
        " and none takes less"
    )


def test_signs_that_hang_on_the_hosts_are_listed() -> None:
    def times(deep: list[float], dctcp: list[float]) -> runs.Times:
        of = {"shallow": [50.0, 50.0, 50.0], "deep": deep, "dctcp": dctcp}
        return whole.by_case(
            {
                Job(case(design), seed): seconds
                for design, by_seed in of.items()
                for seed, seconds in enumerate(by_seed, 1)
            }
        )

    exact = times([52.0, 53.0, 49.0], [49.0, 48.0, 51.0])
    today = times([51.0, 52.0, 53.0], [50.02, 51.0, 49.0])
    assert whole.flipped(exact, today).splitlines()[2:] == [
        "| `dctcp`, mapreduce, 10 GB, under traffic | +3.9 | -1.0 / -0.7, 2 of 3 | +0.0 / +0.0, 1 of 3 |"
    ]


def test_what_200_gb_cost_and_how_many_jobs_there_are() -> None:
    def large(design: str, framework: str) -> Case:
        return Case(design, framework, 200, True)

    times = {
        Job(large("shallow", "mapreduce"), 1): 170.0,
        Job(large("shallow", "mapreduce"), 2): 171.0,
        Job(large("deep", "mapreduce"), 1): 184.0,
        Job(large("deep", "mapreduce"), 2): 187.0,
        Job(large("shallow", "tez"), 1): 140.0,
        Job(large("deep", "tez"), 1): 139.0,
    }
    assert whole.large(times, "deep", "the deep buffer") == (
        "With 200 GB under traffic and today's hosts the deep buffer costs +15.0 s with MapReduce (2 of 2 seeds; +15.1 s in the source)"
        " and -1.0 s with Tez (one seed; +3.0 s in the source)"
    )
    times[Job(large("deep", "mapreduce"), 3)] = 185.5
    assert whole.longest(times, large("deep", "mapreduce")) == (
        "187.0 s with seed 2 and 184.0 to 185.5 s with the others"
    )
    del times[Job(large("deep", "mapreduce"), 3)]
    assert whole.made(times) == "0 of 120 jobs of 10 GB and 6 of 120 jobs of 200 GB"


def test_signs_that_the_source_has_otherwise_are_named() -> None:
    def times(deep: float, ecn: float) -> dict[Job, float]:
        of = {"shallow": 50.0, "deep": deep, "ecn": ecn}
        made = {Job(case(design), 1): seconds for design, seconds in of.items()}
        return made | {Job(case("deep", traffic=False), 1): 1.0}

    # The source has +15.0 and +0.6 s.
    assert whole.contrary(times(52.0, 49.0)) == (
        "1 of 2 differences from the shallow buffer under traffic has the opposite sign: "
        "`ecn` with mapreduce and 10 GB (-1.0 / -1.0, 1 of 1; +0.6 s in the source)"
    )
    # No difference is no opposite sign.
    assert whole.contrary(times(52.0, 50.0)) == (
        "None of 2 differences from the shallow buffer under traffic has the opposite sign"
    )


def test_the_file_that_comes_with_afflux_has_cases_of_the_study(tmp_path: Path) -> None:
    found = whole.read()
    points = {(point.name, point.seed) for point in STUDY.points(False)}
    assert {(job.case.name, job.seed) for job in found} <= points
    # The quick part is there at least: one seed of 10 GB.
    assert {(point.name, point.seed) for point in STUDY.points(True)} <= {
        (job.case.name, job.seed) for job in found
    }
    again = whole.write(found, tmp_path / "again.csv")
    assert again.read_bytes() == whole.FILE.read_bytes()
