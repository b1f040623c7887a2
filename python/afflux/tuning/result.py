"""What came of a search."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import settings
from ..comparison.paired import BETTER, WORSE, Difference
from ..comparison.phrases import told, what_of
from ..metrics import Metric

#: How the scenario's own setting is called.
OWN = "as-it-is"


@dataclass(frozen=True)
class Candidate:
    """A setting that was tried."""

    #: Name of its points.
    name: str
    #: Keys and what they were set to; empty for the scenario as it is.
    changes: Mapping[str, Any]
    #: Of each objective by seed; None: a point failed or was refused.
    values: Mapping[str, Mapping[int, float]] | None
    #: It was given up after the first seeds.
    stopped: bool = False
    #: How many of the other settings it cannot be told from, in any objective. None if it was not simulated with all seeds, or these are too few.
    alike: int | None = None
    #: Why it has no values; None if it has.
    error: str | None = None

    def mean(self, metric: Metric) -> float | None:
        """Mean of an objective over the seeds; None if it was not simulated."""
        found = self.values[metric.name].values() if self.values else ()
        return sum(found) / len(found) if found else None

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        means = {name: sum(of.values()) / len(of) for name, of in self.values.items()} if self.values else None
        seeds = len(next(iter(self.values.values()))) if self.values else 0
        head = {"name": self.name, "set": dict(self.changes), "means": means, "seeds": seeds, "stopped": self.stopped}
        return head | {"alike": self.alike, "error": self.error}


@dataclass(frozen=True)
class Drift:
    """What happens to an objective when a threshold of the chosen setting is another one, all else the same."""

    #: The key that is varied.
    key: str
    #: The objective.
    metric: Metric
    #: The lowest value down to which nothing measured is worse than the chosen one.
    low: Any
    #: The highest value up to which nothing measured is worse than the chosen one.
    high: Any
    #: The first value on each side that is too far, if one was tried.
    harm: tuple[tuple[Any, Difference | None], ...]
    #: Every value that was tried, from below, against the chosen setting; None: refused or failed.
    tried: tuple[tuple[Any, Difference | None], ...]

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        tried = [{"value": value, "difference": difference and difference.to_dict()} for value, difference in self.tried]
        return {"key": self.key, "metric": self.metric.name, "from": self.low, "to": self.high, "tried": tried}


@dataclass(frozen=True)
class Tuning:
    """A search: what was tried, what is best, and how sure that is."""

    #: The metrics that were optimized, in the order of their importance.
    objectives: tuple[Metric, ...]
    #: The keys that were varied.
    keys: tuple[str, ...]
    #: The scenario as it is.
    own: Candidate
    #: Everything else that was tried, in order.
    candidates: tuple[Candidate, ...]
    #: The best; with several objectives all that nothing beats in every one of them, the first objective's best first.
    front: tuple[Candidate, ...]
    #: With one objective: the best few and the scenario as it is, over twice the seeds, the best of them first; empty with several.
    finalists: tuple[Candidate, ...]
    #: What to take: the best in the last objective of those that are hardly behind in the others.
    chosen: Candidate
    #: The chosen setting against the scenario as it is, over seeds that the search has not seen; empty if it is the scenario's own.
    confirmed: tuple[Difference, ...]
    #: What other values of each threshold of the chosen setting cost.
    sensitivity: tuple[Drift, ...]
    #: What limits the answer, in sentences.
    notes: tuple[str, ...]
    #: Results that failed checks of their own, a sentence for each.
    doubts: tuple[str, ...]
    #: The chosen scenario, resolved.
    path: Path
    #: Of the settings that were tried, each once.
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "objectives": [{"metric": metric.name, "lower_is_better": metric.lower_is_better} for metric in self.objectives],
            "own": self.own.to_dict(),
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "front": [candidate.name for candidate in self.front],
            "finalists": [candidate.to_dict() for candidate in self.finalists],
            "chosen": self.chosen.to_dict(),
            "confirmed": [difference.to_dict() for difference in self.confirmed],
            "sensitivity": [drift.to_dict() for drift in self.sensitivity],
            "notes": list(self.notes),
            "doubts": list(self.doubts),
            "scenario": str(self.path),
        }

    def sentence(self) -> str:
        """The answer in words."""
        if not self.chosen.changes:
            return f"Nothing that was tried is better than the scenario as it is, of {len(self.candidates)} settings."
        what = ", ".join(f"{key} = {settings.shown(value)}" for key, value in self.chosen.changes.items())
        found = "; ".join(f"{what_of(d.metric)} {told(d)}" for d in self.confirmed)
        verdicts = {d.verdict for d in self.confirmed}
        if BETTER in verdicts:
            return f"Take {what}. Against the scenario as it is, with seeds that the search has not seen: {found}."
        if WORSE in verdicts:
            return f"Keep the scenario as it is. The best of the search, {what}, does not hold with other seeds: {found}."
        return f"Cannot tell whether {what}, the best of the search, is better than the scenario as it is. With other seeds: {found}."
