"""A page per table of scenario files, with every key: type, unit, default, range, meaning and an example."""

import html
import re

from .examples import example, scenarios, toml
from .probe import probe
from .schema import Key, Table, document

FOLDER = "reference/keys"

#: Units of plain numbers, by table and key; of all others the number has no unit (a share, a factor, a count of what the text names).
UNITS = {
    "switch.aqm.alpha": "1/s",
    "switch.aqm.beta": "1/s",
    "switch.aqm.limit": "frames",
    "switch.aqm.drop_batch": "frames",
    "switch.device_queue": "frames",
    "switch.override.device_queue": "frames",
    "switch.processor.queue": "frames",
    "switch.voq.evict_packets": "packets",
    "switch.pfc.quanta": "512 bit times",
    "host.pacer.queue_gain": "bps per bit",
    "host.transport.cubic.c": "segments/s³",
    "host.transport.bbr.send_quantum": "segments",
    "host.transport.bbr3.send_quantum": "segments",
    "host.transport.mptcp.queue_segments": "segments",
    "host.transport.delayed_ack.segments": "segments",
    "host.transport.tcp.burst": "segments",
    "host.transport.tcp.initial_window": "segments",
    "host.transport.tcp.max_window": "segments",
    "host.transport.tcp.dupack_threshold": "acknowledgements or segments",
    "host.transport.pfabric.initial_window": "segments",
    "host.transport.pfabric.max_window": "segments",
    "host.transport.pfabric.probe_after": "time-outs",
    "host.transport.ndp.initial_window": "frames",
    "host.transport.rdma.rto_low_frames": "frames",
    "host.transport.swift.ai": "frames",
    "host.transport.swift.fs_max": "frames",
    "host.transport.swift.fs_min": "frames",
    "host.transport.swift.initial_window": "frames",
    "host.transport.swift.max_window": "frames",
    "host.transport.swift.min_window": "frames",
    "host.transport.hpcc.max_stage": "round trips",
    "host.transport.pdq.early_start": "round trips",
    "host.transport.entropy.reps.explore": "frames",
    "traffic.random.flows_per_second": "1/s per source",
    "traffic.partition_aggregate.queries_per_second": "1/s per host",
    "traffic.partition_aggregate.messages_per_second": "1/s per host",
    "traffic.partition_aggregate.background_per_second": "1/s per host",
    "traffic.cluster.map_cpu_per_mb": "time per MB",
    "traffic.cluster.reduce_cpu_per_mb": "time per MB",
    "cost.port": "`cost.currency`",
    "cost.switch": "`cost.currency`",
    "cost.override.port": "`cost.currency`",
    "cost.override.switch": "`cost.currency`",
}


def file(table: Table) -> str:
    """The page's file in its folder."""
    return f"{table.name or 'scenario'}.md"


def anchor(key: Key) -> str:
    return f"{file(key.table)}#{key.name}"


def pages() -> dict[str, str]:
    """Text of each page, by its path below `docs/`."""
    made = {f"{FOLDER}/{file(table)}": page(table) for table in document().tables}
    return made | {f"{FOLDER}/index.md": overview()}


def overview() -> str:
    known = document()
    rows = "".join(
        f"| [`{table.title}`]({file(table)}) | {' '.join(table.text.split()).split('. ')[0].rstrip('.')} | {len(table.keys)} |\n" for table in known.tables
    )
    return (
        "---\ntitle: All tables\n---\n\n# Tables and keys of a scenario\n\n"
        f"Every key that a scenario file may have: {len(list(known.every_key()))} keys in {len(known.tables)} tables, as `afflux schema` prints them. "
        '[Scenario files](../../scenario.md) explains how they work together. Times, sizes and rates are text with a unit, such as `"10us"`.\n\n'
        f"| table | contents | keys |\n|---|---|---|\n{rows}"
    )


def page(table: Table) -> str:
    short = f"{table.parent.title} {table.kind}" if table.kind and table.parent else table.title
    parts = [f"---\ntitle: {quoted(short)}\n---\n", f"# `{table.title}`\n", f"{paragraph(table.text)}\n"]
    if table.kind and table.parent:
        others = [f"[`{key.name}`]({anchor(key)})" for key in table.parent.keys if key.name != "kind"]
        if others:
            parts.append(f"Keys of every kind are on [`{table.parent.title}`]({file(table.parent)}): {', '.join(others)}.\n")
    elif table.parent and table.parent.name:
        parts.append(f"Part of [`{table.parent.title}`]({file(table.parent)}).\n")
    if table.also:
        parts.append(f"The same table may stand at {', '.join(f'`{place}`' for place in table.also)}.\n")
    parts.append(f"```toml\n{sample(table)}\n```\n")
    if table.kinds:
        parts.append(kinds(table))
    parts.append("## Keys\n")
    parts += [entry(key) for key in table.keys]
    return "\n".join(parts)


def sample(table: Table) -> str:
    """The table as a scenario of the repository has it, or with some of its keys."""
    if not table.name:
        return 'format = 1\nname = "incast"\n\n[topology]\nkind = "star"\nhosts = 9'
    found = [data for data in occurrences(table) if 0 < len(data) <= 10 and all(len(toml(value)) <= 70 for value in data.values())]
    own = {key.name for key in table.keys}
    if found:
        data = next((data for data in found if len(own & data.keys()) >= 2), found[0])
    else:
        data = {"kind": table.kind} if table.kind else {}
        data |= {key.name: example(key) for key in [key for key in table.keys if key.required] or table.keys[:2]}
    header = f"[[{table.place}]]" if table.array else f"[{table.place}]"
    return "\n".join([header, *(f"{name} = {toml(value)}" for name, value in data.items())])


def occurrences(table: Table) -> list[dict]:
    found: list[dict] = []
    for scenario in scenarios():
        level = [scenario]
        for step in table.place.split("."):
            inner = [part[step] for part in level if isinstance(part, dict) and step in part]
            level = [one for part in inner for one in (part if isinstance(part, list) else [part])]
        found += [part for part in level if isinstance(part, dict) and (table.kind is None or part.get("kind") == table.kind)]
    return found


def kinds(table: Table) -> str:
    rows = []
    for kind, text in table.kinds.items():
        variant = table.variants.get(kind)
        name = f'[`"{kind}"`]({file(variant)})' if variant else f'`"{kind}"`'
        rows.append(f"| {name} | {cell(text)} | {len(variant.keys) if variant else '–'} |\n")
    return f"## Kinds\n\n| `kind` | meaning | keys |\n|---|---|---|\n{''.join(rows)}"


def entry(key: Key) -> str:
    facts = [
        ("Type", types(key)),
        ("Unit", unit(key)),
        ("Default", default(key)),
        ("Range", limits(key)),
        ("Example", code(f"{key.name} = {toml(example(key))}")),
    ]
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts if value)
    parts = [f"### `{key.name}` {{ #{key.name} }}\n", f"{paragraph(key.text)}\n", f'<dl class="facts">{rows}</dl>\n']
    if key.type.choices and key.name != "kind" and any(text for _, text in key.type.choices):
        parts.append("| value | meaning |\n|---|---|\n" + "".join(f"| `{toml(value)}` | {cell(text) or '–'} |\n" for value, text in key.type.choices))
    if key.type.tables:
        places = [document().by_definition[name] for name in key.type.tables]
        parts.append("Its keys: " + ", ".join(f"[`{place.title}`]({file(place)})" for place in places) + ".\n")
    return "\n".join(parts)


def types(key: Key) -> str:
    words = [inline(word) for word in key.type.words]
    bare = [code(toml(value)) for value, text in key.type.choices if not any(said for _, said in key.type.choices)]
    if bare and "one of these words" in words:
        at = words.index("one of these words")
        words[at : at + 1] = bare
    return " or ".join(word.replace("one of these words", "a word of the table below") if key.name != "kind" else "a word of the table above" for word in words)


def unit(key: Key) -> str:
    if (own := UNITS.get(f"{key.table.name}.{key.name}")) is not None:
        return inline(own)
    if key.type.units:
        return html.escape("; ".join(key.type.units))
    return "none" if key.type.number else ""


def default(key: Key) -> str:
    if key.required:
        return "none: the key must be written"
    if key.default:
        return inline(key.default)
    return "see the text" if re.search(r"\bDefault\b", key.text) else "none"


def limits(key: Key) -> str:
    low, high = key.type.low, key.type.high
    said = None if low is not None and high is not None else probe().range(key)
    if said is not None:
        return inline(re.sub(r'("[^"]*")', r"`\1`", said))
    stated = re.search(r"\b(\d[\d,]*) (?:\([^)]*\) )?to (\d[\d,]*)\b(?! %|\s?[a-zA-Z]*Hz)", key.text) if key.type.number and high is None else None
    if stated:
        return f"{stated[1]} to {stated[2]}"
    if low is not None and high is not None:
        return f"{number(low)}" if low == high else f"{number(low)} to {number(high)}"
    if low is not None and key.type.number:
        return f"from {number(low)}"
    return ""


def number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def paragraph(text: str) -> str:
    """Text of the schema; what it says about several kinds becomes a list."""
    text = " ".join(text.split())
    if len(re.findall(r"\bWith `\w+`: ", text)) > 1:
        first, *rest = re.split(r"\s*\bWith (`\w+`): ", text)
        items = "".join(f"- With {kind}: {said.strip()}\n" for kind, said in zip(rest[::2], rest[1::2], strict=True))
        return f"{first.strip()}\n\n{items}"
    return text[:1].upper() + text[1:]


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def inline(text: str) -> str:
    """HTML of a line with code in backticks."""
    parts = re.split(r"`([^`]*)`", text)
    return "".join(code(part) if index % 2 else html.escape(part, quote=False) for index, part in enumerate(parts))


def code(text: str) -> str:
    return f"<code>{html.escape(text, quote=False)}</code>"


def quoted(text: str) -> str:
    """As a value of a page's front matter."""
    return "'" + text.replace("'", "''") + "'"
