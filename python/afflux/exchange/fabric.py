"""A fabric without traffic, as other tools' topology files hold it, and its shortest form as
`[topology]`."""

import fnmatch
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from .. import _core
from ..files import toml
from .account import Account
from .into import STAND_IN, Into

_RATES = [("Tbps", 10**12), ("Gbps", 10**9), ("Mbps", 10**6), ("kbps", 10**3), ("bps", 1)]
#: Default of `host.mtu` in bytes.
_HOST_MTU = 1500
_SPANS = [("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3), ("ps", 1)]


def _quantity(value: int, units: list[tuple[str, int]]) -> str:
    name, size = next(
        (name, size) for name, size in units if value % size == 0 and (value >= size or size == 1)
    )
    return f"{value // size}{name}"


def rate(bps: int) -> str:
    """Formats a rate: `100000000000` → `100Gbps`."""
    return _quantity(bps, _RATES)


def span(ps: int) -> str:
    """Formats a time in ps: `1000000` → `1us`."""
    return _quantity(ps, _SPANS)


@dataclass
class Link:
    #: Names of its ends.
    a: str
    b: str
    #: Rate and delay as text, as in a scenario.
    rate: str
    delay: str
    loss: float = 0.0
    #: Largest IP packet in bytes; None if there is no limit.
    mtu: int | None = None

    @property
    def ends(self) -> frozenset[str]:
        return frozenset((self.a, self.b))


@dataclass
class Fabric:
    #: Names of the hosts, in rack order.
    hosts: list[str]
    switches: list[str]
    links: list[Link] = field(default_factory=list)
    #: IP addresses by host name.
    addresses: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: _core.Scenario) -> Self:
        """Returns the fabric of a validated scenario."""
        names = [name for name, *_ in scenario.nodes]
        wires = zip(scenario.edges, scenario.link_faults(), strict=True)
        made = [
            Link(names[a], names[b], rate(bps), span(round(delay_ns * 1e3)), loss)
            for (a, b, bps, delay_ns), (loss, *_) in wires
        ]
        addresses: dict[str, list[str]] = defaultdict(list)
        for address, host in scenario.addresses:
            addresses[names[host]].append(address)
        return cls(names[: scenario.hosts], names[scenario.hosts :], made, dict(addresses))

    def topology(self, ordered: bool) -> str:
        """Returns `[topology]`: as a star or a leaf-spine if the fabric is one, otherwise link by
        link. `ordered` keeps the order of the links, which numbers the ports."""
        for shape in (self._star, self._leaf_spine):
            if (found := shape()) is not None:
                kind, keys, hosts, switches, order = found
                if not ordered or (
                    [(link.a, link.b) for link in self.links] == order
                    and (hosts, switches) == (self.hosts, self.switches)
                ):
                    return self._regular(kind, keys, hosts, switches)
        return self._custom()

    def to_scenario(
        self,
        source: str,
        flows: str | None,
        account: Account,
        ordered: bool = False,
        into: Into | None = None,
    ) -> str:
        """Returns a scenario with this fabric and the flow list, or placeholder traffic. With
        `into`, returns that scenario with this fabric."""
        topology, mtu = self.topology(ordered), self.host_mtu()
        traffic = (
            [{"kind": "flows", "file": flows}] if flows is not None else self._stand_in(account)
        )
        if into is not None:
            into.replace("topology", topology)
            if flows is not None or "traffic" not in into.data:
                into.add_traffic(*traffic)
            if mtu is not None:
                account.notes.append(
                    f"links of hosts carry packets of {mtu} B: the scenario's own host.mtu says what hosts send, 1500 B by default"
                )
            return into.text()
        if flows is None:
            account.notes.append(
                "the file has no traffic: the scenario gets a permutation of 1 MB as a placeholder (--flows sets a flow list)"
            )
        host = {"host": {"mtu": f"{mtu}B"}} if mtu is not None else {}
        return f"format = 1\ndescription = {toml.value(f'Fabric of {source}')}\n\n{topology}\n{toml.dumps({**host, 'traffic': traffic}).lstrip()}"

    def host_mtu(self) -> int | None:
        """Returns the largest MTU of host links if it exceeds the default of `host.mtu`, or if all
        have smaller ones: hosts send what their links carry. Otherwise None."""
        links = self._of_hosts(True)
        stated = [link.mtu for link in links if link.mtu is not None]
        if not stated or max(stated) == _HOST_MTU:
            return None
        return max(stated) if max(stated) > _HOST_MTU or len(stated) == len(links) else None

    def planes(self) -> list[list[str]]:
        """Returns the hosts of each group of connected switches. A host with several links may be
        in several groups."""
        piece = {switch: switch for switch in self.switches}

        def of(switch: str) -> str:
            while piece[switch] != switch:
                piece[switch] = piece[piece[switch]]
                switch = piece[switch]
            return switch

        for link in self._of_hosts(False):
            piece[of(link.a)] = of(link.b)
        hosts = set(self.hosts)
        found: dict[str, set[str]] = {of(switch): set() for switch in self.switches}
        for link in self._of_hosts(True):
            for host, switch in ((link.a, link.b), (link.b, link.a)):
                if host in hosts and switch in piece:
                    found[of(switch)].add(host)
        return [[host for host in self.hosts if host in plane] for plane in found.values() if plane]

    def _stand_in(self, account: Account) -> list[Mapping[str, Any]]:
        """Returns placeholder traffic: among all hosts, or within each plane if no plane contains
        all hosts."""
        planes = self.planes()
        if len(planes) < 2 or any(len(plane) == len(self.hosts) for plane in planes):
            return [STAND_IN]
        account.notes.append(
            f"{len(planes)} planes without a path between them: placeholder traffic stays within each"
        )
        talking = [plane for plane in planes if len(plane) > 1]
        names = [
            STAND_IN["name"] if number == 1 else f"{STAND_IN['name']}-{number}"
            for number in range(1, len(talking) + 1)
        ]
        return [
            {**STAND_IN, "name": name, "hosts": plane}
            for name, plane in zip(names, talking, strict=True)
        ]

    # ---------------------------------------------------------------------------------------------------------------------- shapes

    def _star(self) -> "_Shape | None":
        if len(self.switches) != 1:
            return None
        (switch,) = self.switches
        if Counter(end for link in self.links for end in link.ends - {switch}) != Counter(
            self.hosts
        ):
            return None
        order = [(host, switch) for host in self.hosts]
        return (
            "star",
            lambda usual: dict(zip(("rate", "delay"), usual(self.links), strict=True)),
            self.hosts,
            self.switches,
            order,
        )

    def _leaf_spine(self) -> "_Shape | None":
        at: dict[str, set[str]] = defaultdict(set)
        ups: Counter[frozenset[str]] = Counter()
        hosts = set(self.hosts)
        for link in self.links:
            of_host = link.ends & hosts
            if len(of_host) == 1:
                (host,), (switch,) = of_host, link.ends - hosts
                if host in at[switch]:
                    return None
                at[switch].add(host)
            else:
                ups[link.ends] += 1
        leaves = [switch for switch in self.switches if switch in at]
        spines = [switch for switch in self.switches if switch not in at]
        leaf_of = {host: leaf for leaf in leaves for host in at[leaf]}
        of_leaf: dict[str, list[str]] = {leaf: [] for leaf in leaves}
        for host in self.hosts:
            if host in leaf_of:
                of_leaf[leaf_of[host]].append(host)
        racks = list(of_leaf.values())
        # Every host has one leaf, racks have equal sizes, and every leaf has equally many links to
        # every spine.
        if (
            sum(map(len, racks)) != len(hosts)
            or len({len(rack) for rack in racks}) != 1
            or not spines
        ):
            return None
        if (
            set(ups) != {frozenset((leaf, spine)) for leaf in leaves for spine in spines}
            or len(set(ups.values())) != 1
        ):
            return None
        parallel = next(iter(ups.values()))

        def keys(usual: "_Usual") -> dict[str, Any]:
            (host_rate, host_delay), (up_rate, up_delay) = (
                usual(self._of_hosts(True)),
                usual(self._of_hosts(False)),
            )
            sizes: dict[str, Any] = {
                "leaves": len(leaves),
                "spines": len(spines),
                "hosts_per_leaf": len(racks[0]),
            }
            more = {"parallel": parallel} if parallel > 1 else {}
            rates = {"host_rate": host_rate} | (
                {"uplink_rate": up_rate} if up_rate != host_rate else {}
            )
            delays = (
                {"delay": host_delay}
                if host_delay == up_delay
                else {"host_delay": host_delay, "uplink_delay": up_delay}
            )
            return sizes | more | rates | delays

        order = [(host, leaf) for leaf, rack in zip(leaves, racks, strict=True) for host in rack]
        order += [(leaf, spine) for leaf in leaves for spine in spines for _ in range(parallel)]
        return "leaf_spine", keys, [host for rack in racks for host in rack], leaves + spines, order

    def _of_hosts(self, wanted: bool) -> list[Link]:
        hosts = set(self.hosts)
        return [link for link in self.links if bool(link.ends & hosts) == wanted]

    def _regular(
        self,
        kind: str,
        keys: "Callable[[_Usual], dict[str, Any]]",
        hosts: list[str],
        switches: list[str],
    ) -> str:
        odd: dict[tuple[str, str], list[Link]] = defaultdict(list)

        def usual(links: Sequence[Link]) -> tuple[str, str]:
            most = Counter((link.rate, link.delay) for link in links).most_common(1)[0][0]
            for link in links:
                if (link.rate, link.delay) != most:
                    odd[link.rate, link.delay].append(link)
            return most

        found = keys(usual)
        if 2 * sum(map(len, odd.values())) > len(self.links):
            return self._custom()
        out = [
            "[topology]",
            f"kind = {toml.value(kind)}",
            *(f"{key} = {toml.value(value)}" for key, value in found.items()),
        ]
        names = self._names(hosts)
        if kind == "star":
            out += names or [f"hosts = {len(hosts)}"]
        else:
            out += names
        if switches != _DEFAULTS[kind](found):
            out.append(f"switches = {toml.value(switches)}")
        called = self._called()
        for (rate, delay), links in odd.items():
            out += [
                "",
                "[[topology.override]]",
                f"link = {toml.value([called[id(link)] for link in links])}",
            ]
            out += [f"rate = {toml.value(rate)}", f"delay = {toml.value(delay)}"]
        return "\n".join(out + self._mtus(called) + self._faults(called)) + "\n"

    def _custom(self) -> str:
        rate, delay = (
            Counter(values).most_common(1)[0][0]
            for values in zip(*((link.rate, link.delay) for link in self.links), strict=True)
        )
        out = [
            "[topology]",
            'kind = "custom"',
            *(self._names(self.hosts) or [f"hosts = {len(self.hosts)}"]),
            f"switches = {toml.value(self.switches)}",
        ]
        out += [f"rate = {toml.value(rate)}", f"delay = {toml.value(delay)}", "link = ["]
        for link in self.links:
            own = {"rate": link.rate} if link.rate != rate else {}
            own |= {"delay": link.delay} if link.delay != delay else {}
            own |= {"mtu": f"{link.mtu}B"} if link.mtu is not None else {}
            out.append(f"  {toml.value({'a': link.a, 'b': link.b, **own})},")
        out.append("]")
        return "\n".join(out + self._faults(self._called())) + "\n"

    def _names(self, hosts: Sequence[str]) -> list[str]:
        """Returns the lines of the key `hosts`; empty if numbers are enough."""
        if not self.addresses and all(name == f"host{number}" for number, name in enumerate(hosts)):
            return []
        items: list[Any] = []
        for name in hosts:
            own = list(self.addresses.get(name, ()))
            items.append(
                {"name": name, "address": own[0] if len(own) == 1 else own} if own else name
            )
        if not self.addresses:
            return [f"hosts = {toml.value(items)}"]
        return ["hosts = [", *(f"  {toml.value(item)}," for item in items), "]"]

    def _called(self) -> dict[int, str]:
        """Returns the names of links in a scenario. Parallel links are numbered with `#n`."""
        count = Counter(link.ends for link in self.links)
        seen: Counter[frozenset[str]] = Counter()
        names = {}
        for link in self.links:
            names[id(link)] = f"{link.a}-{link.b}" + (
                f"#{seen[link.ends]}" if count[link.ends] > 1 else ""
            )
            seen[link.ends] += 1
        return names

    def meant(self, text: str) -> list[Link]:
        """Returns the links that a name such as `"leaf0-spine*"` or `"leaf0-spine1#0"` denotes."""
        ends, _, number = text.partition("#")
        called = self._called()
        pairs = [
            (ends[:at].strip(), ends[at + 1 :].strip())
            for at, letter in enumerate(ends)
            if letter == "-"
        ]

        def fits(link: Link) -> bool:
            both = ((link.a, link.b), (link.b, link.a))
            right = any(
                fnmatch.fnmatchcase(a, one) and fnmatch.fnmatchcase(b, other)
                for a, b in both
                for one, other in pairs
            )
            return right and (not number or called[id(link)].partition("#")[2] in (number, ""))

        return [link for link in self.links if fits(link)]

    def directed(self, text: str) -> list[Link]:
        """Returns the links of a name with a direction, such as `"leaf0>spine*"`. A name of both
        directions gives none."""
        ends, arrow, other = text.partition(">")
        return self.meant(f"{ends.strip()}-{other.strip()}") if arrow else []

    def drop_directed_losses(self, scenario: _core.Scenario, account: Account) -> None:
        """Takes losses that differ between the directions from the links of the scenario, for
        formats in which a loss holds for both. Notes these, and rates of one direction."""
        topology = tomllib.loads(scenario.resolved)["topology"]
        differ = {
            id(link)
            for link, (*_, differs) in zip(self.links, scenario.link_faults(), strict=True)
            if differs
        }
        for change in topology.get("fault", []):
            if "loss" not in change:
                continue
            for text in [change["link"]] if isinstance(change["link"], str) else change["link"]:
                if links := [link for link in self.directed(text) if id(link) in differ]:
                    account.noted(
                        "losses of links that differ between the two directions: the format's hold for both, left out, so the link has none there",
                        text,
                    )
                for link in links:
                    link.loss = 0.0
        for change in topology.get("override", []):
            if "rate" not in change:
                continue
            for text in [change["link"]] if isinstance(change["link"], str) else change["link"]:
                if any(id(link) in differ for link in self.directed(text)):
                    account.noted(
                        "rates of one direction alone: that from the link's first end to its second is written for both, the other left out",
                        text,
                    )

    def _mtus(self, called: Mapping[int, str]) -> list[str]:
        """Returns an override for the links of each MTU."""
        of: dict[int, list[str]] = defaultdict(list)
        for link in self.links:
            if link.mtu is not None:
                of[link.mtu].append(called[id(link)])
        out = []
        for mtu, names in of.items():
            out += [
                "",
                "[[topology.override]]",
                f"link = {toml.value('*-*' if len(names) == len(self.links) else names)}",
                f'mtu = "{mtu}B"',
            ]
        return out

    def _faults(self, called: Mapping[int, str]) -> list[str]:
        lossy = [(called[id(link)], link.loss) for link in self.links if link.loss]
        return [
            line
            for name, loss in lossy
            for line in ("", "[[topology.fault]]", f"link = {toml.value(name)}", f"loss = {loss!r}")
        ]


#: Function that returns the most frequent rate and delay of some links.
_Usual = Callable[[Sequence[Link]], tuple[str, str]]
#: Kind of topology, function for its keys, its hosts and switches in order, and the ends of its
#: links in order.
_Shape = tuple[
    str, Callable[[_Usual], dict[str, Any]], list[str], list[str], Iterable[tuple[str, str]]
]
#: Default names of the switches of each kind of topology.
_DEFAULTS: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "star": lambda keys: ["switch0"],
    "leaf_spine": lambda keys: (
        [f"leaf{number}" for number in range(keys["leaves"])]
        + [f"spine{number}" for number in range(keys["spines"])]
    ),
}
