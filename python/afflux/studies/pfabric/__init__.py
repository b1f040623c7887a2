"""pFabric's figures (SIGCOMM 2013): completion times by load, scheme and size, normalised to the
idle fabric.

studies/pfabric/README.md says what the source did, what is assumed and what the results are.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from ...batch import Point
from ...report import Lines
from ...results.designs import Designs
from ...results.statistics import interval, mean
from ...words import say
from .. import Check, Row, Slice, Study, figure, files, lines, named
from . import runs, schemes, tables
from .measure import DRAWN, FIGURES, Measured, measure
from .runs import LOADS, ORDER
from .schemes import QUEUES, SCHEMES, WORKLOADS, name

QUICK_LOADS = (0.3, 0.6)
SEEDS = (1, 2, 3, 4, 5)
#: Load from which on this order is expected.
ORDERED_FROM = 0.3
#: "Almost no jitter": from the lowest load to the highest, the mice's 99th percentile rises by at
#: most a tenth of the slides' axis.
FLAT = 1.0

#: Colours. Nine schemes need more colours than the palette has. Schemes of the slides have the
#: strongest.
_COLOURS = dict(zip(SCHEMES, (*figure.COLOURS, "#f0b400", "#999999"), strict=True))


@cache
def ideal() -> dict[tuple[str, float], float]:
    """Returns the overall average from another implementation of the Ideal, by workload and
    load."""
    rows = lines.read(files("pfabric") / "ideal.csv")
    return {(row["workload"], float(row["load"])): float(row["average"]) for row in rows}


def _at_60(run: runs.Run) -> bool:
    return (run.workload, run.load) == ("websearch", 0.6)


def _opening(run: runs.Run) -> bool:
    return (run.workload, run.load) == ("datamining", 0.3)


class Pfabric(Study):
    name = "pfabric"
    title = "pFabric: completion times by load, scheme and size"
    question = "How close to the ideal are pFabric's completion times?"
    finding = (
        "pFabric comes close to the ideal scheduler: with web search sizes at 60 % load its average completion time is 9.6 % above "
        "the Ideal's (95 % interval 9.3 to 9.9 %, five seeds)."
    )
    duration = "about 3.5 h"
    parts = (
        Slice(
            "websearch",
            "How close to the ideal are the schemes with web search sizes, by load?",
            has=named("*-websearch-*"),
        ),
        Slice(
            "datamining",
            "How close to the ideal are the schemes with data mining sizes, by load?",
            has=named("*-datamining-*"),
        ),
        runs.series(
            "load-60",
            "By how much do the schemes differ with web search at 60 % load, and by which sizes?",
            "about 15 min",
            runs.at_60,
            _at_60,
            tables.table,
        ),
        runs.series(
            "loads",
            "How do the slides' schemes compare at every load, and pFabric without rate control?",
            "about 5 h",
            runs.at_every_load,
            lambda run: True,
            tables.at_every_load,
        ),
        runs.series(
            "opening",
            "Is PDQ behind DCTCP with data mining because each of its flows opens with a SYN?",
            "about 5 min",
            runs.opening,
            _opening,
            tables.table,
        ),
    )

    def __init__(self) -> None:
        self._measured: dict[tuple[str, int], Measured] = {}

    def points(self, quick: bool) -> Sequence[Point]:
        """Returns the points in an order in which an interrupted run is comparable: all schemes of
        a load before the next load, and all points of a seed before the next seed."""
        loads, workloads, seeds = (
            (QUICK_LOADS, ("websearch",), (1,)) if quick else (LOADS, tuple(WORKLOADS), SEEDS)
        )
        place = self.place or Path("out") / f"study-{self.name}"
        return [
            schemes.point(scheme, workload, load, seed, place)
            for seed in seeds
            for workload in workloads
            for load in loads
            for scheme in schemes.of(workload)
        ]

    def prepare(self, points: Sequence[Point]) -> Sequence[Path]:
        """Writes the flow lists of schemes with a few priorities."""
        if not self.place:
            return []
        written = []
        for point in points:
            scheme, workload, load = point.name.rsplit("-", 2)
            if scheme in QUEUES:
                written.append(
                    schemes.write_flows(self.place, scheme, workload, float(load), point.seed or 1)
                )
        return written

    def seeds(
        self, designs: Designs, scheme: str, workload: str, load: float
    ) -> dict[int, Measured]:
        """Returns the measurements by seed."""
        called = name(scheme, workload, load)
        if called not in designs:
            return {}
        for seed, result in designs[called].results.items():
            if (called, seed) not in self._measured:
                self._measured[called, seed] = measure(result)
        return {seed: self._measured[called, seed] for seed in designs[called].results}

    def value(
        self,
        designs: Designs,
        scheme: str,
        workload: str,
        load: float,
        of: Callable[[Measured], float | None],
    ) -> list[float]:
        """Returns a figure for each seed that has it."""
        return [
            value
            for m in self.seeds(designs, scheme, workload, load).values()
            if (value := of(m)) is not None
        ]

    def over_ideal(self, designs: Designs, workload: str, load: float) -> dict[str, float]:
        """Returns, by scheme, the ratio of the overall average to that of the Ideal with the same
        flows, as mean over the seeds that both have."""
        best = self.seeds(designs, "Ideal", workload, load)
        found = {}
        for scheme in SCHEMES:
            ratios = [
                m.average / best[seed].average
                for seed, m in self.seeds(designs, scheme, workload, load).items()
                if seed in best
            ]
            if ratios:
                found[scheme] = mean(ratios)
        return found

    def table(self, designs: Designs) -> Sequence[Row]:
        rows = []
        for workload, called in WORKLOADS.items():
            for load in LOADS:
                for key, (title, of) in FIGURES.items():
                    for scheme in SCHEMES:
                        if values := self.value(designs, scheme, workload, load, of):
                            # The slides have no numbers. The Ideal's are computed by another
                            # implementation, so they are no number of the source.
                            known = (
                                ideal().get((workload, load))
                                if (scheme, key) == ("Ideal", "average")
                                else None
                            )
                            low, high = interval(values) or (None, None)
                            rows.append(
                                Row(
                                    f"{called}, load {load}, {title}, {scheme}",
                                    known,
                                    mean(values),
                                    low,
                                    high,
                                    computed=known is not None,
                                )
                            )
        return rows

    def checks(self, designs: Designs) -> Sequence[Check]:
        checks = []
        for workload, called in WORKLOADS.items():
            here = {
                load: {
                    s: m
                    for s in ORDER
                    if (m := list(self.seeds(designs, s, workload, load).values()))
                }
                for load in LOADS
            }
            for load, found in here.items():
                if load >= ORDERED_FROM and len(found) > 1:
                    values = [mean([m.trimmed for m in each]) for each in found.values()]
                    said = ", ".join(
                        f"{scheme} {value:.2f}" for scheme, value in zip(found, values, strict=True)
                    )
                    checks.append(
                        Check(
                            f"order of the averages, {called}, load {load}",
                            values == sorted(values),
                            said,
                            " < ".join(found),
                        )
                    )
            mice = [
                mean([m.mice_p99 for m in found["pFabric"]])
                for found in here.values()
                if "pFabric" in found
            ]
            if len(mice) > 1:
                rise = max(mice) - min(mice)
                checks.append(
                    Check(
                        f"pFabric's 99th percentile of mice is nearly flat, {called}",
                        rise <= FLAT,
                        round(rise, 3),
                        FLAT,
                    )
                )
            # "Close to Ideal": nearer to it than every other scheme at the same load.
            for load in LOADS:
                over = self.over_ideal(designs, workload, load)
                others = [
                    ratio for scheme, ratio in over.items() if scheme not in ("Ideal", "pFabric")
                ]
                if "pFabric" in over and others:
                    near, next_one = over["pFabric"], min(others)
                    checks.append(
                        Check(
                            f"pFabric's average over the Ideal's, {called}, load {load}: less than any other scheme's",
                            near < next_one,
                            round(near, 3),
                            round(next_one, 3),
                        )
                    )
        lost = sum(m.unfinished for m in self._measured.values())
        return [*checks, Check("flows that did not finish", lost == 0, lost, 0)]

    def answer(self, designs: Designs) -> str | None:
        found = {
            scheme: list(self.seeds(designs, scheme, "websearch", 0.6).values())
            for scheme in SCHEMES
        }
        if not all(found.values()):
            return None
        said = ", ".join(
            f"{scheme} {mean([m.average for m in each]):.2f} ({mean([m.mice_p99 for m in each]):.2f})"
            for scheme, each in found.items()
        )
        return say("pfabric.answer", said=said)

    def figures(self, designs: Designs) -> Sequence[Lines]:
        drawn = []
        for workload, called in WORKLOADS.items():
            for key in DRAWN:
                title, _ = FIGURES[key]
                lines, _ = self.curves(designs, workload, key)
                if any(lines.values()):
                    # The slides' axis ends at 10.
                    drawn.append(
                        Lines(
                            f"{called[0].upper()}{called[1:]}: {title}",
                            "load",
                            "times the idle fabric",
                            lines,
                            most=10.0,
                        )
                    )
        return drawn

    def curves(
        self, designs: Designs, workload: str, key: str
    ) -> tuple[dict[str, list[tuple[float, float]]], dict[str, list[tuple[float, float, float]]]]:
        """Returns, by scheme, means by load, and their intervals over the seeds."""
        lines: dict[str, list[tuple[float, float]]] = {}
        bars: dict[str, list[tuple[float, float, float]]] = {}
        for scheme in SCHEMES:
            found = [
                (load, values)
                for load in LOADS
                if (values := self.value(designs, scheme, workload, load, FIGURES[key][1]))
            ]
            if found:
                lines[scheme] = [(load, mean(values)) for load, values in found]
                bars[scheme] = [
                    (load, *within) for load, values in found if (within := interval(values))
                ]
        return lines, bars

    def plots(self, designs: Designs, dir: Path) -> Sequence[Path]:
        """Draws the slides' figures with intervals over the seeds. TCP is beyond the slides' axis,
        so the axis is logarithmic."""
        made = []
        for workload, called in WORKLOADS.items():
            panels = []
            for key in DRAWN:
                lines, bars = self.curves(designs, workload, key)
                if lines:
                    panels.append(
                        figure.Panel(
                            FIGURES[key][0],
                            f"load, {called}",
                            "times the idle fabric",
                            lines,
                            log_y=True,
                            bars=bars,
                        )
                    )
            if panels:
                made.append(
                    figure.write(dir / f"{workload}.svg", [panels[:2], panels[2:]], _COLOURS)
                )
        return made

    def shown(self, designs: Designs) -> Designs:
        return Designs(
            [design for design in designs.values() if design.name.endswith("websearch-0.6")]
        )


STUDY = Pfabric()
