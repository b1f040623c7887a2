"""Words changes: `34 % less`, `8.5 times as much`, `between 12 % less and 8 % more`."""

import math
from collections.abc import Callable, Sequence

from ..words import Words, say, text
from .paired import Difference

#: Ratios of at least `_TIMES` or below `_PARTS` are written as factors, which are easier to grasp
#: than percentages.
_TIMES, _PARTS = 3.0, 0.01
#: An interval bound beyond this factor is written as `more than 1,000 times`.
_BEYOND = 1_000.0
MINUS = "\N{MINUS SIGN}"


def percent(share: float, more: int = 0, least: int = 0) -> str:
    """Formats a share as percent without its sign: 34, 3.4, 0.34. `more` adds digits, `least` is
    the minimum number of decimals.

    A decrease of less than 100 % is never rounded to 100.
    """
    value = 100 * abs(share)
    count = (
        max(
            0
            if value >= 9.95 or value < 1e-6
            else 1
            if value >= 0.995
            else 1 - math.floor(math.log10(value)),
            least,
        )
        + more
    )
    while -1 < share < 0 and f"{value:.{count}f}".startswith("100") and count < 9:
        count += 1
    return f"{value:,.{count}f}"


def signed(share: float, more: int = 0) -> str:
    """Formats a share for tables: −34.0 %, +3.4 %, ×85.0. Never returns −0.0 %."""
    if share + 1 >= 10:
        return f"×{text.digits(share + 1, 3 + more)}"
    shown = percent(share, more, least=int(share < 1))
    return f"{sign(share) if float(shown.replace(',', '')) else ''}{shown} %"


def sign(value: float) -> str:
    return MINUS if value < 0 else "+"


def factor(ratio: float, more: int = 0) -> str:
    return text.digits(ratio, 2 + more) if ratio < 100 else text.digits(ratio, 3 + more)


def is_factor(ratio: float) -> bool:
    """True if an increase is worded as a factor: `3.5 times as much`."""
    return ratio >= _TIMES


def is_part(ratio: float) -> bool:
    """True if a decrease is worded as a factor: `less by a factor of 150`."""
    return 0 < ratio < _PARTS


def manner(ratio: float | None) -> str:
    """Returns the end of the key of a sentence that compares by `change`: "as much as", "a factor
    less than" or "less than"."""
    if ratio is None:
        return ""
    return ".times" if is_factor(ratio) else ".parts" if is_part(ratio) else ""


def change(ratio: float) -> Words:
    if is_factor(ratio):
        return say("change.times", factor=factor(ratio))
    if is_part(ratio):
        return say("change.parts", factor=factor(1 / ratio))
    return say("change.less" if ratio < 1 else "change.more", share=percent(ratio - 1))


def ends(ratio: float, low: float, high: float) -> Words | None:
    """Words both ends of the interval of a ratio that clearly differs from 1, in the unit of the
    ratio. The end nearer to 1 comes first. None if both ends look equal."""
    if ratio >= _TIMES:
        return _different(lambda more: (factor(low, more), factor(high, more)), "ends.times")
    if ratio < _PARTS:
        return _different(
            lambda more: (factor(1 / high, more), factor(1 / low, more)), "ends.parts"
        )
    near, far = (high, low) if ratio < 1 else (low, high)
    return _different(
        lambda more: (percent(near - 1, more), percent(far - 1, more)), "ends.percent"
    )


def between(low: float, high: float) -> Words:
    """Words the interval of a ratio that contains 1."""
    return say("change.between", low=_end(low), high=_end(high))


def _end(ratio: float) -> Words:
    if ratio > _BEYOND or ratio < 1 / _BEYOND:
        return say("change.beyond" if ratio > 1 else "change.below", factor=text.digits(_BEYOND, 0))
    return change(ratio)


def amount_change(d: Difference) -> Words:
    """Words a difference that clearly differs from 0 as an amount: `35 fewer` of a count, `1.50 ms
    less` of a quantity."""
    fell = "change.fewer" if d.metric.counter else "change.less.by"
    return say(fell if d.fell else "change.more.of", count=d.metric.brief(abs(d.difference)))


def amount_ends(d: Difference, *, clear: bool) -> Words | None:
    """Words both ends of the interval of a difference as amounts. If the difference is clear, the
    smaller amount comes first."""
    if d.low is None or d.high is None:
        return None
    low, high = d.low, d.high
    if not clear:
        return _different(
            lambda more: (_amount(d, low, more), _amount(d, high, more)), "ends.difference"
        )
    near, far = sorted((abs(low), abs(high)))
    return _different(
        lambda more: (d.metric.brief(near, 3 + more), d.metric.brief(far, 3 + more)),
        "ends.difference",
    )


def _amount(d: Difference, value: float, more: int) -> str:
    return f"{sign(value)}{d.metric.brief(abs(value), 3 + more)}"


def _different(shown: Callable[[int], tuple[str, str]], key: str) -> Words | None:
    """Formats two ends with as many digits as distinguish them; None if they are equal."""
    for more in range(5):
        low, high = shown(more)
        if low != high:
            return say(key, low=low, high=high)
    return None


def values(d: Difference) -> dict[str, str]:
    """Formats the values of the design and of the baseline with as many digits as show their
    difference."""
    true = d.design_mean - d.baseline_mean
    count = next(
        (
            count
            for count in range(3, _MOST_DIGITS)
            if abs(_rounded(d.design_mean, count) - _rounded(d.baseline_mean, count) - true)
            <= _SEEN * abs(true)
        ),
        _MOST_DIGITS,
    )
    return {
        "new": d.metric.brief(d.design_mean, count),
        "old": d.metric.brief(d.baseline_mean, count),
    }


#: Largest relative error of the difference of two rounded values, and the most digits of one.
_SEEN, _MOST_DIGITS = 0.15, 12


def _rounded(value: float, count: int) -> float:
    return round(value, count - text.before(value)) if value else 0.0


def by(d: Difference) -> str:
    """Formats a difference for tables: as a share if there is one, otherwise as an amount."""
    return signed(d.share) if d.share is not None else _amount(d, d.difference, 1)


def in_unit_of_interval(d: Difference) -> str:
    """Formats a difference for tables that show its interval beside it: in the unit of the interval,
    which is an amount if it is that of the difference."""
    return by(d) if d.bounds is None or d.ratio is not None else _amount(d, d.difference, 1)


def interval(d: Difference) -> str:
    """Formats the 95 % interval for tables."""
    if d.bounds is None:
        return "–"
    low, high = d.bounds
    shown: Callable[[int], Sequence[str]]
    if d.ratio is None:
        shown = lambda more: [_rough(d, end, more) for end in (low, high)]  # noqa: E731
    else:
        shown = lambda more: [_bound(end - 1, more) for end in (low, high)]  # noqa: E731
    for more in range(5):
        first, last = shown(more)
        if first != last:
            return f"{first.removesuffix(' %') if last.endswith(' %') else first} to {last}"
    return "–"


def _rough(d: Difference, value: float, more: int) -> str:
    """Formats an end of an interval of amounts. Thousands and millions of a count are
    abbreviated."""
    for unit, name in ((1e6, "M"), (1e3, "k")) if d.metric.counter else ():
        rounded = abs(float(f"{value:.{3 + more}g}"))
        if rounded >= 10 * unit or rounded >= unit == 1e6:
            return f"{sign(value)}{text.digits(abs(value) / unit, 3 + more)}{name}"
    return _amount(d, value, more)


def _bound(share: float, more: int) -> str:
    return f"> ×{text.digits(_BEYOND, 0)}" if share + 1 > _BEYOND else signed(share, more)
