"""`afflux import jhist`, `afflux import spark`: logs of jobs."""

from pathlib import Path
from typing import Annotated

import typer

from ...files.delivery import text_writer
from ...terminal.console import failures
from .options import ClassIn, Files, Force, HostsIn, HostsOut, Json, class_of
from .output import beside, finish, same

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
    from ...exchange import jhist as form

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
    from ...exchange import spark as form

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
    from ...exchange import hosts as numbers
    from ...exchange import jobs

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
