"""Facts about keys that the schema lacks. `python -m docs.generator.facts` writes them into the
package, for `afflux schema KEY`."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import afflux
from afflux.reference import facts
from afflux.reference.document import Key, document

from . import models
from .examples import example
from .probe import probe

FILE = Path(facts.__file__).with_name("facts.json")
#: Length in characters above which a default is not shown.
LONG = 40


#: Factors of units, to picoseconds, bytes, and bits per second.
UNITS = {
    "ps": 1,
    "ns": 10**3,
    "us": 10**6,
    "ms": 10**9,
    "s": 10**12,
    "min": 60 * 10**12,
    "h": 3600 * 10**12,
}
UNITS |= {f"{prefix}B": 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))} | {
    f"{p}iB": 1024**n for n, p in enumerate("KMGT", 1)
}
UNITS |= {f"{prefix}bps": 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))}


def equal(first: Any, second: Any) -> bool:
    """True if two values of a key are equal amounts. `"0.5s"` equals `"500ms"`, and the name of a
    kind equals the table with this kind."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(equal, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return second.items() <= first.items()
    if isinstance(first, dict):
        return first.get("kind") == second
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    return bool(amount(first) == amount(second))


def amount(value: Any) -> Any:
    found = re.fullmatch(r"([\d.]+) ?([a-zA-Z]+)", value) if isinstance(value, str) else None
    if found is None or found[2] not in UNITS:
        return value
    return Fraction(found[1]) * UNITS[found[2]], "B" if found[2].endswith("B") else "bps" if found[
        2
    ].endswith("bps") else "time"


def made() -> dict[str, Any]:
    """Returns an example, the range and the computed default of each key, and the models that
    belong to each table and key."""
    known = {key.place: of(key) for key in document().every_key()}
    at: dict[str, list[str]] = {}
    for model in models.every():
        for place in models.places_of(model):
            at.setdefault(place, []).append(f"{model.kind}/{model.name}")
    return {"keys": known, "models": {place: at[place] for place in sorted(at)}}


def of(key: Key) -> dict[str, Any]:
    value = computed(key)
    known = {
        "example": example(key),
        "range": probe().range(key),
        "value": value if tells(key, value) else None,
    }
    return {name: fact for name, fact in known.items() if fact is not None}


def computed(key: Key) -> Any:
    """Returns afflux's value for a missing key, or None."""
    if key.required:
        return None
    try:
        return probe().computed(key)
    except afflux.ScenarioError:
        return None


def tells(key: Key, value: Any) -> bool:
    """True if a computed default gives more information than its description."""
    if re.fullmatch(r"`\w+`", key.default or ""):
        return False
    return (
        value is not None
        and not isinstance(value, dict)
        and not any(equal(value, said) for said in facts.literals(key))
        and len(json.dumps(value)) <= LONG
    )


def text(known: dict[str, Any]) -> str:
    """Returns JSON with one line per key, so that changes are easy to merge."""
    parts = []
    for name, inner in known.items():
        lines = ",\n".join(
            f"    {json.dumps(place)}: {json.dumps(facts, ensure_ascii=False)}"
            for place, facts in inner.items()
        )
        parts.append(f"  {json.dumps(name)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(made()), encoding="utf-8")
