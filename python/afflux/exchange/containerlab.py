"""Converts containerlab's topology files (`*.clab.yml`). Source:
containerlab.dev/manual/topo-def-file.

These files have nodes, kinds and links, but no rates, delays or losses. Those come from the labels
`rate`, `delay` and `loss` of a link in the extended form (or of its `vars`), or from options.
"""

import fnmatch
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _core
from .account import Account, Wrong, plural, shown
from .fabric import Fabric, Link
from .into import Into
from .lab import Lab, LabLink, LabNode
from .lab_fields import MACHINES, ROUTING_IMAGES
from .quantity import size


@dataclass
class Options:
    """Settings that a lab does not have: rates, delays, and the roles of nodes."""

    rate: str | None = None
    #: Rate of links to hosts, if it differs from `rate`.
    host_rate: str | None = None
    delay: str = "1us"
    #: Patterns of node names that are hosts, and of those that are switches.
    hosts: Sequence[str] = ()
    switches: Sequence[str] = ()


def topology(
    path: Path, options: Options, flows: str | None, into: Into | None = None
) -> tuple[str, Account]:
    """Returns a scenario with the lab's fabric, and the account."""
    account = Account("links")
    lab = Lab(path, account)
    _known(options, lab)
    roles = {name: _role(name, node, options, path) for name, node in lab.nodes.items()}
    links = _joining(lab, roles, account)
    linked = {end for link in links for end in link.ends}
    unused = {name: None for name in roles if name not in linked}
    for role in ("host", "switch"):
        if names := [name for name in unused if roles[name] == role]:
            account.notes.append(
                f"without a link, left out: {plural(len(names), role, 'switches' if role == 'switch' else None)} ({', '.join(names[:5])})"
            )
    switches = [name for name, role in roles.items() if role == "switch" and name not in unused]
    hosts = _in_rack_order(
        [name for name, role in roles.items() if role == "host" and name not in unused],
        switches,
        links,
    )
    if not hosts:
        raise Wrong(
            path,
            None,
            "no node that is a host",
            "nodes of kind linux, or labelled role: host, or named with --host",
        )
    if len(hosts) == 1:
        raise Wrong(
            path,
            lab.nodes[hosts[0]].line,
            f"one host with a link ({hosts[0]})",
            "two hosts at least: --host PATTERN makes hosts of other nodes, --switch PATTERN routers",
        )
    called = {name: name for name in hosts} | {name: _switch_name(name) for name in switches}
    to_link = _Links(path, options, roles)
    made = [to_link(link, called) for link in links]
    account.taken = len(made)
    kinds = Counter(
        f"{lab.nodes[name].kind} as {role}" for name, role in roles.items() if name not in unused
    )
    account.notes.append(
        "kinds: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    )
    for name in switches:
        if lab.nodes[name].addresses or lab.nodes[name].management:
            account.noted(
                "addresses of switches: a scenario has those of hosts alone, left out",
                lab.nodes[name].line,
            )
    fabric = Fabric(
        hosts, [called[name] for name in switches], made, _addresses(hosts, lab, account)
    )
    if into is not None and lab.name:
        account.noted("name of the lab: the scenario keeps its own, left out")
    source = f"{path.name}, lab {lab.name}" if lab.name else path.name
    return fabric.to_scenario(source, flows, account, into=into), account


def _known(options: Options, lab: Lab) -> None:
    """Refuses patterns that match no node."""
    for option, patterns in (("--host", options.hosts), ("--switch", options.switches)):
        for pattern in patterns:
            if not any(fnmatch.fnmatchcase(name, pattern) for name in lab.nodes):
                raise Wrong(
                    lab.path,
                    None,
                    f"no node that {option} {shown(pattern)} means",
                    f"one of the nodes: {', '.join(list(lab.nodes)[:8])}",
                )


def _role(name: str, node: LabNode, options: Options, path: Path) -> str:
    for role, patterns in (("host", options.hosts), ("switch", options.switches)):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return role
    said = node.labels.get("role")
    if said in ("host", "server"):
        return "host"
    if said in ("switch", "leaf", "spine", "tor", "core", "edge", "agg", "superspine", "router"):
        return "switch"
    if said is not None:
        raise Wrong(
            path,
            node.line,
            f"the label role: {shown(said)} of {name}",
            "host or switch (or --host and --switch with patterns of names)",
        )
    return "host" if node.kind in MACHINES else "switch"


# ------------------------------------------------------------------------------------------------------------------------- links


def _joining(lab: Lab, roles: Mapping[str, str], account: Account) -> list[LabLink]:
    """Returns the links that a fabric can have. Hosts do not forward, so a link between two hosts
    is dropped."""
    kept: list[LabLink] = []
    between: list[LabLink] = []
    for link in lab.links:
        if link.ends[0] == link.ends[1]:
            account.drop("from a node to itself")
        elif all(roles[end] == "host" for end in link.ends):
            account.drop("between two hosts")
            between.append(link)
        else:
            kept.append(link)
    routers = [name for name, node in lab.nodes.items() if roles[name] == "host" and _routes(node)]
    if not between and not routers:
        return kept
    found, cure = _found(lab, between, routers), _cure(lab, between, routers)
    if not kept and between:
        raise Wrong(
            lab.path,
            between[0].line,
            f"{found}, but no link to a switch (hosts do not forward frames)",
            cure,
        )
    account.notes.append(
        f"{found}{', left out: hosts do not forward frames' if between else ', taken as hosts'} ({cure})"
    )
    return kept


def _routes(node: LabNode) -> bool:
    """True if the name of the image shows that its program routes, as in
    quay.io/frrouting/frr:10.5.1."""
    return any(
        re.search(rf"(?<![a-z]){word}(?:outing)?(?![a-z])", node.image.lower())
        for word in ROUTING_IMAGES
    )


def _found(lab: Lab, between: Sequence[LabLink], routers: Sequence[str]) -> str:
    parts = []
    if between:
        some = ", ".join(" – ".join(link.ends) for link in between[:3])
        parts.append(
            f"{plural(len(between), 'link')} that {'joins' if len(between) == 1 else 'join'} two hosts ({some}{', …' if len(between) > 3 else ''})"
        )
    if routers:
        images = dict.fromkeys(lab.nodes[name].image for name in routers)
        of = "an image of a router" if len(routers) == 1 else "images of routers"
        parts.append(
            f"{plural(len(routers), 'host')} with {of} ({', '.join(shown(image) for image in list(images)[:3])})"
        )
    return " and ".join(parts)


def _cure(lab: Lab, between: Sequence[LabLink], routers: Sequence[str]) -> str:
    """Returns the option that makes switches of the nodes that seem to forward: those with routing
    images, or otherwise those with several links."""
    count = Counter(end for link in lab.links for end in link.ends)
    seem = list(routers) or [
        name for name in lab.nodes if count[name] > 1 and any(name in link.ends for link in between)
    ]
    example = " ".join(f"--switch {name}" for name in seem[:4])
    return f"the option --switch PATTERN for nodes that are routers{f', as in {example}' if example else ''}{' …' if len(seem) > 4 else ''}"


@dataclass
class _Links:
    """Links as a scenario has them. Rates and delays are checked as the scenario parser will check
    them."""

    path: Path
    options: Options
    roles: Mapping[str, str]
    _checked: set[tuple[str, str]] = field(default_factory=set)

    def __call__(self, link: LabLink, called: Mapping[str, str]) -> Link:
        to_host = any(self.roles[end] == "host" for end in link.ends)
        rate = link.rate or (self.options.host_rate if to_host else None) or self.options.rate
        if rate is None:
            found = f"the link {link.ends[0]} – {link.ends[1]} without a rate"
            raise Wrong(
                self.path,
                link.line,
                found,
                "labels: {rate: 100Gbps} in the extended form, or --rate",
            )
        delay = link.delay or self.options.delay
        self._check("rate", rate, link.line if link.rate else None)
        self._check("delay", delay, link.line if link.delay else None)
        if link.mtu is not None:
            self._check("mtu", f"{link.mtu}B", link.line)
        return Link(
            called[link.ends[0]], called[link.ends[1]], rate, delay, self._loss(link), link.mtu
        )

    def _check(self, key: str, text: str, line: int | None) -> None:
        if (key, text) in self._checked:
            return
        self._checked.add((key, text))
        link: dict[str, Any] = {"rate": "1Gbps", "delay": "1us", key: text}
        sets = ", ".join(f"{name} = {_toml(value)}" for name, value in link.items())
        star = f'format = 1\ntopology = {{ kind = "star", hosts = 2, override = [{{ link = "*-*", {sets} }}] }}\n'
        try:
            _core.parse(star + 'traffic = [{ kind = "permutation", sizes = "1kB" }]\n', self.path)
        except _core.ScenarioError as error:
            if error.key is None or not error.key.endswith(key):
                return
            option = (
                ""
                if line is not None
                else f" of --{key if key != 'rate' else 'rate or --host-rate'}"
            )
            expected = str(error).partition(f"key {error.key}: ")[2]
            raise Wrong(self.path, line, f"the {key} {shown(text)}{option}", expected) from None

    def _loss(self, link: LabLink) -> float:
        if link.loss is None:
            return 0.0
        number = re.fullmatch(r"([0-9]*\.?[0-9]+(?:[eE]-?[0-9]{1,3})?)\s*(%?)", link.loss.strip())
        share = float(number[1]) / (100 if number[2] else 1) if number else 1.0
        if not share < 1:
            raise Wrong(
                self.path,
                link.line,
                f"the loss {shown(link.loss)}",
                "a share of the frames below 1, as in 0.001 or 0.1%",
            )
        return share


def _toml(item: Any) -> str:
    from ..files import toml

    return toml.value(item)


# ------------------------------------------------------------------------------------------------------------------------- hosts


def _addresses(hosts: Sequence[str], lab: Lab, account: Account) -> dict[str, list[str]]:
    """Returns the addresses of the hosts. An address that several hosts have is assigned to
    none."""
    found = {
        host: list(dict.fromkeys([*lab.nodes[host].addresses, *lab.nodes[host].management]))
        for host in hosts
    }
    count = Counter(address for of_host in found.values() for address in of_host)
    if several := [address for address, times in count.items() if times > 1]:
        account.notes.append(
            f"addresses that several hosts have, left out: {', '.join(several[:5])}{' …' if len(several) > 5 else ''}"
        )
    found = {
        host: [address for address in of_host if count[address] == 1]
        for host, of_host in found.items()
    }
    found = {host: of_host for host, of_host in found.items() if of_host}
    if without := len(hosts) - len(found):
        account.notes.append(
            f"{plural(without, 'host')} without an address in the lab: a capture is matched by address = … in the scenario's hosts"
        )
    return found


def _in_rack_order(hosts: list[str], switches: list[str], links: Sequence[LabLink]) -> list[str]:
    """Returns the hosts in the order of their racks. Racks are in the order of their switches in
    the file."""
    place = {name: at for at, name in enumerate(switches)}
    rack: dict[str, int] = {}
    for link in links:
        for host, other in (link.ends, link.ends[::-1]):
            if other in place:
                rack[host] = min(rack.get(host, place[other]), place[other])
    return sorted(hosts, key=lambda name: rack.get(name, len(place)))


def _switch_name(name: str) -> str:
    """Returns a name for a switch. Names such as host3 are reserved for hosts."""
    return f"switch-{name}" if re.fullmatch(r"host[0-9]+", name) else name


# ----------------------------------------------------------------------------------------------------------------------- exports


def topology_of(
    scenario: _core.Scenario, switch_kind: str, switch_image: str | None, host_image: str
) -> tuple[str, Account]:
    """Returns a lab with the nodes and links of the scenario. containerlab sets no rates, delays or
    losses, so they are written as labels, which `import` reads."""
    import yaml

    fabric = Fabric.of(scenario)
    account = Account("links", len(fabric.links))
    written = tomllib.loads(scenario.resolved)
    _set_mtus(fabric, written["topology"], account)
    sent = size(written.get("host", {}).get("mtu", "1500B"))
    if "mtu" in written.get("host", {}) and sent != fabric.host_mtu():
        _limit_hosts(fabric, sent)
    elif (likely := fabric.host_mtu()) not in (None, sent):
        account.notes.append(
            f"hosts send packets of {sent} B (host.mtu), but a link of a host carries {likely} B: an import of the lab takes that as host.mtu"
        )
    fabric.drop_directed_losses(scenario, account)
    switches = set(fabric.switches)
    nodes: dict[str, Any] = {
        switch: {"kind": switch_kind, "labels": {"role": "switch"}} for switch in fabric.switches
    }
    for host in fabric.hosts:
        labels = {"role": "host"}
        if own := fabric.addresses.get(host):
            # Labels of containers are text.
            labels["address"] = " ".join(own)
        nodes[host] = {"kind": "linux", "labels": labels}
    used: Counter[str] = Counter()

    def end(node: str) -> dict[str, str]:
        used[node] += 1
        port = (
            f"e1-{used[node]}"
            if node in switches and switch_kind == "nokia_srlinux"
            else f"eth{used[node]}"
        )
        return {"node": node, "interface": port}

    links = [
        {"type": "veth", "endpoints": [end(link.a), end(link.b)], **_settings(link)}
        for link in fabric.links
    ]
    kinds: dict[str, Any] = {"linux": {"image": host_image}}
    if switch_image is not None:
        kinds.setdefault(switch_kind, {})["image"] = switch_image
    lab = {
        "name": _lab_name(scenario.name, account),
        "topology": {"kinds": kinds, "nodes": nodes, "links": links},
    }
    account.notes.append(
        "rates, delays and losses are labels: containerlab does not set them (containerlab tools netem does, link by link)"
    )
    if any(down for _, down, _ in scenario.link_faults()):
        account.notes.append("the format has no outages of links (topology.fault.down): left out")
    odd = [node for node in nodes if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", node)]
    if odd:
        account.notes.append(
            f"containerlab may refuse names like {shown(odd[0])}: it takes letters, digits, _, . and -"
        )
    return yaml.safe_dump(lab, sort_keys=False, default_flow_style=None, width=140), account


def _lab_name(name: str, account: Account) -> str:
    """Returns a name for the lab that Docker allows in the names of its containers and networks.
    Notes a changed one."""
    allowed = re.sub(r"[^A-Za-z0-9_.-]", "-", name)
    if not re.match(r"[A-Za-z0-9]", allowed):
        allowed = f"lab{allowed}"
    if allowed != name:
        account.notes.append(
            f"name of the lab: {shown(allowed)} for {shown(name)}: Docker takes letters, digits, _, . and -, and a letter or digit first"
        )
    return allowed


def _settings(link: Link) -> dict[str, Any]:
    labels = {"rate": link.rate, "delay": link.delay} | (
        {"loss": repr(link.loss)} if link.loss else {}
    )
    return ({"mtu": link.mtu} if link.mtu is not None else {}) | {"labels": labels}


def _set_mtus(fabric: Fabric, written: Mapping[str, Any], account: Account) -> None:
    """Sets the MTUs of links from the links and overrides of a resolved scenario."""
    at = 0
    for link in written.get("link", []):
        for _ in range(link.get("count", 1)):
            fabric.links[at].mtu = size(link["mtu"]) if "mtu" in link else None
            at += 1
    for change in written.get("override", []):
        if "mtu" in change:
            texts = change["link"] if isinstance(change["link"], list) else [change["link"]]
            for text in texts:
                meant = fabric.meant(text)
                if not meant:
                    account.notes.append(
                        f"the mtu of {shown(text)} is left out: write the names of both ends"
                    )
                for link in meant:
                    link.mtu = size(change["mtu"])


def _limit_hosts(fabric: Fabric, most: int) -> None:
    """Sets the MTU of hosts on their links, since a lab has no other place for it. Links with
    smaller MTUs keep theirs."""
    hosts = set(fabric.hosts)
    for link in fabric.links:
        if link.ends & hosts:
            link.mtu = min(most, link.mtu or most)
