"""Executors simulate points: they take orders and return answers. Results do not depend on the
executor.

    local   processes of this machine, one per core
    dask    a cluster of Dask distributed (extra `dask`)
    ray     a cluster of Ray (extra `ray`)
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, Self

from .. import extras, settings, spelling
from ..files.storage import Folder
from .process import Answer, Order

__all__ = ["NAMES", "Answer", "Executor", "Order", "named", "opened"]

NAMES = ("local", "dask", "ray")


class Executor(Protocol):
    """Simulates orders, in any sequence, and any number of them at a time."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *problem: object) -> None:
        """Stops running simulations and removes their partial results."""

    def claim(self, owner: Mapping[str, str], names: Sequence[str]) -> None:
        """Reserves the shared storage, if there is any, for a batch. Raises `ValueError` if it
        holds the results of another batch, or already has results with these names."""

    def submit(self, key: str, order: Order) -> None:
        """Queues an order."""

    def ended(self, patience: float) -> list[tuple[str, Answer]]:
        """Returns finished orders. Waits at most `patience` seconds for one. If an answer has no
        error, the result is in the directory of the order."""

    def shares(self) -> Mapping[str, float]:
        """Returns the finished share (0 to 1) of each running point; 0 if it is unknown."""

    def cancel(self) -> None:
        """Stops running orders and drops queued ones. Further orders are accepted."""


def named(
    name: str, *, jobs: int | None = None, address: str | None = None, storage: str | None = None
) -> Executor:
    """Returns an executor by name. `jobs`: points at a time (default: one per core; on a cluster as
    many as it takes). `address`: that of a cluster. `storage`: URL of a folder in which a cluster
    leaves the results except summaries and scenarios (default: whole results are sent back).

    Raises `ValueError` for an unknown name, a wrong number or an argument that has no effect, and
    `MissingExtra` if a library is not installed.
    """
    if name not in NAMES:
        raise ValueError(f"--executor: {spelling.unknown('executor', name, NAMES)}")
    jobs = settings.whole("jobs", jobs, 1, settings.MOST_THREADS)
    if name == "local":
        for option, what, value in (
            ("--address", "address", address),
            ("--storage", "storage", storage),
        ):
            if value is not None:
                raise ValueError(
                    f"{option} {value}: the local executor has no {what}: write --executor dask or --executor ray"
                )
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
def opened(
    executor: str | Executor,
    *,
    jobs: int | None = None,
    address: str | None = None,
    storage: str | None = None,
) -> Iterator[Executor]:
    """Yields the executor of this name and closes it afterwards. An executor object is yielded as
    it is, and its owner closes it. Raises `ValueError` for arguments that the object cannot take."""
    if isinstance(executor, str):
        with named(executor, jobs=jobs, address=address, storage=storage) as ours:
            yield ours
        return
    refuse_with_object(jobs=jobs, address=address, storage=storage)
    yield executor


def refuse_with_object(**given: object) -> None:
    """Raises `ValueError` for arguments that an executor object, which has them already, cannot
    take."""
    if without := [name for name, value in given.items() if value is not None]:
        raise ValueError(
            f"{', '.join(without)}: no effect with an executor object: give it to the object itself"
        )
