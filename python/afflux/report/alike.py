"""Finds designs that give the same result with every seed. The page shows them once and says
why."""

from collections.abc import Sequence
from typing import Any

from ..files import toml
from ..results.designs import Design
from ..words import both, say

#: For each part of a key: the counters that are zero if the feature that the key sets was never
#: used.
UNUSED = {"pfc": ("pause_frames",), "ecn": ("ecn_marks",), "buffer": ("drops", "in_discards")}


def firsts(designs: Sequence[Design]) -> list[int]:
    """Returns, for each design, the index of the first design with the same results; its own index
    if there is none."""
    first: dict[object, int] = {}
    found = []
    for place, design in enumerate(designs):
        hashes = tuple(
            (seed, result.summary.get("result_hash")) for seed, result in design.results.items()
        )
        found.append(
            first.setdefault(hashes if all(digest for _, digest in hashes) else place, place)
        )
    return found


def of(designs: Sequence[Design]) -> list[dict[str, Any]]:
    """Returns, for each design, the index of the first design with the same results, and the
    reason."""
    return [
        {
            "as": first,
            "why": None
            if first == place
            else both(say(f"alike.{reason(designs[first], designs[place])}")),
        }
        for place, first in enumerate(firsts(designs))
    ]


def reason(one: Design, other: Design) -> str:
    """Returns which unused feature distinguishes two designs with the same results: a name of
    `UNUSED`, otherwise `"same"`."""
    parts = {part for key in _different(one, other) for part in key.split(".")}
    for name, counters in UNUSED.items():
        if name in parts and not any(
            result.summary.get(counter) for result in other.results.values() for counter in counters
        ):
            return name
    return "same"


def _different(one: Design, other: Design) -> set[str]:
    """Returns the keys of the scenarios that differ, without names and prices."""
    first, second = one.first.scenario, other.first.scenario
    if first is None or second is None:
        return set()
    keys = toml.differing(toml.with_defaults(first), toml.with_defaults(second))
    return {
        key for key in keys if key.split(".")[0] not in ("name", "description", "cost", "record")
    }
