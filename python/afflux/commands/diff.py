"""`afflux diff`."""

from pathlib import Path
from typing import Annotated

import typer

from ..terminal.console import WRONG, failures, print_json, show
from .options import Json, NoPager, argument

EXAMPLES = (
    "afflux diff out/shallow-1 out/deep-1",
    "afflux diff shallow.toml deep.toml",
    "afflux diff out/shallow-1 shallow.toml --json",
)

#: Exit code if the operands differ, the same as of diff(1).
DIFFERENT = 1


def diff(
    a: Annotated[
        Path,
        argument("A", "A result directory or a scenario file."),
    ],
    b: Annotated[
        Path,
        argument("B", "A result directory or a scenario file."),
    ],
    as_json: Json = False,
    no_pager: NoPager = False,
) -> None:
    """Show how two results or two scenarios differ: keys, tables, and the first flow with its
    columns. Exits with 0 if they are the same, with 1 if they differ, with 2 if they cannot be
    compared."""
    from ..comparison import diff as differences
    from ..terminal.difference import difference

    with failures(failed=WRONG):
        found = differences.diff(a, b)
        print_json(found.to_dict()) if as_json else show(difference(found), paged=True)
        if not found.same:
            raise typer.Exit(DIFFERENT)
