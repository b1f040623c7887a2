"""Formats numbers for people."""

import math
from collections.abc import Sequence

_TIMES = ("ns", "µs", "ms", "s")
_SIZES = ("B", "kB", "MB", "GB", "TB")
_RATES = ("bps", "kbps", "Mbps", "Gbps", "Tbps")


def digits(value: float, count: int = 4) -> str:
    """Formats a number with `count` significant digits, thousands separators and no exponent."""
    if value == 0:
        return "0"
    places = max(count - before(value), 0)
    # Rounding can add a digit: 9.9996 becomes 10.00.
    places = max(count - before(round(value, places)), 0)
    return f"{value:,.{places}f}"


def before(value: float) -> int:
    """Returns the number of digits before the decimal point. It is 1 for 0.34, and negative if
    zeros follow the point: -1 for 0.034, of which `digits` shows as many digits as of 3.4."""
    value = abs(value)
    return 1 if 0.1 <= value < 1 or value == 0 else 1 + math.floor(math.log10(value))


def _in_unit(value: float, units: Sequence[str], count: int) -> str:
    """Formats a value in the unit that fits, with `count` digits. `units` are in ascending order,
    each a thousand times the one before. The smallest one has no decimals.

    The unit is that of the rounded value: 999,999.6 ns are 1.000 ms, not 1,000.0 µs.
    """
    shown, power = f"{value:.0f}", 0
    while abs(float(shown.replace(",", ""))) >= 1_000 and power + 1 < len(units):
        power += 1
        shown = digits(value / 1_000**power, count)
    return f"{shown} {units[power]}"


def time(ns: float | None, count: int = 4) -> str:
    """Formats nanoseconds in the unit that fits, with `count` digits."""
    return "–" if ns is None else _in_unit(ns, _TIMES, count)


def signed_time(ns: int) -> str:
    """Formats a time difference: `+1.2 ms`, `−350 ns`."""
    return f"{'−' if ns < 0 else '+' if ns > 0 else ''}{time(abs(ns))}"


def size(bytes: float) -> str:
    """Formats bytes in the decimal unit that fits."""
    return _in_unit(bytes, _SIZES, 3)


def rate(bps: float, count: int = 3) -> str:
    """Formats bits per second in the decimal unit that fits, with `count` digits."""
    return _in_unit(bps, _RATES, count)


def count(value: int) -> str:
    return f"{value:,}"


def ratio(value: float | None) -> str:
    return "–" if value is None else digits(value)


def share(value: float) -> str:
    """Formats a share as a percentage. Small shares above zero are shown as `< 0.1 %`, not as 0."""
    if 0 < value < 0.0005:
        return "< 0.1 %"
    return f"{100 * value:.1f} %"


def duration(seconds: float) -> str:
    """Formats a wall-clock time: `42 s`, `3:07 min`, `1:02 h`."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3_600:
        return f"{seconds // 60}:{seconds % 60:02} min"
    return f"{seconds // 3_600}:{seconds % 3_600 // 60:02} h"


def size_class(name: str) -> str:
    """Formats a size class: `le_100KB` → `≤ 100 kB`, `100KB_10MB` → `100 kB – 10 MB`."""
    bounds = [_bound(part) for part in name.split("_") if part not in ("le", "gt")]
    if name.startswith("le_"):
        return f"≤ {bounds[0]}"
    if name.startswith("gt_"):
        return f"> {bounds[0]}"
    return " – ".join(bounds)


def _bound(text: str) -> str:
    number = text.rstrip("BKMGT")
    return f"{number} {text[len(number) :].replace('KB', 'kB')}".strip()
