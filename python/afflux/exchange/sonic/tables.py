"""Checks the tables of config_db.json that afflux understands, field by field.

Names, references and allowed values: the YANG models sonic-*.yang of sonic-net/sonic-buildimage
(src/sonic-yang-models/yang-models). Values are strings there, or lists of strings. References are
written `name` or, in old images, `[TABLE|name]`.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ... import _core
from ..account import Account, shown
from .document import Document
from .ports import Key

#: Values by table, key (with ports listed singly) and field.
Tables = dict[str, dict[str, dict[str, str]]]


class ConfigError(ValueError):
    """A config_db.json that cannot be used. The message names file, line, table, key and field."""


@dataclass(frozen=True)
class Kind:
    """Allowed values of a field, in words and as a test."""

    words: str
    fits: Callable[[str], bool]


def _whole(low: int, high: int | None = None) -> Kind:
    words = (
        f"a whole number from {low} to {high}"
        if high is not None
        else f"a whole number of at least {low}"
    )
    return Kind(
        words,
        lambda text: (
            bool(re.fullmatch(r"-?[0-9]{1,18}", text))
            and low <= int(text)
            and (high is None or int(text) <= high)
        ),
    )


def _one_of(*words: str) -> Kind:
    return Kind(f"one of {', '.join(words)}", lambda text: text in words)


def _list(low: int, high: int) -> Kind:
    return Kind(
        f"numbers from {low} to {high} with commas, or nothing",
        lambda text: not text or all(_whole(low, high).fits(part) for part in text.split(",")),
    )


BYTES = _whole(0)
NAME = Kind("a name", lambda text: bool(text))
NAMES = Kind("names with commas", lambda text: all(text.split(",")))
SWITCH = _one_of("true", "false")
METRES = Kind(
    'a length in metres as in "40m", or "None"',
    lambda text: text == "None" or bool(re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?m", text)),
)
#: Times in ms. 0 is not a valid time; 1000 s is the longest time of a scenario.
MILLISECONDS = _whole(1, 1_000_000)
#: SAI's exponents of alpha: the threshold is 2 to this power times the free memory.
DYNAMIC = _whole(-8, 8)
_PRIORITY, _CLASS, _DSCP = _whole(0, 7), _whole(0, 15), _whole(0, 63)


@dataclass(frozen=True)
class Layout:
    """Layout of a table: the fields of an entry. `any` is for entries whose field names are data
    (maps)."""

    fields: Mapping[str, Kind] = field(default_factory=dict)
    any: tuple[Kind, Kind] | None = None
    needs: tuple[str, ...] = ()
    #: Kinds of the parts of a key, which are separated by bars. In a chassis with virtual output
    #: queues, names of line card and chip precede the port of a queue.
    key: tuple[str, ...] = ("name",)
    #: Tables whose keys are the values of a field, by field.
    refers: Mapping[str, str] = field(default_factory=dict)
    #: True if the table stays in `[sonic]` and export writes it. Tables about a device's ports and
    #: place are only read.
    kept: bool = True


def _colours(name: str, kind: Kind, prefix: str = "") -> dict[str, Kind]:
    return {f"{prefix}{colour}_{name}": kind for colour in ("green", "yellow", "red")}


def marking_field(entry: Mapping[str, str], colour: str, what: str) -> str:
    """Returns the field of a WRED profile that sets the threshold ("min", "max") or the
    "probability" of ECN marks: that of newer images, or the field of the drop curve, which applies
    if the former is unset (sonic-wred-profile.yang)."""
    own, drops = (
        (f"ecn_{colour}_mark_probability", f"{colour}_drop_probability")
        if what == "probability"
        else (f"ecn_{colour}_{what}_threshold", f"{colour}_{what}_threshold")
    )
    return own if own in entry else drops


_PROFILE_LIST = Layout(
    {"profile_list": NAMES},
    needs=("profile_list",),
    key=("port",),
    refers={"profile_list": "BUFFER_PROFILE"},
)

LAYOUTS: dict[str, Layout] = {
    "BUFFER_POOL": Layout(
        {
            "size": BYTES,
            "type": _one_of("ingress", "egress", "both"),
            "mode": _one_of("static", "dynamic"),
            "xoff": BYTES,
            "percentage": _whole(0, 100),
        },
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
    "BUFFER_PG": Layout(
        {"profile": NAME},
        needs=("profile",),
        key=("port", "priorities"),
        refers={"profile": "BUFFER_PROFILE"},
    ),
    "BUFFER_QUEUE": Layout(
        {"profile": NAME},
        needs=("profile",),
        key=("port", "priorities"),
        refers={"profile": "BUFFER_PROFILE"},
    ),
    "BUFFER_PORT_INGRESS_PROFILE_LIST": _PROFILE_LIST,
    "BUFFER_PORT_EGRESS_PROFILE_LIST": _PROFILE_LIST,
    "CABLE_LENGTH": Layout(any=(NAME, METRES)),
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": Layout(
        {"default_dynamic_th": DYNAMIC, "over_subscribe_ratio": _whole(0, 65_535)}
    ),
    "LOSSLESS_TRAFFIC_PATTERN": Layout(
        {"mtu": _whole(64, 65_535), "small_packet_percentage": _whole(0, 100)}
    ),
    "DSCP_TO_TC_MAP": Layout(any=(_DSCP, _CLASS)),
    "DSCP_TO_FC_MAP": Layout(any=(_DSCP, _DSCP)),
    "DOT1P_TO_TC_MAP": Layout(any=(_PRIORITY, _CLASS)),
    "MPLS_TC_TO_TC_MAP": Layout(any=(_PRIORITY, _CLASS)),
    "TC_TO_QUEUE_MAP": Layout(any=(_CLASS, _CLASS)),
    "TC_TO_PRIORITY_GROUP_MAP": Layout(any=(_CLASS, _PRIORITY)),
    "TC_TO_DSCP_MAP": Layout(any=(_CLASS, _DSCP)),
    "MAP_PFC_PRIORITY_TO_QUEUE": Layout(any=(_PRIORITY, _CLASS)),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": Layout(any=(_PRIORITY, _PRIORITY)),
    "SCHEDULER": Layout(
        {
            "type": _one_of("DWRR", "WRR", "STRICT"),
            "weight": _whole(1, 100),
            "priority": _whole(0, 9),
            "meter_type": _one_of("packets", "bytes"),
            "cir": BYTES,
            "cbs": BYTES,
            "pir": BYTES,
            "pbs": BYTES,
        }
    ),
    "QUEUE": Layout(
        {"scheduler": NAME, "wred_profile": NAME},
        key=("port", "priorities"),
        refers={"scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE"},
    ),
    "WRED_PROFILE": Layout(
        {
            **{f"wred_{colour}_enable": SWITCH for colour in ("green", "yellow", "red")},
            "ecn": _one_of(
                "ecn_none",
                "ecn_green",
                "ecn_yellow",
                "ecn_red",
                "ecn_green_yellow",
                "ecn_green_red",
                "ecn_yellow_red",
                "ecn_all",
            ),
            **_colours("min_threshold", BYTES),
            **_colours("max_threshold", BYTES),
            **_colours("drop_probability", _whole(0, 100)),
            # Marking of ECN-capable frames, in newer images.
            **_colours("min_threshold", BYTES, "ecn_"),
            **_colours("max_threshold", BYTES, "ecn_"),
            **_colours("mark_probability", _whole(0, 100), "ecn_"),
        }
    ),
    "PORT_QOS_MAP": Layout(
        {
            "dscp_to_tc_map": NAME,
            "dscp_to_fc_map": NAME,
            "dot1p_to_tc_map": NAME,
            "mpls_tc_to_tc_map": NAME,
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
            "dscp_to_fc_map": "DSCP_TO_FC_MAP",
            "dot1p_to_tc_map": "DOT1P_TO_TC_MAP",
            "mpls_tc_to_tc_map": "MPLS_TC_TO_TC_MAP",
            "tc_to_queue_map": "TC_TO_QUEUE_MAP",
            "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
            "tc_to_dscp_map": "TC_TO_DSCP_MAP",
            "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
            "pfc_to_pg_map": "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
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
    "PORT": Layout(
        {
            "speed": _whole(1, 1_600_000),
            "lanes": NAMES,
            "mtu": _whole(64, 65_535),
            "pfc_asym": _one_of("on", "off"),
        },
        kept=False,
    ),
    "DEVICE_METADATA": Layout({"hwsku": NAME, "platform": NAME}, kept=False),
    "DEVICE_NEIGHBOR": Layout({"name": NAME, "local_port": NAME, "port": NAME}, kept=False),
    "SWITCH_TRIMMING": Layout(
        {"size": BYTES, "dscp_value": NAME, "tc_value": NAME, "queue_index": NAME}, kept=False
    ),
}

#: Name of a profile that SONiC computes (its dynamic buffer model).
COMPUTED = "NULL"


class Embedded:
    """The tables in `[sonic]` of a scenario."""

    def __init__(self, path: str | os.PathLike[str], text: str, tables: Mapping[str, Any]) -> None:
        self.path, self.text, self.tables = os.fspath(path), text, tables

    def line(self, where: tuple[str, ...]) -> int:
        """Returns the line of the innermost of nested names that is found."""
        for length in range(len(where), -1, -1):
            if (line := _core.line_of(self.text, ("sonic", *where[:length]))) is not None:
                return line
        return 1


def in_scenario(path: str | os.PathLike[str], text: str, tables: Mapping[str, Any]) -> Tables:
    """Returns the tables in `[sonic]` of a scenario, which a user may have changed."""
    document = Embedded(path, text, tables)
    for name in tables:
        if name not in LAYOUTS:
            raise ConfigError(
                f"{path}:{document.line((name,))}: sonic.{name}: unknown table; expected some of {', '.join(LAYOUTS)}"
            )
    checked = Checked(document, Account("fields"))
    checked.references(checked.tables)
    checked.consistent()
    return checked.tables


class Checked:
    """The understood tables of one file."""

    def __init__(self, document: "Document | Embedded", account: Account, beside: str = "") -> None:
        self.document, self.account, self.beside = document, account, beside
        path = document.path
        known = {name: content for name, content in self.document.tables.items() if name in LAYOUTS}
        unknown = [name for name in self.document.tables if name not in LAYOUTS]
        if not any(LAYOUTS[name].kept for name in known):
            found = (
                f"found {', '.join(map(shown, [*known, *unknown][:5]))}"
                if known or unknown
                else "it is empty"
            )
            wanted = ", ".join(name for name, layout in LAYOUTS.items() if layout.kept)
            raise ConfigError(
                f"{path}: no table of buffers or queues: {found}; expected some of {wanted}"
            )
        self.tables: Tables = {name: self.table(name, content) for name, content in known.items()}
        for name in getattr(document, "deleted", ()):
            account.noted(
                f'{beside}"OP": "DEL": the entry is deleted, so it is left out', shown(name)[1:-1]
            )
        for name in unknown:
            account.noted(f"{beside}table {shown(name)[1:-1]} is unknown and ignored")

    def wrong(self, where: tuple[str, ...], message: str) -> ConfigError:
        keys = " → ".join(shown(name)[1:-1] for name in where)
        return ConfigError(f"{self.document.path}:{self.document.line(where)}: {keys}: {message}")

    def table(self, name: str, content: Any) -> dict[str, dict[str, str]]:
        if not isinstance(content, dict):
            raise self.wrong((name,), f"found {kind_of(content)}, expected an object of entries")
        layout = LAYOUTS[name]
        entries: dict[str, dict[str, str]] = {}
        for key, entry in content.items():
            if not isinstance(entry, dict):
                raise self.wrong(
                    (name, key), f"found {kind_of(entry)}, expected an object of fields"
                )
            values = self.entry(name, key, layout, entry)
            for needed in layout.needs:
                if needed not in values:
                    raise self.wrong((name, key), f"{needed} is missing")
            self.name(key, (name, key))
            for single in self.keys(name, key, layout):
                if single in entries:
                    raise self.wrong((name, key), f"{shown(single)} stands there twice")
                entries[single] = values
        return entries

    def entry(
        self, name: str, key: str, layout: Layout, entry: Mapping[str, Any]
    ) -> dict[str, str]:
        values: dict[str, str] = {}
        for written, value in entry.items():
            # Redis has no empty entries and no lists: the database of a switch contains `NULL:
            # NULL`, and a list as `field@`.
            known = written.removesuffix("@")
            if written == COMPUTED == value:
                continue
            if layout.any is None and known not in layout.fields:
                self.unknown(name, key, known, value, values)
            else:
                values[known] = self.value((name, key, written), known, layout, value)
        return values

    def unknown(self, name: str, key: str, known: str, value: Any, values: dict[str, str]) -> None:
        """Handles a field of a newer image, or one that does not matter: keeps it for export if it
        is text, otherwise notes it."""
        text = _text(value)
        if text is not None and all(_core.wrong_name(part) is None for part in (known, text)):
            values[known] = text
        else:
            self.account.noted(
                f"{self.beside}{name}: {shown(known)[1:-1]}: unknown field, neither used nor exported",
                f"{name}|{key}",
            )

    def name(self, text: str, where: tuple[str, ...]) -> None:
        """Refuses characters that are not allowed in tables and on terminals. Keys and values may
        be longer than names."""
        for part in re.split(r"[|,]", text):
            if part and (expected := _core.wrong_name(part.strip() or "-")):
                raise self.wrong(where, f"{shown(part)}: expected {expected}")

    def keys(self, table: str, key: str, layout: Layout) -> Iterator[str]:
        parts = [part.strip() for part in key.split("|")]
        of_queues = layout.key[-1] == "priorities"
        if (len(parts) != len(layout.key) and not (of_queues and len(parts) == 4)) or not all(
            parts
        ):
            raise self.wrong(
                (table, key),
                f"expected a key of the form {'|'.join(layout.key)}{' or card|chip|port|priorities' if of_queues else ''}",
            )
        if of_queues and not _QUEUES.fits(parts[-1]):
            raise self.wrong((table, key), f"{shown(parts[-1])}: expected {_QUEUES.words}")
        if layout.key[0] != "port":
            yield "|".join(parts)
            return
        split = Key.of("|".join(parts), of_queues)
        for port in split.port.split(","):
            yield str(Key(split.card, port.strip(), split.queues))

    def value(self, where: tuple[str, str, str], name: str, layout: Layout, value: Any) -> str:
        text = _text(value)
        if text is None:
            raise self.wrong(where, f"found {kind_of(value)}, expected text")
        self.name(text, where)
        if layout.any is not None:
            names, kind = layout.any
            if not names.fits(name):
                raise self.wrong(where, f"{shown(name)} stands where {names.words} is expected")
        else:
            kind = layout.fields[name]
        target = layout.refers.get(name)
        if target:
            text = ",".join(_target(part, target) for part in text.split(","))
        if not kind.fits(text):
            raise self.wrong(where, f"found {shown(text)}, expected {kind.words}")
        return text

    def references(self, tables: Tables) -> None:
        """Checks that every referenced name is in `tables`, if the table is there: QoS and buffers
        are often in separate files."""
        for name, entries in self.tables.items():
            for key, entry in entries.items():
                for known, target in LAYOUTS[name].refers.items():
                    for wanted in entry.get(known, "").split(",") if known in entry else []:
                        if target in tables and wanted not in tables[target] and wanted != COMPUTED:
                            has = (
                                ", ".join(shown(known)[1:-1] for known in list(tables[target])[:12])
                                or "no entry"
                            )
                            raise self.wrong(
                                (name, key, known), f"{target} has no {shown(wanted)}; it has {has}"
                            )

    def consistent(self) -> None:
        """Checks the conditions of the models between fields of one entry."""
        for name, entry in self.tables.get("WRED_PROFILE", {}).items():
            for colour in ("green", "yellow", "red"):
                drops = (f"{colour}_min_threshold", f"{colour}_max_threshold")
                marks = (marking_field(entry, colour, "min"), marking_field(entry, colour, "max"))
                for low, high in (drops, marks):
                    if low in entry and high in entry and int(entry[low]) > int(entry[high]):
                        raise self.wrong(
                            ("WRED_PROFILE", name, low),
                            f"found '{entry[low]}', expected at most {high}, which is {entry[high]}",
                        )


def _range(text: str) -> bool:
    found = re.fullmatch(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", text)
    return found is not None and int(found[1]) <= int(found[2] or found[1])


_QUEUES = Kind("a number or a range of queues as in 3-4", _range)


def together(paths: list[str | os.PathLike[str]], account: Account) -> Tables:
    """Returns the combined tables of several files: buffers and QoS are often in separate files."""
    tables: Tables = {}
    files = [
        Checked(Document(path), account, f"{os.fspath(path)}: " if len(paths) > 1 else "")
        for path in paths
    ]
    for file in files:
        for name, entries in file.tables.items():
            of_all = tables.setdefault(name, {})
            for key in of_all.keys() & entries.keys():
                if of_all[key] != entries[key]:
                    raise file.wrong((name, key), "the files give different values")
            of_all.update(entries)
    for file in files:
        file.references(tables)
        file.consistent()
    return tables


def read(path: str | os.PathLike[str], account: Account) -> Tables:
    """Returns the understood tables of a config_db.json."""
    return together([path], account)


def kind_of(value: Any) -> str:
    return {
        dict: "an object",
        list: "a list",
        str: "text",
        bool: "true or false",
        type(None): "null",
    }.get(type(value), "a number")


def _text(value: Any) -> str | None:
    """Returns a value as text, without blanks around its parts; `None` if it is nested."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list) and all(isinstance(part, str | int) for part in value):
        value = ",".join(map(str, value))
    return ",".join(part.strip() for part in value.split(",")) if isinstance(value, str) else None


def _target(text: str, table: str) -> str:
    """Returns the name of a reference. Old images write `[TABLE|name]`."""
    found = re.fullmatch(rf"\[{table}(?:_TABLE)?[|:](.+)\]", text)
    return found.group(1) if found else text
