"""The parts of the study: points by fabric, and the series of runs from which the claims table is
made."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import Part, Series, Slice, named
from ..part import NOT_MEASURED
from . import sensitivity, tables
from .runs import FILE, Run, read, simulate, write

_QUESTIONS = {
    "select": "Which parameters of the baselines have the lowest mean slowdown, with a seed that judges nothing?",
    "judge": "Which of the sixteen claims hold, against the defaults and against the best parameters?",
    "window": "Do the claims at 80 %, lossless, hold in a window of 100 ms?",
    "memory": "What does it cost if frames that ConWeave reorders take memory of the switch?",
    "reply": "Would another time after which a reply is late serve ConWeave better?",
    "rules": "Which lossless claims are reached under the rules of the authors' simulator?",
    "differences": "Do rules of the authors' simulator or longer windows explain that gains with IRN are smaller than published?",
    "solar": "Why is CONGA's default behind ECMP with SolarRPC?",
}
#: Durations on one core, where they were measured.
_DURATIONS = {"differences": "about 20 min"}
#: Tables that are made from the runs of each series.
_TABLES = {
    "select": ("settings",),
    "judge": ("claims", "gains", "slowdowns", "fat-tree"),
    "window": ("window",),
    "memory": ("memory",),
    "reply": ("replies",),
    "rules": ("claims", "rules"),
    "solar": ("solar",),
    "differences": ("differences",),
}


def _simulated(run: Run, file: Path) -> str:
    measured = simulate(run)
    write(run, measured, file)
    return f"{run}: {measured.all_mean:.3f} and {measured.all_p99:.3f}"


def _series(name: str) -> Series:
    def wanted(file: Path, quick: bool) -> Iterator[Run]:
        # The best parameters depend on all selecting runs, so a quick part leaves out only judging
        # seeds.
        return (
            run
            for run in sensitivity.RUNS[name](read(file))
            if not quick or run.seed in (1, *sensitivity.SELECTING)
        )

    def shown(file: Path) -> str:
        return tables.some(read(file), _TABLES[name])

    return Series(
        name,
        _QUESTIONS[name],
        _DURATIONS.get(name, NOT_MEASURED),
        shipped=FILE,
        wanted=wanted,
        there=read,
        simulate=_simulated,
        tables=shown,
    )


PARTS: Sequence[Part] = (
    Slice(
        "leaf-spine",
        "How much lower are slowdowns on the leaf-spine, for all sizes and loads?",
        "about 35 min",
        has=named("leaf-spine-*"),
    ),
    Slice(
        "fat-tree",
        "How much lower are slowdowns on the fat-tree, for all sizes and loads?",
        "about 40 min",
        has=named("fat-tree-*"),
    ),
    *(_series(name) for name in sensitivity.RUNS),
    Series(
        "tables",
        "Which tables do the runs of all series give?",
        "seconds",
        shipped=FILE,
        there=read,
        tables=lambda file: tables.every(read(file)),
    ),
)
