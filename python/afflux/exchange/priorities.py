"""Priorities of a result's flows. `flows.parquet` has none; the scenario beside it names them."""

import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _core
from .flow_list import FlowList


def of_result(flows: FlowList, path: Path) -> list[int | None] | None:
    """Returns the priority of each flow of a result, from its scenario at `path`. None if the
    scenario gives no priorities. A flow whose priority is unknown has None. Raises `ScenarioError`
    if the scenario is needed and cannot be loaded, as when a flow list of it is gone.

    Flows that are known before a run have the priority of the scenario's own flow list. A flow that
    starts when others end, or belongs to an application, has the priority of the blocks of its
    class, if they have only one.
    """
    blocks: Sequence[Mapping[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8-sig")).get(
        "traffic", []
    )
    if not any("priority" in b or "dscp" in b or b.get("kind") == "flows" for b in blocks):
        return None
    scenario = _core.load(path)
    planned = FlowList.of_table(scenario.flow_list()[0])
    known = dict(zip(_keys(planned), planned.priorities or [0] * len(planned), strict=True))
    of_class: dict[str, set[int]] = defaultdict(set)
    for block in blocks:
        priority = block.get("priority", 0)
        if "dscp" in block:
            priority = scenario.priority_of_dscp[block["dscp"]]
        of_class[block.get("class", "default")].add(priority)
    found = [known[key] if key in known else _of_class(key[-1], of_class) for key in _keys(flows)]
    return found if any(priority != 0 for priority in found) else None


def _keys(flows: FlowList) -> list[tuple[Any, ...]]:
    """Returns what distinguishes each flow, with its class last."""
    rows = range(len(flows))
    classes = flows.classes or ["default" for _ in rows]
    ids = flows.ids or rows
    columns = (ids, flows.start_ns, flows.src, flows.dst, flows.bytes)
    return [(*row, name or "default") for *row, name in zip(*columns, classes, strict=True)]


def _of_class(name: str, of_class: Mapping[str, set[int]]) -> int | None:
    """Returns the priority of the class, or of the class of an application that it is part of."""
    while name not in of_class:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return None
    first, *others = of_class[name]
    return None if others else first
