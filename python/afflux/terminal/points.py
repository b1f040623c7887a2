"""Shows many simulations: sweeps, and the findings of a study."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from .. import settings
from ..batch.grid import MEANS, Combination, Mean, Sweep
from ..batch.shown import values
from ..metrics import SHORT, Metric
from ..results.statistics import ADVISED_SEEDS, ENOUGH_SEEDS, WIDE
from ..studies.study import HEAD, Verdict, cells, number
from .drawing import answer, plural, table


def sweep(found: Sweep, asked: Sequence[Metric] = ()) -> Iterator[RenderableType]:
    """Output of `afflux sweep`: a line per combination with means over its seeds, and their intervals where there are several seeds.

    The columns are the metrics that are asked for, or the main ones. Raises `ValueError` if no point has a metric."""
    rows, seeds = found.rows, {row["seed"] for row in found.rows}
    every = found.combinations
    for metric in asked:
        if found.outcome.results and all(row.get(metric.name) is None for row in rows):
            raise ValueError(
                f"--metric: no point has {metric.name}: {found.path} has all that there are as columns"
            )
    shown = list(asked) or [metric for metric in SHORT if any(row.get(metric.name) for row in rows)]
    keys = settings.short(found.keys)
    failures = any(one.failed for one in every)
    of = values(found, shown, asked=bool(asked))
    titles = [
        *keys,
        *of.heads,
        *([""] if failures else []),
    ]
    made = table(
        f"{plural(len(rows), 'point')}, {plural(len(seeds), 'seed')}",
        *titles,
        left=len(keys),
        labels=[-1] if failures else [],
    )
    for one, cells_of in zip(every, of.rows, strict=True):
        failed = f"{one.failed} failed" if one.failed else ""
        made.add_row(
            *[*_names(one), *cells_of, failed][: len(titles)], style="" if one.finished else "red"
        )
    yield made
    for note in of.notes:
        yield Text(note, style="dim")
    if len(seeds) > 1:
        yield from _intervals(every, keys, [metric for metric in shown if not metric.counter])
    yield Text()
    for note in found.outcome.notes:
        yield Text(f"note: {note}", style="dim")
    means = f"; means and intervals are in {found.path.with_name(MEANS)}" if len(seeds) > 1 else ""
    yield Text(f"means over seeds; every point is in {found.path}{means}", style="dim")


def _intervals(
    every: Sequence[Combination], keys: Sequence[str], shown: Sequence[Metric]
) -> Iterator[RenderableType]:
    """Renders a line per combination with the 95 % intervals of its means."""
    if not shown:
        return
    made = table(
        "95 % intervals of these means", *keys, *(metric.title for metric in shown), left=len(keys)
    )
    for one in every:
        made.add_row(
            *_names(one),
            *(
                "exact" if one.deterministic else _interval(metric, one.means.get(metric.name))
                for metric in shown
            ),
        )
    yield made
    if any(
        (value := one.means.get(metric.name)) is not None and value.wide
        for one in every
        for metric in shown
    ):
        yield Text(f"–: {WIDE}", style="dim")
    if any(one.deterministic for one in every):
        yield Text(
            "exact: every seed gave the same result, because nothing in the run depends on the seed; more seeds add nothing",
            style="dim",
        )
    if any(not one.deterministic and 0 < one.samples < ENOUGH_SEEDS for one in every):
        yield Text(
            f"fewer than {ENOUGH_SEEDS} seeds say little about the spread: run at least {ADVISED_SEEDS}",
            style="dim",
        )


def _names(one: Combination) -> list[str]:
    return [settings.shown(value) for value in one.values.values()]


def _interval(metric: Metric, value: Mean | None) -> str:
    if value is None or value.low is None or value.high is None:
        return "–"
    pairs = (
        (metric.brief(value.low, count), metric.brief(value.high, count)) for count in range(3, 7)
    )
    low, high = next(((low, high) for low, high in pairs if low != high), ("–", "–"))
    if low == high:
        return "–"
    # If both ends have the same unit, it is written once.
    number, _, unit = low.rpartition(" ")
    return f"{number} – {high}" if number and high.endswith(f" {unit}") else f"{low} – {high}"


def verdict(found: Verdict) -> Iterator[RenderableType]:
    """Output of `afflux study NAME`."""
    if found.answer:
        yield answer(found.answer)
    for one in found.overview:
        made = table(one.caption, *one.head, labels=[-1])
        for line in one.rows:
            made.add_row(*line)
        yield made
    if not found.overview:
        made = table("Ours beside the source's numbers", *HEAD)
        for row in found.rows:
            made.add_row(*cells(row), style="" if row.predicted else "dim")
        yield made
    if found.checks:
        made = table("Checks", "", "value", "bar", "", labels=[-1])
        for check in found.checks:
            made.add_row(
                check.name,
                number(check.value),
                number(check.bar),
                "holds" if check.holds else "does not hold",
                style="" if check.holds else "red",
            )
        yield made
    yield Text()
    for note in found.outcome.notes:
        yield Text(f"note: {note}", style="dim")
    places = ", ".join(str(path) for path in (*found.written, found.outcome.dir))
    yield Text(f"written to {places}", style="dim")
