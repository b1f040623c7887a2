"""Many simulations: sweeps and studies."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from .. import settings
from ..batch.grid import Sweep
from ..metrics import SHORT
from ..results.statistics import mean
from ..studies.study import HEAD, Verdict, cells, number
from ..words import text
from .drawing import answer, plural, table


def sweep(found: Sweep) -> Iterator[RenderableType]:
    """Output of `afflux sweep`: a line per combination with means over its seeds."""
    rows, seeds = found.rows, {row["seed"] for row in found.rows}
    keys = settings.short(found.keys)
    lines: list[tuple[list[Text | str], bool]] = []
    shown = [metric for metric in SHORT if any(row.get(metric.name) for row in rows)]
    for _, group in groupby(rows, key=lambda row: [row[key] for key in found.keys]):
        points = list(group)
        done = [row for row in points if row["status"] == "finished"]
        values = [mean([row[metric.name] for row in done]) if done and all(row[metric.name] is not None for row in done) else None for metric in shown]
        cells: list[Text | str] = ["–" if value is None else metric.show(value) for metric, value in zip(shown, values, strict=True)]
        failed = f"{len(points) - len(done)} failed" if len(done) < len(points) else ""
        lines.append(([*(settings.shown(points[0][key]) for key in found.keys), *cells, failed], bool(done)))
    failures = any(cells[-1] for cells, _ in lines)
    titles = [*keys, *(metric.title for metric in shown), *([""] if failures else [])]
    made = table(f"{plural(len(rows), 'point')}, {plural(len(seeds), 'seed')}", *titles, left=len(keys), labels=[-1] if failures else [])
    for cells, good in lines:
        made.add_row(*cells[: len(titles)], style="" if good else "red")
    yield made
    yield Text()
    for note in found.outcome.notes:
        yield Text(f"note: {note}", style="dim")
    yield Text(f"means over seeds; every point is in {found.path}", style="dim")


def studies(listed: Sequence[dict[str, Any]]) -> Iterator[RenderableType]:
    """The list of studies."""
    if not listed:
        yield Text("there are no built-in studies yet")
        return
    made = table("", "study", "simulations", "with --quick", "", words=[-1])
    for one in listed:
        made.add_row(one["study"], text.count(one["points"]), text.count(one["points_quick"]), one["title"])
    yield made


def verdict(found: Verdict) -> Iterator[RenderableType]:
    """Output of `afflux study NAME`."""
    if found.answer:
        yield answer(found.answer)
    made = table("Ours beside the source's numbers", *HEAD)
    for row in found.rows:
        made.add_row(*cells(row), style="" if row.predicted else "dim")
    yield made
    if found.checks:
        made = table("Checks", "", "value", "bar", "", labels=[-1])
        for check in found.checks:
            made.add_row(check.name, number(check.value), number(check.bar), "holds" if check.holds else "does not hold", style="" if check.holds else "red")
        yield made
    yield Text()
    for note in found.outcome.notes:
        yield Text(f"note: {note}", style="dim")
    places = ", ".join(str(path) for path in (*found.written, found.outcome.dir))
    yield Text(f"written to {places}", style="dim")
