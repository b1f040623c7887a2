"""Reads YAML as plain values with their line numbers. Numbers stay text as written. Damaged files
and files that expand without bounds are refused."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .account import Wrong, shown
from .reading import content, text_of

#: Limits of a file: bytes, values, values after aliases are expanded, and depth of nesting.
_BYTES, _VALUES, _WRITTEN_OUT, _DEEPEST = 8 << 20, 500_000, 500_000, 50


class Map(dict[str, Any]):
    """A mapping with the line on which it begins, and the line of each key."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}

    def at(self, key: str) -> int:
        """Returns the line of a key, or of the mapping if it lacks the key."""
        return self.lines.get(key, self.line)


class Items(list[Any]):
    """A list with the line on which it begins, and the line of each item."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: list[int] = []


def read(path: Path, form: str, expand: Callable[[str], str] = lambda text: text) -> Any:
    """Returns the value of a file. `form` describes the expected content for messages. `expand`
    replaces variables in the text before it is parsed. Raises `Wrong`."""
    text = text_of(content(path, _BYTES), path, "YAML")
    reader = _Reader(path, form)
    return reader.value(reader.composed(expand(text)))


class _Reader:
    def __init__(self, path: Path, form: str) -> None:
        self.path, self.form = path, form

    def composed(self, text: str) -> Any:
        """Returns the nodes of the file. Uses libyaml's parser, which is fast and needs no stack
        for nested values."""
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            depth = 0
            for count, event in enumerate(yaml.parse(text, Loader=loader)):
                depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
                    event, yaml.CollectionEndEvent
                )
                if depth > _DEEPEST or count > _VALUES:
                    found = (
                        f"more than {_VALUES:,} values"
                        if count > _VALUES
                        else f"values nested more than {_DEEPEST} deep"
                    )
                    raise Wrong(self.path, event.start_mark.line + 1, found, self.form)
            root = yaml.compose(text, Loader=loader)
        except yaml.YAMLError as error:
            raise self._not_yaml(error, text) from None
        if root is not None:
            self._weigh(root, {}, 0)
        return root

    def _not_yaml(self, error: Exception, text: str) -> Wrong:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or ""
        line = mark.line + 1 if mark else None
        # libyaml reads ahead of its events, and from PyYAML 6.0.4 on it has a limit of its own.
        if "nesting depth" in problem:
            return Wrong(self.path, line, f"values nested more than {_DEEPEST} deep", self.form)
        template = re.search(r"\{\{.*?\}\}", text)
        if template:
            at = text.count("\n", 0, template.start()) + 1
            return Wrong(
                self.path,
                at,
                f"{shown(template.group())}, a placeholder of a template",
                f"{self.form} in which the template is filled in",
            )
        reason = shown(problem, 200).strip("'\"")
        found = f"text that is not YAML{f' ({reason})' if reason else ''}"
        return Wrong(self.path, line, found, self.form)

    def _weigh(self, node: Any, known: dict[int, int | None], depth: int) -> int:
        """Returns the number of values that a node has after all aliases (`*name`, `<<`) are
        expanded. Refuses files that expand without bounds."""
        weight = known.get(id(node), 0)
        if weight is None or depth > _DEEPEST:
            raise Wrong(
                self.path,
                _line(node),
                "a value within itself"
                if weight is None
                else "values nested too deeply by their names",
                self.form,
            )
        if weight:
            return weight
        known[id(node)] = None
        children = (
            []
            if isinstance(node.value, str)
            else [
                part
                for child in node.value
                for part in (child if isinstance(child, tuple) else (child,))
            ]
        )
        weight = 1 + sum(self._weigh(child, known, depth + 1) for child in children)
        if weight > _WRITTEN_OUT:
            raise Wrong(
                self.path,
                _line(node),
                f"more than {_WRITTEN_OUT:,} values once what is named by * and << is written out",
                self.form,
            )
        known[id(node)] = weight
        return weight

    def value(self, node: Any) -> Any:
        """Converts a node to text, None, `Items` or `Map`."""
        import yaml

        if node is None or (
            isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"
        ):
            return None
        if isinstance(node, yaml.ScalarNode):
            return node.value
        if isinstance(node, yaml.SequenceNode):
            items = Items(_line(node))
            for item in node.value:
                items.append(self.value(item))
                items.lines.append(_line(item))
            return items
        made = Map(_line(node))
        for key, (line, value) in self._entries(node).items():
            made[key] = self.value(value)
            made.lines[key] = line
        return made

    def _entries(self, node: Any) -> dict[str, tuple[int, Any]]:
        """Returns keys with lines and values. The mapping's own keys take precedence over those
        that `<<` merges, and the first merged mapping over later ones."""
        import yaml

        own: dict[str, tuple[int, Any]] = {}
        merged: dict[str, tuple[int, Any]] = {}
        for key, value in node.value:
            line = _line(key)
            if not isinstance(key, yaml.ScalarNode):
                raise Wrong(
                    self.path,
                    line,
                    "a key that is not text",
                    "plain YAML (a template is filled in first)",
                )
            if key.tag != "tag:yaml.org,2002:merge":
                if key.value in own:
                    raise Wrong(
                        self.path,
                        line,
                        f"the key {shown(key.value)} a second time (first in line {own[key.value][0]})",
                        "each key once",
                    )
                own[key.value] = (line, value)
                continue
            for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if not isinstance(source, yaml.MappingNode):
                    raise Wrong(
                        self.path, line, "<< with something that is not a mapping", "plain YAML"
                    )
                for inner, found in self._entries(source).items():
                    merged.setdefault(inner, found)
        return merged | own


def _line(node: Any) -> int:
    line: int = node.start_mark.line + 1
    return line
