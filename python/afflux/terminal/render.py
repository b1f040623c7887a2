"""What the command line prints: rich renderables from results. No numbers are made here."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Group as Stack
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .. import settings
from .._core import Model
from ..batch.grid import Sweep
from ..comparison import changes
from ..comparison.compare import Comparison
from ..comparison.paired import SAME, UNCLEAR, Difference
from ..metrics import SHORT
from ..results import coflows, split
from ..results.explain import ALL, LABELS, Flow, Queue
from ..results.result import Result
from ..results.statistics import mean
from ..results.waits import Behind
from ..studies.study import HEAD, Verdict, cells, number
from ..words import Marked, text

#: One colour per label, the same wherever a label is shown.
COLOURS = {
    "propagation": "bright_black",
    "serialization": "blue",
    "recovery": "red",
    "reordering": "magenta",
    "paused": "bright_magenta",
    "queueing": "yellow",
    "pacing": "cyan",
    "window": "green",
    "application": "bright_blue",
}


def table(title: str, *columns: str, left: int = 1) -> Table:
    """A plain table: the first `left` columns to the left, numbers to the right."""
    made = Table(title=f"\n{title}" if title else None, title_justify="left", title_style="bold")
    made.box, made.header_style, made.show_edge, made.pad_edge, made.padding = box.SIMPLE_HEAD, "dim", False, False, (0, 1, 0, 0)
    for place, column in enumerate(columns):
        # Where there is no room for all, names are broken into lines; numbers stay whole.
        made.add_column(column, justify="left" if place < left else "right", no_wrap=place >= left)
    return made


def bar(share: float, width: int, colour: str) -> Text:
    """A horizontal bar in eighths of a character."""
    eighths = round(share * width * 8)
    full, rest = divmod(eighths, 8)
    return Text("█" * full + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest], style=colour)


def stacked(shares: dict[str, float], width: int) -> Text:
    """Shares side by side, exactly `width` characters if they add up to one."""
    line, done, total = Text(), 0, 0.0
    for label, share in shares.items():
        total += share
        cells = round(total * width) - done
        line.append("█" * cells, style=COLOURS[label])
        done += cells
    return line


def summary(result: Result, *, hosts: int, switches: int) -> Iterator[RenderableType]:
    """What `afflux run` prints."""
    s = result.summary
    head = Text.assemble((s["name"], "bold"), f"  seed {s['seed']}  ·  {_plural(hosts, 'host')}, {_plural(switches, 'switch', 'es')}")
    head.append(f"  ·  {text.time(s['simulated_ns'])} simulated")
    yield head
    yield _counts(s)
    yield _distributions("Completion time", s["fct"], "_ns", text.time)
    yield _distributions("Slowdown", s["slowdown"], "", text.ratio)
    if s["fct"]["all"]["censored"]:
        yield Text("* some flows of this row did not finish, so the true values are higher", style="dim")
    if s["flows"]["in_warmup"]:
        yield Text(f"without the {_plural(s['flows']['in_warmup'], 'flow')} that started in the warm-up", style="dim")
    if s.get("jobs"):
        yield from _jobs(coflows.jobs(result))
    for note in s["notes"]:
        yield Text(f"note: {note}", style="dim")
    yield _cost(s)


def _counts(s: dict[str, Any]) -> RenderableType:
    flows, reasons = s["flows"], {name: n for name, n in s["drops_by_reason"].items() if n}
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    line = f"{text.count(flows['started'])} started, {text.count(flows['finished'])} finished, {text.count(flows['unfinished'])} unfinished"
    if flows.get("not_started"):
        line += f", {text.count(flows['not_started'])} not started"
    grid.add_row("flows", line)
    why = f" ({', '.join(f'{name} {text.count(n)}' for name, n in reasons.items())})" if reasons else ""
    drops = f"{_plural(s['drops'], 'drop')}{why}, {_plural(s['ecn_marks'], 'ECN mark')}"
    drops += f", {_plural(s['in_discards'], 'ingress discard')}" if s["in_discards"] else ""
    drops += f", {_plural(s['pause_frames'], 'pause frame')}" if s["pause_frames"] else ""
    grid.add_row("switches", drops)
    grid.add_row("senders", f"{_plural(s['retransmits'], 'retransmission')}, {_plural(s['timeouts'], 'time-out')}")
    active = f" while flows were active ({text.time(s['busy_ns'])} of {text.time(s['simulated_ns'])})"
    each = "" if s["goodput_flow_mean_bps"] is None else f", {text.rate(s['goodput_flow_mean_bps'])} mean per flow"
    grid.add_row("goodput", f"{text.rate(s['goodput_bps'])}{active}{each}")
    if s.get("deadlines"):
        d = s["deadlines"]
        line = f"{text.count(d['met'])} of {text.count(d['flows'])} met ({text.share(d['met_share'] or 0)})"
        line += f", {text.count(d['terminated'])} given up" if d["terminated"] else ""
        grid.add_row("deadlines", line)
    return Padding(grid, (1, 0, 0, 0))


def _distributions(title: str, groups: dict[str, Any], suffix: str, show: Any) -> RenderableType:
    keys = [f"{name}{suffix}" for name in ("mean", "p50", "p95", "p99", "p999")]
    made = table(title, "", "flows", "mean", "p50", "p95", "p99", "p99.9")

    def add(name: str, group: dict[str, Any]) -> None:
        made.add_row(name, text.count(group["count"]) + ("*" if group["censored"] else ""), *(show(group[key]) for key in keys))

    add("all", groups["all"])
    sizes = [(name, group) for name, group in groups["by_size"].items() if group["count"] or group["unfinished"]]
    for name, group in sizes if len(sizes) > 1 else []:
        add(text.size_class(name), group)
    if list(groups["by_class"]) != ["default"]:
        for name, group in groups["by_class"].items():
            add(f"class {name}", group)
    return made


def _jobs(all_jobs: list[coflows.Job]) -> Iterator[RenderableType]:
    made = table("Job completion time", "", "jobs", "finished", "mean", "p50", "p95", "p99", "max")
    rows = coflows.by_kind(all_jobs)
    for row in rows if len(rows) > 2 else rows[:1]:
        times = (row.mean_ns, row.p50_ns, row.p95_ns, row.p99_ns, row.max_ns)
        made.add_row(row.name, text.count(row.jobs), text.count(row.finished), *map(text.time, times))
    yield made
    if len(rows) > 2:
        yield Text(f"short: longest flow below {text.size(coflows.SHORT_BYTES)}; narrow: at most {coflows.NARROW_FLOWS} flows", style="dim")
    if len(all_jobs) > 1:
        made = table("Slowest jobs", "job", "flows", "bytes", "longest flow", "completion")
        for job in coflows.slowest(all_jobs, 10):
            made.add_row(job.name, text.count(job.flows), text.size(job.bytes), text.size(job.longest_bytes), text.time(job.completion_ns))
        yield made


def _cost(s: dict[str, Any]) -> RenderableType:
    cpu = s["engine_cpu_s"]
    speed = f", {text.digits(s['packet_hops'] / cpu / 1e6, 3)} Mhop per CPU second" if cpu > 0 else ""
    memory = f", {text.size(s['peak_rss_bytes'])} of memory" if s["peak_rss_bytes"] else ""
    line = f"{text.count(s['packet_hops'])} packet-hops in {text.digits(s['wall_s'], 3)} s{speed}{memory}"
    return Padding(Text(line, style="dim"), (1, 0, 0, 0))


def flow(one: Flow, width: int) -> Iterator[RenderableType]:
    """One flow's completion time, part by part."""
    yield Text.assemble((f"Flow {one.id}", "bold"), f"  {one.src_name} → {one.dst_name}, {text.size(one.bytes)}, class {one.flow_class}")
    yield Text(f"completed in {text.time(one.fct_ns)}, slowdown {text.ratio(one.slowdown)}")
    made = table("", "", "ns", "share", "")
    made.columns[-1].justify = "left"
    for label, ns in one.parts_ns.items():
        share = one.share(label)
        made.add_row(label, text.count(ns), text.share(share), bar(share, max(width - 44, 10), COLOURS[label]), style="" if ns else "dim")
    made.add_section()
    made.add_row("completion", text.count(one.fct_ns), "", "")
    yield made


def slowest(flows: Sequence[Flow], width: int) -> Iterator[RenderableType]:
    """A line per flow, with what cost it most."""
    made = table("Slowest flows, by slowdown", "flow", "hosts", "bytes", "completion", "slowdown", "where the time went")
    made.columns[-1].justify = "left"
    # What the other columns leave; the bar is followed by the label that weighs most.
    room = max(min(width - 78, 40), 10)
    for one in flows:
        shares = {label: one.share(label) for label in LABELS}
        most = max(shares, key=lambda label: shares[label])
        where = stacked(shares, room).append(f" {most} {100 * shares[most]:.0f} %")
        made.add_row(str(one.id), f"{one.src_name}→{one.dst_name}", text.size(one.bytes), text.time(one.fct_ns), text.ratio(one.slowdown), where)
    yield made
    yield Text()
    used = [label for label in LABELS if any(one.parts_ns[label] for one in flows)]
    yield legend(used)


def parts(groups: Sequence[split.Group], width: int, *, per_flow: bool) -> Iterator[RenderableType]:
    """Where the time went, by group: of all completion times together, or as the mean of each flow's shares."""
    if not groups:
        yield Text("no flow finished: there is no completion time to split")
        return
    title = "mean share of each flow's completion time" if per_flow else "parts of the mean completion time"
    made = table(f"Where the time went: {title}", "", *([] if per_flow else ["mean"]), *map(_group, groups), "")
    made.columns[-1].justify = "left"
    for label in LABELS:
        values = [(group.mean.flow_shares if per_flow else group.mean.shares)[label] for group in groups]
        times = [] if per_flow else [text.time(groups[0].mean.parts_ns[label])]
        bars = bar(values[0], max(min(width - 28 - 15 * len(groups), 40), 8), COLOURS[label])
        made.add_row(label, *times, *map(text.share, values), bars, style="" if any(values) else "dim")
    made.add_section()
    made.add_row("mean completion", *([] if per_flow else [""]), *(text.time(group.mean.fct_ns) for group in groups), "")
    made.add_row("flows", *([] if per_flow else [""]), *(text.count(group.mean.flows) for group in groups), "")
    yield made
    weight = "every flow has the same weight" if per_flow else "a flow weighs as much as the time it took (--shares: all the same)"
    unfinished = groups[0].unfinished
    left = f"; without {_plural(unfinished, 'flow')} that did not finish" if unfinished else ""
    yield Text(f"{weight}{left}", style="dim")


def _group(group: split.Group | split.Change) -> str:
    return text.size_class(group.name) if group.by == "size" and group.name != ALL else group.name


def change(found: split.Comparison, width: int) -> Iterator[RenderableType]:
    """What makes the difference between two designs' mean completion times."""
    yield Text(found.sentence(), style="bold")
    whole = found.all
    made = table("The mean completion time and its parts", "", found.baseline, found.design, "difference", "")
    made.columns[-1].justify = "left"
    most = max(map(abs, whole.parts_ns.values()), default=0)
    room = max(min(width - 60, 40), 10)
    for label, ns in whole.parts_ns.items():
        before, after = (mean.parts_ns[label] for mean in (whole.baseline, whole.design))
        style = "" if before or after else "dim"
        made.add_row(label, text.time(before), text.time(after), text.signed_time(ns), diverging(ns, most, room, COLOURS[label]), style=style)
    made.add_section()
    made.add_row("mean completion", text.time(whole.baseline.fct_ns), text.time(whole.design.fct_ns), text.signed_time(whole.fct_ns), "")
    yield made
    if len(found.changes) > 2:
        made = table(f"The difference by {whole.by}", "", *map(_group, found.changes))
        for label in LABELS:
            values = [change.parts_ns[label] for change in found.changes]
            made.add_row(label, *map(text.signed_time, values), style="" if any(values) else "dim")
        made.add_section()
        made.add_row("mean completion", *(text.signed_time(change.fct_ns) for change in found.changes))
        made.add_row("flows", *(text.count(change.design.flows) for change in found.changes))
        yield made
    yield Text(found.note(), style="dim")


def diverging(value: int, most: int, width: int, colour: str) -> Text:
    """A bar from the middle to the left for less, to the right for more."""
    half = (width - 1) // 2
    length = round(abs(value) / most * half) if most else 0
    # What is there but small is a line.
    less, more = ("█" * length or "▕", "") if value < 0 else ("", "█" * length or "▏") if value > 0 else ("", "")
    return Text(less.rjust(half), style=colour).append("│", style="dim").append(more, style=colour)


def queues(every: Sequence[Queue], *, hosts: bool, count: int = 5) -> Iterator[RenderableType]:
    """Where queues stood, the longest first: at switches, with `hosts` at hosts too."""
    at_hosts = [queue for queue in every if queue.at_host]
    longest = [queue for queue in every if hosts or not queue.at_host][:count]
    if longest:
        yield from _queues(longest)
    if at_hosts and not hosts and (not longest or at_hosts[0].bytes_max > longest[0].bytes_max):
        own = at_hosts[0]
        yield Text(f"a host's own queue was longer: {own.node} → {own.peer}, {text.size(own.bytes_max)} (--hosts shows those too)", style="dim")


def _queues(longest: Sequence[Queue]) -> Iterator[RenderableType]:
    counters = [(title, name) for title, name in _COUNTERS if any(getattr(queue, name) for queue in longest)]
    made = table("The longest queues", "port", "longest", "longest wait", *(title for title, _ in counters))
    for queue in longest:
        counts = (text.time(value) if name == "paused_ns" else text.count(value) for _, name in counters for value in [getattr(queue, name)])
        made.add_row(f"{queue.node} → {queue.peer}", text.size(queue.bytes_max), text.time(queue.wait_ns_max), *counts)
    yield made


_COUNTERS = (("drops", "drops"), ("in discards", "in_discards"), ("ECN marks", "ecn_marks"), ("paused", "paused_ns"))


def waits(found: Sequence[Behind]) -> Iterator[RenderableType]:
    """Behind whom frames of each class waited."""
    if not found:
        return
    made = table(
        "Who stood in front: what frames of each class waited for", "class", "behind", "most of it at", "there", "share of its waits", "in all", left=3
    )
    for one in found:
        made.add_row(one.flow_class, one.behind, f"{one.node} → {one.peer}", *map(text.share, (one.share_there, one.share)), text.time(one.wait_ns))
    yield made


def answer(words: str) -> Text:
    """What stands out of an answer is bold; an answer of one piece is bold as a whole."""
    if not isinstance(words, Marked):
        return Text(words, style="bold")
    return Text(" ").join(Text(part, style="bold" if bold else "") for part, bold in words.parts)


def comparison(found: Comparison, causes: Mapping[str, split.Comparison | None], width: int) -> Iterator[RenderableType]:
    """What `afflux compare` prints: the answer, then every metric, and what makes the difference in the mean completion time."""
    yield answer(found.sentence())
    for design in found.designs:
        yield differences(f"{design} against {found.baseline}", found.baseline, design, found.of(design))
        if made := causes.get(design):
            yield Text()
            yield from change(made, width)
    if found.notes:
        yield Text()
    for note in found.notes:
        yield Text(f"note: {note}", style="dim")


def differences(title: str, baseline: str, design: str, found: Sequence[Difference]) -> Table:
    """A line per metric. What is established is bold."""
    colours = {"better": "green", "worse": "red"}
    made = table(title, "", baseline, design, "change", "95 % interval", "")
    made.columns[0].no_wrap, made.columns[-1].justify = True, "left"
    made.columns[-1].min_width = len(UNCLEAR)
    for d in found:
        difference = "0" if d.verdict == SAME else changes.by(d)
        row = (d.metric.title, d.metric.show(d.baseline_mean), d.metric.show(d.design_mean), difference, changes.interval(d), _verdict(d))
        style = colours.get(d.verdict, "dim" if d.verdict == SAME else "")
        made.add_row(*row, style=f"bold {style}" if d.established else style)
    return made


def _verdict(d: Difference) -> str:
    return f"{d.verdict}, exact" if d.deterministic and d.verdict != SAME else d.verdict


def sweep(found: Sweep, width: int) -> Iterator[RenderableType]:
    """What `afflux sweep` prints: a line per combination, with the mean over its seeds and as many metrics as fit."""
    rows, seeds = found.rows, {row["seed"] for row in found.rows}
    keys = settings.short(found.keys)
    lines: list[tuple[list[Text | str], bool]] = []
    shown = [metric for metric in SHORT if any(row.get(metric.name) for row in rows)]
    for _, group in groupby(rows, key=lambda row: [row[key] for key in found.keys]):
        points = list(group)
        done = [row for row in points if row["status"] == "finished"]
        values = [mean([row[metric.name] for row in done]) if done and all(row[metric.name] is not None for row in done) else None for metric in shown]
        cells: list[Text | str] = ["–" if value is None else metric.show(value) for metric, value in zip(shown, values, strict=True)]
        failed = f"{len(points) - len(done)} failed" if len(done) < len(points) else ""
        lines.append(([*(settings.shown(points[0][key]) for key in found.keys), *cells, failed], bool(done)))
    titles = [*keys, *(metric.title for metric in shown), ""]
    widths = [max(len(str(cell)) for cell in column) + 2 for column in zip(titles, *(cells for cells, _ in lines), strict=True)]
    room = width - sum(widths[: len(keys)]) - widths[-1]
    kept = [place for place in range(len(keys), len(titles) - 1) if sum(widths[len(keys) : place + 1]) <= room]
    columns = [*range(len(keys)), *kept, len(titles) - 1]
    made = table(f"{_plural(len(rows), 'point')}, {_plural(len(seeds), 'seed')}", *(titles[place] for place in columns), left=len(keys))
    for cells, good in lines:
        made.add_row(*(cells[place] for place in columns), style="" if good else "red")
    yield made
    yield Text()
    for note in found.outcome.notes:
        yield Text(f"note: {note}", style="dim")
    yield Text(f"means over seeds; every point is in {found.path}", style="dim")


def studies(listed: Sequence[dict[str, Any]]) -> Iterator[RenderableType]:
    """The list of studies."""
    if not listed:
        yield Text("there are no built-in studies yet")
        return
    made = table("", "study", "simulations", "with --quick", "")
    made.columns[-1].justify = "left"
    for one in listed:
        made.add_row(one["study"], text.count(one["points"]), text.count(one["points_quick"]), one["title"])
    yield made


def verdict(found: Verdict) -> Iterator[RenderableType]:
    """What `afflux study NAME` prints."""
    if found.answer:
        yield answer(found.answer)
    made = table("Ours beside the published numbers", *HEAD)
    made.columns[-1].justify = "left"
    for row in found.rows:
        made.add_row(*cells(row), style="" if row.predicted else "dim")
    yield made
    if found.checks:
        made = table("Checks", "", "value", "bar", "")
        made.columns[-1].justify = "left"
        for check in found.checks:
            made.add_row(check.name, number(check.value), number(check.bar), "holds" if check.holds else "does not hold", style="" if check.holds else "red")
        yield made
    yield Text()
    for note in found.outcome.notes:
        yield Text(f"note: {note}", style="dim")
    places = ", ".join(str(path) for path in (*found.written, found.outcome.dir))
    yield Text(f"written to {places}", style="dim")


def legend(labels: Sequence[str]) -> Text:
    line = Text()
    for label in labels:
        line.append("█", style=COLOURS[label]).append(f" {label}  ", style="dim")
    return line


def models(all_models: Sequence[Model]) -> Iterator[RenderableType]:
    """Every model: its source, what is faithful, what is simplified."""
    for kind, of_kind in groupby(all_models, key=lambda model: model.kind):
        yield Text(kind, style="bold")
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="cyan", no_wrap=True)
        grid.add_column()
        for model in of_kind:
            notes = [Text(model.source)]
            notes += [Text.assemble((word, "dim"), line) for word, line in (("faithful: ", model.faithful), ("simplified: ", model.simplified)) if line]
            grid.add_row(model.name, Stack(*notes))
        yield Padding(grid, (0, 0, 1, 2))


def _plural(number: int, noun: str, ending: str = "s") -> str:
    return f"{text.count(number)} {noun}{'' if number == 1 else ending}"
