"""The points of the study, and their values: the mixture, each tenant alone, the mixture with another load, and the designs under a condition."""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...batch import Point
from ...results.designs import Design, Designs
from ...results.result import Result
from ...scenario import Scenario
from .choice import OWN, Values
from .goals import Candidate, Condition, Goals, Tenant
from .measures import value

#: Factors on the load of one tenant.
FACTORS = (0.5, 1.5)
#: Number of seeds of mixtures with another load, and of conditions.
FEW = 5
#: Seeds whose waits are recorded by class: recording takes many times the time of the run.
WAITS = 1


@dataclass(frozen=True)
class Change:
    """One tenant's load times a factor."""

    tenant: Tenant
    factor: float

    @property
    def name(self) -> str:
        return f"{self.tenant.name} x {self.factor:g}"


@dataclass(frozen=True)
class Mixtures:
    """All mixtures of a scenario with its goals."""

    scenario: Scenario
    goals: Goals
    seeds: Sequence[int]
    changes: Sequence[Change]
    #: Seeds of the other loads and of the conditions: they only check the choice.
    few: Sequence[int]

    @classmethod
    def of(cls, scenario: Path, goals: Goals, seeds: Sequence[int], changed: Sequence[str] | None = None) -> "Mixtures":
        """`changed`: the tenants whose load is raised by half; by default each tenant's load is halved and raised by half."""
        found = Scenario.load(scenario)
        names = [block.get("name") for block in found["traffic"]]
        for tenant in goals.tenants:
            if tenant.name not in names or found.get(f"traffic.{tenant.name}.class") != tenant.name:
                raise ValueError(f'{scenario}: tenant {tenant.name} of {goals.path} needs a [[traffic]] block with name = "{tenant.name}" and class likewise')
            if found.get(tenant.load) is None:
                raise ValueError(f"{goals.path}: tenant {tenant.name}, key load: {scenario} has no {tenant.load}")
        changes = [Change(t, f) for t in goals.tenants for f in FACTORS if changed is None or (f > 1 and t.name in changed)]
        return cls(found, goals, seeds, changes, seeds[:FEW])

    def points(self) -> Iterator[Point]:
        for design in self.goals.designs:
            for seed in self.seeds:
                yield self._point(design.name, design, seed, record={"record.waits": "switches"} if seed <= WAITS else {})
            for tenant in self.goals.tenants:
                yield from self._points(self.seeds, alone_name(design.name, tenant), design, only=tenant)
            for change in self.changes:
                yield from self._points(self.few, changed_name(design.name, change), design, change)
            for condition in self._conditions(design.name):
                yield from self._points(self.few, condition_name(design.name, condition), design, condition=condition)
        for change in self.changes:
            own = self.goals.design(change.tenant.own)
            yield from self._points(self.few, changed_name(alone_name(own.name, change.tenant), change), own, change, only=change.tenant)

    def _conditions(self, design: str) -> list[Condition]:
        return [condition for condition in self.goals.conditions if design in condition.designs]

    def _points(self, seeds: Sequence[int], name: str, design: Candidate, *args: Any, **kwargs: Any) -> Iterator[Point]:
        for seed in seeds:
            yield self._point(name, design, seed, *args, **kwargs)

    def _point(
        self,
        name: str,
        design: Candidate,
        seed: int,
        change: Change | None = None,
        condition: Condition | None = None,
        only: Tenant | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> Point:
        made = self.scenario.copy()
        for key, setting in [*design.set.items(), *(condition.set.items() if condition else ())]:
            made.set(key, copy.deepcopy(setting))
        if change:
            made.set(change.tenant.load, times(made[change.tenant.load], change.factor))
        if only:
            _keep(made, only)
        return Point(name, made, record or {}, seed)

    # Values.

    def mixture(self, designs: Designs, change: Change | None = None) -> Values | None:
        """Values of a mixture and of the tenants' own fabrics; None if a design of it was not simulated."""
        found: dict[str, dict[str, dict[int, float]]] = {OWN: {}}
        for tenant in self.goals.tenants:
            alone = alone_name(tenant.own, tenant)
            own = changed_name(alone, change) if change and change.tenant == tenant else alone
            if own not in designs:
                return None
            found[OWN][tenant.name] = _values(designs[own], tenant)
        for design in self.goals.order:
            name = changed_name(design, change) if change else design
            if name not in designs:
                return None
            found[design] = {tenant.name: _values(designs[name], tenant) for tenant in self.goals.tenants}
        return found

    def alone(self, designs: Designs) -> Values:
        """Values of each tenant alone, by design of the shared fabric."""
        return {
            design: {t.name: _values(designs[name], t) for t in self.goals.tenants if (name := alone_name(design, t)) in designs} for design in self.goals.order
        }

    def under(self, designs: Designs, condition: Condition, values: Values) -> Values | None:
        """Values with the designs of a condition, together with `values` of the tenants' own fabrics."""
        names = {design: condition_name(design, condition) for design in condition.designs}
        if not all(name in designs for name in names.values()):
            return None
        some = {design: {tenant.name: _values(designs[name], tenant) for tenant in self.goals.tenants} for design, name in names.items()}
        return {OWN: values[OWN]} | some

    def prices(self, designs: Designs) -> tuple[dict[str, float], str | None]:
        """The price of each design, that of the tenants' own fabrics together, and the currency; empty without prices."""
        first = designs[self.goals.order[0]].first.summary.get("cost")
        if not first:
            return {}, None
        of = {design: float(designs[design].first.summary["cost"]["total"]) for design in self.goals.order}
        return of | {OWN: sum(of[tenant.own] for tenant in self.goals.tenants)}, str(first["currency"])

    def watts(self) -> dict[str, float]:
        """Power of the switches of each design, and of the tenants' own fabrics together; without designs whose power is not known."""
        switches = self.scenario.check().switches
        of = {design.name: design.watts * switches for design in self.goals.designs if design.watts is not None}
        own = [of.get(tenant.own) for tenant in self.goals.tenants]
        return of | ({} if None in own else {OWN: sum(watts for watts in own if watts is not None)})


def times(value: Any, factor: float) -> Any:
    """A number, or a quantity with its unit, times a factor."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return round(value * factor, 9)
    match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z%]+)\s*", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"a load is a number or a quantity such as 3.5GB, not {value!r}")
    return f"{round(float(match[1]) * factor, 9):g}{match[2]}"


def _keep(scenario: Scenario, tenant: Tenant) -> None:
    """Leaves one tenant's traffic, and the settings that this traffic uses: others would draw warnings."""
    blocks = scenario["traffic"] = [block for block in scenario["traffic"] if block.get("name") == tenant.name]
    named = {block.get("transport") for block in blocks}
    host = scenario.get("host", {})
    transports = host.get("transports", {})
    for name in [name for name in transports if name not in named]:
        del transports[name]
    if None not in named:
        host.pop("transport", None)
    paused = scenario.get("switch.pfc.priorities", [])
    if paused and not any(block.get("priority") in paused for block in blocks):
        scenario["switch.pfc"] = "off"


def alone_name(design: str, tenant: Tenant) -> str:
    return f"{design}, {tenant.name} alone"


def changed_name(design: str, change: Change) -> str:
    return f"{design}, {change.name}"


def condition_name(design: str, condition: Condition) -> str:
    return f"{design}, {condition.name}"


def _values(design: Design, tenant: Tenant) -> dict[int, float]:
    """By seed. Tables are read afresh, so that those of hundreds of runs are not kept."""
    return {seed: value(Result.open(result.dir) if result.dir else result, tenant) for seed, result in design.results.items()}
