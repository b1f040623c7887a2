"""Says which DSCPs hosts must send, so that a switch puts traffic into the class of the scenario."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from ... import _core
from ...files import toml
from .reading import Reading

#: Name of acknowledgements in the notes.
ACKNOWLEDGEMENTS = "acknowledgements"


def notes(
    switch: Mapping[str, Any],
    checked: _core.Scenario,
    path: str | os.PathLike[str],
    tables: Reading,
) -> list[str]:
    """Returns notes on the DSCPs that hosts must send, so that the switch puts the traffic into the
    class of the scenario."""
    if (
        not switch.get("queue")
        and switch.get("scheduling", "fifo") == "fifo"
        and switch.get("pfc", "off") == "off"
    ):
        return []
    meant: dict[int, dict[str, None]] = {}
    for priority, name in _wanted(toml.with_defaults(checked.resolved), path):
        meant.setdefault(priority, {})[name] = None
    # Classes above 7 have no priority in a scenario.
    high = {
        dscp
        for dscp in range(64)
        if (of_map := tables.table("DSCP_TO_TC_MAP").get(tables.names.get("dscp_map", "")))
        and int(of_map.get(str(dscp), 0)) > 7
    }
    found = []
    for priority, classes in sorted(meant.items()):
        named = ", ".join(classes)
        dscps = [
            dscp
            for dscp, of_dscp in enumerate(checked.priority_of_dscp)
            if of_dscp == priority and dscp not in high
        ]
        if dscps:
            shown = " or ".join(map(str, dscps[:3])) + (
                " or another one that the map gives this class" if len(dscps) > 3 else ""
            )
            found.append(
                f"hosts must send traffic of priority {priority} ({named}) with DSCP {shown}"
            )
        else:
            found.append(
                f"no DSCP leads to priority {priority} ({named}): write one in [host] dscp_to_priority, as in {8 * priority} = {priority}, and export again"
            )
    return found


def _wanted(scenario: Mapping[str, Any], path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yields the priorities for which the scenario names no DSCP, each with the class of traffic or
    with the frames that have it."""
    host = scenario.get("host", {})
    transports = {"default": host.get("transport", {}), **host.get("transports", {})}
    own = [one.get("transport", {}) for one in host.get("override", [])]
    for block in scenario.get("traffic", []):
        for transport in (transports.get(block.get("transport", "default"), {}), *own):
            if (priority := transport.get("ack_priority")) is not None:
                yield int(priority), ACKNOWLEDGEMENTS
        if "dscp" in block:
            continue
        if block["kind"] == "flows" and "priority" not in block:
            yield from _of_list(block, path)
        else:
            yield int(block.get("priority", 0)), block.get("class", "default")


def _of_list(block: Mapping[str, Any], path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yields priorities and classes of the flows of a list."""
    alone = _core.load(path, set=[("traffic", toml.value([block]))])
    flows, _ = alone.flow_list()
    yield from dict.fromkeys(
        (priority or 0, name or "default")
        for priority, name in zip(flows.column("priority"), flows.column("class"), strict=True)
    )
