"""Numbers that replace a large output file of a reference.

A reader needs a few numbers of such a file: percentiles, a last completion, the times of some
events. The raw folder has the file. The compact form (`validation/reference`) has only these
numbers, in `kept.json` of the reference's folder: name of the file → result of the reader. A reader
calls this module, and does not see which of the two exists. `compact.py` writes the numbers that
were requested.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .case import Unreadable, one_line

NAME = "kept.json"
#: Numbers by folder and file while `recording`.
_recorded: dict[Path, dict[str, Any]] | None = None


def there(folder: Path, file: str) -> bool:
    """True if the file or its numbers are in the folder of the reference."""
    return file in _table(folder) or (folder / file).is_file()


def of(folder: Path, file: str, read: Callable[[Path], Any]) -> Any:
    """Returns the result of `read` for the file, which must be valid JSON, or the numbers that were
    kept of it."""
    table = _table(folder)
    if file in table:
        return table[file]
    value = read(folder / file)
    if _recorded is not None:
        _recorded.setdefault(folder, {})[file] = value
    return value


@contextmanager
def recording() -> Iterator[dict[Path, dict[str, Any]]]:
    """Yields all numbers that readers compute from files meanwhile."""
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
