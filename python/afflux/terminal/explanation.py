"""Shows which parts make up completion times: of a flow, of groups of flows, of the difference
between two results."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from .. import settings
from ..results import realtime, split
from ..results.explain import LABELS, Flow, Queue, Queues
from ..results.senders import Known
from ..results.waits import NOBODY, Behind, Place, held, where
from ..words import text
from .drawing import COLOURS, bar, diverging, legend, plural, stacked, table, zeros
from .unfinished import not_listed

#: Singular and plural of flows.
FLOWS = ("flow", "flows")


def flow(one: Flow, width: int) -> Iterator[RenderableType]:
    """One flow's completion time, part by part."""
    yield Text.assemble(
        (f"Flow {one.id}", "bold"),
        f"  {one.src_name} → {one.dst_name}, {text.size(one.bytes)}, class {one.flow_class}",
    )
    yield Text(f"completed in {text.time(one.fct_ns)}, slowdown {text.ratio(one.slowdown)}")
    made = table("", "", "ns", "share", "", extras=[-1])
    for label, ns in one.parts_ns.items():
        if not ns:
            continue
        share = one.share(label)
        made.add_row(
            label,
            text.count(ns),
            text.share(share),
            bar(share, max(width - 44, 10), COLOURS[label]),
        )
        if label == "queueing" and one.host_ns is not None:
            part = one.host_ns / one.fct_ns
            made.add_row(
                "  in its host",
                text.count(one.host_ns),
                text.share(part),
                bar(part, max(width - 44, 10), COLOURS[label]),
            )
    made.add_section()
    made.add_row("completion", text.count(one.fct_ns), "", "")
    yield made
    yield from zeros([label for label, ns in one.parts_ns.items() if not ns])


def slowest(
    flows: Sequence[Flow], width: int, unfinished: tuple[int, int] = (0, 0)
) -> Iterator[RenderableType]:
    """Renders a line per flow, with its largest part. `unfinished` is the number of flows that had
    not finished when the run ended, and the longest time in nanoseconds that one had run."""
    if not flows:
        yield Text("no flow finished: there is no slowdown to list")
        yield from not_listed(*unfinished, FLOWS)
        return
    made = table(
        "Slowest flows, by slowdown",
        "flow",
        "hosts",
        "bytes",
        "completion",
        "slowdown",
        "where the time went",
        labels=[-1],
    )
    # Width that the other columns leave. The label of the largest part follows the bar.
    room = max(min(width - 78, 40), 10)
    for one in flows:
        shares = {label: one.share(label) for label in LABELS}
        most = max(shares, key=lambda label: shares[label])
        where = stacked(shares, room).append(f" {most} {100 * shares[most]:.0f} %")
        made.add_row(
            str(one.id),
            f"{one.src_name}→{one.dst_name}",
            text.size(one.bytes),
            text.time(one.fct_ns),
            text.ratio(one.slowdown),
            where,
        )
    yield made
    yield Text()
    used = [label for label in LABELS if any(one.parts_ns[label] for one in flows)]
    yield legend(used)
    yield from not_listed(*unfinished, FLOWS)


def parts(
    groups: Sequence[split.Group],
    width: int,
    *,
    per_flow: bool,
    without: str = "no flow finished",
) -> Iterator[RenderableType]:
    """Renders the parts of the completion time by group: of the mean completion time, or as the
    mean of each flow's shares. `without` says why there is no group if there is none."""
    if not groups:
        yield Text(f"{without}: there is no completion time to split")
        return
    title = (
        "mean share of each flow's completion time"
        if per_flow
        else "parts of the mean completion time"
    )
    made = table(
        f"Where the time went: {title}",
        "",
        *([] if per_flow else ["mean"]),
        *map(_group, groups),
        "",
        extras=[-1],
    )
    zero = [label for label in LABELS if not any(group.mean.parts_ns[label] for group in groups)]
    for label in LABELS:
        if label in zero:
            continue
        values = [
            (group.mean.flow_shares if per_flow else group.mean.shares)[label] for group in groups
        ]
        times = [] if per_flow else [text.time(groups[0].mean.parts_ns[label])]
        bars = bar(values[0], max(min(width - 28 - 15 * len(groups), 40), 8), COLOURS[label])
        made.add_row(label, *times, *map(text.share, values), bars)
    made.add_section()
    made.add_row(
        "mean completion",
        *([] if per_flow else [""]),
        *(text.time(group.mean.fct_ns) for group in groups),
        "",
    )
    made.add_row(
        "flows",
        *([] if per_flow else [""]),
        *(text.count(group.mean.flows) for group in groups),
        "",
    )
    yield made
    yield from zeros(zero)
    weight = (
        "every flow has the same weight"
        if per_flow
        else "a flow weighs as much as the time it took (--shares: all the same)"
    )
    unfinished = groups[0].unfinished
    left = f"; without {plural(unfinished, 'flow')} that did not finish" if unfinished else ""
    yield Text(f"{weight}{left}", style="dim")


def _group(group: split.Group | split.Change) -> str:
    if group.name is None:
        return "all flows"
    return text.size_class(group.name) if group.by == "size" else group.name


def change(found: split.Comparison, width: int) -> Iterator[RenderableType]:
    """Renders the difference between two designs' mean completion times, part by part."""
    yield Text(found.sentence(), style="bold")
    whole = found.all
    names = settings.short_names([found.baseline, found.design])
    made = table(
        "The mean completion time and its parts",
        "",
        names[found.baseline],
        names[found.design],
        "difference",
        "",
        extras=[-1],
    )
    most = max(map(abs, whole.parts_ns.values()), default=0)
    room = max(min(width - 60, 40), 10)
    zero = []
    for label, ns in whole.parts_ns.items():
        before, after = (mean.parts_ns[label] for mean in (whole.baseline, whole.design))
        if before or after:
            made.add_row(
                label,
                text.time(before),
                text.time(after),
                text.signed_time(ns),
                diverging(ns, most, room, COLOURS[label]),
            )
        else:
            zero.append(label)
    made.add_section()
    made.add_row(
        "mean completion",
        text.time(whole.baseline.fct_ns),
        text.time(whole.design.fct_ns),
        text.signed_time(whole.fct_ns),
        "",
    )
    yield made
    yield from zeros(zero)
    if len(found.changes) > 2:
        made = table(f"The difference by {whole.by}", "", *map(_group, found.changes))
        differ = [
            label for label in LABELS if any(change.parts_ns[label] for change in found.changes)
        ]
        for label in differ:
            made.add_row(
                label, *(text.signed_time(change.parts_ns[label]) for change in found.changes)
            )
        made.add_section()
        made.add_row(
            "mean completion", *(text.signed_time(change.fct_ns) for change in found.changes)
        )
        made.add_row("flows", *(text.count(change.design.flows) for change in found.changes))
        yield made
        yield from zeros([label for label in LABELS if label not in differ and label not in zero])
    yield Text(found.note(), style="dim")


#: Options of `afflux run` that record the queues of all ports.
_EVERY_PORT = "--set record.ports.nodes=all"


def queues(found: Queues | None, *, hosts: bool, count: int = 5) -> Iterator[RenderableType]:
    """Renders the longest queues of switches, with `hosts` also those of hosts, and says how many
    ports were recorded."""
    if found is None:
        if hosts:
            yield Text(
                f"queues were not recorded: run again with --set record.ports.interval=100us {_EVERY_PORT}"
            )
        return
    at_hosts = [queue for queue in found.longest if queue.at_host]
    longest = [queue for queue in found.longest if hosts or not queue.at_host][:count]
    if longest:
        yield from _queues(longest)
    if at_hosts and not hosts and (not longest or at_hosts[0].bytes_max > longest[0].bytes_max):
        own = at_hosts[0]
        yield Text(
            f"a host's own queue was longer: {own.node} → {own.peer}, {text.size(own.bytes_max)} (--hosts shows those too)",
            style="dim",
        )
    some = f"{text.count(found.recorded)} of {plural(found.ports, 'port')}"
    if hosts and not found.at_hosts:
        yield Text(f"no port of a host was recorded, only {some}: run again with {_EVERY_PORT}")
    elif longest and found.recorded < found.ports:
        none = "" if found.at_hosts else ", none of a host"
        yield Text(f"recorded are {some}{none} ({_EVERY_PORT} records all)", style="dim")


def _queues(longest: Sequence[Queue]) -> Iterator[RenderableType]:
    counters = [
        (title, name) for title, name in _COUNTERS if any(getattr(queue, name) for queue in longest)
    ]
    made = table(
        "The longest queues", "port", "longest", "longest wait", *(title for title, _ in counters)
    )
    for queue in longest:
        counts = (
            text.time(value) if name == "paused_ns" else text.count(value)
            for _, name in counters
            for value in [getattr(queue, name)]
        )
        made.add_row(
            f"{queue.node} → {queue.peer}",
            text.size(queue.bytes_max),
            text.time(queue.wait_ns_max),
            *counts,
        )
    yield made


_COUNTERS = (
    ("drops", "drops"),
    ("in discards", "in_discards"),
    ("ECN marks", "ecn_marks"),
    ("paused", "paused_ns"),
)


def live(report: dict[str, Any], every: Sequence[Queue]) -> Iterator[RenderableType]:
    """Renders a live run: where packets of real hosts spent their time."""
    yield Text.assemble(
        ("Live run", "bold"),
        f" of {text.duration(report['duration_s'])}, {text.count(report['packets']['delivered'])} packets delivered",
    )
    yield Text(
        "Only packets of real hosts are known, not their flows: they have no completion time to split."
    )
    made = table("Where a packet's time goes", "", "", "", left=1)
    made.columns[-1].justify = "left"
    made.columns[0].no_wrap, made.columns[-1].no_wrap, made.show_header = True, False, False
    if (rtt := report["base_rtt_us"]) is not None:
        made.add_row(
            "propagation",
            text.time(1e3 * rtt),
            "there and back, between the nearest hosts that had traffic",
        )
    longest = next((queue for queue in every if not queue.at_host), None)
    if longest is None:
        made.add_row("queues", text.time(0), "no queue of a switch exceeded 10 kB")
    else:
        mean = realtime.mean_wait_ns(report, longest)
        made.add_row(
            "longest queue",
            text.time(mean, 3),
            f"mean, at {longest.node} → {longest.peer}; most {text.time(longest.wait_ns_max, 3)}",
        )
    late = report["lateness_us"]
    if late["count"]:
        tail = f"median, of its own; p99 {text.time(1e3 * late['p99'], 3)}, most {text.time(1e3 * late['max'], 3)}"
        made.add_row("this machine", text.time(1e3 * late["p50"], 3), tail)
    yield made


def places(found: Sequence[Place], paused: bool, count: int = 5) -> Iterator[RenderableType]:
    """Renders the ports at which frames waited, the worst first. `paused`: there were PAUSE
    frames."""
    if not found:
        return
    # A port where flows waited only for their own frames is not congested. Such ports are listed
    # only if there are no others.
    worst = [one for one in found if one.wait_ns or one.held_wait_ns] or found
    some_held = any(one.held_wait_ns for one in found)
    made = table(
        "Where frames waited, by port (sums over frames)",
        "port",
        "for others",
        "share",
        "for their own flow",
        *(["behind no frame"] if some_held else []),
    )
    for one in worst[:count]:
        name = f"{one.node} → {one.peer}" + (" (NIC)" if one.at_host else "")
        made.add_row(
            name,
            text.time(one.wait_ns),
            text.share(one.share),
            text.time(one.own_wait_ns),
            *([text.time(one.held_wait_ns)] if some_held else []),
        )
    yield made
    if (sentence := where(found)) is not None:
        yield Text(sentence)
    if (sentence := held(found, paused)) is not None:
        yield Text(sentence)
    if len(worst) > count:
        yield Text(
            f"and {plural(len(worst) - count, 'port')} with shorter waits (--where --json lists all)",
            style="dim",
        )


def own_hosts(queueing: dict[str, Any] | None) -> Iterator[RenderableType]:
    """Says how much of the queueing was in the senders' own hosts, from the summary."""
    if not queueing or not (total := queueing["host_mean_ns"] + queueing["network_mean_ns"]):
        return
    host = queueing["host_mean_ns"]
    own = f"{text.share(host / total)} in the sender's own host ({text.time(round(host))} per flow)"
    yield Text(f"Of the queueing, {own}, the rest in the network.")


def unknown_places(busiest: tuple[str, str, float] | None) -> Iterator[RenderableType]:
    """Says what to record so that the next result shows where frames waited."""
    hint = (
        ""
        if busiest is None
        else f"; the busiest link was {busiest[0]} → {busiest[1]}, in use {text.share(busiest[2])} of the time"
    )
    yield Text(
        f"where queueing took place was not recorded: run again with --set record.waits=all{hint}",
        style="dim",
    )


def waits(found: Sequence[Behind]) -> Iterator[RenderableType]:
    """Renders the classes behind which frames of each class waited."""
    if not found:
        return
    made = table(
        "Queueing by cause: which class each class waited behind",
        "class",
        "behind",
        "most of it at",
        "there",
        "share of its waits",
        "in all",
        left=3,
    )
    for one in found:
        made.add_row(
            one.flow_class,
            "no frame (held back)" if one.behind == NOBODY else one.behind,
            f"{one.node} → {one.peer}",
            *map(text.share, (one.share_there, one.share)),
            text.time(one.wait_ns),
        )
    yield made


def senders(found: Sequence[Known]) -> Iterator[RenderableType]:
    """Renders the recorded sender state of each class: window, threshold, bytes in flight,
    round-trip time, pacing."""
    if not found:
        return
    made = table(
        "What senders knew: medians over their samples",
        "class",
        "window",
        "threshold",
        "in flight",
        "window full",
        "round trip",
        "pacing",
    )
    for one in found:
        sizes = [
            text.size(value) if value is not None else "–"
            for value in (one.window_bytes, one.threshold_bytes, one.in_flight_bytes)
        ]
        full = text.share(one.window_full) if one.window_full is not None else "–"
        pacing = text.rate(one.pacing_bps) if one.pacing_bps is not None else "–"
        made.add_row(one.flow_class, *sizes, full, text.time(one.smoothed_rtt_ns), pacing)
    yield made
