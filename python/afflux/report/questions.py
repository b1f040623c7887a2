"""Words the question of a report: the designs, the fabric, its traffic, the transports, the seeds.
The facts come from resolved scenarios and from the links of a run."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import PurePath
from typing import Any

from ..files import toml
from ..results.designs import Design, Designs
from ..words import Words, has, join, known, say, text

#: Limits of the question: designs that it names, clauses about traffic, and incasts in a clause.
_NAMED, _CLAUSES, _INCASTS = 5, 3, 8


def label(name: str) -> str:
    """Formats the name of a point of a sweep for readers: `buffer 200 packets, ecn.k 15
    packets`."""
    parts = [part.partition("=") for part in name.split(",")]
    return ", ".join(
        f"{key.partition('.')[2] or key} {_value(value)}".replace(" ", "\N{NO-BREAK SPACE}")
        for key, _, value in parts
    )


def is_point(name: str) -> bool:
    """True if a name is that of a point of a sweep."""
    return all("=" in part for part in name.split(","))


def question(designs: Designs) -> Words:
    names = list(designs)
    setting = _setting(list(designs.values()))
    if len(names) == 1:
        return setting or say("asked.one", design=names[0])
    if len(names) == 2:
        opening = say("asked.two", first=names[0], second=names[1])
    elif keys := _varied(names):
        opening = say(
            "asked.sweep.one" if len(keys) == 1 else "asked.sweep",
            keys=_listed(keys, "asked.and"),
            count=len(names),
        )
    elif len(names) <= _NAMED:
        opening = say("asked.some", names=_listed(names, "asked.or"))
    else:
        opening = say("asked.many", count=len(names))
    return join([part for part in (opening, setting) if part])


def _varied(names: Sequence[str]) -> list[str]:
    """Returns the keys of the points of a sweep, from their labels. Empty if the names are not such
    labels."""
    found = {
        tuple(part.partition("\N{NO-BREAK SPACE}")[0] for part in name.split(", "))
        for name in names
    }
    labels = all("\N{NO-BREAK SPACE}" in part for name in names for part in name.split(", "))
    return list(found.pop()) if labels and len(found) == 1 else []


def _setting(designs: Sequence[Design]) -> Words:
    scenarios = [toml.with_defaults(text) for design in designs if (text := design.first.scenario)]
    parts = [_fabric(designs[0])]
    if scenarios:
        names = designs[0].first.summary.get("host_names", [])
        parts += [
            _one_of(scenarios, lambda scenario: _traffic(scenario, names)),
            _one_of(scenarios, lambda scenario: _kernels(scenario, _nodes(designs[0])[0])),
        ]
        if any(scenario.get("traffic") or not _kernel_blocks(scenario) for scenario in scenarios):
            parts.append(_controls(scenarios) or _one_of(scenarios, _transports))
    parts.append(_seeds(designs))
    shown = [part for part in parts if part]
    return (
        say("asked.setting", parts=join(shown, ("; ", "、"))) if len(shown) > 1 else Words("", "")
    )


def _one_of(
    scenarios: Sequence[Mapping[str, Any]], of: Callable[[Mapping[str, Any]], Words]
) -> Words:
    """Words a property of the designs. If they differ in it, lists two or three values, or gives
    the first with a hint that it varies."""
    found: dict[str, Words] = {}
    for scenario in scenarios:
        words = of(scenario)
        found.setdefault(str(words), words)
    every = list(found.values())
    if len(every) == 1:
        return every[0]
    if len(every) <= 3 and sum(map(len, every)) < 60:
        return _listed(every, "asked.or")
    return say("asked.varied", first=every[0])


def _listed(some: Sequence[str], key: str) -> Words:
    *most, last = some
    return (
        say(key, most=join(most, (", ", "、")), last=last)
        if most
        else Words(last, last.ja if isinstance(last, Words) else last)
    )


# Fabric.


def _nodes(design: Design) -> tuple[list[str], list[str]]:
    """Returns the names of the hosts and of the switches. Both are empty if links were not
    recorded."""
    result = design.first
    if "links" not in result.recorded:
        return [], []
    nodes = dict.fromkeys([*result.links.column("from"), *result.links.column("to")])
    return (
        [node for node in nodes if result.is_host(node)],
        [node for node in nodes if not result.is_host(node)],
    )


def _fabric(design: Design) -> Words:
    result = design.first
    hosts, switches = _nodes(design)
    if not hosts:
        return Words("", "")
    at_hosts = [
        rate
        for node, rate in zip(
            result.links.column("from"), result.links.column("rate_bps"), strict=True
        )
        if result.is_host(node)
    ]
    rates = sorted(set(at_hosts))
    rate = (
        _rate(rates[0])
        if len(rates) == 1
        else say("asked.rates", low=_rate(rates[0]), high=_rate(rates[-1]))
    )
    kind, values = "custom", {}
    if written := result.scenario:
        topology = toml.with_defaults(written)["topology"]
        kind = topology["kind"]
        values = {
            name: topology[name]
            for name in ("leaves", "spines", "k", "levels", "ports")
            if name in topology
        }
    words = {
        "hosts": text.count(len(hosts)),
        "switches": text.count(len(switches)),
        "rate": rate,
        **values,
    }
    if not has(f"asked.fabric.{kind}"):
        kind = "custom"
    return say(
        f"asked.fabric.{kind}" if kind != "custom" or len(switches) != 1 else "asked.fabric.one",
        **words,
    )


def _rate(bps: float) -> str:
    return _short(text.rate(bps))


def _short(shown: str) -> str:
    """Removes zeros after the decimal point: `25.0 Gbps` becomes `25 Gbps`."""
    value, _, unit = shown.partition(" ")
    return f"{value.rstrip('0').rstrip('.') if '.' in value else value} {unit}"


# Traffic.


def _traffic(scenario: Mapping[str, Any], names: Sequence[str] = ()) -> Words:
    """Words the traffic. `names` are the names of the hosts, if they have names."""
    blocks = scenario.get("traffic", [])
    clauses: dict[str, Words] = {}
    incasts: dict[str, list[int]] = {}
    for place, block in enumerate(blocks):
        # Incasts of one size share a clause, which names each of them with its senders. The clause
        # stands at the place of the first one.
        key = (
            f"incasts{_size(block)}{block.get('bytes', block.get('total'))}"
            if block["kind"] == "incast"
            else ""
        )
        words = Words("", "") if key else _clause(block)
        clauses.setdefault(key or str(words), words)
        if key:
            incasts.setdefault(key, []).append(place)
    shown = [
        _incasts(blocks, incasts[key], names) if key in incasts else words
        for key, words in clauses.items()
    ]
    if len(shown) > _CLAUSES:
        shown = [*shown[: _CLAUSES - 1], say("asked.more", count=len(shown) - _CLAUSES + 1)]
    return _listed(shown, "asked.and") if shown else Words("", "")


def _clause(block: Mapping[str, Any]) -> Words:
    kind = block["kind"]
    values = {name: _value(item) for name, item in block.items() if not isinstance(item, dict)}
    if "sizes" in block:
        values["sizes"] = _sizes(block["sizes"])
    key = f"asked.traffic.{kind}"
    match kind:
        case "random":
            if "load" in block:
                key += ".load"
                values |= {
                    "percent": _short(f"{100 * float(block['load']):.1f} x")[:-2],
                    "basis": known(f"asked.basis.{block['load_basis']}") or block["load_basis"],
                }
            elif "flows_per_second" not in block:
                key += ".some"
        case "pairs":
            key += (
                f".{'one' if len(block['pairs']) == 1 else 'many'}"
                if isinstance(block.get("pairs"), list)
                else ""
            )
            values["pairs"] = (
                str(len(block["pairs"])) if isinstance(block.get("pairs"), list) else ""
            )
        case "background":
            key += ".node" if block.get("per") == "node" else ""
            values["rate"] = _value(block.get("rate", ""))
        case "hadoop":
            values["framework"] = known(f"asked.framework.{block.get('framework')}") or str(
                block.get("framework")
            )
            values["size"] = _value(block.get("size", ""))
        case "flows" | "hadoop_trace":
            values["file"] = PurePath(str(block.get("file", ""))).name
    if not has(key):
        key = "asked.traffic.other"
        values["name"] = str(block.get("name", kind))
    return say(key, **values)


def _incasts(
    blocks: Sequence[Mapping[str, Any]], places: Sequence[int], names: Sequence[str]
) -> Words:
    """Words incasts with flows of one size: `an incast of 8 senders, 64 kB each`. If there are
    several, or a block has a name, blocks are named."""
    first = blocks[places[0]]
    size, values = (
        _size(first),
        {name: _value(first[name]) for name in ("bytes", "total") if name in first},
    )
    if len(places) == 1:
        named = _named(first, places[0])
        return say(
            f"asked.traffic.incast{size}{'.named' if named else ''}",
            name=named,
            senders=_senders(first, names),
            **values,
        )
    shown = [
        say("asked.incast", name=block_names(blocks)[place], senders=_senders(blocks[place], names))
        for place in places
    ]
    if len(shown) > _INCASTS:
        shown = [*shown[: _INCASTS - 1], say("asked.incast.more", count=len(shown) - _INCASTS + 1)]
    return say(f"asked.traffic.incasts{size}", incasts=_listed(shown, "asked.and"), **values)


def _size(block: Mapping[str, Any]) -> str:
    return ".each" if "bytes" in block else ".total" if "total" in block else ""


def _named(block: Mapping[str, Any], place: int) -> str:
    """Returns the name that the scenario gives a block, or an empty string. With all defaults
    written out, a block without a name is called by its index."""
    name = str(block.get("name", ""))
    return "" if name == f"traffic{place}" else name


def block_names(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the names of blocks as their jobs use them
    (crates/scenario/src/validate/traffic/jobs.rs)."""
    own = [_named(block, place) for place, block in enumerate(blocks)]
    names: list[str] = []
    for place, block in enumerate(blocks):
        names.append(
            own[place] or (f"traffic{place}" if block["kind"] in (*own, *names) else block["kind"])
        )
    return names


def _senders(block: Mapping[str, Any], names: Sequence[str] = ()) -> Words:
    """Words the senders: `24 senders`, whether the scenario gives a number, hosts (`"1-24"`, or a
    list) or a number of random ones. `senders` if the number is unknown. With several clients: `24
    senders to each of 3 clients`."""
    given, to = block.get("senders", block.get("random_senders")), block.get("to", "random")
    clients = None if to == "random" else _hosts(to, names)
    found = None if isinstance(given, int) else _hosts(given, names)
    count = (
        given
        if isinstance(given, int)
        else len(found - clients if clients and len(clients) == 1 else found)
        if found
        else 0
    )
    senders = (
        say("asked.senders")
        if not count
        else say("asked.senders.one")
        if count == 1
        else say("asked.senders.count", count=count)
    )
    return (
        say("asked.senders.clients", senders=senders, clients=len(clients))
        if clients and len(clients) > 1
        else senders
    )


def _hosts(given: Any, names: Sequence[str]) -> set[str] | None:
    """Returns the names of the hosts that a scenario's value denotes; `None` if their number cannot
    be found from it alone."""
    found: set[str] = set()
    for item in given if isinstance(given, list) else [given]:
        for part in map(str.strip, re.split(r",(?![^\[]*\])", str(item))):
            if numbers := re.fullmatch(r"(\d+)(?:\s*-\s*(\d+))?", part):
                first, last = int(numbers[1]), int(numbers[2] or numbers[1])
                found |= {
                    names[number] if number < len(names) else f"host{number}"
                    for number in range(first, last + 1)
                }
            elif part in names or re.fullmatch(r"host\d+", part):
                found.add(part)
            elif not (matching := _matching(part, names)):
                return None
            else:
                found |= matching
    return found


def _matching(pattern: str, names: Sequence[str]) -> set[str]:
    """Returns the names that a pattern matches. If no names are known, returns the names that the
    pattern spells out, if it contains only brackets."""
    parts = re.split(r"(\[[^\]]*\]|[*?])", pattern)
    choices = [_choices(part[1:-1]) if part.startswith("[") else [part] for part in parts]
    if names:
        match = re.compile(
            "".join(
                {"*": ".*", "?": "."}.get(some[0]) or f"(?:{'|'.join(map(re.escape, some))})"
                for some in choices
            )
        )
        return {name for name in names if match.fullmatch(name)}
    return (
        {"".join(some) for some in product(*choices)}
        if "[" in pattern and not {"*", "?"} & set(parts)
        else set()
    )


def _choices(inside: str) -> list[str]:
    """Expands the inside of brackets: `1-3,7` becomes `1`, `2`, `3`, `7`."""
    found: list[str] = []
    for item in map(str.strip, inside.split(",")):
        if numbers := re.fullmatch(r"(\d{1,6})-(\d{1,6})", item):
            digits = len(numbers[1]) if numbers[1].startswith("0") else 1
            found += [
                str(number).zfill(digits) for number in range(int(numbers[1]), int(numbers[2]) + 1)
            ]
        else:
            found.append(item)
    return found


def _sizes(given: Any) -> str:
    if not isinstance(given, str):
        return str(known("asked.sizes.given") or "")
    if named := known(f"asked.sizes.{given}"):
        return named
    return PurePath(given).name if "/" in given else _value(given)


def _value(item: Any) -> str:
    """Inserts a blank before the unit: `2GB` becomes `2 GB`."""
    shown = str(item)
    for place, letter in enumerate(shown):
        if letter.isalpha() and place and shown[place - 1].isdigit():
            return f"{shown[:place]} {shown[place:]}"
    return shown


# Kernels.


def _kernel_blocks(scenario: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    blocks: Sequence[Mapping[str, Any]] = scenario.get("host", {}).get("kernel", [])
    return blocks


def _kernels(scenario: Mapping[str, Any], names: Sequence[str]) -> Words:
    """Words the traffic of real kernels: `programs on 17 Linux kernels`. Without their number if it
    is unknown. `names` are the names of all hosts."""
    blocks = _kernel_blocks(scenario)
    if not blocks:
        return Words("", "")
    found = [_hosts(block.get("match"), names) for block in blocks]
    hosts = {host for some in found for host in some or ()}
    if not all(found):
        return say("asked.kernels.some")
    return say("asked.kernels.one") if len(hosts) == 1 else say("asked.kernels", count=len(hosts))


# Transports.


def _transports(scenario: Mapping[str, Any]) -> Words:
    host = scenario.get("host", {})
    used = {block.get("transport", "default") for block in scenario.get("traffic", [])}
    tables = [host.get("transport", {})] if "default" in used or not used else []
    tables += [table for name, table in host.get("transports", {}).items() if name in used]
    found = list(dict.fromkeys(name for table in tables if (name := transport(table))))
    return _listed(found, "asked.and") if found else Words("", "")


def _controls(scenarios: Sequence[Mapping[str, Any]]) -> Words:
    """Words the congestion controls if all transports are TCP and differ only in them: `TCP with
    DCTCP or NewReno`."""
    tables = [
        table
        for scenario in scenarios
        for table in [
            scenario.get("host", {}).get("transport", {}),
            *scenario.get("host", {}).get("transports", {}).values(),
        ]
    ]
    if any(table.get("kind") != "tcp" or "mptcp" in table for table in tables):
        return Words("", "")
    found = dict.fromkeys(
        str(known(f"asked.control.{table.get('congestion')}") or table.get("congestion"))
        for table in tables
    )
    return (
        say("asked.transport.tcp", control=_listed(list(found), "asked.or"))
        if 1 < len(found) <= 4
        else Words("", "")
    )


def transport(table: Mapping[str, Any]) -> str:
    """Words a transport with its usual name: `MPTCP with 8 subflows`, `DCTCP`, `RDMA with
    DCQCN`."""
    kind = table.get("kind", "")
    control = known(f"asked.control.{table.get('congestion')}") or str(table.get("congestion", ""))
    if isinstance(table.get("mptcp"), dict):
        return say("asked.transport.mptcp", subflows=table["mptcp"].get("subflows", ""))
    if kind == "rdma":
        return say(
            "asked.transport.rdma",
            control=control,
            mode=known(f"asked.mode.{table.get('mode')}") or str(table.get("mode", "")),
        )
    if kind == "tcp":
        return say("asked.transport.tcp", control=control)
    return known(f"asked.transport.{kind}") or kind


def _seeds(designs: Sequence[Design]) -> Words:
    every: Iterable[tuple[int, ...]] = {tuple(design.seeds) for design in designs}
    counts = sorted({len(seeds) for seeds in every})
    if counts == [1]:
        (first, *others) = {seeds[0] for seeds in every}
        return say("asked.seed", seed=first) if not others else say("asked.seed.each")
    if len(counts) == 1:
        return say("asked.seeds" if len(designs) > 1 else "asked.seeds.one", count=counts[0])
    return say("asked.seeds.range", low=counts[0], high=counts[-1])
