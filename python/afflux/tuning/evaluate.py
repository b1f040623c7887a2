"""Simulates settings: good ones with every seed, hopeless ones only with the first few seeds."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from .. import _core, batch, settings
from ..batch import Point, Source, Watch
from ..comparison import censored
from ..comparison.censored import Value
from ..comparison.paired import Difference, difference, of_pairs
from ..comparison.unfinished import Left
from ..executors import Executor
from ..metrics import UNFINISHED, Metric
from ..results import failed_checks, percentiles
from ..results.designs import Design
from ..results.result import Result
from ..results.statistics import ENOUGH_SEEDS
from ..words import Words
from .result import OWN, Candidate
from .work import Undone, Work, stalls

#: A setting is dropped if it is worse than a known one by more than this share, with every one of
#: the first seeds and in all objectives.
HOPELESS = 0.05


@dataclass
class Evaluator:
    """Simulates settings in one directory. Existing results are not simulated again."""

    scenario: Source
    fixed: Mapping[str, Any]
    objectives: Sequence[Metric]
    out: Path
    executor: Executor
    watch: Watch
    #: True if settings with warnings are refused, like invalid ones.
    strict: bool = False

    def __post_init__(self) -> None:
        self._results: dict[str, dict[int, Result]] = {}
        self._errors: dict[str, str] = {}
        #: Errors of the points that failed, by name and seed.
        self.failures: dict[str, str] = {}
        self._warnings: dict[str, None] = {}
        self._values: dict[tuple[Path, str], Value | None] = {}
        #: Notes of all batches, without duplicates.
        self.notes: list[str] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of all settings, without duplicates."""
        return tuple(self._warnings)

    def simulate(self, every: Iterable[Mapping[str, Any]], seeds: Sequence[int]) -> None:
        points = [
            Point(name_of(changes), self.scenario, {**self.fixed, **changes}, seed)
            for changes in every
            if self._allowed(changes)
            for seed in seeds
        ]
        outcome = batch.run(
            points, self.out, watch=self.watch, executor=self.executor, all_valid=False
        )
        self._warnings |= dict.fromkeys(outcome.warned)
        for (name, seed), result in outcome.results.items():
            self._results.setdefault(name, {})[seed] = result
        self.notes += [note for note in outcome.notes if note not in self.notes]
        for failure in outcome.failures:
            self.failures.setdefault(failure.point, failure.error)
            self._errors.setdefault(failure.point.rpartition("-")[0], failure.error)

    def failed_after(self, known: Collection[str]) -> list[str]:
        """Returns the errors of the points that failed, apart from the known ones."""
        return [f"{key}: {error}" for key, error in self.failures.items() if key not in known]

    def _allowed(self, changes: Mapping[str, Any]) -> bool:
        if not self.strict:
            return True
        try:
            warnings = batch.load(self.scenario, {**self.fixed, **changes}).warnings
        except _core.ScenarioError:
            return True  # reported with the others
        if warnings:
            self._errors.setdefault(name_of(changes), str(warnings[0]))
        return not warnings

    def race(
        self, every: Sequence[Mapping[str, Any]], seeds: Sequence[int], known: Sequence[Candidate]
    ) -> list[Candidate]:
        """Simulates settings with the first seeds, and then with the other seeds those that are not
        hopeless compared with `known`."""
        first = seeds[: first_seeds(len(seeds))]
        self.simulate(every, first)
        begun = [self.candidate(changes, first) for changes in every]
        lost = {
            candidate.name
            for candidate in begun
            if any(hopeless(candidate, other, self.objectives) for other in known)
        }
        left = [candidate for candidate in begun if candidate.values and candidate.name not in lost]
        if len(first) < len(seeds):
            self.simulate([candidate.changes for candidate in left], seeds[len(first) :])
        return [
            self.candidate(c.changes, first if c.name in lost else seeds, stopped=c.name in lost)
            if c.values
            else c
            for c in begun
        ]

    def candidate(
        self, changes: Mapping[str, Any], seeds: Sequence[int], stopped: bool = False
    ) -> Candidate:
        """Returns a setting with its values. Raises `LookupError` if an objective is missing."""
        name = name_of(changes)
        results = self._results.get(name, {})
        if name in self._errors or not all(seed in results for seed in seeds):
            return Candidate(
                name, changes, None, error=self._errors.get(name, "it was not simulated")
            )
        values: dict[str, dict[int, float]] = {}
        included: set[str] = set()
        for metric in self.objectives:
            found = {seed: self._value(metric, results[seed]) for seed in seeds}
            values[metric.name] = {
                seed: value.number for seed, value in found.items() if value is not None
            }
            if any(value and value.unfinished for value in found.values()):
                included.add(metric.name)
            if len(values[metric.name]) < len(seeds):
                raise LookupError(
                    f"{metric.title} is missing in some runs: their summary.json has no number at {'.'.join(metric.path)}"
                )
        return Candidate(
            name,
            changes,
            values,
            stopped=stopped,
            left=Left.of(self.design(changes, seeds)),
            work={seed: Work.of(results[seed].summary) for seed in seeds},
            included=frozenset(included),
        )

    def design(self, changes: Mapping[str, Any], seeds: Sequence[int] | None = None) -> Design:
        name = name_of(changes)
        every = sorted(self._results.get(name, {}).items())
        return Design(name, {seed: one for seed, one in every if seeds is None or seed in seeds})

    def _value(self, metric: Metric, result: Result) -> Value | None:
        """Returns the value of an objective. Flows and jobs that did not finish are included: a
        setting must not win because only its fast flows finished."""
        if result.dir is None or not metric.censored(result.summary):
            return censored.value(metric, result)
        key = result.dir, metric.name
        if key not in self._values:
            # Tables are read again, so that those of hundreds of runs are not kept in memory.
            self._values[key] = censored.value(metric, Result.open(result.dir))
        return self._values[key]

    def differences(
        self, before: Mapping[str, Any], after: Mapping[str, Any], seeds: Sequence[int]
    ) -> tuple[Difference, ...]:
        """Returns the differences of a setting from another one in the objectives, over seeds with
        which both were simulated."""

        def number(metric: Metric, result: Result) -> float | None:
            found = self._value(metric, result)
            return None if found is None else found.number

        base, design = self.design(before), self.design(after)
        every = (difference(metric, base, design, seeds, number) for metric in self.objectives)
        return tuple(d for d in every if d is not None)

    def undone(
        self, before: Mapping[str, Any], after: Mapping[str, Any], seeds: Sequence[int]
    ) -> Undone | None:
        """Returns the flows that a setting and another one did not finish; None if all flows
        finished."""
        base, design = self.design(before, seeds), self.design(after, seeds)
        found = difference(UNFINISHED, base, design, seeds)
        if found is None or not (found.baseline_mean or found.design_mean):
            return None
        own, chosen = (
            {
                metric.name: [self._value(metric, one) for one in of.results.values()]
                for metric in self.objectives
            }
            for of in (base, design)
        )
        return Undone(
            Left.of(design),
            Left.of(base),
            found,
            frozenset(
                name
                for name in own
                if any(value and value.unfinished for value in (*own[name], *chosen[name]))
            ),
            frozenset(
                name
                for name, every in chosen.items()
                if any(value and not value.exact for value in every)
            ),
            self.stalls(after, before, seeds),
        )

    def stalls(
        self, one: Mapping[str, Any], other: Mapping[str, Any], seeds: Sequence[int]
    ) -> bool:
        """True if a setting begins clearly less of its work than another one."""
        own, best = (
            {
                seed: Work.of(result.summary)
                for seed, result in self.design(changes, seeds).results.items()
            }
            for changes in (one, other)
        )
        return stalls(own, best)

    def of_few(self, *every: Mapping[str, Any]) -> list[Words]:
        """Returns remarks on objectives that are percentiles, if a run of these settings has too few
        flows or jobs for them."""
        designs = [self.design(changes) for changes in every]
        remarks = (
            percentiles.remark(metric, *designs, unfinished=True) for metric in self.objectives
        )
        return [words for words in remarks if words]

    def failed_checks(self) -> list[Words]:
        """Sentences about results that failed their own checks."""
        return failed_checks.of(
            result for results in self._results.values() for result in results.values()
        )

    def failed(self, changes: Mapping[str, Any]) -> bool:
        return name_of(changes) in self._errors


def name_of(changes: Mapping[str, Any]) -> str:
    return settings.point_name(changes) or OWN


def first_seeds(count: int) -> int:
    """Returns the number of first seeds: a third of all, but at least two, because with one seed
    chance looks like certainty."""
    return min(count, max(2, -(-count // 3)))


def hopeless(one: Candidate, other: Candidate, objectives: Sequence[Metric]) -> bool:
    """True if `one` is worse than `other` by more than `HOPELESS`, with every seed and in every
    objective. A setting that stalls makes no other one hopeless."""
    if not one.values or not other.values or stalls(other.work, one.work):
        return False
    for metric in objectives:
        for seed, value in one.values[metric.name].items():
            bar = other.values[metric.name].get(seed)
            if bar is None:
                return False
            margin = HOPELESS * abs(bar)
            if not (value > bar + margin if metric.lower_is_better else value < bar - margin):
                return False
    return True


def front(means: Sequence[Sequence[float]]) -> list[int]:
    """Returns the indices of the Pareto front; coordinates are better if lower. A point is not on
    the front if another one is at most as high in all coordinates and lower in one."""

    def beaten(one: Sequence[float], other: Sequence[float]) -> bool:
        return all(b <= a for a, b in zip(one, other, strict=True)) and any(
            b < a for a, b in zip(one, other, strict=True)
        )

    return [
        place for place, one in enumerate(means) if not any(beaten(one, other) for other in means)
    ]


def lowered(
    candidates: Sequence[Candidate], objectives: Sequence[Metric], seeds: Sequence[int]
) -> list[list[float]]:
    """Returns the means over these seeds (which may repeat), with a sign that makes lower values
    better."""
    made = []
    for candidate in candidates:
        assert candidate.values
        signed = [
            (1 if metric.lower_is_better else -1, candidate.values[metric.name])
            for metric in objectives
        ]
        made.append([sign * sum(of[seed] for seed in seeds) / len(seeds) for sign, of in signed])
    return made


def alike(
    candidates: Sequence[Candidate], objectives: Sequence[Metric], seeds: Sequence[int]
) -> list[int | None]:
    """Returns, for each candidate, the number of others that cannot be distinguished from it: no
    objective differs clearly by a t test over the paired seeds, and neither of the two stalls. None
    with too few seeds."""
    if len(seeds) < ENOUGH_SEEDS:
        return [None] * len(candidates)
    counts = [0] * len(candidates)
    for one, other in combinations(range(len(candidates)), 2):
        pair = candidates[one], candidates[other]
        stalled = any(stalls(a.work, b.work) for a, b in (pair, pair[::-1]))
        if not stalled and not any(_differ(*pair, metric, seeds) for metric in objectives):
            counts[one] += 1
            counts[other] += 1
    return list(counts)


def _differ(one: Candidate, other: Candidate, metric: Metric, seeds: Sequence[int]) -> bool:
    assert one.values
    assert other.values
    first, second = one.values[metric.name], other.values[metric.name]
    return of_pairs(metric, other.name, [(first[seed], second[seed]) for seed in seeds]).clear
