"""Shows keys of scenario files on a terminal."""

import re
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from ..files import toml
from ..reference import facts
from ..reference.document import Key, Table, document

#: Longest default in a list of keys, in characters. Longer ones are cut; the key's own entry has
#: them in full.
LONG = 34


def shown(one: Key | Table, kinds: list[str]) -> Iterator[RenderableType]:
    """Renders a key with everything known about it, or a table with its keys."""
    if isinstance(one, Key):
        yield from _key(one, kinds)
        for name in one.type.tables:
            yield from _keys(document().by_definition[name], one.path)
    else:
        yield Text(_titled(one.place, [one.kind] if one.kind else []), style="bold")
        yield Padding(_paragraphs(one.text), (0, 0, 1, 2))
        yield from _keys(one, one.place)


def _titled(path: str, kinds: list[str]) -> str:
    return path + (
        f" with kind = {', '.join(f'{chr(34)}{kind}{chr(34)}' for kind in kinds)}" if kinds else ""
    )


def _key(key: Key, kinds: list[str]) -> Iterator[RenderableType]:
    yield Text(_titled(key.path, kinds), style="bold")
    yield Padding(_paragraphs(key.text), (0, 0, 1, 2))
    computed = facts.computed(key)
    rows = {
        "type": facts.type_of(key),
        "unit": facts.unit(key),
        "default": facts.default(key),
        "computed": computed is not None and f"{toml.value(computed)} {facts.SMALL}",
        "range": facts.limits(key),
        "example": facts.example(key),
        "source": key.source,
        "model": "; ".join(f"{model.name}: {model.source}" for model in models(key)),
    }
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for name, text in rows.items():
        if text:
            grid.add_row(name, Text(str(text)))
    yield Padding(grid, (0, 0, 1, 2))
    if any(text for _, text in key.type.choices):
        yield from _list(
            [(toml.value(value), " ".join(text.split())) for value, text in key.type.choices]
        )


def models(key: Key) -> list[Any]:
    """Returns the models that the key belongs to, or nothing if there are more than three, which
    would explain little."""
    found = facts.models(key) or facts.models(key.table)
    return found if len(found) <= 3 else []


def _keys(table: Table, place: str) -> Iterator[RenderableType]:
    """Renders a line per key, then the kinds, of a table that is used at `place`."""
    title = _titled(place, [table.kind] if table.kind else [])
    yield Text(f"Keys of {title}{' with every kind' if table.kinds else ''}", style="bold")
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_column(ratio=1)
    grid.add_row("key", "type", "default", style="dim")
    for key in table.keys:
        grid.add_row(key.name, Text(_short(key)), Text(_cut(facts.default(key))))
    yield Padding(grid, (0, 0, 1, 2))
    if table.kinds:
        yield Text(
            f"Kinds of {place}; `afflux schema {place}.KIND` lists the other keys", style="bold"
        )
        yield from _list([(kind, _sentence(text)) for kind, text in table.kinds.items()])


def _list(rows: list[tuple[str, str]]) -> Iterator[RenderableType]:
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for name, text in rows:
        grid.add_row(name, Text(text))
    yield Padding(grid, (0, 0, 1, 2))


def _short(key: Key) -> str:
    """Returns the type without the details of its alternatives. Lists the accepted words if they
    are few."""
    words = [re.split(r"[:;]", word)[0] for word in key.type.words]
    choices = " or ".join(toml.value(value) for value, _ in key.type.choices)
    return " or ".join(words).replace(
        "one of these words", choices if key.name != "kind" and len(choices) <= LONG else "a word"
    )


def _cut(text: str) -> str:
    """Returns the first of several statements about a default, cut to twice `LONG` characters."""
    first = re.split(r"(?<=[^:]); | \((?=[^)]*\)$)", text)[0]
    return first if len(first) <= 2 * LONG else first[: 2 * LONG].rsplit(" ", 1)[0] + " …"


def _sentence(text: str) -> str:
    return re.split(r"(?<=[.:]) ", " ".join(text.split()))[0].rstrip(":.")


def _paragraphs(text: str) -> Text:
    """Splits a description into lines: each statement about one of several kinds is on a separate
    line."""
    text = " ".join(text.split())
    return Text(re.sub(r"(?!^)\s*\b(?=With `\w+`: )", "\n", text))


def described(one: Key | Table, kinds: list[str]) -> dict[str, Any]:
    """Returns, for `--json`, the information that `shown` renders."""
    if isinstance(one, Table):
        return {
            "path": one.place,
            "kind": one.kind,
            "text": " ".join(one.text.split()),
            "keys": [_described(key) for key in one.keys],
        } | _kinds(one)
    tables = [document().by_definition[name] for name in one.type.tables]
    inner = {"keys": [_described(key) for table in tables for key in table.keys]} if tables else {}
    for table in tables:
        inner |= _kinds(table)
    return _described(one) | ({"kinds_with_key": kinds} if kinds else {}) | inner


def _kinds(table: Table) -> dict[str, Any]:
    return (
        {"kinds": {kind: " ".join(text.split()) for kind, text in table.kinds.items()}}
        if table.kinds
        else {}
    )


def _described(key: Key) -> dict[str, Any]:
    literal = facts.literals(key)
    return {
        "path": key.path,
        "kind": key.table.kind,
        "text": key.text,
        "type": facts.type_of(key),
        "unit": facts.unit(key) or None,
        "required": key.required,
        "default": facts.default(key),
        "default_value": literal[0] if facts.plain(key) and literal else facts.computed(key),
        "range": facts.limits(key) or None,
        "choices": [value for value, _ in key.type.choices],
        "example": facts.example(key) or None,
        "source": key.source,
        "models": [model.name for model in models(key)],
    }
