"""Serves a page about a run in progress, for `--watch`, on the loopback interface of this machine
while the run lasts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .. import _core
    from ..batch import Watch
    from ..metrics import Metric
    from ..terminal.progress import Show

__all__ = ["of_batch", "of_run"]


@contextmanager
def of_run(scenario: _core.Scenario, show: Show, wanted: bool) -> Iterator[Show]:
    """Yields the callback of a run: `show` and, with `wanted`, the page too."""
    if not wanted:
        yield show
        return
    # A run without a page does not import the server's modules, which need some megabytes.
    from ..terminal.console import note
    from .server import Page
    from .simulation import Simulation

    with Page() as page:
        note(page.url, "watch: ")
        simulation = Simulation(scenario, show, page.publish)
        yield simulation
        simulation.close()


@contextmanager
def of_batch(
    command: str, watch: Watch, wanted: bool, main: Sequence[Metric] = ()
) -> Iterator[Watch]:
    """Yields the watch of a batch that `command` runs: `watch` and, with `wanted`, the page too.
    `main` are the metrics by which its points are judged, if known."""
    if not wanted:
        yield watch
        return
    from ..terminal.console import note
    from .points import Points
    from .server import Page

    with Page() as page:
        note(page.url, "watch: ")
        yield Points(command, watch, page.publish, main)
