"""Blocks of traffic: their tenants, their jobs, and the names of their random draws."""

from collections.abc import Mapping
from typing import Any

from .. import _core
from ..scenario import Scenario
from .measures import Tenant


def belongs(block: Mapping[str, Any], tenant: Tenant) -> bool:
    """True if a traffic block belongs to the tenant: by its class, or by its name if it has no
    class."""
    return tenant.has(class_of(block))


def class_of(block: Mapping[str, Any]) -> str:
    return str(block.get("class") or block.get("name") or "default")


def drawn_name(block: Mapping[str, Any], place: int) -> str:
    """Returns the name of a block's random draws: its own, or one by its place in the scenario."""
    return str(block.get("name", f"traffic{place}"))


def described(scenario: Scenario) -> list[tuple[Mapping[str, Any], _core.Block]]:
    """Returns each traffic block with what the core says of it; nothing if the traffic is wrong,
    which the check of a design reports."""
    try:
        found = _core.blocks(scenario.to_toml(), scenario.path)
    except _core.ScenarioError:
        return []
    return list(zip(scenario.get("traffic", []), found, strict=True))
