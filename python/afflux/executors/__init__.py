"""Executors simulate points: they take orders and return answers. No result depends on the executor.

local   processes of this machine, one per core
dask    a cluster of Dask distributed (extra `dask`)
ray     a cluster of Ray (extra `ray`)
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, Self

from .. import extras, spelling
from ..files.storage import Folder
from .process import Answer, Order

__all__ = ["NAMES", "Answer", "Executor", "Order", "named", "opened"]

NAMES = ("local", "dask", "ray")


class Executor(Protocol):
    """Simulates orders, in any sequence and any number at a time."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *problem: object) -> None:
        """Stops running simulations and removes their partial results."""

    def claim(self, owner: Mapping[str, str], names: Sequence[str]) -> None:
        """Makes the shared storage, if there is any, that of a batch. Raises `ValueError` if it holds the results of another one, or has results with
        these names already."""

    def submit(self, key: str, order: Order) -> None:
        """Queues an order."""

    def ended(self, patience: float) -> list[tuple[str, Answer]]:
        """Finished orders; waits at most `patience` seconds for one. The result of an answer without error is in the directory of the order."""

    def shares(self) -> Mapping[str, float]:
        """The finished share (0 to 1) of each running point; 0 if it is unknown."""

    def cancel(self) -> None:
        """Stops running orders and drops queued ones. Further orders are accepted."""


def named(name: str, *, jobs: int | None = None, address: str | None = None, storage: str | None = None) -> Executor:
    """An executor by name. `jobs` points at a time (default: one per core; on a cluster as many as it takes); `address` of a cluster; `storage`: the
    URL of a folder in which a cluster leaves the results, except summaries and scenarios (default: whole results come back).

    Raises `ValueError` for another name or an argument that has no use, and `MissingExtra` if a library is not installed.
    """
    if name not in NAMES:
        raise ValueError(f"--executor: {spelling.unknown('executor', name, NAMES)}")
    if name == "local":
        for option, what, value in (("--address", "address", address), ("--storage", "storage", storage)):
            if value is not None:
                raise ValueError(f"{option} {value}: the local executor has no {what}: write --executor dask or --executor ray")
        from .local import Local

        return Local(jobs)
    folder = None if storage is None else Folder(storage)
    if folder:
        folder.check()
    if name == "dask":
        with extras.needed("dask", "--executor dask"):
            from .on_dask import OnDask
        return OnDask(address, jobs, folder)
    with extras.needed("ray", "--executor ray"):
        from .on_ray import OnRay
    return OnRay(address, jobs, folder)


@contextmanager
def opened(executor: str | Executor, *, jobs: int | None = None, address: str | None = None, storage: str | None = None) -> Iterator[Executor]:
    """The executor of this name, closed afterwards; or an executor that its owner closes."""
    if isinstance(executor, str):
        with named(executor, jobs=jobs, address=address, storage=storage) as ours:
            yield ours
    else:
        yield executor
