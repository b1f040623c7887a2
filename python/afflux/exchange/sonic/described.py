"""Reads the design that SONiC's tables describe."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..account import Account
from .buffers import buffers
from .classes import classes
from .leftovers import leftovers
from .reading import Reading
from .surroundings import surroundings
from .tables import Tables


def of_tables(tables: Tables, account: Account, topology: Mapping[str, Any]) -> Reading:
    """Returns the design that most ports have. Fields that are left out or differ are noted in the
    account. `topology` is that of the scenario: its links provide rates if no PORT of the tables
    has a speed."""
    reading = Reading(tables, account, mbps=_mbps(topology))
    classes(reading)
    buffers(reading)
    surroundings(reading)
    leftovers(reading)
    account.take(len(reading.seen))
    return reading


_UNITS = {"M": 1, "G": 1_000, "T": 1_000_000}


def _mbps(topology: Mapping[str, Any]) -> int | None:
    """Returns the rate of all links in Mb/s, if they have a common rate; otherwise None."""
    rates = set(_rates(topology))
    found = re.fullmatch(r"([\d.]+)\s*([MGT])bps", rates.pop()) if len(rates) == 1 else None
    return round(float(found[1]) * _UNITS[found[2]]) if found else None


def _rates(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _rates(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _rates(inner, key)
    elif key.endswith("rate"):
        yield str(value)
