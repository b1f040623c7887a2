"""Example value of every key: from a scenario of the repository if one has the key, otherwise its
default, otherwise a value of its type."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from afflux.files.toml import value as toml
from afflux.reference import facts
from afflux.reference.document import Document, Key, Table, document

REPO = Path(__file__).resolve().parents[2]

#: Length in characters above which a value is too long for an example.
LONG = 60

#: Fallback values by the first word of the type.
BY_TYPE = {
    "time": "10us",
    "size": "64kB",
    "rate": "10Gbps",
    "length": "40m",
    "probability": 0.1,
    "whole percentage": "25%",
    "hosts": "0-3",
    "host": 0,
    "name or array": "leaf*",
    "text": "text",
    "whole number": 2,
    "number": 0.5,
}

QUEUES = [{"name": "bulk", "weight": 1}, {"name": "urgent", "strict": True}]
HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

#: Fallback values by the name of the key.
BY_NAME = {
    "transport": "storage",
    "switches": ["tor-a", "tor-b", "core"],
    "sizes": "websearch",
    "message": "websearch",
    "background": "datamining",
    "query": "websearch",
    "mss": "1000B",
    "payload": "1000B",
    "min_rate": "100Mbps",
    "description": "Which buffer does the sort need?",
    "class": "query",
    "pairs": [[0, 1]],
    "shuffle_memory": "512MiB",
    "max_memory": "8GB",
    "stride": 1,
    "dscp": 26,
    "weights": {"spine0": 2},
    "dscp_to_priority": {"26": 3},
    "ack": "64B",
    "syn": "64B",
    "cnp": "64B",
    "data_header": "58B",
    "mtu_header": "40B",
    "min_frame": "64B",
    "gap": "20B",
    "g": 0.0625,
    "first_rate": 0.5,
    "mean": "20ms",
    "hosts": ["db1", "db2", "web1"],
    "sonic": {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}}},
}

#: Values that are only meaningful for one key.
OWN = {
    "switch.queue": QUEUES,
    "switch.override.queue": QUEUES,
    "host.nic_queue": QUEUES,
    "host.override.nic_queue": QUEUES,
    "host.nic_ecn": {"k": "100kB"},
    "host.override.nic_ecn": {"k": "100kB"},
    "topology.dragonfly.routers": 4,
    "topology.dragonfly.groups": 3,
    "topology.override.link": "leaf0-spine1",
    "topology.fault.link": "leaf0-spine1",
    "topology.link.a": "leaf0",
    "topology.link.b": "spine0",
    "cost.override.port": 300,
    "host.transport.rdma.payload": "1000B",
    "traffic.flows.file": "flows.csv",
    "traffic.flows.sha256": HASH,
    "traffic.hadoop_trace.file": "jobs.tsv",
    "traffic.hadoop_trace.sha256": HASH,
    "traffic.random.matrix": "matrix.csv",
    "traffic.random.matrix_sha256": HASH,
    "traffic.sizes.file": "sizes.txt",
    "traffic.sizes.mean": "100kB",
    "traffic.sizes.sha256": HASH,
    "topology.hpcc.file": "topology.txt",
    "topology.hpcc.sha256": HASH,
}


@cache
def scenarios() -> list[dict[str, Any]]:
    return list(read())


def read() -> Iterator[dict[str, Any]]:
    """Yields scenarios, the most instructive first: templates, examples, studies, then blocks of
    documentation pages."""
    for folder in ("python/afflux/templates", "examples", "python/afflux/studies", "benches"):
        for path in sorted((REPO / folder).rglob("*.toml")):
            yield tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((REPO / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        blocks = re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S) + [
            "".join(re.findall(r"^(?: {4}.*|)\n", part, re.M)) for part in text.split("\n\n\n")
        ]
        for block in blocks:
            try:
                yield tomllib.loads(re.sub(r"^ {4}", "", block, flags=re.M))
            except tomllib.TOMLDecodeError:
                continue


@cache
def used() -> dict[tuple[str, str], list[Any]]:
    """Returns the values in scenarios, by table and key."""
    found: dict[tuple[str, str], list[Any]] = {}
    known = document()
    for scenario in scenarios():
        collect(known, known.tables[0], scenario, found)
    return found


def collect(
    known: Document, table: Table, data: Any, found: dict[tuple[str, str], list[Any]]
) -> None:
    if not isinstance(data, dict):
        return
    kind = data.get("kind", next(iter(table.kinds), None))
    variant = table.variants.get(kind) if isinstance(kind, str) else None
    for name, value in data.items():
        key = (variant and variant.key(name)) or table.key(name)
        if key is None:
            continue
        found.setdefault((key.table.name, name), []).append(value)
        for definition in key.type.tables:
            inner = known.by_definition[definition]
            parts = (
                value
                if isinstance(value, list)
                else value.values()
                if key.type.many == "map" and isinstance(value, dict)
                else [value]
            )
            for part in parts:
                collect(known, inner, part, found)


def example(key: Key) -> Any:
    """Returns an example value of the key."""
    if (own := OWN.get(f"{key.table.name}.{key.name}")) is not None:
        return own
    values = [
        value for value in used().get((key.table.name, key.name), []) if len(toml(value)) <= LONG
    ]
    default = literal(key)
    # Prefer the most frequent value in scenarios, but not the default.
    others = [value for value in values if value != default] or values
    if others:
        return max(others, key=others.count)
    if (
        key.name in BY_NAME
        and (default is None or key.type.many)
        and "hosts:" not in key.type.words[0]
    ):
        return BY_NAME[key.name]
    if key.schema.get("type") == "boolean":
        return not default
    if key.type.tables:
        return of_type(key)
    if others := [word for word, _ in key.type.choices if word != default]:
        return others[0]
    if default is not None:
        return default
    return of_type(key)


def of_type(key: Key) -> Any:
    if key.type.many == "array" and not key.type.tables:
        inner = key.schema.get("items", {})
        count = inner and key.schema.get("minItems", 1)
        value = next(
            (
                value
                for word, value in BY_TYPE.items()
                if re.search(rf"\b{word}", key.type.words[0])
            ),
            0,
        )
        return [value] * count if count else [value]
    if key.type.tables:
        table = document().by_definition[key.type.tables[0]]
        value = filled(table)
        return (
            [value]
            if key.type.many == "array"
            else {"name": value}
            if key.type.many == "map"
            else value
        )
    if key.type.low is not None and key.type.number:
        return key.type.low if key.type.low > 0 else min(4, key.type.high or 4)
    for word, value in BY_TYPE.items():
        if key.type.words[0].startswith(word):
            return value
    return {}


def filled(table: Table, kind: str | None = None) -> dict[str, Any]:
    """Returns the table with its required keys, or with its first key if none is required."""
    if table.kinds:
        kind = kind or next(iter(table.variants or table.kinds))
        variant = table.variants.get(kind)
        required = {
            key.name: example(key)
            for part in (table, variant)
            if part
            for key in part.keys
            if key.required and key.name != "kind"
        }
        return {"kind": kind} | required
    required = {key.name: example(key) for key in table.keys if key.required}
    return required or {key.name: example(key) for key in table.keys[:1]}


def literal(key: Key) -> Any:
    """Returns the value at the beginning of the default's description, if it is a value of the
    key's type."""
    begins = re.match(r"`|-?\d|(?:true|false)\b", key.default or "")
    return next(iter(facts.literals(key)), None) if begins else None
