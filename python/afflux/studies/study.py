"""Interface of a study, and the function that runs it."""

import copy
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from .. import batch, spelling
from ..batch import Outcome, Point, Watch
from ..comparison.compare import Comparison
from ..executors import Executor, opened
from ..files import durable
from ..metrics import Metric
from ..results.designs import Designs
from ..words import Marked, Words, join, known, said, say
from . import assumption
from .assumption import Assumed, Assumption
from .part import NOT_MEASURED, Part, Slice, find

if TYPE_CHECKING:
    from ..report import Lines, Published, Table, Told


#: Roles of a reference number, each a column of the tables. `fitted`: a parameter was fitted to the
#: number. `judged`: the source has it, and ours is judged by it. `computed`: a formula gives it.
ROLES = ("fitted", "judged", "computed")


@dataclass(frozen=True)
class Row:
    """A number of the source, or of a formula, and the simulated number."""

    what: str
    #: Number of the source or of a formula. None if there is none.
    theirs: float | None
    #: Simulated number. None if its points failed.
    ours: float | None
    #: 95 % interval of `ours`. None with one seed.
    low: float | None = None
    high: float | None = None
    #: False if a parameter was fitted to this number.
    predicted: bool = True
    #: Prediction of the simplest model that knows the source's other numbers. None without such a
    #: model.
    null: float | None = None
    #: True if the source's number is a lower bound.
    at_least: bool = False
    #: True if `theirs` follows from a formula, such as a window over the round trip, and the source
    #: has no such number.
    computed: bool = False

    @property
    def role(self) -> str:
        """Returns the role of `theirs`, one of `ROLES`."""
        return "fitted" if not self.predicted else "computed" if self.computed else "judged"


@dataclass(frozen=True)
class Check:
    """A statement that is true or false: `value` compared with `bar`."""

    name: str
    holds: bool
    value: Any
    bar: Any


class Study(ABC):
    """A published measurement, and its simulation."""

    #: Name on the command line, in output directories, and of the folder of the study.
    name: str
    #: Title in the list of studies.
    title: str
    #: The question in one sentence, as in docs/studies.md.
    question: str = ""
    #: The answer in one sentence: the first sentence of the study's page.
    finding: str = "see its page"
    #: Time of the whole study on two cores.
    duration: str = NOT_MEASURED
    #: Parts that `afflux study NAME PART` runs alone.
    parts: Sequence[Part] = ()
    #: Chosen alternatives of the study's assumptions. Empty: the defaults.
    assumed: Sequence[Assumed] = ()
    #: Directory in which `prepare` puts files that points read. `carry_out` sets it to the
    #: directory of the results.
    place: Path | None = None

    def of_files(self, scenario: Path | None, goals: Path | None) -> "Study":
        """Returns the study with the user's own files. Raises `ValueError` if its scenario cannot
        be replaced."""
        raise ValueError(f"the study {self.name} has no scenario of your own: leave out --scenario and --goals (afflux study standard takes them)")

    @property
    def folder(self) -> str:
        """Name of the study's directory in `out`."""
        return f"study-{self.name}"

    @property
    def assumptions(self) -> Sequence[Assumption]:
        """Assumptions of the study and their alternatives, from `assumptions.toml` in its
        folder.
        """
        return assumption.read(Path(__file__).parent / self.name)

    def assuming(self, options: Iterable[str]) -> Self:
        """Returns the study under alternatives, each given as `NAME=VALUE`. Raises `ValueError` or
        `LookupError` for unknown ones."""
        made = copy.copy(self)
        made.assumed = assumption.chosen(self.name, self.assumptions, options)
        return made

    def part(self, name: str) -> Part:
        """Returns a part by name. Raises `LookupError` if it does not exist."""
        if found := find(self.parts, name):
            return found
        raise LookupError(spelling.unknown(f"part of the study {self.name}", name, [part.name for part in self.parts]))

    def simulated(self, quick: bool, part: Slice | None = None) -> list[Point]:
        """Returns the points of the whole study or of a part, under the chosen assumptions."""
        found = [point for point in self.points(quick) if part is None or part.has(point.name)]
        for one in self.assumed:
            found = [one.of(point) for point in found]
        return found

    @abstractmethod
    def points(self, quick: bool) -> Sequence[Point]:
        """Returns the points to simulate. With `quick`, a part that takes minutes. A point that is
        in both is simulated once."""

    def prepare(self, points: Sequence[Point]) -> Sequence[Path]:
        """Writes files below `place` that these points read, and returns their paths. Existing
        files are kept."""
        return []

    @abstractmethod
    def table(self, designs: Designs) -> Sequence[Row]:
        """Returns simulated numbers, and those of the source or of a formula. `designs` lacks
        designs that `quick` leaves out or whose points all failed."""

    def checks(self, designs: Designs) -> Sequence[Check]:
        """Returns the findings of the source as checks."""
        return []

    def answer(self, designs: Designs) -> str | None:
        """Returns the result in a sentence or two. None: no report is written."""
        return None

    def told(self, designs: Designs) -> "Told | None":
        """Returns the answer in the parts of the report's first screen. None: that of `answer`."""
        return None

    def overview(self, designs: Designs) -> "Table | None":
        """Returns a table that compares the designs, for a study without published numbers. It
        replaces the rows, which are then only in `study.json`."""
        return None

    def measures(self, designs: Designs) -> Sequence[Metric] | None:
        """Returns the measures of the report, starting with that of its first figure. None: the
        report chooses them. Designs of `shown` have them."""
        return None

    def against(self, designs: Designs) -> Comparison | None:
        """Returns the comparison whose verdicts the report shows, for a study without published
        numbers. None: all designs are compared with the first one."""
        return None

    def shown(self, designs: Designs) -> Designs:
        """Returns the designs whose series the report shows."""
        return designs

    def figures(self, designs: Designs) -> Sequence["Lines"]:
        """Returns line charts for the report, above its table."""
        return []

    def plots(self, designs: Designs, dir: Path) -> Sequence[Path]:
        """Writes figures into `dir` and returns their paths."""
        return []


@dataclass(frozen=True)
class Verdict:
    """Results of a study."""

    study: str
    rows: tuple[Row, ...]
    checks: tuple[Check, ...]
    answer: str | None
    outcome: Outcome
    #: Files written next to `study.json`.
    written: tuple[Path, ...]
    overview: "Table | None" = None
    part: str | None = None
    assumed: tuple[Assumed, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `--json`. The null model and lower bounds are only in the
        tables.
        """
        rows = [
            {"what": row.what}
            | {role: row.theirs if role == row.role else None for role in ROLES}
            | {"ours": row.ours, "low": row.low, "high": row.high, "predicted": row.predicted}
            for row in self.rows
        ]
        ran = ({"part": self.part} if self.part else {}) | ({"assumed": {one.assumption.name: one.value for one in self.assumed}} if self.assumed else {})
        return {"study": self.study} | ran | {"rows": rows, "checks": [asdict(check) for check in self.checks]}


def place(study: Study, out: Path | None = None) -> Path:
    """Returns the directory of a study's results. Results under an alternative are next to those of
    the default, so that they never mix."""
    assumed = ",".join(map(str, study.assumed))
    if out is None:
        return Path("out") / ",".join(filter(None, (study.folder, assumed)))
    return out / assumed if assumed else out


def carry_out(
    study: Study,
    *,
    part: Slice | None = None,
    quick: bool = False,
    out: Path | None = None,
    executor: str | Executor = "local",
    address: str | None = None,
    storage: str | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
) -> Verdict:
    """Simulates the points without a result, and evaluates them. All files are in `out` (default
    `out/study-<name>`), the verdict in `study.json`.

    A part shares its points with the whole study. Its evaluation is in a directory with the part's
    name.
    """
    out = place(study, out)
    of_points = batch.home(out)
    study.place = out
    points = study.simulated(quick, part)
    if not points:
        raise ValueError(f"no point of {part.name if part else study.name} is in the quick part: leave out --quick")
    study.prepare(points)
    with opened(executor, jobs=jobs, address=address, storage=storage) as chosen:
        outcome = batch.run(points, of_points, fresh=fresh, watch=watch, executor=chosen)
    to = out / part.name if part else out
    durable.make_dir(to)
    designs = outcome.designs if outcome.results else Designs([])
    rows, checks = (tuple(study.table(designs)), tuple(study.checks(designs))) if designs else ((), ())
    answer = study.answer(designs) if designs else None
    overview = study.overview(designs) if designs else None
    written = list(study.plots(designs, to)) if designs else []
    assumed = assumption.told(study.assumed) if study.assumed else None
    if answer is not None:
        from .. import report

        told = study.told(designs)
        if assumed:
            answer, told = _under(assumed, answer), told and replace(told, head=join([assumed, told.head]))
        title = said(f"study.title.{study.name}", study.title)
        page = report.write(
            study.shown(designs),
            to / "report.html",
            answer=told or answer,
            question=known(f"study.question.{study.name}"),
            rows=[] if overview else _published(rows),
            table=overview,
            metrics=study.measures(designs),
            against=study.against(designs),
            checks=[report.Held(check.name, check.holds, check.value, check.bar) for check in checks],
            figures=study.figures(designs),
            title=title,
        )
        written.append(page)
    elif assumed:
        answer = say("study.assumed.unanswered", assuming=assumed)
    made = f"{study.name}{f' {part.name}' if part else ''}{''.join(f' --assume {one}' for one in study.assumed)}"
    if rows:
        written.append(_page(study, made, rows, checks, overview, to / "results.md"))
    verdict = Verdict(study.name, rows, checks, answer, outcome, tuple(written), overview, part.name if part else None, tuple(study.assumed))
    durable.write_text(to / "study.json", json.dumps(verdict.to_dict(), indent=1, ensure_ascii=False) + "\n")
    return verdict


def _under(assumed: Words, answer: str) -> Words:
    """Returns an answer whose first sentence names the assumption."""
    parts = answer.parts if isinstance(answer, Marked) else ((answer if isinstance(answer, Words) else Words(answer, answer), True),)
    return Marked.of([(join([assumed, parts[0][0]]), parts[0][1]), *parts[1:]])


#: Number of cores on which the durations that come with afflux were measured.
MEASURED_ON = 2


def here(duration: str, cores: int) -> str:
    """Converts a duration that was measured on two cores to `cores` cores by division, because
    points do not wait for each other."""
    found = re.fullmatch(r"about ([\d.]+) (min|h)", duration)
    if found is None or cores == MEASURED_ON:
        return duration
    minutes = float(found[1]) * (60 if found[2] == "h" else 1) * MEASURED_ON / cores
    return f"about {round(minutes / 60, 1):g} h" if minutes >= 90 else f"about {max(round(minutes), 1)} min"


def _published(rows: Sequence[Row]) -> list["Published"]:
    from ..report import Published

    return [Published(row.what, row.theirs, row.ours, row.low, row.high, row.at_least, row.predicted, row.null, row.computed) for row in rows]


def _page(study: Study, made: str, rows: Sequence[Row], checks: Sequence[Check], overview: "Table | None", to: Path) -> Path:
    """Writes the tables as a page that can be stored next to the README of the study."""

    def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
        return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *body))

    numbers = table(overview.head, overview.rows) if overview else table(("", *HEAD[1:]), [cells(row) for row in rows])
    held = table(("", "holds", "value", "bar"), [(c.name, "yes" if c.holds else "**no**", number(c.value), number(c.bar)) for c in checks])
    return durable.write_text(to, f"# {study.title}\n\nMade by `afflux study {made}`.\n\n{numbers}\n\n{held}\n")


#: Column heads of the table of rows.
HEAD = ("", *ROLES, "ours", "interval", "error", "null model")


def cells(row: Row) -> tuple[str, ...]:
    """Returns the cells of a row."""
    error = _off(row.ours / row.theirs) if row.ours is not None and row.theirs and not row.at_least else "–"
    interval = f"{number(row.low)} – {number(row.high)}" if row.low is not None and row.high is not None else "–"
    null = f"{number(row.null)} ({_off(row.null / row.theirs)})" if row.null is not None and row.theirs else "–"
    shown = f"≥ {number(row.theirs)}" if row.at_least else number(row.theirs)
    if row.theirs is None and not row.predicted:
        # A parameter was fitted to a statement.
        shown = "yes"
    return row.what, *(shown if role == row.role else "–" for role in ROLES), number(row.ours), interval, error, null


def _off(ratio: float) -> str:
    """Returns in percent how far a ratio is from 1. Never -0."""
    return f"{round(100 * (ratio - 1), 1) or 0.0:+.1f} %"


def number(value: Any) -> str:
    from ..words.text import digits

    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else ("-" if value < 0 else "") + digits(abs(value))
