"""Reads quantities of a resolved scenario, which the core writes in canonical form: `70MB`,
`400ms`, `40m`."""

import re

_SIZES = {
    **{unit: 1000**power for power, unit in enumerate(("B", "kB", "MB", "GB", "TB"))},
    **{unit: 1024**power for power, unit in enumerate(("KiB", "MiB", "GiB", "TiB"), 1)},
}
_MILLISECONDS = {
    "ps": 1e-9,
    "ns": 1e-6,
    "us": 1e-3,
    "ms": 1.0,
    "s": 1e3,
    "min": 60e3,
    "h": 3600e3,
}


def size(value: object) -> int | None:
    """Returns a size in bytes; `None` for a size in packets, and for words."""
    found = _parts(value)
    return round(found[0] * _SIZES[found[1]]) if found and found[1] in _SIZES else None


def milliseconds(value: object) -> float:
    found = _parts(value)
    assert found, f"the core writes a duration with a unit: {value!r}"
    return found[0] * _MILLISECONDS[found[1]]


def metres(value: object) -> float:
    found = _parts(value)
    assert found, f"the core writes a length in metres: {value!r}"
    return found[0] * {"m": 1, "km": 1000, "cm": 0.01}[found[1]]


def percent(value: object) -> float:
    """Returns a share (0.05, "5%") in percent."""
    if isinstance(value, str):
        return float(value.strip().rstrip("%"))
    assert isinstance(value, int | float)
    return 100 * value


def _parts(value: object) -> tuple[float, str] | None:
    found = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]+)\s*", value) if isinstance(value, str) else None
    return (float(found[1]), found[2]) if found else None
