"""Writes a design into SONiC's tables. Only settings that differ change."""

import copy
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .design import Design, Share
from .patch_classes import one_queue
from .patch_pfc import Pausing
from .ports import queues, split
from .reading import Reading
from .tables import COMPUTED, LAYOUTS, Tables

__all__ = ["changed", "removed"]

#: Names in new tables: those of SONiC (buffers_defaults, qos_config.j2).
_INGRESS_POOL, _LOSSY_POOL = "ingress_lossless_pool", "egress_lossy_pool"
_LOSSY, _LOSSLESS, _INGRESS_LOSSY = (
    "egress_lossy_profile",
    "pg_lossless_profile",
    "ingress_lossy_profile",
)
#: A profile of lossy groups that limits nothing.
_UNLIMITED = "ingress_unlimited_profile"


def changed(
    reading: Reading, before: Design, design: Design, ports: int
) -> tuple[Tables, list[str]]:
    """Returns the tables of `reading`, changed into those of `design`, and the settings that they
    cannot express. `before` is the design of the tables as they are. If there are no tables, new
    ones for `ports` ports are made, named Ethernet0, Ethernet4, …"""
    base = reading.tables
    one_queue(design, before)
    patch = _Patch(
        copy.deepcopy(base),
        design,
        before,
        reading,
        [f"Ethernet{4 * number}" for number in range(ports)],
    )
    patch.pools()
    patch.lossy()
    patch.lossless()
    patch.pfc()
    patch.classes()
    patch.lossless_queues()
    patch.own_queues()
    patch.own_groups()
    return {
        name: entries for name, entries in patch.tables.items() if entries and LAYOUTS[name].kept
    }, patch.missing


def removed(base: Tables, tables: Tables) -> list[str]:
    """Returns the commands that remove what `tables` lack from a switch with the tables `base`.
    `sonic-cfggen --write-to-db` adds and replaces only."""
    keys: dict[tuple[str, str], list[str]] = {}
    fields: dict[tuple[str, str, str], list[str]] = {}
    for table, entries in base.items():
        for key, entry in entries.items() if LAYOUTS[table].kept else ():
            port, _, rest = key.partition("|")
            now = tables.get(table, {}).get(key)
            if now is None:
                keys.setdefault((table, rest), []).append(port)
                continue
            for field in entry.keys() - now.keys():
                fields.setdefault((table, rest, field), []).append(port)
    commands = [
        f"DEL {key}" for (table, rest), ports in keys.items() for key in _keys(table, ports, rest)
    ]
    for (table, rest, field), ports in sorted(fields.items()):
        commands += [
            f"HDEL {key} {shlex.quote(field)}"
            for port in ports
            for key in _keys(table, [port], rest)
        ]
    return [f"sonic-db-cli CONFIG_DB {command}" for command in commands]


def _keys(table: str, ports: list[str], rest: str) -> list[str]:
    """Returns the keys of several ports, in the notation of a shell: all in one pair of braces,
    unless a name needs quotes."""
    if not all(re.fullmatch(r"[\w./:-]+", port, re.ASCII) for port in ports):
        return [
            shlex.quote("|".join((table, port, rest) if rest else (table, port))) for port in ports
        ]
    named = f"{{{','.join(ports)}}}" if len(ports) > 1 else ports[0]
    return [f"'{table}|'{named}" + (shlex.quote(f"|{rest}") if rest else "")]


class _Patch(Pausing):
    """Changes pools and profiles, too."""

    def changed(self, *names: str) -> dict[str, Any]:
        """Returns the settings that differ from the tables. `None` is a setting that is off."""
        values = {name: getattr(self.design, name) for name in names}
        return {
            name: value for name, value in values.items() if value != getattr(self.before, name)
        }

    def given(self, *names: str) -> dict[str, Any]:
        return {name: value for name, value in self.changed(*names).items() if value is not None}

    def pools(self) -> None:
        ingress, lossy = (
            self.reading.names.get("ingress_pool", _INGRESS_POOL),
            self.reading.names.get("lossy_pool") or _LOSSY_POOL,
        )
        changed = self.changed("ingress_pool", "headroom_pool")
        pool = self.tables.get("BUFFER_POOL", {}).get(ingress, {})
        values = {}
        for name, field in (("ingress_pool", "size"), ("headroom_pool", "xoff")):
            # Without an ingress pool, the scenario has no sizes that SONiC knows.
            if name in changed and self.design.ingress_pool is not None:
                # If the scenario combines several pools into one, the largest pool gets the
                # difference.
                values[field] = (
                    int(pool[field]) + (changed[name] or 0) - (getattr(self.before, name) or 0)
                    if field in pool
                    else changed[name]
                )
        values = {field: size for field, size in values.items() if size is not None}
        if values:
            self.set("BUFFER_POOL", ingress, values, type="ingress", mode="dynamic")
        if (changed := self.given("lossy_pool")) and lossy != ingress:
            self.set(
                "BUFFER_POOL", lossy, {"size": changed["lossy_pool"]}, type="egress", mode="dynamic"
            )

    def lossy(self) -> None:
        if changed := self.given("lossy_th", "lossy_reserved"):
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
        if "lossy_ingress_th" in self.changed("lossy_ingress_th"):
            self.lossy_ingress()

    def lossy_ingress(self) -> None:
        th, pool = (
            self.design.lossy_ingress_th,
            self.reading.names.get("ingress_pool", _INGRESS_POOL),
        )
        name = self.reading.names.get("lossy_group", _INGRESS_LOSSY)
        if th is not None:
            self.set("BUFFER_PROFILE", name, {"dynamic_th": th}, pool=pool, size="0")
            self.tables["BUFFER_PROFILE"][name].pop("static_th", None)
            if "lossy_group" not in self.reading.names:
                for group in sorted(self.lossy_now()):
                    self.attach_profile("BUFFER_PG", group, name)
            return
        # A fixed limit of the size of the pool has no effect. The profile is a new one, because a
        # field of an entry cannot be removed by writing.
        size = self.tables.get("BUFFER_POOL", {}).get(pool, {}).get("size")
        profile = self.tables.get("BUFFER_PROFILE", {}).get(name)
        if size is None or profile is None:
            return
        self.tables["BUFFER_PROFILE"][_UNLIMITED] = {
            "pool": pool,
            "size": profile.get("size", "0"),
            "static_th": size,
        }
        self.reading.names["lossy_group"] = _UNLIMITED
        for group in range(8):
            used = {
                entry["profile"]
                for key, entry in self.tables.get("BUFFER_PG", {}).items()
                if group in queues(split(key)[1])
            }
            if name in used:
                self.attach_profile("BUFFER_PG", group, _UNLIMITED)

    def lossy_now(self) -> set[int]:
        """Returns the priority groups of lossy classes."""
        if not self.base:
            return {0}
        groups = self.reading.maps.group
        return {groups.get(tc, tc) for tc in range(8) if tc not in self.design.lossless}

    def lossless(self) -> None:
        words = {
            "lossless_th": "dynamic_th",
            "lossless_reserved": "size",
            "headroom": "xoff",
            "xon": "xon",
            "xon_offset": "xon_offset",
        }
        if not self.design.lossless:
            return
        changed = self.given(*words)
        name = self.reading.names.get("lossless", COMPUTED)
        if name == COMPUTED and changed and (not self.base or "BUFFER_PG" in self.base):
            name, said = _LOSSLESS, {key: getattr(self.design, key) for key in words}
            changed = {key: value for key, value in said.items() if value is not None}
            self.reading.names["lossless"] = name
            self.groups()
            for group in sorted({*self.group_of.values()}):
                self.split_ranges("BUFFER_PG", group)
                for port in self.ports("BUFFER_PG"):
                    self.set("BUFFER_PG", f"{port}|{group}", {"profile": name})
        if changed and name != COMPUTED:
            self.set(
                "BUFFER_PROFILE",
                name,
                {words[key]: value for key, value in changed.items()},
                pool=self.reading.names.get("ingress_pool", _INGRESS_POOL),
            )

    def own_queues(self) -> None:
        """Gives lossy queues with separate alpha, reserve or limit their own profile."""
        pool = self.reading.names.get("lossy_pool") or _LOSSY_POOL
        for number, queue in self.design.queues.items():
            old = self.before.queues.get(number)
            if queue.share == (old.share if old else Share()):
                continue
            if {*queue.priorities} & {*self.design.lossless}:
                self.missing.append(
                    f"queue {number}: alpha, reserved and buffer of a queue with lossless priorities: its profile limits nothing"
                )
                continue
            name = self.reading.names.get("lossy", _LOSSY)
            if queue.share != Share():
                of_all = Share(self.design.lossy_th, None, self.design.lossy_reserved)
                name = self.free(
                    "BUFFER_PROFILE", f"egress_queue{number}_profile", ("BUFFER_QUEUE", number)
                )
                name = self.profile(name, {"pool": pool}, queue.share, of_all)
            self.attach_profile("BUFFER_QUEUE", number, name)

    def own_groups(self) -> None:
        """Gives priority groups with separate alpha, reserve or limit their own profile."""
        design = self.design
        for tc in range(8):
            share = design.groups.get(tc, Share())
            now, was = self.is_lossless(tc)
            if share == self.before.groups.get(tc, Share()) and now == was:
                continue
            if self.base and not self.tables.get("BUFFER_PG"):
                self.missing.append(
                    f"priority {tc}: no BUFFER_PG is in [sonic]: give its priority group the profile of {'lossless' if now else 'lossy'} groups"
                )
                continue
            group = self.group_now(tc)
            sharing = [other for other in range(8) if self.group_now(other) == group]
            if any(
                design.groups.get(other, Share()) != share or self.is_lossless(other)[0] != now
                for other in sharing
            ):
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
            lossless, profiles = now, self.tables.get("BUFFER_PROFILE", {})
            name = self.reading.names.get(
                "lossless" if lossless else "lossy_group", _LOSSLESS if lossless else _INGRESS_LOSSY
            )
            if lossless and name not in profiles and share == Share():
                name = COMPUTED
            elif lossless and name not in profiles:
                self.missing.append(
                    f"mmu.group of priority {tc}: SONiC computes the profile of its priority group: write pfc.headroom as a size"
                )
                continue
            # A lossy group of its own does not have the reserve of the shared one.
            alone = not lossless and was and int(profiles.get(name, {}).get("size", 0))
            if share != Share() or alone:
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
                name = self.free(
                    "BUFFER_PROFILE", f"ingress_pg{group}_profile", ("BUFFER_PG", group)
                )
                name = self.profile(name, entry, own, of_all)
            self.attach_profile("BUFFER_PG", group, name)

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
        elif "static_th" in entry:
            fields["static_th"] = entry["static_th"]
        self.tables.setdefault("BUFFER_PROFILE", {})[name] = fields
        return name
