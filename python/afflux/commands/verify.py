"""`afflux verify`."""

from pathlib import Path
from typing import Annotated

import typer

from ..terminal.console import FAILED, complain, failures, print_json, print_text, show
from .options import Json, argument

EXAMPLES = ("afflux verify out/incast-dctcp-1", "afflux verify out/* --json")


def verify(
    dirs: Annotated[
        list[Path],
        argument("DIR", "Directories of results, sweeps, searches or studies."),
    ],
    as_json: Json = False,
) -> None:
    """Compare every file of results with its SHA-256 in summary.json. Exits with 0 if all files are as they were written, with 1 if not."""
    from ..batch import verification
    from ..terminal.drawing import table

    with failures():
        found = [verification.verify(dir) for dir in dirs]
        if as_json:
            print_json([one.to_dict() for one in found])
        else:
            made = table("", "directory", "", "results", "files", "MB", "", left=2, labels=[-1])
            for one in found:
                made.add_row(
                    str(one.dir),
                    one.kind,
                    str(one.results),
                    str(one.files),
                    f"{one.bytes / 1e6:.1f}",
                    "good" if one.good else "not good",
                )
            show([made])
            for one in found:
                for problem in one.problems:
                    complain(problem)
                for note in one.notes:
                    print_text(f"note: {note}\n")
        if not all(one.good for one in found):
            raise typer.Exit(FAILED)
