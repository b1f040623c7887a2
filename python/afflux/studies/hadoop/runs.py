"""Simulated job times of the study, one line each in results/runs.csv, from which `crossvalidation` computes.

    python -m afflux.studies.hadoop.runs --quiet                  # the grid of constants, without traffic
    python -m afflux.studies.hadoop.runs --traffic 10 --seeds 5   # the designs under traffic

A case that has its line is not simulated again, so a sequence that was cut off continues.
"""

import argparse
import csv
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..._core import Progress
from ...metrics import JOB_TIME
from ...scenario import Scenario
from .. import files
from .cases import BASE, DESIGNS, FRAMEWORKS, OTHERS, OTHERWISE, SIZES, Case, Constants, keys

FILE = files("hadoop") / "results" / "runs.csv"
COLUMNS = ("design", "framework", "size_gb", "traffic", "seed", "cpu_ms_per_mb", "disk_mb_per_s", "job_s")

#: Constants for which a job is simulated without traffic; between them `crossvalidation` interpolates.
CPU = (4.0, 10.0, 20.0)
DISK = (150.0, 1500.0)

#: Seconds after which a job is given up: twice the longest that was measured (193.6 s). It counts as if it had taken so long, so what is judged by it is
#: a lower bound.
LIMIT = 400.0
#: A job that ends within the limit uploads its logs within these seconds.
UPLOAD = 10.0


class Endless(Exception):
    """The job has not ended within the limit."""


class Run(NamedTuple):
    case: Case
    cpu: float
    disk: float
    seed: int


def read(file: Path = FILE) -> dict[Run, float]:
    """Seconds, with a start of 0 and all of the processors."""
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return {_run(row): float(row["job_s"]) for row in rows}


def _run(row: Mapping[str, str]) -> Run:
    case = Case(row["design"], row["framework"], int(row["size_gb"]), row["traffic"] == "yes")
    return Run(case, float(row["cpu_ms_per_mb"]), float(row["disk_mb_per_s"]), int(row["seed"]))


def write(run: Run, seconds: float, file: Path = FILE) -> None:
    """Appends a line."""
    file.parent.mkdir(exist_ok=True)
    fresh = not file.exists()
    with file.open("a", encoding="utf-8", newline="") as out:
        lines = csv.writer(out, lineterminator="\n")
        if fresh:
            out.write("# Simulated job times, seconds, with a start of 0 s and a share of 1: python -m afflux.studies.hadoop.runs\n")
            lines.writerow(COLUMNS)
        case = run.case
        lines.writerow([case.design, case.framework, case.size, "yes" if case.traffic else "no", run.seed, run.cpu, run.disk, round(seconds, 4)])


def grid(seeds: int) -> Iterator[Run]:
    """Without traffic, where the designs do not differ: the deep one, all seeds with 10 GB, the first with 200 GB."""
    for size in SIZES:
        for framework in FRAMEWORKS:
            for cpu in CPU:
                for disk in DISK:
                    for seed in range(1, seeds + 1 if size == SIZES[0] else 2):
                        yield Run(Case("deep", framework, size, False), cpu, disk, seed)


def designs(size: int, seeds: int, traffic: bool) -> Iterator[Run]:
    """All designs of a size, seed by seed."""
    for seed in range(1, seeds + 1):
        for design in DESIGNS:
            for framework in FRAMEWORKS:
                yield Run(Case(design, framework, size, traffic), BASE.cpu, BASE.disk, seed)


def others(seeds: int) -> Iterator[Run]:
    """Designs without a measured time: the sort of 10 GB by MapReduce under traffic."""
    for seed in range(1, seeds + 1):
        for design in OTHERS:
            yield Run(Case(design, FRAMEWORKS[0], SIZES[0], True), BASE.cpu, BASE.disk, seed)


def varied(seeds: int) -> Iterator[Run]:
    """Designs where something else is assumed: the sort of 10 GB."""
    for seed in range(1, seeds + 1):
        for name, one in OTHERWISE.items():
            for design in one.designs:
                for framework in one.frameworks:
                    yield Run(Case(f"{design}_{name}", framework, SIZES[0], one.traffic), BASE.cpu, BASE.disk, seed)


def simulate(run: Run) -> float:
    constants = Constants(BASE.start, run.cpu, run.disk, BASE.share)
    scenario = Scenario.load(files("hadoop") / "terasort.toml")
    for key, value in keys(run.case, constants).items():
        scenario.set(key, value)
    try:
        with tempfile.TemporaryDirectory() as place:
            found = JOB_TIME.of(scenario.run(seed=run.seed, out=Path(place) / "result", on_progress=_give_up).summary)
    except Endless:
        return LIMIT
    if found is None:
        raise RuntimeError(f"the job of {run} did not end")
    return min(found / 1e9, LIMIT)


def _give_up(progress: Progress) -> None:
    if progress.now_ns > 1e9 * (LIMIT + UPLOAD):
        raise Endless


def missing(wanted: Iterator[Run], there: Mapping[Run, float]) -> Iterator[Run]:
    return (run for run in wanted if run not in there)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quiet", action="store_true", help="the grid of constants without traffic")
    parser.add_argument("--designs", type=int, choices=SIZES, help="the designs without traffic")
    parser.add_argument("--traffic", type=int, choices=SIZES, help="the designs under traffic, with so many gigabytes")
    parser.add_argument("--others", action="store_true", help="what the source names and has not measured, with 10 GB under traffic")
    parser.add_argument("--varied", action="store_true", help="other assumptions than the study's, with 10 GB")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds (default 5)")
    arguments = parser.parse_args()
    wanted: list[Run] = []
    if arguments.quiet:
        wanted += grid(arguments.seeds)
    if arguments.designs:
        wanted += designs(arguments.designs, arguments.seeds, False)
    if arguments.traffic:
        wanted += designs(arguments.traffic, arguments.seeds, True)
    if arguments.others:
        wanted += others(arguments.seeds)
    if arguments.varied:
        wanted += varied(arguments.seeds)
    for run in list(missing(iter(wanted), read())):
        seconds = simulate(run)
        write(run, seconds)
        print(f"{run.case.name}, {run.cpu:g} ms/MB, {run.disk:g} MB/s, seed {run.seed}: {seconds:.2f} s", flush=True)


if __name__ == "__main__":
    main()
