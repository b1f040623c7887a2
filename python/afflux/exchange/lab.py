"""Reads containerlab's topology file: nodes, links and addresses, with their line numbers."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..spelling import nearest
from . import lab_fields, marked
from .account import Account, Wrong, name, shown
from .lab_fields import JOINING_TYPES, OUTSIDE_TYPES
from .marked import Map

#: Special ends of links in the brief form that are not nodes of the lab.
OUTSIDE = {"host", "mgmt-net", "macvlan"}


@dataclass
class LabLink:
    ends: tuple[str, str]
    line: int
    rate: str | None = None
    delay: str | None = None
    loss: str | None = None
    mtu: int | None = None


@dataclass
class LabNode:
    kind: str
    labels: Mapping[str, Any]
    image: str
    line: int
    #: Addresses of its interfaces, and those of its management interface.
    addresses: list[str] = field(default_factory=list)
    management: list[str] = field(default_factory=list)
    #: MTUs that commands set, by interface.
    mtus: dict[str, int] = field(default_factory=dict)


class Lab:
    """A topology file. Inheritance is that of containerlab: a node takes precedence over its group,
    its kind and the defaults; labels and commands of all levels count."""

    def __init__(self, path: Path, account: Account) -> None:
        self.path, self.account = path, account
        self._fields = lab_fields.Fields(path, account)
        root = self._mapping(marked.read(path, "a topology file", self._expanded), "", 1)
        self._fields.look(root, lab_fields.TOP, "", "")
        self.name = root.get("name") or ""
        if root.get("mgmt"):
            self._fields.look(root["mgmt"], lab_fields.MANAGEMENT, "mgmt.", "")
        topology = self._mapping(self._part(root, "topology"), "topology", root.at("topology"))
        self._fields.look(topology, lab_fields.TOPOLOGY, "topology.", "")
        self._defaults: Map = topology.get("defaults") or Map(topology.line)
        self._look_at(self._defaults, "defaults")
        self._kinds, self._groups = (
            self._definitions(topology, part) for part in ("kinds", "groups")
        )
        self.nodes = self._nodes(
            self._mapping(self._part(topology, "nodes"), "nodes", topology.at("nodes"))
        )
        #: Interfaces that links use, with the lines of these links.
        self._used: dict[tuple[str, str], int] = {}
        self.links = [
            link
            for at, value in self._listed(topology)
            if (link := self._link(value, at)) is not None
        ]
        for called, node in self.nodes.items():
            for interface in node.mtus:
                if (called, _canonical(interface, node.kind)) not in self._used:
                    self.account.noted(
                        "exec: the MTU of an interface that no link has, left out", node.line
                    )

    # ----------------------------------------------------------------------------------------------------------------- nodes

    def _nodes(self, nodes: Map) -> dict[str, LabNode]:
        made: dict[str, LabNode] = {}
        used: dict[str, set[str]] = {"kinds": set(), "groups": set()}
        for called, value in nodes.items():
            line = nodes.at(called)
            name(called, "a node's name", self.path, line)
            if not isinstance(value, Map | None):
                raise Wrong(
                    self.path,
                    line,
                    f"the node {shown(called)}: {shown(value)}",
                    "a mapping with kind and labels",
                )
            own = value if value is not None else Map(line)
            made[called] = self._node(called, own, line, used)
        for part, of in (("kinds", self._kinds), ("groups", self._groups)):
            for one in of:
                if one not in used[part]:
                    self._fields.free(f"{part}.{{}}: no node is of it, left out", one, of.at(one))
        return made

    def _node(self, called: str, own: Map, line: int, used: Mapping[str, set[str]]) -> LabNode:
        group = own.get("group")
        if group is not None and not isinstance(group, str):
            raise Wrong(
                self.path,
                own.at("group"),
                f"the group {shown(group)} of the node {shown(called)}",
                "the name of a group",
            )
        self._look_at(own, "nodes")
        kind = self._kind(called, own, line)
        member = (
            own.get("group")
            or self._kinds.get(kind, {}).get("group")
            or self._defaults.get("group")
        )
        used["kinds"].add(kind)
        if member:
            used["groups"].update((member, self._defaults.get("group") or member))
            if member not in self._groups:
                self._fields.free(
                    "group {}: it has no entry under groups and only sorts drawings, left out",
                    member,
                    own.at("group"),
                )
        levels = [
            self._defaults,
            self._kinds.get(kind, Map(line)),
            self._groups.get(member or "", Map(line)),
            own,
        ]
        labels: dict[str, Any] = {}
        for level in levels:
            labels |= level.get("labels") or {}
        image = next((level["image"] for level in reversed(levels) if level.get("image")), "")
        made = LabNode(kind, labels, image, line)
        made.addresses += self._labelled(labels, line)
        for level in levels:
            for command in _commands(level):
                for part in _parts_of(command):
                    made.addresses += _addresses_in(part)
                    made.mtus |= _mtus_in(part)
        for key in ("mgmt-ipv4", "mgmt-ipv6"):
            if own.get(key):
                made.management.append(
                    self._address(own[key], own.at(key), key, int(key[-1]), with_length=False)
                )
        return made

    def _kind(self, called: str, own: Map, line: int) -> str:
        """Returns the kind of a node. A group that only the kind names cannot set the kind. The
        group of the defaults takes precedence over their kind."""
        groups = (self._groups.get(level.get("group") or "", {}) for level in (own, self._defaults))
        sources = (own, *groups, self._defaults)
        kind = next((source["kind"] for source in sources if source.get("kind")), None)
        if kind is None:
            raise Wrong(
                self.path,
                line,
                f"the node {shown(called)} without a kind",
                "kind: linux, kind: nokia_srlinux, …",
            )
        name(kind, "a kind", self.path, line)
        if kind not in lab_fields.MACHINES and kind not in lab_fields.DEVICES:
            self._fields.free(
                "kind {}: not one that afflux knows, a switch unless --host or a label role says otherwise",
                kind,
                line,
            )
        return str(kind)

    def _definitions(self, topology: Map, part: str) -> Map:
        of: Map = topology.get(part) or Map(topology.line)
        for one, value in of.items():
            if value is None:
                of[one] = Map(of.at(one))
            elif not isinstance(value, Map):
                raise Wrong(
                    self.path, of.at(one), f"{part}.{shown(one)}: {shown(value)}", "a mapping"
                )
            self._look_at(of[one], part)
        return of

    def _look_at(self, values: Map, level: str) -> None:
        """Checks the fields of one definition. Each definition is checked once, however many nodes
        inherit it."""
        self._fields.look(values, lab_fields.NODE, "", " of nodes")
        if level != "nodes":
            misplaced = (
                "mgmt-ipv4",
                "mgmt-ipv6",
                *({"kinds": ["kind"], "groups": ["group"]}.get(level, [])),
            )
            for key in misplaced:
                if key in values:
                    self.account.noted(
                        f"{key} in {level}: containerlab does not read it there, left out",
                        values.at(key),
                    )
        if values.get("labels"):
            self._fields.look_at_free(
                values["labels"],
                ("role", "address"),
                "label {} of nodes: not one that afflux reads, left out",
            )
        for command in _commands(values):
            for part in _parts_of(command):
                if not _addresses_in(part) and not _mtus_in(part):
                    self.account.noted(f"exec: {_meaning(part)}, left out", values.at("exec"))

    def _labelled(self, labels: Mapping[str, Any], line: int) -> Iterator[str]:
        """Yields the addresses of the label `address`."""
        said = labels.get("address")
        for text in (
            re.split(r"[\s,]+", said.strip())
            if isinstance(said, str)
            else said
            if isinstance(said, list)
            else []
        ):
            found = _address(text) if isinstance(text, str) else None
            if found is None:
                self.account.noted(
                    f"label address {shown(text)}: no IP address of an interface, left out", line
                )
            else:
                yield found

    def _address(self, text: Any, line: int, what: str, version: int, with_length: bool) -> str:
        """Returns an address of this IP version, given with or without its prefix length. Raises
        `Wrong`."""
        example = {4: "10.0.0.2", 6: "2001:db8::2"}[version] + (
            "/24" if with_length and version == 4 else "/64" if with_length else ""
        )
        try:
            if not isinstance(text, str):
                raise ValueError
            found = (
                ipaddress.ip_interface(text).ip
                if with_length
                else ipaddress.ip_address(text.partition("/")[0])
            )
            if found.version != version or (with_length and "/" not in text):
                raise ValueError
        except ValueError:
            raise Wrong(
                self.path,
                line,
                f"{what}: {shown(text)}",
                f"an address of IPv{version}, as in {example}",
            ) from None
        return str(found)

    # ----------------------------------------------------------------------------------------------------------------- links

    def _listed(self, topology: Map) -> Iterator[tuple[int, Map]]:
        listed = topology.get("links")
        if listed is None:
            return
        for value, line in zip(listed, listed.lines, strict=True):
            if not isinstance(value, Map):
                raise Wrong(
                    self.path,
                    line,
                    f"the link {shown(value)}",
                    'endpoints: ["node:interface", "node:interface"]',
                )
            yield line, value

    def _link(self, value: Map, line: int) -> LabLink | None:
        kind = value.get("type")
        if not isinstance(kind, str | None) or (
            kind is not None and kind.strip().lower() not in (*JOINING_TYPES, *OUTSIDE_TYPES)
        ):
            raise Wrong(
                self.path,
                value.at("type"),
                f"the type {shown(kind)} of a link",
                ", ".join((*JOINING_TYPES, *OUTSIDE_TYPES)),
            )
        kind = kind.strip().lower() if kind is not None else "brief"
        if kind in OUTSIDE_TYPES:
            self._outside(value, line, kind, f"of type {kind}", [value.get("endpoint")])
            return None
        ends = value.get("endpoints")
        if not isinstance(ends, list) or len(ends) != 2:
            raise Wrong(
                self.path,
                line,
                f"endpoints: {shown(ends)}",
                'two of them: ["node:interface", "node:interface"]',
            )
        names = [self._end(end, line) for end in ends]
        outside = [node for node, _ in names if node in OUTSIDE and node not in self.nodes]
        if outside:
            inside = [
                end for end, (node, _) in zip(ends, names, strict=True) if node not in outside
            ]
            self._outside(value, line, outside[0], "that leave the lab", inside)
            return None
        self._fields.look(value, lab_fields.LINK, "", " of links")
        for end in ends:
            self._claim(end, line)
        self._listed_addresses(value, [node for node, _ in names])
        return LabLink(
            (names[0][0], names[1][0]), line, **self._labels_of(value), mtu=self._mtu(value, names)
        )

    def _outside(self, value: Map, line: int, kind: str, reason: str, inside: list[Any]) -> None:
        """Handles a link that does not join two nodes. The addresses of its end in the lab count;
        the rest of it is left out."""
        self.account.drop(reason)
        for end in inside:
            if end is None:
                raise Wrong(
                    self.path,
                    line,
                    f"a link of type {kind} without endpoint",
                    "endpoint: {node: …, interface: …}",
                )
            self._claim(end, line)
        more = [key for key in value if key not in ("type", "endpoint", "endpoints")]
        with_keys = (
            f" with {', '.join(shown(key, 20).strip(chr(39)) for key in more[:12])}" if more else ""
        )
        self.account.noted(f"links {OUTSIDE_TYPES[kind]} ({kind}), left out{with_keys}", line)

    def _end(self, end: object, line: int) -> tuple[str, str]:
        if isinstance(end, str) and ":" in end:
            node, _, interface = end.partition(":")
        elif (
            isinstance(end, Map)
            and isinstance(end.get("node"), str)
            and isinstance(end.get("interface"), str)
        ):
            node, interface = end["node"], end["interface"]
        else:
            node, interface = "", ""
        if not node or not interface:
            raise Wrong(
                self.path,
                line,
                f"the endpoint {shown(end)}",
                '"node:interface", or {node: …, interface: …}',
            )
        return node, interface

    def _claim(self, end: Any, line: int) -> None:
        """Assigns an interface to a link, and its addresses to the node. Raises `Wrong` if another
        link uses the interface."""
        called, interface = self._end(end, line)
        if called not in self.nodes:
            known = ", ".join(shown(one, 40).strip("'") for one in list(self.nodes)[:8])
            raise Wrong(
                self.path,
                line,
                f"a link to {shown(called)}",
                f"one of the nodes: {known}{nearest(called, self.nodes)}",
            )
        node = self.nodes[called]
        at = end.line if isinstance(end, Map) else line
        place = (called, _canonical(interface, node.kind))
        if place in self._used:
            found = f"the interface {shown(f'{called}:{interface}')} a second time (first in line {self._used[place]})"
            raise Wrong(self.path, at, found, "each interface in one link")
        self._used[place] = at
        if isinstance(end, Map):
            self._fields.look(end, lab_fields.ENDPOINT, "", " of endpoints")
            for key in ("ipv4", "ipv6"):
                if end.get(key):
                    node.addresses.append(
                        self._address(
                            end[key],
                            end.at(key),
                            f"{key} of {called}:{interface}",
                            int(key[-1]),
                            with_length=True,
                        )
                    )

    def _listed_addresses(self, value: Map, nodes: list[str]) -> None:
        """Adds the addresses given at a link, in the order of its ends. An empty one skips an
        end."""
        for key in ("ipv4", "ipv6"):
            listed = value.get(key) or []
            if len(listed) > len(nodes):
                raise Wrong(
                    self.path,
                    value.at(key),
                    f"{len(listed)} addresses in {key} of a link",
                    "at most two, in the order of its endpoints",
                )
            for called, text in zip(nodes, listed, strict=False):
                if text is not None and text != "":
                    stripped = text.strip() if isinstance(text, str) else text
                    self.nodes[called].addresses.append(
                        self._address(
                            stripped,
                            value.at(key),
                            f"{key} of a link",
                            int(key[-1]),
                            with_length=True,
                        )
                    )

    def _labels_of(self, value: Map) -> dict[str, str | None]:
        """Returns rate, delay and loss of a link. Labels take precedence over variables."""
        taken = ("rate", "delay", "loss")
        settings: dict[str, Any] = {}
        for part, what in (("vars", "variable"), ("labels", "label")):
            of = value.get(part) or Map(value.line)
            self._fields.look_at_free(
                of, taken, f"{what} {{}} of links: not one that afflux reads, left out"
            )
            for key in taken:
                if key in of and not isinstance(of[key], str):
                    example = {"rate": "100Gbps", "delay": "1us", "loss": "0.1%"}[key]
                    raise Wrong(
                        self.path,
                        of.at(key),
                        f"the {key} {shown(of[key])}",
                        f"text, as in {key}: {example}",
                    )
                if key in of:
                    settings[key] = of[key]
        return {key: settings.get(key) for key in taken}

    def _mtu(self, value: Map, ends: list[tuple[str, str]]) -> int | None:
        """Returns the smallest of the link's MTU and the MTUs that commands give to its
        interfaces."""
        said = [
            mtu
            for called, interface in ends
            if (mtu := self.nodes[called].mtus.get(interface)) is not None
        ]
        if (text := value.get("mtu")) is not None:
            if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65_535:
                raise Wrong(
                    self.path,
                    value.at("mtu"),
                    f"the mtu {shown(text)} of a link",
                    "a number of bytes from 1 to 65535",
                )
            said.append(int(text))
        return min(said) if said else None

    # ------------------------------------------------------------------------------------------------------------------ YAML

    def _expanded(self, text: str) -> str:
        """Replaces `${NAME:=default}` by its default, because an import does not depend on the
        environment of the shell."""

        def expand(found: re.Match[str]) -> str:
            variable, operator, default = found.groups()
            line = text.count("\n", 0, found.start()) + 1
            if operator is None:
                self._fields.free(
                    "${{{}}}: environment variables are not read, so it stays as written",
                    variable,
                    line,
                )
                return found.group()
            self._fields.free(
                "${{{}}}: environment variables are not read, so its default is taken",
                variable,
                line,
            )
            return "" if operator.endswith("+") else default

        return re.sub(
            r"(?<!\$)\$\{([A-Za-z_]\w{0,60})(?:(:?[-=+])([^${}\n]{0,300}))?\}", expand, text
        )

    def _mapping(self, value: Any, what: str, line: int) -> Map:
        if not isinstance(value, Map):
            found = "nothing" if value is None else shown(value)
            raise Wrong(
                self.path,
                line,
                f"{what}: {found}" if what else found,
                "a mapping with name and topology, and in topology nodes and links",
            )
        return value

    def _part(self, mapping: Map, part: str) -> Any:
        if part not in mapping:
            there = ", ".join(shown(key, 30).strip("'") for key in list(mapping)[:8])
            raise Wrong(
                self.path, mapping.line, f"no {part}: there are {there or 'no keys'}", f"{part}:"
            )
        return mapping[part]


# --------------------------------------------------------------------------------------------------------------------- commands


_ADDRESS = re.compile(
    r"\bip\s+(?:-\S+\s+)*a(?:d|dd|ddr|ddre|ddres|ddress)?\s+(?:a|ad|add|repl|replace|change)\s+(?:dev\s+\S+\s+)?(\S+)"
    r"|\bifconfig\s+\S+\s+(?:inet6?\s+)?(?:add\s+)?(\S+)"
)
_MTU = re.compile(
    r"\bip\s+(?:-\S+\s+)*l(?:i|in|ink)?\s+set\s+(?:dev\s+)?(?P<i1>\S+)\s+(?:\S+\s+)*?mtu\s+(?P<m1>[0-9]{1,5})\b"
    r"|\bip\s+(?:-\S+\s+)*l(?:i|in|ink)?\s+set\s+mtu\s+(?P<m2>[0-9]{1,5})\s+(?:dev\s+)?(?P<i2>\S+)"
    r"|\bifconfig\s+(?P<i3>\S+)\s+(?:\S+\s+)*?mtu\s+(?P<m3>[0-9]{1,5})\b"
)
#: Effects of commands that the import does not reproduce.
_MEANINGS = (
    (
        re.compile(r"\bip\s+(?:-\S+\s+)*r(?:o|ou|out|oute)?\s|\broute\s+add\b"),
        "routes; afflux routes by shortest paths",
    ),
    (
        re.compile(r"\btc\s"),
        "rates, delays and losses by tc; the labels rate, delay and loss of a link say them",
    ),
    (re.compile(r"\bsysctl\s"), "settings of the kernel; TCP of hosts is [host.transport]"),
)


def _commands(values: Mapping[str, Any]) -> Iterator[str]:
    """Yields the commands of a definition, including those of its stages that run in the
    container."""
    yield from (
        command[:10_000] for command in values.get("exec") or [] if isinstance(command, str)
    )
    for stage in (values.get("stages") or {}).values():
        run = stage.get("exec") if isinstance(stage, Map) else None
        if isinstance(run, Map):
            run = [
                {"command": command}
                for phase in run.values()
                if isinstance(phase, list)
                for command in phase
            ]
        for item in run or []:
            if (
                isinstance(item, Mapping)
                and isinstance(item.get("command"), str)
                and item.get("target") in (None, "container")
            ):
                yield item["command"][:10_000]


def _parts_of(command: str) -> list[str]:
    """Splits a shell command line into single commands."""
    return [part for part in re.split(r"&&|\|\||[;\n]", command) if part.strip(" \t'\"")]


def _address(text: str) -> str | None:
    """Returns the address of an interface; None if the text is not such an address."""
    try:
        address = ipaddress.ip_address(text.strip("'\"").partition("/")[0])
    except ValueError:
        return None
    return None if address.is_loopback or "%" in str(address) else str(address)


def _addresses_in(command: str) -> list[str]:
    found = (_address(one or other) for one, other in _ADDRESS.findall(command))
    return [address for address in found if address is not None]


def _mtus_in(command: str) -> dict[str, int]:
    found = _MTU.search(command)
    if found is None:
        return {}
    part = found.groupdict()
    number = next(at for at in "123" if part[f"i{at}"])
    return {part[f"i{number}"]: int(part[f"m{number}"])}


def _meaning(command: str) -> str:
    return next(
        (meaning for pattern, meaning in _MEANINGS if pattern.search(command)),
        "commands that set neither addresses nor MTUs",
    )


def _canonical(interface: str, kind: str) -> str:
    """Returns the short name of an interface: SR Linux's ethernet-1/2 is e1-2
    (containerlab.dev/manual/kinds/srl)."""
    if kind in ("srl", "nokia_srlinux") and (
        found := re.fullmatch(r"ethernet-(\d+)/(\d+)(?:/(\d+))?", interface)
    ):
        return "e" + "-".join(part for part in found.groups() if part)
    return interface
