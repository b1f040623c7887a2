"""The common part of cluster executors: the order is sent to the cluster, the files of the result are sent back. Only the inputs of a scenario
(flow lists, topology files) need a shared file system: they are read at the same path and checked by their hash."""

import fcntl
import shutil
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from .. import _core
from .process import Answer, Order, Process

#: An answer, and the result's files by name.
Carried = tuple[Answer, Mapping[str, bytes]]


def carry_out(order: Order, owner: str) -> Carried:
    """On the cluster: simulates in a process of its own, until `stop` is called with the same owner."""
    with _place() as place:
        out = place / "result"
        process = Process(replace(order, out=str(out)))
        _running.append((owner, process))
        try:
            while process.read():
                pass
        except BaseException:
            process.stop()
            raise
        finally:
            _running.remove((owner, process))
        answer = process.answer()
        return answer, {} if answer.error else {file.name: file.read_bytes() for file in sorted(out.iterdir())}


#: What is simulated here, with its owner.
_running: list[tuple[str, Process]] = []


def stop(owner: str) -> None:
    """On the cluster: ends what is simulated for this owner. A thread that waits for it cannot be stopped otherwise."""
    for whose, process in list(_running):
        if whose == owner:
            process.kill()


@contextmanager
def _place() -> Iterator[Path]:
    """A temporary directory, locked as long as its process lives. Directories of killed processes are removed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PLACE}*/{_LOCK}"):
        with suppress(OSError), left.open("r+") as lock:  # it may be gone by now, in use, or somebody else's
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_PLACE) as place, (Path(place) / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield Path(place)


_PLACE, _LOCK = "afflux-point-", "lock"


class Remote(ABC):
    """An executor on a cluster, whose handles stand for points under way there."""

    def __init__(self, at_once: int | None) -> None:
        self._at_once = at_once
        #: Whose points are simulated on the cluster: ours since the last `cancel`.
        self._owner = uuid.uuid4().hex
        self._waiting: deque[tuple[str, Order]] = deque()
        self._under_way: dict[Any, tuple[str, Order]] = {}

    @abstractmethod
    def _send(self, order: Order) -> Any:
        """Has `carry_out` called with the order and the owner; answers a handle."""

    @abstractmethod
    def _done(self, handles: Sequence[Any], patience: float) -> Sequence[Any]:
        """Those that have ended; waits for one of them, but not longer."""

    @abstractmethod
    def _take(self, handle: Any) -> Carried:
        """What `carry_out` gave. Raises whatever went wrong on the cluster."""

    @abstractmethod
    def _abandon(self, handles: Sequence[Any]) -> None:
        """Ends what is under way, for this owner."""

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
                _core.adopt(list(files.items()), order.out)
        except Exception as error:  # whatever a cluster may raise is about this point alone
            return key, Answer(0.0, f"{type(error).__name__}: {error}")
        return key, answer

    def shares(self) -> Mapping[str, float]:
        return {key: 0.0 for key, _ in self._under_way.values()}

    def cancel(self) -> None:
        self._waiting.clear()
        if self._under_way:
            self._abandon(list(self._under_way))
        self._under_way.clear()
        self._owner = uuid.uuid4().hex
