"""Comparison of scenarios with the schema."""

from collections.abc import Iterator
from typing import Any

from afflux.reference.document import Table, document


def unknown(scenario: dict[str, Any]) -> list[str]:
    """Returns the paths of keys in a scenario, or in a part of one, that the schema lacks."""
    return list(missing(document().tables[0], scenario, ""))


def missing(table: Table, data: dict[str, Any], path: str) -> Iterator[str]:
    # A part of a scenario may omit its kind.
    variants = [
        variant for kind, variant in table.variants.items() if data.get("kind", kind) == kind
    ]
    for name, value in data.items():
        key = next((found for place in [*variants, table] if (found := place.key(name))), None)
        if key is None:
            yield f"{path}{name}"
            continue
        parts = (
            value
            if isinstance(value, list)
            else list(value.values())
            if key.type.many == "map" and isinstance(value, dict)
            else [value]
        )
        for definition in key.type.tables:
            for part in parts:
                if isinstance(part, dict):
                    yield from missing(document().by_definition[definition], part, f"{path}{name}.")
