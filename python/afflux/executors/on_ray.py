"""Executor on a cluster of Ray."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import ray

from .. import __version__
from .._core import RunError
from ..files import plain
from ..files.storage import Folder
from .local import cores
from .remote import Carried, Parcel, Remote, carry_out

#: Time in seconds to wait for the progress of points.
PATIENCE = 1


class Board:
    """An actor on the cluster that collects the progress of points."""

    def __init__(self) -> None:
        self._shares: dict[str, float] = {}

    def put(self, key: str, share: float) -> None:
        self._shares[key] = share

    def all(self) -> dict[str, float]:
        return self._shares


@dataclass(frozen=True)
class Tell:
    """Runs on the cluster: reports the progress of a point."""

    board: Any
    key: str

    def __call__(self, share: float) -> None:
        self.board.put.remote(self.key, share)


class OnRay(Remote):
    """Executor on a cluster whose nodes have the same version of afflux installed. Uses the cluster
    that Ray is connected to. Without one and without an address, a cluster on this machine is
    started."""

    def __init__(self, address: str | None, jobs: int | None, storage: Folder | None) -> None:
        super().__init__(jobs, storage)
        self._ours = not ray.is_initialized()
        if self._ours:
            here: dict[str, Any] = (
                {"num_cpus": jobs or cores(), "include_dashboard": False} if address is None else {}
            )
            try:
                ray.init(
                    address=address or "local",
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **here,
                )
            except (OSError, ValueError, RuntimeError) as error:
                raise RunError(
                    f"no Ray cluster answers at {address or 'this machine'}: {plain.words(error)}"
                ) from None
        self._carry_out = ray.remote(num_cpus=1)(carry_out)
        self._board = ray.remote(num_cpus=0, max_restarts=-1)(Board).remote()

    def _hold(self, digest: str, content: bytes) -> Any:
        return ray.put(content)

    def _send(self, key: str, parcel: Parcel, inputs: Sequence[Any]) -> Any:
        return self._carry_out.remote(__version__, parcel, Tell(self._board, key), *inputs)

    def shares(self) -> Mapping[str, float]:
        with suppress(ray.exceptions.RayError):  # late or lost: keep the last shares
            self._shares = ray.get(self._board.all.remote(), timeout=PATIENCE)
        return super().shares()

    def _done(self, handles: Sequence[Any], patience: float) -> Sequence[Any]:
        return ray.wait(list(handles), num_returns=1, timeout=patience)[0]

    def _take(self, handle: Any) -> Carried | str:
        return ray.get(handle)

    def _abandon(self, handles: Sequence[Any]) -> None:
        for handle in handles:
            ray.cancel(handle, force=True)

    def _leave(self) -> None:
        if self._ours:
            ray.shutdown()
