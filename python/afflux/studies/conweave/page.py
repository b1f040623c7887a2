"""Writes tables of all cases, and the paper's figures."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...files import durable
from ...metrics import Metric
from ...results.designs import Design, Designs
from ...results.result import Result
from ...results.statistics import interval, mean, quantile
from ...words import text
from .. import figure
from .cases import CONWEAVE, SCHEMES, Case
from .series import imbalance, reordering

COLOURS = dict(zip(SCHEMES, figure.COLOURS, strict=False))


def tables(designs: Designs, cases: Sequence[Case], to: Path) -> Path:
    """Writes average and p99 slowdown by flow size, and the paper's other measurements, for each
    case."""
    parts = [
        "# Every case",
        "",
        "Made by `afflux study conweave`: means over the seeds, with 95 % intervals in brackets.",
        "",
    ]
    for case in cases:
        if found := case.of(designs):
            parts += [f"## {case}", "", *_table(found), ""]
    return durable.write_text(to, "\n".join(parts))


def _table(found: dict[str, Design]) -> list[str]:
    first = next(iter(found.values())).first.summary
    classes = list(first["slowdown"]["by_size"])
    lines = [["", *(f"{scheme} ({len(design.seeds)})" for scheme, design in found.items())]]
    for name, path in [
        ("all", ("all",)),
        *((text.size_class(name), ("by_size", name)) for name in classes),
    ]:
        for statistic in ("mean", "p99"):
            metric = Metric("", "", ("slowdown", *path, statistic), text.ratio)
            lines.append(
                [
                    f"slowdown, {name}, {statistic}",
                    *(str(design.value(metric) or "–") for design in found.values()),
                ]
            )
    for what, value in MEASURES.items():
        cells = [_cell(design, value) for design in found.values()]
        if any(cell != "–" for cell in cells):
            lines.append([what, *cells])
    head, *body = ["| " + " | ".join(line) + " |" for line in lines]
    return [head, "|" + "---|" * len(lines[0]), *body]


def _cell(design: Design, value: Callable[[Result], float | None]) -> str:
    values = [found for result in design.results.values() if (found := value(result)) is not None]
    if not values:
        return "–"
    low, high = interval(values) or (None, None)
    shown = _number(mean(values))
    return (
        shown
        if low is None or high is None or low == high
        else f"{shown} ({_number(low)} – {_number(high)})"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else text.digits(value)


def _summary(*path: str) -> Callable[[Result], float | None]:
    def value(result: Result) -> float | None:
        found: Any = result.summary
        for key in path:
            found = found[key]
        return found

    return value


def _weave(value: Callable[[Any], float]) -> Callable[[Result], float | None]:
    return lambda result: value(reordering(result)) if "reorder" in result.recorded else None


MEASURES: dict[str, Callable[[Result], float | None]] = {
    "uplink imbalance, mean": lambda result: mean(imbalance(result)),
    "uplink imbalance, median": lambda result: quantile(imbalance(result), 0.5),
    "out-of-order packets": lambda result: sum(result.summary["balance"]["out_of_order"].values()),
    "of those after loss recovery": _summary("balance", "out_of_order", "recovery"),
    "of those after an early flush": _summary("balance", "out_of_order", "early_flush"),
    "reroutes": _summary("balance", "reroutes"),
    "reorder queues at a port, p99.9": _weave(lambda found: found.queues(0.999)),
    "reorder queues at a port, most": _weave(lambda found: found.queues(1.0)),
    "reorder memory of a switch, p99.9, kB": _weave(lambda found: found.bytes(0.999) / 1e3),
    "reorder memory of a switch, most, kB": _weave(lambda found: found.bytes(1.0) / 1e3),
    "PAUSE frames": _summary("pause_frames"),
    "drops": _summary("drops"),
    "repeated packets": _summary("retransmits"),
    "flows unfinished": _summary("flows", "unfinished"),
}


def figures(designs: Designs, cases: Sequence[Case], dir: Path) -> list[Path]:
    """Draws Figures 12 to 17 of the paper, for the cases that were simulated."""
    made = []
    cases = [case for case in cases if case.of(designs)]
    leaf = sorted(
        (case for case in cases if case.fabric == "leaf-spine"),
        key=lambda case: (case.load, case.mode),
    )
    rows = [[_by_size(case, statistic, designs) for case in leaf] for statistic in ("mean", "p99")]
    if leaf:
        made.append(figure.write(dir / "slowdown-by-size.svg", rows, COLOURS))
        made.append(
            figure.write(
                dir / "imbalance.svg", [[_imbalance(case, designs) for case in leaf]], COLOURS
            )
        )
    if fat := sorted(
        (case for case in cases if case.fabric == "fat-tree"),
        key=lambda case: case.mode,
        reverse=True,
    ):
        rows = [
            [_by_size(case, statistic, designs) for case in fat] for statistic in ("mean", "p99")
        ]
        made.append(figure.write(dir / "fat-tree.svg", rows, COLOURS))
    weaves = {
        f"{case.load} %, {case.mode}": case.of(designs)[CONWEAVE]
        for case in leaf
        if CONWEAVE in case.of(designs)
    }
    if weaves:
        colours = dict(zip(weaves, figure.COLOURS, strict=False))
        made.append(
            figure.write(dir / "reordering.svg", [[_queues(weaves), _memory(weaves)]], colours)
        )
    return made


def _by_size(case: Case, statistic: str, designs: Designs) -> figure.Panel:
    found = case.of(designs)
    classes = list(next(iter(found.values())).first.summary["slowdown"]["by_size"])
    lines = {}
    for scheme, design in found.items():
        values = [
            design.value(Metric("", "", ("slowdown", "by_size", name, statistic), text.ratio))
            for name in classes
        ]
        lines[scheme] = [(float(place), value.mean) for place, value in enumerate(values) if value]
    # Ticks are the upper bounds of the size classes.
    ticks = [
        text.size_class(name).split(" – ")[-1].removeprefix("≤ ").replace(" kB", "k")
        for name in classes
    ]
    return figure.Panel(
        f"{case.load} %, {case.mode}",
        "flow size up to",
        f"{statistic} slowdown",
        lines,
        ticks,
        log_y=True,
    )


def _imbalance(case: Case, designs: Designs) -> figure.Panel:
    lines = {}
    for scheme, design in case.of(designs).items():
        samples = [imbalance(result) for result in design.results.values()]
        lines[scheme] = [
            (mean([quantile(sample, place / 50) for sample in samples]), place / 50)
            for place in range(51)
        ]
    return figure.Panel(
        f"{case.load} %, {case.mode}",
        "imbalance of the uplinks in 100 µs",
        "share of windows",
        lines,
    )


def _queues(weaves: dict[str, Design]) -> figure.Panel:
    lines = {}
    for name, design in weaves.items():
        every = [reordering(result) for result in design.results.values()]
        most = max(found.queues(1.0) for found in every)
        lines[name] = [
            (float(queues), mean([found.fewer_than(queues + 1) for found in every]))
            for queues in range(most + 1)
        ]
    return figure.Panel("reorder queues at a port", "queues", "share of samples", lines)


def _memory(weaves: dict[str, Design]) -> figure.Panel:
    shares = [place / 1_000 for place in range(1_001)]
    lines = {
        name: [
            (mean([reordering(r).bytes(q) for r in design.results.values()]) / 1e3, q)
            for q in shares
        ]
        for name, design in weaves.items()
    }
    return figure.Panel("reorder memory of a switch", "kB", "share of samples", lines)
