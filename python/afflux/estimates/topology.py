"""Describes a fabric tier by tier, and draws it as text."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import _core
from ..words import text

#: Columns of the drawing. Labels follow to the right of it.
FIELD = 40
#: Most racks whose hosts are listed, and most characters of a list.
RACKS, LISTED = 12, 70
#: Most letters of a prefix that is no word, as of `s1` and `sw2`.
SHORT = 2
HOST, SWITCH = "•", "■"
PLURALS = {
    "host": "hosts",
    "switch": "switches",
    "leaf": "leaves",
    "spine": "spines",
    "core": "cores",
    "agg": "aggregation",
    "tor": "ToRs",
}


@dataclass(frozen=True)
class Links:
    """Links between two tiers, or within one."""

    count: int
    rates_bps: tuple[int, ...]
    delays_ns: tuple[float, ...]

    def __str__(self) -> str:
        rates, delays = (
            _span(self.rates_bps, text.rate),
            _span(self.delays_ns, _delay),
        )
        return f"{text.count(self.count)} link{'s' if self.count != 1 else ''} of {rates}, {delays}"


@dataclass(frozen=True)
class Tier:
    """Nodes with the same height above the hosts."""

    height: int
    #: Common prefix of their names; `switch` if they differ.
    name: str
    count: int
    #: Number of hosts in each rack.
    groups: tuple[int, ...]
    #: Links to the tier below, and links within this tier; None if there are none.
    down: Links | None
    within: Links | None
    #: Ratio of the capacity down to the capacity up, smallest and largest of any switch; None for
    #: the top tier.
    oversubscription: tuple[float, float] | None
    #: Hosts of each rack, with the name of its switch, if hosts have names.
    racks: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def tiers(scenario: _core.Scenario) -> list[Tier]:
    """Returns the tiers from the top down. Hosts are the last."""

    def links(count: int, rates: Sequence[int], delays: Sequence[float]) -> Links | None:
        return Links(count, tuple(rates), tuple(delays)) if count else None

    def racks(
        named: Sequence[tuple[str, Sequence[str]]],
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((switch, tuple(hosts)) for switch, hosts in named)

    return [
        Tier(height, name, count, tuple(groups), links(*down), links(*within), over, racks(named))
        for height, name, count, groups, down, within, over, named in scenario.tiers()
    ]


def drawing(every: Sequence[Tier]) -> list[str]:
    """Draws every tier as a line, from the top down, with the links between them."""
    lines = []
    for place, tier in enumerate(every):
        symbols = (
            _row([HOST * size for size in tier.groups])
            if tier.groups
            else _row([SWITCH] * tier.count)
        )
        what = _nodes(tier)
        if tier.groups and len(tier.groups) > 1:
            sizes = sorted(set(tier.groups))
            what += f", {text.count(len(tier.groups))} racks of {sizes[0]}" + (
                f" to {sizes[-1]}" if len(sizes) > 1 else ""
            )
        if tier.oversubscription:
            what += f", {_ratio(tier.oversubscription)}"
        lines.append(f"{symbols:^{FIELD}}  {what}")
        lines += [f"{'':{FIELD}}    {line}" for line in _listed(tier.racks)]
        if tier.within:
            lines.append(f"{'─' * min(len(symbols), FIELD):^{FIELD}}  {tier.within} among them")
        if tier.down:
            meshed = (
                place + 1 < len(every)
                and tier.down.count > every[place + 1].count
                and tier.count > 1
            )
            lines.append(f"{_connection(len(symbols), meshed):^{FIELD}}  {tier.down}")
    return lines


def _nodes(tier: Tier) -> str:
    """Returns the number and the kind of a tier's nodes: the common prefix of their names, or
    `switches` with the prefix in parentheses if it is too short for a word."""
    name = tier.name
    if name and len(name) <= SHORT and name not in PLURALS:
        kind = "switch" if tier.count == 1 else "switches"
        return f"{text.count(tier.count)} {kind} ({name}…)"
    return f"{text.count(tier.count)} {name if tier.count == 1 else PLURALS.get(name, name)}"


def _listed(racks: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Returns a line per rack: its switch, and as many of its hosts as fit."""
    lines = []
    for switch, hosts in racks[:RACKS]:
        line, shown = f"{switch}: {hosts[0]}", 1
        while shown < len(hosts) and len(line) + len(hosts[shown]) < LISTED:
            line, shown = f"{line}, {hosts[shown]}", shown + 1
        lines.append(line + (f", … ({text.count(len(hosts))} hosts)" if shown < len(hosts) else ""))
    return lines + (
        [f"… {text.count(len(racks) - RACKS)} more racks"] if len(racks) > RACKS else []
    )


def _delay(ns: float) -> str:
    """Formats a delay with up to three digits. Delays may be fractions of a nanosecond."""
    return f"{ns:.3g} ns" if ns < 100 else text.time(ns, 3)


def _connection(width: int, meshed: bool) -> str:
    return "╲" + "╳" * max(width - 2, 1) + "╱" if meshed else " ".join("│" * ((width + 1) // 2))


def _row(groups: Sequence[str]) -> str:
    """Returns all groups, or as many from both ends as fit."""
    whole = " ".join(groups)
    if len(whole) <= FIELD:
        return whole
    half = FIELD // 2 - 2
    if max(map(len, groups)) > half:
        return f"{whole[:half]} … {whole[-half:]}"
    # No group is split.
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
    """Removes zeros at the end of decimals."""
    return re.sub(r"\.(\d*?)0*(?=\D|$)", lambda part: f".{part[1]}" if part[1] else "", number)


def _span(values: Sequence[Any], show: Any) -> str:
    least, most = (_short(show(value)) for value in (values[0], values[-1]))
    return least if least == most else f"{least} to {most}"
