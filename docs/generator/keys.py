"""Pages of the tables of scenario files, one each, with every key: type, unit, default, range,
meaning and an example."""

import html
import re

from afflux.reference import facts
from afflux.reference.document import Key, Table, document

from .examples import example, scenarios, toml

FOLDER = "reference/keys"


def file(table: Table) -> str:
    """Returns the file name of the page."""
    return f"{table.name or 'scenario'}.md"


def anchor(key: Key) -> str:
    return f"{file(key.table)}#{key.name}"


def pages() -> dict[str, str]:
    """Returns the text of each page, by its path below `docs/`."""
    made = {f"{FOLDER}/{file(table)}": page(table) for table in document().tables}
    return made | {f"{FOLDER}/index.md": overview()}


def overview() -> str:
    known = document()
    rows = "".join(
        f"| [`{table.title}`]({file(table)}) | {' '.join(table.text.split()).split('. ')[0].rstrip('.')} | {len(table.keys)} |\n"
        for table in known.tables
    )
    return (
        "---\ntitle: All tables\n---\n\n# Tables and keys of a scenario\n\n"
        f"Every key that a scenario file may have: {len(list(known.every_key()))} keys in {len(known.tables)} tables, as `afflux schema` prints them. "
        '[Scenario files](../../scenario.md) explains how they work together. Times, sizes and rates are text with a unit, such as `"10us"`.\n\n'
        f"| table | contents | keys |\n|---|---|---|\n{rows}"
    )


def page(table: Table) -> str:
    short = f"{table.parent.title} {table.kind}" if table.kind and table.parent else table.title
    parts = [
        f"---\ntitle: {quoted(short)}\n---\n",
        f"# `{table.title}`\n",
        f"{paragraph(table.text)}\n",
    ]
    if table.kind and table.parent:
        others = [
            f"[`{key.name}`]({anchor(key)})" for key in table.parent.keys if key.name != "kind"
        ]
        if others:
            parts.append(
                f"Keys of every kind are on [`{table.parent.title}`]({file(table.parent)}): {', '.join(others)}.\n"
            )
    elif table.parent and table.parent.name:
        parts.append(f"Part of [`{table.parent.title}`]({file(table.parent)}).\n")
    if table.also:
        parts.append(
            f"The same table may stand at {', '.join(f'`{place}`' for place in table.also)}.\n"
        )
    parts.append(f"```toml\n{sample(table)}\n```\n")
    if table.kinds:
        parts.append(kinds(table))
    parts.append("## Keys\n")
    parts += [entry(key) for key in table.keys]
    return "\n".join(parts)


def sample(table: Table) -> str:
    """Returns the table as in a scenario of the repository, or with some of its keys."""
    if not table.name:
        return 'format = 1\nname = "incast"\n\n[topology]\nkind = "star"\nhosts = 9'
    found = [
        data
        for data in occurrences(table)
        if 0 < len(data) <= 10 and all(len(toml(value)) <= 70 for value in data.values())
    ]
    own = {key.name for key in table.keys}
    if found:
        data = next((data for data in found if len(own & data.keys()) >= 2), found[0])
    else:
        data = {"kind": table.kind} if table.kind else {}
        data |= {
            key.name: example(key)
            for key in [key for key in table.keys if key.required] or table.keys[:2]
        }
    header = f"[[{table.place}]]" if table.array else f"[{table.place}]"
    return "\n".join([header, *(f"{name} = {toml(value)}" for name, value in data.items())])


def occurrences(table: Table) -> list[dict]:
    found: list[dict] = []
    for scenario in scenarios():
        level = [scenario]
        for step in table.place.split("."):
            inner = [part[step] for part in level if isinstance(part, dict) and step in part]
            level = [one for part in inner for one in (part if isinstance(part, list) else [part])]
        found += [
            part
            for part in level
            if isinstance(part, dict) and (table.kind is None or part.get("kind") == table.kind)
        ]
    return found


def kinds(table: Table) -> str:
    rows = []
    for kind, text in table.kinds.items():
        variant = table.variants.get(kind)
        name = f'[`"{kind}"`]({file(variant)})' if variant else f'`"{kind}"`'
        rows.append(f"| {name} | {cell(text)} | {len(variant.keys) if variant else '–'} |\n")
    return f"## Kinds\n\n| `kind` | meaning | keys |\n|---|---|---|\n{''.join(rows)}"


def entry(key: Key) -> str:
    computed = facts.computed(key)
    known = [
        ("Type", facts.type_of(key, here=False)),
        ("Unit", facts.unit(key)),
        ("Default", facts.default(key)),
        ("Computed", computed and f"`{toml(computed)}` {facts.SMALL}"),
        ("Range", facts.limits(key)),
        ("Example", f"`{key.name} = {toml(example(key))}`"),
    ]
    rows = "".join(
        f"<div><dt>{name}</dt><dd>{inline(value)}</dd></div>" for name, value in known if value
    )
    parts = [
        f"### `{key.name}` {{ #{key.name} }}\n",
        f"{paragraph(key.text)}\n",
        f'<dl class="facts">{rows}</dl>\n',
    ]
    if key.type.choices and key.name != "kind" and any(text for _, text in key.type.choices):
        parts.append(
            "| value | meaning |\n|---|---|\n"
            + "".join(
                f"| `{toml(value)}` | {cell(text) or '–'} |\n" for value, text in key.type.choices
            )
        )
    if key.type.tables:
        places = [document().by_definition[name] for name in key.type.tables]
        parts.append(
            "Its keys: "
            + ", ".join(f"[`{place.title}`]({file(place)})" for place in places)
            + ".\n"
        )
    return "\n".join(parts)


def paragraph(text: str) -> str:
    """Returns a text of the schema. Descriptions for several kinds become a list."""
    text = " ".join(text.split())
    if len(re.findall(r"\bWith `\w+`: ", text)) > 1:
        first, *rest = re.split(r"\s*\bWith (`\w+`): ", text)
        items = "".join(
            f"- With {kind}: {said.strip()}\n"
            for kind, said in zip(rest[::2], rest[1::2], strict=True)
        )
        return f"{first.strip()}\n\n{items}"
    return text[:1].upper() + text[1:]


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def inline(text: str) -> str:
    """Returns the HTML of a line with code in backticks."""
    parts = re.split(r"`([^`]*)`", text)
    return "".join(
        code(part) if index % 2 else html.escape(part, quote=False)
        for index, part in enumerate(parts)
    )


def code(text: str) -> str:
    return f"<code>{html.escape(text, quote=False)}</code>"


def quoted(text: str) -> str:
    """Quotes a value of a page's front matter."""
    return "'" + text.replace("'", "''") + "'"
