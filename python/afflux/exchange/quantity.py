"""Reads quantities of a resolved scenario, which the core writes in canonical form: `70MB`,
`400ms`, `40m`."""

import re

#: Bytes and seconds of each unit.
_BYTES = {
    **{unit: 1000**power for power, unit in enumerate(("B", "kB", "MB", "GB", "TB"))},
    **{unit: 1024**power for power, unit in enumerate(("KiB", "MiB", "GiB", "TiB"), 1)},
}
_SECONDS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_METRES = {"cm": 0.01, "m": 1, "km": 1000}


def size(value: object) -> int:
    """Returns a size in bytes."""
    number, unit = _parts(value)
    return round(number * _BYTES[unit])


def size_if_any(value: object) -> int | None:
    """Returns a size in bytes; `None` for a size in packets, and for words."""
    found = _found(value)
    return size(value) if found and found[1] in _BYTES else None


def seconds(value: object) -> float:
    number, unit = _parts(value)
    return number * _SECONDS[unit]


def metres(value: object) -> float:
    number, unit = _parts(value)
    return number * _METRES[unit]


def percent(value: object) -> float:
    """Returns a share (0.05, "5%") in percent."""
    if isinstance(value, str):
        return float(value.strip().rstrip("%"))
    assert isinstance(value, int | float)
    return 100 * value


def short_time(value: object) -> object:
    """Shortens a computed time in ps: `"200042585600ps"` → `"200.043ms"`."""
    if not (isinstance(value, str) and re.fullmatch(r"[0-9]{4,}ps", value)):
        return value
    whole = seconds(value)
    unit = next(unit for unit in ("s", "ms", "us", "ns") if whole >= _SECONDS[unit])
    return f"{whole / _SECONDS[unit]:.6g}{unit}"


def _parts(value: object) -> tuple[float, str]:
    found = _found(value)
    assert found, f"a resolved scenario has quantities with units: {value!r}"
    return found


def _found(value: object) -> tuple[float, str] | None:
    found = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]+)\s*", value) if isinstance(value, str) else None
    return (float(found[1]), found[2]) if found else None
