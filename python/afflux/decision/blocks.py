"""Blocks of traffic: their tenants, and the names of their jobs and of their random draws."""

from collections.abc import Mapping, Sequence
from typing import Any

from .measures import Tenant


def belongs(block: Mapping[str, Any], tenant: Tenant) -> bool:
    """True if a traffic block belongs to the tenant: by its class, or by its name if it has no
    class."""
    return tenant.has(class_of(block))


def class_of(block: Mapping[str, Any]) -> str:
    return str(block.get("class") or block.get("name") or "default")


def drawn_name(block: Mapping[str, Any], place: int) -> str:
    """Returns the name of a block's random draws: its own, or one by its place in the scenario."""
    return str(block.get("name", _name_at(place)))


def names_of_jobs(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the name of each block in the names of its jobs, as the engine does: the first block
    of a kind without a name is called by its kind, further ones by their place in the scenario."""
    written = {
        str(block["name"])
        for place, block in enumerate(blocks)
        if block.get("name", _name_at(place)) != _name_at(place)
    }
    names: list[str] = []
    for place, block in enumerate(blocks):
        kind, own = str(block.get("kind")), drawn_name(block, place)
        named = own != _name_at(place) or kind in written or kind in names
        names.append(own if named else kind)
    return names


def _name_at(place: int) -> str:
    return f"traffic{place}"
