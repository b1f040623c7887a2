"""Words the answer of the first screen: the heading, what is certain about it, and what would change
it."""

from collections.abc import Sequence
from itertools import accumulate, chain

from ..comparison import changes, findings, headline
from ..comparison.circumstances import chief_wait, counters
from ..comparison.compare import Comparison
from ..comparison.paired import BETTER, SAME, WORSE, Difference, Pairs
from ..comparison.phrases import typical, what_of
from ..metrics import COST, Metric
from ..results import split
from ..results.designs import Design, Value
from ..words import Words, join, say, text
from . import differs
from .axis import in_words, number, short, span
from .completion import has_unfinished
from .first import Facts, PageAnswer

#: Longest text, in characters, that is not folded away, and number of sentences that are shown. A
#: sentence is shown beyond that number if it refers to one that is shown.
_LONG, _SHOWN = 320, 3


def of_comparison(found: Comparison, metric: Metric | None) -> PageAnswer:
    parts = headline.parts(found)
    of = {
        role: [words for words, one in parts if one == role] for role in {role for _, role in parts}
    }
    lead = headline.lead(found)
    head = [*of.get(findings.ANSWER, [])]
    if lead:
        head += of.get(findings.SIZE, [])[:-1]
        head.append(_in_numbers(found, lead))
    elif metric and (spread := _spread(found, metric)):
        head.append(spread)
    also = [*of.get(findings.ALSO, []), *of.get(findings.SURE, [])]
    if lead:
        sure, beside, rest = [_agreement(found, lead)], [], also
    else:
        groups = _groups([*of.get(findings.SIZE, []), *also])
        long = [group for group in groups if any(len(part) > _LONG for part in group)]
        short_ones = [group for group in groups if group not in long]
        if long and metric:
            short_ones.insert(0, [_open(found, metric)])
        shown, folded = _fitting(short_ones)
        sure, beside = (shown[0] if shown else []), list(chain(*shown[1:]))
        rest = list(chain(*folded, *long))
    if not lead or not _heads_price(found, lead):
        # The heading contains no price.
        prices = of.get(findings.COST, [])
        sure, beside = (sure, [*beside, *prices]) if sure else (prices, beside)
    facts = Facts(
        why=of.get(findings.WHY, []),
        cause=_cause(found, lead),
        sure=sure,
        observations=beside,
        change=[*of.get(findings.ADVICE, []), *_changes(found, lead)],
    )
    return PageAnswer(join(head), rest=rest, facts=facts)


#: A ratio that is worded as a percentage.
_HALF = 0.5
#: Sentences that refer to the sentence before them.
_REFERRING = (
    "compare.more.sentence",
    "compare.more.sentence.one",
    "compare.opposed.sentence",
    "compare.alone.rest",
    "compare.open.either",
)


def _groups(parts: Sequence[Words]) -> list[list[Words]]:
    """Groups sentences so that one which refers to the sentence before it stays with it."""
    beginnings = tuple(str(say(key, count="{", items="{")).partition("{")[0] for key in _REFERRING)
    groups: list[list[Words]] = []
    for part in parts:
        if groups and part.startswith(beginnings):
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def _fitting(groups: Sequence[list[Words]]) -> tuple[list[list[Words]], list[list[Words]]]:
    """Returns the groups that begin within the first sentences that are shown, and the others."""
    begins = list(accumulate(map(len, groups), initial=0))
    count = sum(begin < _SHOWN for begin in begins[:-1])
    return list(groups[:count]), list(groups[count:])


def _open(found: Comparison, metric: Metric) -> Words:
    """Says how many designs differ in the main metric, and how certain that is."""
    some = [d for d in found.differences if d.metric is metric]
    alone = sum(d.clear for d in some)
    words = {
        "what": what_of(metric),
        "count": len(some),
        "alone": alone,
        "baseline": found.baseline,
    }
    return say("first.open.alone" if alone else "first.open", **words)


def _in_numbers(found: Comparison, lead: Difference) -> Words:
    """Words the size of the difference, and the price if it differs."""
    values = changes.values(lead)
    by = typical(lead) if lead.ratio is not None else changes.amount_change(lead)
    price = _price_of(found, lead) if _heads_price(found, lead) else None
    words = {"change": by, "baseline": found.baseline, **values}
    if price:
        words |= {
            "price": COST.show(price.design_mean),
            "before": COST.show(price.baseline_mean),
            "currency": found.currency or "",
        }
    return say("first.numbers.price" if price else "first.numbers", **words)


def _price_of(found: Comparison, lead: Difference) -> Difference | None:
    """Returns the price difference of the answer's design; None if it costs as much as the
    baseline."""
    return next((d for d in found.of(lead.design) if d.metric is COST and d.verdict != SAME), None)


def _heads_price(found: Comparison, lead: Difference) -> bool:
    """True if the heading gives a price, that of the design it compares with the baseline. If it
    recommends none of several designs, all prices follow below."""
    return _price_of(found, lead) is not None and (lead.verdict != WORSE or len(found.designs) == 1)


def _spread(found: Comparison, metric: Metric) -> Words:
    means = [value.mean for design in found.of_name.values() if (value := design.value(metric))]
    least, most = min(means), max(means)
    if least == most:
        return say("first.same", what=what_of(metric), value=short(metric, most))
    # In the unit of the larger one the smaller one could read as 0.
    apart = 0 < 100 * least < most
    words = (
        say("interval", low=short(metric, least), high=short(metric, most))
        if apart
        else in_words(span(metric, least, most, most))
    )
    return say("first.spread", what=what_of(metric), span=words)


def _cause(found: Comparison, lead: Difference | None) -> Metric | None:
    """Returns the wait that the answer names as its cause; otherwise the first counter that changed
    in the same direction as the answer."""
    if lead is None:
        return None
    if wait := chief_wait(found, lead):
        return Metric(f"wait.{wait.metric.name}", wait.metric.name, (), text.time)
    return next((d.metric for d in counters(found, lead)), None)


def _what(found: Comparison, d: Difference) -> Words | str:
    """Returns the name of the metric. If some flows did not finish, the name says that a completion
    time or slowdown is that of finished flows."""
    what = what_of(d.metric)
    designs = [found.of_name[name] for name in (found.baseline, d.design)]
    if d.metric.path[0] in ("fct", "slowdown") and any(map(has_unfinished, designs)):
        return say("compare.finished", what=what)
    return what


def _agreement(found: Comparison, lead: Difference) -> Words:
    if lead.deterministic:
        return say("first.exact")
    pairs = by_seed(found, lead)
    down = sum(new < old for old, new in pairs)
    up = sum(new > old for old, new in pairs)
    agreed = down if lead.fell else up
    words = {
        "count": agreed,
        "seeds": len(pairs),
        "design": lead.design,
        "baseline": found.baseline,
        "what": _what(found, lead),
    }
    key = "first.agree" if agreed == len(pairs) else "first.agree.some"
    if (size := _interval(lead)) is None:
        return say(f"{key}.plain", **words)
    return say(f"{key}.{_kind(lead)}", size=size, **words)


def _interval(lead: Difference) -> Words | None:
    """Words the interval from which the verdict of an established difference follows."""
    if lead.bounds is None:
        return None
    if lead.ratio is None:
        return changes.amount_ends(lead, clear=True)
    # A decrease is worded as a percentage even if it is large, because the sentence says "less".
    ratio = max(lead.ratio, _HALF) if lead.fell else lead.ratio
    return changes.ends(ratio, *lead.bounds)


def _kind(lead: Difference) -> str:
    """Returns how the interval of a difference is worded: as `less`, `more` or `times`."""
    if lead.ratio is not None and changes.is_factor(lead.ratio):
        return "times"
    return "less" if lead.fell else "more"


def by_seed(found: Comparison, d: Difference) -> list[tuple[float, float]]:
    pairs = Pairs.of(found.of_name[found.baseline], found.of_name[d.design])
    both_values = [
        (d.metric.of(before.summary), d.metric.of(after.summary)) for before, after in pairs.samples
    ]
    return [(old, new) for old, new in both_values if old is not None and new is not None]


def _changes(found: Comparison, lead: Difference | None) -> list[Words]:
    if lead is None:
        few = all(d.p is None for d in found.differences)
        return [*([] if few else [say("first.change.seeds")]), say("first.change.untested")]
    said = []
    contrary = [
        d
        for d in found.of(lead.design)
        if d.established and d.verdict != lead.verdict and d.metric.main and findings.matters(d)
    ]
    if contrary:
        d = max(contrary, key=lambda one: abs(one.share or 0))
        said.append(
            say(
                f"first.change.contrary{changes.manner(d.ratio)}",
                what=_what(found, d),
                size=_change_of(d),
                design=lead.design,
                baseline=found.baseline,
            )
        )
    places = dict(zip(found.of_name, differs.colours(found.of_name), strict=True))
    others = [
        d
        for d in found.differences
        if d.metric is lead.metric and places[d.design] != places[lead.design] and d.established
    ]
    others = [d for d in others if d.verdict == lead.verdict and findings.matters(d)]
    if others and lead.verdict == BETTER:
        second = min(others, key=lambda d: d.design_mean if lead.fell else -d.design_mean)
        words = {
            "second": second.design,
            "baseline": found.baseline,
            "size": _change_of(second),
            "lead": lead.design,
        }
        said.append(say(f"first.change.second{changes.manner(second.ratio)}", **words))
    price = _price_of(found, lead)
    if price and lead.verdict == BETTER:
        key = "first.change.cheaper" if price.fell else "first.change.dearer"
        amounts = {
            "currency": found.currency or "",
            "price": COST.show(price.design_mean),
            "more": COST.show(abs(price.difference)),
        }
        said.append(say(key, baseline=found.baseline, what=what_of(lead.metric), **amounts))
    said.append(say("first.change.untested"))
    return said


def _change_of(d: Difference) -> Words:
    return changes.change(d.ratio) if d.ratio is not None else changes.amount_change(d)


def of_one(design: Design, metric: Metric | None) -> PageAnswer:
    """Words the results of a single design."""
    if metric is None or (value := design.value(metric)) is None:
        return PageAnswer(join([say("first.nothing", design=design.name)]))
    words: dict[str, object] = {
        "design": design.name,
        "what": what_of(metric),
        "value": short(metric, value.mean),
    }
    if value.low is not None and value.high is not None and value.low != value.high:
        words["interval"] = in_words(span(metric, value.low, value.high, value.mean))
    head = say(
        "first.head.one" if "interval" in words else "first.head.single",
        seeds=len(design.samples),
        **words,
    )
    parts = parts_of(design)
    why = []
    if parts:
        key = "first.split.simulated" if has_kernels(design) else "first.split"
        why.append(say(key, part=parts[0][0], share=number(100 * parts[0][1], 0)))
    if (own := _own_hosts(design)) is not None:
        why.append(say("first.split.host", share=number(100 * own, 0)))
    if design.deterministic:
        sure = say("first.exact")
    elif len(design.samples) > 1:
        sure = _width(value, len(design.samples))
    else:
        sure = say("first.one.seed")
    caveats = [say("answer.censored")] if has_unfinished(design) else []
    return PageAnswer(
        head,
        facts=Facts(
            why=why,
            sure=[sure, *caveats],
            change=[say("first.one.change"), say("first.change.untested")],
        ),
    )


def _width(value: Value, seeds: int) -> Words:
    """Says how wide the interval of a mean is."""
    if value.wide:
        return say("first.one.wide", what=what_of(value.metric), seeds=seeds)
    if value.low is None or value.high is None or not value.mean or value.low == value.high:
        return say("first.one.same", seeds=seeds)
    below, above = (changes.percent(end / value.mean - 1) for end in (value.low, value.high))
    return say(
        "first.one.interval", what=what_of(value.metric), seeds=seeds, below=below, above=above
    )


def has_kernels(design: Design) -> bool:
    """True if some flows are those of real kernels, whose completion times have no known parts."""
    return any(result.summary["flows"].get("of_kernels") for result in design.results.values())


def parts_of(design: Design) -> list[tuple[Words, float]]:
    """Returns the parts of the completion time with their shares, the largest first. Empty if they
    were not recorded."""
    try:
        every = split.groups([result.explain() for result in design.samples.values()])
    except LookupError:
        return []
    shares = every[0].mean.shares if every else {}
    if not any(shares.values()):
        return []
    return [
        (say(f"part.{label}"), share)
        for label, share in sorted(shares.items(), key=lambda one: one[1], reverse=True)
    ]


def _own_hosts(design: Design) -> float | None:
    """Returns the share of queueing that occurred in the senders' own hosts, over all runs."""
    found = [result.summary.get("queueing") for result in design.samples.values()]
    split = [one for one in found if one]
    total = sum(one["flows"] * (one["host_mean_ns"] + one["network_mean_ns"]) for one in split)
    return sum(one["flows"] * one["host_mean_ns"] for one in split) / total if total else None
