"""Content of the page for one simulation."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from ..terminal.progress import Pace, Show
from ..words import text

#: Interval of updates in seconds.
EVERY = 0.5
#: Most samples of the sum of all queues that are kept.
MOST = 240
#: Number of histogram bars per factor of ten.
BARS = 12
#: Steps of a histogram: lower bound, upper bound, count.
Steps = Sequence[tuple[float, float, int]]


class Simulation:
    """Callback of a run that updates the page."""

    def __init__(
        self, scenario: _core.Scenario, show: Show, publish: Callable[[dict[str, Any]], None]
    ) -> None:
        self._show, self._publish = show, publish
        self._title = f"run {scenario.name}, seed {scenario.seed}"
        self._fabric = (
            f"{plural(scenario.hosts, 'host')}, {plural(scenario.switches, 'switch', 'switches')}"
        )
        self._switches = scenario.switches > 0
        self._pace = Pace(scenario)
        self._looked = -math.inf
        self._progress: _core.Progress | None = None
        #: Samples of simulated time in ns and bytes in all queues.
        self._sums: list[tuple[int, int]] = []
        publish({"title": self._title, "about": self._fabric, "head": "The run begins", "share": 0})

    def __call__(self, progress: _core.Progress) -> None:
        self._show(progress)
        self._pace.update(progress)
        self._progress = progress
        if time.monotonic() - self._looked >= EVERY:
            self._looked = time.monotonic()
            self._publish(self._state(progress, progress.view()))

    def close(self) -> None:
        """Publishes the final state when the simulation is over."""
        if self._progress is not None:
            self._pace.update(self._progress)
            self._publish(self._state(self._progress, self._progress.view()))

    def _state(self, progress: _core.Progress, view: _core.View | None) -> dict[str, Any]:
        pace = self._pace
        state: dict[str, Any] = {"title": self._title, "about": self._fabric, "share": pace.done}
        if pace.done < 1:
            state["head"] = f"{100 * pace.done:.0f} % simulated" + (
                f", about {pace.left} left" if pace.left != "?" else ""
            )
        else:
            state["head"] = "Simulated to the end; the result is being written"
        state["end"] = "The simulation is over" if pace.done < 1 else "Simulated to the end"
        state["sub"] = pace.where
        facts = [
            (
                "packet-hops",
                text.count(progress.packet_hops),
                f"{text.digits(pace.rate / 1e6, 3)} million per second",
            ),
            (
                "flows ended",
                text.count(progress.flows_finished),
                f"of {text.count(self._pace.flows)}",
            ),
        ]
        if view is None:
            return state | {"facts": facts}
        counters = [
            ("dropped", view.drops, "frames"),
            ("dropped at ingress", view.in_discards, "frames"),
            ("ECN marks", view.ecn_marks, "frames"),
        ]
        counters += [
            ("PAUSE frames", view.pause_frames, ""),
            ("time-outs", view.timeouts, "of senders"),
        ]
        facts += [
            (name, text.count(value), what)
            for name, value, what in counters
            if value or name in ("dropped", "ECN marks")
        ]
        state["facts"] = facts
        state["completion"] = completion(view.fct_ns, view.slowdown)
        state["queues"] = self._queues(view)
        return state

    def _queues(self, view: _core.View) -> dict[str, Any]:
        if not self._sums or view.now_ns > self._sums[-1][0]:
            self._sums.append((view.now_ns, view.queued_bytes))
        if len(self._sums) > MOST:
            # The larger one of two neighbouring samples is kept.
            pairs = zip(self._sums[::2], self._sums[1::2], strict=False)
            self._sums = [max(pair, key=lambda one: one[1]) for pair in pairs]
        where = "switches" if self._switches else "hosts"
        longest = view.queues[0][3] if view.queues else 0
        rows = [
            {
                "name": f"{node}.{port}",
                "peer": peer,
                "value": text.size(bytes),
                "share": bytes / longest,
            }
            for node, port, peer, bytes in view.queues
        ]
        sentence = f"{text.size(view.queued_bytes)} in the queues of all {where} at {text.time(view.now_ns)}."
        found: dict[str, Any] = {"sentence": sentence, "rows": rows}
        most = max(bytes for _, bytes in self._sums)
        first, last = self._sums[0][0], self._sums[-1][0]
        if len(self._sums) > 2 and most and last > first:
            found["line"] = [
                ((now - first) / (last - first), bytes / most) for now, bytes in self._sums
            ]
            found["top"], found["ends"] = text.size(most), [text.time(first), text.time(last)]
        return found


def completion(fct_ns: Steps, slowdown: Steps) -> dict[str, Any]:
    """Returns the completion times so far: a sentence, and a histogram over a logarithmic axis."""
    count = sum(step[2] for step in fct_ns)
    if not count:
        return {"sentence": "No flow has ended that counts."}
    median, tail = (quantile(fct_ns, share) for share in (0.5, 0.99))
    flows = plural(count, "flow has ended", "flows have ended")
    sentence = f"{flows}: median {text.time(median, 3)}, 99th percentile {text.time(tail, 3)}."
    sentence += f" Slowdown: median {text.digits(quantile(slowdown, 0.5), 3)}, 99th percentile {text.digits(quantile(slowdown, 0.99), 3)}."
    lows, highs = [max(low, 1) for low, _, _ in fct_ns], [high for _, high, _ in fct_ns]
    first = math.floor(math.log10(min(lows)))
    decades = max(math.ceil(math.log10(max(highs))) - first, 1)
    bars = [0] * (BARS * decades)
    for low, high, here in fct_ns:
        place = math.log10(max((low + high) / 2, 1)) - first
        bars[min(int(place * BARS), len(bars) - 1)] += here
    most = max(bars)

    def at(value: float) -> float:
        return (math.log10(max(value, 1)) - first) / decades

    marks = [{"at": at(median), "text": "median"}, {"at": at(tail), "text": "99 %"}]
    ticks = [
        {"at": place / decades, "text": text.time(float(10 ** (first + place)), 1)}
        for place in range(decades + 1)
    ]
    return {
        "sentence": sentence,
        "bars": [bar / most for bar in bars],
        "marks": marks,
        "ticks": ticks,
    }


def quantile(steps: Steps, share: float) -> float:
    """Returns a quantile of a histogram. Values are assumed to be spread evenly within a step."""
    wanted = share * sum(count for _, _, count in steps)
    for low, high, count in steps:
        if wanted <= count:
            return low + (high - low) * max(wanted, 0) / count
        wanted -= count
    return steps[-1][1]


def plural(count: int, one: str, many: str | None = None) -> str:
    return f"{text.count(count)} {one if count == 1 else many or one + 's'}"
