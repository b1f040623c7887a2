"""Defines the interface of a study, and runs studies."""

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
    from ..report import Lines, PageAnswer, Published, Table


#: Roles of a number of the source: a parameter was fitted to it, the simulated number is judged by
#: it, or it comes from a formula. Each is a column of the tables.
ROLES = ("fitted", "judged", "computed")


@dataclass(frozen=True)
class Row:
    """A number of the source, or of a formula, and the simulated number."""

    what: str
    #: Number of the source; None if there is none.
    theirs: float | None
    #: Simulated number; None if its points failed.
    ours: float | None
    #: 95 % interval of `ours`; None with one seed.
    low: float | None = None
    high: float | None = None
    #: False if a parameter was fitted to this number.
    predicted: bool = True
    #: Prediction of the simplest model that knows the source's other numbers; None without such a
    #: model.
    null: float | None = None
    #: True if the source's number is a lower bound.
    at_least: bool = False
    #: True if `theirs` follows from a formula, such as a window over the round-trip time, and not
    #: from the source.
    computed: bool = False

    @property
    def role(self) -> str:
        """Role of `theirs`: one of `ROLES`."""
        return "fitted" if not self.predicted else "computed" if self.computed else "judged"


@dataclass(frozen=True)
class Check:
    """A statement that holds or not: `value` compared with `bar`."""

    name: str
    holds: bool
    value: Any
    bar: Any


class Study(ABC):
    """A published measurement, and how it is simulated."""

    #: Name on the command line, in output directories, and of the folder of the study.
    name: str
    #: Title in the list of studies.
    title: str
    #: Question in one sentence, as in docs/studies.md.
    question: str = ""
    #: Answer in one sentence: the first one of the study's page.
    finding: str = "see its page"
    #: Duration of the whole study on two cores.
    duration: str = NOT_MEASURED
    #: Parts that `afflux study NAME PART` runs alone.
    parts: Sequence[Part] = ()
    #: Alternatives of the study's assumptions that are in effect; empty for the defaults.
    assumed: Sequence[Assumed] = ()
    #: Directory in which `prepare` writes files for points. `carry_out` sets it to the directory of
    #: the results.
    place: Path | None = None

    def of_files(self, scenario: Path | None, goals: Path | None) -> "Study":
        """Returns the study with the user's own files. Raises `ValueError` if its scenario cannot
        be replaced."""
        raise ValueError(
            f"the study {self.name} has no scenario of your own: leave out --scenario and --goals (afflux study standard takes them)"
        )

    @property
    def folder(self) -> str:
        """Name of the study's directory in `out`."""
        return f"study-{self.name}"

    @property
    def assumptions(self) -> Sequence[Assumption]:
        """Assumptions that can be changed, from `assumptions.toml` in the study's folder."""
        return assumption.read(Path(__file__).parent / self.name)

    def assuming(self, options: Iterable[str]) -> Self:
        """Returns the study under alternatives, each as `NAME=VALUE`. Raises `ValueError` or
        `LookupError` for alternatives that it does not have."""
        made = copy.copy(self)
        made.assumed = assumption.chosen(self.name, self.assumptions, options)
        return made

    def part(self, name: str) -> Part:
        """Returns a part by name. Raises `LookupError` if it does not exist."""
        if found := find(self.parts, name):
            return found
        raise LookupError(
            spelling.unknown(
                f"part of the study {self.name}", name, [part.name for part in self.parts]
            )
        )

    def simulated(self, quick: bool, part: Slice | None = None) -> list[Point]:
        """Returns the points of the whole study or of a part, under the chosen assumptions."""
        found = [point for point in self.points(quick) if part is None or part.has(point.name)]
        for one in self.assumed:
            found = [one.of(point) for point in found]
        return found

    @abstractmethod
    def points(self, quick: bool) -> Sequence[Point]:
        """Returns the points to simulate; with `quick`, a subset that takes minutes. A point of
        both is simulated once."""

    def prepare(self, points: Sequence[Point]) -> Sequence[Path]:
        """Writes files below `place` that these points read, and returns their paths. Existing
        files are kept."""
        return []

    @abstractmethod
    def table(self, designs: Designs) -> Sequence[Row]:
        """Returns the simulated numbers, and those of the source or of a formula. `designs` lacks a
        design that `quick` leaves out or whose points all failed."""

    def checks(self, designs: Designs) -> Sequence[Check]:
        """Returns the findings of the source as checks."""
        return []

    def answer(self, designs: Designs) -> str | None:
        """Returns the result in a sentence or two; None if no report is to be written."""
        return None

    def page_answer(self, designs: Designs) -> "PageAnswer | None":
        """Returns the answer in the parts of the report's first screen; None to use `answer`."""
        return None

    def overview(self, designs: Designs) -> Sequence["Table"]:
        """Returns tables of the designs, for a study without published numbers. They replace the
        rows, which are then only in `study.json`."""
        return []

    def measures(self, designs: Designs) -> Sequence[Metric] | None:
        """Returns the metrics of the report, with that of the first figure first; None to let the
        report choose. Designs of `shown` have them."""
        return None

    def against(self, designs: Designs) -> Comparison | None:
        """Returns the comparison whose verdicts the report shows, for a study without published
        numbers; None for a comparison with the first design."""
        return None

    def shown(self, designs: Designs) -> Designs:
        """Returns the designs whose time series the report shows."""
        return designs

    def figures(self, designs: Designs) -> Sequence["Lines"]:
        """Returns line charts of the report, which are shown above its table."""
        return []

    def plots(self, designs: Designs, dir: Path) -> Sequence[Path]:
        """Writes figures into `dir` and returns their paths."""
        return []


@dataclass(frozen=True)
class Verdict:
    """The results of a study."""

    study: str
    rows: tuple[Row, ...]
    checks: tuple[Check, ...]
    answer: str | None
    outcome: Outcome
    #: Files written next to `study.json`.
    written: tuple[Path, ...]
    overview: Sequence["Table"] = ()
    part: str | None = None
    assumed: tuple[Assumed, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `--json`. The null model and lower bounds are only in the
        tables."""
        rows = [
            {
                "what": row.what,
                "published": row.theirs,
                "role": row.role,
                "ours": row.ours,
                "low": row.low,
                "high": row.high,
                "predicted": row.predicted,
            }
            for row in self.rows
        ]
        ran = ({"part": self.part} if self.part else {}) | (
            {"assumed": {one.assumption.name: one.value for one in self.assumed}}
            if self.assumed
            else {}
        )
        return (
            {"study": self.study}
            | ran
            | {"rows": rows, "checks": [asdict(check) for check in self.checks]}
        )


def place(study: Study, out: Path | None = None) -> Path:
    """Returns the directory of a study's results. Results under alternative assumptions have
    directories of their own, so that they never mix with those of the defaults."""
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
    """Simulates the points without a result and evaluates all results. All files are in `out`
    (default `out/study-<name>`), the verdict in `study.json`.

    A part shares its points with the whole study. Files made from its results are in a directory
    with the part's name.
    """
    out = place(study, out)
    of_points = batch.home(out)
    study.place = out
    points = study.simulated(quick, part)
    if not points:
        raise ValueError(
            f"no point of {part.name if part else study.name} is in the quick part: leave out --quick"
        )
    study.prepare(points)
    with opened(executor, jobs=jobs, address=address, storage=storage) as chosen:
        outcome = batch.run(points, of_points, fresh=fresh, watch=watch, executor=chosen)
    to = out / part.name if part else out
    durable.make_dir(to)
    designs = outcome.designs if outcome.results else Designs([])
    rows, checks = (
        (tuple(study.table(designs)), tuple(study.checks(designs))) if designs else ((), ())
    )
    answer = study.answer(designs) if designs else None
    overview = study.overview(designs) if designs else []
    written = list(study.plots(designs, to)) if designs else []
    assumed = assumption.in_words(study.assumed) if study.assumed else None
    if answer is not None:
        from .. import report

        page_answer = study.page_answer(designs)
        # Effects of other assumptions are relative to the defaults.
        if (
            page_answer is None
            and not assumed
            and (changes := assumption.decisive(study.assumptions))
        ):
            facts = report.Facts(change=[*changes, say("first.change.untested")])
            page_answer = replace(report.first.of_text(answer), facts=facts)
        if assumed:
            answer, page_answer = (
                _under(assumed, answer),
                page_answer and replace(page_answer, head=join([assumed, page_answer.head])),
            )
        title = said(f"study.title.{study.name}", study.title)
        page = report.write(
            study.shown(designs),
            to / "report.html",
            answer=page_answer or answer,
            question=known(f"study.question.{study.name}"),
            rows=[] if overview else _published(rows),
            tables=overview,
            metrics=study.measures(designs),
            against=study.against(designs),
            checks=[
                report.Held(check.name, check.holds, check.value, check.bar) for check in checks
            ],
            figures=study.figures(designs),
            title=title,
        )
        written.append(page)
    elif assumed:
        answer = say("study.assumed.unanswered", assuming=assumed)
    made = f"{study.name}{f' {part.name}' if part else ''}{''.join(f' --assume {one}' for one in study.assumed)}"
    if rows:
        written.append(_page(study, made, rows, checks, overview, to / "results.md"))
    verdict = Verdict(
        study.name,
        rows,
        checks,
        answer,
        outcome,
        tuple(written),
        overview,
        part.name if part else None,
        tuple(study.assumed),
    )
    durable.write_text(
        to / "study.json", json.dumps(verdict.to_dict(), indent=1, ensure_ascii=False) + "\n"
    )
    return verdict


def _under(assumed: Words, answer: str) -> Words:
    """Returns an answer whose first sentence names the changed assumptions."""
    parts = (
        answer.parts
        if isinstance(answer, Marked)
        else ((answer if isinstance(answer, Words) else Words(answer, answer), True),)
    )
    return Marked.of([(join([assumed, parts[0][0]]), parts[0][1]), *parts[1:]])


#: Number of cores on which the shipped durations were measured.
MEASURED_ON = 2


def here(duration: str, cores: int) -> str:
    """Converts a duration measured on two cores to this number of cores. Division is enough,
    because points do not wait for each other."""
    found = re.fullmatch(r"about ([\d.]+) (min|h)", duration)
    if found is None or cores == MEASURED_ON:
        return duration
    minutes = float(found[1]) * (60 if found[2] == "h" else 1) * MEASURED_ON / cores
    return (
        f"about {round(minutes / 60, 1):g} h"
        if minutes >= 90
        else f"about {max(round(minutes), 1)} min"
    )


def _published(rows: Sequence[Row]) -> list["Published"]:
    from ..report import Published

    return [
        Published(
            row.what,
            row.theirs,
            row.ours,
            row.low,
            row.high,
            row.at_least,
            row.predicted,
            row.null,
            row.computed,
        )
        for row in rows
    ]


def _page(
    study: Study,
    made: str,
    rows: Sequence[Row],
    checks: Sequence[Check],
    overview: Sequence["Table"],
    to: Path,
) -> Path:
    """Writes the tables as a page that can be kept next to the README of the study."""

    def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
        return "\n".join(
            "| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *body)
        )

    made_of = [table(one.head, one.rows) for one in overview] or [
        table(("", *HEAD[1:]), [cells(row) for row in rows])
    ]
    numbers = "\n\n".join(made_of)
    held = table(
        ("", "holds", "value", "bar"),
        [(c.name, "yes" if c.holds else "**no**", number(c.value), number(c.bar)) for c in checks],
    )
    return durable.write_text(
        to, f"# {study.title}\n\nMade by `afflux study {made}`.\n\n{numbers}\n\n{held}\n"
    )


#: Columns of the table of rows.
HEAD = ("", *ROLES, "ours", "interval", "error", "null model")


def cells(row: Row) -> tuple[str, ...]:
    """Returns the cells of a row."""
    error = (
        _off(row.ours / row.theirs)
        if row.ours is not None and row.theirs and not row.at_least
        else "–"
    )
    interval = (
        f"{number(row.low)} – {number(row.high)}"
        if row.low is not None and row.high is not None
        else "–"
    )
    null = (
        f"{number(row.null)} ({_off(row.null / row.theirs)})"
        if row.null is not None and row.theirs
        else "–"
    )
    shown = f"≥ {number(row.theirs)}" if row.at_least else number(row.theirs)
    if row.theirs is None and not row.predicted:
        # A parameter was fitted to a statement without a number.
        shown = "yes"
    return (
        row.what,
        *(shown if role == row.role else "–" for role in ROLES),
        number(row.ours),
        interval,
        error,
        null,
    )


def _off(ratio: float) -> str:
    """Formats how far a ratio is from 1, in percent. Never returns -0."""
    return f"{round(100 * (ratio - 1), 1) or 0.0:+.1f} %"


def number(value: Any) -> str:
    from ..words.text import digits

    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else str(value)
    return (
        f"{value:,}" if isinstance(value, int) else ("-" if value < 0 else "") + digits(abs(value))
    )
