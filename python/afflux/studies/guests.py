"""Runs of studies in which some hosts are Linux kernels: what they need, and what is read from them."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .._core import Error
from ..kernels import USUAL, directory, images
from ..results.result import Result
from ..scenario import Scenario
from . import lines

#: Kinds of senders.
KERNEL, MODEL = "kernel", "model"


class Run(NamedTuple):
    """A run of a comparison. `sender`: `KERNEL` or `MODEL`."""

    case: str
    sender: str
    seed: int


@dataclass(frozen=True)
class Comparison:
    """Cases that are simulated with kernels and with the model. Every run has a line in a file."""

    #: First line of the file.
    comment: str
    cases: Sequence[str]
    seeds: Sequence[int]
    #: Columns of the file with the results of a run.
    figures: Sequence[str]

    @property
    def columns(self) -> tuple[str, ...]:
        return *Run._fields, *self.figures

    def every(self, quick: bool) -> Iterator[Run]:
        for seed in self.seeds[:1] if quick else self.seeds:
            for case in self.cases:
                for sender in (KERNEL, MODEL):
                    yield Run(case, sender, seed)

    def wanted(self, file: Path, quick: bool) -> Iterator[Run]:
        """Yields the runs. Where there is no image, those of kernels without a line are left out."""
        known, able = self.read(file), there()
        return (run for run in self.every(quick) if run.sender == MODEL or able or run in known)

    def write(self, run: Run, values: Mapping[str, Any], file: Path) -> None:
        line = [*run, *(values[name] for name in self.figures)]
        lines.append(file, self.comment, self.columns, line)

    def read(self, file: Path) -> dict[Run, dict[str, str]]:
        if not file.exists():
            return {}

        def line(row: Mapping[str, str]) -> tuple[Run, dict[str, str]]:
            run = Run(row["case"], row["sender"], int(row["seed"]))
            return run, {name: row[name] for name in self.figures}

        return dict(lines.parsed(file, self.columns, line))

    def table(
        self, file: Path, head: str, cells: Callable[[Sequence[Mapping[str, str]]], Iterable[str]]
    ) -> str:
        """Returns a table with a row for each case and sender. `cells` receives the results of all
        seeds."""
        found = self.read(file)
        rows = []
        for case in self.cases:
            for sender in (KERNEL, MODEL):
                of = [values for run, values in found.items() if run[:2] == (case, sender)]
                if of:
                    rows.append(f"| {case} | {sender} | {' | '.join(cells(of))} |")
        missing = sum(run.sender == KERNEL and run not in found for run in self.every(False))
        return left_out(missing) + "\n".join((head, "|" + "---|" * (head.count("|") - 1), *rows))


def there() -> bool:
    """Returns whether there is an image of the kernel."""
    return any(image.version == USUAL for image in images())


def left_out(runs: int) -> str:
    """Returns what tables say about so many runs of kernels without a line; empty where there is an
    image, with which they would be simulated."""
    if not runs or there():
        return ""
    return (
        f"{runs} runs of kernels are left out: there is no kernel {USUAL} in {directory()} "
        "(afflux kernel build).\n\n"
    )


def run(scenario: Scenario, seed: int) -> tuple[Result, dict[str, bytes]]:
    """Runs a scenario with kernels. Returns its result, and the files of the kernels by name.
    Raises `Error` if a kernel fails."""
    made = scenario.check(seed=seed).run(None)
    if made.kernel_failure:
        raise Error(made.kernel_failure)
    return Result.of_run(made), {name: bytes(content) for name, content in made.kernel_files}


def rows(files: Mapping[str, bytes], name: str) -> list[dict[str, str]]:
    """Returns the rows of a CSV file."""
    return list(csv.DictReader(files[name].decode().splitlines()))


class Segment(NamedTuple):
    """A TCP segment at a NIC. Time in ns."""

    time: int
    src: tuple[str, int]
    dst: tuple[str, int]
    syn: bool
    fin: bool
    payload: int
    #: Sequence number of the first byte.
    seq: int


def segments(capture: bytes) -> list[Segment]:
    """Returns the TCP segments of a capture of headers (pcap with times in ns)."""
    found, at = [], 24
    while at < len(capture):
        seconds, ns, length, _ = (
            int.from_bytes(capture[at + 4 * field : at + 4 * field + 4], "little")
            for field in range(4)
        )
        frame = capture[at + 16 : at + 16 + length]
        at += 16 + length
        ip = frame[14:]
        if frame[12:14] != b"\x08\x00" or ip[9] != 6:
            continue
        header = 4 * (ip[0] & 15)
        tcp = ip[header:]
        payload = int.from_bytes(ip[2:4], "big") - header - 4 * (tcp[12] >> 4)
        src, dst = (
            (".".join(map(str, ip[place : place + 4])), int.from_bytes(tcp[port : port + 2], "big"))
            for place, port in ((12, 0), (16, 2))
        )
        time = seconds * 1_000_000_000 + ns
        syn, fin = bool(tcp[13] & 2), bool(tcp[13] & 1)
        seq = int.from_bytes(tcp[4:8], "big")
        found.append(Segment(time, src, dst, syn, fin, payload, seq))
    return found


def complete(segments: Iterable[Segment], size: int) -> int | None:
    """Returns the time in ns at which all `size` bytes of a connection have arrived, given its
    segments at the receiver; None if they never have. Retransmissions of bytes that are there do
    not count."""
    start: int | None = None
    holes: list[tuple[int, int]] = [(0, size)]
    for one in segments:
        if one.syn:
            start = one.seq + 1
        if start is None or not one.payload:
            continue
        first = (one.seq - start) % 2**32
        last = first + one.payload
        holes = [
            part
            for low, high in holes
            for part in ((low, min(high, first)), (max(low, last), high))
            if part[0] < part[1]
        ]
        if not holes:
            return one.time
    return None
