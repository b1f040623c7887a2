"""Results of a search."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import settings
from ..comparison.paired import BETTER, WORSE, Difference
from ..comparison.phrases import in_words, what_of
from ..comparison.unfinished import Left, unfinished
from ..display import plural
from ..metrics import Metric
from ..words import say
from .work import Undone, Work

#: Name of the baseline: the scenario without changes.
OWN = "as-it-is"
#: The baseline in sentences.
_OWN = "the scenario as it is"


@dataclass(frozen=True)
class Candidate:
    """A setting that was tried."""

    #: Name of the setting's points.
    name: str
    #: Changed keys with their values; empty for the baseline.
    changes: Mapping[str, Any]
    #: Value of each objective by seed; None if a point failed or was refused.
    values: Mapping[str, Mapping[int, float]] | None
    #: True if the setting was dropped after the first seeds.
    stopped: bool = False
    #: Number of other settings that cannot be distinguished from this one in any objective. None if
    #: it was not simulated with all seeds, or the seeds are too few.
    alike: int | None = None
    #: Reason why it has no values; None if it has values.
    error: str | None = None
    #: Flows that did not finish; None if it was not simulated.
    left: Left | None = None
    #: How much of its work it began, by seed.
    work: Mapping[int, Work] = field(default_factory=dict)
    #: Names of the objectives in whose values unfinished flows or jobs count, with the time until
    #: the end of the run.
    included: frozenset[str] = frozenset()

    def mean(self, metric: Metric) -> float | None:
        """Returns the mean of an objective over the seeds; None if it was not simulated."""
        found = self.values[metric.name].values() if self.values else ()
        return sum(found) / len(found) if found else None

    def to_dict(self) -> dict[str, Any]:
        """Returns the candidate as `--json` prints it."""
        means = (
            {name: sum(of.values()) / len(of) for name, of in self.values.items()}
            if self.values
            else None
        )
        seeds = len(next(iter(self.values.values()))) if self.values else 0
        head = {
            "name": self.name,
            "set": dict(self.changes),
            "means": means,
            "seeds": seeds,
            "stopped": self.stopped,
        }
        flows = {
            "flows": self.left and self.left.flows,
            "unfinished": self.left and self.left.unfinished,
            "never_started": self.left and self.left.never_started,
            "unfinished_included": sorted(self.included),
        }
        return head | {"alike": self.alike, "error": self.error} | flows


@dataclass(frozen=True)
class Drift:
    """Sensitivity of an objective to one threshold of the chosen setting, with all other keys
    unchanged."""

    #: Key of the threshold that is varied.
    key: str
    #: Objective that is measured.
    metric: Metric
    #: Lower end of the safe range: down to it, no measured value is worse than the chosen one.
    low: Any
    #: Upper end of the safe range: up to it, no measured value is worse than the chosen one.
    high: Any
    #: First harmful value on each side, if one was tried.
    harm: tuple[tuple[Any, Difference | None], ...]
    #: Every value that was tried, in ascending order, with its difference from the chosen setting;
    #: None if it was refused or failed.
    tried: tuple[tuple[Any, Difference | None], ...]
    #: Values with which clearly fewer flows start, or jobs of applications finish, than with the
    #: chosen setting. They are harmful, whatever the objective.
    stalled: tuple[Any, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns the sensitivity as `--json` prints it."""
        tried = [
            {
                "value": value,
                "difference": difference and difference.to_dict(),
                "stalled": value in self.stalled,
            }
            for value, difference in self.tried
        ]
        return {
            "key": self.key,
            "metric": self.metric.name,
            "from": self.low,
            "to": self.high,
            "tried": tried,
        }


@dataclass(frozen=True)
class Tuning:
    """Result of a search: the settings tried, the best ones, and the uncertainty."""

    #: Metrics that were optimized, the most important first.
    objectives: tuple[Metric, ...]
    #: Keys that were varied.
    keys: tuple[str, ...]
    #: The baseline: the scenario without changes.
    own: Candidate
    #: All other settings that were tried, in the order of the search.
    candidates: tuple[Candidate, ...]
    #: The best setting. With several objectives: the settings that no other one beats in every
    #: objective, the best in the first objective first.
    front: tuple[Candidate, ...]
    #: With one objective: the best few and the baseline over twice the seeds, the best first. Empty
    #: with several objectives.
    finalists: tuple[Candidate, ...]
    #: The recommended setting: the best in the last objective of those that are within `slack` of
    #: the best in the other objectives.
    chosen: Candidate
    #: Differences of the chosen setting from the baseline, over seeds that the search did not use.
    #: Empty if the baseline is chosen.
    confirmed: tuple[Difference, ...]
    #: Effect of other values of each threshold of the chosen setting.
    sensitivity: tuple[Drift, ...]
    #: Limits of the answer, one sentence each.
    notes: tuple[str, ...]
    #: Points that failed after the search, and sentences about results that failed their own
    #: checks.
    doubts: tuple[str, ...]
    #: Path of the chosen scenario, with all defaults written out.
    path: Path
    #: Warnings of the settings that were tried, without duplicates.
    warnings: tuple[str, ...] = ()
    #: Settings that were left out of the choice, because they begin clearly less of their work than
    #: another one.
    left_out: tuple[Candidate, ...] = ()
    #: Flows that did not finish in the confirmation; None if all flows finished, or if the baseline
    #: is chosen.
    undone: Undone | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as `--json` prints it."""
        return {
            "objectives": [
                {"metric": metric.name, "lower_is_better": metric.lower_is_better}
                for metric in self.objectives
            ],
            "own": self.own.to_dict(),
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "front": [candidate.name for candidate in self.front],
            "finalists": [candidate.to_dict() for candidate in self.finalists],
            "chosen": self.chosen.to_dict(),
            "confirmed": [difference.to_dict() for difference in self.confirmed],
            "unfinished": self.undone and self.undone.difference.to_dict(),
            "left_out": [candidate.name for candidate in self.left_out],
            "sensitivity": [drift.to_dict() for drift in self.sensitivity],
            "notes": list(self.notes),
            "doubts": list(self.doubts),
            "scenario": str(self.path),
        }

    def sentence(self) -> str:
        """Returns the answer as text."""
        if not self.chosen.changes:
            # Other settings of the front are better in another objective than the last.
            of_last = (
                f" in {what_of(self.objectives[-1])}, within the slack of the objectives before it"
                if len(self.objectives) > 1 and any(one.changes for one in self.front)
                else ""
            )
            kept = f"Nothing that was tried is better than the scenario as it is{of_last}, of {plural(len(self.candidates), 'setting')}."
            left = self.chosen.left
            return f"{kept} {unfinished([(_OWN, left)])}".strip() if left else kept
        what = ", ".join(
            f"{key} = {settings.shown(value)}" for key, value in self.chosen.changes.items()
        )
        found = "; ".join(f"{self._what(d)} {in_words(d)}" for d in self.confirmed)
        better = [d for d in self.confirmed if d.verdict == BETTER]
        unsure = f"Cannot tell whether {what}, the best of the search, is better than the scenario as it is"
        if not self.confirmed:
            return f"{unsure}: it could not be compared with other seeds."
        undone = self.undone
        if better and undone and all(map(undone.may_explain, better)):
            answer = f"{unsure}: it leaves more flows unfinished. With other seeds: {found}."
        elif better:
            answer = f"Take {what}. Against the scenario as it is, with seeds that the search has not seen: {found}."
        elif any(d.verdict == WORSE for d in self.confirmed):
            answer = f"Keep the scenario as it is. The best of the search, {what}, does not hold with other seeds: {found}."
        else:
            answer = f"{unsure}. With other seeds: {found}."
        if undone is None:
            return answer
        return f"{answer} {unfinished([('the setting', undone.chosen), (_OWN, undone.own)])}"

    def _what(self, d: Difference) -> str:
        """Returns the name of an objective. If unfinished flows or jobs count in its values, the
        name says so."""
        name = what_of(d.metric)
        if self.undone is None or d.metric.name not in self.undone.included:
            return name
        things = "jobs" if d.metric.path[0] == "jobs" else "flows"
        things = "queries" if d.metric.path[1:3] == ("by_kind", "query") else things
        return say(f"including.{things}", what=name)
