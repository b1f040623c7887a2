"""Single points, one line each in results/runs.csv, and the tables of README.md: the series of
`afflux study pfabric`."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...comparison.paired import Difference, of_pairs
from ...metrics import Metric
from ...results.result import Result
from ...results.statistics import interval, mean
from .. import Series, files, lines
from . import schemes
from .measure import ELEPHANTS, FIGURES, MICE, measure

FILE = files("pfabric") / "results" / "runs.csv"
#: Points of the slides' schemes at every load, and of pFabric without rate control. Frames that
#: arrive at one instant are ordered by a hash there, and by their port in `FILE`.
LOADS_FILE = FILE.with_name("loads.csv")
SEEDS = 5
#: Loads of the slides, and their schemes from best to worst in the slides' legend.
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
ORDER = ("Ideal", "pFabric", "PDQ", "DCTCP", "TCP-DropTail")
COLUMNS = ("workload", "load", "scheme", "seed", *FIGURES, "unfinished")


class Run(NamedTuple):
    workload: str
    load: float
    scheme: str
    seed: int


def read(file: Path = FILE) -> dict[Run, dict[str, float | None]]:
    """Returns the measurements by point."""
    if not file.exists():
        return {}
    rows = lines.read(file)
    return {
        _run(row): {name: float(row[name]) if row[name] else None for name in FIGURES}
        for row in rows
    }


def _run(row: dict[str, str]) -> Run:
    return Run(row["workload"], float(row["load"]), row["scheme"], int(row["seed"]))


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
    shipped: Path = FILE,
    of: Callable[[dict[Run, dict[str, float | None]]], Iterator[str]] | None = None,
) -> Series:
    """Returns a part of the study: the runs for a number of seeds, and the tables of those that are
    shown. `of`: function that makes the tables."""

    def simulated(run: Run, file: Path) -> str:
        with tempfile.TemporaryDirectory() as place:
            found, unfinished = simulate(run, Path(place))
        write(run, found, unfinished, file)
        return f"{run.workload}, {run.load}, {run.scheme}, seed {run.seed}: {found['average']:.3f}"

    def tables(file: Path) -> str:
        return "\n".join(
            (of or table)({run: values for run, values in read(file).items() if shown(run)})
        ).strip()

    return Series(
        name,
        question,
        duration,
        shipped,
        lambda file, quick: runs(1 if quick else SEEDS),
        read,
        simulated,
        tables,
    )


def at_60(seeds: int) -> Iterator[Run]:
    """Yields the runs seed by seed, so that an interrupted series has complete seeds."""
    return (
        Run("websearch", 0.6, scheme, seed)
        for seed in range(1, seeds + 1)
        for scheme in schemes.SCHEMES
    )


def at_every_load(seeds: int) -> Iterator[Run]:
    """Yields the runs of the slides' schemes and of pFabric without rate control, seed by seed."""
    return (
        Run("websearch", load, scheme, seed)
        for seed in range(1, seeds + 1)
        for load in LOADS
        for scheme in (*ORDER, schemes.CONSTANT)
    )


def opening(seeds: int) -> Iterator[Run]:
    """Yields the runs that isolate a cause, for which one seed is enough."""
    tests = (scheme for scheme in schemes.TESTS if scheme != schemes.CONSTANT)
    return (Run("datamining", 0.3, scheme, 1) for scheme in ("PDQ", "DCTCP", *tests))


def differences(
    found: dict[Run, dict[str, float | None]],
    workload: str,
    load: float,
    figure: str,
    base: str = "pFabric",
) -> dict[str, Difference]:
    """Returns the difference of every scheme from the base, over the seeds that both have:
    Student's t on the logarithms of the paired ratios."""
    cell = {
        (run.scheme, run.seed): values[figure]
        for run, values in found.items()
        if (run.workload, run.load) == (workload, load)
    }
    against = {}
    for scheme in schemes.SCHEMES:
        pairs = [
            (old, new)
            for (name, seed), new in sorted(cell.items())
            if name == scheme and (old := cell.get((base, seed))) and new
        ]
        if scheme != base and pairs:
            against[scheme] = of_pairs(Metric(figure, "", (), str), scheme, pairs)
    return against


#: Figures of the second table.
_COMPARED = ("average", "mice_p99", "elephants")


def again(
    found: dict[Run, dict[str, float | None]], later: dict[Run, dict[str, float | None]]
) -> str:
    """Returns what fair ties change, as the page says it: the average, and the 99th percentile of
    mice, as means over the points that both have."""
    parts = []
    for scheme in ORDER:
        both = [run for run in later if run in found and run.scheme == scheme]
        changes = []
        for name in ("average", "mice_p99"):
            ratios = [(later[run][name] or 0.0) / (found[run][name] or 1.0) for run in both]
            # No "-0.0".
            changes.append(f"{round(100 * (mean(ratios) - 1), 1) + 0.0:+.1f}")
        parts.append(f"{scheme} {changes[0]} and {changes[1]} %")
    return ", ".join(parts)


def table(found: dict[Run, dict[str, float | None]]) -> Iterator[str]:
    """Yields means with their intervals, a block for each workload and load."""
    for workload, load in sorted({run[:2] for run in found}):
        yield f"{schemes.WORKLOADS[workload]}, load {load}\n"
        yield from means(found, workload, load)
        yield ""
        yield from compared(found, workload, load)
        yield ""
        yield from by_size(found, workload, load)
        yield ""


def by_load(found: dict[Run, dict[str, float | None]]) -> Iterator[str]:
    """Yields a table for each figure of the slides: a row per load."""
    columns = (*ORDER, schemes.CONSTANT)
    for name in ("average", "mice_average", "mice_p99", "elephants"):
        yield f"| load | {FIGURES[name][0]}: {' | '.join(columns)} |"
        yield "|" + "---|" * (1 + len(columns))
        for load in sorted({run.load for run in found}):
            of = {
                scheme: [
                    values[name] for run, values in found.items() if run[1:3] == (load, scheme)
                ]
                for scheme in columns
            }
            cells = (_cell(of[scheme]) if of[scheme] else "–" for scheme in columns)
            yield f"| {load} | " + " | ".join(cells) + " |"
        yield ""


def without_control(found: dict[Run, dict[str, float | None]], load: float) -> str:
    """Returns what pFabric costs without rate control at this load, as the page says it."""
    said = []
    for name, of in (("average", "average"), ("mice_p99", "99th percentile of mice")):
        pairs = [
            (old, new)
            for run, values in sorted(found.items())
            if run[1:3] == (load, schemes.CONSTANT)
            and (old := found.get(run._replace(scheme="pFabric"), {}).get(name))
            and (new := values[name])
        ]
        change = of_pairs(Metric(name, "", (), str), schemes.CONSTANT, pairs)
        percent, low, high = (
            100 * ((ratio or 1.0) - 1)
            for ratio in (change.ratio, change.ratio_low, change.ratio_high)
        )
        said.append(f"{of} {percent:+.1f} % ({low:+.1f} to {high:+.1f} %, {len(pairs)} seeds)")
    return f"at {100 * load:g} % load {said[0]}, {said[1]}"


def means(found: dict[Run, dict[str, float | None]], workload: str, load: float) -> Iterator[str]:
    yield "| scheme | seeds | " + " | ".join(title for title, _ in FIGURES.values()) + " |"
    yield "|" + "---|" * (2 + len(FIGURES))
    for scheme in [*schemes.SCHEMES, *schemes.TESTS]:
        values = [values for run, values in found.items() if run[:3] == (workload, load, scheme)]
        if values:
            yield (
                f"| {scheme} | {len(values)} | "
                + " | ".join(_cell([value[name] for value in values]) for name in FIGURES)
                + " |"
            )


def compared(
    found: dict[Run, dict[str, float | None]], workload: str, load: float
) -> Iterator[str]:
    against = {figure: differences(found, workload, load, figure) for figure in _COMPARED}
    rows = {
        scheme: [_ratio(of.get(scheme)) for of in against.values()] for scheme in schemes.SCHEMES
    }
    if any(any(cells) for cells in rows.values()):
        yield "| over pFabric | " + " | ".join(FIGURES[figure][0] for figure in _COMPARED) + " |"
        yield "|" + "---|" * (1 + len(_COMPARED))
        yield from (
            f"| {scheme} | " + " | ".join(cells) + " |"
            for scheme, cells in rows.items()
            if any(cells)
        )


def shares(workload: str, load: float, seed: int) -> tuple[float, float, float]:
    """Returns the shares of flows up to 100 kB, above 10 MB, and in between. All schemes have the
    same flows."""
    drawn, _ = schemes.point("pFabric", workload, load, seed, Path()).load().flow_list()
    sizes = list(drawn.column("bytes"))
    mice, elephants = (
        sum(chosen) / len(sizes)
        for chosen in ((size <= MICE for size in sizes), (size > ELEPHANTS for size in sizes))
    )
    return mice, elephants, 1 - mice - elephants


def by_size(
    found: dict[Run, dict[str, float | None]], workload: str, load: float, base: str = "pFabric"
) -> Iterator[str]:
    """Yields a table of the average of flows of 100 kB to 10 MB, and of the sizes that cause the
    difference of a scheme's average from pFabric's.

    The average of all flows is that of the three classes, weighted by their shares.
    """
    seeds = sorted({run.seed for run in found if run[:3] == (workload, load, base)})
    of_seed = {seed: shares(workload, load, seed) for seed in seeds}
    if of_seed:
        yield "| scheme | flows of 100 kB to 10 MB, average | difference to pFabric's average | by flows up to 100 kB | by 100 kB to 10 MB | by beyond 10 MB |"
        yield "|" + "---|" * 6
    for scheme in schemes.SCHEMES if of_seed else ():
        own = {
            seed: values
            for seed in seeds
            if (values := found.get(Run(workload, load, scheme, seed)))
        }
        if not own:
            continue
        # Contribution of each class to the average, by seed: short flows, long flows, the rest.
        parts = {seed: _parts(values, of_seed[seed]) for seed, values in own.items()}
        against = {
            seed: _parts(found[Run(workload, load, base, seed)], of_seed[seed]) for seed in own
        }
        short, long, middle = (
            mean([parts[seed][place] - against[seed][place] for seed in own]) for place in range(3)
        )
        whole = short + long + middle
        cells = (
            ["–"] * 4
            if scheme == base
            else [
                f"{whole:+.2f}",
                *(f"{round(100 * part / whole)} %" for part in (short, middle, long)),
            ]
        )
        yield (
            f"| {scheme} | {_cell([parts[seed][2] / of_seed[seed][2] for seed in own])} | "
            + " | ".join(cells).replace("-", "−")
            + " |"
        )


def _parts(
    values: dict[str, float | None], weights: tuple[float, float, float]
) -> tuple[float, float, float]:
    short, long = (
        weight * (values[name] or 0.0)
        for weight, name in zip(weights, ("mice_average", "elephants"), strict=False)
    )
    return short, long, (values["average"] or 0.0) - short - long


def _cell(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    within = interval(known)
    return f"{mean(known):.2f}" + (f" ({within[0]:.2f} to {within[1]:.2f})" if within else "")


def _ratio(found: Difference | None) -> str:
    if found is None or not (found.ratio and found.ratio_low and found.ratio_high):
        return ""
    return f"{found.ratio:.2f} ({found.ratio_low:.2f} to {found.ratio_high:.2f})"
