"""`afflux report`."""

from pathlib import Path
from typing import Annotated

import typer

from ..results.result import Result
from ..terminal.console import failures, warn_of_doubts
from .options import Dirs

EXAMPLES = (
    "afflux report out/shallow-* out/deep-* -o report.html",
    "afflux report out/shallow-* out/deep-* --format pdf -o figures",
)


def report(
    dirs: Dirs,
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="FILE.html|DIR", help="The page, or the directory of figures; files of a name are replaced.", show_default=False),
    ],
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Heading of the page.", show_default="the designs' names")] = None,
    format: Annotated[str, typer.Option("--format", metavar="html|pdf|svg|png", help="The page, or figures for a paper.")] = "html",
    whole_run: Annotated[bool, typer.Option("--whole-run", help="Figures: time axes to the end of the run, though little happens there.")] = False,
    hosts: Annotated[bool, typer.Option("--hosts", help="Figures: the longest queue may be a host's.")] = False,
) -> None:
    """Write one self-contained HTML file: the answer, completion times, where the time went, a replay, port series, job timelines; or figures."""
    from .. import report as reports
    from ..report import paper

    with failures():
        results = [Result.open(dir) for dir in dirs]
        warn_of_doubts(results)
        if format == "html" and (whole_run or hosts):
            raise ValueError("--whole-run and --hosts are of figures: on the page both can be chosen")
        if format == "html":
            written = [reports.write(results, out, title=title)]
        elif title is not None:
            raise ValueError("--title is of the page: figures for papers have none")
        else:
            written = paper.write(results, out, format, whole_run=whole_run, hosts=hosts)
        for path in written:
            print(f"written to {path}: {path.stat().st_size / 1e6:.2f} MB")
