"""Captures checked by an independent dissector: no malformed frame, no wrong checksum, and the
round trips and retransmissions that afflux reports."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import afflux

TSHARK = shutil.which("tshark")
pytestmark = pytest.mark.skipif(TSHARK is None, reason="needs tshark (.ci/run installs it)")

#: Hosts 0 and 1 with two NICs each, and a slow link on each path.
TWO_WAYS = """\
format = 1
name = "ways"

[topology]
kind = "custom"
hosts = 2
switches = ["a0", "b0", "a1", "b1"]
link = [
  { a = "host0", b = "a0", rate = "10Gbps", delay = "10us" },
  { a = "host0", b = "b0", rate = "10Gbps", delay = "10us" },
  { a = "a0", b = "a1", rate = "200Mbps", delay = "100us" },
  { a = "b0", b = "b1", rate = "100Mbps", delay = "200us" },
  { a = "host1", b = "a1", rate = "10Gbps", delay = "10us" },
  { a = "host1", b = "b1", rate = "10Gbps", delay = "10us" },
]

[switch]
sharing = "static"
buffer = "60kB"

[host]
wire = "ethernet_timestamps"

[host.transport]
kind = "tcp"
stack = "linux"
mptcp = { manager = "fullmesh", subflows = 4, coupling = "lia" }

[[traffic]]
kind = "pairs"
pairs = [[0, 1]]
sizes = "3000123B"

[record]
round_trips = true
paths = true
capture = ["host0-a0", "host0-b0"]
snaplen = "65535B"
"""

#: One connection with at most one segment in flight, so that there is no queueing.
STOP_AND_WAIT = """\
format = 1
name = "wait"

[topology]
kind = "star"
hosts = 2
rate = "1Gbps"
delay = "10us"

[host.transport]
kind = "tcp"
stack = "basic"
handshake = true
initial_window = 1
receive_window = "1460B"

[[traffic]]
kind = "pairs"
pairs = [[0, 1]]
sizes = "100000B"

[record]
round_trips = true
capture = "host0-switch0"
snaplen = "65535B"
"""

#: Losses that SACK and time-outs repair.
LOSSY = """\
format = 1
name = "lossy"

[topology]
kind = "dumbbell"
pairs = 1
access_rate = "10Gbps"
rate = "100Mbps"
delay = "1ms"

[switch]
sharing = "static"
buffer = "45kB"

[host]
wire = "ethernet_timestamps"

[host.transport]
kind = "tcp"
stack = "linux"

[[traffic]]
kind = "pairs"
pairs = [[0, 1]]
sizes = "15MB"

[record]
round_trips = true
capture = "host0-left"
snaplen = "65535B"
"""


def run(tmp_path: Path, text: str) -> tuple[afflux.Result, list[Path]]:
    (tmp_path / "scenario.toml").write_text(text)
    result = afflux.load(tmp_path / "scenario.toml").run(out=tmp_path / "out")
    return result, sorted((tmp_path / "out").glob("*.pcapng"))


#: All fields that the tests use. One call of the dissector takes half a second, mostly for its
#: start, so all fields are read in one call.
FIELDS = (
    *(
        "frame.number",
        "ip.src",
        "ip.checksum.status",
        "udp.checksum.status",
        "tcp.checksum.status",
        "tcp.stream",
        "tcp.len",
        "tcp.flags",
        "tcp.flags.syn",
    ),
    *(
        "tcp.flags.fin",
        "tcp.option_len",
        "tcp.options.sack_le",
        "tcp.options.timestamp.tsval",
        "tcp.analysis.flags",
        "tcp.analysis.window_full",
    ),
    *(
        "tcp.analysis.ack_rtt",
        "tcp.analysis.retransmission",
        "tcp.analysis.fast_retransmission",
        "tcp.analysis.spurious_retransmission",
    ),
    *(
        "tcp.analysis.out_of_order",
        "tcp.options.mptcp.subtype",
        "tcp.options.mptcp.version",
        "tcp.options.mptcp.recvtok",
        "mptcp.stream",
    ),
    *("mptcp.expected_token", "mptcp.dss.dsn", "mptcp.ack"),
)
Frame = dict[str, str]


def dissect(file: Path, filter: str, fields: Sequence[str]) -> list[Frame]:
    """Returns the fields of the frames that pass the filter. A missing field is empty, and several
    values are separated by commas."""
    options = [
        option
        for name in ("tcp.check_checksum:TRUE", "ip.check_checksum:TRUE", "udp.check_checksum:TRUE")
        for option in ("-o", name)
    ]
    shown = [option for field in fields for option in ("-e", field)]
    command = [TSHARK, "-n", "-r", file, *options, "-Y", filter, "-T", "fields", *shown]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [dict(zip(fields, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]


def sound(file: Path) -> list[Frame]:
    """Returns all frames after a check that none is malformed or has a wrong checksum."""
    assert (
        dissect(
            file,
            "_ws.malformed || _ws.expert.severity == error",
            ["frame.number", "_ws.expert.message"],
        )
        == []
    )
    frames = dissect(file, "frame", FIELDS)
    # Checksum status: 1 is good, 0 is bad, 2 is unchecked.
    checked = [
        (frame["ip.checksum.status"], frame["tcp.checksum.status"])
        for frame in frames
        if frame["tcp.flags"]
    ]
    assert checked
    assert all(row == ("1", "1") for row in checked)
    return frames


def with_data(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame["tcp.len"] not in ("", "0")]


def merged(tmp_path: Path, files: list[Path]) -> Path:
    mergecap = shutil.which("mergecap")
    if mergecap is None:
        pytest.skip("needs mergecap, which comes with tshark")
    subprocess.run([mergecap, "-w", tmp_path / "all.pcapng", *files], check=True, timeout=60)
    return tmp_path / "all.pcapng"


def test_a_connection_over_two_paths_is_followed(tmp_path: Path) -> None:
    result, files = run(tmp_path, TWO_WAYS)
    assert [file.name for file in files] == ["host0-a0-both.pcapng", "host0-b0-both.pcapng"]
    file = merged(tmp_path, files)
    frames = sound(file)
    data = with_data(frames)
    assert {frame["tcp.stream"] for frame in data} == {"0", "1"}, "two subflows"
    assert {frame["mptcp.stream"] for frame in data} == {"0"}, "of one connection"
    # MP_CAPABLE with keys, then MP_JOIN with a token, authenticated by HMACs that use both keys.
    subtypes = [
        frame["tcp.options.mptcp.subtype"].split(",")
        for frame in frames
        if frame["tcp.options.mptcp.subtype"]
    ]
    assert [
        ",".join(found) for found in subtypes if any(int(subtype) < 2 for subtype in found)
    ] == ["0"] * 3 + ["1"] * 3
    token = [
        frame["tcp.options.mptcp.recvtok"] for frame in frames if frame["tcp.options.mptcp.recvtok"]
    ]
    expected = [frame["mptcp.expected_token"] for frame in frames if frame["mptcp.expected_token"]]
    assert len(token) == 1
    assert [int(token[0], 0)] in [[int(value, 0) for value in one.split(",")] for one in expected]
    # Every byte of data is mapped once, as far as the dissector maps it.
    mapped = [(int(frame["mptcp.dss.dsn"]), int(frame["tcp.len"])) for frame in data]
    assert mapped[0][0] == 1
    assert max(dsn + length - 1 for dsn, length in mapped) == 3_000_123
    assert mapped[-1][0] <= 3_000_123
    acknowledged = [
        int(frame["mptcp.ack"].split(",")[0])
        for frame in frames
        if frame["mptcp.ack"] and frame["ip.src"] == "10.0.0.2"
    ]
    assert max(acknowledged) == 3_000_124, "the byte after the last"
    # Retransmissions, summed over the subflows.
    flow = result.flows
    sent_again = flow.column("packets_retransmitted")[0]
    assert sent_again > 0
    assert repeated(frames) == sent_again


def repeated(frames: list[Frame]) -> int:
    """Counts the data segments that the dissector classifies as retransmissions. Close to the
    sender, segments that it calls out of order are retransmissions too: it distinguishes the two by
    the time since the highest sequence number."""
    kinds = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
    return sum(any(frame[f"tcp.analysis.{kind}"] for kind in kinds) for frame in with_data(frames))


def round_trips(frames: list[Frame]) -> list[float]:
    """Returns the round trips in seconds that acknowledgements of host 1 end, without that of the
    handshake."""
    of_data = (
        frame
        for frame in frames
        if frame["ip.src"] == "10.0.0.2" and frame["tcp.flags.syn"] in ("0", "False")
    )
    return [
        float(frame["tcp.analysis.ack_rtt"]) for frame in of_data if frame["tcp.analysis.ack_rtt"]
    ]


def test_round_trips_without_any_queue(tmp_path: Path) -> None:
    result, (file,) = run(tmp_path, STOP_AND_WAIT)
    frames = sound(file)
    ours = result.table("round_trips")
    theirs = [round(seconds * 1e9) for seconds in round_trips(frames)]
    assert ours.column("samples") == [len(theirs)] == [69]
    # The dissector sees an acknowledgement when it leaves the switch: the time of 64 bytes and the
    # gap, and 10 us, before the host receives it.
    way = (64 + 20) * 8 + 10_000
    # The first segment waits in the NIC while the handshake's last acknowledgement is sent.
    waited = (64 + 20) * 8
    assert ours.column("least_ns")[0] == min(theirs) + way
    assert ours.column("most_ns")[0] == max(theirs) + way + waited
    assert ours.column("mean_ns")[0] == pytest.approx(
        sum(theirs) / len(theirs) + way + waited / len(theirs), abs=0.01
    )
    assert repeated(frames) == 0
    ends = [
        frame
        for frame in frames
        if {"1", "True"} & {frame["tcp.flags.syn"], frame["tcp.flags.fin"]}
    ]
    assert len(ends) == 4, "both sides open and close"
    # The only remaining finding is that the window is full, which this scenario intends.
    assert [
        frame["frame.number"]
        for frame in frames
        if frame["tcp.analysis.flags"] and not frame["tcp.analysis.window_full"]
    ] == []


def test_repetitions_and_round_trips_of_a_lossy_path(tmp_path: Path) -> None:
    result, (file,) = run(tmp_path, LOSSY)
    frames = sound(file)
    sent_again = result.flows.column("packets_retransmitted")[0]
    assert sent_again > 20
    assert repeated(frames) == sent_again
    assert any(frame["tcp.options.sack_le"] for frame in frames), "SACK blocks"
    stamps = [
        int(frame["tcp.options.timestamp.tsval"])
        for frame in frames
        if frame["tcp.options.timestamp.tsval"]
    ]
    assert stamps == sorted(stamps)
    assert stamps


def test_round_trips_through_a_queue(tmp_path: Path) -> None:
    text = LOSSY.replace(
        'stack = "linux"', 'stack = "basic"\nhandshake = true\nreceive_window = "60kB"'
    )
    text = text.replace('buffer = "45kB"', 'buffer = "1MB"').replace("15MB", "2MB")
    result, (file,) = run(tmp_path, text)
    frames = sound(file)
    samples = [seconds * 1e9 for seconds in round_trips(frames)]
    ours = result.table("round_trips")
    assert result.summary["retransmits"] == repeated(frames) == 0
    assert ours.column("samples")[0] == len(samples)
    # The tolerance covers microseconds in the NIC and on the link to the host, compared with
    # milliseconds in the queue.
    assert ours.column("mean_ns")[0] == pytest.approx(sum(samples) / len(samples), rel=0.002)
    assert min(samples) > 2e6
    assert max(samples) > 4e6, "there is a queue"


def test_other_transports_have_sound_headers(tmp_path: Path) -> None:
    text = LOSSY.replace(
        "[record]\n",
        '[[traffic]]\nkind = "datagram"\npairs = [[0, 1]]\nrate = "10Mbps"\nbytes = "1MB"\n\n[record]\n',
    )
    _, (file,) = run(tmp_path, text)
    statuses = [frame["udp.checksum.status"] for frame in sound(file) if not frame["tcp.flags"]]
    assert statuses
    assert all(status == "1" for status in statuses)
