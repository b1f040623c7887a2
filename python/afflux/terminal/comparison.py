"""Designs against a baseline."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..comparison import changes
from ..comparison.compare import Comparison
from ..comparison.paired import SAME, Difference
from ..metrics import SHORT
from ..results import split
from .drawing import answer, table
from .explanation import change


def comparison(found: Comparison, causes: Mapping[str, split.Comparison | None], width: int) -> Iterator[RenderableType]:
    """Output of `afflux compare`: the answer, all metrics, and the parts of the difference in mean completion time."""
    yield answer(found.sentence())
    for design in found.designs:
        shown = [d for d in found.of(design) if not found.asked or d.metric in found.asked]
        yield differences(f"{design} against {found.baseline}", found.baseline, design, shown)
        if made := causes.get(design):
            yield Text()
            yield from change(made, width)
    if found.notes:
        yield Text()
    for note in found.notes:
        yield Text(f"note: {note}", style="dim")


def differences(title: str, baseline: str, design: str, found: Sequence[Difference]) -> Table:
    """A line per metric. Established differences are bold."""
    colours = {"better": "green", "worse": "red"}
    made = table(title, "", baseline, design, "change", "95 % interval", "verdict", labels=[-1])
    for d in found:
        difference = "0" if d.verdict == SAME else changes.by(d)
        row = (d.metric.title, d.metric.show(d.baseline_mean), d.metric.show(d.design_mean), difference, changes.interval(d), _verdict(d))
        style = colours.get(d.verdict, "dim" if d.verdict == SAME else "")
        made.add_row(*row, style=f"bold {style}" if d.established else style)
    return made


def verdicts(found: Comparison) -> Iterator[RenderableType]:
    """A line per design: the change of the main metrics against the baseline, each with its verdict."""
    metrics = [metric for metric in SHORT if not metric.counter and any(d.metric is metric for d in found.differences)]
    made = table(f"Against {found.baseline}: change and verdict", "design", *(metric.title for metric in metrics))
    for design in found.designs:
        of_metric = {d.metric: d for d in found.of(design)}
        made.add_row(design, *(_cell(of_metric.get(metric)) for metric in metrics))
    yield made
    for note in found.notes:
        yield Text(f"note: {note}", style="dim")


def _cell(d: Difference | None) -> str:
    if d is None:
        return "–"
    return d.verdict if d.verdict == SAME else f"{changes.by(d)} {_verdict(d)}"


def _verdict(d: Difference) -> str:
    return f"{d.verdict}, exact" if d.deterministic and d.verdict != SAME else d.verdict
