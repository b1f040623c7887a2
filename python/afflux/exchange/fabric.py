"""A fabric by itself: what other tools' topology files hold, and `[topology]` with `kind = "custom"`."""

from dataclasses import dataclass, field
from typing import Self

from .. import _core, toml
from .account import Account

_RATES = [("Tbps", 10**12), ("Gbps", 10**9), ("Mbps", 10**6), ("kbps", 10**3), ("bps", 1)]
_SPANS = [("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3), ("ps", 1)]


def _quantity(value: int, units: list[tuple[str, int]]) -> str:
    name, size = next((name, size) for name, size in units if value % size == 0 and (value >= size or size == 1))
    return f"{value // size}{name}"


def rate(bps: int) -> str:
    """`100000000000` → `100Gbps`."""
    return _quantity(bps, _RATES)


def span(ps: int) -> str:
    """`1000000` → `1us`."""
    return _quantity(ps, _SPANS)


@dataclass
class Link:
    #: Names of its ends.
    a: str
    b: str
    #: As they stand in a scenario.
    rate: str
    delay: str
    loss: float = 0.0


@dataclass
class Fabric:
    #: As many as there are; they are called `host0` ….
    hosts: int
    switches: list[str]
    links: list[Link] = field(default_factory=list)
    #: Hosts' names elsewhere, in their order.
    host_names: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, scenario: _core.Scenario) -> Self:
        """What a validated scenario is built on."""
        names = [name for name, *_ in scenario.nodes]
        wires = zip(scenario.edges, scenario.link_faults(), strict=True)
        made = [Link(names[a], names[b], rate(bps), span(round(delay_ns * 1e3)), loss) for (a, b, bps, delay_ns), (loss, _) in wires]
        return cls(scenario.hosts, names[scenario.hosts :], made, names[: scenario.hosts])

    def to_scenario(self, source: str, flows: str | None, account: Account) -> str:
        """A scenario with this fabric, one line per link, and the flow list, or traffic that stands in for it."""
        out = ["format = 1", f"description = {toml.value(f'Fabric of {source}')}", "", "[topology]", 'kind = "custom"']
        out += [f"hosts = {self.hosts}", f"switches = {toml.value(self.switches)}", "link = ["]
        out += [f"  {toml.value({'a': link.a, 'b': link.b, 'rate': link.rate, 'delay': link.delay})}," for link in self.links]
        out.append("]")
        for link, loss in self._losses():
            out += ["", "[[topology.fault]]", f"link = {toml.value(link)}", f"loss = {loss!r}"]
        if any(name != f"host{number}" for number, name in enumerate(self.host_names)):
            out += ["", "# Names there:", *(f"# host{number} = {name}" for number, name in enumerate(self.host_names))]
        out += ["", "[[traffic]]"]
        if flows is None:
            out += ['kind = "permutation"', 'sizes = "1MB"']
            account.notes.append("no traffic is in the file: a permutation of 1 MB stands in for it (--flows names a flow list)")
        else:
            out += ['kind = "flows"', f"file = {toml.value(flows)}"]
        return "\n".join(out) + "\n"

    def _losses(self) -> list[tuple[str, float]]:
        """Links by their names in a scenario: the n-th of parallel ones has `#n`."""
        ends = [frozenset((link.a, link.b)) for link in self.links]
        losses = []
        for place, link in enumerate(self.links):
            if link.loss:
                parallel = ends.count(ends[place])
                suffix = f"#{ends[:place].count(ends[place])}" if parallel > 1 else ""
                losses.append((f"{link.a}-{link.b}{suffix}", link.loss))
        return losses
