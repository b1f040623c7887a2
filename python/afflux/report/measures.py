"""Shows every metric of every design, with its interval and its verdict against the baseline."""

from collections.abc import Mapping, Sequence

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
    difference,
)
from ..metrics import COST, Metric
from ..results.designs import Design, Designs, Value
from ..words import Words, capital, known, said, say
from . import differs
from .axis import joined, short, span
from .markup import Terms, both, chip, html_section, html_table, plain, unseen

_KINDS = {BETTER: "good", WORSE: "bad"}


def title(metric: Metric) -> Words:
    """Returns the name of a metric for the head of a row."""
    return capital(said(f"metric.{metric.name}", metric.title))


def verdict(d: Difference | None, terms: Terms | None = None) -> str:
    """Draws the verdict as a chip: word, sign and change. A difference that is clear only when
    judged alone says so and has no colour."""
    if d is None:
        return ""
    change = changes.by(d) if d.share is None else _percent(d.share)
    alone = d.clear and d.established is False
    if d.verdict == SAME:
        return chip("open", say("verdict.same"))
    if d.verdict == TOO_FEW:
        return chip("none", Words(change, change))
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


def _percent(share: float) -> str:
    if share + 1 >= 10:
        return changes.signed(share)
    return f"{changes.sign(share)}{changes.percent(share)}\N{NO-BREAK SPACE}%"


def value(metric: Metric, of: Value | None, currency: str = "") -> str:
    """Formats the mean, with the interval below it."""
    if of is None:
        return "–"
    shown = (
        joined(metric.show(of.mean), currency)
        if metric is COST
        else short(metric, of.mean)
        if not metric.counter
        else metric.show(round(of.mean))
    )
    interval = ""
    if of.low is not None and of.high is not None and of.low != of.high:
        interval = f"<small>{plain(span(metric, of.low, of.high, of.mean, name=False))}</small>"
    return f"<b>{plain(shown)}</b>{interval}"


def section(
    designs: Designs,
    found: Comparison | None,
    terms: Terms,
    *,
    metrics: Sequence[Metric],
    currency: str,
    lead: str,
) -> str:
    columns = (
        {name: {d.metric.name: d for d in found.of(name)} for name in found.designs}
        if found
        else {}
    )
    rows = (_row(metric, designs, found, columns, terms, currency) for metric in metrics)
    head = [unseen("measures.measure"), *differs.heads(list(designs), differs.colours(designs))]
    table = html_table("grid measures", head, rows)
    body = differs.scroll(table, say("measures.title"), len(designs), cards=True)
    return html_section("measures", say("measures.title"), body, lead)


def _row(
    metric: Metric,
    designs: Designs,
    found: Comparison | None,
    columns: Mapping[str, Mapping[str, Difference]],
    terms: Terms,
    currency: str,
) -> str:
    cells = []
    # Drops and marks explain results but are not judged.
    judged = found is not None and (not metric.counter or metric.main) and metric is not COST
    for design in designs.values():
        shown = value(metric, design.value(metric), currency)
        chips = ""
        if judged and found:
            chips = (
                chip("ref", say("verdict.baseline"))
                if design.name == found.baseline
                else verdict(
                    columns.get(design.name, {}).get(metric.name)
                    or _computed_difference(metric, found, design)
                )
            )
        cells.append(
            f'<td data-d="{plain(design.name)}"><span class="v">{shown}</span>{chips}</td>'
        )
    return f'<tr><th scope="row">{terms.of_metric(metric.name, title(metric))}{_about(metric)}</th>{"".join(cells)}</tr>'


def _computed_difference(metric: Metric, found: Comparison, design: Design) -> Difference | None:
    """Computes a difference that the comparison does not contain."""
    return difference(metric, found.of_name[found.baseline], design, design.seeds)


def _about(metric: Metric) -> str:
    words = known(f"measure.{metric.name}")
    return f"<small>{both(words)}</small>" if words else ""
