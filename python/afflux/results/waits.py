"""Queueing by cause: the waits of frames by class of traffic, if they were recorded."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .._core import Table

#: Causes that are no class: frames of the same flow, and no frame at all (the port was paused, or held the frame back).
OWN, NOBODY = "its own flow", "nobody"


@dataclass(frozen=True, slots=True)
class Behind:
    """What frames of one class waited for while frames of another were sent, and where most of it was."""

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


def behind(waits: Table, flows: Table, only: Iterable[int] | None = None) -> list[Behind]:
    """By class of the waiting flows (or of those in `only`), the longest waits of each class first. Acknowledgements wait too, and count."""
    names = dict(zip(flows.column("id"), flows.column("class"), strict=True))
    chosen = None if only is None else set(only)
    sums: dict[tuple[str, str], dict[tuple[str, int, str], int]] = defaultdict(lambda: defaultdict(int))
    columns = (waits.column(name) for name in ("flow", "behind", "own", "node", "port", "peer", "wait_ns"))
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
