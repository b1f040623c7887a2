"""Imports of optional libraries, with errors that name the command to install them."""

import importlib
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._core import Error


class MissingExtra(Error, ImportError):
    """A missing library that afflux does not install by default."""


@contextmanager
def needed(extra: str, what: str) -> Iterator[None]:
    """Surrounds the import of an optional library. If the library is missing, the error names it
    and the command that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{what} needs the Python package {error.name!r}, which is not installed: {command(extra)}"
        ) from None


def library(what: str, package: str, *others: str) -> Any:
    """Imports an optional library and the others that it needs, and returns it. If one is missing,
    the error names it and the command that installs all."""
    install = shlex.join([sys.executable, "-m", "pip", "install", package, *others])
    try:
        first, *_ = [importlib.import_module(name) for name in (package, *others)]
        return first
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{what} needs the Python package {error.name!r}, which is not installed: {install}"
        ) from None


def command(extra: str) -> str:
    """Returns the command that installs the requirements of an extra into the running Python
    environment. It works however afflux itself was installed."""
    from importlib.metadata import requires

    parts = [text.partition(";") for text in requires("afflux") or []]
    wanted = [
        requirement.strip()
        for requirement, _, marker in parts
        if f"'{extra}'" in marker.replace('"', "'")
    ]
    return shlex.join([sys.executable, "-m", "pip", "install", *wanted])
