"""Names of machines and the numbers that hosts have in a scenario."""

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping

from .account import Wrong, shown
from .files import lines


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts `node2` before `node10`."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


def numbered(names: Iterable[str]) -> dict[str, int]:
    """Numbers from 0 in natural order, in which machines of a rack mostly stand together."""
    return {name: number for number, name in enumerate(sorted(set(names), key=natural))}


def read(path: str | os.PathLike[str]) -> dict[str, int]:
    """A mapping that somebody made: CSV with the header `host,name`."""
    numbers: dict[str, int] = {}
    rows = lines(path)
    at, header = next(rows, (1, ""))
    if [field.strip() for field in header.split(",")] != ["host", "name"]:
        raise Wrong(path, at, f"the header {shown(header)}", "host,name")
    for at, line in rows:
        fields = [field.strip() for field in next(csv.reader([line]))]
        if len(fields) != 2 or not re.fullmatch(r"[0-9]{1,9}", fields[0]):
            raise Wrong(path, at, shown(line), "a host's number and a name, as in 3,node-7")
        if fields[1] in numbers:
            raise Wrong(path, at, f"the name {fields[1]!r} a second time", "each name once")
        numbers[fields[1]] = int(fields[0])
    return numbers


def to_csv(numbers: Mapping[str, int]) -> str:
    """The form that `read` takes."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["host", "name"])
    writer.writerows(sorted((number, name) for name, number in numbers.items()))
    return out.getvalue()
