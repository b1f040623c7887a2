"""Persistent connections: their flows follow each other on one connection. Frames and senders are
recorded under the first flow of the connection."""

import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _core
from .result import SCENARIO, Result


@dataclass(frozen=True, slots=True)
class Group:
    """Flows between two hosts that may share a persistent connection."""

    #: Identifiers in the order of their starts.
    flows: Sequence[int]
    #: The flows with rows of their own. Each of them is the first flow of its connection.
    first: Sequence[int]
    #: True if flows with rows are known to be on a persistent connection.
    certain: bool

    @property
    def is_one(self) -> bool:
        """True if all flows belong to one connection. Otherwise the result does not show which of
        several connections a flow belongs to."""
        return len(self.first) == 1


def remarks(
    result: Result, chosen: Sequence[int], recorded: Collection[int], what: str
) -> list[str]:
    """Says in sentences which of the chosen flows have rows for their whole connection, and where
    the rows of the other flows are. `recorded` are the flows with rows, `what` names the rows."""
    groups = {flow: group for group in _groups(result, chosen, recorded) for flow in group.flows}
    shared = [
        flow
        for flow in chosen
        if (group := groups.get(flow)) and (group.certain or flow not in recorded)
    ]
    if len(chosen) == 1:
        return [_of_one(flow, groups[flow], what) for flow in shared]
    first = sum(flow in recorded for flow in shared)
    later = len(shared) - first
    found = []
    if later:
        found.append(
            f"Of these flows, {later} came later on a persistent connection. The {what} of such a flow are recorded under the first flow of its connection."
        )
    if first:
        found.append(
            f"Of these flows, {first} came first on a persistent connection. The {what} of such a flow are those of all flows of its connection."
        )
    return found


def _of_one(flow: int, group: Group, what: str) -> str:
    if flow in group.first:
        count = f"all {len(group.flows)} flows" if group.is_one else "all flows"
        return f"Flow {flow} came first on a persistent connection. Its {what} are those of {count} of the connection."
    place = (
        f"flow {group.first[0]}, the first flow of the connection: --flow {group.first[0]} shows them"
        if group.is_one
        else "the first flow of the connection, an earlier flow between the same hosts"
    )
    return (
        f"Flow {flow} came later on a persistent connection. Its {what} are recorded under {place}."
    )


def _groups(result: Result, chosen: Sequence[int], recorded: Collection[int]) -> Iterator[Group]:
    """Yields the groups of the chosen flows that have several flows, of which one has rows."""
    blocks = _blocks(result)
    if not any(block.persistent for block in blocks):
        return
    columns = [result.flows.column(name) for name in ("id", "src", "dst", "job", "class")]
    of_kind: dict[tuple[str | None, str], tuple[_Block, ...]] = {}
    flows: dict[Any, list[int]] = defaultdict(list)
    for flow, src, dst, *kind in zip(*columns, strict=True):
        job, flow_class = kind
        if (job, flow_class) not in of_kind:
            of_kind[job, flow_class] = tuple(one for one in blocks if one.has(job, flow_class))
        flows[src, dst, of_kind[job, flow_class]].append(flow)
    wanted = set(chosen)
    for (src, dst, possible), group in flows.items():
        first = [flow for flow in group if flow in recorded]
        # A flow from a host to itself has no connection.
        if (
            src == dst
            or not any(block.persistent for block in possible)
            or not 0 < len(first) < len(group)
            or wanted.isdisjoint(group)
        ):
            continue
        certain = len(first) == 1 or all(block.persistent for block in possible)
        yield Group(group, first, certain)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of traffic in the scenario of a result."""

    persistent: bool
    #: Name in the names of its jobs; None if it has only flows.
    jobs: str | None
    #: Classes of its flows; empty if they can have any class.
    classes: tuple[str, ...]

    def has(self, job: str | None, flow_class: str) -> bool:
        """True if a flow with this job and class can be of the block."""
        if job is None or self.jobs is None:
            of_job = job is self.jobs
        else:
            of_job = job == self.jobs or job.startswith(f"{self.jobs}.")
        return of_job and (not self.classes or flow_class in self.classes)


def _blocks(result: Result) -> list[_Block]:
    """Returns the blocks of traffic; nothing if this version does not read the scenario."""
    text = result.scenario
    if text is None or result.dir is None:
        return []
    try:
        found = _core.blocks(text, result.dir / SCENARIO)
    except _core.ScenarioError:
        return []
    return [
        _Block(keys.get("persistent") is True, one.name if one.jobs else None, tuple(one.classes))
        for keys, one in zip(tomllib.loads(text).get("traffic", []), found, strict=True)
    ]
