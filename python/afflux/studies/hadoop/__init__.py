"""TeraSort behind deep and shallow buffers, with ECN, PFC and DCTCP: the measurement of LY
Corporation (JANOG), simulated.

studies/hadoop/README.md says what the source did and what is assumed. calibration.toml has the
fitted constants, and `crossvalidation` judges how well a fit predicts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...batch import Point
from ...comparison.paired import difference
from ...comparison.phrases import in_words
from ...metrics import JOB_TIME
from ...results.designs import Designs
from ...words import say
from .. import Assumption, Check, Row, Series, Slice, Study, files, named
from ..lines import own_or_shipped
from . import (
    constant,
    crossvalidation,
    findings,
    fits,
    medians,
    others,
    runs,
    sensitivity,
    sentences,
    slides,
    whole,
)
from .cases import DESIGNS, FITTED, FRAMEWORKS, SIZES, Case, keys, published

__all__ = ["DESIGNS", "STUDY", "Hadoop", "findings"]

#: Size in GB of the jobs whose ports are recorded.
_SCREENS = 10
#: Number of seeds of each case. The quick part uses the first.
_SEEDS = 5


def _keys(case: Case) -> dict[str, Any]:
    found = keys(case, FITTED)
    if case.size == _SCREENS:
        found["record.ports"] = {
            "interval": f"{findings.INTERVAL // 1_000_000}ms",
            "nodes": ["compute-leaf"],
        }
        found["record.paths"] = True
    return found


def _others(file: Path) -> str:
    measured = sensitivity.read(own_or_shipped(file, sensitivity.FILE))
    return others.table(others.differences(runs.read(file), measured))


def _varied(file: Path) -> str:
    return others.varied(runs.read(file))


def _shipped_checks() -> list[Check]:
    found = whole.by_case(whole.read())
    return [
        *crossvalidation.checks(),
        medians.check(found),
        *slides.checks(found),
    ]


class Hadoop(Study):
    name = "hadoop"
    title = "TeraSort behind deep and shallow buffers, with ECN, PFC and DCTCP"
    question = "Do deep buffers pay off for Hadoop, and what do ECN, PFC and DCTCP change?"
    finding = (
        "Deep buffers do not pay off for Hadoop: choose a shallow switch, and hosts with H-TCP; ECN "
        "ends its queue drops, and makes jobs of 200 GB next to other traffic 1.5 % longer."
    )
    duration = "about 6.5 h"
    parts = (
        Slice(
            "10GB",
            "What do designs cost a sort of 10 GB, and what do the ports show meanwhile?",
            "about 1.5 h",
            named("*-10GB-*"),
        ),
        Slice("200GB", "What do designs cost a sort of 200 GB?", "about 5 h", named("*-200GB-*")),
        runs.series(
            "grid",
            "How long does a job without traffic take, by processor time and disks?",
            runs.grid,
            fits.as_text,
            "about 30 min",
        ),
        runs.series(
            "others",
            "What do designs change that the source names and has not measured?",
            runs.others,
            _others,
            "about 30 min",
        ),
        runs.series(
            "varied",
            "What do longer links, faster disks and more fetches at a time change without traffic?",
            runs.varied,
            _varied,
            "about 3 min",
        ),
        Series(
            "assumptions",
            "Which assumption decides the differences between designs?",
            shipped=sensitivity.FILE,
            wanted=lambda file, quick: sensitivity.wanted(1 if quick else _SEEDS),
            there=sensitivity.read,
            simulate=sensitivity.simulate,
            tables=sentences.tables,
        ),
        Series(
            "constant",
            "What can make a difference that is the same with 10 and 200 GB?",
            shipped=constant.FILE,
            wanted=lambda file, quick: constant.wanted(1 if quick else _SEEDS),
            there=constant.read,
            simulate=constant.simulate,
            tables=constant.tables,
        ),
        runs.series(
            "cross-validation",
            "Does a fit on a part of the published numbers predict the rest?",
            lambda seeds: iter(()),
            fits.as_text,
            "about a minute",
        ),
    )

    @property
    def assumptions(self) -> Sequence[Assumption]:
        return sensitivity.with_changes(sensitivity.read())

    def points(self, quick: bool) -> Sequence[Point]:
        sizes, seeds = (SIZES[:1], 1) if quick else (SIZES, _SEEDS)
        cases = [
            Case(design, framework, size, traffic)
            for size in sizes
            for framework in FRAMEWORKS
            for traffic in (False, True)
            for design in DESIGNS
        ]
        return [
            Point(case.name, files("hadoop") / "terasort.toml", _keys(case), seed)
            for case in cases
            for seed in range(1, seeds + 1)
        ]

    def table(self, designs: Designs) -> Sequence[Row]:
        """Compares all published numbers. None of them counts as predicted, because the constants
        are fitted to all. `crossvalidation` predicts."""
        rows = []
        for case, seconds in published().items():
            if case.name in designs:
                ours = designs[case.name].value(JOB_TIME)
                mean, low, high = (
                    (
                        value if value is None else value / 1e9
                        for value in (ours.mean, ours.low, ours.high)
                    )
                    if ours
                    else (None, None, None)
                )
                what = f"{case.design}, {case.framework}, {case.size} GB, {'traffic' if case.traffic else 'quiet'}"
                null = crossvalidation.other_designs(case, published())
                rows.append(Row(what, seconds, mean, low, high, predicted=False, null=null))
        return rows

    def checks(self, designs: Designs) -> Sequence[Check]:
        # Runs that come with afflux do not have alternative assumptions.
        shipped = [] if self.assumed else _shipped_checks()
        return [*shipped, *self.findings(designs)]

    def findings(self, designs: Designs) -> list[Check]:
        """Checks the qualitative findings of the source on MapReduce with 10 GB, whose ports are
        recorded."""
        seen = {}
        for design in DESIGNS:
            for ending, traffic in (("", True), ("-quiet", False)):
                name = Case(design, "mapreduce", _SCREENS, traffic).name
                if name in designs:
                    seen[design + ending] = designs[name].first
        return [check for finding in findings.ALL for check in finding(seen)]

    def answer(self, designs: Designs) -> str | None:
        names = [Case(design, "mapreduce", 10, True).name for design in ("deep", "shallow")]
        if not all(name in designs for name in names):
            return None
        deep, shallow = (designs[name] for name in names)
        found = difference(JOB_TIME, deep, shallow, shallow.seeds)
        return say("hadoop.answer", told=in_words(found)) if found else None

    def shown(self, designs: Designs) -> Designs:
        return Designs(
            [
                design
                for design in designs.values()
                if design.name.endswith("mapreduce-10GB-traffic")
            ]
        )

    def plots(self, designs: Designs, dir: Path) -> Sequence[Path]:
        """Writes the job times of all seeds, in the form of those that come with afflux."""
        return [whole.write(whole.of_designs(designs), dir / whole.NAME)]


STUDY = Hadoop()
