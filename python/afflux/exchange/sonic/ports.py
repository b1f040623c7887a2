"""Keys of config_db.json name ports and queues one by one or many at once: `Ethernet0,Ethernet4|3-4`."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

from .tables import LAYOUTS, Tables

T = TypeVar("T")


def queues(text: str) -> range:
    """`3-4` → 3, 4."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def per_queue(entries: Mapping[str, Mapping[str, str]], field: str) -> dict[str, dict[int, str]]:
    """Port → queue (or priority group) → value of a field."""
    found: dict[str, dict[int, str]] = {}
    for key, entry in entries.items():
        port, _, range_ = key.partition("|")
        if field in entry:
            found.setdefault(port, {}).update(dict.fromkeys(queues(range_), entry[field]))
    return found


def common(values: Iterable[T]) -> tuple[T, int, int]:
    """The value that most have, how many have it, of how many."""
    counted = Counter(values)
    value, count = counted.most_common(1)[0]
    return value, count, counted.total()


def gather(tables: Tables) -> Tables:
    """One key for all ports whose entries are the same."""
    gathered: Tables = {}
    for name, entries in tables.items():
        if LAYOUTS[name].key[0] != "port":
            gathered[name] = {key: dict(entry) for key, entry in entries.items()}
            continue
        alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
        for key, entry in entries.items():
            port, bar, rest = key.partition("|")
            alike.setdefault((bar + rest, tuple(entry.items())), []).append(port)
        gathered[name] = {",".join(ports) + rest: dict(entry) for (rest, entry), ports in alike.items()}
    return gathered


def spread(tables: Mapping[str, Mapping[str, Mapping[str, str]]]) -> Tables:
    """The contrary: one key per port, in the order of ports."""
    out: Tables = {}
    for name, entries in tables.items():
        layout = LAYOUTS.get(name)
        if layout is None or layout.key[0] != "port":
            out[name] = {key: dict(entry) for key, entry in entries.items()}
            continue
        single = {}
        for key, entry in entries.items():
            ports, bar, rest = key.partition("|")
            for port in ports.split(","):
                single[port + bar + rest] = dict(entry)
        out[name] = dict(sorted(single.items(), key=lambda item: _order(item[0])))
    return out


def _order(key: str) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", key) if part]
