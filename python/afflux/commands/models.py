"""`afflux models`."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .. import _core
from ..terminal.console import failures, print_json, show

EXAMPLES = (
    "afflux models",
    "afflux models --json",
)


def models(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False) -> None:
    """List every model with its source and its limits."""
    with failures():
        every = sorted(_core.models(), key=lambda model: model.kind)
        if as_json:
            keys = ("kind", "name", "source", "faithful", "simplified")
            print_json([{key: getattr(model, key) for key in keys} for model in every])
        else:
            show(_shown(every))


def _shown(all_models: Sequence[_core.Model]) -> Iterator[RenderableType]:
    """Every model: its source, what is faithful, what is simplified."""
    for kind, of_kind in groupby(all_models, key=lambda model: model.kind):
        yield Text(kind, style="bold")
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="cyan", no_wrap=True)
        grid.add_column()
        for model in of_kind:
            notes = [Text(model.source)]
            notes += [Text.assemble((word, "dim"), line) for word, line in (("faithful: ", model.faithful), ("simplified: ", model.simplified)) if line]
            grid.add_row(model.name, Group(*notes))
        yield Padding(grid, (0, 0, 1, 2))
