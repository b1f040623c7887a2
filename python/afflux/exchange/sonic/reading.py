"""The design that SONiC's tables describe."""

from collections.abc import Mapping
from typing import Any

from .design import DETECTION_MS, Design, Queue, Watchdog, Wred
from .ports import common, per_queue
from .tables import Tables


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
    detection = int(entry.get("detection_time", DETECTION_MS))
    return detection, int(entry.get("restoration_time", 2 * detection)), int(shared.get("POLL_INTERVAL", DETECTION_MS))


def _int(entry: Mapping[str, str], name: str) -> int | None:
    return int(entry[name]) if name in entry else None
