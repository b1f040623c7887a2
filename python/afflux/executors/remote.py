"""What clusters have in common: the order travels there, the files of the result travel back. No file system need be shared but for the
inputs of a scenario (flow lists, topology files), which are looked for at the same path and recognised by their hash."""

import tempfile
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from .process import Answer, Order, Process

#: An answer, and the result's files by name.
Carried = tuple[Answer, Mapping[str, bytes]]


def carry_out(order: Order) -> Carried:
    """On the cluster: simulates in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="afflux-") as place:
        out = Path(place) / "result"
        process = Process(replace(order, out=str(out)))
        try:
            while process.read():
                pass
        except BaseException:
            process.stop()
            raise
        answer = process.answer()
        return answer, {} if answer.error else {file.name: file.read_bytes() for file in sorted(out.iterdir())}


def unpack(files: Mapping[str, bytes], out: Path) -> None:
    """Here: gives the result directory its name when all of it is there. Replaces results, and nothing else."""
    if out.exists() and any(out.iterdir()) and not (out / "summary.json").is_file():
        raise OSError(f"{out} exists and is not a result directory: it is left alone")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.partial-", dir=out.parent) as place:
        new = Path(place) / "new"
        new.mkdir()
        for name, content in files.items():
            (new / name).write_bytes(content)
        if out.exists():
            out.rename(Path(place) / "old")
        new.rename(out)


class Remote(ABC):
    """An executor on a cluster, whose handles stand for points under way there."""

    def __init__(self, at_once: int | None) -> None:
        self._at_once = at_once
        self._waiting: deque[tuple[str, Order]] = deque()
        self._under_way: dict[Any, tuple[str, Order]] = {}

    @abstractmethod
    def _send(self, order: Order) -> Any:
        """Has `carry_out` called with the order; answers a handle."""

    @abstractmethod
    def _done(self, handles: Sequence[Any], patience: float) -> Sequence[Any]:
        """Those that have ended; waits for one of them, but not longer."""

    @abstractmethod
    def _take(self, handle: Any) -> Carried:
        """What `carry_out` gave. Raises whatever went wrong on the cluster."""

    @abstractmethod
    def _abandon(self, handles: Sequence[Any]) -> None: ...

    @abstractmethod
    def _leave(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.cancel()
        self._leave()

    def submit(self, key: str, order: Order) -> None:
        self._waiting.append((key, order))

    def ended(self, patience: float) -> list[tuple[str, Answer]]:
        while self._waiting and (self._at_once is None or len(self._under_way) < self._at_once):
            key, order = self._waiting.popleft()
            self._under_way[self._send(order)] = key, order
        if not self._under_way:
            return []
        return [self._answer(handle) for handle in self._done(list(self._under_way), patience)]

    def _answer(self, handle: Any) -> tuple[str, Answer]:
        key, order = self._under_way.pop(handle)
        try:
            answer, files = self._take(handle)
            if answer.error is None:
                unpack(files, Path(order.out))
        except Exception as error:  # whatever a cluster may raise is about this point alone
            return key, Answer(0.0, f"{type(error).__name__}: {error}")
        return key, answer

    def shares(self) -> Mapping[str, float]:
        return {key: 0.0 for key, _ in self._under_way.values()}

    def cancel(self) -> None:
        self._waiting.clear()
        self._abandon(list(self._under_way))
        self._under_way.clear()
