"""`afflux compare`."""

from pathlib import Path
from typing import Annotated

import typer

from ..results.result import Result
from ..terminal.console import failures, print_json, show, warn_of_doubts, width
from .options import Dirs, NoPager

EXAMPLES = ("afflux compare out/shallow-* out/deep-* --baseline out/deep-1",)


def compare(
    dirs: Dirs,
    baseline: Annotated[Path | None, typer.Option("--baseline", metavar="DIR", help="A result of the design to compare to.", show_default="the first")] = None,
    by: Annotated[str, typer.Option("--by", metavar="size|class", help="Split the differences by size of flows or by class of traffic, too.")] = "size",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    no_pager: NoPager = False,
) -> None:
    """Differences between designs, seed by seed, with 95 % intervals; first the answer in words, last what makes the difference in completion time."""
    from ..comparison.compare import compare as compared
    from ..results import split
    from ..results.designs import gather
    from ..terminal import comparison as shown

    with failures():
        chosen = Result.open(baseline).summary["name"] if baseline else None
        # The baseline may be named once more, or only there.
        places = {path.resolve(): path for path in [*dirs, *([baseline] if baseline else [])]}
        designs = gather(places.values())
        warn_of_doubts(result for design in designs.values() for result in design.results.values())
        found = compared(designs, chosen)
        changes = split.changes(designs, found.baseline, [by])
        if as_json:
            print_json(found.to_dict() | {"split": {name: change.to_dict() if change else None for name, change in changes.items()}})
        else:
            show(shown.comparison(found, changes, width()), paged=True)
