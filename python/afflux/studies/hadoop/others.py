"""Compares designs that the source mentions but did not measure with the measured designs they are
based on, and measures how other assumptions change the cost of designs: the parts `others` and
`varied` of the study.

The data are sorts of 10 GB from results/runs.csv. Nothing is judged here: the source has no numbers
for these designs.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ...comparison.paired import Difference, of_pairs
from ...metrics import JOB_TIME
from ...results.statistics import interval, mean
from .cases import BASE, FRAMEWORKS, OTHERS, OTHERWISE, SIZES, Case
from .runs import Run
from .sensitivity import signed

#: Measured design on which each of these designs is based.
CHANGED = {
    "deep_codel": "deep",
    "deep_codel_fast": "deep",
    "shallow_data_leaf": "shallow",
    "ecn_compute_only": "ecn",
    "ecn_data_only": "ecn",
    "dctcp_everywhere": "dctcp",
    "pfc_watchdog": "pfc",
    "pfc_spines_obey": "pfc",
    "shallow_dlb": "shallow",
    "shallow_glb": "shallow",
}
assert CHANGED.keys() == OTHERS.keys()


def _times(case: Case, runs: dict[Run, float]) -> dict[int, float]:
    return {
        run.seed: seconds
        for run, seconds in runs.items()
        if run.case == case and (run.cpu, run.disk) == (BASE.cpu, BASE.disk)
    }


def _difference(case: Case, base: Case, runs: dict[Run, float]) -> Difference | None:
    own, before = _times(case, runs), _times(base, runs)
    pairs = [(1e9 * before[seed], 1e9 * own[seed]) for seed in sorted(own.keys() & before.keys())]
    return of_pairs(JOB_TIME, case.design, pairs) if pairs else None


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


def _under_traffic(design: str) -> Case:
    return Case(design, FRAMEWORKS[0], SIZES[0], True)


def differences(runs: dict[Run, float]) -> list[Difference]:
    """Returns the differences of job times in ns, over the seeds that both designs have."""
    found = (
        _difference(_under_traffic(design), _under_traffic(base), runs)
        for design, base in CHANGED.items()
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
        base = CHANGED[one.design]
        lines.append(
            f"| `{one.design}` | {one.samples} | {one.design_mean / 1e9:.1f} | {one.baseline_mean / 1e9:.1f} (`{base}`) | {change} |"
        )
    return "\n".join(lines)


class Question(NamedTuple):
    """How much longer one design takes than another under assumptions that differ from the study's
    (`OTHERWISE`; "" for none)."""

    design: str
    base: str
    framework: str
    traffic: bool
    #: Assumptions with their descriptions.
    assumed: dict[str, str]

    def case(self, design: str, name: str) -> Case:
        """Returns the case under an assumption, if the assumption changes this design."""
        changed = name and design in OTHERWISE[name].designs
        return Case(
            f"{design}_{name}" if changed else design, self.framework, SIZES[0], self.traffic
        )

    def answers(self, runs: dict[Run, float]) -> Iterator[tuple[str, Difference]]:
        for name in self.assumed:
            if one := _difference(self.case(self.design, name), self.case(self.base, name), runs):
                yield name, one

    def changes(self, name: str, runs: dict[Run, float]) -> list[float]:
        """Returns by how many seconds an assumption changes the difference, for each seed that all
        four jobs have. Rows of the table may have different seeds, so they cannot be compared."""
        of = [
            _times(self.case(design, assumed), runs)
            for assumed in (name, "")
            for design in (self.design, self.base)
        ]
        own, base, usual, usual_base = of
        common = sorted(set.intersection(*(set(times) for times in of)))
        return [own[seed] - base[seed] - (usual[seed] - usual_base[seed]) for seed in common]

    def changed(self, name: str, runs: dict[Run, float]) -> str:
        """Returns the mean change in seconds with its 95 % interval, as the page says it."""
        found = self.changes(name, runs)
        low, high = interval(found, signed=True) or (None, None)
        between = "" if low is None or high is None else f" ({signed(low)} to {signed(high)})"
        return f"{signed(mean(found))}{between}"

    def table(self, runs: dict[Run, float]) -> str:
        lines = [
            f"| assumed | seeds | {self.design}, s | {self.base}, s | longer by, s (95 % interval) | change over the same seeds, s |",
            "|---|---|---|---|---|---|",
        ]
        for name, one in self.answers(runs):
            change = self.changed(name, runs) if name and self.changes(name, runs) else "–"
            cells = f"{one.samples} | {_seconds(one.design_mean)} | {_seconds(one.baseline_mean)} | {_longer(one)} | {change}"
            lines.append(f"| {self.assumed[name]} | {cells} |")
        return "\n".join(lines)


_STUDY = "as in the study"
_DEEP = Question(
    "deep",
    "shallow",
    "mapreduce",
    True,
    {
        "": f"{_STUDY} (9000 B, 40 ms, pairs drawn at random)",
        "1500B": "frames of 1500 B",
        "4500B": "frames of 4500 B",
        "all_ports": "each node sends 25 Gbps to one that nobody else sends to",
        "100ms": "queues of the deep buffer up to 100 ms (312 MB)",
        "4_connections": "4 connections from each node instead of 16",
    },
)
_PFC = Question(
    "pfc",
    "shallow",
    "mapreduce",
    True,
    {
        "": f"{_STUDY} (16 connections from each node, a group may take half of the memory)",
        "4_connections": "4 connections from each node",
        "lossless_alpha_8": "a group may take 8/9 of the memory before it is paused",
        "all_ports": "each node sends 25 Gbps to one that nobody else sends to",
    },
)
_DCTCP = Question(
    "dctcp",
    "shallow",
    "mapreduce",
    True,
    {
        "": f"{_STUDY} (16 connections from each node)",
        "4_connections": "4 connections from each node",
    },
)
_TEZ = Question(
    "shallow",
    "deep",
    "tez",
    False,
    {
        "": f"{_STUDY} (disks of 150 MB/s, 5 fetches at a time)",
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
QUESTIONS = [_DEEP, _PFC, _DCTCP, _TEZ]


def delays(runs: dict[Run, float]) -> str:
    """Returns how much longer a job takes when each call to a compute node is delayed, without
    traffic or losses. It checks the counted round trips."""
    lines = [
        "| added to each call | framework | seeds | longer by, s (95 % interval) |",
        "|---|---|---|---|",
    ]
    for name, words in DELAYS:
        for framework, title in zip(FRAMEWORKS, ("MapReduce", "Tez"), strict=True):
            quiet = Case("deep", framework, SIZES[0], False)
            if one := _difference(quiet._replace(design=f"deep_{name}"), quiet, runs):
                lines.append(f"| {words} | {title} | {one.samples} | {_longer(one)} |")
    return "\n".join(lines)


def varied(runs: dict[Run, float]) -> str:
    """Returns all tables of other assumptions."""
    return "\n\n".join([*(question.table(runs) for question in QUESTIONS), delays(runs)])
