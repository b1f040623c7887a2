"""Tables of README.md, from the points of results/runs.csv."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from ...comparison.paired import Difference, of_pairs
from ...metrics import Metric
from ...results.statistics import interval, mean
from . import schemes
from .measure import DRAWN, ELEPHANTS, FIGURES, MICE
from .runs import EVERY_LOAD, LOADS, Points, Run

#: Schemes that are compared with each other, at loads of web search.
FACING = (
    ("pFabric", "Ideal", 0.6),
    ("PDQ", "DCTCP", 0.6),
    ("PDQ, 10 us", "DCTCP", 0.6),
    ("HULL", "DCTCP", 0.6),
    ("DCTCP", "pFabric", 0.6),
    ("8 queues", "DCTCP", 0.6),
    ("4 queues", "DCTCP", 0.6),
    ("4 queues", "8 queues", 0.6),
    (schemes.CONSTANT, "pFabric", 0.6),
    (schemes.CONSTANT, "pFabric", 0.8),
)


def difference(
    found: Points, workload: str, load: float, figure: str, scheme: str, base: str
) -> Difference | None:
    """Returns the difference of a scheme from the base, over the seeds that both have: Student's t
    on the logarithms of the paired ratios."""
    pairs = [
        (old, new)
        for run, values in sorted(found.items())
        if run[:3] == (workload, load, scheme)
        and (old := found.get(run._replace(scheme=base), {}).get(figure))
        and (new := values[figure])
    ]
    return of_pairs(Metric(figure, "", (), str), scheme, pairs) if pairs else None


def differences(
    found: Points, workload: str, load: float, figure: str, base: str = "pFabric"
) -> dict[str, Difference]:
    """Returns the difference of every scheme from the base."""
    return {
        scheme: than
        for scheme in schemes.SCHEMES
        if scheme != base and (than := difference(found, workload, load, figure, scheme, base))
    }


def change(than: Difference | None) -> str:
    """Formats a difference in percent, with its interval if there are several seeds."""
    if than is None or than.ratio is None:
        return "–"
    ratios = (than.ratio, than.ratio_low, than.ratio_high)
    value, *within = (f"{_percent(ratio):+.1f}" for ratio in ratios if ratio is not None)
    return f"{value} ({' to '.join(within)})" if within else value


def _percent(ratio: float) -> float:
    # No "-0.0".
    return round(100 * (ratio - 1), 1) + 0.0


def facing(found: Points) -> Iterator[str]:
    """Yields by how much schemes differ from each other with web search."""
    yield f"| against | load | {', % | '.join(FIGURES[name][0] for name in DRAWN)}, % |"
    yield "|" + "---|" * (2 + len(DRAWN))
    for scheme, base, load in FACING:
        cells = [change(difference(found, "websearch", load, name, scheme, base)) for name in DRAWN]
        yield f"| {scheme}, against {base} | {load} | {' | '.join(cells)} |"


def orders(found: Points) -> Iterator[str]:
    """Yields by load how near pFabric is to the Ideal, and PDQ against DCTCP, without the slowest
    flows as the study's check has it."""
    asked = (("pFabric", "Ideal", "average"), ("PDQ", "DCTCP", "trimmed"))
    columns = [(workload, *one) for workload in schemes.WORKLOADS for one in asked]
    titles = (
        f"{schemes.WORKLOADS[workload]}: {scheme} against {base}, %"
        for workload, scheme, base, _ in columns
    )
    yield f"| load | {' | '.join(titles)} |"
    yield "|" + "---|" * (1 + len(columns))
    for load in LOADS:
        cells = (
            change(difference(found, workload, load, figure, scheme, base))
            for workload, scheme, base, figure in columns
        )
        yield f"| {load} | {' | '.join(cells)} |"


#: Figures of the second table.
_COMPARED = ("average", "mice_p99", "elephants")


def table(found: Points) -> Iterator[str]:
    """Yields means with their intervals, a block for each workload and load."""
    for workload, load in sorted({run[:2] for run in found}):
        yield f"{schemes.WORKLOADS[workload]}, load {load}\n"
        yield from means(found, workload, load)
        yield ""
        yield from compared(found, workload, load)
        yield ""
        yield from by_size(found, workload, load)
        yield ""


def at_every_load(found: Points) -> Iterator[str]:
    """Yields all tables of the part `loads`."""
    yield from (*orders(found), "", *facing(found), "", *by_load(found))


def by_load(found: Points) -> Iterator[str]:
    """Yields the tables of both distributions of sizes: for each figure of the slides a row per
    load."""
    for workload, columns in EVERY_LOAD.items():
        yield f"{schemes.WORKLOADS[workload].capitalize()}: {', '.join(columns)}\n"
        yield from _by_load(found, workload, columns)


def _by_load(found: Points, workload: str, columns: Sequence[str]) -> Iterator[str]:
    for name in DRAWN:
        yield f"| load | {FIGURES[name][0]}: {' | '.join(columns)} |"
        yield "|" + "---|" * (1 + len(columns))
        for load in LOADS:
            of = {
                scheme: [
                    values[name]
                    for run, values in found.items()
                    if run[:3] == (workload, load, scheme)
                ]
                for scheme in columns
            }
            cells = (_cell(of[scheme]) if of[scheme] else "–" for scheme in columns)
            yield f"| {load} | " + " | ".join(cells) + " |"
        yield ""


def means(found: Points, workload: str, load: float) -> Iterator[str]:
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


def compared(found: Points, workload: str, load: float) -> Iterator[str]:
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


@cache
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


def by_size(found: Points, workload: str, load: float, base: str = "pFabric") -> Iterator[str]:
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
