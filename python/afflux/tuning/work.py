"""Says how much of its work a setting began and finished, so that no setting is chosen for the few
flows that it lets start."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..comparison.paired import TOO_FEW, WORSE, Difference, of_pairs
from ..comparison.unfinished import Left, never_started
from ..metrics import UNFINISHED, Metric
from ..results.statistics import mean
from ..words import text

#: A setting stalls if it begins less than this share of the work that another one begins.
STALLED = 0.9
_BEGUN = Metric("begun", "work begun", (), text.share, lower_is_better=False, counter=True)


@dataclass(frozen=True)
class Work:
    """The work of one run. Flows of closed loops start after earlier ones, and flows of applications
    come into being as their jobs run. So a run that stalls has few flows, not only slow ones."""

    #: Number of flows, started or not, and of those that started.
    flows: int
    started: int
    #: Number of jobs that applications run, and of those that finished.
    jobs: int = 0
    finished: int = 0

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> "Work":
        started = summary["flows"]["started"]
        each = (summary.get("jobs") or {}).get("each") or []
        done = sum(job["finish_ns"] is not None for job in each)
        return cls(started + never_started(dict(summary)), started, len(each), done)

    @property
    def begun(self) -> float:
        """Share of the flows that started, or of the jobs that finished if that is smaller."""
        return min(self._of_flows, self._of_jobs)

    @property
    def _of_flows(self) -> float:
        return self.started / self.flows if self.flows else 1.0

    @property
    def _of_jobs(self) -> float:
        return self.finished / self.jobs if self.jobs else 1.0


def stalls(one: Mapping[int, Work], other: Mapping[int, Work]) -> bool:
    """True if the runs of `one` begin clearly less of their work than those of `other` with the same
    seeds, and less than `STALLED` of it. With too few seeds to tell, the means decide."""
    seeds = sorted(one.keys() & other.keys())
    pairs = [(other[seed].begun, one[seed].begun) for seed in seeds]
    if not pairs or mean([own for _, own in pairs]) >= STALLED * mean([best for best, _ in pairs]):
        return False
    return of_pairs(_BEGUN, "", pairs).verdict in (WORSE, TOO_FEW)


def share(of: Mapping[int, Work]) -> float:
    """Returns the mean share of the work that the runs began; 1 without runs."""
    return mean([one.begun for one in of.values()]) if of else 1.0


def begun(of: Mapping[int, Work]) -> str:
    """Says how much of the work the runs began: `141 of 160 flows never start`, or `1 of 3 jobs does
    not finish`."""
    every = list(of.values())
    if mean([one._of_jobs for one in every]) < mean([one._of_flows for one in every]):
        left, total = _means([(one.jobs - one.finished, one.jobs) for one in every])
        return f"{left} of {total} jobs do not finish"
    left, total = _means([(one.flows - one.started, one.flows) for one in every])
    return f"{left} of {total} flows never start"


def _means(counts: list[tuple[int, int]]) -> tuple[str, str]:
    lefts, totals = zip(*counts, strict=True)
    return UNFINISHED.brief(mean(lefts)), UNFINISHED.brief(mean(totals))


@dataclass(frozen=True)
class Undone:
    """Flows that did not finish when the chosen setting was compared with the baseline."""

    #: Flows that did not finish with the chosen setting, and with the baseline.
    chosen: Left
    own: Left
    #: Difference in the number of flows that did not finish.
    difference: Difference
    #: Names of the objectives in whose values unfinished flows or jobs count.
    included: frozenset[str]
    #: Names of the objectives of which only lower bounds are known with the chosen setting.
    bounds: frozenset[str]
    #: True if the chosen setting begins clearly less of its work than the baseline.
    stalls: bool

    def may_explain(self, found: Difference) -> bool:
        """True if a better value may only come from flows that the chosen setting did not finish."""
        more = self.difference.verdict == WORSE
        return self.stalls or (more and found.metric.name in self.bounds)
