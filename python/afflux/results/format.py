"""The format of a result directory: its version, and the conversion of results of previous
versions."""

from pathlib import Path
from typing import Any

from .. import _core

#: Version that this afflux writes, as `format` in summary.json. Version 1 is that of afflux 0.1,
#: which wrote no number.
FORMAT = 4

#: Keys that version 1 lacks, with values that readers understand as "not recorded".
_SINCE_2: dict[str, Any] = {
    "ended_by": None,
    "early_end": None,
    "stalled": None,
    "delivered_bytes": None,
    "busy_ns": None,
    "goodput_flow_mean_bps": None,
    "failed_checks": [],
    "failed_checks_total": 0,
    "warnings": [],
    "host_names": [],
}


#: Columns of the table `senders` until version 3, and their names since then.
_SENDERS = {
    "cwnd_bytes": "window_bytes",
    "ssthresh_bytes": "threshold_bytes",
    "srtt_ns": "smoothed_rtt_ns",
    "flight_bytes": "in_flight_bytes",
}


class NewerResult(_core.Error):
    """The result directory has a format that this version of afflux does not know."""


def migrated(summary: dict[str, Any], path: Path) -> dict[str, Any]:
    """Returns a summary with the keys of today's format. Raises `NewerResult` if a later version of
    afflux wrote it."""
    found = summary.get("format", 1)
    if found not in range(1, FORMAT + 1):
        by = summary.get("afflux_version", "another version")
        raise NewerResult(
            f"{path} has result format {found!r} (afflux {by}), and this afflux reads formats 1 to {FORMAT}: install a newer version of afflux"
        )
    # Versions before 0.3 have no `build`. Versions before 0.4 have no goodput of classes.
    summary = {"build": None, "goodput": None} | (_SINCE_2 if found == 1 else {}) | summary
    if found < 3 and isinstance(summary.get("jobs"), dict):
        # Format 2 uses the phase coflow for queries, and does not put the name of their block into
        # their names.
        summary["jobs"] = {"by_block": {}, "by_kind": {}} | summary["jobs"]
    return summary


def migrated_table(name: str, table: _core.Table, version: int) -> _core.Table:
    """Returns a table with the names of today's columns. Columns that the version of the result
    format lacks stay missing."""
    if name != "senders" or version >= 4:
        return table
    return _core.table_of(
        [(_SENDERS.get(column, column), table.column(column)) for column in table.column_names]
    )
