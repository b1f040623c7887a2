"""Words differences as phrases such as `34 % less (95 % interval 22 to 44 %, 5 paired seeds)`,
lists of differences, and the number of further seeds that would decide."""

import math
from collections.abc import Sequence

from ..metrics import COST, Metric
from ..words import Words, join, known, say
from . import changes
from .paired import SAME, TOO_FEW, Difference

#: Largest number of further seeds that a sentence names.
_MANY_SEEDS = 100
#: An interval whose ends differ by more than this factor is not informative.
_WIDE = 1_000.0
#: The phrase mentions the geometric mean if the typical ratio and the ratio of the means differ by
#: more than this share.
_MEANS_DIFFER = 0.05
_LISTED = ("; ", "；")


def strength(d: Difference) -> float:
    """Returns the distance of the two values: the absolute logarithm of their ratio."""
    if d.ratio is not None:
        return abs(math.log(d.ratio))
    old, new = d.baseline_mean, d.design_mean
    return abs(math.log(new / old)) if old > 0 and new > 0 else math.inf if old != new else 0.0


def largest_distance(d: Difference) -> float:
    """Returns the larger of two distances, that of the typical values and that of the means, so
    that no large factor is overlooked."""
    old, new = d.baseline_mean, d.design_mean
    return max(strength(d), abs(math.log(new / old))) if old > 0 and new > 0 else strength(d)


def what_of(metric: Metric) -> Words | str:
    """Returns the name of a metric for use within a sentence."""
    if metric.group is not None and metric.whole is not None:
        return say("what.of", what=what_of(metric.whole), name=metric.group)
    return known(f"what.{metric.name}", f"metric.{metric.name}") or metric.title


def typical(d: Difference) -> Words:
    """Words the typical change: `34 % less`, or `34 % less in the geometric mean of pairs` if the
    means differ from it."""
    assert d.ratio is not None
    change = changes.change(d.ratio)
    return say("compare.seed", change=change) if means_differ(d) else change


def means_differ(d: Difference) -> bool:
    """True if the ratio of the means differs notably from the typical ratio."""
    if d.ratio is None or d.baseline_mean <= 0 or d.design_mean <= 0:
        return False
    of_means = math.log(d.design_mean / d.baseline_mean)
    return abs(of_means - math.log(d.ratio)) > _MEANS_DIFFER


def size(d: Difference, *, paired: bool = True) -> Words:
    """Words the size and the interval of a clear difference: `34 % less (95 % interval 22 to 44 %,
    5 paired seeds)`. The difference from a fixed number is not `paired`."""
    if d.ratio is None:
        changed = changes.amount_change(d)
        interval = changes.amount_ends(d, clear=True)
    else:
        changed = typical(d)
        bounds = d.bounds
        interval = changes.ends(d.ratio, *bounds) if bounds else None
    seeds = paired_seeds(d) if paired else say("seeds.many", count=d.samples)
    if d.deterministic:
        within = say("compare.exact")
    elif d.metric is COST:
        within = Words("", "")
    else:
        within = (
            say("compare.within", interval=interval, seeds=seeds)
            if interval
            else say("compare.alike", seeds=seeds)
        )
    return say("compare.changed", change=changed, within=within) if within else changed


def in_words(d: Difference) -> Words:
    """Words a difference with both values: `5.60 s instead of 8.48 s, 34 % less (…)`."""
    shown = changes.values(d)
    if d.verdict == SAME:
        return say("told.same", **shown)
    if d.clear:
        return say("told.clear", size=size(d), **shown)
    if d.verdict == TOO_FEW:
        return say("told.few", **shown)
    return say("told.open", between=between(d), more=seeds_needed(d), **shown)


def paired_seeds(d: Difference) -> Words:
    if d.samples < d.seeds:
        return say("compare.seeds.distinct", count=d.samples, seeds=d.seeds)
    return say("compare.seeds.one") if d.samples == 1 else say("compare.seeds", count=d.samples)


def samples(count: int, certain: bool) -> Words:
    return (
        say("compare.one-run")
        if certain
        else say("compare.seeds.one")
        if count == 1
        else say("compare.seeds", count=count)
    )


def between(d: Difference) -> Words:
    """Words the interval of a difference that is not clear. If a single seed makes it wide, names
    that seed; if several seeds do, gives the range over the seeds."""
    if d.straggler:
        one = d.straggler
        return say(
            "compare.straggler",
            seed=one.seed,
            there=changes.change(one.ratio),
            others=changes.between(one.low, one.high),
        )
    if (
        d.bounds is not None
        and d.ratio is not None
        and d.ratio_least
        and d.ratio_most
        and d.bounds[1] / d.bounds[0] > _WIDE
    ):
        return say(
            "compare.scattered",
            low=changes.change(d.ratio_least),
            high=changes.change(d.ratio_most),
        )
    if d.ratio is None or d.bounds is None:
        ends = changes.amount_ends(d, clear=False)
        return say("compare.between.difference", ends=ends) if ends else Words("", "")
    found = changes.between(*d.bounds)
    return say("compare.seed", change=found) if means_differ(d) else found


def short(d: Difference, with_design: bool = False) -> Words:
    """Words a metric with its change, as an item of a list."""
    words = {"what": what_of(d.metric), **changes.values(d)}
    item = (
        say("compare.item", change=typical(d), **words)
        if d.ratio is not None
        else say("compare.item.count", **words)
    )
    return say("compare.item.of", design=d.design, item=item) if with_design else item


def design_item(d: Difference, group: str, full: bool = False) -> Words:
    """Words a design with its change, as an item of a list."""
    if group == "few":
        return Words(d.design, d.design)
    if group.startswith("else."):
        return say(
            "compare.others.measure", design=d.design, what=what_of(d.metric), change=change_of(d)
        )
    if full or group == "open":
        key = "compare.open.design" if full else "compare.others.between"
        if d.clear:
            return say(
                key,
                design=d.design,
                between=say("compare.only-alone", change=change_of(d)),
                more=seeds_needed(d),
                **changes.values(d),
            )
        return say(
            key, design=d.design, between=between(d), more=seeds_needed(d), **changes.values(d)
        )
    return say("compare.others.item", design=d.design, change=change_of(d))


def change_of(d: Difference) -> Words:
    return typical(d) if d.ratio is not None else say("compare.instead", **changes.values(d))


def seeds_needed(d: Difference) -> Words:
    """Returns `; about 7 more seeds would decide`, to follow an interval. Empty if a single seed is
    the cause, or if more than `_MANY_SEEDS` would be needed."""
    if d.straggler:
        return Words("", "")
    if (d.design_mean < d.baseline_mean) != d.fell:
        return say("compare.opposed")
    return _more(d.seeds_to_decide)


def seeds_needed_sentence(d: Difference) -> Words:
    """Returns the text of `seeds_needed` as a sentence."""
    if d.straggler:
        return Words("", "")
    if (d.design_mean < d.baseline_mean) != d.fell and d.bounds:
        return say("compare.opposed.sentence")
    return decide(d.seeds_to_decide)


def decide(count: int | None) -> Words:
    if count is None or count > _MANY_SEEDS:
        return Words("", "")
    return say("compare.more.sentence.one" if count == 1 else "compare.more.sentence", count=count)


def _more(count: int | None) -> Words:
    if count is None or count > _MANY_SEEDS:
        return Words("", "")
    return say("compare.more.one" if count == 1 else "compare.more", count=count)


def listed(items: Sequence[Words | str], most: int, between: tuple[str, str] = _LISTED) -> Words:
    """Joins at most `most` items, followed by the number of the others."""
    shown = list(items[:most]) if len(items) > most + 1 else list(items)
    if left := len(items) - len(shown):
        shown.append(say("compare.left", count=left))
    return join(shown, between)
