"""Simulated job times of the study, one line each in results/runs.csv: the series of `afflux study
hadoop`. `crossvalidation` computes from them."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..._core import Progress
from ...metrics import JOB_TIME
from ...scenario import Scenario
from .. import Series, files, lines
from ..part import NOT_MEASURED
from .cases import (
    BASE,
    BUSY,
    FITTED,
    FRAMEWORKS,
    OTHERS,
    OTHERWISE,
    SIZES,
    Case,
    Constants,
    keys,
)

FILE = files("hadoop") / "results" / "runs.csv"
COLUMNS = (
    "design",
    "framework",
    "size_gb",
    "traffic",
    "seed",
    "start_s",
    "cpu_ms_per_mb",
    "disk_mb_per_s",
    "job_s",
)

#: Grid of constants for which a job is simulated without traffic. `crossvalidation` interpolates
#: between them.
CPU = (4.0, 7.0, 10.0, 14.0, 20.0)
DISK = (150.0, 400.0, 1500.0)

SEEDS = 5

#: Time in seconds after which a job is stopped: twice the longest measured time (193.6 s). The job
#: counts as if it took this long, so errors derived from it are lower bounds.
LIMIT = 400.0
#: Time in seconds within which a job that ended in time uploads its logs.
UPLOAD = 10.0


class Endless(Exception):
    """The job has not ended within the limit."""


class Run(NamedTuple):
    case: Case
    #: The share of the processors is 1.
    constants: Constants
    seed: int


#: Job times in seconds by seed, of a case under one set of constants.
Times = Callable[[Case], Mapping[int, float]]


def with_defaults(there: Mapping[Run, float]) -> Times:
    """Returns the job times with Hadoop's defaults."""
    return lambda case: {
        run.seed: seconds for run, seconds in there.items() if run[:2] == (case, BASE)
    }


def read(file: Path = FILE) -> dict[Run, float]:
    """Returns the simulated seconds by run."""
    if not file.exists():
        return {}
    return dict(lines.parsed(file, COLUMNS, _line))


def _line(row: Mapping[str, str]) -> tuple[Run, float]:
    case = Case(row["design"], row["framework"], int(row["size_gb"]), row["traffic"] == "yes")
    constants = Constants(
        float(row["start_s"]), float(row["cpu_ms_per_mb"]), float(row["disk_mb_per_s"]), 1.0
    )
    return Run(case, constants, int(row["seed"])), float(row["job_s"])


def write(run: Run, seconds: float, file: Path = FILE) -> None:
    """Appends the line of a run."""
    case = run.case
    lines.append(
        file,
        "Simulated job times, seconds, with a share of 1: afflux study hadoop PART",
        COLUMNS,
        [
            case.design,
            case.framework,
            case.size,
            "yes" if case.traffic else "no",
            run.seed,
            *run.constants[:3],
            round(seconds, 4),
        ],
    )


def grid(seeds: int) -> Iterator[Run]:
    """Yields the runs without traffic, where designs do not differ, so only the deep one: all seeds
    with 10 GB, and the first with 200 GB. Then, with all seeds, those at the study's constants whose
    processors have other work: all of a job takes longer (`BUSY`), or all but start-up times."""
    for size in SIZES:
        for framework in FRAMEWORKS:
            case = Case("deep", framework, size, False)
            for cpu in CPU:
                for disk in DISK:
                    for seed in range(1, seeds + 1 if size == SIZES[0] else 2):
                        yield Run(case, BASE._replace(cpu=cpu, disk=disk), seed)
            for seed in range(1, seeds + 1):
                yield Run(case._replace(design=BUSY), FITTED._replace(share=1.0), seed)
                yield Run(case, FITTED.under_traffic, seed)


def others(seeds: int) -> Iterator[Run]:
    """Yields the runs of designs without a measured time: the sort of 10 GB by MapReduce under
    traffic."""
    for seed in range(1, seeds + 1):
        for design in OTHERS:
            yield Run(Case(design, FRAMEWORKS[0], SIZES[0], True), BASE, seed)


def varied(seeds: int) -> Iterator[Run]:
    """Yields the sorts of 10 GB without traffic under other assumptions, and those with which they
    are compared."""
    for seed in range(1, seeds + 1):
        for design, framework in (("deep", "mapreduce"), ("deep", "tez"), ("shallow", "tez")):
            yield Run(Case(design, framework, SIZES[0], False), BASE, seed)
        for name, one in OTHERWISE.items():
            for design in one.designs:
                for framework in one.frameworks:
                    yield Run(Case(f"{design}_{name}", framework, SIZES[0], False), BASE, seed)


def simulate(run: Run) -> float:
    """Returns the job time in seconds, at most `LIMIT`."""
    found = summary(keys(run.case, run.constants), run.seed)
    return job_seconds(found) if found else LIMIT


def summary(changed: Mapping[str, Any], seed: int) -> dict[str, Any] | None:
    """Returns the summary of the cluster's job with these keys; None if the job has not ended
    within `LIMIT`."""
    scenario = Scenario.load(files("hadoop") / "terasort.toml")
    for key, value in changed.items():
        scenario.set(key, value)
    # Only the job's time and counters are read: without the split by cause a run is 7 % faster.
    scenario.set("record.explain", False)
    try:
        with tempfile.TemporaryDirectory() as place:
            return scenario.run(seed=seed, out=Path(place) / "result", on_progress=_give_up).summary
    except Endless:
        return None


def job_seconds(found: dict[str, Any]) -> float:
    """Returns the job time in seconds of a summary, at most `LIMIT`."""
    time = JOB_TIME.of(found)
    if time is None:
        raise RuntimeError("the job did not end")
    return min(time / 1e9, LIMIT)


def _give_up(progress: Progress) -> None:
    if progress.now_ns > 1e9 * (LIMIT + UPLOAD):
        raise Endless


def series(
    name: str,
    question: str,
    wanted: Callable[[int], Iterator[Run]],
    tables: Callable[[Path], str],
    duration: str = NOT_MEASURED,
) -> Series:
    """Returns a part of the study: the runs for a number of seeds, and the tables made from
    them."""

    def simulated(run: Run, file: Path) -> str:
        seconds = simulate(run)
        write(run, seconds, file)
        of = run.constants
        return (
            f"{run.case.name}, {of.cpu:g} ms/MB, {of.disk:g} MB/s, seed {run.seed}: {seconds:.2f} s"
        )

    return Series(
        name,
        question,
        duration,
        FILE,
        lambda file, quick: wanted(1 if quick else SEEDS),
        read,
        simulated,
        tables,
    )
