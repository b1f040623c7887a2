"""Finds out which files of a result directory afflux wrote. Only these are replaced with a result,
and only together with it."""

import os
from collections.abc import Iterable
from pathlib import Path

from .realtime import LIVE
from .result import SCENARIO, STORED, SUMMARY, TABLES
from .written import NotAsWritten, parsed

#: Files of results without digests, which earlier versions wrote.
_WITHOUT_DIGESTS = frozenset(
    {SUMMARY, SCENARIO, STORED, LIVE, *(f"{table}.parquet" for table in TABLES)}
)


def foreign(dir: str | os.PathLike[str], *, of_batch: bool = False) -> str | None:
    """Returns the reason why a directory with a summary.json must not be replaced: it holds files
    that afflux did not write. `None` if it may be replaced, or has no summary.json.

    With `of_batch`, the manifest of a batch names the directory, so its summary.json may be
    damaged.
    """
    dir = Path(dir)
    if not (dir / SUMMARY).is_file():
        return None
    try:
        names = _names(dir)
    except NotAsWritten as error:
        if not of_batch:
            return f"{error}, or choose another directory: --force replaces only results of afflux"
        names = _WITHOUT_DIGESTS
    # This function checks the names. Digests are checked when the directory is claimed: before the
    # run, and again before files are deleted (`Claim` in Rust).
    with os.scandir(dir) as entries:
        others = sorted(
            entry.name
            for entry in entries
            if entry.name not in names or entry.is_dir(follow_symlinks=False)
        )
    if not others:
        return None
    return f"{dir} holds files that are not part of its result ({', '.join(others[:3])}{', …' if others[3:] else ''}): move them, or choose another directory"


def refuse_parts(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Raises `ValueError` if an output would replace a file of a result."""
    for path in paths:
        place = Path(os.path.realpath(path))
        try:
            part = place.is_file() and place.name in _names(place.parent)
        except (NotAsWritten, OSError):  # the directory holds no result
            continue
        if part:
            raise ValueError(f"{path} is part of the result in {place.parent}: choose another name")


def _names(dir: Path) -> frozenset[str]:
    """Returns the names of a result's files. Raises `NotAsWritten`, and `OSError` if there is no
    summary.json."""
    path = dir / SUMMARY
    summary = parsed(path.read_bytes(), path)
    if not isinstance(summary.get("afflux_version"), str):
        raise NotAsWritten(path, "it has no afflux_version")
    digests = summary.get("digests")
    return frozenset({SUMMARY, STORED, *digests}) if isinstance(digests, dict) else _WITHOUT_DIGESTS
