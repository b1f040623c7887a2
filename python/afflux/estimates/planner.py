"""Proposes windows, buffers and connections for one path: by formula, then checked by a simulation.

`Plan` keeps the results of formulas and of simulations apart. The formulas are for one connection
in the long run:

- window: throughput = window / round trip;
- NewReno: Mathis, Semke, Mahdavi and Ott, CCR 1997: MSS / RTT * sqrt(3 / 2p);
- CUBIC: RFC 9438 section 5.1: a mean window of (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT /
  p)^(3/4) segments, C = 0.4, beta = 0.7, or NewReno's if that is larger (the Reno-friendly region,
  section 4.3);
- H-TCP: draft-leith-tcp-htcp-06: the sawtooth that carries 1/p segments, with beta = 1/2. Its
  increase per round trip is 2 (1 - beta) (1 + 10 (d - 1) + (d - 1)^2 / 4) from one second after a
  loss on, times RTT / 100 ms limited to 0.1 to 2 (Linux);
- BBR: does not react to loss rates below 20 %, so throughput is the part of the path's rate that is
  not lost;
- datagrams with negative acknowledgements: the part of their given rate that is not lost.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..scenario import Scenario
from ..words.text import size, time

CONGESTION = ("newreno", "cubic", "htcp", "bbr", "nack")
#: Header bytes that the MTU includes (IP, TCP with timestamps), and header bytes including
#: Ethernet's, as a Linux queue counts them.
_HEADERS, _FRAME_HEADERS = 52, 66
#: Share of a socket buffer that is usable as window. The kernel uses the rest for bookkeeping
#: (until Linux 6.5 by tcp_adv_win_scale = 1, since then as measured).
_SHARE = 0.5
_MOST_CONNECTIONS = 64
#: Largest socket buffer in bytes: Linux keeps its limits (tcp_rmem, rmem_max) as 32-bit integers.
_MOST_BUFFER = 2**31 - 1
#: Largest window of a TCP connection in bytes: a 16-bit field, scaled by at most 2^14 (RFC 7323
#: section 2.3). Its buffer is below `_MOST_BUFFER`.
_MOST_WINDOW = 65_535 << 14
#: Smallest and initial sizes in bytes of Linux socket buffers (first two values of tcp_rmem and
#: tcp_wmem).
_LEAST_BUFFER, _RECEIVE_BUFFER, _SEND_BUFFER = 4_096, 131_072, 16_384
#: Largest buffer in bytes for segmentation offload. Linux limits it to the data of a millisecond at
#: the pacing rate (tcp_tso_autosize: twice the window's rate in slow start), and on short paths to
#: more.
_OFFLOAD = 65_536
#: Segments in transmission or waiting for a delayed ACK: each link transmits a whole frame before
#: the next one does, and the receiver acknowledges every second segment.
_AT_ENDS = 3
#: Relative difference between formula and simulation from which on the plan has a note, without
#: random losses and with them.
_AGREES, _AGREES_WITH_LOSSES = 0.05, 0.3
#: Upper limits of a simulation in frames and in seconds. It lasts at least 40 round trips.
_FRAMES, _SECONDS, _ROUND_TRIPS = 4_000_000, 60.0, 40


@dataclass(frozen=True)
class Path:
    """The path to plan for: `rate` in bit/s, `rtt` in seconds, `loss` as the probability that a
    frame is lost, `memory` in bytes of each host for socket buffers."""

    rate: float
    rtt: float
    loss: float
    memory: float
    mtu: int
    congestion: str
    #: Size of the bottleneck's queue in bytes; None for a bandwidth-delay product.
    queue: float | None = None

    @property
    def payload(self) -> int:
        return self.mtu - _HEADERS

    @property
    def ceiling(self) -> float:
        """Payload in bits per second when the path is full."""
        return self.rate * self.payload / (self.payload + _FRAME_HEADERS)

    @property
    def product(self) -> float:
        """Payload in flight in bytes when the path is full and no frame waits."""
        return self.ceiling * self.rtt / 8


@dataclass(frozen=True)
class Formula:
    """Throughput by a formula, in bits per second of payload, and the source of the formula."""

    bps: float
    source: str


@dataclass(frozen=True)
class Simulated:
    """Simulated throughput, in bits per second of payload delivered to the receiving program: mean
    from the first SYN on, and in the second half. Retransmissions and time-outs are those of all
    seeds together."""

    mean_bps: float
    settled_bps: float
    seconds: float
    seeds: int
    retransmits: int
    timeouts: int


@dataclass(frozen=True)
class Plan:
    path: Path
    connections: int
    #: Window of each connection in bytes, and the socket buffer in bytes that provides it.
    window: int
    buffer: int
    sysctl: dict[str, str]
    #: Limits of the throughput, by name: the path, all windows together, losses. The expected
    #: throughput is the smallest.
    limits: dict[str, Formula]
    #: Time in seconds until the windows are open, without losses.
    opening: float
    notes: tuple[str, ...]
    simulated: Simulated | None = None

    @property
    def expected(self) -> tuple[str, float]:
        name = min(self.limits, key=lambda name: self.limits[name].bps)
        return name, self.limits[name].bps

    def to_dict(self) -> dict[str, Any]:
        name, bps = self.expected
        proposal = {
            "connections": self.connections,
            "window_bytes": self.window,
            "buffer_bytes": self.buffer,
            "sysctl": self.sysctl,
        }
        formula = {
            "limited_by": name,
            "expected_bps": bps,
            "opening_s": self.opening,
            "limits": {key: asdict(one) for key, one in self.limits.items()},
        }
        simulated = asdict(self.simulated) if self.simulated else None
        return {
            "asked": asdict(self.path),
            "proposal": proposal,
            "formula": formula,
            "simulated": simulated,
            "notes": list(self.notes),
        }


def response(path: Path) -> Formula | None:
    """Returns the throughput of one connection that losses allow; None if they do not matter."""
    p, segment = path.loss, 8 * path.payload
    if path.congestion in ("bbr", "nack"):
        why = (
            "BBR does not react to losses below 20 %"
            if path.congestion == "bbr"
            else "the rate is the sender's own; what is lost is sent again"
        )
        return Formula(path.ceiling * (1 - p), why)
    if p == 0:
        return None
    reno = math.sqrt(1.5 / p) / path.rtt
    if path.congestion == "newreno":
        return Formula(reno * segment, "Mathis et al. 1997: MSS / RTT * sqrt(3 / 2p)")
    if path.congestion == "cubic":
        cubic = (0.4 * 3.7 / (4 * 0.3)) ** 0.25 * (path.rtt / p) ** 0.75 / path.rtt
        return Formula(
            max(cubic, reno) * segment,
            "RFC 9438 section 5.1"
            if cubic > reno
            else "RFC 9438 section 4.3, as Mathis et al. 1997",
        )
    return Formula(
        _htcp(path) * segment,
        "draft-leith-tcp-htcp-06: the sawtooth that carries 1/p segments, beta = 1/2",
    )


def _htcp(path: Path) -> float:
    """Returns segments per second."""
    scale = min(max(path.rtt / 0.1, 0.1), 2.0)

    def grown(age: float) -> tuple[float, float]:
        """Returns the growth of the window in segments at this age (seconds) of an epoch, and its
        integral over time."""
        # Increase per round trip: 1 in the first second, then 1 + 10 x + x^2 / 4; 2 (1 - beta) = 1.
        late = max(age - 1, 0.0)
        first = min(age, 1.0)
        rise = (scale / path.rtt) * (first + late + 5 * late**2 + late**3 / 12)
        area = (scale / path.rtt) * (
            first**2 / 2 + first * late + late**2 / 2 + 5 * late**3 / 3 + late**4 / 48
        )
        return rise, area

    def carried(age: float) -> float:
        rise, area = grown(age)
        # The window falls to a half, so an epoch begins with as much as the window grows in it.
        return (rise * age + area) / path.rtt

    low, high = 0.0, 1.0
    while carried(high) < 1 / path.loss:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if carried(middle) < 1 / path.loss else (low, middle)
    return 1 / path.loss / high


def plan(path: Path) -> Plan:
    """Plans by formula. Raises `ValueError` if the memory does not hold a window of two
    segments."""
    notes: list[str] = []
    one = response(path)
    room = path.memory * _SHARE
    if room < 2 * path.payload:
        raise ValueError(
            f"--memory {path.memory:.0f} B: the window of a connection is half of its buffer and needs at least two segments of {path.payload} B"
        )
    alone = path.congestion in ("bbr", "nack")
    # A window that is halved from time to time must be larger than its share of the path. Without
    # losses, its share is enough.
    spare = 2.0 if path.loss > 0 or path.congestion == "bbr" else 1.0
    total = min(spare * path.product, room)
    if room < path.product:
        notes.append(f"the memory holds windows of {room:.0f} B, the path {path.product:.0f} B")
    connections = _connections(path, None if alone else one, total, notes)
    if path.congestion == "nack":
        window = max(2 * path.payload, math.ceil(total))
        if window > (most := int(_MOST_BUFFER * _SHARE)):
            window = most
            notes.append(
                f"Linux's largest socket buffer, {_MOST_BUFFER} B, does not hold the {size(total)} in flight twice: the programs must store the rest"
            )
    else:
        segments = _segments(path, total / connections, connections)
        most = int(min(room / connections, _MOST_WINDOW)) // path.payload
        window = min(segments, most) * path.payload
    buffer = math.ceil(window / _SHARE)
    limits = {
        "path": Formula(
            path.ceiling,
            "rate * payload / frame, as a Linux queue counts (14 B Ethernet, 20 B IP, 32 B TCP)",
        )
    }
    if path.congestion != "nack":
        # Time in which the path carries the segments that the ends hold.
        held = connections * _held(path, window / path.payload, connections)
        holding = held * path.payload * 8 / path.ceiling
        limits["windows"] = Formula(
            connections * window * 8 / (path.rtt + holding),
            f"window / (round trip + {time(holding * 1e9, 2)} for what the ends hold), all connections together",
        )
    if one is not None:
        limits["losses"] = Formula(
            min(one.bps * connections, path.ceiling) if alone else one.bps * connections, one.source
        )
    initial = 10 * path.payload
    opening = (
        path.rtt * (1 + max(0.0, math.log2(max(1.0, min(window, path.product) / initial))))
        if path.congestion != "nack"
        else path.rtt
    )
    return Plan(
        path,
        connections,
        window,
        buffer,
        _sysctl(path, connections, buffer),
        limits,
        opening,
        tuple(notes),
    )


def _connections(path: Path, one: Formula | None, total: float, notes: list[str]) -> int:
    """Returns the number of connections that together fill the path, at the rate `one` that losses
    allow each of them and with windows of `total` bytes. Adds what limits it to `notes`."""
    against_losses = 1 if one is None else math.ceil(path.ceiling / one.bps)
    # Datagrams have no window.
    for_windows = 1 if path.congestion == "nack" else math.ceil(total / _MOST_WINDOW)
    room = int(path.memory * _SHARE // (2 * path.payload))
    found = min(max(against_losses, for_windows), _MOST_CONNECTIONS, room)
    if found < against_losses:
        notes.append(
            f"{against_losses} connections would be needed to fill the path against its losses; {found} are proposed"
        )
    if for_windows > against_losses:
        fewer = f"; {found} are proposed" if found < for_windows else ""
        notes.append(
            f"the windows need {size(total)} together, and a TCP connection has at most {size(_MOST_WINDOW)} (RFC 7323 section 2.3): "
            f"this takes {for_windows} connections{fewer}"
        )
    return found


def _segments(path: Path, least: float, connections: int) -> int:
    """Returns the segments of a connection's window that holds its share of the path, what the ends
    hold and two more, and at least `least` bytes."""
    in_flight = path.product / connections / path.payload
    # With a third of the window in the sender's buffer.
    held = _held(path, 1.5 * (in_flight + _AT_ENDS), connections)
    return max(math.ceil(in_flight + held) + 2, math.ceil(least / path.payload))


def _held(path: Path, window: float, connections: int) -> float:
    """Returns how many segments of a connection's window are not in flight within the round-trip
    time of an idle path: those in transmission at its links, one whose ACK the receiver delays,
    and those that the sender gathers in a buffer for segmentation offload (Linux
    tcp_tso_should_defer: at most a third of the window). Two segments leave together anyway."""
    rate = min(path.rate / connections, window * path.payload * 8 / path.rtt) / 8
    near = _OFFLOAD >> min(int(path.rtt * 1e6) >> 9, 64)
    buffer = min(_OFFLOAD, 2 * rate / 1024 + near) / path.payload
    return _AT_ENDS + max(0.0, min(buffer, window / 3) - 2)


def _sysctl(path: Path, connections: int, buffer: int) -> dict[str, str]:
    if path.congestion == "nack":
        return {"net.core.rmem_max": str(buffer), "net.core.wmem_max": str(buffer)}
    pages = math.ceil(2 * connections * buffer / 4096)
    # A new socket starts with the second value, whatever the third one is.
    least, receive, send = (
        min(usual, buffer) for usual in (_LEAST_BUFFER, _RECEIVE_BUFFER, _SEND_BUFFER)
    )
    return {
        "net.ipv4.tcp_congestion_control": {"newreno": "reno"}.get(
            path.congestion, path.congestion
        ),
        "net.ipv4.tcp_window_scaling": "1",
        "net.ipv4.tcp_sack": "1",
        "net.ipv4.tcp_timestamps": "1",
        "net.ipv4.tcp_rmem": f"{least} {receive} {buffer}",
        "net.ipv4.tcp_wmem": f"{least} {send} {buffer}",
        "net.core.rmem_max": str(buffer),
        "net.core.wmem_max": str(buffer),
        "net.ipv4.tcp_mem": f"{pages} {pages} {2 * pages}",
        "net.ipv4.tcp_slow_start_after_idle": "0",
        "net.ipv4.tcp_no_metrics_save": "1",
    }


def scenario(proposed: Plan, seconds: float) -> Scenario:
    """Returns a scenario of the proposal: two hosts, a bottleneck between two switches, and losses
    behind it."""
    path = proposed.path
    if path.congestion == "nack":
        transport: dict[str, Any] = {"kind": "nack", "rate": f"{int(path.ceiling)}bps"}
    else:
        transport = {
            "kind": "tcp",
            "stack": "linux",
            "congestion": path.congestion,
            "receive_window": f"{proposed.window}B",
        }
        # The send buffer of the proposal's tcp_wmem. Linux's default of 4 MiB would limit the
        # window. A buffer below the initial size does not grow.
        grows = proposed.buffer >= _SEND_BUFFER
        transport["send_buffer_max" if grows else "send_buffer"] = f"{proposed.buffer}B"
    half = round(path.rtt * 1e9 / 2)
    access = min(1_000, half // 10)
    queue = (
        path.queue
        if path.queue is not None
        else max(path.rate * path.rtt / 8, 20 * (path.mtu + 14))
    )
    topology: dict[str, Any] = {
        "kind": "custom",
        "hosts": 2,
        "switches": ["r1", "r2"],
        "link": [
            {"a": "host0", "b": "r1", "rate": f"{round(4 * path.rate)}bps", "delay": f"{access}ns"},
            {
                "a": "r1",
                "b": "r2",
                "rate": f"{round(path.rate)}bps",
                "delay": f"{half - 2 * access}ns",
            },
            {"a": "r2", "b": "host1", "rate": f"{round(4 * path.rate)}bps", "delay": f"{access}ns"},
        ],
    }
    if path.loss > 0:
        topology["fault"] = [{"link": "r2-host1", "loss": path.loss}]
    traffic: dict[str, Any] = {
        "kind": "pairs",
        "pairs": [[0, 1]],
        "sizes": f"{math.ceil(path.rate * seconds / 8) + 10_000_000}B",
    }
    if proposed.connections > 1:
        # Connections start a round trip apart, because simultaneous slow starts overflow queues
        # together.
        traffic |= {"rounds": proposed.connections, "period": f"{round(path.rtt * 1e9)}ns"}
    return Scenario(
        {
            "format": 1,
            "name": "plan",
            "topology": topology,
            "switch": {"sharing": "static", "buffer": f"{math.ceil(queue)}B"},
            "host": {"wire": "linux", "mtu": f"{path.mtu}B", "transport": transport},
            "traffic": [traffic],
            "run": {"until": f"{round(seconds * 1e9)}ns"},
            "record": {"explain": False},
        }
    )


def simulate(proposed: Plan) -> Simulated:
    """Simulates the proposal briefly, with three seeds if losses are random. The second half is the
    difference of two runs of different length."""
    path = proposed.path
    frames = _FRAMES * (path.mtu + 14) * 8 / path.rate
    # All connections have begun and are open well before the second half.
    least = _ROUND_TRIPS * path.rtt + 2 * proposed.connections * path.rtt
    seeds = 3 if path.loss > 0 else 1
    seconds = max(least, min(_SECONDS, frames / seeds))
    whole, half, again, timeouts = 0.0, 0.0, 0, 0
    for seed in range(1, seeds + 1):
        ends = [
            scenario(proposed, seconds)
            .set("run.until", f"{round(end * 1e9)}ns")
            .run(seed=seed)
            .summary
            for end in (seconds / 2, seconds)
        ]
        first, both = (8 * summary["delivered_bytes"] for summary in ends)
        whole += both / seconds / seeds
        half += (both - first) / (seconds / 2) / seeds
        again, timeouts = again + ends[1]["retransmits"], timeouts + ends[1]["timeouts"]
    return Simulated(whole, half, seconds, seeds, again, timeouts)


def confirmed(proposed: Plan) -> Plan:
    """Adds the simulation to the plan, and notes if it is too short for the long run that the
    formula assumes, or stays below the formula."""
    found, path = simulate(proposed), proposed.path
    losses = (
        found.mean_bps
        * found.seconds
        * found.seeds
        / (8 * path.payload)
        * path.loss
        / proposed.connections
    )
    notes = list(proposed.notes)
    if 0 < losses < 10:
        notes.append(
            f"each connection saw about {losses:.1f} losses in the simulation: too few for the long run that the formula speaks of"
        )
    below = 1 - found.settled_bps / proposed.expected[1]
    if below > (_AGREES_WITH_LOSSES if path.loss > 0 else _AGREES):
        why = (
            "the formula knows neither time-outs nor retransmissions that are lost"
            if path.loss > 0
            else "the queue of the slowest link overflows"
            if found.retransmits
            else "senders wait to send bursts, which the formula covers only in part on short paths"
        )
        notes.append(
            f"the simulation stays {100 * below:.0f} % below the expected throughput: {why}"
        )
    return replace(proposed, simulated=found, notes=tuple(notes))
