"""`afflux verify`: compares files of results with their digests."""

import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..files import durable, plain
from ..results.result import STORED, SUMMARY, Result, UncheckedResult
from ..results.written import DamagedResult, NotAsWritten
from .manifest import entries
from .place import LOCK, MANIFEST


@dataclass
class Verification:
    """The findings for one directory."""

    dir: Path
    #: Kind of directory: `result`, or `points` of a sweep, a search or a study.
    kind: str
    #: Number of results and files that were read, and the size of these files in bytes.
    results: int = 0
    files: int = 0
    bytes: int = 0
    #: Files that are damaged or missing, or that have no digest.
    problems: list[str] = field(default_factory=list)
    #: Harmless files that are not part of a result.
    notes: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Returns the findings as `--json` prints them."""
        counts = {"results": self.results, "files": self.files, "bytes": self.bytes}
        return {
            "dir": str(self.dir),
            "kind": self.kind,
            "good": self.good,
            **counts,
            "problems": self.problems,
            "notes": self.notes,
        }


def verify(dir: str | os.PathLike[str]) -> Verification:
    """Checks every file of a result directory, or of all points of a sweep, a search or a study.
    Raises `FileNotFoundError` if the directory is none of these."""
    dir = Path(dir)
    points = next((place for place in (dir / "points", dir) if (place / MANIFEST).is_file()), None)
    if points is None:
        if not (dir / SUMMARY).is_file():
            what = (
                f"has neither {SUMMARY} nor points/{MANIFEST}"
                if dir.is_dir()
                else "is not a directory"
                if dir.exists()
                else "does not exist"
            )
            raise FileNotFoundError(f"{dir} is not a directory of results: it {what}")
        found = Verification(dir, "result")
        _result(found, dir)
    else:
        found = Verification(dir, "points")
        _points(found, points)
    return found


def _result(found: Verification, dir: Path) -> Result | None:
    found.results += 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UncheckedResult)
            result = Result.open(dir)
    except UncheckedResult:
        found.problems.append(
            f"{dir} has no digests (written by an older version): its files cannot be checked"
        )
        return None
    except (DamagedResult, OSError) as error:
        found.problems.append(plain.words(error))
        return None
    sizes = {SUMMARY: (dir / SUMMARY).stat().st_size, **result.sizes()}
    found.files += len(sizes)
    found.bytes += sum(sizes.values())
    for name in result.digests:
        try:
            result.check(name)
        except (DamagedResult, OSError) as error:
            found.problems.append(plain.words(error))
    ours = {*result.digests, SUMMARY, *([STORED] if result.stored else [])}
    found.notes += [
        f"{child} is not part of the result"
        for child in sorted(dir.iterdir())
        if child.name not in ours
    ]
    return result


def _points(found: Verification, points: Path) -> None:
    path = points / MANIFEST
    try:
        listed, _ = entries(path)
    except NotAsWritten as error:
        found.problems.append(str(error))
        return
    for key, entry in listed.items():
        result_hash = entry.get("result_hash")
        if entry["status"] != "finished":
            found.notes.append(f"{points / key} failed: {entry.get('error')}")
            continue
        result = _result(found, points / key)
        if result and result.summary["result_hash"] != result_hash:
            there = result.summary["result_hash"]
            found.problems.append(
                f"{points / key} is not the result that {MANIFEST} names: result_hash {there[:12]}…, not {str(result_hash)[:12]}…"
            )
    for child in sorted(points.iterdir()):
        if durable.is_ours(child.name):
            found.notes.append(
                f"{child} was left by a process that was killed, or is being written: the next run removes it"
            )
        elif child.name not in (*listed, MANIFEST, LOCK):
            found.notes.append(f"{child} is not in {MANIFEST}")
