"""Counts the flows and jobs that did not finish, and says how many. Those that never started did not
finish either: with closed loops a design that stalls keeps most of them from starting."""

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..metrics import UNFINISHED
from ..results.designs import Design, Designs
from ..results.result import Result
from ..results.statistics import mean
from ..words import Words, say
from . import censored
from .phrases import listed

#: Most designs that a sentence names.
_DESIGNS = 6
_ENDED = (", ", "、")


def counted(designs: Designs) -> Designs:
    """Returns the designs with the numbers of jobs, and of flows of each class, that never started
    in their summaries. Results of earlier versions have only the number of all flows that never
    started."""
    made = [
        Design(design.name, {seed: with_never_started(one) for seed, one in design.results.items()})
        for design in designs.values()
    ]
    return Designs(made, designs.notes)


def with_never_started(result: Result) -> Result:
    """Returns the result with the numbers of `counted` in its summary."""
    summary = result.summary
    jobs = summary.get("jobs")
    of_jobs = jobs and "not_started" not in jobs and "jobs" in result.recorded
    classes = summary["fct"].get("by_class") or {}
    of_flows = (
        never_started(summary)
        and len(classes) > 1
        and any("not_started" not in group for group in classes.values())
        and "flows" in result.recorded
    )
    if summary.get("ended_by") == "done" or not (of_jobs or of_flows):
        return result
    # Tables are read again, so that those of hundreds of runs are not kept in memory.
    tables = Result.open(result.dir) if result.dir else result
    changed: dict[str, Any] = {}
    if jobs and of_jobs:
        end = summary["simulated_ns"]
        starts = [start for _, _, start, _ in censored.jobs(tables)]
        idle = sum(start is None or start > end for start in starts)
        changed["jobs"] = jobs | {"not_started": idle}
    if of_flows:
        pairs = zip(tables.flows.column("class"), tables.starts(), strict=True)
        left = Counter(name for name, start in pairs if start is None)
        groups = {name: group | {"not_started": left[name]} for name, group in classes.items()}
        changed["fct"] = summary["fct"] | {"by_class": groups}
    made = copy.copy(result)
    made.summary = summary | changed
    return made


def never_started(summary: dict[str, Any]) -> int:
    """Returns the number of flows that had not started when the run ended."""
    return summary["flows"].get("not_started") or 0


@dataclass(frozen=True)
class Left:
    """Flows that a design did not finish, on average over its samples."""

    #: Number of flows that did not finish, those that never started included.
    unfinished: float
    #: Number of all flows, started or not.
    flows: float
    #: Number of flows that never started.
    never_started: float

    @classmethod
    def of(cls, design: Design) -> "Left":
        every = [one.summary for one in design.samples.values()]
        idle = mean([float(never_started(summary)) for summary in every])
        started = mean([float(summary["flows"]["started"]) for summary in every])
        unfinished = mean([UNFINISHED.of(summary) or 0.0 for summary in every])
        return cls(unfinished, started + idle, idle)

    def __str__(self) -> str:
        """Returns the cell of a table: `73.6 of 160`."""
        return f"{UNFINISHED.brief(self.unfinished)} of {UNFINISHED.brief(self.flows)}"

    def words(self) -> dict[str, Words | str]:
        never = (
            say("compare.unfinished.never", count=UNFINISHED.brief(self.never_started))
            if self.never_started
            else ""
        )
        return {
            "count": UNFINISHED.brief(self.unfinished),
            "flows": UNFINISHED.brief(self.flows),
            "never": never,
        }


def not_finished(designs: Sequence[Design], *, unclear: bool = False) -> Words:
    """Says how many of their flows did not finish, and how many of these never started. Empty if all
    flows of all designs finished. `unclear`: the difference between the designs is not clear."""
    return unfinished([(design.name, Left.of(design)) for design in designs], unclear=unclear)


def unfinished(counts: Sequence[tuple[str, Left]], *, unclear: bool = False) -> Words:
    """Returns the sentence of `not_finished` for the names of the designs and their flows."""
    if not any(one.unfinished for _, one in counts):
        return Words("", "")
    if len(counts) > 1 and len({one for _, one in counts}) == 1:
        return say("compare.unfinished.equal", **counts[0][1].words())
    items = [say("compare.unfinished.item", name=name, **one.words()) for name, one in counts]
    key = "compare.unfinished.open" if unclear else "compare.unfinished"
    return say(key, items=listed(items, _DESIGNS, _ENDED))
