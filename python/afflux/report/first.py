"""Writes the first screen: question, answer, main metric of each design with its price, cause,
certainty, and what would change the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..comparison import changes, findings, headline
from ..comparison.circumstances import CAUSES, chief_wait, waiting
from ..comparison.compare import Comparison
from ..comparison.paired import BETTER, SAME, TOO_FEW, UNCLEAR, WORSE, Difference, Pairs
from ..comparison.phrases import typical, what_of
from ..metrics import COST, JOB_TIME, MAIN, Metric
from ..results import split
from ..results.designs import Design, Designs, Value
from ..results.statistics import mean
from ..words import Marked, Words, join, say, text
from ..words import known as known_words
from . import alike, differs, measures
from .axis import Axis, axis, joined, number, short, span
from .markup import Terms, both, chip, colour, items, plain, swatch, titles

#: Most designs in the figure. With more, it shows the best ones and the baseline.
_ROWS = 8
#: Longest heading, in characters, in the large font.
_LARGE = 150
#: Longest text, in characters, that is not folded away.
_LONG = 320


@dataclass(frozen=True)
class Facts:
    """Facts below the figure. Each text is a sentence. `cause` is a metric whose bars show the
    reason."""

    why: Sequence[str] = ()
    cause: Metric | None = None
    sure: Sequence[str] = ()
    #: Other observations, used if no difference is established.
    observations: Sequence[str] = ()
    change: Sequence[str] = ()
    #: Design that the heading recommends, if it is not the one with the best mean.
    chosen: str | None = None


@dataclass(frozen=True)
class PageAnswer:
    """An answer in parts: heading, sentences below it, folded sentences, and facts."""

    head: str
    lead: Sequence[str] = ()
    rest: Sequence[str] = ()
    facts: Facts = field(default_factory=Facts)


@dataclass(frozen=True)
class Row:
    """Designs that share a row because their results are the same in every seed."""

    names: tuple[str, ...]
    place: int
    value: Value
    seeds: tuple[float, ...]


def rows(designs: Designs, metric: Metric) -> list[Row]:
    together: dict[int, list[Design]] = {}
    for design, place in zip(designs.values(), differs.colours(designs), strict=True):
        together.setdefault(place, []).append(design)
    found = []
    for place, some in together.items():
        if (value := some[0].value(metric)) is not None:
            found.append(
                Row(
                    tuple(design.name for design in some),
                    place,
                    value,
                    tuple(some[0].by_seed(metric).values()),
                )
            )
    return found


def main_measure(designs: Designs, found: Comparison | None) -> Metric | None:
    """Returns the metric of the answer; without one, the first main metric that the designs
    have."""
    lead = headline.lead(found) if found else None
    if lead:
        return lead.metric
    known = [
        metric
        for metric in MAIN
        if not metric.counter and all(design.value(metric) for design in designs.values())
    ]
    if found:
        unclear = [d.metric for d in found.differences if d.metric in known and d.verdict != SAME]
        return next((metric for metric in known if metric in unclear), known[0] if known else None)
    return known[0] if known else None


# Heading.


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
        span=_in_words(span(metric, min(means), max(means), max(means))),
    )


def _in_words(shown: str) -> Words:
    """Formats a span for use within a sentence."""
    return Words(shown.replace("–", " to "), shown.replace("–", "～").replace(" to ", "～"))


# Cause.


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


def _waits(design: Design, wait: str) -> float | None:
    values = [waiting(result) for result in design.samples.values()]
    known = [value[wait] for value in values if value is not None]
    return mean(known) if known and len(known) == len(values) else None


#: Most bars that fit next to the sentences.
_BARS = 5


def bars(designs: Designs, metric: Metric, chosen: str | None = None) -> str:
    """Draws a bar per design for the metric of the cause. If there are many designs, shows the
    first, the chosen, the smallest, and the largest of the others."""
    shown: list[tuple[str, int, float]] = []
    seen = set()
    for design, place in zip(designs.values(), differs.colours(designs), strict=True):
        if place in seen:
            continue
        seen.add(place)
        value = (
            _waits(design, metric.name.removeprefix("wait."))
            if metric.name.startswith("wait.")
            else (found.mean if (found := design.value(metric)) else None)
        )
        if value is not None:
            shown.append((design.name, place, value))
    most = max((value for *_, value in shown), default=0.0)
    if most <= 0:
        return ""
    if len(shown) > _BARS:
        ordered = sorted(shown, key=lambda one: one[2])
        first = [shown[0], *(one for one in shown if one[0] == chosen), ordered[0]]
        kept = [*dict.fromkeys([*first, *reversed(ordered)])][:_BARS]
        shown = [one for one in shown if one in kept]
    if metric.name.startswith("wait."):
        caption = say("first.per_flow", what=say(metric.name))
    elif metric.counter:
        caption = say("first.per_run", what=_capital(what_of(metric)))
    else:
        about = known_words(f"measure.{metric.name}")
        caption = join([_capital(what_of(metric)), *([about] if about else [])], (": ", ": "))
    lines = "".join(
        f'<span style="{colour(place)};color:var(--c)">{plain(name)}</span>'
        f'<span class="hbar"><i style="{colour(place)};--w:{100 * value / most:.1f}%"></i></span>'
        f"<span>{plain(metric.brief(value) if metric.counter else short(metric, value))}</span>"
        for name, place, value in shown
    )
    return f'<p class="note">{both(caption)}</p><div class="mini">{lines}</div>'


# Certainty.


def _agreement(found: Comparison, lead: Difference) -> Words:
    if lead.deterministic:
        return say("first.exact")
    pairs = _by_seed(found, lead)
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
    size = _in_words(span(lead.metric, near, far, far))
    direction = "less" if lead.fell else "more"
    return say(
        f"first.agree.{direction}" if agreed == len(pairs) else f"first.agree.some.{direction}",
        size=size,
        **words,
    )


def _by_seed(found: Comparison, d: Difference) -> list[tuple[float, float]]:
    pairs = Pairs.of(found.of_name[found.baseline], found.of_name[d.design])
    both_values = [
        (d.metric.of(before.summary), d.metric.of(after.summary)) for before, after in pairs.samples
    ]
    return [(old, new) for old, new in both_values if old is not None and new is not None]


def strip(found: Comparison, d: Difference, place: int) -> str:
    """Draws the paired differences of the seeds, with their mean and interval."""
    pairs = _by_seed(found, d)
    if len(pairs) < 2 or d.deterministic:
        return ""
    apart = [new - old for old, new in pairs]
    if not any(apart):
        return ""
    ends = [end for end in (d.low, d.high) if end is not None]
    drawn = axis([*apart, *ends], d.metric, most=5, zero=True, log=False)
    marks = [f'<i class="zero" style="--x:{drawn.at(0):.2f}%"></i>']
    if len(ends) == 2:
        marks.append(
            f'<i class="ci" style="--x:{drawn.at(ends[0]):.2f}%;--w:{drawn.at(ends[1]) - drawn.at(ends[0]):.2f}%"></i>'
        )
    marks.append(f'<i class="mean" style="--x:{drawn.at(d.difference):.2f}%"></i>')
    marks += _seed_marks(drawn, apart, 3.0)
    label = say("first.strip", design=d.design, baseline=found.baseline)
    ticks = _axis(drawn, d.metric)
    drawing = f'<div class="strip" role="img" aria-label="{plain(label)}" style="{colour(place)}">{"".join(marks)}</div>'
    return f'<p class="note">{both(label)}</p>{drawing}{ticks}'


def closest(found: Comparison, metric: Metric, chosen: str | None = None) -> str:
    """Draws the strip of the design that the answer names, or of the one with the best mean."""
    lead = headline.lead(found)
    some = [d for d in found.differences if d.metric.name == metric.name]
    if not some:
        return ""
    lead = lead if lead and lead.metric is metric else None
    established = [d for d in some if d.established and d.verdict == BETTER]
    d = lead or min(
        established or some,
        key=lambda one: one.design_mean * (-1 if metric.lower_is_better is False else 1),
    )
    d = next((one for one in some if one.design == (chosen or d.design)), d)
    places = dict(zip(found.of_name, differs.colours(found.of_name), strict=True))
    return strip(found, d, places[d.design])


def _axis(drawn: Axis, metric: Metric) -> str:
    labels = drawn.labels(metric)
    many = " many" if len(labels) > 4 and len(labels) % 2 else ""
    ticks = "".join(f'<span style="--x:{at:.2f}%">{plain(label)}</span>' for at, label in labels)
    return f'<div class="axis{many}">{ticks}</div>'


def _seed_marks(drawn: Axis, values: Sequence[float], near: float) -> list[str]:
    """Draws a ring per seed. Rings that would overlap are stacked."""
    placed: list[tuple[float, int]] = []
    for value in sorted(values):
        at = drawn.at(value)
        taken = {level for other, level in placed if abs(other - at) < near}
        placed.append((at, next(level for level in range(len(values) + 1) if level not in taken)))
    return [
        f'<i class="seed" style="--x:{at:.2f}%{f";--up:{level}" if level else ""}"></i>'
        for at, level in placed
        if level < 3
    ]


# Changes of the conditions.


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


# Figure.


def figure(
    designs: Designs,
    metric: Metric,
    found: Comparison | None,
    terms: Terms,
    currency: str,
    chosen: str | None = None,
) -> str:
    every = rows(designs, metric)
    if not every:
        return ""
    against = (
        {d.design: d for d in found.differences if d.metric.name == metric.name} if found else {}
    )
    best = (
        next((row for row in every if chosen in row.names), None)
        if chosen
        else _best(every, metric, found, against)
    )
    shown, folded = every, []
    if len(every) > _ROWS + 1:
        order = sorted(
            every, key=lambda row: row.value.mean, reverse=metric.lower_is_better is False
        )
        kept = [row for row in order[:_ROWS] if row.names[0] != (found.baseline if found else "")]
        shown = [*[row for row in every if found and found.baseline in row.names], *kept]
        folded = [row for row in order if row not in shown]
    ends = [
        end
        for row in every
        for end in (row.value.low, row.value.high, row.value.mean, *row.seeds)
        if end is not None
    ]
    drawn = axis(ends, metric)
    priced = any(design.value(COST) for design in designs.values())
    several = any(len(row.seeds) > 1 for row in every)
    base = next((row for row in every if found and found.baseline in row.names), None)

    def table(some: Sequence[Row], last: bool) -> str:
        body = "".join(
            _row(row, drawn, metric, designs, found, against, best, base, priced, currency, terms)
            for row in some
        )
        foot = (
            f'<tfoot><tr><td></td><td class="ax">{_axis(drawn, metric)}</td><td colspan="{1 + bool(found) + priced}"></td></tr></tfoot>'
            if last
            else ""
        )
        dense = " dense" if len(shown) > 5 else ""
        return f'<table class="dots{dense}">{_head(found, priced, several, terms)}<tbody>{body}</tbody>{foot}</table>'

    notes = "".join(f'<p class="note">{both(note)}</p>' for note in _twins(designs, every))
    more = ""
    if folded:
        more = f"<details><summary>{both(say('first.more', count=len(folded)))}</summary>{table(folded, True)}</details>"
    key = _key(max(len(row.seeds) for row in every))
    direction = (
        "less"
        if metric.lower_is_better
        else "more"
        if metric.lower_is_better is False
        else "neither"
    )
    scale = say("first.log") if drawn.logarithmic else Words("", "")
    caption = join(
        [
            part
            for part in (say(f"first.measure.{direction}", what=_capital(what_of(metric))), scale)
            if part
        ],
        ("; ", "、"),
    )
    return (
        f'<figure class="answer-fig"><div class="cap"><h3>{both(caption)}</h3><span class="key note" aria-hidden="true">{key}</span></div>'
        f"{table(shown, True)}{more}{notes}</figure>"
    )


def _key(seeds: int) -> str:
    """Returns the legend of the figure."""
    if seeds > 1:
        keys = [
            ("mean", say("first.key.mean")),
            ("ci", say("first.key.interval")),
            ("seed", say("first.key.seed", count=seeds)),
        ]
    else:
        keys = [("mean", say("first.key.value"))]
    return "".join(f'<span><i class="{mark}"></i>{both(words)}</span>' for mark, words in keys)


def _capital(words: Words | str) -> Words:
    ja = words.ja if isinstance(words, Words) else words
    return Words(words if words[1:2].isdigit() else f"{words[:1].upper()}{words[1:]}", ja)


def _head(found: Comparison | None, priced: bool, several: bool, terms: Terms) -> str:
    head = say("first.mean") if several else say("first.value")
    interval = f", {terms.point('interval', both(say('first.interval')))}" if several else ""
    cells = [
        both(say("first.design")),
        f'<span class="sr">{both(say("first.chart"))}</span>',
        f"{both(head)}{interval}",
    ]
    if found:
        cells.append(both(say("first.against", baseline=found.baseline)))
    if priced:
        cells.append(terms.point("cost", both(say("first.price"))))
    return titles(cells)


def _row(
    row: Row,
    drawn: Axis,
    metric: Metric,
    designs: Designs,
    found: Comparison | None,
    against: Mapping[str, Difference],
    best: Row | None,
    base: Row | None,
    priced: bool,
    currency: str,
    terms: Terms,
) -> str:
    value = row.value
    names = ", <br>".join(plain(name) for name in row.names)
    marks = [f'<i class="base" style="--x:{drawn.at(base.value.mean):.2f}%"></i>'] if base else []
    interval = ""
    if value.low is not None and value.high is not None and value.low != value.high:
        marks.append(
            f'<i class="ci" style="--x:{drawn.at(value.low):.2f}%;--w:{drawn.at(value.high) - drawn.at(value.low):.2f}%"></i>'
        )
        interval = (
            f'<small class="note">{plain(span(metric, value.low, value.high, value.mean))}</small>'
        )
    marks.append(f'<i class="mean" style="--x:{drawn.at(value.mean):.2f}%"></i>')
    if len(row.seeds) > 1:
        marks += _seed_marks(drawn, row.seeds, 1.6)
    alone = "" if len(row.seeds) > 1 else " alone"
    means = [one.mean for design in designs.values() if (one := design.value(metric))]
    lowest = value.mean == (max if metric.lower_is_better is False else min)(means)
    small = (
        f' <small class="note">{both(say("first.best", count=len(designs)) if lowest else say("first.chosen"))}</small>'
        if row is best
        else ""
    )
    cells = [
        f'<th scope="row">{swatch(row.place)}<span>{names}{small}</span></th>',
        f'<td class="pl"><div class="track{alone}" style="--n:{len(drawn.ticks) - 1}">{"".join(marks)}</div></td>',
        f'<td class="val"><b>{plain(short(metric, value.mean))}</b>{interval}</td>',
    ]
    if found:
        cells.append(f'<td class="vs">{_against(row, found, against, metric, terms)}</td>')
    if priced:
        cells.append(f'<td class="cost">{_price(row, designs, currency)}</td>')
    marked = ' class="best"' if row is best else ""
    return f'<tr{marked} style="{colour(row.place)}">{"".join(cells)}</tr>'


def _against(
    row: Row, found: Comparison, against: Mapping[str, Difference], metric: Metric, terms: Terms
) -> str:
    if found.baseline in row.names:
        return chip("ref", say("verdict.baseline"))
    d = against.get(row.names[0])
    if d is None:
        return ""
    below = ""
    if d.low is not None and d.high is not None and d.low != d.high:
        words = _in_words(span(metric, d.low, d.high, d.baseline_mean, sign=True))
        # If several differences are judged together, the interval alone does not decide.
        if (d.low < 0) == (d.high < 0) and d.verdict not in (BETTER, WORSE):
            words = say("first.alone", span=words)
        below = f'<small class="note">{both(words)}</small>'
    return measures.verdict(d, terms) + below


def _price(row: Row, designs: Designs, currency: str) -> str:
    costs = {
        design.name: value.mean for design in designs.values() if (value := design.value(COST))
    }
    if row.names[0] not in costs:
        return "–"
    most = max(costs.values()) or 1.0
    mine = costs[row.names[0]]
    return f'{plain(joined(COST.show(mine), currency))}<span class="hbar"><i style="--w:{100 * mine / most:.1f}%"></i></span>'


def _best(
    every: Sequence[Row],
    metric: Metric,
    found: Comparison | None,
    against: Mapping[str, Difference],
) -> Row | None:
    """Returns the row of the design that the answer names; None if nothing is established."""
    lead = headline.lead(found) if found else None
    if found is None:
        return None
    if lead and lead.metric is metric and lead.verdict in (BETTER, WORSE):
        name = lead.design if lead.verdict == BETTER else found.baseline
    else:
        better = [d for d in against.values() if d.verdict == BETTER and d.established]
        if not better:
            return None
        name = min(
            better, key=lambda d: d.design_mean * (-1 if metric.lower_is_better is False else 1)
        ).design
    return next((row for row in every if name in row.names), None)


def _twins(designs: Designs, every: Sequence[Row]) -> list[Words]:
    said = []
    for row in every:
        for name in row.names[1:]:
            unused = alike.reason(designs[row.names[0]], designs[name]) == "pfc"
            said.append(
                say("first.twin.pfc" if unused else "first.twin", name=name, other=row.names[0])
            )
    return said


# Whole screen.


def section(
    question: str,
    page_answer: PageAnswer,
    drawn: str,
    terms: Terms,
    *,
    title: str,
    cause: str = "",
    sure: str = "",
    extra: str = "",
) -> str:
    large = len(page_answer.head) <= _LARGE
    lead, rest = (
        "".join(f'<p class="more">{terms.in_text(part)}</p>' for part in parts if part)
        for parts in (page_answer.lead, page_answer.rest)
    )
    columns = []
    if page_answer.facts.why or cause:
        columns.append(
            _column(
                "first.why",
                "".join(f"<p>{terms.in_text(part)}</p>" for part in page_answer.facts.why) + cause,
            )
        )
    if page_answer.facts.sure or sure:
        columns.append(
            _column(
                "first.sure",
                "".join(f"<p>{terms.in_text(part)}</p>" for part in page_answer.facts.sure) + sure,
            )
        )
    if page_answer.facts.observations:
        columns.append(
            _column(
                "first.beside",
                "".join(f"<p>{terms.in_text(part)}</p>" for part in page_answer.facts.observations),
            )
        )
    if page_answer.facts.change:
        columns.append(_column("first.change", f"<ul>{items(page_answer.facts.change)}</ul>"))
    facts = f'<div class="facts of-{len(columns)}">{"".join(columns)}</div>' if columns else ""
    folded = (
        f'<details class="rest"><summary>{both(say("first.rest"))}</summary>{rest}</details>'
        if rest
        else ""
    )
    asked = f'<p class="kicker">{both(title)}</p>' if title else ""
    asked += f'<p class="question">{terms.in_text(question)}</p>' if question else ""
    size = "" if large else ' class="long"'
    heading = f"<h1{size}>{both(page_answer.head)}</h1>"
    return f'<section id="answer" aria-label="{plain(say("answer.title"))}">{asked}{heading}{lead}{drawn}{facts}{folded}{extra}</section>'


#: State of a goal and CSS class of its chip, by the mark in front of its value.
_STATES = {
    "\N{CHECK MARK}": ("met", " good"),
    "\N{MULTIPLICATION X}": ("missed", " bad"),
    "\N{WHITE CIRCLE}": ("open", ""),
}


def goals(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Draws designs by goals. Each cell has a value and the mark of its state."""
    titles = "".join(f'<th scope="col">{both(text)}</th>' for text in head)

    def cell(text: str) -> str:
        if str(text)[:1] not in _STATES or str(text)[1:2] != " ":
            return f"<td>{both(text)}</td>"
        state, kind = _STATES[text[0]]
        return f'<td><span class="v">{plain(text[2:])}</span><span class="chip{kind}">{both(say(f"first.goal.{state}"))}</span></td>'

    body = "".join(
        f'<tr><th scope="row">{both(name)}</th>{"".join(map(cell, rest))}</tr>'
        for name, *rest in rows
    )
    table = (
        f'<table class="grid goals"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>'
    )
    return differs.scroll(table, say("decision.table"), len(head))


#: Metrics for the table of tenants. The first one that a class has is used.
_OF_TENANTS = ("fct_p99_ns", "goodput_bps")


def tenants(designs: Designs, found: Comparison, terms: Terms) -> str:
    """Draws designs by tenants (traffic classes) if several share the fabric. Each cell has the
    value and its verdict against the baseline."""
    of_classes = {
        d.metric.group: [
            one.metric for one in found.differences if one.metric.group == d.metric.group
        ]
        for d in found.differences
        if d.metric.whole
    }
    columns = [
        next(
            (
                m
                for name in _OF_TENANTS
                for m in some
                if m.whole and m.whole.name == name and m.main
            ),
            None,
        )
        for some in of_classes.values()
    ]
    shown = [metric for metric in columns if metric is not None]
    if len(shown) < 2:
        return ""
    head = "".join(
        f'<th scope="col">{both(text)}</th>'
        for text in (say("decision.head.design"), *(metric.title for metric in shown))
    )
    rows = []
    for name, design in designs.items():
        cells = []
        for metric in shown:
            d = next((one for one in found.of(name) if one.metric == metric), None)
            value = design.value(metric)
            verdict = (
                chip("ref", say("verdict.baseline"))
                if name == found.baseline
                else measures.verdict(d, terms)
                if d
                else ""
            )
            cells.append(
                f'<td><span class="v">{plain(metric.show(value.mean)) if value else "–"}</span>{verdict}</td>'
            )
        rows.append(f'<tr><th scope="row">{plain(name)}</th>{"".join(cells)}</tr>')
    table = f'<table class="grid goals"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return differs.scroll(table, say("first.tenants"), len(shown) + 1)


def _column(key: str, body: str) -> str:
    return f"<div><h3>{both(say(key))}</h3>{body}</div>"


# Reports of a single design.


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
        words["interval"] = _in_words(span(metric, value.low, value.high, value.mean))
    head = say(
        "first.head.one" if "interval" in words else "first.head.single",
        seeds=len(design.samples),
        **words,
    )
    parts = _split(design)
    why = (
        [say("first.split", part=parts[0][0], share=number(100 * parts[0][1], 0))] if parts else []
    )
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


def _split(design: Design) -> list[tuple[Words, float]]:
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


def split_bars(design: Design) -> str:
    parts = [part for part in _split(design)[:4] if part[1] >= 0.005]
    if not parts:
        return ""
    most = parts[0][1]
    lines = "".join(
        f'<span>{both(name)}</span><span class="hbar"><i style="--w:{100 * share / most:.1f}%"></i></span>'
        f"<span>{number(100 * share, 0)}\N{NO-BREAK SPACE}%</span>"
        for name, share in parts
    )
    return f'<p class="note">{both(say("first.split.caption"))}</p><div class="mini">{lines}</div>'


#: Metrics in the figure of a single design: mean and percentiles of its flows.
_PERCENTILES = ("fct_mean_ns", "fct_p50_ns", "fct_p99_ns", "fct_p999_ns")


def own_figure(design: Design, terms: Terms) -> str:
    """Draws mean and percentiles of the completion times of a single design, with a mark per
    seed."""
    from ..metrics import METRICS

    shown = [metric for metric in METRICS if metric.name in _PERCENTILES or metric is JOB_TIME]
    known = [(metric, value) for metric in shown if (value := design.value(metric))]
    if not known:
        return ""
    ends = [
        end
        for metric, value in known
        for end in (value.low, value.high, value.mean, *design.by_seed(metric).values())
        if end is not None
    ]
    metric = known[0][0]
    drawn = axis(ends, metric)
    several = len(design.samples) > 1
    body = []
    for one, value in known:
        seeds = tuple(design.by_seed(one).values()) if several else ()
        marks = []
        interval = ""
        if value.low is not None and value.high is not None and value.low != value.high:
            marks.append(
                f'<i class="ci" style="--x:{drawn.at(value.low):.2f}%;--w:{drawn.at(value.high) - drawn.at(value.low):.2f}%"></i>'
            )
            interval = (
                f'<small class="note">{plain(span(one, value.low, value.high, value.mean))}</small>'
            )
        marks.append(f'<i class="mean" style="--x:{drawn.at(value.mean):.2f}%"></i>')
        marks += _seed_marks(drawn, seeds, 1.6) if several else []
        alone = "" if several else " alone"
        body.append(
            f'<tr style="{colour(0)}"><th scope="row">{terms.of_metric(one.name, _capital(what_of(one)))}</th>'
            f'<td class="pl"><div class="track{alone}" style="--n:{len(drawn.ticks) - 1}">{"".join(marks)}</div></td>'
            f'<td class="val"><b>{plain(short(one, value.mean))}</b>{interval}</td></tr>'
        )
    cells = [
        both(say("measures.measure")),
        f'<span class="sr">{both(say("first.chart"))}</span>',
        both(say("first.mean" if several else "first.value")),
    ]
    head = titles(cells)
    foot = f'<tfoot><tr><td></td><td class="ax">{_axis(drawn, metric)}</td><td></td></tr></tfoot>'
    key = _key(len(design.seeds) if several else 1)
    caption = join(
        [
            part
            for part in (say("first.own"), say("first.log") if drawn.logarithmic else "")
            if part
        ],
        ("; ", "、"),
    )
    table = f'<table class="dots own dense">{head}<tbody>{"".join(body)}</tbody>{foot}</table>'
    return f'<figure class="answer-fig"><div class="cap"><h3>{both(caption)}</h3><span class="key note" aria-hidden="true">{key}</span></div>{table}</figure>'


def of_text(answer: str) -> PageAnswer:
    """Converts an answer given as text: its first sentence becomes the heading."""
    if isinstance(answer, Marked):
        first = next((place for place, (_, bold) in enumerate(answer.parts) if bold), 0) + 1
        return PageAnswer(
            join([part for part, _ in answer.parts[:first]]),
            [part for part, _ in answer.parts[first:]],
        )
    en, rest = _first_sentence(answer, ". ")
    if isinstance(answer, Words):
        ja, rest_ja = _first_sentence(answer.ja, "。")
        return PageAnswer(Words(en, ja), [Words(rest, rest_ja)] if rest else [])
    return PageAnswer(en, [rest] if rest else [])


def _first_sentence(text: str, stop: str) -> tuple[str, str]:
    head, found, rest = text.partition(stop)
    return (head + stop.strip(), rest.strip()) if found and rest.strip() else (text, "")


__all__ = [
    "TOO_FEW",
    "UNCLEAR",
    "Facts",
    "PageAnswer",
    "figure",
    "main_measure",
    "of_comparison",
    "of_one",
    "of_text",
    "own_figure",
    "section",
    "split_bars",
    "strip",
]
