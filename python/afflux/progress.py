"""Shows how far a run has come: a bar on a terminal, plain lines otherwise; both on stderr."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.console import Console

from . import text
from ._core import Progress, Scenario

if TYPE_CHECKING:
    from rich.progress import Task

#: Seconds between two plain lines.
LINES_EVERY = 5.0


class Show(Protocol):
    def __call__(self, progress: Progress, /) -> object: ...


class Pace:
    """What can be said about a run from its progress."""

    def __init__(self, scenario: Scenario) -> None:
        self._until_ns, self._flows = scenario.until_ns, scenario.flows
        self._began = time.monotonic()
        self._last = (self._began, 0)
        #: Hops per second, lately.
        self.rate = 0.0

    def update(self, progress: Progress) -> None:
        now, hops = time.monotonic(), progress.packet_hops
        then, before = self._last
        if now > then:
            rate = (hops - before) / (now - then)
            # Follows changes within a few seconds without jumping about.
            self.rate += (rate - self.rate) * min(1.0, (now - then) / 2.0) if self.rate else rate
        self._last = (now, hops)
        by_time = progress.now_ns / self._until_ns if self._until_ns else 0.0
        by_flows = progress.flows_finished / self._flows if self._flows else 0.0
        self.done = min(max(by_time, by_flows), 1.0)
        self.now = text.time(progress.now_ns) + (f" of {text.time(self._until_ns)}" if self._until_ns else "")
        self.flows = f"{text.count(progress.flows_finished)}/{text.count(self._flows)} flows"
        elapsed = now - self._began
        self.left = text.duration(elapsed * (1 - self.done) / self.done) if self.done > 0.01 and elapsed > 0.5 else "?"

    @property
    def speed(self) -> str:
        return f"{text.digits(self.rate / 1e6, 3)} Mhop/s"


@contextmanager
def shown(scenario: Scenario, console: Console) -> Iterator[Show]:
    """Gives the callback for a run; cleans up after it."""
    pace = Pace(scenario)
    if console.is_terminal:
        with _bar(console, pace) as show:
            yield show
    else:
        yield _lines(console, pace)


@contextmanager
def _bar(console: Console, pace: Pace) -> Iterator[Show]:
    from rich import progress as bars

    class Text(bars.ProgressColumn):
        def __init__(self, key: str) -> None:
            super().__init__()
            self._key = key

        def render(self, task: "Task") -> str:  # type: ignore[override]
            return task.fields[self._key]

    columns = [bars.BarColumn(None), bars.TaskProgressColumn(), Text("now"), Text("flows"), Text("speed"), Text("left")]
    with bars.Progress(*columns, console=console, transient=True, expand=True) as bar:
        task = bar.add_task("run", total=1.0, now="", flows="", speed="", left="")

        def show(progress: Progress) -> None:
            pace.update(progress)
            bar.update(task, completed=pace.done, now=pace.now, flows=pace.flows, speed=pace.speed, left=f"{pace.left} left")

        yield show


def _lines(console: Console, pace: Pace) -> Show:
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        pace.update(progress)
        if time.monotonic() - last >= LINES_EVERY:
            last = time.monotonic()
            line = f"{100 * pace.done:3.0f} %  {pace.now}  {pace.flows}  {pace.speed}  {pace.left} left"
            console.print(line, highlight=False, soft_wrap=True)

    return show
