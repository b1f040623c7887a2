"""Objectives of a search: numbers of the summary to minimize or maximize."""

from collections.abc import Sequence
from dataclasses import replace

from ..metrics import COST, Metric, named


def objective(words: str) -> Metric:
    """Parses an objective: the name of a metric as `afflux compare --metric` takes it. `:min` or
    `:max` may follow, and must follow where neither is better in itself. Prices are minimized.
    Raises `ValueError`."""
    name, _, direction = words.rpartition(":")
    # The name of a class may contain a colon, too.
    if not name or "." in direction or direction.endswith('"'):
        name, direction = words, ""
    if direction not in ("", "min", "max"):
        raise ValueError(
            f"--objective {words}: write the metric alone, or with :min or :max after it"
        )
    try:
        found = named(name)
    except LookupError as error:
        raise ValueError(f"--objective: {error}") from None
    neither = found.lower_is_better is None and found.path != COST.path
    if neither and not direction:
        raise ValueError(
            f"--objective {words}: neither more nor less of it is better in itself: write {words}:min or {words}:max"
        )
    lower = direction == "min" if direction else found.lower_is_better is not False
    return found if lower == found.lower_is_better else replace(found, lower_is_better=lower)


def objectives(every: Sequence[str]) -> tuple[Metric, ...]:
    """Parses several objectives. Raises `ValueError`."""
    found = tuple(map(objective, every))
    if not found:
        raise ValueError(
            "--objective is missing: name one metric or several, as in --objective job_time"
        )
    if len({metric.name for metric in found}) < len(found):
        raise ValueError("--objective: a metric is named twice")
    return found
