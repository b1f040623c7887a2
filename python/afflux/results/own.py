"""Finds out which files of a result directory afflux wrote. Only these are replaced with a result,
and only together with it."""

import os
from collections.abc import Iterable
from pathlib import Path

from .. import _core
from .realtime import LIVE
from .result import SCENARIO, STORED, SUMMARY, TABLES
from .written import NotAsWritten, parsed

#: Files of results without digests, which earlier versions wrote.
_WITHOUT_DIGESTS = frozenset(
    {SUMMARY, SCENARIO, STORED, LIVE, *(f"{table}.parquet" for table in TABLES)}
)

#: Names of captures. A result without a summary does not say which captures it had.
_CAPTURE = ".pcapng"


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


def lacks_summary(dir: Path) -> bool:
    """True if the directory holds files but no summary.json, so that no run replaces it. Raises
    `OSError` if it cannot be read, and `NotADirectoryError` for something else of this name."""
    if not os.path.lexists(dir) or (dir / SUMMARY).is_file():
        return False
    if not dir.is_dir():
        raise NotADirectoryError(f"{dir} is not a directory")
    with os.scandir(dir) as entries:
        return any(entries)


def remove_tables(dir: Path) -> bool:
    """Removes the files of a result that has lost its summary.json. Returns False, and removes
    nothing, if the directory holds a name that no result has, or a directory."""
    with os.scandir(dir) as entries:
        found = list(entries)
    for entry in found:
        known = entry.name in _WITHOUT_DIGESTS or entry.name.endswith(_CAPTURE)
        if not known or not entry.is_file(follow_symlinks=False):
            return False
    for entry in found:
        _core.step("remove", entry.path, removes=True)
        os.unlink(entry.path)
    return True


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
