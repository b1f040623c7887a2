"""Records with named fields: tracks which fields a reader takes, which it leaves out and why, and
which it does not know."""

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .account import Account, shown


@dataclass(eq=False)
class Record:
    """One kind of record. Every field of it is taken, is left out for a known reason, or is unknown
    and noted with its places."""

    name: str
    taken: Collection[str]
    #: Fields that are left out, with the reason: the end of "left out, …".
    left_out: Mapping[str, str]
    #: Number of records by the set of fields that they have. Nearly all records of a log have the
    #: same fields.
    _shapes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    _unknown: dict[tuple[str, ...], list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, taken: str, left_out: Mapping[str, str]) -> "Record":
        """Makes a kind of record from names separated by commas, those left out by reason."""
        fields = {
            field: reason for reason, names in left_out.items() for field in names.split(", ")
        }
        return cls(name, set(filter(None, taken.split(", "))), fields)

    def seen(
        self,
        record: Mapping[str, object],
        account: Account,
        path: str | os.PathLike[str],
        at: int | None,
    ) -> None:
        shape = tuple(record)
        self._shapes[shape] += 1
        if shape not in self._unknown:
            self._unknown[shape] = [
                name for name in shape if name not in self.taken and name not in self.left_out
            ]
        for name in self._unknown[shape]:
            account.noted(
                f"unknown field {shown(name)} of {self.name}: left out",
                f"{Path(path).name}:{at}" if at is not None else Path(path).name,
            )

    def add_to(self, left_out: "LeftOut") -> None:
        for shape, count in self._shapes.items():
            for name in shape:
                if name in self.left_out:
                    left_out.add(self.left_out[name], name, count)


class LeftOut:
    """Known fields and records that a reader leaves out. There is one note per reason, with their
    names and counts."""

    def __init__(self) -> None:
        self._found: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, reason: str, name: str, count: int = 1) -> None:
        self._found[reason][name] += count

    def notes(self) -> list[str]:
        return [f"left out, {reason}: {_listed(names)}" for reason, names in self._found.items()]


#: Most names in one note. Jobs may have any number of their own counters.
_MOST = 100


def _listed(names: Mapping[str, int]) -> str:
    shown_ = sorted(names.items())
    more = f", and {len(names) - _MOST:,} others" if len(names) > _MOST else ""
    return ", ".join(f"{name} ({count:,})" for name, count in shown_[:_MOST]) + more
