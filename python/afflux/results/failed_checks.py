"""Reports results that failed an internal check. They are kept, and every command that shows one
names the check."""

import warnings
from collections.abc import Iterable
from typing import Any

from ..words import Words, join, say
from .result import Result


def of(results: Iterable[Result]) -> list[Words]:
    """Returns a sentence for each result that failed a check."""
    return [_sentence(result) for result in results if count(result)]


def count(result: Result) -> int:
    """Returns the number of failed checks; 0 for results of older versions, which have no such
    count."""
    return int(result.summary.get("failed_checks_total", 0))


def of_kernels(results: Iterable[Result]) -> list[Words]:
    """Returns a sentence for each result in which a kernel among the hosts failed."""
    return [
        say(
            "doubt.kernel",
            name=result.summary["name"],
            seed=result.summary["seed"],
            reason=result.kernel_failure,
        )
        for result in results
        if result.kernel_failure
    ]


def warned(result: Result) -> Result:
    """Returns the result, after a `RuntimeWarning` if it failed a check."""
    for sentence in of([result]):
        warnings.warn(sentence, RuntimeWarning, stacklevel=3)
    return result


def _sentence(result: Result) -> Words:
    failed = count(result)
    shown = [_one(check) for check in result.summary["failed_checks"][:3]]
    more = [say("doubt.more", count=failed - len(shown))] if failed > len(shown) else []
    what = join([*shown, *more], ("; ", "、"))
    key = "doubt.one" if failed == 1 else "doubt.several"
    name, seed = result.summary["name"], result.summary["seed"]
    return say(
        key,
        name=name,
        seed=seed,
        count=failed,
        what=what,
        scenario=result.dir / "scenario.toml" if result.dir else say("doubt.scenario"),
    )


def _one(check: dict[str, Any]) -> Words:
    values = {"check": check["check"], "detail": check["detail"]}
    return (
        say("doubt.run", **values)
        if check["flow"] is None
        else say("doubt.flow", flow=check["flow"], **values)
    )
