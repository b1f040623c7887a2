"""Compares the tasks of Hadoop jobs without traffic that take longer than with the shallow buffer.

    python -m validation.evidence.hadoop_reducers -o validation/evidence/hadoop-reducers.csv

The jobs are points of `afflux study hadoop`. A line is a phase of a task that ends at another time
with the other design, by more than 50 ms.
"""

import argparse
import csv
import tempfile
from pathlib import Path

from afflux import Result, batch
from afflux.studies.hadoop import STUDY

#: Framework, seed and design of the jobs.
JOBS = (("mapreduce", 1, "ecn_pfc"), ("tez", 3, "ecn"))
#: Difference in seconds from which a task is listed.
LEAST = 0.05
COLUMNS = ("framework", "seed", "design", "phase", "task", "start_s", "shallow_end_s", "end_s")

Times = dict[tuple[str, str], tuple[int, int]]


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-o", "--out", type=Path, required=True)
    out = arguments.parse_args().out
    with tempfile.TemporaryDirectory() as place:
        found = [line for job in JOBS for line in compared(Path(place), *job)]
    with out.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *found])


def compared(place: Path, framework: str, seed: int, design: str) -> list[tuple[object, ...]]:
    names = [f"{one}-{framework}-10GB-quiet" for one in ("shallow", design)]
    points = [point for point in STUDY.points(False) if point.name in names and point.seed == seed]
    dir = batch.home(place)
    batch.run(points, dir)
    base, other = (times(Result.open(dir / f"{name}-{seed}")) for name in names)
    return [
        (framework, seed, design, *task, start / 1e9, end / 1e9, other[task][1] / 1e9)
        for task, (start, end) in base.items()
        if task in other and abs(other[task][1] - end) > LEAST * 1e9
    ]


def times(result: Result) -> Times:
    """Returns start and end of each phase of each task."""
    columns = [result.jobs.column(name) for name in ("phase", "task", "start_ns", "finish_ns")]
    rows = zip(*columns, strict=True)
    return {(phase, task): (start, end) for phase, task, start, end in rows if end is not None}


if __name__ == "__main__":
    main()
