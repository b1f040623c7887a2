"""Job times of the whole study with the hosts of today, at the constants of `calibration.toml`: the
lines that come with afflux, and how much longer jobs take than with the shallow buffer."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from ...metrics import JOB_TIME
from ...results.designs import Designs
from .. import files, lines
from . import runs
from .cases import DESIGNS, FRAMEWORKS, SIZES, Case, published
from .sensitivity import REFERENCE, Difference, signed

#: Name of the file, in the results of a run of the study and among those that come with afflux.
NAME = "job-times.csv"
FILE = files("hadoop") / "results" / NAME
_COLUMNS = ("design", "framework", "size_gb", "traffic", "seed", "job_s")
#: All designs but the one with which they are compared.
COMPARED = tuple(design for design in DESIGNS if design != REFERENCE)


class Job(NamedTuple):
    case: Case
    seed: int


Times = Mapping[Job, float]


def by_case(times: Times) -> runs.Times:
    """Returns the job times by case."""
    return lambda case: {seed: seconds for (own, seed), seconds in times.items() if own == case}


def read(file: Path = FILE) -> dict[Job, float]:
    """Returns the job times in seconds."""
    return {
        Job(
            Case(row["design"], row["framework"], int(row["size_gb"]), row["traffic"] == "yes"),
            int(row["seed"]),
        ): float(row["job_s"])
        for row in lines.read(file)
    }


def of_designs(designs: Designs) -> dict[Job, float]:
    """Returns the job times in seconds of a run of the study. Jobs that did not end are left
    out."""
    return {
        Job(case, seed): round(time / 1e9, 4)
        for case in _cases()
        if case.name in designs
        for seed, result in designs[case.name].results.items()
        if (time := JOB_TIME.of(result.summary)) is not None
    }


def _cases() -> Iterator[Case]:
    for size in SIZES:
        for framework in FRAMEWORKS:
            for traffic in (False, True):
                yield from (Case(design, framework, size, traffic) for design in DESIGNS)


def write(times: Times, file: Path) -> Path:
    """Writes all lines, in the order of the cases."""
    order = {case: place for place, case in enumerate(_cases())}
    table = [
        (*case[:3], "yes" if case.traffic else "no", seed, times[Job(case, seed)])
        for case, seed in sorted(times, key=lambda job: (order[job.case], job.seed))
    ]
    comment = "Job times of afflux study hadoop, seconds, with the hosts of today"
    return lines.write(file, comment, _COLUMNS, table)


def longer(times: Times, case: Case) -> Difference | None:
    """Returns how much longer a case takes than with the shallow buffer, over the seeds that both
    have."""
    base = case._replace(design=REFERENCE)
    by_seed = {
        seed: seconds - times[Job(base, seed)]
        for (other, seed), seconds in times.items()
        if other == case and Job(base, seed) in times
    }
    return Difference(by_seed) if by_seed else None


def table(times: Times) -> str:
    """Returns how much longer jobs take than with the shallow buffer, with the source's numbers in
    brackets."""
    rows = [
        f"| | seeds | `{REFERENCE}`, s | {' | '.join(f'`{name}`' for name in COMPARED)} |",
        "|" + "---|" * (3 + len(COMPARED)),
        *(row for base in _bases() if (row := _row(times, base))),
    ]
    return "\n".join(rows)


def _bases() -> Iterable[Case]:
    return (case for case in _cases() if case.design == REFERENCE)


def _row(times: Times, base: Case) -> str | None:
    own = [seconds for (case, _), seconds in times.items() if case == base]
    if not own:
        return None
    source = published()
    cells = []
    for design in COMPARED:
        case = base._replace(design=design)
        found = longer(times, case)
        ours = "–" if found is None else str(found) if len(own) > 1 else signed(found.median)
        cells.append(f"{ours} ({signed(source[case] - source[base])})")
    words = f"{base.framework}, {base.size} GB, {'under' if base.traffic else 'without'} traffic"
    return f"| {words} | {len(own)} | {mean(own):.1f} ({source[base]:.1f}) | {' | '.join(cells)} |"


def sentence(times: Times) -> str:
    """Returns how the costs of two designs under traffic compare with the source's, for 10 GB."""
    source, shares = published(), []
    for design in ("deep", "dctcp"):
        of = []
        for framework in FRAMEWORKS:
            case, base = (Case(name, framework, SIZES[0], True) for name in (design, REFERENCE))
            found = longer(times, case)
            assert found
            of.append(found.median / (source[case] - source[base]))
        shares.append(" and ".join(f"{100 * share:.0f}" for share in of))
    return f"Under traffic the deep buffer costs {shares[0]} % of what it costs in the source (MapReduce and Tez), and DCTCP {shares[1]} %."


def without_traffic(times: Times) -> str:
    """Returns how many jobs of 10 GB without traffic take longer than with the shallow buffer."""
    found = [
        seconds
        for case in _cases()
        if case.size == SIZES[0] and not case.traffic and case.design != REFERENCE
        if (than := longer(times, case))
        for seconds in than.by_seed.values()
    ]
    late = [seconds for seconds in found if round(seconds, 1) > 0]
    return (
        f"Without traffic {len(late)} of {len(found)} jobs of 10 GB take {min(late):.1f} to {max(late):.1f} s"
        " longer than with the shallow buffer and the same seed"
    )
