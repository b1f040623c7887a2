"""Search space: ranges with units, and lists of choices."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .. import settings
from ..batch.given import values

#: Settings are rounded to this many digits. The result is then short to write, and values that
#: nobody could distinguish count as one.
DIGITS = 3
#: If the ends of a range have at least this ratio, the range is searched on a logarithmic scale.
LOG_FROM = 10
#: A setting is at an end of the range if it lies within this share of its length from it.
_EDGE = 0.05
#: Steps by which a threshold is moved from the chosen setting to see the effect: ratios, or parts
#: of a linear range.
DRIFT_RATIOS = (0.25, 0.5, 0.71, 1.41, 2.0, 4.0)
DRIFT_PARTS = (-0.5, -0.25, -0.1, 0.1, 0.25, 0.5)
DRIFTS = len(DRIFT_RATIOS)


@dataclass(frozen=True)
class Choices:
    """A parameter with a few possible values."""

    key: str
    values: tuple[str, ...]

    def setting(self, drawn: Any) -> Any:
        return settings.value(drawn)


@dataclass(frozen=True)
class Range:
    """A parameter with any value between two, in the smallest unit of their family."""

    key: str
    low: float
    high: float
    #: Family of units; empty for plain numbers.
    units: tuple[tuple[str, int], ...]
    whole: bool
    log: bool

    def setting(self, drawn: float) -> Any:
        """Returns the nearest value within the range that has few digits."""
        return self.written(min(max(self._rounded(drawn), self.low), self.high))

    def written(self, number: float) -> Any:
        if not self.units:
            return int(number) if self.whole else number
        name, factor = max(
            ((name, factor) for name, factor in self._decimal if factor <= number),
            key=lambda unit: unit[1],
            default=self.units[0],
        )
        return f"{number / factor:.12g}{name}"

    def number(self, setting: Any) -> float | None:
        """Returns a setting of this key as a number in the range's unit; None if it has another
        kind of unit."""
        found = settings.quantity(settings.shown(setting))
        if found is None or found[1] not in ("" if not self.units else dict(self.units)):
            return None
        return float(found[0] * dict(self.units).get(found[1], 1))

    def drifts(self, setting: Any) -> list[float]:
        """Returns values around a setting in ascending order: by ratios on both sides, or by parts
        of a linear range."""
        middle = self.number(setting)
        if middle is None:
            return []
        if self.log:
            found = [middle * ratio for ratio in DRIFT_RATIOS]
        else:
            found = [middle + part * (self.high - self.low) for part in DRIFT_PARTS]
        rounded = [self._rounded(number) for number in found if number > 0]
        return sorted({number for number in rounded if number > 0 and number != middle})

    def place(self, share: float) -> float:
        """Returns the value at a share of the range's length, on the scale of the search."""
        return (
            self.low * (self.high / self.low) ** share
            if self.log
            else self.low + share * (self.high - self.low)
        )

    def beyond(self, setting: Any) -> str | None:
        """Returns the range to search next if a setting is at an end of this one: equally long,
        starting at the middle of this range. None if the setting is further inside, or if there are
        no values beyond."""
        number = self.number(setting)
        if number is None:
            return None
        share = (
            math.log(number / self.low) / math.log(self.high / self.low)
            if self.log
            else (number - self.low) / (self.high - self.low)
        )
        if _EDGE < share < 1 - _EDGE:
            return None
        shift = -0.5 if share <= _EDGE else 0.5
        low, high = self.place(shift), self.place(1 + shift)
        if low <= 0 <= self.low:
            # Values below 0 do not exist.
            low = self.low / 2
            if not low:
                return None
        if self.whole and self.low >= 1:
            # A range of whole numbers without 0 does not reach 0.
            low = max(low, 1.0)
        if shift < 0 and low >= self.low:
            return None
        return f"{settings.shown(self.written(self._rounded(low)))}..{settings.shown(self.written(self._rounded(high)))}"

    def end(self, setting: Any, tried: Iterable[Any]) -> str | None:
        """Says how a setting lies at an end of the range: at it, or next to it without a tried value
        in between. None if it is further inside."""
        number, further = self.number(setting), self.beyond(setting)
        if number is None or further is None:
            return None
        upper = number - self.low > self.high - number
        end = self.high if upper else self.low
        name = "upper end" if upper else "lower end"
        if math.isclose(number, end):
            return f"at the {name}"
        others = [found for one in tried if (found := self.number(one)) is not None]
        if any(found > number if upper else found < number for found in others):
            return None
        shown = settings.shown(self.written(end))
        return f"the {'largest' if upper else 'smallest'} value that was tried, next to the {name} ({shown})"

    @property
    def _decimal(self) -> list[tuple[str, int]]:
        return [(name, factor) for name, factor in self.units if "i" not in name]

    def _rounded(self, number: float) -> float:
        step = 10.0 ** (math.floor(math.log10(abs(number))) - DIGITS + 1) if number else 1.0
        if self.whole:
            step = max(step, 1.0)
        return float(Fraction(round(number / step)) * Fraction(f"{step:.12g}"))


Parameter = Choices | Range


def parameter(key: str, given: str | Sequence[Any]) -> Parameter:
    """Parses `20kB..400kB` (`:log` or `:linear` may follow) or `a,b,c`. A sequence is a list of
    choices. Raises `ValueError`."""
    if not isinstance(given, str):
        return _choices(key, [settings.shown(item) for item in values(key, given)], f"{key}: ")
    text, wrong = given, f"--vary {key}={given}: "
    # A relative path has dots, too, but does not begin with a quantity.
    if not re.match(rf"{settings.QUANTITY}\.\.", text):
        return _choices(key, settings.choices(text), wrong)
    ends, _, how = text.partition(":")
    if how not in ("", "log", "linear"):
        raise ValueError(f"{wrong}expected :log or :linear after the range, found :{how}")
    found = [quantity for end in ends.split("..") if (quantity := settings.quantity(end))]
    if len(found) != 2:
        raise ValueError(f"{wrong}expected two numbers with their units, as in 20kB..400kB")
    (low, low_unit), (high, high_unit) = found
    family = next(
        (family for family in settings.FAMILIES if low_unit in family and high_unit in family), {}
    )
    if (low_unit or high_unit) and not family:
        known = ", ".join(name for family in settings.FAMILIES for name in family)
        raise ValueError(f"{wrong}both ends need units of the same kind, of {known}")
    try:
        first, last = float(low * family.get(low_unit, 1)), float(high * family.get(high_unit, 1))
    except OverflowError:
        raise ValueError(f"{wrong}the second end is too large") from None
    if first >= last:
        raise ValueError(f"{wrong}the first end must be below the second")
    if first > 0 and math.isinf(last / first):
        raise ValueError(f"{wrong}the ends are too far apart")
    if how == "log" and first <= 0:
        raise ValueError(f"{wrong}a range with :log must start above 0")
    log = how == "log" or (how == "" and first > 0 and last / first >= LOG_FROM)
    plain_whole = (
        not family
        and low.denominator == high.denominator == 1
        and not re.search(r"[.eE]", ends.replace("..", " "))
    )
    return Range(
        key,
        first,
        last,
        tuple(family.items()),
        bool(family and "%" not in family) or plain_whole,
        log,
    )


def _choices(key: str, found: Sequence[str], wrong: str) -> Choices:
    if len(found) < 2 or len(set(found)) < len(found) or not all(found):
        raise ValueError(
            f"{wrong}expected a range, as in 20kB..400kB, or two or more different choices, as in cubic,dctcp"
        )
    return Choices(key, tuple(found))
