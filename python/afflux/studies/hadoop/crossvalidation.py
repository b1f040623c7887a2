"""Measures whether the model predicts: its constants are fitted to one part of the published
numbers and judged on the other, compared with a null model.

A job's time is split into terms, so that a fit needs no simulation. With constants `c` (see
`Constants`):

    without traffic   c.start + quiet(framework, size, c.cpu, c.disk) + network(case)
    under traffic     the same with c.start and c.cpu divided by c.share
                      + (1 / c.share - 1) * startups(framework, size)

`quiet` interpolates between jobs that were simulated without traffic for a grid of constants.
`startups` is what a job spends on the start of containers and the like, which busy processors
stretch, too. `network` is the additional time of a job behind a design, and with background traffic,
compared with the deep buffer without traffic and, if there is traffic, with processors that are as
busy. Neither is fitted: they come from the jobs of the study itself, and from jobs without traffic
with the same seeds. These have the study's constants, which were fitted to all numbers;
`fits.by_constants` says how much hangs on that.
"""

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean, median

from .. import Check
from ..lines import own_or_shipped
from . import whole
from .cases import BASE, BUSY, FITTED, FRAMEWORKS, SIZES, Case, Constants, published
from .runs import FILE, Run, read

Numbers = Mapping[Case, float]
Null = Callable[[Case, Numbers], float]

#: Relative deviation of a published number that no model explains (few runs, one cluster).
NOISE = 0.05
#: Usual deviation of the constants from Hadoop's defaults, as logarithms: a factor of two for
#: processors and their share, ten for disks (from hard disks to memory). It holds constants in
#: place that a part of the numbers does not determine: numbers of one size determine only the sum
#: of start and processing. The start has no usual value.
USUAL = (math.log(2), math.log(10), math.log(2))
#: Step sizes of the numerical derivatives.
STEPS = (1e-3, 1e-5, 1e-5, 1e-5)
RESAMPLES = 200


@dataclass(frozen=True)
class Simulated:
    """Job times of the simulator. Means are over `seeds`, in which a seed may occur more than
    once."""

    #: Jobs without traffic behind the deep buffer.
    runs: Mapping[Run, float]
    #: Jobs of the study, with its constants.
    jobs: whole.Times
    seeds: tuple[int, ...]

    @classmethod
    def of(cls, runs: Mapping[Run, float], jobs: whole.Times) -> "Simulated":
        return cls(runs, jobs, tuple(sorted({run.seed for run in runs})))

    @classmethod
    def read(cls, file: Path = FILE) -> "Simulated":
        """Reads the runs of a file, and the jobs of the study beside it, or else those that come
        with afflux."""
        return cls.of(read(file), whole.read(own_or_shipped(file, whole.FILE)))

    @cached_property
    def _grids(
        self,
    ) -> dict[tuple[str, int], tuple[list[float], list[float], dict[tuple[float, float], float]]]:
        found = {}
        without_traffic = [
            run
            for run in self.runs
            if run.case.design == "deep" and not run.case.traffic and run.constants.start == 0
        ]
        for job in {(run.case.framework, run.case.size) for run in without_traffic}:
            of_job = [run for run in without_traffic if (run.case.framework, run.case.size) == job]
            # An incomplete grid is used as far as it goes.
            there = {_work(run) for run in of_job}
            cpus = sorted(cpu for cpu, disk in there if disk == BASE.disk)
            disks = sorted(
                {disk for _, disk in there if all((cpu, disk) in there for cpu in cpus)},
                reverse=True,
            )
            if len(cpus) < 2 or len(disks) < 2 or BASE.cpu not in cpus:
                continue
            points = {
                (cpu, disk): {
                    run.seed: self.runs[run] for run in of_job if _work(run) == (cpu, disk)
                }
                for cpu in cpus
                for disk in disks
            }
            # Seeds that all points have determine the shape of the grid. The base point, which has
            # all seeds, determines its level.
            common = set.intersection(*(set(times) for times in points.values()))
            base = points[BASE.cpu, BASE.disk]
            level = self._mean(base) - mean(base[seed] for seed in common)
            if all(common >= {seed} for seed in self.seeds):
                means = {at: self._mean(times) for at, times in points.items()}
            else:
                means = {
                    at: mean(times[seed] for seed in common) + level for at, times in points.items()
                }
            found[job] = (cpus, disks, means)
        return found

    def _mean(self, times: Mapping[int, float]) -> float:
        return mean([times[seed] for seed in self.seeds if seed in times] or times.values())

    def without_traffic(self, framework: str, size: int, cpu: float, disk: float) -> float:
        """Returns the interpolated job time without traffic: bilinear in processor time and in time
        per byte of the disk. Beyond the grid, its outermost cells are extrapolated."""
        cpus, disks, means = self._grids[framework, size]
        i, u = _cell(cpus, cpu)
        j, v = _cell([1 / rate for rate in disks], 1 / disk)
        corners = [[means[cpus[i + a], disks[j + b]] for b in (0, 1)] for a in (0, 1)]
        return (1 - u) * ((1 - v) * corners[0][0] + v * corners[0][1]) + u * (
            (1 - v) * corners[1][0] + v * corners[1][1]
        )

    @cached_property
    def _startups(self) -> dict[tuple[str, int], float]:
        """Seconds that a job spends on what only busy processors stretch, by framework and size."""
        found: dict[tuple[str, int], dict[int, float]] = {}
        for (case, constants, seed), seconds in self.runs.items():
            longer = self.runs.get(_busy(case, seed))
            if constants == FITTED.under_traffic and longer is not None:
                more = (longer - seconds) / (1 / FITTED.share - 1)
                found.setdefault((case.framework, case.size), {})[seed] = more
        return {job: self._mean(by_seed) for job, by_seed in found.items()}

    @cached_property
    def _networks(self) -> dict[Case, float]:
        by_case: dict[Case, dict[int, float]] = {}
        for (case, seed), seconds in self.jobs.items():
            without_traffic = self._compared_with(case, seed)
            if without_traffic is not None:
                by_case.setdefault(case, {})[seed] = seconds - without_traffic
        return {case: self._mean(longer) for case, longer in by_case.items()}

    def _compared_with(self, case: Case, seed: int) -> float | None:
        """Returns the time of the job without traffic, with which a job of the study is compared.
        None if that was not simulated, or if no constants could be fitted to such jobs."""
        job, deep = case[1:3], case._replace(design="deep", traffic=False)
        if job not in self._grids:
            return None
        if not case.traffic:
            return self.jobs.get(whole.Job(deep, seed))
        return self.runs.get(_busy(deep, seed)) if job in self._startups else None

    def network(self, case: Case) -> float | None:
        """Returns the additional time of a case; None if it was not simulated."""
        return self._networks.get(case._replace(design=case.simulated))

    def time(self, case: Case, constants: Constants) -> float:
        network = self.network(case)
        if network is None:
            raise KeyError(case)
        c = constants.under_traffic if case.traffic else constants
        startups = (1 / constants.share - 1) * self._startups[case[1:3]] if case.traffic else 0.0
        quiet = self.without_traffic(case.framework, case.size, c.cpu, c.disk)
        return c.start + startups + quiet + network

    def known(self, numbers: Numbers) -> dict[Case, float]:
        """Returns the published numbers whose cases are simulated."""
        return {
            case: seconds for case, seconds in numbers.items() if self.network(case) is not None
        }


def _busy(deep: Case, seed: int) -> Run:
    return Run(deep._replace(design=BUSY), FITTED._replace(share=1.0), seed)


def _work(run: Run) -> tuple[float, float]:
    return run.constants.cpu, run.constants.disk


def _cell(values: Sequence[float], value: float) -> tuple[int, float]:
    """Returns the index of the interval of `values` that contains `value` (or the nearest one), and
    the position in it."""
    place = min(max(bisect_right(values, value) - 1, 0), len(values) - 2)
    return place, (value - values[place]) / (values[place + 1] - values[place])


def _constants(free: Sequence[float]) -> Constants:
    start, cpu, disk, share = free
    return Constants(
        abs(start), BASE.cpu * math.exp(cpu), BASE.disk * math.exp(disk), math.exp(-abs(share))
    )


def _free(constants: Constants) -> list[float]:
    return [
        constants.start,
        math.log(constants.cpu / BASE.cpu),
        math.log(constants.disk / BASE.disk),
        -math.log(constants.share),
    ]


def fit(simulated: Simulated, numbers: Numbers, near: Constants | None = None) -> Constants:
    """Returns the most likely constants: least squares of relative errors, with `USUAL` for
    constants that the numbers do not determine. Interpolated times have kinks, so the search starts
    at several points, or only at `near`."""

    def residuals(free: Sequence[float]) -> list[float]:
        constants = _constants(free)
        errors = [
            (simulated.time(case, constants) / seconds - 1) / NOISE
            for case, seconds in numbers.items()
        ]
        return [*errors, *(value / usual for value, usual in zip(free[1:], USUAL, strict=True))]

    if near:
        return _constants(_descend(residuals, _free(near)))
    places = [
        Constants(1.0, BASE.cpu * cpu, BASE.disk * disk, 0.9)
        for cpu in (0.6, 1.5)
        for disk in (1.2, 4.0)
    ]
    starts = [
        mean(seconds - simulated.time(case, place) for case, seconds in numbers.items())
        for place in places
    ]
    ends = [
        _descend(residuals, _free(place._replace(start=max(start, 1.0))))
        for place, start in zip(places, starts, strict=True)
    ]
    return _constants(min(ends, key=lambda free: _sum(residuals(free))))


def _descend(residuals: Callable[[Sequence[float]], list[float]], free: list[float]) -> list[float]:
    """Returns the parameters at the nearest minimum of the sum of squares (Levenberg-Marquardt)."""
    now, damping = residuals(free), 1e-3
    for _ in range(200):
        columns = []
        for place, step in enumerate(STEPS):
            moved = residuals([value + step * (place == other) for other, value in enumerate(free)])
            columns.append(
                [(after - before) / step for after, before in zip(moved, now, strict=True)]
            )
        normal = [
            [sum(a * b for a, b in zip(one, other, strict=True)) for other in columns]
            for one in columns
        ]
        slope = [sum(a * b for a, b in zip(column, now, strict=True)) for column in columns]
        while damping < 1e12:
            damped = [
                [value * (1 + damping * (i == j)) for j, value in enumerate(row)]
                for i, row in enumerate(normal)
            ]
            new = [value - step for value, step in zip(free, _solve(damped, slope), strict=True)]
            # Values beyond all usual ones are rejected.
            then = residuals(new) if all(abs(value) < 7 for value in new[1:]) else [math.inf]
            if _sum(then) < _sum(now):
                break
            damping *= 10
        else:
            break
        gained = 1 - _sum(then) / _sum(now)
        free, now, damping = new, then, damping / 10
        if gained < 1e-9:
            break
    return free


def _sum(residuals: Iterable[float]) -> float:
    return sum(value * value for value in residuals)


def _solve(matrix: list[list[float]], right: Sequence[float]) -> list[float]:
    """Solves a positive definite system by Gaussian elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place, pivot in enumerate(rows):
        for row in rows[place + 1 :]:
            factor = row[place] / pivot[place]
            for column in range(place, len(row)):
                row[column] -= factor * pivot[column]
    found = [0.0] * len(rows)
    for place in reversed(range(len(rows))):
        found[place] = (
            rows[place][-1]
            - sum(rows[place][other] * found[other] for other in range(place + 1, len(rows)))
        ) / rows[place][place]
    return found


@dataclass(frozen=True)
class Split:
    """A partition of the published numbers. Each part is judged by a fit to all other numbers that
    the split allows."""

    name: str
    #: Returns the part of a case. A case of one part is not used to fit for that part.
    part: Callable[[Case], object]
    nulls: tuple[Null, ...]
    #: The only part that is judged; None if each part is judged once.
    judged: object = None

    def parts(self, numbers: Numbers) -> list[tuple[dict[Case, float], dict[Case, float]]]:
        """Returns pairs of numbers to fit to and numbers to judge."""
        found = []
        for part in dict.fromkeys(map(self.part, numbers)):
            if self.judged in (None, part):
                fitted = {
                    case: seconds for case, seconds in numbers.items() if self.part(case) != part
                }
                judged = {
                    case: seconds for case, seconds in numbers.items() if self.part(case) == part
                }
                if fitted and judged:
                    found.append((fitted, judged))
        return found


def _other(case: Case, numbers: Numbers, all_designs: bool) -> float:
    """Returns the number of a case, or the median of all known designs."""
    alike = [
        seconds
        for other, seconds in numbers.items()
        if other[1:] == case[1:] and (all_designs or other == case)
    ]
    return median(
        alike
        or [seconds for other, seconds in numbers.items() if other[1:3] == case[1:3]]
        or numbers.values()
    )


def other_designs(case: Case, numbers: Numbers) -> float:
    """Returns the median of the other designs."""
    return _other(
        case,
        {other: seconds for other, seconds in numbers.items() if other.simulated != case.simulated},
        all_designs=True,
    )


def _frameworks(all_designs: bool) -> Null:
    def null(case: Case, numbers: Numbers) -> float:
        return _other(
            case._replace(framework=next(name for name in FRAMEWORKS if name != case.framework)),
            numbers,
            all_designs,
        )

    return null


def _sizes(all_designs: bool, proportional: bool) -> Null:
    def null(case: Case, numbers: Numbers) -> float:
        other = next(size for size in SIZES if size != case.size)
        return _other(case._replace(size=other), numbers, all_designs) * (
            case.size / other if proportional else 1
        )

    return null


_FRAMEWORKS = tuple(_frameworks(every) for every in (False, True))
_SIZES = tuple(
    _sizes(every, proportional) for every in (False, True) for proportional in (False, True)
)

#: Splits with their null models. A null model knows what the fit knows: a number is the same with
#: the other framework, with the other size (or grows in proportion), or with another design (the
#: median of the known ones). The best of these variants counts.
SPLITS = (
    Split("MapReduce, judged on Tez", lambda case: case.framework, _FRAMEWORKS, "tez"),
    Split("Tez, judged on MapReduce", lambda case: case.framework, _FRAMEWORKS, "mapreduce"),
    Split("10 GB, judged on 200 GB", lambda case: case.size, _SIZES, 200),
    Split("200 GB, judged on 10 GB", lambda case: case.size, _SIZES, 10),
    Split("all designs but one, judged on that one", lambda case: case.simulated, (other_designs,)),
)


@dataclass(frozen=True)
class Judged:
    split: str
    #: Measured and predicted seconds of each case.
    predicted: Mapping[Case, tuple[float, float]]
    constants: tuple[Constants, ...]
    #: Median of the relative errors, with its 95 % interval over cases and seeds.
    error: float
    low: float
    high: float
    #: Median of the relative errors of the best null model, with its 95 % interval.
    null: float
    null_low: float
    null_high: float

    @property
    def better(self) -> bool:
        return self.error < self.null

    def errors(self, of: Callable[[Case], bool]) -> list[float]:
        return [
            abs(ours / seconds - 1) for case, (seconds, ours) in self.predicted.items() if of(case)
        ]


def _predictions(
    split: Split, simulated: Simulated, numbers: Numbers, near: Sequence[Constants] = ()
) -> tuple[dict[Case, float], list[Constants]]:
    found: dict[Case, float] = {}
    constants = []
    for place, (fitted, judged) in enumerate(split.parts(numbers)):
        constants.append(fit(simulated, fitted, near[place] if near else None))
        found |= {case: simulated.time(case, constants[-1]) for case in judged}
    return found, constants


def judge(
    split: Split, simulated: Simulated, numbers: Numbers, resamples: int = RESAMPLES
) -> Judged:
    """Fits and predicts. The interval is from a bootstrap over the judged cases and over the seeds,
    with new fits."""
    numbers = simulated.known(numbers)
    predicted, constants = _predictions(split, simulated, numbers)
    errors = {case: abs(ours / numbers[case] - 1) for case, ours in predicted.items()}
    nulls = [
        {
            case: abs(null(case, fitted) / seconds - 1)
            for fitted, judged in split.parts(numbers)
            for case, seconds in judged.items()
        }
        for null in split.nulls
    ]
    best = min(nulls, key=lambda found: median(found.values()))
    chance = random.Random(split.name)
    ours, theirs = [], []
    cases = list(errors)
    for _ in range(resamples):
        seeds = tuple(chance.choices(simulated.seeds, k=len(simulated.seeds)))
        drawn = Simulated(simulated.runs, simulated.jobs, seeds)
        again, _ = _predictions(split, drawn, numbers, constants)
        some = chance.choices(cases, k=len(cases))
        ours.append(median(abs(again[case] / numbers[case] - 1) for case in some))
        theirs.append(median(best[case] for case in some))
    pairs = {case: (numbers[case], value) for case, value in predicted.items()}
    low, high = _interval(ours, median(errors.values()))
    null_low, null_high = _interval(theirs, median(best.values()))
    return Judged(
        split.name,
        pairs,
        tuple(constants),
        median(errors.values()),
        low,
        high,
        median(best.values()),
        null_low,
        null_high,
    )


def _interval(values: list[float], otherwise: float) -> tuple[float, float]:
    if not values:
        return otherwise, otherwise
    values = sorted(values)
    last = len(values) - 1
    return values[round(0.025 * last)], values[round(0.975 * last)]


#: Smallest relative difference between measured job times that counts.
DIFFERENCE = 0.08


def signs(
    predicted: Mapping[Case, tuple[float, float]],
) -> tuple[list[tuple[Case, Case]], list[tuple[Case, Case]]]:
    """Returns pairs of the deep buffer and a shallow one whose measured times differ by more than 8
    %: those with the right sign of the predicted difference, and the others."""
    right: list[tuple[Case, Case]] = []
    wrong: list[tuple[Case, Case]] = []
    for deep, (deep_s, deep_ours) in predicted.items():
        for shallow, (shallow_s, shallow_ours) in predicted.items():
            if (
                deep.design == "deep"
                and shallow.design != "deep"
                and deep[1:] == shallow[1:]
                and abs(shallow_s / deep_s - 1) > DIFFERENCE
            ):
                (right if (shallow_s - deep_s) * (shallow_ours - deep_ours) > 0 else wrong).append(
                    (deep, shallow)
                )
    return right, wrong


def all_judged(
    simulated: Simulated | None = None, numbers: Numbers | None = None, resamples: int = RESAMPLES
) -> list[Judged]:
    simulated, numbers = simulated or Simulated.read(), numbers or published()
    return [
        judge(split, simulated, numbers, resamples)
        for split in SPLITS
        if split.parts(simulated.known(numbers))
    ]


#: Number of splits in which the model must be better than the null model.
WANTED = 3


def checks(simulated: Simulated | None = None) -> list[Check]:
    """Checks the predictions from the runs in results/runs.csv."""
    simulated = simulated or Simulated.read()
    judged = all_judged(simulated, resamples=0)
    better = sum(one.better for one in judged)
    found = [
        Check(
            f"{one.split}: median error below the null model's",
            one.better,
            per_cent(one.error) + " %",
            per_cent(one.null) + " %",
        )
        for one in judged
    ]
    found.append(
        Check(
            "splits in which the model is better than the null model",
            better >= WANTED,
            better,
            f"at least {WANTED} of {len(SPLITS)}",
        )
    )
    right, wrong = signs(judged[-1].predicted)
    count = len(right) + len(wrong)
    return [
        *found,
        Check(
            "measured differences of more than 8 % between deep and shallow with the right sign",
            not wrong,
            len(right),
            count,
        ),
    ]


def per_cent(value: float) -> str:
    """Formats a share in percent."""
    return f"{100 * value:.1f}"
