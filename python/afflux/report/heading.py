"""Words the answer of the first screen: the heading, what is certain about it, and what would change
it."""

from ..comparison import changes, findings, headline
from ..comparison.circumstances import CAUSES, chief_wait
from ..comparison.compare import Comparison
from ..comparison.paired import BETTER, SAME, WORSE, Difference, Pairs
from ..comparison.phrases import typical, what_of
from ..metrics import COST, Metric
from ..results import split
from ..results.designs import Design, Value
from ..results.statistics import mean
from ..words import Words, join, say, text
from . import differs
from .axis import in_words, number, short, span
from .first import Facts, PageAnswer

#: Longest text, in characters, that is not folded away.
_LONG = 320


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
    sure = of.get(findings.SURE, [])
    if lead:
        shown, rest = [_agreement(found, lead)], [*of.get(findings.ALSO, []), *sure]
    else:
        every = [*of.get(findings.SIZE, []), *of.get(findings.ALSO, []), *sure]
        shown = [part for part in every if len(part) <= _LONG]
        long = [part for part in every if len(part) > _LONG]
        if long and metric:
            shown.insert(0, _open(found, metric))
        shown, rest = shown[:3], [*shown[3:], *long]
    if not lead or not _heads_price(found, lead):
        # The heading contains no price.
        shown += of.get(findings.COST, [])
    facts = Facts(
        why=of.get(findings.WHY, []),
        cause=_cause(found, lead),
        sure=shown[:1],
        observations=shown[1:],
        change=[*of.get(findings.ADVICE, []), *_changes(found, lead)],
    )
    return PageAnswer(join(head), rest=rest, facts=facts)


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
    by = typical(lead) if lead.ratio is not None else changes.count_change(lead)
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
    if min(means) == max(means):
        return say("first.same", what=what_of(metric), value=short(metric, means[0]))
    return say(
        "first.spread",
        what=what_of(metric),
        span=in_words(span(metric, min(means), max(means), max(means))),
    )


def _cause(found: Comparison, lead: Difference | None) -> Metric | None:
    """Returns the wait that the answer names as its cause; otherwise the first counter that changed
    in the same direction as the answer."""
    if lead is None:
        return None
    if wait := chief_wait(found, lead):
        return Metric(f"wait.{wait.metric.name}", wait.metric.name, (), text.time)
    clear = {
        d.metric.name: d.metric
        for d in found.of(lead.design)
        if d.metric.counter and not d.metric.main and d.verdict == lead.verdict
    }
    return next((clear[name] for name in CAUSES if name in clear), None)


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
        "what": what_of(lead.metric),
    }
    if lead.low is None or lead.high is None:
        return say("first.agree.plain", **words)
    near, far = sorted((abs(lead.low), abs(lead.high)))
    crosses = (lead.low < 0) != (lead.high < 0)
    if crosses:
        return say(
            "first.agree.plain" if agreed == len(pairs) else "first.agree.some.plain", **words
        )
    size = in_words(span(lead.metric, near, far, far))
    direction = "less" if lead.fell else "more"
    return say(
        f"first.agree.{direction}" if agreed == len(pairs) else f"first.agree.some.{direction}",
        size=size,
        **words,
    )


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
                "first.change.contrary",
                what=what_of(d.metric),
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
        said.append(say("first.change.second", **words))
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
    return changes.change(d.ratio) if d.ratio is not None else changes.count_change(d)


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
    left = mean(
        [float(result.summary["flows"]["unfinished"]) for result in design.samples.values()]
    )
    caveats = (
        [say("answer.censored")]
        if any(result.summary["fct"]["all"]["censored"] for result in design.results.values())
        and left
        else []
    )
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
