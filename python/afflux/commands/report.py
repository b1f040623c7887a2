"""`afflux report`."""

from pathlib import Path
from typing import Annotated

from ..terminal.console import failures, print_text, warn_of_failed_checks
from .baseline import gathered
from .options import OUTPUT, Baseline, Dirs, Panel, out_option, starting

FIGURES = Panel("Figures")

EXAMPLES = (
    "afflux report out/shallow-* out/deep-* --baseline deep -o report.html",
    "afflux report out/shallow-* out/deep-* --format pdf -o figures",
)


def report(
    dirs: Dirs,
    out: Annotated[
        Path,
        out_option(
            "FILE.html|DIR",
            "File of the page, or directory of the figures. An older page and older figures are replaced.",
        ),
    ],
    baseline: Baseline = None,
    format: Annotated[
        str,
        OUTPUT.option(
            "--format",
            "html|pdf|svg|png",
            "html: a page. Others: figures for a paper.",
            autocompletion=starting("html", "pdf", "svg", "png"),
        ),
    ] = "html",
    title: Annotated[
        str | None,
        OUTPUT.option(
            "--title", "TEXT", "Line above the question of the page.", show_default="none"
        ),
    ] = None,
    force: Annotated[
        bool,
        OUTPUT.flag("--force", "Replace an existing file that is not a page of afflux."),
    ] = False,
    whole_run: Annotated[
        bool,
        FIGURES.flag(
            "--whole-run",
            "Draw time axes to the end of the run, also where there is little traffic.",
        ),
    ] = False,
    hosts: Annotated[
        bool,
        FIGURES.flag(
            "--hosts", "Draw the longest queue of switches and hosts, not only of switches."
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
