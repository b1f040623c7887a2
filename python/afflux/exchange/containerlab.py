"""containerlab's topology files (`*.clab.yml`). Source: containerlab.dev/manual/topo-def-file.

They know nodes, kinds and who is linked to whom, but neither rates nor delays: those come from the labels `rate` and `delay` of a link in the
extended form (or of its `vars`), or from options.
"""

import fnmatch
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _core
from .account import Account, Wrong, plural, shown
from .fabric import Fabric, Link
from .files import DAMAGED, opened

#: Kinds that are machines; all others are network devices or bridges.
MACHINES = {"linux", "generic_vm", "k8s-kind", "ext-container"}
#: Ends of links that are no nodes of the lab.
OUTSIDE = {"host", "mgmt-net", "macvlan"}
#: Types of links in the extended form that join two nodes.
JOINING = {"veth", None}


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


def topology(path: Path, options: Options, flows: str | None) -> tuple[str, Account]:
    """A scenario with the lab's fabric."""
    lab = _Lab(path)
    account = Account("links")
    roles = {name: _role(name, kind, labels, options, path, line) for name, (kind, labels, line) in lab.nodes.items()}
    links = [link for link in lab.links(account) if _joins(link, roles, account)]
    unused = [name for name in roles if not any(name in link.ends for link in links)]
    for role in ("host", "switch"):
        if names := [name for name in unused if roles[name] == role]:
            account.notes.append(f"without a link, left out: {plural(len(names), role, 'switches' if role == 'switch' else None)} ({', '.join(names[:5])})")
    switches = [name for name, role in roles.items() if role == "switch" and name not in unused]
    hosts = _in_rack_order([name for name, role in roles.items() if role == "host" and name not in unused], switches, links)
    if not hosts:
        raise Wrong(path, None, "no node that is a host", "nodes of kind linux, or labelled role: host, or named with --host")
    called = {name: f"host{number}" for number, name in enumerate(hosts)} | {name: _switch_name(name) for name in switches}
    made = []
    for link in links:
        to_host = any(roles[end] == "host" for end in link.ends)
        rate = link.settings.get("rate") or (options.host_rate if to_host else None) or options.rate
        if rate is None:
            raise Wrong(path, link.line, f"the link {link.ends[0]} – {link.ends[1]} without a rate", "labels: {rate: 100Gbps} in the extended form, or --rate")
        made.append(Link(called[link.ends[0]], called[link.ends[1]], str(rate), str(link.settings.get("delay") or options.delay)))
    account.taken = len(made)
    kinds = Counter(f"{lab.nodes[name][0]} as {role}" for name, role in roles.items() if name not in unused)
    account.notes.append("kinds: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    fabric = Fabric(len(hosts), [called[name] for name in switches], made, hosts)
    return fabric.to_scenario(path.name, flows, account), account


def _role(name: str, kind: str, labels: Mapping[str, Any], options: Options, path: Path, line: int) -> str:
    for role, patterns in (("host", options.hosts), ("switch", options.switches)):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return role
    said = labels.get("role")
    if said in ("host", "server"):
        return "host"
    if said in ("switch", "leaf", "spine", "tor", "core", "edge", "agg", "superspine", "router"):
        return "switch"
    if said is not None:
        raise Wrong(path, line, f"the label role: {shown(said)} of {name}", "host or switch (or --host and --switch with patterns of names)")
    return "host" if kind in MACHINES else "switch"


def _joins(link: "_Link", roles: Mapping[str, str], account: Account) -> bool:
    if link.ends[0] == link.ends[1]:
        account.drop("from a node to itself")
        return False
    if all(roles[end] == "host" for end in link.ends):
        account.drop("between two hosts")
        return False
    return True


def _in_rack_order(hosts: list[str], switches: list[str], links: Sequence["_Link"]) -> list[str]:
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
    return f"switch-{name}" if name.startswith("host") and name[4:].isdecimal() else name


@dataclass
class _Link:
    ends: tuple[str, str]
    settings: Mapping[str, Any]
    line: int


class _Lab:
    """The file, with the lines on which things stand."""

    def __init__(self, path: Path) -> None:
        import yaml

        self.path = path
        try:
            with opened(path) as file:
                data = file.read().decode("utf-8")
            root = yaml.compose(data, Loader=yaml.SafeLoader)
            self._loader = yaml.SafeLoader("")
        except UnicodeDecodeError:
            raise Wrong(path, None, "bytes that are no UTF-8", "YAML") from None
        except RecursionError:
            raise Wrong(path, None, "values nested too deeply", "a topology file") from None
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            raise Wrong(path, mark.line + 1 if mark else None, getattr(error, "problem", None) or "something that is no YAML", "YAML") from None
        except DAMAGED as error:
            if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
                raise
            raise Wrong(path, None, f"a compressed file that is damaged ({error})", "a whole one") from None
        topology = self._part(self._mapping(root, "the file"), "topology", root)
        top = self._mapping(topology, "topology")
        defaults, kinds, groups = (self._value(top.get(name)) or {} for name in ("defaults", "kinds", "groups"))
        for name, part in (("defaults", defaults), ("kinds", kinds), ("groups", groups)):
            if not isinstance(part, dict):
                raise Wrong(path, self._line(top[name]), f"{name}: {shown(part)}", "a mapping")
        #: Kind, labels and line by name.
        self.nodes: dict[str, tuple[str, dict[str, Any], int]] = {}
        nodes = self._part(top, "nodes", topology)
        for name, node in self._mapping(nodes, "nodes").items():
            value = self._value(node) or {}
            if not isinstance(value, dict):
                raise Wrong(path, self._line(node), f"the node {name}: {shown(value)}", "a mapping with kind and labels")
            # The node's own settings go before its group's, its kind's and the defaults.
            levels = [value, _dict(groups.get(value.get("group")))]
            kind = next((level["kind"] for level in [*levels, defaults] if level.get("kind")), None)
            if not isinstance(kind, str):
                raise Wrong(path, self._line(node), f"the node {name} without a kind", "kind: linux, kind: nokia_srlinux, …")
            levels += [_dict(kinds.get(kind)), defaults]
            labels: dict[str, Any] = {}
            for level in reversed(levels):
                labels |= _dict(level.get("labels"))
            self.nodes[name] = (kind, labels, self._line(node))
        self._links = top.get("links")

    def links(self, account: Account) -> list[_Link]:
        found: list[_Link] = []
        if self._links is None:
            return found
        listed = self._value(self._links)
        if listed is None:
            return found
        if not isinstance(listed, list):
            raise Wrong(self.path, self._line(self._links), f"links: {shown(listed)}", "a list")
        for node, value in zip(self._links.value, listed, strict=True):
            line = self._line(node)
            if not isinstance(value, dict):
                raise Wrong(self.path, line, f"the link {shown(value)}", 'endpoints: ["node:interface", "node:interface"]')
            if value.get("type") not in JOINING:
                account.drop(f"of type {value.get('type')}")
                continue
            ends = value.get("endpoints")
            if not isinstance(ends, list) or len(ends) != 2:
                raise Wrong(self.path, line, f"endpoints: {shown(ends)}", 'two of them: ["node:interface", "node:interface"]')
            names = [self._end(end, line) for end in ends]
            if any(name in OUTSIDE and name not in self.nodes for name in names):
                account.drop("that leave the lab")
                continue
            for name in names:
                if name not in self.nodes:
                    raise Wrong(self.path, line, f"a link to {shown(name)}", f"one of the nodes: {', '.join(list(self.nodes)[:8])}")
            settings = _dict(value.get("vars")) | _dict(value.get("labels"))
            found.append(_Link((names[0], names[1]), settings, line))
        return found

    def _end(self, end: object, line: int) -> str:
        if isinstance(end, str) and ":" in end:
            return end.split(":", 1)[0]
        if isinstance(end, dict) and isinstance(end.get("node"), str):
            return end["node"]
        raise Wrong(self.path, line, f"the endpoint {shown(end)}", '"node:interface", or {node: …, interface: …}')

    def _mapping(self, node: Any, what: str) -> dict[str, Any]:
        import yaml

        if not isinstance(node, yaml.MappingNode):
            raise Wrong(self.path, self._line(node) if node is not None else None, f"{what} that is no mapping", "name and topology, with nodes and links")
        return {str(key.value): value for key, value in node.value if isinstance(key, yaml.ScalarNode)}

    def _part(self, mapping: dict[str, Any], name: str, of: Any) -> Any:
        if name not in mapping:
            raise Wrong(self.path, self._line(of), f"no {name}: there are {', '.join(list(mapping)[:8]) or 'no keys'}", f"{name}:")
        return mapping[name]

    def _value(self, node: Any) -> Any:
        import yaml

        if node is None:
            return None
        try:
            return self._loader.construct_document(node)
        except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
            raise Wrong(self.path, self._line(node), f"a value that cannot be read ({str(error).splitlines()[0]})", "plain YAML") from None

    @staticmethod
    def _line(node: Any) -> int:
        return node.start_mark.line + 1


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# ----------------------------------------------------------------------------------------------------------------------- exports


def topology_of(scenario: _core.Scenario, switch_kind: str, switch_image: str | None, host_image: str) -> tuple[str, Account]:
    """A lab of the same nodes and links. containerlab sets neither rates nor delays: they stand as labels, which `import` reads."""
    import yaml

    fabric = Fabric.of(scenario)
    account = Account("links", len(fabric.links))
    switches = set(fabric.switches)
    nodes: dict[str, Any] = {name: {"kind": switch_kind, "labels": {"role": "switch"}} for name in fabric.switches}
    nodes |= {name: {"kind": "linux", "labels": {"role": "host"}} for name in fabric.host_names}
    used: Counter[str] = Counter()

    def end(name: str) -> str:
        used[name] += 1
        port = f"e1-{used[name]}" if name in switches and switch_kind == "nokia_srlinux" else f"eth{used[name]}"
        return f"{name}:{port}"

    links = []
    for link in fabric.links:
        ends = [dict(zip(("node", "interface"), end(name).split(":"), strict=True)) for name in (link.a, link.b)]
        links.append({"type": "veth", "endpoints": ends, "labels": {"rate": link.rate, "delay": link.delay}})
    kinds: dict[str, Any] = {"linux": {"image": host_image}}
    if switch_image is not None:
        kinds[switch_kind] = {"image": switch_image}
    lab = {"name": scenario.name.replace(os.sep, "-"), "topology": {"kinds": kinds, "nodes": nodes, "links": links}}
    account.notes.append("rates and delays are labels: containerlab does not set them (containerlab tools netem does, link by link)")
    if any(link.loss for link in fabric.links):
        account.notes.append("losses are not expressed")
    return yaml.safe_dump(lab, sort_keys=False, default_flow_style=None, width=140), account
