"""Words as HTML, in both languages; numbers without breaks inside; terms with their definitions."""

import html
import re
from collections.abc import Iterable, Sequence

from ..words import Marked, Words, known, say

#: A value and its unit, a number and %: not broken apart.
_UNITS = re.compile(r"(?<=\d) (?=(?:%|ns|µs|ms|s|B|kB|MB|GB|TB|[kMGT]?bps|USD|EUR)(?![\w]))")
_CURRENCY = re.compile(r"\b(USD|EUR|JPY|GBP) (?=[\d−])")
_NO_BREAK = "\N{NO-BREAK SPACE}"


def both(text: str) -> str:
    """In both languages, one of which the style sheet hides; text without Japanese is there in either."""
    if isinstance(text, Marked):
        return " ".join(f"<strong>{both(part)}</strong>" if bold else both(part) for part, bold in text.parts)
    if not isinstance(text, Words) or text == text.ja:
        return plain(text)
    return f'<span lang="en">{plain(text)}</span><span lang="ja">{plain(text.ja)}</span>'


def plain(text: str) -> str:
    """Escaped, and without breaks between a number and its unit."""
    return html.escape(_CURRENCY.sub(rf"\1{_NO_BREAK}", _UNITS.sub(_NO_BREAK, text)))


class Terms:
    """Terms of a page. Each that was pointed at is defined at its end, where the tips take their text from."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def point(self, key: str, shown: str) -> str:
        """HTML of a term whose definition is shown on pointing; as it is where there is no definition."""
        if not known(f"term.{key}"):
            return shown
        self.used.add(key)
        return f'<span class="term" tabindex="0" aria-describedby="term-{key}">{shown}</span>'

    def of_metric(self, name: str, title: str) -> str:
        return self.point(_METRIC_TERMS.get(name, ""), both(title))

    def in_text(self, text: str) -> str:
        """Words whose first mentions of terms point at their definitions."""
        if isinstance(text, Words) and text != text.ja:
            return f'<span lang="en">{self._found(text, "en")}</span><span lang="ja">{self._found(text.ja, "ja")}</span>'
        return self._found(text, "en")

    def _found(self, text: str, language: str) -> str:
        shown = plain(text)
        for key, words in _IN_TEXT.items():
            pattern = re.compile(rf"(?<![\w-])({words})(?![\w-])", re.ASCII)
            if match := pattern.search(shown):
                # Not inside of another term.
                if shown[: match.start()].count("<span") > shown[: match.start()].count("</span"):
                    continue
                shown = shown[: match.start()] + self.point(key, match[1]) + shown[match.end() :]
        return shown

    def listed(self) -> str:
        """The definitions, by name."""
        # `ECN` and `ecn` are two terms.
        entries = sorted(self.used, key=lambda key: (say(f"term.{key}.name").casefold(), key))
        return "".join(f'<div><dt>{both(say(f"term.{key}.name"))}</dt><dd id="term-{key}">{both(say(f"term.{key}"))}</dd></div>' for key in entries)


#: By the name of a metric, the term that its title names.
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
#: Terms in running text.
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
    """A verdict: word and sign, never the colour alone. Kinds: good, bad, open, none, ref. With `terms` it is defined where one points."""
    shown = both(text)
    return f'<span class="chip {kind}">{terms.point(term, shown) if terms and term else shown}</span>'


def colour(index: int) -> str:
    """The colour of a design; from the ninth on there is none of its own."""
    return f"--c:var(--series-{min(index, 8)})"


def swatch(index: int) -> str:
    return f'<i class="sw" style="{colour(index)}"></i>'


def titles(cells: Sequence[str]) -> str:
    """The head row of a table, of HTML."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in cells)
    return f"<thead><tr>{head}</tr></thead>"


def items(texts: Iterable[str]) -> str:
    return "".join(f"<li>{both(text)}</li>" for text in texts if text)
