"""Parts of a study, each of which `afflux study NAME PART` runs alone: some of its points, or a series of runs of its own."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..files import durable

#: The duration of what nobody has measured as a whole.
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Part:
    name: str
    question: str
    #: On two cores; of a series, which runs one simulation at a time, on one.
    duration: str = NOT_MEASURED


@dataclass(frozen=True)
class Slice(Part):
    """The points of the study whose names fit. Their results are those of the whole study."""

    has: Callable[[str], bool] = lambda name: True


def named(*patterns: str) -> Callable[[str], bool]:
    """Chooses the points whose names fit one of the patterns."""
    return lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)


@dataclass(frozen=True)
class Series(Part):
    """Runs that are not points of the study: a line of each is kept in a file, from which tables are made.

    A run that has its line is not simulated again, so a series that was cut off continues. Lines that come with afflux count as well.
    """

    #: The lines that come with afflux. None: the series has none.
    shipped: Path | None = None
    #: The runs that the series consists of, by the lines that are in the file: which ones it wants may depend on those before. `True`: only one seed.
    wanted: Callable[[Path, bool], Iterable[Any]] = lambda file, quick: ()
    #: The runs that have a line.
    there: Callable[[Path], Iterable[Any]] = lambda file: ()
    #: Simulates a run, appends its line, and says in a few words what came out.
    simulate: Callable[[Any, Path], str] = lambda run, file: ""
    #: The tables of the file.
    tables: Callable[[Path], str] = lambda file: ""

    def missing(self, file: Path, quick: bool = False) -> list[Any]:
        there = set(self.there(file))
        return [run for run in dict.fromkeys(self.wanted(file, quick)) if run not in there]

    def count(self, quick: bool = False) -> int:
        """Number of runs, counted with the lines that come with afflux."""
        return len(dict.fromkeys(self.wanted(self._none, quick)))

    def kept(self, quick: bool = False) -> int:
        """How many of them come with afflux."""
        return self.count(quick) - len(self.missing(self._none, quick))

    @property
    def _none(self) -> Path:
        """A file to read what comes with afflux from."""
        return self.shipped or Path("/nonexistent/runs.csv")


@dataclass(frozen=True)
class Ended:
    """What a series gave."""

    part: str
    #: Where all lines are.
    file: Path
    simulated: int
    runs: int
    tables: str

    def to_dict(self) -> dict[str, Any]:
        return {"part": self.part, "file": str(self.file), "simulated": self.simulated, "runs": self.runs, "tables": self.tables}


def run(series: Series, out: Path, *, quick: bool = False, fresh: bool = False, tell: Callable[[str], None] = print) -> Ended:
    """Simulates the runs without a line in `out/runs.csv`, one at a time. `fresh` begins with an empty file, else it begins with what comes with afflux."""
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
