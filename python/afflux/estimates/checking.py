"""Estimates the size of a scenario and the cost of its run without running it."""

import itertools
import math
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .. import _core
from ..kernels import USUAL, images
from .topology import Tier, tiers

#: Packet-hops per second and core by number of hosts, from docs/bench.md: permutations on fat-trees
#: with DCTCP, and with PFC on every switch.
PLAIN = ((128, 30.7e6), (1_024, 27.2e6), (8_192, 12.6e6))
PAUSING = ((128, 19.6e6), (1_024, 15.8e6))
#: Seconds in addition to packet-hops: at start, for each link (fabric and routes), for each flow
#: (drawing, set-up, sorting, writing), for each row of `[record]`.
START, OF_LINK, OF_FLOW, OF_RECORD = 0.2, 6e-6, 8e-6, 0.6e-6
#: Factor by which a packet-hop can take longer in an overloaded scenario, where frames are lost or
#: flows wait for each other in long queues.
OVERLOADED = 5.0
#: Flows are taken to wait for each other if they take this many times longer than alone.
CROWD = 8.0
#: Number of flows of each random process that `check` draws and follows. The rest is computed from
#: its rate and mean size.
DRAWN = 100_000
#: Seconds of a call of a Python congestion control, made for each acknowledgement
#: (tests/test_python_congestion.py), and payload of a segment in bytes.
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
    #: Time at which the run ends; None if it ends when all traffic or all jobs are done.
    until_ns: int | None
    #: Expected end of the run, and whether flows are still in progress then.
    end_ns: int
    cut: bool
    tiers: tuple[Tier, ...]
    payload_bytes: int
    packet_hops: int
    #: Bounds of the packet-hops; equal to `packet_hops` if the estimate is certain.
    least_hops: int
    most_hops: int
    #: Reason why the bounds differ; None if no reason is known to matter. Without a `doubt` and a
    #: `rest` the estimate is within 10 %.
    doubt: str | None
    #: Share of the payload that was followed flow by flow, and a sentence about the rest, if any.
    followed: float
    rest: str | None
    #: False if the estimate stopped before the end of the applications' traffic because that is too
    #: much to follow.
    complete: bool
    #: Packet-hops per second, from which `seconds` is computed.
    speed: float
    #: Expected duration in seconds on one core, with its bounds.
    seconds: float
    least_seconds: float
    most_seconds: float
    #: Part of these seconds that is needed to set up the fabric and the flows, and to write
    #: results.
    set_up_seconds: float
    #: True if the congestion control is written in Python. `seconds` includes its calls.
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
    notes = [*scenario.notes, *_without_image(scenario)]
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
        doubt=_why_rough(found),
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
        warnings=tuple(
            {"file": str(one.file), "line": one.line, "key": one.key, "text": one.text}
            for one in scenario.warnings
        ),
    )


def _without_image(scenario: _core.Scenario) -> Iterator[str]:
    """Yields a note for each kernel that this machine cannot run."""
    kernels = tomllib.loads(scenario.resolved)["host"].get("kernel", [])
    if not kernels:
        return
    wanted = {kernel.get("image", USUAL) for kernel in kernels}
    for version in sorted(wanted - {image.version for image in images()}):
        yield f"this machine has no image of Linux {version}: `afflux kernel build {version}` makes it"


def _why_rough(found: _core.Expected) -> str | None:
    match found.doubt:
        case None:
            return None
        case "losses", [node, peer]:
            return f"frames are likely to be lost at {node}, on their way to {peer}: it cannot take what is sent there at once"
        case "faults", _:
            return "links lose frames or are down for a time, which the estimate does not follow"
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
    """Interpolates the speed between the measured sizes, logarithmically in both. Beyond them,
    returns the speed of the nearest one."""
    for (few, fast), (many, slow) in itertools.pairwise(measured):
        if few < hosts <= many:
            share = math.log(hosts / few) / math.log(many / few)
            return fast * (slow / fast) ** share
    return measured[0][1] if hosts <= measured[0][0] else measured[-1][1]
