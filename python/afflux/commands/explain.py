"""`afflux explain`."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from ..results.result import Result
from ..terminal.console import (
    complain,
    failures,
    note,
    print_json,
    show,
    warn_of_failed_checks,
    width,
)
from .options import SELECTION, By, Dir, Json, NoPager

if TYPE_CHECKING:
    from ..results.explain import Explanation, Flow
    from ..results.split import Group
    from ..results.waits import Behind, Place
    from ..results.wire import KernelFlow

EXAMPLES = (
    "afflux explain out/incast-dctcp-1",
    "afflux explain out/incast-dctcp-1 --slowest 10",
    "afflux explain out/incast-dctcp-1 --flow 17",
    "afflux explain out/incast-dctcp-1 --where",
    "afflux explain out/long-path-1 --kernels",
    "afflux explain out/shallow-1 --against out/deep-1 --by class",
)

Kernels = Annotated[
    bool,
    SELECTION.flag(
        "--kernels", "Show only the flows of real kernels, all of them, as their packets show them."
    ),
]


def explain(
    context: typer.Context,
    dir: Dir,
    flow: Annotated[
        int | None,
        SELECTION.option("--flow", "ID", "Show the parts of one flow's completion time."),
    ] = None,
    slowest: Annotated[
        int | None,
        SELECTION.option("--slowest", "N", "Show the N flows with the largest slowdown.", min=1),
    ] = None,
    against: Annotated[
        Path | None,
        SELECTION.option(
            "--against",
            "DIR",
            "Show which parts differ from this result in the mean completion time.",
        ),
    ] = None,
    by: By = "size",
    per_flow: Annotated[
        bool,
        SELECTION.flag(
            "--shares", "Average the shares of the flows, so that every flow has the same weight."
        ),
    ] = False,
    hosts: Annotated[
        bool,
        SELECTION.flag("--hosts", "Include queues of hosts in the list of the longest queues."),
    ] = False,
    front: Annotated[
        bool,
        SELECTION.flag(
            "--waits",
            "Show only the queueing by cause: the traffic class that each class waited behind. With --flow or --slowest: of these flows.",
        ),
    ] = False,
    where: Annotated[
        bool,
        SELECTION.flag(
            "--where",
            "Show only the ports where frames waited, the worst first (needs [record] waits). With --flow or --slowest: of these flows.",
        ),
    ] = False,
    kernels: Kernels = False,
    as_json: Json = False,
    no_pager: NoPager = False,
) -> None:
    """Explain completion times. Without options: the parts of the mean completion time by flow
    size, the longest queues of switches if ports were recorded, the ports where frames waited and
    the queueing by cause if waits were recorded, and windows, round-trip times and bytes in flight
    of senders if senders were recorded. For flows of real kernels it shows what their packets tell."""
    from ..results import realtime, split, wire
    from ..results.waits import behind, places
    from ..terminal import explanation as shown

    with failures():
        _fits(_given(context))
        result = Result.open(dir)
        warn_of_failed_checks([result])
        if against is not None:
            _compare(Result.open(against), result, (str(against), str(dir)), by, as_json)
            return
        real = _of_kernels(result, flow, kernels)
        if real and not (front or where):
            _show_kernels(result, real, flow is not None, as_json)
            return
        explanation, report = result.explain(), realtime.of(result)
        for reason in report["wrong"] if report else ():
            complain(f"this live run is not valid: {reason}")
        others = [] if as_json else wire.flows(result)
        chosen = None if real else _chosen(explanation, flow, slowest, report is not None)
        only = None if chosen is None else [one.id for one in chosen]
        only = [one.id for one in real] or only
        found: Sequence[Behind | Place | Flow | Group]
        parts: Iterable[RenderableType]
        if front:
            found = waits = behind(result.table("waits"), result.flows, only)
            parts = shown.waits(waits)
        elif where:
            found = ports = places(result.table("waits"), result.is_host, only)
            parts = shown.places(ports, _paused(result))
        elif chosen is not None:
            found = chosen
            parts = (
                shown.slowest(chosen, width(), explanation.unfinished())
                if flow is None
                else shown.flow(chosen[0], width())
            )
        else:
            found = groups = split.groups([explanation], [by])
            parts = [] if as_json else _by_group(result, groups, report, per_flow, hosts, others)
        shared = _shared(result, chosen, ("waits",) if front or where else ("waits", "senders"))
        if as_json:
            rows = [one.to_dict() for one in found]
            print_json(rows if flow is None or front or where else rows[0])
            _note_all(shared if front or where else [])
        else:
            more = [] if front or where else _recorded(result, only)
            show(chain(parts, map(Text, shared), more), paged=True)


#: Options that select what is shown, and options of the tables of all flows.
_SHOWS = ("--flow", "--slowest", "--waits", "--where", "--kernels")
_GROUPS = ("--by", "--shares", "--hosts")


def _given(context: typer.Context) -> list[str]:
    """Returns the options that the command line has, in the order of the help."""
    sources = (
        (param, context.get_parameter_source(param.name or "")) for param in context.command.params
    )
    return [param.opts[0] for param, source in sources if source and source.name == "COMMANDLINE"]


def _fits(given: list[str]) -> None:
    """Refuses options that exclude each other."""
    shows, groups = ([name for name in given if name in names] for names in (_SHOWS, _GROUPS))
    if "--against" in given and (others := [name for name in shows + groups if name != "--by"]):
        raise ValueError(
            f"--against compares mean completion times, and only --by and --json go with it: leave out {_listed(others)}"
        )
    if "--flow" in shows and "--slowest" in shows:
        raise ValueError("--flow and --slowest exclude each other")
    if "--waits" in shows and "--where" in shows:
        raise ValueError("--waits and --where exclude each other: each shows one table alone")
    if "--kernels" in shows and len(shows) > 1:
        raise ValueError(
            "--kernels shows a table alone: leave out --flow, --slowest, --waits and --where"
        )
    if shows and groups:
        have = "has" if len(groups) == 1 else "have"
        raise ValueError(
            f"{_listed(groups)} {have} no effect with {_listed(shows)}: leave out {_listed(groups)}"
        )


def _listed(names: list[str]) -> str:
    """Joins names as in "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _of_kernels(result: Result, flow: int | None, every: bool) -> "list[KernelFlow]":
    """Returns the flow of a kernel with this number, or with `every` all flows of kernels."""
    from ..results import wire

    found = (
        wire.flows(result, None if flow is None else [flow]) if every or flow is not None else []
    )
    if every and not found:
        raise LookupError("no host of this result was a real kernel that sent packets")
    return found


def _show_kernels(result: Result, real: "Sequence[KernelFlow]", alone: bool, as_json: bool) -> None:
    """Shows flows of kernels: one of them (`alone`) with its hops, or a table."""
    from ..results.waits import places
    from ..terminal import explanation as shown
    from ..terminal import wire

    recorded = "waits" in result.recorded
    only = [one.id for one in real]
    hops = places(result.table("waits"), result.is_host, only) if recorded else []
    if as_json:
        found = [one.to_dict() for one in real]
        print_json(found[0] | {"hops": [hop.to_dict() for hop in hops]} if alone else found)
        return
    parts = wire.one(real[0]) if alone else wire.several(real, most=len(real))
    after = shown.places(hops, _paused(result)) if recorded else wire.no_waits()
    show(chain(parts, after, wire.unknown("senders" in result.recorded)), paged=True)


def _compare(other: Result, result: Result, dirs: tuple[str, str], by: str, as_json: bool) -> None:
    """Shows which parts differ between two results; `dirs` tell them apart if they have one name."""
    from ..results import split
    from ..terminal import explanation as shown

    names = other.summary["name"], result.summary["name"]
    change = split.compare(other, result, by, names=dirs if names[0] == names[1] else names)
    if change is None:
        before, after = other.explain(), result.explain()
        raise ValueError(f"{after.none_counts(before)}: there is nothing to compare")
    print_json(change.to_dict()) if as_json else show(shown.change(change, width()), paged=True)


def _chosen(
    explanation: "Explanation", flow: int | None, slowest: int | None, in_real_time: bool
) -> "list[Flow] | None":
    """Returns the flows of `--flow` or `--slowest`; None without these options."""
    if flow is None and slowest is None:
        return None
    if in_real_time and not len(explanation):
        raise LookupError(
            "this live run has no simulated flows: without --flow and --slowest explain shows where packets of its real hosts waited"
        )
    if flow is None and not len(explanation) and explanation.without:
        raise LookupError(
            "all flows are of real kernels, which have no slowdown: --kernels shows them"
        )
    return [explanation.flow(flow)] if flow is not None else explanation.slowest(slowest or 1)


def _by_group(
    result: Result,
    groups: "Sequence[Group]",
    report: dict[str, Any] | None,
    per_flow: bool,
    hosts: bool,
    real: "Sequence[KernelFlow]",
) -> Iterable[RenderableType]:
    """Renders the parts of groups of flows and the longest queues, after the report of a live
    run, and before the flows of kernels (`real`)."""
    from ..results.explain import Queues, busiest_link
    from ..terminal import explanation as shown
    from ..terminal import wire as shown_kernels

    queues = Queues.of(result)
    parts = shown.queues(queues, hosts=hosts)
    if groups or (report is None and not real):
        without = "" if groups else result.explain().none_counts()
        split = shown.parts(groups, width(), per_flow=per_flow, without=without)
        parts = chain(split, parts)
    if groups and groups[0].mean.parts_ns["queueing"]:
        parts = chain(parts, shown.own_hosts(result.summary.get("queueing")))
        if "waits" not in result.recorded:
            parts = chain(parts, shown.unknown_places(busiest_link(result)))
    if real:
        parts = chain(parts, shown_kernels.several(real, most=10))
    if report is None:
        return parts
    return chain(shown.live(report, queues.longest if queues else []), parts)


def _paused(result: Result) -> bool:
    """True if ports sent PAUSE frames in the run."""
    return bool(result.summary["pause_frames"])


def _shared(result: Result, chosen: "Sequence[Flow] | None", tables: Iterable[str]) -> list[str]:
    """Says which chosen flows have rows in these tables for all flows of a persistent connection, or
    none because these rows belong to another flow."""
    from ..results import connections

    names = {"waits": "waits", "senders": "sender samples"}
    shown = [table for table in tables if table in result.recorded]
    if chosen is None or not shown:
        return []
    recorded = {flow for table in shown for flow in result.table(table).column("flow")}
    what = " and ".join(names[table] for table in shown)
    return connections.remarks(result, [one.id for one in chosen], recorded, what)


def _note_all(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        note(sentence)


def _recorded(result: Result, only: Sequence[int] | None) -> Iterable[RenderableType]:
    """Renders the recorded waits and senders of the flows `only`, or of all."""
    from ..results.senders import known
    from ..results.waits import behind, places
    from ..terminal import explanation as shown

    parts: list[Iterable[RenderableType]] = []
    if "waits" in result.recorded:
        waits = result.table("waits")
        parts.append(shown.places(places(waits, result.is_host, only), _paused(result)))
        parts.append(shown.waits(behind(waits, result.flows, only)))
    if "senders" in result.recorded:
        parts.append(shown.senders(known(result.table("senders"), result.flows, only)))
    return chain.from_iterable(parts)
