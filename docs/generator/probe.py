"""Ranges that the JSON Schema does not have: afflux is given values that are too small and too large, and says what may be written."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import afflux

from .schema import Key, Table

#: Too small and too large, by the beginning of the type.
EXTREMES: dict[str, tuple[Any, ...]] = {
    "time": ("0ns", "5000h"),
    "size": ("0B", "9000TB"),
    "rate": ("0bps", "1bps", "9000000Tbps"),
    "number": (-1.0, 0.0, 1e15),
    "whole number": (0, 4_000_000_000),
    "whole percentage": ("0%",),
}

#: Words of errors that are not about a value alone, but about other keys, this small scenario or a machine's integers.
ELSEWHERE = re.compile(
    r"\bneeds?\b|too large for|integer|expected|has no (effect|meaning)|has a meaning|unknown|does not|no such|is for\b|together|bound of|is below|is above"
    r"|is not after|more than the whole|longer than|is less than|from 0 to (255|65535)$|: \d+$|this makes|this machine|blocks:|a flow of|multiple of the"
    r"|^(allowed is )?1 to \d+$"
)


class Probe:
    """Asks about the range of a key, in a small scenario with the table that has it."""

    def __init__(self, filled: Callable[..., dict[str, Any]]) -> None:
        self.filled = filled

    def range(self, key: Key) -> str | None:
        if key.type.many or not key.type.words:
            return None
        extremes = next((values for word, values in EXTREMES.items() if key.type.words[0].startswith(word)), ())
        said = [text for value in extremes if (text := self.refusal(key, value))]
        return "; ".join(dict.fromkeys(said)) or None

    def refusal(self, key: Key, value: Any) -> str | None:
        """What afflux says is allowed, if it refuses the value for its size."""
        error = self.error(key, value)
        if error is None or error.key is None or re.sub(r"\[\d+\]|\.\d+(?=\.|$)", "", error.key) != key.path:
            return None
        text = str(error).partition(f"key {error.key}: ")[2]
        text = re.sub(r'^(found [^:]*|"[^"]*"): ', "", text)
        if ELSEWHERE.search(text):
            return None
        _, write, rest = text.rpartition("write ")
        return (rest if write else text).removeprefix("allowed is ")

    def error(self, key: Key, value: Any) -> "afflux.ScenarioError | None":
        scenario = self.scenario(key.table)
        table = scenario
        for step in self.steps(key.table):
            name = step.place.rpartition(".")[2]
            inner = table.get(name)
            if not (isinstance(inner, dict) or (isinstance(inner, list) and inner and isinstance(inner[0], dict))):
                table[name] = self.fresh(step)
            table = table[name]
            if isinstance(table, list):
                table = table[0]
        kinds = key.table.key("kind")
        if kinds is not None and (kind := re.search(r"With `(\w+)`", key.text)) and kind[1] in [word for word, _ in kinds.type.choices]:
            table["kind"] = kind[1]
        table[key.name] = value
        try:
            afflux.Scenario(scenario).check()
        except afflux.ScenarioError as error:
            return error
        except (afflux.Error, OSError, ValueError):
            return None
        return None

    def fresh(self, table: Table) -> Any:
        made = self.filled(table.parent, table.kind) if table.kind and table.parent else self.filled(table)
        return [made] if table.array else made

    def steps(self, table: Table) -> list[Table]:
        """From the top level to the table; of a table with kinds the last variant."""
        chain: list[Table] = []
        step: Table | None = table
        while step is not None and step.name:
            if not (chain and chain[0].place == step.place):
                chain.insert(0, step)
            step = step.parent
        return chain

    def scenario(self, table: Table) -> dict[str, Any]:
        scenario: dict[str, Any] = {"format": 1, "topology": {"kind": "star", "hosts": 4}, "traffic": [{"kind": "pairs", "pairs": [[0, 1]], "sizes": "1MB"}]}
        for step in self.steps(table):
            if step.kind and "." not in step.place:
                fresh = self.filled(step.parent, step.kind)
                scenario[step.place] = [fresh] if step.array else fresh
        if table.place.startswith("host.transport"):
            scenario["host"] = {"transport": self.transport(table)}
        return scenario

    def transport(self, table: Table) -> dict[str, Any]:
        variant = next((step for step in self.steps(table) if step.kind), None)
        if variant is None or variant.parent is None:
            return {}
        made = self.filled(variant.parent, variant.kind)
        name = table.place.rpartition(".")[2]
        congestion = variant.key("congestion")
        if congestion and name in [word for word, _ in congestion.type.choices]:
            made["congestion"] = name
        return made


@cache
def probe() -> Probe:
    from .examples import filled

    return Probe(filled)
