"""Writes CSV that is harmless in a spreadsheet, and reads it back unchanged.

A cell of text that a spreadsheet would take for a formula (it begins with `=`, `+`, `-`, `@`, a tab
or a carriage return) gets an apostrophe in front. Text that already has apostrophes in front of
such a character gets one more, so that readers can remove exactly one. Numbers, and text that is a
number, stay unchanged.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def guarded(value: Any) -> Any:
    """Returns a cell as it is written to the file."""
    if not isinstance(value, str) or not _FORMULA.match(value) or _NUMBER.fullmatch(value):
        return value
    return "'" + value


def plain(text: str) -> str:
    """Reverses `guarded`."""
    return text[1:] if _GUARDED.match(text) else text


def lines(rows: Iterable[Sequence[Any]]) -> str:
    """Formats rows as CSV. None becomes an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([guarded(cell) for cell in row] for row in rows)
    return text.getvalue()


def read(numbered: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yields the cells of numbered lines. Raises `csv.Error` if quotes do not end on their line."""
    for at, line in numbered:
        for cells in csv.reader([line], strict=True):
            yield at, [plain(cell) for cell in cells]
