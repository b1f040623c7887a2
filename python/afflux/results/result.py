"""Results of a run that was just made, or read from a directory."""

import hashlib
import json
import os
import re
import shlex
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .. import _core
from ..display import Card, Displayed
from ..files.storage import Folder
from . import shown
from .explain import Explanation
from .format import migrated, migrated_table
from .written import DamagedResult, NotAsWritten, Table, checked, parsed, read_object

SUMMARY, SCENARIO = "summary.json", "scenario.toml"
#: File with the report on the kernels among the hosts.
KERNELS = "kernels.json"
#: File of a result directory whose tables are on shared storage. It holds the URL of their folder.
STORED = "stored.url"
TABLES = (
    "flows",
    "ports",
    "links",
    "jobs",
    "paths",
    "imbalance",
    "reorder",
    "round_trips",
    "senders",
    "gaps",
    "waits",
    "packets",
)

#: Option of `afflux run` that records a table, for tables that need one.
_RECORDING = {
    "ports": "record.ports.interval=100us",
    "paths": "record.paths=true",
    "imbalance": "record.imbalance=100us",
    "reorder": "record.reorder=100us",
    "round_trips": "record.round_trips=true",
    "senders": "record.senders=100us",
    "gaps": "record.gaps=all",
    "waits": "record.waits=all",
}


class UncheckedResult(UserWarning):
    """A result directory of an older version has no digests, so its files cannot be checked."""


class Result(Displayed):
    """A result: `summary` as a dict, and tables over Arrow's PyCapsule interface:
    `polars.DataFrame(result.flows)`."""

    #: Content of `summary.json`: counters, completion times, hashes. Times are in nanoseconds
    #: (`_ns`), rates in bits per second (`_bps`).
    summary: dict[str, Any]
    #: Result directory; `None` if nothing was written.
    dir: Path | None
    #: Names of the recorded tables.
    recorded: list[str]

    def __init__(
        self,
        summary: dict[str, Any],
        dir: Path | None,
        recorded: list[str],
        read: Callable[[str], Table],
    ) -> None:
        self.summary, self.dir, self.recorded, self._read = summary, dir, recorded, read
        self._kernels: dict[str, Any] | None = None
        #: Folder on shared storage with the tables that are not in `dir`; None if there is none.
        self.stored: Folder | None = None
        self._checked: set[str] = set()
        self._tables: dict[str, Table] = {}

    @classmethod
    def of_run(cls, run: _core.Result) -> "Result":
        """Makes the result of a run that was just carried out."""
        made = cls(
            json.loads(run.summary),
            Path(run.dir) if run.dir else None,
            run.recorded,
            lambda name: Table(name, run.table(name), None, lambda _: ()),
        )
        made._kernels = json.loads(run.kernels) if run.kernels else None
        return made

    @classmethod
    def open(cls, dir: str | os.PathLike[str]) -> "Result":
        """Reads a result directory. A table is read, and compared with its digest, when it is first
        used.

        A result of the previous format (afflux 0.1) gets today's keys, with values that mean "not
        recorded". Its files stay unchanged. Tables on shared storage are read from there.

        Raises `FileNotFoundError` if `dir` is no result directory, `DamagedResult` if a file
        differs from its digest or is not as afflux writes it, `NewerResult` if a later version of
        the format wrote it. Warns `UncheckedResult` if there are no digests.
        """
        path = Path(dir)
        try:
            summary = _checked_summary(path / SUMMARY)
        except (FileNotFoundError, NotADirectoryError):
            what = (
                f"has no {SUMMARY}"
                if path.is_dir()
                else "is not a directory"
                if path.exists()
                else "does not exist"
            )
            points = path / "points"
            hint = f"; results are in {points}" if points.is_dir() else ""
            raise FileNotFoundError(f"{path} is not a result directory: it {what}{hint}") from None
        digests = summary.get("digests")
        if digests is None:
            warnings.warn(UncheckedResult(str(path)), stacklevel=2)
        recorded = [
            name
            for name in TABLES
            if (
                f"{name}.parquet" in digests
                if digests is not None
                else (path / f"{name}.parquet").is_file()
            )
        ]

        def read(name: str) -> Table:
            with result._file(f"{name}.parquet") as file:
                try:
                    inner = _core.read_parquet(file)
                except _core.Error as error:
                    raise NotAsWritten(
                        path / file.name, str(error).removeprefix(f"{file}: ")
                    ) from None
            inner = migrated_table(name, inner, summary.get("format", 1))
            return Table(name, inner, path / file.name, result._named)

        result = cls(summary, path, recorded, read)
        result.stored = _stored(path)
        return result

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 by file name, without `summary.json`. Empty for a result that was not written, or
        that an older version wrote."""
        return self.summary.get("digests", {})

    def check(self, *names: str) -> None:
        """Compares these files of the result directory (default: all) with their digests, each
        once. Raises `DamagedResult`."""
        for name in names or self.digests:
            if self.dir is not None and name in self.digests and name not in self._checked:
                with self._file(name):
                    pass

    def sizes(self) -> Mapping[str, int]:
        """Returns the sizes in bytes of the result's files that exist, here or on shared storage,
        by name."""
        assert self.dir is not None
        here = {
            name: (self.dir / name).stat().st_size
            for name in self.digests
            if (self.dir / name).is_file()
        }
        elsewhere = self.stored.sizes() if self.stored and len(here) < len(self.digests) else {}
        return {name: size for name, size in elsewhere.items() if name in self.digests} | here

    @contextmanager
    def _file(self, name: str) -> Iterator[Path]:
        """Yields a file of the result directory, or a copy of the one on shared storage, after
        comparing it with its digest."""
        assert self.dir is not None
        path = self.dir / name
        if self.stored is None or path.is_file():
            if name not in self._checked:
                self._compare(name, path, path)
            yield path
            return
        with tempfile.TemporaryDirectory(prefix="afflux-") as place:
            copy = Path(place) / name
            with suppress(FileNotFoundError):
                copy.write_bytes(self.stored.read(name))
            self._compare(name, copy, (self.stored / name).url)
            yield copy

    def _compare(self, name: str, path: Path, shown: Path | str) -> None:
        if name not in self.digests:
            return
        wanted, found = self.digests[name], file_digest(path)
        if found != wanted:
            what = (
                "is missing"
                if found is None
                else f"is not as it was written (SHA-256 {found[:12]}…, {SUMMARY} says {wanted[:12]}…)"
            )
            raise DamagedResult(f"{shown} {what}: restore it, or simulate again{self._again(name)}")
        self._checked.add(name)

    def _again(self, damaged: str) -> str:
        if self.stored:
            return ": run its batch again, which simulates damaged points"
        if damaged == SCENARIO:
            return ""
        again = shlex.join(["afflux", "run", f"{self.dir}/{SCENARIO}", "-o", f"{self.dir}-again"])
        return f" ({again})"

    @property
    def scenario(self) -> str | None:
        """The resolved scenario as TOML; `None` if nothing was written."""
        if self.dir is None or not (SCENARIO in self.digests or (self.dir / SCENARIO).is_file()):
            return None
        self.check(SCENARIO)
        return (self.dir / SCENARIO).read_text(encoding="utf-8")

    @property
    def kernels(self) -> dict[str, Any] | None:
        """Report on the kernels among the hosts (`kernels.json`); None if there were none."""
        if self._kernels is None and self.dir is not None and KERNELS in self.digests:
            with self._file(KERNELS) as file:
                self._kernels = read_object(file.read_bytes(), file)
        return self._kernels

    @property
    def kernel_failure(self) -> str | None:
        """Reason why a kernel among the hosts failed; None if none did."""
        return self.kernels["failure"] if self.kernels else None

    @property
    def ended_early(self) -> str | None:
        """Reason why the run ended before its traffic and before `until`; None if it ran to its
        end."""
        return self.summary["notes"][-1] if self.summary.get("early_end") else None

    def _named(self, column: str) -> Collection[int]:
        """Returns the numbers that a column of a table may contain: identifiers of flows, or
        numbers of hosts (none if hosts have no names)."""
        return (
            self.flows.column("id")
            if column == "flow"
            else range(len(self.summary.get("host_names", [])))
        )

    def table(self, name: str) -> Table:
        """Returns a table by name. Raises `LookupError` if it was not recorded."""
        if name not in self.recorded:
            of = "" if self.dir is None else f"{self.dir}: "
            option = _RECORDING.get(name)
            how = f": run again with --set {option}" if option else ""
            raise LookupError(f"{of}no table {name!r} (recorded: {', '.join(self.recorded)}){how}")
        if name not in self._tables:
            self._tables[name] = self._read(name)
        return self._tables[name]

    @property
    def flows(self) -> Table:
        """Table with one row per flow."""
        return self.table("flows")

    def starts(self) -> list[int | None]:
        """Returns the start of each flow in ns; None if it did not start. The table has also starts
        that were known beforehand and are later than the end of the run."""
        end = self.summary["simulated_ns"]
        return [
            None if start is None or start > end else start
            for start in self.flows.column("start_ns")
        ]

    @property
    def ports(self) -> Table:
        """Table with one row per port, queue and sampling interval."""
        return self.table("ports")

    @property
    def links(self) -> Table:
        """Table with one row per direction of a link."""
        return self.table("links")

    @property
    def jobs(self) -> Table:
        """Table with one row per job, phase and task."""
        return self.table("jobs")

    @property
    def paths(self) -> Table:
        """Table with one row per flow and path."""
        return self.table("paths")

    def host_name(self, host: int) -> str:
        """Returns the name of a host in the scenario: `host3` unless it has another name."""
        names: list[str] = self.summary.get("host_names", [])
        return names[host] if names else f"host{host}"

    def is_host(self, node: str) -> bool:
        """True if a node of a table is a host. Hosts without names are called host0, host1, …;
        switches never have such names."""
        names: list[str] = self.summary.get("host_names", [])
        return node in names if names else node.startswith("host") and node[4:].isdecimal()

    def explain(self) -> Explanation:
        """Splits the flows' completion times into parts. Raises `LookupError` if the parts were not
        recorded."""
        if "flows" not in self.recorded:
            raise LookupError(f"{self.dir} has no flows.parquet: there is nothing to explain")
        # The explanation copies the columns that it needs, so the table is not kept.
        flows = self._tables.get("flows")
        return Explanation(self._read("flows") if flows is None else flows, self.summary, self.dir)

    def report(self, path: str | os.PathLike[str], *, answer: str | None = None) -> Path:
        """Writes an HTML report of this result alone. `afflux.report.write` takes several
        results."""
        from .. import report

        return report.write([self], path, answer=answer)

    def _card(self) -> Card:
        return shown.of_result(self.summary, self.recorded, self.dir)


def _stored(dir: Path) -> Folder | None:
    try:
        return Folder((dir / STORED).read_text(encoding="utf-8").strip())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DamagedResult(f"{dir / STORED}: {error}") from None


def file_digest(path: Path) -> str | None:
    """Returns the SHA-256 of a file; `None` if the file does not exist."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


_SEALED = re.compile(rb'"summary_digest": "([0-9a-f]{64})"')


def _checked_summary(path: Path) -> dict[str, Any]:
    """Reads the summary, and compares it with the digest that it contains and with the keys that
    afflux writes."""
    data = path.read_bytes()
    if sealed := _SEALED.search(data):
        digest = sealed[1].decode()
        # The digest was computed with this field empty.
        found = hashlib.sha256(data.replace(sealed[0], b'"summary_digest": ""')).hexdigest()
        if found != digest:
            raise DamagedResult(
                f"{path} is not as it was written (SHA-256 {found[:12]}…, it says {digest[:12]}…): restore it, or simulate again"
            )
    summary = parsed(data, path)
    if not sealed and "digests" in summary:
        raise DamagedResult(
            f"{path} is not as it was written (it has lost its SHA-256): restore it, or simulate again"
        )
    return checked(migrated(summary, path), path)
