"""Shows the scenario keys that differ between designs, as a table."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..files import toml
from ..results.designs import Designs
from ..settings import shown as setting
from ..words import Words, known, say
from . import alike
from .markup import Terms, both, html_section, html_table, plain, swatch, unseen

#: Keys that do not characterise a design.
_IGNORED = re.compile(
    r"^(name|description|format|run\.(seed|threads|engine|max_memory)|record(\..*)?)$"
)
#: Most keys that are shown at once. The others are folded away.
_SHOWN = 14
#: With more designs than this and at most as many keys, designs are the rows.
_COLUMNS = 6
#: Order of the groups.
_TABLES = ("topology", "link", "switch", "host", "traffic", "cost", "run")
_LETTERS = re.compile(r"(?<=\d)(?=[A-Za-zµ]+$)")


@dataclass(frozen=True)
class Key:
    """A key that differs: its table, its name in the table, and its value for each design (None:
    not set)."""

    group: str
    name: str
    values: tuple[Any, ...]


def keys(designs: Designs) -> tuple[list[Key], list[Key]] | None:
    """Returns the keys that were set, then the keys that only follow from these, in the order of
    the scenario. None if the scenario of a design is unknown."""
    texts = [design.first.scenario for design in designs.values()]
    known_ones = [text for text in texts if text]
    if len(known_ones) < len(texts):
        return None
    scenarios = [_leaves(toml.with_defaults(text)) for text in known_ones]
    written = {name for text in known_ones for name in _leaves(tomllib.loads(text))}
    order = {table: place for place, table in enumerate(_TABLES)}
    names = dict.fromkeys(name for scenario in scenarios for name in scenario)
    found = [Key(*name, tuple(_value(scenario, name) for scenario in scenarios)) for name in names]
    found = [key for key in found if any(value != key.values[0] for value in key.values)]
    found.sort(key=lambda key: order.get(key.group.split("|")[0], len(order)))
    # The on/off key of a feature is redundant next to the other keys of the feature.
    set_ones = [
        key
        for key in found
        if (key.group, key.name) in written
        or all((key.group, key.name) in scenario for scenario in scenarios)
    ]
    set_ones = [
        key
        for key in set_ones
        if (key.group, key.name) in written or not _follows(key, set_ones, written)
    ]
    set_ones = [
        key
        for key in set_ones
        if not any(
            other.group == key.group and other.name.startswith(f"{key.name}.") for other in set_ones
        )
    ]
    shown = {(key.group, key.name) for key in set_ones}
    above = {(group, name.rpartition(".")[0]) for group, name in shown}
    return set_ones, [key for key in found if (key.group, key.name) not in shown | above]


def _follows(key: Key, some: Sequence[Key], written: set[tuple[str, str]]) -> bool:
    """True if a key that is not written in any scenario changes together with a written key of the
    same table: `ecn.kmin` with `ecn.k`."""
    table, dot, _ = key.name.rpartition(".")
    beside = [
        other
        for other in some
        if dot
        and other.group == key.group
        and other.name.startswith(f"{table}.")
        and (other.group, other.name) in written
    ]
    return any(_kinds(other) == _kinds(key) for other in beside)


def _kinds(key: Key) -> list[int]:
    """Returns, for each design, the index of the first design with the same value."""
    return [key.values.index(value) for value in key.values]


def _value(scenario: Mapping[tuple[str, str], Any], name: tuple[str, str]) -> Any:
    """Returns the value of a key. If the key is missing, returns the value of the enclosing table,
    as in `ecn = "off"`."""
    group, key = name
    # A key that is missing in an override has the value of the overridden table.
    for table in dict.fromkeys((group, group.partition("|")[0])):
        above = key
        while above and (table, above) not in scenario:
            above = above.rpartition(".")[0]
        if above:
            return scenario[table, above]
    return None


def _leaves(scenario: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """Returns values by table and key. Overrides and traffic blocks are separate tables, named
    after what they match."""
    found: dict[tuple[str, str], Any] = {}

    def walk(item: Any, group: str, key: str) -> None:
        if isinstance(item, dict):
            for name, inner in item.items():
                walk(inner, group, f"{key}.{name}" if key else name)
        elif isinstance(item, list) and item and all(isinstance(inner, dict) for inner in item):
            for place, inner in enumerate(item):
                match = inner.get("match", inner.get("name", place))
                label = (
                    group
                    if len(item) == 1 and "match" not in inner
                    else f"{group.split('|')[0]}|{match}"
                )
                for name, value in inner.items():
                    if name not in ("match", "name"):
                        walk(value, label, name if key in ("", "override") else f"{key}.{name}")
        else:
            found[group, key] = item

    for table, item in scenario.items():
        if _IGNORED.match(table):
            continue
        if isinstance(item, (dict, list)):
            walk(item, table, "")
        else:
            found[table, table] = item
    return {
        name: value for name, value in found.items() if not _IGNORED.match(f"{name[0]}.{name[1]}")
    }


def section(designs: Designs, terms: Terms) -> str:
    """Returns the section of the page; empty if no key is known to differ."""
    both_kinds = keys(designs) if len(designs) > 1 else None
    if not both_kinds or not any(both_kinds):
        return ""
    found, following = both_kinds if both_kinds[0] else (both_kinds[1], [])
    lead = both(say("differs.lead.one" if len(found) == 1 else "differs.lead", count=len(found)))
    across = len(designs) > _COLUMNS >= len(found)
    body = _by_design(designs, found, terms) if across else _by_key(designs, found, terms)
    if following:
        more = both(
            say(
                "differs.following.one" if len(following) == 1 else "differs.following",
                count=len(following),
            )
        )
        body += f"<details><summary>{more}</summary>{_by_key(designs, following, terms)}</details>"
    return html_section("differs", say("differs.title"), body, f"{lead} {_legend(across)}")


def _legend(across: bool) -> str:
    """Explains what a highlighted value means. The marked sample is the text in brackets."""
    words = say("differs.marked.above" if across else "differs.marked")
    parts = []
    for language, text in (("en", words), ("ja", words.ja)):
        before, _, rest = text.partition("[")
        inside, _, after = rest.partition("]")
        parts.append(
            f'<span lang="{language}">{plain(before)}<mark>{plain(inside)}</mark>{plain(after)}</span>'
        )
    return "".join(parts)


def scroll(table: str, label: Words, columns: int, *, cards: bool = False) -> str:
    """Wraps a table so that it scrolls separately, with a hint. On a phone, a table of `cards`
    stacks its cells instead."""
    kind = f"{' cards' if cards else ''}{' wide' if columns > _COLUMNS else f' of-{columns}'}"
    hint = f'<p class="hint{" cards" if cards else ""}" aria-hidden="true">{both(say("table.scroll"))}</p>'
    return f'{hint}<div class="scroll{kind}" tabindex="0" role="region" aria-label="{plain(label)}">{table}</div>'


def heads(names: Sequence[str], places: Sequence[int]) -> list[str]:
    """Returns the HTML cells of a head row with the names of designs."""
    return [f"{swatch(place)}{plain(name)}" for name, place in zip(names, places, strict=True)]


def _by_key(designs: Designs, found: Sequence[Key], terms: Terms) -> str:
    groups: dict[str, list[str]] = {}
    for key in found:
        cells = "".join(
            f"<td>{_marked(value, place > 0 and value not in key.values[:place])}</td>"
            for place, value in enumerate(key.values)
        )
        groups.setdefault(key.group, []).append(
            f'<tr><th scope="row">{_name(key, terms)}</th>{cells}</tr>'
        )
    rows = [(group, row) for group, some in groups.items() for row in some]

    def table(some: Sequence[tuple[str, str]]) -> str:
        body, last = [], None
        for group, row in some:
            if group != last:
                body.append(
                    f'<tr class="group"><th colspan="{len(designs) + 1}" scope="colgroup">{_group(group)}</th></tr>'
                )
                last = group
            body.append(row)
        head = [unseen("differs.key"), *heads(list(designs), colours(designs))]
        return scroll(
            html_table("grid differs", head, body),
            say("differs.title"),
            len(designs),
        )

    if len(rows) <= _SHOWN + 2:
        return table(rows)
    more = both(say("differs.more", count=len(rows) - _SHOWN))
    return (
        f"{table(rows[:_SHOWN])}<details><summary>{more}</summary>{table(rows[_SHOWN:])}</details>"
    )


def _by_design(designs: Designs, found: Sequence[Key], terms: Terms) -> str:
    rows = []
    for row, (name, place) in enumerate(zip(designs, colours(designs), strict=True)):
        cells = "".join(
            f"<td>{_marked(key.values[row], row > 0 and key.values[row] not in key.values[:row])}</td>"
            for key in found
        )
        rows.append(f'<tr><th scope="row">{swatch(place)}{plain(name)}</th>{cells}</tr>')
    head = [
        unseen("first.design"),
        *(f"<small>{_group(key.group)}</small>{_name(key, terms)}" for key in found),
    ]
    return scroll(
        html_table("grid differs across", head, rows),
        say("differs.title"),
        len(found),
    )


def _name(key: Key, terms: Terms) -> str:
    last = key.name.split(".")[0]
    whole = f"<code>{plain(key.name)}</code>"
    return (
        terms.point(f"key.{key.name}", whole)
        if known(f"term.key.{key.name}")
        else terms.point(f"key.{last}", whole)
    )


def _group(group: str) -> str:
    table, _, of = group.partition("|")
    title = both(known(f"differs.group.{table}") or table)
    return f"{title}: {plain(of)}" if of else title


def _marked(value: Any, new: bool) -> str:
    shown = value_of(value)
    return f"<mark>{shown}</mark>" if new else f"<span>{shown}</span>"


def value_of(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return both(say("differs.yes" if value else "differs.no"))
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    text = setting(value) if not isinstance(value, str) else value
    if len(text) > 40:
        text = f"{text[:38]}…"
    if quantity := _QUANTITY.fullmatch(text):
        text = _scaled(float(quantity[1]), quantity[2])
    return plain(_LETTERS.sub("\N{NO-BREAK SPACE}", text))


#: A number with a unit, and the next larger unit.
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(ps|ns|us|ms|B|kB|MB|bps|kbps|Mbps)")
_NEXT = {
    "ps": "ns",
    "ns": "us",
    "us": "ms",
    "ms": "s",
    "B": "kB",
    "kB": "MB",
    "MB": "GB",
    "bps": "kbps",
    "kbps": "Mbps",
    "Mbps": "Gbps",
}


def _scaled(number: float, unit: str) -> str:
    """Converts to a larger unit if no digit is lost: `2300ns` becomes `2.3us`, `1048576B` becomes
    `1MiB`."""
    if unit == "B" and number and number % 1024 == 0:
        return f"{number / 2**20:g}MiB" if number % 2**20 == 0 else f"{number / 2**10:,.0f}KiB"
    while number >= 1000 and unit in _NEXT and len(f"{number / 1000:.10g}") <= 5:
        number, unit = number / 1000, _NEXT[unit]
    return f"{number:,.10g}{unit.replace('us', 'µs')}"


def colours(designs: Designs) -> list[int]:
    """Returns a colour index for each design. Designs with the same results in every seed share
    one."""
    firsts = alike.firsts(list(designs.values()))
    groups = list(dict.fromkeys(firsts))
    return [groups.index(first) for first in firsts]
