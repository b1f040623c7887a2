"""The directory of a batch: its owner, and its lock while a batch runs in it."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import _core, signals
from ..files import durable

MANIFEST = "manifest.json"
LOCK = ".lock"
#: Seconds to wait for the lock: a killed process may hold it this long.
PATIENCE = 3.0


class Busy(_core.Error):
    """Another process works in the directory."""


def home(place: Path) -> Path:
    """Returns the directory of the points of a sweep, a search or a study that is kept in `place`.
    Raises `ValueError` if `place` belongs to something else."""
    points = place / "points"
    if place.exists() and not place.is_dir():
        raise ValueError(f"{place} is a file: name a directory")
    if place.is_dir() and not (points / MANIFEST).exists():
        refuse_foreign(place, place, f"points/{MANIFEST}", {points.name})
    return points


def refuse_foreign(place: Path, dir: Path, lacking: str, own: set[str]) -> None:
    """Raises `ValueError` if the directory holds files that are neither `own` nor left by a killed writer of afflux."""
    foreign = sorted(
        child.name
        for child in dir.iterdir()
        if child.name not in own and not durable.is_ours(child.name)
    )
    if foreign:
        raise ValueError(
            f"{place} has files ({', '.join(foreign[:3])}{', …' if foreign[3:] else ''}) but no {lacking}: choose another directory, or empty it"
        )


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Holds the lock of the directory. The kernel releases it when the process ends, however it ends."""
    with (out / LOCK).open("w") as lock:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise Busy(
                        f"another afflux process is writing to {out}: wait for its end, or choose another directory"
                    ) from None
            signals.check()
            time.sleep(0.05)
        yield
