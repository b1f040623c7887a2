"""Fabric of a run: from a small file next to the run, or from the table of its reference in
`fabrics.toml`."""

import re
import tomllib
from pathlib import Path
from typing import Any

from .case import Unreadable, one_line

TABLES = Path(__file__).with_name("fabrics.toml")
#: Required and optional keys of a file, by reference.
LEAF_SPINE = (
    {"leaves", "spines", "hosts_per_leaf", "host_rate", "uplink_rate", "delay"},
    {"host_delay", "idle"},
)
FAT_TREE = ({"rate", "delay"}, {"k"})
#: Keys of `idle`, the completion times in the idle fabric: of one segment in a rack and across
#: racks, and of each further segment.
IDLE = {"in_rack", "across", "segment"}
UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def of(reference: str, folder: Path, run: str) -> dict[str, Any]:
    """Returns the table that applies to a run. Raises `Unreadable`."""
    beside = next(
        (
            path
            for path in (folder / f"{run}.fabric.toml", folder / "fabric.toml")
            if path.is_file()
        ),
        None,
    )
    path = beside or TABLES
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path.name} cannot be read: {one_line(error)}") from None
    found = table if beside else table[reference]
    needed, others = LEAF_SPINE if "leaves" in found else FAT_TREE
    if missing := needed - found.keys():
        raise Unreadable(f"{path.name} has no {', '.join(sorted(missing))}")
    if unknown := found.keys() - needed - others:
        raise Unreadable(f"{path.name}: {', '.join(sorted(unknown))} is not known")
    if "idle" in found and set(found["idle"]) != IDLE:
        raise Unreadable(f"{path.name}: idle has {', '.join(sorted(IDLE))}")
    return found


def leaf_spine(table: dict[str, Any]) -> dict[str, Any]:
    """Returns the keys of `[topology]`."""
    return {"kind": "leaf_spine"} | {
        name: value for name, value in table.items() if name not in ("host_delay", "idle")
    }


def idle_ns(table: dict[str, Any], src: int, dst: int, size: int, segment: int) -> float:
    """Returns the completion time in ns of a lone flow."""
    idle, per_leaf = table["idle"], table["hosts_per_leaf"]
    first = idle["across" if src // per_leaf != dst // per_leaf else "in_rack"]
    return nanoseconds(first) + (-(-size // segment) - 1) * nanoseconds(idle["segment"])


def nanoseconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)", text)
    if not found:
        raise Unreadable(f"the time {text!r} cannot be understood")
    return float(found[1]) * UNITS[found[2]]
