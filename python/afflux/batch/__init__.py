"""Many simulations: each once, over all cores, resumable after a kill.

    outcome = batch.run([Point("deep", "hadoop.toml", {"switch.buffer": "8GB"}, seed=1), …], "out/hadoop")
    outcome.designs["deep"].value(JOB_TIME)

The directory holds one result directory per point and `manifest.json`, which says for each point what was run and what came of it.
It is written before the first point begins and replaced as a whole after each, so it is always true, and a directory that has it is ours.
A point is run again if its scenario, its inputs or the version of afflux changed, if a file of its result is not as it was written, or if it failed;
everything else is read.
"""

import fcntl
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .. import __version__, _core, signals
from ..executors import Answer, Executor, Order, named
from ..executors.process import build
from ..files import durable, toml
from ..results import designs
from ..results.result import DamagedResult, Result
from ..scenario import Scenario

MANIFEST = "manifest.json"
#: Seconds to wait for another afflux: one that was killed may take this long to be gone.
PATIENCE = 3.0


#: A scenario file, or a scenario made in code.
Source = str | os.PathLike[str] | Scenario


@dataclass(frozen=True)
class Point:
    """One simulation. Points of one name are one design, with several seeds."""

    name: str
    scenario: Source
    #: Keys that differ from the scenario file, as `{"switch.buffer": "9MB"}`.
    set: Mapping[str, Any] = field(default_factory=dict)
    #: None: the scenario's own.
    seed: int | None = None

    def load(self, threads: int = 1) -> _core.Scenario:
        """Validates it. Raises `ScenarioError`."""
        return load(self.scenario, {**self.set, "name": self.name}, seed=self.seed, threads=threads)

    @property
    def path(self) -> Path:
        """The scenario file; of a scenario made in code the one that its inputs are relative to."""
        return self.scenario.path if isinstance(self.scenario, Scenario) else Path(self.scenario)


def load(scenario: Source, changes: Mapping[str, Any], *, seed: int | None = None, threads: int | None = None) -> _core.Scenario:
    """A scenario with some keys changed, validated. Raises `ScenarioError`."""
    pairs = [(key, toml.value(value)) for key, value in changes.items()]
    if isinstance(scenario, Scenario):
        return _core.parse(scenario.to_toml(), scenario.path, set=pairs, seed=seed, threads=threads)
    return _core.load(scenario, set=pairs, seed=seed, threads=threads)


@dataclass(frozen=True)
class Failure:
    point: str
    error: str


@dataclass(frozen=True)
class Outcome:
    """What came of a batch."""

    dir: Path
    #: By name and seed, of the points that were asked for and did not fail.
    results: Mapping[tuple[str, int], Result]
    failures: tuple[Failure, ...]
    #: How many were read instead of run.
    reused: int
    notes: tuple[str, ...]
    #: Warnings about the scenarios, and the points that have each.
    warned: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: How many points there are.
    points: int = 0

    @property
    def warnings(self) -> list[str]:
        """Every warning once, with a point that has it if not all have."""
        where = {warning: f" (in {len(keys)} of {self.points} points, as in {keys[0]})" for warning, keys in self.warned.items() if len(keys) < self.points}
        return [warning + where.get(warning, "") for warning in self.warned]

    @property
    def designs(self) -> designs.Designs:
        """By the points' names. Raises `ValueError` if every point failed."""
        return designs.gather(self.results.values())


class Watch(Protocol):
    """Is told how a batch gets on."""

    def begin(self, total: int, reused: int) -> None: ...
    def finished(self, point: str, seconds: float, error: str | None) -> None: ...
    def running(self, shares: Mapping[str, float]) -> None:
        """What share of each running point is done."""


class Silent:
    def begin(self, total: int, reused: int) -> None: ...
    def finished(self, point: str, seconds: float, error: str | None) -> None: ...
    def running(self, shares: Mapping[str, float]) -> None: ...


class Busy(_core.Error):
    """Another process is at work in the directory."""


def home(place: Path) -> Path:
    """Where the points of a sweep, a search or a study are, of which `place` holds everything. Raises `ValueError` if `place` is somebody else's."""
    points = place / "points"
    if place.exists() and not place.is_dir():
        raise ValueError(f"{place} is a file: name a directory")
    if place.is_dir() and not (points / MANIFEST).exists():
        _refuse_foreign(place, place, f"points/{MANIFEST}", {points.name})
    return points


def _refuse_foreign(place: Path, dir: Path, lacking: str, own: set[str]) -> None:
    """A killed process of ours may have left something without a manifest; anything else is not ours."""
    foreign = sorted(child.name for child in dir.iterdir() if child.name not in own and not durable.is_ours(child.name))
    if foreign:
        raise ValueError(f"{place} has files ({', '.join(foreign[:3])}{', …' if foreign[3:] else ''}) but no {lacking}: choose another directory, or empty it")


def run(
    points: Sequence[Point],
    out: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    threads: int = 1,
    fresh: bool = False,
    watch: Watch | None = None,
    executor: Executor | None = None,
    all_valid: bool = True,
    strict: bool = False,
) -> Outcome:
    """Runs what is not there yet, `jobs` points at a time (default: one per core), each on `threads` threads, or all on an `executor`.

    All points are validated first: raises `ScenarioError`, and nothing was run; if not `all_valid`, the wrong ones have failed. With `strict` a
    point that has warnings is wrong. A point that fails does not stop the others. `fresh` runs all of them again.
    """
    watch = watch or Silent()
    out = Path(out)
    tasks, refused = _validated(points, out, threads, all_valid)
    warned = _warned(tasks)
    if strict and warned:
        raise _core.ScenarioError("\nerror: ".join(warned))
    if twice := {task.key for task in tasks if sum(other.key == task.key for other in tasks) > 1}:
        raise ValueError(f"two points are called {min(twice)}: points of one name differ in their seed")
    durable.make_dir(out)
    with _locked(out):
        manifest = _Manifest.read(out)
        durable.remove_leftovers(out)
        manifest.write()
        done = {task.key for task in tasks if not fresh and manifest.holds(task)}
        builds = {manifest.points[key].get("build") for key in done} - {build()}
        notes = [f"some points were read that another build of afflux {__version__} simulated: remove {out} to simulate all again"] if builds else []
        notes += manifest.notes
        watch.begin(len(tasks), len(done))
        missing = [task for task in tasks if task.key not in done]
        if executor is not None:
            _simulate(missing, manifest, executor, watch)
        elif missing:
            with named("local", jobs=jobs) as ours:
                _simulate(missing, manifest, ours, watch)
        failures = [Failure(task.key, manifest.points[task.key]["error"]) for task in tasks if manifest.points[task.key]["status"] == "failed"]
        failed = {failure.point for failure in failures}
        results = {(task.point.name, task.seed): Result.open(task.dir) for task in tasks if task.key not in failed}
    return Outcome(out, results, (*refused, *failures), len(done), tuple(notes), warned, len(tasks))


def _warned(tasks: Sequence["_Task"]) -> Mapping[str, Sequence[str]]:
    having: dict[str, list[str]] = {}
    for task in tasks:
        for warning in task.warnings:
            having.setdefault(warning, []).append(task.key)
    return having


def _validated(points: Sequence[Point], out: Path, threads: int, all_valid: bool) -> tuple[list["_Task"], list[Failure]]:
    tasks: list[_Task] = []
    wrong: list[Failure] = []
    for point in points:
        try:
            tasks.append(_Task.of(point, out, threads))
        except _core.ScenarioError as error:
            if all_valid:
                raise
            wrong.append(Failure(point.name if point.seed is None else f"{point.name}-{point.seed}", str(error)))
    return tasks, wrong


@dataclass(frozen=True)
class _Task:
    """A validated point and the place of its result."""

    point: Point
    key: str
    seed: int
    dir: Path
    scenario_hash: str
    #: Of the resolved scenario: other recordings of the same run are another result directory.
    digest: str
    resolved: str
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, point: Point, out: Path, threads: int) -> "_Task":
        loaded = point.load(threads)
        key = f"{point.name}-{loaded.seed}"
        # Threads change no result.
        same = re.sub(r"(?m)^threads = \d+$", "", loaded.resolved)
        digest = hashlib.sha256(same.encode()).hexdigest()
        return cls(point, key, loaded.seed, out / key, loaded.hash, digest, loaded.resolved, tuple(map(str, loaded.warnings)))

    def order(self) -> Order:
        return Order(self.resolved, os.path.abspath(self.point.path), os.path.abspath(self.dir))

    def entry(self, answer: Answer) -> dict[str, Any]:
        """What the manifest says of it."""
        head = {"scenario": str(self.point.path), "set": {key: toml.value(value) for key, value in self.point.set.items()}, "seed": self.seed}
        head |= {"scenario_hash": self.scenario_hash, "digest": self.digest, "afflux_version": __version__, "build": build()}
        error = answer.error or self._foreign(answer)
        if error is None:
            return head | {"status": "finished", "wall_s": answer.wall_s} | answer.said
        return head | {"status": "failed", "wall_s": answer.wall_s, "error": error}

    def _foreign(self, answer: Answer) -> str | None:
        """Was it made by an afflux that is not ours?"""
        theirs = answer.said["afflux_version"]
        if theirs != __version__:
            return f"it was simulated by afflux {theirs}, here is {__version__}: install the same on all machines"
        return None if answer.said["scenario_hash"] == self.scenario_hash else "another scenario was simulated: install the same afflux on all machines"


class _Manifest:
    def __init__(self, path: Path, points: dict[str, dict[str, Any]]) -> None:
        self.path, self.points = path, points
        #: What is to be known of points that are run again.
        self.notes: list[str] = []

    @classmethod
    def read(cls, out: Path) -> "_Manifest":
        path = out / MANIFEST
        if not path.exists():
            _refuse_foreign(out, out, MANIFEST, {LOCK})
            return cls(path, {})
        try:
            return cls(path, json.loads(path.read_text(encoding="utf-8"))["points"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} cannot be read ({error}): remove {out} to run every point again, or choose another directory") from None

    def holds(self, task: _Task) -> bool:
        """Is the result of this very point there, and as it was written?"""
        entry = self.points.get(task.key, {})
        if (entry.get("status"), entry.get("digest"), entry.get("afflux_version")) != ("finished", task.digest, __version__):
            return False
        try:
            result = Result.open(task.dir)
            result.check()
            return result.summary["result_hash"] == entry["result_hash"]
        except FileNotFoundError:
            return False
        except DamagedResult as error:
            self.notes.append(f"{task.key} was simulated again: {str(error).partition(': restore')[0]}")
            return False

    def put(self, key: str, entry: dict[str, Any]) -> None:
        self.points[key] = entry
        self.write()

    def write(self) -> None:
        """Replaces the file at once: whoever reads it finds the old one or the new one."""
        text = json.dumps({"format": 1, "points": dict(sorted(self.points.items()))}, indent=1, ensure_ascii=False)
        durable.write_text(self.path, text + "\n")


LOCK = ".lock"


@contextmanager
def _locked(out: Path) -> Iterator[None]:
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


def _simulate(tasks: Sequence[_Task], manifest: _Manifest, executor: Executor, watch: Watch) -> None:
    missing = {task.key: task for task in tasks}
    for task in tasks:
        executor.submit(task.key, task.order())
    try:
        while missing:
            for key, answer in executor.ended(1.0):
                entry = missing.pop(key).entry(answer)
                manifest.put(key, entry)
                watch.finished(key, entry["wall_s"], entry.get("error"))
            watch.running(executor.shares())
            signals.check()
    finally:
        executor.cancel()
