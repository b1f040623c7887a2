"""Options of the commands that run batches, and the display of a batch in progress."""

import inspect
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any

from rich.console import Console

from .options import Address, Jobs, Storage, Watched, With

if TYPE_CHECKING:
    from ..batch import Watch
    from ..metrics import Metric


@contextmanager
def watching(command: str, page: bool, main: "Sequence[Metric]" = ()) -> "Iterator[Watch]":
    """Shows the progress of a batch that `command` runs on stderr and, with `page`, on a page.
    `main` are the metrics by which its points are judged, if known."""
    from .. import watching
    from ..terminal import progress

    with (
        progress.of_batch(Console(stderr=True)) as bar,
        watching.of_batch(command, bar, page, main) as watch,
    ):
        yield watch


@dataclass(frozen=True)
class Execution:
    """Options that say where the points of a batch run."""

    executor: With = "local"
    address: Address = None
    storage: Storage = None
    jobs: Jobs = None
    watched: Watched = False

    @contextmanager
    def begun(self, command: str, main: "Sequence[Metric]" = ()) -> Iterator[dict[str, Any]]:
        """Shows the batch that `command` runs. Yields the arguments of the function that runs it."""
        options = asdict(self)
        with watching(command, options.pop("watched"), main) as watch:
            yield {**options, "watch": watch}


def batch_options(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of `Execution` in the place of its parameter `execution`."""
    own, of_batch = inspect.signature(command).parameters, inspect.signature(Execution).parameters
    parameters = [
        each
        for parameter in own.values()
        for each in (of_batch.values() if parameter.name == "execution" else [parameter])
    ]

    @wraps(command)
    def with_options(**given: Any) -> None:
        execution = Execution(**{one.name: given.pop(one.name) for one in fields(Execution)})
        command(**given, execution=execution)

    vars(with_options)["__signature__"] = inspect.Signature(parameters)
    hints = typing.get_type_hints(command, include_extras=True)
    hints |= typing.get_type_hints(Execution, include_extras=True)
    with_options.__annotations__ = {one.name: hints[one.name] for one in parameters}
    return with_options
