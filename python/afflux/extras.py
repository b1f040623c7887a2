"""Optional libraries."""

from collections.abc import Iterator
from contextlib import contextmanager

from ._core import Error


class MissingExtra(Error):
    """A library that is not installed with afflux itself."""


@contextmanager
def needed(extra: str, what: str) -> Iterator[None]:
    """Around the import of what `what` needs: a missing library is named with the way to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(f'{what} needs the Python package {error.name!r}, which is not installed: pip install "afflux[{extra}]"') from None
