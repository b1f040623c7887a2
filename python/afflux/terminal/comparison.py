"""Shows the comparison of designs with a baseline."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from .. import settings
from ..comparison import changes
from ..comparison.compare import Comparison
from ..comparison.paired import SAME, Difference
from ..comparison.phrases import means_differ
from ..metrics import SHORT
from ..results import split
from ..words import say
from .drawing import answer, table, zeros
from .explanation import change


def comparison(
    found: Comparison, causes: Mapping[str, split.Comparison | None], width: int
) -> Iterator[RenderableType]:
    """Output of `afflux compare`: the answer, all metrics, and the parts of the difference in mean completion time."""
    yield answer(found.sentence())
    shown = settings.short_names([found.baseline, *found.designs])
    for design in found.designs:
        wanted = [d for d in found.of(design) if not found.asked or d.metric in found.asked]
        yield from _against(found, design, shown, wanted)
        if made := causes.get(design):
            yield Text()
            yield from change(made, width)
    if found.notes:
        yield Text()
    for note in found.notes:
        yield Text(f"note: {note}", style="dim")


def _against(
    found: Comparison, design: str, shown: Mapping[str, str], chosen: Sequence[Difference]
) -> Iterator[RenderableType]:
    baseline, name = shown[found.baseline], shown[design]
    yield from differences(f"{name} against {baseline}", baseline, name, chosen)


def differences(
    title: str, baseline: str, design: str, found: Sequence[Difference]
) -> Iterator[RenderableType]:
    """Renders a table with a line per metric. Established differences are bold."""
    colours = {"better": "green", "worse": "red"}
    made = table(title, "", baseline, design, "change", "95 % interval", "verdict", labels=[-1])
    zero = [d.metric.title for d in found if d.baseline_mean == d.design_mean == 0]
    for d in found:
        if d.metric.title in zero:
            continue
        difference = "0" if d.verdict == SAME else changes.in_unit_of_interval(d)
        row = (
            d.metric.title,
            d.metric.show(d.baseline_mean),
            d.metric.show(d.design_mean),
            difference,
            changes.interval(d),
            _verdict(d),
        )
        style = colours.get(d.verdict, "dim" if d.verdict == SAME else "")
        made.add_row(*row, style=f"bold {style}" if d.established else style)
    yield made
    yield from zeros(zero)
    if any(map(means_differ, found)):
        yield Text(f"note: {say('measures.typical')}", style="dim")


def verdicts(found: Comparison) -> Iterator[RenderableType]:
    """Renders a table per design, with a line for each main metric or each metric asked for:
    values, change and verdict against the baseline."""
    metrics = found.asked or [metric for metric in SHORT if not metric.counter]
    shown = settings.short_names([found.baseline, *found.designs])
    for design in found.designs:
        yield from _against(
            found, design, shown, [d for d in found.of(design) if d.metric in metrics]
        )
    if found.notes:
        yield Text()
    for note in found.notes:
        yield Text(f"note: {note}", style="dim")


def _verdict(d: Difference) -> str:
    return f"{d.verdict}, exact" if d.deterministic and d.verdict != SAME else d.verdict
