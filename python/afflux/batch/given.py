"""Checks the values and seeds that a program hands over, before anything is written."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from .. import _core, settings
from ..files import toml
from ..files.keys import split_key


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
    for item in found:
        # 1 and 1.0 are one value. Their runs would count as runs of several seeds.
        if (same := settings.shown(_unified(item))) in seen:
            raise ValueError(f"{key}: the value {settings.shown(item)} is given twice")
        seen.add(same)
    return found


def _unified(item: Any) -> Any:
    """Returns a value with its whole numbers as integers, so that equal values have equal text."""
    if isinstance(item, float) and item.is_integer():
        return int(item)
    if isinstance(item, Mapping):
        return {key: _unified(inner) for key, inner in item.items()}
    return [_unified(inner) for inner in item] if isinstance(item, list) else item


def seeds(given: Any) -> list[int]:
    """Returns seeds as Python's own numbers. Raises `ValueError` if they are no list, without
    seeds, if one is given twice, and if one is no seed."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise ValueError(f"seeds: found {given!r}: write a list of seeds, as in range(1, 6)")
    found = list(itertools.islice(given, settings.MOST_POINTS + 1))
    if not found:
        raise ValueError("seeds: there are none: name at least one, as in range(1, 6)")
    seen: set[int] = set()
    for item in found:
        seed = settings.seed(item)
        if seed is None:
            raise ValueError("seeds: found None: write whole numbers, as in range(1, 6)")
        if seed in seen:
            raise ValueError(f"seeds: {seed} is given twice")
        seen.add(seed)
    return list(seen)


def sets_seed(key: str, value: Any) -> bool:
    """True if the key is the seed of the run, or the table `run` with a seed in it."""
    path = split_key(key)
    table = path == ["run"] and isinstance(value, Mapping) and "seed" in value
    return table or path == ["run", "seed"]


def without_seed(changes: Mapping[str, Any], tried: str = "set") -> dict[str, Any]:
    """Returns the changes of a scenario. Raises `ValueError` if they set its seed, which the seeds
    of the points would replace."""
    if any(sets_seed(key, value) for key, value in changes.items()):
        raise ValueError(f"run.seed cannot be {tried}: write --seeds instead")
    return dict(changes)


#: Keys that a batch sets itself, with the reason.
_OWN = {
    ("name",): "the points are named after the varied keys",
    ("run", "threads"): "points run side by side, each on one thread",
}


def variable(key: str) -> None:
    """Raises `ValueError` for a key that cannot be varied, because the batch sets it itself."""
    if why := _OWN.get(tuple(split_key(key))):
        raise ValueError(f"{key} cannot be varied: {why}")


def set_once(fixed: Mapping[str, Any], vary: Mapping[str, Any]) -> None:
    """Raises `ValueError` if a key is varied twice, in whatever spelling, or is set and varied, or is
    set within a table that is varied as a whole. (A search is different: what is set is its
    baseline.)"""
    varied: dict[tuple[str, ...], str] = {}
    for key in vary:
        if (path := tuple(split_key(key))) in varied:
            raise ValueError(f"{varied[path]} and {key} are one key: vary it once")
        varied[path] = key
    for key in fixed:
        path = tuple(split_key(key))
        if path in varied:
            raise ValueError(f"{key} is set and varied: leave out one of them")
        for end in range(1, len(path)):
            if table := varied.get(path[:end]):
                raise ValueError(
                    f"{key} has no effect, because each value of {table} replaces the whole table: "
                    f"write it into the values of {table}"
                )


def threads_note(loaded: _core.Scenario) -> list[str]:
    """Returns a note if the scenario asks for several threads, which a batch does not use."""
    if loaded.threads == 1:
        return []
    return ["run.threads has no effect here: points run side by side, each on one thread"]


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
