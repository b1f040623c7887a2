"""Designs that give the same result with every seed: the page shows them once, and says why."""

from collections.abc import Sequence
from typing import Any

from ..files import toml
from ..results.designs import Design
from ..words import both, say

#: By part of a key: the counters of a run that are zero where what the key sets was never used.
UNUSED = {"pfc": ("pause_frames",), "ecn": ("ecn_marks",), "buffer": ("drops", "in_discards")}


def of(designs: Sequence[Design]) -> list[dict[str, Any]]:
    """By design: the place of the first design with the same results (its own if there is none), and the reason."""
    first: dict[object, int] = {}
    found = []
    for place, design in enumerate(designs):
        hashes = tuple((seed, result.summary.get("result_hash")) for seed, result in design.results.items())
        key: object = hashes if all(hash for _, hash in hashes) else place
        of_first = first.setdefault(key, place)
        found.append({"as": of_first, "why": None if of_first == place else _why(designs[of_first], design)})
    return found


def _why(one: Design, other: Design) -> dict[str, str]:
    parts = {part for key in _different(one, other) for part in key.split(".")}
    for name, counters in UNUSED.items():
        if name in parts and not any(result.summary.get(counter) for result in other.results.values() for counter in counters):
            return both(say(f"alike.{name}"))
    return both(say("alike.same"))


def _different(one: Design, other: Design) -> set[str]:
    """Keys of the scenarios that differ, without names and prices."""
    texts = one.first.scenario, other.first.scenario
    if texts[0] is None or texts[1] is None:
        return set()
    first, second = (_leaves(toml.with_defaults(text), "") for text in texts if text is not None)
    keys = {key for key in first.keys() | second.keys() if first.get(key) != second.get(key)}
    return {key for key in keys if key.split(".")[0] not in ("name", "description", "cost", "record")}


def _leaves(item: Any, key: str) -> dict[str, Any]:
    parts = [*(item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ())]
    if not parts:
        return {key: item}
    return {name: value for part, inner in parts for name, value in _leaves(inner, f"{key}.{part}".lstrip(".")).items()}
