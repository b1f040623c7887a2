"""Writes a design into SONiC's tables. Only settings that differ change."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..account import Account
from .described import of_tables
from .design import Design, Queue, Share
from .gathered import spread
from .ports import CPU, WHOLE, Key, queues, split
from .reading import Reading
from .switch import of_scenario
from .tables import COMPUTED, LAYOUTS, Tables

#: Names in new tables: those of SONiC (buffers_defaults, qos_config.j2).
_INGRESS_POOL, _LOSSY_POOL = "ingress_lossless_pool", "egress_lossy_pool"
_LOSSY, _LOSSLESS, _INGRESS_LOSSY = (
    "egress_lossy_profile",
    "pg_lossless_profile",
    "ingress_lossy_profile",
)
_MAP = "AZURE"


def of_design(
    scenario: Mapping[str, Any], ports: int | None = None, dscp: Mapping[int, int] | None = None
) -> tuple[Tables, list[str]]:
    """Returns config_db tables for a scenario (parsed, resolved or not), and the settings that they
    cannot express.

    An imported scenario has its tables in `[sonic]`. Any other gets tables for `ports` ports, named
    Ethernet0, Ethernet4, … `dscp` is the complete map of DSCPs to priorities, which new tables get
    if there are several classes.
    """
    base: Tables = spread(scenario.get("sonic", {}))
    design, missing = of_scenario(scenario)
    reading = of_tables(base, Account("fields"), scenario.get("topology", {}))
    before = reading.design
    if dscp and not base and (len(design.queues) > 1 or design.lossless):
        design.dscp = dict(dscp)
    # The pool size is missing because the import left out a derived value, or because the
    # simulation has no mmu.lossy_pool.
    follows = before.lossy_pool is not None and design.headroom_pool is not None if base else True
    if design.lossy_pool is None and design.ingress_pool is not None and follows:
        design.lossy_pool = design.ingress_pool // 10 * 8
    _one_queue(design, before)
    patch = _Patch(
        copy.deepcopy(base),
        design,
        reading,
        [f"Ethernet{4 * number}" for number in range(ports if ports is not None else 32)],
    )
    patch.pools()
    patch.lossy()
    patch.lossless()
    patch.classes()
    missing += patch.own_queues() + patch.own_groups()
    if (
        design.queues
        and any(queue.wred for queue in design.queues.values())
        and not any(queue.wred for queue in before.queues.values())
    ):
        missing.append("WRED_PROFILE: afflux has one colour; yellow and red are written as green")
    return {
        name: entries for name, entries in patch.tables.items() if entries and LAYOUTS[name].kept
    }, missing


def _one_queue(design: Design, before: Design) -> None:
    """Keeps the queue of the tables for a port with one queue. Such a port has no queue blocks in a
    scenario, so only its marking comes from the scenario."""
    if len(before.queues) != 1 or len(design.queues) > 1:
        return
    [(number, old)] = before.queues.items()
    wred = next((queue.wred for queue in design.queues.values()), None)
    design.queues = {number: replace(old, wred=wred)}


class _Patch:
    """Tables that are being changed. `before` is the design of the original tables. `fresh` are the
    ports for tables that have none."""

    def __init__(self, tables: Tables, design: Design, reading: Reading, fresh: list[str]) -> None:
        self.tables, self.design, self.reading, self.before, self.fresh = (
            tables,
            design,
            reading,
            reading.design,
            fresh,
        )

    def changed(self, *names: str) -> dict[str, Any]:
        values = {name: getattr(self.design, name) for name in names}
        return {
            name: value
            for name, value in values.items()
            if value is not None and value != getattr(self.before, name)
        }

    def set(self, table: str, key: str, values: Mapping[str, Any], **new: str) -> None:
        """Sets fields of an entry. `new` are additional fields of a new entry."""
        entry = self.tables.setdefault(table, {}).setdefault(key, dict(new))
        entry.update({name: str(value) for name, value in values.items()})

    def ports(self, table: str) -> list[str]:
        """Returns the ports as the keys of a table name them. In a chassis, queues have card and
        chip in their names."""
        of_queues = LAYOUTS[table].key[-1] == "priorities"
        own = {self._port(key, of_queues, card=True) for key in self.tables.get(table, {})}
        others = [
            name for name in ("PORT_QOS_MAP", "BUFFER_PG", "BUFFER_QUEUE", "QUEUE") if name != table
        ]
        plain = {
            self._port(key, name != "PORT_QOS_MAP", card=False): None
            for name in others
            for key in self.tables.get(name, {})
        }
        found = [port for port in own or plain if port not in (CPU, *WHOLE)]
        return sorted(found, key=list(own or plain).index) or self.fresh

    @staticmethod
    def _port(key: str, of_queues: bool, *, card: bool) -> str:
        parts = Key.of(key, of_queues)
        return str(Key(parts.card if card else "", parts.port, ""))

    def pools(self) -> None:
        ingress, lossy = (
            self.reading.names.get("ingress_pool", _INGRESS_POOL),
            self.reading.names.get("lossy_pool") or _LOSSY_POOL,
        )
        changed = self.changed("ingress_pool", "headroom_pool")
        pool = self.tables.get("BUFFER_POOL", {}).get(ingress, {})
        values = {}
        for name, field in (("ingress_pool", "size"), ("headroom_pool", "xoff")):
            if name in changed:
                # If the scenario combines several pools into one, the largest pool gets the
                # difference.
                values[field] = (
                    int(pool.get(field, 0)) + changed[name] - (getattr(self.before, name) or 0)
                    if field in pool
                    else changed[name]
                )
        if values:
            self.set("BUFFER_POOL", ingress, values, type="ingress", mode="dynamic")
        if (changed := self.changed("lossy_pool")) and lossy != ingress:
            self.set(
                "BUFFER_POOL", lossy, {"size": changed["lossy_pool"]}, type="egress", mode="dynamic"
            )

    def lossy(self) -> None:
        if changed := self.changed("lossy_th", "lossy_reserved"):
            words = {"lossy_th": "dynamic_th", "lossy_reserved": "size"}
            name = self.reading.names.get("lossy", _LOSSY)
            pool = self.reading.names.get("lossy_pool") or _LOSSY_POOL
            self.set(
                "BUFFER_PROFILE",
                name,
                {words[key]: value for key, value in changed.items()},
                pool=pool,
                size="0",
            )
            if "BUFFER_QUEUE" not in self.tables:
                lossless = {self.queue_of(priority) for priority in self.design.lossless}
                lossy = [queue for queue in range(8) if queue not in lossless]
                self.tables["BUFFER_QUEUE"] = {
                    f"{port}|{queue}": {"profile": name}
                    for port in self.ports("BUFFER_QUEUE")
                    for queue in lossy
                }
        if changed := self.changed("lossy_ingress_th"):
            name = self.reading.names.get("lossy_group", _INGRESS_LOSSY)
            pool = self.reading.names.get("ingress_pool", _INGRESS_POOL)
            self.set(
                "BUFFER_PROFILE",
                name,
                {"dynamic_th": changed["lossy_ingress_th"]},
                pool=pool,
                size="0",
            )
            self.tables["BUFFER_PROFILE"][name].pop("static_th", None)
            if "lossy_group" not in self.reading.names:
                for port in self.ports("BUFFER_PG"):
                    self.set("BUFFER_PG", f"{port}|0", {"profile": name})

    def lossless(self) -> None:
        words = {
            "lossless_th": "dynamic_th",
            "lossless_reserved": "size",
            "headroom": "xoff",
            "xon": "xon",
            "xon_offset": "xon_offset",
        }
        if self.design.lossless and (changed := self.changed(*words)):
            name = self.reading.names.get("lossless", COMPUTED)
            if name == COMPUTED:
                name, said = _LOSSLESS, {key: getattr(self.design, key) for key in words}
                changed = {key: value for key, value in said.items() if value is not None}
                self.groups()
                for port in self.ports("BUFFER_PG"):
                    for group in sorted({self.group_of(tc) for tc in self.design.lossless}):
                        self.split_ranges("BUFFER_PG", group)
                        self.set("BUFFER_PG", f"{port}|{group}", {"profile": name})
            pool = self.reading.names.get("ingress_pool", _INGRESS_POOL)
            self.set(
                "BUFFER_PROFILE",
                name,
                {words[key]: value for key, value in changed.items()},
                pool=pool,
            )
        watched, before = (
            design.watchdog.priorities if design.watchdog else None
            for design in (self.design, self.before)
        )
        if (self.design.lossless, watched) != (self.before.lossless, before):
            self.enable()
        if self.design.cable_m is not None and self.design.cable_m != self.before.cable_m:
            lengths = self.tables.setdefault("CABLE_LENGTH", {}).setdefault(_MAP, {})
            lengths.update(dict.fromkeys(self.ports("PORT_QOS_MAP"), f"{self.design.cable_m:g}m"))
        if self.design.watchdog and self.design.watchdog != self.before.watchdog:
            w = self.design.watchdog
            for port in self.ports("PORT_QOS_MAP"):
                self.set(
                    "PFC_WD",
                    port,
                    {
                        "action": w.action,
                        "detection_time": w.detection_ms,
                        "restoration_time": w.restoration_ms,
                    },
                )
            self.set("PFC_WD", "GLOBAL", {"POLL_INTERVAL": w.poll_ms})

    def own_queues(self) -> list[str]:
        """Gives lossy queues with separate alpha, reserve or limit their own profile. Returns what
        cannot be expressed."""
        missing = []
        pool = self.reading.names.get("lossy_pool") or _LOSSY_POOL
        for number, queue in self.design.queues.items():
            old = self.before.queues.get(number)
            if queue.share == (old.share if old else Share()):
                continue
            if {*queue.priorities} & {*self.design.lossless}:
                missing.append(
                    f"queue {number}: alpha, reserved and buffer of a queue with lossless priorities: its profile limits nothing"
                )
                continue
            name = self.reading.names.get("lossy", _LOSSY)
            if queue.share != Share():
                of_all = Share(self.design.lossy_th, None, self.design.lossy_reserved)
                name = self.profile(
                    f"egress_queue{number}_profile", {"pool": pool}, queue.share, of_all
                )
            self.attach_profile("BUFFER_QUEUE", number, name)
        return missing

    def own_groups(self) -> list[str]:
        """Gives priority groups with separate alpha, reserve or limit their own profile. Returns
        what cannot be expressed."""
        design, missing = self.design, []
        for tc in range(8):
            share = design.groups.get(tc, Share())
            if share == self.before.groups.get(tc, Share()):
                continue
            group = self.group_now(tc)
            sharing = [other for other in range(8) if self.group_now(other) == group]
            if any(design.groups.get(other, Share()) != share for other in sharing):
                # There are as many groups as classes, so one is free: that with the class's number,
                # or the highest.
                used = {self.group_now(other) for other in range(8)}
                group, sharing = (
                    max(
                        (number for number in range(8) if number not in used),
                        key=lambda number: (number == tc, number),
                    ),
                    [tc],
                )
                self.set(
                    "TC_TO_PRIORITY_GROUP_MAP",
                    self.map("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
                    {str(tc): group},
                )
            lossless, profiles = tc in design.lossless, self.tables.get("BUFFER_PROFILE", {})
            name = self.reading.names.get(
                "lossless" if lossless else "lossy_group", _LOSSLESS if lossless else _INGRESS_LOSSY
            )
            if lossless and name not in profiles:
                missing.append(
                    f"mmu.group of priority {tc}: SONiC computes the profile of its priority group: write pfc.headroom as a size"
                )
                continue
            if share != Share():
                entry = {
                    "pool": self.reading.names.get("ingress_pool", _INGRESS_POOL),
                    **profiles.get(name, {}),
                }
                of_all = (
                    Share(design.lossless_th, None, design.lossless_reserved)
                    if lossless
                    else Share(design.lossy_ingress_th, None, 0)
                )
                # The import divides a reserve among the classes of a group. This restores the
                # total.
                own = (
                    share
                    if share.reserved is None or lossless
                    else replace(share, reserved=share.reserved * len(sharing))
                )
                name = self.profile(f"ingress_pg{group}_profile", entry, own, of_all)
            self.attach_profile("BUFFER_PG", group, name)
        return missing

    def profile(self, name: str, entry: Mapping[str, str], share: Share, of_all: Share) -> str:
        """Adds a profile with these fields and this share. Settings that the share lacks are those
        of all. Returns its name."""
        reserved = share.reserved if share.reserved is not None else of_all.reserved
        th = share.th if share.th is not None else of_all.th
        fields = {
            key: value for key, value in entry.items() if key not in ("dynamic_th", "static_th")
        } | {"size": str(reserved or 0)}
        if share.limit is not None:
            fields["static_th"] = str(share.limit)
        elif th is not None:
            fields["dynamic_th"] = str(th)
        self.tables.setdefault("BUFFER_PROFILE", {})[name] = fields
        return name

    def attach_profile(self, table: str, number: int, name: str) -> None:
        """Assigns a profile to a queue or group of all ports. Removes the entries if no profile has
        this name."""
        ports = self.ports(table)
        self.split_ranges(table, number)
        for port in ports:
            if name in self.tables.get("BUFFER_PROFILE", {}):
                self.set(table, f"{port}|{number}", {"profile": name})
            else:
                self.tables.get(table, {}).pop(f"{port}|{number}", None)

    def group_now(self, tc: int) -> int:
        """Returns the priority group of a class in the changed tables."""
        maps = self.tables.get("TC_TO_PRIORITY_GROUP_MAP", {})
        return (
            int(maps.get(self.map("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"), {}).get(str(tc), 0))
            if maps
            else tc
        )

    def enable(self) -> None:
        """Enables the PFC priorities that pause the groups of the lossless classes."""
        self.groups()
        watchdog = self.design.watchdog
        watched = (
            watchdog.priorities
            if watchdog and watchdog.priorities is not None
            else self.design.lossless
        )
        enabled = {
            "pfc_enable": self.pausing(self.design.lossless),
            "pfcwd_sw_enable": self.pausing(watched),
        }
        for port in self.ports("PORT_QOS_MAP"):
            entry = self.tables.setdefault("PORT_QOS_MAP", {}).setdefault(port, {})
            for field in (
                "pfc_enable",
                *(["pfcwd_sw_enable"] if watchdog or "pfcwd_sw_enable" in entry else []),
            ):
                entry[field] = enabled[field]
                if not enabled[field]:
                    del entry[field]

    def pausing(self, classes: Sequence[int]) -> str:
        """Returns the PFC priorities that pause the groups of these classes."""
        groups = {self.group_of(tc) for tc in classes}
        of_priority = self.reading.maps.group_of_priority
        return ",".join(
            str(priority) for priority in range(8) if of_priority.get(priority, priority) in groups
        )

    def group_of(self, tc: int) -> int:
        """Returns the priority group of a lossless class. It gets a separate one if the maps put it
        together with lossy classes."""
        groups = self.reading.maps.group
        group = groups.get(tc, tc)
        sharing = {other for other, own in groups.items() if own == group} - {*self.design.lossless}
        return tc if sharing else group

    def groups(self) -> None:
        """Puts lossless classes into priority groups without lossy ones, and makes a PAUSE frame
        stop the queue of its class."""
        groups = self.reading.maps.group
        if not groups:
            self.set(
                "TC_TO_PRIORITY_GROUP_MAP",
                _MAP,
                {str(tc): tc if tc in self.design.lossless else 0 for tc in range(8)},
            )
            self.refer("tc_to_pg_map", _MAP)
        elif moved := {
            str(tc): self.group_of(tc)
            for tc in self.design.lossless
            if self.group_of(tc) != groups.get(tc)
        }:
            self.set(
                "TC_TO_PRIORITY_GROUP_MAP",
                self.map("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
                moved,
            )
        if not self.tables.get("MAP_PFC_PRIORITY_TO_QUEUE"):
            self.set(
                "MAP_PFC_PRIORITY_TO_QUEUE", _MAP, {str(tc): self.queue_of(tc) for tc in range(8)}
            )
            self.refer("pfc_to_queue_map", _MAP)

    def queue_of(self, priority: int) -> int:
        return next(
            (
                number
                for number, queue in self.design.queues.items()
                if priority in queue.priorities
            ),
            priority,
        )

    def classes(self) -> None:
        design, before = self.design, self.before
        if design.dscp and design.dscp != before.dscp:
            name = self.map("dscp_to_tc_map", "DSCP_TO_TC_MAP")
            self.set(
                "DSCP_TO_TC_MAP",
                name,
                {str(k): v for k, v in design.dscp.items() if before.dscp.get(k) != v},
            )
            self.refer("dscp_to_tc_map", name)
        priorities = {q: queue.priorities for q, queue in design.queues.items()}
        if priorities and priorities != {q: queue.priorities for q, queue in before.queues.items()}:
            name = self.map("tc_to_queue_map", "TC_TO_QUEUE_MAP")
            self.set(
                "TC_TO_QUEUE_MAP",
                name,
                {str(p): q for q, of_queue in priorities.items() for p in of_queue},
            )
            self.refer("tc_to_queue_map", name)
        for number, queue in design.queues.items():
            old = before.queues.get(number)
            if old is None or old.weight != queue.weight:
                self.attach(number, "scheduler", self.scheduler(queue))
            if queue.wred != (old.wred if old else None):
                if queue.wred is None:
                    self.detach(number, "wred_profile")
                else:
                    self.attach(number, "wred_profile", self.wred(number, queue))

    def map(self, field: str, table: str) -> str:
        entries = self.tables.get("PORT_QOS_MAP", {})
        names = [
            entry[field] for key, entry in entries.items() if key not in WHOLE and field in entry
        ] or [e[field] for e in entries.values() if field in e]
        return (
            max(set(names), key=names.count)
            if names
            else next(iter(self.tables.get(table, {})), _MAP)
        )

    def refer(self, field: str, name: str) -> None:
        for port in self.ports("PORT_QOS_MAP"):
            self.tables.setdefault("PORT_QOS_MAP", {}).setdefault(port, {}).setdefault(field, name)

    def scheduler(self, queue: Queue) -> str:
        wanted = (
            {"type": "STRICT"}
            if queue.weight is None
            else {"type": "DWRR", "weight": str(queue.weight)}
        )
        known = self.tables.setdefault("SCHEDULER", {})
        for name, entry in known.items():
            if entry == wanted:
                return name
        name = next(
            f"scheduler.{n}" for n in range(len(known) + 1) if f"scheduler.{n}" not in known
        )
        known[name] = wanted
        return name

    def wred(self, number: int, queue: Queue) -> str:
        w = queue.wred
        assert w is not None, "the caller has seen it"
        values = {
            f"{colour}_{what}": str(value)
            for colour in ("green", "yellow", "red")
            for what, value in (
                ("min_threshold", w.kmin),
                ("max_threshold", w.kmax),
                ("drop_probability", w.percent),
            )
        }
        values |= {
            f"wred_{colour}_enable": "true" if w.drops else "false"
            for colour in ("green", "yellow", "red")
        }
        wanted = {**values, "ecn": "ecn_all"}
        known = self.tables.setdefault("WRED_PROFILE", {})
        for name, entry in known.items():
            if entry == wanted:
                return name
        name = f"AFFLUX_QUEUE{number}"
        known[name] = wanted
        return name

    def attach(self, number: int, field: str, name: str) -> None:
        self.split_ranges("QUEUE", number)
        for port in self.ports("QUEUE"):
            self.set("QUEUE", f"{port}|{number}", {field: name})

    def detach(self, number: int, field: str) -> None:
        self.split_ranges("QUEUE", number)
        for port in self.ports("QUEUE"):
            self.tables.get("QUEUE", {}).get(f"{port}|{number}", {}).pop(field, None)

    def split_ranges(self, table: str, number: int) -> None:
        """Splits key ranges that contain this queue or group into single keys, so that it can
        differ."""
        entries = self.tables.get(table, {})
        for key in [
            key for key in entries if "-" in split(key)[1] and number in queues(split(key)[1])
        ]:
            port, range_ = split(key)
            entry = entries.pop(key)
            for each in queues(range_):
                entries[f"{port}|{each}"] = dict(entry)


__all__ = ["of_design"]
