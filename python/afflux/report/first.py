"""Writes the first screen: question, answer, main metric of each design with its price, cause,
certainty, and what would change the answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..comparison import headline
from ..comparison.compare import Comparison
from ..comparison.paired import SAME
from ..metrics import MAIN, Metric
from ..results.designs import Designs
from ..words import Marked, Words, join, say
from . import differs, measures
from .markup import Terms, both, chip, html_table, items, plain

#: Longest heading, in characters, in the large font.
_LARGE = 150
#: State of a goal and CSS class of its chip, by the mark in front of its value.
_STATES = {
    "\N{CHECK MARK}": ("met", " good"),
    "\N{MULTIPLICATION X}": ("missed", " bad"),
    "\N{WHITE CIRCLE}": ("open", ""),
}
#: Metrics for the table of tenants. The first one that a class has is used.
_OF_TENANTS = ("fct_p99_ns", "goodput_bps")


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
        unclear = [
            d.metric
            for d in found.differences
            if d.metric in known and d.verdict != SAME and not d.unjudged
        ]
        return next((metric for metric in known if metric in unclear), known[0] if known else None)
    return known[0] if known else None


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


def _column(key: str, body: str) -> str:
    return f"<div><h3>{both(say(key))}</h3>{body}</div>"


def goals(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Draws designs by goals. Each cell has a value and the mark of its state."""

    def cell(text: str) -> str:
        if str(text)[:1] not in _STATES or str(text)[1:2] != " ":
            return f"<td>{both(text)}</td>"
        state, kind = _STATES[text[0]]
        return f'<td><span class="v">{plain(text[2:])}</span><span class="chip{kind}">{both(say(f"first.goal.{state}"))}</span></td>'

    body = (
        f'<tr><th scope="row">{both(name)}</th>{"".join(map(cell, rest))}</tr>'
        for name, *rest in rows
    )
    table = html_table("grid goals", [*map(both, head)], body)
    return differs.scroll(table, say("decision.table"), len(head))


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
    rows = []
    for name, design in designs.items():
        cells = []
        for metric in shown:
            d = next((one for one in found.of(name) if one.metric == metric), None)
            value = design.value(metric)
            verdict = (
                chip("ref", say("verdict.baseline"))
                if name == found.baseline
                else measures.verdict(d, found, terms)
            )
            cells.append(
                f'<td><span class="v">{plain(metric.show(value.mean)) if value else "–"}</span>{verdict}</td>'
            )
        rows.append(f'<tr><th scope="row">{plain(name)}</th>{"".join(cells)}</tr>')
    head = [both(say("decision.head.design")), *(both(metric.title) for metric in shown)]
    table = html_table("grid goals", head, rows)
    return differs.scroll(table, say("first.tenants"), len(shown) + 1)
