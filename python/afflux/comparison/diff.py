"""`afflux diff`: finds the keys, tables and flows in which two results or two scenarios differ."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .. import _core
from ..files import toml
from ..results.designs import affects_execution_only
from ..results.result import KERNELS, SCENARIO, SUMMARY, TABLES, Result, file_digest
from ..results.written import Table


@dataclass(frozen=True)
class Key:
    """A key with different values in the two scenarios; None if a scenario lacks the key."""

    key: str
    a: Any
    b: Any

    @property
    def affects_execution_only(self) -> bool:
        return affects_execution_only(self.key, self.a, self.b)


@dataclass(frozen=True)
class File:
    """A file of the two results. A digest of None means that the result lacks the file."""

    name: str
    #: SHA-256 of the file. For `summary.json`, the digest of its counters (`counters_hash`).
    hash_a: str | None
    hash_b: str | None
    #: Number of rows and columns, if the file is a table.
    rows_a: int | None = None
    rows_b: int | None = None
    columns_a: int | None = None
    columns_b: int | None = None
    #: Columns that only one table has, columns of both with different values, and number of rows
    #: with different values. Values are compared only if both tables have the same number of rows.
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    rows_different: int = 0
    same: bool = False


@dataclass(frozen=True)
class Flow:
    """A flow with different values, or one that only one result has."""

    id: int
    #: Start in nanoseconds; None if the flow never started.
    start_ns: int | None
    #: `a` or `b` if only that result has the flow.
    only: str | None
    #: Columns that differ, with both values.
    columns: Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class Diff:
    a: str
    b: str
    #: Keys of the resolved scenarios that differ, including defaults. Input files are compared by
    #: SHA-256.
    keys: tuple[Key, ...]
    #: Keys that differ and only affect the execution. They do not count as a difference.
    execution: tuple[Key, ...]
    #: Files of the results; empty unless both operands are results.
    files: tuple[File, ...]
    #: The flow that starts first of those that differ, and the number of flows that differ.
    first_flow: Flow | None
    flows_different: int
    notes: tuple[str, ...]

    @property
    def same(self) -> bool:
        return not self.keys and all(file.same for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        """Returns the difference as `--json` prints it."""
        return {"same": self.same} | asdict(self)


def diff(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> Diff:
    """Compares two result directories, two scenario files, or the scenario of a result with a file.

    Raises `FileNotFoundError`, `ScenarioError`, or `DamagedResult` if a file of a result differs
    from its digest.
    """
    sides = [Path(one) for one in (a, b)]
    results = [Result.open(side) if side.is_dir() else None for side in sides]
    documents = [_document(side, result) for side, result in zip(sides, results, strict=True)]
    keys = [] if None in documents else _keys(*(document or {} for document in documents))
    notes = [
        f"{side} has no {SCENARIO}: keys were not compared"
        for side, document in zip(sides, documents, strict=True)
        if document is None
    ]
    first, second = results
    files: list[File] = []
    flow, count = None, 0
    if first is not None and second is not None:
        files, flow, count = _results(first, second)
        versions = [
            result.summary.get("build") or result.summary.get("afflux_version")
            for result in (first, second)
        ]
        if versions[0] != versions[1]:
            notes.append(f"the results are of afflux {versions[0]} and {versions[1]}")
    elif first is not None or second is not None:
        notes.append("only one of the two is a result: its tables were not compared")
    return Diff(
        str(a),
        str(b),
        tuple(key for key in keys if not key.affects_execution_only),
        tuple(key for key in keys if key.affects_execution_only),
        tuple(files),
        flow,
        count,
        tuple(notes),
    )


def _document(side: Path, result: Result | None) -> dict[str, Any] | None:
    """Returns the resolved scenario with its defaults; None if the result has no scenario file."""
    text = _core.load(side).resolved if result is None else result.scenario
    return None if text is None else toml.with_defaults(text)


def _keys(first: dict[str, Any], second: dict[str, Any]) -> list[Key]:
    return [Key(key, *values) for key, values in toml.differing(first, second).items()]


def _results(a: Result, b: Result) -> tuple[list[File], Flow | None, int]:
    files = [_table(name, a, b) for name in TABLES if name in (*a.recorded, *b.recorded)]
    others = [
        {name for name in result.digests if not name.endswith(".parquet") and name != SCENARIO}
        for result in (a, b)
    ]
    for name in sorted(others[0] | others[1]):
        hashes = [_digest(result, name) for result in (a, b)]
        same = hashes[0] == hashes[1] or (
            name == KERNELS and _repeatable(a.kernels) == _repeatable(b.kernels)
        )
        files.append(File(name, hashes[0], hashes[1], same=same))
    counters = [result.summary.get("counters_hash") for result in (a, b)]
    files.append(File(SUMMARY, counters[0], counters[1], same=counters[0] == counters[1]))
    if all("flows" in result.recorded for result in (a, b)) and not files[0].same:
        return files, *_flows(a.flows, b.flows)
    return files, None, 0


def _repeatable(kernels: dict[str, Any] | None) -> dict[str, Any] | None:
    """Returns the report on kernels without what differs from run to run: times by the clock on the
    wall."""
    if kernels is None:
        return None
    hosts = [
        {key: value for key, value in host.items() if key != "wall_s"} for host in kernels["hosts"]
    ]
    return kernels | {"hosts": hosts}


def _digest(result: Result, file: str) -> str | None:
    """Returns the SHA-256 of a file of a result after checking the file."""
    result.check(file)
    return result.digests.get(file) or (file_digest(result.dir / file) if result.dir else None)


def _table(name: str, a: Result, b: Result) -> File:
    file = f"{name}.parquet"
    hashes = [_digest(result, file) if name in result.recorded else None for result in (a, b)]
    tables = [result.table(name) if name in result.recorded else None for result in (a, b)]
    sizes = [
        (None, None) if table is None else (len(table), len(table.column_names)) for table in tables
    ]
    (rows_a, columns_a), (rows_b, columns_b) = sizes
    found = File(
        file,
        hashes[0],
        hashes[1],
        rows_a,
        rows_b,
        columns_a,
        columns_b,
        same=hashes[0] == hashes[1],
    )
    first, second = tables
    if found.same or first is None or second is None:
        return found
    both = [column for column in first.column_names if column in second]
    only_a, only_b = (
        tuple(column for column in table.column_names if column not in both)
        for table in (first, second)
    )
    if rows_a != rows_b:
        return replace(found, only_a=only_a, only_b=only_b)
    different, rows = _values(first, second, both)
    # Files of several versions of afflux may differ although all values are the same.
    return replace(
        found,
        only_a=only_a,
        only_b=only_b,
        different=different,
        rows_different=rows,
        same=not (only_a or only_b or different),
    )


def _values(first: Table, second: Table, columns: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Returns the columns with different values, and the number of rows with different values, of
    two tables of equal length."""
    changed = bytearray(len(first))
    different = []
    for column in columns:
        old, new = first[column], second[column]
        if old != new:
            different.append(column)
            for row, (one, other) in enumerate(zip(old, new, strict=True)):
                if one != other:
                    changed[row] = 1
    return tuple(different), sum(changed)


def _flows(a: Table, b: Table) -> tuple[Flow | None, int]:
    """Returns the first flow that differs, and the number of flows that differ. Flows are matched
    by `id`."""
    places = [{id: row for row, id in enumerate(table["id"])} for table in (a, b)]
    starts = [table["start_ns"] for table in (a, b)]
    different = set(places[0].keys() ^ places[1].keys())
    columns = [column for column in a.column_names if column in b]
    both = [(id, row, places[1][id]) for id, row in places[0].items() if id in places[1]]
    for column in columns:
        old, new = a[column], b[column]
        different |= {id for id, row, other in both if old[row] != new[other]}
    if not different:
        return None, 0

    def start(flow: int) -> int | None:
        known = [starts[side][places[side][flow]] for side in (0, 1) if flow in places[side]]
        return min((at for at in known if at is not None), default=None)

    def place(flow: int) -> tuple[bool, int, int]:
        # Flows that never started come last.
        at = start(flow)
        return at is None, at or 0, flow

    first = min(different, key=place)
    row, other = (place.get(first) for place in places)
    if row is None or other is None:
        return Flow(first, start(first), "a" if other is None else "b", {}), len(different)
    values = {column: (a[column][row], b[column][other]) for column in columns}
    return Flow(
        first,
        start(first),
        None,
        {column: pair for column, pair in values.items() if pair[0] != pair[1]},
    ), len(different)
