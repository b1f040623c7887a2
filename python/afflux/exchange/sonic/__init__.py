"""Imports and exports SONiC's config_db.json: reads its buffer and QoS tables into `[switch]`, and
writes a design back as a patch."""

import copy
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import _core, spelling
from ...files import toml
from ..account import Account
from ..into import STAND_IN, Into
from .described import of_tables
from .gathered import gather
from .patch import of_design
from .reading import Reading
from .surroundings import rate
from .switch import to_scenario
from .tables import COMPUTED, LAYOUTS, ConfigError, Tables, read, together

__all__ = ["ConfigError", "exported", "imported", "of_design", "read"]

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
        if "host" in settings:
            document.update("host", settings["host"])
        document.rename(name)
        text = document.text()
        account.noted(
            f"the tables are not kept: export writes those of [switch], not of the switches {match}"
        )
    else:
        document.set("switch", settings["switch"], keep=("override",))
        if "host" in settings:
            document.update("host", settings["host"])
        document.replace("sonic", toml.dumps({"sonic": gather(_kept(tables))}))
        document.rename(name)
        text = document.text()
    try:
        _core.parse(text, out or into or paths[0])
    except _core.ScenarioError as error:
        raise ConfigError(_in_their_words(error, paths, into, reading)) from None
    return text, account


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
            fields = ("speed", "mtu", "platform", "hwsku")
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
) -> str:
    """Rewords an error of the scenario as an error of the table and field that the key comes from.
    The user knows no scenario except `into`."""
    files = ", ".join(map(str, paths))
    _, _, said = str(error).partition(f"key {error.key}: ")
    if error.key is None or not said:
        return f"{files}: its content makes no valid scenario: {error}"
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


def exported(
    path: str | os.PathLike[str], ports: int | None = None, switch: str | None = None
) -> tuple[Tables, list[str]]:
    """Returns config_db tables for a switch of a scenario (default: for the switches without an
    override), and notes on settings that SONiC does not have and on the DSCPs that hosts must send.
    Raises `ScenarioError`, `ConfigError`."""
    checked = _core.load(path)
    written: Mapping[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    resolved = toml.with_defaults(checked.resolved)
    switches = [name for name, kind, *_ in checked.nodes if kind == "switch"]
    patterns = [
        [match] if isinstance(match := block["match"], str) else match
        for block in written.get("switch", {}).get("override", [])
    ]
    differing = [
        name
        for name in switches
        if any(_matches(name, pattern) for some in patterns for pattern in some)
    ]
    notes: list[str] = []
    if switch is not None and switch not in switches:
        raise ConfigError(f"--switch {switch}: {spelling.unknown('switch', switch, switches)}")
    if switch in differing:
        settings = checked.switch_settings(switch)
        assert settings is not None, "it is one of the switches"
        scenario = {**resolved, "switch": tomllib.loads(settings)}
        if scenario.pop("sonic", None) is not None:
            notes.append(
                f"the tables in [sonic] were imported for switches without an override: {switch} gets new tables"
            )
    elif "sonic" in written:
        # The imported tables show which fields SONiC computes. Defaults of the simulation do not
        # replace those.
        scenario = copy.deepcopy(dict(written))
    else:
        scenario = resolved
    if switch is None and differing:
        named = ", ".join(differing[:_NAMED]) + (
            f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
        )
        if len(differing) == len(switches):
            raise ConfigError(
                f"every switch has settings of its own in [[switch.override]]: write --switch with one of {named}"
            )
        notes.append(
            f"{named} {'has' if len(differing) == 1 else 'have'} other settings, from [[switch.override]]: write --switch {differing[0]} to export them"
        )
    scenario.get("switch", {}).pop("override", None)
    notes += _safe(
        checked, scenario, {switch} if switch is not None else {*switches} - {*differing}
    )
    tables, missing = of_design(scenario, ports, dict(enumerate(checked.priority_of_dscp)))
    return tables, [f"not exported: {line}" for line in missing] + notes + _senders(
        scenario, resolved, checked.priority_of_dscp
    )


def _safe(checked: _core.Scenario, scenario: dict[str, Any], switches: set[str]) -> list[str]:
    """Sets headroom with which no frame is lost at these switches, if SONiC would compute less.
    Returns notes about it."""
    headrooms = [one for one in checked.headrooms if checked.nodes[one[0]][0] in switches]
    if not headrooms:
        return []
    node, peer, has, sonic, least = max(headrooms, key=lambda port: port[4])
    port = " to ".join(checked.nodes[end][0] for end in (node, peer))
    written = scenario.get("switch", {}).get("pfc", {}).get("headroom", "sonic")
    if str(written)[:1].isdigit():
        return (
            [
                f"pfc.headroom = {written!r}: up to {least} B arrive at the port {port} after XOFF, so lossless frames can be lost"
            ]
            if has < least
            else []
        )
    if written == "sonic" and all(own >= need for *_, own, need in headrooms):
        return []
    scenario["switch"]["pfc"]["headroom"] = f"{least}B"
    if written == "worst_case":
        return []
    gives = (
        f"SONiC's formula gives {sonic} B" if written == "sonic" else f"{written!r} gives {has} B"
    )
    return [
        f"pfc.headroom: {gives}, but up to {least} B arrive at the port {port} after XOFF: xoff is {least} B"
    ]


#: Most switches that a note names.
_NAMED = 4


def _matches(name: str, pattern: str) -> bool:
    """True if a name matches a pattern of a scenario: exactly, or with `*` and `?`."""
    return (
        re.fullmatch(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), name) is not None
    )


def _senders(
    scenario: Mapping[str, Any], resolved: Mapping[str, Any], priority_of_dscp: Sequence[int]
) -> list[str]:
    """Returns notes on the DSCPs that hosts must send, so that the switch puts the traffic into the
    class of the scenario."""
    if (
        not scenario["switch"].get("queue")
        and scenario["switch"].get("scheduling", "fifo") == "fifo"
        and scenario["switch"].get("pfc", "off") == "off"
    ):
        return []
    meant: dict[int, dict[str, None]] = {}
    for block in resolved.get("traffic", []):
        if "dscp" not in block:
            meant.setdefault(int(block.get("priority", 0)), {})[block.get("class", "default")] = (
                None
            )
    notes = []
    for priority, classes in sorted(meant.items()):
        named = ", ".join(classes)
        dscps = [dscp for dscp, of_dscp in enumerate(priority_of_dscp) if of_dscp == priority]
        if dscps:
            shown = " or ".join(map(str, dscps[:3])) + (
                " or another one that the map gives this class" if len(dscps) > 3 else ""
            )
            notes.append(
                f"hosts must send traffic of priority {priority} ({named}) with DSCP {shown}"
            )
        else:
            notes.append(
                f"no DSCP leads to priority {priority} ({named}): write one in [host] dscp_to_priority, as in {8 * priority} = {priority}, and export again"
            )
    return notes
