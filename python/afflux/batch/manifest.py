"""`manifest.json`: the scenario and the outcome of each point of a batch."""

import hashlib
import json
import os
import re
import socket
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..executors import Answer, Order
from ..files import durable, plain, toml
from ..results import own
from ..results.result import SUMMARY, Result
from ..results.written import DamagedResult, NotAsWritten, checked_point, read_object
from ..worker import build
from .place import LOCK, MANIFEST, refuse_foreign
from .point import Point

#: Error of a point whose earlier result does not count any more.
OUTDATED = "the batch ended before this point was simulated again"


@dataclass(frozen=True)
class Task:
    """A validated point and its result directory."""

    point: Point
    key: str
    seed: int
    dir: Path
    scenario_hash: str
    #: SHA-256 of the resolved scenario. It covers the recordings too: a run that records something
    #: else is another result.
    digest: str
    resolved: str
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, point: Point, out: Path, threads: int) -> "Task":
        loaded = point.load(threads)
        key = f"{point.name}-{loaded.seed}"
        # The number of threads does not change the result.
        same = re.sub(r"(?m)^threads = \d+$", "", loaded.resolved)
        digest = hashlib.sha256(same.encode()).hexdigest()
        return cls(
            point,
            key,
            loaded.seed,
            out / key,
            loaded.hash,
            digest,
            loaded.resolved,
            tuple(map(str, loaded.warnings)),
        )

    def order(self) -> Order:
        return Order(
            self.resolved,
            os.path.abspath(self.point.path),
            os.path.abspath(self.dir),
            toml.inputs(self.resolved),
        )

    def entry(self, answer: Answer) -> dict[str, Any]:
        """The entry of this point in the manifest."""
        head = {
            "scenario": str(self.point.path),
            "set": {key: toml.value(value) for key, value in self.point.set.items()},
            "seed": self.seed,
        }
        head |= {
            "scenario_hash": self.scenario_hash,
            "digest": self.digest,
            "afflux_version": __version__,
            "build": build(),
        }
        error = answer.error or self._foreign(answer)
        if error is None:
            return head | {"status": "finished", "wall_s": answer.wall_s} | answer.said
        return head | {"status": "failed", "wall_s": answer.wall_s, "error": error}

    def _foreign(self, answer: Answer) -> str | None:
        """The error if another version of afflux, or another scenario, produced the result."""
        theirs = answer.said["afflux_version"]
        if theirs != __version__:
            return f"it was simulated by afflux {theirs}, but this is afflux {__version__}: install the same version on all machines"
        return (
            None
            if answer.said["scenario_hash"] == self.scenario_hash
            else "another scenario was simulated there: install the same version of afflux on all machines"
        )


def entries(path: Path) -> tuple[dict[str, dict[str, Any]], str | None]:
    """Returns the points of a manifest and the identifier of its batch. Raises `NotAsWritten`."""
    try:
        return _entries(path)
    except NotAsWritten as error:
        cure = f"remove {path.parent} to run all points again"
        raise NotAsWritten(path, error.found, cure) from None


def _entries(path: Path) -> tuple[dict[str, dict[str, Any]], str | None]:
    found = read_object(path.read_bytes(), path)
    points, id = found.get("points"), found.get("id")
    if not isinstance(points, dict):
        raise NotAsWritten(path, "points are no object of finished and failed points")
    if id is not None and not (isinstance(id, str) and re.fullmatch(r"[0-9a-f]{32}", id)):
        raise NotAsWritten(path, "id is no identifier")
    return {key: checked_point(entry, key, path) for key, entry in points.items()}, id


def members(path: Path) -> list[Path] | None:
    """Returns the result directories of a sweep, a search, a decision or a study, whose directory or
    `points` is named; None if `path` is neither. Raises `ValueError` if no point is finished."""
    for place in (path, path / "points"):
        if (place / MANIFEST).is_file():
            points, _ = entries(place / MANIFEST)
            found = [place / key for key, entry in points.items() if entry["status"] == "finished"]
            if not found:
                raise ValueError(f"{path}: none of its points is finished")
            return found
    return None


class Manifest:
    def __init__(
        self, path: Path, points: dict[str, dict[str, Any]], id: str | None = None
    ) -> None:
        self.path, self.points = path, points
        #: Identifier of this batch, for shared storage.
        self.id = id or uuid.uuid4().hex
        #: Place of each point in the order of the batch.
        self.places: dict[str, int] = {}
        #: Damage because of which points run again, by key.
        self.damage: dict[str, str] = {}

    @classmethod
    def read(cls, out: Path) -> "Manifest":
        path = out / MANIFEST
        if not path.exists():
            refuse_foreign(out, out, MANIFEST, {LOCK})
            return cls(path, {})
        points, id = entries(path)
        return cls(path, points, id)

    def storage_owner(self) -> dict[str, str]:
        """Identity of the batch whose results a folder on shared storage holds, written to that
        folder."""
        return {
            "batch": self.id,
            "dir": os.path.abspath(self.path.parent),
            "host": socket.gethostname(),
        }

    def holds(self, task: Task) -> bool:
        """True if the result of this point exists and is undamaged."""
        entry = self.points.get(task.key, {})
        if (entry.get("status"), entry.get("digest"), entry.get("afflux_version")) != (
            "finished",
            task.digest,
            __version__,
        ):
            return False
        try:
            result = Result.open(task.dir)
            result.check()
            return result.summary["result_hash"] == entry["result_hash"]
        except FileNotFoundError:
            return False
        except (DamagedResult, OSError) as error:
            self.damage[task.key] = plain.words(error).partition(": restore")[0]
            return False

    def obstacle(self, task: Task) -> str | None:
        """Returns the reason why a result cannot be written to the directory of this point. Removes
        the files of a result without summary.json if the manifest lists the point, because a run
        replaces only directories with a summary."""
        try:
            found = own.foreign(task.dir, of_batch=True)
            if found is None and own.lacks_summary(task.dir):
                if task.key in self.points and own.remove_tables(task.dir):
                    self.damage[task.key] = f"{task.dir} has no {SUMMARY}"
                else:
                    found = f"{task.dir} is not a result that afflux may replace (it has no {SUMMARY}): move your own files, remove it, and run the batch again"
        except OSError as error:
            found = f"{plain.words(error)}: remove {task.dir}, and run the batch again"
        if found is not None:
            self.damage.pop(task.key, None)
        return found

    def notes(self) -> list[str]:
        """Returns the reasons why points ran again, for the user."""
        return [f"{key} was simulated again: {damage}" for key, damage in self.damage.items()]

    def outdate(self, keys: Iterable[str]) -> None:
        """Replaces the outcomes of points that are about to be simulated again: whoever reads the
        manifest of a batch that was killed must not take them for results of this scenario."""
        listed = [key for key in keys if key in self.points]
        for key in listed:
            self.points[key] |= {"status": "failed", "error": OUTDATED}
        if listed:
            self.write()

    def put(self, key: str, entry: dict[str, Any]) -> None:
        self.points[key] = entry
        self.write()

    def order(self, keys: Iterable[str]) -> None:
        """Sets the order in which points are written: the first design of a batch stays the first
        for those who read the manifest. Points of earlier batches follow by name."""
        self.places = {key: place for place, key in enumerate(keys)}

    def write(self) -> None:
        """Replaces the file atomically: a reader finds the old or the new manifest."""
        last = len(self.places)
        keys = sorted(self.points, key=lambda key: (self.places.get(key, last), key))
        points = {key: self.points[key] for key in keys}
        text = json.dumps(
            {"format": 1, "id": self.id, "points": points}, indent=1, ensure_ascii=False
        )
        durable.write_text(self.path, text + "\n")
