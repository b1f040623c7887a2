"""Collects the data of the replay: the fabric, and the recorded ports over time, for the lowest
seed of each design."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..results.designs import Design
from ..results.result import Result
from .series import COLUMNS, Recording, edges, reduced, sent_share

#: Most frames of the replay, and fewest if there are very many ports.
FRAMES, FEWEST = 300, 24
#: Most values of queue and rate that a page holds, for all designs together. Each takes two bytes
#: before compression.
CELLS = 600_000
#: Values are quantised to fewer than `STEPS` steps. Each is a character of the page, with the code
#: `ZERO` plus the step (see report/src/moments.ts).
ZERO, STEPS = 0x100, 1_700
#: Criteria by which ports are kept if there are too many: those of links between switches first,
#: then those with the largest values of these columns.
RANKS = ("drops", "queue_max", "tx_bytes")
#: Counters by their names in the page, with the columns they are summed from.
COUNTERS = {"d": ("drops", "in_discards"), "m": ("ecn_marks",), "p": ("pause_tx", "pause_rx")}


def of(designs: Sequence[Design]) -> dict[str, Any]:
    fabrics: list[dict[str, Any]] = []
    runs = []
    recorded = [Recording.of(design) for design in designs]
    many = sum(recording is not None for recording in recorded)
    for design, recording in zip(designs, recorded, strict=True):
        fabric = _fabric(design.first)
        if fabric not in fabrics:
            fabrics.append(fabric)
        run = {
            "fabric": fabrics.index(fabric),
            "seed": design.first.summary["seed"],
            "end": design.first.summary["simulated_ns"],
            "means": [round(1_000 * share) for share in design.first.links.column("utilisation")],
            "ports": None,
        }
        if recording is not None:
            run["ports"] = _ports(recording, fabric, CELLS // many)
        runs.append(run)
    return {"fabrics": fabrics, "runs": runs}


def _fabric(result: Result) -> dict[str, Any]:
    """Returns the nodes, and the links by the indices of their ends. Direction 2 * l is that from
    `a` to `b` of link l. Rates are per direction."""
    links = result.links
    first, second = (links.column(name)[::2] for name in ("from", "to"))
    nodes = list(dict.fromkeys([*first, *second]))
    number = {name: at for at, name in enumerate(result.summary.get("host_names", []))} or {
        name: int(name[4:]) for name in nodes if result.is_host(name)
    }
    # Hosts come first in their order, then switches in the order of the links.
    nodes.sort(key=lambda name: number.get(name, len(number)))
    place = {name: at for at, name in enumerate(nodes)}
    return {
        "hosts": sum(name in number for name in nodes),
        "nodes": nodes,
        "a": [place[name] for name in first],
        "b": [place[name] for name in second],
        "rate": list(links.column("rate_bps")),
    }


def _ports(recording: Recording, fabric: dict[str, Any], cells: int) -> dict[str, Any]:
    until = recording.busy_until()
    # The same views as in series.py: first the default view, then the whole run if it differs.
    parts = [*([] if until is None else [recording.cut(until)]), recording]
    cells //= len(parts)
    directions = _directions(fabric)
    whole = {
        at: queues.get(-1, min(queues.values()))
        for port, queues in recording.places.items()
        if (at := directions.get(_key(port))) is not None
    }
    chosen = {
        at: whole[at] for at in _chosen(recording, fabric, whole, max(cells // (2 * FEWEST), 1))
    }
    totals = {name: _totals(recording, chosen, metrics) for name, metrics in COUNTERS.items()}
    return {
        "interval_ns": recording.interval,
        "recorded": len(whole),
        "totals": totals,
        "share": None if until is None else sent_share(parts[:1], [recording]),
        "views": [_view(part, fabric, chosen, cells) for part in parts],
    }


def _totals(recording: Recording, places: dict[int, int], metrics: Sequence[str]) -> dict[int, int]:
    """Returns the sums over the whole run by direction, without zeros."""
    columns = [recording.table.column(COLUMNS[metric][0]) for metric in metrics]
    sums = {
        at: sum(sum(column[place :: recording.block]) for column in columns)
        for at, place in places.items()
    }
    return {at: total for at, total in sums.items() if total}


def _view(
    recording: Recording, fabric: dict[str, Any], places: dict[int, int], cells: int
) -> dict[str, Any]:
    """Returns a view: the values of the ports by the direction in which they send. `places` has the
    row of each."""
    chosen = list(places)
    frames = max(min(FRAMES, cells // (2 * max(len(chosen), 1))), FEWEST)
    # A frame is a whole number of samples.
    frame = -(-recording.times[-1] // (frames * recording.interval)) * recording.interval
    spans = edges(recording.times, frame)
    rates = fabric["rate"]
    found: dict[int, dict[str, str]] = {at: {} for at in chosen}

    def column(metric: str) -> tuple[dict[int, list[int]], int]:
        """Returns a value per frame for each direction, and the largest of all."""
        values = recording.table.column(COLUMNS[metric][0])
        combine: Callable[[Sequence[int]], int] = COLUMNS[metric][1]
        series = {
            at: reduced(values[places[at] :: recording.block], spans, combine) for at in chosen
        }
        return series, max((max(one, default=0) for one in series.values()), default=0)

    sent, _ = column("tx_bytes")
    for at, one in sent.items():
        full = rates[at] * frame / 8e9
        found[at]["u"] = _characters([round(1_000 * min(value / full, 1)) for value in one])
    queues, longest = column("queue_max")
    for at, one in queues.items():
        found[at]["q"] = _characters([_step(value, longest) for value in one])
    most = {}
    for name, metrics in COUNTERS.items():
        sums: dict[int, list[int]] = {}
        for metric in metrics:
            for at, one in column(metric)[0].items():
                sums[at] = _added(sums.get(at, []), one)
        most[name] = max((max(one, default=0) for one in sums.values()), default=0)
        for at, one in sums.items():
            if one:
                found[at][name] = _characters([_step(value, most[name]) for value in one])
    return {
        "frame_ns": frame,
        "frames": len(spans),
        "end_ns": recording.times[-1],
        "most": {"q": longest, **most},
        # Values by direction of a link: those of the port at its sending end.
        "series": found,
    }


def _directions(fabric: dict[str, Any]) -> dict[tuple[str, int], int]:
    """Returns, for each port, the direction in which it sends. A node's ports are numbered in the
    order of its links."""
    ports: dict[int, int] = {}
    found = {}
    for link, ends in enumerate(zip(fabric["a"], fabric["b"], strict=True)):
        for side, node in enumerate(ends):
            found[fabric["nodes"][node], ports.get(node, 0)] = 2 * link + side
            ports[node] = ports.get(node, 0) + 1
    return found


def _key(port: str) -> tuple[str, int]:
    node, _, rest = port.partition(" port ")
    return node, int(rest.split(" ", 1)[0])


def _chosen(
    recording: Recording, fabric: dict[str, Any], whole: dict[int, int], room: int
) -> list[int]:
    if len(whole) <= room:
        return sorted(whole)
    columns = [(recording.table.column(COLUMNS[metric][0]), COLUMNS[metric][1]) for metric in RANKS]

    def rank(at: int) -> tuple[Any, ...]:
        ends = fabric["a"][at // 2], fabric["b"][at // 2]
        to_host = any(end < fabric["hosts"] for end in ends)
        return (
            to_host,
            *(-combine(values[whole[at] :: recording.block]) for values, combine in columns),
            at,
        )

    return sorted(sorted(whole, key=rank)[:room])


def _added(one: Sequence[int], other: Sequence[int]) -> list[int]:
    shorter, longer = sorted((one, other), key=len)
    return [value + (shorter[at] if at < len(shorter) else 0) for at, value in enumerate(longer)]


def _step(value: int, most: int) -> int:
    """Quantises a value logarithmically, so that short and long queues have the same relative error
    of about 1 %."""
    return 0 if value <= 0 else 1 + round((STEPS - 2) * math.log(value) / math.log(max(most, 2)))


def _characters(steps: Sequence[int]) -> str:
    return "".join(chr(ZERO + step) for step in steps)
