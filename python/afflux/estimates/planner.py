"""Windows, buffers and connections for one path: by formula, then simulated.

What a formula says and what a simulation found are kept apart in `Plan`. Formulas are of one connection in the long run:

- window: throughput = window / round trip;
- NewReno: Mathis, Semke, Mahdavi and Ott, CCR 1997: MSS / RTT * sqrt(3 / 2p);
- CUBIC: RFC 9438 section 5.1: a mean window of (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4) segments, C = 0.4, beta = 0.7, and NewReno's where
  that is more (the Reno-friendly region, section 4.3);
- H-TCP: draft-leith-tcp-htcp-06: the sawtooth whose increase is 2 (1 - beta) (1 + 10 (d - 1) + (d - 1)^2 / 4) per round trip from one second after a loss
  on, times RTT / 100 ms between 0.1 and 2 (Linux), that carries 1/p segments, with beta = 1/2;
- BBR: it does not react to losses below a fifth: what is not lost of the path;
- datagrams with negative acknowledgements: the same, at the rate that they are given.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..scenario import Scenario

CONGESTION = ("newreno", "cubic", "htcp", "bbr", "nack")
#: Headers in the MTU (IP, TCP with timestamps), and with Ethernet's in front: what a Linux queue counts.
_HEADERS, _FRAME_HEADERS = 52, 66
#: Half of a socket buffer is window, the rest the kernel's bookkeeping (until Linux 6.5 by tcp_adv_win_scale = 1, since then as measured).
_SHARE = 0.5
_MOST_CONNECTIONS = 64
#: Bytes that a Linux send buffer starts with (tcp_wmem's second value).
_LEAST_SEND_BUFFER = 16_384
#: So many frames are simulated at most, and so many seconds, but 40 round trips at least.
_FRAMES, _SECONDS, _ROUND_TRIPS = 4_000_000, 60.0, 40


@dataclass(frozen=True)
class Path:
    """What is asked: bits per second, seconds, probability that a frame is lost, bytes of each host's memory for socket buffers."""

    rate: float
    rtt: float
    loss: float
    memory: float
    mtu: int
    congestion: str
    #: Bytes of the bottleneck's queue; None: a bandwidth-delay product.
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
        """Payload in flight, in bytes, when it is full and nothing waits."""
        return self.ceiling * self.rtt / 8


@dataclass(frozen=True)
class Formula:
    """Bits per second of payload by a formula, and whose it is."""

    bps: float
    source: str


@dataclass(frozen=True)
class Simulated:
    """Bits per second of payload that the receiver's program got: on average from the first SYN on, and in the second half."""

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
    #: Bytes of each connection: its window, and the socket buffers that give it.
    window: int
    buffer: int
    sysctl: dict[str, str]
    #: What limits, by name: the path, all windows together, losses. The least is what to expect.
    limits: dict[str, Formula]
    #: Until the windows are open, without losses, in seconds.
    opening: float
    notes: tuple[str, ...]
    simulated: Simulated | None = None

    @property
    def expected(self) -> tuple[str, float]:
        name = min(self.limits, key=lambda name: self.limits[name].bps)
        return name, self.limits[name].bps

    def to_dict(self) -> dict[str, Any]:
        name, bps = self.expected
        proposal = {"connections": self.connections, "window_bytes": self.window, "buffer_bytes": self.buffer, "sysctl": self.sysctl}
        formula = {"limited_by": name, "expected_bps": bps, "opening_s": self.opening, "limits": {key: asdict(one) for key, one in self.limits.items()}}
        simulated = asdict(self.simulated) if self.simulated else None
        return {"asked": asdict(self.path), "proposal": proposal, "formula": formula, "simulated": simulated, "notes": list(self.notes)}


def response(path: Path) -> Formula | None:
    """Bits per second that losses allow one connection; None where they do not matter."""
    p, segment = path.loss, 8 * path.payload
    if path.congestion in ("bbr", "nack"):
        why = "BBR does not react to losses below 20 %" if path.congestion == "bbr" else "the rate is the sender's own; what is lost is sent again"
        return Formula(path.ceiling * (1 - p), why)
    if p == 0:
        return None
    reno = math.sqrt(1.5 / p) / path.rtt
    if path.congestion == "newreno":
        return Formula(reno * segment, "Mathis et al. 1997: MSS / RTT * sqrt(3 / 2p)")
    if path.congestion == "cubic":
        cubic = (0.4 * 3.7 / (4 * 0.3)) ** 0.25 * (path.rtt / p) ** 0.75 / path.rtt
        return Formula(max(cubic, reno) * segment, "RFC 9438 section 5.1" if cubic > reno else "RFC 9438 section 4.3, as Mathis et al. 1997")
    return Formula(_htcp(path) * segment, "draft-leith-tcp-htcp-06: the sawtooth that carries 1/p segments, beta = 1/2")


def _htcp(path: Path) -> float:
    """Segments per second."""
    scale = min(max(path.rtt / 0.1, 0.1), 2.0)

    def grown(age: float) -> tuple[float, float]:
        """What the window has grown by at this age of an epoch, and its integral over time."""
        # alpha per round trip: 1, and from one second on 1 + 10 x + x^2 / 4; 2 (1 - beta) = 1.
        late = max(age - 1, 0.0)
        first = min(age, 1.0)
        rise = (scale / path.rtt) * (first + late + 5 * late**2 + late**3 / 12)
        area = (scale / path.rtt) * (first**2 / 2 + first * late + late**2 / 2 + 5 * late**3 / 3 + late**4 / 48)
        return rise, area

    def carried(age: float) -> float:
        rise, area = grown(age)
        # It falls to a half: it begins at what it grows by.
        return (rise * age + area) / path.rtt

    low, high = 0.0, 1.0
    while carried(high) < 1 / path.loss:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if carried(middle) < 1 / path.loss else (low, middle)
    return 1 / path.loss / high


def plan(path: Path) -> Plan:
    """By formula. Raises `ValueError` if the memory does not hold a window of two segments."""
    notes: list[str] = []
    one = response(path)
    room = path.memory * _SHARE
    if room < 2 * path.payload:
        raise ValueError(f"--memory {path.memory:.0f} B: the window of a connection is half of its buffer and needs at least two segments of {path.payload} B")
    alone = path.congestion in ("bbr", "nack")
    # What losses allow one connection, as often as it takes.
    wanted = 1 if alone or one is None else math.ceil(path.ceiling / one.bps)
    connections = min(wanted, _MOST_CONNECTIONS, int(room // (2 * path.payload)))
    if connections < wanted:
        notes.append(f"{wanted} connections would be needed to fill the path against its losses; {connections} are proposed")
    # A window that is halved now and then has to be larger than its share before; without losses its share is all that helps.
    spare = 2.0 if path.loss > 0 or path.congestion == "bbr" else 1.0
    total = min(spare * path.product, room)
    if room < path.product:
        notes.append(f"the memory holds windows of {room:.0f} B, the path {path.product:.0f} B")
    window = max(2 * path.payload, math.ceil(total / connections))
    buffer = math.ceil(window / _SHARE)
    limits = {"path": Formula(path.ceiling, "rate * payload / frame, as a Linux queue counts (14 B Ethernet, 20 B IP, 32 B TCP)")}
    if path.congestion != "nack":
        limits["windows"] = Formula(connections * window * 8 / path.rtt, "window / round trip, all connections together")
    if one is not None:
        limits["losses"] = Formula(min(one.bps * connections, path.ceiling) if alone else one.bps * connections, one.source)
    initial = 10 * path.payload
    opening = path.rtt * (1 + max(0.0, math.log2(max(1.0, min(window, path.product) / initial)))) if path.congestion != "nack" else path.rtt
    return Plan(path, connections, window, buffer, _sysctl(path, connections, buffer), limits, opening, tuple(notes))


def _sysctl(path: Path, connections: int, buffer: int) -> dict[str, str]:
    if path.congestion == "nack":
        return {"net.core.rmem_max": str(buffer), "net.core.wmem_max": str(buffer)}
    pages = math.ceil(2 * connections * buffer / 4096)
    return {
        "net.ipv4.tcp_congestion_control": {"newreno": "reno"}.get(path.congestion, path.congestion),
        "net.ipv4.tcp_window_scaling": "1",
        "net.ipv4.tcp_sack": "1",
        "net.ipv4.tcp_timestamps": "1",
        "net.ipv4.tcp_rmem": f"4096 131072 {buffer}",
        "net.ipv4.tcp_wmem": f"4096 {_LEAST_SEND_BUFFER} {buffer}",
        "net.core.rmem_max": str(buffer),
        "net.core.wmem_max": str(buffer),
        "net.ipv4.tcp_mem": f"{pages} {pages} {2 * pages}",
        "net.ipv4.tcp_slow_start_after_idle": "0",
        "net.ipv4.tcp_no_metrics_save": "1",
    }


def scenario(proposed: Plan, seconds: float) -> Scenario:
    """The proposal on such a path: two hosts, a bottleneck between two switches, losses behind it."""
    path = proposed.path
    if path.congestion == "nack":
        transport: dict[str, Any] = {"kind": "nack", "rate": f"{int(path.ceiling)}bps"}
    else:
        transport = {"kind": "tcp", "stack": "linux", "congestion": path.congestion, "receive_window": f"{proposed.window}B"}
        # The proposal's tcp_wmem; Linux's own of 4 MiB would limit the window.
        transport["send_buffer_max"] = f"{max(proposed.buffer, _LEAST_SEND_BUFFER)}B"
    half = round(path.rtt * 1e9 / 2)
    access = min(1_000, half // 10)
    queue = path.queue if path.queue is not None else max(path.rate * path.rtt / 8, 20 * (path.mtu + 14))
    topology: dict[str, Any] = {
        "kind": "custom",
        "hosts": 2,
        "switches": ["r1", "r2"],
        "link": [
            {"a": "host0", "b": "r1", "rate": f"{round(4 * path.rate)}bps", "delay": f"{access}ns"},
            {"a": "r1", "b": "r2", "rate": f"{round(path.rate)}bps", "delay": f"{half - 2 * access}ns"},
            {"a": "r2", "b": "host1", "rate": f"{round(4 * path.rate)}bps", "delay": f"{access}ns"},
        ],
    }
    if path.loss > 0:
        topology["fault"] = [{"link": "r2-host1", "loss": path.loss}]
    traffic: dict[str, Any] = {"kind": "pairs", "pairs": [[0, 1]], "sizes": f"{math.ceil(path.rate * seconds / 8) + 10_000_000}B"}
    if proposed.connections > 1:
        # A round trip apart: slow starts at one moment overflow queues together.
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
    """A quick simulation of the proposal: three seeds where losses are random. The second half is told from two runs to two ends."""
    path = proposed.path
    frames = _FRAMES * (path.mtu + 14) * 8 / path.rate
    # All connections have begun and are open well before the second half.
    least = _ROUND_TRIPS * path.rtt + 2 * proposed.connections * path.rtt
    seeds = 3 if path.loss > 0 else 1
    seconds = max(least, min(_SECONDS, frames / seeds))
    whole, half, again, timeouts = 0.0, 0.0, 0, 0
    for seed in range(1, seeds + 1):
        ends = [scenario(proposed, seconds).set("run.until", f"{round(end * 1e9)}ns").run(seed=seed).summary for end in (seconds / 2, seconds)]
        first, both = (8 * summary["delivered_bytes"] for summary in ends)
        whole += both / seconds / seeds
        half += (both - first) / (seconds / 2) / seeds
        again, timeouts = again + ends[1]["retransmits"], timeouts + ends[1]["timeouts"]
    return Simulated(whole, half, seconds, seeds, again, timeouts)


def confirmed(proposed: Plan) -> Plan:
    """With its simulation, and a note where that is too short for the formula's long run."""
    found, path = simulate(proposed), proposed.path
    losses = found.mean_bps * found.seconds * found.seeds / (8 * path.payload) * path.loss / proposed.connections
    short = f"each connection saw about {losses:.1f} losses in the simulation: too few for the long run that the formula speaks of"
    return replace(proposed, simulated=found, notes=(*proposed.notes, *([short] if 0 < losses < 10 else [])))
