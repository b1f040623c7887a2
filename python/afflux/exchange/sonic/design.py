"""What SONiC's tables and `[switch]` both say, in one shape: read from either, written to either."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .ports import common, per_queue
from .tables import Tables

_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_TIMES = {"us": 1e-3, "ms": 1.0, "s": 1e3}
#: SONiC's own defaults of the watchdog (sonic-utilities, pfcwd).
_DETECTION_MS = 200


@dataclass(frozen=True)
class Wred:
    """Thresholds in bytes, probability in percent. `drops`: frames that are not ECN-capable are dropped by the curve."""

    kmin: int
    kmax: int
    percent: int
    drops: bool


@dataclass(frozen=True)
class Watchdog:
    detection_ms: int
    restoration_ms: int
    poll_ms: int
    action: str


@dataclass(frozen=True)
class Queue:
    """`weight` is `None` where the queue is strict."""

    priorities: tuple[int, ...]
    weight: int | None
    wred: Wred | None


@dataclass
class Design:
    """Bytes; alphas as exponents of two, as SAI has them. `None`: not said."""

    ingress_pool: int | None = None
    headroom_pool: int | None = None
    lossy_pool: int | None = None
    lossy_th: float | None = None
    lossy_reserved: int | None = None
    lossy_ingress_th: float | None = None
    lossless_th: float | None = None
    lossless_reserved: int | None = None
    headroom: int | None = None
    xon: int | None = None
    xon_offset: int | None = None
    lossless: tuple[int, ...] = ()
    cable_m: float | None = None
    watchdog: Watchdog | None = None
    queues: dict[int, Queue] = field(default_factory=dict)
    dscp: dict[int, int] = field(default_factory=dict)

    def differs(self, other: "Design") -> set[str]:
        return {f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)}


def of_tables(tables: Tables) -> tuple[Design, list[str]]:
    """The design that most ports have, and notes about what is left out or differs."""
    return _OfTables(tables).design()


class _OfTables:
    def __init__(self, tables: Tables) -> None:
        self.tables, self.notes = tables, list[str]()
        self.profiles, self.pools = tables.get("BUFFER_PROFILE", {}), tables.get("BUFFER_POOL", {})

    def design(self) -> tuple[Design, list[str]]:
        design = Design()
        self.buffers(design)
        self.lossless(design)
        self.classes(design)
        return design, self.notes

    def buffers(self, design: Design) -> None:
        name, pool = self.ingress_pool()
        if pool:
            design.ingress_pool, design.headroom_pool = _int(pool, "size"), _int(pool, "xoff")
            if design.ingress_pool is None:
                self.notes.append(f"BUFFER_POOL {name} has no size: the switch computes it; [switch] buffer must be written")
        lossy = self.profile_of("BUFFER_QUEUE", "queues", lambda p: self.pool_type(p) == "egress" and "dynamic_th" in p)
        if lossy:
            design.lossy_pool = _int(self.pools.get(lossy.get("pool", ""), {}), "size")
            design.lossy_th, design.lossy_reserved = _int(lossy, "dynamic_th"), _int(lossy, "size")
        ingress = self.profile_of("BUFFER_PG", "priority groups", lambda p: self.pool_type(p) == "ingress" and "xoff" not in p)
        if ingress and "dynamic_th" in ingress:
            design.lossy_ingress_th = _int(ingress, "dynamic_th")
        elif ingress and design.ingress_pool and int(ingress.get("static_th", design.ingress_pool)) < design.ingress_pool:
            self.notes.append(f"lossy priority groups are limited to {ingress['static_th']} B each: afflux has no such limit and leaves it out")
        for name, profile in self.profiles.items():
            if profile.get("packet_discard_action") == "trim":
                self.notes.append(f"BUFFER_PROFILE {name} trims packets: afflux drops them")
        for name in ("BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST"):
            if name in self.tables:
                self.notes.append(f"{name}: limits per port are not modelled; they are kept for export")

    def ingress_pool(self) -> tuple[str, Mapping[str, str]]:
        ingress = {name: pool for name, pool in self.pools.items() if pool["type"] in ("ingress", "both")}
        ingress = {name: pool for name, pool in ingress.items() if pool.get("size") != "0"}
        if not ingress:
            return "", {}
        return max(ingress.items(), key=lambda item: (item[1]["mode"] == "dynamic", int(item[1].get("size", 0))))

    def pool_type(self, profile: Mapping[str, str]) -> str:
        return self.pools.get(profile.get("pool", ""), {}).get("type", "")

    def profile_of(self, table: str, what: str, wanted: Any) -> Mapping[str, str]:
        """The profile that most entries of `table` have, of those that are `wanted`; or the only one there is."""
        # Ports that are not in use have profiles that give them nothing (SONiC's `…_zero_profile`).
        known = {name: profile for name, profile in self.profiles.items() if "_zero_" not in name and wanted(profile)}
        used = [entry["profile"] for entry in self.tables.get(table, {}).values() if entry["profile"] in known] or list(known)
        if not used:
            return {}
        name, count, of = common(used)
        if count < of:
            others = ", ".join(sorted(set(used) - {name}))
            self.notes.append(f"{of - count} of {of} {what} have another profile ({others}) than {name}: all are taken to be alike")
        return self.profiles[name]

    def lossless(self, design: Design) -> None:
        enabled = [tuple(map(int, entry["pfc_enable"].split(","))) for entry in self.tables.get("PORT_QOS_MAP", {}).values() if entry.get("pfc_enable")]
        if enabled:
            design.lossless, count, of = common(enabled)
            if count < of:
                self.notes.append(f"{of - count} of {of} ports have another pfc_enable than {design.lossless}: all are taken to be alike")
        profile = self.profile_of("BUFFER_PG", "lossless priority groups", lambda p: "xoff" in p)
        design.lossless_th, design.lossless_reserved = _int(profile, "dynamic_th"), _int(profile, "size")
        design.headroom, design.xon, design.xon_offset = _int(profile, "xoff"), _int(profile, "xon"), _int(profile, "xon_offset")
        lengths = [length for entry in self.tables.get("CABLE_LENGTH", {}).values() for length in entry.values() if length != "0m"]
        if lengths:
            length, count, of = common(lengths)
            design.cable_m = float(length.rstrip("m"))
            if count < of:
                self.notes.append(f"{of - count} of {of} cables are not {length} long: all are taken to be alike")
        if design.lossless and not profile:
            self.notes.append("no lossless buffer profile is in this file: headroom comes from SONiC's formula and the cable's length")
        watchdogs = self.tables.get("PFC_WD", {})
        ports = [Watchdog(*_times(entry, watchdogs.get("GLOBAL", {})), entry.get("action", "drop")) for key, entry in watchdogs.items() if key != "GLOBAL"]
        if ports:
            design.watchdog, count, of = common(ports)
            if count < of:
                self.notes.append(f"PFC_WD: {of - count} of {of} ports have other times: all are taken to be alike")

    def classes(self, design: Design) -> None:
        maps = self.tables.get("PORT_QOS_MAP", {})
        design.dscp = {int(k): int(v) for k, v in self.map_of(maps, "dscp_to_tc_map", "DSCP_TO_TC_MAP").items() if int(v) <= 7}
        to_queue = {int(k): int(v) for k, v in self.map_of(maps, "tc_to_queue_map", "TC_TO_QUEUE_MAP").items()}
        if any(tc > 7 for tc in to_queue):
            self.notes.append("traffic classes above 7 are not modelled; they are kept for export")
        schedulers = per_queue(self.tables.get("QUEUE", {}), "scheduler")
        wreds = per_queue(self.tables.get("QUEUE", {}), "wred_profile")
        numbers = sorted({q for of_port in (*schedulers.values(), *wreds.values()) for q in of_port} | {q for tc, q in to_queue.items() if tc <= 7})
        for number in numbers:
            priorities = tuple(sorted(tc for tc, q in to_queue.items() if q == number and tc <= 7)) if to_queue else (number,)
            weight = self.weight(number, [of_port[number] for of_port in schedulers.values() if number in of_port])
            wred = self.wred(number, [of_port[number] for of_port in wreds.values() if number in of_port])
            design.queues[number] = Queue(priorities, weight, wred)

    def map_of(self, maps: Mapping[str, Mapping[str, str]], reference: str, table: str) -> Mapping[str, str]:
        known = self.tables.get(table, {})
        used = [entry[reference] for key, entry in maps.items() if key != "global" and reference in entry] or [
            entry[reference] for entry in maps.values() if reference in entry
        ]
        used = [name for name in used if name in known] or list(known)[:1]
        if not used:
            return {}
        name, count, of = common(used)
        if count < of:
            self.notes.append(f"{of - count} of {of} ports have another {reference} than {name}: all are taken to be alike")
        return known[name]

    def weight(self, queue: int, names: list[str]) -> int | None:
        if not names:
            return None
        name, count, of = common(names)
        if count < of:
            self.notes.append(f"queue {queue}: {of - count} of {of} ports have another scheduler than {name}: all are taken to be alike")
        scheduler = self.tables.get("SCHEDULER", {}).get(name)
        if scheduler is None or scheduler["type"] == "STRICT":
            return None
        for unknown in ("cir", "pir", "cbs", "pbs"):
            if unknown in scheduler:
                self.notes.append(f"SCHEDULER {name}: {unknown} (shaping) is not modelled; it is kept for export")
        return int(scheduler.get("weight", 1))

    def wred(self, queue: int, names: list[str]) -> Wred | None:
        names = [name for name in names if name in self.tables.get("WRED_PROFILE", {})]
        if not names:
            return None
        name, count, of = common(names)
        if count < of:
            self.notes.append(f"queue {queue}: {of - count} of {of} ports have another WRED profile than {name}: all are taken to be alike")
        profile = self.tables["WRED_PROFILE"][name]
        if not {"green_min_threshold", "green_max_threshold"} <= profile.keys():
            self.notes.append(f"WRED_PROFILE {name} has no thresholds for green packets: it is left out")
            return None
        if profile.get("ecn", "ecn_none") in ("ecn_none", "ecn_yellow", "ecn_red", "ecn_yellow_red"):
            self.notes.append(f"WRED_PROFILE {name} does not mark green packets: dropping without marking is left out")
            return None
        values = [
            tuple(profile.get(f"{colour}_{what}") for what in ("min_threshold", "max_threshold", "drop_probability")) for colour in ("green", "yellow", "red")
        ]
        if len(set(values)) > 1:
            self.notes.append(f"WRED_PROFILE {name}: colours differ; all packets are green")
        kmin, kmax = int(profile["green_min_threshold"]), int(profile["green_max_threshold"])
        return Wred(kmin, kmax, int(profile.get("green_drop_probability", 100)), profile.get("wred_green_enable") == "true")


def _times(entry: Mapping[str, str], shared: Mapping[str, str]) -> tuple[int, int, int]:
    detection = int(entry.get("detection_time", _DETECTION_MS))
    return detection, int(entry.get("restoration_time", 2 * detection)), int(shared.get("POLL_INTERVAL", _DETECTION_MS))


def _int(entry: Mapping[str, str], name: str) -> int | None:
    return int(entry[name]) if name in entry else None


def to_scenario(design: Design) -> dict[str, Any]:
    """`switch` and `host` tables of a scenario."""
    switch: dict[str, Any] = {}
    if design.ingress_pool is not None or design.lossy_pool is not None or design.lossless:
        switch["sharing"] = "sonic"
    mmu: dict[str, Any] = {}
    if design.ingress_pool is not None:
        switch["buffer"] = _b(design.ingress_pool + (design.headroom_pool or 0))
    _put(switch, "alpha", design.lossy_th, _alpha)
    _put(switch, "reserved", design.lossy_reserved, _b)
    _put(mmu, "lossy_ingress_alpha", design.lossy_ingress_th, _alpha)
    # A pool that follows from the memory must go on following from it.
    if design.ingress_pool is None or design.headroom_pool is None or design.lossy_pool != design.ingress_pool // 10 * 8:
        _put(mmu, "lossy_pool", design.lossy_pool, _b)
    _put(mmu, "headroom_pool", design.headroom_pool, _b)
    if design.lossless:
        _put(mmu, "lossless_alpha", design.lossless_th, _alpha)
        _put(mmu, "lossless_reserved", design.lossless_reserved, _b)
        _put(mmu, "xon", design.xon, _b)
        _put(mmu, "xon_offset", design.xon_offset, _b)
    if mmu:
        switch["mmu"] = mmu
    if design.lossless:
        pfc: dict[str, Any] = {"priorities": list(design.lossless)}
        if design.headroom is not None:
            pfc["headroom"] = _b(design.headroom)
        elif design.cable_m is not None:
            pfc |= {"headroom": "sonic", "cable": f"{design.cable_m:g}m"}
        if design.watchdog:
            w = design.watchdog
            pfc["watchdog"] = {"detection": f"{w.detection_ms}ms", "restoration": f"{w.restoration_ms}ms", "poll": f"{w.poll_ms}ms", "action": w.action}
        switch["pfc"] = pfc
    if design.queues:
        switch |= {"scheduling": "dwrr", "queue": [_queue(number, queue) for number, queue in design.queues.items()]}
    host = {"dscp_to_priority": {str(k): v for k, v in design.dscp.items()}} if design.dscp else {}
    return {"switch": switch, "host": host} if host else {"switch": switch}


def _queue(number: int, queue: Queue) -> dict[str, Any]:
    out: dict[str, Any] = {"index": number, "priorities": list(queue.priorities)}
    out |= {"strict": True} if queue.weight is None else {"weight": queue.weight}
    if queue.wred:
        w = queue.wred
        out["ecn"] = {"kmin": _b(w.kmin), "kmax": _b(w.kmax), "pmax": w.percent / 100, "incapable": "drop" if w.drops else "pass"}
    return out


def _put(table: dict[str, Any], key: str, value: Any, form: Any) -> None:
    if value is not None:
        table[key] = form(value)


def _b(bytes: int) -> str:
    return f"{bytes}B"


def _alpha(exponent: float) -> float:
    return 2.0**exponent


def of_scenario(scenario: Mapping[str, Any]) -> tuple[Design, list[str]]:
    """From a scenario's `switch` and `host` tables, resolved or not; and what SONiC cannot be told."""
    missing: list[str] = []
    switch, host = scenario.get("switch", {}), scenario.get("host", {})
    mmu, pfc = switch.get("mmu", {}), switch.get("pfc", {})
    pfc = {} if pfc == "off" else pfc
    design = Design()
    sharing = switch.get("sharing", "dynamic")
    if sharing not in ("sonic", "dynamic"):
        missing.append(f'sharing = {sharing!r}: SONiC\'s buffer model is "sonic"')
    headroom_pool = _size(mmu.get("headroom_pool"))
    buffer = _size(switch.get("buffer"))
    if sharing == "sonic" and buffer is not None:
        design.ingress_pool, design.headroom_pool = buffer - (headroom_pool or 0), headroom_pool
        design.lossy_pool = _size(mmu.get("lossy_pool"))
    elif sharing == "dynamic":
        design.lossy_pool = buffer
    if sharing in ("sonic", "dynamic"):
        design.lossy_th = _exponent(switch.get("alpha"), "alpha", missing)
        design.lossy_reserved = _size(switch.get("reserved"))
    design.lossless_th = _exponent(mmu.get("lossless_alpha"), "mmu.lossless_alpha", missing)
    design.lossless_reserved = _size(mmu.get("lossless_reserved"))
    if mmu.get("lossy_ingress_alpha", "off") != "off":
        design.lossy_ingress_th = _exponent(mmu["lossy_ingress_alpha"], "mmu.lossy_ingress_alpha", missing)
    design.xon, design.xon_offset = _size(mmu.get("xon")), _size(mmu.get("xon_offset"))
    if pfc:
        design.lossless = tuple(pfc.get("priorities", (3, 4)))
        headroom = pfc.get("headroom")
        if isinstance(headroom, str) and headroom[:1].isdigit():
            design.headroom = _size(headroom)
        elif headroom not in (None, "sonic"):
            missing.append(f"pfc.headroom = {headroom!r}: SONiC takes a number or computes by its own formula; write a size")
        if "cable" in pfc:
            design.cable_m = float(pfc["cable"].rstrip("m"))
        watchdog = pfc.get("watchdog", "off")
        if watchdog != "off":
            detection = _ms(watchdog.get("detection", f"{_DETECTION_MS}ms"))
            restoration, poll = _ms(watchdog.get("restoration", f"{2 * detection}ms")), _ms(watchdog.get("poll", f"{_DETECTION_MS}ms"))
            design.watchdog = Watchdog(detection, restoration, poll, watchdog.get("action", "drop"))
    _queues_of(switch, design, missing)
    design.dscp = {int(k): int(v) for k, v in host.get("dscp_to_priority", {}).items()}
    _beyond(switch, missing)
    return design, missing


def _queues_of(switch: Mapping[str, Any], design: Design, missing: list[str]) -> None:
    shared = switch.get("ecn", "off")
    scheduling = switch.get("scheduling", "fifo")
    blocks = switch.get("queue", [])
    if scheduling == "ets":
        missing.append("scheduling = 'ets': its percentages are written as DWRR weights")
    if not blocks:
        numbers = range(switch.get("priorities", 8)) if scheduling == "strict_priority" else range(1) if shared != "off" else range(0)
        blocks = [{"index": number, "strict": scheduling == "strict_priority", "weight": 1, "priorities": [number]} for number in numbers]
        if scheduling == "fifo" and blocks:
            blocks[0]["priorities"] = list(range(8))
    for position, block in enumerate(blocks):
        number = block.get("index", position)
        weight = None if block.get("strict") else block.get("weight") or int(str(block.get("bandwidth", "1%")).rstrip("%"))
        if weight is not None and weight > 100:
            missing.append(f"queue {number}: weight {weight}: SONiC takes 1 to 100")
        ecn = block.get("ecn", shared)
        wred = None
        if ecn not in ("off", False):
            wred = _wred(number, ecn, missing)
        design.queues[number] = Queue(tuple(block.get("priorities", (number,))), weight, wred)


def _wred(number: int, ecn: Mapping[str, Any], missing: list[str]) -> Wred | None:
    kmin, kmax = (_size(ecn.get(key, ecn.get("k"))) for key in ("kmin", "kmax"))
    if kmin is None or kmax is None:
        missing.append(f"queue {number}: thresholds in packets: SONiC takes bytes")
        return None
    pmax = ecn.get("pmax", 1)
    percent = 100 * (float(pmax.rstrip("%")) / 100 if isinstance(pmax, str) else pmax)
    if abs(percent - round(percent)) > 1e-9:
        missing.append(f"queue {number}: pmax = {percent:g} %: SONiC takes whole percent; {round(percent)} % is written")
    if ecn.get("average_weight", "off") != "off":
        missing.append(f"queue {number}: average_weight: WRED_PROFILE has no field for it")
    if ecn.get("at", "enqueue") != "enqueue":
        missing.append(f"queue {number}: at = {ecn['at']!r}: the chip decides where it marks")
    return Wred(kmin, kmax, round(percent), ecn.get("incapable", "drop") == "drop")


def _beyond(switch: Mapping[str, Any], missing: list[str]) -> None:
    for key, plain in (("aqm", "off"), ("device_queue", 0), ("forwarding", "store_and_forward")):
        if switch.get(key, plain) != plain:
            missing.append(f"{key} = {switch[key] if not isinstance(switch[key], Mapping) else switch[key].get('kind')!r}: no table of config_db.json has it")
    if switch.get("balance", "ecmp") != "ecmp":
        missing.append(f"balance = {switch['balance']!r}: not written")
    if switch.get("override"):
        missing.append("[[switch.override]]: this is for the switches that [switch] means; the others need a file of their own")


def _exponent(alpha: float | None, key: str, missing: list[str]) -> float | None:
    if alpha is None:
        return None
    exponent = math.log2(alpha)
    if exponent != round(exponent) or not -8 <= exponent <= 8:
        nearest = min(max(round(exponent), -8), 8)
        missing.append(f"{key} = {alpha:g}: SONiC has powers of two from 2^-8 to 2^8; 2^{nearest} is written")
        return nearest
    return int(exponent)


def _size(text: str | None) -> int | None:
    found = re.fullmatch(r"([\d.]+)\s*([A-Za-z]+)", text) if isinstance(text, str) else None
    return round(float(found.group(1)) * _UNITS[found.group(2)]) if found and found.group(2) in _UNITS else None


def _ms(text: str) -> int:
    found = re.fullmatch(r"([\d.]+)\s*([a-z]+)", text)
    assert found, f"a duration has a unit: {text!r}"
    return round(float(found.group(1)) * _TIMES[found.group(2)])
