"""Points, one line each in results/runs.csv: the series of `afflux study pfabric`."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ...results.result import Result
from .. import Series, files, lines
from . import schemes
from .measure import FIGURES, measure

FILE = files("pfabric") / "results" / "runs.csv"
SEEDS = 5
#: Loads of the slides, and their schemes from best to worst in the slides' legend.
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
ORDER = ("Ideal", "pFabric", "PDQ", "DCTCP", "TCP-DropTail")
#: Schemes that are simulated at every load.
EVERY_LOAD = {
    "websearch": (*ORDER, schemes.CONSTANT, "HULL"),
    "datamining": (*ORDER, "HULL"),
}
COLUMNS = ("workload", "load", "scheme", "seed", *FIGURES, "unfinished")


class Run(NamedTuple):
    workload: str
    load: float
    scheme: str
    seed: int


#: Figures of each point, by name; None for elephants where there are none.
Points = Mapping[Run, dict[str, float | None]]


def read(file: Path = FILE) -> dict[Run, dict[str, float | None]]:
    """Returns the measurements by point."""
    if not file.exists():
        return {}
    return dict(lines.parsed(file, COLUMNS, _line))


def _line(row: Mapping[str, str]) -> tuple[Run, dict[str, float | None]]:
    run = Run(row["workload"], float(row["load"]), row["scheme"], int(row["seed"]))
    return run, {name: float(row[name]) if row[name] else None for name in FIGURES}


def simulate(run: Run, place: Path) -> tuple[dict[str, float | None], int]:
    """Simulates a point. Returns its figures, and the number of its flows that did not finish."""
    if run.scheme in schemes.QUEUES:
        schemes.write_flows(place, run.scheme, run.workload, run.load, run.seed)
    point = schemes.point(run.scheme, run.workload, run.load, run.seed, place)
    found = measure(Result.of_run(point.load().run(None)))
    return {name: of(found) for name, (_, of) in FIGURES.items()}, found.unfinished


def write(run: Run, found: dict[str, float | None], unfinished: int, file: Path = FILE) -> None:
    """Appends the line of a point."""
    lines.append(
        file,
        "Completion times over those of the idle fabric, 20,000 flows each: afflux study pfabric PART",
        COLUMNS,
        [
            *run,
            *("" if found[name] is None else round(found[name] or 0.0, 4) for name in FIGURES),
            unfinished,
        ],
    )


def series(
    name: str,
    question: str,
    duration: str,
    runs: Callable[[int], Iterator[Run]],
    shown: Callable[[Run], bool],
    tables: Callable[[Points], Iterator[str]],
) -> Series:
    """Returns a part of the study: the runs for a number of seeds, and the tables of those that are
    shown."""

    def simulated(run: Run, file: Path) -> str:
        with tempfile.TemporaryDirectory() as place:
            found, unfinished = simulate(run, Path(place))
        write(run, found, unfinished, file)
        return f"{run.workload}, {run.load}, {run.scheme}, seed {run.seed}: {found['average']:.3f}"

    def written(file: Path) -> str:
        return "\n".join(
            tables({run: values for run, values in read(file).items() if shown(run)})
        ).strip()

    return Series(
        name,
        question,
        duration,
        FILE,
        lambda file, quick: runs(1 if quick else SEEDS),
        read,
        simulated,
        written,
    )


def at_60(seeds: int) -> Iterator[Run]:
    """Yields the runs seed by seed, so that an interrupted series has complete seeds."""
    return (
        Run("websearch", 0.6, scheme, seed)
        for seed in range(1, seeds + 1)
        for scheme in schemes.SCHEMES
    )


def at_every_load(seeds: int) -> Iterator[Run]:
    """Yields the runs of the slides' schemes, of pFabric without rate control, and of HULL with one
    seed: seed by seed."""
    return (
        Run(workload, load, scheme, seed)
        for seed in range(1, seeds + 1)
        for workload, every in EVERY_LOAD.items()
        for load in LOADS
        for scheme in every
        if scheme != "HULL" or seed == 1
    )


def opening(seeds: int) -> Iterator[Run]:
    """Yields the runs that isolate a cause, for which one seed is enough."""
    tests = (scheme for scheme in schemes.TESTS if scheme != schemes.CONSTANT)
    return (Run("datamining", 0.3, scheme, 1) for scheme in ("PDQ", "DCTCP", *tests))
