"""A fabric tier by tier, and drawn in text."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import _core, text

#: Columns of the drawing; what stands beside it comes on top.
FIELD = 40
#: Racks whose hosts are listed, and characters of a list.
RACKS, LISTED = 12, 70
HOST, SWITCH = "•", "■"
PLURALS = {"host": "hosts", "switch": "switches", "leaf": "leaves", "spine": "spines", "core": "cores", "agg": "aggregation"}


@dataclass(frozen=True)
class Links:
    """Links between two tiers, or within one."""

    count: int
    rates_bps: tuple[int, ...]
    delays_ns: tuple[float, ...]

    def __str__(self) -> str:
        rates, delays = _span(self.rates_bps, text.rate), _span(self.delays_ns, lambda ns: text.time(ns, 3))
        return f"{text.count(self.count)} link{'s' if self.count != 1 else ''} of {rates}, {delays}"


@dataclass(frozen=True)
class Tier:
    """Nodes of one height above the hosts."""

    height: int
    #: What their names begin with; `switch` if they differ.
    name: str
    count: int
    #: Sizes of the groups that hang together below: hosts of a rack.
    groups: tuple[int, ...]
    #: To the tier below, and within this one; None if there are none.
    down: Links | None
    within: Links | None
    #: Capacity down by capacity up, the least and the most of any switch; None at the top.
    oversubscription: tuple[float, float] | None
    #: The hosts of each rack, under the name of its switch, where hosts have names.
    racks: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def tiers(scenario: _core.Scenario) -> list[Tier]:
    """From the top down; hosts are the last."""
    nodes, edges = scenario.nodes, scenario.edges
    by_height: dict[int, list[int]] = defaultdict(list)
    for index, (_, _, height, _) in enumerate(nodes):
        by_height[height].append(index)
    down: dict[int, list[tuple[int, float]]] = defaultdict(list)
    within: dict[int, list[tuple[int, float]]] = defaultdict(list)
    capacity: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    anchors: dict[int, int] = {}
    for a, b, rate, delay in edges:
        low, high = sorted((a, b), key=lambda node: nodes[node][2])
        if nodes[low][2] == nodes[high][2]:
            within[nodes[low][2]].append((rate, delay))
            continue
        down[nodes[high][2]].append((rate, delay))
        capacity[high][0] += rate
        capacity[low][1] += rate
        if nodes[low][1] == "host":
            anchors.setdefault(low, high)
    found = []
    for height in sorted(by_height, reverse=True):
        members = by_height[height]
        names = {re.sub(r"\d+$", "", nodes[index][0]) for index in members}
        name = "host" if all(nodes[index][1] == "host" for index in members) else names.pop() if len(names) == 1 else "switch"
        racks = Counter(anchors.get(index, index) for index in members) if height == 0 else Counter()
        ratios = [capacity[index][0] / capacity[index][1] for index in members if height > 0 and capacity[index][1] and capacity[index][0]]
        over = (min(ratios), max(ratios)) if ratios else None
        named = _racks(nodes, anchors, members) if height == 0 else ()
        found.append(Tier(height, name, len(members), tuple(racks.values()), _links(down[height]), _links(within[height]), over, named))
    return found


def _racks(nodes: Sequence[tuple[str, str, int, int | None]], anchors: dict[int, int], hosts: Sequence[int]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if all(nodes[host][0] == f"host{host}" for host in hosts):
        return ()
    racks: dict[str, list[str]] = defaultdict(list)
    for host in hosts:
        racks[nodes[anchors.get(host, host)][0]].append(nodes[host][0])
    return tuple((switch, tuple(names)) for switch, names in racks.items())


def drawing(every: Sequence[Tier]) -> list[str]:
    """Every tier a line, from the top down, with the links between them."""
    lines = []
    for place, tier in enumerate(every):
        symbols = _row([HOST * size for size in tier.groups]) if tier.groups else _row([SWITCH] * tier.count)
        what = f"{text.count(tier.count)} {tier.name if tier.count == 1 else PLURALS.get(tier.name, tier.name)}"
        if tier.groups and len(tier.groups) > 1:
            sizes = sorted(set(tier.groups))
            what += f", {text.count(len(tier.groups))} racks of {sizes[0]}" + (f" to {sizes[-1]}" if len(sizes) > 1 else "")
        if tier.oversubscription:
            what += f", {_ratio(tier.oversubscription)}"
        lines.append(f"{symbols:^{FIELD}}  {what}")
        lines += [f"{'':{FIELD}}    {line}" for line in _listed(tier.racks)]
        if tier.within:
            lines.append(f"{'─' * min(len(symbols), FIELD):^{FIELD}}  {tier.within} among them")
        if tier.down:
            meshed = place + 1 < len(every) and tier.down.count > every[place + 1].count and tier.count > 1
            lines.append(f"{_connection(len(symbols), meshed):^{FIELD}}  {tier.down}")
    return lines


def _listed(racks: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """A line per rack: its switch, and as many of its hosts as fit."""
    lines = []
    for switch, hosts in racks[:RACKS]:
        line, shown = f"{switch}: {hosts[0]}", 1
        while shown < len(hosts) and len(line) + len(hosts[shown]) < LISTED:
            line, shown = f"{line}, {hosts[shown]}", shown + 1
        lines.append(line + (f", … ({text.count(len(hosts))} hosts)" if shown < len(hosts) else ""))
    return lines + ([f"… {text.count(len(racks) - RACKS)} more racks"] if len(racks) > RACKS else [])


def _connection(width: int, meshed: bool) -> str:
    return "╲" + "╳" * max(width - 2, 1) + "╱" if meshed else " ".join("│" * ((width + 1) // 2))


def _row(groups: Sequence[str]) -> str:
    """All groups, or as many from both ends as fit."""
    whole = " ".join(groups)
    if len(whole) <= FIELD:
        return whole
    half = FIELD // 2 - 2
    if max(map(len, groups)) > half:
        return f"{whole[:half]} … {whole[-half:]}"
    # No group is cut in two.
    first, last = _fitting(groups, half), _fitting(groups[::-1], half)[::-1]
    return f"{first} … {last}"


def _fitting(groups: Sequence[str], room: int) -> str:
    line = groups[0]
    for group in groups[1:]:
        if len(line) + 1 + len(group) > room:
            break
        line += " " + group
    return line


def _ratio(bounds: tuple[float, float]) -> str:
    least, most = (_short(text.digits(bound, 3)) for bound in bounds)
    ratio = f"{least}:1" if least == most else f"{least}:1 to {most}:1"
    return f"oversubscribed {ratio}" if bounds[1] > 1 else f"{ratio} down to up"


def _short(number: str) -> str:
    """Without zeros after the point."""
    return re.sub(r"\.(\d*?)0*(?=\D|$)", lambda part: f".{part[1]}" if part[1] else "", number)


def _links(every: Sequence[tuple[int, float]]) -> Links | None:
    if not every:
        return None
    return Links(len(every), tuple(sorted({rate for rate, _ in every})), tuple(sorted({delay for _, delay in every})))


def _span(values: Sequence[Any], show: Any) -> str:
    least, most = (_short(show(value)) for value in (values[0], values[-1]))
    return least if least == most else f"{least} to {most}"
