"""Averages the parts of completion times over groups of flows, and compares them between two
designs. All parts add up to the nanosecond."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import and_
from typing import Any

from ..words import Words, join, say, text
from .designs import Design, Designs
from .explain import LABELS, Explanation, Name, Sums
from .result import Result

#: Most parts of a difference that a sentence names, and the share of all changes below which a part
#: is not named.
NAMED, REST = 4, 0.01

#: Key of a group of flows: the grouping, and the name of the group in it.
Key = tuple[str, Name]


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean completion time of some flows and the mean of each part, in whole nanoseconds."""

    #: Number of flows.
    flows: int
    #: Mean completion time.
    fct_ns: int
    #: Mean of each part in nanoseconds. The parts add up to `fct_ns`.
    parts_ns: dict[str, int]
    #: Mean over the flows of each part's share in its flow's completion time: every flow has the
    #: same weight.
    flow_shares: dict[str, float]

    @classmethod
    def of(cls, runs: Iterable[Sums]) -> "Mean | None":
        """Returns the mean over runs of each run's mean; `None` without flows. Cumulative sums are
        rounded, so the parts add up exactly."""
        counted = [run for run in runs if run.flows]
        if not counted:
            return None
        parts, boundary, end = {}, Fraction(0), 0
        for label in LABELS:
            boundary += sum(
                (Fraction(run.parts_ns[label], run.flows) for run in counted), Fraction(0)
            ) / len(counted)
            parts[label], end = round(boundary) - end, round(boundary)
        shares = {
            label: sum(run.shares[label] / run.flows for run in counted) / len(counted)
            for label in LABELS
        }
        return cls(sum(run.flows for run in counted), end, parts, shares)

    @property
    def shares(self) -> dict[str, float]:
        """Share of each part in the mean completion time: a flow is weighted by its completion
        time."""
        return {
            label: ns / self.fct_ns if self.fct_ns else 0.0 for label, ns in self.parts_ns.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Returns the mean as `--json` prints it."""
        return {"flows": self.flows, "mean_fct_ns": self.fct_ns, "parts_ns": self.parts_ns}


@dataclass(frozen=True, slots=True)
class Group:
    """Parts of the mean completion time of all flows, of a size class or of a traffic class."""

    #: `size` or `class`.
    by: str
    #: Name of the size class or traffic class; None for all flows.
    name: Name
    #: Mean completion time and parts of its flows.
    mean: Mean
    #: Number of flows that started and did not finish. They have no completion time.
    unfinished: int

    def to_dict(self) -> dict[str, Any]:
        """Returns the group as `--json` prints it."""
        shares = {"shares": self.mean.shares, "flow_shares": self.mean.flow_shares}
        return {self.by: self.name} | self.mean.to_dict() | {"unfinished": self.unfinished} | shares


def groups(explanations: Iterable[Explanation], by: str | Sequence[str] = "size") -> list[Group]:
    """Returns all flows, then each size class or traffic class, over all these runs of one design.
    Flows that started in the warm-up are left out. `by` is `"size"`, `"class"`, or both in a list.
    Raises `ValueError` for other groupings."""
    by = _groupings(by)
    runs: dict[Key, list[Sums]] = {}
    unfinished: Counter[Key] = Counter()
    for one in explanations:
        counted = one.counted()
        for grouping in by:
            names = one.names(grouping)
            for name, sums in one.sums(names, counted).items():
                runs.setdefault((grouping, name), []).append(sums)
            unfinished.update(
                {(grouping, name): count for name, count in one.left_out(names, counted).items()}
            )
    found = ((key, Mean.of(sums)) for key, sums in runs.items())
    return [Group(*key, mean, unfinished[key]) for key, mean in found if mean]


@dataclass(frozen=True, slots=True)
class Change:
    """The change of the mean completion time of a group, part by part."""

    #: `size` or `class`.
    by: str
    #: Name of the size class or traffic class; None for all flows.
    name: Name
    #: Mean completion time and parts with the baseline.
    baseline: Mean
    #: Mean completion time and parts with the design.
    design: Mean
    #: Number of flows that are left out because they did not finish. If paired: one number, of
    #: flows that did not finish in one design or both. Otherwise: the number of the baseline and
    #: that of the design.
    left_out: tuple[int, ...]
    #: Number of flows that are left out because they started in the warm-up. If paired: one
    #: number, of flows in the warm-up of one design or both. No flow is in both numbers.
    in_warmup: tuple[int, ...]

    @property
    def fct_ns(self) -> int:
        """Change of the mean completion time in nanoseconds; negative if the design is faster."""
        return self.design.fct_ns - self.baseline.fct_ns

    @property
    def parts_ns(self) -> dict[str, int]:
        """Change of each part in nanoseconds. The parts add up to `fct_ns`."""
        return {
            label: ns - self.baseline.parts_ns[label] for label, ns in self.design.parts_ns.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Returns the change as `--json` prints it."""
        sides = {"baseline": self.baseline.to_dict(), "design": self.design.to_dict()}
        return (
            {self.by: self.name}
            | sides
            | {
                "difference_ns": self.fct_ns,
                "parts_ns": self.parts_ns,
                "left_out": list(self.left_out),
                "in_warmup": list(self.in_warmup),
            }
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Mean completion times of two designs and the parts that differ, for all flows and for each
    group."""

    #: Name of the baseline.
    baseline: str
    #: Name of the design.
    design: str
    #: Number of seeds that both have.
    seeds: int
    #: True if both designs have the same flows. Then only flows that finished in both count.
    paired: bool
    #: True if flows that count in one design are left out because they do not count in the other.
    partial: bool
    #: Changes of all flows, then of each group.
    changes: tuple[Change, ...]

    @property
    def all(self) -> Change:
        """Change over all flows."""
        return self.changes[0]

    def of(self, by: str, name: Name) -> Change | None:
        """Returns the change of a group; `None` if the group is empty in one of the designs."""
        return next(
            (change for change in self.changes if (change.by, change.name) == (by, name)), None
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the comparison as `--json` prints it."""
        head = {
            "baseline": self.baseline,
            "design": self.design,
            "seeds": self.seeds,
            "paired": self.paired,
        }
        return head | {
            "answer": self.sentence(),
            "groups": [change.to_dict() for change in self.changes],
        }

    def sentence(self) -> Words:
        """Returns the difference as text, with the parts that contribute most."""
        change = self.all
        words = {
            "design": self.design,
            "baseline": self.baseline,
            "new": text.time(change.design.fct_ns),
            "old": text.time(change.baseline.fct_ns),
            "of": self._common() if self.partial else "",
        }
        if not any(change.parts_ns.values()):
            return say("split.same", **words)
        named = [
            say("split.named", part=say(f"part.{label}"), by=text.signed_time(ns))
            for label, ns in _largest(change.parts_ns)
        ]
        key = (
            "split.less"
            if change.fct_ns < 0
            else "split.more"
            if change.fct_ns > 0
            else "split.equal"
        )
        return say(key, by=text.time(abs(change.fct_ns)), parts=join(named, (", ", "、")), **words)

    def _common(self) -> Words:
        """Names the flows that count. Tables of each design alone have other ones."""
        flows = self.all.design.flows
        return say("split.both.one" if flows == 1 else "split.both", flows=text.count(flows))

    def note(self) -> Words:
        """Says which flows the comparison covers, and which it leaves out."""
        change = self.all
        seeds = say("seeds.one" if self.seeds == 1 else "seeds.many", count=self.seeds)
        if self.paired:
            causes = [
                say(key, count=text.count(count))
                for key, (count,) in (
                    ("split.left.unfinished", change.left_out),
                    ("split.left.warmup", change.in_warmup),
                )
                if count
            ]
            left = say("split.left.paired", causes=join(causes, (", ", "、"))) if causes else ""
            return say(
                "split.paired", flows=text.count(change.design.flows), seeds=seeds, left=left
            )
        names = {"design": self.design, "baseline": self.baseline}
        each = [
            say(key, before=text.count(before), after=text.count(after), **names)
            for key, (before, after) in (
                ("split.left.each", change.left_out),
                ("split.left.warmup.each", change.in_warmup),
            )
            if before or after
        ]
        flows = {
            "before": text.count(change.baseline.flows),
            "after": text.count(change.design.flows),
        }
        return say("split.apart", seeds=seeds, left=join(each, ("", "")), **names, **flows)


class Pairs:
    """Collects runs of a design, each paired with the baseline's run of the same seed."""

    def __init__(self, by: Sequence[str]) -> None:
        self._by = by
        self._runs: list[dict[bool, list[Side]]] = []
        self._partial = False

    def add(self, baseline: Explanation, design: Explanation) -> None:
        """Adds a pair of runs. If both have the same flows, those that finished in both count."""
        same = baseline.same_flows(design)
        sides = baseline, design
        counted = [one.counted() for one in sides]
        found = {
            False: [Side.of(one, self._by, rows) for one, rows in zip(sides, counted, strict=True)]
        }
        if same:
            both = bytes(map(and_, *counted))
            self._partial |= any(rows != both for rows in counted)
            # The classes are those of the baseline.
            found[True] = [
                Side.of(one, self._by, both, baseline, other)
                for one, other in zip(sides, reversed(sides), strict=True)
            ]
        self._runs.append(found)

    def compared(self, baseline: str, design: str) -> "Comparison | None":
        """Returns the comparison over all pairs; `None` if no flow finished."""
        paired = all(True in run for run in self._runs)
        sides = [[run[paired][side] for run in self._runs] for side in (0, 1)]
        changes = []
        for key in dict.fromkeys(key for runs in sides for run in runs for key in run.sums):
            before, after = (
                Mean.of(run.sums[key] for run in runs if key in run.sums) for runs in sides
            )
            if before and after:
                left = tuple(sum(run.left_out[key] for run in runs) for runs in sides)
                early = tuple(sum(run.in_warmup[key] for run in runs) for runs in sides)
                # Both sides of a pair leave out the same flows.
                shown = slice(1) if paired else slice(2)
                changes.append(Change(*key, before, after, left[shown], early[shown]))
        if not changes:
            return None
        partial = paired and self._partial
        return Comparison(baseline, design, len(self._runs), paired, partial, tuple(changes))


@dataclass(frozen=True, slots=True)
class Side:
    """One run: sums over its flows and numbers of flows left out, by grouping and group."""

    sums: dict[Key, Sums]
    left_out: Counter[Key]
    in_warmup: Counter[Key]

    @classmethod
    def of(
        cls,
        one: Explanation,
        by: Sequence[str],
        counted: bytes,
        names_of: Explanation | None = None,
        other: Explanation | None = None,
    ) -> "Side":
        """Sums up the rows that count. `other` is the other run of a pair with the same flows."""
        sums: dict[Key, Sums] = {}
        left_out, in_warmup = Counter[Key](), Counter[Key]()
        for grouping in by:
            names = (names_of or one).names(grouping)
            sums |= {(grouping, name): found for name, found in one.sums(names, counted).items()}
            for counter, found in (
                (left_out, one.left_out(names, counted, other)),
                (in_warmup, one.in_warmup(names, other)),
            ):
                counter.update({(grouping, name): count for name, count in found.items()})
        return cls(sums, left_out, in_warmup)


def compare(
    baseline: Result, design: Result, by: str = "size", *, names: tuple[str, str] | None = None
) -> Comparison | None:
    """Returns the difference of a result from the baseline.

    If both have the same flows (identifier, ends, bytes and start), they are compared flow by flow,
    over those that finished in both. Otherwise the means are taken over all flows that finished in
    each. `None` if no flow finished. Raises `LookupError` if the split was not recorded, and
    `ValueError` if `by` is neither `"size"` nor `"class"`.
    """
    pairs = Pairs(_groupings(by))
    pairs.add(baseline.explain(), design.explain())
    return pairs.compared(*(names or (baseline.summary["name"], design.summary["name"])))


def changes(
    designs: Designs, baseline: str, by: str | Sequence[str] = "size"
) -> dict[str, Comparison | None]:
    """Returns the difference of each other design from the baseline, over the seeds that both have.
    `None` if the split was not recorded, or no flow finished. `by` as in `groups`."""
    by, base = _groupings(by), designs[baseline]
    pairs = {name: Pairs(by) for name in designs if name != baseline}
    missing = set()
    # Each run of the baseline is read once, and only one run of another design is in memory at a
    # time.
    for seed in base.seeds:
        others = [name for name in pairs if seed in designs[name].results]
        before = _explained(base.results[seed]) if others else None
        for name in others:
            after = _explained(designs[name].results[seed])
            if before is None or after is None:
                missing.add(name)
            else:
                pairs[name].add(before, after)
    return {
        name: None if name in missing else found.compared(baseline, name)
        for name, found in pairs.items()
    }


def explained(design: Design) -> Iterator[Explanation]:
    """Yields the split of each run in which it was recorded, one at a time."""
    # A split in which no flow finished is empty, and counts unfinished flows all the same.
    every = (_explained(result) for result in design.results.values())
    return (one for one in every if one is not None)


def _groupings(by: str | Sequence[str]) -> Sequence[str]:
    """Returns a list of groupings. A single one may be given as text."""
    return [by] if isinstance(by, str) else by


def _explained(result: Result) -> Explanation | None:
    try:
        return result.explain()
    except LookupError:
        return None


def _largest(parts_ns: dict[str, int]) -> list[tuple[str, int]]:
    """Returns the parts that changed most, as many as a sentence names."""
    ordered = sorted(
        ((label, ns) for label, ns in parts_ns.items() if ns), key=lambda item: -abs(item[1])
    )
    whole = sum(abs(ns) for _, ns in ordered)
    return [
        item
        for place, item in enumerate(ordered[:NAMED])
        if place == 0 or abs(item[1]) >= REST * whole
    ]
