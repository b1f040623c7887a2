"""Tables while they are read: tracks which fields were used, and what they become."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ..account import Account
from .design import Design
from .ports import CPU, WHOLE, common, split
from .tables import LAYOUTS, Tables

T = TypeVar("T")


@dataclass
class Maps:
    """Maps of traffic classes to queues and priority groups, and of PFC priorities to priority
    groups and queues. Without a map, the numbers are the same on both sides. A class that its map
    lacks has queue or group 0, as in SAI."""

    queue: dict[int, int] = field(default_factory=dict)
    group: dict[int, int] = field(default_factory=dict)
    group_of_priority: dict[int, int] = field(default_factory=dict)
    queue_of_priority: dict[int, int] = field(default_factory=dict)
    #: Priority groups that PFC pauses; `None` if no port says which priorities are lossless.
    paused: set[int] | None = None

    def queues(self, classes: Iterable[int]) -> set[int]:
        return {self.queue.get(tc, tc) for tc in classes}


@dataclass
class Reading:
    """The tables, with the fields that were used and the origin of the scenario's keys."""

    tables: Tables
    account: Account
    design: Design = field(default_factory=Design)
    #: Table, key and field of everything that was used, or that a note names.
    seen: set[tuple[str, str, str]] = field(default_factory=set)
    #: Origin of each key of the scenario: table, key and field.
    sources: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    #: Reason why the fields of a buffer profile are left out, by profile.
    roles: dict[str, str] = field(default_factory=dict)
    #: Names of the entries taken: "lossy" and "lossless" (profiles), "lossy_group" (a profile),
    #: "ingress_pool", "lossy_pool".
    names: dict[str, str] = field(default_factory=dict)
    maps: Maps = field(default_factory=Maps)
    #: Rate of the fabric's links in Mb/s.
    mbps: int | None = None

    def table(self, name: str) -> Mapping[str, Mapping[str, str]]:
        return self.tables.get(name, {})

    def get(self, table: str, key: str, name: str) -> str | None:
        """Returns a field and records it as used."""
        value = self.table(table).get(key, {}).get(name)
        if value is not None:
            self.seen.add((table, key, name))
        return value

    def number(self, table: str, key: str, name: str, to: str | None = None) -> int | None:
        """Returns a field as a number. `to` is the key of the scenario that it sets."""
        value = self.get(table, key, name)
        if value is None:
            return None
        if to:
            self.sources[to] = (table, key, name)
        return int(value)

    def noted(self, sentence: str, table: str, key: str, *names: str) -> None:
        """Adds a note about fields, which says what they would have meant."""
        self.seen.update((table, key, name) for name in names)
        self.account.noted(sentence, f"{table}|{key}")

    def ports(self, table: str, name: str) -> Iterator[tuple[str, str]]:
        """Yields port and value of a field for all ports except the switch's own processor. If no
        port has the field, yields it for the whole switch."""
        found = [
            (key, entry[name])
            for key, entry in self.table(table).items()
            if name in entry and split(key)[0] != CPU
        ]
        of_ports = [(key, value) for key, value in found if key not in WHOLE]
        yield from of_ports or found

    def majority(
        self,
        table: str,
        values: Iterable[tuple[str, T]],
        names: tuple[str, ...],
        what: str,
        shown: Callable[[T], object] = lambda v: v,
    ) -> T:
        """Returns the most frequent value of pairs of key and value. Deviating ones are noted."""
        found = list(values)
        chosen, _, _ = common(value for _, value in sorted(found, key=lambda item: not item[1]))
        for key, value in found:
            self.seen.update((table, key, name) for name in names)
            if value != chosen:
                self.account.noted(
                    f"{table}: {what} is not {shown(chosen)} everywhere: all ports are taken to be alike",
                    f"{table}|{key} = {shown(value)}",
                )
        return chosen

    def resolved(
        self, table: str, values: Iterable[tuple[str, str]], name: str
    ) -> list[tuple[str, str]]:
        """Returns the pairs of key and name whose target table has this name. The rest stays unused
        and so gets a note."""
        target = LAYOUTS[table].refers[name]
        return [(key, value) for key, value in values if value in self.table(target)]
