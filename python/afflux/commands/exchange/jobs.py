"""`afflux import jhist`, `afflux import spark`: logs of jobs."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ...files.delivery import text_writer
from ...terminal.console import failures
from ..options import OUTPUT, out_option
from .options import ClassIn, Files, Force, HostsIn, HostsOut, Json, class_of
from .output import companion_path, finish, same

if TYPE_CHECKING:
    from ...exchange.jobs import Log

Jobs = Annotated[
    Path | None,
    out_option("FILE", "Output file of the job trace.", "stdout"),
]
Shuffle = Annotated[
    Path | None,
    OUTPUT.option(
        "--flows", "FILE", "Also write the transfers between machines to this flow list."
    ),
]


def _reader(form: str, help: str) -> Callable[..., None]:
    """The command that reads logs with the module `form` of `afflux.exchange`."""

    def command(
        files: Files,
        flows: Shuffle = None,
        hosts: HostsIn = None,
        of_class: ClassIn = None,
        out: Jobs = None,
        hosts_out: HostsOut = None,
        force: Force = False,
        as_json: Json = False,
    ) -> None:
        with failures():
            log = import_module(f"afflux.exchange.{form}").read(files)
            _write(files, log, flows, hosts, class_of(of_class), out, hosts_out, force, as_json)

    command.__doc__ = help
    return command


jhist = _reader(
    "jhist", "Convert job history files of Hadoop to a job trace for traffic of kind hadoop_trace."
)
spark = _reader(
    "spark", "Convert event logs of Spark to a job trace for traffic of kind hadoop_trace."
)


def _write(
    files: list[Path],
    log: "Log",
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

    same(out, flows)
    if not log.jobs:
        raise ValueError(f"{', '.join(map(str, files))}: no jobs found: {log.account.lines()[0]}")
    accounts, more = [log.account], {}
    if flows is None:
        if hosts or hosts_out or of_class:
            raise ValueError(
                "--hosts, --hosts-out and --class need --flows: a job trace has neither hosts nor classes"
            )
    else:
        list_, mapping = jobs.flows(log, numbers.read(hosts) if hosts else None)
        if of_class is not None:
            list_.classes = [of_class] * len(list_)
        more[flows] = list_.writer(flows)
        where = (
            companion_path(flows, hosts_out, ".hosts.csv")
            if list_.names is None or hosts_out is not None
            else None
        )
        if where is not None:
            more[where] = text_writer(where, numbers.to_csv(mapping))
        same(out, where)
        accounts.append(log.of_transfers)
    finish(out, jobs.trace(log.jobs), more, accounts, force, as_json)
