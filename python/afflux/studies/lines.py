"""Files with a line for each simulation of a study. A comment precedes the header. A line is
written when its simulation ends, so that an interrupted part continues."""

import csv
import fcntl
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..files import durable


def read(file: Path) -> list[dict[str, str]]:
    """Returns the lines by column."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


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
