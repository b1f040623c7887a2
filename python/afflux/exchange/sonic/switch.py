"""Converts a design to `[switch]` of a scenario, and `[switch]` to a design."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...files import toml
from .design import DETECTION_MS, UNLIMITED_TH, Design, Queue, Share, Watchdog, Wred

_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_TIMES = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def to_scenario(design: Design) -> dict[str, Any]:
    """Returns the `switch` and `host` tables of a scenario."""
    switch: dict[str, Any] = {}
    if design.ingress_pool is not None or design.lossy_pool is not None or design.lossless:
        switch["sharing"] = "sonic"
    mmu: dict[str, Any] = {}
    if design.ingress_pool is not None:
        switch["buffer"] = _b(design.ingress_pool + (design.headroom_pool or 0))
    _put(switch, "alpha", design.lossy_th, _alpha)
    _put(switch, "reserved", design.lossy_reserved, _b)
    _put(mmu, "lossy_ingress_alpha", design.lossy_ingress_th, _alpha)
    # A pool size that is derived from the memory is not written, so that it stays derived.
    if (
        design.ingress_pool is None
        or design.headroom_pool is None
        or design.lossy_pool != design.ingress_pool // 10 * 8
    ):
        _put(mmu, "lossy_pool", design.lossy_pool, _b)
    _put(mmu, "headroom_pool", design.headroom_pool, _b)
    if design.lossless:
        _put(mmu, "lossless_alpha", design.lossless_th, _alpha)
        _put(mmu, "lossless_reserved", design.lossless_reserved, _b)
        _put(mmu, "xon", design.xon, _b)
        _put(mmu, "xon_offset", design.xon_offset, _b)
    if design.groups and "sharing" in switch:
        mmu["group"] = _groups(design.groups)
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
            pfc["watchdog"] = {
                "detection": f"{w.detection_ms}ms",
                "restoration": f"{w.restoration_ms}ms",
                "poll": f"{w.poll_ms}ms",
                "action": w.action,
            }
            if w.priorities is not None:
                pfc["watchdog"]["priorities"] = list(w.priorities)
        switch["pfc"] = pfc
    switch |= _service(design)
    host = {"dscp_to_priority": {str(k): v for k, v in design.dscp.items()}} if design.dscp else {}
    return {"switch": switch, "host": host} if host else {"switch": switch}


def _groups(groups: Mapping[int, Share]) -> list[dict[str, Any]]:
    """Returns one block for all priorities with equal groups."""
    blocks = []
    for share in dict.fromkeys(groups.values()):
        block: dict[str, Any] = {
            "priorities": sorted(tc for tc, own in groups.items() if own == share)
        }
        _put(block, "alpha", share.th, _alpha)
        _put(block, "limit", share.limit, _b)
        _put(block, "reserved", share.reserved, _b)
        blocks.append(block)
    return sorted(blocks, key=lambda block: block["priorities"])


def _service(design: Design) -> dict[str, Any]:
    """Returns scheduling and queues. A single queue is the whole port and needs no block."""
    queues = list(design.queues.values())
    if len(queues) == 1:
        return {"ecn": _ecn(queues[0].wred)} if queues[0].wred else {}
    if not queues:
        return {}
    strict = all(queue.weight is None for queue in queues)
    blocks = [
        _queue(index, number, queue)
        for index, (number, queue) in enumerate(sorted(design.queues.items()))
    ]
    return {"scheduling": "strict_priority" if strict else "dwrr", "queue": blocks}


def _queue(index: int, number: int, queue: Queue) -> dict[str, Any]:
    """Returns the block of a queue. A scenario numbers queues without gaps, so the name has SONiC's
    number if it differs."""
    out: dict[str, Any] = {"index": index}
    if number != index:
        out["name"] = f"queue{number}"
    out |= {"priorities": list(queue.priorities)}
    out |= {"strict": True} if queue.weight is None else {"weight": queue.weight}
    _put(out, "alpha", queue.share.th, _alpha)
    _put(out, "reserved", queue.share.reserved, _b)
    _put(out, "buffer", queue.share.limit, _b)
    if queue.wred:
        out["ecn"] = _ecn(queue.wred)
    return out


def _ecn(wred: Wred) -> dict[str, Any]:
    return {
        "kmin": _b(wred.kmin),
        "kmax": _b(wred.kmax),
        "pmax": wred.percent / 100,
        "incapable": "drop" if wred.drops else "pass",
    }


def _put(table: dict[str, Any], key: str, value: Any, form: Any) -> None:
    if value is not None:
        table[key] = form(value)


def _b(bytes: int) -> str:
    return f"{bytes}B"


def _alpha(exponent: float) -> float:
    return 2.0**exponent


def of_scenario(scenario: Mapping[str, Any]) -> tuple[Design, list[str]]:
    """Returns the design from a scenario's `switch` and `host` tables, resolved or not, and the
    settings that SONiC does not have."""
    missing: list[str] = []
    switch, host = scenario.get("switch", {}), scenario.get("host", {})
    mmu, pfc = switch.get("mmu", {}), switch.get("pfc", {})
    pfc = {} if pfc == "off" else pfc
    design = Design()
    sharing = switch.get("sharing", "dynamic")
    if sharing not in ("sonic", "dynamic"):
        missing.append(
            f'buffer sizes: SONiC has no counterpart of sharing = "{sharing}"; write sharing = "sonic" or "dynamic" to export them'
        )
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
        design.lossy_ingress_th = _exponent(
            mmu["lossy_ingress_alpha"], "mmu.lossy_ingress_alpha", missing
        )
    for block in mmu.get("group", ()):
        share = Share(
            _exponent(block.get("alpha"), "mmu.group.alpha", missing),
            _size(block.get("limit")),
            _size(block.get("reserved")),
        )
        design.groups.update(dict.fromkeys(block["priorities"], share))
    design.xon, design.xon_offset = _size(mmu.get("xon")), _size(mmu.get("xon_offset"))
    if pfc:
        design.lossless = tuple(pfc.get("priorities", (3, 4)))
        headroom = pfc.get("headroom")
        if isinstance(headroom, str) and headroom[:1].isdigit():
            design.headroom = _size(headroom)
        elif headroom not in (None, "sonic"):
            missing.append(
                f"pfc.headroom = {headroom!r}: SONiC takes a number or computes by its own formula; write a size"
            )
        if "cable" in pfc:
            design.cable_m = float(pfc["cable"].rstrip("m"))
        watchdog = pfc.get("watchdog", "off")
        if watchdog != "off":
            detection = _ms(watchdog.get("detection", f"{DETECTION_MS}ms"))
            restoration, poll = (
                _ms(watchdog.get("restoration", f"{2 * detection}ms")),
                _ms(watchdog.get("poll", f"{DETECTION_MS}ms")),
            )
            own = tuple(watchdog["priorities"]) if "priorities" in watchdog else None
            design.watchdog = Watchdog(
                detection,
                restoration,
                poll,
                watchdog.get("action", "drop"),
                own if own != design.lossless else None,
            )
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
        numbers = (
            range(switch.get("priorities", 8))
            if scheduling == "strict_priority"
            else range(1)
            if shared != "off"
            else range(0)
        )
        blocks = [
            {
                "index": number,
                "strict": scheduling == "strict_priority",
                "weight": 1,
                "priorities": [number],
            }
            for number in numbers
        ]
        if scheduling == "fifo" and blocks:
            blocks[0]["priorities"] = list(range(8))
    sonic = _numbers(blocks)
    for position, block in enumerate(blocks):
        number = sonic[position]
        if not re.fullmatch(r"queue\d{1,3}", block.get("name", "queue0")):
            missing.append(
                f"queue {number}: name = {block['name']!r}: queues of SONiC have numbers only"
            )
        strict = (
            block.get("strict")
            or scheduling == "strict_priority"
            or not ({"weight", "bandwidth"} & block.keys())
        )
        weight = (
            None if strict else block.get("weight") or int(str(block.get("bandwidth")).rstrip("%"))
        )
        if weight is not None and weight > 100:
            missing.append(f"queue {number}: weight {weight}: SONiC takes 1 to 100")
        ecn = block.get("ecn", shared)
        wred = None
        if ecn not in ("off", False):
            wred = _wred(number, ecn, missing)
        priorities = tuple(block.get("priorities", (number,)))
        design.queues[number] = Queue(
            priorities, weight, wred, _share(switch, block, number, missing)
        )


def _share(
    switch: Mapping[str, Any], block: Mapping[str, Any], number: int, missing: list[str]
) -> Share:
    """Returns the settings of a queue that differ from those of all queues."""
    th, reserved, limit = (
        _exponent(block.get("alpha"), f"queue {number}: alpha", missing),
        *(_size(block.get(key)) for key in ("reserved", "buffer")),
    )
    if block.get("buffer") is not None and limit is None:
        missing.append(f"queue {number}: buffer = {block['buffer']}: SONiC takes bytes")
    if limit is not None and th != UNLIMITED_TH and "alpha" in switch:
        missing.append(
            f"queue {number}: buffer = {limit} B: a profile has one threshold: static_th is written, and no alpha"
        )
    own_th = th if block.get("alpha") != switch.get("alpha") else None
    return Share(
        own_th, limit, reserved if block.get("reserved") != switch.get("reserved") else None
    )


def _numbers(blocks: Sequence[Mapping[str, Any]]) -> list[int]:
    """Returns SONiC's numbers of the queues: those in their names if names and indices have the
    same order, otherwise the indices."""
    indices = [int(block.get("index", position)) for position, block in enumerate(blocks)]
    names = [re.fullmatch(r"queue(\d{1,3})", str(block.get("name", ""))) for block in blocks]
    numbers = [int(name[1]) if name else index for name, index in zip(names, indices, strict=True)]
    in_order = [number for _, number in sorted(zip(indices, numbers, strict=True))]
    return numbers if all(low < high for low, high in itertools.pairwise(in_order)) else indices


def _wred(number: int, ecn: Mapping[str, Any], missing: list[str]) -> Wred | None:
    kmin, kmax = (_size(ecn.get(key, ecn.get("k"))) for key in ("kmin", "kmax"))
    if kmin is None or kmax is None:
        missing.append(f"queue {number}: thresholds in packets: SONiC takes bytes")
        return None
    pmax = ecn.get("pmax", 1)
    percent = 100 * (float(pmax.rstrip("%")) / 100 if isinstance(pmax, str) else pmax)
    if abs(percent - round(percent)) > 1e-9:
        missing.append(
            f"queue {number}: pmax = {percent:g} %: SONiC takes whole percent; {round(percent)} % is written"
        )
    if ecn.get("average_weight", "off") != "off":
        missing.append(f"queue {number}: average_weight: WRED_PROFILE has no field for it")
    for key, plain in (("gentle", False), ("hard_drop", False), ("spacing", "independent")):
        if ecn.get(key, plain) != plain:
            missing.append(
                f"queue {number}: {key} = {toml.value(ecn[key])}: WRED_PROFILE has no field for it"
            )
    if ecn.get("at", "enqueue") != "enqueue":
        missing.append(f"queue {number}: at = {ecn['at']!r}: the chip decides where it marks")
    return Wred(kmin, kmax, round(percent), ecn.get("incapable", "drop") == "drop")


#: Keys that are properties of the chip, with their defaults.
_OF_THE_CHIP: Mapping[str, Any] = {"cell": "off", "bypass": []}
_OF_PFC: Mapping[str, Any] = {
    "quanta": 65_535,
    "refresh": "half",
    "response": "standard",
    "deadlock_after": "1ms",
}


def _beyond(switch: Mapping[str, Any], missing: list[str]) -> None:
    for table, keys in (("mmu", _OF_THE_CHIP), ("pfc", _OF_PFC)):
        values = switch.get(table, {})
        for key, plain in keys.items() if isinstance(values, Mapping) else ():
            if values.get(key, plain) != plain:
                missing.append(
                    f"{table}.{key} = {toml.value(values[key])}: no table of config_db.json has it"
                )
    for key, plain in (("aqm", "off"), ("device_queue", 0), ("forwarding", "store_and_forward")):
        if switch.get(key, plain) != plain:
            missing.append(
                f"{key} = {switch[key] if not isinstance(switch[key], Mapping) else switch[key].get('kind')!r}: no table of config_db.json has it"
            )
    balance = switch.get("balance", "ecmp")
    kind = balance.get("kind") if isinstance(balance, Mapping) else balance
    if kind != "ecmp":
        missing.append(f'balance = "{kind}": no table of config_db.json has it')
    if switch.get("trimming", "off") != "off":
        missing.append(
            "trimming: frames are dropped instead; set packet_discard_action in BUFFER_PROFILE if the chip can trim"
        )


def _exponent(alpha: float | None, key: str, missing: list[str]) -> float | None:
    if alpha is None:
        return None
    exponent = math.log2(alpha)
    if exponent != round(exponent) or not -8 <= exponent <= 8:
        nearest = min(max(round(exponent), -8), 8)
        missing.append(
            f"{key} = {alpha:g}: SONiC has powers of two from 2^-8 to 2^8; 2^{nearest} is written"
        )
        return nearest
    return int(exponent)


def _size(text: str | None) -> int | None:
    found = re.fullmatch(r"([\d.]+)\s*([A-Za-z]+)", text) if isinstance(text, str) else None
    return (
        round(float(found.group(1)) * _UNITS[found.group(2)])
        if found and found.group(2) in _UNITS
        else None
    )


def _ms(text: str) -> int:
    found = re.fullmatch(r"([\d.]+)\s*([a-z]+)", text)
    assert found, f"a duration has a unit: {text!r}"
    return round(float(found.group(1)) * _TIMES[found.group(2)])
