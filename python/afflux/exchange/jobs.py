"""Jobs from logs of other systems: converts them to a trace for `kind = "hadoop_trace"`, and their
shuffles to flows."""

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ..spelling import nearest
from . import hosts
from .account import Account, Wrong, shown
from .flow_list import FlowList
from .machines import Machines
from .reading import LOGS, json_value, lines


@dataclass
class Job:
    name: str
    submit_ms: int
    #: Bytes of map input, shuffle and output.
    read: int = 0
    shuffled: int = 0
    written: int = 0


@dataclass
class Transfer:
    """A transfer between two machines. Times are in ms."""

    start_ms: int
    src: str
    dst: str
    bytes: int
    kind: str


@dataclass
class Log:
    """The content of logs."""

    jobs: list[Job] = field(default_factory=list)
    #: Functions that add the transfers between machines. They are called only if transfers are
    #: requested.
    making: list[Callable[["Log"], None]] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    #: Total size of the files in bytes. Larger logs may have more transfers.
    size: int = 0
    machines: Machines = field(default_factory=Machines)
    account: Account = field(default_factory=lambda: Account("jobs"))
    of_transfers: Account = field(default_factory=lambda: Account("flows"))

    def expect(self, count: int, path: str | os.PathLike[str]) -> None:
        """Announces that `count` more transfers follow. Raises `Wrong` if a small file would
        produce a table that does not fit into memory."""
        most = max(_TRANSFERS, self.size // 16)
        if len(self.transfers) + count > most:
            raise Wrong(
                path,
                None,
                f"{len(self.transfers) + count:,} transfers between machines",
                f"at most {most:,} for logs of this size: leave out --flows",
            )


#: Number of transfers that a log of any size may have.
_TRANSFERS = 1_000_000


def trace(jobs: Iterable[Job]) -> str:
    """Formats jobs as a trace of the SWIM project: job, submission, gap, bytes of map input,
    shuffle and output."""
    out = []
    first = before = None
    for job in sorted(jobs, key=lambda job: (job.submit_ms, hosts.natural(job.name))):
        first = job.submit_ms if first is None else first
        gap = 0 if before is None else job.submit_ms - before
        before = job.submit_ms
        name = "".join("_" if c.isspace() or not c.isprintable() else c for c in job.name) or "job"
        # A line that begins like a comment would be skipped.
        name = "_" + name if name.startswith("#") else name
        out.append(
            f"{name}\t{(job.submit_ms - first) / 1e3:.3f}\t{gap / 1e3:.3f}\t{job.read}\t{job.shuffled}\t{job.written}\n"
        )
    return "".join(out)


def flows(log: Log, known: hosts.Known | None) -> tuple[FlowList, dict[str, int]]:
    """Returns the transfers as a flow list that begins with the first job, and the numbers of the
    hosts. Numbers that are `known` are kept."""
    for name in known.numbers if known is not None else ():
        log.machines.place(name)
    log.machines.unite(log.of_transfers)
    for make in log.making:
        make(log)
    numbers = (
        known.numbers
        if known is not None
        else hosts.numbered(
            name for transfer in log.transfers for name in (transfer.src, transfer.dst)
        )
    )

    @functools.cache
    def number_of(name: str) -> int | None:
        found = (
            numbers.get(other) if known is None else known.find(other)
            for other in log.machines.names(name)
        )
        return next((number for number in found if number is not None), None)

    origin = min((job.submit_ms for job in log.jobs), default=0)
    list_ = FlowList([], [], [], [], [])
    assert list_.classes is not None
    used: dict[str, int] = {}
    for transfer in sorted(log.transfers, key=lambda transfer: transfer.start_ms):
        src, dst = number_of(transfer.src), number_of(transfer.dst)
        if src is None or dst is None:
            log.of_transfers.drop("of hosts that the mapping does not name")
        elif src == dst:
            log.of_transfers.drop("from a host to itself")
        else:
            list_.start_ns.append(max(0, transfer.start_ms - origin) * 1_000_000)
            list_.src.append(src)
            list_.dst.append(dst)
            list_.bytes.append(transfer.bytes)
            list_.classes.append(transfer.kind)
            used[transfer.src], used[transfer.dst] = src, dst
    log.of_transfers.taken = len(list_)
    if known is not None and not len(list_) and log.transfers:
        first = log.transfers[0]
        raise Wrong(
            known.source,
            None,
            f"no host called {shown(first.src)} or {shown(first.dst)}",
            "the machines of the logs" + nearest(first.src, numbers),
        )
    return list_.called(known.names if known is not None else None), dict(
        numbers
    ) if known is None else used


def shared_out(total: int, weights: list[int]) -> list[int]:
    """Divides a total into whole numbers in proportion to the weights (equal ones if all are 0).
    They add up to the total."""
    if not weights:
        return []
    if not sum(weights):
        weights = [1] * len(weights)
    whole, done, parts, seen = sum(weights), 0, [], 0
    for weight in weights:
        seen += weight
        upto = total * seen // whole
        parts.append(upto - done)
        done = upto
    return parts


def _last_of(
    account: Account, path: str | os.PathLike[str], at: int
) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Returns a function that makes an object of its keys and values, and notes keys that stand
    there twice."""

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = Counter(key for key, _ in pairs)
            for key in (key for key, times in keys.items() if times > 1):
                account.noted(
                    f"{shown(key)} stands twice in one object: its last value counts, the others are left out",
                    f"{os.path.basename(path)}:{at}",
                )
        return found

    return made


def json_lines(
    path: str | os.PathLike[str],
    account: Account,
    stream: BinaryIO | None = None,
    first: int = 1,
    skip: Callable[[str], bool] = lambda line: False,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields objects, one per line, without the lines for which `skip` returns True. An incomplete
    last line (of a log that is still being written) is dropped."""
    broken: Wrong | None = None
    said = "the file ends within a compressed block, as a log that was still being written: what stands before it is taken"
    for at, line in lines(
        path, stream, first, lambda at: account.noted(said, f"{os.path.basename(path)}:{at}"), LOGS
    ):
        if broken:
            raise broken
        if skip(line):
            continue
        try:
            value = json_value(line, path, at, "an object in JSON", _last_of(account, path, at))
        except Wrong as error:
            broken = error
            continue
        if not isinstance(value, dict):
            raise Wrong(path, at, shown(value), "an object in JSON")
        yield at, value
    if broken:
        # A file that consists only of a broken line is not a log.
        if broken.line == first:
            raise broken
        account.notes.append(f"{path}: the last line is incomplete and was ignored")
