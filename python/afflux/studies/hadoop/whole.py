"""Job times of the whole study with the hosts of today, at the constants of `calibration.toml`: the
lines that come with afflux, and how much longer jobs take than with the shallow buffer."""

from collections import Counter
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
_FRAMEWORKS = dict(zip(FRAMEWORKS, ("MapReduce", "Tez"), strict=True))
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
    return dict(lines.parsed(file, _COLUMNS, _line))


def _line(row: Mapping[str, str]) -> tuple[Job, float]:
    case = Case(row["design"], row["framework"], int(row["size_gb"]), row["traffic"] == "yes")
    return Job(case, int(row["seed"])), float(row["job_s"])


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


def _published(case: Case) -> float:
    """Returns how much longer than with the shallow buffer a case takes in the source, in s."""
    source = published()
    return source[case] - source[case._replace(design=REFERENCE)]


def longer(times: Times, case: Case) -> Difference | None:
    """Returns how much longer a case takes than with the shallow buffer, over the seeds that both
    have."""
    return _longer(by_case(times), case)


def _longer(times: runs.Times, case: Case) -> Difference | None:
    own, base = times(case._replace(design=case.simulated)), times(case._replace(design=REFERENCE))
    common = sorted(own.keys() & base.keys())
    return Difference({seed: own[seed] - base[seed] for seed in common}) if common else None


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
        cells.append(f"{ours} ({signed(_published(case))})")
    return f"| {_job(base)} | {len(own)} | {mean(own):.1f} ({source[base]:.1f}) | {' | '.join(cells)} |"


def _job(case: Case) -> str:
    return f"{case.framework}, {case.size} GB, {'under' if case.traffic else 'without'} traffic"


def sentence(times: Times) -> str:
    """Returns how the costs of two designs under traffic compare with the source's."""
    deep, dctcp = (", ".join(_shares(times, design)) for design in ("deep", "dctcp"))
    return f"Under traffic the deep buffer costs {deep} of what it costs in the source (MapReduce and Tez), and DCTCP {dctcp}."


def _shares(times: Times, design: str) -> Iterator[str]:
    """Yields for each size what a design costs, in percent of what it costs in the source."""
    for size in SIZES:
        cases = [Case(design, framework, size, True) for framework in FRAMEWORKS]
        found = [
            100 * than.median / _published(case) for case in cases if (than := longer(times, case))
        ]
        if len(found) == len(cases):
            yield f"{' and '.join(f'{share:.0f}' for share in found)} % ({size} GB)"


def made(times: Times) -> str:
    """Returns how many of the study's jobs there are, by size."""
    wanted = Counter(case.size for case in _cases() for _ in range(runs.SEEDS))
    there = Counter(job.case.size for job in times)
    return " and ".join(f"{there[size]} of {wanted[size]} jobs of {size} GB" for size in SIZES)


def large(times: Times, design: str, title: str) -> str:
    """Returns what a design costs with 200 GB."""
    words = []
    for framework, called in _FRAMEWORKS.items():
        case = Case(design, framework, SIZES[-1], True)
        if than := longer(times, case):
            theirs = signed(_published(case))
            count = len(than.by_seed)
            seeds = f"{than.agreeing} of {count} seeds" if count > 1 else "one seed"
            words.append(
                f"{signed(than.median)} s with {called} ({seeds}; {theirs} s in the source)"
            )
    return f"With 200 GB under traffic and today's hosts {title} costs {' and '.join(words)}"


def longest(times: Times, case: Case) -> str:
    """Returns the longest of a case's jobs, beside the others."""
    own = by_case(times)(case)
    seed = max(own, key=lambda one: own[one])
    others = [seconds for one, seconds in own.items() if one != seed]
    return f"{own[seed]:.1f} s with seed {seed} and {_between(others)}with the others"


def contrary(times: Times) -> str:
    """Returns which differences from the shallow buffer under traffic have the opposite sign in the
    source."""
    words, compared = [], 0
    for base in _bases():
        for design in COMPARED if base.traffic else ():
            case = base._replace(design=design)
            if than := longer(times, case):
                compared += 1
                theirs = _published(case)
                if than.sign * theirs < 0:
                    title = f"`{design}` with {case.framework} and {case.size} GB"
                    words.append(f"{title} ({than}; {signed(theirs)} s in the source)")
    return (
        f"{len(words) or 'None'} of {compared} differences from the shallow buffer under traffic "
        f"{'has' if len(words) < 2 else 'have'} the opposite sign{': ' if words else ''}{', '.join(words)}"
    )


def without_traffic(times: Times, size: int) -> str:
    """Returns how many jobs of this many gigabytes without traffic take longer than with the
    shallow buffer, and how many take less."""
    found = [
        round(seconds, 1)
        for case in _cases()
        if case.size == size and not case.traffic and case.design != REFERENCE
        if (than := longer(times, case))
        for seconds in than.by_seed.values()
    ]
    late, early = ([sign * one for one in found if sign * one > 0] for sign in (1, -1))
    longer_by, less_by = (_between(some) for some in (late, early))
    return (
        f"Without traffic {len(late) or 'none'} of {len(found)} jobs of {size} GB {'takes' if len(late) < 2 else 'take'} {longer_by}"
        f"longer than with the shallow buffer and the same seed, and {len(early) or 'none'} {'takes' if len(early) < 2 else 'take'} {less_by}less"
    )


def _between(seconds: list[float]) -> str:
    """Words a range of seconds, with a space at its end; nothing without any."""
    if not seconds:
        return ""
    least, most = (f"{value:.1f}" for value in (min(seconds), max(seconds)))
    return f"{least} s " if least == most else f"{least} to {most} s "


def flipped(exact: runs.Times, today: runs.Times) -> str:
    """Returns the published differences from the shallow buffer whose simulated sign hangs on the
    hosts."""
    rows = [
        "| longer than with `shallow`, s | the source | hosts of exact timing that obey PAUSE | today's hosts |",
        "|---|---|---|---|",
    ]
    for case in published():
        before, after = (_longer(times, case) for times in (exact, today))
        if before and after and before.sign != after.sign:
            theirs = signed(_published(case))
            rows.append(f"| `{case.design}`, {_job(case)} | {theirs} | {before} | {after} |")
    return "\n".join(rows)
