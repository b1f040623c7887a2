"""Shared fixtures: small scenarios, and the `afflux` command as users run it.

Three kinds of tests carry a mark. A `slow` test may take more than `LIMIT` seconds. A `realtime` test
compares with the wall clock and runs alone, after all other tests. A `validation` test is part of
`make validate` instead of `make test`.
"""

import contextlib
import csv
import fcntl
import functools
import io
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from typer.main import get_command
from typer.testing import CliRunner

from afflux import cli

REPO = Path(__file__).resolve().parents[1]
SHARED = REPO.parent / "shared"

#: Longest time in seconds of a test without the mark `slow` or `validation`, including its fixtures.
LIMIT = 20.0
#: Factor on the limit of `--fast` above which a test leaves out its module, if the tests of the
#: module share fixtures.
FIXTURE = 6
#: File with the durations in seconds of the longer tests in an earlier run. `python -m tests.suite
#: --keep` renews it.
DURATIONS = Path(__file__).with_name("durations.json")

#: Factor on the number of random cases and samples of `make test`. `make fuzz` sets a larger one
#: (DRAWS in the Makefile).
DRAWS = int(os.environ.get("AFFLUX_DRAWS", "1"))

# The runner of typer builds all commands for each call, which takes 20 ms. The commands never
# change, so one build serves thousands of calls.
vars(typer.testing)["_get_command"] = functools.cache(get_command)

# Newer versions of Ray admit only processes that know the cluster's token. All processes of the
# tests share this token.
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}

#: A few senders overflow a small buffer. Drops, retransmissions and time-outs occur within
#: milliseconds.
INCAST = """\
format = 1
name = "small"

[topology]
kind = "star"
hosts = 9
rate = "10Gbps"
delay = "1us"

[switch]
sharing = "static"
buffer = "30packets"

[host.transport]
stack = "basic"
min_rto = "1ms"

[[traffic]]
kind = "incast"
name = "query"
to = 0
senders = 8
bytes = "200kB"
rounds = 3
period = "5ms"
jitter = "1us"

[record]
ports = { interval = "100us" }
paths = true
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


def as_many(count: int) -> int:
    """Returns the number of random cases or samples for a test that takes `count` in
    `make test`.
    """
    return count * DRAWS


@pytest.fixture(scope="session")
def once(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, Callable[[Path], object]], Path]:
    """Returns a function that gives a directory by name. The first test process that needs the
    directory fills it, the others wait. Tests only read it."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "once"
    root.mkdir(exist_ok=True)

    def filled(name: str, fill: Callable[[Path], object]) -> Path:
        place, done = root / name, root / f"{name}.done"
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir()
                fill(place)
                done.touch()
        return place

    return filled


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Returns Chromium, driven by Playwright."""
    chromium = next(
        (
            found
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (found := shutil.which(name))
        ),
        None,
    )
    if chromium is None:
        pytest.skip("needs a browser: apt-get install chromium")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install playwright"
    )
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def process(tmp_path: Path) -> Command:
    """Returns a function that runs `afflux` as a separate process in an empty directory, for tests
    of processes, signals, memory and program start."""

    def run(*args: object, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
        return subprocess.run(
            [sys.executable, "-m", "afflux", *map(str, args)],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


@pytest.fixture
def command(invoke: Callable[..., Any], tmp_path: Path) -> Command:
    """Returns a function that runs `afflux` inside the test process, 0.4 s faster than a separate
    process, with a result like that of `subprocess.run`."""

    def run(*args: object, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        with contextlib.chdir(cwd):
            done = invoke(*args)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(
            ["afflux", *map(str, args)], done.exit_code, done.stdout, done.stderr
        )

    return run


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Returns a function that runs `afflux` inside the test process in an empty directory, with the
    result of typer's test runner."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*args: object) -> Any:
        return CliRunner().invoke(cli.app, [*map(str, args)])

    return run


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates points of sweeps, searches and decisions inside the test process, 0.05 s faster
    each than in separate processes. For tests that are about the evaluation of the results."""
    from here import Here

    from afflux import batch, executors

    def named(name: str, named: Callable[..., Any] = executors.named, **more: Any) -> Any:
        return Here() if name == "local" else named(name, **more)

    for module in (batch, executors):
        monkeypatch.setattr(module, "named", named)


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[..., Path]:
    """Returns a function that writes a scenario file: `INCAST` with replaced parts of its text."""

    def write(*replacements: tuple[str, str], text: str = INCAST, name: str = "small.toml") -> Path:
        for old, new in replacements:
            assert old in text, f"{old!r} is not in the scenario"
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def shared() -> Path:
    """Returns the folder of reference data next to the checkout."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the reference data in {SHARED}")
    return SHARED


# ------------------------------------------------------------------------------------------------------------ order, groups and time


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast",
        type=float,
        metavar="SECONDS",
        help="leave out tests that took more in an earlier run, and those in real time",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives the next test, or the next module whose tests share a fixture, to the first idle
    process."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sorts tests by duration, longest first, so that all processes end at about the same time.
    Tests that share an expensive fixture stay in one process."""
    took: dict[str, float] = (
        json.loads(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.is_file() else {}
    )
    limit = config.getoption("--fast")
    if limit is not None:
        # A fixture of a module counts for the first test of the module, and would run for any.
        heavy = {group(name) for name, seconds in took.items() if seconds > FIXTURE * limit}
        long = {
            item
            for item in items
            if took.get(item.nodeid, 0.0) > limit
            or group(item.nodeid) in heavy
            or item.get_closest_marker("realtime")
            or item.get_closest_marker("slow")
        }
        config.hook.pytest_deselected(items=[*long])
        items[:] = [item for item in items if item not in long]
    groups = {item.nodeid: group(item.nodeid) for item in items}
    total: dict[str, float] = defaultdict(float)
    for name, of in groups.items():
        total[of] += took.get(name, 0.0)
    items.sort(key=lambda item: (-total[groups[item.nodeid]], groups[item.nodeid]))


def group(nodeid: str) -> str:
    """Returns the module for tests of a module with its own fixtures, and otherwise the test
    itself."""
    file = nodeid.partition("::")[0]
    return file if _has_fixtures(file) else nodeid


@functools.cache
def _has_fixtures(file: str) -> bool:
    path = REPO / file
    return path.is_file() and 'scope="module"' in path.read_text(encoding="utf-8")


class Stopwatch:
    """Measures the seconds that a test would take on an idle machine.

    On a busy machine a test waits for a processor. Some kernels count this wait for the test's own
    process. On other kernels, and for child processes, the estimate is the time in which any
    process of the machine waited. This estimate is limited to the processor time of the test plus
    that of its children, times the processes that wait for each processor, at least four.
    """

    def __init__(self) -> None:
        self.start = self._now()
        self.before = self.running = _running(os.getpid())
        self.ended = _ended()

    def look(self) -> None:
        """Notes the processor time of running children, which may have ended when the test has."""
        self.running = self.running | _running(os.getpid())

    def children(self) -> float:
        """Returns the processor time of the children since the start, in seconds."""
        self.look()
        running = sum(now - self.before.get(child, 0.0) for child, now in self.running.items())
        # A child that ran and has ended since is in both.
        return max(running, _ended() - self.ended)

    def seconds(self) -> float:
        wall, waited, own, stalled = (
            now - before for now, before in zip(self._now(), self.start, strict=True)
        )
        crowd = max(4.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        return self.alone(wall, waited, own, self.children(), stalled, crowd)

    @staticmethod
    def alone(
        wall: float,
        waited: float,
        own: float,
        children: float,
        stalled: float,
        crowd: float = 4.0,
    ) -> float:
        """Returns `wall` without the waits for a processor, in seconds. `waited` is 0 if the kernel
        does not count them. `crowd`: processes that wait for each processor."""
        return wall - waited - min(stalled, crowd * children + (0.0 if waited else own))

    @staticmethod
    def _now() -> tuple[float, float, float, float]:
        times = os.times()
        waited = stalled = 0.0
        with contextlib.suppress(OSError):
            waited = int(Path("/proc/self/schedstat").read_text().split()[1]) * 1e-9
        with contextlib.suppress(OSError):
            stalled = (
                int(Path("/proc/pressure/cpu").read_text().partition("total=")[2].split()[0]) * 1e-6
            )
        return (
            time.monotonic(),
            waited,
            times.user + times.system,
            stalled,
        )


def _ended() -> float:
    """Returns the processor time in seconds of the children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _running(process: int) -> dict[int, float]:
    """Returns the processor time in seconds of each running child of a process, as a browser that a
    fixture keeps open, and of their children; empty where the kernel does not list them."""
    seconds: dict[int, float] = {}
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        # A process may end while it is looked at.
        with contextlib.suppress(OSError):
            for child in map(int, tasks.read_text().split()):
                stat = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                # utime and stime of proc_pid_stat(5).
                seconds[child] = sum(map(int, stat[11:13])) / os.sysconf("SC_CLK_TCK")
                seconds |= _running(child)
    return seconds


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Lets a test without the mark `slow` or `validation` fail if it takes longer than `LIMIT`."""
    report = yield
    watch = item.stash[_WATCH]
    free = item.get_closest_marker("slow") or item.get_closest_marker("validation")
    if call.when == "call":
        watch.look()
    if call.when == "teardown" and report.passed and not free:
        seconds = watch.seconds()
        if seconds > LIMIT * DRAWS:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} took {seconds:.0f} s, more than {LIMIT:g}: make it shorter, or mark it `slow` and say why it needs the time"
    return report


_WATCH = pytest.StashKey[Stopwatch]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_WATCH] = Stopwatch()


def rows(path: Path) -> list[dict[str, str]]:
    """Returns the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(path.read_text())))
