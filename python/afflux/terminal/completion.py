"""Keys of scenarios for the shell to complete, from the schema."""

import json
from collections.abc import Iterator
from typing import Any

from .. import _core

#: Tables within tables, no deeper: the schema refers to itself nowhere, but there are many kinds of everything.
DEEPEST = 5


def keys(incomplete: str) -> list[str]:
    """Every `key.path=` that begins so."""
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
