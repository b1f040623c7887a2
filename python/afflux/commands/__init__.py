"""Commands of `afflux`, one file each, which holds the function and the examples at the end of its help."""

from collections.abc import Callable
from typing import Any

from . import check, compare, decide, demo, diff, explain, live, models, new, plan, report, run, schema, study, sweep, tune, verify

#: In the order of the help, in groups.
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
#: The group of `afflux import` and `afflux export`.
FILES = "Files of other tools"
