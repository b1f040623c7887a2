"""Writes the answer of a comparison: the established differences, their size, causes and prices,
and the open questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results import percentiles
from ..words import Marked, Words, say, text
from .established import Established
from .findings import ANSWER, Findings, Part
from .paired import OTHER_WARMUP, Difference
from .phrases import what_of
from .undecided import Undecided

if TYPE_CHECKING:
    from .compare import Comparison


def of(found: Comparison) -> Marked:
    return Marked.of([(words, role == ANSWER) for words, role in parts(found)])


def parts(found: Comparison) -> list[Part]:
    """Returns the sentences of the answer with their roles, in the order of the answer."""
    findings = Findings(found)
    if not findings.main:
        return [(words, ANSWER) for words in _unjudged(findings)]
    answer = Established(found) if findings.established else Undecided(found)
    return [part for part in answer.parts() if part[0]]


def _unjudged(findings: Findings) -> list[Words]:
    """Says why nothing is judged."""
    found = {
        d.metric: say("compare.unjudged.warmup", what=what_of(d.metric))
        if d.verdict == OTHER_WARMUP
        else say(
            f"compare.unjudged.{percentiles.things(d.metric)}",
            what=what_of(d.metric),
            count=text.count(d.needed or 0),
        )
        for d in findings.unjudged
    }
    return [*found.values()] or [say("compare.nothing")]


def lead(found: Comparison) -> Difference | None:
    """Returns the difference that the answer names first, in bold; None if none is established."""
    return Findings(found).lead()
