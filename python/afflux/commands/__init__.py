"""Commands of `afflux`, one file each, which holds the function and the examples at the end of its help."""

from collections.abc import Callable
from typing import Any

from . import check, compare, explain, live, models, new, plan, report, run, schema, study, sweep, tune, verify

#: In the order of the help.
EVERY: tuple[tuple[Callable[..., Any], tuple[str, ...]], ...] = (
    (run.run, run.EXAMPLES),
    (explain.explain, explain.EXAMPLES),
    (report.report, report.EXAMPLES),
    (compare.compare, compare.EXAMPLES),
    (study.study, study.EXAMPLES),
    (new.new, new.EXAMPLES),
    (check.check, check.EXAMPLES),
    (plan.plan, plan.EXAMPLES),
    (sweep.sweep, sweep.EXAMPLES),
    (tune.tune, tune.EXAMPLES),
    (live.live, live.EXAMPLES),
    (verify.verify, verify.EXAMPLES),
    (schema.schema, schema.EXAMPLES),
    (models.models, models.EXAMPLES),
)
