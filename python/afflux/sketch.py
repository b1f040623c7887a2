"""Shows a scenario in an interactive session, even if it is incomplete or invalid."""

import textwrap
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from . import _core, settings
from .display import Card, plural
from .files import toml

#: Most traffic blocks that are shown, and most characters for the keys of a table.
_BLOCKS, _LENGTH = 4, 120
#: Longest list whose values are shown. Longer lists are only counted.
_VALUES = 4


def card(data: Mapping[str, Any], path: Path, *, built: bool, changed: bool) -> Card:
    """Returns the card with name, topology, hosts and traffic blocks. `built`: made in code;
    `changed`: changed since it was read."""
    topology, traffic = data.get("topology"), data.get("traffic")
    facts = [
        (
            "file",
            "none: built in code"
            if built
            else f"{path}{' (changed since it was read)' if changed else ''}",
        )
    ]
    if isinstance(topology, Mapping):
        others = _keys({key: value for key, value in topology.items() if key != "kind"})
        facts += [
            (
                "topology",
                ": ".join(filter(None, (_value(topology.get("kind", "no kind")), others))),
            ),
            ("hosts", _hosts(topology, path)),
        ]
    else:
        facts.append(("topology", "none"))
    facts += [
        (name, _keys(data[name]))
        for name in ("switch", "host")
        if isinstance(data.get(name), Mapping) and data[name]
    ]
    blocks = traffic if isinstance(traffic, list) else []
    facts += [(f"traffic.{place}", _block(block)) for place, block in enumerate(blocks[:_BLOCKS])]
    if len(blocks) > _BLOCKS:
        facts.append(("", f"… and {plural(len(blocks) - _BLOCKS, 'traffic block')} more"))
    if not blocks:
        facts.append(("traffic", "none"))
    return Card(f"Scenario {_value(data.get('name', path.stem))}", facts)


def _block(block: Any) -> str:
    if not isinstance(block, Mapping):
        return _value(block)
    lead = " ".join(_value(block[key]) for key in ("kind", "name") if key in block)
    return ": ".join(
        filter(
            None,
            (
                lead,
                _keys({key: value for key, value in block.items() if key not in ("kind", "name")}),
            ),
        )
    )


def _keys(table: Mapping[str, Any]) -> str:
    """Formats the keys of a table and of its subtables, with their values."""
    return textwrap.shorten(
        ", ".join(f"{key} = {_value(value)}" for key, value in _flat(table)),
        _LENGTH,
        placeholder=" …",
    )


def _flat(table: Mapping[str, Any], outer: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{outer}{key}.")
        else:
            yield f"{outer}{key}", value


def _value(value: Any) -> str:
    if isinstance(value, list) and len(value) > _VALUES:
        return f"[{plural(len(value), 'value')}]"
    try:
        return settings.shown(value)
    except (TypeError, ValueError):  # not a value that scenario files can hold
        return repr(value)


def _hosts(topology: Mapping[str, Any], path: Path) -> str:
    try:
        hosts, switches = _size(toml.dumps({"format": 1, "topology": topology}), path)
    except (_core.ScenarioError, TypeError, ValueError):
        return "not known: the topology has a mistake"
    return f"{hosts:,}; {switches:,} switch{'' if switches == 1 else 'es'}"


@lru_cache(maxsize=64)
def _size(topology: str, path: Path) -> tuple[int, int]:
    """Returns the number of hosts and of switches of a topology. The parser needs a complete
    scenario, so one flow of 1 B is added."""
    found = _core.parse(
        f'{topology}\n[[traffic]]\nkind = "pairs"\npairs = [[0, 1]]\nsizes = "1B"\n', path
    )
    return found.hosts, found.switches
