"""Parses keys of config_db.json, which name ports and queues singly or several at once:
`Ethernet0,Ethernet4|3-4`."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

T = TypeVar("T")

#: Port name of the queues to the switch's own processor, and keys of settings for the whole switch.
CPU, WHOLE = "CPU", ("global", "GLOBAL")


class Key(NamedTuple):
    """A key of a table with entries per port. `card` (names of line card and chip, in a chassis),
    port and queues may be empty."""

    card: str
    port: str
    queues: str

    @classmethod
    def of(cls, text: str, of_queues: bool) -> "Key":
        parts = text.split("|")
        queues = parts.pop() if of_queues else ""
        port = parts.pop()
        return cls("|".join(parts), port, queues)

    def __str__(self) -> str:
        return "|".join(part for part in self if part)


def queues(text: str) -> range:
    """Expands a range of queues: `3-4` → 3, 4."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def split(key: str) -> tuple[str, str]:
    """Splits a key of BUFFER_PG, BUFFER_QUEUE or QUEUE into the port (with card and chip) and the
    queues."""
    port, _, numbers = key.rpartition("|")
    return port, numbers


def each(entries: Mapping[str, Mapping[str, str]], field: str) -> Iterator[tuple[str, int, str]]:
    """Yields key, queue (or priority group) and value of a field, for every queue of every port."""
    for key, entry in entries.items():
        if field in entry:
            for number in queues(split(key)[1]):
                yield key, number, entry[field]


def common(values: Iterable[T]) -> tuple[T, int, int]:
    """Returns the most frequent value, how often it occurs, and the number of values."""
    counted = Counter(values)
    value, count = counted.most_common(1)[0]
    return value, count, counted.total()


def spelt(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def order(key: str) -> list[tuple[int, int | str]]:
    """Returns a sort key that sorts ports by their numbers."""
    return [
        (0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", key) if part
    ]
