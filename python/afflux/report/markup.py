"""Converts text to HTML: in both languages, without line breaks inside quantities, and with
definitions of terms."""

import html
import re
from collections.abc import Iterable, Sequence

from ..words import Marked, Words, known, say

#: Matches the blank between a number and its unit or %, where a line must not break.
_UNITS = re.compile(r"(?<=\d) (?=(?:%|ns|µs|ms|s|B|kB|MB|GB|TB|[kMGT]?bps|USD|EUR)(?![\w]))")
_CURRENCY = re.compile(r"\b(USD|EUR|JPY|GBP) (?=[\d−])")
_NO_BREAK = "\N{NO-BREAK SPACE}"


def both(text: str) -> str:
    """Returns text in both languages, one of which the style sheet hides. Text without Japanese
    appears in both."""
    if isinstance(text, Marked):
        return " ".join(
            f"<strong>{both(part)}</strong>" if bold else both(part) for part, bold in text.parts
        )
    if not isinstance(text, Words) or text == text.ja:
        return plain(text)
    return f'<span lang="en">{plain(text)}</span><span lang="ja">{plain(text.ja)}</span>'


def plain(text: str) -> str:
    """Escapes text, and prevents line breaks between a number and its unit."""
    return html.escape(_CURRENCY.sub(rf"\1{_NO_BREAK}", _UNITS.sub(_NO_BREAK, text)))


class Terms:
    """Terms used on a page. Each one is defined at the end of the page, from where the tooltips
    take their text."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def point(self, key: str, shown: str) -> str:
        """Returns HTML of a term that shows its definition on hover. Text without a definition is
        returned unchanged."""
        if not known(f"term.{key}"):
            return shown
        self.used.add(key)
        return f'<span class="term" tabindex="0" aria-describedby="term-{key}">{shown}</span>'

    def of_metric(self, name: str, title: str) -> str:
        return self.point(_METRIC_TERMS.get(name, ""), both(title))

    def in_text(self, text: str) -> str:
        """Returns text in which the first mention of each term links to its definition."""
        if isinstance(text, Words) and text != text.ja:
            return f'<span lang="en">{self._found(text, "en")}</span><span lang="ja">{self._found(text.ja, "ja")}</span>'
        return self._found(text, "en")

    def _found(self, text: str, language: str) -> str:
        shown = plain(text)
        for key, words in _IN_TEXT.items():
            pattern = re.compile(rf"(?<![\w-])({words})(?![\w-])", re.ASCII)
            if match := pattern.search(shown):
                # Not inside another term.
                if shown[: match.start()].count("<span") > shown[: match.start()].count("</span"):
                    continue
                shown = shown[: match.start()] + self.point(key, match[1]) + shown[match.end() :]
        return shown

    def listed(self) -> str:
        """Returns the definitions, sorted by name."""
        # `ECN` and `ecn` are different terms.
        entries = sorted(self.used, key=lambda key: (say(f"term.{key}.name").casefold(), key))
        return "".join(
            f'<div><dt>{both(say(f"term.{key}.name"))}</dt><dd id="term-{key}">{both(say(f"term.{key}"))}</dd></div>'
            for key in entries
        )


#: Term in the title of each metric, by the metric's name.
_METRIC_TERMS = {
    **{f"fct_{of}_ns": "fct" for of in ("mean", "p50", "p99", "p999")},
    **{f"slowdown_{of}": "slowdown" for of in ("mean", "p50", "p99", "p999")},
    "goodput_bps": "goodput",
    "goodput_flow_mean_bps": "goodput_flow",
    "job_time_mean_ns": "job_time",
    "job_time_p99_ns": "job_time",
    "drops": "drops",
    "in_discards": "in_discards",
    "ecn_marks": "ecn",
    "pause_frames": "pfc",
    "retransmits": "retransmits",
    "timeouts": "timeouts",
    "unfinished": "unfinished",
    "call": "call",
    "call_p99": "call",
    "tail_drops": "tail_drops",
    "early_drops": "early_drops",
}
#: Terms that are recognised in running text.
_IN_TEXT = {
    "dctcp": "DCTCP",
    "ecn": "ECN",
    "pfc": "PFC",
    "irn": "IRN",
    "dcqcn": "DCQCN",
    "mptcp": "MPTCP",
    "ecmp": "ECMP",
    "p99": "p99",
    "slowdown": "slowdown",
}


def chip(kind: str, text: str, terms: Terms | None = None, term: str = "") -> str:
    """Draws a verdict with word and sign, never with colour alone. Kinds: good, bad, open, none,
    ref. With `terms`, the definition appears on hover."""
    shown = both(text)
    return (
        f'<span class="chip {kind}">{terms.point(term, shown) if terms and term else shown}</span>'
    )


def colour(index: int) -> str:
    """Returns the colour of a design. Designs from the ninth on share one colour."""
    return f"--c:var(--series-{min(index, 8)})"


def swatch(index: int) -> str:
    return f'<i class="sw" style="{colour(index)}"></i>'


def titles(cells: Sequence[str]) -> str:
    """Returns the head row of a table from HTML cells."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in cells)
    return f"<thead><tr>{head}</tr></thead>"


def html_table(kind: str, cells: Sequence[str], rows: Iterable[str], foot: str = "") -> str:
    """Returns a table from the HTML cells of its head and its HTML rows."""
    return f'<table class="{kind}">{titles(cells)}<tbody>{"".join(rows)}</tbody>{foot}</table>'


def html_section(id: str, title: str, body: str, lead: str = "") -> str:
    """Returns a section with its heading. `lead` and `body` are HTML."""
    shown = f'<p class="lead">{lead}</p>' if lead else ""
    return f'<section id="{id}" aria-labelledby="{id}-title"><h2 id="{id}-title">{both(title)}</h2>{shown}{body}</section>'


def unseen(key: str) -> str:
    """Returns a text that only screen readers say."""
    return f'<span class="sr">{both(say(key))}</span>'


def small_note(shown: str) -> str:
    return f'<small class="note">{shown}</small>'


def items(texts: Iterable[str]) -> str:
    return "".join(f"<li>{both(text)}</li>" for text in texts if text)
