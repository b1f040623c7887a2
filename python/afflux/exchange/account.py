"""Accounts of importers: records taken and left out, and errors about a file."""

import itertools
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import _core


class Wrong(ValueError):
    """A file that cannot be imported. The message says where, what was found and what is
    expected."""

    def __init__(
        self,
        file: str | os.PathLike[str],
        line: int | None,
        found: str,
        expected: str | None = None,
    ) -> None:
        self.file, self.line = file, line
        super().__init__(
            f"{os.fspath(file)}{f':{line}' if line else ''}: found {found}{f', expected {expected}' if expected else ''}"
        )


#: Most places that a note names.
_FIRST = 3


@dataclass
class Account:
    """Account of a file. A reader takes, notes or refuses every record and field
    (docs/dev/readers.md). A refusal raises `Wrong`. This class counts the others."""

    #: Name of the counted records: "flows", "frames", …
    what: str
    taken: int = 0
    #: Number of records that were not taken, by reason.
    dropped: Counter[str] = field(default_factory=Counter)
    #: Sentences about the file as a whole.
    notes: list[str] = field(default_factory=list)
    #: Fields and records that were left out: for each sentence their number, and the first places
    #: in the file without duplicates.
    _left_out: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    def take(self, count: int = 1) -> None:
        self.taken += count

    def drop(self, reason: str, count: int = 1) -> None:
        """Counts records that are not taken. The reason follows a number: "of tasks that did not
        succeed"."""
        if count:
            self.dropped[reason] += count

    def noted(self, sentence: str, place: object = None, times: int = 1) -> None:
        """Notes a field or record that is left out. The sentence says what it would have meant and
        why it is left out. `place` is a line number, or a path of keys. The same sentence at other
        places becomes one note with a count. `times` is the number of occurrences to count."""
        count, places = self._left_out.get(sentence, (0, []))
        shown_at = (
            f"line {place}" if isinstance(place, int) else None if place is None else str(place)
        )
        if shown_at is not None and len(places) < _FIRST and shown_at not in places:
            places.append(shown_at)
        self._left_out[sentence] = (count + times, places)

    def left_out(self) -> list[str]:
        """Returns the notes about omissions, with counts and first places."""
        return [
            _with_places(sentence, count, places)
            for sentence, (count, places) in self._left_out.items()
        ]

    def lines(self) -> list[str]:
        """Returns the account as lines of text, the counts first."""
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(self.dropped.items()))
        counts = f"{self.taken:,} {self.what} taken, {self.dropped.total():,} dropped{f': {reasons}' if reasons else ''}"
        return [counts, *self.notes, *self.left_out()]

    def to_dict(self) -> dict[str, object]:
        return {
            "what": self.what,
            "taken": self.taken,
            "dropped": dict(sorted(self.dropped.items())),
            "notes": [*self.notes, *self.left_out()],
        }


def _with_places(sentence: str, count: int, places: list[str]) -> str:
    if not places:
        return sentence if count == 1 else f"{sentence} ({count:,} times)"
    named = ", ".join(places)
    return (
        f"{sentence} ({named})"
        if count == len(places)
        else f"{sentence} ({count:,} times, first at {named})"
    )


def shown(value: object, most: int = 60) -> str:
    """Formats a piece of a file for messages."""
    match value:
        case str():
            text = (
                repr(value[: most + 1])
                if value[: most + 1].isprintable()
                else ascii(value[: most + 1])
            )
        case bytes():
            text = repr(value[: most + 1]).removeprefix("b")
        case Mapping():
            text = (
                "a mapping of " + ", ".join(shown(key, 20) for key in itertools.islice(value, 3))
                if value
                else "an empty mapping"
            )
        case list() | tuple():
            text = f"a list of {len(value)}"
        case int() if not isinstance(value, bool) and not -(10**30) < value < 10**30:
            text = "a number of more than 30 digits"
        case _:
            text = repr(value)
    return text if len(text) <= most else text[:most] + "…"


def plural(count: int, one: str, more: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def name(value: object, what: str, file: str | os.PathLike[str], line: int | None) -> str:
    """Returns a name that is allowed in tables and on terminals. Raises `Wrong`."""
    if not isinstance(value, str):
        raise Wrong(file, line, f"{what} {shown(value)}", "a name")
    expected = (
        _core.wrong_name(value)
        if value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)
        else "whole characters"
    )
    if expected is not None:
        raise Wrong(file, line, f"{what} {shown(value)}", expected)
    return value


def number(value: object, name: str, file: str | os.PathLike[str], line: int | None) -> int:
    """Returns a whole number that is not negative and not a boolean. Raises `Wrong`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise Wrong(file, line, f"{name} {shown(value)}", "a whole number, not negative")
    return value


def moment(value: object, name: str, file: str | os.PathLike[str], line: int | None) -> int:
    """Returns milliseconds since 1970, before the year 2100. Raises `Wrong`."""
    ms = number(value, name, file, line)
    if ms >= 4_102_444_800_000:
        raise Wrong(file, line, f"{name} {ms}", "milliseconds since 1970, before the year 2100")
    return ms


def total(bytes: int, of: str, file: str | os.PathLike[str], line: int | None) -> int:
    """Returns a sum of bytes that fits into tables. Raises `Wrong`."""
    if bytes >= 2**63:
        raise Wrong(file, line, f"more than 2^63 bytes of {of}", "bytes of a real job")
    return bytes


def table(
    value: object, name: str, file: str | os.PathLike[str], line: int | None
) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise Wrong(file, line, f"{name} {shown(value)}", "an object")
    return value
