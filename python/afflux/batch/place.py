"""The directory of a batch: whose it is, and the lock on it while a batch is at work there."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import _core, signals
from ..files import durable

MANIFEST = "manifest.json"
LOCK = ".lock"
#: Seconds to wait for another afflux: one that was killed may take this long to be gone.
PATIENCE = 3.0


class Busy(_core.Error):
    """Another process is at work in the directory."""


def home(place: Path) -> Path:
    """Where the points of a sweep, a search or a study are, of which `place` holds everything. Raises `ValueError` if `place` is somebody else's."""
    points = place / "points"
    if place.exists() and not place.is_dir():
        raise ValueError(f"{place} is a file: name a directory")
    if place.is_dir() and not (points / MANIFEST).exists():
        refuse_foreign(place, place, f"points/{MANIFEST}", {points.name})
    return points


def refuse_foreign(place: Path, dir: Path, lacking: str, own: set[str]) -> None:
    """A killed process of ours may have left something without a manifest; anything else is not ours."""
    foreign = sorted(child.name for child in dir.iterdir() if child.name not in own and not durable.is_ours(child.name))
    if foreign:
        raise ValueError(f"{place} has files ({', '.join(foreign[:3])}{', …' if foreign[3:] else ''}) but no {lacking}: choose another directory, or empty it")


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """The lock goes with the process, however it ends."""
    with (out / LOCK).open("w") as lock:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise Busy(f"another afflux is at work in {out}: wait for its end, or choose another directory") from None
            signals.check()
            time.sleep(0.05)
        yield
