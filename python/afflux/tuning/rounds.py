"""The batches of a search, watched as one."""

from collections.abc import Collection, Mapping
from pathlib import Path

from ..batch import Watch


class Rounds:
    """Tells a watch of every point that is simulated; `planned` is the most that there can be."""

    def __init__(self, watch: Watch, planned: int) -> None:
        self._watch = watch
        watch.begin(planned, 0)

    def preparing(self, done: int, total: int) -> None:
        """A round has few points."""

    def listed(self, dirs: Mapping[str, Path], done: Collection[str]) -> None:
        self._watch.listed(dirs, done)

    def begin(self, total: int, reused: int) -> None:
        """Of one batch: the search has said all that is known beforehand."""

    def finished(self, point: str, seconds: float, error: str | None) -> None:
        self._watch.finished(point, seconds, error)

    def running(self, shares: Mapping[str, float]) -> None:
        self._watch.running(shares)
