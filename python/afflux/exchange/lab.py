"""The topology file of containerlab: nodes, links and addresses, with the lines where they stand."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..spelling import nearest
from .account import Account, Wrong, name, shown
from .reading import content

#: Ends of links that are no nodes of the lab.
OUTSIDE = {"host", "mgmt-net", "macvlan"}
#: Types of links in the extended form that join two nodes.
JOINING = {"veth", None}
#: What a lab may have, at most: bytes, values in the file, and values once what is named in several places is written out.
_BYTES, _VALUES, _WRITTEN_OUT, _DEEPEST = 8 << 20, 500_000, 500_000, 50


@dataclass
class LabLink:
    ends: tuple[str, str]
    settings: Mapping[str, Any]
    line: int


_ADDRESS = re.compile(r"\bip\s+(?:-\S+\s+)*a(?:d|dd|ddr|ddre|ddres|ddress)?\s+(?:a|ad|add|replace|repl)\s+(\S+)|\bifconfig\s+\S+\s+(?:inet6?\s+)?(\S+)")


@dataclass
class LabNode:
    kind: str
    labels: Mapping[str, Any]
    settings: Mapping[str, Any]
    line: int

    def addresses(self) -> Iterator[str]:
        """Those of its interfaces first."""
        said = self.labels.get("address")
        commands = self.settings.get("exec")
        texts = [said] if isinstance(said, str) else said if isinstance(said, list) else []
        for command in commands if isinstance(commands, list) else [commands]:
            if isinstance(command, str):
                texts = [*texts, *(one or other for one, other in _ADDRESS.findall(command[:10_000]))]
        for text in [*texts, self.settings.get("mgmt-ipv4"), self.settings.get("mgmt-ipv6")]:
            if isinstance(text, str):
                try:
                    address = ipaddress.ip_address(text.partition("/")[0])
                except ValueError:
                    continue
                if not address.is_loopback and "%" not in str(address):
                    yield str(address)


class Lab:
    """The file, with the lines on which things stand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        root = self._composed(content(path, _BYTES))
        topology = self._part(self._mapping(root, "the file"), "topology", root)
        top = self._mapping(topology, "topology")
        defaults, kinds, groups = (self._value(top.get(part)) or {} for part in ("defaults", "kinds", "groups"))
        for part, value in (("defaults", defaults), ("kinds", kinds), ("groups", groups)):
            if not isinstance(value, dict):
                raise Wrong(path, self._line(top[part]), f"{part}: {shown(value)}", "a mapping")
        self.nodes: dict[str, LabNode] = {}
        nodes = self._part(top, "nodes", topology)
        for called, node in self._mapping(nodes, "nodes").items():
            line = self._line(node)
            name(called, "a node's name", path, line)
            value = self._value(node) or {}
            if not isinstance(value, dict):
                raise Wrong(path, line, f"the node {shown(called)}: {shown(value)}", "a mapping with kind and labels")
            # The node's own settings go before its group's, its kind's and the defaults.
            group = value.get("group")
            if group is not None and not isinstance(group, str):
                raise Wrong(path, line, f"the group {shown(group)} of the node {shown(called)}", "the name of a group")
            levels = [value, _dict(groups.get(group))]
            kind = next((level["kind"] for level in [*levels, defaults] if level.get("kind")), None)
            if not isinstance(kind, str):
                found = f"the kind {shown(kind)} of the node {shown(called)}" if kind is not None else f"the node {shown(called)} without a kind"
                raise Wrong(path, line, found, "kind: linux, kind: nokia_srlinux, …")
            name(kind, "a kind", path, line)
            levels += [_dict(kinds.get(kind)), defaults]
            labels: dict[str, Any] = {}
            for level in reversed(levels):
                labels |= _dict(level.get("labels"))
            self.nodes[called] = LabNode(kind, labels, value, line)
        self._links = top.get("links")

    def links(self, account: Account) -> list[LabLink]:
        found: list[LabLink] = []
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
            kind = value.get("type")
            if not isinstance(kind, str | None) or kind not in JOINING:
                account.drop(f"of type {name(kind, 'the type of a link', self.path, line)}")
                continue
            ends = value.get("endpoints")
            if not isinstance(ends, list) or len(ends) != 2:
                raise Wrong(self.path, line, f"endpoints: {shown(ends)}", 'two of them: ["node:interface", "node:interface"]')
            names = [self._end(end, line) for end in ends]
            if any(end in OUTSIDE and end not in self.nodes for end in names):
                account.drop("that leave the lab")
                continue
            for end in names:
                if end not in self.nodes:
                    known = ", ".join(shown(name, 40).strip("'") for name in list(self.nodes)[:8])
                    raise Wrong(self.path, line, f"a link to {shown(end)}", f"one of the nodes: {known}{nearest(end, self.nodes)}")
            settings = _dict(value.get("vars")) | _dict(value.get("labels"))
            for key in ("rate", "delay"):
                if not isinstance(settings.get(key), str | None):
                    raise Wrong(self.path, line, f"the {key} {shown(settings[key])}", f"text, as in {key}: {'100Gbps' if key == 'rate' else '1us'}")
            found.append(LabLink((names[0], names[1]), settings, line))
        return found

    def _end(self, end: object, line: int) -> str:
        if isinstance(end, str) and ":" in end:
            return end.split(":", 1)[0]
        if isinstance(end, dict) and isinstance(end.get("node"), str):
            return end["node"]
        raise Wrong(self.path, line, f"the endpoint {shown(end)}", '"node:interface", or {node: …, interface: …}')

    # ------------------------------------------------------------------------------------------------------------------ YAML

    def _composed(self, data: bytes) -> Any:
        """The nodes of the file. libyaml's parser is used: it is fast, and needs no stack for what is nested."""
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            text = data.decode("utf-8")
            depth = 0
            for count, event in enumerate(yaml.parse(text, Loader=loader)):
                depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
                if depth > _DEEPEST or count > _VALUES:
                    found = f"more than {_VALUES:,} values" if count > _VALUES else f"values nested more than {_DEEPEST} deep"
                    raise Wrong(self.path, event.start_mark.line + 1, found, "a topology file")
            root = yaml.compose(text, Loader=loader)
        except UnicodeDecodeError:
            raise Wrong(self.path, None, "bytes that are not UTF-8", "YAML") from None
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or "something that is not YAML"
            line = mark.line + 1 if mark else None
            # libyaml reads ahead of its events, and from PyYAML 6.0.4 on it has a limit of its own.
            if "nesting depth" in problem:
                raise Wrong(self.path, line, f"values nested more than {_DEEPEST} deep", "a topology file") from None
            raise Wrong(self.path, line, shown(problem, 200).strip("'\""), "YAML") from None
        if root is not None:
            self._weigh(root, {}, 0)
        return root

    def _weigh(self, node: Any, known: dict[int, int | None], depth: int) -> int:
        """How many values it is once everything that is named (`*name`, `<<`) is written out. Refuses files that grow without bounds."""
        weight = known.get(id(node), 0)
        if weight is None or depth > _DEEPEST:
            raise Wrong(
                self.path, self._line(node), "a value within itself" if weight is None else "values nested too deeply by their names", "a topology file"
            )
        if weight:
            return weight
        known[id(node)] = None
        children = [] if isinstance(node.value, str) else [part for child in node.value for part in (child if isinstance(child, tuple) else (child,))]
        weight = 1 + sum(self._weigh(child, known, depth + 1) for child in children)
        if weight > _WRITTEN_OUT:
            raise Wrong(self.path, self._line(node), f"more than {_WRITTEN_OUT:,} values once what is named by * and << is written out", "a topology file")
        known[id(node)] = weight
        return weight

    def _mapping(self, node: Any, what: str) -> dict[str, Any]:
        import yaml

        if not isinstance(node, yaml.MappingNode):
            raise Wrong(self.path, self._line(node) if node is not None else None, f"{what} that is not a mapping", "name and topology, with nodes and links")
        return self._entries(node)

    def _entries(self, node: Any) -> dict[str, Any]:
        """Keys and values; what `<<` names comes after the mapping's own, the first of several before the others."""
        import yaml

        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise Wrong(self.path, self._line(key), "a key that is not text", "plain YAML")
            if key.tag != "tag:yaml.org,2002:merge":
                own[key.value] = value
                continue
            for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if not isinstance(source, yaml.MappingNode):
                    raise Wrong(self.path, self._line(key), "<< with something that is not a mapping", "plain YAML")
                for inner, found in self._entries(source).items():
                    merged.setdefault(inner, found)
        return merged | own

    def _part(self, mapping: dict[str, Any], part: str, of: Any) -> Any:
        if part not in mapping:
            there = ", ".join(shown(key, 30).strip("'") for key in list(mapping)[:8])
            raise Wrong(self.path, self._line(of), f"no {part}: there are {there or 'no keys'}", f"{part}:")
        return mapping[part]

    def _value(self, node: Any) -> Any:
        """Text, None, lists and mappings: that a lab's numbers are numbers does not matter here."""
        import yaml

        if node is None or (isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"):
            return None
        if isinstance(node, yaml.ScalarNode):
            return node.value
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item) for item in node.value]
        return {key: self._value(value) for key, value in self._entries(node).items()}

    @staticmethod
    def _line(node: Any) -> int:
        return node.start_mark.line + 1


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
