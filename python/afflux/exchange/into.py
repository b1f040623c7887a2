"""Edits the scenario that importers write into. Everything that they do not set stays unchanged,
including comments."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import AoT

from .. import _core
from ..files import toml
from .account import Wrong
from .reading import content, text_of

#: Placeholder traffic that importers write if the imported file has none. Real traffic replaces it
#: later. Further placeholder blocks are called stand-in-2, …
STAND_IN: Mapping[str, Any] = {"name": "stand-in", "kind": "permutation", "sizes": "1MB"}


#: Largest scenario in bytes; larger ones are refused, as in Rust.
_LONGEST = 64 << 20
#: Keys whose values are paths, or can be paths.
_PATHS = {"file", "matrix", "sizes", "query", "message", "background"}


class Into:
    """The scenario of `path`, to be written to `out`. Relative paths in it are adjusted."""

    def __init__(self, path: Path, out: Path | None = None) -> None:
        self.path, self._out = path, out
        try:
            text = text_of(content(path, _LONGEST), path, "a scenario", "utf-8-sig")
            tomllib.loads(text)
            self._document = tomlkit.parse(text)
        except tomllib.TOMLDecodeError:
            _core.parse(text, path)  # raises the error in afflux's own words
            raise
        except RecursionError:
            raise Wrong(path, None, "values nested too deeply", "a scenario") from None
        if out is not None and out.parent.absolute() != path.parent.absolute():
            self._move(self._document, out.parent)

    def _move(self, table: Any, folder: Path) -> None:
        for key, value in list(table.items() if isinstance(table, Mapping) else enumerate(table)):
            if isinstance(value, Mapping | list):
                self._move(value, folder)
            elif (
                key in _PATHS
                and isinstance(value, str)
                and not os.path.isabs(value)
                and (self.path.parent / value).is_file()
            ):
                table[key] = os.path.relpath(self.path.parent / value, folder)

    @property
    def data(self) -> Mapping[str, Any]:
        """Content of the scenario, as plain values."""
        return tomllib.loads(self.text())

    def text(self) -> str:
        return tomlkit.dumps(self._document)

    def rename(self, name: str) -> None:
        """Changes the name, unless the scenario is written over itself. A scenario without a name
        is named after its file."""
        if "name" in self._document and not (
            self._out and self._out.exists() and self._out.samefile(self.path)
        ):
            self._document["name"] = name

    def replace(self, name: str, text: str) -> None:
        """Replaces the table `name` by the table of that name in the TOML text."""
        table = tomlkit.parse(text)[name]
        if name in self._document:
            self._document[name] = table
        else:
            self._document.append(name, table)

    def set(self, name: str, values: Mapping[str, Any], keep: tuple[str, ...] = ()) -> None:
        """Sets the table `name` to exactly these values, except for the keys in `keep`, which stay.
        Values that do not change stay as written."""
        table: Any = self._document.get(name)
        if not isinstance(table, dict):
            self.replace(name, toml.dumps({name: values}))
            return
        made = tomlkit.parse(toml.dumps({name: values}))[name]
        for key in [key for key in table if key not in values and key not in keep]:
            del table[key]
        for key, value in values.items():
            if _plain(table.get(key)) != value:
                # A new table header would come after other tables. An inline table stays at the
                # place of the key.
                table[key] = (
                    tomlkit.parse(f"x = {toml.value(value)}")["x"] if key in table else made[key]
                )

    def update(self, name: str, values: Mapping[str, Any]) -> None:
        """Sets these keys of the table `name`. Its other keys stay."""
        table = self._document.get(name)
        kept = tuple(table) if isinstance(table, Mapping) else ()
        self.set(name, values, keep=kept)

    def add_override(self, block: Mapping[str, Any]) -> None:
        """Adds a `[[switch.override]]`, replacing one for the same switches."""
        switch: Any = self._document.get("switch")
        if not isinstance(switch, dict):
            self.replace("switch", toml.dumps({"switch": {"override": [block]}}))
            return
        overrides = switch.get("override")
        if not isinstance(overrides, list):
            switch["override"] = tomlkit.parse(toml.dumps({"switch": {"override": [block]}}))[
                "switch"
            ]["override"]
            return
        for at in reversed(range(len(overrides))):
            if (
                isinstance(overrides[at], Mapping)
                and _plain(overrides[at].get("match")) == block["match"]
            ):
                del overrides[at]
        if isinstance(overrides, AoT):
            overrides.append(
                tomlkit.parse(toml.dumps({"switch": {"override": [block]}}))["switch"]["override"][
                    0
                ]
            )
        else:
            overrides.append(tomlkit.parse(f"x = {toml.value(block)}")["x"])

    def add_traffic(self, *added: Mapping[str, Any]) -> None:
        """Adds traffic blocks and removes placeholder traffic."""
        blocks = self._document.get("traffic")
        if not isinstance(blocks, list):
            self.replace("traffic", toml.dumps({"traffic": added}))
            return
        for at in reversed(range(len(blocks))):
            if isinstance(blocks[at], Mapping) and re.fullmatch(
                rf"{STAND_IN['name']}(-[0-9]+)?", str(blocks[at].get("name"))
            ):
                del blocks[at]
        for block in added:
            if isinstance(blocks, AoT):
                blocks.append(tomlkit.parse(toml.dumps({"traffic": [block]}))["traffic"][0])
            else:
                blocks.append(tomlkit.parse(f"x = {toml.value(block)}")["x"])


def _plain(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value
