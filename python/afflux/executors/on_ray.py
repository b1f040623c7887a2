"""Ray."""

import logging
from collections.abc import Sequence
from typing import Any

import ray

from .._core import RunError
from .local import cores
from .process import Order
from .remote import Carried, Remote, carry_out


class OnRay(Remote):
    """A cluster whose nodes have the same afflux installed. Without an address a cluster of this machine; one that Ray is connected to is used."""

    def __init__(self, address: str | None, jobs: int | None) -> None:
        super().__init__(jobs)
        self._ours = not ray.is_initialized()
        if self._ours:
            here: dict[str, Any] = {"num_cpus": jobs or cores(), "include_dashboard": False} if address is None else {}
            try:
                ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **here)
            except (OSError, ValueError, RuntimeError) as error:
                raise RunError(f"no Ray cluster answers at {address or 'this machine'}: {error}") from None
        self._carry_out = ray.remote(num_cpus=1)(carry_out)

    def _send(self, order: Order) -> Any:
        return self._carry_out.remote(order, self._owner)

    def _done(self, handles: Sequence[Any], patience: float) -> Sequence[Any]:
        return ray.wait(list(handles), num_returns=1, timeout=patience)[0]

    def _take(self, handle: Any) -> Carried:
        return ray.get(handle)

    def _abandon(self, handles: Sequence[Any]) -> None:
        for handle in handles:
            ray.cancel(handle, force=True)

    def _leave(self) -> None:
        if self._ours:
            ray.shutdown()
