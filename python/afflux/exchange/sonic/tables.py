"""The tables of config_db.json that afflux understands, checked field by field.

Table and field names and their meaning: sonic-net/SONiC, doc/qos; sonic-buildimage's templates. Values are strings there, lists where
several are meant. References are written `name` or, in old images, `[TABLE|name]`.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ... import _core
from ..account import shown
from ..reading import content, json_value

#: A configuration has some megabytes at most.
_MOST_BYTES = 16 << 20

#: Table → key (ports spelt out one by one) → field → value.
Tables = dict[str, dict[str, dict[str, str]]]


class ConfigError(ValueError):
    """A config_db.json that cannot be used: names file, line, table, key and field."""


@dataclass(frozen=True)
class Kind:
    """What a field may hold, in words and as a test."""

    words: str
    fits: Callable[[str], bool]


def _whole(low: int, high: int | None = None) -> Kind:
    words = f"a whole number from {low} to {high}" if high is not None else f"a whole number of at least {low}"
    return Kind(words, lambda text: bool(re.fullmatch(r"-?[0-9]{1,18}", text)) and low <= int(text) and (high is None or int(text) <= high))


def _one_of(*words: str) -> Kind:
    return Kind(f"one of {', '.join(words)}", lambda text: text in words)


def _list(low: int, high: int) -> Kind:
    return Kind(f"numbers from {low} to {high} with commas", lambda text: all(_whole(low, high).fits(part) for part in text.split(",")))


BYTES = _whole(0)
NAME = Kind("a name", lambda text: bool(text.strip()))
NAMES = Kind("names with commas", lambda text: all(part.strip() for part in text.split(",")))
SWITCH = _one_of("true", "false")
METRES = Kind('a length in metres as in "40m"', lambda text: bool(re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?m", text)))
MILLISECONDS = _whole(0)
#: SAI's exponents of alpha: the threshold is 2 to the power of it times the free memory.
DYNAMIC = _whole(-8, 8)


@dataclass(frozen=True)
class Layout:
    """A table: the fields of an entry; `any` for entries whose field names are data (maps)."""

    fields: Mapping[str, Kind] = field(default_factory=dict)
    any: tuple[Kind, Kind] | None = None
    needs: tuple[str, ...] = ()
    #: What the parts of a key are, between bars.
    key: tuple[str, ...] = ("name",)
    #: Field → table that its value is a key of.
    refers: Mapping[str, str] = field(default_factory=dict)


def _colours(name: str, kind: Kind) -> dict[str, Kind]:
    return {f"{colour}_{name}": kind for colour in ("green", "yellow", "red")}


_MAP = Layout(any=(_whole(0, 63), _whole(0, 15)))
_PROFILE_LIST = Layout({"profile_list": NAMES}, needs=("profile_list",), key=("port",), refers={"profile_list": "BUFFER_PROFILE"})

LAYOUTS: dict[str, Layout] = {
    "BUFFER_POOL": Layout(
        {"size": BYTES, "type": _one_of("ingress", "egress", "both"), "mode": _one_of("static", "dynamic"), "xoff": BYTES, "percentage": _whole(0, 100)},
        needs=("type", "mode"),
    ),
    "BUFFER_PROFILE": Layout(
        {
            "pool": NAME,
            "size": BYTES,
            "static_th": BYTES,
            "dynamic_th": DYNAMIC,
            "xoff": BYTES,
            "xon": BYTES,
            "xon_offset": BYTES,
            "headroom_type": _one_of("static", "dynamic"),
            "packet_discard_action": _one_of("drop", "trim"),
        },
        refers={"pool": "BUFFER_POOL"},
    ),
    "BUFFER_PG": Layout({"profile": NAME}, needs=("profile",), key=("port", "priorities"), refers={"profile": "BUFFER_PROFILE"}),
    "BUFFER_QUEUE": Layout({"profile": NAME}, needs=("profile",), key=("port", "priorities"), refers={"profile": "BUFFER_PROFILE"}),
    "BUFFER_PORT_INGRESS_PROFILE_LIST": _PROFILE_LIST,
    "BUFFER_PORT_EGRESS_PROFILE_LIST": _PROFILE_LIST,
    "CABLE_LENGTH": Layout(any=(NAME, METRES)),
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": Layout({"default_dynamic_th": DYNAMIC, "over_subscribe_ratio": _whole(0)}),
    "LOSSLESS_TRAFFIC_PATTERN": Layout({"mtu": _whole(64, 10_000), "small_packet_percentage": _whole(0, 100)}),
    "DSCP_TO_TC_MAP": _MAP,
    "TC_TO_QUEUE_MAP": _MAP,
    "TC_TO_PRIORITY_GROUP_MAP": _MAP,
    "TC_TO_DSCP_MAP": Layout(any=(_whole(0, 15), _whole(0, 63))),
    "MAP_PFC_PRIORITY_TO_QUEUE": _MAP,
    "SCHEDULER": Layout(
        {"type": _one_of("DWRR", "WRR", "STRICT"), "weight": _whole(1, 100), "meter_type": NAME, "cir": BYTES, "cbs": BYTES, "pir": BYTES, "pbs": BYTES},
        needs=("type",),
    ),
    "QUEUE": Layout({"scheduler": NAME, "wred_profile": NAME}, key=("port", "priorities"), refers={"scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE"}),
    "WRED_PROFILE": Layout(
        {
            **{f"wred_{colour}_enable": SWITCH for colour in ("green", "yellow", "red")},
            "ecn": _one_of("ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red", "ecn_yellow_red", "ecn_all"),
            **_colours("min_threshold", BYTES),
            **_colours("max_threshold", BYTES),
            **_colours("drop_probability", _whole(0, 100)),
        }
    ),
    "PORT_QOS_MAP": Layout(
        {
            "dscp_to_tc_map": NAME,
            "dot1p_to_tc_map": NAME,
            "tc_to_queue_map": NAME,
            "tc_to_pg_map": NAME,
            "tc_to_dscp_map": NAME,
            "pfc_to_queue_map": NAME,
            "pfc_to_pg_map": NAME,
            "scheduler": NAME,
            "pfc_enable": _list(0, 7),
            "pfcwd_sw_enable": _list(0, 7),
            "pfc_asym": _one_of("on", "off"),
        },
        key=("port",),
        refers={
            "dscp_to_tc_map": "DSCP_TO_TC_MAP",
            "tc_to_queue_map": "TC_TO_QUEUE_MAP",
            "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
            "tc_to_dscp_map": "TC_TO_DSCP_MAP",
            "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
            "scheduler": "SCHEDULER",
        },
    ),
    "PFC_WD": Layout(
        {
            "action": _one_of("drop", "forward", "alert"),
            "detection_time": MILLISECONDS,
            "restoration_time": MILLISECONDS,
            "POLL_INTERVAL": MILLISECONDS,
            "BIG_RED_SWITCH": _one_of("enable", "disable"),
            "pfc_stat_history": _one_of("enable", "disable"),
        },
        key=("port",),
    ),
}


def read(path: str | os.PathLike[str]) -> tuple[Tables, list[str]]:
    """The understood tables of a config_db.json, and a note for each table that is not understood."""
    try:
        text = content(path, _MOST_BYTES).decode("utf-8")
        document = json_value(text, path, 1, "config_db.json: an object of tables", lambda pairs: _unique(pairs, path))
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: bytes that are not UTF-8: expected config_db.json") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: line 1: found {_kind(document)}, expected an object of tables, as in config_db.json")
    reader = _Reader(str(path), text)
    tables = {name: reader.table(name, content) for name, content in document.items() if name in LAYOUTS}
    unknown = [name for name in document if name not in LAYOUTS]
    if not tables:
        found = f"found {', '.join(map(shown, unknown[:5]))}" if unknown else "it is empty"
        raise ConfigError(f"{path}: no table of buffers or queues: {found}; expected some of {', '.join(LAYOUTS)}")
    reader.references(tables)
    return tables, [f"table {shown(name)[1:-1]} is unknown and ignored" for name in unknown]


def _unique(pairs: list[tuple[str, Any]], path: object) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ConfigError(f"{path}: {shown(twice)} occurs twice in one object")
    return found


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}.get(type(value), "a number")


class _Reader:
    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text

    def wrong(self, where: tuple[str, ...], message: str) -> ConfigError:
        keys = " → ".join(shown(name)[1:-1] for name in where)
        return ConfigError(f"{self.path}: line {self.line(where)}: {keys}: {message}")

    def line(self, where: tuple[str, ...]) -> int:
        """The line on which the innermost of nested names stands."""
        at = 0
        for name in where:
            found = re.compile(re.escape(json.dumps(name)) + r"\s*:").search(self.text, at)
            if not found:
                break
            at = found.start()
        return self.text.count("\n", 0, at) + 1

    def table(self, name: str, content: Any) -> dict[str, dict[str, str]]:
        if not isinstance(content, dict):
            raise self.wrong((name,), f"found {_kind(content)}, expected an object of entries")
        layout = LAYOUTS[name]
        entries: dict[str, dict[str, str]] = {}
        for key, entry in content.items():
            if not isinstance(entry, dict):
                raise self.wrong((name, key), f"found {_kind(entry)}, expected an object of fields")
            values = {known: self.value((name, key, known), layout, value) for known, value in entry.items()}
            for needed in layout.needs:
                if needed not in values:
                    raise self.wrong((name, key), f"{needed} is missing")
            self.name(key, (name, key))
            for single in self.keys(name, key, layout):
                if single in entries:
                    raise self.wrong((name, key), f"{shown(single)} stands there twice")
                entries[single] = values
        return entries

    def name(self, text: str, where: tuple[str, ...]) -> None:
        """Refuses what cannot stand in tables and on terminals; keys and values may be longer than names."""
        for part in re.split(r"[|,]", text):
            if part and (expected := _core.wrong_name(part.strip() or "-")):
                raise self.wrong(where, f"{shown(part)}: expected {expected}")

    def keys(self, table: str, key: str, layout: Layout) -> Iterator[str]:
        parts = key.split("|")
        if len(parts) != len(layout.key) or not all(parts):
            raise self.wrong((table, key), f"expected a key of the form {'|'.join(layout.key)}")
        if layout.key[-1] == "priorities" and not re.fullmatch(r"[0-9](-[0-9])?|[0-9]{2}(-[0-9]{2})?", parts[-1]):
            raise self.wrong((table, key), f"{shown(parts[-1])}: expected a number or a range of queues as in 3-4")
        if layout.key[0] != "port":
            yield key
            return
        for port in parts[0].split(","):
            yield "|".join([port.strip(), *parts[1:]])

    def value(self, where: tuple[str, str, str], layout: Layout, value: Any) -> str:
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, int):
            value = str(value)
        elif isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = ",".join(value)
        if not isinstance(value, str):
            raise self.wrong(where, f"found {_kind(value)}, expected text")
        name = where[2]
        self.name(value, where)
        if layout.any is not None:
            names, kind = layout.any
            if not names.fits(name):
                raise self.wrong(where, f"{shown(name)} stands where {names.words} is expected")
        elif name in layout.fields:
            kind = layout.fields[name]
        else:
            raise self.wrong(where, f"unknown field; known are {', '.join(layout.fields)}")
        target = layout.refers.get(name)
        if target:
            value = ",".join(_target(part, target) for part in value.split(","))
        if not kind.fits(value):
            raise self.wrong(where, f"found {shown(value)}, expected {kind.words}")
        return value

    def references(self, tables: Tables) -> None:
        """Every name that is referred to is there, as far as its table is in this file: QoS and buffers often come apart."""
        for name, entries in tables.items():
            for key, entry in entries.items():
                for known, target in LAYOUTS[name].refers.items():
                    for wanted in entry.get(known, "").split(",") if known in entry else []:
                        if target in tables and wanted not in tables[target]:
                            raise self.wrong(
                                (name, key, known),
                                f"{target} has no {shown(wanted)}; it has {', '.join(shown(known)[1:-1] for known in list(tables[target])[:12])}",
                            )


def _target(text: str, table: str) -> str:
    """`[TABLE|name]` of old images is `name`."""
    found = re.fullmatch(rf"\[{table}\|(.+)\]", text.strip())
    return found.group(1) if found else text.strip()
