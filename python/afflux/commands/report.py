"""`afflux report`."""

from pathlib import Path
from typing import Annotated

import typer

from ..terminal.console import failures, print_text, warn_of_failed_checks
from .baseline import gathered
from .options import OUTPUT, Baseline, Dirs, starting

FIGURES = "Figures"

EXAMPLES = (
    "afflux report out/shallow-* out/deep-* --baseline deep -o report.html",
    "afflux report out/shallow-* out/deep-* --format pdf -o figures",
)


def report(
    dirs: Dirs,
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE.html|DIR",
            help="File of the page, or directory of the figures. An older page and older figures are replaced.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ],
    baseline: Baseline = None,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="html|pdf|svg|png",
            help="html: a page. Others: figures for a paper.",
            autocompletion=starting("html", "pdf", "svg", "png"),
            rich_help_panel=OUTPUT,
        ),
    ] = "html",
    title: Annotated[
        str | None,
        typer.Option(
            "--title",
            metavar="TEXT",
            help="Line above the question of the page.",
            show_default="none",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace an existing file that is not a page of afflux.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    whole_run: Annotated[
        bool,
        typer.Option(
            "--whole-run",
            help="Draw time axes to the end of the run, also where there is little traffic.",
            rich_help_panel=FIGURES,
        ),
    ] = False,
    hosts: Annotated[
        bool,
        typer.Option(
            "--hosts",
            help="Draw the longest queue of switches and hosts, not only of switches.",
            rich_help_panel=FIGURES,
        ),
    ] = False,
) -> None:
    """Write a self-contained HTML page with the answer, completion times, their parts, a replay, port series and job timelines; or figures for a paper."""
    from .. import report as reports
    from ..report import paper

    with failures():
        designs = gathered(dirs, baseline)
        warn_of_failed_checks(
            result for design in designs.values() for result in design.results.values()
        )
        if format == "html" and (whole_run or hosts):
            raise ValueError(
                "--whole-run and --hosts go with --format pdf, svg or png: the page has switches for both"
            )
        if format == "html":
            if out.is_file() and out.stat().st_size and not force and not reports.is_page(out):
                raise ValueError(
                    f"{out} exists and is not a report of afflux: choose another name, or --force to replace it"
                )
            written = [reports.write(designs, out, title=title)]
        elif title is not None:
            raise ValueError("--title goes with --format html: figures for papers have no heading")
        else:
            written = paper.write(designs, out, format, whole_run=whole_run, hosts=hosts)
        for path in written:
            print_text(f"written to {path}: {path.stat().st_size / 1e6:.2f} MB\n")
