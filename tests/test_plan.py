"""`afflux plan`: its formulas against values computed by hand, and its simulation."""

import json
import math

import pytest

from afflux.estimates import planner


def path(congestion: str = "cubic", loss: float = 0.0, **other: float) -> planner.Path:
    known = {"rate": 100e6, "rtt": 0.3, "memory": 64e6, "mtu": 1500}
    return planner.Path(**(known | other), loss=loss, congestion=congestion)


def test_response_functions():
    segment = 8 * 1448
    # Mathis: sqrt(1.5 / 1e-4) = 122.47 segments per round trip.
    assert planner.response(path("newreno", 1e-4)).bps == pytest.approx(
        122.474 / 0.3 * segment, rel=1e-4
    )
    # RFC 9438, table 1: RTT 0.1 s, p 1e-4: a mean window of 187 segments for CUBIC, at 1e-6 of 5926.
    for loss, window in ((1e-4, 187), (1e-6, 5926)):
        assert planner.response(path("cubic", loss, rtt=0.1)).bps == pytest.approx(
            window / 0.1 * segment, rel=0.01
        )
    # RFC 9438, table 2: RTT 0.01 s, p 1e-3: it is as fast as Reno, whose window is 38.
    assert planner.response(path("cubic", 1e-3, rtt=0.01)).bps == pytest.approx(
        38 / 0.01 * segment, rel=0.03
    )
    assert planner.response(path("cubic")) is None


def test_htcp_within_its_first_second_is_reno():
    # An increase of one per round trip (scaled by RTT / 100 ms = 0.5) and halving: 3/2 of the increase squared carries 1/p.
    slow = planner.response(path("htcp", 0.02, rtt=0.05)).bps
    increase = (2 / 3 / (0.5 * 0.02)) ** 0.5  # round trips of an epoch: 1.5 * 0.5 * n^2 = 1/p
    assert slow == pytest.approx(1 / 0.02 / (increase * 0.05) * 8 * 1448, rel=1e-6)
    assert (
        planner.response(path("htcp", 1e-6)).bps > planner.response(path("newreno", 1e-6)).bps * 5
    )


def test_windows_and_connections():
    lone = planner.plan(path())
    assert lone.connections == 1
    # 2,476.9 segments in flight and 3 at the ends, the rest of an offload buffer of a millisecond
    # at twice the rate (24,414 B), and two more.
    in_flight = 100e6 / 8 * 0.3 / 1514
    assert lone.window == math.ceil(in_flight + 3 + 24_414 / 1448 - 2 + 2) * 1448
    assert lone.expected[1] == pytest.approx(95.64e6, rel=1e-4)
    small = planner.plan(path(memory=1e6))
    # 345 whole segments, and a buffer for offload of a millisecond at twice 13.3 Mbps.
    holding = (3 + 2 * 345 * 1448 / 0.3 / 1024 / 1448 - 2) * 1514 * 8 / 100e6
    assert small.expected == ("windows", pytest.approx(345 * 1448 * 8 / (0.3 + holding)))
    many = planner.plan(path("newreno", 1e-4))
    assert many.connections == 21
    assert many.expected[0] == "path"
    assert many.sysctl["net.ipv4.tcp_rmem"].endswith(f" {many.buffer}")
    assert many.buffer * many.connections <= 64e6
    with pytest.raises(ValueError, match="needs at least two segments of 1448 B"):
        planner.plan(path(memory=5_000))


def test_both_ends_have_the_proposed_buffers():
    proposed = planner.plan(path(rate=1e9, memory=256e6))
    scenario = planner.scenario(proposed, 1)
    assert scenario["host.transport.send_buffer_max"] == f"{proposed.buffer}B"
    assert proposed.buffer > 4 << 20
    assert proposed.sysctl["net.ipv4.tcp_wmem"].endswith(f" {proposed.buffer}")


def test_windows_and_buffers_end_where_tcp_and_linux_end():
    long = planner.plan(path(rate=100e9, rtt=2.0, memory=1e12))
    assert long.connections == 23
    assert long.window <= 65_535 << 14
    assert long.expected == ("path", pytest.approx(95.64e9, rel=1e-4))
    assert long.notes == (
        "the windows need 23.9 GB together, and a TCP connection has at most 1.07 GB (RFC 7323 section 2.3): this takes 23 connections",
    )
    longest = planner.plan(path("bbr", rate=400e9, rtt=2.0, memory=1e12))
    assert (longest.connections, longest.window) == (64, (65_535 << 14) // 1448 * 1448)
    assert longest.expected[0] == "windows"
    assert longest.notes[0].endswith("this takes 179 connections; 64 are proposed")
    datagrams = planner.plan(path("nack", rate=100e9, rtt=2.0, memory=1e12))
    assert datagrams.connections == 1
    assert "largest socket buffer, 2147483647 B" in datagrams.notes[0]
    for plan in (long, longest, datagrams):
        sizes = [
            int(size)
            for key, value in plan.sysctl.items()
            if key.endswith(("mem_max", "tcp_rmem", "tcp_wmem"))
            for size in value.split()
        ]
        assert max(sizes) <= 2**31 - 1


def test_no_value_of_tcp_rmem_and_tcp_wmem_exceeds_the_next_one():
    # A new socket starts with the second value, even if it exceeds the third one.
    for asked in (path(memory=20e3), path(memory=4_096, mtu=576), path(rate=1e5, rtt=1e-4)):
        proposed = planner.plan(asked)
        for key in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
            sizes = [int(size) for size in proposed.sysctl[key].split()]
            assert sizes == sorted(sizes)
            assert sizes[2] == proposed.buffer
        planner.scenario(proposed, 1).check()
    # Half of the memory holds six segments.
    assert planner.plan(path(memory=20e3)).sysctl["net.ipv4.tcp_rmem"] == "4096 17376 17376"


@pytest.mark.parametrize("congestion", ["newreno", "nack"])
def test_simulation_agrees_where_the_window_or_the_rate_decides(congestion: str):
    proposed = planner.plan(path(congestion, memory=2e6, rate=20e6))
    found = planner.simulate(proposed)
    assert found.settled_bps == pytest.approx(proposed.expected[1], rel=0.02)
    assert (found.retransmits, found.timeouts) == (0, 0)


@pytest.mark.parametrize(
    ("rate", "rtt", "memory"),
    [
        (10e6, 0.02, 64e6),
        (100e6, 0.02, 64e6),
        (1e6, 0.1, 64e6),
        (1e9, 0.001, 64e6),
        # Windows that the memory limits.
        (10e6, 0.02, 40e3),
        (100e6, 0.02, 300e3),
    ],
)
def test_the_proposed_window_reaches_the_expected_throughput(monkeypatch, rate, rtt, memory):
    """The window also holds the segments that are in transmission, whose ACK is delayed, or that
    the sender gathers for segmentation offload."""
    monkeypatch.setattr(planner, "_FRAMES", 20_000)
    monkeypatch.setattr(planner, "_SECONDS", 8.0)
    proposed = planner.confirmed(planner.plan(path(rate=rate, rtt=rtt, memory=memory)))
    assert proposed.window % proposed.path.payload == 0
    assert proposed.simulated.settled_bps == pytest.approx(proposed.expected[1], rel=0.04)
    assert proposed.simulated.retransmits == 0
    assert proposed.notes == () if memory == 64e6 else len(proposed.notes) == 1


def test_a_simulation_below_the_expected_throughput_is_noted(monkeypatch):
    monkeypatch.setattr(planner, "_SECONDS", 8.0)
    found = planner.confirmed(planner.plan(path(rate=10e6, rtt=0.02, queue=4e3)))
    (note,) = found.notes
    assert note.startswith("the simulation stays 90 % below the expected throughput: the queue of")


def test_a_formula_that_does_not_hold_is_noted(monkeypatch):
    """At 20 % losses time-outs decide: the expected throughput is seven times the simulated one."""
    monkeypatch.setattr(planner, "_SECONDS", 8.0)
    found = planner.confirmed(planner.plan(path("newreno", 0.2, rate=10e6, rtt=0.02)))
    assert found.simulated.settled_bps < 0.5 * found.expected[1]
    assert found.notes[-1].endswith("knows neither time-outs nor retransmissions that are lost")


def test_command(command):
    ran = command(
        "plan",
        "--rate",
        "20Mbps",
        "--rtt",
        "100ms",
        "--loss",
        "1e-3",
        "--congestion",
        "newreno",
        "--json",
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["proposal"]["connections"] == 5
    assert told["formula"]["limited_by"] == "path"
    assert told["simulated"]["seeds"] == 3
    assert told["simulated"]["retransmits"] > 0
    assert (
        0.7 * told["formula"]["expected_bps"]
        < told["simulated"]["settled_bps"]
        < told["formula"]["limits"]["path"]["bps"]
    )
    assert (
        "Not simulated."
        in command("plan", "--rate", "1Gbps", "--rtt", "300ms", "--formula-only").stdout
    )


def test_counts_of_several_seeds_are_told_as_sums(command):
    """Sums of three runs stood next to a mean throughput, and looked like means."""
    words = ("--rate", "1Mbps", "--rtt", "20ms", "--loss", "0.01")
    told = " ".join(command("plan", *words).stdout.split())
    assert "mean of 3 seeds" in told
    assert "time-outs in all 3 runs)" in told


@pytest.mark.parametrize("mtu", ["9000", "9000B", "9kB"])
def test_the_mtu_has_a_unit_or_none(command, mtu):
    words = ("--rate", "1Gbps", "--rtt", "300ms", "--mtu", mtu, "--formula-only", "--json")
    ran = command("plan", *words)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["asked"]["mtu"] == 9_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--rate", "1Gb"),
            "error: --rate 1Gb: write a number and a unit of bps, kbps, Mbps, Gbps, Tbps, as in 1Gbps",
        ),
        (("--rate", "1bps"), "error: --rate 1bps: write 100kbps to 400Gbps"),
        (("--rtt", "300"), "error: --rtt 300: write a number and a unit of us, ms, s, as in 300ms"),
        (("--rtt", "9s"), "error: --rtt 9s: write 100us to 2s"),
        (("--queue", "100B"), "error: --queue 100B: write 3028B to 1TB"),
        (("--memory", "10B"), "error: --memory 10B: write 4KiB to 1TB"),
        (
            ("--loss", "7"),
            "error: --loss 7: write 0, or a probability from 1e-18 to 0.2, as in 1e-6",
        ),
        # The reciprocal is no finite number: the command ended in a traceback.
        (
            ("--loss", "1e-320"),
            "error: --loss 1e-320: write 0, or a probability from 1e-18 to 0.2, as in 1e-6",
        ),
        (("--mtu", "99"), "error: --mtu 99: write 576 to 9216 bytes, as in 9000B"),
        (("--mtu", "10kB"), "error: --mtu 10kB: write 576 to 9216 bytes, as in 9000B"),
        (
            ("--mtu", "9000b"),
            "error: --mtu 9000b: write a number and a unit of B, kB, MB, GB, TB, KiB, MiB, GiB, as in 9000B",
        ),
        (
            ("--congestion", "vegas"),
            "error: --congestion: there is no congestion control called 'vegas': there are newreno, cubic, htcp, bbr, nack",
        ),
    ],
)
def test_errors(command, options: tuple[str, ...], message: str):
    given = {"--rate": "1Gbps", "--rtt": "300ms"} | {options[0]: options[1]}
    ran = command("plan", *(word for pair in given.items() for word in pair))
    assert (ran.returncode, ran.stderr.strip()) == (2, message)
