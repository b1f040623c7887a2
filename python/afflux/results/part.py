"""A selection of rows and columns of a table."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Part:
    """Rows by number, and columns by name. The columns of the whole table are cut only when they
    are used."""

    rows: range
    columns: tuple[str, ...]

    def of_list(self, values: list[Any]) -> list[Any]:
        """Returns these rows of a column."""
        if self.rows.step == 1:
            return values[self.rows.start : self.rows.stop]
        return [values[row] for row in self.rows]

    def of_frame(self, whole: Any, take: str) -> Any:
        """Returns this part of a table of pyarrow or a frame of polars. `take` is its method that
        picks rows by number."""
        columns = whole.select(list(self.columns))
        return (
            columns.slice(self.rows.start, len(self.rows))
            if self.rows.step == 1
            else getattr(columns, take)(list(self.rows))
        )
