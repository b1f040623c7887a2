"""Lists notable flows of the lowest seed of a design: the slowest, the largest, and those that did
not finish, with paths and split."""

from collections.abc import Iterable
from typing import Any

from ..results.explain import LABELS
from ..results.result import Result

#: Most flows of each kind.
FLOWS = 20
#: Most paths of a flow. A sprayed flow has thousands of frames on all existing paths.
PATHS = 64

COLUMNS = (
    "id",
    "class",
    "job",
    "src",
    "dst",
    "bytes",
    "start_ns",
    "fct_ns",
    "slowdown",
    "packets_sent",
    "packets_retransmitted",
    "timeouts",
    "ecn_marked",
)


def of(result: Result) -> dict[str, Any]:
    table = result.flows
    status, fct, slowdown, bytes = (
        table.column(name) for name in ("status", "fct_ns", "slowdown", "bytes")
    )
    started = [row for row, start in enumerate(result.starts()) if start is not None]
    finished = [row for row in started if fct[row] is not None]
    kinds = {
        # Flows of kernels have no slowdown. They come last, in order of their completion times.
        "slowest": sorted(finished, key=lambda row: (-(slowdown[row] or 0), -fct[row], row))[
            :FLOWS
        ],
        "biggest": sorted(started, key=lambda row: (-bytes[row], row))[:FLOWS],
        "unfinished": sorted(
            (row for row in started if status[row] != "finished"),
            key=lambda row: (-bytes[row], row),
        )[:FLOWS],
    }
    rows = sorted({row for kind in kinds.values() for row in kind})
    place = {row: at for at, row in enumerate(rows)}
    columns = {name: _taken(table.column(name), rows) for name in COLUMNS}
    columns |= {
        name: [result.host_name(host) for host in columns[end]]
        for name, end in (("from", "src"), ("to", "dst"))
    }
    parts = {label: _taken(table.column(f"{label}_ns"), rows) for label in LABELS}
    split = any(value is not None for values in parts.values() for value in values)
    return {
        "kinds": {name: [place[row] for row in kind] for name, kind in kinds.items()},
        "flows": len(started),
        "columns": columns,
        "split": parts if split else None,
        "paths": _paths(result, columns["id"]),
    }


def _taken(column: list[Any], rows: Iterable[int]) -> list[Any]:
    return [column[row] for row in rows]


def _paths(result: Result, ids: list[int]) -> list[dict[str, Any]] | None:
    """Returns the paths of each flow, those with most frames first. None if they were not
    recorded."""
    if "paths" not in result.recorded:
        return None
    wanted: dict[int, list[tuple[int, int, int, str]]] = {id: [] for id in ids}
    for flow, *rest in zip(
        *(result.paths.column(name) for name in ("flow", "frames", "bytes", "subflow", "path")),
        strict=True,
    ):
        if flow in wanted:
            wanted[flow].append(tuple(rest))
    return [_listed(wanted[id]) for id in ids]


def _listed(rows: list[tuple[int, int, int, str]]) -> dict[str, Any]:
    rows.sort(key=lambda row: (-row[0], row[2], row[3]))
    shown = [
        {"nodes": path.split(">"), "frames": frames, "bytes": bytes, "subflow": subflow}
        for frames, bytes, subflow, path in rows[:PATHS]
    ]
    return {"paths": shown, "all": len(rows), "frames": sum(row[0] for row in rows)}
