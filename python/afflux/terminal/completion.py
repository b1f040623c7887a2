"""Shell completion: keys and values of scenarios from the schema, names of designs from results."""

import contextlib
import glob
import io
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from .. import _core

#: Largest depth of nested tables.
DEEPEST = 5


def assignments(incomplete: str) -> list[str]:
    """Completes `key.path=value`. Without an equals sign, returns each `key.path=` that begins with
    `incomplete`. With one, returns each value that the schema names. In a list with commas, the
    last value is completed."""
    key, equals, text = incomplete.partition("=")
    if not equals:
        return [f"{known}=" for known in _every() if known.startswith(key)]
    done, comma, begun = text.rpartition(",")
    return [f"{key}={done}{comma}{value}" for value in values(key) if value.startswith(begun)]


def values(key: str) -> list[str]:
    """Returns the words that a key accepts, without quotes."""
    schema = _schema()
    nodes = [schema]
    for part in key.split("."):
        choices = [choice for node in nodes for choice in _choices(node, schema)]
        # A part of the key that is no property is the number or the name of a block or table.
        nodes = [
            node["properties"][part] for node in choices if part in node.get("properties", {})
        ] or [
            node[inner]
            for node in choices
            for inner in ("items", "additionalProperties")
            if isinstance(node.get(inner), dict)
        ]
    found: dict[str, None] = {}
    for choice in (choice for node in nodes for choice in _choices(node, schema)):
        for value in [
            *choice.get("enum", ()),
            *([choice["const"]] if "const" in choice else ()),
            *((True, False) if choice.get("type") == "boolean" else ()),
        ]:
            found[value if isinstance(value, str) else json.dumps(value)] = None
    return list(found)


def designs(words: list[str], incomplete: str) -> list[str]:
    """Returns the names of the designs in those of the words that are result directories. The shell
    has not expanded patterns yet."""
    from ..results.result import SUMMARY

    found: dict[str, None] = {}
    for place in (place for word in words for place in sorted(glob.glob(os.path.expanduser(word)))):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found[str(json.loads((Path(place) / SUMMARY).read_bytes())["name"])] = None
    return [name for name in found if name.startswith(incomplete)]


@cache
def _schema() -> dict[str, Any]:
    return json.loads(_core.schema())


@cache
def _every() -> list[str]:
    return sorted(set(_keys(_schema(), _schema(), "", DEEPEST)))


def _choices(node: dict[str, Any], schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Returns the node and all alternatives of it."""
    yield node
    if "$ref" in node:
        yield from _choices(schema["$defs"][node["$ref"].rpartition("/")[2]], schema)
    for choice in [*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())]:
        yield from _choices(choice, schema)


def _keys(node: dict[str, Any], schema: dict[str, Any], prefix: str, deep: int) -> Iterator[str]:
    if deep == 0:
        return
    for choice in _choices(node, schema):
        for name, inner in choice.get("properties", {}).items():
            key = f"{prefix}{name}"
            yield key
            yield from _keys(inner, schema, f"{key}.", deep - 1)
        if isinstance(items := choice.get("items"), dict):
            yield from _keys(items, schema, f"{prefix}0.", deep - 1)


#: Environment variable set by bash's completion function, and its value. The function passes the
#: words of the line in COMP_WORDS, one per line.
_BASH = ("_AFFLUX_COMPLETE", "complete_bash")


@contextlib.contextmanager
def whole_words() -> Iterator[None]:
    """Works around bash, which takes `=` for a separate word and completes only the text after it.
    Joins such words before the completion, and prints only the text after `=`."""
    if os.environ.get(_BASH[0]) != _BASH[1]:
        yield
        return
    line = os.environ.get("COMP_WORDS", "")
    words, place = (
        line.split("\n") if "\n" in line else line.split(),
        int(os.environ.get("COMP_CWORD", "0")),
    )
    joined, current = _joined(words, place)
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(joined), str(current)
    before = joined[current].rpartition("=")[0] if current < len(joined) and "=" in words else ""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            yield
    finally:
        print(
            "\n".join(
                line.removeprefix(f"{before}=") if before else line
                for line in printed.getvalue().splitlines()
            )
        )


def _joined(words: list[str], place: int) -> tuple[list[str], int]:
    """Joins the words around each `=`. Returns the words and the new index of the word `place`."""
    joined: list[str] = []
    current = 0
    for number, word in enumerate(words):
        if joined and number > 1 and (word == "=" or words[number - 1] == "="):
            joined[-1] += word
        else:
            joined.append(word)
        if number == place:
            current = len(joined) - 1
    return joined, current if place < len(words) else len(joined)
