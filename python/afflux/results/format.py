"""The format of a result directory: its version, and the conversion of results of previous
versions."""

from pathlib import Path
from typing import Any

from .. import _core

#: Version that this afflux writes, as `format` in summary.json. Version 1 is that of afflux 0.1,
#: which wrote no number.
FORMAT = 3

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
    if found < FORMAT and isinstance(summary.get("jobs"), dict):
        # Format 2 uses the phase coflow for queries, and does not put the name of their block into
        # their names.
        summary["jobs"] = {"by_block": {}, "by_kind": {}} | summary["jobs"]
    return summary
