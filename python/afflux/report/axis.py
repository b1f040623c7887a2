"""Computes linear and logarithmic axes of figures drawn without a script, and formats spans of
values in one unit."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..metrics import Metric
from ..words import Words, text

MINUS = "\N{MINUS SIGN}"
_NO_BREAK = "\N{NO-BREAK SPACE}"
#: Ratio of the largest to the smallest value above which an axis is logarithmic.
_WIDE = 20.0
_UNITS = {
    text.time: ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
    text.rate: ((1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")),
    text.size: ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}


def unit(show: Callable[[float], str], value: float) -> tuple[float, str]:
    """Returns the unit for a value that this function formats: its size and name. 1 and an empty
    name for numbers without a unit. 999.9 kB are 1.00 MB: the value is rounded to three digits."""
    units = next((units for one, units in _UNITS.items() if one is show), None)
    if units is None:
        return 1.0, ""
    value = abs(float(f"{value:.3g}"))
    return next(((size, name) for size, name in units if value >= size), units[-1])


def number(value: float, decimals: int) -> str:
    """Formats a number with thousands separators and a typographic minus sign. Never returns −0."""
    shown = f"{abs(value):,.{decimals}f}"
    return shown if float(shown.replace(",", "")) == 0 or value > 0 else MINUS + shown


def short(metric: Metric, value: float) -> str:
    """Formats a value with three digits and its unit; means of counts as the sentences do."""
    if metric.counter:
        return metric.brief(value)
    size, name = unit(metric.show, value)
    return joined(_three(value / size), name)


def _bare(metric: Metric, value: float) -> str:
    """Formats a round number with its unit."""
    size, name = unit(metric.show, value)
    return joined(f"{value / size:,.6g}", name)


def _three(value: float) -> str:
    # Rounding can add a digit: 9.996 becomes 10.0.
    before = len(str(int(abs(float(f"{value:.3g}")))))
    return number(value, max(3 - before, 0))


def joined(shown: str, name: str) -> str:
    return f"{shown}{_NO_BREAK}{name}" if name else shown


def span(
    metric: Metric, low: float, high: float, of: float, *, sign: bool = False, name: bool = True
) -> str:
    """Formats both ends of an interval in the unit of the value `of`. Uses as many decimals as show
    that the ends differ, but not more than the value has."""
    size, title = unit(metric.show, of)
    low, high = low / size, high / size
    width = abs(high - low)
    decimals = 0 if width == 0 else max(1 - math.floor(math.log10(width)), 0)
    # The value itself is shown with three digits.
    decimals = min(decimals, max(3 - len(str(int(abs(of / size)))), 0))
    shown = [
        f"+{number(end, decimals)}" if sign and end > 0 else number(end, decimals)
        for end in (low, high)
    ]
    between = " to " if low < 0 or sign else "–"
    return joined(between.join(shown), title if name else "")


def in_words(shown: str) -> Words:
    """Formats a span for use within a sentence."""
    return Words(shown.replace("–", " to "), shown.replace("–", "～").replace(" to ", "～"))


@dataclass(frozen=True)
class Axis:
    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool

    def at(self, value: float) -> float:
        """Returns the position of a value in percent of the width."""
        if self.high == self.low:
            return 50.0
        if self.logarithmic:
            return 100 * math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return 100 * (value - self.low) / (self.high - self.low)

    def labels(self, metric: Metric) -> list[tuple[float, str]]:
        """Returns the positions and texts of the ticks. Each text contains the unit."""
        size, name = unit(metric.show, max(abs(self.ticks[0]), abs(self.ticks[-1])))
        if self.logarithmic:
            return [(self.at(tick), _bare(metric, tick)) for tick in self.ticks]
        step = (self.ticks[1] - self.ticks[0]) / size if len(self.ticks) > 1 else 1.0
        decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step else 0
        if round(step * 10**decimals, 6) != round(step * 10**decimals):
            decimals += 1
        return [
            (self.at(tick), "0" if tick == 0 else joined(number(tick / size, decimals), name))
            for tick in self.ticks
        ]


def axis(
    values: Sequence[float],
    metric: Metric | None = None,
    *,
    most: int = 7,
    zero: bool = False,
    log: bool | None = None,
) -> Axis:
    """Returns an axis that covers these values, with round ticks at both ends."""
    low, high = min(values), max(values)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if log or (log is None and low > 0 and high / low > _WIDE):
        return _logarithmic(low, high, most)
    size = unit(metric.show, max(abs(low), abs(high)))[0] if metric else 1.0
    if high == low:
        high, low = (
            (high * 1.1, low * 0.9)
            if high > 0
            else (1.0, 0.0)
            if high == 0
            else (high * 0.9, low * 1.1)
        )
    step = _step((high - low) / size, most) * size
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(place * step for place in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks, False)


def _step(width: float, most: int) -> float:
    power = 10.0 ** math.floor(math.log10(width / most))
    return next(
        (round_ * power for round_ in (1, 2, 2.5, 5, 10) if width / (round_ * power) <= most - 1),
        20 * power,
    )


def _logarithmic(low: float, high: float, most: int) -> Axis:
    decades = math.log10(high / low)
    rounds: tuple[float, ...] = (
        (1,)
        if decades > 3
        else (1, 3)
        if decades > 1.8
        else (1, 2, 5)
        if decades > 0.7
        else (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    )
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    every = sorted(round_ * 10.0**power for power in powers for round_ in rounds)
    first = max(place for place, tick in enumerate(every) if tick <= low * 1.001)
    last = min(place for place, tick in enumerate(every) if tick >= high * 0.999)
    ticks = every[first : last + 1]
    skip = math.ceil((len(ticks) - 1) / (most - 1)) if len(ticks) > most else 1
    return Axis(ticks[0], ticks[-1], tuple(ticks[::skip]), True)
