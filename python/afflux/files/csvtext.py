"""CSV: written by the standard library, harmless in a spreadsheet, read back as it was.

A cell of text that a spreadsheet would take for a formula (it begins with `=`, `+`, `-`, `@`, a tab or a carriage return) gets an apostrophe in
front. Text that has apostrophes in front of such a character gets one more, so that readers can take exactly one away. Numbers, and text that is
a number, stay as they are.
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
    """A cell as it is written."""
    if not isinstance(value, str) or not _FORMULA.match(value) or _NUMBER.fullmatch(value):
        return value
    return "'" + value


def plain(text: str) -> str:
    """A cell as it was before `guarded`."""
    return text[1:] if _GUARDED.match(text) else text


def lines(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([guarded(cell) for cell in row] for row in rows)
    return text.getvalue()


def read(numbered: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """The cells of numbered lines. Raises `csv.Error` where quotes do not end on their line."""
    for at, line in numbered:
        for cells in csv.reader([line], strict=True):
            yield at, [plain(cell) for cell in cells]
