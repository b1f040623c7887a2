"""One standard fabric for a mixture of tenants, instead of a network per use: the question of LY
Corporation's talk (JANOG), simulated.

README.md gives the question, the assumptions and the results. The mixture, the tenants' goals and
the designs are the template of `afflux new standard`.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from ... import templates
from ..._core import ScenarioError
from ...batch import Point
from ...comparison.compare import Comparison
from ...decision.file import place_of
from ...decision.points import with_values
from ...exchange import sonic, sysctl
from ...files import durable, toml
from ...metrics import Metric
from ...report import PageAnswer, Table
from ...results.designs import Designs
from ...scenario import Scenario
from ...words import Words
from .. import Check, Part, Row, Slice, Study
from . import measured, overview, sentences
from .evidence import Evidence, gather
from .mixtures import Mixtures, read

__all__ = ["STUDY", "Standard"]

_SCENARIO, _GOALS = templates.FILES / "standard.toml", templates.FILES / "goals" / "standard.toml"
#: Seeds of the mixture and of each variant, in the whole study and with `--quick`.
_SEEDS, _QUICK = 8, 5
_SEEDS_OF_VARIANTS, _QUICK_OF_VARIANTS = 16, 8
#: Matches the end of the name of a point with another load.
_LOAD = re.compile(r", [^,]+ x [\d.]+$")
#: Tenants whose load the quick part raises: those that fill the uplinks most.
_VARIED = ("bulk",)


_Made = TypeVar("_Made")


class Standard(Study):
    name = "standard"
    title = "One standard fabric for Hadoop, queries, storage and bulk copies"
    question = "Which one fabric serves Hadoop, queries, storage over RDMA and bulk copies, instead of a network per use?"
    finding = (
        "With uplinks at 27 % of the host ports (3.75:1), choose one fabric of shallow switches with "
        "a class per tenant (ETS and ECN); at 2:1 and at 1:1 ECN is enough."
    )
    duration = "about 20 min"

    def __init__(self, scenario: Path | None = None, goals: Path | None = None) -> None:
        #: None: the scenario that the goals name, or that of the template.
        self.scenario = scenario
        self.goals = goals or _GOALS
        self._found: tuple[Designs, Evidence | None] | None = None

    @property
    def parts(self) -> Sequence[Part]:  # type: ignore[override]
        """Parts of the study. Each includes the designs and the tenants alone, because goals refer
        to these and there is no answer without them."""

        def base(name: str) -> bool:
            return not (_LOAD.search(name) or condition(name))

        @cache
        def ends() -> tuple[str, ...]:
            # Cached: reading the decision file takes longer than everything else.
            question = self._mixtures().question
            names = [one.name for one in question.conditions] + [
                one.name for one in question.variants
            ]
            return tuple(f", {name}" for name in names)

        def condition(name: str) -> bool:
            return name.endswith(ends())

        return (
            Slice(
                "designs",
                "Which design meets the goals of all tenants at the least price?",
                has=base,
            ),
            Slice(
                "loads",
                "Does the choice stay the same with another load of a tenant?",
                has=lambda name: not condition(name),
            ),
            Slice(
                "conditions",
                "Does the choice stay the same under another condition?",
                has=lambda name: not _LOAD.search(name),
            ),
        )

    def of_files(self, scenario: Path | None, goals: Path | None) -> "Standard":
        return Standard(scenario, goals)

    @property
    def folder(self) -> str:
        own = self.scenario or (self.goals if self.goals != _GOALS else None)
        return f"study-{self.name}-{own.stem}" if own else f"study-{self.name}"

    def _mixtures(self, quick: bool = False) -> Mixtures:
        asked = read(self.goals, self.scenario, _SCENARIO)
        seeds = asked.seeds or range(1, _SEEDS + 1)
        of_variants = asked.seeds or range(1, _SEEDS_OF_VARIANTS + 1)
        return Mixtures.of(
            asked,
            seeds[:_QUICK] if quick else seeds,
            of_variants[:_QUICK_OF_VARIANTS] if quick else of_variants,
            _VARIED if quick else None,
        )

    def points(self, quick: bool) -> Sequence[Point]:
        return list(self._mixtures(quick).points())

    def prepare(self, points: Sequence[Point]) -> Sequence[Path]:
        """Refuses a wrong key in `set` with the goals file, the line and the block, before anything
        runs."""
        mixtures = self._mixtures()
        wanted = mixtures.blocks()
        for point in points:
            if point.name in wanted:
                wanted.remove(point.name)
                try:
                    point.load()
                except ScenarioError as error:
                    place = place_of(mixtures.question, point.name, error.key)
                    raise ValueError(f"{place}: {point.name}: {error}") from None
        return []

    def evidence(self, designs: Designs) -> Evidence | None:
        """Returns the evidence from these results, computed only once."""
        if self._found is None or self._found[0] is not designs:
            self._found = designs, gather(self._mixtures(), designs)
        return self._found[1]

    def _of(self, designs: Designs, make: Callable[[Evidence], _Made]) -> _Made | None:
        found = self.evidence(designs)
        return make(found) if found else None

    def table(self, designs: Designs) -> Sequence[Row]:
        return self._of(designs, overview.rows) or []

    def checks(self, designs: Designs) -> Sequence[Check]:
        return self._of(designs, overview.checks) or []

    def overview(self, designs: Designs) -> Sequence[Table]:
        return self._of(designs, overview.tables) or []

    def answer(self, designs: Designs) -> Words | None:
        return self._of(designs, lambda found: sentences.answer(found, _place(found, designs)))

    def page_answer(self, designs: Designs) -> PageAnswer | None:
        return self._of(designs, lambda found: overview.page_answer(found, _place(found, designs)))

    def against(self, designs: Designs) -> Comparison | None:
        return self._of(designs, lambda found: overview.against(found, self.shown(designs)))

    def shown(self, designs: Designs) -> Designs:
        return (
            self._of(designs, lambda found: with_values(found.question, designs, found.values))
            or designs
        )

    def measures(self, designs: Designs) -> Sequence[Metric] | None:
        return self._of(designs, overview.measures)

    def plots(self, designs: Designs, dir: Path) -> Sequence[Path]:
        """Writes all values, and the settings of the chosen design for switches and hosts."""
        found = self.evidence(designs)
        if found is None:
            return []
        values = measured.write(found.question, found.measured, dir / "values.csv")
        place = _place(found, designs)
        return [
            *(_settings(Path(place) / "scenario.toml", dir / "settings") if place else []),
            values,
        ]


def _place(found: Evidence, designs: Designs) -> str | None:
    """Returns the result directory of the chosen design with its first seed."""
    place = designs[found.choice.shown].first.dir
    return str(place) if place else None


def _settings(scenario: Path, to: Path) -> list[Path]:
    to.mkdir(exist_ok=True)
    tables, notes = sonic.exported(scenario)
    groups = sysctl.of_scenario(toml.with_defaults(Scenario.load(scenario).check().resolved))
    return [
        durable.write_text(to / "sonic.json", json.dumps(tables, indent=4) + "\n"),
        durable.write_text(to / "linux.txt", sysctl.document(groups)),
        durable.write_text(to / "notes.txt", "\n".join([*notes, *sysctl.notes(groups)]) + "\n"),
    ]


STUDY = Standard()
