"""Checks the values and seeds that a program hands over, before anything is written."""

import itertools
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

from .. import settings
from ..files import toml


def values(key: str, given: Any) -> list[Any]:
    """Returns the values of a varied key with Python's own types: tables and processes do not take
    those of other libraries. Raises `ValueError` without values, if one is given twice, and if
    scenario files cannot hold one."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise ValueError(f'{key}: found {given!r}: write a list of values, as in ["200kB", "9MB"]')
    found = [_plain(key, item) for item in given]
    if not found:
        raise ValueError(f"{key}: no values")
    seen = set()
    for text in map(settings.shown, found):
        if text in seen:
            raise ValueError(f"{key}: the value {text} is given twice")
        seen.add(text)
    return found


def seeds(given: Iterable[int]) -> list[int]:
    """Returns seeds as Python's own numbers. Raises `ValueError` without seeds, if one is given
    twice, and if one is no seed."""
    found = list(itertools.islice(given, settings.MOST_POINTS + 1))
    if not found:
        raise ValueError("seeds: there are none: name at least one, as in range(1, 6)")
    seen: set[int] = set()
    for seed in found:
        if not isinstance(seed, Integral):
            raise ValueError(f"seeds: found {seed!r}: write whole numbers, as in range(1, 6)")
        settings.seed(int(seed))
        if seed in seen:
            raise ValueError(f"seeds: {seed} is given twice")
        seen.add(seed)
    return [int(seed) for seed in found]


def _plain(key: str, item: Any) -> Any:
    """Returns a value as it is read from a scenario file."""
    if isinstance(item, str):
        return str(item)
    try:
        return settings.value(toml.value(item))
    except TypeError as error:
        raise ValueError(
            f"{key}: {error}: write numbers, texts, true or false, or lists and tables of them"
        ) from None
