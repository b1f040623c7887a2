"""Converts tables to and from the form of `[sonic]`, which has one key for all ports with the same
entry."""

from collections.abc import Mapping

from .ports import Key, order
from .tables import LAYOUTS, Tables


def gather(tables: Tables) -> Tables:
    """Combines all ports with the same entry under one key."""
    gathered: Tables = {}
    for name, entries in tables.items():
        if LAYOUTS[name].key[0] != "port":
            gathered[name] = {key: dict(entry) for key, entry in entries.items()}
            continue
        of_queues = LAYOUTS[name].key[-1] == "priorities"
        alike: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[str]] = {}
        for key, entry in entries.items():
            card, port, numbers = Key.of(key, of_queues)
            alike.setdefault((card, numbers, tuple(entry.items())), []).append(port)
        gathered[name] = {
            str(Key(card, ",".join(ports), numbers)): dict(entry)
            for (card, numbers, entry), ports in alike.items()
        }
    return gathered


def spread(tables: Mapping[str, Mapping[str, Mapping[str, str]]]) -> Tables:
    """Reverses `gather`: returns one key per port, in the order of ports."""
    out: Tables = {}
    for name, entries in tables.items():
        layout = LAYOUTS.get(name)
        if layout is None or layout.key[0] != "port":
            out[name] = {key: dict(entry) for key, entry in entries.items()}
            continue
        single = {}
        for key, entry in entries.items():
            card, ports, numbers = Key.of(key, layout.key[-1] == "priorities")
            for port in ports.split(","):
                single[str(Key(card, port, numbers))] = dict(entry)
        out[name] = dict(sorted(single.items(), key=lambda item: order(item[0])))
    return out
