"""Built-in studies: published measurements, simulated again. One module per study, which defines `STUDY`; docs/studies.md tells how.

The scenario files of a study lie in `studies/<name>` of a checkout, to which `files` here is a link, and are copied here when afflux is installed.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from .study import Check, Row, Study, Verdict, carry_out

__all__ = ["Check", "Row", "Study", "Verdict", "built_in", "carry_out", "files", "find"]


def built_in() -> Iterator[Study]:
    """All of them, by name."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        if module.name not in ("figure", "study"):
            yield importlib.import_module(f"{__name__}.{module.name}").STUDY


def find(name: str) -> Study:
    """Raises `LookupError` if there is none of this name."""
    every = {study.name: study for study in built_in()}
    if name not in every:
        raise LookupError(f"there is no study {name!r}: there {'are ' + ', '.join(every) if every else 'is none yet'}")
    return every[name]


def files(name: str) -> Path:
    """The folder with a study's scenario files and published numbers."""
    place = Path(__file__).parent / "files" / name
    if not place.is_dir():
        raise FileNotFoundError(f"the files of the study {name!r} are missing: {place} is not there")
    return place.resolve()
