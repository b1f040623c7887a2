"""The format of a result directory: its version, and how results of previous versions are read."""

from pathlib import Path
from typing import Any

from .. import _core

#: The version that this afflux writes: `format` in summary.json. Version 1 is that of afflux 0.1, which wrote no number.
FORMAT = 3

#: Keys that version 1 lacks, with the value that a reader takes for "not recorded".
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


class NewerResult(_core.Error):
    """A result directory has a format that this version of afflux does not know."""


def migrated(summary: dict[str, Any], path: Path) -> dict[str, Any]:
    """A summary with the keys of today's format. Raises `NewerResult` if a later version of afflux wrote it."""
    found = summary.get("format", 1)
    if found not in range(1, FORMAT + 1):
        by = summary.get("afflux_version", "another version")
        raise NewerResult(f"{path} has result format {found!r} (afflux {by}), and this afflux reads formats 1 to {FORMAT}: install a newer version of afflux")
    # Versions before 0.3 did not name their build.
    # Versions before 0.4 did not tell the goodput of classes.
    summary = {"build": None, "goodput": None} | (_SINCE_2 if found == 1 else {}) | summary
    if found < FORMAT and isinstance(summary.get("jobs"), dict):
        # Format 2 has the phase coflow for queries, and no name of their block in their names.
        summary["jobs"] = {"by_block": {}, "by_kind": {}} | summary["jobs"]
    return summary
