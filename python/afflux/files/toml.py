"""Writes TOML (the standard library only reads it), and reads resolved scenarios."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

#: Keys that name an input file, each with the key of the file's SHA-256 in a resolved scenario.
_INPUTS = {"file": "sha256", "matrix": "matrix_sha256"}
#: Names that need no quotes as a key.
BARE = re.compile(r"[A-Za-z0-9_-]+")


def dumps(table: Mapping[str, Any]) -> str:
    """Formats nested dicts, lists, strings, numbers and booleans as a document."""
    return "\n".join(_lines(table, "")) + "\n"


def with_defaults(resolved: str) -> dict[str, Any]:
    """Returns a resolved scenario with its defaults, which it contains as comments."""
    return tomllib.loads(re.sub(r"(?m)^# ", "", resolved))


def leaves(item: Any, key: str = "", files: bool = False) -> Iterator[tuple[str, Any]]:
    """Yields keys and values of a scenario, as `--set` takes them (`traffic.0.bytes`). Without
    `files`, paths of inputs are left out: in a resolved scenario their SHA-256 is also a key."""
    if isinstance(item, dict):
        for name, inner in item.items():
            yield from leaves(inner, f"{key}.{name}" if key else name, files)
    elif isinstance(item, list) and item and all(isinstance(inner, dict) for inner in item):
        for place, inner in enumerate(item):
            yield from leaves(inner, f"{key}.{place}", files)
    elif files or not (key.rpartition(".")[2] in _INPUTS and isinstance(item, str)):
        yield key, item


def differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Returns the keys whose values differ between two resolved scenarios, with both values (None:
    not set)."""
    a, b = dict(leaves(first)), dict(leaves(second))
    return {
        key: (a.get(key), b.get(key)) for key in dict.fromkeys([*a, *b]) if a.get(key) != b.get(key)
    }


def inputs(resolved: str) -> dict[str, str]:
    """Returns the files that a resolved scenario names, by the SHA-256 of their content."""
    return dict(_inputs(tomllib.loads(resolved)))


def named(path: Path) -> Iterator[Path]:
    """Yields the files that a scenario names, if `path` is a readable scenario."""
    try:
        document = (
            tomllib.loads(path.read_text(encoding="utf-8-sig")) if path.suffix == ".toml" else {}
        )
    except (OSError, ValueError):
        return
    for key, value in leaves(document, files=True):
        if key.rpartition(".")[2] in _INPUTS and isinstance(value, str):
            yield path.parent / value


def _inputs(item: Any) -> Iterator[tuple[str, str]]:
    if isinstance(item, dict):
        for name, digest in _INPUTS.items():
            if name in item and digest in item:
                yield item[digest], item[name]
    if isinstance(item, dict | list):
        for inner in item.values() if isinstance(item, dict) else item:
            yield from _inputs(inner)


def value(item: Any) -> str:
    """Formats a value for the right-hand side of an assignment."""
    match item:
        case bool():
            return "true" if item else "false"
        # Numbers of other libraries, such as numpy's, are numbers, too.
        case Integral():
            return str(int(item))
        case Real():
            return repr(float(item))
        case str():
            # JSON's escapes are valid in TOML. TOML also requires DEL to be escaped.
            return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            return (
                "{ " + ", ".join(f"{_key(k)} = {value(v)}" for k, v in item.items()) + " }"
                if item
                else "{}"
            )
        case list() | tuple():
            return "[" + ", ".join(map(value, item)) + "]"
        case _:
            raise TypeError(f"TOML has no {type(item).__name__}: {item!r}")


def _lines(table: Mapping[str, Any], prefix: str) -> list[str]:
    lines = [
        f"{_key(k)} = {value(v)}"
        for k, v in table.items()
        if not isinstance(v, Mapping) and not _is_tables(v)
    ]
    for key, item in table.items():
        name = prefix + _key(key)
        if isinstance(item, Mapping):
            lines += ["", f"[{name}]", *_lines(item, name + ".")]
        elif _is_tables(item):
            for element in item:
                lines += ["", f"[[{name}]]", *_lines(element, name + ".")]
    return lines


def _is_tables(item: Any) -> bool:
    return (
        isinstance(item, (list, tuple))
        and bool(item)
        and all(isinstance(element, Mapping) for element in item)
    )


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else value(key)
