"""Tables while they are changed: entries of all ports, and names in use."""

import itertools
from collections.abc import Mapping
from typing import Any

from .design import Design
from .ports import CPU, WHOLE, Key, queues, split
from .reading import Reading
from .tables import COMPUTED, LAYOUTS, Tables

#: Name of maps in new tables: that of SONiC (qos_config.j2).
MAP = "AZURE"


class Edit:
    """Tables that are being changed into those of `design`. `before` is the design of the original
    tables, and `base` has the original tables. `fresh` are the ports for tables that have none."""

    def __init__(
        self, tables: Tables, design: Design, before: Design, reading: Reading, fresh: list[str]
    ) -> None:
        self.tables, self.design, self.before = tables, design, before
        self.reading, self.base, self.fresh = reading, reading.tables, fresh
        #: Settings that cannot be written.
        self.missing: list[str] = []

    def set(self, table: str, key: str, values: Mapping[str, Any], **new: str) -> None:
        """Sets fields of an entry. `new` are additional fields of a new entry."""
        entry = self.tables.setdefault(table, {}).setdefault(key, dict(new))
        entry.update({name: str(value) for name, value in values.items()})

    def ports(self, table: str) -> list[str]:
        """Returns the ports as the keys of a table name them. In a chassis, queues have card and
        chip in their names."""
        of_queues = LAYOUTS[table].key[-1] == "priorities"
        own = {self._port(key, of_queues, card=True) for key in self.tables.get(table, {})}
        others = [
            name for name in ("PORT_QOS_MAP", "BUFFER_PG", "BUFFER_QUEUE", "QUEUE") if name != table
        ]
        plain = {
            self._port(key, name != "PORT_QOS_MAP", card=False): None
            for name in others
            for key in self.tables.get(name, {})
        }
        found = [port for port in own or plain if port not in (CPU, *WHOLE)]
        return sorted(found, key=list(own or plain).index) or self.fresh

    @staticmethod
    def _port(key: str, of_queues: bool, *, card: bool) -> str:
        parts = Key.of(key, of_queues)
        return str(Key(parts.card if card else "", parts.port, ""))

    def map(self, field: str, table: str) -> str:
        entries = self.tables.get("PORT_QOS_MAP", {})
        names = [
            entry[field] for key, entry in entries.items() if key not in WHOLE and field in entry
        ] or [e[field] for e in entries.values() if field in e]
        return (
            max(set(names), key=names.count)
            if names
            else next(iter(self.tables.get(table, {})), MAP)
        )

    def refer(self, field: str, name: str) -> None:
        for port in self.ports("PORT_QOS_MAP"):
            self.tables.setdefault("PORT_QOS_MAP", {}).setdefault(port, {}).setdefault(field, name)

    def attach_profile(self, table: str, number: int, name: str) -> None:
        """Assigns a profile to a queue or group of all ports. Removes the entries if no profile has
        this name."""
        ports = self.ports(table)
        self.split_ranges(table, number)
        for port in ports:
            if name == COMPUTED or name in self.tables.get("BUFFER_PROFILE", {}):
                self.set(table, f"{port}|{number}", {"profile": name})
            else:
                self.tables.get(table, {}).pop(f"{port}|{number}", None)

    def free(self, table: str, name: str, user: tuple[str, int]) -> str:
        """Returns a name for a profile in `table` that only `user` refers to (a table, and the
        number of a queue or group): `name`, or `name` with a number."""
        own = {f"{port}|{user[1]}" for port in self.ports(user[0])}
        used = {
            referred
            for other, entries in self.tables.items()
            for field, target in LAYOUTS[other].refers.items()
            for key, entry in entries.items()
            if target == table and not (other == user[0] and key in own)
            for referred in entry.get(field, "").split(",")
        } | {*self.reading.names.values()}
        return next(
            free
            for free in itertools.chain([name], (f"{name}_{n}" for n in itertools.count(2)))
            if free not in used
        )

    def split_ranges(self, table: str, number: int) -> None:
        """Splits key ranges that contain this queue or group into single keys, so that it can
        differ."""
        entries = self.tables.get(table, {})
        for key in [
            key for key in entries if "-" in split(key)[1] and number in queues(split(key)[1])
        ]:
            port, range_ = split(key)
            entry = entries.pop(key)
            for each in queues(range_):
                entries[f"{port}|{each}"] = dict(entry)
