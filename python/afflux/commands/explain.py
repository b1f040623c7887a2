"""`afflux explain`."""

from pathlib import Path
from typing import Annotated

import typer

from ..results.result import Result
from ..terminal.console import failures, print_json, show, warn_of_doubts, width

EXAMPLES = (
    "afflux explain out/incast-dctcp-1",
    "afflux explain out/incast-dctcp-1 --slowest 10",
    "afflux explain out/incast-dctcp-1 --flow 17",
    "afflux explain out/shallow-1 --against out/deep-1 --by class",
)


def explain(
    dir: Annotated[Path, typer.Argument(metavar="DIR", help="A result directory.", show_default=False)],
    flow: Annotated[int | None, typer.Option("--flow", metavar="ID", help="One flow, part by part.")] = None,
    slowest: Annotated[int | None, typer.Option("--slowest", metavar="N", min=1, help="The N flows with the largest slowdown.")] = None,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="DIR", help="What makes the difference to the mean completion time of this result.")
    ] = None,
    by: Annotated[str, typer.Option("--by", metavar="size|class", help="Group flows by size or by class of traffic.")] = "size",
    per_flow: Annotated[bool, typer.Option("--shares", help="Mean of each flow's shares, so that all flows have the same weight.")] = False,
    hosts: Annotated[bool, typer.Option("--hosts", help="Among the longest queues, show those of hosts too.")] = False,
    front: Annotated[bool, typer.Option("--waits", help="Only who stood in front of whom, by class of traffic (of --flow or --slowest, if given).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show where each flow's time went; without options the parts of the mean completion time, by size, the longest queues of
    switches if ports were recorded, and who stood in front of whom if waits were."""
    from ..results import split
    from ..results.explain import longest_queues
    from ..results.waits import behind
    from ..terminal import explanation as shown

    with failures():
        if flow is not None and slowest is not None:
            raise ValueError("--flow and --slowest exclude each other")
        result = Result.open(dir)
        warn_of_doubts([result])
        if against is not None:
            if flow is not None or slowest is not None or front or per_flow or hosts:
                raise ValueError("--against compares means: of the other options it takes --by and --json")
            other = Result.open(against)
            names = [one.summary["name"] for one in (other, result)]
            if names[0] == names[1]:
                names = [str(against), str(dir)]
            change = split.compare(other, result, by, names=(names[0], names[1]))
            if change is None:
                raise ValueError("no flow finished in both: there is nothing to compare")
            print_json(change.to_dict()) if as_json else show(shown.change(change, width()))
            return
        explanation = result.explain()
        chosen = [flow] if flow is not None else [one.id for one in explanation.slowest(slowest)] if slowest is not None else None
        if front or ("waits" in result.recorded and not as_json):
            waits = behind(result.table("waits"), result.flows, chosen)
        if front:
            print_json([one.to_dict() for one in waits]) if as_json else show(shown.waits(waits))
            return
        if flow is not None:
            one = explanation.flow(flow)
            print_json(one.to_dict()) if as_json else show(shown.flow(one, width()))
        elif slowest is not None:
            flows = explanation.slowest(slowest)
            print_json([one.to_dict() for one in flows]) if as_json else show(shown.slowest(flows, width()))
        else:
            groups = split.groups([explanation], [by])
            print_json([group.to_dict() for group in groups]) if as_json else show(shown.parts(groups, width(), per_flow=per_flow))
            if "ports" in result.recorded and not as_json:
                show(shown.queues(longest_queues(result.ports, result.is_host), hosts=hosts))
        if "waits" in result.recorded and not as_json:
            show(shown.waits(waits))
