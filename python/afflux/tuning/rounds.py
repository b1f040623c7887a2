"""Shows the batches of a search as one."""

from collections.abc import Collection, Mapping
from pathlib import Path

from ..batch import Watch


class Rounds:
    """Forwards the progress of all rounds to one watch. `planned` is the largest possible number of
    points."""

    def __init__(self, watch: Watch, planned: int) -> None:
        self._watch = watch
        watch.begin(planned, 0)

    def preparing(self, done: int, total: int) -> None:
        """Ignored: a round has few points."""

    def listed(self, dirs: Mapping[str, Path], done: Collection[str]) -> None:
        self._watch.listed(dirs, done)

    def begin(self, total: int, reused: int) -> None:
        """Ignored: the total number of points was announced at the start of the search."""

    def finished(self, point: str, seconds: float, error: str | None) -> None:
        self._watch.finished(point, seconds, error)

    def running(self, shares: Mapping[str, float]) -> None:
        self._watch.running(shares)
