"""`afflux report --format pdf`: writes every figure of `afflux.plot` for which the results have
data, as files in a directory.

`afflux.figure` draws the studies' own panels as SVG and needs no other library.
"""

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..extras import needed
from ..files.durable import Writer, make_dir, write_all
from ..results import own
from ..results.designs import Designs, gather
from ..results.result import Result
from . import plot

if TYPE_CHECKING:
    from .printed import Figure


def write(
    results: Designs | Iterable[Result | str | os.PathLike[str]],
    dir: str | os.PathLike[str],
    format: str,
    *,
    whole_run: bool = False,
    hosts: bool = False,
) -> list[Path]:
    """Writes into `dir` the figures for which the results have data: fct-cdf, slowdown-by-size,
    changes, queue, split, split-shares, split-difference.

    `format` is `pdf`, `svg` or `png`; `whole_run` and `hosts` are those of `plot.queues`. Raises
    `MissingExtra`, `ValueError`.
    """
    with needed("plot", "a figure for papers"):
        from .printed import FORMATS
    if format not in FORMATS:
        raise ValueError(
            f"--format {format}: write html, {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        )
    designs = gather(results)
    dir = Path(dir)
    if dir.exists() and not dir.is_dir():
        raise ValueError(
            f"{dir} is a file: --format {format} writes several figures, -o names their directory"
        )
    drawn: dict[str, Callable[[], Figure]] = {
        "fct-cdf": lambda: plot.completion_times(designs),
        "slowdown-by-size": lambda: plot.slowdown_by_size(designs),
        "changes": lambda: plot.changes(designs),
        "queue": lambda: plot.queues(designs, whole_run=whole_run, hosts=hosts),
        "split": lambda: plot.split(designs),
        "split-shares": lambda: plot.split(designs, shares=True),
        "split-difference": lambda: plot.split_difference(designs),
    }
    files: dict[Path, Writer] = {}
    for name, draw in drawn.items():
        try:
            figure = draw()
        except plot.NothingToDraw:
            continue
        files[dir / f"{name}.{format}"] = partial(figure.write, format=format)
    own.refuse_parts(files)
    make_dir(dir)
    write_all(files)
    return list(files)
