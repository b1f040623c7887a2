"""Completion of scenario keys in the shell, from the schema."""

import json
from collections.abc import Iterator
from typing import Any

from .. import _core

#: Largest depth of nested tables.
DEEPEST = 5


def keys(incomplete: str) -> list[str]:
    """Each `key.path=` that begins with `incomplete`."""
    schema = json.loads(_core.schema())
    return sorted({f"{key}=" for key in _keys(schema, schema, "", DEEPEST) if key.startswith(incomplete)})


def _keys(node: dict[str, Any], schema: dict[str, Any], prefix: str, deep: int) -> Iterator[str]:
    if deep == 0:
        return
    if "$ref" in node:
        yield from _keys(schema["$defs"][node["$ref"].rpartition("/")[2]], schema, prefix, deep)
    for choice in [*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())]:
        yield from _keys(choice, schema, prefix, deep)
    for name, inner in node.get("properties", {}).items():
        key = f"{prefix}{name}"
        yield key
        yield from _keys(inner, schema, f"{key}.", deep - 1)
    if isinstance(items := node.get("items"), dict):
        yield from _keys(items, schema, f"{prefix}0.", deep - 1)
