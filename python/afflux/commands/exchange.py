"""`afflux import` and `afflux export` of fabrics, flows, captures and jobs."""

import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import _core, toml
from ..console import example, failures, note, print_json
from ..exchange import Account, FlowList
from ..exchange.account import shown
from ..exchange.files import Writer, deliver, text_writer
from ..exchange.into import Into

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file; .gz and .xz are read too.", show_default=False)]
Files = Annotated[list[Path], typer.Argument(metavar="FILE…", help="The files; .gz and .xz are read too.", show_default=False)]
ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)]
Planned = Annotated[Path, typer.Argument(metavar="SCENARIO.toml|DIR", help="A scenario, or a result directory: the flows as they were.", show_default=False)]
Out = Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where it goes.", show_default="printed")]
FlowsOut = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where the flow list goes: .csv, .csv.gz or .parquet.", show_default="printed")
]
HostsOut = Annotated[
    Path | None, typer.Option("--hosts-out", metavar="FILE", help="Where the hosts' numbers go.", show_default="beside the output: NAME.hosts.csv")
]
HostsIn = Annotated[
    Path | None,
    typer.Option("--hosts", metavar="FILE", help="Who is who: a scenario with names and addresses, or CSV host,name.", show_default="natural order"),
]
IntoOf = Annotated[
    Path | None,
    typer.Option("--into", metavar="SCENARIO.toml", help="The scenario to write into; what is not imported stays, comments too.", show_default=False),
]
ClassIn = Annotated[str | None, typer.Option("--class", metavar="NAME", help="Class of all flows.", show_default="as the file tells")]
TrafficIn = Annotated[Path | None, typer.Option("--flows", metavar="FILE", help="A flow list for the scenario.", show_default="a permutation stands in")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print what was taken and dropped as JSON; needs -o.")]
Origin = Annotated[str, typer.Option("--origin", metavar="TIME", help="The time there that is 0 here.")]


def time_ns(text: str, option: str) -> int:
    """`100us` in nanoseconds."""
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*(s|ms|us|µs|ns)\s*", text)
    if not found:
        raise ValueError(f"{option} {text}: expected a time with its unit, as in 500us, 1ms or 2s")
    return round(float(found[1]) * {"s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1}[found[2]])


def finish(out: Path | None, content: Writer | str, more: dict[Path, Writer], accounts: list[Account], force: bool, as_json: bool) -> None:
    """Writes everything or nothing, and says what was taken and dropped."""
    if as_json and out is None:
        raise ValueError("--json needs -o: what is read cannot be printed on the same output")
    files = dict(more)
    if out is not None:
        files[out] = text_writer(content) if isinstance(content, str) else content
    deliver(files, force)
    if out is None:
        if not isinstance(content, str):
            raise TypeError("only text is printed")
        sys.stdout.write(content)
    if as_json:
        print_json({"written": [str(path) for path in sorted(files)], "records": [account.to_dict() for account in accounts]})
        return
    for account in accounts:
        first, *notes = account.lines()
        note(first, "")
        for line in notes:
            note(line)
    for path in sorted(files):
        note(f"written to {path}", "")


@contextmanager
def importing(file: Path) -> Iterator[None]:
    """A scenario that what was read does not make is the file's fault: names it."""
    try:
        yield
    except _core.ScenarioError as error:
        raise ValueError(f"{file}: what it holds makes no scenario: {error}") from None


def flow_list(flows: FlowList, out: Path | None) -> Writer | str:
    return flows.writer(out) if out else "".join(flows.csv())


def beside(out: Path | None, given: Path | None, ending: str) -> Path | None:
    """`flows.csv` → `flows.hosts.csv`."""
    if given is not None or out is None:
        return given
    return out.with_name(re.sub(r"(\.csv)?(\.gz)?(\.parquet)?(\.tsv)?(\.toml)?$", "", out.name) + ending)


def same(one: Path | None, other: Path | None) -> None:
    if one is not None and one == other:
        raise ValueError(f"{one} is named for two outputs")


def scenario_text(text: str, out: Path | None) -> str:
    """Checked as it will stand there."""
    _core.parse(text, out or "imported.toml")
    return text


def into_of(into: Path | None, out: Path | None) -> Into | None:
    return Into(into, out) if into is not None else None


def class_of(name: str | None) -> str | None:
    if name is not None and (expected := _core.wrong_name(name)):
        raise ValueError(f"--class {shown(name)}: expected {expected}")
    return name


def flows_path(flows: Path | None, out: Path | None) -> str | None:
    """As it is to be written: relative to the scenario, or absolute where that is printed."""
    if flows is None:
        return None
    if not flows.is_file():
        raise FileNotFoundError(f"{flows}: there is no such flow list")
    return os.path.relpath(flows, out.parent) if out is not None else str(flows.absolute())


def loaded_flows(source: Path) -> tuple[FlowList, Account, int]:
    """Flows of a scenario or a result, with the names of hosts if they have any, and the number of hosts."""
    account = Account("flows")
    names: list[str] = []
    if source.is_dir():
        from ..result import Result

        result = Result.open(source)
        flows = FlowList.of_table(result.flows)
        names = result.summary.get("host_names", [])
        resolved = _core.load(source / "scenario.toml") if (source / "scenario.toml").is_file() else None
        hosts = resolved.hosts if resolved else flows.hosts()
        local = [row for row in range(len(flows)) if flows.src[row] == flows.dst[row]]
    else:
        scenario = _core.load(source)
        table, later = scenario.flow_list()
        flows, hosts = FlowList.of_table(table), scenario.hosts
        names = [name for name, kind, *_ in scenario.nodes if kind == "host"]
        account.drop("that start only when others end (export the result of a run)", later)
        if scenario.flows > len(flows) + later:
            account.notes.append("flows of applications are not known beforehand: export the result of a run")
        local = [row for row in range(len(flows)) if flows.src[row] == flows.dst[row]]
    if local:
        account.drop("from a host to itself", len(local))
        flows = flows.chosen(sorted(set(range(len(flows))) - set(local)))
    if flows.classes is not None and set(flows.classes) <= {"default", None}:
        flows.classes = None
    account.taken = len(flows)
    return flows.called(dict(enumerate(names)) if names else None), account, hosts


# ----------------------------------------------------------------------------------------------------------------------- imports


def hpcc_topology(file: File, flows: TrafficIn = None, into: IntoOf = None, out: Out = None, force: Force = False, as_json: Json = False) -> None:
    """A topology file of HPCC's or ConWeave's ns-3 as a scenario."""
    from ..exchange import hpcc

    with failures(), importing(file):
        text, account = hpcc.topology(file, flows_path(flows, out), into_of(into, out))
        finish(out, scenario_text(text, out or into), {}, [account], force, as_json)


def hpcc_flows(file: File, origin: Origin = "2s", out: FlowsOut = None, force: Force = False, as_json: Json = False) -> None:
    """A flow file of HPCC's or ConWeave's ns-3 as a flow list."""
    from ..exchange import hpcc

    with failures():
        flows, account = hpcc.flows(file, time_ns(origin, "--origin"))
        finish(out, flow_list(flows, out), {}, [account], force, as_json)


def hpcc_fct(file: File, origin: Origin = "2s", out: Out = None, force: Force = False, as_json: Json = False) -> None:
    """Completion times of HPCC's or ConWeave's ns-3 (fct.txt) as CSV: a flow list with fct_ns, standalone_ns and slowdown beside it."""
    from ..exchange import hpcc

    with failures():
        text, account = hpcc.completion_times(file, time_ns(origin, "--origin"))
        finish(out, text, {}, [account], force, as_json)


def htsim(file: File, out: FlowsOut = None, force: Force = False, as_json: Json = False) -> None:
    """A connection matrix of htsim as a flow list."""
    from ..exchange import htsim as form

    with failures():
        flows, account = form.flows(file)
        finish(out, flow_list(flows, out), {}, [account], force, as_json)


def containerlab(
    file: File,
    rate: Annotated[str | None, typer.Option("--rate", help="Of links whose labels have none.", show_default=False)] = None,
    host_rate: Annotated[str | None, typer.Option("--host-rate", help="Of hosts' links whose labels have none.", show_default="as --rate")] = None,
    delay: Annotated[str, typer.Option("--delay", help="Of links whose labels have none.")] = "1us",
    host: Annotated[list[str] | None, typer.Option("--host", metavar="PATTERN", help="Names of nodes that are hosts; may be repeated.")] = None,
    switch: Annotated[list[str] | None, typer.Option("--switch", metavar="PATTERN", help="Names of nodes that are switches; may be repeated.")] = None,
    flows: TrafficIn = None,
    into: IntoOf = None,
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """A topology of containerlab as a scenario. Rates and delays come from links' labels or from options; hosts keep their names and addresses."""
    from ..exchange import containerlab as form

    with failures(), importing(file):
        options = form.Options(rate, host_rate, delay, host or (), switch or ())
        text, account = form.topology(file, options, flows_path(flows, out), into_of(into, out))
        finish(out, scenario_text(text, out or into), {}, [account], force, as_json)


def pcap(
    file: File,
    gap: Annotated[str, typer.Option("--gap", metavar="TIME", help="A longer pause ends a flow.")] = "1s",
    hosts: HostsIn = None,
    of_class: ClassIn = None,
    into: IntoOf = None,
    flows: Annotated[
        Path | None, typer.Option("--flows", metavar="FILE", help="With --into: where the flow list goes.", show_default="beside the output: NAME.flows.csv")
    ] = None,
    out: FlowsOut = None,
    hosts_out: HostsOut = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """A capture (pcap, pcapng) as a flow list: bytes per direction and pair of ports. With --into it is the traffic of a scenario whose hosts it names."""
    from ..exchange import capture
    from ..exchange import hosts as numbers

    with failures():
        if into is not None and (out is None or hosts is not None or hosts_out is not None):
            raise ValueError("--into needs -o, for the new scenario, and names the hosts itself: leave out --hosts and --hosts-out")
        if into is None and flows is not None:
            raise ValueError("--flows goes with --into; without it -o names the flow list")
        who = into or hosts
        known = numbers.read(who) if who is not None else None
        list_, mapping, account = capture.flows(file, time_ns(gap, "--gap"), known, class_of(of_class))
        if not len(list_):
            raise ValueError(f"{file}: no flows: {'; '.join(account.lines())}")
        if into is not None and out is not None:
            where = flows or beside(out, None, ".flows.csv")
            assert where is not None
            same(out, where)
            document = Into(into, out)
            document.add_traffic({"kind": "flows", "file": os.path.relpath(where, out.parent)})
            with importing(file):
                checked_with(document.text(), out, where, list_)
            finish(out, document.text(), {where: list_.writer(where)}, [account], force, as_json)
            return
        # Names of a scenario need no second file.
        where = beside(out, hosts_out, ".hosts.csv") if known is None or known.names is None or hosts_out is not None else None
        same(out, where)
        finish(out, flow_list(list_, out), {where: text_writer(numbers.to_csv(mapping))} if where else {}, [account], force, as_json)


def checked_with(text: str, out: Path, where: Path, flows: FlowList) -> None:
    """Checks a scenario whose flow list is not written yet: in its place stands one that is thrown away."""
    import tempfile

    written = os.path.relpath(where, out.parent)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / where.name
        flows.writer(path)(path)
        document = tomllib.loads(text)
        for block in document["traffic"]:
            if block.get("file") == written:
                block["file"] = str(path)
        _core.parse(toml.dumps(document), out)


Jobs = Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where the trace of jobs goes.", show_default="printed")]
Shuffle = Annotated[Path | None, typer.Option("--flows", metavar="FILE", help="Also what machines sent each other, as a flow list.", show_default=False)]


def jhist(
    files: Files,
    flows: Shuffle = None,
    hosts: HostsIn = None,
    of_class: ClassIn = None,
    out: Jobs = None,
    hosts_out: HostsOut = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Hadoop's job history files as a trace of jobs for traffic of kind hadoop_trace."""
    from ..exchange import jhist as form

    with failures():
        jobs_of(files, form.read(files), flows, hosts, class_of(of_class), out, hosts_out, force, as_json)


def spark(
    files: Files,
    flows: Shuffle = None,
    hosts: HostsIn = None,
    of_class: ClassIn = None,
    out: Jobs = None,
    hosts_out: HostsOut = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Spark's event logs as a trace of jobs for traffic of kind hadoop_trace."""
    from ..exchange import spark as form

    with failures():
        jobs_of(files, form.read(files), flows, hosts, class_of(of_class), out, hosts_out, force, as_json)


def jobs_of(
    files: list[Path],
    log: object,
    flows: Path | None,
    hosts: Path | None,
    of_class: str | None,
    out: Path | None,
    hosts_out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    from ..exchange import hosts as numbers
    from ..exchange import jobs

    assert isinstance(log, jobs.Log)
    same(out, flows)
    if not log.jobs:
        raise ValueError(f"{', '.join(map(str, files))}: no job: {log.account.lines()[0]}")
    accounts, more = [log.account], {}
    if flows is None:
        if hosts or hosts_out or of_class:
            raise ValueError("--hosts, --hosts-out and --class go with --flows: the trace of jobs has neither hosts nor classes")
    else:
        list_, mapping = jobs.flows(log, numbers.read(hosts) if hosts else None)
        if of_class is not None:
            list_.classes = [of_class] * len(list_)
        more[flows] = list_.writer(flows)
        where = beside(flows, hosts_out, ".hosts.csv") if list_.names is None or hosts_out is not None else None
        if where is not None:
            more[where] = text_writer(numbers.to_csv(mapping))
        same(out, where)
        accounts.append(log.of_transfers)
    finish(out, jobs.trace(log.jobs), more, accounts, force, as_json)


# ----------------------------------------------------------------------------------------------------------------------- exports


def export_flows(source: Planned, out: FlowsOut = None, force: Force = False, as_json: Json = False) -> None:
    """The flows of a scenario or of a result as a flow list."""
    with failures():
        flows, account, _ = loaded_flows(source)
        finish(out, flow_list(flows, out), {}, [account], force, as_json)


def export_htsim(source: Planned, out: Out = None, force: Force = False, as_json: Json = False) -> None:
    """The flows of a scenario or of a result as a connection matrix of htsim."""
    from ..exchange import htsim as form

    with failures():
        flows, account, hosts = loaded_flows(source)
        finish(out, form.matrix_of(flows, hosts, account), {}, [account], force, as_json)


def export_hpcc_topology(scenario: ScenarioFile, out: Out = None, force: Force = False, as_json: Json = False) -> None:
    """A scenario's fabric as a topology file of HPCC's and ConWeave's ns-3."""
    from ..exchange import hpcc

    with failures():
        text, account = hpcc.topology_of(_core.load(scenario))
        finish(out, text, {}, [account], force, as_json)


def export_hpcc_flows(
    source: Planned,
    ports: Annotated[bool, typer.Option("--ports", help="With HPCC's column of destination ports; without it ConWeave's form.")] = False,
    origin: Origin = "2s",
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """The flows of a scenario or of a result as a flow file of HPCC's and ConWeave's ns-3."""
    from ..exchange import hpcc

    with failures():
        flows, account, _ = loaded_flows(source)
        finish(out, hpcc.flows_of(flows, account, ports=ports, origin_ns=time_ns(origin, "--origin")), {}, [account], force, as_json)


def export_hpcc_fct(
    dir: Annotated[Path, typer.Argument(metavar="DIR", help="A result directory.", show_default=False)],
    origin: Origin = "2s",
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """A result's completion times in the form of HPCC's and ConWeave's fct.txt, for their scripts."""
    from ..exchange import hpcc

    with failures():
        text, account = hpcc.completion_times_of(dir, time_ns(origin, "--origin"))
        finish(out, text, {}, [account], force, as_json)


def export_containerlab(
    scenario: ScenarioFile,
    switch_kind: Annotated[str, typer.Option("--switch-kind", metavar="KIND", help="Kind of the switches.")] = "nokia_srlinux",
    switch_image: Annotated[str | None, typer.Option("--switch-image", metavar="IMAGE", show_default="ghcr.io/nokia/srlinux for nokia_srlinux")] = None,
    host_image: Annotated[str, typer.Option("--host-image", metavar="IMAGE", help="Image of the hosts.")] = "alpine:latest",
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """A scenario's fabric as a lab of containerlab."""
    from ..exchange import containerlab as form

    with failures():
        image = switch_image or ("ghcr.io/nokia/srlinux" if switch_kind == "nokia_srlinux" else None)
        text, account = form.topology_of(_core.load(scenario), switch_kind, image, host_image)
        finish(out, text, {}, [account], force, as_json)


def register(importing: typer.Typer, exporting: typer.Typer) -> None:
    """Puts them beside the other kinds."""
    imports: tuple[tuple[str, Callable[..., Any], str], ...] = (
        ("hpcc-topology", hpcc_topology, "afflux import hpcc-topology topology.txt -o fabric.toml"),
        ("hpcc-flows", hpcc_flows, "afflux import hpcc-flows flow.txt -o flows.csv"),
        ("hpcc-fct", hpcc_fct, "afflux import hpcc-fct fct.txt -o theirs.csv"),
        ("htsim", htsim, "afflux import htsim perm.cm -o flows.csv"),
        ("containerlab", containerlab, "afflux import containerlab lab.clab.yml --rate 100Gbps --host-rate 25Gbps -o fabric.toml"),
        ("pcap", pcap, "afflux import pcap capture.pcapng --gap 100ms -o flows.parquet"),
        ("jhist", jhist, "afflux import jhist done/*.jhist -o jobs.tsv --flows shuffle.csv"),
        ("spark", spark, "afflux import spark application_1 -o jobs.tsv --flows shuffle.csv"),
    )
    for name, function, line in imports:
        importing.command(name, epilog=example(line))(function)
    exports: tuple[tuple[str, Callable[..., Any], str], ...] = (
        ("flows", export_flows, "afflux export flows out/demo-1 -o flows.parquet"),
        ("hpcc-topology", export_hpcc_topology, "afflux export hpcc-topology fabric.toml -o topology.txt"),
        ("hpcc-flows", export_hpcc_flows, "afflux export hpcc-flows fabric.toml -o flow.txt"),
        ("hpcc-fct", export_hpcc_fct, "afflux export hpcc-fct out/demo-1 -o fct.txt"),
        ("htsim", export_htsim, "afflux export htsim fabric.toml -o matrix.cm"),
        ("containerlab", export_containerlab, "afflux export containerlab fabric.toml -o lab.clab.yml"),
    )
    for name, function, line in exports:
        exporting.command(name, epilog=example(line))(function)
