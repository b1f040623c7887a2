"""Computes completion times of jobs (queries, coflows, jobs of applications) from the tables of a
result."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from .result import Result
from .statistics import mean, quantile

#: Limits of the coflow classes of Varys (Chowdhury et al., SIGCOMM 2014, §7.2): short if the
#: longest flow is below 5 MB, narrow if there are at most 50 flows.
SHORT_BYTES = 5_000_000
NARROW_FLOWS = 50


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    flows: int
    bytes: int
    longest_bytes: int
    start_ns: int | None
    #: Completion time in nanoseconds; `None` if the job did not finish.
    completion_ns: int | None
    #: `query`, `coflow` or `job`.
    phase: str
    #: Traffic block of the job; `None` in results of versions before 0.4.
    block: str | None

    @property
    def kind(self) -> str:
        length = "short" if self.longest_bytes < SHORT_BYTES else "long"
        return f"{length}, {'narrow' if self.flows <= NARROW_FLOWS else 'wide'}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"kind": self.kind}


@dataclass(frozen=True, slots=True)
class Times:
    """Statistics of the completion times in nanoseconds of a set of jobs. Only finished jobs
    count."""

    name: str
    jobs: int
    finished: int
    #: Smallest and largest number of flows of a job.
    flows: tuple[int, int]
    mean_ns: float | None
    p50_ns: float | None
    p95_ns: float | None
    p99_ns: float | None
    max_ns: float | None

    @classmethod
    def of(cls, name: str, jobs: list[Job]) -> "Times":
        times = sorted(job.completion_ns for job in jobs if job.completion_ns is not None)
        flows = [job.flows for job in jobs]
        widths = (min(flows, default=0), max(flows, default=0))
        if not times:
            return cls(name, len(jobs), 0, widths, None, None, None, None, None)
        p50, p95, p99 = (quantile(times, q) for q in (0.5, 0.95, 0.99))
        return cls(name, len(jobs), len(times), widths, mean(times), p50, p95, p99, times[-1])


def jobs(result: Result) -> list[Job]:
    """Returns the jobs that started after the warm-up, in the order of the scenario."""
    blocks = list((result.summary.get("jobs") or {}).get("by_block", {}))
    widths: dict[str, int] = {}
    longest: dict[str, int] = {}
    for job, bytes in zip(result.flows.column("job"), result.flows.column("bytes"), strict=True):
        if job is not None:
            widths[job] = widths.get(job, 0) + 1
            longest[job] = max(longest.get(job, 0), bytes)
    columns = [
        result.jobs.column(name) for name in ("job", "start_ns", "finish_ns", "bytes_out", "phase")
    ]
    return [
        Job(
            name,
            widths.get(name, 0),
            size,
            longest.get(name, 0),
            start,
            None if finish is None else finish - start,
            phase,
            block_of(name, blocks),
        )
        for name, start, finish, size, phase in zip(*columns, strict=True)
        # The table has jobs whose known start lies beyond the end of the run.
        if start is not None
        and result.summary["warmup_ns"] <= start <= result.summary["simulated_ns"]
        and phase in ("query", "coflow", "job")
    ]


def block_of(job: str, blocks: Iterable[str]) -> str | None:
    """Returns the traffic block of a job. A job has the name of its block. If the block has several
    jobs, a dot and a name follow."""
    return next((block for block in blocks if job == block or job.startswith(f"{block}.")), None)


def by_block(all_jobs: list[Job]) -> list[Times]:
    """Returns the times of all jobs together, then of each block, in the order of the scenario."""
    blocks: dict[str, list[Job]] = {}
    for job in all_jobs:
        if job.block is not None:
            blocks.setdefault(job.block, []).append(job)
    return [Times.of("all", all_jobs), *(Times.of(block, jobs) for block, jobs in blocks.items())]


def by_kind(all_jobs: list[Job]) -> list[Times]:
    """Returns the times of all jobs together, then of each class."""
    kinds: dict[str, list[Job]] = {}
    for job in all_jobs:
        kinds.setdefault(job.kind, []).append(job)
    order = ["short, narrow", "long, narrow", "short, wide", "long, wide"]
    return [
        Times.of("all", all_jobs),
        *(Times.of(kind, kinds[kind]) for kind in order if kind in kinds),
    ]


def slowest(all_jobs: list[Job], count: int) -> list[Job]:
    """Returns the `count` finished jobs with the longest completion times."""
    finished = [job for job in all_jobs if job.completion_ns is not None]
    return sorted(finished, key=lambda job: -(job.completion_ns or 0))[:count]
