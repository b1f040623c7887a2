"""Progress of a run on stderr: a bar on a terminal, plain lines otherwise."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rich.console import Console

from .._core import Progress, Scenario
from ..words import text

if TYPE_CHECKING:
    import rich.progress

#: Interval of plain lines in seconds.
LINES_EVERY = 5.0


class Show(Protocol):
    def __call__(self, progress: Progress, /) -> object: ...


class Pace:
    """Speed and remaining time of a run."""

    def __init__(self, scenario: Scenario) -> None:
        self._until_ns = scenario.until_ns
        #: Number of flows of the run. Those of applications are estimated, as by `afflux check`.
        self.flows = scenario.flows
        self._end_ns = None if scenario.until_ns else scenario.expected_end_ns
        self._began = time.monotonic()
        self._last = (self._began, 0)
        #: Recent speed in packet-hops per second.
        self.rate = 0.0
        #: Speed of a run with real kernels, in words.
        self.guests: str | None = None

    def update(self, progress: Progress) -> None:
        now, hops = time.monotonic(), progress.packet_hops
        then, before = self._last
        if now > then:
            rate = (hops - before) / (now - then)
            # Moving average over about two seconds.
            self.rate += (rate - self.rate) * min(1.0, (now - then) / 2.0) if self.rate else rate
        self._last = (now, hops)
        self.guests = self._of_guests(progress, now - self._began)
        by_time = progress.now_ns / self._until_ns if self._until_ns else 0.0
        by_flows = progress.flows_finished / self.flows if self.flows else 0.0
        by_end = progress.now_ns / self._end_ns if self._end_ns else 1.0
        # Jobs start their flows in bursts, so time says more. A job can also take longer than
        # expected.
        self.done = by_end if by_end < 1.0 else min(max(by_time, by_flows), 1.0)
        now_text = text.time(progress.now_ns)
        flows = f"{text.count(progress.flows_finished)} of {text.count(self.flows)} flows"
        self.where = (
            f"{now_text} of {text.time(self._until_ns)}"
            if self._until_ns
            else f"{now_text}, {flows}"
        )
        elapsed = now - self._began
        self.left = (
            text.duration(elapsed * (1 - self.done) / self.done)
            if self.done > 0.01 and elapsed > 0.5
            else "?"
        )

    @property
    def line(self) -> str:
        speed = self.guests or f"{text.digits(self.rate / 1e6, 3)} Mhop/s"
        return f"{self.where}  {speed}  {self.left} left"

    @staticmethod
    def _of_guests(progress: Progress, elapsed: float) -> str | None:
        """Returns the speed of a run with real kernels: virtual time per second of real time, and
        the kernel that had the clock for the largest share of the real time. None without
        kernels."""
        slowest = progress.slowest_guest
        if slowest is None or elapsed <= 0:
            return None
        name, seconds = slowest
        speed = text.time(progress.now_ns / elapsed, 3)
        return f"{speed} per second, slowest {name} ({text.share(min(seconds / elapsed, 1.0))})"


@contextmanager
def shown(scenario: Scenario, console: Console) -> Iterator[Show]:
    """Yields the callback that shows a run, and removes the bar afterwards."""
    pace = Pace(scenario)
    if console.is_terminal:
        with _bar(console, pace) as show:
            yield show
    else:
        yield _lines(console, pace)


def _bars(console: Console) -> "rich.progress.Progress":
    from rich import progress as bars

    columns = [
        bars.BarColumn(max(min(console.width - 65, 40), 8)),
        bars.TaskProgressColumn(),
        bars.TextColumn("{task.description}"),
    ]
    return bars.Progress(*columns, console=console, transient=True)


@contextmanager
def _bar(console: Console, pace: Pace) -> Iterator[Show]:
    with _bars(console) as bar:
        task = bar.add_task("", total=1.0)

        def show(progress: Progress) -> None:
            pace.update(progress)
            bar.update(task, completed=pace.done, description=pace.line)

        yield show


class _Batch:
    """Shows the progress of a batch."""

    def __init__(self, console: Console, show: Callable[[float, str], object] | None) -> None:
        self._console, self._show = console, show
        self._began = time.monotonic()
        self._total = self._reused = self._done = 0
        #: Time at which a line was last printed before the first point began.
        self._printed = self._began

    def listed(self, dirs: Mapping[str, Path], done: Collection[str]) -> None:
        """Ignores the list of points: this display names them only when they finish."""

    def preparing(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not done:
            self._printed = now
        if self._show:
            self._show(done / max(total, 1), "checking scenarios and results")
        elif now - self._printed >= LINES_EVERY:
            self._say(f"{100 * done // max(total, 1)} %  of scenarios and results checked")
            self._printed = now

    def begin(self, total: int, reused: int) -> None:
        self._total, self._reused, self._done = total, reused, reused
        if reused:
            self._say(f"{text.count(reused)} of {text.count(total)} points are there already")

    def finished(self, point: str, seconds: float, error: str | None) -> None:
        self._done += 1
        self._say(
            f"{self._done}/{self._total}  {point}: {f'failed: {error}' if error else text.duration(seconds)}"
        )

    def running(self, shares: Mapping[str, float]) -> None:
        if self._show:
            done = self._done + sum(shares.values())
            new, elapsed = done - self._reused, time.monotonic() - self._began
            left = (
                text.duration(elapsed * (self._total - done) / new)
                if new > 0.05 and elapsed > 1
                else "?"
            )
            self._show(
                done / max(self._total, 1),
                f"{self._done} of {self._total} points, {len(shares)} running, {left} left",
            )

    def _say(self, line: str) -> None:
        self._console.print(line, highlight=False, soft_wrap=True, markup=False, emoji=False)


@contextmanager
def of_batch(console: Console) -> Iterator[_Batch]:
    """Shows a batch: a bar on a terminal, and a line for each finished point."""
    if not console.is_terminal:
        yield _Batch(console, None)
        return
    with _bars(console) as bar:
        task = bar.add_task("", total=1.0)
        yield _Batch(
            bar.console, lambda share, line: bar.update(task, completed=share, description=line)
        )


def _lines(console: Console, pace: Pace) -> Show:
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        pace.update(progress)
        if time.monotonic() - last >= LINES_EVERY:
            last = time.monotonic()
            console.print(f"{100 * pace.done:3.0f} %  {pace.line}", highlight=False, soft_wrap=True)

    return show
