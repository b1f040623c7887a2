"""`afflux models`."""

from typing import Annotated

import typer

from .. import _core
from ..terminal.console import failures, print_json, show

EXAMPLES = (
    "afflux models",
    "afflux models --json",
)


def models(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False) -> None:
    """List every model with its source and its limits."""
    from ..terminal import render

    with failures():
        every = sorted(_core.models(), key=lambda model: model.kind)
        if as_json:
            keys = ("kind", "name", "source", "faithful", "simplified")
            print_json([{key: getattr(model, key) for key in keys} for model in every])
        else:
            show(render.models(every))
