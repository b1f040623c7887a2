"""Commands of `afflux`. Each file holds one command's function and the examples at the end of its
help."""

from collections.abc import Callable
from typing import Any

from . import (
    check,
    compare,
    decide,
    demo,
    diff,
    explain,
    live,
    models,
    new,
    plan,
    report,
    run,
    schema,
    study,
    sweep,
    tune,
    verify,
)

#: Groups of commands and their commands, in the order of the help.
GROUPS: dict[str, tuple[tuple[Callable[..., Any], tuple[str, ...]], ...]] = {
    "Scenarios": (
        (new.new, new.EXAMPLES),
        (check.check, check.EXAMPLES),
        (plan.plan, plan.EXAMPLES),
        (models.models, models.EXAMPLES),
        (schema.schema, schema.EXAMPLES),
    ),
    "Simulation": (
        (run.run, run.EXAMPLES),
        (sweep.sweep, sweep.EXAMPLES),
        (decide.decide, decide.EXAMPLES),
        (tune.tune, tune.EXAMPLES),
        (study.study, study.EXAMPLES),
        (live.live, live.EXAMPLES),
        (demo.demo, demo.EXAMPLES),
    ),
    "Results": (
        (explain.explain, explain.EXAMPLES),
        (compare.compare, compare.EXAMPLES),
        (report.report, report.EXAMPLES),
        (diff.diff, diff.EXAMPLES),
        (verify.verify, verify.EXAMPLES),
    ),
}
#: Title of the group of `afflux import` and `afflux export` in the help.
FILES = "Files of other tools"
