"""The size of a scenario and the cost of its run, estimated without a run."""

import itertools
import math
from dataclasses import asdict, dataclass
from typing import Any

from .. import _core
from .topology import Tier, tiers

#: Packet-hops per second and core by hosts, as docs/bench.md measured them: fat-trees with DCTCP, and with PFC on every switch.
PLAIN = ((128, 24.1e6), (1_024, 21.0e6), (8_192, 9.8e6))
PAUSING = ((128, 17.6e6), (1_024, 9.5e6))
#: Seconds beside packet-hops: to start, for each link (fabric and routes), for each flow (drawn, set up, put in order, written), for each row of `[record]`.
START, OF_LINK, OF_FLOW, OF_RECORD = 0.2, 6e-6, 8e-6, 0.6e-6
#: A packet-hop can take so many times as long in an overloaded scenario, where frames are lost or flows wait for each other in long queues.
OVERLOADED = 5.0
#: Flows wait for each other if they take so many times longer than alone.
CROWD = 8.0
#: Flows of each random process that `check` draws and follows. The rest is counted by its rate and mean size.
DRAWN = 100_000
#: A call of a congestion control in Python, for each acknowledgement (tests/test_python_congestion.py); and payload of a segment in bytes.
OWN_SECONDS, _SEGMENT = 10e-6, 1_460


@dataclass(frozen=True)
class Checked:
    """A valid scenario, and estimates from it."""

    name: str
    seed: int
    hosts: int
    switches: int
    links: int
    #: Number of flows, including those of applications.
    flows: int
    #: End of the run; None: when all traffic or all jobs are done.
    until_ns: int | None
    #: When the run is expected to end, and whether flows are under way then.
    end_ns: int
    cut: bool
    tiers: tuple[Tier, ...]
    payload_bytes: int
    packet_hops: int
    #: Bounds of the packet-hops; equal to `packet_hops` if the estimate is certain.
    least_hops: int
    most_hops: int
    #: Why the bounds differ; None if that is not known to matter. Without a `doubt` and a `rest` the estimate is within 10 %.
    doubt: str | None
    #: The part of the payload that was followed flow by flow, and what is said of the other part, if any.
    followed: float
    rest: str | None
    #: False if the estimate stopped before the end of the traffic of applications because that is too much to follow.
    complete: bool
    #: Packet-hops per second, from which `seconds` is computed.
    speed: float
    #: On one core, with the bounds.
    seconds: float
    least_seconds: float
    most_seconds: float
    #: Of these to set up the fabric and the flows, and to write results.
    set_up_seconds: float
    #: A congestion control in Python: its calls are in `seconds`.
    own_congestion: bool
    #: Largest resident memory of the run in bytes.
    memory_bytes: int
    notes: tuple[str, ...]
    #: Warnings about valid keys without the expected effect: `file`, `line`, `key`, `text`.
    warnings: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def check(scenario: _core.Scenario) -> Checked:
    """Estimates a validated scenario without running it."""
    found = scenario.expected()
    speed = _speed(scenario.hosts, PAUSING if scenario.has_flow_control else PLAIN)
    set_up = START + OF_LINK * scenario.links + OF_FLOW * found.flows + OF_RECORD * found.records
    notes = list(scenario.notes)
    losing = found.doubt is not None and found.doubt[0] == "losses"
    slower = OVERLOADED if losing or found.crowding > CROWD else 1.0
    own = 0.0
    if scenario.has_own_congestion:
        own = OWN_SECONDS * found.payload_bytes / _SEGMENT
        notes.append(
            "the window rule of a Python class is not known before the run: packet-hops are estimated for a window that grows as NewReno's, and the time is "
            f"that of {OWN_SECONDS * 1e6:.0f} us of Python per segment"
        )
    return Checked(
        name=scenario.name,
        seed=scenario.seed,
        hosts=scenario.hosts,
        switches=scenario.switches,
        links=scenario.links,
        flows=found.flows,
        until_ns=scenario.until_ns,
        end_ns=found.end_ns,
        cut=found.cut,
        tiers=tuple(tiers(scenario)),
        payload_bytes=found.payload_bytes,
        packet_hops=found.packet_hops,
        least_hops=found.least_hops,
        most_hops=found.most_hops,
        doubt=_doubt(found),
        followed=found.followed,
        rest=_rest(found),
        complete=found.complete,
        speed=speed,
        seconds=set_up + own + found.packet_hops / speed,
        least_seconds=set_up + own + found.least_hops / speed,
        most_seconds=set_up + own + slower * found.most_hops / speed,
        set_up_seconds=set_up,
        own_congestion=scenario.has_own_congestion,
        memory_bytes=found.memory_bytes,
        notes=tuple(notes),
        warnings=tuple({"file": str(one.file), "line": one.line, "key": one.key, "text": one.text} for one in scenario.warnings),
    )


def _doubt(found: _core.Expected) -> str | None:
    match found.doubt:
        case None:
            return None
        case "losses", [node, peer]:
            return f"frames are likely to be lost at {node}, on their way to {peer}: it cannot take what is sent there at once"
        case "overtaking", _:
            return "frames of a flow overtake each other, and its transport takes those for lost that were overtaken"
        case "queues", _:
            return "many frames stand in queues when the run ends"
        case "copies", _:
            return "subflows send the same data, and a copy that has not left when another one is acknowledged is not sent"
        case _:
            return "how much of a link its congestion control uses is not known beforehand"


def _rest(found: _core.Expected) -> str | None:
    if found.followed >= 1:
        return None
    return f"only {100 * found.followed:.2g} % of the bytes were followed flow by flow; the rest is counted by rate and mean size"


def _speed(hosts: int, measured: tuple[tuple[int, float], ...]) -> float:
    """Between the measured sizes by the logarithm of both; beyond them the nearest one's."""
    for (few, fast), (many, slow) in itertools.pairwise(measured):
        if few < hosts <= many:
            share = math.log(hosts / few) / math.log(many / few)
            return fast * (slow / fast) ** share
    return measured[0][1] if hosts <= measured[0][0] else measured[-1][1]
