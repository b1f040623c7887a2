"""Draws what stands next to the facts of the first screen: bars of the cause, and the differences of
the seeds."""

import math
import re

from ..comparison import changes, headline
from ..comparison.circumstances import waiting
from ..comparison.compare import Comparison
from ..comparison.paired import BETTER, Difference
from ..metrics import Metric
from ..results.designs import Design, Designs
from ..results.statistics import mean
from ..words import join, say
from ..words import known as known_words
from . import differs
from .axis import axis, number, short
from .dots import capital_of, ci, mark, scale, seed_marks
from .heading import by_seed, has_kernels, parts_of
from .markup import both, colour, plain

#: Most bars that fit next to the sentences.
_BARS = 5
#: Largest factor that a drawn interval reaches.
_WIDEST = 1_000.0


def bars(designs: Designs, metric: Metric, chosen: str | None = None) -> str:
    """Draws a bar per design for the metric of the cause. If there are many designs, shows the
    first, the chosen, the smallest, and the largest of the others."""
    shown: list[tuple[str, int, float]] = []
    seen = set()
    for design, place in zip(designs.values(), differs.colours(designs), strict=True):
        if place in seen:
            continue
        seen.add(place)
        value = (
            _waits(design, metric.name.removeprefix("wait."))
            if metric.name.startswith("wait.")
            else (found.mean if (found := design.value(metric)) else None)
        )
        if value is not None:
            shown.append((design.name, place, value))
    most = max((value for *_, value in shown), default=0.0)
    if most <= 0:
        return ""
    if len(shown) > _BARS:
        ordered = sorted(shown, key=lambda one: one[2])
        first = [shown[0], *(one for one in shown if one[0] == chosen), ordered[0]]
        kept = [*dict.fromkeys([*first, *reversed(ordered)])][:_BARS]
        shown = [one for one in shown if one in kept]
    if metric.name.startswith("wait."):
        caption = say("first.per_flow", what=say(metric.name))
    elif metric.counter:
        caption = say("first.per_run", what=capital_of(metric))
    else:
        about = known_words(f"measure.{metric.name}")
        caption = join([capital_of(metric), *([about] if about else [])], (": ", ": "))
    lines = "".join(
        f'<span style="{colour(place)};color:var(--c)">{plain(name)}</span>'
        f'<span class="hbar"><i style="{colour(place)};--w:{100 * value / most:.1f}%"></i></span>'
        f"<span>{plain(metric.brief(value) if metric.counter else short(metric, value))}</span>"
        for name, place, value in shown
    )
    return f'<p class="note">{both(caption)}</p><div class="mini">{lines}</div>'


def _waits(design: Design, wait: str) -> float | None:
    values = [waiting(result) for result in design.samples.values()]
    known = [value[wait] for value in values if value is not None]
    return mean(known) if known and len(known) == len(values) else None


def strip(found: Comparison, d: Difference, place: int) -> str:
    """Draws how the seeds differ, with the interval from which the verdict follows: ratios if there
    are any, otherwise differences."""
    pairs = by_seed(found, d)
    if len(pairs) < 2 or d.deterministic or all(new == old for old, new in pairs):
        return ""
    if d.ratio is None:
        values = [new - old for old, new in pairs]
        middle, equal, key = d.difference, 0.0, "first.strip"
        drawn = axis([*values, *(d.bounds or ())], d.metric, most=5, zero=True, log=False)
        labels = drawn.labels(d.metric)
    else:
        values = [new / old for old, new in pairs]
        middle, equal, key = d.ratio, 1.0, "first.strip.ratio"
        drawn = axis([*values, *(map(_within, d.bounds or ())), equal], most=5)
        labels = [(drawn.at(tick), _change(tick)) for tick in drawn.ticks]
    marks = [mark("zero", drawn, equal)]
    if d.bounds is not None:
        low, high = map(_within, d.bounds) if d.ratio is not None else d.bounds
        marks.append(ci(drawn, low, high))
    marks += [mark("mean", drawn, middle), *seed_marks(drawn, values, 3.0)]
    label = say(key, design=d.design, baseline=found.baseline)
    if drawn.logarithmic:
        label = join([label, say("first.log")], ("; ", "、"))
    drawing = f'<div class="strip" role="img" aria-label="{plain(label)}" style="{colour(place)}">{"".join(marks)}</div>'
    return f'<p class="note">{both(label)}</p>{drawing}{scale(labels)}'


def _within(ratio: float) -> float:
    """Limits an end of an interval, so that a wide interval leaves room for the seeds."""
    return min(max(ratio, 1 / _WIDEST), _WIDEST)


def _change(ratio: float) -> str:
    """Formats a ratio as a change: `−40 %`, `+25 %`, `×10`."""
    if math.isclose(ratio, 1):
        return "0"
    return re.sub(r"\.0+(?= %)|\.0+$", "", changes.signed(ratio - 1))


def closest(found: Comparison, metric: Metric, chosen: str | None = None) -> str:
    """Draws the strip of the design that the answer names, or of the one with the best mean."""
    lead = headline.lead(found)
    some = [d for d in found.differences if d.metric.name == metric.name]
    if not some:
        return ""
    lead = lead if lead and lead.metric is metric else None
    established = [d for d in some if d.established and d.verdict == BETTER]
    d = lead or min(
        established or some,
        key=lambda one: one.design_mean * (-1 if metric.lower_is_better is False else 1),
    )
    d = next((one for one in some if one.design == (chosen or d.design)), d)
    places = dict(zip(found.of_name, differs.colours(found.of_name), strict=True))
    return strip(found, d, places[d.design])


def split_bars(design: Design) -> str:
    parts = [part for part in parts_of(design)[:4] if part[1] >= 0.005]
    if not parts:
        return ""
    most = parts[0][1]
    lines = "".join(
        f'<span>{both(name)}</span><span class="hbar"><i style="--w:{100 * share / most:.1f}%"></i></span>'
        f"<span>{number(100 * share, 0)}\N{NO-BREAK SPACE}%</span>"
        for name, share in parts
    )
    key = "first.split.caption.simulated" if has_kernels(design) else "first.split.caption"
    return f'<p class="note">{both(say(key))}</p><div class="mini">{lines}</div>'
