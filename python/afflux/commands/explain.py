"""`afflux explain`."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from rich.console import RenderableType

from ..results.result import Result
from ..terminal.console import complain, failures, print_json, show, warn_of_failed_checks, width
from .options import SELECTION, By, Dir, Json, NoPager

EXAMPLES = (
    "afflux explain out/incast-dctcp-1",
    "afflux explain out/incast-dctcp-1 --slowest 10",
    "afflux explain out/incast-dctcp-1 --flow 17",
    "afflux explain out/incast-dctcp-1 --where",
    "afflux explain out/shallow-1 --against out/deep-1 --by class",
)


def explain(
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
    as_json: Json = False,
    no_pager: NoPager = False,
) -> None:
    """Explain completion times. Without options: the parts of the mean completion time by flow
    size, the longest queues of switches if ports were recorded, the ports where frames waited and
    the queueing by cause if waits were recorded, and windows, round-trip times and bytes in flight
    of senders if senders were recorded."""
    from ..results import realtime, split
    from ..results.explain import busiest_link, longest_queues
    from ..results.senders import Known, known
    from ..results.waits import Behind, Place, behind, places
    from ..terminal import explanation as shown

    with failures():
        if flow is not None and slowest is not None:
            raise ValueError("--flow and --slowest exclude each other")
        if front and where:
            raise ValueError("--waits and --where exclude each other: each shows one table alone")
        result = Result.open(dir)
        warn_of_failed_checks([result])
        if against is not None:
            if flow is not None or slowest is not None or front or where or per_flow or hosts:
                raise ValueError(
                    "--against compares mean completion times: only --by and --json go with it"
                )
            other = Result.open(against)
            names = [one.summary["name"] for one in (other, result)]
            if names[0] == names[1]:
                names = [str(against), str(dir)]
            change = split.compare(other, result, by, names=(names[0], names[1]))
            if change is None:
                raise ValueError("no flow finished in both results: there is nothing to compare")
            print_json(change.to_dict()) if as_json else show(
                shown.change(change, width()), paged=True
            )
            return
        explanation = result.explain()
        report = realtime.of(result)
        if report is not None:
            for reason in report["wrong"]:
                complain(f"this live run is not valid: {reason}")
            if not len(explanation) and (flow is not None or slowest is not None):
                raise LookupError(
                    "this live run has no simulated flows: without --flow and --slowest explain shows where packets of its real hosts waited"
                )
        chosen = (
            [explanation.flow(flow)]
            if flow is not None
            else explanation.slowest(slowest)
            if slowest is not None
            else None
        )
        waits: list[Behind] = []
        ports: list[Place] = []
        if front or where or ("waits" in result.recorded and not as_json):
            only = None if chosen is None else [one.id for one in chosen]
            if not where:
                waits = behind(result.table("waits"), result.flows, only)
            if not front:
                ports = places(result.table("waits"), result.is_host, only)
        senders: list[Known] = []
        if "senders" in result.recorded and not as_json and not front and not where:
            senders = known(
                result.table("senders"),
                result.flows,
                None if chosen is None else [one.id for one in chosen],
            )
        parts: Iterable[RenderableType]
        found: Any
        if front:
            found, parts = [one.to_dict() for one in waits], []
        elif where:
            found, parts = [one.to_dict() for one in ports], []
        elif chosen is not None:
            found = chosen[0].to_dict() if flow is not None else [one.to_dict() for one in chosen]
            parts = (
                shown.flow(chosen[0], width())
                if flow is not None
                else shown.slowest(chosen, width())
            )
        else:
            groups = split.groups([explanation], [by])
            queues = (
                longest_queues(result.ports, result.is_host)
                if "ports" in result.recorded and not as_json
                else []
            )
            found, parts = [group.to_dict() for group in groups], shown.queues(queues, hosts=hosts)
            if groups or report is None:
                parts = chain(shown.parts(groups, width(), per_flow=per_flow), parts)
            if groups and groups[0].mean.parts_ns["queueing"] and "waits" not in result.recorded:
                parts = chain(
                    parts,
                    shown.own_hosts(result.summary.get("queueing")),
                    shown.unknown_places(busiest_link(result)),
                )
            if report is not None:
                parts = chain(shown.live(report, queues), parts)
        print_json(found) if as_json else show(
            chain(parts, shown.places(ports), shown.waits(waits), shown.senders(senders)),
            paged=True,
        )
