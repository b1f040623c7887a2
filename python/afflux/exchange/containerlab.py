"""containerlab's topology files (`*.clab.yml`). Source: containerlab.dev/manual/topo-def-file.

They know nodes, kinds and who is linked to whom, but neither rates nor delays: those come from the labels `rate` and `delay` of a link in the
extended form (or of its `vars`), or from options. Addresses of hosts come from their label `address`, from `ip address add` and `ifconfig` in their `exec`,
and from `mgmt-ipv4` and `mgmt-ipv6`.
"""

import fnmatch
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _core
from .account import Account, Wrong, plural, shown
from .fabric import Fabric, Link
from .into import Into
from .lab import Lab, LabLink, LabNode

#: Kinds that are machines; all others are network devices or bridges.
MACHINES = {"linux", "generic_vm", "k8s-kind", "ext-container"}


@dataclass
class Options:
    """What the file cannot say."""

    rate: str | None = None
    #: Of links to hosts, where it differs.
    host_rate: str | None = None
    delay: str = "1us"
    #: Patterns of names.
    hosts: Sequence[str] = ()
    switches: Sequence[str] = ()


def topology(path: Path, options: Options, flows: str | None, into: Into | None = None) -> tuple[str, Account]:
    """A scenario with the lab's fabric."""
    lab = Lab(path)
    account = Account("links")
    roles = {name: _role(name, node, options, path) for name, node in lab.nodes.items()}
    links = [link for link in lab.links(account) if _joins(link, roles, account)]
    linked = {end for link in links for end in link.ends}
    unused = {name: None for name in roles if name not in linked}
    for role in ("host", "switch"):
        if names := [name for name in unused if roles[name] == role]:
            account.notes.append(f"without a link, left out: {plural(len(names), role, 'switches' if role == 'switch' else None)} ({', '.join(names[:5])})")
    switches = [name for name, role in roles.items() if role == "switch" and name not in unused]
    hosts = _in_rack_order([name for name, role in roles.items() if role == "host" and name not in unused], switches, links)
    if not hosts:
        raise Wrong(path, None, "no node that is a host", "nodes of kind linux, or labelled role: host, or named with --host")
    called = {name: name for name in hosts} | {name: _switch_name(name) for name in switches}
    made = []
    for link in links:
        to_host = any(roles[end] == "host" for end in link.ends)
        rate = link.settings.get("rate") or (options.host_rate if to_host else None) or options.rate
        if rate is None:
            raise Wrong(path, link.line, f"the link {link.ends[0]} – {link.ends[1]} without a rate", "labels: {rate: 100Gbps} in the extended form, or --rate")
        made.append(Link(called[link.ends[0]], called[link.ends[1]], str(rate), str(link.settings.get("delay") or options.delay)))
    account.taken = len(made)
    kinds = Counter(f"{lab.nodes[name].kind} as {role}" for name, role in roles.items() if name not in unused)
    account.notes.append("kinds: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    fabric = Fabric(hosts, [called[name] for name in switches], made, _addresses(hosts, lab, account))
    return fabric.to_scenario(path.name, flows, account, into=into), account


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
        raise Wrong(path, node.line, f"the label role: {shown(said)} of {name}", "host or switch (or --host and --switch with patterns of names)")
    return "host" if node.kind in MACHINES else "switch"


def _addresses(hosts: Sequence[str], lab: Lab, account: Account) -> dict[str, list[str]]:
    """The addresses of hosts; one that several have is none's."""
    found = {host: list(dict.fromkeys(lab.nodes[host].addresses())) for host in hosts}
    count = Counter(address for of_host in found.values() for address in of_host)
    if several := [address for address, times in count.items() if times > 1]:
        account.notes.append(f"addresses that several hosts have, left out: {', '.join(several[:5])}{' …' if len(several) > 5 else ''}")
    found = {host: [address for address in of_host if count[address] == 1] for host, of_host in found.items()}
    found = {host: of_host for host, of_host in found.items() if of_host}
    if without := len(hosts) - len(found):
        account.notes.append(f"{plural(without, 'host')} without an address in the lab: a capture is matched by address = … in the scenario's hosts")
    return found


def _joins(link: LabLink, roles: Mapping[str, str], account: Account) -> bool:
    if link.ends[0] == link.ends[1]:
        account.drop("from a node to itself")
        return False
    if all(roles[end] == "host" for end in link.ends):
        account.drop("between two hosts")
        return False
    return True


def _in_rack_order(hosts: list[str], switches: list[str], links: Sequence[LabLink]) -> list[str]:
    """Those under the switch that comes first in the file before the others."""
    place = {name: at for at, name in enumerate(switches)}
    rack: dict[str, int] = {}
    for link in links:
        for host, other in (link.ends, link.ends[::-1]):
            if other in place:
                rack[host] = min(rack.get(host, place[other]), place[other])
    return sorted(hosts, key=lambda name: rack.get(name, len(place)))


def _switch_name(name: str) -> str:
    """Names like host3 belong to the hosts."""
    return f"switch-{name}" if re.fullmatch(r"host[0-9]+", name) else name


# ----------------------------------------------------------------------------------------------------------------------- exports


def topology_of(scenario: _core.Scenario, switch_kind: str, switch_image: str | None, host_image: str) -> tuple[str, Account]:
    """A lab of the same nodes and links. containerlab sets neither rates nor delays: they stand as labels, which `import` reads."""
    import yaml

    fabric = Fabric.of(scenario)
    account = Account("links", len(fabric.links))
    switches = set(fabric.switches)
    nodes: dict[str, Any] = {switch: {"kind": switch_kind, "labels": {"role": "switch"}} for switch in fabric.switches}
    for host in fabric.hosts:
        labels: dict[str, Any] = {"role": "host"}
        if own := list(fabric.addresses.get(host, ())):
            labels["address"] = own[0] if len(own) == 1 else own
        nodes[host] = {"kind": "linux", "labels": labels}
    used: Counter[str] = Counter()

    def end(node: str) -> dict[str, str]:
        used[node] += 1
        port = f"e1-{used[node]}" if node in switches and switch_kind == "nokia_srlinux" else f"eth{used[node]}"
        return {"node": node, "interface": port}

    links = [{"type": "veth", "endpoints": [end(link.a), end(link.b)], "labels": {"rate": link.rate, "delay": link.delay}} for link in fabric.links]
    kinds: dict[str, Any] = {"linux": {"image": host_image}}
    if switch_image is not None:
        kinds[switch_kind] = {"image": switch_image}
    lab = {"name": scenario.name.replace(os.sep, "-"), "topology": {"kinds": kinds, "nodes": nodes, "links": links}}
    account.notes.append("rates and delays are labels: containerlab does not set them (containerlab tools netem does, link by link)")
    if any(link.loss for link in fabric.links):
        account.notes.append("the format has no losses: they were dropped")
    odd = [node for node in nodes if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", node)]
    if odd:
        account.notes.append(f"containerlab may refuse names like {shown(odd[0])}: it takes letters, digits, _, . and -")
    return yaml.safe_dump(lab, sort_keys=False, default_flow_style=None, width=140), account
