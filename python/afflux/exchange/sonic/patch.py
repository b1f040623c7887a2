"""A design written over SONiC's tables: what differs from them changes, all else stays as it was."""

import copy
from collections.abc import Mapping
from typing import Any

from .design import Design, Queue
from .ports import queues, spread
from .reading import of_tables
from .switch import of_scenario
from .tables import Tables

#: Names in tables that did not exist: SONiC's own (buffers_defaults, qos_config.j2).
_INGRESS_POOL, _LOSSY_POOL = "ingress_lossless_pool", "egress_lossy_pool"
_LOSSY, _LOSSLESS, _INGRESS_LOSSY, _EGRESS_LOSSLESS = "egress_lossy_profile", "pg_lossless_profile", "ingress_lossy_profile", "egress_lossless_profile"
_MAP = "AZURE"


def of_design(scenario: Mapping[str, Any], ports: int | None = None, dscp: Mapping[int, int] | None = None) -> tuple[Tables, list[str]]:
    """config_db tables for a scenario (parsed, resolved or not), and what they cannot say.

    A scenario that was imported has its tables in `[sonic]`; any other gets tables for `ports` ports, named Ethernet0, Ethernet4, … `dscp` is the whole
    map of DSCPs to priorities, which new tables get if there are several classes.
    """
    base: Tables = spread(scenario.get("sonic", {}))
    design, missing = of_scenario(scenario)
    before, _ = of_tables(base)
    if dscp and not base and (len(design.queues) > 1 or design.lossless):
        design.dscp = dict(dscp)
    # Left out by the import, because it follows from the memory; or never written, as in a simulation without mmu.lossy_pool.
    follows = before.lossy_pool is not None and design.headroom_pool is not None if base else True
    if design.lossy_pool is None and design.ingress_pool is not None and follows:
        design.lossy_pool = design.ingress_pool // 10 * 8
    names = _port_names(base) or [f"Ethernet{4 * number}" for number in range(ports if ports is not None else 32)]
    tables = copy.deepcopy(base)
    for change in _CHANGES:
        change(tables, design, before, names)
    if design.queues and any(queue.wred for queue in design.queues.values()) and not any(queue.wred for queue in before.queues.values()):
        missing.append("WRED_PROFILE: afflux has one colour; yellow and red are written as green")
    return {name: entries for name, entries in tables.items() if entries}, missing


def _port_names(tables: Tables) -> list[str]:
    found: dict[str, None] = {}
    for name in ("PORT_QOS_MAP", "BUFFER_PG", "BUFFER_QUEUE", "QUEUE"):
        found.update((key.partition("|")[0], None) for key in tables.get(name, {}) if key != "global")
    return list(found)


def _lossless_queues(design: Design) -> set[int]:
    """Queues of lossless priorities."""
    return {_queue_of(design, priority) for priority in design.lossless}


def _queue_of(design: Design, priority: int) -> int:
    return next((number for number, queue in design.queues.items() if priority in queue.priorities), priority)


def _changed(design: Design, before: Design, *names: str) -> dict[str, Any]:
    values = {name: getattr(design, name) for name in names}
    return {name: value for name, value in values.items() if value is not None and value != getattr(before, name)}


def _set(tables: Tables, table: str, key: str, values: Mapping[str, Any], **new: str) -> None:
    """Fields of an entry; `new`: what a new entry has besides."""
    entry = tables.setdefault(table, {}).setdefault(key, dict(new))
    entry.update({name: str(value) for name, value in values.items()})


def _pools(tables: Tables, design: Design, before: Design, ports: list[str]) -> None:
    pools = tables.get("BUFFER_POOL", {})
    ingress = max(
        (name for name, p in pools.items() if p["type"] in ("ingress", "both")), key=lambda name: int(pools[name].get("size", 0)), default=_INGRESS_POOL
    )
    changed = _changed(design, before, "ingress_pool", "headroom_pool")
    if changed:
        words = {"ingress_pool": "size", "headroom_pool": "xoff"}
        _set(tables, "BUFFER_POOL", ingress, {words[name]: value for name, value in changed.items()}, type="ingress", mode="dynamic")
    lossy = _of_profile(tables, _profile(tables, "BUFFER_QUEUE", "dynamic_th"), _LOSSY_POOL)
    if changed := _changed(design, before, "lossy_pool"):
        _set(tables, "BUFFER_POOL", lossy, {"size": changed["lossy_pool"]}, type="egress", mode="dynamic")
    name = _profile(tables, "BUFFER_QUEUE", "dynamic_th") or _LOSSY
    if changed := _changed(design, before, "lossy_th", "lossy_reserved"):
        words = {"lossy_th": "dynamic_th", "lossy_reserved": "size"}
        _set(tables, "BUFFER_PROFILE", name, {words[key]: value for key, value in changed.items()}, pool=lossy, size="0")
        if "BUFFER_QUEUE" not in tables:
            lossy_queues = [queue for queue in range(8) if queue not in _lossless_queues(design)]
            tables["BUFFER_QUEUE"] = {f"{port}|{queue}": {"profile": name} for port in ports for queue in lossy_queues}
    if changed := _changed(design, before, "lossy_ingress_th"):
        entry = tables.setdefault("BUFFER_PROFILE", {}).setdefault(_INGRESS_LOSSY, {"pool": ingress, "size": "0"})
        entry.pop("static_th", None)
        entry["dynamic_th"] = str(changed["lossy_ingress_th"])


def _profile(tables: Tables, table: str, field: str) -> str | None:
    """The profile in use that has `field`."""
    profiles = tables.get("BUFFER_PROFILE", {})
    used = [entry["profile"] for entry in tables.get(table, {}).values()]
    names = [name for name in used if field in profiles.get(name, {}) and "_zero_" not in name]
    return max(set(names), key=names.count) if names else next((name for name, p in profiles.items() if field in p and name in used), None)


def _of_profile(tables: Tables, profile: str | None, default: str) -> str:
    return tables.get("BUFFER_PROFILE", {}).get(profile or "", {}).get("pool", default)


def _lossless(tables: Tables, design: Design, before: Design, ports: list[str]) -> None:
    words = {"lossless_th": "dynamic_th", "lossless_reserved": "size", "headroom": "xoff", "xon": "xon", "xon_offset": "xon_offset"}
    if design.lossless and (changed := _changed(design, before, *words)):
        name = _profile(tables, "BUFFER_PG", "xoff") or next((n for n, p in tables.get("BUFFER_PROFILE", {}).items() if "xoff" in p), _LOSSLESS)
        _set(tables, "BUFFER_PROFILE", name, {words[key]: value for key, value in changed.items()}, pool=_INGRESS_POOL)
        if name == _LOSSLESS:
            _groups(tables, design, ports)
            for port in ports:
                for group in design.lossless:
                    _set(tables, "BUFFER_PG", f"{port}|{group}", {"profile": name})
    if design.lossless != before.lossless:
        enabled = ",".join(map(str, design.lossless))
        for port in ports:
            entry = tables.setdefault("PORT_QOS_MAP", {}).setdefault(port, {})
            for field in ("pfc_enable", *(["pfcwd_sw_enable"] if design.watchdog or "pfcwd_sw_enable" in entry else [])):
                entry[field] = enabled
                if not enabled:
                    del entry[field]
    if design.cable_m is not None and design.cable_m != before.cable_m:
        lengths = tables.setdefault("CABLE_LENGTH", {}).setdefault(_MAP, {})
        lengths.update(dict.fromkeys(ports, f"{design.cable_m:g}m"))
    if design.watchdog and design.watchdog != before.watchdog:
        w = design.watchdog
        for port in ports:
            _set(tables, "PFC_WD", port, {"action": w.action, "detection_time": w.detection_ms, "restoration_time": w.restoration_ms})
        _set(tables, "PFC_WD", "GLOBAL", {"POLL_INTERVAL": w.poll_ms})


def _groups(tables: Tables, design: Design, ports: list[str]) -> None:
    """Each lossless class in a priority group of its own, the others in group 0, and a PAUSE frame stops the queue of its class."""
    if not tables.get("TC_TO_PRIORITY_GROUP_MAP"):
        _set(tables, "TC_TO_PRIORITY_GROUP_MAP", _MAP, {str(tc): tc if tc in design.lossless else 0 for tc in range(8)})
        _refer(tables, ports, "tc_to_pg_map", _MAP)
    if not tables.get("MAP_PFC_PRIORITY_TO_QUEUE"):
        _set(tables, "MAP_PFC_PRIORITY_TO_QUEUE", _MAP, {str(tc): _queue_of(design, tc) for tc in range(8)})
        _refer(tables, ports, "pfc_to_queue_map", _MAP)


def _classes(tables: Tables, design: Design, before: Design, ports: list[str]) -> None:
    if design.dscp and design.dscp != before.dscp:
        name = _map(tables, "dscp_to_tc_map", "DSCP_TO_TC_MAP")
        _set(tables, "DSCP_TO_TC_MAP", name, {str(k): v for k, v in design.dscp.items() if before.dscp.get(k) != v})
        _refer(tables, ports, "dscp_to_tc_map", name)
    priorities = {q: queue.priorities for q, queue in design.queues.items()}
    if priorities and priorities != {q: queue.priorities for q, queue in before.queues.items()}:
        name = _map(tables, "tc_to_queue_map", "TC_TO_QUEUE_MAP")
        _set(tables, "TC_TO_QUEUE_MAP", name, {str(p): q for q, of_queue in priorities.items() for p in of_queue})
        _refer(tables, ports, "tc_to_queue_map", name)
    for number, queue in design.queues.items():
        old = before.queues.get(number)
        if old is None or old.weight != queue.weight:
            _attach(tables, ports, number, "scheduler", _scheduler(tables, queue))
        if queue.wred != (old.wred if old else None):
            if queue.wred is None:
                _detach(tables, ports, number, "wred_profile")
            else:
                _attach(tables, ports, number, "wred_profile", _wred(tables, number, queue))


def _map(tables: Tables, field: str, table: str) -> str:
    names = [entry[field] for key, entry in tables.get("PORT_QOS_MAP", {}).items() if key != "global" and field in entry]
    return max(set(names), key=names.count) if names else next(iter(tables.get(table, {})), _MAP)


def _refer(tables: Tables, ports: list[str], field: str, name: str) -> None:
    for port in ports:
        tables.setdefault("PORT_QOS_MAP", {}).setdefault(port, {}).setdefault(field, name)


def _scheduler(tables: Tables, queue: Queue) -> str:
    wanted = {"type": "STRICT"} if queue.weight is None else {"type": "DWRR", "weight": str(queue.weight)}
    known = tables.setdefault("SCHEDULER", {})
    for name, entry in known.items():
        if entry == wanted:
            return name
    name = next(f"scheduler.{n}" for n in range(len(known) + 1) if f"scheduler.{n}" not in known)
    known[name] = wanted
    return name


def _wred(tables: Tables, number: int, queue: Queue) -> str:
    w = queue.wred
    assert w is not None, "the caller has seen it"
    values = {
        f"{colour}_{what}": str(value)
        for colour in ("green", "yellow", "red")
        for what, value in (("min_threshold", w.kmin), ("max_threshold", w.kmax), ("drop_probability", w.percent))
    }
    values |= {f"wred_{colour}_enable": "true" if w.drops else "false" for colour in ("green", "yellow", "red")}
    wanted = {**values, "ecn": "ecn_all"}
    known = tables.setdefault("WRED_PROFILE", {})
    for name, entry in known.items():
        if entry == wanted:
            return name
    name = f"AFFLUX_QUEUE{number}"
    known[name] = wanted
    return name


def _attach(tables: Tables, ports: list[str], number: int, field: str, name: str) -> None:
    _split(tables, number)
    for port in ports:
        _set(tables, "QUEUE", f"{port}|{number}", {field: name})


def _detach(tables: Tables, ports: list[str], number: int, field: str) -> None:
    _split(tables, number)
    for port in ports:
        tables.get("QUEUE", {}).get(f"{port}|{number}", {}).pop(field, None)


def _split(tables: Tables, number: int) -> None:
    """Ranges of queues that hold this one are taken apart, so that it can differ."""
    entries = tables.get("QUEUE", {})
    for key in [key for key in entries if "-" in key.partition("|")[2] and number in queues(key.partition("|")[2])]:
        port, _, range_ = key.partition("|")
        entry = entries.pop(key)
        for each in queues(range_):
            entries[f"{port}|{each}"] = dict(entry)


_CHANGES = (_pools, _lossless, _classes)

__all__ = ["of_design"]
