"""Many simulations: each once, over all cores, resumable after a kill.

    outcome = batch.run([Point("deep", "hadoop.toml", {"switch.buffer": "8GB"}, seed=1), …], "out/hadoop")
    outcome.designs["deep"].value(JOB_TIME)

The directory holds one result directory per point and `manifest.json`, which says for each point what was run and what came of it.
It is replaced as a whole after each point, so it is always true. A point is run again if its scenario, its inputs or the version of afflux
changed, or if it failed; everything else is read.
"""

import fcntl
import hashlib
import json
import os
import re
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from . import __version__, _core, designs, toml
from .result import Result

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Point:
    """One simulation. Points of one name are one design, with several seeds."""

    name: str
    scenario: str | os.PathLike[str]
    #: Keys that differ from the scenario file, as `{"switch.buffer": "9MB"}`.
    set: Mapping[str, Any] = field(default_factory=dict)
    #: None: the scenario's own.
    seed: int | None = None

    def load(self, threads: int = 1) -> _core.Scenario:
        """Validates it. Raises `ScenarioError`."""
        changes = [(key, toml.value(value)) for key, value in {**self.set, "name": self.name}.items()]
        return _core.load(self.scenario, set=changes, seed=self.seed, threads=threads)


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


def run(
    points: Sequence[Point],
    out: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    threads: int = 1,
    fresh: bool = False,
    watch: Watch | None = None,
) -> Outcome:
    """Runs what is not there yet, `jobs` points at a time (default: one per core), each on `threads` threads.

    All points are validated first: raises `ScenarioError`, and nothing was run. A point that fails does not stop the others. `fresh` runs
    all of them again. With points whose memory is known from the first of them to finish, no more run at once than fit.
    """
    watch = watch or Silent()
    out = Path(out)
    tasks = [_Task.of(point, out, threads) for point in points]
    if twice := {task.key for task in tasks if sum(other.key == task.key for other in tasks) > 1}:
        raise ValueError(f"two points are called {min(twice)}: points of one name differ in their seed")
    out.mkdir(parents=True, exist_ok=True)
    with _locked(out):
        manifest = _Manifest.read(out)
        done = {task.key for task in tasks if not fresh and manifest.holds(task)}
        builds = {manifest.points[key].get("build") for key in done} - {_build()}
        notes = [f"{len(done)} points were read from an earlier run, some of another build of afflux {__version__}; --fresh runs them again"] if builds else []
        watch.begin(len(tasks), len(done))
        _simulate([task for task in tasks if task.key not in done], manifest, jobs or _cores(), watch)
        failures = [Failure(task.key, manifest.points[task.key]["error"]) for task in tasks if manifest.points[task.key]["status"] == "failed"]
        failed = {failure.point for failure in failures}
        results = {(task.point.name, task.seed): Result.open(task.dir) for task in tasks if task.key not in failed}
    return Outcome(out, results, tuple(failures), len(done), tuple(notes))


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
    threads: int

    @classmethod
    def of(cls, point: Point, out: Path, threads: int) -> "_Task":
        loaded = point.load(threads)
        key = f"{point.name}-{loaded.seed}"
        # Threads change no result.
        resolved = re.sub(r"(?m)^threads = \d+$", "", loaded.resolved)
        return cls(point, key, loaded.seed, out / key, loaded.hash, hashlib.sha256(resolved.encode()).hexdigest(), threads)

    def order(self) -> dict[str, Any]:
        """What the worker needs to know."""
        changes = {key: toml.value(value) for key, value in {**self.point.set, "name": self.point.name}.items()}
        return {"scenario": os.path.abspath(self.point.scenario), "set": changes, "seed": self.seed, "threads": self.threads, "out": str(self.dir)}

    def entry(self, **more: Any) -> dict[str, Any]:
        """What the manifest says of it."""
        head = {"scenario": str(self.point.scenario), "set": {key: toml.value(value) for key, value in self.point.set.items()}, "seed": self.seed}
        return head | {"scenario_hash": self.scenario_hash, "digest": self.digest, "afflux_version": __version__, "build": _build()} | more


class _Manifest:
    def __init__(self, path: Path, points: dict[str, dict[str, Any]]) -> None:
        self.path, self.points = path, points

    @classmethod
    def read(cls, out: Path) -> "_Manifest":
        path = out / MANIFEST
        if not path.exists():
            if any(child.name != _LOCK for child in out.iterdir()):
                raise ValueError(f"{out} has files but no {MANIFEST}: it is not the directory of a batch; choose another or empty it")
            return cls(path, {})
        try:
            return cls(path, json.loads(path.read_text(encoding="utf-8"))["points"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} cannot be read ({error}): remove it to run every point again") from None

    def holds(self, task: _Task) -> bool:
        """Is the result of this very point there?"""
        entry = self.points.get(task.key, {})
        if (entry.get("status"), entry.get("digest"), entry.get("afflux_version")) != ("finished", task.digest, __version__):
            return False
        try:
            return Result.open(task.dir).summary["result_hash"] == entry["result_hash"]
        except (FileNotFoundError, ValueError):
            return False

    def put(self, key: str, entry: dict[str, Any]) -> None:
        """Replaces the file at once: whoever reads it finds the old one or the new one."""
        self.points[key] = entry
        text = json.dumps({"format": 1, "points": dict(sorted(self.points.items()))}, indent=1, ensure_ascii=False)
        partial = self.path.with_name(f".{MANIFEST}.partial")
        with partial.open("w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path)


_LOCK = ".lock"


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """The lock goes with the process, however it ends."""
    with (out / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"another afflux is at work in {out}") from None
        yield


def _simulate(tasks: list[_Task], manifest: _Manifest, jobs: int, watch: Watch) -> None:
    waiting = list(reversed(tasks))
    running: dict[str, _Worker] = {}
    memory, largest = _free_memory(), 0
    try:
        with selectors.DefaultSelector() as ready:
            while waiting or running:
                # As many as there are cores, but for memory: the largest of those that finished is what the next may need.
                room = jobs if not largest or memory is None else max(1, min(jobs, memory // largest))
                while waiting and len(running) < room:
                    worker = _Worker(waiting.pop())
                    running[worker.task.key] = worker
                    ready.register(worker.output, selectors.EVENT_READ, worker)
                for place, _ in ready.select(timeout=1.0):
                    worker = place.data
                    if worker.read():
                        continue
                    ready.unregister(worker.output)
                    del running[worker.task.key]
                    entry = worker.entry()
                    largest = max(largest, entry.get("peak_rss_bytes") or 0)
                    manifest.put(worker.task.key, entry)
                    watch.finished(worker.task.key, entry["wall_s"], entry.get("error"))
                watch.running({key: worker.share for key, worker in running.items()})
    finally:
        for worker in running.values():
            worker.stop()


class _Worker:
    """A process that runs one point. It ends when the pipe to it closes, so also when this process is killed."""

    def __init__(self, task: _Task) -> None:
        self.task, self.share = task, 0.0
        self._began, self._rest, self._answer = time.monotonic(), b"", None
        self._process = subprocess.Popen(
            [sys.executable, "-m", "afflux.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us; we stop the workers
        )
        assert self._process.stdin
        assert self._process.stdout
        self.output = self._process.stdout
        self._process.stdin.write(json.dumps(task.order()).encode() + b"\n")
        self._process.stdin.flush()

    def read(self) -> bool:
        """Takes what it says; false when it has ended."""
        data = os.read(self.output.fileno(), 65_536)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            self.share = said.get("share", self.share)
            self._answer = said.get("answer", self._answer)
        return bool(data)

    def entry(self) -> dict[str, Any]:
        """What came of it."""
        assert self._process.stderr
        # It writes there only when it dies.
        words = self._process.stderr.read().decode(errors="replace").strip()
        code = self._process.wait()
        self._close()
        wall = round(time.monotonic() - self._began, 3)
        if code == 0 and self._answer and "error" not in self._answer:
            return self.task.entry(status="finished", wall_s=wall, **self._answer)
        how = f"the process was ended by signal {-code}" if code < 0 else f"the process ended with code {code}"
        error = (self._answer or {}).get("error") or (f"{how}: {words[-1_000:]}" if words else how)
        return self.task.entry(status="failed", wall_s=wall, error=error)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _free_memory() -> int | None:
    """Bytes; None where the system does not tell."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


@cache
def _build() -> str:
    """Tells one build of the simulator from another of the same version."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:16]
