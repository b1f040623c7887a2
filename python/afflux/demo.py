"""`make demo`: the Hadoop question in small. Behind deep buffers, or shallow ones with ECN, PFC or DCTCP: where is a sort done first, at what price?"""

import sys
import time
from pathlib import Path

from rich.console import Console

from . import _core, batch, progress, render, report, text
from .comparison import BETTER, WORSE, Comparison, Difference, compare
from .console import warn_of_doubts
from .designs import Design, Designs
from .metrics import COST, JOB_TIME, Metric
from .statistics import mean
from .studies import files
from .studies.hadoop import DESIGNS
from .words import Words, join, say

OUT = Path("out") / "demo"
SEEDS = (1, 2, 3, 4, 5)
#: Names here, and the designs of the study that they are.
ASKED = {"deep": "deep", "shallow": "shallow", "shallow-ecn": "ecn", "shallow-ecn-pfc": "ecn_pfc", "shallow-dctcp": "dctcp"}
#: An example; the deep switch's price is in the scenario.
SHALLOW_PRICE = 12_000

TITLE = say("demo.title")
QUESTION = (
    "Hadoop sorts 2 GB while every compute node sends 13 Gbps to another one. Would a shallow switch (Trident 3, 32 MB) do as well for the compute "
    "nodes' leaf as a deep one (Jericho+, 8 GB), and what do ECN, PFC and DCTCP add?"
)
#: Where summary.json has the time of Hadoop's remote calls.
CALL = ("fct", "by_class", "rpc", "mean_ns")
#: Rows of the table.
ROWS = ("job time", "95 %", "change", "one call", "tail drops", "early drops", "marks", "pauses", "price, USD")
NOTES = (say("demo.note", seeds=len(SEEDS)),)


def points() -> list[batch.Point]:
    prices = {name: {} if design == "deep" else {"cost.override[0].switch": SHALLOW_PRICE} for name, design in ASKED.items()}
    return [batch.Point(name, files("hadoop") / "small.toml", DESIGNS[ASKED[name]] | prices[name], seed) for name in ASKED for seed in SEEDS]


def _mean(design: Design, *path: str) -> float:
    """Of a number of summary.json."""
    return mean(list(design.by_seed(Metric("", "", path, str)).values()))


def cells(designs: Designs, found: Comparison) -> tuple[list[str], list[tuple[str, ...]]]:
    """Head and rows of the table: a column per design."""
    against = {d.design: d for d in found.differences if d.metric is JOB_TIME}
    columns = [_column(design, against.get(design.name)) for design in designs.values()]
    return ["", *designs], list(zip(ROWS, *columns, strict=True))


def _column(design: Design, against: Difference | None) -> tuple[str, ...]:
    job = design.value(JOB_TIME)
    early = _mean(design, "drops_by_reason", "red")
    counts = (_mean(design, "drops") - early, early, _mean(design, "ecn_marks"), _mean(design, "pause_frames"))
    return (
        text.time(job.mean if job else None),
        f"{_seconds(job.low)}–{_seconds(job.high)} s" if job and job.low is not None and job.high is not None else "–",
        f"{100 * against.share:+.0f} %" if against and against.share is not None else "–",
        text.time(_mean(design, *CALL)),
        *(text.count(round(value)) for value in counts),
        text.count(round(_mean(design, *COST.path))),
    )


def _seconds(ns: float) -> str:
    return f"{ns / 1e9:.1f}"


def answer(designs: Designs, found: Comparison) -> Words:
    """A sentence, made of the numbers."""
    times = [d for d in found.differences if d.metric is JOB_TIME]
    sooner, later = ([d for d in times if d.verdict == verdict] for verdict in (BETTER, WORSE))
    open_ones = [d for d in times if d not in sooner + later]
    parts = [say(f"demo.{word}", percent=_percent(some), names=_names(some)) for some, word in ((sooner, "sooner"), (later, "later")) if some]
    parts += [say("demo.open", names=_names(open_ones))] if open_ones else []
    deep, *others = designs.values()
    price = _mean(designs["shallow"], *COST.path) / _mean(deep, *COST.path)
    calls = sorted(_mean(design, *CALL) for design in others)
    return say(
        "demo.answer",
        deep=text.time(_mean(deep, *JOB_TIME.path), 2),
        call=text.time(_mean(deep, *CALL), 2),
        least=text.time(calls[0], 2),
        most=text.time(calls[-1], 2),
        parts=join(parts, (", and ", "、")),
        price=f"{100 * price:.0f}",
    )


def _percent(some: list[Difference]) -> Words:
    low, *_, high = sorted([round(100 * abs(d.share or 0)) for d in some] * 2)
    return say("percent", value=low) if low == high else say("demo.percents", low=low, high=high)


def _names(some: list[Difference]) -> str:
    *most, last = [d.design for d in some]
    return say("demo.and", most=join(most, (", ", "、")), last=last) if most else last


def main() -> int:
    began = time.monotonic()
    console, errors = Console(highlight=False), Console(stderr=True)
    console.print(QUESTION)
    try:
        with progress.of_batch(errors) as watch:
            outcome = batch.run(points(), OUT / "points", fresh=True, watch=watch)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (_core.Error, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for failure in outcome.failures:
        print(f"error: {failure.point}: {failure.error}", file=sys.stderr)
    if warn_of_doubts(outcome.results.values()) or outcome.failures:
        return 1
    designs = outcome.designs
    found = compare(designs, "deep")
    head, rows = cells(designs, found)
    printed = render.table("", *head)
    for row in rows:
        printed.add_row(*row)
    said = answer(designs, found)
    console.print(printed)
    console.print(f"[bold]{said}[/bold]")
    for note in NOTES:
        console.print(note, style="dim")
    table = report.Table("", head, [(say(f"demo.row.{name}"), *cells) for name, *cells in rows])
    page = report.write(designs, OUT / "report.html", answer=said, table=table, title=TITLE, notes=NOTES)
    hops = sum(result.summary["packet_hops"] for result in outcome.results.values())
    console.print(f"{hops:,} packet-hops in {time.monotonic() - began:.0f} s. The report: {page}. The scenario: studies/hadoop/small.toml.", style="dim")
    return 0


if __name__ == "__main__":
    sys.exit(main())
