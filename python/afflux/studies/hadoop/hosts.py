"""Compares job times with the hosts of today (noise, fq_codel, PAUSE ignored) and with those that the
study had before: of exact timing, without a queueing discipline, and obeying PAUSE. These have the
model of 26 November, and no part of the study simulates them again."""

from collections.abc import Iterator, Mapping

from .. import files
from . import constant, sensitivity, whole
from .cases import FRAMEWORKS, SIZES, Case
from .runs import Times
from .sensitivity import DEFAULT, DESIGNS, OBEY, Difference

#: Job times of the study's cases with the earlier hosts, with Hadoop's defaults.
FILE = files("hadoop") / "results" / "exact-hosts.csv"


def exact() -> Times:
    return whole.by_case(whole.read(FILE))


def _pairs(today: Mapping[int, float], before: Mapping[int, float]) -> Difference | None:
    common = sorted(today.keys() & before.keys())
    return Difference({seed: today[seed] - before[seed] for seed in common}) if common else None


def differences(
    busy: sensitivity.Runs, quiet: constant.Runs, before: Times
) -> Iterator[tuple[str, Difference]]:
    """Yields how much longer jobs take with today's hosts, with the words of the page: without
    traffic, and each design under traffic. The earlier hosts obeyed PAUSE."""

    def earlier(design: str, traffic: bool) -> Mapping[int, float]:
        return before(Case(design, FRAMEWORKS[0], SIZES[0], traffic))

    without = {run.seed: seconds for run, seconds in quiet.items() if not run.causes}
    if found := _pairs(without, earlier("deep", False)):
        yield "without traffic", found
    for design in DESIGNS:
        assumed = (OBEY,) if design == "pfc" else DEFAULT
        own = sensitivity.seconds(busy, assumed, design)
        if found := _pairs(own, earlier(design, True)):
            yield f"under traffic, `{design}`", found


def table() -> str:
    lines = [
        "| 10 GB, MapReduce | longer with today's hosts by, s: median / mean, and seeds that agree |",
        "|---|---|",
    ]
    found = differences(sensitivity.read(), constant.read(), exact())
    lines += [f"| {words} | {one} |" for words, one in found]
    return "\n".join(lines)
