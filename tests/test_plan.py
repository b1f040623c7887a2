"""`afflux plan`: its formulas against values computed by hand, and its simulation."""

import json

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
    assert lone.window == pytest.approx(100e6 * 1448 / 1514 * 0.3 / 8, abs=1)
    assert lone.expected[1] == pytest.approx(95.64e6, rel=1e-4)
    small = planner.plan(path(memory=1e6))
    assert small.expected == ("windows", pytest.approx(500_000 * 8 / 0.3))
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


@pytest.mark.parametrize("congestion", ["newreno", "nack"])
def test_simulation_agrees_where_the_window_or_the_rate_decides(congestion: str):
    proposed = planner.plan(path(congestion, memory=2e6, rate=20e6))
    found = planner.simulate(proposed)
    assert found.settled_bps == pytest.approx(proposed.expected[1], rel=0.02)
    assert (found.retransmits, found.timeouts) == (0, 0)


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--rate", "1Gb"),
            "error: --rate 1Gb: write a number and a unit of bps, kbps, Mbps, Gbps, Tbps, as in 1Gbps",
        ),
        (("--rate", "1bps"), "error: --rate 1bps: write 100kbps to 400Gbps"),
        (("--rtt", "300"), "error: --rtt 300: write a number and a unit of us, ms, s, as in 300ms"),
        (("--loss", "7"), "error: --loss 7: write a probability from 0 to 0.2, as in 1e-6"),
        (("--mtu", "99"), "error: --mtu 99: write 576 to 9216 bytes"),
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
