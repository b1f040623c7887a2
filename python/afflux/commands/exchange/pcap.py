"""`afflux import pcap`."""

import os
import tomllib
from pathlib import Path
from typing import Annotated

from ... import _core
from ...exchange import FlowList
from ...exchange.into import Into
from ...files import toml
from ...files.delivery import refuse_packed, text_writer
from ...terminal.console import failures
from ..options import OUTPUT
from .options import (
    INPUT,
    ClassIn,
    File,
    FlowsOut,
    Force,
    HostsIn,
    HostsOut,
    IntoOf,
    Json,
    class_of,
    time_ns,
)
from .output import companion_path, finish, flow_list, importing, same


def pcap(
    file: File,
    gap: Annotated[
        str,
        INPUT.option("--gap", "TIME", "Longest pause within a flow."),
    ] = "1s",
    hosts: HostsIn = None,
    of_class: ClassIn = None,
    into: IntoOf = None,
    flows: Annotated[
        Path | None,
        OUTPUT.option(
            "--flows",
            "FILE",
            "Output file of the flow list with --into.",
            show_default="NAME.flows.csv next to the output",
        ),
    ] = None,
    out: FlowsOut = None,
    hosts_out: HostsOut = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Convert a capture (pcap, pcapng) to a flow list: bytes per direction and pair of ports. With --into it becomes the traffic of a scenario with named
    hosts."""
    from ...exchange import capture
    from ...exchange import hosts as numbers

    with failures():
        if into is not None and (out is None or hosts is not None or hosts_out is not None):
            raise ValueError(
                "--into needs -o for the new scenario; the scenario has the host names, so remove --hosts and --hosts-out"
            )
        if into is None and flows is not None:
            raise ValueError("--flows needs --into; without --into, -o is the flow list")
        who = into or hosts
        known = numbers.read(who) if who is not None else None
        list_, mapping, account = capture.flows(
            file, time_ns(gap, "--gap"), known, class_of(of_class)
        )
        if not len(list_):
            raise ValueError(f"{file}: no flows found: {'; '.join(account.lines())}")
        if into is not None and out is not None:
            refuse_packed(out)
            where = flows or companion_path(out, None, ".flows.csv")
            assert where is not None
            same(out, where)
            document = Into(into, out)
            document.add_traffic({"kind": "flows", "file": os.path.relpath(where, out.parent)})
            with importing(file):
                checked_with(document.text(), out, where, list_)
            finish(out, document.text(), {where: list_.writer(where)}, [account], force, as_json)
            return
        # The scenario has the names of the hosts, so no second file is needed.
        where = (
            companion_path(out, hosts_out, ".hosts.csv")
            if known is None or known.names is None or hosts_out is not None
            else None
        )
        same(out, where)
        finish(
            out,
            flow_list(list_, out),
            {where: text_writer(where, numbers.to_csv(mapping))} if where else {},
            [account],
            force,
            as_json,
        )


def checked_with(text: str, out: Path, where: Path, flows: FlowList) -> None:
    """Validates a scenario before its flow list is written, with a temporary copy of the list."""
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
