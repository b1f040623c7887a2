"""Writes flow control into tables: PFC, priority groups, the queues of lossless classes, and the
watchdog."""

import functools
import math
from collections import Counter
from collections.abc import Sequence

from .edit import MAP
from .patch_classes import Classes
from .ports import WHOLE, queues, split

#: Names in new tables: those of SONiC (buffers_defaults).
_EGRESS_LOSSLESS, _EGRESS_POOL = "egress_lossless_profile", "egress_lossless_pool"
#: Times in ms that SONiC takes (sonic-pfcwd.yang).
_DETECTION, _RESTORATION, _POLL = (100, 5_000), (100, 60_000), (100, 1_000)


class Pausing(Classes):
    """Changes lossless classes, their priority groups and queues, and the watchdog."""

    def group_now(self, tc: int) -> int:
        """Returns the priority group of a class in the changed tables."""
        maps = self.tables.get("TC_TO_PRIORITY_GROUP_MAP", {})
        return (
            int(maps.get(self.map("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"), {}).get(str(tc), 0))
            if maps
            else tc
        )

    def is_lossless(self, tc: int) -> tuple[bool, bool]:
        """Returns whether a class is lossless, in the design and in the original tables."""
        return tc in self.design.lossless, tc in self.before.lossless

    def pfc(self) -> None:
        now, before = self.design.watchdog, self.before.watchdog
        watched = [(of is None, of.priorities if of else None) for of in (now, before)]
        if self.design.lossless != self.before.lossless or watched[0] != watched[1]:
            self.enable()
        if self.design.cable_m is not None and self.design.cable_m != self.before.cable_m:
            metres = math.ceil(self.design.cable_m)
            if metres != self.design.cable_m:
                self.missing.append(
                    f"pfc.cable = {self.design.cable_m:g} m: CABLE_LENGTH has whole metres; {metres} m is written"
                )
            lengths = self.tables.setdefault("CABLE_LENGTH", {}).setdefault(
                next(iter(self.base.get("CABLE_LENGTH", {})), MAP), {}
            )
            lengths.update(dict.fromkeys(self.ports("PORT_QOS_MAP"), f"{metres}m"))
        if now != before:
            self.watch()

    def watch(self) -> None:
        w = self.design.watchdog
        if w is None:
            for port in [port for port in self.tables.get("PFC_WD", {}) if port not in WHOLE]:
                del self.tables["PFC_WD"][port]
            return
        poll = self._time("poll", w.poll_ms, _POLL)
        times = {
            "detection_time": self._time("detection", w.detection_ms, _DETECTION, poll),
            "restoration_time": self._time("restoration", w.restoration_ms, _RESTORATION, poll),
        }
        for port in self.ports("PORT_QOS_MAP"):
            self.set("PFC_WD", port, {"action": w.action, **times})
        self.set("PFC_WD", "GLOBAL", {"POLL_INTERVAL": poll})

    def _time(self, key: str, ms: float, allowed: tuple[int, int], poll: int = 0) -> int:
        """Returns the nearest time in ms that SONiC takes. Detection and restoration are not
        shorter than the polling interval."""
        low, high = max(allowed[0], poll), allowed[1]
        taken = min(max(round(ms), low), high)
        if taken != ms:
            self.missing.append(
                f"pfc.watchdog.{key} = {ms:g} ms: SONiC takes whole numbers from {low} to {high} ms; {taken} ms is written"
            )
        return taken

    def enable(self) -> None:
        """Enables the PFC priorities that pause the groups of the lossless classes."""
        if self.design.lossless:
            self.groups()
        watchdog = self.design.watchdog
        watched: Sequence[int] = ()
        if watchdog:
            watched = self.design.lossless if watchdog.priorities is None else watchdog.priorities
        enabled = {
            "pfc_enable": self.pausing(self.design.lossless),
            "pfcwd_sw_enable": self.pausing(watched),
        }
        for port in self.ports("PORT_QOS_MAP"):
            entry = self.tables.setdefault("PORT_QOS_MAP", {}).setdefault(port, {})
            entry["pfc_enable"] = enabled["pfc_enable"]
            if watchdog or "pfcwd_sw_enable" in entry:
                entry["pfcwd_sw_enable"] = enabled["pfcwd_sw_enable"]

    def pausing(self, classes: Sequence[int]) -> str:
        """Returns the PFC priorities that pause the groups of these classes."""
        groups = {self.group_of[tc] for tc in classes}
        of_priority = self.reading.maps.group_of_priority
        return ",".join(
            str(priority) for priority in range(8) if of_priority.get(priority, priority) in groups
        )

    @functools.cached_property
    def group_of(self) -> dict[int, int]:
        """Priority groups of the lossless classes. A class gets a separate one if the maps put it
        together with lossy classes."""
        lossless = self.design.lossless
        groups = dict(self.reading.maps.group) or {
            tc: tc if tc in lossless or self.base else 0 for tc in range(8)
        }
        lossy = {groups.get(tc, tc) for tc in range(8) if tc not in lossless}
        for tc in lossless:
            if groups.get(tc, tc) in lossy:
                # There are as many groups as classes, so one is free: that with the class's
                # number, or the highest.
                free = {*range(8)} - {*groups.values()}
                groups[tc] = max(free, key=lambda number: (number == tc, number))
        return {tc: groups.get(tc, tc) for tc in lossless}

    def groups(self) -> None:
        """Puts lossless classes into priority groups without lossy ones, and makes a PAUSE frame
        stop the queue of its class."""
        groups = self.reading.maps.group
        if not groups and not self.base:
            self.set(
                "TC_TO_PRIORITY_GROUP_MAP",
                MAP,
                {str(tc): tc if tc in self.design.lossless else 0 for tc in range(8)},
            )
            self.refer("tc_to_pg_map", MAP)
        elif moved := {
            str(tc): group for tc, group in self.group_of.items() if group != groups.get(tc, tc)
        }:
            self.set(
                "TC_TO_PRIORITY_GROUP_MAP",
                self.map("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
                moved,
            )
        if not self.tables.get("MAP_PFC_PRIORITY_TO_QUEUE"):
            self.set(
                "MAP_PFC_PRIORITY_TO_QUEUE", MAP, {str(tc): self.queue_of(tc) for tc in range(8)}
            )
            self.refer("pfc_to_queue_map", MAP)

    def lossless_queues(self) -> None:
        """Gives queues that become lossless the profile of lossless queues, which limits nothing,
        and queues that become lossy that of lossy ones."""
        if "BUFFER_QUEUE" not in self.tables:
            return
        now = {self.queue_of(tc) for tc in self.design.lossless}
        was = self.reading.maps.queues(self.before.lossless)
        for number in sorted(now - was):
            self.attach_profile("BUFFER_QUEUE", number, self._egress_lossless(was))
        for number in sorted(was - now):
            self.attach_profile("BUFFER_QUEUE", number, self.reading.names.get("lossy", ""))

    def _egress_lossless(self, lossless: set[int]) -> str:
        """Returns the profile of lossless queues in the tables. If there is none, adds that of
        SONiC."""
        used = Counter(
            entry["profile"]
            for key, entry in self.base.get("BUFFER_QUEUE", {}).items()
            if lossless & {*queues(split(key)[1])}
        )
        profiles = self.tables.setdefault("BUFFER_PROFILE", {})
        names = [name for name, _ in used.most_common() if name in profiles]
        names += [name for name in profiles if name == _EGRESS_LOSSLESS]
        if names:
            return names[0]
        design = self.design
        size = (design.ingress_pool or design.lossy_pool or 0) + (design.headroom_pool or 0)
        if _EGRESS_POOL not in self.tables.get("BUFFER_POOL", {}):
            self.set("BUFFER_POOL", _EGRESS_POOL, {"size": size}, type="egress", mode="static")
        profiles[_EGRESS_LOSSLESS] = {
            "pool": _EGRESS_POOL,
            "size": "0",
            "static_th": self.tables["BUFFER_POOL"][_EGRESS_POOL].get("size", str(size)),
        }
        return _EGRESS_LOSSLESS
