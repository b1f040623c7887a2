"""The horizontal axis of a figure of a sweep: places the values of the varied key on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import settings
from .drawing import literal

#: Ratio of the largest to the smallest value above which the axis is logarithmic.
_WIDE = 20.0
#: Families of units of scenario files. A search does not use those that are added here.
_FAMILIES: tuple[dict[str, int], ...] = (
    *(
        family | {"min": 60 * 10**12, "h": 3_600 * 10**12} if "ps" in family else family
        for family in settings.FAMILIES
    ),
    {"m": 1},
)


@dataclass(frozen=True)
class Scale:
    """The places of values on the axis."""

    #: Place of each value, by its text.
    places: dict[str, float]
    #: Unit of the places; empty for plain numbers and words.
    unit: str
    #: True if the values are words, at equal distances.
    words: bool

    def at(self, value: Any) -> float:
        return self.places[settings.shown(value)]

    def draw(self, axes: Any, key: str) -> None:
        """Labels the axis with the key and its unit."""
        unit = "µs" if self.unit == "us" else self.unit
        axes.set_xlabel(literal(f"{key} ({unit})" if unit else key))
        if self.words:
            axes.set_xticks(range(len(self.places)), list(map(literal, self.places)))
            return
        low, high = min(self.places.values()), max(self.places.values())
        if low > 0 and high / low > _WIDE:
            axes.set_xscale("log")
            plain(axes, high / low)


def of(values: Sequence[Any]) -> Scale:
    """Returns the scale of all values of a key: that of their unit if they are numbers or
    quantities of one kind, and one of words otherwise."""
    texts = list(dict.fromkeys(settings.shown(value) for value in values))
    found = [settings.quantity(text) for text in texts]
    known = [one for one in found if one]
    units = {unit for _, unit in known}
    family = next((family for family in _FAMILIES if units <= {*family}), None)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return Scale({settings.shown(value): float(value) for value in values}, "", words=False)
    if len(known) < len(found) or not family:
        return Scale({text: float(place) for place, text in enumerate(texts)}, "", words=True)
    sizes = [number * family[unit] for number, unit in known]
    unit = known[sizes.index(max(sizes))][1]
    places = {text: float(size / family[unit]) for text, size in zip(texts, sizes, strict=True)}
    return Scale(places, unit, words=False)


def plain(axes: Any, ratio: float) -> None:
    """Labels a logarithmic axis, whose ends have this ratio, with plain numbers instead of 10⁰."""
    axes.xaxis.get_major_locator().set_params(subs=(1, 2, 5) if ratio < 100 else (1,))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter("")
