"""Executor that simulates points in processes of this machine."""

import os
import re
import selectors
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from .process import Answer, Order, Process


class Local:
    """Runs as many processes as there are cores, but no more than fit into memory if each needs as
    much as the largest finished point."""

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs or cores()
        self._waiting: deque[tuple[str, Order]] = deque()
        self._running: dict[str, Process] = {}
        self._ready = selectors.DefaultSelector()
        self._memory, self._largest = _free_memory(), 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.cancel()
        self._ready.close()

    def claim(self, owner: Mapping[str, str], names: Sequence[str]) -> None:
        """Does nothing: results stay on this machine."""

    def submit(self, key: str, order: Order) -> None:
        self._waiting.append((key, order))

    def ended(self, patience: float) -> list[tuple[str, Answer]]:
        self._start()
        found = []
        for place, _ in self._ready.select(timeout=patience):
            process: Process = self._running[place.data]
            if not process.read():
                self._ready.unregister(process.output)
                del self._running[place.data]
                answer = process.answer()
                self._largest = max(self._largest, answer.said.get("peak_rss_bytes") or 0)
                found.append((place.data, answer))
        return found

    def shares(self) -> Mapping[str, float]:
        return {key: process.share for key, process in self._running.items()}

    def cancel(self) -> None:
        self._waiting.clear()
        for process in self._running.values():
            self._ready.unregister(process.output)
            process.stop()
        self._running.clear()

    def _start(self) -> None:
        room = (
            self._jobs
            if not self._largest or self._memory is None
            else max(1, min(self._jobs, self._memory // self._largest))
        )
        while self._waiting and len(self._running) < room:
            key, order = self._waiting.popleft()
            self._running[key] = Process(order)
            self._ready.register(self._running[key].output, selectors.EVENT_READ, key)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _free_memory() -> int | None:
    """Returns the free memory in bytes; None if the system does not report it."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None
