"""Converts files of the HPCC and ConWeave ns-3 simulators: topology, flows, completion times.

Sources: `simulation/` of alibaba-edu/High-Precision-Congestion-Control, `config/` and `analysis/`
of conweave-project/conweave-ns3.
"""

import itertools
import os
import re
import tempfile
import tomllib
from pathlib import Path

from .. import _core
from ..files import csvtext, toml
from ..results.result import Result
from .account import Account, Wrong, plural, shown
from .fabric import Fabric
from .flow_list import FlowList
from .into import Into
from .reading import content, lines

#: Time in ns at which the flows of both generators begin: 2 s.
ORIGIN_NS = 2_000_000_000
#: Priority group of the data in both simulators.
GROUP = 3


def topology(path: Path, flows: str | None, into: Into | None = None) -> tuple[str, Account]:
    """Converts a topology file to a scenario whose links can be edited."""
    account = Account("links")
    _declared(path, account)
    checked = _checked(path)
    fabric = Fabric.of(checked)
    account.take(len(fabric.links))
    account.notes.append(
        f"{plural(len(fabric.hosts), 'host')}, {plural(len(fabric.switches), 'switch', 'switches')}, numbered in the order of their numbers there"
    )
    return fabric.to_scenario(path.name, flows, account, ordered=True, into=into), account


def _checked(path: Path) -> _core.Scenario:
    """Returns a scenario with the fabric of a topology file."""
    # The scenario format can read such files if they are not packed, so its reader is used here.
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "topology.txt"
        plain.write_bytes(content(path, _LONGEST))
        text = f'format = 1\n[topology]\nkind = "hpcc"\nfile = {toml.value(str(plain))}\n[[traffic]]\nkind = "permutation"\nsizes = "1MB"\n'
        try:
            return _core.parse(text, path)
        except _core.ScenarioError as error:
            # The message names a line of the topology file, or a problem of the whole fabric,
            # without the scenario around it.
            said = re.sub(r"(?::\d+)?: key topology(?:\.\w+)?: ", ": ", str(error), count=1)
            said = re.sub(r" \(key topology\.file, .*\)$", "", said)
            raise ValueError(said.replace(str(plain), str(path.absolute()))) from None


#: Largest topology file in bytes.
_LONGEST = 64 << 20
_FIRST = "`nodes switches links`, as HPCC and ConWeave write them"


def _declared(path: Path, account: Account) -> None:
    """Refuses other formats, and columns and links beyond what the format and the first line
    declare. Text after the links is an explanation and is ignored."""
    rows = lines(path)
    at, first = next(rows, (1, ""))
    counts = first.split()
    if len(counts) == 6 and all(re.fullmatch(r"[0-9]{1,9}", count) for count in counts[:5]):
        raise Wrong(
            path,
            at,
            f"SimAI's form {shown(first)} (nodes, GPUs per server, NVSwitches, switches, links, type of GPU)",
            _FIRST,
        )
    if len(counts) != 3 or not all(re.fullmatch(r"[0-9]{1,9}", count) for count in counts):
        raise Wrong(path, at, shown(first) if first else "an empty file", _FIRST)
    _, switches, links = map(int, counts)
    if switches:
        at, second = next(rows, (at, ""))
        if (found := len(second.split())) > switches:
            raise Wrong(path, at, f"{found} numbers of switches", f"{switches}, as line 1 says")
    for number, (at, line) in enumerate(rows, 1):
        if number > links and not re.match(r"[0-9]+\s+[0-9]+\s+[0-9]", line):
            account.noted("text after the links: left out", at)
            continue
        if number > links:
            raise Wrong(path, at, f"link {number}: {shown(line)}", f"{links} links, as line 1 says")
        if (found := len(line.split())) != 5:
            raise Wrong(
                path,
                at,
                f"{plural(found, 'column')} in {shown(line)}",
                "five columns: `node node rate delay error_rate`",
            )


def flows(path: Path, origin_ns: int = ORIGIN_NS) -> tuple[FlowList, Account]:
    """Reads a flow file of either form. Priority groups become priorities, unless all flows are in
    the default group of the generators."""
    table, notes = _core.read_flows(path, "hpcc", origin_ns)
    flows, account = _with_notes(FlowList.of_table(table), notes)
    if flows.priorities is None:
        # Columns of a line: `src dst group [port] bytes start`.
        groups = {int(line.split()[2]) for _, line in itertools.islice(lines(path), 1, None)}
        if groups == {GROUP}:
            # The reader's note about the same column is for scenarios that name such a file.
            account.notes = [note for note in account.notes if "`pg` of " not in note]
            account.notes.append(
                f"all flows are in priority group {GROUP}, that of all data there: written without priorities"
            )
    return flows, account


def _with_notes(flows: FlowList, notes: list[str]) -> tuple[FlowList, Account]:
    flows.ids = None
    account = Account("flows", len(flows))
    for note in notes:
        if found := re.search(
            r"(\d+) (?:flows|connections) from a host to itself were left out", note
        ):
            account.drop("from a host to itself", int(found[1]))
        else:
            account.notes.append(note)
    return flows, account


# ------------------------------------------------------------------------------------------------------------- completion times

_FORM = "eight columns: src dst sport dport bytes start_ns fct_ns standalone_ns"


def completion_times(path: Path, origin_ns: int = ORIGIN_NS) -> tuple[str, Account]:
    """Converts a file of completion times to CSV: a flow list with the additional columns `fct_ns`,
    `standalone_ns` and `slowdown`.

    Hosts are numbers (ConWeave) or addresses 11.h.h.1 in hexadecimal, `0b000101` (HPCC).
    """
    account = Account("flows")
    rows = []
    at = 0
    for at, line in lines(path):
        fields = line.split(maxsplit=8)
        if len(fields) != 8:
            raise Wrong(path, at, f"{plural(len(line.split()), 'column')} in {shown(line)}", _FORM)
        ends = [_host(field, path, at) for field in fields[:2]]
        if not all(re.fullmatch(r"[0-9]{1,18}", field) for field in fields[2:]):
            raise Wrong(path, at, shown(line), f"{_FORM}, whole numbers")
        size, start, fct, alone = map(int, fields[4:])
        if start < origin_ns:
            raise Wrong(path, at, f"start {start} ns", f"{origin_ns} ns or later (--origin)")
        if ends[0] == ends[1]:
            account.drop("from a host to itself")
        elif size == 0:
            account.drop("without bytes")
        else:
            rows.append(
                (start - origin_ns, *ends, size, fct, alone, max(1.0, fct / alone) if alone else "")
            )
    rows.sort(key=lambda row: row[0])
    if not at:
        raise Wrong(path, None, "a file without flows", _FORM)
    account.taken = len(rows)
    if rows:
        account.notes.append(f"left out, ports: sport and dport ({len(rows):,})")
    return csvtext.lines(
        [("start_ns", "src", "dst", "bytes", "fct_ns", "standalone_ns", "slowdown"), *rows]
    ), account


def _host(field: str, path: Path, at: int) -> int:
    if re.fullmatch(r"[0-9]{1,9}", field) and len(field) < 8:
        return int(field)
    if re.fullmatch(r"0b[0-9a-f]{4}01", field):
        # Host h has the address 11.(h / 256).(h mod 256).1.
        return int(field[2:6], 16)
    raise Wrong(
        path, at, f"host {shown(field)}", "a number, or an address like 0b000101 (11.0.1.1)"
    )


# ----------------------------------------------------------------------------------------------------------------------- exports


def topology_of(scenario: _core.Scenario) -> tuple[str, Account]:
    """Converts a scenario's fabric to a topology file."""
    fabric = Fabric.of(scenario)
    written = tomllib.loads(scenario.resolved)["topology"]
    number = {name: at for at, name in enumerate([*fabric.hosts, *fabric.switches])}
    account = Account("links", len(fabric.links))
    fabric.drop_directed_losses(scenario, account)
    first = len(fabric.hosts)
    out = [
        f"{len(number)} {len(fabric.switches)} {len(fabric.links)}",
        " ".join(str(first + at) for at in range(len(fabric.switches))),
    ]
    for link in fabric.links:
        # In that format, the first end of a host's link is the host.
        a, b = sorted((number[link.a], number[link.b]))
        out.append(f"{a} {b} {_rate(link.rate)} {_delay(link.delay)} {_loss(link.loss)}")
    if down := sum(outages > 0 for _, outages, _ in scenario.link_faults()):
        account.notes.append(f"outages of {plural(down, 'link')} are not expressed")
    for link in [*written.get("link", []), *written.get("override", [])]:
        if "mtu" in link:
            named = link.get("link", f"{link.get('a')}-{link.get('b')}")
            account.noted(
                "mtu of links: the format has none, left out; hosts of the simulator send what its PACKET_PAYLOAD_SIZE says",
                named if isinstance(named, str) else ", ".join(named),
            )
    account.notes.append(
        "switches' numbers: "
        + ", ".join(f"{number[name]} {name}" for name in fabric.switches[:4])
        + (" …" if len(fabric.switches) > 4 else "")
    )
    return "\n".join(out) + "\n", account


def _rate(text: str) -> str:
    """Formats a rate without Tbps, which ns-3's `DataRate` lacks in older versions."""
    return f"{int(text.removesuffix('Tbps')) * 1000}Gbps" if text.endswith("Tbps") else text


def _delay(text: str) -> str:
    """Formats a delay in nanoseconds, as in their files, if it is a whole number of them."""
    for unit, size in (("ms", 1_000_000), ("us", 1_000), ("ns", 1)):
        if text.endswith(unit):
            return f"{int(text.removesuffix(unit)) * size}ns"
    return text


def _loss(loss: float) -> str:
    """Formats a loss with six decimals, as in their files, if these are exact."""
    text = f"{loss:.6f}"
    return text if float(text) == loss else repr(loss)


def flows_of(flows: FlowList, account: Account, *, ports: bool, origin_ns: int = ORIGIN_NS) -> str:
    """Returns a flow file. With `ports` it has HPCC's column of destination ports, otherwise it has
    ConWeave's form. Both simulators read the flows in the order of their starts."""
    flows = flows.sorted()
    if flows.classes is not None and any(flows.classes):
        account.notes.append("the format has no classes: they were dropped")
    if flows.dscps is not None:
        account.notes.append("the format has no DSCPs: they were dropped")
    priorities = flows.priorities if flows.priorities is not None else [None] * len(flows)
    if flows.deadlines_ns is not None:
        account.notes.append("the format has no deadlines: they were dropped")
    port = "100 " if ports else ""
    rows = zip(flows.start_ns, flows.src, flows.dst, flows.bytes, priorities, strict=True)
    out = [str(len(flows))]
    for start, src, dst, size, priority in rows:
        seconds, ns = divmod(start + origin_ns, 10**9)
        out.append(
            f"{src} {dst} {GROUP if priority is None else priority} {port}{size} {seconds}.{ns:09}"
        )
    return "\n".join(out) + "\n"


def completion_times_of(
    dir: str | os.PathLike[str], origin_ns: int = ORIGIN_NS
) -> tuple[str, Account]:
    """Returns a result's completion times in the form of `fct.txt`. The last column is
    `ideal_ns`."""
    table = Result.open(dir).flows
    account = Account("flows")
    columns = (
        table[name]
        for name in ("src", "dst", "bytes", "start_ns", "fct_ns", "ideal_ns", "finish_ns")
    )
    rows = []
    sent: dict[int, int] = {}
    received: dict[int, int] = {}
    for src, dst, size, start, fct, ideal, finish in zip(*columns, strict=True):
        # In that format, ports count from 10000 at the source and from 100 at the destination.
        sport, dport = 10_000 + sent.get(src, 0), 100 + received.get(dst, 0)
        sent[src], received[dst] = sent.get(src, 0) + 1, received.get(dst, 0) + 1
        if fct is None:
            account.drop("not finished")
        elif ideal is None:
            account.drop("flow of a kernel, without an ideal time")
        else:
            rows.append(
                (
                    finish,
                    f"{src} {dst} {sport % 65536} {dport % 65536} {size} {start + origin_ns} {fct} {ideal}",
                )
            )
    rows.sort(key=lambda row: row[0])
    account.taken = len(rows)
    account.notes.append(
        "the last column is ideal_ns, which counts every frame; theirs is rtt + wire bytes / rate"
    )
    return "".join(f"{line}\n" for _, line in rows), account
