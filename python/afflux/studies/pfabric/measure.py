"""Computes the ratio of completion times to those of the idle fabric, by size."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from ...results.result import Result
from ...results.statistics import quantile

#: Share of the slowest flows that the comparison of schemes leaves out.
TRIMMED = 0.001

_SEGMENT, _HOSTS_PER_RACK = 1460, 16

#: Largest size of mice, and the size above which flows are elephants, in bytes.
MICE, ELEPHANTS = 100_000, 10_000_000


@dataclass(frozen=True)
class Measured:
    """Ratios of completion times to those of the idle fabric."""

    flows: int
    average: float
    trimmed: float
    mice_average: float
    mice_p99: float
    #: Average of elephants; None without such flows.
    elephants_average: float | None
    unfinished: int


#: Figures of the slides: title, and function that returns the value.
FIGURES: dict[str, tuple[str, Callable[[Measured], float | None]]] = {
    "average": ("all flows, average", lambda m: m.average),
    "trimmed": ("all flows, average without the slowest 0.1 %", lambda m: m.trimmed),
    "mice_average": ("flows up to 100 kB, average", lambda m: m.mice_average),
    "mice_p99": ("flows up to 100 kB, 99th percentile", lambda m: m.mice_p99),
    "elephants": ("flows beyond 10 MB, average", lambda m: m.elephants_average),
}


#: Figures that the slides draw; `trimmed` is the study's own.
DRAWN = tuple(name for name in FIGURES if name != "trimmed")


def idle_ns(src: int, dst: int, size: int) -> float:
    """Returns the completion time in ns in the idle fabric by the source's formula, for all sizes.
    (The formula: a first packet and its acknowledgement, and 1.2 us for each further packet.)"""
    across = src // _HOSTS_PER_RACK != dst // _HOSTS_PER_RACK
    return (14_680 if across else 13_264) + (-(-size // _SEGMENT) - 1) * 1_200


def measure(result: Result) -> Measured:
    columns = (list(result.flows.column(name)) for name in ("src", "dst", "bytes", "fct_ns"))
    rows = list(zip(*columns, strict=True))
    done = sorted(
        (fct / idle_ns(src, dst, size), size) for src, dst, size, fct in rows if fct is not None
    )
    every = [ratio for ratio, _ in done]
    mice = [ratio for ratio, size in done if size <= MICE]
    elephants = [ratio for ratio, size in done if size > ELEPHANTS]
    return Measured(
        flows=len(rows),
        average=fmean(every),
        trimmed=fmean(every[: len(every) - round(TRIMMED * len(every))]),
        mice_average=fmean(mice),
        mice_p99=quantile(mice, 0.99),
        elephants_average=fmean(elephants) if elephants else None,
        unfinished=len(rows) - len(done),
    )
