"""Results: of a run just made, or read from a directory."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import _core
from .explain import Explanation

TABLES = ("flows", "ports", "links", "jobs", "paths", "imbalance", "reorder", "round_trips", "gaps", "waits")


class Result:
    """`summary` as a dict, and tables over Arrow's PyCapsule interface: `polars.DataFrame(result.flows)`."""

    summary: dict[str, Any]
    #: The result directory; `None` if nothing was written.
    dir: Path | None
    #: Names of the tables there are.
    recorded: list[str]

    def __init__(self, summary: dict[str, Any], dir: Path | None, recorded: list[str], read: Callable[[str], _core.Table]) -> None:
        self.summary, self.dir, self.recorded, self._read = summary, dir, recorded, read
        self._tables: dict[str, _core.Table] = {}

    @classmethod
    def of_run(cls, run: _core.Result) -> "Result":
        return cls(json.loads(run.summary), Path(run.dir) if run.dir else None, run.recorded, run.table)

    @classmethod
    def open(cls, dir: str | os.PathLike[str]) -> "Result":
        """Reads a result directory; tables are read when asked for. Raises `FileNotFoundError` if it is none."""
        path = Path(dir)
        try:
            summary = json.loads((path / "summary.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            what = "has no summary.json" if path.is_dir() else "is no directory" if path.exists() else "does not exist"
            raise FileNotFoundError(f"{path} is not a result directory: it {what}") from None
        recorded = [name for name in TABLES if (path / f"{name}.parquet").is_file()]
        return cls(summary, path, recorded, lambda name: _core.read_parquet(path / f"{name}.parquet"))

    def table(self, name: str) -> _core.Table:
        """A table by name. Raises `LookupError` if it was not recorded."""
        if name not in self.recorded:
            raise LookupError(f"no table {name!r}: there are {', '.join(self.recorded)}; [record] in the scenario asks for others")
        if name not in self._tables:
            self._tables[name] = self._read(name)
        return self._tables[name]

    @property
    def flows(self) -> _core.Table:
        """One row per flow."""
        return self.table("flows")

    @property
    def ports(self) -> _core.Table:
        """One row per port, queue and sampling interval."""
        return self.table("ports")

    @property
    def links(self) -> _core.Table:
        """One row per direction of a link."""
        return self.table("links")

    @property
    def jobs(self) -> _core.Table:
        """One row per job, phase and task."""
        return self.table("jobs")

    @property
    def paths(self) -> _core.Table:
        """One row per flow and path."""
        return self.table("paths")

    def host_name(self, host: int) -> str:
        """What a host is called in the scenario: `host3` unless it has a name."""
        names: list[str] = self.summary.get("host_names", [])
        return names[host] if names else f"host{host}"

    def is_host(self, node: str) -> bool:
        """Of a node's name in tables. Hosts without names are called host0, host1, …; no switch is."""
        names: list[str] = self.summary.get("host_names", [])
        return node in names if names else node.startswith("host") and node[4:].isdecimal()

    def explain(self) -> Explanation:
        """Where the flows' time went. Raises `LookupError` if it was not recorded."""
        # The table is not kept: the explanation has what it needs of it.
        flows = self._tables.get("flows")
        return Explanation(self._read("flows") if flows is None else flows, self.summary)

    def report(self, path: str | os.PathLike[str], *, answer: str | None = None) -> Path:
        """Writes an HTML report of this result alone; `afflux.report.write` takes several."""
        from . import report

        return report.write([self], path, answer=answer)

    def __repr__(self) -> str:
        return f"<Result {self.summary['name']!r} seed {self.summary['seed']}: {', '.join(self.recorded)}>"
