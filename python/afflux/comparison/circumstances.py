"""Words the rest of an answer: likely causes, unfinished flows, prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import and_
from typing import TYPE_CHECKING

from ..metrics import COST, UNFINISHED, Metric
from ..results.explain import ALL
from ..results.result import Result
from ..words import Words, join, say, text
from . import changes
from .paired import SAME, UNCLEAR, Difference, Pairs, of_pairs
from .phrases import listed, what_of
from .unfinished import not_finished

if TYPE_CHECKING:
    from .compare import Comparison

#: Counters that can explain longer times, the most important first. Retransmissions are named only
#: if no other counter explains the times.
_COUNTERS = ("drops", "in_discards", "timeouts", "pause_frames", "retransmits")
#: Parts of the completion time in which a flow waits in the network.
WAITS = ("queueing", "recovery", "paused", "reordering")
#: Most flows of a result for which waits are read to write a sentence.
_FLOWS = 200_000
#: Most causes and most designs that a sentence names.
_CAUSES, _DESIGNS = 2, 6
_ENDED = (", ", "、")


def counters(found: Comparison, lead: Difference) -> list[Difference]:
    """Returns the counters that can explain the answer and changed in its direction, the most
    important first."""
    clear = {
        d.metric.name: d
        for d in found.of(lead.design)
        if d.metric.counter and not d.metric.main and d.verdict == lead.verdict
    }
    clear.pop(lead.metric.name, None)
    return [clear[name] for name in _COUNTERS if name in clear]


def causes(found: Comparison, lead: Difference) -> Words:
    """Names the waits and counters that changed in the direction of the answer."""
    causes = counters(found, lead)
    if len(causes) > 1:
        causes = [d for d in causes if d.metric.name != "retransmits"]
    items = [
        say(
            f"compare.cause.{'fewer' if d.fell else 'more'}",
            what=what_of(d.metric),
            **changes.values(d),
        )
        for d in causes
    ]
    most = chief_wait(found, lead)
    if most:
        words = {"what": say(f"wait.{most.metric.name}"), **changes.values(most)}
        items.insert(0, say(f"compare.cause.{'less' if most.fell else 'longer'}", **words))
    items = items[:_CAUSES]
    if not items:
        return Words("", "")
    key = f"compare.cause{'s' if len(items) > 1 else ''}{'.of' if len(found.designs) > 1 else ''}"
    return say(key, design=lead.design, items=join(items, (" and ", "、")))


def chief_wait(found: Comparison, lead: Difference) -> Difference | None:
    """Returns the wait that changed most, of those with the same verdict as the answer; None if
    there is none."""
    pairs = Pairs.of(found.of_name[found.baseline], found.of_name[lead.design])
    both = [(waiting(before, after), waiting(after, before)) for before, after in pairs.samples]
    known = [(old, new) for old, new in both if old is not None and new is not None]
    waits = []
    for wait in WAITS:
        values = [(old[wait], new[wait]) for old, new in known if wait in old and wait in new]
        if values:
            waits.append(
                of_pairs(
                    Metric(wait, wait, (), text.time),
                    lead.design,
                    values,
                    deterministic=pairs.deterministic,
                )
            )
    return max(
        (d for d in waits if d.verdict == lead.verdict),
        key=lambda d: abs(d.difference),
        default=None,
    )


def unfinished(found: Comparison, names: Sequence[str]) -> Words:
    """Says how many flows did not finish with these designs and with the baseline."""
    unclear = len(names) == 1 and any(
        d.metric == UNFINISHED and d.verdict == UNCLEAR and d.design in names
        for d in found.differences
    )
    return not_finished([found.of_name[name] for name in (*names, found.baseline)], unclear=unclear)


def cost(found: Comparison, name: str) -> Words:
    d = next((d for d in found.of(name) if d.metric is COST), None)
    if d is None:
        return Words("", "")
    if d.verdict == SAME:
        # The design costs as much as the baseline, but the reader must know if another design is
        # cheaper.
        return prices(found)
    words = {
        "new": priced(found, d.design_mean),
        "old": priced(found, d.baseline_mean),
        "bare": COST.show(d.baseline_mean),
    }
    words |= {"design": name, "baseline": found.baseline}
    cheapest = _cheapest(found, d)
    # A change from a price of 0 has no ratio.
    changed = (
        say("compare.cost.change", change=changes.change(d.ratio)) if d.ratio is not None else ""
    )
    return join([say("compare.cost", changed=changed, **words), *cheapest])


def _cheapest(found: Comparison, own: Difference) -> list[Words]:
    others = [
        d
        for d in found.differences
        if d.metric is COST and d.design_mean < min(own.design_mean, own.baseline_mean)
    ]
    least = min(others, key=lambda d: d.design_mean, default=None)
    return (
        [say("compare.cheapest", design=least.design, price=priced(found, least.design_mean))]
        if least
        else []
    )


def prices(found: Comparison) -> Words:
    """Words the prices of several designs, if they differ."""
    costs = [d for d in found.differences if d.metric is COST]
    if all(d.verdict == SAME for d in costs):
        return Words("", "")
    items = [
        say(
            "compare.prices.item",
            design=found.baseline,
            price=priced(found, costs[0].baseline_mean),
        )
    ]
    items += [
        say("compare.prices.item", design=d.design, price=priced(found, d.design_mean))
        for d in costs
    ]
    return say("compare.prices", items=listed(items, _DESIGNS, _ENDED))


def priced(found: Comparison, value: float) -> str:
    """Formats an amount with the currency of the comparison, if its results name one."""
    return f"{found.currency} {COST.show(value)}" if found.currency else COST.show(value)


def waiting(result: Result, beside: Result | None = None) -> Mapping[str, float] | None:
    """Returns the mean waits in ns of the finished flows; None if they are unknown.

    The flows are the same as in the table of the split: those that started after the warm-up and,
    if `beside` has the same flows, finished in both results.
    """
    every = [one for one in (result, beside) if one is not None]
    if any(
        "flows" not in one.recorded or one.summary["flows"]["finished"] > _FLOWS for one in every
    ):
        return None
    try:
        own, *others = [one.explain() for one in every]
    except LookupError:
        return None
    counted = own.counted()
    for other in others:
        if own.same_flows(other):
            counted = bytes(map(and_, counted, other.counted()))
    sums = own.sums(own.names("class"), counted)[ALL]
    return {wait: sums.parts_ns[wait] / sums.flows for wait in WAITS} if sums.flows else None
