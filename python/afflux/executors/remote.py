"""The common part of cluster executors. Orders and the content of their inputs are sent to the cluster, the files of results are sent back or go to
shared storage: workers share no path with the sender.

Each input is sent once, and held on the cluster under its SHA-256. A worker writes the inputs of an order into a directory of their own.
"""

import fcntl
import hashlib
import shutil
import socket
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from .. import __version__, _core
from ..files import plain
from ..files.storage import Folder
from .process import Answer, Order, Process

#: An answer, and files of the result by name.
Carried = tuple[Answer, Mapping[str, bytes]]

#: Files that come back from a result on shared storage, the last of which is written last.
_BRIEF = ("scenario.toml", "summary.json")
#: The name by which `afflux.Result` finds shared storage.
_STORED = "stored.url"

#: Words of errors of workers that cannot read what they are sent: without afflux, or with a version that has no such names.
_FOREIGN = ("No module named 'afflux", "Can't get attribute")


@dataclass(frozen=True)
class Parcel:
    """What is sent to the cluster, besides the inputs."""

    order: Order
    #: For `stop`.
    owner: str
    #: The folder in which the result stays.
    storage: Folder | None


def carry_out(version: str, *rest: Any) -> Carried | str:
    """On the cluster: simulates, or returns the reason for which this worker refuses. The arguments after `version` may differ between versions."""
    if version != __version__:
        return f"a worker on {socket.gethostname()} has afflux {__version__}, here is {version}: install the same version on all machines"
    return _carry_out(*rest)


def _carry_out(parcel: Parcel, tell: Callable[[float], object], *contents: bytes) -> Carried:
    """Simulates in a process of its own, until `stop` is called with the same owner. `tell` receives the finished share (0 to 1)."""
    with scratch() as place:
        store, out = place / "inputs", place / "result"
        store.mkdir()
        for digest, content in zip(parcel.order.inputs, contents, strict=True):
            (store / digest).write_bytes(content)
        process = Process(replace(parcel.order, out=str(out), store=str(store)))
        _running.append((parcel.owner, process))
        try:
            tell(told := 0.0)
            while process.read():
                if process.share != told:
                    tell(told := process.share)
        except BaseException:
            process.stop()
            raise
        finally:
            _running.remove((parcel.owner, process))
        answer = process.answer()
        if answer.error:
            return answer, {}
        names = [*sorted(file.name for file in out.iterdir() if file.name not in _BRIEF), *_BRIEF]
        if parcel.storage is None:
            return answer, {name: (out / name).read_bytes() for name in names}
        try:
            parcel.storage.write({name: out / name for name in names})
        except _core.Error as error:
            return replace(answer, error=str(error)), {}
        return answer, {name: (out / name).read_bytes() for name in _BRIEF} | {_STORED: f"{parcel.storage.url}\n".encode()}


#: What is simulated here, with its owner.
_running: list[tuple[str, Process]] = []


def stop(owner: str) -> None:
    """On the cluster: ends what is simulated for this owner. A thread that waits for it cannot be stopped otherwise."""
    for whose, process in list(_running):
        if whose == owner:
            process.kill()


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary directory, locked as long as its process lives. Directories of killed processes are removed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PLACE}*/{_LOCK}"):
        with suppress(OSError), left.open("r+") as lock:  # it may be gone by now, in use, or somebody else's
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_PLACE, ignore_cleanup_errors=True) as place, (Path(place) / _UNLOCKED).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Only now do others find it: one that is found and is not locked belongs to a killed process.
        Path(lock.name).rename(Path(place) / _LOCK)
        yield Path(place)


_PLACE, _LOCK, _UNLOCKED = "afflux-point-", "lock", "unlocked"


class Remote(ABC):
    """An executor on a cluster, whose handles stand for points under way there."""

    def __init__(self, at_once: int | None, storage: Folder | None) -> None:
        self._at_once, self._storage = at_once, storage
        #: Whose points are simulated on the cluster: ours since the last `cancel`.
        self._owner = uuid.uuid4().hex
        self._waiting: deque[tuple[str, Order]] = deque()
        self._under_way: dict[Any, tuple[str, Order]] = {}
        #: Handles of inputs on the cluster, by SHA-256.
        self._held: dict[str, Any] = {}
        #: Finished shares of the points that have begun, by key.
        self._shares: dict[str, float] = {}

    @abstractmethod
    def _hold(self, digest: str, content: bytes) -> Any:
        """Sends an input to the cluster, where it outlives any worker; answers a handle."""

    @abstractmethod
    def _send(self, key: str, parcel: Parcel, inputs: Sequence[Any]) -> Any:
        """Has `carry_out` called with our version, the parcel, a function for progress, and the inputs; answers a handle."""

    @abstractmethod
    def _done(self, handles: Sequence[Any], patience: float) -> Sequence[Any]:
        """Those that have ended; waits for one of them, but not longer."""

    @abstractmethod
    def _take(self, handle: Any) -> Carried | str:
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

    def claim(self, owner: Mapping[str, str], names: Sequence[str]) -> None:
        if self._storage:
            self._storage.claim(owner, names)

    def submit(self, key: str, order: Order) -> None:
        self._waiting.append((key, order))

    def ended(self, patience: float) -> list[tuple[str, Answer]]:
        while self._waiting and (self._at_once is None or len(self._under_way) < self._at_once):
            key, order = self._waiting.popleft()
            try:
                inputs = [self._input(digest, path) for digest, path in order.inputs.items()]
            except OSError as error:
                return [(key, Answer(0.0, plain.words(error)))]
            parcel = Parcel(order, self._owner, self._storage and self._storage / key)
            self._under_way[self._send(key, parcel, inputs)] = key, order
        if not self._under_way:
            return []
        return [self._answer(handle) for handle in self._done(list(self._under_way), patience)]

    def _input(self, digest: str, path: str) -> Any:
        """The handle of an input. Raises `OSError` if it is not there any more, or has changed."""
        if digest not in self._held:
            content = Path(path).read_bytes()
            if hashlib.sha256(content).hexdigest() != digest:
                raise OSError(f"{path} has changed since the scenario was read")
            self._held[digest] = self._hold(digest, content)
        return self._held[digest]

    def _answer(self, handle: Any) -> tuple[str, Answer]:
        """Raises `RunError` if the worker has another afflux, or none: no other point would fare better there."""
        key, order = self._under_way.pop(handle)
        self._shares.pop(key, None)
        try:
            carried = self._take(handle)
        except Exception as error:  # whatever a cluster may raise is about this point alone
            if any(words in str(error) for words in _FOREIGN):
                where = "a worker has no afflux, or an older one"
                raise _core.RunError(f"{where}: install version {__version__} on all machines of the cluster") from None
            return key, Answer(0.0, f"on the cluster: {plain.words(error)}")
        if isinstance(carried, str):
            raise _core.RunError(carried)
        answer, files = carried
        if answer.error is None:
            try:
                _core.adopt(list(files.items()), order.out)
            except (_core.Error, OSError) as error:
                return key, Answer(answer.wall_s, plain.words(error))
        return key, answer

    def shares(self) -> Mapping[str, float]:
        return {key: self._shares[key] for key, _ in self._under_way.values() if key in self._shares}

    def cancel(self) -> None:
        self._waiting.clear()
        if self._under_way:
            self._abandon(list(self._under_way))
        self._under_way.clear()
        self._shares.clear()
        self._owner = uuid.uuid4().hex
