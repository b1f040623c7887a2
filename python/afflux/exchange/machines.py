"""Identifies machines that logs call by several names: `w1` where blocks are stored, `w1.dc` where
tasks run."""

import re
from collections import defaultdict
from collections.abc import Iterable

from .account import Account
from .hosts import natural


class Machines:
    """Groups of names that denote the same machine."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}
        #: For each host: names of places, one of which denotes this host, because local attempts
        #: read there.
        self._local: dict[str, set[str]] = {}
        #: Names under which tasks ran. Two of them are two machines, unless one is the short form
        #: of the other.
        self._hosts: set[str] = set()

    def host(self, name: str) -> None:
        self._hosts.add(name)
        self._parent.setdefault(name, name)

    def place(self, name: str) -> None:
        self._parent.setdefault(name, name)

    def local(self, host: str, places: Iterable[str]) -> None:
        """Records that an attempt on this host read from its own disk, so one of these places is
        the host."""
        found = set(places)
        self._local[host] = self._local[host] & found if host in self._local else found

    def of(self, name: str) -> str:
        """Returns the representative of all names of this machine: the shortest."""
        while (parent := self._parent.get(name, name)) != name:
            name = parent
        return name

    def names(self, name: str) -> list[str]:
        """Returns all names of a machine, the shortest first."""
        return sorted(
            (other for other in self._parent if self.of(other) == self.of(name)),
            key=lambda other: (len(other), other),
        ) or [name]

    def unite(self, account: Account) -> None:
        """Joins short names with long ones (`w1`, `w1.dc`), and names that local attempts show to
        be one machine. A note lists them."""
        by_prefix: dict[str, list[str]] = defaultdict(list)
        for name in self._parent:
            if "." in name and not re.fullmatch(r"[0-9.]+", name):
                by_prefix[name.partition(".")[0]].append(name)
        for short, long in by_prefix.items():
            if short in self._parent and len(long) == 1:
                self._join(short, long[0])
            elif short in self._parent:
                account.noted(
                    "a short name fits several machines with domains, and stays a machine of its own",
                    short,
                )
        taken = {self.of(host) for host in self._hosts}
        for host, places in self._local.items():
            others = {self.of(place) for place in places} - (taken - {self.of(host)})
            if self.of(host) not in others and len(others) == 1:
                self._join(host, others.pop())
        groups: dict[str, list[str]] = defaultdict(list)
        for name in self._parent:
            groups[self.of(name)].append(name)
        for first, names in sorted(groups.items(), key=lambda item: natural(item[0])):
            if len(names) > 1:
                account.noted(
                    "machines with several names are one host",
                    " = ".join([first, *sorted(set(names) - {first})]),
                )

    def _join(self, one: str, other: str) -> None:
        first, second = sorted((self.of(one), self.of(other)), key=lambda name: (len(name), name))
        self._parent[second] = first
