"""Lists the simulations of a decision: each design, and single tenants alone if goals refer to
that."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..batch import Point
from ..comparison.censored import Value
from ..results import percentiles
from ..results.designs import Design, Designs
from ..results.result import Result
from ..scenario import Scenario
from ..words import Words, say
from .blocks import belongs, drawn_name
from .file import Candidate, Goal, Question
from .judge import Values
from .measures import NoValue, Tenant, value


def alone_name(design: str, tenant: Tenant) -> str:
    return f"{design}, {tenant.name} alone"


def changed(scenario: Scenario, design: Candidate, *further: Mapping[str, Any]) -> Scenario:
    """Returns the scenario of a design."""
    made = scenario.copy()
    for table in (design.set, *further):
        for key, setting in table.items():
            made.set(key, copy.deepcopy(setting))
    return made


def keep(scenario: Scenario, tenant: Tenant) -> None:
    """Keeps only one tenant's traffic and the settings that this traffic uses. Unused settings
    would cause warnings. The traffic is the same as beside the other tenants: a block without a
    name draws by its place, so it gets the name of the place that it had."""
    blocks = scenario["traffic"] = [
        {**block, "name": drawn_name(block, place)}
        for place, block in enumerate(scenario["traffic"])
        if belongs(block, tenant)
    ]
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


def alones(question: Question) -> list[tuple[Candidate, Tenant]]:
    """Returns the tenants that are simulated alone, each with its design."""
    found: dict[tuple[str, str], tuple[Candidate, Tenant]] = {}
    for goal in question.goals:
        if goal.alone and goal.tenant:
            for design in (
                question.designs if goal.against is None else [question.design(goal.against)]
            ):
                found.setdefault((design.name, goal.tenant.name), (design, goal.tenant))
    return list(found.values())


def points(question: Question, seeds: Sequence[int]) -> Iterator[Point]:
    """Yields the points: designs first, seed by seed, so that a stopped run has something of every
    design it reached."""
    for design in question.designs:
        for seed in seeds:
            yield Point(design.name, question.source, design.set, seed)
    for design, tenant in alones(question):
        made = changed(question.scenario, design)
        keep(made, tenant)
        for seed in seeds:
            yield Point(alone_name(design.name, tenant), made, {}, seed)


def values(question: Question, designs: Designs) -> Values:
    """Returns the values of each simulated design's goals by seed."""
    goals = {goal.name: goal for goal in question.goals}
    return {
        name: {goal.name: by_seed(designs[name], goal) for goal in goals.values()}
        for name in question.order
        if name in designs
    }


def alone_values(question: Question, designs: Designs) -> Values:
    """Returns the values of tenants alone, for each design with which they were simulated."""
    goals = {
        goal.name: (goal, goal.tenant) for goal in question.goals if goal.alone and goal.tenant
    }
    return {
        design: {
            key: by_seed(designs[name], goal)
            for key, (goal, tenant) in goals.items()
            if (name := alone_name(design, tenant)) in designs
        }
        for design in question.order
    }


def with_unfinished(question: Question, *found: Values) -> Question:
    """Marks the goals in whose values unfinished flows, queries or jobs count."""
    names = {
        name
        for values in found
        for of_design in values.values()
        for name, of_seed in of_design.items()
        if any(one.unfinished for one in of_seed.values())
    }
    goals = (replace(goal, unfinished=goal.name in names) for goal in question.goals)
    return replace(question, goals=tuple(goals))


def with_values(question: Question, designs: Designs, found: Values) -> Designs:
    """Returns the designs with the values of their goals in the summaries, where the metrics of the
    goals find them. The notes name the percentiles for which flows or jobs are few."""

    def result(design: str, seed: int, one: Result) -> Result:
        made = copy.copy(one)
        tenants: dict[str, dict[str, Any]] = {}
        traffic: dict[str, Any] = {"counts": {}}
        for goal in question.goals:
            if measured := found[design][goal.name].get(seed):
                own = (
                    tenants.setdefault(goal.tenant.name, {"counts": {}}) if goal.tenant else traffic
                )
                own[goal.measure] = measured.number
                own["counts"][goal.measure] = measured.count
        made.summary = one.summary | {"tenants": tenants, "traffic": traffic}
        return made

    some = [
        Design(name, {seed: result(name, seed, one) for seed, one in designs[name].results.items()})
        for name in question.order
    ]
    metrics = dict.fromkeys(goal.metric for goal in question.goals)
    few = [words for metric in metrics if (words := percentiles.remark(metric, *some))]
    return Designs(some, (*designs.notes, *without(question, designs, found), *few))


def without(question: Question, designs: Designs, found: Values) -> Iterator[Words]:
    """Yields a note for each goal that has no value with some seeds. The goal is judged by the
    other seeds."""
    for goal in question.goals:
        some = {
            seed
            for name in question.order
            for seed in designs[name].results.keys() - found[name][goal.name].keys()
        }
        if some:
            yield say(
                "decision.without" if len(some) == 1 else "decision.without.many",
                goal=goal.metric.title,
                seeds=", ".join(map(str, sorted(some))),
            )


def by_seed(design: Design, goal: Goal) -> dict[int, Value]:
    """Returns the values of the seeds that have one. Raises `NoValue` if none has. Tables are read
    again, so that those of hundreds of runs are not kept in memory."""
    found: dict[int, Value] = {}
    for seed, result in design.results.items():
        try:
            found[seed] = value(
                Result.open(result.dir) if result.dir else result, goal.tenant, goal.measure
            )
        except NoValue as error:
            reason = error
    if not found:
        raise reason
    return found


def prices(question: Question, designs: Designs) -> dict[str, float]:
    """Returns the price of each design, from the decision file or from the scenario's `[cost]`.
    Empty unless all prices are known."""
    found: dict[str, float] = {}
    for design in question.designs:
        cost = designs[design.name].first.summary.get("cost") if design.name in designs else None
        price = design.price if design.price is not None else cost and cost["total"]
        if price is not None:
            found[design.name] = float(price)
    return found if len(found) == len(question.designs) else {}


def power(question: Question) -> dict[str, float]:
    """Returns the power in W of the designs whose power is known."""
    return {design.name: design.power for design in question.designs if design.power is not None}
