"""Base of the cluster executors. Orders and the content of their inputs are sent to the cluster.
The files of results are sent back or go to shared storage, because workers share no path with the
sender.

Each input is sent once and kept on the cluster under its SHA-256. A worker writes the inputs of an
order into a separate directory.
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

#: An answer, and the content of the result's files by name.
Carried = tuple[Answer, Mapping[str, bytes]]

#: Files that are sent back from a result on shared storage. The last one is written last.
_BRIEF = ("scenario.toml", "summary.json")
#: File name by which `afflux.Result` finds shared storage.
_STORED = "stored.url"

#: Texts in the errors of workers that cannot read what they are sent: workers without afflux, or
#: with a version that lacks these names.
_FOREIGN = ("No module named 'afflux", "Can't get attribute")


@dataclass(frozen=True)
class Parcel:
    """The data of an order that are sent to the cluster, without the inputs."""

    order: Order
    #: Identifier of the sender, for `stop`.
    owner: str
    #: Folder on shared storage for the result; None if the result is sent back.
    storage: Folder | None


def carry_out(version: str, *rest: Any) -> Carried | str:
    """Runs on the cluster: simulates an order, or returns the reason why this worker refuses it.
    The arguments after `version` may differ between versions."""
    if version != __version__:
        return f"a worker on {socket.gethostname()} has afflux {__version__}, here is {version}: install the same version on all machines"
    return _carry_out(*rest)


def _carry_out(parcel: Parcel, tell: Callable[[float], object], *contents: bytes) -> Carried:
    """Simulates in a separate process until `stop` is called with the same owner. `tell` receives
    the finished share (0 to 1)."""
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
        return answer, {name: (out / name).read_bytes() for name in _BRIEF} | {
            _STORED: f"{parcel.storage.url}\n".encode()
        }


#: Processes that simulate on this worker, with their owners.
_running: list[tuple[str, Process]] = []


def stop(owner: str) -> None:
    """Runs on the cluster: kills the processes of this owner. A thread that waits for one cannot be
    stopped otherwise."""
    for whose, process in list(_running):
        if whose == owner:
            process.kill()


@contextmanager
def scratch() -> Iterator[Path]:
    """Yields a temporary directory that is locked as long as its process lives. Removes directories
    of killed processes."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PLACE}*/{_LOCK}"):
        with suppress(OSError), left.open("r+") as lock:  # vanished, in use, or not ours
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left.parent, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=_PLACE, ignore_cleanup_errors=True) as place,
        (Path(place) / _UNLOCKED).open("w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The directory becomes visible to others only after it is locked: one that is visible and
        # unlocked belongs to a killed process.
        Path(lock.name).rename(Path(place) / _LOCK)
        yield Path(place)


_PLACE, _LOCK, _UNLOCKED = "afflux-point-", "lock", "unlocked"


class Remote(ABC):
    """An executor on a cluster. A handle represents a point that runs there."""

    def __init__(self, at_once: int | None, storage: Folder | None) -> None:
        self._at_once, self._storage = at_once, storage
        #: Owner of the points that are simulated on the cluster. `cancel` replaces it.
        self._owner = uuid.uuid4().hex
        self._waiting: deque[tuple[str, Order]] = deque()
        self._under_way: dict[Any, tuple[str, Order]] = {}
        #: Handles of inputs on the cluster, by SHA-256.
        self._held: dict[str, Any] = {}
        #: Finished shares of the points that have begun, by key.
        self._shares: dict[str, float] = {}

    @abstractmethod
    def _hold(self, digest: str, content: bytes) -> Any:
        """Sends an input to the cluster, where it outlives any worker. Returns a handle."""

    @abstractmethod
    def _send(self, key: str, parcel: Parcel, inputs: Sequence[Any]) -> Any:
        """Lets the cluster call `carry_out` with the local version, the parcel, a function for
        progress, and the inputs. Returns a handle."""

    @abstractmethod
    def _done(self, handles: Sequence[Any], patience: float) -> Sequence[Any]:
        """Returns the handles whose points have ended. Waits at most `patience` seconds for one."""

    @abstractmethod
    def _take(self, handle: Any) -> Carried | str:
        """Returns the result of `carry_out`. Raises any error that occurred on the cluster."""

    @abstractmethod
    def _abandon(self, handles: Sequence[Any]) -> None:
        """Ends the points of this owner that still run."""

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
        """Returns the handle of an input. Raises `OSError` if the input no longer exists or has
        changed."""
        if digest not in self._held:
            content = Path(path).read_bytes()
            if hashlib.sha256(content).hexdigest() != digest:
                raise OSError(f"{path} has changed since the scenario was read")
            self._held[digest] = self._hold(digest, content)
        return self._held[digest]

    def _answer(self, handle: Any) -> tuple[str, Answer]:
        """Returns the key and the answer of a finished point. Raises `RunError` if the worker has
        another version of afflux or none: no other point would succeed there."""
        key, order = self._under_way.pop(handle)
        self._shares.pop(key, None)
        try:
            carried = self._take(handle)
        except Exception as error:  # any error of the cluster concerns only this point
            if any(words in str(error) for words in _FOREIGN):
                where = "a worker has no afflux, or an older one"
                raise _core.RunError(
                    f"{where}: install version {__version__} on all machines of the cluster"
                ) from None
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
        return {
            key: self._shares[key] for key, _ in self._under_way.values() if key in self._shares
        }

    def cancel(self) -> None:
        self._waiting.clear()
        if self._under_way:
            self._abandon(list(self._under_way))
        self._under_way.clear()
        self._shares.clear()
        self._owner = uuid.uuid4().hex
