"""Reads the tables and keys of scenario files from the JSON Schema."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from .. import _core

Schema = dict[str, Any]

#: Quantities by the name of their definition: what they measure, and their units.
QUANTITIES = {
    "Duration": ("time", "ps, ns, us, ms, s, min or h"),
    "Size": ("size", "B, kB … TB (powers of ten) or KiB … TiB (powers of two)"),
    "Speed": ("rate", "bps, kbps, Mbps, Gbps or Tbps"),
    "Length": ("length", "m"),
    "QueueSize": ("size or number of packets", "B, kB … TB, KiB … TiB; packets"),
    "Chance": ("probability", "none, or %"),
    "Percent": ("whole percentage", "%"),
    "Between": (
        "time, or array of the least and the most of a time that is drawn",
        "ps, ns, us, ms, s, min or h",
    ),
    "Hosts": (
        'hosts: "all", a number, text such as "0-15", "host1*" or "host1[2-8]", or an array of these',
        None,
    ),
    "Receiver": ("host: a number or a name", None),
    "Receivers": (
        'hosts: a number, a name, text such as "0-3" or "host[1-3]", an array of these, or "random"',
        None,
    ),
    "Names": (
        "name or array of names; `*` stands for any characters, `?` for one, `[1-3,7]` for numbers",
        None,
    ),
}


#: Tables of the top level, in the order of the pages.
ORDER = ["topology", "switch", "host", "traffic", "run", "record", "cost", "sonic"]


@dataclass
class Type:
    """The type of a key."""

    words: list[str] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    low: float | None = None
    high: float | None = None
    #: Accepted words, with their meanings.
    choices: list[tuple[Any, str]] = field(default_factory=list)
    #: Definitions of the accepted tables.
    tables: list[str] = field(default_factory=list)
    #: `array` for an array of these types, `map` for a table of named tables; None for a single
    #: value.
    many: str | None = None
    #: True if plain numbers are accepted. The schema does not give their unit.
    number: bool = False
    #: True if a probability is accepted. It may also be written as a number.
    probability: bool = False


@dataclass
class Key:
    name: str
    table: "Table"
    schema: Schema
    type: Type
    required: bool
    text: str
    #: Default in words, with code in backticks.
    default: str | None
    #: Paper, standard, product or measurement that the default comes from.
    source: str | None = None

    @property
    def place(self) -> str:
        """Table and key, unique among all keys: `traffic.incast.total`."""
        return f"{self.table.name}.{self.name}".lstrip(".")

    @property
    def path(self) -> str:
        return f"{self.table.place}.{self.name}".lstrip(".")


@dataclass
class Table:
    """A table of the file, or the variant of a table with a certain `kind`."""

    #: Name of its page and in headings: `switch.ecn`, `traffic.incast`.
    name: str
    #: Path in a scenario: `switch.ecn`, `traffic`.
    place: str
    #: True if the table is an element of an array of tables.
    array: bool
    #: Value of `kind`, if this is a variant.
    kind: str | None
    text: str
    parent: "Table | None"
    keys: list[Key] = field(default_factory=list)
    #: Variants by kind.
    variants: dict[str, "Table"] = field(default_factory=dict)
    #: Descriptions of the kinds.
    kinds: dict[str, str] = field(default_factory=dict)
    #: Other keys that take the same table.
    also: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        if not self.name:
            return "Top level"
        header = f"[[{self.place}]]" if self.array else f"[{self.place}]"
        return f'{header} kind = "{self.kind}"' if self.kind else header

    def key(self, name: str) -> Key | None:
        return next((key for key in self.keys if key.name == name), None)


@dataclass
class Document:
    tables: list[Table]
    #: Table of each definition of the schema.
    by_definition: dict[str, Table]

    def every_key(self) -> Iterator[Key]:
        for table in self.tables:
            yield from table.keys

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)


@cache
def document() -> Document:
    return Reader(json.loads(_core.schema())).read()


class Reader:
    def __init__(self, schema: Schema) -> None:
        self.root = schema
        self.definitions: dict[str, Schema] = schema["$defs"]
        self.tables: list[Table] = []
        self.by_definition: dict[str, Table] = {}

    def read(self) -> Document:
        top = Table("", "", False, None, self.root["description"], None)
        self.tables.append(top)
        self.fill(top, self.root)
        return Document(self.tables, self.by_definition)

    def fill(self, table: Table, schema: Schema, without: frozenset[str] = frozenset()) -> None:
        """Adds the keys of a table, then the tables that these keys take."""
        required = schema.get("required", [])
        for name, given in schema["properties"].items():
            if name not in without:
                text, default = split_default(given.get("description", ""))
                text = text or " ".join(self.definition_text(given).split())
                written = (
                    f"`{json.dumps(given['default'])}`"
                    if "default" in given and not isinstance(given["default"], dict | list)
                    else None
                )
                default = default or written
                table.keys.append(
                    Key(
                        name,
                        table,
                        given,
                        self.type(given),
                        name in required,
                        text,
                        default,
                        given.get("x-source") or source(default, text),
                    )
                )
        # A table is described at the key where readers look for it: under all hosts, not under a
        # host override.
        for key in sorted(
            table.keys,
            key=lambda key: (
                ORDER.index(key.name) if key.name in ORDER and not table.name else 0,
                key.name == "override",
            ),
        ):
            for name in key.type.tables:
                self.place(name, key)

    def place(self, name: str, key: Key) -> None:
        """Adds the page of a definition at the first key that takes it."""
        if name in self.by_definition:
            found = self.by_definition[name]
            if key.path not in (found.place, *found.also):
                found.also.append(key.path)
            return
        schema = self.definitions[name]
        table = Table(
            key.path,
            key.path,
            key.type.many == "array",
            None,
            schema.get("description", ""),
            key.table,
        )
        self.tables.append(table)
        self.by_definition[name] = table
        if "properties" in schema:
            self.fill(table, schema)
        else:
            self.variants(table, schema["oneOf"])

    def variants(self, table: Table, kinds: list[Schema]) -> None:
        """Adds a table whose `kind` decides on its keys. Keys of all kinds go to its own page, the
        others to a page per kind."""
        properties = [kind["properties"] for kind in kinds]
        shared = {
            name: given
            for name, given in properties[0].items()
            if name != "kind" and all(given == other.get(name) for other in properties)
        }
        table.kinds = {
            kind["properties"]["kind"]["const"]: kind.get("description", "") for kind in kinds
        }
        choices = list(table.kinds.items())
        required = "kind" in kinds[0]["required"]
        type_ = Type(words=["one of these words"], choices=choices)
        table.keys.append(
            Key(
                "kind",
                table,
                {"enum": [*table.kinds]},
                type_,
                required,
                "Which kind.",
                None if required else f'`"{choices[0][0]}"`',
            )
        )
        if shared:
            common = {
                "properties": shared,
                "required": [name for name in kinds[0]["required"] if name in shared],
            }
            self.fill(table, common)
        for kind in kinds:
            named = kind["properties"]["kind"]["const"]
            if set(kind["properties"]) <= {*shared, "kind"}:
                continue
            variant = Table(
                f"{table.name}.{named}",
                table.place,
                table.array,
                named,
                kind.get("description", ""),
                table,
            )
            table.variants[named] = variant
            self.tables.append(variant)
            self.fill(variant, kind, frozenset({*shared, "kind"}))

    def definition_text(self, given: Schema) -> str:
        name = given.get("$ref", "").rpartition("/")[2]
        return self.definitions.get(name, {}).get("description", "")

    def type(self, given: Schema) -> Type:
        found = Type()
        self.collect(given, found)
        found.words = list(dict.fromkeys(found.words))
        found.units = list(dict.fromkeys(found.units))
        return found

    def collect(self, given: Schema, found: Type, within: str = "") -> None:
        """Adds an alternative to a type. `within` are words before it, such as "array of"."""
        if "$ref" in given:
            name = given["$ref"].rpartition("/")[2]
            if name in QUANTITIES:
                words, unit = QUANTITIES[name]
                found.words.append(within + words)
                found.units += [unit] if unit else []
                if name == "Chance":
                    found.low, found.high = 0, 1
                    found.probability = True
                elif name == "Percent":
                    found.low, found.high = 1, 100
            elif self.is_table(self.definitions[name]):
                found.tables.append(name)
                found.words.append(f"{within}table" + ("s" if within else ""))
            else:
                self.collect(self.definitions[name], found, within)
            return
        for alternative in given.get("anyOf") or given.get("oneOf") or []:
            self.collect(alternative, found, within)
        if "const" in given:
            value = given["const"]
            if value is not False:  # Another spelling of "off".
                found.choices.append((value, given.get("description", "")))
                found.words.append(
                    f"{within}one of these words" if isinstance(value, str) else json.dumps(value)
                )
        elif "enum" in given:
            if not found.tables:
                found.choices += [(value, "") for value in given["enum"]]
            found.words.append(
                f"{within}name of a kind" if found.tables else f"{within}one of these words"
            )
        elif given.get("type") == "array":
            least, most = given.get("minItems"), given.get("maxItems")
            found.many = "array"
            count = f"array of {least} " if least is not None and least == most else "array of "
            self.collect(given["items"], found, within + count)
        elif given.get("type") == "object" and isinstance(given.get("additionalProperties"), dict):
            found.many = "map"
            self.collect(given["additionalProperties"], found, within + "table of named ")
        elif given.get("type") == "boolean":
            found.words.append(within + "true or false")
        elif given.get("type") == "string":
            found.words.append(within + "text")
        elif given.get("type") in ("integer", "number"):
            found.words.append(
                within + ("whole number" if given["type"] == "integer" else "number")
            )
            found.number = True
            # The limits of a machine's integers are not limits for users.
            wide = (
                given.get("format", "").startswith("uint")
                and "maximum" in given
                and given["maximum"] in (255, 65535, 4294967295)
            )
            found.low = given.get("minimum", found.low)
            found.high = found.high if wide else given.get("maximum", found.high)

    def is_table(self, schema: Schema) -> bool:
        if "properties" in schema:
            return True
        kinds = schema.get("oneOf", [])
        return bool(kinds) and all("properties" in kind for kind in kinds)


#: Matches a default at the end of a description: `Default "1us" (paper).`, `Default: the fabric's
#: rate.`
DEFAULT = re.compile(r"(?:^|(?<=[.;:)\s]))Default:? (?=\S)")
#: Matches the beginning of a statement about one of several kinds.
OF_KIND = re.compile(r"\s*\bWith `(\w+)`: ")
#: Matches the default of a key in an override.
INHERITED = re.compile(r"\s*In an override the default is (that of `[^`]+`)\.$")


def split_default(text: str) -> tuple[str, str | None]:
    """Splits a description into the text without sentences about the default, and the default.
    Several defaults stay in the text, unless each belongs to one kind."""
    text = text.replace("\n", " ").strip()
    if inherited := INHERITED.search(text):
        return split_default(text[: inherited.start()])[0], inherited[1]
    first, *rest = OF_KIND.split(text)
    if not first and len(rest) > 2:
        return of_kinds(dict(zip(rest[::2], rest[1::2], strict=True)))
    begins = [match for match in DEFAULT.finditer(text) if not within_code(text, match.start())]
    if len(begins) != 1:
        return text, None
    begin = begins[0]
    end = end_of_sentence(text, begin.end())
    default = text[begin.end() : end].rstrip(".").strip()
    rest_of_text = " ".join(
        part for part in (text[: begin.start()].strip(), text[end:].strip()) if part
    )
    return rest_of_text, default


def of_kinds(said: dict[str, str]) -> tuple[str, str | None]:
    """Splits the description of a key that several kinds have. Returns the text and the default, as
    `split_default` does."""
    split = {kind: split_default(part) for kind, part in said.items()}
    text = " ".join(f"With `{kind}`: {about}" for kind, (about, _) in split.items())
    if any(default is None for _, default in split.values()):
        return " ".join(f"With `{kind}`: {part}" for kind, part in said.items()), None
    kinds: dict[str, list[str]] = {}
    for kind, (_, default) in split.items():
        kinds.setdefault(str(default), []).append(f"`{kind}`")
    if len(kinds) == 1:
        return text, next(iter(kinds))
    return text, "; ".join(
        f"{default} with {' and '.join(names)}" for default, names in kinds.items()
    )


#: Words by which a source is recognised.
KNOWN = re.compile(
    r"RFC|IEEE|IETF|SIGCOMM|NSDI|\bpapers?\b|\b(19|20)\d\d\b|ns-[23]|htsim|simulator|Linux|SONiC|NVIDIA|Mellanox|Arista|Trident|Tomahawk|Jericho"
    r"|Hadoop|mapreduce|terasort|HPCC|ConWeave|DCTCP|Parsimon|PDQ|study|guess|estimate|chosen for afflux|MRAppMaster"
    # Classes of Hadoop.
    r"|[A-Z]\w+(Impl|Format|Handler|Client|Stream|er)\b"
)


def source(default: str | None, text: str) -> str | None:
    """Returns the source that the description of a default names, in parentheses or after "as in".
    None if several kinds have different defaults."""
    if len(OF_KIND.findall(text)) > 1:
        return None
    said = [
        *re.findall(r"\(((?:[^()]|\([^()]*\))*)\)", default or ""),
        *re.findall(r"(?:, as in|: as in|, as) ([^;()]+)", default or ""),
    ]
    return next((one.strip() for one in said if KNOWN.search(one)), None)


def within_code(text: str, at: int) -> bool:
    return text.count("`", 0, at) % 2 == 1


def end_of_sentence(text: str, at: int) -> int:
    """Returns the index after the full stop that ends the sentence containing `at`."""
    depth, code = 0, False
    for index in range(at, len(text)):
        letter = text[index]
        if letter == "`":
            code = not code
        elif code:
            continue
        elif letter in "()":
            depth += 1 if letter == "(" else -1
        elif letter == "." and depth <= 0 and text[index + 1 : index + 2] in ("", " "):
            return index + 1
    return len(text)
