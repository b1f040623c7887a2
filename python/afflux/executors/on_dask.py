"""Executor on a cluster of Dask distributed."""

import logging
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import distributed

from .. import __version__
from .._core import RunError
from ..files import plain
from ..files.storage import Folder
from .local import cores
from .remote import Carried, Parcel, Remote, carry_out, stop

#: Time in seconds to wait for a scheduler.
PATIENCE = 15


@dataclass(frozen=True)
class Tell:
    """Runs on the cluster: reports the progress of a point."""

    topic: str
    key: str

    def __call__(self, share: float) -> None:
        distributed.get_worker().log_event(self.topic, (self.key, share))


class OnDask(Remote):
    """Executor on a cluster whose workers have the same version of afflux installed. Without an
    address, a cluster on this machine is started."""

    def __init__(self, address: str | None, jobs: int | None, storage: Folder | None) -> None:
        super().__init__(jobs, storage)
        self._cluster = None
        if address is None:
            # Each point runs in a separate process anyway, so the cluster's workers are threads.
            self._cluster = distributed.LocalCluster(
                n_workers=1,
                threads_per_worker=jobs or cores(),
                processes=False,
                dashboard_address=None,
                silence_logs=logging.ERROR,
            )
        try:
            self._client = distributed.Client(
                self._cluster or address, timeout=PATIENCE, set_as_default=False
            )
        except (OSError, ValueError) as error:
            raise RunError(
                f"no Dask scheduler answers at {address}: {plain.words(error)}"
            ) from None

        self._check_versions()
        self._topic = f"afflux-{self._owner}"
        self._client.subscribe_topic(self._topic, self._on_progress)

    def _check_versions(self) -> None:
        """Raises `RunError` if the scheduler or a worker has another version of afflux. A worker
        without afflux would end when it is sent a point."""
        found: Any = self._client.get_versions(packages=["afflux"])
        installed = {
            machine: has["packages"]["afflux"]
            for machine, has in {"the scheduler": found["scheduler"], **found["workers"]}.items()
            if has
        }
        for machine, theirs in installed.items():
            # The reference is the version that Dask finds here: a checkout on the search path
            # counts as not installed.
            if theirs != found["client"]["packages"]["afflux"]:
                self._leave()
                what = f"afflux {theirs}" if theirs else "no afflux"
                raise RunError(
                    f"{machine} has {what}, here is {__version__}: install the same version on all machines of the cluster"
                )

    def _on_progress(self, event: tuple[float, Any]) -> None:
        key, share = event[1]
        self._shares[key] = share

    def _hold(self, digest: str, content: bytes) -> distributed.Future:
        # A task instead of scattered data: if the worker that holds it is lost, the scheduler sends
        # it to another one.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._client.submit(bytes, content, key=f"afflux-input-{digest}")

    def _send(self, key: str, parcel: Parcel, inputs: Sequence[Any]) -> distributed.Future:
        # Not pure, so that the same order is simulated each time it is sent.
        return self._client.submit(
            carry_out, __version__, parcel, Tell(self._topic, key), *inputs, pure=False
        )

    def _done(self, handles: Sequence[Any], patience: float) -> Sequence[Any]:
        try:
            with self._client.as_current():
                return list(
                    distributed.wait(handles, timeout=patience, return_when="FIRST_COMPLETED").done
                )
        except TimeoutError:
            return []

    def _take(self, handle: Any) -> Carried | str:
        return handle.result()

    def _abandon(self, handles: Sequence[Any]) -> None:
        with suppress(Exception):  # a cluster that is gone runs nothing
            self._client.cancel(list(handles), force=True)
            self._client.run(stop, self._owner, on_error="ignore")

    def _leave(self) -> None:
        self._client.close()
        if self._cluster:
            self._cluster.close()
