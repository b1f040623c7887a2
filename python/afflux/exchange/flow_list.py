"""Flow lists: `start_ns,src,dst,bytes` and optionally `id,class,deadline_ns,dscp,priority`, as CSV
or Parquet."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from .. import _core
from ..files import csvtext
from ..files.delivery import text_writer
from ..files.durable import Writer
from ..results.written import Table

#: Number of rows that are converted to text at a time.
_PIECE = 50_000


@dataclass
class FlowList:
    """Columns of equal length. Hosts are numbered from 0 in rack order, and written by name if they
    have names."""

    start_ns: list[int]
    src: list[int]
    dst: list[int]
    bytes: list[int]
    classes: list[str | None] | None = None
    deadlines_ns: list[int | None] | None = None
    ids: list[int] | None = None
    dscps: list[int | None] | None = None
    priorities: list[int | None] | None = None
    #: Names of hosts in the file, by number. None if the file has numbers.
    names: Mapping[int, str] | None = None

    def __len__(self) -> int:
        return len(self.start_ns)

    @classmethod
    def of_table(cls, table: _core.Table | Table) -> Self:
        """Makes a flow list from an Arrow table with these columns. A column of class or deadline
        without any value is left out."""

        def optional(name: str) -> list | None:
            values = table.column(name) if name in table else []
            return values if any(value is not None for value in values) else None

        start, src, dst, bytes = (
            table.column(name) for name in ("start_ns", "src", "dst", "bytes")
        )
        flows = cls(start, src, dst, bytes)
        flows.classes, flows.deadlines_ns, flows.ids = (
            optional("class"),
            optional("deadline_ns"),
            optional("id"),
        )
        # Columns of zeros have no information.
        flows.dscps, flows.priorities = (
            values if values and any(values) else None
            for values in (optional("dscp"), optional("priority"))
        )
        return flows

    def called(self, names: Mapping[int, str] | None) -> "FlowList":
        """Returns the flow list with these host names, if they are not merely the numbers."""
        own = names is not None and any(name != f"host{number}" for number, name in names.items())
        return replace(self, names=names if own else None)

    def sorted(self) -> "FlowList":
        """Returns the flows sorted by start. Flows with equal start keep their order."""
        order = sorted(range(len(self)), key=self.start_ns.__getitem__)
        return self.chosen(order)

    def chosen(self, rows: list[int]) -> "FlowList":
        def of(column: list | None) -> list | None:
            return None if column is None else [column[row] for row in rows]

        changed: dict[str, Any] = {
            field.name: of(getattr(self, field.name))
            for field in fields(self)
            if field.name != "names"
        }
        return replace(self, **changed)

    def hosts(self) -> int:
        """Returns the smallest number of hosts that the flows need."""
        return max((max(self.src, default=-1), max(self.dst, default=-1))) + 1

    def _ends(self) -> tuple[list[int] | list[str], list[int] | list[str]]:
        """Returns sources and destinations as they are written."""
        if self.names is None:
            return self.src, self.dst
        names = self.names
        return [names[host] for host in self.src], [names[host] for host in self.dst]

    def writer(self, path: Path) -> Writer:
        """Returns the writer for a file, by the ending of its name: `.csv`, `.gz`, `.xz` or
        `.parquet`. Raises `ValueError` for another ending."""
        ending = path.suffix.lower()
        if ending not in (".csv", ".gz", ".xz", ".parquet"):
            found = f"ends with {path.suffix}" if path.suffix else "has no ending"
            raise ValueError(
                f"{path}: the name of the flow list {found}: write .csv, .csv.gz, .csv.xz or .parquet"
            )
        if ending == ".parquet":
            src, dst = self._ends()
            table = _core.flow_table(
                self.start_ns,
                src,
                dst,
                self.bytes,
                self.classes,
                self.deadlines_ns,
                self.ids,
                self.dscps,
                self.priorities,
            )
            return lambda partial: _core.write_parquet(table, partial)
        return text_writer(path, self.csv())

    def csv(self) -> Iterator[str]:
        """Yields pieces of the CSV form."""
        src, dst = self._ends()
        columns: dict[str, list] = {
            "start_ns": self.start_ns,
            "src": src,
            "dst": dst,
            "bytes": self.bytes,
        }
        if self.ids is not None:
            columns = {"id": self.ids, **columns}
        optional = {
            "class": self.classes,
            "deadline_ns": self.deadlines_ns,
            "dscp": self.dscps,
            "priority": self.priorities,
        }
        columns |= {name: values for name, values in optional.items() if values is not None}
        yield csvtext.lines([tuple(columns)])
        for at in range(0, len(self), _PIECE):
            yield csvtext.lines(
                zip(*(column[at : at + _PIECE] for column in columns.values()), strict=True)
            )
