"""Converts a design to `[switch]` of a scenario, and `[switch]` to a design."""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...files import toml
from ..quantity import metres, percent, seconds, size_if_any
from .design import UNLIMITED_TH, Design, Queue, Share, Watchdog, Wred
from .losses import Losses


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
                "detection": f"{w.detection_ms:g}ms",
                "restoration": f"{w.restoration_ms:g}ms",
                "poll": f"{w.poll_ms:g}ms",
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


def of_settings(switch: Mapping[str, Any], dscp: Mapping[int, int], losses: Losses) -> Design:
    """Returns the design that the settings of a switch are, as the core resolves them. Settings
    that SONiC does not have are added to `losses`."""
    mmu, pfc = switch.get("mmu", {}), switch.get("pfc", "off")
    design = Design()
    sharing = switch.get("sharing", "dynamic")
    if sharing not in ("sonic", "dynamic"):
        losses.add(
            f'buffer sizes: SONiC has no counterpart of sharing = "{sharing}"; write sharing = "sonic" or "dynamic" to export them'
        )
    headroom_pool, buffer = size_if_any(mmu.get("headroom_pool")), size_if_any(switch.get("buffer"))
    if sharing == "sonic" and buffer is not None:
        design.ingress_pool, design.headroom_pool = buffer - (headroom_pool or 0), headroom_pool
        # The core's default.
        design.lossy_pool = size_if_any(mmu.get("lossy_pool"))
        if design.lossy_pool is None:
            design.lossy_pool = design.ingress_pool // 10 * 8
    elif sharing == "dynamic":
        design.lossy_pool = buffer
    if sharing in ("sonic", "dynamic"):
        design.lossy_th = _exponent(switch.get("alpha"), "alpha", losses)
        design.lossy_reserved = size_if_any(switch.get("reserved"))
    if sharing == "sonic":
        _groups_of(mmu, design, losses)
    if pfc != "off":
        _pfc_of(pfc, design)
    _queues_of(switch, design, losses)
    design.dscp = dict(dscp)
    return design


def _groups_of(mmu: Mapping[str, Any], design: Design, losses: Losses) -> None:
    design.lossless_th = _exponent(mmu.get("lossless_alpha"), "mmu.lossless_alpha", losses)
    design.lossless_reserved = size_if_any(mmu.get("lossless_reserved"))
    design.lossy_ingress_th = _exponent(
        mmu.get("lossy_ingress_alpha"), "mmu.lossy_ingress_alpha", losses
    )
    for block in mmu.get("group", ()):
        share = Share(
            _exponent(block.get("alpha"), "mmu.group.alpha", losses),
            size_if_any(block.get("limit")),
            size_if_any(block.get("reserved")),
        )
        design.groups.update(dict.fromkeys(block["priorities"], share))
    design.xon, design.xon_offset = size_if_any(mmu.get("xon")), size_if_any(mmu.get("xon_offset"))


def _pfc_of(pfc: Mapping[str, Any], design: Design) -> None:
    design.lossless = tuple(sorted(pfc.get("priorities", (3, 4))))
    design.headroom = size_if_any(pfc.get("headroom"))
    if "cable" in pfc:
        design.cable_m = metres(pfc["cable"])
    watchdog = pfc.get("watchdog", "off")
    if watchdog != "off":
        own = tuple(sorted(watchdog.get("priorities", design.lossless)))
        design.watchdog = Watchdog(
            1e3 * seconds(watchdog["detection"]),
            1e3 * seconds(watchdog["restoration"]),
            1e3 * seconds(watchdog["poll"]),
            watchdog["action"],
            own if own != design.lossless else None,
        )


def _blocks(switch: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Returns the queues of a switch, also those that it has without `queue` blocks."""
    if switch.get("queue"):
        return list(switch["queue"])
    if switch.get("scheduling") == "strict_priority":
        last = int(switch.get("priorities", 8)) - 1
        return [
            {
                "index": number,
                "strict": True,
                "priorities": list(range(number, 8)) if number == last else [number],
            }
            for number in range(last + 1)
        ]
    if switch.get("ecn", "off") != "off":
        return [{"index": 0, "weight": 1, "priorities": list(range(8))}]
    return []


def _queues_of(switch: Mapping[str, Any], design: Design, losses: Losses) -> None:
    shared, scheduling = switch.get("ecn", "off"), switch.get("scheduling", "fifo")
    if scheduling == "ets":
        losses.add("scheduling = 'ets': its percentages are written as DWRR weights")
    blocks = _blocks(switch)
    sonic = _numbers(blocks)
    named = {priority for block in blocks for priority in block.get("priorities", ())}
    for position, block in enumerate(blocks):
        number = sonic[position]
        if not re.fullmatch(r"queue\d{1,3}", block.get("name", "queue0")):
            losses.add(
                f"queue {number}: name = {block['name']!r}: queues of SONiC have numbers only"
            )
        strict = (
            block.get("strict")
            or scheduling == "strict_priority"
            or not ({"weight", "bandwidth"} & block.keys())
        )
        weight = None if strict else _weight(number, block, losses)
        ecn = block.get("ecn", shared)
        wred = _wred(number, ecn, losses) if ecn not in ("off", False) else None
        # A priority that no queue names goes to queue 0, as a class that SONiC's map lacks.
        others = {*range(8)} - named if block.get("index", position) == 0 else set()
        priorities = tuple(sorted({*block.get("priorities", (number,)), *others}))
        design.queues[number] = Queue(
            priorities, weight, wred, _share(switch, block, number, losses)
        )
    _scaled(design, losses)


#: Largest weight of a scheduler in SONiC.
_HEAVIEST = 100


def _weight(number: int, block: Mapping[str, Any], losses: Losses) -> int:
    if "weight" in block:
        return int(block["weight"])
    share = percent(block["bandwidth"])
    if share != round(share):
        losses.add(
            f"queue {number}: bandwidth = {share:g} %: weights are whole numbers; {max(round(share), 1)} is written"
        )
    return max(round(share), 1)


def _scaled(design: Design, losses: Losses) -> None:
    """Scales weights that are larger than those of SONiC."""
    weights = {
        number: queue.weight for number, queue in design.queues.items() if queue.weight is not None
    }
    heaviest = max(weights.values(), default=0)
    if heaviest <= _HEAVIEST:
        return
    scaled = {
        number: max(round(weight * _HEAVIEST / heaviest), 1) for number, weight in weights.items()
    }
    for number, weight in scaled.items():
        design.queues[number] = replace(design.queues[number], weight=weight)
    losses.add(
        f"weights {_spelt(weights.values())}: SONiC takes 1 to {_HEAVIEST}: they are written in proportion, as {_spelt(scaled.values())}"
    )


def _spelt(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _share(
    switch: Mapping[str, Any], block: Mapping[str, Any], number: int, losses: Losses
) -> Share:
    """Returns the settings of a queue that differ from those of all queues."""
    th, reserved, limit = (
        _exponent(block.get("alpha"), f"queue {number}: alpha", losses),
        *(size_if_any(block.get(key)) for key in ("reserved", "buffer")),
    )
    if block.get("buffer") is not None and limit is None:
        losses.add(f"queue {number}: buffer = {block['buffer']}: SONiC takes bytes")
    of_all = _exponent(switch.get("alpha"), "alpha", losses)
    th = of_all if th is None else th
    if limit is not None and th not in (None, UNLIMITED_TH):
        losses.add(
            f"queue {number}: buffer = {limit} B: a profile has one threshold: static_th is written, and no alpha"
        )
        th = UNLIMITED_TH
    return Share(
        th if th != of_all else None,
        limit,
        reserved if reserved != size_if_any(switch.get("reserved")) else None,
    )


def _numbers(blocks: Sequence[Mapping[str, Any]]) -> list[int]:
    """Returns SONiC's numbers of the queues: those in their names if names and indices have the
    same order, otherwise the indices."""
    indices = [int(block.get("index", position)) for position, block in enumerate(blocks)]
    names = [re.fullmatch(r"queue(\d{1,3})", str(block.get("name", ""))) for block in blocks]
    numbers = [int(name[1]) if name else index for name, index in zip(names, indices, strict=True)]
    in_order = [number for _, number in sorted(zip(indices, numbers, strict=True))]
    return numbers if all(low < high for low, high in itertools.pairwise(in_order)) else indices


def _wred(number: int, ecn: Mapping[str, Any], losses: Losses) -> Wred | None:
    kmin, kmax = (size_if_any(ecn.get(key, ecn.get("k"))) for key in ("kmin", "kmax"))
    if kmin is None or kmax is None:
        losses.add(
            f"queue {number}: ecn thresholds {ecn.get('kmin')} and {ecn.get('kmax')}: SONiC takes bytes: the queue does not mark",
            f"queue {number}",
        )
        return None
    pmax = percent(ecn.get("pmax", 1))
    if abs(pmax - round(pmax)) > 1e-9:
        losses.add(
            f"queue {number}: pmax = {pmax:g} %: SONiC takes whole percent; {round(pmax)} % is written"
        )
    if ecn.get("average_weight", "off") != "off":
        losses.add(f"queue {number}: average_weight: WRED_PROFILE has no field for it")
    for key, plain in (
        ("gentle", False),
        ("hard_drop", False),
        ("spacing", "independent"),
        ("compare", "above"),
    ):
        if ecn.get(key, plain) != plain:
            losses.add(
                f"queue {number}: {key} = {toml.value(ecn[key])}: WRED_PROFILE has no field for it"
            )
    if ecn.get("at", "enqueue") != "enqueue":
        losses.add(f"queue {number}: at = {ecn['at']!r}: the chip decides where it marks")
    return Wred(kmin, kmax, round(pmax), ecn.get("incapable", "drop") == "drop")


def _exponent(alpha: object, key: str, losses: Losses) -> float | None:
    if not isinstance(alpha, int | float):
        return None
    exponent = math.log2(alpha)
    if exponent != round(exponent) or not -8 <= exponent <= 8:
        nearest = min(max(round(exponent), -8), 8)
        losses.add(
            f"{key} = {alpha:g}: SONiC has powers of two from 2^-8 to 2^8; 2^{nearest} is written"
        )
        return nearest
    return int(exponent)
