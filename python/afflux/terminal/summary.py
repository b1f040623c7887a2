"""Shows the summary of a run."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..results import coflows
from ..results.result import Result
from ..words import text
from .drawing import plural, table
from .unfinished import not_listed

#: Title of the table of jobs if all jobs are of this kind.
_SLOWEST = {"query": "Slowest queries", "coflow": "Slowest coflows", "job": "Slowest jobs"}
#: Singular and plural of each kind.
_NAMES = {"query": ("query", "queries"), "coflow": ("coflow", "coflows"), "job": ("job", "jobs")}


def summary(result: Result, *, hosts: int, switches: int) -> Iterator[RenderableType]:
    """Output of `afflux run`."""
    s = result.summary
    head = Text.assemble(
        (s["name"], "bold"),
        f"  seed {s['seed']}  ·  {plural(hosts, 'host')}, {plural(switches, 'switch', 'es')}",
    )
    head.append(f"  ·  {text.time(s['simulated_ns'])} simulated")
    yield head
    yield _counts(s)
    flows = s["flows"]
    simulated = flows["started"] - flows.get("of_kernels", 0)
    if flows["started"]:
        yield _distributions("Completion time", s["fct"], "_ns", text.time)
    if simulated:
        yield _distributions("Slowdown", s["slowdown"], "", text.ratio)
    if s["fct"]["all"]["censored"]:
        yield Text(
            "* some flows of this row did not finish, so the true values are higher", style="dim"
        )
    if s["flows"]["in_warmup"]:
        yield Text(
            f"without the {plural(s['flows']['in_warmup'], 'flow')} that started in the warm-up",
            style="dim",
        )
    if s.get("jobs"):
        yield from _jobs(coflows.jobs(result), s["simulated_ns"])
    for note in s["notes"]:
        yield Text(f"note: {note}", style="dim")
    yield _cost(s)


def _counts(s: dict[str, Any]) -> RenderableType:
    flows, reasons = s["flows"], {name: n for name, n in s["drops_by_reason"].items() if n}
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    line = f"{text.count(flows['started'])} started, {text.count(flows['finished'])} finished, {text.count(flows['unfinished'])} unfinished"
    if of_kernels := flows.get("of_kernels"):
        line += f" ({text.count(of_kernels)} of kernels)"
    if flows.get("not_started"):
        line += f", {text.count(flows['not_started'])} not started"
    grid.add_row("flows", line)
    why = (
        f" ({', '.join(f'{name} {text.count(n)}' for name, n in reasons.items())})"
        if reasons
        else ""
    )
    drops = f"{plural(s['drops'], 'drop')}{why}, {plural(s['ecn_marks'], 'ECN mark')}"
    drops += f", {plural(s['in_discards'], 'ingress discard')}" if s["in_discards"] else ""
    drops += f", {plural(s['pause_frames'], 'pause frame')}" if s["pause_frames"] else ""
    grid.add_row("switches", drops)
    # Without flows these rows would be zeros. Time-outs of real kernels are unknown.
    if flows["started"]:
        outs = plural(s["timeouts"], "time-out")
        if of_kernels:
            simulated = flows["started"] - of_kernels
            outs = f"{outs} of simulated senders" if simulated else "time-outs unknown"
        grid.add_row("senders", f"{plural(s['retransmits'], 'retransmission')}, {outs}")
        active = f" while flows were active ({text.time(s['busy_ns'])} of {text.time(s['simulated_ns'])})"
        each = (
            ""
            if s["goodput_flow_mean_bps"] is None
            else f", {text.rate(s['goodput_flow_mean_bps'])} mean per flow"
        )
        grid.add_row("goodput", f"{text.rate(s['goodput_bps'])}{active}{each}")
    for name, line in _classes(s):
        grid.add_row(name, line)
    if s.get("deadlines"):
        grid.add_row("deadlines", _deadlines(s["deadlines"]))
    return Padding(grid, (1, 0, 0, 0))


def _deadlines(d: dict[str, Any]) -> str:
    """Returns how many of the flows whose outcome is known met their deadline, and how many flows
    ran at the end of the run with a deadline that had not passed."""
    decided = d["met"] + d["missed"]
    pending = d["flows"] - decided
    parts = []
    if decided or not pending:
        share = f" ({text.share(d['met'] / decided)})" if decided else ""
        parts.append(f"{text.count(d['met'])} of {text.count(decided)} met{share}")
    if d["terminated"]:
        parts.append(f"{text.count(d['terminated'])} given up")
    if pending:
        parts.append(f"{text.count(pending)} not yet due at the end")
    return ", ".join(parts)


def _classes(s: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the goodput of each traffic class, and how evenly its flows share it. The goodput is
    left out if there is only one class, which has all of it."""
    groups = (s.get("goodput") or {}).get("by_class", {})
    for name, group in groups.items():
        fair = ""
        if group["flows"] > 1 and group["jain"] is not None:
            fair = f"Jain's fairness index {text.ratio(group['jain'])} over {text.count(group['flows'])} flows"
        if list(groups) == ["default"]:
            if fair:
                yield "fairness", fair
        elif group["bps"] is not None:
            yield f"class {name}", f"{text.rate(group['bps'])}{', ' if fair else ''}{fair}"


def _distributions(title: str, groups: dict[str, Any], suffix: str, show: Any) -> RenderableType:
    keys = [f"{name}{suffix}" for name in ("mean", "p50", "p95", "p99", "p999")]
    made = table(title, "", "flows", "mean", "p50", "p95", "p99", "p99.9")

    def add(name: str, group: dict[str, Any]) -> None:
        made.add_row(
            name,
            text.count(group["count"]) + ("*" if group["censored"] else ""),
            *(show(group[key]) for key in keys),
        )

    add("all", groups["all"])
    sizes = [
        (name, group)
        for name, group in groups["by_size"].items()
        if group["count"] or group["unfinished"]
    ]
    for name, group in sizes if len(sizes) > 1 else []:
        add(text.size_class(name), group)
    if list(groups["by_class"]) != ["default"]:
        for name, group in groups["by_class"].items():
            add(f"class {name}", group)
    return made


def _jobs(all_jobs: list[coflows.Job], end_ns: int) -> Iterator[RenderableType]:
    made = table("Job completion time", "", "finished", "width", "mean", "p50", "p95", "p99", "max")
    classes = coflows.by_kind(all_jobs)[1:]
    for row in coflows.by_block(all_jobs) + (classes if len(classes) > 1 else []):
        times = (row.mean_ns, row.p50_ns, row.p95_ns, row.p99_ns, row.max_ns)
        made.add_row(
            row.name,
            f"{text.count(row.finished)} of {text.count(row.jobs)}",
            _widths(row.flows),
            *map(text.time, times),
        )
    yield made
    yield Text("width: number of flows of a job", style="dim")
    if len(classes) > 1:
        yield Text(
            f"short: longest flow below {text.size(coflows.SHORT_BYTES)}; narrow: at most {coflows.NARROW_FLOWS} flows",
            style="dim",
        )
    if len(all_jobs) > 1 and (slowest := coflows.slowest(all_jobs, 10)):
        kinds = {job.phase for job in slowest}
        mixed = len(kinds) > 1
        kind = "job" if mixed else kinds.pop()
        made = table(
            _SLOWEST[kind],
            kind,
            *(["kind"] if mixed else []),
            "flows",
            "bytes",
            "longest flow",
            "completion",
            left=2 if mixed else 1,
        )
        for job in slowest:
            which = [job.phase] if mixed else []
            made.add_row(
                job.name,
                *which,
                text.count(job.flows),
                text.size(job.bytes),
                text.size(job.longest_bytes),
                text.time(job.completion_ns),
            )
        yield made
        left = [job for job in all_jobs if job.completion_ns is None]
        names = {_NAMES[job.phase] for job in left}
        starts = [
            job.start_ns for job in left if job.start_ns is not None and job.start_ns < end_ns
        ]
        yield from not_listed(
            len(starts),
            end_ns - min(starts, default=end_ns),
            names.pop() if len(names) == 1 else _NAMES["job"],
        )


def _widths(flows: tuple[int, int]) -> str:
    """Returns the number of flows of a job, or the range from the smallest to the largest."""
    least, most = map(text.count, flows)
    return least if least == most else f"{least} to {most}"


def _cost(s: dict[str, Any]) -> RenderableType:
    cpu = s["engine_cpu_s"]
    speed = (
        f", {text.digits(s['packet_hops'] / cpu / 1e6, 3)} Mhop per CPU second" if cpu > 0 else ""
    )
    memory = f", {text.size(s['peak_rss_bytes'])} of memory" if s["peak_rss_bytes"] else ""
    line = f"{text.count(s['packet_hops'])} packet-hops in {text.digits(s['wall_s'], 3)} s{speed}{memory}"
    return Padding(Text(line, style="dim"), (1, 0, 0, 0))
