"""Judges the statements of slides 24, 51 and 82 about job times, which no finding of `findings`
covers. (The half of slide 51 that is about queues is q1 to q5.)

The slides give words. A word about an order ("longer") is judged by the sign of a median over
seeds, "about the same" by the largest difference that the source itself calls so, and a percentage
holds within a factor of two. There are four jobs under traffic, 10 and 200 GB with MapReduce and
Tez.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from statistics import median
from typing import NamedTuple

from .. import Check
from .cases import FRAMEWORKS, SIZES, Case, published
from .runs import Times

#: A job under traffic: framework and size in GB.
Job = tuple[str, int]
JOBS: tuple[Job, ...] = tuple(product(FRAMEWORKS, SIZES))
#: Slide 82's percentages are those of this job: with 10 GB the source's are twice as large.
LARGE: Job = ("mapreduce", 200)
#: The source measured H-TCP with ECN again when it measured DCTCP, and compares these two (slide
#: 75).
_MEASURED_WITH = {("dctcp", "ecn"): "ecn_again"}


def _theirs(job: Job, design: str, base: str) -> float:
    """Returns the source's relative difference in percent."""
    numbers = published()
    names = (design, _MEASURED_WITH.get((design, base), base))
    own, other = (numbers[Case(name, *job, True)] for name in names)
    return 100 * (own / other - 1)


def _ours(times: Times, job: Job, design: str, base: str) -> list[float]:
    """Returns the simulated relative differences in percent, one for each seed that both designs
    have."""
    own, other = (times(Case(name, *job, True)) for name in (design, base))
    return [100 * (own[seed] / other[seed] - 1) for seed in sorted(own.keys() & other.keys())]


class Statement(NamedTuple):
    slide: int
    words: str
    design: str
    base: str
    #: Whether a relative difference in percent agrees with the words.
    agrees: Callable[[float], bool]
    bar: str
    jobs: tuple[Job, ...] = JOBS


def _same(slide: int, words: str, design: str, base: str) -> Statement:
    most = max(abs(_theirs(job, design, base)) for job in JOBS)
    return Statement(
        slide,
        words,
        design,
        base,
        lambda value: abs(value) <= most,
        f"within {most:.1f} %, the source's largest difference",
    )


def _longer(slide: int, words: str, design: str, base: str) -> Statement:
    return Statement(slide, words, design, base, lambda value: round(value, 1) > 0, "longer")


def _shorter_by(slide: int, words: str, design: str, base: str, by: float) -> Statement:
    return Statement(
        slide,
        words,
        design,
        base,
        lambda value: by / 2 <= -value <= 2 * by,
        f"{by:.0f} % shorter, within a factor of two",
        (LARGE,),
    )


def statements() -> list[Statement]:
    return [
        _longer(24, "PFC alone stops senders, so jobs take longer", "pfc", "shallow"),
        _same(24, "next to ECN, PFC is not needed", "ecn_pfc", "ecn"),
        _longer(51, "deep: longer", "deep", "shallow"),
        _same(51, "shallow with ECN: as without", "ecn", "shallow"),
        _longer(51, "DCTCP: longer than H-TCP with ECN", "dctcp", "ecn"),
        _shorter_by(82, "shallow: up to 8 % shorter than deep", "shallow", "deep", 8),
        _shorter_by(82, "with ECN: up to 10 % shorter than deep", "ecn", "deep", 10),
    ]


class _Judged(NamedTuple):
    statement: Statement
    #: The source's relative difference of each job in percent.
    theirs: list[float]
    #: The simulated ones, one list per job with those of its seeds.
    ours: list[list[float]]

    @property
    def hold(self) -> list[bool]:
        """Whether the median of each job agrees with the words."""
        return [self.statement.agrees(median(values)) for values in self.ours]

    def __str__(self) -> str:
        """Formats the median of each job, and how many of its seeds agree with the words."""
        return ", ".join(
            f"{_percent(median(values))} ({sum(map(self.statement.agrees, values))} of {len(values)})"
            for values in self.ours
        )


def _percent(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}"


def _judged(times: Times, sizes: Sequence[int]) -> Iterator[_Judged]:
    """Yields the statements about jobs of these sizes in GB. A statement with a job that is not
    simulated is left out."""
    for one in statements():
        jobs = [job for job in one.jobs if job[1] in sizes]
        ours = [_ours(times, job, one.design, one.base) for job in jobs]
        if jobs and all(ours):
            theirs = [_theirs(job, one.design, one.base) for job in jobs]
            yield _Judged(one, theirs, ours)


def checks(times: Times) -> list[Check]:
    """Returns the judged statements about the study's own jobs."""
    return [
        Check(
            f"slide {one.slide}: {one.words} (%, {len(one.jobs)} of 4 jobs under traffic)",
            all(judged.hold),
            str(judged),
            one.bar,
        )
        for judged in _judged(times, SIZES)
        for one in (judged.statement,)
    ]


def table(times: Times, sizes: Sequence[int] = SIZES) -> str:
    lines = [
        "| slide | statement | the source, % | here, %: median, and seeds that agree with the statement | holds if | holds |",
        "|---|---|---|---|---|---|",
    ]
    for judged in _judged(times, sizes):
        one, hold = judged.statement, judged.hold
        count = (
            "yes"
            if all(hold)
            else f"**{'no' if len(hold) == 1 else f'{sum(hold)} of {len(hold)}'}**"
        )
        theirs = ", ".join(map(_percent, judged.theirs))
        lines.append(f"| {one.slide} | {one.words} | {theirs} | {judged} | {one.bar} | {count} |")
    return "\n".join(lines)
