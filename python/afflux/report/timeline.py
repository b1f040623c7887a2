"""Collects job timelines (jobs.parquet) of the lowest seed of a design."""

from typing import Any

from ..results.result import Result
from . import busy

#: Most rows. Jobs and phases take precedence over tasks.
ROWS = 3_000


def of(result: Result) -> dict[str, Any] | None:
    if "jobs" not in result.recorded or not len(result.jobs):
        return None
    columns = {
        name: result.jobs.column(name)
        for name in ("job", "phase", "task", "node", "start_ns", "finish_ns")
    }
    started = [row for row, start in enumerate(columns["start_ns"]) if start is not None]
    if not started:
        return None
    wholes = [row for row in started if not columns["task"][row]][:ROWS]
    tasks = [row for row in started if columns["task"][row]]
    room = ROWS - len(wholes)
    if len(tasks) > room:
        tasks = [tasks[place * len(tasks) // room] for place in range(room)]
    rows = sorted([*wholes, *tasks])
    jobs, phases = (
        list(dict.fromkeys(columns[name][row] or "" for row in rows)) for name in ("job", "phase")
    )
    finishes = [columns["finish_ns"][row] for row in rows]
    end = result.summary["simulated_ns"] if None in finishes else max(finishes)
    return {
        "phases": phases,
        "jobs": jobs,
        "total": len(started),
        "started": len({columns["job"][row] for row in started}),
        "defined": len(set(columns["job"])),
        "job": [jobs.index(columns["job"][row] or "") for row in rows],
        "phase": [phases.index(columns["phase"][row] or "") for row in rows],
        "task": [columns["task"][row] or "" for row in rows],
        "node": [-1 if columns["node"][row] is None else columns["node"][row] for row in rows],
        "names": {
            node: result.host_name(node)
            for row in rows
            if (node := columns["node"][row]) is not None
        },
        "start": [columns["start_ns"][row] for row in rows],
        "finish": finishes,
        "end": end,
        # Time at which most bars have ended, if that is much earlier than the end.
        "until": busy.bars([end if finish is None else finish for finish in finishes], end),
        "seed": result.summary["seed"],
    }
