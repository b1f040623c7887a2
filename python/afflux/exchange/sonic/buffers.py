"""Reads buffer memory: pools, and the profiles of priority groups and queues."""

from collections import Counter
from dataclasses import replace

from .computed import LOSSLESS_POOL, cable, computed_headroom, shared_headroom
from .design import UNLIMITED_TH, Share
from .ports import CPU, each, spelt, split
from .reading import Reading
from .tables import COMPUTED

#: Uses of profiles: key, number of queue or priority group, and profile.
Uses = list[tuple[str, int, str]]


def buffers(reading: Reading) -> None:
    maps = reading.maps
    groups, queues = _uses(reading, "BUFFER_PG"), _uses(reading, "BUFFER_QUEUE")
    paused = (
        maps.paused
        if maps.paused is not None
        else {group for _, group, name in groups if _is_lossless(reading, name)}
    )
    _lossless_groups(
        reading, [use for use in groups if use[1] in paused], off=not reading.design.lossless
    )
    _lossy_groups(reading, [use for use in groups if use[1] not in paused])
    lossless = reading.design.lossless or tuple(
        tc for tc in range(8) if maps.group.get(tc, tc) in paused
    )
    _queues(reading, queues, maps.queues(lossless))
    _pools(reading, {name for *_, name in groups})


def _uses(reading: Reading, table: str) -> Uses:
    """Returns the profiles in use, by port and number. Profiles of size zero, which SONiC gives to
    unused ports, are left out."""
    found: Uses = []
    for key, number, name in each(reading.table(table), "profile"):
        if split(key)[0] == CPU:
            continue
        if _is_zero(reading, name):
            reading.noted(
                f"{table}: {name} gives a port that is not in use no memory: left out",
                table,
                key,
                "profile",
            )
            reading.roles.setdefault(name, "for ports that are not in use")
        elif name == COMPUTED or name in reading.table("BUFFER_PROFILE"):
            found.append((key, number, name))
    _without_classes(reading, table, found)
    return found


def _without_classes(reading: Reading, table: str, uses: Uses) -> None:
    """Notes the uses of queues or groups that no traffic class has."""
    of_class, what = (
        (reading.maps.group, "priority group")
        if table == "BUFFER_PG"
        else (reading.maps.queue, "queue")
    )
    used = {of_class.get(tc, tc) for tc in range(8)}
    taken = {key for key, number, _ in uses if number in used}
    for key, number, name in uses:
        if key not in taken:
            reading.account.noted(
                f"{table}: no traffic class is in {what} {number}: profile = {name} has no effect there",
                f"{table}|{key}",
            )


def _is_zero(reading: Reading, name: str) -> bool:
    profile = reading.table("BUFFER_PROFILE").get(name, {})
    nothing = profile.get("static_th") == "0" and profile.get("size") == "0"
    return (
        "_zero_" in name
        or nothing
        or reading.table("BUFFER_POOL").get(profile.get("pool", ""), {}).get("size") == "0"
    )


def _is_lossless(reading: Reading, name: str) -> bool:
    return (
        name == COMPUTED
        or "xoff" in reading.table("BUFFER_PROFILE").get(name, {})
        or _is_computed(reading, name)
    )


def _is_computed(reading: Reading, name: str) -> bool:
    """True if the headroom of a profile is computed: the dynamic buffer model, with or without a
    separate alpha."""
    profile = reading.table("BUFFER_PROFILE").get(name, {})
    return name == COMPUTED or (profile.get("headroom_type") == "dynamic" and "xoff" not in profile)


def _chosen(
    reading: Reading, table: str, uses: Uses, what: str
) -> tuple[str | None, dict[int, str]]:
    """Returns the most frequent profile, and the most frequent profile for each number (queue or
    priority group). Ports that differ are noted with the content of their profile."""
    if not uses:
        return None, {}
    profiles = reading.table("BUFFER_PROFILE")
    counted = Counter(name for *_, name in uses)
    # If two profiles are equally frequent, the one with an alpha is taken, because the keys for all
    # queues have an alpha.
    name = max(counted, key=lambda used: (counted[used], "dynamic_th" in profiles.get(used, {})))
    of_number = {}
    for number in sorted({number for _, number, _ in uses}):
        here = Counter(used for _, of, used in uses if of == number)
        of_number[number] = max(here, key=lambda used: (here[used], used == name))
    for key, number, other in uses:
        reading.seen.add((table, key, "profile"))
        if other != of_number[number]:
            taken = of_number[number]
            reading.account.noted(
                f"{table}: {what} {number} have different profiles: all ports are taken to have {taken}, and none {_described(reading, other)}",
                f"{table}|{key}",
            )
            if other not in of_number.values():
                reading.roles.setdefault(other, f"at most ports the {what} have {taken}")
    return name, of_number


def _share(reading: Reading, name: str, of_all: Share, key: str, fixed: str) -> Share:
    """Returns the settings of a profile that differ from those of all. A profile has one threshold:
    alpha takes precedence if it has both."""
    table = "BUFFER_PROFILE"
    th = reading.number(table, name, "dynamic_th", f"{key}.alpha")
    reserved = reading.number(table, name, "size", f"{key}.reserved")
    reading.get(table, name, "pool")
    static, limit = reading.get(table, name, "static_th"), None
    if static is not None and th is not None:
        reading.noted(
            f"BUFFER_PROFILE {name}: static_th = {static}: left out, its dynamic_th decides",
            table,
            name,
            "static_th",
        )
    elif static is not None and not _covers_pool(reading, name, "static_th", static):
        limit = reading.number(table, name, "static_th", f"{key}.{fixed}") or None
    elif static is not None and of_all.th is not None:
        th = UNLIMITED_TH
    return Share(
        th if th != of_all.th else None, limit, reserved if reserved != of_all.reserved else None
    )


def _own_groups(
    reading: Reading, chosen: str | None, of_number: dict[int, str], of_all: Share
) -> None:
    """Sets priority groups whose profile differs from the common one, or has settings that the
    common keys lack."""
    design, maps = reading.design, reading.maps
    for number, name in of_number.items():
        share = _share(reading, name, of_all, "switch.mmu.group", "limit")
        classes = [tc for tc in range(8) if maps.group.get(tc, tc) == number]
        lossless = [tc for tc in classes if tc in design.lossless]
        if share.reserved is not None and len(classes) > 1 and not lossless:
            share = replace(share, reserved=share.reserved // len(classes))
            reading.account.noted(
                f"the traffic classes {spelt(classes)} share the priority group {number}: each has an equal part of its reserve"
            )
        if chosen not in (name, None):
            _same_headroom(reading, name, chosen)
        if share != Share():
            design.groups.update(dict.fromkeys(classes, share))


def _same_headroom(reading: Reading, name: str, chosen: str | None) -> None:
    """Notes differences in headroom and XON, because all groups take them from one profile."""
    table = "BUFFER_PROFILE"
    for field in ("xoff", "xon", "xon_offset"):
        own, taken = (
            reading.table(table).get(profile, {}).get(field) for profile in (name, chosen or "")
        )
        if own is not None and own != taken and _is_lossless(reading, name):
            reading.noted(
                f"BUFFER_PROFILE {name}: {field} = {own}: all lossless groups are taken to have that of {chosen}, {taken}",
                table,
                name,
                field,
            )
        elif own is not None and own == taken:
            reading.seen.add((table, name, field))


def _described(reading: Reading, name: str) -> str:
    values = ", ".join(
        f"{field} {value}" for field, value in reading.table("BUFFER_PROFILE").get(name, {}).items()
    )
    return f"{name} ({values})" if values else f"{name} (computed)"


def _lossless_groups(reading: Reading, uses: Uses, *, off: bool) -> None:
    """Reads the groups that PFC pauses. Without PFC, the sizes take effect when PFC is turned
    on."""
    name, of_number = _chosen(reading, "BUFFER_PG", uses, "lossless priority groups")
    profiles = reading.table("BUFFER_PROFILE")
    if name is None and "BUFFER_PG" not in reading.tables:
        candidates = [name for name in profiles if _is_lossless(reading, name)]
        name = candidates[0] if len(candidates) == 1 else None
    design, table = reading.design, "BUFFER_PROFILE"
    if off and name is not None:
        reading.account.noted(
            "pfc_enable turns PFC on for no priority of the files: sizes of lossless groups take effect only with pfc in [switch]"
        )
    if name is None or name not in profiles:
        for used in of_number.values():
            reading.roles.setdefault(used, "most lossless priority groups have a computed profile")
        _without_profile(reading, computed=name == COMPUTED)
        return
    reading.names["lossless"] = name
    design.lossless_th = reading.number(table, name, "dynamic_th", "switch.mmu.lossless_alpha")
    design.lossless_reserved = reading.number(table, name, "size", "switch.mmu.lossless_reserved")
    design.xon = reading.number(table, name, "xon", "switch.mmu.xon")
    design.xon_offset = reading.number(table, name, "xon_offset", "switch.mmu.xon_offset")
    reading.get(table, name, "pool")
    if _is_computed(reading, name):
        reading.get(table, name, "headroom_type")
        _without_profile(reading, computed=True)
    else:
        design.headroom = reading.number(table, name, "xoff", "switch.pfc.headroom")
        _note_size(reading, name)
        if design.headroom is None and not off:
            reading.account.noted(
                f"BUFFER_PROFILE {name} of lossless priority groups has no xoff: headroom comes from SONiC's formula"
            )
            cable(reading)
    if off:
        if static := reading.get(table, name, "static_th"):
            reading.noted(
                f"BUFFER_PROFILE {name}: static_th = {static}: a fixed limit of groups that nothing pauses: left out",
                table,
                name,
                "static_th",
            )
        return
    _own_groups(reading, name, of_number, Share(design.lossless_th, None, design.lossless_reserved))


def _note_size(reading: Reading, name: str) -> None:
    """Notes a size that looks like one which includes the headroom, as on Mellanox's switches
    without a shared headroom pool (buffer_headroom_mellanox.lua)."""
    design = reading.design
    size, xoff = design.lossless_reserved or 0, design.headroom or 0
    if not shared_headroom(reading) and xoff > 0 and size >= xoff + (design.xon or 0):
        reading.account.noted(
            f"BUFFER_PROFILE {name}: size = {size} is at least xoff + xon, without a shared headroom pool: where size includes xoff (Mellanox), "
            f'headroom counts twice in memory until you set mmu.lossless_reserved = "{size - xoff}B"'
        )


def _without_profile(reading: Reading, *, computed: bool) -> None:
    """Uses headroom by SONiC's formula: the dynamic buffer model, or a table of the platform that
    no configuration contains."""
    cable(reading)
    if computed:
        computed_headroom(reading)
    elif reading.design.lossless:
        reading.account.noted(
            "no lossless buffer profile is in this file: headroom comes from SONiC's formula and the cable's length"
        )


def _lossy_groups(reading: Reading, uses: Uses) -> None:
    for key, _, other in uses:
        if _is_lossless(reading, other):
            reading.noted(
                "BUFFER_PG: a lossless profile for a priority group that PFC does not pause: the group is lossy",
                "BUFFER_PG",
                key,
                "profile",
            )
            reading.roles.setdefault(other, "PFC does not pause its priority groups")
    name, of_number = _chosen(
        reading,
        "BUFFER_PG",
        [use for use in uses if not _is_lossless(reading, use[2])],
        "lossy priority groups",
    )
    if name is None:
        return
    design, maps = reading.design, reading.maps
    lossy = [tc for tc in range(8) if tc not in design.lossless]
    if maps.group:
        # Classes whose group has no profile have no limit at ingress.
        held = Counter(of_number.get(maps.group.get(tc, tc)) for tc in lossy)
        name = max(held, key=lambda profile: (held[profile], profile == name), default=None)
    if name is not None:
        reading.names["lossy_group"] = name
        design.lossy_ingress_th = reading.number(
            "BUFFER_PROFILE", name, "dynamic_th", "switch.mmu.lossy_ingress_alpha"
        )
    _own_groups(reading, name, of_number, Share(design.lossy_ingress_th, None, 0))
    shared = {maps.group[tc] for tc in lossy if tc in maps.group}
    limited = design.lossy_ingress_th is not None or any(tc in design.groups for tc in lossy)
    if limited and maps.group and len(shared) < len(lossy):
        reading.account.noted(
            f"the lossy traffic classes share the priority groups {spelt(sorted(shared))}: afflux counts each class in a group of its own"
        )


def _covers_pool(reading: Reading, name: str, field: str, value: str) -> bool:
    """True if a fixed limit equals the whole pool and so has no effect."""
    pool = reading.table("BUFFER_PROFILE")[name].get("pool", "")
    size = reading.table("BUFFER_POOL").get(pool, {}).get("size")
    return field == "static_th" and size is not None and int(value) >= int(size)


def _queues(reading: Reading, uses: Uses, lossless: set[int]) -> None:
    lossy = [use for use in uses if use[1] not in lossless]
    # Files with buffers only do not say which queues are lossless. SONiC's names do.
    plain = [use for use in lossy if not _named_lossless(reading, use[2])]
    if plain and not reading.design.lossless:
        lossy = plain
    limited = {(key, name) for key, _, name in lossy}
    for key, _, other in uses:
        if (key, other) not in limited:
            reading.noted(
                f"BUFFER_QUEUE: profile = {other} of lossless queues, which afflux does not limit at egress",
                "BUFFER_QUEUE",
                key,
                "profile",
            )
            reading.roles.setdefault(
                other, "of lossless queues, which afflux does not limit at egress"
            )
    name, of_number = _chosen(reading, "BUFFER_QUEUE", lossy, "lossy queues")
    if name is None:
        return
    table, design = "BUFFER_PROFILE", reading.design
    for used in of_number.values():
        reading.roles.pop(used, None)
    reading.names["lossy"] = name
    design.lossy_th = reading.number(table, name, "dynamic_th", "switch.alpha")
    design.lossy_reserved = reading.number(table, name, "size", "switch.reserved")
    pool = reading.names["lossy_pool"] = reading.get(table, name, "pool") or ""
    design.lossy_pool = reading.number("BUFFER_POOL", pool, "size", "switch.mmu.lossy_pool")
    for number, used in of_number.items():
        share = _share(
            reading,
            used,
            Share(design.lossy_th, None, design.lossy_reserved),
            "switch.queue",
            "buffer",
        )
        if share.limit is not None:
            # The alpha of all queues does not apply to this queue.
            share = replace(share, th=UNLIMITED_TH)
        if used != name and (own := reading.get(table, used, "pool")) not in (pool, None):
            reading.noted(
                f"BUFFER_PROFILE {used}: pool = {own}: lossy queues have one pool in afflux, {pool or 'none'}: left out",
                table,
                used,
                "pool",
            )
        if share != Share():
            _own_queue(reading, used, number, share)


def _named_lossless(reading: Reading, name: str) -> bool:
    return "lossless" in name or (
        "lossy" not in name
        and "lossless" in reading.table("BUFFER_PROFILE").get(name, {}).get("pool", "")
    )


def _own_queue(reading: Reading, name: str, number: int, share: Share) -> None:
    """Applies the settings of a single lossy queue to the scenario's queue, if there is one."""
    of_queues = reading.design.queues
    if len(of_queues) > 1 and number in of_queues:
        of_queues[number] = replace(of_queues[number], share=share)
        return
    fields = {
        "dynamic_th": share.th if share.limit is None else None,
        "static_th": share.limit,
        "size": share.reserved,
    }
    said = ", ".join(f"{field} = {value}" for field, value in fields.items() if value is not None)
    reading.noted(
        f"BUFFER_PROFILE {name}: {said}: what single lossy queues have needs the queues (QUEUE): left out",
        "BUFFER_PROFILE",
        name,
    )


def _pools(reading: Reading, used: set[str]) -> None:
    pools, design, table = reading.table("BUFFER_POOL"), reading.design, "BUFFER_POOL"
    profiles = reading.table("BUFFER_PROFILE")
    of_groups = {profiles[name].get("pool") for name in used if name in profiles} | {LOSSLESS_POOL}
    ingress = [
        name
        for name, pool in pools.items()
        if pool["type"] == "ingress" and pool.get("size") != "0"
    ]
    ingress += [
        name
        for name, pool in pools.items()
        if pool["type"] == "both" and (name in of_groups or not ingress)
    ]
    sizes = {name: reading.number(table, name, "size", "switch.buffer") for name in ingress}
    known = {name: size for name, size in sizes.items() if size is not None}
    for name in ingress:
        reading.seen.add((table, name, "type"))
        if size := reading.number(table, name, "xoff", "switch.mmu.headroom_pool"):
            design.headroom_pool = (design.headroom_pool or 0) + size
    if len(known) > 1:
        reading.account.noted(
            f"BUFFER_POOL: {', '.join(known)}: afflux has one ingress pool: their sizes are added, from whichever pool a profile takes"
        )
    without_size = [name for name in ingress if name not in known]
    if ingress:
        reading.names["ingress_pool"] = max(ingress, key=lambda name: known.get(name, 0))
    if known:
        design.ingress_pool = sum(known.values())
        for name in without_size:
            reading.account.noted(
                f"BUFFER_POOL {name} has no size: the switch computes it; [switch] buffer lacks it"
            )
    elif largest := max((int(pool.get("size", 0)) for pool in pools.values()), default=0):
        design.ingress_pool = largest
        name = next(name for name, pool in pools.items() if int(pool.get("size", 0)) == largest)
        reading.number(table, name, "size", "switch.buffer")
        reading.account.noted(
            f"BUFFER_POOL {name}: its size, {largest} B, is taken for the whole memory: no ingress pool has one"
        )
    else:
        for name in without_size:
            reading.account.noted(
                f"BUFFER_POOL {name} has no size: the switch computes it; [switch] buffer must be written"
            )
    memory = (design.ingress_pool or 0) + (design.headroom_pool or 0)
    if design.lossy_pool is not None and memory and design.lossy_pool > memory:
        reading.account.noted(
            f"BUFFER_POOL: the lossy pool of {design.lossy_pool} B is larger than the ingress pools, {memory} B, which limit it"
        )
        design.lossy_pool = memory
    _modes(reading)


def _modes(reading: Reading) -> None:
    """Notes pool modes that have no effect. A profile itself says whether its threshold is fixed;
    the mode of its pool is only SAI's fallback."""
    is_computed = any(
        entry.get("profile") == COMPUTED for entry in reading.table("BUFFER_PG").values()
    )
    if is_computed and LOSSLESS_POOL in reading.table("BUFFER_POOL"):
        # Computed profiles have an alpha.
        for name in ("mode", "type"):
            reading.seen.add(("BUFFER_POOL", LOSSLESS_POOL, name))
        if reading.table("BUFFER_POOL")[LOSSLESS_POOL].get("mode") == "static":
            reading.account.noted(
                f"BUFFER_POOL {LOSSLESS_POOL}: mode = static, but computed profiles have dynamic_th: the profile decides"
            )
    for name, profile in reading.table("BUFFER_PROFILE").items():
        pool = profile.get("pool", "")
        mode = reading.table("BUFFER_POOL").get(pool, {}).get("mode")
        own = "dynamic" if "dynamic_th" in profile else "static" if "static_th" in profile else None
        if mode is None or name in reading.roles:
            continue
        reading.seen.update((("BUFFER_POOL", pool, "mode"), ("BUFFER_POOL", pool, "type")))
        kind = reading.table("BUFFER_POOL")[pool]["type"]
        if (
            name in (reading.names.get("lossless"), reading.names.get("lossy_group"))
            and kind == "egress"
        ):
            reading.account.noted(
                f"BUFFER_PROFILE {name}: pool = {pool}, an egress pool, for priority groups, which are at ingress: the ingress pools decide"
            )
        if kind == "both":
            reading.account.noted(
                f"BUFFER_POOL {pool}: type = both: it is a pool of ingress or egress as BUFFER_PG and BUFFER_QUEUE use it"
            )
        if own is not None and own != mode:
            reading.account.noted(
                f"BUFFER_POOL {pool}: mode = {mode}, but {name} has {own}_th: the profile decides"
            )
