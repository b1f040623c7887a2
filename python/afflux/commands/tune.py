"""`afflux tune`."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from .. import settings
from ..terminal.console import FAILED, complain, failures, print_json, show, warn
from .batch import Execution, batch_options
from .options import (
    SCENARIO,
    SEARCH,
    Json,
    Ranges,
    ScenarioFile,
    Set,
    Strict,
    measures,
    results_dir,
)

if TYPE_CHECKING:
    from ..metrics import Metric
    from ..tuning import Candidate, Drift, Tuning

EXAMPLES = (
    "afflux tune star.toml --vary switch.ecn.k=5kB..500kB --objective throughput --objective fct_p99 --budget 20",
    "afflux tune fabric.toml --vary switch.ecn.kmin=20kB..400kB --vary host.transport.congestion=cubic,dctcp --objective job_time",
)


Objective = Annotated[
    list[str] | None,
    SEARCH.option(
        "--objective",
        "METRIC",
        "Metric to optimize: job_time, fct_p99, p99_slowdown, throughput, cost or another one. May be repeated; the result is then a front.",
        autocompletion=measures,
    ),
]


@batch_options
def tune(
    scenario: ScenarioFile,
    vary: Ranges = None,
    seeds: Annotated[
        str,
        SCENARIO.option("--seeds", "A-B", "Seeds of every setting, as in 1-5 or 1,2,7."),
    ] = "1-5",
    set: Set = None,
    strict: Strict = False,
    objective: Objective = None,
    budget: Annotated[
        int,
        SEARCH.option(
            "--budget", "N", "Number of settings to try, in addition to the baseline.", min=1
        ),
    ] = 24,
    slack: Annotated[
        float,
        SEARCH.option(
            "--slack",
            "SHARE",
            "Loss accepted in earlier objectives to improve the last one, as a fraction of the best value (0.01 = 1 %).",
            min=0,
        ),
    ] = 0.01,
    sensitivity: Annotated[
        bool,
        SEARCH.flag("--sensitivity/--no-sensitivity", "Measure the safe range of each threshold."),
    ] = True,
    seed: Annotated[
        int,
        SEARCH.option("--seed", "N", "Seed of the search: which settings it tries.", min=0),
    ] = 1,
    execution: Execution = Execution(),
    out: Annotated[
        Path | None,
        results_dir("out/tune-<scenario name>"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Search for the values of keys that make a metric best; report the best settings, their uncertainty and safe ranges. A search that was stopped
    continues."""
    from .. import tuning
    from ..tuning.objective import objectives

    with failures():
        main = objectives(objective or [])
        ranges = dict(settings.varied(vary, "LOW..HIGH"))
        with execution.begun(f"tune {scenario.name}", main) as options:
            found = tuning.tune(
                scenario,
                ranges,
                objective or [],
                budget=budget,
                seeds=settings.seeds(seeds),
                set=settings.changes(set),
                seed=seed,
                slack=slack,
                sensitivity=sensitivity,
                out=out,
                **options,
                strict=strict,
            )
        warn(found.warnings)
        print_json(found.to_dict()) if as_json else show(_shown(found))
        for doubt in found.doubts:
            complain(doubt)
        if found.doubts:
            raise typer.Exit(FAILED)


def _shown(found: "Tuning") -> Iterator[RenderableType]:
    yield Text(found.sentence(), style="bold")
    yield _front(found)
    yield from _confirmed(found)
    rows = [*found.finalists, *found.front, found.own]
    if any(row.included for row in rows) or (found.undone and found.undone.included):
        yield Text(
            "* flows or jobs that did not finish count with their time until the end of the run, so the true values are higher",
            style="dim",
        )
    yield from _sensitivity(found)
    yield Text()
    for note in found.notes:
        yield Text(f"note: {note}", style="dim")
    yield Text(f"written to {found.path}; to configure devices:", style="dim")
    for kind in ("sonic", "linux"):
        yield Text(f"  {shlex.join(['afflux', 'export', kind, str(found.path)])}")


def _front(found: "Tuning") -> RenderableType:
    """Renders the front, and the baseline next to it."""
    from ..metrics import UNFINISHED
    from ..terminal.drawing import plural, table

    stopped = sum(candidate.stopped for candidate in found.candidates)
    failed = sum(candidate.error is not None for candidate in found.candidates)
    title = f"{'The best, with twice the seeds' if found.finalists else 'Nothing beats these in every objective'}"
    title += f": of {plural(len(found.candidates), 'setting')}"
    title += f", {stopped} given up after the first seeds" if stopped else ""
    title += f", {failed} failed" if failed else ""
    left_out = sum(bool(one.changes) and not one.stopped for one in found.left_out)
    title += f", {left_out} left out" if left_out else ""
    rows = found.finalists or [*found.front, *([] if found.own in found.front else [found.own])]
    # An equal number, of flows that no objective measures, is in the answer and no column.
    counted = any(row.left and row.left.unfinished for row in rows) and (
        any(row.included for row in rows) or len({row.left for row in rows}) > 1
    )
    made = table(
        title,
        *settings.short(found.keys),
        *(metric.title for metric in found.objectives),
        *([UNFINISHED.title] if counted else []),
        "alike",
        "",
        left=len(found.keys),
        labels=[-1],
    )
    digits = {
        metric.name: _digits(
            metric, [mean for row in rows if (mean := row.mean(metric)) is not None]
        )
        for metric in found.objectives
    }
    for candidate in rows:
        values = [
            _value(metric, candidate.mean(metric), digits[metric.name])
            + ("*" if metric.name in candidate.included else "")
            for metric in found.objectives
        ]
        if counted:
            values.append("–" if candidate.left is None else str(candidate.left))
        alike = "–" if candidate.alike is None else str(candidate.alike)
        beside = candidate is found.own and not found.finalists and found.own not in found.front
        words = (
            "chosen" if candidate is found.chosen else "beaten, for comparison" if beside else ""
        )
        made.add_row(
            *_settings(candidate, found.keys), *values, alike, words, style="bold" if words else ""
        )
    return made


def _digits(metric: "Metric", means: Sequence[float]) -> int | None:
    """Returns how many digits make different means look different; None if the usual ones do.
    Otherwise a setting that is slightly beaten would look equal and contradict the title."""
    if len({*map(metric.show, means)}) == len({*means}):
        return None
    return next(
        (
            count
            for count in range(4, 9)
            if len({metric.brief(mean, count) for mean in means}) == len({*means})
        ),
        9,
    )


def _value(metric: "Metric", mean: float | None, digits: int | None) -> str:
    return (
        "–" if mean is None else metric.show(mean) if digits is None else metric.brief(mean, digits)
    )


def _settings(candidate: "Candidate", keys: tuple[str, ...]) -> list[str]:
    if not candidate.changes:
        return [candidate.name, *[""] * (len(keys) - 1)]
    return [settings.shown(candidate.changes[key]) for key in keys]


def _confirmed(found: "Tuning") -> Iterator[RenderableType]:
    from ..comparison.paired import SAME
    from ..metrics import UNFINISHED
    from ..terminal.comparison import differences

    if found.confirmed:
        included = found.undone.included if found.undone else ()
        shown = [
            replace(d, metric=replace(d.metric, title=f"{d.metric.title}*"))
            if d.metric.name in included
            else d
            for d in found.confirmed
        ]
        undone = found.undone
        if undone and UNFINISHED not in found.objectives:
            shown += [undone.difference] * bool(included or undone.difference.verdict != SAME)
        yield from differences(
            "With seeds that the search has not seen", found.own.name, "chosen", shown
        )


def _sensitivity(found: "Tuning") -> Iterator[RenderableType]:
    from ..terminal.drawing import table

    if not found.sensitivity:
        return
    made = table(
        "Safe range of each threshold (no objective is worse)",
        "threshold",
        "objective",
        "chosen",
        "from",
        "to",
        "outside",
        left=2,
        words=[-1],
    )
    names = dict(zip(found.keys, settings.short(found.keys), strict=True))
    for drift in found.sensitivity:
        values = (
            settings.shown(value)
            for value in (found.chosen.changes[drift.key], drift.low, drift.high)
        )
        made.add_row(
            names[drift.key],
            drift.metric.title,
            *values,
            ", ".join(_beyond(drift)) or "no worse value was measured",
        )
    yield made


def _beyond(drift: "Drift") -> Iterator[str]:
    """Describes the first values beyond the safe range: the change of the objective, or that the
    setting was refused."""
    from ..comparison.changes import by

    for value, difference in drift.harm:
        harm = "stalls" if value in drift.stalled else by(difference) if difference else "refused"
        yield f"{settings.shown(value)}: {harm}"
