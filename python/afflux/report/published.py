"""Draws the figure and the table of a study: simulated numbers compared with published ones, as
ratios on one axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..words import Words, say, sentence
from ..words.text import digits
from . import differs, dots
from .axis import MINUS, axis, number
from .markup import Terms, both, chip, colour, html_section, html_table, plain, small_note, unseen

#: Most rows of the figure. The table has all.
_ROWS = 8
#: A ratio beyond this factor is drawn at the end of the axis.
_FAR = 4.0


@dataclass(frozen=True)
class Published:
    """A published number, and the simulated one with its 95 % interval."""

    what: str
    published: float | None
    ours: float | None
    low: float | None = None
    high: float | None = None
    #: True if the published number is a lower bound.
    at_least: bool = False
    #: False if a parameter was fitted to this number.
    predicted: bool = True
    #: Prediction of the simplest model that knows the other published numbers.
    null: float | None = None
    #: True if the number follows from a formula and is not published.
    computed: bool = False

    @property
    def role(self) -> str:
        return "fitted" if not self.predicted else "computed" if self.computed else "judged"


@dataclass(frozen=True)
class Held:
    """A statement of the source that holds here or not: `value` compared with `bar`."""

    what: str
    holds: bool
    value: Any
    bar: Any


def figure(rows: Sequence[Published], terms: Terms) -> str:
    """Draws the ratio of simulated to published number for the rows that have both. If there are
    too many rows, keeps those that differ most. Empty without such rows."""
    known = [
        row
        for row in rows
        if row.published and row.ours and row.published > 0 and row.ours > 0 and not row.computed
    ]
    if not known:
        return ""
    shown = (
        known
        if len(known) <= _ROWS
        else sorted(known, key=lambda row: -abs(_ratio(row) - 1))[:_ROWS]
    )
    # Restores the order of the table.
    shown = [row for row in known if row in shown]
    ratios = [
        min(max(end / row.published, 1 / _FAR), _FAR)
        for row in shown
        for end in (row.ours, row.low, row.high)
        if end is not None and end > 0 and row.published
    ]
    drawn = axis([*ratios, 0.9, 1.1], log=max(ratios) / min(ratios) > 2.5, most=6)
    ticks = "".join(
        f'<span style="--x:{drawn.at(tick):.2f}%">{tick:g}×</span>' for tick in drawn.ticks
    )
    left = len(known) - len(shown)
    note = (
        f'<p class="note">{both(say("published.some", shown=len(shown), count=len(known)))}</p>'
        if left
        else ""
    )
    head = [
        both(say("measures.measure")),
        unseen("first.chart"),
        *(both(say(f"published.{name}")) for name in ("ours", "value", "error")),
    ]
    foot = f'<tfoot><tr><td></td><td class="ax"><div class="axis">{ticks}</div></td><td colspan="3"></td></tr></tfoot>'
    body = (_row(row, drawn) for row in shown)
    table = html_table("dots dense studied", head, body, foot)
    key = [
        ("mean", say("published.key.ours")),
        ("ci", say("first.key.interval")),
        ("base", say("published.key.published")),
    ]
    return dots.framed(say("published.figure"), drawn.logarithmic, key, table + note)


def _ratio(row: Published) -> float:
    return (row.ours or 0.0) / (row.published or 1.0)


def _row(row: Published, drawn: Any) -> str:
    base = row.published or 1.0
    marks = [dots.mark("base", drawn, 1)]
    interval = ""

    def within(value: float) -> float:
        return min(max(value, drawn.low), drawn.high)

    if row.low is not None and row.high is not None and row.low != row.high:
        marks.append(dots.ci(drawn, within(row.low / base), within(row.high / base)))
        interval = small_note(plain(_span(row)))
    marks.append(dots.mark("mean", drawn, within(_ratio(row))))
    phone = f'<span class="phone">{both(say("published.key.published"))} </span>'
    fitted = "" if row.predicted else f" {small_note(both(say('study.calibrated')))}"
    return (
        f'<tr style="{colour(1)}"><th scope="row"><span>{both(sentence(row.what))}{fitted}</span></th>'
        f'<td class="pl">{dots.track(drawn, marks, alone=True)}</td>'
        f'<td class="val"><b>{plain(_number(row.ours))}</b>{interval}</td><td class="cost">{phone}{plain(_bar(row))}</td><td class="vs">{_error(row)}</td></tr>'
    )


def _span(row: Published) -> str:
    low, high = row.low or 0.0, row.high or 0.0
    return f"{_number(low)}{' to ' if low < 0 else '–'}{_number(high)}"


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else str(value)
    if isinstance(value, int):
        return number(value, 0)
    if 0 < abs(value) < 0.995:
        return (MINUS if value < 0 else "") + f"{abs(value):.2g}"
    return (MINUS if value < 0 else "") + digits(abs(value), 3)


def _bar(row: Published) -> str:
    return f"≥ {_number(row.published)}" if row.at_least else _number(row.published)


def _error(row: Published) -> str:
    """Formats the relative error, or says whether a lower bound is reached."""
    if row.ours is None or not row.published:
        return "–"
    if row.at_least:
        return chip(
            "good" if row.ours >= row.published else "bad",
            say("published.reached" if row.ours >= row.published else "published.missed"),
        )
    share = row.ours / row.published - 1
    inside = row.low is not None and row.high is not None and row.low <= row.published <= row.high
    percent = f"{100 * abs(share):.{0 if abs(share) >= 0.0995 else 1}f}"
    shown = f"{(MINUS if share < 0 else '+') if float(percent) else ''}{percent}\N{NO-BREAK SPACE}%"
    note = small_note(both(say("published.inside"))) if inside else ""
    return f"{plain(shown)} {note}" if note else plain(shown)


def section(rows: Sequence[Published], terms: Terms) -> str:
    """Returns the table of all rows."""
    nulls = any(row.null is not None for row in rows)
    roles = [
        role
        for role in ("fitted", "judged", "computed")
        if any(row.role == role and row.published is not None for row in rows)
    ]
    head = [
        Words("", ""),
        say("published.ours"),
        say("first.interval"),
        *(say(f"published.role.{role}") for role in roles),
        say("published.error"),
        *([say("published.null")] if nulls else []),
    ]
    body = []
    for row in rows:
        interval = (
            _span(row)
            if row.low is not None and row.high is not None and row.low != row.high
            else "–"
        )
        null = f"{_number(row.null)}" if row.null is not None else "–"
        theirs = [plain(_bar(row) if row.role == role else "–") for role in roles]
        cells = [
            f"<b>{plain(_number(row.ours))}</b>",
            plain(interval),
            *theirs,
            _error(row),
            *([plain(null)] if nulls else []),
        ]
        fitted = "" if row.predicted else f" <small>{both(say('study.calibrated'))}</small>"
        shown = "".join(
            f'<td data-d="{plain(title)}">{cell}</td>'
            for title, cell in zip(head[1:], cells, strict=True)
        )
        body.append(f'<tr><th scope="row">{both(sentence(row.what))}{fitted}</th>{shown}</tr>')
    table = html_table("grid numbers", [*map(both, head)], body)
    lead = both(say("published.lead.null" if nulls else "published.lead"))
    title = say("published.title")
    return html_section("numbers", title, differs.scroll(table, title, len(head)), lead)


def checks(held: Sequence[Held]) -> str:
    """Lists the statements of the source, each with its verdict."""
    if not held:
        return ""
    lines = []
    for check in held:
        verdict = chip(
            "good" if check.holds else "bad",
            say("published.holds" if check.holds else "published.not"),
        )
        numbers = say("published.bar", value=_short(check.value), bar=_short(check.bar))
        lines.append(
            f"<li>{verdict}<span>{both(sentence(check.what))} <small>{both(numbers)}</small></span></li>"
        )
    body = f'<ul class="checks">{"".join(lines)}</ul>'
    return html_section("checks", say("published.checks"), body, both(count(held)))


def accuracy(rows: Sequence[Published]) -> list[Words]:
    """Says how far the simulated numbers are from the published ones, and how many were fitted."""
    errors = sorted(
        abs(_ratio(row) - 1)
        for row in rows
        if row.ours is not None and row.published and not row.at_least and row.role == "judged"
    )
    fitted = sum(not row.predicted for row in rows)
    said = []
    if len(errors) > 2:
        middle, most = (
            f"{100 * error:.2g}" if error < 1 else f"{100 * error:.0f}"
            for error in (errors[len(errors) // 2], errors[-1])
        )
        said.append(say("published.accuracy", count=len(errors), middle=middle, most=most))
    if fitted:
        said.append(
            say("published.fitted.one" if fitted == 1 else "published.fitted", fitted=fitted)
        )
    return said


def count(held: Sequence[Held]) -> Words:
    holding = sum(check.holds for check in held)
    key = "published.count.all" if holding == len(held) else "published.count"
    return say(
        f"{key}.one" if len(held) == 1 and holding == 1 else key, holding=holding, count=len(held)
    )


def _short(value: Any) -> str:
    return sentence(_number(value)) if isinstance(value, str) else _number(value)
