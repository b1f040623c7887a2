"""Runs many simulations on all cores, each only once. A batch that was killed continues.

    outcome = batch.run([Point("deep", "hadoop.toml", {"switch.buffer": "8GB"}, seed=1), …], "out/hadoop")
    outcome.designs["deep"].value(JOB_TIME)

The directory holds one result directory per point and `manifest.json`, which lists each point with
its scenario and its outcome. afflux writes the manifest before the first point begins and replaces
it as a whole after each point. So the manifest is always complete, and a directory with a manifest
belongs to afflux. A point runs again if its scenario, its inputs or the version of afflux changed,
if a file of its result is damaged, or if it failed. Otherwise its result is read.
"""

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from .. import __version__, _core, settings, signals
from ..executors import Answer, Executor, named, refuse_with_object
from ..files import durable
from ..results import designs
from ..results.result import Result
from ..worker import build
from .manifest import Manifest, Task
from .place import Busy, home, locked
from .point import Point, Source, load

__all__ = [
    "Busy",
    "Failure",
    "Outcome",
    "Point",
    "Silent",
    "Source",
    "Watch",
    "home",
    "load",
    "run",
]


@dataclass(frozen=True)
class Failure:
    """A point that failed."""

    #: Name and seed, such as `deep-1`.
    point: str
    #: Error message.
    error: str


@dataclass(frozen=True)
class Outcome:
    """The results of a batch."""

    #: The directory of the batch.
    dir: Path
    #: Results of the requested points that did not fail, by name and seed.
    results: Mapping[tuple[str, int], Result]
    #: The requested points that failed.
    failures: tuple[Failure, ...]
    #: Number of points whose results were read instead of simulated.
    reused: int
    #: Remarks for readers of the results, one sentence each.
    notes: tuple[str, ...]
    #: Each warning about a scenario, with the points that have it.
    warned: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Number of points.
    points: int = 0
    #: Points of earlier batches in the directory that this one does not have.
    others: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """Each warning once. A warning that only some points have names one of them."""
        where = {
            warning: f" (in {len(keys)} of {self.points} points, as in {keys[0]})"
            for warning, keys in self.warned.items()
            if len(keys) < self.points
        }
        return [warning + where.get(warning, "") for warning in self.warned]

    @property
    def designs(self) -> designs.Designs:
        """The designs, by the names of the points. Raises `ValueError` if every point failed."""
        return designs.gather(self.results.values())


class Watch(Protocol):
    """Receives the progress of a batch."""

    def listed(self, dirs: Mapping[str, Path], done: Collection[str]) -> None:
        """Called once per batch, before all other methods: the result directory of each point, and
        the points that already have a result."""

    def preparing(self, done: int, total: int) -> None:
        """Called before `begin`: `done` of `total` points have been validated and looked up in the
        directory."""

    def begin(self, total: int, reused: int) -> None:
        """Called when the batch begins: the number of points, and how many of them already have a
        result."""

    def finished(self, point: str, seconds: float, error: str | None) -> None:
        """Called when a point has ended, after so many seconds; `error` is the message if it
        failed."""

    def running(self, shares: Mapping[str, float]) -> None:
        """Called while points run, with the finished share (0 to 1) of each."""


class Silent:
    def preparing(self, done: int, total: int) -> None: ...
    def listed(self, dirs: Mapping[str, Path], done: Collection[str]) -> None: ...
    def begin(self, total: int, reused: int) -> None: ...
    def finished(self, point: str, seconds: float, error: str | None) -> None: ...
    def running(self, shares: Mapping[str, float]) -> None: ...


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
    tables: Sequence[Path] = (),
) -> Outcome:
    """Simulates the points without a result, `jobs` at a time (default: one per core), each on
    `threads` threads, or all on an `executor`.

    All points are validated first. An invalid point raises `ScenarioError` before anything runs;
    without `all_valid` it counts as failed instead. With `strict` a point with warnings is invalid.
    A point that fails does not stop the others. `fresh` simulates all points again. `tables` are
    files about the results of an earlier batch: they are removed before a point is simulated, so
    that those of a batch that was killed do not look like its own.
    """
    watch = watch or Silent()
    out = Path(out)
    if executor is not None:
        refuse_with_object(jobs=jobs)
    settings.whole("jobs", jobs, 1, settings.MOST_THREADS)
    settings.limited(len(points))
    tasks, refused = _validated(points, out, threads, all_valid, watch)
    warned = _warned(tasks)
    if strict and warned:
        raise _core.ScenarioError("\nerror: ".join(warned))
    if twice := [key for key, count in Counter(task.key for task in tasks).items() if count > 1]:
        raise ValueError(
            f"two points are {min(twice)}: points of the same name need different seeds"
        )
    durable.make_dir(out)
    with locked(out):
        manifest = Manifest.read(out)
        manifest.order(task.key for task in tasks)
        durable.remove_leftovers(out)
        manifest.write()
        if executor is not None:
            executor.claim(
                manifest.storage_owner(), [] if manifest.points else [task.key for task in tasks]
            )
        others = tuple(manifest.points.keys() - {task.key for task in tasks})
        done = set()
        for place, task in enumerate(tasks):
            watch.preparing(len(points) + place, 2 * len(points))
            signals.check()
            if not fresh and manifest.holds(task):
                done.add(task.key)
        builds = {manifest.points[key].get("build") for key in done} - {build()}
        notes = (
            [
                f"some results are from another build of afflux {__version__}: remove {out} to simulate all points again"
            ]
            if builds
            else []
        )
        watch.listed({task.key: task.dir for task in tasks}, done)
        watch.begin(len(tasks), len(done))
        missing = [task for task in tasks if task.key not in done]
        manifest.outdate(task.key for task in missing)
        if missing:
            for path in tables:
                path.unlink(missing_ok=True)
        if executor is not None:
            _simulate(missing, manifest, executor, watch)
        elif missing:
            with named("local", jobs=jobs) as ours:
                _simulate(missing, manifest, ours, watch)
        notes += manifest.notes()
        failures = [
            Failure(task.key, manifest.points[task.key]["error"])
            for task in tasks
            if manifest.points[task.key]["status"] == "failed"
        ]
        failed = {failure.point for failure in failures}
        results = {
            (task.point.name, task.seed): Result.open(task.dir)
            for task in tasks
            if task.key not in failed
        }
    return Outcome(
        out, results, (*refused, *failures), len(done), tuple(notes), warned, len(tasks), others
    )


def _warned(tasks: Sequence[Task]) -> Mapping[str, Sequence[str]]:
    having: dict[str, list[str]] = {}
    for task in tasks:
        for warning in task.warnings:
            having.setdefault(warning, []).append(task.key)
    return having


def _validated(
    points: Sequence[Point], out: Path, threads: int, all_valid: bool, watch: Watch
) -> tuple[list[Task], list[Failure]]:
    tasks: list[Task] = []
    wrong: list[Failure] = []
    for place, point in enumerate(points):
        watch.preparing(place, 2 * len(points))
        signals.check()
        try:
            tasks.append(Task.of(point, out, threads))
        except _core.ScenarioError as error:
            if all_valid:
                raise
            wrong.append(
                Failure(
                    point.name if point.seed is None else f"{point.name}-{point.seed}", str(error)
                )
            )
    return tasks, wrong


def _simulate(tasks: Sequence[Task], manifest: Manifest, executor: Executor, watch: Watch) -> None:
    missing = {task.key: task for task in tasks}
    for task in tasks:
        if found := manifest.obstacle(task):
            manifest.put(task.key, missing.pop(task.key).entry(Answer(0.0, found)))
            watch.finished(task.key, 0.0, found)
        else:
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
