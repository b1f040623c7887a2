"""Draws the figure of the first screen: a metric of each design on one axis, with its interval, its
seeds and its price."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..comparison import changes, headline
from ..comparison.compare import Comparison
from ..comparison.paired import BETTER, UNCLEAR, WORSE, Difference
from ..comparison.phrases import what_of
from ..metrics import COST, JOB_TIME, METRICS, Metric
from ..results import percentiles
from ..results.designs import Design, Designs, Value
from ..words import Words, capital, japanese, join, say
from . import alike, differs, measures
from .axis import Axis, axis, in_words, joined, short, span
from .markup import Terms, both, chip, colour, html_table, plain, small_note, swatch, unseen

#: Most designs in the figure. With more, it shows as many best ones, the baseline and the design of
#: the answer.
_ROWS = 8
#: Metrics in the figure of a single design: mean and percentiles of its flows.
_PERCENTILES = ("fct_mean_ns", "fct_p50_ns", "fct_p99_ns", "fct_p999_ns")


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
    base = next((row for row in every if found and found.baseline in row.names), None)
    shown, folded = every, []
    if len(every) > _ROWS + 1:
        order = sorted(
            every, key=lambda row: row.value.mean, reverse=metric.lower_is_better is False
        )
        kept = [row for row in (base, *order[:_ROWS], best) if row]
        # The baseline comes first; the design of the answer may be none of the best.
        shown = list(dict.fromkeys(kept))
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

    def table(some: Sequence[Row], last: bool) -> str:
        body = (
            _row(row, drawn, metric, designs, found, against, best, base, priced, currency, terms)
            for row in some
        )
        foot = (
            f'<tfoot><tr><td></td><td class="ax">{ticks(drawn, metric)}</td><td colspan="{1 + bool(found) + priced}"></td></tr></tfoot>'
            if last
            else ""
        )
        dense = " dense" if len(shown) > 5 else ""
        return html_table(f"dots{dense}", _head(found, priced, several, terms), body, foot)

    notes = "".join(f'<p class="note">{both(note)}</p>' for note in _twins(designs, every))
    more = ""
    if folded:
        more = f"<details><summary>{both(say('first.more', count=len(folded)))}</summary>{table(folded, True)}</details>"
    direction = (
        "less"
        if metric.lower_is_better
        else "more"
        if metric.lower_is_better is False
        else "neither"
    )
    caption = say(f"first.measure.{direction}", what=capital_of(metric))
    key = _key(max(len(row.seeds) for row in every))
    return framed(caption, drawn.logarithmic, key, f"{table(shown, True)}{more}{notes}")


def _key(seeds: int) -> list[tuple[str, Words]]:
    if seeds <= 1:
        return [("mean", say("first.key.value"))]
    return [
        ("mean", say("first.key.mean")),
        ("ci", say("first.key.interval")),
        ("seed", say("first.key.seed", count=seeds)),
    ]


def capital_of(metric: Metric) -> Words:
    """Returns the name of a metric for the beginning of a line. A percentile stays as it is, and so
    does the name of a class or of a block of jobs."""
    words = what_of(metric)
    named = metric.begins_with_name and words == metric.title
    return Words(words, japanese(words)) if named or words[1:2].isdigit() else capital(words)


def _head(found: Comparison | None, priced: bool, several: bool, terms: Terms) -> list[str]:
    head = say("first.mean") if several else say("first.value")
    interval = f", {terms.point('interval', both(say('first.interval')))}" if several else ""
    cells = [
        both(say("first.design")),
        unseen("first.chart"),
        f"{both(head)}{interval}",
    ]
    if found:
        cells.append(both(say("first.against", baseline=found.baseline)))
    if priced:
        cells.append(terms.point("cost", both(say("first.price"))))
    return cells


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
    names = ", <br>".join(plain(name) for name in row.names)
    means = [one.mean for design in designs.values() if (one := design.value(metric))]
    lowest = row.value.mean == (max if metric.lower_is_better is False else min)(means)
    small = (
        f' <small class="note">{both(say("first.best", count=len(designs)) if lowest else say("first.chosen"))}</small>'
        if row is best
        else ""
    )
    cells = [
        f'<th scope="row">{swatch(row.place)}<span>{names}{small}</span></th>',
        _plotted(drawn, metric, row.value, row.seeds, len(row.seeds) > 1, base),
    ]
    if found:
        cells.append(f'<td class="vs">{_against(row, found, against, terms)}</td>')
    if priced:
        cells.append(f'<td class="cost">{_price(row, designs, currency)}</td>')
    marked = ' class="best"' if row is best else ""
    return f'<tr{marked} style="{colour(row.place)}">{"".join(cells)}</tr>'


def _plotted(
    drawn: Axis,
    metric: Metric,
    value: Value,
    seeds: Sequence[float],
    several: bool,
    base: Row | None = None,
) -> str:
    """Draws the cells of a value: its track with interval, mean and seeds, and the number."""
    marks = [mark("base", drawn, base.value.mean)] if base else []
    interval = small_note("–") if value.wide else ""
    if value.low is not None and value.high is not None and value.low != value.high:
        marks.append(ci(drawn, value.low, value.high))
        shown = plain(span(metric, value.low, value.high, value.mean))
        interval = small_note(shown)
    marks.append(mark("mean", drawn, value.mean))
    if several:
        marks += seed_marks(drawn, seeds, 1.6)
    return (
        f'<td class="pl">{track(drawn, marks, alone=not several)}</td>'
        f'<td class="val"><b>{plain(short(metric, value.mean))}</b>{interval}</td>'
    )


def _without(drawn: Axis) -> str:
    """Draws the cells of a value that is not shown."""
    return f'<td class="pl">{track(drawn, [], alone=True)}</td><td class="val"><b>–</b></td>'


def track(drawn: Axis, marks: Sequence[str], *, alone: bool) -> str:
    """Draws the marks of one row on the axis."""
    kind = f"track{' alone' if alone else ''}"
    return f'<div class="{kind}" style="--n:{len(drawn.ticks) - 1}">{"".join(marks)}</div>'


def mark(kind: str, drawn: Axis, value: float) -> str:
    return f'<i class="{kind}" style="--x:{drawn.at(value):.2f}%"></i>'


def ci(drawn: Axis, low: float, high: float) -> str:
    """Draws the bar of an interval."""
    left, right = drawn.at(low), drawn.at(high)
    return f'<i class="ci" style="--x:{left:.2f}%;--w:{right - left:.2f}%"></i>'


def framed(caption: Words, logarithmic: bool, key: Iterable[tuple[str, Words]], body: str) -> str:
    """Draws a figure with its caption and its legend. `key` has the marks with their meanings."""
    if logarithmic:
        caption = join([caption, say("first.log")], ("; ", "、"))
    legend = "".join(f'<span><i class="{mark}"></i>{both(words)}</span>' for mark, words in key)
    return (
        f'<figure class="answer-fig"><div class="cap"><h3>{both(caption)}</h3>'
        f'<span class="key note" aria-hidden="true">{legend}</span></div>{body}</figure>'
    )


def _against(row: Row, found: Comparison, against: Mapping[str, Difference], terms: Terms) -> str:
    if found.baseline in row.names:
        return chip("ref", say("verdict.baseline"))
    d = against.get(row.names[0])
    if d is None:
        return ""
    below = ""
    if d.bounds is not None:
        below = small_note(both(in_words(changes.interval(d))))
        # A clear interval gives no verdict if the means differ in the other direction.
        if d.verdict == UNCLEAR and not _includes_equal(d):
            below += small_note(both(say("first.opposed")))
    return measures.verdict(d, found, terms) + below


def _includes_equal(d: Difference) -> bool:
    """True if the interval of a difference includes equal values."""
    equal = 0.0 if d.ratio is None else 1.0
    return d.bounds is not None and d.bounds[0] <= equal <= d.bounds[1]


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


def own_figure(design: Design, terms: Terms) -> str:
    """Draws mean and percentiles of the completion times of a single design, with a mark per
    seed."""
    shown = [metric for metric in METRICS if metric.name in _PERCENTILES or metric is JOB_TIME]
    known = [(metric, value) for metric in shown if (value := design.value(metric))]
    if not known:
        return ""
    reasons = {metric: percentiles.withheld(metric, design) for metric, _ in known}
    ends = [
        end
        for metric, value in known
        if not reasons[metric]
        for end in (value.low, value.high, value.mean, *design.by_seed(metric).values())
        if end is not None
    ]
    metric = known[0][0]
    drawn = axis(ends, metric)
    several = len(design.samples) > 1
    body = []
    for one, value in known:
        seeds = tuple(design.by_seed(one).values()) if several else ()
        title = terms.of_metric(one.name, capital_of(one))
        if reason := reasons[one]:
            title += small_note(both(reason))
            plotted = _without(drawn)
        else:
            plotted = _plotted(drawn, one, value, seeds, several)
        body.append(f'<tr style="{colour(0)}"><th scope="row">{title}</th>{plotted}</tr>')
    cells = [
        both(say("measures.measure")),
        unseen("first.chart"),
        both(say("first.mean" if several else "first.value")),
    ]
    foot = f'<tfoot><tr><td></td><td class="ax">{ticks(drawn, metric)}</td><td></td></tr></tfoot>'
    table = html_table("dots own dense", cells, body, foot)
    key = _key(len(design.seeds) if several else 1)
    return framed(say("first.own"), drawn.logarithmic, key, table)


def ticks(drawn: Axis, metric: Metric) -> str:
    """Draws the axis with its labels."""
    return scale(drawn.labels(metric))


def scale(labels: Sequence[tuple[float, str]]) -> str:
    """Draws an axis from the positions and texts of its labels."""
    many = " many" if len(labels) > 4 and len(labels) % 2 else ""
    shown = "".join(f'<span style="--x:{at:.2f}%">{plain(label)}</span>' for at, label in labels)
    return f'<div class="axis{many}">{shown}</div>'


def seed_marks(drawn: Axis, values: Sequence[float], near: float) -> list[str]:
    """Draws a ring per seed. Rings that would overlap are stacked. A stack of more than three has two
    rings and the number of the others."""
    placed: list[tuple[float, int]] = []
    for value in sorted(values):
        at = drawn.at(value)
        taken = {level for other, level in placed if abs(other - at) < near}
        placed.append((at, next(level for level in range(len(values) + 1) if level not in taken)))
    tops = [at for at, level in placed if level == 2]

    def nearest(at: float) -> float:
        return min(tops, key=lambda top: abs(top - at))

    above = Counter(nearest(at) for at, level in placed if level > 2)
    return [
        f'<i class="others" data-more="{above[at] + 1}" style="--x:{at:.2f}%;--up:2"></i>'
        if level == 2 and above[at]
        else f'<i class="seed" style="--x:{at:.2f}%{f";--up:{level}" if level else ""}"></i>'
        for at, level in placed
        if level < 3
    ]
