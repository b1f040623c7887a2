"""Compares designs that the source mentions but did not measure with the measured designs they are
based on, and measures how other assumptions change jobs without traffic: the parts `others` and
`varied` of the study.

The data are sorts of 10 GB from results/runs.csv; those of the measured designs are in
results/assumptions.csv. Nothing is judged here: the source has no numbers for these designs.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...comparison.paired import Difference, of_pairs
from ...metrics import JOB_TIME
from . import sensitivity
from .cases import FRAMEWORKS, OTHERS, OTHERWISE, SIZES, Case
from .runs import Run, with_defaults
from .sensitivity import DEFAULT, OBEY, Alternatives

#: Measured design on which each of these designs is based, with what is assumed besides.
CHANGED: dict[str, tuple[str, Alternatives]] = {
    "deep_codel": ("deep", DEFAULT),
    "deep_codel_fast": ("deep", DEFAULT),
    "shallow_data_leaf": ("shallow", DEFAULT),
    "ecn_compute_only": ("ecn", DEFAULT),
    "ecn_data_only": ("ecn", DEFAULT),
    "dctcp_everywhere": ("dctcp", DEFAULT),
    "pfc_watchdog": ("pfc", (OBEY,)),
    "pfc_spines_obey": ("pfc", DEFAULT),
    "pfc_all_obey": ("pfc", (OBEY,)),
    "shallow_dlb": ("shallow", DEFAULT),
    "shallow_glb": ("shallow", DEFAULT),
}
assert CHANGED.keys() == OTHERS.keys()


def difference(
    design: str, own: Mapping[int, float], before: Mapping[int, float]
) -> Difference | None:
    """Returns the difference of job times in ns, over the seeds that both have."""
    pairs = [(1e9 * before[seed], 1e9 * own[seed]) for seed in sorted(own.keys() & before.keys())]
    return of_pairs(JOB_TIME, design, pairs) if pairs else None


def _seconds(nanoseconds: float) -> str:
    """Formats seconds. Never returns -0.0."""
    return f"{round(nanoseconds / 1e9, 1) + 0.0:.1f}"


def _longer(one: Difference) -> str:
    between = (
        ""
        if one.low is None or one.high is None
        else f" ({_seconds(one.low)} to {_seconds(one.high)})"
    )
    return f"{_seconds(one.difference)}{between}"


def under_traffic(design: str, runs: Mapping[Run, float]) -> Mapping[int, float]:
    """Returns the job times of a design by seed, in s."""
    return with_defaults(runs)(Case(design, FRAMEWORKS[0], SIZES[0], True))


def differences(runs: Mapping[Run, float], measured: sensitivity.Runs) -> list[Difference]:
    """Returns the differences from the designs on which they are based."""
    found = (
        difference(
            design, under_traffic(design, runs), sensitivity.seconds(measured, assumed, base)
        )
        for design, (base, assumed) in CHANGED.items()
    )
    return [one for one in found if one]


def table(found: list[Difference]) -> str:
    lines = [
        "| design | seeds | job time, s | of the design that it changes, s | change, % (95 % interval) |",
        "|---|---|---|---|---|",
    ]
    for one in found:
        between = (
            ""
            if one.ratio_low is None or one.ratio_high is None
            else f" ({100 * one.ratio_low - 100:+.1f} to {100 * one.ratio_high - 100:+.1f})"
        )
        change = f"{100 * (one.ratio or 1.0) - 100:+.1f}{between}"
        base, assumed = CHANGED[one.design]
        of = ", ".join(f"`{name}`" for name in (base, *assumed))
        lines.append(
            f"| `{one.design}` | {one.samples} | {one.design_mean / 1e9:.1f} | {one.baseline_mean / 1e9:.1f} ({of}) | {change} |"
        )
    return "\n".join(lines)


class Question(NamedTuple):
    """How much longer a job without traffic takes behind one design than behind another, under
    assumptions that differ from the study's (`OTHERWISE`; "" for none)."""

    design: str
    base: str
    framework: str
    #: Assumptions with their descriptions.
    assumed: dict[str, str]

    def answers(self, runs: Mapping[Run, float]) -> Iterator[tuple[str, Difference]]:
        for name in self.assumed:
            own, base = (
                without_traffic(f"{design}_{name}" if name else design, self.framework, runs)
                for design in (self.design, self.base)
            )
            if one := difference(self.design, own, base):
                yield name, one

    def table(self, runs: Mapping[Run, float]) -> str:
        lines = [
            f"| assumed | seeds | {self.design}, s | {self.base}, s | longer by, s (95 % interval) |",
            "|---|---|---|---|---|",
        ]
        for name, one in self.answers(runs):
            cells = f"{one.samples} | {_seconds(one.design_mean)} | {_seconds(one.baseline_mean)} | {_longer(one)}"
            lines.append(f"| {self.assumed[name]} | {cells} |")
        return "\n".join(lines)


def without_traffic(design: str, framework: str, runs: Mapping[Run, float]) -> Mapping[int, float]:
    """Returns the job times of a design by seed, in s."""
    return with_defaults(runs)(Case(design, framework, SIZES[0], False))


TEZ = Question(
    "shallow",
    "deep",
    "tez",
    {
        "": "as in the study (disks of 150 MB/s, 5 fetches at a time)",
        "fast_disks": "disks as fast as memory (1500 MB/s)",
        "20_copies": "20 fetches at a time",
        "fast_disks_20_copies": "both",
    },
)
DELAYS = [
    ("30ms", "30 ms at all compute ports"),
    ("60ms", "60 ms at all"),
    ("60ms_at_four", "60 ms at four"),
]
assert OTHERWISE.keys() == {*TEZ.assumed, *(name for name, _ in DELAYS)} - {""}


def delays(runs: Mapping[Run, float]) -> str:
    """Returns how much longer a job takes when each call to a compute node is delayed, without
    traffic or losses. It checks the counted round trips."""
    lines = [
        "| added to each call | framework | seeds | longer by, s (95 % interval) |",
        "|---|---|---|---|",
    ]
    for name, words in DELAYS:
        for framework, title in zip(FRAMEWORKS, ("MapReduce", "Tez"), strict=True):
            own, base = (
                without_traffic(design, framework, runs) for design in (f"deep_{name}", "deep")
            )
            if one := difference("deep", own, base):
                lines.append(f"| {words} | {title} | {one.samples} | {_longer(one)} |")
    return "\n".join(lines)


def varied(runs: Mapping[Run, float]) -> str:
    """Returns all tables of other assumptions without traffic."""
    return f"{TEZ.table(runs)}\n\n{delays(runs)}"
