"""Flow lists: `start_ns,src,dst,bytes` and perhaps `id,class,deadline_ns`, as CSV or Parquet."""

import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from .. import _core
from .files import Writer

#: Rows that are turned into text at a time.
_PIECE = 50_000


@dataclass
class FlowList:
    """Columns of one length; hosts are numbered from 0 in rack order."""

    start_ns: list[int]
    src: list[int]
    dst: list[int]
    bytes: list[int]
    classes: list[str | None] | None = None
    deadlines_ns: list[int | None] | None = None
    ids: list[int] | None = None

    def __len__(self) -> int:
        return len(self.start_ns)

    @classmethod
    def of_table(cls, table: _core.Table) -> Self:
        """From an Arrow table with these columns. Rows without any class or deadline have no such column."""

        def optional(name: str) -> list | None:
            values = table.column(name) if name in table else []
            return values if any(value is not None for value in values) else None

        flows = cls(*(table.column(name) for name in ("start_ns", "src", "dst", "bytes")))
        flows.classes, flows.deadlines_ns, flows.ids = optional("class"), optional("deadline_ns"), optional("id")
        return flows

    def sorted(self) -> "FlowList":
        """By start, then as they stand."""
        order = sorted(range(len(self)), key=self.start_ns.__getitem__)
        return self.chosen(order)

    def chosen(self, rows: list[int]) -> "FlowList":
        def of(column: list | None) -> list | None:
            return None if column is None else [column[row] for row in rows]

        columns = (self.start_ns, self.src, self.dst, self.bytes, self.classes, self.deadlines_ns, self.ids)
        return FlowList(*map(of, columns))  # type: ignore[arg-type]

    def hosts(self) -> int:
        """As many as there must be."""
        return max((max(self.src, default=-1), max(self.dst, default=-1))) + 1

    def writer(self, path: Path) -> Writer:
        """For a file whose name says what it is: `.parquet`, `.csv.gz`, else CSV."""
        if path.suffix == ".parquet":
            table = _core.flow_table(self.start_ns, self.src, self.dst, self.bytes, self.classes, self.deadlines_ns, self.ids)
            return lambda partial: _core.write_parquet(table, partial)
        if path.suffix == ".gz":
            return self._write_compressed
        return self._write

    def csv(self) -> Iterator[str]:
        """Pieces of the CSV form."""
        columns: dict[str, list] = {"start_ns": self.start_ns, "src": self.src, "dst": self.dst, "bytes": self.bytes}
        if self.ids is not None:
            columns = {"id": self.ids, **columns}
        if self.classes is not None:
            columns["class"] = ["" if name is None else name for name in self.classes]
        if self.deadlines_ns is not None:
            columns["deadline_ns"] = ["" if deadline is None else deadline for deadline in self.deadlines_ns]
        yield ",".join(columns) + "\n"
        for at in range(0, len(self), _PIECE):
            rows = zip(*(column[at : at + _PIECE] for column in columns.values()), strict=True)
            yield "".join(",".join(map(str, row)) + "\n" for row in rows)

    def _write(self, path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(self.csv())

    def _write_compressed(self, path: Path) -> None:
        # Without the time of writing: the same flows are the same bytes.
        with (
            path.open("wb") as raw,
            gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as zipped,
            io.TextIOWrapper(zipped, "utf-8", newline="") as file,
        ):
            file.writelines(self.csv())
