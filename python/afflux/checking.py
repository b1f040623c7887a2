"""What a scenario is and what its run will take, before anything is run."""

import itertools
import math
from dataclasses import asdict, dataclass
from typing import Any

from . import _core
from .topology import Tier, tiers

#: Packet-hops per second and core by hosts, as docs/bench.md measured them: fat-trees with DCTCP, and with PFC on every switch.
PLAIN = ((128, 24.1e6), (1_024, 21.0e6), (8_192, 9.8e6))
PAUSING = ((128, 17.6e6), (1_024, 9.5e6))


@dataclass(frozen=True)
class Checked:
    """A valid scenario, and estimates from it."""

    name: str
    seed: int
    hosts: int
    switches: int
    links: int
    flows: int
    #: None: until nothing is left to happen, or jobs are done.
    until_ns: int | None
    tiers: tuple[Tier, ...]
    payload_bytes: int
    packet_hops: int
    #: Of traffic that lasts as long as the jobs: comes on top for each simulated second.
    hops_per_second: int
    #: False: an application does not tell what it sends.
    complete: bool
    #: Packet-hops per second that `seconds` is taken from.
    speed: float
    #: On one core; None if how long it is simulated is not known beforehand.
    seconds: float | None
    memory_bytes: int
    notes: tuple[str, ...]
    #: What is valid and yet does not do what it seems to say: `file`, `line`, `key`, `text`.
    warnings: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def check(scenario: _core.Scenario) -> Checked:
    """Looks at a validated scenario; runs nothing."""
    payload, hops, per_second, complete = scenario.expected_traffic()
    speed = _speed(scenario.hosts, PAUSING if scenario.has_flow_control else PLAIN)
    return Checked(
        name=scenario.name,
        seed=scenario.seed,
        hosts=scenario.hosts,
        switches=scenario.switches,
        links=scenario.links,
        flows=scenario.flows,
        until_ns=scenario.until_ns,
        tiers=tuple(tiers(scenario)),
        payload_bytes=payload,
        packet_hops=hops,
        hops_per_second=per_second,
        complete=complete,
        speed=speed,
        seconds=hops / speed if complete and not per_second else None,
        memory_bytes=scenario.expected_memory,
        notes=tuple(scenario.notes),
        warnings=tuple({"file": str(one.file), "line": one.line, "key": one.key, "text": one.text} for one in scenario.warnings),
    )


def _speed(hosts: int, measured: tuple[tuple[int, float], ...]) -> float:
    """Between the measured sizes by the logarithm of both; beyond them the nearest one's."""
    for (few, fast), (many, slow) in itertools.pairwise(measured):
        if few < hosts <= many:
            share = math.log(hosts / few) / math.log(many / few)
            return fast * (slow / fast) ** share
    return measured[0][1] if hosts <= measured[0][0] else measured[-1][1]
