"""Queueing by cause: sums the recorded waits of frames by traffic class."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..words import text
from .written import Table

#: Causes that are not a class: frames of the same flow, and no frame at all. The port was paused or
#: held the frame back then, or the host delayed it (`host.timing`).
OWN, NOBODY = "its own flow", "nobody"


@dataclass(frozen=True, slots=True)
class Behind:
    """Total wait of the frames of one class while frames of another were sent, and the port with
    the largest part of it."""

    flow_class: str
    behind: str
    wait_ns: int
    #: Share in all waits of frames of `flow_class`.
    share: float
    node: str
    peer: str
    #: Share of `wait_ns` at that port.
    share_there: float

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Place:
    """Total wait of frames at one port."""

    node: str
    peer: str
    #: True if the port is a host's NIC.
    at_host: bool
    #: Wait in ns behind frames of other flows.
    wait_ns: int
    #: Share of `wait_ns` in that of all ports.
    share: float
    #: Wait in ns behind earlier frames of the same flow. It occurs even if the sender is alone; the
    #: split counts it as serialization.
    own_wait_ns: int
    #: Wait in ns while the port sent nothing: delays of the host (`host.timing`), PAUSE, pacing,
    #: credits. It occurs even if the sender is alone.
    held_wait_ns: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def places(
    waits: Table, is_host: Callable[[str], bool], only: Iterable[int] | None = None
) -> list[Place]:
    """Returns the ports at which frames (of the flows in `only`, if given) waited, the worst first.
    Waits of acknowledgements count too."""
    chosen = None if only is None else set(only)
    sums: dict[tuple[str, int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    columns = (
        waits.column(name) for name in ("flow", "behind", "own", "node", "port", "peer", "wait_ns")
    )
    for flow, whom, own, node, port, peer, wait in zip(*columns, strict=True):
        if chosen is None or flow in chosen:
            sums[node, port, peer][2 if own else 1 if whom is None else 0] += wait
    total = sum(others for others, _, _ in sums.values())
    worst = sorted(sums.items(), key=lambda item: ([-wait for wait in item[1]], item[0]))
    return [
        Place(node, peer, is_host(node), others, others / total if total else 0.0, own, held)
        for (node, _, peer), (others, held, own) in worst
        if others or held or own
    ]


def where(found: Iterable[Place]) -> str | None:
    """Says in a sentence at which nodes frames waited for others, the worst first. None if they did
    not wait."""
    listed = _listed((place, place.share) for place in found)
    return listed and f"Of the time that frames waited for others, {listed}."


def held(found: Iterable[Place], paused: bool) -> str | None:
    """Says in a sentence how long frames waited behind no frame, where, and why. None if they did
    not. `paused`: ports sent PAUSE frames in this run."""
    found = list(found)
    if not (total := sum(place.held_wait_ns for place in found)):
        return None
    listed = _listed((place, place.held_wait_ns / total) for place in found)
    why = (
        ["delays of hosts (host.timing)"]
        if any(p.at_host and p.held_wait_ns for p in found)
        else []
    )
    why += ["PAUSE"] if paused else []
    causes = ", ".join([*why, "pacing or other rules that hold frames back"])
    return f"Frames waited {text.time(total)} behind no frame. Of this time, {listed}. Causes: {causes}."


def _listed(shares: Iterable[tuple[Place, float]]) -> str | None:
    """Lists the nodes with their shares, the largest first. None if all shares are 0."""
    nodes: dict[str, float] = defaultdict(float)
    hosts = 0.0
    for place, share in shares:
        if place.at_host:
            hosts += share
        else:
            nodes[place.node] += share
    if not hosts and not any(nodes.values()):
        return None
    parts = [(share, f"at {node}") for node, share in nodes.items() if share] + (
        [(hosts, "in the NICs of hosts")] if hosts else []
    )
    parts.sort(key=lambda part: -part[0])
    named, rest = parts[:_NAMED], parts[_NAMED:]
    words = [
        f"{text.share(share)} {'' if number else 'was spent '}{place}"
        for number, (share, place) in enumerate(named)
    ]
    if rest:
        words.append(f"{text.share(sum(share for share, _ in rest))} elsewhere")
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


#: Most nodes that the sentence names.
_NAMED = 4


def behind(waits: Table, flows: Table, only: Iterable[int] | None = None) -> list[Behind]:
    """Returns the waits by class of the waiting flows (limited to `only`, if given), the longest of
    each class first. Waits of acknowledgements count too."""
    names = dict(zip(flows.column("id"), flows.column("class"), strict=True))
    chosen = None if only is None else set(only)
    sums: dict[tuple[str, str], dict[tuple[str, int, str], int]] = defaultdict(
        lambda: defaultdict(int)
    )
    columns = (
        waits.column(name) for name in ("flow", "behind", "own", "node", "port", "peer", "wait_ns")
    )
    for flow, whom, own, node, port, peer, wait in zip(*columns, strict=True):
        if chosen is None or flow in chosen:
            sums[names[flow], OWN if own else whom or NOBODY][node, port, peer] += wait
    total: dict[str, int] = defaultdict(int)
    for (name, _), places in sums.items():
        total[name] += sum(places.values())
    found = []
    for (name, whom), places in sums.items():
        wait = sum(places.values())
        if wait:
            (node, _, peer), most = max(places.items(), key=lambda item: item[1])
            found.append(Behind(name, whom, wait, wait / total[name], node, peer, most / wait))
    order = list(dict.fromkeys(flows.column("class")))
    return sorted(found, key=lambda one: (order.index(one.flow_class), -one.wait_ns))
