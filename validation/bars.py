"""Tolerances of the comparison: `bars.toml` next to the reference data."""

import math
import statistics
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class BarsError(Exception):
    """`bars.toml` is missing or contains unknown keys."""


@dataclass(frozen=True)
class Bar:
    """Tolerance for one metric.

    - `rel`: |ours/theirs − 1| is at most this.
    - `factor`: ours is between theirs/f and theirs·f.
    - `or_abs`: alternatively, the absolute difference is at most this.
    - `inside_range_widened_by`: ours is within the range of the real runs of the same cell, widened
      by this share at both ends.
    - `least`, `most`: ours is at least or at most this, regardless of theirs."""

    rel: float | None = None
    factor: float | None = None
    or_abs: float | None = None
    inside_range_widened_by: float | None = None
    least: float | None = None
    most: float | None = None
    #: Values of the real runs of the cell.
    cell: tuple[float, ...] = ()

    def holds(self, theirs: float, ours: float) -> bool:
        low, high = self.bounds(theirs)
        # A deviation in the last digit of a printed number is no difference.
        slack = 1e-9 * max(abs(bound) for bound in (low, high) if math.isfinite(bound))
        if low - slack <= ours <= high + slack:
            return True
        return self.or_abs is not None and abs(ours - theirs) <= self.or_abs

    def bounds(self, theirs: float) -> tuple[float, float]:
        if self.rel is not None:
            return tuple(sorted((theirs * (1 - self.rel), theirs * (1 + self.rel))))
        if self.factor is not None:
            return theirs / self.factor, theirs * self.factor
        if self.least is not None or self.most is not None:
            return (
                0.0 if self.least is None else self.least,
                math.inf if self.most is None else self.most,
            )
        if self.or_abs is not None and self.inside_range_widened_by is None:
            return theirs - self.or_abs, theirs + self.or_abs
        cell = self.cell or (theirs,)
        widening = self.inside_range_widened_by or 0.0
        return min(cell) * (1 - widening), max(cell) * (1 + widening)

    def json(self) -> dict[str, Any]:
        said = {
            name: value
            for name in ("rel", "factor", "or_abs", "inside_range_widened_by", "least", "most")
            if (value := getattr(self, name)) is not None
        }
        if self.inside_range_widened_by is not None and self.cell:
            said["range"] = [min(self.cell), max(self.cell)]
        return said

    def __str__(self) -> str:
        parts = []
        if self.rel is not None:
            parts.append(f"±{100 * self.rel:g} %")
        if self.factor is not None:
            parts.append(f"×÷ {self.factor:g}")
        if self.inside_range_widened_by is not None:
            parts.append(f"range ±{100 * self.inside_range_widened_by:g} %")
        if self.least is not None:
            parts.append(f"≥ {self.least:g}")
        if self.most is not None:
            parts.append(f"≤ {self.most:g}")
        if self.or_abs is not None:
            parts.append(f"±{self.or_abs:g}")
        return " or ".join(parts)


WORDS = {"rel", "factor", "or_abs", "inside_range_widened_by", "least", "most"}


@dataclass(frozen=True)
class Bars:
    table: dict[str, Any]
    #: Upper limit on the repetitions, to save time.
    most_repetitions: int | None = None

    @classmethod
    def read(cls, path: Path, most_repetitions: int | None = None) -> "Bars":
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BarsError(
                f"{path} is not there: it says how near afflux must be to each reference"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise BarsError(f"{path}: {error}") from None
        bars = cls(table, most_repetitions)
        for reference, section in table.items():
            if not isinstance(section, dict):
                raise BarsError(f"{path}: {reference} is not a table")
            for name in ("", *(name for name in section if isinstance(section[name], dict))):
                bars.of(reference, name)
        return bars

    def is_file(self, reference: str, name: str) -> bool:
        """True if this key of the reference is the table of a file, and not a tolerance."""
        value = self.table[reference][name]
        return isinstance(value, dict) and not WORDS & value.keys()

    def section(self, reference: str, file: str = "") -> dict[str, Any]:
        """Returns the most specific table: that of the file, of the longest prefix of its name with
        a table, or of the reference."""
        whole = self.table.get(reference, {})
        tables = [name for name in whole if self.is_file(reference, name) and file.startswith(name)]
        return whole[max(tables, key=len)] if tables else whole

    def of(self, reference: str, file: str = "") -> dict[str, Bar]:
        """Returns the tolerances by metric."""
        bars = {}
        for metric, value in self.section(reference, file).items():
            if isinstance(value, dict) and WORDS & value.keys():
                if unknown := value.keys() - WORDS:
                    raise BarsError(
                        f"bars.toml: {reference}.{file or ''}.{metric}: {', '.join(sorted(unknown))} is none of {', '.join(sorted(WORDS))}"
                    )
                bars[metric] = Bar(**value)
        return bars

    def repetitions(self, reference: str, file: str = "", least: int = 1) -> int:
        """Returns the number of repetitions for the file or the reference, at least `least`."""
        given = self.section(reference, file).get(
            "repetitions", self.table.get(reference, {}).get("repetitions", 1)
        )
        return min(max(least, int(given)), self.most_repetitions or sys.maxsize)


def median(values: Sequence[float]) -> float:
    return float(statistics.median(values))
