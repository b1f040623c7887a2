"""Answers of decisions: lower bounds, prices, seeds, and the wording of one and of many."""

import math
from pathlib import Path

import pytest
from here import Here

import afflux
from afflux.comparison import changes
from afflux.comparison.censored import Value
from afflux.decision.decide import planned
from afflux.decision.file import Goal, read
from afflux.decision.judge import MET, MISSED, OPEN, Judged
from afflux.decision.measures import Tenant
from afflux.decision.sentences import CHOICE, COSTS, OTHERS, SIZE, SURE, DecisionFacts, parts, rule

WEB = Tenant("web", ("web",))
WITHIN = Goal(WEB, "fct_mean", within=0.1, against="today")
NEAR = [math.exp(by) for by in (-0.01, 0.005, 0.01, -0.005)]


def values(goal: Goal, exact: bool = True, **times: float) -> dict:
    return {
        design: {
            goal.name: {seed: Value(time * by, exact) for seed, by in enumerate(NEAR, 1)},
        }
        for design, time in times.items()
    }


def facts(goal: Goal, of: dict, alone: dict | None = None, **more) -> DecisionFacts:
    prices = more.get("prices", {})
    judged = Judged.of(of, alone or {}, list(of), [goal], prices)
    return DecisionFacts(judged, list(of), seeds=more.pop("seeds", len(NEAR)), **more)


@pytest.mark.parametrize(
    ("exact", "states"), [(True, [MET, MISSED, MET]), (False, [MET, OPEN, MET])]
)
def test_a_goal_is_not_missed_where_its_reference_is_only_a_lower_bound(exact, states):
    of = values(WITHIN, exact, today=1e6) | values(WITHIN, slow=2e6, fast=0.5e6)
    found = facts(WITHIN, of)
    assert [found.judged.standings[name][0].state for name in of] == states
    said = parts(found)[SURE]
    why = (
        "Flows of the reference were cut off by the end of the run for web (mean completion time): "
        "the limit is too strict, and a time can meet it but not miss it."
    )
    assert (why in said) != exact
    # The values of today's design meet the goal by definition, whatever flows were cut off.
    assert "with today: where they decide" not in said
    assert parts(found)[OTHERS].startswith(
        "slow clearly misses a goal: " if exact else "slow leaves open: "
    )


def test_a_tenant_alone_can_be_cut_off_too():
    alone_goal = Goal(WEB, "fct_mean", within=0.1, alone=True)
    of = values(alone_goal, today=2e6, other=2e6)
    for exact, state in ((True, MISSED), (False, OPEN)):
        found = facts(alone_goal, of, values(alone_goal, exact, today=1e6, other=1e6))
        assert found.judged.standings["other"][0].state == state
    # More seeds may show that the goal is met, so no design is said to miss it.
    assert parts(found)[CHOICE] == "No design is shown to meet every goal; open: today, other."


def test_both_can_be_lower_bounds():
    of = values(WITHIN, exact=False, today=1e6, slow=2e6, fast=0.5e6)
    found = facts(WITHIN, of)
    assert [found.judged.standings[name][0].state for name in of] == [MET, OPEN, OPEN]


@pytest.mark.parametrize(
    ("prices", "says"),
    [
        ({"today": 100.0, "new": 0.0}, "0 with new instead of 100 with today."),
        ({"today": 0.0, "new": 0.0}, "0, as with today."),
        ({"today": 100.0, "new": 50.0}, "50 with new instead of 100 with today, 50 % less."),
    ],
)
def test_what_is_free_has_no_ratio(prices, says):
    goal = Goal(None, "fct_mean", limit=2e6)
    of = values(goal, today=3e6) | values(goal, new=1e6)
    assert parts(facts(goal, of, prices=prices))[COSTS] == says
    power = parts(facts(goal, of, power=prices))[COSTS]
    assert power.startswith(f"Power: {'0' if not prices['new'] else '50'} W")
    free = facts(goal, of, prices={"today": 0.0, "new": 20.0}, power={"today": 0.0, "new": 5.0})
    assert parts(free)[COSTS] == (
        "20 with new instead of 0 with today. Power: 5 W with new instead of 0 W with today."
    )
    assert changes.change(0.0) == "100 % less"


def test_comparisons_with_the_goal_are_grammatical():
    most, least = Goal(None, "fct_mean", limit=1e6), Goal(None, "goodput", limit=1e9)
    for goal, value, english, japanese in (
        (least, 6e9, "6.0 times as much (", ") as the goal of at least 1.00 Gbps"),
        (most, 1e3, "less by a factor of 1,000 (", ") than the goal of at most 1.00 ms"),
        (most, 0.7e6, "30 % less (", ") than the goal of at most 1.00 ms"),
    ):
        said = parts(facts(goal, values(goal, today=value, new=value)))[SIZE]
        assert english in said
        assert japanese in said
    of = values(least, today=6e9, new=6e9)
    assert "目標 1.00 Gbps 以上 の 6.0 倍（" in parts(facts(least, of))[SIZE].ja
    of = values(most, today=1e3, new=1e3)
    assert "目標 1.00 ms 以下 の 1/1,000（" in parts(facts(most, of))[SIZE].ja
    little = Goal(WEB, "goodput", within=0.995, against="today")
    assert rule(little) == "at least 1/200 of what it has with today"
    assert rule(little).ja == "today の 1/200 以上"


def test_one_goal_and_one_seed_are_singular():
    of = values(WITHIN, today=1e6, new=2e6)
    assert parts(facts(WITHIN, of))[SURE] == (
        "met and missed hold with 95 % for the only goal that is judged (4 seeds)."
    )
    one = {
        design: {name: {1: seeds[1]} for name, seeds in goals.items()}
        for design, goals in of.items()
    }
    said = parts(facts(WITHIN, one, seeds=1, drops_frames=True))[SURE]
    assert said.startswith(
        "met and missed hold with 95 % for the only goal that is judged (1 seed). "
        "today drops frames, and one seed misses an event"
    )
    assert "（シード 1 個）" in said.ja
    bound = Goal(None, "fct_mean", limit=3e6)
    many = Judged.of(
        {
            "today": values(bound, today=1e6)["today"] | values(WITHIN, today=1e6)["today"],
            "new": values(bound, new=9e6)["new"] | values(WITHIN, new=9e6)["new"],
        },
        {},
        ["today", "new"],
        [bound, WITHIN],
        {},
    )
    found = parts(DecisionFacts(many, ["today", "new"], seeds=4))
    assert "for all 3 goals of all designs together (4 seeds)" in found[SURE]
    assert found[OTHERS].startswith("new clearly misses 2 goals: ")
    assert found[OTHERS].ja.startswith("new は目標 2 個を明確に外れます: ")


FABRIC = """\
format = 1
name = "fabric"
[topology]
kind = "star"
hosts = 4
[[traffic]]
kind = "incast"
to = 0
senders = 3
bytes = "20kB"
rounds = 2
period = "1ms"
jitter = "10us"
"""
DESIGNS = """
[[design]]
name = "today"
{today}
[[design]]
name = "new"
{new}
[[goal]]
measure = "fct_mean"
at_most = "{limit}"
"""


def written(folder: Path, *, more: str = "", head: str = "", **lines: str) -> Path:
    texts = {"today": "", "new": "set = { 'switch.buffer' = '2MB' }", "limit": "10ms"} | lines
    (folder / "fabric.toml").write_text(FABRIC + more)
    (folder / "d.toml").write_text(
        f'scenario = "fabric.toml"\n{head}{DESIGNS.format_map(texts)}', encoding="utf-8"
    )
    return folder / "d.toml"


@pytest.mark.parametrize(
    ("more", "today", "new", "line"),
    [
        ("", "price = 100", "", 6),
        ("", "", "price = 100", 3),
        ("", "", "set = { 'cost.switch' = 10 }", 3),
        ("", "", "set = { cost = { switch = 10 } }", 3),
        ("[cost]\nswitch = 3\n", "price = 100", "", None),
        ("", "price = 100", "set = { 'cost.switch' = 10 }", None),
        ("", "price = 100", "price = 0", None),
        ("", "power = 100", "", None),
    ],
)
def test_prices_of_only_some_designs_are_refused(tmp_path, more, today, new, line):
    file = written(tmp_path, more=more, today=today, new=new)
    if line is None:
        assert read(file).order == ["today", "new"]
        return
    place, name = (1, "new") if line == 6 else (0, "today")
    with pytest.raises(ValueError, match="is missing: other designs have a price") as refused:
        read(file)
    assert str(refused.value) == (
        f"{file}:{line}: key design[{place}].price is missing: other designs have a price: "
        f"write that of {name} too, or none at all"
    )


def test_the_nearest_request_gives_the_seeds(tmp_path):
    with_seeds = read(written(tmp_path, head='seeds = "4-7"\n'))
    without = read(written(tmp_path))
    for question, seeds, quick, wanted in (
        (with_seeds, [9], False, [9]),
        (with_seeds, None, True, [1, 2, 3]),
        (with_seeds, None, False, [4, 5, 6, 7]),
        (without, None, False, [1, 2, 3, 4, 5]),
    ):
        chosen, (look,) = planned(question, seeds, quick, until_decided=False, budget=None)
        assert chosen == wanted
        assert (look.seeds, look.level) == (len(wanted), pytest.approx(0.05))
    with pytest.raises(ValueError, match="--quick is three seeds"):
        planned(with_seeds, [9], True, until_decided=False, budget=None)
    chosen, made = planned(with_seeds, None, False, until_decided=True, budget=7)
    assert [*chosen] == [1, 2, 3, 4, 5, 6, 7]
    assert [look.seeds for look in made] == [5, 7]


def test_quick_comes_before_the_seeds_of_the_file(tmp_path):
    file = written(tmp_path, head='seeds = "1-4"\n')
    executor = Here()
    found = afflux.decide(file, quick=True, out=tmp_path / "out", executor=executor)
    assert found.seeds == (1, 2, 3)
    assert len(executor.simulated) == 6


def test_each_look_simulates_its_new_seeds_afresh(tmp_path):
    """The goal is close to the mean, so that no look decides. A look simulates each of its new points
    once, and no point of the looks before."""
    file = written(tmp_path)
    mean = (
        afflux.decide(file, seeds=range(1, 8), out=tmp_path / "out", executor=Here())
        .judged.standings["today"][0]
        .value
    )
    file = written(tmp_path, limit=f"{mean:.0f}ns")
    again, kept = Here(), Here()
    found = afflux.decide(
        file, until_decided=True, budget=7, fresh=True, out=tmp_path / "out", executor=again
    )
    assert [look.seeds for look in found.looks] == [5, 7]
    assert len(again.simulated) == len({*again.simulated}) == 14
    assert found.outcome.points == 14
    afflux.decide(file, until_decided=True, budget=7, out=tmp_path / "out", executor=kept)
    assert kept.simulated == []


def test_a_percentile_misses_its_goal_only_if_its_lower_bound_does():
    """Tests a percentile among the finished flows, which are 2.0 ms if every flow that was cut off
    takes longer."""
    goal = Goal(WEB, "fct_p99", limit=1.5e6)
    for low, state in ((None, MISSED), (1.8e6, MISSED), (1.5e6, OPEN), (1.2e6, OPEN)):
        of = {
            name: {
                goal.name: {
                    seed: Value(time * by, low=low and low * by) for seed, by in enumerate(NEAR, 1)
                }
            }
            for name, time in (("today", 2e6), ("other", 2.5e6))
        }
        found = facts(goal, of)
        assert [found.judged.standings[name][0].state for name in of] == [state, state]
        why = (
            "Flows were cut off by the end of the run, and how long they would have taken decides "
            "some goals: web (p99 completion time)."
        )
        assert (why in parts(found)[SURE]) == (state == OPEN)
    # An upper bound below the goal meets it.
    of = {name: {goal.name: dict.fromkeys((1, 2, 3), Value(1e6, low=0.9e6))} for name in ("a", "b")}
    of["b"][goal.name] = {seed: Value(1e6 * by, low=0.9e6) for seed, by in enumerate(NEAR, 1)}
    assert facts(goal, of).judged.standings["b"][0].state == MET


def test_a_reference_that_may_be_shorter_leaves_a_goal_open():
    goal = Goal(WEB, "fct_p99", within=0.0, against="today")
    for low, state in ((None, MET), (1.6e6, MET), (1.4e6, OPEN)):
        of = {
            "today": {
                goal.name: {
                    seed: Value(2e6 * by, low=low and low * by) for seed, by in enumerate(NEAR, 1)
                }
            },
            "new": {goal.name: {seed: Value(1.5e6 * by**2) for seed, by in enumerate(NEAR, 1)}},
        }
        assert facts(goal, of).judged.standings["new"][0].state == state
