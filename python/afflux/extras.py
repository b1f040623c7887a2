"""Optional libraries."""

from collections.abc import Iterator
from contextlib import contextmanager

from ._core import Error


class MissingExtra(Error):
    """A library that is not installed with afflux itself."""


@contextmanager
def needed(extra: str, what: str) -> Iterator[None]:
    """Surrounds the import of an optional library. If the library is missing, the error names it and the command that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(f'{what} needs the Python package {error.name!r}, which is not installed: pip install "afflux[{extra}]"') from None
