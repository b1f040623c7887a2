"""Files with a line for each simulation of a study. A comment precedes the header. A line is
written when its simulation ends, so that an interrupted part continues."""

import csv
import fcntl
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ..files import durable

_Made = TypeVar("_Made")


class _Line(dict[str, str]):
    """A line by column. A column that the file does not have is an error that names both."""

    def __init__(self, file: Path, values: dict[str, str]) -> None:
        super().__init__(values)
        self.file = file

    def __missing__(self, column: str) -> str:
        raise _missing(self.file, column, self)


def _missing(file: Path, column: str, there: Iterable[str]) -> ValueError:
    return ValueError(f"{file}: there is no column {column}: there are {', '.join(there)}")


def read(file: Path, columns: Iterable[str] = ()) -> list[dict[str, str]]:
    """Returns the lines by column. Raises `ValueError` for a file without one of `columns`, and for
    a line that does not have the header's number of values."""
    found: list[dict[str, str]] = []
    with file.open(encoding="utf-8", newline="") as text:
        table = csv.DictReader(line for line in text if not line.startswith("#"))
        header = table.fieldnames or ()
        for column in columns if header else ():
            if column not in header:
                raise _missing(file, column, header)
        for place, line in enumerate(table, 1):
            if None in line or None in line.values():
                raise ValueError(
                    f"{file}: line {place} below the header does not have {len(header)} values"
                )
            found.append(_Line(file, line))
    return found


def parsed(
    file: Path, columns: Iterable[str], make: Callable[[Mapping[str, str]], _Made]
) -> list[_Made]:
    """Returns what `make` makes of each line. A `ValueError` in it names the file and the line."""
    found = []
    for place, line in enumerate(read(file, columns), 1):
        try:
            found.append(make(line))
        except ValueError as error:
            raise ValueError(f"{file}: line {place} below the header: {error}") from None
    return found


def own_or_shipped(file: Path, shipped: Path) -> Path:
    """Returns the file in the directory of `file` that has the name of a file that comes with
    afflux, or else the latter."""
    own = file.parent / shipped.name
    return own if own.exists() else shipped


def append(file: Path, comment: str, columns: Sequence[str], line: Sequence[object]) -> None:
    """Appends a line, and before the first one the comment and the header. Several processes may
    append to a file."""
    file.parent.mkdir(exist_ok=True)
    with file.open("a", encoding="utf-8", newline="") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        lines = csv.writer(out, lineterminator="\n")
        if out.seek(0, 2) == 0:
            out.write(f"# {comment}\n")
            lines.writerow(columns)
        lines.writerow(line)


def write(
    file: Path, comment: str, columns: Sequence[str], table: Iterable[Sequence[object]]
) -> Path:
    """Writes a file with all its lines at once."""
    out = io.StringIO()
    out.write(f"# {comment}\n")
    csv.writer(out, lineterminator="\n").writerows([columns, *table])
    return durable.write_text(file, out.getvalue())
