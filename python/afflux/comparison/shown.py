"""Shows a comparison in an interactive session."""

import textwrap
from typing import TYPE_CHECKING

from .. import settings
from ..display import Card, Grid
from ..metrics import MAIN, SHORT
from . import changes
from .paired import SAME

if TYPE_CHECKING:
    from .compare import Comparison

#: Most characters of the notes.
_NOTES = 140


def card(found: "Comparison") -> Card:
    """Returns the card with the answer and the main metrics of each design."""
    names = settings.short_names([found.baseline, *found.designs])
    several = len(found.designs) > 1
    # Several designs share a screen, so each has fewer metrics and no values.
    chosen = [
        d
        for d in found.differences
        if d.metric in MAIN
        and (not several or d.metric in SHORT)
        and (d.baseline_mean or d.design_mean)
    ]
    rows = []
    for d in chosen:
        values = (
            [names[d.design]]
            if several
            else [d.metric.show(d.baseline_mean), d.metric.show(d.design_mean)]
        )
        rows.append(
            [d.metric.title, *values, "0" if d.verdict == SAME else changes.by(d), d.verdict]
        )
    facts = [("answer", str(found.sentence()))]
    facts += [("designs", ", ".join(names[design] for design in found.designs))] if several else []
    if found.notes:
        facts.append(("notes", textwrap.shorten("; ".join(found.notes), _NOTES, placeholder=" …")))
    title = (
        f"Comparison with {names[found.baseline]}"
        if several
        else f"Comparison of {names[found.designs[0]]} with {names[found.baseline]}"
    )
    heads = ["design"] if several else [names[found.baseline], names[found.designs[0]]]
    return Card(
        title, facts, Grid(["measure", *heads, "change", "verdict"], rows, left=2 if several else 1)
    )
