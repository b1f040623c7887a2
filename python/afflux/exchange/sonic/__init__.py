"""Imports and exports SONiC's config_db.json: reads its buffer and QoS tables into `[switch]`, and
writes a design back as a patch."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import _core
from ...files import toml
from ..account import Account
from ..into import STAND_IN, Into
from .described import of_tables
from .exporting import exported
from .gathered import gather
from .losses import EXPRESSED
from .reading import Reading
from .surroundings import rate
from .switch import to_scenario
from .tables import COMPUTED, LAYOUTS, ConfigError, Tables, read, together

__all__ = ["ConfigError", "exported", "imported", "read"]

#: Number of hosts of the placeholder fabric, and the rate if no port has a speed.
_HOSTS, _RATE = 8, "25Gbps"


def imported(
    paths: Sequence[str | os.PathLike[str]],
    into: str | os.PathLike[str] | None = None,
    out: Path | None = None,
    match: str | None = None,
) -> tuple[str, Account]:
    """Returns a scenario as TOML whose switches are configured as in the files, and an account of
    the fields taken and left out.

    Buffers and QoS are often in separate files, so several files are combined. `into` is the
    scenario whose `[switch]` is set; without one, a star of hosts is the fabric. `out` is the path
    of the new scenario. The scenario is named after that file (or after the first of `paths`),
    because the configurations of two switches are two designs. With `match`, only the switches with
    these names are set, in `[[switch.override]]`, and their tables are not kept for export. Raises
    `ConfigError`, `Wrong`.
    """
    account = Account("fields")
    tables = together(list(paths), account)
    if match is not None and into is None:
        raise ConfigError("--match needs --into: the scenario with the switches that it names")
    document = Into(Path(into), out) if into is not None else None
    speed = rate(tables) or _RATE
    topology = (
        document.data.get("topology", {})
        if document
        else {"kind": "star", "hosts": _HOSTS, "rate": speed, "delay": "1us"}
    )
    reading = of_tables(tables, account, topology)
    settings = to_scenario(reading.design)
    name = out.stem if out else Path(paths[0]).stem
    if document is None:
        data = {
            "format": 1,
            "topology": topology,
            "traffic": [STAND_IN],
            **settings,
            "sonic": gather(_kept(tables)),
        }
        account.noted(
            f"the fabric is not in the file: a star of {_HOSTS} hosts at {speed.replace('G', ' G')} stands in for it"
        )
        text = toml.dumps(data)
    elif match is not None:
        document.add_override({"match": match, **settings["switch"]})
        _other_map(document, settings.get("host", {}), account)
        if "host" in settings:
            document.update("host", settings["host"])
        document.rename(name)
        text = document.text()
        account.noted(
            f"the tables are not kept: export writes those of [switch], not of the switches {match}"
        )
    else:
        _into(document, settings["switch"], account)
        if "host" in settings:
            document.update("host", settings["host"])
        document.replace("sonic", toml.dumps({"sonic": gather(_kept(tables))}))
        document.rename(name)
        text = document.text()
    try:
        _core.parse(text, out or into or paths[0])
    except _core.ScenarioError as error:
        raise ConfigError(_in_their_words(error, paths, into, reading, match)) from None
    return text, account


#: Keys of `[switch]` that depend on those that the tables set, so they cannot stay.
_DEPENDENT = ("preset", "aqm", "trimming", "quantum", "drop_when")


def _into(document: Into, switch: dict[str, Any], account: Account) -> None:
    """Replaces the keys of `[switch]` that tables express. The others stay, if they do not depend
    on those."""
    old: Mapping[str, Any] = document.data.get("switch", {})
    for table in ("mmu", "pfc"):
        kept = {
            key: value
            for key, value in _table(old.get(table)).items()
            if key not in EXPRESSED[table]
        }
        # Without PFC, its other keys have no effect.
        if kept and (table == "mmu" or table in switch):
            switch[table] = {**kept, **switch.get(table, {})}
    for key in _DEPENDENT:
        if key in old:
            account.noted(
                f"[switch] {key} of the scenario is removed: it depends on keys that the tables set"
            )
    document.set(
        "switch",
        switch,
        keep=tuple(key for key in old if key not in EXPRESSED[""] and key not in _DEPENDENT),
    )
    for block in old.get("override", []):
        names = block.get("match", [])
        named = names if isinstance(names, str) else ", ".join(map(str, names))
        account.noted(
            f"[[switch.override]] for {named} stays: its settings take precedence over those of the tables"
        )


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _other_map(document: Into, host: Mapping[str, Any], account: Account) -> None:
    """Notes that the map of DSCPs replaces another one: hosts have one map for all switches."""
    old, new = (
        _table(of.get("dscp_to_priority")) for of in (_table(document.data.get("host")), host)
    )
    if old and new and (differing := [dscp for dscp in new if old.get(dscp) != new[dscp]]):
        account.noted(
            f"[host] dscp_to_priority: all switches have one map in afflux: this one replaces that of the scenario, in which {len(differing)} DSCPs "
            f"have another class (DSCP {differing[0]}: {old.get(differing[0], 'none')}, now {new[differing[0]]})"
        )


def _kept(tables: Tables) -> Tables:
    """Returns the tables kept for export, and the fields from which computed headroom follows."""
    computed = any(
        entry.get("profile") == COMPUTED for entry in tables.get("BUFFER_PG", {}).values()
    )
    computed = computed or any(
        entry.get("headroom_type") == "dynamic"
        for entry in tables.get("BUFFER_PROFILE", {}).values()
    )
    kept: Tables = {}
    for name, entries in tables.items():
        if LAYOUTS[name].kept:
            kept[name] = entries
        elif computed and name in ("PORT", "DEVICE_METADATA"):
            fields = ("speed", "mtu", "platform", "hwsku", "lanes")
            kept[name] = {
                key: {field: value for field, value in entry.items() if field in fields}
                for key, entry in entries.items()
            }
    return kept


def _in_their_words(
    error: _core.ScenarioError,
    paths: Sequence[str | os.PathLike[str]],
    into: str | os.PathLike[str] | None,
    reading: Reading,
    match: str | None,
) -> str:
    """Rewords an error of the scenario as an error of the table and field that the key comes from.
    The user knows no scenario except `into`."""
    files = ", ".join(map(str, paths))
    _, _, said = str(error).partition(f"key {error.key}: ")
    if error.key is None or not said:
        return f"{files}: its content makes no valid scenario: {error}"
    if match is not None and error.key.endswith(".match") and match in said:
        return f"--match {match}: {into}: {said}"
    key = re.sub(r"\[\d+\]|\.override\b", "", error.key)
    sources = [
        name
        for name in reading.sources
        if key == name or key.startswith(f"{name}.") or name.startswith(f"{key}.")
    ]
    if sources:
        source = reading.sources[max(sources, key=len)]
        table, *names = (part for part in source if part)
        value = reading.table(source[0]).get(source[1], {}).get(source[2])
        shown = f" = {value}" if value is not None else ""
        return f"{files}: {' → '.join([table, *names])}{shown} becomes {key}, and makes no valid scenario: {said}"
    return f"{files}: its content makes no valid scenario: {f'{into}: ' if into else ''}key {key}: {said}"
