"""Splits the completion times of flows into parts, by design, and compares them with those of the
first design."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..comparison.phrases import listed
from ..results.designs import Design
from ..results.explain import ALL, GROUPINGS, LABELS, Explanation, Sums
from ..results.result import Result
from ..results.split import Key
from ..words import Words, both, join, say, text
from . import completion
from .parts import Breakdown, Changes, signed

#: Most traffic classes that a note names.
_NAMED = 12
_COMMAS = (", ", "、")


class Runs:
    """Sums of every run by group of flows. Each run is read once."""

    def __init__(self, designs: Sequence[Design]) -> None:
        #: Place of each traffic class.
        self.order = {name: place for place, name in enumerate(completion.classes(designs))}
        self.sums: dict[int, dict[Key, Sums]] = {}
        self.unfinished: dict[int, Counter[Key]] = {}
        for result in (result for design in designs for result in design.results.values()):
            try:
                explanation = result.explain()
            except LookupError:
                continue
            self.sums[id(result)], self.unfinished[id(result)] = _sums(explanation)

    def of(self, result: Result, key: Key) -> Sums | None:
        return self.sums.get(id(result), {}).get(key)

    def parts(self, result: Result, key: Key) -> list[int] | None:
        """Returns the sum of each part. A run without such flows has zeros."""
        if id(result) not in self.sums:
            return None
        found = self.of(result, key)
        return list(found.parts_ns.values()) if found else [0] * len(LABELS)

    def flows(self, design: Design, key: Key) -> int:
        return sum(
            found.flows for result in design.results.values() if (found := self.of(result, key))
        )

    def left_out(self, design: Design, key: Key) -> int:
        return sum(
            self.unfinished[id(result)][key]
            for result in design.results.values()
            if id(result) in self.unfinished
        )

    def keys(self) -> list[Key]:
        """Returns all flows, then size classes, then traffic classes in the order of the scenarios.
        A single class is left out, because it equals all flows."""
        every = list(
            dict.fromkeys(
                key for sums in self.sums.values() for key, found in sums.items() if found.flows
            )
        )
        every.sort(key=lambda key: self.order.get(key[1] or "", 0) if key[0] == "class" else 0)
        shown = [key for key in every if key == (GROUPINGS[0], ALL)]
        for by in GROUPINGS:
            own = [key for key in every if key[0] == by and key[1] is not ALL]
            shown += own if len(own) > 1 else []
        return shown


def _sums(one: Explanation) -> tuple[dict[Key, Sums], Counter[Key]]:
    counted = one.counted()
    sums: dict[Key, Sums] = {}
    unfinished = Counter[Key]()
    for by in GROUPINGS:
        names = one.names(by)
        sums |= {(by, name): found for name, found in one.sums(names, counted).items()}
        unfinished.update(
            {(by, name): count for name, count in one.left_out(names, counted).items()}
        )
    return sums, unfinished


def of(designs: Sequence[Design]) -> dict[str, Any] | None:
    """Returns the parts by group and design; `None` if no split was recorded."""
    runs = Runs(designs)
    if not (keys := runs.keys()):
        return None
    without = completion.unfinished_classes(designs)
    return {
        "labels": list(LABELS),
        "groups": [_group(designs, runs, key) for key in keys],
        "without": both(say("split.without", classes=listed(without, _NAMED, _COMMAS)))
        if without
        else None,
    }


def terms(found: dict[str, Any] | None) -> set[str]:
    """Returns the parts that the page shows, as keys of their definitions."""
    whole = [parts for parts in found["groups"][0]["designs"] if parts] if found else []
    return {
        f"part_{label}"
        for place, label in enumerate(LABELS)
        if any(parts[place] for parts in whole)
    }


def _group(designs: Sequence[Design], runs: Runs, key: Key) -> dict[str, Any]:
    by, name = key
    found = Breakdown.of(designs, lambda result: runs.parts(result, key))
    return {
        "by": "all" if name is None else by,
        "name": text.size_class(name) if by == "size" and name is not None else name or "all",
        "flows": [runs.flows(design, key) for design in designs],
        "unfinished": [runs.left_out(design, key) for design in designs],
        "said": [
            both(_sentence(designs, place, mean, change)) if mean else None
            for place, (mean, change) in enumerate(zip(found.means, found.changes, strict=True))
        ],
        **found.shown(),
    }


def _sentence(
    designs: Sequence[Design], place: int, parts: Sequence[int], change: Changes | None
) -> Words:
    """Words the difference from the first design and the part that contributes most. For a design
    without a comparison: its largest parts."""
    names = {"design": designs[place].name, "baseline": designs[0].name}
    if change is None:
        return _largest(parts)
    before, total = change.before, change.total
    words = {**names, "new": text.time(before + total.by, 3), "old": text.time(before, 3)}
    if not any(part.by for part in change.parts):
        return say("split.alike", **words)
    label, most = max(zip(LABELS, change.parts, strict=True), key=lambda item: abs(item[1].by))
    part = say("split.most", part=say(f"part.{label}"), by=signed(most.by))
    key = "split.open" if total.low is not None and not total.clear else "split.change"
    return say(key, most=part, **words)


def _largest(parts: Sequence[int]) -> Words:
    whole = max(sum(parts), 1)
    ordered = sorted(zip(LABELS, parts, strict=True), key=lambda item: -item[1])[:2]
    named = [
        say("split.share.of", share=text.share(ns / whole), part=say(f"part.{label}"))
        for label, ns in ordered
        if ns
    ]
    return say("split.largest", parts=join(named, (" and ", "、"))) if named else Words("", "")
