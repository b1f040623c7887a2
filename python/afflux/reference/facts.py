"""Words facts about a key, with code in backticks: type, unit, default, range, example, source,
models."""

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from .. import _core
from ..files import toml
from .document import Key, Table

#: Units of plain numbers by table and key. All other numbers have no unit (a share, a factor, a
#: count of the things that the text names).
UNITS = {
    "switch.aqm.alpha": "1/s",
    "switch.aqm.beta": "1/s",
    "switch.aqm.limit": "frames",
    "switch.aqm.drop_batch": "frames",
    "switch.device_queue": "frames",
    "switch.override.device_queue": "frames",
    "switch.processor.queue": "frames",
    "switch.voq.evict_packets": "packets",
    "switch.pfc.quanta": "512 bit times",
    "host.pacer.queue_gain": "bps per bit",
    "host.transport.cubic.c": "segments/s³",
    "host.transport.bbr.send_quantum": "segments",
    "host.transport.bbr3.send_quantum": "segments",
    "host.transport.mptcp.queue_segments": "segments",
    "host.transport.delayed_ack.segments": "segments",
    "host.transport.tcp.burst": "segments",
    "host.transport.tcp.initial_window": "segments",
    "host.transport.tcp.max_window": "segments",
    "host.transport.tcp.dupack_threshold": "acknowledgements or segments",
    "host.transport.pfabric.initial_window": "segments",
    "host.transport.pfabric.max_window": "segments",
    "host.transport.pfabric.probe_after": "time-outs",
    "host.transport.ndp.initial_window": "frames",
    "host.transport.rdma.rto_low_frames": "frames",
    "host.transport.swift.ai": "frames",
    "host.transport.swift.fs_max": "frames",
    "host.transport.swift.fs_min": "frames",
    "host.transport.swift.initial_window": "frames",
    "host.transport.swift.max_window": "frames",
    "host.transport.swift.min_window": "frames",
    "host.transport.hpcc.max_stage": "round trips",
    "host.transport.pdq.early_start": "round trips",
    "host.transport.entropy.reps.explore": "frames",
    "traffic.random.flows_per_second": "1/s per source",
    "traffic.partition_aggregate.queries_per_second": "1/s per host",
    "traffic.partition_aggregate.messages_per_second": "1/s per host",
    "traffic.partition_aggregate.background_per_second": "1/s per host",
    "traffic.cluster.map_cpu_per_mb": "time per MB",
    "traffic.cluster.reduce_cpu_per_mb": "time per MB",
    "cost.port": "`cost.currency`",
    "cost.switch": "`cost.currency`",
    "cost.override.port": "`cost.currency`",
    "cost.override.switch": "`cost.currency`",
}

#: Description of the scenario for which computed defaults are given. It sets nothing else that a
#: key depends on.
SMALL = "with 4 hosts at 100 Gbps"


@cache
def recorded() -> dict[str, Any]:
    """Returns facts that the schema does not have. `python -m docs.generator.facts` asks afflux for
    them and writes the file."""
    return json.loads(Path(__file__).with_name("facts.json").read_text(encoding="utf-8"))


def _of(key: Key) -> dict[str, Any]:
    return recorded()["keys"].get(key.place, {})


def type_of(key: Key, here: bool = True) -> str:
    """Words the type of a key. `here`: the page lists its words below, including words without a
    description."""
    words = list(key.type.words)
    bare = [
        f"`{toml.value(value)}`"
        for value, text in key.type.choices
        if not any(said for _, said in key.type.choices)
    ]
    if bare and "one of these words" in words:
        at = words.index("one of these words")
        words[at : at + 1] = bare
    table = (
        "a word of the table above"
        if key.name == "kind" and not here
        else "a word of the table below"
    )
    return " or ".join(
        word.replace("one of these words", "a word of the list below" if here else table)
        for word in words
    )


def unit(key: Key) -> str:
    if (own := UNITS.get(f"{key.table.name}.{key.name}")) is not None:
        return own
    if key.type.units:
        return "; ".join(key.type.units)
    return "none" if key.type.number else ""


def default(key: Key) -> str:
    if key.required:
        return "required"
    return key.default or ""


def literals(key: Key) -> list[Any]:
    """Returns the values of the key's type that the description of its default names, in order."""
    said = key.default or ""
    found = []
    for text in re.findall(
        r"`([^`]+)`|((?<![\w.^/])-?\d[\d.]*(?:e-?\d+)?(?![\w^]|[.,]\d))|\b(true|false)\b", said
    ):
        if (text[1] and not (key.type.number or key.type.probability)) or (
            text[2] and key.schema.get("type") != "boolean"
        ):
            continue
        try:
            found.append(tomllib.loads(f"x = {text[0] or text[1].rstrip('.') or text[2]}")["x"])
        except tomllib.TOMLDecodeError:
            continue
    return found


#: Matches a single value, followed by at most its source or a remark.
_ONE = re.compile(r"(?:`[^`]+`|true|false|-?\d[\d.]*(?:e-?\d+)?)(?=$|[;:]| \(|, as )(?!.*\bwith\b)")


def plain(key: Key) -> bool:
    """True if the default is a single value that does not depend on other keys."""
    return _ONE.match(key.default or "") is not None and bool(literals(key))


def computed(key: Key) -> Any:
    """Returns the default in a small scenario, if the description does not give it."""
    return _of(key).get("value")


def example(key: Key) -> str:
    return f"{key.name} = {toml.value(_of(key)['example'])}" if "example" in _of(key) else ""


def limits(key: Key) -> str:
    low, high = key.type.low, key.type.high
    said = None if low is not None and high is not None else _of(key).get("range")
    if said is not None:
        return re.sub(r'("[^"]*")', r"`\1`", said)
    stated = (
        re.search(r"\b(\d[\d,]*) (?:\([^)]*\) )?to (\d[\d,]*)\b(?! %|\s?[a-zA-Z]*Hz)", key.text)
        if key.type.number and high is None
        else None
    )
    if stated:
        return f"{stated[1]} to {stated[2]}"
    if low is not None and high is not None:
        return f"{_number(low)}" if low == high else f"{_number(low)} to {_number(high)}"
    if low is not None and key.type.number:
        return f"from {_number(low)}"
    return ""


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def models(place: Key | Table) -> "list[_core.Model]":
    """Returns the models that a table, or a key, belongs to."""
    name = place.place if isinstance(place, Key) else place.name
    named = recorded()["models"].get(name, [])
    return [model for model in _core.models() if f"{model.kind}/{model.name}" in named]
