"""Finds the top-level items of a Rust crate and the files that use them, by regular expressions on
`use` lines and paths, without tests.

Methods are not items: an `impl` block uses the file of its type, and a method call counts as no
use.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

Module = tuple[str, ...]
#: File to the files that it uses, each with the used items.
Edges = dict[str, dict[str, set[str]]]

_SILENT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']+|[^\\'])'""", re.DOTALL
)
_PUBLIC = r"(?:pub(?:\([^)]*\))? +)?"
_ITEM = re.compile(
    rf"(?m)^\s*{_PUBLIC}(?:struct|enum|union|trait|type|macro_rules!) +(\w+)|^{_PUBLIC}(?:const fn|const|static|fn) +(\w+)"
    r'|\bas "" => (\w+)'  # the parameters that `keys!` makes
)
_USE = re.compile(r"\b(pub(?:\([^)]*\))? +)?use +([^;]+);")
_MOD = re.compile(r"\bmod +(\w+) *;")
_INLINE_MOD = re.compile(r"\bmod +(\w+) *\{")
_PATH = re.compile(r"(?<![\w:.])\$?(\w+(?:::\w+)+)")
_NEW_ITEM = re.compile(rf"\s*(?:#\[.*?\]\s*)*{_PUBLIC}(?:use|mod|fn|impl|struct|enum|const|let)\b")
_TEST = "#[cfg(test)]"


class Use(NamedTuple):
    path: Module
    name: str
    public: bool


def without_tests(text: str) -> str:
    """Returns the text without comments, contents of strings, and code behind `#[cfg(test)]`."""
    text = _SILENT.sub(lambda found: " " if found[0].startswith("/") else '""', text)
    while (start := text.find(_TEST)) >= 0:
        end, depth = start + len(_TEST), 0
        ends = ";" if _NEW_ITEM.match(text, end) else ";,"
        while True:
            depth += (text[end] in "{([") - (text[end] in "})]")
            if depth < 0:
                break
            end += 1
            if depth == 0 and (
                text[end - 1] in ends or (text[end - 1] == "}" and text[end : end + 1] != ";")
            ):
                break
        text = text[:start] + text[end:]
    return text


def leaves(tree: str, prefix: Module = ()) -> Iterator[tuple[Module, str]]:
    """Yields the paths of a `use` line, each with its name in this file."""
    head, brace, rest = tree.strip().partition("{")
    path = prefix + tuple(part for part in head.strip().split("::") if part)
    if not brace:
        if path:
            last, _, name = path[-1].partition(" as ")
            path = path[:-1] if last == "self" else (*path[:-1], last)
            yield path, name or path[-1]
        return
    depth, piece = 0, ""
    for letter in rest.rstrip().removesuffix("}") + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            yield from leaves(piece, path) if piece.strip() else ()
            piece = ""
        else:
            piece += letter


class File:
    def __init__(self, path: Path, module: Module, name: str):
        text = without_tests(path.read_text(encoding="utf-8"))
        self.module, self.name = module, name
        self.children, self.inline = set(_MOD.findall(text)), set(_INLINE_MOD.findall(text))
        self.items = {"".join(found) for found in _ITEM.findall(text)}
        self.parameters = {found[2] for found in _ITEM.findall(text)}
        self.uses = [
            Use(path, name, bool(public))
            for public, tree in _USE.findall(text)
            for path, name in leaves(" ".join(tree.split()))
        ]
        self.body = _MOD.sub("", _USE.sub("", text))
        self.words = set(re.findall(r"\w+", self.body))


class Crate:
    def __init__(self, source: Path):
        self.source, self.files = source, {}
        self.read(source / "lib.rs", ())

    def read(self, path: Path, module: Module) -> None:
        file = self.files[module] = File(path, module, path.relative_to(self.source).as_posix())
        for child in file.children:
            folder = self.source.joinpath(*module)
            flat = folder / f"{child}.rs"
            self.read(flat if flat.exists() else folder / child / "mod.rs", (*module, child))

    def find(
        self, module: Module, path: Module, seen: frozenset = frozenset()
    ) -> tuple[File, str] | None:
        """Returns the file and the item that `path` refers to in `module`. `None` for modules and
        other crates."""
        seen, ours = seen | {(module, path)}, False
        while path and path[0] in ("crate", "self", "super"):
            ours, module, path = (
                True,
                {"crate": (), "self": module, "super": module[:-1]}[path[0]],
                path[1:],
            )
        while (
            path
            and (*module, path[0]) in self.files
            and not (path[1:] == () and any(use.name == path[0] for use in self.files[module].uses))
        ):
            ours, module, path = True, (*module, path[0]), path[1:]
        if not path or path[0] == "*":
            return None
        file, name = self.files[module], path[0]
        if name in file.items:
            return file, name
        if name in file.inline and len(path) > 1:  # made by a registry's macro
            children = [self.files[(*module, child)] for child in sorted(file.children)]
            return next(
                ((child, path[1]) for child in children if path[1] in child.parameters),
                (file, name),
            )
        # A name takes precedence over a glob.
        for use in sorted(file.uses, key=lambda use: use.name == "*"):
            further = (
                (*use.path, *path[1:])
                if use.name == name
                else (*use.path[:-1], *path)
                if use.name == "*"
                else path
            )
            if further != path and (module, further) not in seen and len(further) < 9:
                found = self.find(module, further, seen)
                if found and (use.name == name or found[1] in found[0].items):
                    return found
        exporting = [
            other
            for other in self.files.values()
            if not module and "macro_export" in other.body and name in other.items
        ]
        return (exporting[0], name) if exporting else (file, name) if ours else None

    def used(self, file: File) -> Iterator[tuple[File, str]]:
        paths = {use.path for use in file.uses if not use.public or use.name in file.words}
        paths |= {tuple(found.split("::")) for found in _PATH.findall(file.body)}
        paths |= {
            (*path[:-1], word)
            for path in paths
            if path[-1] == "*"
            for word in file.words
            if word[0].isupper()
        }
        if "$module::" in file.body:  # a registry, whose lines name files
            paths |= {(child, "registered") for child in file.children & file.words}
        for path in paths:
            found = self.find(file.module, path)
            if found and found[0] is not file:
                yield found

    def edges(self) -> Edges:
        edges: Edges = {file.name: {} for file in self.files.values()}
        for file in self.files.values():
            for other, item in self.used(file):
                edges[file.name].setdefault(other.name, set()).add(item)
        return edges


def circle(edges: Edges, start: str) -> list[str] | None:
    """Returns a shortest cycle of uses from a file back to itself."""
    ways, seen = [[start]], set()
    for way in ways:
        for other in sorted(edges[way[-1]].keys() - seen):
            if other == start:
                return [*way, start]
            seen.add(other)
            ways.append([*way, other])
    return None
