"""Formats numbers for people."""

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def digits(value: float, count: int = 4) -> str:
    """Formats a number with `count` significant digits, thousands separators and no exponent."""
    if value == 0:
        return "0"
    before = len(str(int(abs(value))))
    return f"{value:,.{max(count - before, 0)}f}"


def time(ns: float | None, count: int = 4) -> str:
    """Formats nanoseconds in the unit that fits, with `count` digits."""
    if ns is None:
        return "–"
    for unit, name in _TIMES:
        if abs(ns) >= unit:
            return f"{digits(ns / unit, count)} {name}"
    return f"{ns:.0f} ns"


def signed_time(ns: int) -> str:
    """Formats a time difference: `+1.2 ms`, `−350 ns`."""
    return f"{'−' if ns < 0 else '+' if ns > 0 else ''}{time(abs(ns))}"


def size(bytes: float) -> str:
    """Formats bytes in the decimal unit that fits."""
    for unit, name in _SIZES:
        if bytes >= unit:
            return f"{digits(bytes / unit, 3)} {name}"
    return f"{bytes:.0f} B"


def rate(bps: float, count: int = 3) -> str:
    for unit, name in ((1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps")):
        if bps >= unit:
            return f"{digits(bps / unit, count)} {name}"
    return f"{bps:.0f} bps"


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
