"""Measures which assumption decides each difference between designs: the part `assumptions` of the
study.

The runs are sorts of 10 GB by MapReduce under traffic, with Hadoop's defaults and nothing fitted,
under the study's assumptions and under each alternative of calibration.toml. Nothing is judged by
job times of the source: a difference between two designs is the median over the seeds that both
have, next to its mean and the number of seeds that agree with the median's sign.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from .. import Assumption, files, lines
from ..assumption import Assumed, of_tables
from .cases import BASE, FRAMEWORKS, SIZES, Case, calibration, keys, published
from .runs import LIMIT, SEEDS, job_seconds, summary

FILE = files("hadoop") / "results" / "assumptions.csv"
COUNTERS = ("tail_drops", "early_drops", "in_discards", "pause_frames", "timeouts")
COLUMNS = ("assumed", "design", "seed", "job_s", *COUNTERS)

#: Design with which the others are compared, and the others.
REFERENCE = "shallow"
COMPARED = ("deep", "ecn", "pfc", "dctcp")
DESIGNS = (REFERENCE, *COMPARED)

#: Alternatives as `NAME=VALUE`, in the order of calibration.toml; empty for the study's own
#: assumptions.
Alternatives = tuple[str, ...]
DEFAULT: Alternatives = ()
RING = "traffic=ring"
OBEY = "honours_pause=true"
#: Combinations that are simulated in addition to single alternatives, with the designs that they
#: are simulated for: the two variants of hosts and PAUSE with the ring, and where every port is
#: full, what a constant per job can come from and which property of hosts decides.
COMBINED: dict[Alternatives, tuple[str, ...]] = {
    (OBEY, RING): DESIGNS,
    (RING, "committer=v1"): (REFERENCE, "deep"),
    (RING, "master=full_port"): (REFERENCE, "deep"),
    (RING, "committer=v1", "master=full_port"): (REFERENCE, "deep"),
    (RING, "timing=exact"): (REFERENCE, "deep"),
    (RING, "qdisc=pfifo"): (REFERENCE, "deep"),
    (RING, "qdisc=pfifo", "committer=v1"): (REFERENCE, "deep"),
    (RING, "qdisc=off"): (REFERENCE, "deep"),
    (RING, "timing=exact", "qdisc=off"): (REFERENCE, "deep"),
}


class Run(NamedTuple):
    assumed: Alternatives
    design: str
    seed: int


class Measured(NamedTuple):
    """Outcome of a run. Counters are None if the job was given up."""

    seconds: float
    tail_drops: int | None = None
    early_drops: int | None = None
    in_discards: int | None = None
    pause_frames: int | None = None
    timeouts: int | None = None

    @classmethod
    def of(cls, found: dict[str, Any] | None) -> "Measured":
        if found is None:
            return cls(LIMIT)
        reasons = found["drops_by_reason"]
        return cls(
            round(job_seconds(found), 4),
            reasons["buffer"],
            reasons["red"],
            found["in_discards"],
            found["pause_frames"],
            found["timeouts"],
        )


Runs = Mapping[Run, Measured]


@cache
def assumptions() -> tuple[Assumption, ...]:
    return tuple(of_tables(calibration()["assumptions"]))


def _chosen(assumed: Alternatives) -> list[Assumed]:
    named = dict(one.split("=", 1) for one in assumed)
    return [Assumed(one, named[one.name]) for one in assumptions() if one.name in named]


def _case(design: str) -> Case:
    return Case(design, FRAMEWORKS[0], SIZES[0], True)


def effective(assumed: Alternatives, design: str) -> Alternatives:
    """Returns the alternatives that change this design."""
    return tuple(str(one) for one in _chosen(assumed) if one.changes(_case(design).name))


def singles() -> Iterator[Alternatives]:
    for one in assumptions():
        for value in one.alternatives:
            yield (f"{one.name}={value}",)


def variants() -> list[Alternatives]:
    """Returns all combinations that are simulated, in the order of the table: with the default,
    the ring and PAUSE first."""
    first: list[Alternatives] = [DEFAULT, (OBEY,), (RING,), (OBEY, RING)]
    return list(dict.fromkeys([*first, *singles(), *COMBINED]))


#: Number of variants that all seeds have before other variants have their second.
FIRST = 4


def wanted(seeds: int = SEEDS) -> Iterator[Run]:
    """Yields the runs, the important ones first: every variant with one seed, PAUSE and who sends
    to whom with all seeds, then the others seed by seed."""
    every = variants()
    more = range(2, seeds + 1)
    for group, numbers in ((every, (1,)), (every[:FIRST], more), (every[FIRST:], more)):
        for seed in numbers:
            for assumed in group:
                for design in COMBINED.get(assumed, DESIGNS):
                    yield Run(effective(assumed, design), design, seed)


def read(file: Path = FILE) -> dict[Run, Measured]:
    if not file.exists():
        return {}
    return dict(lines.parsed(file, COLUMNS, _line))


def _line(row: Mapping[str, str]) -> tuple[Run, Measured]:
    run = Run(tuple(row["assumed"].split()), row["design"], int(row["seed"]))
    counters = (int(row[name]) if row[name] else None for name in COUNTERS)
    return run, Measured(float(row["job_s"]), *counters)


def write(run: Run, measured: Measured, file: Path = FILE) -> None:
    """Appends the line of a run."""
    values = ["" if value is None else value for value in measured]
    lines.append(
        file,
        "Sorts of 10 GB by MapReduce under traffic, with Hadoop's defaults: afflux study hadoop assumptions",
        COLUMNS,
        [" ".join(run.assumed), run.design, run.seed, *values],
    )


def changed(run: Run) -> dict[str, Any]:
    """Returns the keys of a run that differ from terasort.toml."""
    case = _case(run.design)
    found = keys(case, BASE)
    for one in _chosen(run.assumed):
        if one.changes(case.name):
            found |= one.assumption.alternatives[one.value]
    return found


def simulate(run: Run, file: Path) -> str:
    measured = Measured.of(summary(changed(run), run.seed))
    write(run, measured, file)
    return f"{' '.join(run.assumed) or 'default'}, {run.design}, seed {run.seed}: {measured.seconds:.2f} s"


# ------------------------------------------------------------------------------------------------
# Differences


class Difference(NamedTuple):
    """How much longer one design takes than another, over the seeds that both have."""

    #: Differences in seconds, by seed.
    by_seed: dict[int, float]

    @property
    def median(self) -> float:
        return median(self.by_seed.values())

    @property
    def mean(self) -> float:
        return mean(self.by_seed.values())

    @property
    def sign(self) -> int:
        """Sign of the median, rounded to the resolution of the source's numbers, 0.1 s."""
        return _sign(self.median)

    @property
    def agreeing(self) -> int:
        """Number of seeds with the median's sign."""
        return sum(_sign(value) == self.sign for value in self.by_seed.values())

    def of_seeds(self, seeds: Sequence[int]) -> "Difference":
        return Difference({seed: self.by_seed[seed] for seed in seeds if seed in self.by_seed})

    def __str__(self) -> str:
        """Formats median and mean, and the seeds that agree: `+1.4 / +2.3, 5 of 5`."""
        return (
            f"{signed(self.median)} / {signed(self.mean)}, {self.agreeing} of {len(self.by_seed)}"
        )


def _sign(value: float) -> int:
    rounded = round(value, 1)
    return (rounded > 0) - (rounded < 0)


def signed(value: float) -> str:
    """Formats seconds with their sign. Never returns -0.0."""
    return f"{round(value, 1) + 0.0:+.1f}"


def seconds(runs: Runs, assumed: Alternatives, design: str) -> dict[int, float]:
    """Returns the job times of a design by seed, in s."""
    return {
        run.seed: measured.seconds
        for run, measured in runs.items()
        if (run.assumed, run.design) == (assumed, design)
    }


def difference(
    runs: Runs, assumed: Alternatives, design: str, base: str = REFERENCE
) -> Difference | None:
    """Returns how much longer `design` takes than `base` under an assumption; None without a common
    seed."""
    own, other = (seconds(runs, effective(assumed, name), name) for name in (design, base))
    common = sorted(own.keys() & other.keys())
    return Difference({seed: own[seed] - other[seed] for seed in common}) if common else None


def change(runs: Runs, assumed: Alternatives, design: str) -> tuple[float, bool] | None:
    """Returns by how much the median differs from the study's own assumptions, over the same seeds,
    and whether the sign is the opposite one; None if it is not known."""
    found, before = difference(runs, assumed, design), difference(runs, DEFAULT, design)
    if found is None or before is None:
        return None
    before = before.of_seeds(list(found.by_seed))
    if before.by_seed.keys() != found.by_seed.keys():
        return None
    return found.median - before.median, found.sign * before.sign < 0


def touched(assumed: Alternatives, design: str) -> bool:
    """Returns whether an assumption changes the difference between this design and the
    reference."""
    return any(effective(assumed, name) != DEFAULT for name in (design, REFERENCE))


# ------------------------------------------------------------------------------------------------
# Tables

NOT_SIMULATED = "not simulated"


def _cell(runs: Runs, assumed: Alternatives, design: str) -> str:
    if assumed != DEFAULT and not touched(assumed, design):
        return "as default"
    found = difference(runs, assumed, design)
    if found is None:
        return NOT_SIMULATED
    if assumed == DEFAULT:
        return str(found)
    moved = change(runs, assumed, design)
    if moved is None:
        return str(found)
    return f"{found} ({signed(moved[0])}{', **sign**' if moved[1] else ''})"


def measured_difference(design: str) -> float:
    """Returns the source's difference, 10 GB with MapReduce under traffic."""
    return published()[_case(design)] - published()[_case(REFERENCE)]


def _head(first: str) -> list[str]:
    return [
        f"| {first} | {' | '.join(f'`{design}`' for design in COMPARED)} |",
        "|---" * (1 + len(COMPARED)) + "|",
    ]


def table(runs: Runs) -> str:
    """Returns how much longer each design takes than the shallow buffer, by assumption. Assumptions
    of which nothing is simulated are left out."""
    lines = [
        *_head("assumed"),
        f"| the source | {' | '.join(signed(measured_difference(design)) for design in COMPARED)} |",
    ]
    for assumed in _shown():
        if _simulated(runs, assumed):
            cells = [_cell(runs, assumed, design) for design in COMPARED]
            lines.append(
                f"| {', '.join(f'`{one}`' for one in assumed) or 'as in the study'} | {' | '.join(cells)} |"
            )
    return "\n".join(lines)


def _shown() -> list[Alternatives]:
    return [one for one in variants() if COMBINED.get(one, DESIGNS) == DESIGNS]


def _simulated(runs: Runs, assumed: Alternatives) -> bool:
    return any(
        touched(assumed, design) or assumed == DEFAULT
        for design in COMPARED
        if difference(runs, assumed, design)
    )


def open_entries(runs: Runs) -> list[str]:
    """Returns the alternatives of which nothing is simulated, as the README names them."""
    return [
        " with ".join(f"`{one}`" for one in assumed)
        for assumed in _shown()
        if assumed != DEFAULT and not _simulated(runs, assumed)
    ]


def assumed_table() -> str:
    """Returns what is assumed, the alternatives, and what speaks for the default."""
    lines = ["| assumption | default | alternatives | source |", "|---|---|---|---|"]
    for one in assumptions():
        values = ", ".join(f"`{value}`" for value in one.alternatives)
        lines.append(f"| `{one.name}`: {one.what} | `{one.default}` | {values} | {one.source} |")
    return "\n".join(lines)


def missing(runs: Runs) -> tuple[int, int]:
    """Returns how many runs there are, and how many all entries with all seeds need."""
    every = list(dict.fromkeys(wanted()))
    return sum(run in runs for run in every), len(every)


def changes(runs: Runs, assumed: Alternatives) -> str | None:
    """Returns in words by how much the differences change; None if nothing was simulated."""
    shown = {
        design: (signed(found.median), signed(before.of_seeds(list(found.by_seed)).median))
        for design in COMPARED
        if touched(assumed, design)
        and change(runs, assumed, design) is not None
        and (found := difference(runs, assumed, design))
        and (before := difference(runs, DEFAULT, design))
    }
    moved = [
        f"{design} {now} s instead of {usual} s"
        for design, (now, usual) in shown.items()
        if now != usual
    ]
    same = [design for design, (now, usual) in shown.items() if now == usual]
    parts = [
        *([", ".join(moved)] if moved else []),
        *([f"{', '.join(same)} as with the default"] if same else []),
    ]
    return (
        f"longer than the shallow buffer (median, 10 GB, MapReduce): {'; '.join(parts)}"
        if parts
        else None
    )


def with_changes(runs: Runs) -> list[Assumption]:
    """Returns the assumptions with what was simulated."""
    found = []
    for one in assumptions():
        said = {value: changes(runs, (f"{one.name}={value}",)) for value in one.alternatives}
        found.append(replace(one, changes={value: words for value, words in said.items() if words}))
    return found


def pause_table(runs: Runs) -> str:
    """Returns what PFC alone costs in the two variants of hosts and PAUSE, without and with the
    ring."""
    rows = [
        ("ignore PAUSE", DEFAULT),
        ("obey PAUSE", (OBEY,)),
        ("ignore PAUSE, ring", (RING,)),
        ("obey PAUSE, ring", (OBEY, RING)),
    ]
    lines = [
        "| hosts | PFC alone longer than the shallow buffer, s: median / mean, and seeds that agree |",
        "|---|---|",
        f"| the source | {signed(measured_difference('pfc'))} |",
    ]
    lines += [f"| {who} | {difference(runs, of, 'pfc') or NOT_SIMULATED} |" for who, of in rows]
    return "\n".join(lines)


#: Candidates for the 15 s that the deep buffer takes longer, with 10 GB as with 200 GB.
CONSTANT: dict[Alternatives, str] = {
    DEFAULT: "as in the study",
    (
        "committer=v1",
    ): "version 1 of the committer: 4 calls per reducer, one after the other, at the job's end",
    ("master=compute_leaf",): "the master at a port of the compute leaf",
    ("master=full_port",): "the master at a port of the compute leaf with other traffic",
    (RING,): "every compute port full (ring)",
    (RING, "committer=v1"): "ring, and version 1 of the committer",
    (RING, "master=full_port"): "ring, with the master's port in it",
    (
        RING,
        "committer=v1",
        "master=full_port",
    ): "ring, with the master's port in it, and version 1 of the committer",
    (RING, "qdisc=pfifo"): "ring, with pfifo at the hosts",
    (
        RING,
        "qdisc=pfifo",
        "committer=v1",
    ): "ring, with pfifo at the hosts, and version 1 of the committer",
    (RING, "qdisc=off"): "ring, without a queueing discipline at the hosts",
    (RING, "timing=exact"): "ring, with exact timing of the hosts",
    (
        RING,
        "timing=exact",
        "qdisc=off",
    ): "ring, with exact timing and without a queueing discipline at the hosts",
}


def constant(runs: Runs) -> str:
    """Returns how much of the 15 s between deep and shallow each explanation gives under traffic,
    of those that are simulated."""
    source = measured_difference("deep")
    lines = [
        "| assumed | deep longer than shallow, s: median / mean, seeds that agree | change, s | left of the source's |",
        "|---|---|---|---|",
    ]
    for assumed, words in CONSTANT.items():
        found = difference(runs, assumed, "deep")
        if found is None:
            continue
        moved = change(runs, assumed, "deep")
        shown = "–" if assumed == DEFAULT or moved is None else signed(moved[0])
        lines.append(
            f"| {words} | {found} | {shown} | {source - found.median:.1f} of {source:.1f} |"
        )
    return "\n".join(lines)
