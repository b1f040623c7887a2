"""Assumptions of a study about facts that its source does not give, and their alternatives.

`assumptions.toml` in the folder of a study holds a table for each assumption:

    [connections]
    what = "connections of each node's other traffic"
    default = "16"
    points = ["*-traffic"]                              # patterns of the points' names; without it, all points
    source = "slides 56 and 63 allow few; the number is not told"
    alternatives.4 = { "traffic[1].connections" = 4 }   # the keys of the scenario that it sets
    changes.4 = "deep buffers cost 0.4 s instead of 2.3 s"
    decides = ["4"]                                     # values that would change the study's answer; the report names them
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .. import spelling
from ..batch import Point
from ..words import Words, join, say

FILE = "assumptions.toml"


@dataclass(frozen=True)
class Assumption:
    """A default of a study, and its alternatives."""

    name: str
    #: Description of the assumption.
    what: str
    default: str
    #: Scenario keys that each alternative value sets.
    alternatives: Mapping[str, Mapping[str, Any]]
    #: Origin of the default.
    source: str
    #: Patterns of the names of the points that the assumption changes.
    points: Sequence[str] = ("*",)
    #: Effect of each value, where it was measured.
    changes: Mapping[str, str] = field(default_factory=dict)
    #: Values that would change the study's answer.
    decides: Sequence[str] = ()

    @property
    def values(self) -> list[str]:
        return [self.default, *self.alternatives]

    def to_dict(self) -> dict[str, Any]:
        """Returns the assumption as `--list --json` prints it."""
        return {
            "assumption": self.name,
            "what": self.what,
            "default": self.default,
            "alternatives": {
                value: {"set": dict(keys), "changes": self.changes.get(value)}
                for value, keys in self.alternatives.items()
            },
            "source": self.source,
        }


@dataclass(frozen=True)
class Assumed:
    """An assumption with the alternative value that was chosen."""

    assumption: Assumption
    value: str

    def __str__(self) -> str:
        return f"{self.assumption.name}={self.value}"

    def changes(self, point: str) -> bool:
        """Returns whether the assumption changes the point with this name."""
        return any(fnmatchcase(point, pattern) for pattern in self.assumption.points)

    def of(self, point: Point) -> Point:
        """Returns the point under this assumption."""
        if not self.changes(point.name):
            return point
        keys = self.assumption.alternatives[self.value]
        # Keys are set in order. These come last, so that a table that the study sets does not undo
        # them.
        return replace(
            point,
            set={key: value for key, value in point.set.items() if key not in keys} | dict(keys),
        )


def read(folder: Path) -> list[Assumption]:
    """Returns the assumptions of a study; an empty list if it has no file."""
    file = folder / FILE
    if not file.is_file():
        return []
    return of_tables(tomllib.loads(file.read_text(encoding="utf-8")))


def of_tables(tables: Mapping[str, Mapping[str, Any]]) -> list[Assumption]:
    """Returns the assumptions of tables such as those of `assumptions.toml`."""
    return [Assumption(name=name, **table) for name, table in tables.items()]


def chosen(study: str, every: Sequence[Assumption], options: Iterable[str]) -> list[Assumed]:
    """Returns the alternatives of `--assume NAME=VALUE`, in the order of the file. A default
    changes nothing and is left out. Raises `ValueError` or `LookupError`."""
    known = {one.name: one for one in every}
    found: dict[str, str] = {}
    for option in options:
        name, equals, value = (part.strip() for part in option.partition("="))
        if not every:
            raise ValueError(
                f"--assume {option}: the study {study} has no assumptions to choose from"
            )
        if not equals or not name or not value:
            raise ValueError(
                f"--assume {option}: expected NAME=VALUE, as in {every[0].name}={next(iter(every[0].alternatives))}"
            )
        if name not in known:
            raise LookupError(
                f"--assume: {spelling.unknown(f'assumption of the study {study}', name, list(known))}"
            )
        if value not in known[name].values:
            raise LookupError(
                f"--assume: {spelling.unknown(f'value of {name}', value, known[name].values)}"
            )
        if name in found:
            raise ValueError(f"--assume {option}: {name} is named twice")
        found[name] = value
    return [
        Assumed(one, found[one.name])
        for one in every
        if found.get(one.name, one.default) != one.default
    ]


def decisive(every: Iterable[Assumption]) -> list[Words]:
    """Returns a sentence for each value that would change the study's answer: what it changes."""
    return [
        say(
            "study.change",
            name=one.name,
            value=value,
            default=one.default,
            what=one.what,
            changes=one.changes[value],
        )
        for one in every
        for value in one.decides
        if value in one.changes
    ]


def in_words(assumed: Sequence[Assumed]) -> Words:
    """Returns the beginning of an answer: `Assuming connections = 4 (default: 16):`."""
    each = [
        say(
            "study.assumed",
            name=one.assumption.name,
            value=one.value,
            default=one.assumption.default,
        )
        for one in assumed
    ]
    return say("study.assuming", assumed=join(each, (" and ", "と ")))
