"""`afflux demo`."""

from pathlib import Path
from typing import Annotated

import typer

from ..terminal.console import failures
from .options import OUTPUT, results_dir

EXAMPLES = ("afflux demo", "afflux demo --json")


def demo(
    out: Annotated[
        Path | None,
        results_dir("out/demo"),
    ] = None,
    as_json: Annotated[
        bool,
        OUTPUT.flag(
            "--json", "Print the comparison as afflux compare --json, and the path of the report."
        ),
    ] = False,
) -> None:
    """Compare five switch designs for a Hadoop sort, and write a report. It takes a minute or two on two cores."""
    from .. import demo as question

    with failures():
        if code := question.main(out or question.OUT, as_json):
            raise typer.Exit(code)
