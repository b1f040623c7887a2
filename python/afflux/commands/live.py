"""`afflux live`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from .. import _core, signals
from ..results import own
from ..settings import assignment
from ..terminal.console import FAILED, WRONG, complain, failures, note, print_json, print_text, show
from ..terminal.drawing import table
from .options import EXECUTION, OUTPUT, ForceDir, Panel, Seed, Set, argument, out_option

HOSTS = Panel("Hosts")
#: Number of real hosts above which a note says how long the set-up takes.
MANY = 300

EXAMPLES = (
    "afflux live examples/live-bottleneck.toml -- bash",
    "afflux live fabric.toml --hosts host0,host16 --duration 30s -- ./experiment.sh",
    "afflux live fabric.toml --attach host0=eth1 --attach host1=eth2 --duration 60s",
    "afflux live --check",
)


def live(
    scenario: Annotated[
        Path | None,
        argument("SCENARIO.toml", "The scenario file."),
    ] = None,
    command: Annotated[
        list[str] | None,
        argument("-- COMMAND", "Command to run in the first real host."),
    ] = None,
    hosts: Annotated[
        str | None,
        HOSTS.option(
            "--hosts",
            "N | NAME,…",
            "Real hosts: the first N, or those with these names.",
            show_default="all",
        ),
    ] = None,
    attach: Annotated[
        list[str] | None,
        HOSTS.option(
            "--attach",
            "HOST=INTERFACE",
            "Connect the machine behind INTERFACE as this host. May be repeated.",
        ),
    ] = None,
    duration: Annotated[
        str | None,
        EXECUTION.option(
            "--duration",
            "TIME",
            "Length of the run, as in 30s.",
            show_default="until COMMAND ends, else run.until, else until Ctrl-C",
        ),
    ] = None,
    set: Set = None,
    seed: Seed = None,
    bound: Annotated[
        str,
        EXECUTION.option(
            "--bound",
            "TIME",
            "Largest 99th percentile of lateness (the delay that this machine adds to packets) of a valid run.",
        ),
    ] = "100us",
    out: Annotated[
        Path | None,
        out_option("DIR", "Result directory.", "out/live-<scenario name>-<seed>"),
    ] = None,
    force: ForceDir = False,
    check: Annotated[
        bool,
        EXECUTION.flag(
            "--check",
            "Print what live mode needs of this machine and whether it is available; run nothing.",
        ),
    ] = False,
    as_json: Annotated[
        bool,
        OUTPUT.flag("--json", "Print live.json instead of tables."),
    ] = False,
) -> None:
    """Run the fabric in real time between real Linux hosts: network namespaces that exist during the run, or machines at interfaces. Linux only."""
    with failures():
        if check:
            raise typer.Exit(capabilities(as_json))
        if scenario is None:
            complain(
                "SCENARIO.toml is missing: write afflux live SCENARIO.toml, or afflux live --check"
            )
            raise typer.Exit(WRONG)
        loaded = _core.load(scenario, set=[assignment(text) for text in set or []], seed=seed)
        until = None if loaded.until_ns is None or command else f"{loaded.until_ns}ns"
        where = out or Path("out") / f"live-{loaded.name}-{loaded.seed}"
        if force and (found := own.foreign(where)):
            raise ValueError(found)
        if hosts is None and not attach and loaded.hosts > MANY:
            note(
                f"{loaded.hosts} real hosts: each takes about 10 ms to set up; --hosts N makes fewer real"
            )
        text = _core.live(
            loaded,
            hosts=hosts,
            attach=attach or [],
            duration=duration or until,
            command=command or [],
            bound=bound,
            out=where,
            force=force,
        )
        report = json.loads(text)
        if as_json:
            print_json(report)
        else:
            show(tables(report))
            print_text(f"written to {where}\n")
        _judge(report)


def _judge(report: dict[str, Any]) -> None:
    """Prints what is noteworthy and wrong about a live run, and ends with its exit code."""
    for line in report["notes"]:
        note(line)
    for reason in report["wrong"]:
        complain(f"not valid: {reason}")
    status = (report["command"] or {}).get("status")
    if report["interrupted"]:
        raise typer.Exit(signals.exit_code() or FAILED)
    if status:
        complain(f"the command ended with status {status}")
    if report["wrong"] or status:
        raise typer.Exit(FAILED)


def capabilities(as_json: bool) -> int:
    """Prints the requirements of live mode and returns the exit code."""
    names = ("name", "needed_for", "required", "lacking", "how")
    every = [dict(zip(names, row, strict=True)) for row in _core.live_capabilities()]
    if as_json:
        print_json(every)
    else:
        made = table("", "needed", "purpose", "available", words=[1, 2])
        for row in every:
            here = (
                "yes"
                if row["lacking"] is None
                else f"{'no' if row['required'] else 'no, but optional'} ({row['lacking']}): {row['how']}"
            )
            made.add_row(str(row["name"]), str(row["needed_for"]), here)
        show([made])
    return FAILED if any(row["required"] and row["lacking"] is not None for row in every) else 0


def tables(report: dict[str, Any]) -> list[RenderableType]:
    """Returns the tables of a live run: its validity, and its ports."""
    packets, late = report["packets"], report["lateness_us"]
    run = table("Live run", "", "", words=[-1])
    run.show_header = False
    run.add_row(
        "duration", f"{report['duration_s']:.1f} s, {report['cpu_s']:.1f} s of processor time"
    )
    run.add_row(
        "packets",
        f"{packets['entered']} in, {packets['delivered']} out, {packets['dropped']} dropped, {packets['marked']} marked",
    )
    run.add_row(
        "departures late by",
        f"{late['p50']:.0f} us (p50), {late['p99']:.0f} us (p99), {late['max']:.0f} us (maximum)",
    )
    run.add_row("valid", "yes" if report["valid"] else "no")
    ports = table(
        "Ports", "port", "to", "sent", "dropped", "marked", "mean queue", "longest queue", left=2
    )
    for port in report["ports"]:
        if port["tx_bytes"] or port["drops"]:
            cells = (
                f"{port['tx_bytes']:,} B",
                port["drops"],
                port["ecn_marks"],
                f"{port['queue_bytes_mean']:,.0f} B",
                f"{port['queue_bytes_max']:,} B",
            )
            ports.add_row(f"{port['node']}.{port['port']}", port["peer"], *map(str, cells))
    return [run, ports]
