"""Measures what can make the 15 s between the deep and the shallow buffer, which are the same with
10 and 200 GB: the part `constant` of the study.

A constant per job is a number of calls times the queue that each waits in. The runs are sorts of 10
GB by MapReduce without traffic. Longer links take the place of queues: a call to a port with a
queue of 30 ms takes 30 ms more. So nothing is lost or sent more slowly, and what a run takes longer
is calls alone.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .. import files, lines
from .cases import BASE, FRAMEWORKS, SIZES, Case, keys
from .runs import LIMIT, SEEDS, job_seconds, summary
from .sensitivity import Difference, measured_difference, signed

FILE = files("hadoop") / "results" / "constant.csv"
COLUMNS = ("causes", "seed", "job_s")
#: Delay of a link: half of the queue, once per direction.
_LINK = "15ms"
#: Index of the link of name node, resource manager and client.
_MASTER = 21

#: Causes that add calls to a job, or time to its calls, with their scenario keys.
CAUSES: dict[str, dict[str, Any]] = {
    "compute": {f"topology.link[{host}].delay": _LINK for host in range(14)},
    "master": {f"topology.link[{_MASTER}].delay": _LINK},
    "v1": {"traffic[0].cluster.committer": "v1"},
}
#: Combinations of causes, with their words on the page.
COMBINED: dict[tuple[str, ...], str] = {
    (): "none: the job without queues",
    ("v1",): "version 1 of the committer",
    ("compute",): "30 ms at all compute ports",
    ("master",): "30 ms at the master's port",
    ("compute", "v1"): "30 ms at all compute ports, version 1 of the committer",
    ("compute", "master"): "30 ms at all compute ports and at the master's",
    ("compute", "master", "v1"): "30 ms at all compute ports and at the master's, version 1",
}


class Run(NamedTuple):
    causes: tuple[str, ...]
    seed: int


Runs = Mapping[Run, float]


def wanted(seeds: int = SEEDS) -> Iterator[Run]:
    """Yields the runs seed by seed."""
    for seed in range(1, seeds + 1):
        for causes in COMBINED:
            yield Run(causes, seed)


def read(file: Path = FILE) -> dict[Run, float]:
    if not file.exists():
        return {}
    return dict(lines.parsed(file, COLUMNS, _line))


def _line(row: Mapping[str, str]) -> tuple[Run, float]:
    return Run(tuple(row["causes"].split()), int(row["seed"])), float(row["job_s"])


def write(run: Run, seconds: float, file: Path = FILE) -> None:
    """Appends the line of a run."""
    lines.append(
        file,
        "Sorts of 10 GB by MapReduce without traffic, with Hadoop's defaults: afflux study hadoop constant",
        COLUMNS,
        [" ".join(run.causes), run.seed, round(seconds, 4)],
    )


def changed(run: Run) -> dict[str, Any]:
    """Returns the keys of a run that differ from terasort.toml."""
    found = keys(Case("deep", FRAMEWORKS[0], SIZES[0], False), BASE)
    for cause in run.causes:
        found |= CAUSES[cause]
    return found


def simulate(run: Run, file: Path) -> str:
    found = summary(changed(run), run.seed)
    seconds = job_seconds(found) if found else LIMIT
    write(run, seconds, file)
    return f"{' '.join(run.causes) or 'none'}, seed {run.seed}: {seconds:.2f} s"


def longer(runs: Runs, causes: tuple[str, ...]) -> Difference | None:
    """Returns how much longer a job takes with these causes, over the seeds that both have."""
    own, other = (
        {run.seed: seconds for run, seconds in runs.items() if run.causes == some}
        for some in (causes, ())
    )
    common = sorted(own.keys() & other.keys())
    return Difference({seed: own[seed] - other[seed] for seed in common}) if common else None


def table(runs: Runs) -> str:
    source = measured_difference("deep")
    lines = [
        "| cause | longer by, s: median / mean, and seeds that agree | left of the source's, s |",
        "|---|---|---|",
    ]
    for causes, words in COMBINED.items():
        found = longer(runs, causes)
        if found and causes:
            lines.append(f"| {words} | {found} | {signed(source - found.median)} |")
    return "\n".join(lines)


def sentences(runs: Runs) -> tuple[str, str]:
    """Returns what the runs say about the 15 s, in a sentence and at length, as on the page."""
    median = {}
    for causes in COMBINED:
        found = longer(runs, causes)
        median[causes] = found.median if found else 0.0
    ports, master = median["compute",], median["master",]
    commit = median["compute", "v1"] - ports
    both = median["compute", "v1"]
    short = (
        f"A queue of 30 ms at every compute port is {ports:.1f} s of calls, and version 1 of the committer {commit:.1f} s more: "
        f"{both:.1f} s together, which would be nearly all of it. The source tells of neither."
    )
    long = (
        f"Version 1 of the committer is {median['v1',]:.1f} s without a queue, and {commit:.1f} s where each compute port has one of 30 ms, because the "
        f"job's master then waits for each of its calls. With the {ports:.1f} s of all other calls that is {both:.1f} s of the source's "
        f"{measured_difference('deep'):.1f} s. A queue of 30 ms in front of the master is {master:.1f} s alone, and "
        f"{median['compute', 'master'] - ports:.1f} s next to those of the compute ports. So a queue of 30 ms at every compute port and the committer of "
        "Hadoop 2 would explain nearly all of the 15 s, and one at the master's port more than all. None of this is told: not which ports were full (with "
        "the random traffic of this study four of fourteen are), nor the version of Hadoop. What decides would be the committer's version and the series of "
        "the ports."
    )
    return short, long


def tables(file: Path) -> str:
    return table(read(file))
