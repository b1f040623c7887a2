"""The rule of decisions on numbers with known truth, and a checker that reads only
decision.json.
"""

import json
import math
import random
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import as_many
from made import Made, summary

from afflux.batch import Outcome
from afflux.decision.decide import Decision, judged
from afflux.decision.file import Candidate, Goal, Question
from afflux.decision.judge import Judged
from afflux.decision.looks import Look, looks
from afflux.decision.measures import Tenant, Value
from afflux.results.designs import Design, Designs
from afflux.scenario import Scenario

WEB, STORAGE = Tenant("web", ("web",), ("web",)), Tenant("storage", ("storage",), ("storage",))


@dataclass(frozen=True)
class Drawn(Outcome):
    """Results without a directory."""

    made: Designs = None  # type: ignore[assignment]

    @property
    def designs(self) -> Designs:
        return self.made


def draw(
    rng: random.Random,
    truth: dict[str, dict[str, float]],
    prices: dict[str, float],
    goals: list[Goal],
    seeds: int,
    noise: float,
) -> Decision:
    """Returns a decision on values scattered around the true ones (in ms). Part of the noise is
    common to all designs of a seed."""
    shared = {
        (seed, name): rng.gauss(0, noise)
        for seed in range(1, seeds + 1)
        for name in ("web", "storage")
    }
    designs = []
    for design, of in truth.items():
        results = {}
        for seed in range(1, seeds + 1):
            values = {
                name: of[name] * math.exp(shared[seed, name] + rng.gauss(0, noise)) for name in of
            }
            classes = {
                name: {"fct": value / 2, "p99": value, "goodput": 5.0}
                for name, value in values.items()
            }
            results[seed] = Made(
                summary(
                    design, seed, classes=classes, price=prices[design], fct=sum(values.values())
                )
            )
        designs.append(Design(design, results))
    question = Question(
        Path("designs.toml"),
        Scenario(),
        Path("scenario.toml"),
        tuple(Candidate(name) for name in truth),
        (WEB, STORAGE),
        tuple(goals),
        currency="USD",
    )
    outcome = Drawn(Path(), {}, (), 0, (), made=Designs(designs))
    return judged(question, outcome, range(1, seeds + 1), [Look(seeds, 0.05)])


def beyond(goal: dict) -> bool:
    """True if the typical value or the mean, which is the value shown, is on the wrong side of its
    limit."""
    more_is_better = goal["measure"] in ("goodput", "jain")
    ratios = goal["ratio"], goal["value"] / goal["bound"]
    return any(ratio != 1 and (ratio > 1) != more_is_better for ratio in ratios)


def contradictions(found: dict) -> list[str]:
    """Returns the contradictions between the first sentence of a decision with goals and its
    numbers. Uses only `decision.json`."""
    wrong = []
    first = re.match(
        r"(Choose|Keep|No design)(?: ([\w-]+))?(.*?)\. |(Choose|Keep|No design)(?: ([\w-]+))?(.*)",
        found["answer"] + " ",
    )
    verb, name, rest = first[1], first[2], first[3]
    of = {design["name"]: design for design in found["designs"]}
    order = list(of)
    met = [name for name in order if all(goal["verdict"] == "met" for goal in of[name]["goals"])]
    price = {name: of[name]["price"] or 0.0 for name in order}
    if verb == "No design":
        if met:
            wrong.append(f"{met[0]} meets every goal")
        return wrong
    if (verb == "Keep") != (name == order[0]):
        wrong.append(f"{verb} {name}, where {order[0]} is today's")
    goals = of[name]["goals"]
    if rest.startswith(" for now"):
        if met:
            wrong.append(f"{met[0]} meets every goal")
        if any(goal["verdict"] == "missed" for goal in goals):
            wrong.append(f"{name} misses a goal")
        within = [
            one
            for one in order
            if not any(goal["verdict"] == "missed" or beyond(goal) for goal in of[one]["goals"])
        ]
        if name not in within:
            wrong.append(f"a value of {name} is beyond its limit")
        if any(price[other] < price[name] for other in within):
            wrong.append("a cheaper design is within every goal")
        return wrong
    if name not in met:
        wrong.append(f"{name} does not meet every goal")
    if re.search("no other design (meets|is shown to meet) every goal", rest) and met != [name]:
        wrong.append(f"{len(met)} designs meet every goal")
    open_ = [
        one
        for one in order
        if one not in met and not any(goal["verdict"] == "missed" for goal in of[one]["goals"])
    ]
    if ("shown to meet" in rest) != bool(open_):
        wrong.append(f"{len(open_)} designs have open goals")
    if count := re.search(r"of (\d+) designs", rest):
        if int(count[1]) != len(met):
            wrong.append(f"{len(met)} designs meet every goal")
        if any(price[other] < price[name] for other in met):
            wrong.append("a cheaper design meets every goal")
        if "the cheapest" in rest and any(
            price[other] <= price[name] for other in met if other != name
        ):
            wrong.append("it is not cheaper than all others")
    for goal in (goal for design in found["designs"] for goal in design["goals"]):
        if (goal["verdict"] == "met" and beyond(goal) and not goal["given"]) or (
            goal["verdict"] == "missed" and not beyond(goal)
        ):
            wrong.append(
                f"{goal['tenant']} {goal['measure']} is {goal['verdict']} at {goal['ratio']:.3f} of its limit"
            )
    return wrong


def test_a_shown_value_beyond_the_goal_is_not_called_within(tmp_path):
    """The typical value of two seeds is within the goal, but their mean, which the answer shows, is
    not."""
    goal = Goal(None, "fct_p99", limit=1e6)
    values = {"a": {goal.name: {1: Value(0.3e6), 2: Value(2.04e6)}}}
    values["b"] = {goal.name: {1: Value(0.8e6), 2: Value(0.9e6)}}
    found = Judged.of(values, values, ["a", "b"], [goal], {"a": 1.0, "b": 2.0})
    (one,) = found.standings["a"]
    assert one.against.ratio < 1 < one.value / one.limit
    assert one.beyond == pytest.approx(math.log(1.17))
    assert found.choice.design == "b"
    assert found.outside("a") == [one]


def drawn_goals(rng: random.Random) -> list[Goal]:
    goals = [Goal(WEB, "fct_p99", limit=10e6), Goal(STORAGE, "fct_p99", limit=10e6)]
    if rng.random() < 0.5:
        goals.append(Goal(STORAGE, "fct_mean", within=rng.choice([0.0, 0.1, 0.5]), against="today"))
    if rng.random() < 0.3:
        goals.append(Goal(WEB, "goodput", limit=rng.choice([4e9, 5e9, 6e9])))
    return goals[: rng.randint(1, len(goals))]


def test_the_first_sentence_never_contradicts_the_table():
    rng = random.Random(16)
    seen, refused = set(), 0
    for _ in range(as_many(200)):
        names = ["today", *[f"design{place}" for place in range(rng.randint(1, 5))]]
        truth = {
            name: {
                tenant: 10 * rng.choice([0.3, 0.8, 0.95, 1.0, 1.05, 1.3, 4.0])
                for tenant in ("web", "storage")
            }
            for name in names
        }
        prices = {name: float(rng.choice([10_000, 20_000, 20_000, 40_000])) for name in names}
        decision = draw(
            rng,
            truth,
            prices,
            drawn_goals(rng),
            rng.choice([3, 5, 8]),
            rng.choice([0.01, 0.1, 0.5]),
        )
        found = json.loads(json.dumps(decision.to_dict()))
        assert not contradictions(found), found["answer"]
        seen.add(found["answer"].split(" ")[0])
        # The checker must be able to fail: the name of a design that misses a goal, in the same
        # sentence, contradicts the numbers.
        if found["certain"]:
            for other in names:
                if any(
                    goal["verdict"] != "met"
                    for goal in found["designs"][names.index(other)]["goals"]
                ):
                    assert contradictions(
                        found
                        | {"answer": found["answer"].replace(f" {found['chosen']}", f" {other}", 1)}
                    )
                    refused += 1
    assert seen == {"Choose", "Keep", "No"}
    assert refused > as_many(20)


def synthetic(
    rng: random.Random, truth: dict[str, float], noise: float, most: int
) -> dict[str, dict[str, dict[int, Value]]]:
    shared = [rng.gauss(0, noise) for _ in range(most)]
    return {
        name: {
            "web.fct_p99": {
                seed + 1: Value(value * math.exp(shared[seed] + rng.gauss(0, noise)))
                for seed in range(most)
            }
        }
        for name, value in truth.items()
    }


@pytest.mark.parametrize("until_decided", [False, True])
def test_a_wrong_statement_is_made_in_at_most_5_percent(until_decided):
    """Decisions with known truth: four designs whose true ratio to the limit is 1 or close to 1."""
    rng = random.Random(1_000 + until_decided)
    goals, planned = (
        [Goal(WEB, "fct_p99", limit=10.0)],
        looks(40) if until_decided else [Look(5, 0.05)],
    )
    assert sum(look.level for look in planned) == pytest.approx(0.05)
    wrong = decided = chosen_well = 0
    count = as_many(1_000)
    for _ in range(count):
        truth = {name: 10 * rng.choice([0.8, 0.97, 1.0, 1.0, 1.0, 1.03, 1.3]) for name in "abcd"}
        prices = dict(zip("abcd", (1.0, 2.0, 3.0, 4.0), strict=True))
        values = synthetic(rng, truth, 0.1, planned[-1].seeds)
        for look in planned:
            some = {
                name: {
                    goal: {seed: value for seed, value in of.items() if seed <= look.seeds}
                    for goal, of in one.items()
                }
                for name, one in values.items()
            }
            found = Judged.of(some, {}, list(truth), goals, prices, look.level)
            if found.decided(prices):
                decided += 1
                break
        # A value exactly at its limit meets the goal, so only `missed` is wrong for it.
        states = {name: found.standings[name][0].state for name in truth}
        wrong += any(
            (states[name] == "missed" and value <= 10) or (states[name] == "met" and value > 10)
            for name, value in truth.items()
        )
        right = next((name for name in "abcd" if truth[name] <= 10), None)
        chosen_well += found.choice.certain and found.choice.design == right
    assert wrong <= count * 0.05
    assert chosen_well > count * 0.05, "it decides something"
    assert decided > count * 0.05


def test_equal_designs_are_called_better_in_at_most_5_percent():
    """Without goals, four equal designs are compared."""
    rng = random.Random(3)
    wrong = 0
    count = as_many(120)
    for _ in range(count):
        truth = {name: {"web": 10.0, "storage": 10.0} for name in ("today", "a", "b", "c")}
        decision = draw(rng, truth, dict.fromkeys(truth, 1.0), [], 5, 0.1)
        wrong += any(d.established for d in decision.comparison.differences)
    assert wrong <= count * 0.05


def test_the_levels_of_looks_add_up_and_looks_grow():
    for budget in (3, 5, 7, 40, 100):
        made = looks(budget)
        assert made[-1].seeds == budget
        assert sum(look.level for look in made) == pytest.approx(0.05)
        assert all(before.seeds < after.seeds for before, after in pairwise(made))


def test_a_time_that_is_only_a_lower_bound_can_miss_a_goal_but_not_meet_it():
    goals = [Goal(WEB, "fct_p99", limit=10.0)]
    for exact, below, above in ((True, "met", "missed"), (False, "open", "missed")):
        values = {
            name: {
                "web.fct_p99": {
                    seed: Value(number * (1 + seed / 100), exact) for seed in range(1, 6)
                }
            }
            for name, number in (("a", 5.0), ("b", 20.0))
        }
        found = Judged.of(values, {}, ["a", "b"], goals, {})
        assert [found.standings[name][0].state for name in "ab"] == [below, above]
