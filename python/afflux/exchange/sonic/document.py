"""Reads the JSON of a switch's configuration: config_db.json, and dumps of the databases that hold
it.

A dump has a top-level key per entry: `BUFFER_PG|Ethernet0|3-4` in CONFIG_DB,
`BUFFER_PG_TABLE:Ethernet0:3-4` in APPL_DB. redis-dump wraps the fields of an entry in `{"type":
"hash", "value": {…}}`. Files for swssconfig are lists of such objects with `OP`.
"""

import json
import os
import re
from typing import Any, NoReturn

from ..account import Wrong
from ..reading import content, json_value, repeated_key, text_of

#: Largest file in bytes. A configuration has a few megabytes at most.
_MOST_BYTES = 16 << 20


class Document:
    """Tables by name, with line numbers. A well-formed table is an object of entries."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.text = text_of(content(path, _MOST_BYTES), path, "config_db.json", "utf-8-sig")
        self.tables: dict[str, Any] = {}
        #: Name of an entry in the dump, by table and key.
        self.written: dict[tuple[str, str], str] = {}
        #: Entries that the file deletes (`"OP": "DEL"`).
        self.deleted: list[str] = []
        for part, deletes in self._parts():
            for name, value in part.items():
                if deletes:
                    self._delete(name)
                else:
                    self._add(name, value)

    def _parts(self) -> list[tuple[dict[str, Any], bool]]:
        """Returns objects with tables or entries, and whether these are to be deleted."""
        value = json_value(
            self.text, self.path, 1, "config_db.json: an object of tables", self._once
        )
        if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
            return [self._operation(part) for part in value]
        if not isinstance(value, dict):
            raise Wrong(
                self.path,
                1,
                f"a JSON document that is no object ({self.text.lstrip()[:20]!r})",
                "an object of tables, as in config_db.json",
            )
        return [(value, False)]

    def _operation(self, part: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        operation = part.get("OP", "SET")
        if operation not in ("SET", "DEL"):
            line = self.line((next(iter(part)),))
            raise Wrong(self.path, line, f"OP = {operation!r}", '"SET" or "DEL"')
        return {name: entry for name, entry in part.items() if name != "OP"}, operation == "DEL"

    def _once(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            line, keys = repeated_key(self.text)
            raise Wrong(
                self.path, line, f"the key {' → '.join(keys)} twice in one object", "each key once"
            )
        return found

    def _add(self, name: str, value: Any) -> None:
        table, separator, key = _parted(name)
        if not separator:
            if name not in self.tables:
                self.tables[name] = dict(value) if isinstance(value, dict) else value
                return
            entries = self._entries(name)
            if not isinstance(value, dict):
                self._no_object(name, value)
            for key in value:
                self._once_only(name, name, key)
            entries.update(value)
            return
        if isinstance(value, dict) and value.keys() >= {"type", "value"}:
            value = value["value"]
        key = key.replace(separator, "|")
        self.tables.setdefault(table, {})
        entries = self._entries(table)
        self._once_only(name, table, key)
        entries[key] = value
        self.written[table, key] = name

    def _entries(self, table: str) -> dict[str, Any]:
        entries = self.tables[table]
        if not isinstance(entries, dict):
            self._no_object(table, entries)
        return entries  # type: ignore[no-any-return]

    def _no_object(self, table: str, value: Any) -> NoReturn:
        raise Wrong(
            self.path,
            self.line((table,)),
            f"the table {table} as {json.dumps(value)[:20]}, and entries of it elsewhere",
            "an object of entries",
        )

    def _once_only(self, name: str, table: str, key: str) -> None:
        if key in self.tables[table]:
            raise Wrong(
                self.path, self.line((name,)), f"the entry {table} → {key} twice", "each entry once"
            )

    def _delete(self, name: str) -> None:
        """Removes an entry of a dump, which may have been set before."""
        table, separator, key = _parted(name)
        self.deleted.append(name)
        if separator and isinstance(entries := self.tables.get(table), dict):
            entries.pop(key.replace(separator, "|"), None)

    def line(self, where: tuple[str, ...]) -> int:
        """Returns the line of the innermost of nested names."""
        if where[:2] in self.written:
            where = (self.written[where[0], where[1]], *where[2:])
        at = 0
        for name in where:
            found = re.compile(re.escape(json.dumps(name)) + r"\s*:").search(self.text, at)
            found = found or re.compile(
                re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:"
            ).search(self.text, at)
            if not found:
                break
            at = found.start()
        return self.text.count("\n", 0, at) + 1


def _parted(name: str) -> tuple[str, str, str]:
    """Splits the name of an entry of a dump into table, separator and key. The name of a table has
    no separator."""
    found = re.fullmatch(r"([A-Z0-9_]+)([|:])(.+)", name)
    return (found[1].removesuffix("_TABLE"), found[2], found[3]) if found else (name, "", "")
