"""`afflux report`: writes results as one self-contained HTML file, which needs no other files and
no network."""

import base64
import html
import json
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template

from .. import __version__
from ..comparison.compare import Comparison, compare
from ..comparison.paired import TOO_FEW
from ..comparison.unfinished import counted
from ..files import durable
from ..metrics import Metric
from ..results import own
from ..results.designs import Design, Designs, gather
from ..results.result import Result
from ..words import Marked, Words, say, sentence
from . import (
    data,
    differs,
    dots,
    first,
    heading,
    measures,
    published,
    questions,
    reasons,
    senders,
    split,
)
from .first import Facts, PageAnswer
from .lines import Lines, draw
from .markup import Terms, both, html_section, html_table
from .published import Held, Published

__all__ = ["Facts", "Held", "Lines", "PageAnswer", "Published", "Table", "is_page", "write"]

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Table:
    """A table that replaces the table of metrics. Cells are shown unchanged, with the first column
    aligned left. `afflux.words.Words` appear in both languages."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def write(
    results: Designs | Iterable[Result | str | os.PathLike[str]],
    path: str | os.PathLike[str],
    *,
    answer: str | PageAnswer | None = None,
    question: str | None = None,
    against: Comparison | None = None,
    metrics: Sequence[Metric] | None = None,
    tables: Sequence[Table] = (),
    goals: Table | None = None,
    rows: Sequence[Published] = (),
    checks: Sequence[Held] = (),
    title: str | None = None,
    figures: Sequence[Lines] = (),
    notes: Sequence[str] = (),
) -> Path:
    """Writes the report of these results, replacing a file of this name.

    Results of one scenario name are one design with several seeds; designs are shown next to each
    other. Without an `answer` the report says how the designs differ, or what the only one did.
    Without a `question` it says what was simulated. `against` is the comparison whose verdicts are
    shown (default: with the first design). `metrics` are the rows of the table of metrics. `rows`
    and `checks` are published numbers and statements next to the simulated ones; with them, they
    are the figure. `tables` replace the table of metrics. `figures` follow the answer, and `goals`
    (see `first.goals`) are on the first screen. The same results give the same file.
    """
    # The cells count the same flows and jobs as the differences.
    designs = counted(gather(results))
    if against is None and not rows:
        designs = _labelled(designs)
    found = against or (compare(designs) if len(designs) > 1 and not rows else None)
    terms = Terms()
    sections = [
        _answer(
            designs,
            found,
            terms,
            answer,
            question or questions.question(designs),
            title,
            rows,
            checks,
            figures,
            metrics,
            goals,
        ),
        published.checks(checks),
        published.section(rows, terms) if rows else "",
        differs.section(designs, terms),
        _tables(tables) if tables else _measures(designs, found, terms, metrics),
        senders.section(designs),
    ]
    shown = data.of(designs)
    terms.used |= split.terms(shown["split"])
    every_note = [*notes, *(found.notes if found else designs.notes)]
    page = Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
        name=html.escape(title or ", ".join(designs)),
        sections="\n".join(sections),
        about=_about(designs, every_note),
        terms=_terms(terms),
        answer_title=both(say("answer.title")),
        noscript=both(say("noscript")),
        made=both(say("made", version=__version__)),
        style=(HERE / "built" / "style.css").read_text(encoding="utf-8"),
        script=(HERE / "built" / "report.js").read_text(encoding="utf-8"),
        data=_packed(shown),
    )
    path = Path(path)
    own.refuse_parts([path])
    durable.make_dir(path.parent)
    return durable.write_text(path, page)


def is_page(path: str | os.PathLike[str]) -> bool:
    """True if a file is a page that `write` made, with this or another version of afflux."""
    with open(path, "rb") as file:
        head = file.read(4096)
    return head.startswith(b"<!doctype html>") and _MARK in head


#: End of the title of every page.
_MARK = "\N{EN DASH} afflux</title>".encode()


def _labelled(designs: Designs) -> Designs:
    """Renames the points of a sweep to readable names."""
    labels = [questions.label(name) for name in designs]
    if not all(map(questions.is_point, designs)) or len(set(labels)) < len(labels):
        return designs
    renamed = Designs(
        replace(design, name=label) for design, label in zip(designs.values(), labels, strict=True)
    )
    renamed.notes = designs.notes
    return renamed


def _answer(
    designs: Designs,
    found: Comparison | None,
    terms: Terms,
    answer: str | PageAnswer | None,
    question: str,
    title: str | None,
    rows: Sequence[Published],
    checks: Sequence[Held],
    figures: Sequence[Lines],
    metrics: Sequence[Metric] | None,
    goals: Table | None,
) -> str:
    """Returns the first screen."""
    metric = metrics[0] if metrics else first.main_measure(designs, found)
    given = (
        answer
        if isinstance(answer, PageAnswer)
        else first.of_text(answer)
        if answer is not None
        else None
    )
    one = next(iter(designs.values())) if len(designs) == 1 else None
    cause = sure = ""
    if rows:
        page_answer = given or PageAnswer(say("published.head"))
        drawn = published.figure(rows, terms)
        sure_of = [
            *([published.count(checks)] if checks else []),
            *published.accuracy(rows),
            *page_answer.facts.sure,
        ]
        page_answer = replace(
            page_answer,
            facts=replace(
                page_answer.facts,
                sure=sure_of,
                change=page_answer.facts.change or [say("first.change.untested")],
            ),
        )
    elif one:
        page_answer = given or heading.of_one(one, metric)
        drawn = dots.own_figure(one, terms)
        cause = reasons.split_bars(one) if not given else ""
    else:
        assert found
        page_answer = given or heading.of_comparison(found, metric)
        drawn = (
            dots.figure(
                designs, metric, found, terms, found.currency or "", page_answer.facts.chosen
            )
            if metric
            else ""
        )
        cause = (
            reasons.bars(designs, page_answer.facts.cause, page_answer.facts.chosen)
            if page_answer.facts.cause
            else ""
        )
        sure = reasons.closest(found, metric, page_answer.facts.chosen) if metric else ""
    if goals:
        # The answer is which goal each design misses. The figure of one metric follows below.
        below, drawn = drawn, first.goals(goals.head, goals.rows)
    else:
        below = ""
        drawn += first.tenants(designs, found, terms) if found and not rows and not one else ""
    extra = below + f'<div class="pair">{"".join(map(draw, figures))}</div>' if figures else below
    return first.section(
        question, page_answer, drawn, terms, title=title or "", cause=cause, sure=sure, extra=extra
    )


def _measures(
    designs: Designs, found: Comparison | None, terms: Terms, metrics: Sequence[Metric] | None
) -> str:
    several = any(len(design.samples) > 1 for design in designs.values())
    lead = [say("measures.lead.seeds") if several else say("measures.lead.seed")]
    if found:
        few = all(
            d.verdict == TOO_FEW
            for d in found.differences
            if d.p is None and d.difference and not d.unjudged
        ) and not any(d.p is not None for d in found.differences)
        lead.append(
            say("measures.lead.few" if few else "measures.lead.verdicts", baseline=found.baseline)
        )
    currency = next(
        (
            result.summary["cost"]["currency"]
            for design in designs.values()
            for result in design.results.values()
            if result.summary.get("cost")
        ),
        "",
    )
    every = designs.metrics()
    # A caller that chose metrics may let all others follow.
    chosen = list(metrics or [])
    asked = chosen[: -len(every)] if chosen[-len(every) :] == every else chosen
    return measures.section(
        designs,
        found,
        terms,
        metrics=chosen or every,
        asked=asked,
        currency=currency,
        lead=" ".join(both(part) for part in lead),
    )


def _tables(tables: Sequence[Table]) -> str:
    return html_section("measures", say("measures.title"), "".join(map(_table, tables)))


def _table(table: Table) -> str:
    rows = (
        f'<tr><th scope="row">{both(name)}</th>{"".join(f"<td>{_cell(text)}</td>" for text in rest)}</tr>'
        for name, *rest in table.rows
    )
    made = html_table("grid", [*map(both, table.head)], rows)
    lead = f'<p class="lead">{both(table.caption)}</p>' if table.caption else ""
    return lead + differs.scroll(made, say("measures.title"), len(table.head))


def _cell(text: str) -> str:
    """Formats a cell. An interval in brackets may move below its value if there is little room."""
    if isinstance(text, Marked):
        return "".join(
            f"<strong>{_cell(part)}</strong>" if bold else _cell(part) for part, bold in text.parts
        )
    if isinstance(text, Words):
        return (
            f'<span lang="en">{_bracketed(text)}</span><span lang="ja">{_bracketed(text.ja)}</span>'
            if " (" in text
            else both(text)
        )
    return _bracketed(text)


def _bracketed(text: str) -> str:
    value, bracket, rest = text.partition(" (")
    interval, closed, after = rest.partition(")")
    return (
        f"{html.escape(value)} <small>({html.escape(interval)})</small>{html.escape(after)}"
        if bracket and closed
        else html.escape(text)
    )


def _about(designs: Designs, notes: Sequence[str]) -> str:
    """Describes what was simulated, so that it can be repeated, with all notes."""
    of_each = {name: _notes_of(design) for name, design in designs.items()}
    shared = [
        note
        for note in next(iter(of_each.values()))
        if all(note in own for own in of_each.values())
    ]
    parts = [_notes([*notes, *shared])]
    parts += [
        _about_design(design, [note for note in of_each[name] if note not in shared])
        for name, design in designs.items()
    ]
    return html_section("about", say("about.title"), "".join(parts), both(say("about.lead")))


def _notes(notes: Sequence[str]) -> str:
    return (
        f'<ul class="notes">{"".join(f"<li>{both(sentence(note))}</li>" for note in notes)}</ul>'
        if notes
        else ""
    )


def _notes_of(design: Design) -> list[str]:
    """Returns the notes and warnings of the engine."""
    summary = design.first.summary
    return [
        *summary.get("notes", []),
        *(f"{one['key']}: {one['text']}" for one in summary.get("warnings", [])),
    ]


def _about_design(design: Design, notes: Sequence[str]) -> str:
    result = design.first
    lines = []
    if text := result.scenario:
        lines.append(f'<pre tabindex="0">{html.escape(text)}</pre>')
    hashes = (
        f'<tr><th scope="row">{seed}</th><td><code>{(one.summary["result_hash"] or "–")[:16]}</code></td></tr>'
        for seed, one in design.results.items()
    )
    head = [both(say("about.seed")), both(say("about.hash"))]
    lines.append(html_table("hashes", head, hashes))
    summary = f"<b>{html.escape(design.name)}</b> {both(say('about.resolved', seed=result.summary['seed']))}"
    return f"<details><summary>{summary}</summary>{''.join(lines)}</details>{_notes(notes)}"


def _terms(terms: Terms) -> str:
    listed = terms.listed()
    if not listed:
        return ""
    return html_section("terms", say("terms.title"), f'<dl class="terms">{listed}</dl>')


def _packed(value: object) -> str:
    """Returns deflated JSON in base64, the packed form of the page's data."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
