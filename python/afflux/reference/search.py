"""Finds keys by the path that a reader writes: `switch.ecn.kmin`, `traffic[0].sizes`,
`traffic.hadoop.cluster`."""

import contextlib
import re
from collections.abc import Iterator
from functools import cache

from .. import spelling
from .document import Key, Table, document

#: A table and, if it has kinds, the kind that the path names.
Place = tuple[Table, str | None]


class Unknown(LookupError):
    """The schema has neither a key nor a table at this path."""


def find(path: str) -> list[Key | Table]:
    """Returns the keys at a path. There are several if several kinds of a table have the key. If
    the path ends in a kind, returns its table, even if a key of some kind has the same name:
    `traffic.0.flows` is this key. Raises `Unknown`."""
    steps = _parts(path)
    try:
        return _find(path, steps)
    except Unknown:
        # The name of a block may also be the name of a key.
        if len(steps) > 2 and any(
            table.array
            for one in _find(path, steps[:1])
            if isinstance(one, Key)
            for table in _tables(one)
        ):
            with contextlib.suppress(Unknown):
                return _find(path, [steps[0], "0", *steps[2:]])
        raise


def _find(path: str, steps: list[str]) -> list[Key | Table]:
    places: list[Place] = [(document().tables[0], None)]
    found: list[Key | Table] = []
    # True after the number or the name of a block: then the next name is that of a key.
    in_block = False
    for number, step in enumerate(steps):
        if step.isdecimal():
            in_block = True
            continue
        last = number == len(steps) - 1
        before = [name for name in steps[:number] if not name.isdecimal()]
        keys: list[Key | Table] = [*_keys(places, step)]
        kinds: list[Key | Table] = [*_kinds(places, step)]
        preferred = keys or kinds if in_block else _common(keys, places) or kinds or keys
        if preferred:
            # A name in the middle may be that of a kind and of a key with a table.
            found = preferred if last else [*preferred, *(kinds if preferred is keys else keys)]
            places = [place for one in found for place in _below(one, step)]
            # Several kinds may have the same table.
            places = [place for at, place in enumerate(places) if place not in places[:at]]
            in_block = False
        elif last or not _named(before, places):
            raise Unknown(_unknown(path, before, step, places))
        else:
            in_block = True
    if not found:
        raise Unknown("the path is empty: write a key, as in switch.ecn.kmin")
    return found


def _parts(path: str) -> list[str]:
    """Returns the names in a path and the numbers of blocks between them."""
    steps = [step for step in re.split(r"\.|\[|\]", path) if step]
    while steps and steps[-1].isdecimal():
        steps.pop()
    return steps


def _tables(key: Key) -> list[Table]:
    return [document().by_definition[name] for name in key.type.tables]


def _chosen(table: Table, kind: str) -> Place:
    return (table, None) if table.kind else (table, kind)


def _below(one: Key | Table, step: str) -> list[Place]:
    return (
        [(table, None) for table in _tables(one)] if isinstance(one, Key) else [_chosen(one, step)]
    )


def _open(place: Place) -> list[Table]:
    """Returns the tables whose keys are valid at a place."""
    table, kind = place
    return [table, *(variant for name, variant in table.variants.items() if kind in (None, name))]


def _keys(places: list[Place], step: str) -> Iterator[Key]:
    """Yields the keys called `step`."""
    for table in (table for place in places for table in _open(place)):
        if key := table.key(step):
            yield key


def _common(keys: list[Key | Table], places: list[Place]) -> list[Key | Table]:
    """Returns the keys that all kinds of a table have."""
    tables = [table for table, _ in places]
    return [key for key in keys if isinstance(key, Key) and any(key.table is t for t in tables)]


def _kinds(places: list[Place], step: str) -> Iterator[Table]:
    """Yields the tables of the kinds called `step`."""
    for table, kind in places:
        if kind is None and step in table.kinds:
            yield table.variants.get(step, table)


def _named(before: list[str], places: list[Place]) -> bool:
    """True if the name of a block, or of a table, is allowed at this point of the path."""
    if any(table.array for table, _ in places):
        return True
    key = find(".".join(before))[0] if before else None
    return isinstance(key, Key) and key.type.many == "map"


def _unknown(path: str, before: list[str], step: str, places: list[Place]) -> str:
    here = sorted(
        {key.name for place in places for table in _open(place) for key in table.keys}
        | {kind for table, _ in places for kind in table.kinds}
    )
    head = ".".join(before)
    if before and not here:
        return f"{path}: {head} is not a table, so it has no keys"
    what = (
        f"there is no key {step!r} in [{head}]" if before else f"there is no key or table {step!r}"
    )
    near = spelling.nearest(step, here)
    if not near:
        same = [known for known in paths() if known.rpartition(".")[2] == step]
        near = f" (did you mean {same[0]!r}?)" if same else spelling.nearest(path, paths())
    listed = (
        ", ".join(here)
        if len(here) <= spelling.FEW
        else f"`afflux schema {places[0][0].place}` lists keys"
    )
    return f"{what}{near}: {'the keys there are ' if len(here) <= spelling.FEW else ''}{listed}"


@cache
def paths() -> list[str]:
    """Returns every path of a key or a kind, sorted. A table that several keys take appears only at
    the key of its page."""
    found: dict[str, None] = {}
    for key in document().every_key():
        found[key.path] = None
    for table in document().tables:
        for kind, variant in table.variants.items():
            found[f"{table.place}.{kind}"] = None
            for key in variant.keys:
                found[f"{table.place}.{kind}.{key.name}"] = None
    return sorted(found)


def merged(found: list[Key | Table]) -> list[tuple[Key | Table, list[str]]]:
    """Merges keys that several kinds have with the same description. Returns each once, with its
    kinds."""
    groups: dict[object, tuple[Key | Table, list[str]]] = {}
    for one in found:
        alike = (
            (one.name, one.text, one.default, one.required, *one.type.words)
            if isinstance(one, Key)
            else one.name
        )
        kind = (one.table.kind if isinstance(one, Key) else one.kind) or ""
        groups.setdefault(alike, (one, []))[1].append(kind)
    return [(one, [kind for kind in kinds if kind]) for one, kinds in groups.values()]
