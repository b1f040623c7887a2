"""Checks a result against the format that afflux writes: keys of summary.json, columns of its
tables, and points in the manifest of a batch, with types and ranges. All readers get values that were checked here first. So a result of
another program, or one that was edited and sealed again, causes one plain error message.

A table is checked column by column, when a column is used: a report reads a third of the columns of
a large result.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from .. import _core, spelling
from ..display import Card, Displayed
from ..extras import MissingExtra, library
from . import shown
from .part import Part

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: Largest whole number: 64 bits. Largest other number: no simulated value comes near it, and sums
#: and products of such numbers are finite.
_MOST_WHOLE, _MOST = 2**64 - 1, 1e24


class DamagedResult(_core.Error):
    """A file of a result directory differs from its digest, or is not as afflux writes it."""


class NotAsWritten(DamagedResult, ValueError):
    """A file of a result directory has content that afflux never writes."""

    def __init__(self, path: Path | str, found: str, cure: str = "simulate again") -> None:
        self.found = found
        super().__init__(f"{path}: not as afflux writes it: {found}: restore the file, or {cure}")


@dataclass(frozen=True)
class _Kind:
    """Values of one type and range. `words` follow "expected" in a message."""

    words: str
    fits: Callable[[Any], bool]

    def __or__(self, nothing: None) -> "_Kind":
        return _Kind(f"{self.words}, or null", lambda value: value is None or self.fits(value))


@dataclass(frozen=True)
class _ByName:
    """An object with any names, whose values are all of one kind."""

    of: Any
    names: re.Pattern[str] = re.compile(r"(?s).*")


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST_WHOLE


_COUNT = _Kind("a whole number, not negative", _whole)
_NUMBER = _Kind(
    "a number, not negative", lambda value: type(value) in (int, float) and 0 <= value <= _MOST
)
_TEXT = _Kind("text", lambda value: type(value) is str)
_FLAG = _Kind("true or false", lambda value: type(value) is bool)
_DIGEST = _Kind(
    "a SHA-256",
    lambda value: type(value) is str and re.fullmatch(r"[0-9a-f]{64}", value) is not None,
)
_SIZES = re.compile(r"all|(le|gt)_\d+[KMGT]?B|\d+[KMGT]?B_\d+[KMGT]?B")
#: Names of files in a result directory, none of which leads out of it. Captures are named after
#: nodes, and names of nodes have letters of any language and most signs.
_FILES = re.compile(r"(?!\.{1,2}$)[^/\\\x00-\x1f\x7f\ud800-\udfff]{1,255}")


def _groups(statistics: Mapping[str, Any]) -> dict[str, Any]:
    of = {"count": _COUNT, "unfinished": _COUNT, "censored": _FLAG, **statistics}
    return {"all": of, "by_size": _ByName(of, _SIZES), "by_class": _ByName(of)}


_PERCENTILES = ("p50", "p95", "p99", "p999")
_TIMES = {f"{name}_ns": _NUMBER | None for name in ("mean", *_PERCENTILES)}
_RATIOS: dict[str, Any] = dict.fromkeys(("mean", *_PERCENTILES, "ideal_mean_ns"), _NUMBER | None)
_PHASE = {"name": _TEXT, "start_ns": _COUNT, "finish_ns": _COUNT | None}
_JOB = {
    "name": _TEXT,
    "start_ns": _COUNT | None,
    "finish_ns": _COUNT | None,
    "completion_ns": _COUNT | None,
    "phases": [_PHASE],
}
_JOB_TIMES = {
    "started": _COUNT,
    "finished": _COUNT,
    "unfinished": _COUNT,
    "censored": _FLAG,
    **_TIMES,
}
_JOBS = {
    **_JOB_TIMES,
    "by_block": _ByName(_JOB_TIMES),
    "by_kind": _ByName(_JOB_TIMES, re.compile("query|coflow|job")),
    "each": [_JOB],
}
_DEADLINES = {
    "flows": _COUNT,
    "met": _COUNT,
    "missed": _COUNT,
    "terminated": _COUNT,
    "met_share": _NUMBER | None,
    "missed_share": _NUMBER | None,
}
_BALANCE = {"sent": _COUNT, "delivered": _COUNT, "dropped": _COUNT, "in_flight": _COUNT}


@dataclass(frozen=True)
class _Maybe:
    """An object that may be null."""

    of: Any


#: Keys of summary.json: an object, a list, an object by names, or values of one kind. Keys that are
#: not listed here are kept and not used.
_SUMMARY: dict[str, Any] = {
    "afflux_version": _TEXT,
    "build": _TEXT | None,
    "name": _TEXT,
    "scenario_hash": _TEXT,
    "seed": _COUNT,
    "threads": _COUNT,
    "simulated_ns": _COUNT,
    "warmup_ns": _COUNT,
    "size_bounds": [_COUNT],
    **dict.fromkeys(("wall_s", "cpu_s", "engine_cpu_s", "engine_wall_s"), _NUMBER),
    "peak_rss_bytes": _COUNT | None,
    "events": _COUNT,
    "packet_hops": _COUNT,
    "flows": {
        "started": _COUNT,
        "finished": _COUNT,
        "unfinished": _COUNT,
        "not_started": _COUNT,
        "in_warmup": _COUNT,
        "of_kernels": _COUNT,
    },
    "fct": _groups(_TIMES),
    "slowdown": _groups(_RATIOS),
    "queueing": _Maybe({"flows": _COUNT, "host_mean_ns": _NUMBER, "network_mean_ns": _NUMBER}),
    "deadlines": _Maybe({"all": _DEADLINES, "by_class": _ByName(_DEADLINES)}),
    "jobs": _Maybe(_JOBS),
    **dict.fromkeys(
        ("drops", "in_discards", "ecn_marks", "pause_frames", "retransmits", "timeouts"), _COUNT
    ),
    "drops_by_reason": _ByName(_COUNT),
    "delivered_bytes": _COUNT | None,
    "busy_ns": _COUNT | None,
    "goodput_bps": _NUMBER,
    "goodput_flow_mean_bps": _NUMBER | None,
    "goodput": _Maybe(
        {"by_class": _ByName({"bps": _NUMBER | None, "jain": _NUMBER | None, "flows": _COUNT})}
    ),
    "conservation": {"packets": _BALANCE, "bytes": _BALANCE, "holds": _FLAG},
    "failed_checks": [{"flow": _COUNT | None, "check": _TEXT, "detail": _TEXT}],
    "failed_checks_total": _COUNT,
    "cost": _Maybe({"currency": _TEXT, "total": _NUMBER}),
    **dict.fromkeys(("result_hash", "ports_hash", "counters_hash"), _TEXT),
    "notes": [_TEXT],
    "warnings": [{"key": _TEXT, "text": _TEXT}],
    "host_names": [_TEXT],
    "digests": _ByName(_DIGEST, _FILES),
    "summary_digest": _DIGEST,
}


#: Keys of a point in the manifest of a batch.
_POINT: dict[str, Any] = {
    **dict.fromkeys(("scenario", "scenario_hash", "digest", "afflux_version"), _TEXT),
    "set": _ByName(_TEXT),
    "seed": _COUNT,
    "build": _TEXT | None,
    "status": _Kind('"finished" or "failed"', lambda value: value in ("finished", "failed")),
    "wall_s": _NUMBER,
    "result_hash": _TEXT,
    "peak_rss_bytes": _COUNT | None,
    "packet_hops": _COUNT,
    "error": _TEXT,
}


class _Object(dict[str, Any]):
    """An object of a summary. A missing key is refused only when it is used, because earlier
    versions wrote fewer keys."""

    def __init__(self, values: Mapping[str, Any], key: str, path: Path) -> None:
        super().__init__(values)
        self._key, self._path = key, path

    def __missing__(self, name: str) -> Any:
        raise NotAsWritten(self._path, f"it has no {self._key}{name}")

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)


def parsed(data: bytes, path: Path) -> dict[str, Any]:
    """Parses a summary and checks only that it names a scenario and a seed. Raises
    `NotAsWritten`."""
    found = read_object(data, path)
    for key in ("name", "seed"):
        if key not in found:
            raise NotAsWritten(path, f"it has no {key}")
    return found


def read_object(data: bytes, path: Path) -> dict[str, Any]:
    """Parses a JSON object. Raises `NotAsWritten`."""

    def refused(constant: str) -> None:
        raise NotAsWritten(path, f"{constant} is no number of JSON")

    try:
        found = json.loads(data, parse_constant=refused)
    except NotAsWritten:
        raise
    except RecursionError:
        raise NotAsWritten(path, "values are nested too deeply") from None
    except UnicodeDecodeError as error:
        raise NotAsWritten(
            path, f"line {1 + error.object.count(10, 0, error.start)} is no text in UTF-8"
        ) from None
    except json.JSONDecodeError as error:
        raise NotAsWritten(path, f"line {error.lineno} is no JSON ({error.msg})") from None
    except ValueError:
        raise NotAsWritten(path, "a number has thousands of digits") from None
    if not isinstance(found, dict):
        raise NotAsWritten(path, f"it is {_shown(found)}, expected an object")
    return found


def checked(summary: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Returns a summary after comparing its keys with those that afflux writes. Raises
    `NotAsWritten`, also later if a missing key is used."""
    found: dict[str, Any] = _checked(
        summary, {key: spec for key, spec in _SUMMARY.items() if key in summary}, "", path
    )
    for job in (found.get("jobs") or {}).get("each", []):
        if job["finish_ns"] is not None and job["start_ns"] is None:
            raise NotAsWritten(
                path, f"jobs.each: {_shown(job['name'])} has a finish_ns and no start_ns"
            )
    return found


def checked_point(entry: Any, key: str, path: Path) -> dict[str, Any]:
    """Returns the entry of a point in a manifest after comparing its keys with those that afflux
    writes. Raises `NotAsWritten`."""
    found: dict[str, Any] = _checked(entry, _POINT, f"points.{key}", path)
    # Reading a key that is missing raises the error.
    found["result_hash" if found["status"] == "finished" else "error"]
    return found


def _checked(value: Any, spec: Any, key: str, path: Path) -> Any:
    match spec:
        case _Kind():
            if not spec.fits(value):
                raise NotAsWritten(path, f"{key} is {_shown(value)}, expected {spec.words}")
            return value
        case _Maybe():
            return None if value is None else _checked(value, spec.of, key, path)
        case list():
            if not isinstance(value, list):
                raise NotAsWritten(path, f"{key} is {_shown(value)}, expected a list")
            return [
                _checked(inner, spec[0], f"{key}.{place}", path)
                for place, inner in enumerate(value)
            ]
    if not isinstance(value, Mapping):
        raise NotAsWritten(path, f"{key} is {_shown(value)}, expected an object")
    inside = f"{key}." if key else ""
    if isinstance(spec, _ByName):
        if wrong := next((name for name in value if not spec.names.fullmatch(name)), None):
            raise NotAsWritten(path, f"{key} has the name {_shown(wrong)}")
        known = dict.fromkeys(value, spec.of)
    else:
        known = {name: inner for name, inner in spec.items() if name in value}
    return _Object(
        {
            **value,
            **{
                name: _checked(value[name], inner, f"{inside}{name}", path)
                for name, inner in known.items()
            },
        },
        inside,
        path,
    )


def _shown(value: Any) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case int() if not -(10**30) < value < 10**30:
            return "a number of more than 30 digits"
    text = ascii(value) if isinstance(value, str) and not value[:61].isprintable() else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


# ------------------------------------------------------------------------------------------------------------ tables

#: Columns of each table, as its Rust test lists them (crates/results/src/tables/tests.rs). `?`: may
#: be null. `-1`: smallest value, if it is not 0.
_COLUMNS = {
    "flows": "id i64, class string, job string?, src i32, dst i32, bytes i64, start_ns i64?, finish_ns i64?, status string, fct_ns i64?, ideal_ns i64?, "
    "slowdown f64?, deadline_ns i64?, deadline_met bool?, packets_sent i64, packets_retransmitted i64, timeouts i64?, ecn_marked i64, "
    "packets_reordered i64, propagation_ns i64?, serialization_ns i64?, recovery_ns i64?, reordering_ns i64?, paused_ns i64?, queueing_ns i64?, "
    "pacing_ns i64?, window_ns i64?, application_ns i64?, src_name string, dst_name string, delivered_bytes i64, goodput_bps f64?, queueing_host_ns i64?, "
    "kernel bool",
    "ports": "time_ns i64, node string, port i32, queue i32 -1, peer string, queue_bytes i64, queue_bytes_max i64, tx_bytes i64, rx_bytes i64, drops i64, "
    "in_discards i64, ecn_marks i64, pause_frames_tx i64, pause_frames_rx i64, paused_ns i64, latency_ns_max i64, cnps i64",
    "links": "link i32, from string, to string, rate_bps i64 1, frames i64, bytes i64, utilisation f64, busy_ns i64",
    "jobs": "job string, phase string, task string, node i32?, start_ns i64?, finish_ns i64?, bytes_in i64, bytes_out i64, node_name string?",
    "paths": "flow i64, subflow i64, path string, frames i64, bytes i64, fct_ns i64?",
    "imbalance": "time_ns i64, node string, uplinks i32, bytes_min i64, bytes_max i64, bytes_avg f64, imbalance f64?",
    "reorder": "time_ns i64, node string, port i32 -1, queues i64, bytes i64",
    "round_trips": "flow i64, subflow i64, samples i64, least_ns i64?, mean_ns f64?, most_ns i64?, smoothed_ns i64",
    "senders": "time_ns i64, flow i64, subflow i64, window_bytes i64?, threshold_bytes i64?, in_flight_bytes i64, smoothed_rtt_ns i64?, "
    "pacing_bps i64?, state string?",
    "gaps": "node string, port i32, peer string, flow i64, subflow i64, frames i64, bytes i64, gap_ns_least i64?, gap_ns_mean f64?, "
    "gap_ns_deviation f64?, gap_ns_most i64?",
    "waits": "flow i64, node string, port i32, peer string, behind string?, own bool?, frames i64, wait_ns i64",
    "packets": "flow i64, protocol string, src_address string, src_port i32, dst_address string, dst_port i32, sent_packets i64, sent_bytes i64, "
    "received_packets i64, received_bytes i64, dropped_packets i64, retransmitted_bytes i64?, last_sent_ns i64?, last_received_ns i64?, "
    "delay_ns_least i64?, delay_ns_mean f64?, delay_ns_most i64?, round_trips i64?, round_trip_ns_least i64?, round_trip_ns_mean f64?, "
    "round_trip_ns_most i64?",
}
#: Columns that are null in the same rows. The others of a group are compared with its last one.
_NULL_TOGETHER: dict[str, tuple[tuple[str, ...], ...]] = {
    "flows": (
        ("finish_ns", "fct_ns"),
        (
            *(
                f"{label}_ns"
                for label in (
                    "serialization",
                    "recovery",
                    "reordering",
                    "paused",
                    "queueing",
                    "pacing",
                    "window",
                    "application",
                )
            ),
            "propagation_ns",
        ),
    ),
    "jobs": (("node_name", "node"),),
}
#: Columns whose values need a value in the other column.
_NEEDS = {
    "flows": {"fct_ns": "start_ns", "slowdown": "fct_ns", "propagation_ns": "slowdown"},
    "jobs": {"finish_ns": "start_ns"},
}
_TYPES: dict[str, tuple[str, type]] = {
    "i64": ("whole numbers", int),
    "i32": ("whole numbers", int),
    "f64": ("numbers", float),
}
#: Types in Arrow's words.
_ARROW_TYPES = {"i64": "int64", "i32": "int32", "f64": "double", "string": "string", "bool": "bool"}
_TYPES |= {"string": ("texts", str), "bool": ("true and false", bool)}


@dataclass(frozen=True)
class _Column:
    type: str
    null: bool
    least: int


def _columns(text: str) -> Iterator[tuple[str, _Column]]:
    for column in text.split(", "):
        name, kind, *least = column.split()
        yield name, _Column(kind.rstrip("?"), kind.endswith("?"), int(least[0]) if least else 0)


_TABLES = {name: dict(_columns(text)) for name, text in _COLUMNS.items()}


class Table(Displayed):
    """An Arrow table (PyCapsule interface): `pyarrow.table(t)`, `polars.DataFrame(t)`; DuckDB and
    pandas take it too.

    `t["fct_ns"]` is a column as a list. `t[["id", "fct_ns"]]` is a table of these columns, and
    `t[10:20]` a table of these rows.
    """

    def __init__(
        self,
        name: str,
        inner: _core.Table,
        path: Path | None = None,
        others: Callable[[str], Collection[int]] = lambda _: (),
        part: Part | None = None,
    ) -> None:
        """`path` is the file of a table that was read and is checked. `others` returns the values
        that a column may refer to in another table."""
        self._name, self._inner, self._path, self._others = name, inner, path, others
        self._part = part
        self._checked: set[str] = set()

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return self._inner.column_names if self._part is None else list(self._part.columns)

    def column(self, name: str) -> list[Any]:
        """Returns a column as a list; nulls are `None`. Raises `KeyError` if it does not exist,
        `NotAsWritten` if it has values that afflux does not write."""
        return (
            self._column(name)
            if self._part is None
            else self._part.of_list(self._column(self._known(name)))
        )

    def _column(self, name: str) -> list[Any]:
        """Returns a column of the whole table."""
        spec = _TABLES.get(self._name, {}).get(name)
        if self._path is None or spec is None:
            return self._inner.column(self._known(name))
        if name not in self._inner:
            raise NotAsWritten(self._path, f"it has no column {name}")
        try:
            values = self._inner.column(name)
        except TypeError:  # the column has a type that no column of afflux has
            raise NotAsWritten(
                self._path, f"column {name} has other values than {_TYPES[spec.type][0]}"
            ) from None
        if name not in self._checked:
            if found := self._wrong(name, spec, values):
                raise NotAsWritten(self._path, f"column {name} {found}")
            self._checked.add(name)
        return values

    def _wrong(self, name: str, spec: _Column, values: list[Any]) -> str | None:
        words, type_ = _TYPES[spec.type]
        types = set(map(type, values))
        if types - {type_, type(None)}:
            return f"has other values than {words}"
        if type(None) in types and not spec.null:
            return f"has no value in row {values.index(None) + 1}"
        if type_ in (int, float):
            there = (
                [value for value in values if value is not None] if type(None) in types else values
            )
            if there and not (
                math.isfinite(sum(there)) and min(there) >= spec.least and max(there) <= _MOST
            ):
                row = next(
                    row
                    for row, value in enumerate(values, 1)
                    if value is not None and not spec.least <= value <= _MOST
                )
                return f"is {values[row - 1]} in row {row}, expected {'a finite number' if type_ is float else 'a number'} of at least {spec.least}"
        return self._unrelated(name, values)

    def _unrelated(self, name: str, values: list[Any]) -> str | None:
        """Returns a contradiction to another column as text; None if there is none."""
        for group in _NULL_TOGETHER.get(self._name, ()):
            if name in group[:-1] and group[-1] in self._inner:
                for row, (value, other) in enumerate(
                    zip(values, self._inner.column(group[-1]), strict=True), 1
                ):
                    if (value is None) != (other is None):
                        return f"and column {group[-1]} are not both empty, or both filled, in row {row}"
        if (needed := _NEEDS.get(self._name, {}).get(name)) and needed in self._inner:
            for row, (value, other) in enumerate(
                zip(values, self._inner.column(needed), strict=True), 1
            ):
                if value is not None and other is None:
                    return f"has a value in row {row}, where {needed} has none"
        refers = name == "flow" or (self._name, name) in (
            ("flows", "src"),
            ("flows", "dst"),
            ("jobs", "node"),
        )
        if (
            refers
            and (unknown := {*values} - {*self._others(name)} - {None})
            and (name == "flow" or self._others(name))
        ):
            return f"has {min(unknown)}, which is no {'flow' if name == 'flow' else 'host'} of this result"
        return None

    def refuse(self, found: str) -> NotAsWritten:
        """Returns the exception for rows that contradict each other."""
        return NotAsWritten(self._path or f"{self._name}.parquet", found)

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...

    @overload
    def __getitem__(self, key: slice | list[str] | tuple[str, ...]) -> "Table": ...

    def __getitem__(self, key: str | slice | list[str] | tuple[str, ...]) -> "list[Any] | Table":
        if isinstance(key, str):
            return self.column(key)
        rows = range(len(self._inner)) if self._part is None else self._part.rows
        if isinstance(key, slice):
            part = Part(rows[key], tuple(self.column_names))
        elif isinstance(key, list | tuple) and all(isinstance(name, str) for name in key):
            part = Part(rows, tuple(map(self._known, key)))
            if len({*key}) < len(key):
                raise ValueError(f"a column is named twice: {', '.join(key)}")
        else:
            raise TypeError(
                f'{key!r} is no part of a table: write a column as in table["id"], columns as in table[["id", "fct_ns"]], or rows as in table[10:20]'
            )
        return Table(self._name, self._inner, self._path, self._others, part)

    def _known(self, name: str) -> str:
        """Returns the name if the table has a column of this name. Raises `KeyError`."""
        if name not in self.column_names:
            raise KeyError(spelling.unknown("column", name, self.column_names))
        return name

    def __contains__(self, name: object) -> bool:
        return name in self.column_names

    def __len__(self) -> int:
        return len(self._inner if self._part is None else self._part.rows)

    def to_arrow(self) -> "pyarrow.Table":
        """Returns a `pyarrow.Table` without copying the columns. Raises `MissingExtra`, an
        `ImportError`, if pyarrow is not installed."""
        made = library("Table.to_arrow", "pyarrow").table(self._inner)
        return made if self._part is None else self._part.of_frame(made, "take")

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns a `pandas.DataFrame`. Raises `MissingExtra`, an `ImportError`, if pandas or
        pyarrow, which converts the columns, is not installed."""
        library("Table.to_pandas", "pandas", "pyarrow")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """Returns a `polars.DataFrame` without copying the columns. Raises `MissingExtra`, an
        `ImportError`, if polars is not installed."""
        made = library("Table.to_polars", "polars").DataFrame(self._inner)
        return made if self._part is None else self._part.of_frame(made, "__getitem__")

    def __arrow_c_schema__(self) -> object:
        return (self._inner if self._part is None else self._cut().schema).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return (self._inner if self._part is None else self._cut()).__arrow_c_stream__(
            requested_schema
        )

    def _cut(self) -> Any:
        """Returns this part as a table of a library that can cut columns. Raises `MissingExtra` if
        neither pyarrow nor polars is installed."""
        with suppress(MissingExtra):
            return self.to_arrow()
        with suppress(MissingExtra):
            return self.to_polars()
        return self.to_arrow()

    def _card(self) -> Card:
        rows = range(len(self._inner)) if self._part is None else self._part.rows
        types = {
            name: _ARROW_TYPES[column.type] for name, column in _TABLES.get(self._name, {}).items()
        }
        return shown.of_table(self._name, self.column_names, rows, types, self._values)

    def _values(self, name: str) -> Sequence[Any]:
        """Returns the values of a whole column to show some of them. They are not compared with
        what afflux writes."""
        try:
            return self._inner.column(name)
        except TypeError:  # the column has a type that no column of afflux has
            return ["?"] * len(self._inner)
