"""Reads traffic classes: the DSCPs mapped to each, which are lossless, their queues and priority
groups, and how the queues are served."""

from collections.abc import Mapping
from dataclasses import replace

from .design import DETECTION_MS, Queue, Watchdog, Wred
from .ports import CPU, WHOLE, each, spelt, split
from .reading import Maps, Reading
from .tables import marking_field

#: Numbers of classes, queues, priority groups and priorities in a scenario.
_NUMBERS = range(8)


def classes(reading: Reading) -> None:
    maps = reading.maps
    _dscp(reading)
    maps.queue = _to_eight(reading, "tc_to_queue_map", "TC_TO_QUEUE_MAP", "traffic class", 0)
    maps.group = _to_eight(reading, "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", "traffic class", 0)
    maps.group_of_priority = _to_eight(
        reading, "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "PFC priority"
    )
    maps.queue_of_priority = _to_eight(
        reading, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", "PFC priority"
    )
    _pfc(reading, maps)
    _queues(reading, maps)


def _map(reading: Reading, name: str, table: str) -> tuple[str, dict[int, int]]:
    """Returns the map that most ports refer to, or the only existing one."""
    used = reading.resolved("PORT_QOS_MAP", reading.ports("PORT_QOS_MAP", name), name)
    known = reading.table(table)
    if used:
        chosen = reading.majority("PORT_QOS_MAP", used, (name,), name)
    elif known:
        chosen = next(iter(known))
        if len(known) > 1:
            reading.account.noted(f"{table}: no port refers to a map: {chosen} is taken")
    else:
        return "", {}
    return chosen, {int(key): int(reading.get(table, chosen, key) or 0) for key in known[chosen]}


def _dscp(reading: Reading) -> None:
    name, found = _map(reading, "dscp_to_tc_map", "DSCP_TO_TC_MAP")
    if not found:
        return
    for dscp in range(64):
        tc = found.get(dscp)
        if tc is None:
            reading.account.noted(
                f"DSCP_TO_TC_MAP {name}: DSCPs that it leaves out are of class 0, as in SAI"
            )
        elif tc not in _NUMBERS:
            reading.noted(
                "traffic classes above 7 are not modelled: their DSCPs are taken to be of class 0",
                "DSCP_TO_TC_MAP",
                f"{name}|{dscp}",
            )
        reading.design.dscp[dscp] = tc if tc in _NUMBERS and tc is not None else 0
    reading.names["dscp_map"] = name
    reading.sources["host.dscp_to_priority"] = ("DSCP_TO_TC_MAP", name, "")


def _to_eight(
    reading: Reading, name: str, table: str, what: str, otherwise: int | None = None
) -> dict[int, int]:
    """Returns the numbers that a map assigns to 0 to 7. `otherwise` applies to those that the map
    lacks."""
    chosen, found = _map(reading, name, table)
    if not found:
        return {}
    for key in found:
        if key not in _NUMBERS:
            reading.noted(
                f"{what}es above 7 are not modelled; they are kept for export",
                table,
                f"{chosen}|{key}",
            )
    numbers = [number for number in _NUMBERS if number in found or otherwise is not None]
    return {number: found.get(number, otherwise) for number in numbers}  # type: ignore[misc]


def _priorities(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(part) for part in text.split(",") if part}))


def _pfc(reading: Reading, maps: Maps) -> None:
    """Sets the lossless classes: those whose priority group PFC pauses."""
    said = [
        (key, _priorities(entry.get("pfc_enable", "")))
        for key, entry in reading.table("PORT_QOS_MAP").items()
        if key not in WHOLE
    ]
    if not any("pfc_enable" in entry for entry in reading.table("PORT_QOS_MAP").values()):
        return
    said = said or [
        (key, _priorities(entry.get("pfc_enable", "")))
        for key, entry in reading.table("PORT_QOS_MAP").items()
    ]
    enabled = reading.majority(
        "PORT_QOS_MAP", said, ("pfc_enable",), "pfc_enable", lambda v: spelt(v) or "empty"
    )
    maps.paused = {maps.group_of_priority.get(priority, priority) for priority in enabled}
    lossless = tuple(tc for tc in _NUMBERS if maps.group.get(tc, tc) in maps.paused)
    reading.design.lossless = lossless
    if said:
        reading.sources["switch.pfc"] = ("PORT_QOS_MAP", said[0][0], "pfc_enable")
    if enabled and not maps.group:
        reading.account.noted(
            "no TC_TO_PRIORITY_GROUP_MAP is in the files: each traffic class is taken to be in the priority group of its number"
        )
    for priority in enabled:
        _paused(reading, maps, priority)
    _watchdog(reading, maps, enabled)


def _paused(reading: Reading, maps: Maps, priority: int) -> None:
    """Notes properties of a PFC priority that a scenario lacks, because it has one number for
    class, priority group and PFC priority."""
    group = maps.group_of_priority.get(priority, priority)
    of_group = [tc for tc in _NUMBERS if maps.group.get(tc, tc) == group]
    where = f"PFC priority {priority} (priority group {group})"
    if not of_group:
        reading.account.noted(
            f"{where}: no traffic class is in this group, so nothing is lossless by it"
        )
    if len(of_group) > 1:
        reading.account.noted(
            f"{where}: traffic classes {spelt(of_group)} share this group: afflux gives each a group and a PFC priority of its own"
        )
    elif of_group and of_group != [priority]:
        reading.account.noted(
            f"{where}: it is traffic class {of_group[0]}, and priority {of_group[0]} of the scenario"
        )
    stopped = maps.queue_of_priority.get(priority, priority)
    queues = sorted(maps.queues(of_group))
    if queues and queues != [stopped]:
        reading.account.noted(
            f"{where}: its PAUSE frames stop queue {stopped} (pfc_to_queue_map), but its classes are in queue {spelt(queues)}: they stop in afflux"
        )


def _watchdog(reading: Reading, maps: Maps, enabled: tuple[int, ...]) -> None:
    table = reading.table("PFC_WD")
    own = {key: entry for key, entry in table.items() if key not in WHOLE}
    watched = _watched(reading, enabled)
    if not own:
        return
    if not watched:
        for key, entry in table.items():
            reading.noted(
                "PFC_WD: no port has PFC with a watchdog (pfc_enable, pfcwd_sw_enable): left out",
                "PFC_WD",
                key,
                *entry,
            )
        return
    polls = [
        reading.number("PFC_WD", key, "POLL_INTERVAL", "switch.pfc.watchdog.poll")
        for key in table
        if key in WHOLE
    ]
    poll = next((poll for poll in polls if poll is not None), DETECTION_MS)
    set_up = [(key, _watch(entry, poll)) for key, entry in own.items()]
    times = ("detection_time", "restoration_time", "action")
    watchdog = reading.majority(
        "PFC_WD",
        set_up,
        times,
        "the watchdog",
        lambda w: f"{w.detection_ms}/{w.restoration_ms} ms, {w.action}",
    )
    reading.sources["switch.pfc.watchdog"] = ("PFC_WD", set_up[0][0], "detection_time")
    groups = {maps.group_of_priority.get(priority, priority) for priority in watched}
    classes = tuple(tc for tc in reading.design.lossless if maps.group.get(tc, tc) in groups)
    reading.design.watchdog = replace(
        watchdog, priorities=classes if classes != reading.design.lossless else None
    )


def _watched(reading: Reading, enabled: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the PFC priorities that the watchdog monitors. In images without the field it
    monitors all."""
    own = [
        (key, _priorities(value)) for key, value in reading.ports("PORT_QOS_MAP", "pfcwd_sw_enable")
    ]
    if not own or not reading.table("PFC_WD"):
        return enabled
    chosen = reading.majority(
        "PORT_QOS_MAP", own, ("pfcwd_sw_enable",), "pfcwd_sw_enable", lambda v: spelt(v) or "empty"
    )
    for priority in set(chosen) - set(enabled):
        reading.account.noted(
            f"pfcwd_sw_enable {priority}: PFC is off for this priority (pfc_enable): nothing to watch",
            "PORT_QOS_MAP",
        )
    return tuple(priority for priority in chosen if priority in enabled)


def _watch(entry: Mapping[str, str], poll: int) -> Watchdog:
    detection = int(entry.get("detection_time", DETECTION_MS))
    return Watchdog(
        detection,
        int(entry.get("restoration_time", 2 * detection)),
        poll,
        entry.get("action", "drop"),
    )


def _queues(reading: Reading, maps: Maps) -> None:
    schedulers = _of_queues(reading, "scheduler")
    profiles = _of_queues(reading, "wred_profile")
    numbers = {*schedulers, *profiles, *maps.queue.values()}
    if not numbers:
        return
    if not maps.queue:
        maps.queue = {tc: tc if tc in numbers else 0 for tc in _NUMBERS}
        numbers |= {*maps.queue.values()}
    priorities = {
        number: tuple(tc for tc, queue in maps.queue.items() if queue == number)
        for number in numbers
    }
    for number in sorted(_held(reading, numbers, priorities)):
        queue = Queue(
            priorities[number],
            _weight(reading, number, schedulers),
            _wred(reading, number, profiles),
        )
        reading.design.queues[number] = queue
    reading.sources["switch.queue"] = (
        "TC_TO_QUEUE_MAP" if reading.table("TC_TO_QUEUE_MAP") else "QUEUE",
        "",
        "",
    )


def _of_queues(reading: Reading, name: str) -> dict[int, list[tuple[str, str]]]:
    """Returns the keys and values of a field by queue, over all ports."""
    entries = {key: entry for key, entry in reading.table("QUEUE").items() if split(key)[0] != CPU}
    found: dict[int, list[tuple[str, str]]] = {}
    for key, number, value in each(entries, name):
        found.setdefault(number, []).append((key, value))
    known = {number: reading.resolved("QUEUE", values, name) for number, values in found.items()}
    return {number: values for number, values in known.items() if values}


def _held(reading: Reading, numbers: set[int], priorities: dict[int, tuple[int, ...]]) -> set[int]:
    """Returns the queues for the scenario, which has at most eight. Queues without a class are
    removed first, from the highest number."""
    kept = set(numbers)
    for number in sorted(numbers, reverse=True):
        if len(kept) > len(_NUMBERS) and not priorities[number]:
            kept.discard(number)
            reading.account.noted(
                "queues without a traffic class, of more than eight, are left out; they are kept for export",
                f"queue {number}",
            )
            for key in reading.table("QUEUE"):
                reading.seen.update(
                    ("QUEUE", key, name)
                    for name in reading.table("QUEUE")[key]
                    if str(number) == split(key)[1]
                )
    return kept


def _weight(
    reading: Reading, queue: int, schedulers: dict[int, list[tuple[str, str]]]
) -> int | None:
    """Returns the weight of a queue; `None` if the queue is strict."""
    if queue not in schedulers:
        reading.account.noted(
            "queues without a scheduler in the files are taken to be strict", f"queue {queue}"
        )
        return None
    name = reading.majority(
        "QUEUE", schedulers[queue], ("scheduler",), f"the scheduler of queue {queue}"
    )
    reading.seen.add(("SCHEDULER", name, ""))
    given = reading.get("SCHEDULER", name, "type")
    kind = given or "WRR"
    if kind == "STRICT":
        return None
    if kind == "WRR":
        reading.account.noted(
            f"SCHEDULER {name}: {'type = WRR' if given else 'no type, so WRR'}, which takes turns by packets: taken for DWRR, by bytes"
        )
    weight = reading.number("SCHEDULER", name, "weight")
    return 1 if weight is None else weight


#: Values of `ecn` that mark green frames.
_MARKS_GREEN = ("ecn_green", "ecn_green_yellow", "ecn_green_red", "ecn_all")


def _wred(reading: Reading, queue: int, profiles: dict[int, list[tuple[str, str]]]) -> Wred | None:
    if queue not in profiles:
        return None
    table = "WRED_PROFILE"
    name = reading.majority(
        "QUEUE", profiles[queue], ("wred_profile",), f"the WRED profile of queue {queue}"
    )
    ecn = reading.get(table, name, "ecn") or "ecn_none"
    drops = reading.get(table, name, "wred_green_enable") == "true"
    if ecn not in _MARKS_GREEN:
        green = [field for field in reading.table(table)[name] if "green" in field]
        what = (
            "drops green frames without marking them, which is left out"
            if drops
            else "neither marks nor drops green frames"
        )
        reading.noted(
            f"{table} {name}: ecn = {ecn}, wred_green_enable = {str(drops).lower()}: it {what}",
            table,
            name,
            *green,
        )
        return None
    entry = reading.table(table)[name]
    fields = {what: marking_field(entry, "green", what) for what in ("min", "max", "probability")}
    kmin, kmax, percent = (
        reading.number(table, name, fields[what], f"switch.queue.ecn.{key}")
        for what, key in (("min", "kmin"), ("max", "kmax"), ("probability", "pmax"))
    )
    if kmax is None:
        reading.noted(f"{table} {name} has no green_max_threshold: it is left out", table, name)
        return None
    wred = Wred(kmin or 0, kmax, 100 if percent is None else percent, drops)
    if any(field.startswith("ecn_") for field in fields.values()):
        wred = _separate_marking(reading, name, wred)
    elif not drops:
        reading.noted(
            f"{table} {name}: wred_green_enable is false or left out (false is SAI's default): ecn = {ecn} is taken to mark all the same, and frames "
            "that are not ECN-capable pass; on chips that mark only with WRED enabled remove ecn from the queue",
            table,
            name,
        )
    if wred.kmin == wred.kmax and wred.percent != 100:
        reading.noted(
            f"{table} {name}: {fields['probability']} = {wred.percent}: between equal thresholds it has no effect",
            table,
            name,
        )
        return replace(wred, percent=100)
    return wred


def _separate_marking(reading: Reading, name: str, wred: Wred) -> Wred:
    """Returns the marking of a profile whose fields ecn_green_… differ from those of the drop
    curve. A scenario has one curve for both, so the drop curve is left out, with a note."""
    table, drops = "WRED_PROFILE", {}
    for field in ("green_min_threshold", "green_max_threshold", "green_drop_probability"):
        value = reading.get(table, name, field)
        if value is not None:
            drops[field] = int(value)
    curve = (
        drops.get("green_min_threshold", 0),
        drops.get("green_max_threshold"),
        drops.get("green_drop_probability", 100),
    )
    if curve == (wred.kmin, wred.kmax, wred.percent) or not (drops or wred.drops):
        return wred
    said = ", ".join(f"{field} = {value}" for field, value in drops.items())
    reading.noted(
        f"{table} {name}: wred_green_enable = {str(wred.drops).lower()}{f', {said}' if said else ''}: the drop curve of frames that are not "
        "ECN-capable is left out, because ECN marks at its own thresholds (ecn_green_…); it is kept for export",
        table,
        name,
    )
    return replace(wred, drops=False)
