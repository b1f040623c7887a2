"""A run in which flow control blocks all progress ends, and reports which ports wait for which. One
that comes to the latest time of a run ends, too."""

import json
import subprocess
import sys
from pathlib import Path

from afflux import Scenario, _core
from afflux.words import sentence

#: host0 pauses its switch for ever. Frames of host1 for host0 wait, and host2's flow to host3
#: continues.
STORM = """
format = 1
[topology]
kind = "star"
hosts = 4
[switch]
sharing = "sonic"
buffer = "1MB"
pfc = { priorities = [3] }
[run]
stall = "5ms"
until = "1s"
[host.transport]
kind = "rdma"
congestion = "none"
[[host.override]]
match = "host0"
storm = { priority = 3, from = "50us", period = "4us", pause_time = "10us" }
[[traffic]]
kind = "pairs"
pairs = [[1, 0], [2, 3]]
sizes = "3MB"
priority = 3
"""


def test_a_run_without_progress(tmp_path: Path) -> None:
    file = tmp_path / "storm.toml"
    file.write_text(STORM)
    summary = Scenario.load(file).run(out=tmp_path / "result").summary
    assert summary["ended_by"] == "stalled"
    stalled = summary["stalled"]
    assert stalled["for_ns"] == 5_000_000
    assert stalled["frames"] == sum(port["frames"] for port in stalled["ports"]) > 0
    first, *others = stalled["ports"]
    assert (first["link"], first["node"], first["port"], first["priority"], first["waits_for"]) == (
        "switch0>host0",
        "switch0",
        0,
        3,
        [],
    )
    assert all(port["waits_for"] == ["switch0>host0"] for port in others)
    assert summary["flows"]["unfinished"] == 1
    # The terminal shows the reason as a sentence.
    done = subprocess.run(
        [sys.executable, "-m", "afflux", "run", file, "--out", tmp_path / "again"],
        capture_output=True,
        text=True,
        check=False,
    )
    told = " ".join((done.stdout + done.stderr).split())
    assert (
        f"the run ended without progress: {stalled['frames']} frames wait in the network, and none left it for 5.0 ms. Who waits for whom:"
        in told
    )
    assert (
        f"switch0>host0 ({first['frames']} frames, priority 3) for host0, which sends PAUSE" in told
    )


def test_patience_off(tmp_path: Path) -> None:
    file = tmp_path / "storm.toml"
    file.write_text(STORM.replace('stall = "5ms"\nuntil = "1s"', 'stall = "off"\nuntil = "20ms"'))
    summary = Scenario.load(file).run(out=tmp_path / "result").summary
    assert (summary["ended_by"], summary["stalled"]) == ("until", None)


def test_a_run_ends_at_the_latest_time_and_says_so():
    text = """format = 1
[topology]
kind = "star"
hosts = 2
rate = "1Mbps"
[[traffic]]
kind = "pairs"
pairs = [[0, 1]]
sizes = "1MB"
start = "575999s"
"""
    summary = json.loads(_core.parse(text, "late.toml").run().summary)
    assert (summary["ended_by"], summary["simulated_ns"]) == ("until", 160 * 3600 * 10**9)
    (note,) = summary["notes"]
    assert note == (
        "the run ended after 160 h, the latest time of a run; flows that were under way then are unfinished"
    )
    assert "上限である 160 時間" in sentence(note).ja
