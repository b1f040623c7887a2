"""`afflux demo`."""

from pathlib import Path
from typing import Annotated

import typer

from ..terminal.console import failures
from .options import results_dir

EXAMPLES = ("afflux demo",)


def demo(
    out: Annotated[
        Path | None,
        results_dir("out/demo"),
    ] = None,
) -> None:
    """Compare five switch designs for a Hadoop sort, and write a report. It takes a minute or two on two cores."""
    from .. import demo as question

    with failures():
        if code := question.main(out or question.OUT):
            raise typer.Exit(code)
