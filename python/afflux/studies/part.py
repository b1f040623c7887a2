"""Parts of a study. `afflux study NAME PART` runs one part alone: some points of the study, or a
separate series of runs."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..files import durable

#: Duration of a part that was never measured as a whole.
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Part:
    name: str
    question: str
    #: Duration on two cores. For a series, which runs one simulation at a time, on one core.
    duration: str = NOT_MEASURED


@dataclass(frozen=True)
class Slice(Part):
    """Points of the study that are selected by name. Their results are shared with the
    whole study.
    """

    has: Callable[[str], bool] = lambda name: True


def named(*patterns: str) -> Callable[[str], bool]:
    """Returns a function that selects names that match one of the patterns."""
    return lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)


@dataclass(frozen=True)
class Series(Part):
    """Runs that are not points of the study. Each run is a line in a file, from which tables are
    made.

    A run with a line is not simulated again, so an interrupted series continues. Lines that come
    with afflux count as well.
    """

    #: File with the lines that come with afflux. None: there are none.
    shipped: Path | None = None
    #: Runs of the series, given the file with lines: later runs may depend on earlier results.
    #: `True`: only one seed.
    wanted: Callable[[Path, bool], Iterable[Any]] = lambda file, quick: ()
    #: Returns the runs that have a line.
    there: Callable[[Path], Iterable[Any]] = lambda file: ()
    #: Simulates a run, appends its line, and returns a short description of the result.
    simulate: Callable[[Any, Path], str] = lambda run, file: ""
    #: Returns the tables of the file.
    tables: Callable[[Path], str] = lambda file: ""

    def missing(self, file: Path, quick: bool = False) -> list[Any]:
        there = set(self.there(file))
        return [run for run in dict.fromkeys(self.wanted(file, quick)) if run not in there]

    def count(self, quick: bool = False) -> int:
        """Returns the number of runs, given the lines that come with afflux."""
        return len(dict.fromkeys(self.wanted(self._none, quick)))

    def kept(self, quick: bool = False) -> int:
        """Returns the number of these runs that come with afflux."""
        return self.count(quick) - len(self.missing(self._none, quick))

    @property
    def _none(self) -> Path:
        """Returns the file with the lines that come with afflux, or a missing file."""
        return self.shipped or Path("/nonexistent/runs.csv")


@dataclass(frozen=True)
class Ended:
    """Result of a series."""

    part: str
    #: File with all lines.
    file: Path
    simulated: int
    runs: int
    tables: str

    def to_dict(self) -> dict[str, Any]:
        return {"part": self.part, "file": str(self.file), "simulated": self.simulated, "runs": self.runs, "tables": self.tables}


def run(series: Series, out: Path, *, quick: bool = False, fresh: bool = False, tell: Callable[[str], None] = print) -> Ended:
    """Simulates the runs without a line in `out/runs.csv`, one at a time. With `fresh` the file
    starts empty, otherwise with the lines that come with afflux."""
    file = out / (series.shipped.name if series.shipped else "runs.csv")
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: name a directory")
    if series.shipped and file.resolve() == series.shipped.resolve() and fresh:
        raise ValueError(f"{file} comes with afflux: choose another directory")
    durable.make_dir(out)
    if fresh:
        file.unlink(missing_ok=True)
    elif series.shipped and not file.exists():
        shutil.copyfile(series.shipped, file)
    simulated = 0
    while todo := series.missing(file, quick):
        for place, one in enumerate(todo, 1):
            tell(f"{place} of {len(todo)}: {series.simulate(one, file)}")
            simulated += 1
    runs = len(dict.fromkeys(series.wanted(file, quick)))
    tables = series.tables(file)
    if tables:
        durable.write_text(out / "tables.md", f"{tables}\n")
    return Ended(series.name, file, simulated, runs, tables)


def find(parts: Sequence[Part], name: str) -> Part | None:
    return next((part for part in parts if part.name == name), None)
