"""Reads Avro's binary encoding with the schema that a file contains (Apache Avro 1.11
specification, "Binary encoding")."""

import struct
from typing import Any, BinaryIO

from .account import shown


class AvroError(ValueError):
    """The bytes or the schema are not valid Avro."""


class End(AvroError):
    """The bytes end within a value."""


#: Longest string in bytes. A longer one means that the file is damaged.
_LONGEST = 1 << 24
#: Smallest limit of the number of values of a file; larger files may have more. The limit is needed
#: because values of some types take no bytes: a small file could hold any number.
_VALUES = 2_000_000
#: Largest depth of nested schemas and values.
_DEEPEST = 100
_PRIMITIVE = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
#: Types that a schema describes with an object, not with their name alone.
_COMPLEX = {"record", "enum", "fixed", "array", "map"}


class Schema:
    """A schema, with which values are read."""

    def __init__(self, schema: Any, most: int = _VALUES) -> None:
        """Limits the total number of values to `most`, or to `_VALUES` if that is more."""
        self._named: dict[str, Any] = {}
        self._root = schema
        self._left = self._most = max(most, _VALUES)
        self._collect(schema, "", 0)

    def _collect(self, schema: Any, namespace: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise AvroError("a schema nested too deeply")
        if isinstance(schema, list):
            for branch in schema:
                self._collect(branch, namespace, depth + 1)
        elif isinstance(schema, dict):
            kind = schema.get("type")
            namespace = schema.get("namespace", namespace)
            if kind in ("record", "enum", "fixed"):
                name = schema.get("name")
                if not isinstance(name, str) or not isinstance(namespace, str):
                    raise AvroError("a named type without a name")
                self._named[name.rpartition(".")[2]] = schema
                fields, symbols, size = (
                    schema.get("fields"),
                    schema.get("symbols"),
                    schema.get("size"),
                )
                if kind == "record":
                    if not (
                        isinstance(fields, list)
                        and all(
                            isinstance(f, dict) and "type" in f and isinstance(f.get("name"), str)
                            for f in fields
                        )
                    ):
                        raise AvroError(f"a record {shown(name)} without fields")
                    for f in fields:
                        self._collect(f["type"], namespace, depth + 1)
                elif kind == "enum" and not (
                    isinstance(symbols, list) and all(isinstance(symbol, str) for symbol in symbols)
                ):
                    raise AvroError(f"an enum {shown(name)} without symbols")
                elif kind == "fixed" and (
                    isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= _LONGEST
                ):
                    raise AvroError(f"a fixed {shown(name)} of the size {shown(size)}")
            elif kind == "array":
                self._collect(schema.get("items"), namespace, depth + 1)
            elif kind == "map":
                self._collect(schema.get("values"), namespace, depth + 1)
            elif isinstance(kind, dict | list):
                self._collect(kind, namespace, depth + 1)
            elif not isinstance(kind, str) or kind not in _PRIMITIVE:
                raise AvroError(f"a type {shown(kind)}")
        elif not isinstance(schema, str):
            raise AvroError(f"a schema {shown(schema)}")
        elif schema in _COMPLEX:
            raise AvroError(f"a type {shown(schema)} without its parts")

    def read(self, stream: BinaryIO) -> Any:
        """Reads a value. Records are dicts. A value of a union is the value itself; a record in a
        union is `(name, record)`."""
        return self._read(self._root, stream, 0)

    def _read(self, schema: Any, stream: BinaryIO, depth: int) -> Any:
        if depth > _DEEPEST:
            raise AvroError("values nested too deeply")
        self._left -= 1
        if self._left < 0:
            raise AvroError(f"more than {self._most:,} values in a file of this size")
        if isinstance(schema, list):
            branch = _long(stream)
            if not 0 <= branch < len(schema):
                raise AvroError(f"branch {branch} of a union of {len(schema)}")
            return self._read(schema[branch], stream, depth + 1)
        kind = schema.get("type") if isinstance(schema, dict) else schema
        if isinstance(kind, dict | list):
            return self._read(kind, stream, depth + 1)
        match kind:
            case "null":
                return None
            case "boolean":
                return _bytes(stream, 1) != b"\0"
            case "int" | "long":
                return _long(stream)
            case "float":
                return struct.unpack("<f", _bytes(stream, 4))[0]
            case "double":
                return struct.unpack("<d", _bytes(stream, 8))[0]
            case "bytes":
                return _bytes(stream, _long(stream))
            case "string":
                return _bytes(stream, _long(stream)).decode("utf-8", "replace")
            case "fixed":
                return _bytes(stream, schema["size"])
            case "enum":
                place, symbols = _long(stream), schema["symbols"]
                if not 0 <= place < len(symbols):
                    raise AvroError(f"symbol {place} of {len(symbols)}")
                return symbols[place]
            case "array":
                return [self._read(schema.get("items"), stream, depth + 1) for _ in _blocks(stream)]
            case "map":
                return {
                    _bytes(stream, _long(stream)).decode("utf-8", "replace"): self._read(
                        schema.get("values"), stream, depth + 1
                    )
                    for _ in _blocks(stream)
                }
            case "record":
                return {
                    f["name"]: self._read(f["type"], stream, depth + 1) for f in schema["fields"]
                }
            case str() if kind.rpartition(".")[2] in self._named:
                return self._read(self._named[kind.rpartition(".")[2]], stream, depth + 1)
        raise AvroError(f"a type {shown(kind)} that is not defined")


def _bytes(stream: BinaryIO, count: int) -> bytes:
    if not 0 <= count <= _LONGEST:
        raise AvroError(f"a length of {count}")
    data = stream.read(count)
    if len(data) < count:
        raise End("the end of the file within a value")
    return data


def _long(stream: BinaryIO) -> int:
    """Reads a number in zigzag encoding, seven bits at a time, the lowest first."""
    value = shift = 0
    while True:
        byte = _bytes(stream, 1)[0]
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1)
        shift += 7
        if shift > 63:
            raise AvroError("a number of more than 64 bits")


def _blocks(stream: BinaryIO):
    """Yields once per item of an array or map. Items come in blocks; a block of length 0 is the
    last."""
    total = 0
    while count := _long(stream):
        if count < 0:
            _long(stream)  # size of the block in bytes, for readers that skip it
        total += abs(count)
        if total > _LONGEST:
            raise AvroError(f"{total:,} items")
        yield from range(abs(count))
