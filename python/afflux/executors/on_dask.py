"""Dask distributed."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import distributed

from .._core import RunError
from .local import cores
from .process import Order
from .remote import Carried, Remote, carry_out, stop

#: Seconds to wait for a scheduler.
PATIENCE = 15


class OnDask(Remote):
    """A cluster whose workers have the same afflux installed. Without an address a cluster of this machine."""

    def __init__(self, address: str | None, jobs: int | None) -> None:
        super().__init__(jobs)
        self._cluster = None
        if address is None:
            # Each point has a process of its own anyway, so the cluster needs none.
            self._cluster = distributed.LocalCluster(
                n_workers=1, threads_per_worker=jobs or cores(), processes=False, dashboard_address=None, silence_logs=logging.ERROR
            )
        try:
            self._client = distributed.Client(self._cluster or address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise RunError(f"no Dask scheduler answers at {address}: {error}") from None

    def _send(self, order: Order) -> distributed.Future:
        # Not pure: the same order twice is simulated twice.
        return self._client.submit(carry_out, order, self._owner, pure=False)

    def _done(self, handles: Sequence[Any], patience: float) -> Sequence[Any]:
        try:
            with self._client.as_current():
                return list(distributed.wait(handles, timeout=patience, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []

    def _take(self, handle: Any) -> Carried:
        return handle.result()

    def _abandon(self, handles: Sequence[Any]) -> None:
        with suppress(Exception):  # a cluster that is gone has nothing under way
            self._client.cancel(list(handles), force=True)
            self._client.run(stop, self._owner, on_error="ignore")

    def _leave(self) -> None:
        self._client.close()
        if self._cluster:
            self._cluster.close()
