"""Parts of a study, each of which `afflux study NAME PART` runs alone: some of its points, or a
series of separate runs."""

import multiprocessing
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .. import _core
from ..files import durable

#: Duration of a part that was not measured as a whole.
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Part:
    name: str
    question: str
    #: Duration of a slice on two cores, and of a series on one.
    duration: str = NOT_MEASURED


@dataclass(frozen=True)
class Slice(Part):
    """The points of the study with certain names. Their results are shared with the whole study."""

    has: Callable[[str], bool] = lambda name: True


def named(*patterns: str) -> Callable[[str], bool]:
    """Selects the points whose names match one of the patterns."""
    return lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)


@dataclass(frozen=True)
class Series(Part):
    """Runs that are not points of the study. Each has a line in a file, from which tables are made.

    A run with a line is not simulated again, so a series that was interrupted continues. Lines that
    are shipped with afflux count too.
    """

    #: File with the lines that are shipped with afflux; None if there is none.
    shipped: Path | None = None
    #: Returns the runs of the series, given the file: later runs may depend on its lines. With
    #: `True`, only runs of one seed.
    wanted: Callable[[Path, bool], Iterable[Any]] = lambda file, quick: ()
    #: Returns the runs that have a line.
    there: Callable[[Path], Iterable[Any]] = lambda file: ()
    #: Simulates a run, appends its line, and returns the outcome in a few words.
    simulate: Callable[[Any, Path], str] = lambda run, file: ""
    #: Returns the tables made from the file.
    tables: Callable[[Path], str] = lambda file: ""

    def missing(self, file: Path, quick: bool = False) -> list[Any]:
        there = set(self.there(file))
        return [run for run in dict.fromkeys(self.wanted(file, quick)) if run not in there]

    def count(self, quick: bool = False) -> int:
        """Returns the number of runs, given the lines that are shipped with afflux."""
        return len(dict.fromkeys(self.wanted(self._none, quick)))

    def kept(self, quick: bool = False) -> int:
        """Returns how many of these runs are shipped with afflux."""
        return self.count(quick) - len(self.missing(self._none, quick))

    @property
    def _none(self) -> Path:
        """File from which the shipped lines are read."""
        return self.shipped or Path("/nonexistent/runs.csv")


@dataclass(frozen=True)
class Ended:
    """Outcome of a series."""

    part: str
    #: File with all lines.
    file: Path
    simulated: int
    runs: int
    tables: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "part": self.part,
            "file": str(self.file),
            "simulated": self.simulated,
            "runs": self.runs,
            "tables": self.tables,
        }


def run(
    series: Series,
    out: Path,
    *,
    quick: bool = False,
    fresh: bool = False,
    jobs: int = 1,
    tell: Callable[[str], None] = print,
) -> Ended:
    """Simulates the runs without a line in `out/runs.csv`, `jobs` at a time. Starts with the shipped
    lines, or with an empty file if `fresh`. The lines do not depend on `jobs`."""
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
        before = len(list(series.there(file)))
        for place, said in enumerate(_simulated(series, todo, file, jobs), 1):
            tell(f"{place} of {len(todo)}: {said}")
            simulated += 1
        _arrange(series, file, before, todo)
    runs = len(dict.fromkeys(series.wanted(file, quick)))
    tables = series.tables(file)
    if tables:
        durable.write_text(out / "tables.md", f"{tables}\n")
    return Ended(series.name, file, simulated, runs, tables)


#: Series of the processes that `_simulated` forks. A series has functions that cannot be sent to
#: another process.
_forked: Series | None = None


def _simulated(series: Series, todo: Sequence[Any], file: Path, jobs: int) -> Iterator[str]:
    """Simulates the runs and yields their outcomes, with several processes in the order in which
    they end."""
    global _forked
    jobs = min(jobs, len(todo))
    if jobs == 1:
        yield from (series.simulate(one, file) for one in todo)
        return
    _forked = series
    # A Ctrl-C of the terminal ends the processes, too, without a traceback.
    with ProcessPoolExecutor(
        jobs, multiprocessing.get_context("fork"), signal.signal, (signal.SIGINT, signal.SIG_DFL)
    ) as pool:
        try:
            for ended in as_completed([pool.submit(_simulate, one, file) for one in todo]):
                yield ended.result()
        except BaseException as error:
            for process in multiprocessing.active_children():
                process.terminate()
            if isinstance(error, BrokenProcessPool):
                raise _core.Error(
                    "a process of the series was killed, as for lack of memory: the same command continues, and --jobs 1 needs least"
                ) from None
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            _forked = None


def _simulate(one: Any, file: Path) -> str:
    assert _forked is not None
    return _forked.simulate(one, file)


def _arrange(series: Series, file: Path, before: int, todo: Sequence[Any]) -> None:
    """Brings the lines after the first `before` into the order of `todo`, which is that of one
    process."""
    places = {run: place for place, run in enumerate(todo)}
    runs = list(series.there(file))[before:]
    if runs == sorted(runs, key=places.__getitem__):
        return
    text = file.read_text(encoding="utf-8").splitlines(keepends=True)
    kept, new = text[: -len(runs)], text[-len(runs) :]
    ordered = sorted(zip(runs, new, strict=True), key=lambda each: places[each[0]])
    durable.write_text(file, "".join([*kept, *(line for _, line in ordered)]))


def find(parts: Sequence[Part], name: str) -> Part | None:
    return next((part for part in parts if part.name == name), None)
