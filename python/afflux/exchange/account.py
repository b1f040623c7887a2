"""What an importer took and what it left out, and what is wrong with a file."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


class Wrong(ValueError):
    """A file that cannot be taken: where, what was found, what would be right."""

    def __init__(self, file: str | os.PathLike[str], line: int | None, found: str, expected: str) -> None:
        self.file, self.line = file, line
        super().__init__(f"{os.fspath(file)}{f':{line}' if line else ''}: found {found}, expected {expected}")


@dataclass
class Account:
    """How many records were taken and dropped, by reason, and what else is to be known."""

    #: What is counted: "flows", "frames", …
    what: str
    taken: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def drop(self, reason: str, count: int = 1) -> None:
        if count:
            self.dropped[reason] += count

    def lines(self) -> list[str]:
        """For people: the counts first."""
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(self.dropped.items()))
        counts = f"{self.taken:,} {self.what} taken, {self.dropped.total():,} dropped{f': {reasons}' if reasons else ''}"
        return [counts, *self.notes]

    def to_dict(self) -> dict[str, object]:
        return {"what": self.what, "taken": self.taken, "dropped": dict(sorted(self.dropped.items())), "notes": self.notes}


def shown(value: object, most: int = 60) -> str:
    """A piece of a file as it stands in messages."""
    text = repr(value)
    return text if len(text) <= most else text[:most] + "…"


def plural(count: int, one: str, more: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def number(value: object, name: str, file: str | os.PathLike[str], line: int | None) -> int:
    """A whole number, not negative, that is not a truth value."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise Wrong(file, line, f"{name} {shown(value)}", "a whole number, not negative")
    return value


def table(value: object, name: str, file: str | os.PathLike[str], line: int | None) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise Wrong(file, line, f"{name} {shown(value)}", "an object")
    return value
