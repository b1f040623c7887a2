"""Designs against a baseline."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..comparison import changes
from ..comparison.compare import Comparison
from ..comparison.paired import SAME, Difference
from ..results import split
from .drawing import answer, table
from .explanation import change


def comparison(found: Comparison, causes: Mapping[str, split.Comparison | None], width: int) -> Iterator[RenderableType]:
    """Output of `afflux compare`: the answer, all metrics, and the parts of the difference in mean completion time."""
    yield answer(found.sentence())
    for design in found.designs:
        yield differences(f"{design} against {found.baseline}", found.baseline, design, found.of(design))
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


def _verdict(d: Difference) -> str:
    return f"{d.verdict}, exact" if d.deterministic and d.verdict != SAME else d.verdict
