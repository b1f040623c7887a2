"""Content of the page for many simulations: a study, a sweep, a search."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..batch import Watch
from ..metrics import MAIN, SHORT, Metric
from ..results.result import Result
from ..results.statistics import mean
from ..results.written import DamagedResult
from ..words import text
from .simulation import plural

#: Number of metrics in the table in addition to the main one.
OTHERS = 3
#: Most rows of a list that are sent to the page.
MOST = 200


class Points:
    """Watches a batch."""

    def __init__(
        self,
        command: str,
        watch: Watch,
        publish: Callable[[dict[str, Any]], None],
        main: Sequence[Metric],
    ) -> None:
        self._command, self._watch, self._publish, self._main = command, watch, publish, tuple(main)
        self._began = time.monotonic()
        self._total = self._reused = self._done = 0
        self._dirs: dict[str, Path] = {}
        #: Summary of each finished point, by design and seed.
        self._found: dict[str, dict[int, dict[str, Any]]] = {}
        self._failed: dict[str, str] = {}
        self._shares: Mapping[str, float] = {}

    def listed(self, dirs: Mapping[str, Path], done: Collection[str]) -> None:
        self._watch.listed(dirs, done)
        self._dirs |= dirs
        for point in done:
            self._read(point)

    def preparing(self, done: int, total: int) -> None:
        self._watch.preparing(done, total)

    def begin(self, total: int, reused: int) -> None:
        self._watch.begin(total, reused)
        self._total, self._reused, self._done = total, reused, reused
        self._tell()

    def finished(self, point: str, seconds: float, error: str | None) -> None:
        self._watch.finished(point, seconds, error)
        self._done += 1
        self._failed.pop(point, None)
        if error is None:
            self._read(point)
        else:
            self._failed[point] = error
        self._shares = {name: share for name, share in self._shares.items() if name != point}
        self._tell()

    def running(self, shares: Mapping[str, float]) -> None:
        self._watch.running(shares)
        self._shares = dict(shares)
        self._tell()

    def _read(self, point: str) -> None:
        design = point.rpartition("-")[0]
        if point not in self._dirs:
            return
        try:
            summary = Result.open(self._dirs[point]).summary
        except (OSError, DamagedResult, ValueError):
            return  # The result is elsewhere. The command itself reports problems with it.
        self._found.setdefault(design, {})[summary["seed"]] = summary

    def _tell(self) -> None:
        total = max(self._total, self._done, 1)
        done = self._done + sum(self._shares.values())
        new, elapsed = done - self._reused, time.monotonic() - self._began
        left = text.duration(elapsed * (total - done) / new) if new > 0.05 and elapsed > 1 else None
        end = f"{text.count(self._done)} of {plural(self._total, 'point')}"
        head = end + (
            (f", about {left} left" if left else "")
            if self._done < self._total
            else "; the result is being written"
        )
        about = [f"{len(self._shares)} running", f"{len(self._failed)} failed"]
        about += [f"{self._reused} read from an earlier run"] if self._reused else []
        state: dict[str, Any] = {
            "title": self._command,
            "head": head,
            "end": end,
            "sub": ", ".join(about),
            "share": done / total,
        }
        state["running"] = [
            {"name": name, "value": f"{100 * share:.0f} %", "share": share}
            for name, share in sorted(self._shares.items())
        ][:MOST]
        state["failed"] = [
            {"name": name, "value": error} for name, error in sorted(self._failed.items())
        ][:MOST]
        state["table"] = self._table()
        self._publish(state)

    def _table(self) -> dict[str, Any] | None:
        every = [summary for seeds in self._found.values() for summary in seeds.values()]

        def known(metric: Metric) -> bool:
            return any(metric.of(summary) is not None for summary in every)

        main = next((metric for metric in (*self._main, *MAIN) if known(metric)), None)
        if main is None:
            return None
        others = [
            m
            for m in (*self._main, *SHORT)
            if m.name != main.name and any(m.of(summary) for summary in every)
        ]
        others = list(dict.fromkeys(others))[:OTHERS]
        values = [value for summary in every if (value := main.of(summary)) is not None]
        low, high = min(values), max(values)
        rows = []
        for design, seeds in self._found.items():
            dots = [
                value
                for _, summary in sorted(seeds.items())
                if (value := main.of(summary)) is not None
            ]
            cells = [_mean(metric, seeds.values()) for metric in (main, *others)]
            places = [(value - low) / (high - low) if high > low else 0.5 for value in dots]
            rows.append({"name": design, "seeds": len(seeds), "cells": cells, "dots": places})
        unequal = len({row["seeds"] for row in rows}) > 1
        note = f"Means over the seeds so far; dots: {main.title} of each seed."
        note += " Rows with fewer seeds cannot be compared with the others yet." if unequal else ""
        left_out = len(rows) - MOST
        note += f" {text.count(left_out)} more rows are not shown." if left_out > 0 else ""
        heads = [metric.title for metric in (main, *others)]
        return {
            "heads": heads,
            "ends": [main.brief(low), main.brief(high)],
            "rows": rows[:MOST],
            "note": note,
        }


def _mean(metric: Metric, summaries: Collection[dict[str, Any]]) -> str:
    values = [value for summary in summaries if (value := metric.of(summary)) is not None]
    return metric.brief(mean(values)) if len(values) == len(summaries) else "–"
