"""Compares job times with the hosts of today (noise, fq_codel, `host.timing`) and with the exact ones
of the runs of the cross-validation, seed by seed."""

from collections.abc import Iterator, Mapping

from . import constant, runs, sensitivity
from .cases import FRAMEWORKS, SIZES, Case
from .sensitivity import DEFAULT, DESIGNS, OBEY, Difference


def _pairs(today: Mapping[int, float], before: Mapping[int, float]) -> Difference | None:
    common = sorted(today.keys() & before.keys())
    return Difference({seed: today[seed] - before[seed] for seed in common}) if common else None


def differences(
    busy: sensitivity.Runs, quiet: constant.Runs, before: Mapping[runs.Run, float]
) -> Iterator[tuple[str, Difference]]:
    """Yields how much longer jobs take with today's hosts, with the words of the page: without
    traffic, and each design under traffic. The earlier hosts obeyed PAUSE."""

    def earlier(design: str, traffic: bool) -> Mapping[int, float]:
        return runs.with_defaults(before)(Case(design, FRAMEWORKS[0], SIZES[0], traffic))

    without = {run.seed: seconds for run, seconds in quiet.items() if not run.causes}
    if found := _pairs(without, earlier("deep", False)):
        yield "without traffic", found
    for design in DESIGNS:
        assumed = (OBEY,) if design == "pfc" else DEFAULT
        own = {
            run.seed: measured.seconds
            for run, measured in busy.items()
            if (run.assumed, run.design) == (assumed, design)
        }
        if found := _pairs(own, earlier(design, True)):
            yield f"under traffic, `{design}`", found


def table() -> str:
    lines = [
        "| 10 GB, MapReduce | longer with today's hosts by, s: median / mean, and seeds that agree |",
        "|---|---|",
    ]
    found = differences(sensitivity.read(), constant.read(), runs.read())
    lines += [f"| {words} | {one} |" for words, one in found]
    return "\n".join(lines)
