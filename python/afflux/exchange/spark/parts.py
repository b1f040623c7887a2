"""Finds the files that an import reads, and parses their names.

Source: Apache Spark, `org.apache.spark.deploy.history` (EventLogFileWriters, EventLogFileReaders,
EventLogFileCompactor): a rolled log is a directory `eventlog_v2_APP` with the parts `events_N_APP`
and an empty file `appstatus_APP`. One part may end in `.compact` and replaces all parts up to its
number.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..account import Account, Wrong, plural

_PART = re.compile(
    r"events_(\d{1,9})_(.+?)(?:\.(?:zstd|zst|lz4|lzf|snappy|gz|xz))*(\.compact)?(?:\.(?:zstd|zst|gz|xz))*"
)


@dataclass(frozen=True)
class Part:
    path: Path
    #: For a part of a rolled log: application in the file's name, number of the part, and whether
    #: Spark has compacted it.
    application: str | None = None
    number: int = 0
    compact: bool = False


def ordered(paths: Sequence[Path], account: Account) -> list[Part]:
    """Returns the files to read. Directories are searched. Parts of rolled logs are in the order of
    their numbers, without those that were compacted."""
    parts: list[Part] = []
    rolled: dict[tuple[Path, str], list[Part]] = defaultdict(list)
    seen: set[str] = set()
    for path in paths:
        for file in _files(path):
            if file.name.startswith("appstatus_"):
                account.noted(
                    "a file appstatus_… says that its application runs or has ended, and has no events: left out",
                    file.name,
                )
                continue
            if os.path.realpath(file) in seen:
                account.noted("a file was given twice and is read once", file.name)
                continue
            seen.add(os.path.realpath(file))
            part = _part(file)
            if part.application is None:
                parts.append(part)
            else:
                rolled[file.parent, part.application].append(part)
    for of_log in rolled.values():
        parts += _uncompacted(of_log, account)
    return parts


def _files(path: Path) -> Iterator[Path]:
    """Yields a file, the parts of a rolled log, or the logs of a directory of them."""
    if not path.is_dir():
        yield path
        return
    found = False
    for inner in sorted(path.iterdir()):
        if inner.name.startswith(".") or (
            inner.is_dir() and not inner.name.startswith("eventlog_v2_")
        ):
            continue
        found = True
        yield from _files(inner)
    if not found:
        raise Wrong(
            path,
            None,
            "a directory without event logs",
            "event logs, or directories eventlog_v2_… with files events_…",
        )


def _part(path: Path) -> Part:
    found = _PART.fullmatch(path.name)
    return Part(path, found[2], int(found[1]), found[3] is not None) if found else Part(path)


def _uncompacted(parts: list[Part], account: Account) -> list[Part]:
    parts = sorted(parts, key=lambda part: (part.number, part.compact))
    compact = [part for part in parts if part.compact]
    kept = (
        [part for part in parts if not compact or part.number > compact[-1].number]
        if compact
        else parts
    )
    if compact:
        for part in parts:
            if part not in kept and part is not compact[-1]:
                account.noted(
                    f"parts that {compact[-1].path.name} stands for are left out", part.path.name
                )
        account.noted(
            "Spark has removed events of ended jobs from a compacted part: such jobs are missing",
            compact[-1].path.name,
        )
        kept = [compact[-1], *kept]
    numbers = [part.number for part in kept]
    expected = range(numbers[0] if compact else 1, numbers[-1] + 1)
    if missing := [number for number in expected if number not in set(numbers)]:
        shown = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        account.notes.append(
            f"{kept[0].application}: {plural(len(missing), 'part')} of the rolled log missing ({shown}): their jobs and bytes are not counted"
        )
    return kept
