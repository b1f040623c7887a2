"""`afflux models`."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .. import _core, spelling
from ..terminal.console import failures, print_json, show
from .options import SELECTION, Json, NoPager, argument

EXAMPLES = (
    "afflux models",
    "afflux models dctcp conga",
    "afflux models --kind marking",
)


def _names(incomplete: str) -> list[str]:
    return [
        name
        for name in dict.fromkeys(model.name for model in _core.models())
        if name.startswith(incomplete)
    ]


def _kinds(incomplete: str) -> list[str]:
    return [
        kind
        for kind in sorted({model.kind for model in _core.models()})
        if kind.startswith(incomplete)
    ]


def models(
    names: Annotated[
        list[str] | None,
        argument("NAME", "Show only these models.", autocompletion=_names),
    ] = None,
    kind: Annotated[
        str | None,
        SELECTION.option("--kind", "KIND", "Show only models of this kind.", autocompletion=_kinds),
    ] = None,
    as_json: Json = False,
    no_pager: NoPager = False,
) -> None:
    """List the models with their sources, what they reproduce faithfully and what they simplify."""
    with failures():
        every = sorted(_core.models(), key=lambda model: model.kind)
        if kind is not None:
            _known(kind, sorted({model.kind for model in every}), "kind of model")
            every = [model for model in every if model.kind == kind]
        if names:
            for name in names:
                _known(
                    name,
                    list(dict.fromkeys(model.name for model in every)),
                    "model" if kind is None else f"model of kind {kind!r}",
                )
            every = [model for model in every if model.name in names]
        if as_json:
            keys = ("kind", "name", "source", "faithful", "simplified")
            print_json([{key: getattr(model, key) for key in keys} for model in every])
        else:
            show(_shown(every), paged=True)


def _known(found: str, known: Sequence[str], what: str) -> None:
    if found not in known:
        raise LookupError(spelling.unknown(what, found, known, "`afflux models` lists all"))


def _shown(all_models: Sequence[_core.Model]) -> Iterator[RenderableType]:
    """Renders every model with its source, what is faithful and what is simplified."""
    for kind, of_kind in groupby(all_models, key=lambda model: model.kind):
        yield Text(kind, style="bold")
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="cyan", no_wrap=True)
        grid.add_column()
        for model in of_kind:
            notes = [Text(model.source)]
            notes += [
                Text.assemble((word, "dim"), line)
                for word, line in (
                    ("faithful: ", model.faithful),
                    ("simplified: ", model.simplified),
                )
                if line
            ]
            grid.add_row(model.name, Group(*notes))
        yield Padding(grid, (0, 0, 1, 2))
