"""Maps names of machines to the numbers of hosts in a scenario."""

import csv
import ipaddress
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import _core
from ..files import csvtext
from . import account
from .account import Wrong, shown
from .reading import lines


@dataclass(frozen=True)
class Known:
    """Hosts by the names and addresses that other files use."""

    numbers: Mapping[str, int]
    #: Names of hosts in flow lists, by number; None if flow lists use numbers.
    names: Mapping[int, str] | None = None
    #: Origin of the mapping, for messages.
    source: str = ""

    def find(self, name: str) -> int | None:
        return self.numbers.get(canonical(name))


def canonical(name: str) -> str:
    """Returns the usual spelling of an IPv6 address: lower case, shortened as in RFC 5952. Returns
    other names as they are."""
    try:
        address = ipaddress.IPv6Address(name)
    except ValueError:
        return name
    return f"::ffff:{address.ipv4_mapped}" if address.ipv4_mapped else str(address)


def natural(name: str) -> list[tuple[int, int, str]]:
    """Returns a sort key that sorts `node2` before `node10`."""
    parts = re.split(r"([0-9]{1,18})", name)
    return [
        (0, int(part), "") if part[:1].isascii() and part.isdecimal() else (1, 0, part)
        for part in parts
        if part
    ]


def numbered(names: Iterable[str]) -> dict[str, int]:
    """Numbers names from 0 in natural order, in which machines of a rack are usually adjacent."""
    return {name: number for number, name in enumerate(sorted(set(names), key=natural))}


def read(path: str | os.PathLike[str]) -> Known:
    """Reads a mapping of hosts: a scenario whose topology names hosts, or a CSV file with the
    header `host,name`."""
    if Path(path).suffix == ".toml":
        return of_scenario(_core.load(path), path)
    numbers: dict[str, int] = {}
    rows = lines(path)
    at, header = next(rows, (1, ""))
    if [field.strip() for field in header.split(",")] != ["host", "name"]:
        raise Wrong(path, at, f"the header {shown(header)}", "host,name, or a scenario (.toml)")
    try:
        for at, fields in csvtext.read(rows):
            if len(fields) != 2 or not re.fullmatch(r"\s*[0-9]{1,9}\s*", fields[0]):
                raise Wrong(
                    path, at, shown(",".join(fields)), "a host's number and a name, as in 3,node-7"
                )
            name = canonical(account.name(fields[1].strip(), "the name", path, at))
            if name in numbers:
                raise Wrong(path, at, f"the name {shown(name)} a second time", "each name once")
            numbers[name] = int(fields[0])
    except csv.Error as error:
        raise Wrong(
            path,
            at,
            f"a line that is not CSV ({error})",
            "a host's number and a name, as in 3,node-7",
        ) from None
    return Known(numbers, None, os.fspath(path))


def of_scenario(scenario: _core.Scenario, path: str | os.PathLike[str]) -> Known:
    """Returns the names and addresses of a scenario's hosts."""
    names = [name for name, kind, *_ in scenario.nodes if kind == "host"]
    numbers = {name: number for number, name in enumerate(names)} | dict(scenario.addresses)
    return Known(numbers, dict(enumerate(names)), os.fspath(path))


def to_csv(numbers: Mapping[str, int]) -> str:
    """Formats numbers and names as the CSV that `read` takes."""
    return csvtext.lines(
        [("host", "name"), *sorted((number, name) for name, number in numbers.items())]
    )
