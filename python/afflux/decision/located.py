"""Errors of decision files, which name the line."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .. import _core

#: Keys and places in lists that lead to an item of the file.
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class File:
    """A decision file, for its errors."""

    path: Path
    text: str

    @classmethod
    def of(cls, path: Path) -> "File":
        return cls(path, path.read_text(encoding="utf-8-sig"))

    def at(self, place: Place) -> str:
        """Returns the file and the line of a key or a block. A key that is missing belongs to its
        block."""
        for end in range(len(place), 0, -1):
            if line := _core.line_of(self.text, place[:end]):
                return f"{self.path}:{line}"
        return str(self.path)

    def wrong(self, place: Place, found: str) -> ValueError:
        """Returns the error about a key or a block, with its line."""
        shown = "".join(
            f"[{part}]" if isinstance(part, int) else f".{part}" if number else part
            for number, part in enumerate(place)
        )
        what = shown if isinstance(place[-1], int) else f"key {shown}"
        return ValueError(f"{self.at(place)}: {what}{found}")

    def not_toml(self, error: tomllib.TOMLDecodeError) -> ValueError:
        """Returns the error about the syntax, in the words of scenario files."""
        try:
            _core.parse(self.text, self.path)
        except _core.ScenarioError as scenario:
            if "not TOML" in str(scenario):
                return ValueError(str(scenario))
        said, _, at = str(error).partition(" (at ")
        line = re.match(r"line (\d+)", at)
        number = int(line[1]) if line else self.text.count("\n") + 1
        return ValueError(f"{self.path}:{number}: not TOML: {said}")
