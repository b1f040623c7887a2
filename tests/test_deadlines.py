"""Deadlines of flows that run, or have not started, when the run ends."""

from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from afflux import Result

#: One flow of each kind at its own pair of hosts. 1 MB takes 0.8 ms and more at 10 Gbps.
FLOWS = """\
format = 1
name = "deadlines"

[topology]
kind = "star"
hosts = 8
rate = "10Gbps"
delay = "1us"

[[traffic]]
kind = "pairs"
name = "met"
class = "done"
pairs = [[0, 1]]
sizes = "1MB"
deadline = "2ms"

[[traffic]]
kind = "pairs"
name = "late"
class = "done"
pairs = [[2, 3]]
sizes = "100MB"
deadline = "2ms"

[[traffic]]
kind = "pairs"
name = "open"
class = "open"
pairs = [[4, 5]]
sizes = "100MB"
deadline = "20ms"

[[traffic]]
kind = "pairs"
name = "never"
class = "never"
pairs = [[6, 7]]
sizes = "1MB"
start = "5ms"
deadline = "1us"

[run]
until = "3ms"
"""


def test_open_flows_have_neither_met_nor_missed_their_deadline(
    command, scenario, tmp_path: Path
) -> None:
    done = command("run", scenario(text=FLOWS), "-o", "out")
    assert done.returncode == 0, done.stderr
    flows = parquet.read_table(tmp_path / "out" / "flows.parquet").to_pylist()
    assert [flow["deadline_met"] for flow in flows] == [True, False, None, None]
    # Only the flow that never started has no ideal time.
    assert [flow["ideal_ns"] is None for flow in flows] == [False, False, False, True]
    deadlines = Result.open(tmp_path / "out").summary["deadlines"]
    assert [deadlines[key] for key in ("flows", "met", "missed")] == [3, 1, 1]
    assert deadlines["met_share"] == deadlines["missed_share"] == 0.5
    assert deadlines["by_class"]["open"]["met_share"] is None
    shown = " ".join(done.stdout.split())
    assert "deadlines 1 of 2 met (50.0 %), 1 not yet due at the end" in shown


@pytest.mark.parametrize(
    ("met", "missed", "flows", "line"),
    [
        (2, 1, 3, "2 of 3 met (66.7 %)"),
        (0, 0, 4, "4 not yet due at the end"),
        (0, 0, 0, "0 of 0 met"),
    ],
)
def test_the_line_of_a_run(met: int, missed: int, flows: int, line: str) -> None:
    from afflux.terminal.summary import _deadlines

    counts = {"met": met, "missed": missed, "flows": flows, "terminated": 0}
    assert _deadlines(counts) == line
