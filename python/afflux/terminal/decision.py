"""Shows decisions: the answer, the goals by design, and the paths of all files."""

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from ..decision import Decision
from .comparison import verdicts
from .drawing import answer, table


def decision(found: Decision, dir: Path) -> Iterator[RenderableType]:
    """Output of `afflux decide`."""
    yield answer(found.sentence())
    if goals := found.table():
        made = table(goals.caption, *goals.head, labels=[-1])
        for row in goals.rows:
            made.add_row(*row)
        yield made
        notes = [*found.outcome.notes, *found.designs.notes]
    else:
        yield from verdicts(found.comparison)
        notes = [*found.outcome.notes]
    for note in notes:
        yield Text(f"note: {note}", style="dim")
    yield Text(
        f"written to {dir / 'decision.json'}, {dir / 'report.html'}, {found.outcome.dir}",
        style="dim",
    )
