"""Shows every metric of every design, with its interval and its verdict against the baseline."""

from collections.abc import Sequence
from dataclasses import replace

from ..comparison import changes
from ..comparison.compare import Comparison
from ..comparison.paired import (
    BETTER,
    HIGHER,
    LOWER,
    SAME,
    TOO_FEW,
    UNCLEAR,
    WORSE,
    Difference,
)
from ..comparison.phrases import means_differ
from ..metrics import COST, Metric
from ..results import percentiles
from ..results.designs import Designs, Value
from ..words import Words, capital, japanese, known, said, say
from . import completion, differs
from .axis import joined, short, span
from .markup import Terms, both, chip, html_section, html_table, plain, unseen

_KINDS = {BETTER: "good", WORSE: "bad"}


def title(metric: Metric) -> Words:
    """Returns the name of a metric for the head of a row."""
    words = said(f"metric.{metric.name}", metric.title)
    return Words(words, japanese(words)) if metric.begins_with_name else capital(words)


def verdict(d: Difference | None, found: Comparison, terms: Terms | None = None) -> str:
    """Draws the verdict as a chip: word, sign and change. A difference that is clear only when
    judged alone says so and has no colour."""
    if d is None:
        return ""
    change = _change(d)
    alone = is_alone(d)
    if d.verdict == SAME:
        return chip("open", say("verdict.same"))
    if d.verdict == TOO_FEW or d.unjudged:
        words = say(f"verdict.{d.verdict}")
        both_words = say("verdict.chip", verdict=words, change=change)
        return chip("none", both_words if _is_of_cells(d, found) else words)
    if d.verdict == UNCLEAR:
        return chip("open", say(f"verdict.{d.verdict}"), terms, "unclear")
    # A mark, a drop or a price is neither good nor bad in itself.
    neutral = d.verdict in (LOWER, HIGHER)
    words = say(
        f"verdict.{'alone' if alone else 'exact' if d.deterministic else 'chip'}",
        verdict=say(f"verdict.{d.verdict}"),
        change=change,
    )
    return chip(
        "open" if alone else "none" if neutral else _KINDS[d.verdict],
        words,
        terms,
        "alone" if alone else "",
    )


def is_alone(d: Difference) -> bool:
    """True if a difference is clear only when judged alone. Prices and deterministic results are
    certain, so they have no p."""
    return d.clear and d.p is not None and not d.established


def _is_of_cells(d: Difference, found: Comparison) -> bool:
    """True if the values that the page shows for both designs give the change. They are means over
    all seeds of a design, and a change is that of the seeds which both designs have."""
    names = (found.baseline, d.design)
    old, new = (found.of_name[name].value(d.metric) for name in names)
    if old is None or new is None:
        return False
    share = new.mean / old.mean - 1 if old.mean > 0 else None
    return _change(replace(d, difference=new.mean - old.mean, share=share)) == _change(d)


def _change(d: Difference) -> str:
    in_amounts = d.share is None or (d.bounds is not None and d.ratio is None)
    return changes.in_unit_of_interval(d) if in_amounts else _percent(d.share or 0.0)


def _percent(share: float) -> str:
    if share + 1 >= 10:
        return changes.signed(share)
    return f"{changes.sign(share)}{changes.percent(share)}\N{NO-BREAK SPACE}%"


def value(metric: Metric, of: Value | None, currency: str = "") -> str:
    """Formats the mean, with the interval below it."""
    if of is None:
        return "–"
    shown = joined(metric.show(of.mean), currency) if metric is COST else short(metric, of.mean)
    interval = "<small>–</small>" if of.wide else ""
    if of.low is not None and of.high is not None and of.low != of.high:
        interval = f"<small>{plain(span(metric, of.low, of.high, of.mean, name=False))}</small>"
    return f"<b>{plain(shown)}</b>{interval}"


def section(
    designs: Designs,
    found: Comparison | None,
    terms: Terms,
    *,
    metrics: Sequence[Metric],
    asked: Sequence[Metric],
    currency: str,
    lead: str,
) -> str:
    """Draws the table. `asked` are the metrics that the answer is about, besides those that the
    comparison judges."""
    rows = [
        _row(
            metric,
            designs,
            found,
            terms,
            currency,
            metric in asked or (found is not None and found.judges(metric)),
        )
        for metric in metrics
    ]
    head = [unseen("measures.measure"), *differs.heads(list(designs), differs.colours(designs))]
    table = html_table("grid measures", head, rows)
    body = differs.scroll(table, say("measures.title"), len(designs), cards=True)
    every = (design.value(metric) for design in designs.values() for metric in metrics)
    if any(one is not None and one.wide for one in every):
        body += f'<p class="note">{both(say("measures.wide"))}</p>'
    if found and any(means_differ(d) for d in found.differences if d.metric in metrics):
        body += f'<p class="note">{both(say("measures.typical"))}</p>'
    return html_section("measures", say("measures.title"), body, lead)


def _row(
    metric: Metric,
    designs: Designs,
    found: Comparison | None,
    terms: Terms,
    currency: str,
    of_answer: bool,
) -> str:
    """Draws the row of a metric. `of_answer` is true if the answer is about this metric, so that it
    is shown even if it is a percentile of few flows."""
    cells = []
    # Drops and marks explain results but are not judged.
    judged = found is not None and (not metric.counter or metric.main) and metric is not COST
    reasons = {
        name: None if of_answer else percentiles.withheld(metric, design)
        for name, design in designs.items()
    }
    for name, design in designs.items():
        shown = value(metric, design.value(metric), currency)
        chips = ""
        if reason := reasons[name]:
            shown = f"<b>–</b><small>{both(reason)}</small>"
        elif judged and found and not reasons[found.baseline]:
            chips = (
                chip("ref", say("verdict.baseline"))
                if design.name == found.baseline
                else _verdict(found.between(metric, design.name), found, terms)
            )
        cells.append(
            f'<td data-d="{plain(design.name)}"><span class="v">{shown}</span>{chips}</td>'
        )
    return f'<tr><th scope="row">{terms.of_metric(metric.name, title(metric))}{_about(metric, designs, of_answer)}</th>{"".join(cells)}</tr>'


def _verdict(d: Difference | None, found: Comparison, terms: Terms) -> str:
    """Draws the verdict without a link to its definition, which each row would repeat. The page
    defines it nevertheless."""
    if d is not None and is_alone(d):
        terms.used.add("alone")
    return verdict(d, found)


def _about(metric: Metric, designs: Designs, of_answer: bool) -> str:
    """Says what a metric means. With unfinished flows, a percentile is one of the finished flows."""
    every = list(designs.values())
    key = f"measure.{metric.name}"
    words = (
        known(f"{key}.finished", key) if any(map(completion.has_unfinished, every)) else known(key)
    )
    if of_answer:
        caveats = [caveat for design in every if (caveat := percentiles.caveat(metric, design))]
        words = caveats[0] if caveats else words
    elif all(percentiles.withheld(metric, design) for design in every):
        return ""
    return f"<small>{both(words)}</small>" if words else ""
