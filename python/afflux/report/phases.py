"""Splits the time of jobs into phases."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..results.designs import Design
from ..results.result import Result
from ..results.statistics import mean
from ..words import Words, both, known, say, text
from .parts import Breakdown, Changes, signed

#: Most phases that are shown. The shortest ones are combined.
PHASES = 6
#: Phases before the work of a Hadoop job, shown as one.
START = {"submit": "start", "master": "start"}
OTHERS = "others"


def of(designs: Sequence[Design]) -> dict[str, Any] | None:
    """Returns the phases by design; `None` if no job with phases finished."""
    runs = [[jobs(result) for result in design.results.values()] for design in designs]
    times: dict[str, list[int]] = {}
    for job in (job for of_design in runs for of_run in of_design for job in of_run):
        for name, ns in job.items():
            times.setdefault(name, []).append(ns)
    if len(times) < 2:
        return None
    longest = sorted(times, key=lambda name: -mean(times[name]))[
        : PHASES - 1 if len(times) > PHASES else PHASES
    ]
    labels = [name for name in times if name in longest] + (
        [OTHERS] if len(times) > len(longest) else []
    )

    def parts(result: Result) -> list[int] | None:
        found = jobs(result)
        if not found:
            return None
        whole = round(mean([sum(job.values()) for job in found]))
        shown = [round(mean([job.get(name, 0) for job in found])) for name in labels]
        # The last phase takes the rounding error and the phases that are not shown.
        shown[-1] += whole - sum(shown)
        return shown

    found = Breakdown.of(designs, parts)
    # If a run has several jobs, the parts are means over jobs.
    several = max(len(of_run) for of_design in runs for of_run in of_design) > 1
    said = [
        both(_sentence(designs[0].name, design.name, labels, change)) if change else None
        for design, change in zip(designs, found.changes, strict=True)
    ]
    return {"labels": labels, "several": several, "said": said, **found.shown()}


def jobs(result: Result) -> list[dict[str, int]]:
    """Returns the phases of each finished job in ns. They add up to its completion time.

    Phases overlap. A phase counts from the end of the previous one. If there is a gap, the previous
    phase lasts until the next begins.
    """
    found = []
    for job in (result.summary.get("jobs") or {}).get("each", []):
        phases = sorted(
            (
                one
                for one in job.get("phases", [])
                if one["finish_ns"] is not None and one["start_ns"] is not None
            ),
            key=lambda one: one["finish_ns"],
        )
        if job["finish_ns"] is None or not phases:
            continue
        ends = [max(one["finish_ns"], following["start_ns"]) for one, following in pairwise(phases)]
        ends = [min(end, job["finish_ns"]) for end in ends] + [job["finish_ns"]]
        parts: dict[str, int] = {}
        for phase, start, end in zip(phases, [job["start_ns"], *ends], ends, strict=False):
            name = START.get(phase["name"], phase["name"])
            parts[name] = parts.get(name, 0) + max(end - start, 0)
        found.append(parts)
    return found


def _sentence(baseline: str, design: str, labels: Sequence[str], change: Changes) -> Words:
    """Words the difference in job time, and the phase that contributes most."""
    total = change.total
    if not any(part.by for part in change.parts):
        return say("phases.same", design=design, baseline=baseline)
    label, most = max(zip(labels, change.parts, strict=True), key=lambda item: abs(item[1].by))
    # Shares of a difference are meaningful only if the difference is established.
    share = most.by / total.by if total.by else 0.0
    if not (total.clear or change.exact) or share <= 0:
        return say(
            "phases.open", design=design, baseline=baseline, phase=phase(label), by=signed(most.by)
        )
    key = "phases.less" if total.by < 0 else "phases.more"
    return say(
        key,
        design=design,
        baseline=baseline,
        by=text.time(abs(total.by), 3),
        phase=phase(label),
        most=text.time(abs(most.by), 3),
    )


def phase(name: str) -> Words:
    """Returns the word for a phase; its name if there is no word."""
    return known(f"phase.{name}") or Words(name, name)
