"""Built-in studies: published measurements, simulated again.

One folder per study holds its code, which defines `STUDY`, its scenario files, the published
numbers and a README. docs/studies.md explains how to write one. `studies` at the root of a checkout
is a link to this folder.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from .. import spelling
from .assumption import Assumption
from .part import Part, Series, Slice, named
from .study import Check, Row, Study, Verdict, carry_out

__all__ = [
    "Assumption",
    "Check",
    "Part",
    "Row",
    "Series",
    "Slice",
    "Study",
    "Verdict",
    "built_in",
    "carry_out",
    "files",
    "find",
    "named",
]


def built_in() -> Iterator[Study]:
    """Returns all studies, sorted by name."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        if module.ispkg:
            yield importlib.import_module(f"{__name__}.{module.name}").STUDY


def find(name: str) -> Study:
    """Returns a study by name. Raises `LookupError` if it does not exist."""
    every = {study.name: study for study in built_in()}
    if name not in every:
        raise LookupError(spelling.unknown("study", name, list(every)))
    return every[name]


def files(name: str) -> Path:
    """Returns the folder with a study's scenario files and published numbers."""
    place = Path(__file__).parent / name
    if not place.is_dir():
        raise FileNotFoundError(
            f"the files of the study {name!r} are missing: {place} does not exist"
        )
    return place.resolve()
