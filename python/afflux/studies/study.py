"""What a study is, and carrying it out."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import batch
from ..batch import Outcome, Point, Watch
from ..files import durable
from ..results.designs import Designs
from ..words import said, say

if TYPE_CHECKING:
    from ..report import Lines


@dataclass(frozen=True)
class Row:
    """A number of the source beside ours."""

    what: str
    #: None where the source gives none.
    published: float | None
    #: None where the points that it needs failed.
    ours: float | None
    #: Interval of ours, None with one seed.
    low: float | None = None
    high: float | None = None
    #: False if a parameter was fitted on this number.
    predicted: bool = True
    #: What the simplest model says that knows the other published numbers; None without one.
    null: float | None = None
    #: What is published is a lower bound.
    at_least: bool = False


@dataclass(frozen=True)
class Check:
    """A statement that holds or not: `value` against `bar`."""

    name: str
    holds: bool
    value: Any
    bar: Any


class Study(ABC):
    """A published measurement, and how it is simulated."""

    #: As on the command line, in directories, and of its folder.
    name: str
    #: A line for the list of studies.
    title: str

    @abstractmethod
    def points(self, quick: bool) -> Sequence[Point]:
        """What to simulate; `quick`: the part that is done in minutes. A point that both ask for in the same way is simulated once."""

    @abstractmethod
    def table(self, designs: Designs) -> Sequence[Row]:
        """Ours beside the published numbers. A design is missing if it was not asked for (`quick`) or all its points failed."""

    def checks(self, designs: Designs) -> Sequence[Check]:
        """What the source found, put to the test."""
        return []

    def answer(self, designs: Designs) -> str | None:
        """The result in a sentence or two; None: no report is written."""
        return None

    def shown(self, designs: Designs) -> Designs:
        """The designs whose series the report shows."""
        return designs

    def figures(self, designs: Designs) -> Sequence["Lines"]:
        """What the report draws above its table."""
        return []

    def plots(self, designs: Designs, dir: Path) -> Sequence[Path]:
        """Writes figures into `dir` and tells which."""
        return []


@dataclass(frozen=True)
class Verdict:
    """A study carried out."""

    study: str
    rows: tuple[Row, ...]
    checks: tuple[Check, ...]
    answer: str | None
    outcome: Outcome
    #: Files written beside `study.json`.
    written: tuple[Path, ...]

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it; the null model and what is a bound are shown in the tables only."""
        rows = [{name: value for name, value in asdict(row).items() if name not in ("null", "at_least")} for row in self.rows]
        return {"study": self.study, "rows": rows, "checks": [asdict(check) for check in self.checks]}


def carry_out(
    study: Study,
    *,
    quick: bool = False,
    out: Path | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
) -> Verdict:
    """Runs what is not there yet, and judges. Everything is in `out` (by default `out/study-<name>`), the verdict in `study.json` there."""
    out = out or Path("out") / f"study-{study.name}"
    outcome = batch.run(study.points(quick), batch.home(out), jobs=jobs, fresh=fresh, watch=watch)
    designs = outcome.designs if outcome.results else Designs([])
    rows, checks = (tuple(study.table(designs)), tuple(study.checks(designs))) if designs else ((), ())
    answer = study.answer(designs) if designs else None
    written = list(study.plots(designs, out)) if designs else []
    if answer is not None:
        from .. import report

        table = report.Table(say("study.caption"), [_word(name) for name in HEAD], [list(map(_word, cells(row))) for row in rows])
        title = said(f"study.title.{study.name}", study.title)
        written.append(report.write(study.shown(designs), out / "report.html", answer=answer, table=table, figures=study.figures(designs), title=title))
    if rows:
        written.append(_page(study, rows, checks, out / "results.md"))
    verdict = Verdict(study.name, rows, checks, answer, outcome, tuple(written))
    durable.write_text(out / "study.json", json.dumps(verdict.to_dict(), indent=1, ensure_ascii=False) + "\n")
    return verdict


def _page(study: Study, rows: Sequence[Row], checks: Sequence[Check], to: Path) -> Path:
    """The tables as a page to be kept beside the study's README."""

    def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
        return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *body))

    numbers = table(("", *HEAD[1:]), [cells(row) for row in rows])
    held = table(("", "holds", "value", "bar"), [(c.name, "yes" if c.holds else "**no**", number(c.value), number(c.bar)) for c in checks])
    return durable.write_text(to, f"# {study.title}\n\nMade by `afflux study {study.name}`.\n\n{numbers}\n\n{held}\n")


#: Columns of the table of rows, for people.
HEAD = ("", "published", "ours", "interval", "error", "null model", "")


def _word(text: str) -> str:
    """What stands in heads and cells, in both languages; names of rows are the study's."""
    return said(f"study.{text}", text)


def cells(row: Row) -> tuple[str, ...]:
    """A row as people read it."""
    error = f"{100 * (row.ours / row.published - 1):+.1f} %" if row.ours is not None and row.published and not row.at_least else "–"
    interval = f"{number(row.low)} – {number(row.high)}" if row.low is not None and row.high is not None else "–"
    null = f"{number(row.null)} ({100 * (row.null / row.published - 1):+.1f} %)" if row.null is not None and row.published else "–"
    published = f"≥ {number(row.published)}" if row.at_least else number(row.published)
    return row.what, published, number(row.ours), interval, error, null, "" if row.predicted else "calibrated"


def number(value: Any) -> str:
    from ..words.text import digits

    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else ("-" if value < 0 else "") + digits(abs(value))
