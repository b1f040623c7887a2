"""`afflux demo`: compares five switch designs (deep buffers; shallow ones alone or with ECN, PFC or
DCTCP) by the job time and price of a small Hadoop sort."""

from . import signals

if __name__ == "__main__":
    signals.install()  # importing the rest takes a while

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console, RenderableType

from . import _core, batch, report
from .comparison import changes
from .comparison.compare import Comparison, compare
from .comparison.paired import BETTER, SAME, UNCLEAR, WORSE, Difference, difference
from .comparison.phrases import between, in_words
from .metrics import COST, JOB_TIME, METRICS, Metric
from .report import alike
from .report.differs import colours
from .results.designs import Design, Designs
from .results.result import Result
from .results.statistics import CONFIDENCE, holm, mean
from .studies import files
from .studies.hadoop import DESIGNS
from .terminal import drawing, progress
from .terminal.console import print_json, warn_of_failed_checks
from .words import Marked, Words, capital, join, known, say, text

OUT = Path("out") / "demo"
SCENARIO = files("hadoop") / "small.toml"
#: Seeds of the demo. They differ from the seeds with which the disks below were chosen.
SEEDS = tuple(range(11, 19))
#: Name of each design in the demo, and its name in the Hadoop study.
DESIGN_NAMES = {
    "deep": "deep",
    "shallow": "shallow",
    "shallow-ecn": "ecn",
    "shallow-ecn-pfc": "ecn_pfc",
    "shallow-dctcp": "dctcp",
}
#: Settings that make the network most of the job time: NVMe disks and a light sort. Eight seeds
#: then show the differences.
QUICK = {
    "traffic[0].cluster.disks": {"read": "16Gbps", "write": "16Gbps", "seek": "100us"},
    "traffic[0].cluster.map_cpu_per_mb": "2ms",
    "traffic[0].cluster.reduce_cpu_per_mb": "2ms",
}
#: Prefix of the names of designs that run without background traffic.
WITHOUT_TRAFFIC = "quiet-"
#: Example price in USD. The price of the deep switch is in the scenario.
SHALLOW_PRICE = 12_000

TITLE = say("demo.title")
QUESTION = say("demo.question")


def _count(value: float) -> str:
    return text.count(round(value))


#: Mean completion time of Hadoop's remote calls.
CALL = Metric("call", "one call", ("fct", "by_class", "rpc", "mean_ns"), text.time)
#: Metrics of the report page, one row each.
MEASURES = (
    JOB_TIME,
    CALL,
    Metric("call_p99", "one call, p99", ("fct", "by_class", "rpc", "p99_ns"), text.time),
    Metric("tail_drops", "tail drops", ("drops_by_reason", "buffer"), _count, counter=True),
    Metric("early_drops", "early drops", ("drops_by_reason", "red"), _count, counter=True),
    *(metric for metric in METRICS if metric.name in ("ecn_marks", "pause_frames", "cost")),
)
#: Row titles of the printed table.
ROWS = (
    "job time",
    "95 %",
    "change",
    "verdict",
    "one call",
    "tail drops",
    "early drops",
    "marks",
    "pauses",
    "price, USD",
)
NOTES = (say("demo.note", seeds=len(SEEDS)),)


def points() -> list[batch.Point]:
    """Returns the points to simulate: each design with background traffic and without it."""
    made = []
    for prefix, keys in (("", QUICK), (WITHOUT_TRAFFIC, QUICK | {"traffic[1].start": "3000s"})):
        for name, design in DESIGN_NAMES.items():
            price = {} if design == "deep" else {"cost.override[0].switch": SHALLOW_PRICE}
            made += [
                batch.Point(prefix + name, SCENARIO, DESIGNS[design] | keys | price, seed)
                for seed in SEEDS
            ]
    return made


@dataclass(frozen=True)
class Background:
    """Inputs of the answer in addition to the designs."""

    #: Results of the designs without background traffic.
    without_traffic: Designs
    #: Throughput of the background traffic by design, in bits per second.
    others: Mapping[str, float]

    @classmethod
    def of(cls, designs: Designs, without_traffic: Designs) -> "Background":
        return cls(
            without_traffic,
            {
                name: mean([_others(result) for result in design.results.values()])
                for name, design in designs.items()
            },
        )


def _others(result: Result) -> float:
    """Returns the throughput of the background traffic in bits per second: all delivered bytes
    minus those of finished flows, because only the job's flows finish."""
    flows = result.flows
    job = sum(
        size
        for size, finish in zip(flows.column("bytes"), flows.column("finish_ns"), strict=True)
        if finish is not None
    )
    return float(8e9 * (result.summary["delivered_bytes"] - job) / result.summary["simulated_ns"])


def _mean(design: Design, *path: str) -> float:
    """Returns the mean over the seeds of a number of summary.json."""
    return mean(list(design.by_seed(Metric("", "", path, str)).values()))


def cells(designs: Designs, found: Comparison) -> tuple[list[str], list[tuple[str, ...]]]:
    """Returns the head and the rows of the table, with a column per design."""
    against = judged(found)
    columns = [_column(design, against.get(design.name)) for design in designs.values()]
    return ["", *designs], list(zip(ROWS, *columns, strict=True))


def _column(design: Design, against: Difference | None) -> tuple[str, ...]:
    job = design.value(JOB_TIME)
    early = _mean(design, "drops_by_reason", "red")
    counts = (
        _mean(design, "drops") - early,
        early,
        _mean(design, "ecn_marks"),
        _mean(design, "pause_frames"),
    )
    return (
        text.time(job.mean if job else None),
        f"{_seconds(job.low)}–{_seconds(job.high)} s"
        if job and job.low is not None and job.high is not None
        else "–",
        changes.by(against) if against and against.share is not None else "–",
        against.verdict if against else "–",
        text.time(_mean(design, *CALL.path)),
        *(text.count(round(value)) for value in counts),
        text.count(round(_mean(design, *COST.path))),
    )


def _seconds(ns: float) -> str:
    return f"{ns / 1e9:.1f}"


def judged(found: Comparison) -> dict[str, Difference]:
    """Returns the job time of each design against the first one. The tests are judged together
    (Holm): a difference that is clear only when tested alone becomes unclear."""
    times = [d for d in found.differences if d.metric is JOB_TIME]
    held = holm([1.0 if d.p is None else d.p for d in times])
    return {
        d.design: replace(d, verdict=UNCLEAR) if d.p is not None and d.clear and not holds else d
        for d, holds in zip(times, held, strict=True)
    }


@dataclass(frozen=True)
class _Judged:
    """Comparison of the designs with the first one by job time, and the design to choose."""

    base: Design
    times: dict[str, Difference]
    sooner: list[Difference]
    later: list[Difference]
    #: Design to choose: the cheapest of those that beat the first design and are not clearly worse
    #: than the fastest of them. If prices are equal, the first named. None if no design beats the
    #: first.
    best: Difference | None

    @classmethod
    def of(cls, designs: Designs, found: Comparison) -> "_Judged":
        base, times = designs[found.baseline], judged(found)
        sooner, later = (
            [d for d in times.values() if d.verdict == verdict] for verdict in (BETTER, WORSE)
        )
        least = min(sooner, key=lambda d: d.design_mean, default=None)
        best = None
        if least:
            worse = _against(designs, least.design, [d.design for d in sooner])[1]
            equal = [d for d in sooner if d.design not in worse]
            best = min(equal, key=lambda d: _mean(designs[d.design], *COST.path))
        return cls(base, times, sooner, later, best)


def answer(designs: Designs, found: Comparison, background: Background) -> Marked:
    """Returns the answer as text: choice by job time, size, cause, cost and certainty."""
    of = _Judged.of(designs, found)
    base, times, best = of.base, of.times, of.best
    certain = _certainty(of)
    if best:
        parts = [(say("demo.choose", design=_name(best.design)), True)]
        parts += [
            (say("demo.size", told=in_words(best), base=_name(base.name)), False),
            (_cause(designs, base, best.design), False),
        ]
        new, old = (_mean(design, *COST.path) for design in (designs[best.design], base))
        if new != old:
            parts.append(
                (
                    say(
                        "demo.cost",
                        currency=found.currency or "",
                        new=COST.show(new),
                        old=COST.show(old),
                    ),
                    False,
                )
            )
        certain += _rivals(designs, best.design, [name for name in times if name != best.design])
    else:
        parts = [
            (
                say("demo.stay", design=_name(base.name))
                if len(of.later) == len(times)
                else say("demo.undecided"),
                True,
            )
        ]
    certain += _twins(designs, list(times))
    parts += [
        (say("demo.certain", items=join(certain, ("; ", "；"))), False),
        (say("demo.pays", rates=_rates(base, background)), False),
    ]
    parts += [
        (say("demo.change", quiet=_without_traffic(background.without_traffic, best, base)), False)
    ]
    return Marked.of([part for part in parts if part[0]])


def explained(designs: Designs, found: Comparison, background: Background) -> report.PageAnswer:
    """Returns the same answer in the parts of a page: heading, cause, certainty, and what would
    change it."""
    of = _Judged.of(designs, found)
    base, best = of.base, of.best
    # Designs with identical results are named once.
    places = colours(designs)
    alone = {name for place, name in enumerate(designs) if places.index(places[place]) == place}
    sure = _certainty(of, alone)
    why: list[Words] = []
    if best:
        head = _heading(designs, found, best)
        why = [words for words in [_cause(designs, base, best.design)] if words]
        rivals = _rivals(
            designs, best.design, [name for name in of.times if name != best.design], alone
        )
        # How much the other designs would change the result belongs to the certainty of the choice.
        sure = [*sure[:1], *rivals, *sure[1:]]
    else:
        why = [_calls(designs, base)]
        stays = of.later and len(of.later) == len(of.times)
        means = [value.mean for design in designs.values() if (value := design.value(JOB_TIME))]
        least, most = _seconds(min(means)), _seconds(max(means))
        head = join(
            [
                say("demo.stay", design=_name(base.name)) if stays else say("demo.undecided"),
                say("demo.spread", low=least, high=most),
            ]
        )
    sentences = [
        say("demo.sure", items=words if words.startswith(tuple(designs)) else capital(words))
        for words in sure
    ]
    without_traffic = capital(
        say("demo.sure", items=_without_traffic(background.without_traffic, best, base))
    )
    conditions = [
        without_traffic,
        say("demo.change.start"),
        say("demo.pays", rates=_rates(base, background)),
        say("demo.change.price"),
    ]
    return report.PageAnswer(
        head,
        rest=sentences[3:],
        facts=report.Facts(
            why=why,
            cause=CALL,
            sure=sentences[:3],
            change=conditions,
            chosen=best.design if best else None,
        ),
    )


def _heading(designs: Designs, found: Comparison, best: Difference) -> Words:
    new, old = (_mean(designs[name], *COST.path) for name in (best.design, found.baseline))
    words = {"design": capital(_name(best.design)), **changes.values(best)}
    words |= {"currency": found.currency or "", "price": COST.show(new), "before": COST.show(old)}
    return say("demo.head" if new != old else "demo.head.same", **words)


def _name(design: str) -> Words | str:
    return known(f"demo.design.{design}") or design


def _cause(designs: Designs, base: Design, best: str) -> Words:
    """Returns the likely cause, or nothing if call times do not clearly differ. Hadoop's calls are
    a few packets each, so a longer call time means queueing."""
    found = difference(CALL, base, designs[best], designs[best].seeds)
    if not found or found.verdict != BETTER:
        return Words("", "")
    return _calls(designs, base, "demo.cause")


def _calls(designs: Designs, base: Design, key: str = "demo.calls") -> Words:
    """Compares the time of a call behind the first design with that behind the others."""
    calls = sorted(_mean(design, *CALL.path) for design in designs.values() if design is not base)
    low, high = (text.time(call, 2) for call in (calls[0], calls[-1]))
    return say(
        key,
        deep=text.time(_mean(base, *CALL.path), 2),
        others=low if low == high else say("demo.range", low=low, high=high),
    )


def _certainty(of: _Judged, named: set[str] | None = None) -> list[Words]:
    """Says which designs clearly differ from the first one and which do not. `named` limits the
    list of unclear designs (default: all)."""
    certain = []
    for some, word in ((of.sooner, "beat"), (of.later, "lose")):
        if some:
            every = word == "beat" and len(some) == len(of.times) > 1
            key = f"demo.{word}.{'all' if every else 'one' if len(some) == 1 else 'many'}"
            certain.append(
                say(
                    key,
                    count=len(some),
                    names=_names([d.design for d in some]),
                    base=_name(of.base.name),
                    percent=_percent(some),
                )
            )
    if same := [d.design for d in of.times.values() if d.verdict == SAME]:
        certain.append(say("demo.same", base=_name(of.base.name), names=_names(same)))
    left = [
        d
        for d in of.times.values()
        if d not in of.sooner + of.later
        and d.verdict != SAME
        and (named is None or d.design in named)
    ]
    if left:
        certain.append(
            say("demo.open", base=_name(of.base.name), items=_ranges({d.design: d for d in left}))
        )
    return certain


def _against(
    designs: Designs, best: str, names: list[str]
) -> tuple[dict[str, Difference], set[str]]:
    """Returns the differences between `best` and each of `names`, judged together (Holm), and the
    names that `best` clearly beats."""
    found = {
        name: d
        for name in names
        if (d := difference(JOB_TIME, designs[name], designs[best], designs[best].seeds))
    }
    held = dict(
        zip(found, holm([1.0 if d.p is None else d.p for d in found.values()]), strict=True)
    )
    return found, {name for name in found if held[name] and found[name].verdict == BETTER}


def _rivals(
    designs: Designs, best: str, names: list[str], named: set[str] | None = None
) -> list[Words]:
    """Compares the chosen design with its rivals. `named` limits the list (default: all)."""
    found, worse = _against(designs, best, names)
    listed = [name for name in found if named is None or name in named]
    beaten = [name for name in listed if name in worse]
    rivals = (
        [
            say(
                "demo.over",
                name=best,
                names=_names(beaten),
                percent=_percent([found[name] for name in beaten]),
            )
        ]
        if beaten
        else []
    )
    # Possible change of the job time if one of the unbeaten designs were chosen instead.
    back = {
        name: d
        for name in listed
        if name not in worse
        and (d := difference(JOB_TIME, designs[best], designs[name], designs[best].seeds))
    }
    return rivals + ([say("demo.beyond", name=best, items=_ranges(back))] if back else [])


def _ranges(some: dict[str, Difference]) -> Words:
    return join([_range(name, d) for name, d in some.items()], (", ", "、"))


def _range(name: str, d: Difference) -> Words:
    """Says how large a difference that is not established may be."""
    if d.ratio is not None and d.p is not None and d.p < 1 - CONFIDENCE:
        return say(
            "demo.item",
            name=name,
            between=say("compare.only-alone", change=changes.change(d.ratio)),
        )
    return say("demo.item", name=name, between=between(d) if d.bounds else in_words(d))


def _without_traffic(without_traffic: Designs, best: Difference | None, base: Design) -> Words:
    """Says how long the sort takes without background traffic."""
    took = {
        name: value.mean
        for name, design in without_traffic.items()
        if (value := design.value(JOB_TIME))
    }
    if best:
        new, old = took[best.design], took[base.name]
        return say(
            "demo.quiet",
            new=text.time(new, 3),
            old=text.time(old, 3),
            design=_name(best.design),
            base=_name(base.name),
        )
    return say(
        "demo.quiet.all", low=_seconds(min(took.values())), high=_seconds(max(took.values()))
    )


def _rates(base: Design, background: Background) -> Words:
    """Compares the background traffic's throughput behind the first design with that behind the
    others."""
    rates = sorted(rate for name, rate in background.others.items() if name != base.name)
    low, high = text.rate(rates[0]), text.rate(rates[-1])
    return say(
        "demo.rates",
        base=text.rate(background.others[base.name]),
        others=low if low == high else say("demo.range", low=low, high=high),
    )


def _twins(designs: Designs, names: list[str]) -> list[Words]:
    """Names the designs whose results are identical, flow by flow."""
    some = [designs[name] for name in names]
    twins = []
    for place, first in enumerate(alike.firsts(some)):
        if first != place:
            key = (
                "demo.twin.pfc" if alike.reason(some[first], some[place]) == "pfc" else "demo.twin"
            )
            twins.append(say(key, name=names[place], other=names[first]))
    return twins


def _percent(some: list[Difference]) -> Words | str:
    low, *_, high = sorted([round(100 * abs(d.share or 0)) for d in some] * 2)
    return str(low) if low == high else say("demo.range", low=low, high=high)


def _names(some: list[str]) -> Words | str:
    *most, last = some
    return say("demo.and", most=join(most, (", ", "、")), last=last) if most else last


def _from_here(path: Path) -> Path:
    """Returns the path relative to the working directory if it is below it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _table(designs: Designs, found: Comparison) -> RenderableType:
    head, rows = cells(designs, found)
    made = drawing.table("", *head)
    for row in rows:
        made.add_row(*row)
    return made


def _with_judged(found: Comparison) -> Comparison:
    """Returns the comparison with the verdicts of `judged` on job times."""
    times = {name: replace(d, established=d.clear) for name, d in judged(found).items()}
    differences = tuple(times[d.design] if d.metric is JOB_TIME else d for d in found.differences)
    return replace(found, differences=differences)


def main(out: Path = OUT, as_json: bool = False) -> int:
    """Simulates the designs, prints the answer and writes the page. Returns the exit code."""
    began = time.monotonic()
    errors = Console(stderr=True)
    console = Console(highlight=False, quiet=as_json)
    console.print(QUESTION)
    try:
        with progress.of_batch(errors) as watch:
            outcome = batch.run(points(), batch.home(out), fresh=True, watch=watch)
    except (_core.Error, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for failure in outcome.failures:
        print(f"error: {failure.point}: {failure.error}", file=sys.stderr)
    if warn_of_failed_checks(outcome.results.values()) or outcome.failures:
        return 1
    every = outcome.designs
    designs = Designs(
        (design for name, design in every.items() if not name.startswith(WITHOUT_TRAFFIC)),
        every.notes,
    )
    without_traffic = Designs(
        replace(design, name=name.removeprefix(WITHOUT_TRAFFIC))
        for name, design in every.items()
        if name.startswith(WITHOUT_TRAFFIC)
    )
    found = compare(designs, "deep")
    background = Background.of(designs, without_traffic)
    answered = answer(designs, found, background)
    console.print(_table(designs, found))
    console.print(drawing.answer(answered))
    for note in NOTES:
        console.print(note, style="dim")
    against = _with_judged(found)
    page = report.write(
        designs,
        out / "report.html",
        answer=explained(designs, found, background),
        question=QUESTION,
        against=against,
        metrics=MEASURES,
        title=TITLE,
        notes=NOTES,
    )
    if as_json:
        notes = [*against.notes, *NOTES]
        told = {"answer": str(answered), "notes": notes, "report": str(page)}
        print_json(against.to_dict() | told)
    hops = sum(result.summary["packet_hops"] for result in outcome.results.values())
    console.print(
        f"{hops:,} packet-hops in {time.monotonic() - began:.0f} s. The report: {page}. The scenario: {_from_here(SCENARIO)}.",
        style="dim",
    )
    return 0


if __name__ == "__main__":
    with signals.working():
        code = main()
    signals.finish()
    sys.exit(code)
