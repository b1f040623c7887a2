"""Where points are simulated. An executor takes orders and gives answers; which one it is changes no result.

local   processes of this machine, one per core
dask    a cluster of Dask distributed (`pip install "afflux[dask]"`)
ray     a cluster of Ray (`pip install "afflux[ray]"`)
"""

from collections.abc import Mapping
from typing import Protocol, Self

from .. import extras
from .process import Answer, Order

__all__ = ["NAMES", "Answer", "Executor", "Order", "named"]

NAMES = ("local", "dask", "ray")


class Executor(Protocol):
    """Simulates what it is given, in any order and any number at a time."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *problem: object) -> None:
        """Stops what is under way, and leaves nothing behind."""

    def submit(self, key: str, order: Order) -> None:
        """Takes an order, to be carried out when there is room."""

    def ended(self, patience: float) -> list[tuple[str, Answer]]:
        """Waits at most so many seconds until something ends. When an answer is no error, the result is where the order wants it."""

    def shares(self) -> Mapping[str, float]:
        """What share of each point under way is done; 0 where that is not known."""

    def cancel(self) -> None:
        """Stops what is under way and forgets what waits; further orders are taken."""


def named(name: str, *, jobs: int | None = None, address: str | None = None) -> Executor:
    """An executor by name. `jobs` points at a time (default: one per core; on a cluster as many as it takes); `address` of a cluster.

    Raises `ValueError` for another name or an address that has no use, and `MissingExtra` if the library is not installed.
    """
    if name == "local":
        if address is not None:
            raise ValueError(f"--address {address}: the local executor has none; choose --executor dask or --executor ray")
        from .local import Local

        return Local(jobs)
    if name == "dask":
        with extras.needed("dask", "--executor dask"):
            from .on_dask import OnDask
        return OnDask(address, jobs)
    if name == "ray":
        with extras.needed("ray", "--executor ray"):
            from .on_ray import OnRay
        return OnRay(address, jobs)
    raise ValueError(f"there is no executor {name!r}: there are {', '.join(NAMES)}")
