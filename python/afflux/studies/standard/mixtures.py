"""The points of the study, and which of their values belong together: the mixture, each tenant
alone, the mixture with another load, the designs under a condition, and variants of the fabric."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...batch import Point
from ...comparison.censored import Value
from ...decision import file
from ...decision.file import Candidate, Condition, Goal, Question, Variant
from ...decision.judge import Values
from ...decision.located import File
from ...decision.measures import Tenant
from ...decision.points import alone_name, alones, changed, keep, power, prices
from ...results.designs import Designs
from ...scenario import Scenario

#: Represents the tenants' own fabrics together, next to the names of designs.
OWN = "own"
#: Factors for the load of one tenant.
FACTORS = (0.5, 1.5)
#: Number of seeds of mixtures with another load and of conditions.
FEW = 5
#: Number of seeds whose waits are recorded by class. Recording takes many times as long as the run.
WAITS = 1


@dataclass(frozen=True)
class Change:
    """The load of one tenant multiplied by a factor."""

    tenant: Tenant
    factor: float

    @property
    def name(self) -> str:
        return f"{self.tenant.name} x {self.factor:g}"


def read(goals: Path, scenario: Path | None = None, otherwise: Path | None = None) -> Question:
    """Reads a decision file for this study. Every goal must refer to the tenant alone on a design
    (its own fabric), and every tenant must have a goal and a load.

    Raises `ValueError` with the file, the line and the key.
    """
    found = file.read(goals, scenario, otherwise)
    asked = File.of(goals)
    for place, goal in enumerate(found.goals):
        if goal.tenant is None:
            raise asked.wrong(
                ("goal", place, "tenant"), " is missing: the study has goals of tenants only"
            )
        if not goal.alone or goal.against is None:
            raise asked.wrong(
                ("goal", place),
                ": the study starts from the tenant's own fabric: write within = SHARE, "
                'design = "NAME" of that fabric and alone = true',
            )
    if len(found.tenants) < 2:
        raise asked.wrong(
            ("tenant",), f": found {len(found.tenants)}: the study needs at least two tenants"
        )
    for place, tenant in enumerate(found.tenants):
        own = list(
            dict.fromkeys(str(goal.against) for goal in found.goals if goal.tenant == tenant)
        )
        if len(own) != 1:
            said = (
                f"its goals start from the designs {', '.join(own)}: write one, that of its own fabric"
                if own
                else "it has no goal: write a [[goal]] block"
            )
            raise asked.wrong(("tenant", place), f": tenant {tenant.name}: {said}")
        if tenant.load is None:
            raise asked.wrong(
                ("tenant", place, "load"),
                f" is missing: name the key of the scenario that is multiplied when the study varies the load of {tenant.name}",
            )
        try:
            times(found.scenario[tenant.load], 1.0)
        except ValueError as error:
            raise asked.wrong(("tenant", place, "load"), f": {tenant.load}: {error}") from None
    return found


@dataclass(frozen=True)
class Mixtures:
    """All mixtures of a decision file."""

    question: Question
    seeds: Sequence[int]
    changes: Sequence[Change]
    #: Seeds of the other loads and conditions. These only check the choice.
    few: Sequence[int]
    #: Seeds of the variants. Each variant has a choice of its own, and five seeds miss an event that
    #: a quarter of the seeds have in 24 % of cases (docs/decide.md).
    of_variants: Sequence[int]

    @classmethod
    def of(
        cls,
        question: Question,
        seeds: Sequence[int],
        of_variants: Sequence[int],
        varied: Sequence[str] | None = None,
    ) -> "Mixtures":
        """Returns the mixtures. `varied` are the tenants whose load is raised by half; by default
        each tenant's load is halved and raised by half."""
        changes = [
            Change(t, f)
            for t in question.tenants
            for f in FACTORS
            if varied is None or (f > 1 and t.name in varied)
        ]
        return cls(question, seeds, changes, seeds[:FEW], of_variants)

    def points(self) -> Iterator[Point]:
        for design in self.question.designs:
            mixture = self._scenario(design)
            for seed in self.seeds:
                yield Point(
                    design.name,
                    mixture,
                    {"record.waits": "switches"} if seed in self.seeds[:WAITS] else {},
                    seed,
                )
            for tenant in self.question.tenants:
                yield from _points(
                    alone_name(design.name, tenant), self._scenario(design, only=tenant), self.seeds
                )
            for change in self.changes:
                yield from _points(
                    under(design.name, change), self._scenario(design, change), self.few
                )
            for condition in self.question.conditions:
                if design.name in condition.designs:
                    yield from _points(
                        under(design.name, condition), self._scenario(design, condition), self.few
                    )
        for own, tenant in alones(self.question):
            for change in self.changes:
                if change.tenant == tenant:
                    yield from _points(
                        under(alone_name(own.name, tenant), change),
                        self._scenario(own, change, tenant),
                        self.few,
                    )
        for variant in self.variants:
            for design in self.question.designs:
                yield from _points(
                    under(design.name, variant), self._scenario(design, variant), self.of_variants
                )
            for own, tenant in alones(self.question):
                yield from _points(
                    under(alone_name(own.name, tenant), variant),
                    self._scenario(own, variant, tenant),
                    self.of_variants,
                )

    def blocks(self) -> set[str]:
        """Returns a name of points for each design, condition and variant."""
        asked = self.question
        further = [under(one.designs[0], one) for one in asked.conditions if one.designs]
        further += [under(asked.order[0], variant) for variant in self.variants]
        return {*asked.order, *further}

    @property
    def variants(self) -> Sequence[Variant]:
        """The variants that differ from the scenario as it is."""
        return self.question.variants[1:]

    def _scenario(
        self,
        design: Candidate,
        change: Change | Condition | Variant | None = None,
        only: Tenant | None = None,
    ) -> Scenario:
        made = changed(
            self.question.scenario,
            design,
            *([change.set] if isinstance(change, Condition | Variant) else []),
        )
        if isinstance(change, Change) and change.tenant.load:
            made.set(change.tenant.load, times(made[change.tenant.load], change.factor))
        if only:
            keep(made, only)
        return made

    # Values.

    def goals(self) -> Mapping[str, Sequence[Goal]]:
        """Returns the goals whose values are measured, by the name of points: those of all tenants
        in a mixture, those of one tenant alone."""
        asked = self.question
        # Goals with different bounds on one metric share their values.
        every = list({goal.name: goal for goal in asked.goals}.values())
        found: dict[str, Sequence[Goal]] = {}
        for change in (None, *self.changes, *asked.conditions, *self.variants):
            for design in asked.order:
                found[under(design, change)] = every
                for tenant in asked.tenants:
                    own = [goal for goal in every if goal.tenant == tenant]
                    found[under(alone_name(design, tenant), change)] = own
        return found

    def values(
        self, measured: Values, change: Change | Condition | Variant | None = None
    ) -> Values | None:
        """Returns the values of the mixture by design, from those by the name of points; None if
        one of its designs was not simulated."""
        found = {
            name: measured[under(name, change)]
            for name in self.question.order
            if under(name, change) in measured
        }
        wanted = change.designs if isinstance(change, Condition) else self.question.order
        return found if all(name in found for name in wanted) else None

    def alone(self, measured: Values, variant: Variant | None = None) -> Values | None:
        """Returns the values of each tenant alone, by design; None if a tenant's own fabric was not
        simulated."""
        found = self._alone(measured, variant)
        return (
            found
            if all(goal.name in found[str(goal.against)] for goal in self.question.goals)
            else None
        )

    def alone_with(self, measured: Values, change: Change, alone: Values) -> Values | None:
        """Returns `alone` with the changed load of one tenant on its own fabric."""
        found = self._alone(measured, change)
        if any(
            goal.name not in found[str(goal.against)]
            for goal in self.question.goals
            if goal.tenant == change.tenant
        ):
            return None
        return {design: {**some, **found[design]} for design, some in alone.items()}

    def _alone(self, measured: Values, change: Change | Variant | None) -> Values:
        found: dict[str, dict[str, Mapping[int, Value]]] = {}
        for design in self.question.order:
            found[design] = {}
            for tenant in self.question.tenants:
                found[design].update(measured.get(under(alone_name(design, tenant), change), {}))
        return found

    def prices(self, designs: Designs) -> Mapping[str, float]:
        """Returns the price of each design, and that of the tenants' own fabrics together. Empty
        without prices."""
        return self._with_own(prices(self.question, designs))

    def power(self) -> Mapping[str, float]:
        """Returns the power in W of each design, and of the tenants' own fabrics together. Designs
        whose power is unknown are left out."""
        return self._with_own(power(self.question))

    def _with_own(self, found: Mapping[str, float]) -> Mapping[str, float]:
        own = [design.name for design, _ in alones(self.question)]
        return (
            {**found, OWN: sum(found[name] for name in own)}
            if all(name in found for name in own)
            else found
        )


def under(name: str, change: Change | Condition | Variant | None) -> str:
    """Returns the name of points with another load, under a condition, or of a variant."""
    return f"{name}, {change.name}" if change else name


def _points(name: str, scenario: Scenario, seeds: Sequence[int]) -> Iterator[Point]:
    return (Point(name, scenario, {}, seed) for seed in seeds)


def times(value: Any, factor: float) -> Any:
    """Multiplies a number, or a quantity with its unit, by a factor."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return round(value * factor, 9)
    match = (
        re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z%]+)\s*", value) if isinstance(value, str) else None
    )
    if match is None:
        raise ValueError(f"a load is a number or a quantity such as 3.5GB, not {value!r}")
    return f"{round(float(match[1]) * factor, 9):g}{match[2]}"
