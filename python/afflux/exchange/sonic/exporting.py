"""Writes the settings of a switch of a scenario into tables of SONiC."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ... import _core, spelling
from ..account import Account
from . import resolved, senders
from .described import of_tables
from .design import Design
from .gathered import spread
from .patch import changed, removed
from .reading import Reading
from .tables import LAYOUTS, ConfigError, Tables, in_scenario

#: Ports of new tables, if their number is not given.
_PORTS = 32
#: Most switches that a note names.
_NAMED = 4


def exported(
    path: str | os.PathLike[str], ports: int | None = None, switch: str | None = None
) -> tuple[Tables, list[str]]:
    """Returns config_db tables for a switch of a scenario (default: for the switches without an
    override), and notes on settings that SONiC does not have, on the DSCPs that hosts must send,
    and on the entries that the patch removes. Raises `ScenarioError`, `ConfigError`.

    The settings are those that the core resolves, with defaults, presets and overrides. They are
    compared with those that the imported tables mean, resolved in the same way, so a key that is
    left out means its default. The tables written are read again, and notes name all differences.
    """
    checked = _core.load(path)
    text = Path(path).read_text(encoding="utf-8-sig")
    written: Mapping[str, Any] = tomllib.loads(text)
    name, differing, notes = _chosen(checked, path, written, switch)
    base: Tables = {}
    if "sonic" in written and switch in differing:
        notes.append(
            f"the tables in [sonic] were imported for switches without an override: {switch} gets new tables"
        )
    elif "sonic" in written:
        base = spread(in_scenario(path, text, written["sonic"]))
    host, topology = written.get("host", {}), written.get("topology", {})
    now, (reading, before) = resolved.of_switch(checked, name), _meant(base, host, topology, path)
    nodes = [name] if switch is not None else _switches(checked, {*differing})
    notes += _safe(checked, now, before, {*nodes}, computed=bool(base))
    _derived(now, before, reading)
    if not base:
        # Everything is written, except for the map of DSCPs if there is one class only.
        several = len(now.design.queues) > 1 or now.design.lossless
        before.design = Design(dscp={} if several else now.design.dscp)
    tables, missing = changed(
        reading, before.design, now.design, _PORTS if ports is None else ports
    )
    for sentence in missing:
        now.losses.add(sentence, *_about(sentence))
    # Ports and platform, from which SONiC computes headroom, are not among the tables written.
    device = {table: entries for table, entries in base.items() if not LAYOUTS[table].kept}
    again, meant = _meant({**device, **tables}, host, topology, path)
    now.losses.unexpressed(now.settings, meant.settings)
    if _marks(now) and not _marks(before):
        notes.append("WRED_PROFILE: afflux has one colour; yellow and red are written as green")
    _compare(now, meant, again)
    if commands := removed(base, tables):
        notes.append(
            "sonic-cfggen --write-to-db removes nothing: first remove the entries that the tables no longer have: "
            + "; ".join(commands)
        )
    return tables, [
        f"not exported: {line}" for line in now.losses.sentences
    ] + notes + senders.notes(now.settings, checked, path, again)


def _marks(meaning: resolved.Meaning) -> bool:
    return any(queue.wred for queue in meaning.design.queues.values())


def _chosen(
    checked: _core.Scenario,
    path: str | os.PathLike[str],
    written: Mapping[str, Any],
    switch: str | None,
) -> tuple[str, list[str], list[str]]:
    """Returns the switch whose settings are exported, the switches that an override changes, and
    notes about these."""
    switches = _switches(checked, set())
    if switch is not None and switch not in switches:
        raise ConfigError(f"--switch {switch}: {spelling.unknown('switch', switch, switches)}")
    if not switches:
        raise ConfigError(f"{path}: the scenario has no switch")
    differing: list[str] = []
    if written.get("switch", {}).get("override"):
        plain = _core.load(path, set=[("switch.override", "[]")])
        differing = [
            name
            for name in switches
            if checked.switch_settings(name) != plain.switch_settings(name)
        ]
    if switch is not None or not differing:
        return switch or switches[0], differing, []
    named = ", ".join(differing[:_NAMED]) + (
        f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
    )
    if len(differing) == len(switches):
        raise ConfigError(
            f"every switch has settings of its own in [[switch.override]]: write --switch with one of {named}"
        )
    note = f"{named} {'has' if len(differing) == 1 else 'have'} other settings, from [[switch.override]]: write --switch {differing[0]} to export them"
    return next(name for name in switches if name not in differing), differing, [note]


def _switches(checked: _core.Scenario, without: set[str]) -> list[str]:
    return [name for name, kind, *_ in checked.nodes if kind == "switch" and name not in without]


def _meant(
    tables: Tables,
    host: Mapping[str, Any],
    topology: Mapping[str, Any],
    path: str | os.PathLike[str],
) -> tuple[Reading, resolved.Meaning]:
    """Returns tables as the import reads them, and the settings that they mean."""
    reading = of_tables(tables, Account("fields"), topology)
    meaning = resolved.of_design(reading.design, host, path)
    if len(reading.design.queues) < 2:
        # A single queue has no block and so no number in a scenario.
        meaning.design.queues = dict(reading.design.queues)
    return reading, meaning


def _derived(now: resolved.Meaning, before: resolved.Meaning, reading: Reading) -> None:
    """Leaves out the pool of lossy queues if neither the tables nor the scenario have one."""
    if (
        reading.tables
        and not reading.names.get("lossy_pool")
        and "lossy_pool" not in now.settings.get("mmu", {})
    ):
        now.design.lossy_pool = before.design.lossy_pool


def _compare(now: resolved.Meaning, meant: resolved.Meaning, again: Reading) -> None:
    """Adds the differences between the settings of the scenario and those of the tables."""
    if not again.names.get("lossy_pool") and "lossy_pool" not in now.settings.get("mmu", {}):
        now.design.lossy_pool = meant.design.lossy_pool
    if not again.design.dscp:
        now.design.dscp = meant.design.dscp
    now.losses.differences(now.design, meant.design, now.settings.get("sharing", "dynamic"))


def _about(sentence: str) -> list[str]:
    """Returns the keys that a sentence of the patch is about."""
    key = sentence.split(":")[0].split(" = ")[0]
    keys = [key]
    if key.startswith("pfc.watchdog"):
        keys.append("pfc.watchdog")
    if key.startswith("mmu.group"):
        keys.append("mmu.group")
    return keys


def _safe(
    checked: _core.Scenario,
    now: resolved.Meaning,
    before: resolved.Meaning,
    switches: set[str],
    *,
    computed: bool,
) -> list[str]:
    """Sets headroom as a number with which no frame is lost at these switches. Leaves it to SONiC
    if the imported tables do (`computed`) and SONiC computes enough. Returns notes about it."""
    headrooms = [one for one in checked.headrooms if checked.nodes[one[0]][0] in switches]
    if not headrooms:
        return []
    node, peer, _, _, least = max(headrooms, key=lambda port: port[4])
    port = " to ".join(checked.nodes[end][0] for end in (node, peer))
    gives, enough = (
        max(has for _, _, has, _, _ in headrooms),
        all(has >= need for _, _, has, _, need in headrooms),
    )
    written = now.settings["pfc"]["headroom"]
    arrive = f"up to {least} B arrive at the port {port} after XOFF"
    if now.design.headroom is not None:
        return (
            []
            if enough
            else [f"pfc.headroom = {written!r}: {arrive}, so lossless frames can be lost"]
        )
    if written == "sonic" and enough and computed and before.design.headroom is None:
        return []
    now.design.headroom = max(gives, least)
    if written == "worst_case":
        return []
    by = "SONiC's formula gives" if written == "sonic" else f"{written!r} gives"
    return [
        f"pfc.headroom: {by} {gives} B"
        + (
            f": xoff is {now.design.headroom} B"
            if enough
            else f", but {arrive}: xoff is {now.design.headroom} B"
        )
    ]
