"""`afflux compare`."""

from ..terminal.console import failures, print_json, show, warn_of_failed_checks, width
from .options import Baseline, By, Dirs, Json, Metrics, NoPager

EXAMPLES = (
    "afflux compare out/shallow-* out/deep-* --baseline deep",
    "afflux compare out/shallow-* --baseline out/deep-1",
    "afflux compare out/shallow-* out/deep-* --metric fct_p99",
)


def compare(
    dirs: Dirs,
    baseline: Baseline = None,
    metric: Metrics = None,
    by: By = "size",
    as_json: Json = False,
    no_pager: NoPager = False,
) -> None:
    """Compare designs seed by seed: the answer in words, every metric with its 95 % interval and verdict, and the parts of the completion time that
    differ."""
    from ..comparison.compare import compare as compared
    from ..results import split
    from ..terminal import comparison as shown
    from .baseline import gathered

    with failures():
        designs = gathered(dirs, baseline)
        warn_of_failed_checks(
            result for design in designs.values() for result in design.results.values()
        )
        found = compared(designs, metrics=metric or [])
        changes = split.changes(designs, found.baseline, [by])
        if as_json:
            print_json(
                found.to_dict()
                | {
                    "split": {
                        name: change.to_dict() if change else None
                        for name, change in changes.items()
                    }
                }
            )
        else:
            show(shown.comparison(found, changes, width()), paged=True)
