"""Pages of the models of `afflux models`, one each: source, fidelity, limits, keys, and rows of the
validation."""

import re
from itertools import groupby

from afflux import _core
from afflux.reference.document import Key, Table, document

from . import keys, validated
from .examples import toml

FOLDER = "reference/models"

#: Description of the models of a kind, and the key that selects one. `{}` is the model's name.
#: Without a key, the text says where it is set.
KINDS: dict[str, tuple[str, str]] = {
    "application": ("Applications whose transfers depend on each other", "traffic.hadoop"),
    "arrivals": ("Gaps between the flows of a source", "traffic.random.arrivals"),
    "balance": ("Choice among equal-cost paths", "switch.balance"),
    "buffer": ("Who may occupy the memory of a switch", "switch.sharing"),
    "compat": (
        "Deviations of another simulator that can be copied, to compare with it",
        "run.compat",
    ),
    "congestion control": (
        "Congestion control of TCP and of RDMA's queue pairs",
        "host.transport.tcp.congestion",
    ),
    "deadlines": ("Deadlines of flows", "traffic.deadline"),
    "engine": ("Engines that are not packet by packet", "run.engine"),
    "fault": ("Links that lose frames or are down", "topology.fault"),
    "flow control": ("Priority flow control, and what watches it", "switch.pfc"),
    "flow sizes": ("Distributions of flow sizes", "traffic.random.sizes"),
    "host": ("What a host does besides its transport", "host"),
    "kernel": ("Real Linux kernels in simulated time", "host.kernel"),
    "live": ("Real hosts in real time", ""),
    "load basis": ("What a load is a share of", "traffic.random.load_basis"),
    "marking": ("Marking of ECN-capable frames by the length of a queue", "switch.ecn"),
    "queue discipline": ("Queue disciplines that control delay", "switch.aqm"),
    "queueing discipline of hosts": ("Queueing disciplines of hosts", "host.qdisc"),
    "scheduling": ("Which frame a port sends next", "switch.scheduling"),
    "slow start": ("How CUBIC leaves slow start", "host.transport.cubic.hystart"),
    "switch preset": ("Switches as they are bought", "switch.preset"),
    "topology": ("Fabrics", "topology"),
    "traffic import": ("Formats of flow lists", "traffic.flows.format"),
    "traffic pattern": ("Who sends to whom, and when", "traffic"),
    "transport": ("How hosts send", "host.transport"),
    "wire": ("Sizes of frames", "host.wire"),
}

#: Tables and keys of a model, if its kind does not determine them.
KEYS: dict[str, tuple[str, ...]] = {
    "application/hadoop: mapreduce": ("traffic.hadoop", "traffic.cluster"),
    "application/hadoop: tez": ("traffic.hadoop", "traffic.cluster"),
    "application/hadoop trace": ("traffic.hadoop_trace", "traffic.cluster"),
    "balance/reps": ("host.transport.entropy.reps",),
    "host/qdisc": ("host.qdisc", "host.bql", "host.hardware_queues"),
    'balance/ecmp with hash = "murmur3"': ("switch.hash",),
    "buffer/static": ("switch.buffer",),
    "buffer/dynamic": ("switch.alpha", "switch.buffer", "switch.reserved"),
    "buffer/voq": ("switch.voq",),
    "buffer/voq_pfc": ("switch.voq", "switch.pfc"),
    "buffer/sonic": ("switch.mmu",),
    "buffer/conweave": ("switch.mmu",),
    "buffer/hpcc": ("switch.mmu",),
    "congestion control/coupled": ("host.transport.mptcp",),
    "congestion control/bbr (ns-3)": ("host.transport.bbr",),
    "congestion control/python": ("host.transport.tcp",),
    "fault/loss": ("topology.fault",),
    "fault/down": ("topology.fault.down",),
    "fault/mtu": ("topology.override.mtu", "topology.link.mtu"),
    "flow control/pfc": ("switch.pfc",),
    "flow control/watchdog": ("switch.pfc.watchdog",),
    "flow control/deadlock": ("switch.pfc.deadlock_after",),
    "flow sizes/file": ("traffic.sizes",),
    "flow sizes/fixed": ("traffic.sizes",),
    "flow sizes/uniform": ("traffic.sizes",),
    "flow sizes/exponential": ("traffic.sizes",),
    "host/pacer": ("host.pacer",),
    "host/processor": ("host.processor",),
    "host/timing": ("host.timing",),
    "marking/ecn_sharp": ("switch.aqm",),
    "marking/phantom": ("switch.aqm",),
    "scheduling/trimming": ("switch.trimming",),
    "scheduling/dwrr": ("switch.queue",),
    "scheduling/ets": ("switch.queue",),
    "scheduling/strict_priority": ("switch.queue", "switch.priorities"),
    "traffic pattern/spatial": (
        "traffic.random.matrix",
        "traffic.random.rack_local",
        "traffic.hotspot",
    ),
    "traffic pattern/stride": ("traffic.permutation.stride",),
    "traffic pattern/constant_rate": ("traffic.datagram",),
    "transport/mptcp": ("host.transport.mptcp",),
    "wire/linux": ("host.wire",),
}

#: Lines that select a model, if its name is not the word to write.
CHOICE: dict[str, str] = {
    "host/qdisc": '[host]\nqdisc = "fq_codel"',
    "balance/reps": '[host.transport]\nkind = "rdma"\nentropy = "reps"',
    'balance/ecmp with hash = "murmur3"': '[switch]\nbalance = "ecmp"\nhash = "murmur3"',
    "application/hadoop: mapreduce": '[[traffic]]\nkind = "hadoop"\nsize = "10GB"',
    "application/hadoop: tez": '[[traffic]]\nkind = "hadoop"\nframework = "tez"\nsize = "10GB"',
    "application/hadoop trace": '[[traffic]]\nkind = "hadoop_trace"\nfile = "jobs.tsv"',
    "buffer/voq_pfc": '[switch]\nsharing = "voq"\nvoq = { xoff = "1MB" }\npfc = { priorities = [3] }',
    "congestion control/coupled": '[host.transport]\nmptcp = { coupling = "lia" }',
    "congestion control/bbr (ns-3)": '[host.transport]\ncongestion = "bbr"\nbbr = { flavour = "ns3" }',
    "deadlines/exponential": '[[traffic]]\ndeadline = { mean = "20ms" }',
    "fault/loss": '[[topology.fault]]\nlink = "leaf0-spine1"\nloss = "0.1%"',
    "fault/down": '[[topology.fault]]\nlink = "leaf0-spine1"\ndown = [{ from = "10ms", to = "20ms" }]',
    "fault/mtu": '[[topology.override]]\nlink = "leaf0-spine1"\nmtu = "1500B"',
    "flow control/pfc": '[switch]\nsharing = "sonic"\npfc = { priorities = [3, 4] }',
    "flow control/watchdog": '[switch.pfc]\nwatchdog = { detection = "200ms" }',
    "flow control/deadlock": '[switch.pfc]\ndeadlock_after = "10ms"',
    "flow sizes/file": '[[traffic]]\nsizes = { file = "sizes.txt" }',
    "flow sizes/fixed": '[[traffic]]\nsizes = "1MB"',
    "flow sizes/uniform": '[[traffic]]\nsizes = { min = "2kB", max = "20kB" }',
    "flow sizes/exponential": '[[traffic]]\nsizes = { mean = "100kB" }',
    "host/pacer": "[host.pacer]",
    "host/processor": '[host]\nprocessor = { packet_time = "1us" }',
    "host/timing": "[host]\ntiming = {}",
    "marking/ecn step": '[switch]\necn = { k = "100kB" }',
    "marking/red": '[switch]\necn = { kmin = "100kB", kmax = "400kB", pmax = 0.2 }',
    "marking/ecn_sharp": '[switch]\naqm = { kind = "ecn_sharp" }',
    "marking/phantom": '[switch]\naqm = { kind = "phantom" }',
    "scheduling/trimming": "[switch]\ntrimming = {}",
    "slow start/hystart": '[host.transport]\ncubic = { hystart = "plusplus" }',
    "traffic import/flow list": '[[traffic]]\nkind = "flows"\nfile = "flows.csv"',
    "traffic pattern/spatial": '[[traffic]]\nkind = "random"\nsizes = "websearch"\nrack_local = 0.5',
    "traffic pattern/stride": '[[traffic]]\nkind = "permutation"\nsizes = "1MB"\nstride = 4',
    "traffic pattern/constant_rate": '[[traffic]]\nkind = "datagram"\npairs = [[0, 1]]\nrate = "1Gbps"',
    "transport/mptcp": "[host.transport]\nmptcp = { subflows = 2 }",
}


#: Pages that describe the use of a model.
SEE = {
    "live/real hosts": "live.md",
    "kernel/Linux kernels": "kernels.md",
    "congestion control/python": "python.md",
}


def every() -> list["_core.Model"]:
    return sorted(_core.models(), key=lambda model: model.kind)


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def file(model: "_core.Model") -> str:
    """Returns the file name of the page."""
    return f"{slug(model.kind)}/{slug(model.name)}.md"


def pages() -> dict[str, str]:
    """Returns the text of each page, by its path below `docs/`."""
    models = every()
    made = {f"{FOLDER}/{file(model)}": page(model) for model in models}
    groups = [(kind, list(group)) for kind, group in groupby(models, key=lambda model: model.kind)]
    made |= {f"{FOLDER}/{slug(kind)}/index.md": kind_page(kind, group) for kind, group in groups}
    rows = "".join(
        f"| [{kind}]({slug(kind)}/index.md) | {KINDS[kind][0]} | {', '.join(f'[{model.name}]({file(model)})' for model in group)} |\n"
        for kind, group in groups
    )
    head = (
        "---\ntitle: All models\n---\n\n# Models\n\n"
        f"The {len(models)} models that afflux has, as `afflux models` lists them. Each page says what the model follows, what it simplifies, how it is "
        "chosen, and which rows of the [validation](../../validation.md) are about it.\n\n"
    )
    return made | {
        f"{FOLDER}/index.md": f"{head}| kind | contents | models |\n|---|---|---|\n{rows}"
    }


def on_key_pages(pages: dict[str, str]) -> dict[str, str]:
    """Returns the pages of tables, with links to the models that have keys there."""
    at: dict[str, list[str]] = {}
    for model in every():
        for place in places_of(model):
            if isinstance(table := find(place), Table):
                at.setdefault(f"{keys.FOLDER}/{keys.file(table)}", []).append(
                    f"[{model.name}](../models/{file(model)})"
                )
    return {
        path: text.replace(
            "\n## Keys\n",
            f"\n{'Model' if len(at[path]) == 1 else 'Models'}: {', '.join(at[path])}.\n\n## Keys\n",
            1,
        )
        if path in at
        else text
        for path, text in pages.items()
    }


def kind_page(kind: str, group: list["_core.Model"]) -> str:
    text, place = KINDS[kind]
    where = f" Chosen by {link(place)}." if place else ""
    # If all models of a kind have the same source, the table shows what each models instead.
    alike = len({model.source for model in group}) == 1 < len(group)
    texts = [split(model.faithful)[0] if alike else model.source for model in group]
    rows = "".join(
        f"| [{model.name}]({slug(model.name)}.md) | {keys.cell(text)} |\n"
        for model, text in zip(group, texts, strict=True)
    )
    head = "modelled" if alike else "source"
    return f"---\ntitle: {keys.quoted(capital(kind))}\n---\n\n# {capital(kind)}\n\n{text}.{where}\n\n| model | {head} |\n|---|---|\n{rows}"


def page(model: "_core.Model") -> str:
    name = f"{model.kind}/{model.name}"
    parts = [f"---\ntitle: {keys.quoted(model.name)}\n---\n", f"# {model.name}\n"]
    parts.append(
        f"Kind: [{model.kind}](index.md) ({KINDS[model.kind][0][0].lower()}{KINDS[model.kind][0][1:]})\n"
    )
    parts.append(f"Source: {model.source if model.source != '-' else 'none, a definition'}\n")
    if (chosen := choice(model)) is not None:
        parts.append(f"```toml\n{chosen}\n```\n")
    if name in SEE:
        parts.append(f"How it is used: [{SEE[name].removesuffix('.md')}](../../../{SEE[name]}).\n")
    parts.append(f"## Modelled\n\n{items(model.faithful)}")
    parts.append(
        f"## Simplified\n\n{items(model.simplified) if model.simplified else 'Nothing that is known.'}\n"
    )
    if places := places_of(model):
        parts.append(
            "## Keys\n\n" + "".join(f"- {link(place)}{contents(place)}\n" for place in places)
        )
    parts.append(f"## Validation\n\n{validation(name)}")
    return "\n".join(parts)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def split(text: str) -> list[str]:
    """Returns the items of a row, which are separated by semicolons outside parentheses."""
    return [part for part in re.split(r"; (?![^(]*\))", text) if part]


def items(text: str) -> str:
    return "".join(f"- {part}\n" for part in split(text))


def choice(model: "_core.Model") -> str | None:
    """Returns the lines of a scenario that select the model."""
    if (own := CHOICE.get(f"{model.kind}/{model.name}")) is not None:
        return own
    place = KINDS[model.kind][1]
    if model.kind in ("balance", "wire"):
        header, _, name = place.rpartition(".")
        return f"[{header}]\n{name} = {toml(model.name)}"
    if model.kind == "compat":
        return '[run]\ncompat = "conweave-ns3"'
    if model.kind == "congestion control" and (key := controlled(model.name)):
        kind = "" if key.table.kind == "tcp" else f'kind = "{key.table.kind}"\n'
        return f'[host.transport]\n{kind}congestion = "{model.name}"'
    found = find(place)
    if (
        isinstance(found, Key) and model.name in [word for word, _ in found.type.choices]
    ) or model.kind == "flow sizes":
        assert isinstance(found, Key)
        header = f"[[{found.table.place}]]" if found.table.array else f"[{found.table.place}]"
        kind = f'kind = "{found.table.kind}"\n' if found.table.kind else ""
        return f"{header}\n{kind}{found.name} = {toml(model.name)}"
    if not isinstance(found, Key) and found is not None and model.name in found.kinds:
        header = f"[[{found.place}]]" if found.array else f"[{found.place}]"
        return f'{header}\nkind = "{model.name}"'
    table, _, name = place.rpartition(".")
    if (
        not isinstance(found, Key)
        and found is not None
        and (kind_key := found.key("kind"))
        and model.name in [word for word, _ in kind_key.type.choices]
    ):
        return f'[{table}]\n{name} = {{ kind = "{model.name}" }}'
    return None


def controlled(name: str) -> Key | None:
    """Returns the key `congestion` that accepts the name of a congestion control."""
    for table in ("host.transport.tcp", "host.transport.rdma"):
        key = document().table(table).key("congestion")
        if key and name in [word for word, _ in key.type.choices]:
            return key
    return None


def places_of(model: "_core.Model") -> list[str]:
    """Returns the tables and keys of the model, in the form that `find` accepts."""
    if (own := KEYS.get(f"{model.kind}/{model.name}")) is not None:
        return list(own)
    place = KINDS[model.kind][1]
    if model.kind == "congestion control" and (key := controlled(model.name)):
        inner = f"host.transport.{model.name}"
        return [f"{key.table.name}.congestion", *([inner] if find(inner) else [])]
    if place and find(f"{place}.{model.name}"):
        return [f"{place}.{model.name}"]
    return [place] if place else []


def find(place: str) -> Table | Key | None:
    """Returns the table or the key with this name."""
    known = document()
    for table in known.tables:
        if table.name == place:
            return table
    parent, _, name = place.rpartition(".")
    return next(
        (
            key
            for table in known.tables
            if table.name == parent
            for key in table.keys
            if key.name == name
        ),
        None,
    )


def link(place: str) -> str:
    """Returns a link to a table or key, relative to the folder of a kind."""
    found = find(place)
    assert found is not None, place
    if isinstance(found, Key):
        return f"[`{found.name}` in `{found.table.title}`](../../keys/{keys.anchor(found)})"
    return f"[`{found.title}`](../../keys/{keys.file(found)})"


def contents(place: str) -> str:
    """Returns the names of a table's keys."""
    found = find(place)
    names = [f"`{key.name}`" for key in found.keys] if isinstance(found, Table) else []
    return f": {', '.join(names)}" if names else ""


def validation(model: str) -> str:
    held, missed = validated.of(model, "Within the bar"), validated.of(model, "Outside the bar")
    if not held and not missed:
        return "No row of the [validation](../../../validation.md) is about it.\n"
    parts = [
        "Rows of the [validation](../../../validation.md) whose runs use the model, together with others. The ratio is ours over theirs.\n"
    ]
    if held:
        parts.append(
            "| reference | metric | rows within | median ratio | furthest ratio |\n|---|---|---|---|---|"
        )
        parts[-1] += (
            "".join(f"\n| {row[0]} | {row[1]} | {row[2]} | {row[3]} | {row[4]} |" for row in held)
            + "\n"
        )
    if missed:
        parts.append(
            "Outside the bar, with the hypotheses that were tested on [its page](../../../validation.md):\n"
        )
        parts.append(
            "| reference | run | metric | theirs | ours (least – greatest) | ratio | bar |\n|---|---|---|---|---|---|---|"
        )
        parts[-1] += "".join("\n| " + " | ".join(row[:7]) + " |" for row in missed) + "\n"
    return "\n".join(parts)
