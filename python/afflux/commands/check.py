"""`afflux check`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from .. import _core, settings
from ..congestion import check_class
from ..terminal.console import failures, print_json, show, warn
from ..words import text
from .options import Json, NoPager, ScenarioFile, Set, Strict

if TYPE_CHECKING:
    from ..estimates.checking import Checked

EXAMPLES = (
    "afflux check examples/leaf-spine-websearch.toml",
    "afflux check fabric.toml --set topology.k=16 --strict",
)


def check(
    scenario: ScenarioFile,
    set: Set = None,
    strict: Strict = False,
    as_json: Json = False,
    no_pager: NoPager = False,
) -> None:
    """Validate a scenario without running it: warn of keys without effect, draw the topology, estimate packet-hops, time and memory."""
    from ..estimates import checking

    with failures():
        changes = settings.assignments(set)
        loaded = _core.load(scenario, set=changes, most_flows=checking.DRAWN)
        check_class(loaded, scenario, changes)
        warn(loaded.warnings, strict)
        found = checking.check(loaded)
        print_json(found.to_dict()) if as_json else show(_shown(found), paged=True)


def _shown(found: "Checked") -> Iterator[RenderableType]:
    from ..estimates.topology import drawing

    yield Text.assemble((found.name, "bold"), f"  seed {found.seed}  ·  valid")
    yield Text()
    for line in drawing(found.tiers):
        yield Text(line, no_wrap=True, overflow="ignore")
    yield Text()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    grid.add_row("traffic", _traffic(found))
    grid.add_row(
        "simulated",
        f"until {text.time(found.until_ns)}" if found.until_ns is not None else _until(found),
    )
    grid.add_row("time", _time(found))
    grid.add_row(
        "memory",
        f"about {text.size(found.memory_bytes)}{', or more' if _lasts_longer(found) else ''}",
    )
    yield grid
    for reason in (found.doubt, found.rest):
        if reason:
            yield Text(f"a range, because {reason}", style="dim")
    for note in found.notes:
        yield Text(f"note: {note}", style="dim")


def _until(found: "Checked") -> str:
    return (
        f"until all traffic is done, after about {text.time(found.end_ns)}{', or later' if _lasts_longer(found) else ''}"
        if found.complete
        else "until all traffic is done"
    )


def _lasts_longer(found: "Checked") -> bool:
    """Whether time-outs after losses can make the run longer, and its records with it."""
    return found.doubt is not None and found.until_ns is None


def _traffic(found: "Checked") -> str:
    line = f"{text.count(found.flows)} flow{'s' if found.flows != 1 else ''}, {text.size(found.payload_bytes)}; "
    if found.least_hops == found.most_hops:
        line += f"about {_rough(found.packet_hops)} packet-hops"
    else:
        line += f"between {_rough(found.least_hops)} and {_rough(found.most_hops)} packet-hops"
    return (
        line
        if found.complete
        else line + ", without later traffic of applications, which takes too long to follow"
    )


def _time(found: "Checked") -> str:
    least, most = (max(seconds, 1) for seconds in (found.least_seconds, found.most_seconds))
    if most >= 2 and most > 1.1 * least:
        line = f"between {text.duration(least)} and {text.duration(most)} on one core"
    else:
        line = f"about {text.duration(max(found.seconds, 1))} on one core"
    line = line if found.complete else f"at least {text.duration(least)} on one core"
    if found.own_congestion:
        return f"{line}, most of it in the Python class"
    line += f", at {found.speed / 1e6:.0f} million packet-hops per second and core, as docs/bench.md measured at this size"
    if found.set_up_seconds >= 1:
        line += f"; {text.duration(found.set_up_seconds)} of it for set-up and results"
    return line


def _rough(value: int) -> str:
    """Formats an estimate with two significant digits."""
    for unit, name in ((1e9, " billion"), (1e6, " million")):
        if value >= unit:
            return text.digits(value / unit, 2) + name
    return text.count(round(value, 2 - len(str(value))) if value else 0)
