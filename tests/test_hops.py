"""Records of ports: gaps between frames, and waiting times by the class of the frames ahead."""

import json
import re
from pathlib import Path

import pytest

import afflux

#: Two hosts send to host 0: one host sends a single frame, the other one ten frames a nanosecond
#: later.
TWO_FRAMES = """\
format = 1
name = "two"

[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
delay = "1us"

[[traffic]]
kind = "datagram"
class = "first"
pairs = [[1, 0]]
rate = "10Gbps"
bytes = "1460B"

[[traffic]]
kind = "datagram"
class = "second"
pairs = [[2, 0]]
start = "1ns"
rate = "10Gbps"
bytes = "14600B"

[record]
gaps = "all"
waits = "all"
"""


def rows(result: afflux.Result, table: str) -> list[dict]:
    columns = result.table(table)
    return [
        dict(zip(columns.column_names, row, strict=True))
        for row in zip(*(columns.column(name) for name in columns.column_names), strict=True)
    ]


def run(tmp_path: Path, text: str = TWO_FRAMES) -> afflux.Result:
    (tmp_path / "two.toml").write_text(text)
    return afflux.load(tmp_path / "two.toml").run(out=tmp_path / "out")


def test_waits_and_gaps_of_frames_that_meet(tmp_path: Path) -> None:
    result = run(tmp_path)
    payload = max(row["bytes"] / row["frames"] for row in rows(result, "gaps"))
    # Time in ns of a frame and its gap.
    time = (payload + 20) * 8 / 10
    waits = {
        (row["node"], row["behind"], row["own"]): row
        for row in rows(result, "waits")
        if row["node"] == "switch0"
    }
    # The ten frames of the other host arrive one frame time apart. Each finds the port busy for one
    # frame time, minus the nanosecond.
    other = waits["switch0", "first", False]
    assert (other["frames"], other["wait_ns"]) == (1, round(time) - 1)
    own = waits["switch0", "second", True]
    assert (own["frames"], own["wait_ns"]) == (9, pytest.approx(9 * (time - 1), abs=1))
    assert set(waits) == {("switch0", "first", False), ("switch0", "second", True)}
    gaps = {(row["node"], row["flow"]): row for row in rows(result, "gaps")}
    second = next(flow for (node, flow) in gaps if node == "host2")
    for node in ("host2", "switch0"):
        gap = gaps[node, second]
        assert gap["frames"] == 10
        assert gap["gap_ns_deviation"] == pytest.approx(0, abs=1)
        assert gap["gap_ns_least"] == gap["gap_ns_most"] == pytest.approx(time, abs=1)


def test_explain_names_who_stood_in_front(tmp_path: Path, command) -> None:
    run(tmp_path)
    done = command("explain", "out", "--waits", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    by = {(one["flow_class"], one["behind"]): one for one in found}
    assert by["second", "first"]["node"] == "switch0"
    assert by["second", "first"]["share_there"] == 1.0
    assert sum(one["share"] for one in found if one["flow_class"] == "second") == pytest.approx(1.0)
    assert "Queueing by cause" in command("explain", "out").stdout


def test_explain_names_the_ports_where_frames_waited(tmp_path: Path, command) -> None:
    """One NIC sends ten of its own frames at once, and these meet one other frame at the switch
    port to host 0."""
    result = run(tmp_path, TWO_FRAMES.replace("pairs = [[2, 0]]", "pairs = [[2, 0], [2, 0]]"))
    ports = json.loads(command("explain", "out", "--where", "--json").stdout)
    sums: dict[str, int] = {}
    for row in rows(result, "waits"):
        if not row["own"]:
            sums[row["node"]] = sums.get(row["node"], 0) + row["wait_ns"]
    assert [(one["node"], one["peer"], one["at_host"], one["wait_ns"]) for one in ports[:2]] == [
        ("host2", "switch0", True, sums["host2"]),
        ("switch0", "host0", False, sums["switch0"]),
    ]
    assert sums["host2"] > sums["switch0"] > 0
    assert sum(one["share"] for one in ports) == pytest.approx(1.0)
    told = command("explain", "out").stdout
    assert "Where frames waited, by port" in told
    shares = [
        f"{100 * sums[node] / (sums['host2'] + sums['switch0']):.1f} %"
        for node in ("host2", "switch0")
    ]
    sentence = f"Of the time that frames waited for others, {shares[0]} was spent in the NICs of hosts and {shares[1]} at switch0."
    assert sentence in " ".join(told.split())
    lines = [line for line in told.splitlines() if re.match(r"\w+ → ", line)]
    assert lines[0].startswith("host2 → switch0 (NIC)")
    assert "Where frames waited" in command("explain", "out", "--flow", "1").stdout
    assert "Where frames waited" not in command("explain", "out", "--waits").stdout
    assert command("explain", "out", "--waits", "--where").returncode == 2


def test_explain_says_what_to_record_to_see_where(tmp_path: Path, command) -> None:
    run(tmp_path, TWO_FRAMES.replace('waits = "all"\n', ""))
    told = " ".join(command("explain", "out").stdout.split())
    assert (
        "where queueing took place was not recorded: run again with --set record.waits=all; the busiest link was "
        in told
    )
    run_again = TWO_FRAMES.replace("pairs = [[2, 0]]", "pairs = [[2, 1]]").replace(
        'waits = "all"\n', ""
    )
    (tmp_path / "apart").mkdir()
    run(tmp_path / "apart", run_again)
    assert "was not recorded" not in command("explain", "apart/out").stdout


def test_waits_that_were_not_recorded(tmp_path: Path, command) -> None:
    run(tmp_path, TWO_FRAMES.replace('waits = "all"\n', ""))
    done = command("explain", "out", "--waits")
    assert done.returncode == 2 or done.returncode == 1
    assert "waits" in done.stderr


def test_recording_changes_nothing(tmp_path: Path, scenario) -> None:
    plain = afflux.load(scenario()).run().summary
    watched = afflux.load(
        scenario(("paths = true", 'paths = true\ngaps = "all"\nwaits = "all"\nround_trips = true'))
    ).run()
    assert [plain[key] for key in ("result_hash", "ports_hash", "counters_hash")] == [
        watched.summary[key] for key in ("result_hash", "ports_hash", "counters_hash")
    ]
    assert {"gaps", "waits", "round_trips"} <= set(watched.recorded)


def test_waits_behind_no_frame_are_not_waits_for_others(tmp_path: Path, command) -> None:
    """A flow alone in the network waits for its own frames, and for the delays of the hosts."""
    alone = """\
format = 1
name = "alone"

[topology]
kind = "star"
hosts = 3
rate = "10Gbps"

[[traffic]]
kind = "pairs"
pairs = [[0, 1]]
sizes = "3MB"

[record]
waits = "all"
"""
    result = run(tmp_path, alone)
    held = sum(row["wait_ns"] for row in rows(result, "waits") if row["behind"] is None)
    ports = json.loads(command("explain", "out", "--where", "--json").stdout)
    assert sum(one["held_wait_ns"] for one in ports) == held > 0
    assert all(one["wait_ns"] == one["share"] == 0 for one in ports)
    told = " ".join(command("explain", "out").stdout.split())
    assert "waited for others" not in told
    assert "behind no frame. Of this time, 100.0 % was spent in the NICs of hosts." in told
    assert "Causes: delays of hosts (host.timing), pacing" in told
    assert "no frame (held back)" in told
    assert "nobody" not in told
    # Without these delays there is nothing to name.
    (tmp_path / "exact").mkdir()
    run(tmp_path / "exact", alone.replace("[record]", '[host]\ntiming = "exact"\n\n[record]'))
    told = command("explain", "exact/out").stdout
    assert "behind no frame" not in told
