"""Numbers that stand in for a large output file of a reference.

A reader needs a few numbers of such a file: percentiles, a last completion, the times of some events. The raw folder has the file. The compact form
(`validation/reference`) has the numbers instead, in `kept.json` of the reference's folder: name of the file → what the reader made of it. So a reader asks
here, and does not see which of the two there is. `compact.py` writes what was asked for.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .case import Unreadable, one_line

NAME = "kept.json"
#: While `recording`: by folder and file.
_recorded: dict[Path, dict[str, Any]] | None = None


def there(folder: Path, file: str) -> bool:
    """Is the file or its numbers in the folder of the reference?"""
    return file in _table(folder) or (folder / file).is_file()


def of(folder: Path, file: str, read: Callable[[Path], Any]) -> Any:
    """`read` of the file, which gives what JSON can hold, or the numbers that were kept of it."""
    table = _table(folder)
    if file in table:
        return table[file]
    value = read(folder / file)
    if _recorded is not None:
        _recorded.setdefault(folder, {})[file] = value
    return value


@contextmanager
def recording() -> Iterator[dict[Path, dict[str, Any]]]:
    """All that readers make of files meanwhile."""
    global _recorded
    _recorded = {}
    try:
        yield _recorded
    finally:
        _recorded = None


def _table(folder: Path) -> dict[str, Any]:
    path = folder / NAME
    if not path.is_file():
        return {}
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Unreadable(f"{NAME} cannot be read: {one_line(error)}") from None
    if not isinstance(table, dict):
        raise Unreadable(f"{NAME} is no table")
    return table
