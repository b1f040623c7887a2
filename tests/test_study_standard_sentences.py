"""The sentences of the study of one standard fabric, on made-up numbers (those of `tenants`).

The rule of its choice is the rule of `afflux decide` (test_decision_rule.py).
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tenants import (
    BULK,
    DEEP_WINS,
    FINE,
    GOALS,
    HADOOP,
    NONE,
    OWN_FABRIC,
    PRICES,
    QUERIES,
    QUERY,
    SHALLOW_WINS,
    alone,
    judged,
    mixture,
    seeds,
)

from afflux.decision import points
from afflux.decision.file import Candidate, Condition, Question, Variant
from afflux.decision.judge import Judged, Values
from afflux.scenario import Scenario
from afflux.studies.standard import overview, sentences
from afflux.studies.standard.evidence import Cost, Evidence
from afflux.studies.standard.mixtures import OWN, Change

DESIGNS = (
    Candidate("deep", {"switch": {"preset": "jericho_plus"}}, power=3_600.0),
    Candidate("shallow", power=1_200.0),
    Candidate("ecn", {"switch.ecn.k": "1MB"}, power=1_200.0),
)
ASKED = Question(
    Path("goals.toml"),
    Scenario(),
    Path("mixture.toml"),
    DESIGNS,
    (HADOOP, QUERY, BULK),
    GOALS,
    currency="USD",
)
COST = Cost(PRICES | {OWN: 180_000.0}, points.power(ASKED) | {OWN: 6_000.0})


def evidence(
    values: Values,
    changed: Sequence[tuple[Change, Judged]] = (),
    conditions: Sequence[tuple[Condition, Judged]] = (),
) -> Evidence:
    behind = {
        "shallow": {"query": {"bulk": 0.7, "query": 0.25, "hadoop": 0.05}},
        "deep": {"query": {"bulk": 0.8, "hadoop": 0.2}},
    }
    parts = {
        "shallow": {
            "query": {"recovery": 4_000_000, "queueing": 1_000_000, "window": 200_000, "pacing": 0}
        }
    }
    return Evidence(
        ASKED, values, judged(values), alone(0.001), COST, changed, conditions, behind, parts
    )


def test_shallow_switches_are_chosen():
    said = sentences.parts(evidence(SHALLOW_WINS))
    assert said[sentences.CHOICE] == "Choose one fabric of shallow switches without marking."
    assert said[sentences.SIZE].startswith(
        "compared with the tenants' own fabrics, hadoop (job time) 10.2 s instead of 10.0 s, 2.0 % more (95 % interval 1.5 to 2.5 %, 10 paired seeds); query ("
    )
    assert said[sentences.COSTS] == (
        "USD 40,000 instead of 180,000 for fabrics of the tenants' own (78 % less). Dearer: deep (USD 100,000). "
        "Power of the switches: 1,200 W instead of 6,000 W. Prices and power are examples."
    )
    assert (
        said[sentences.SURE]
        == "shallow meets every goal (95 %, 9 goals of all designs judged together, 10 paired seeds)."
    )
    assert said[sentences.OTHERS] == (
        "The others: deep clearly misses query (p99 query time) 4.0 times as much (goal: at most 50 % more); ecn meets every goal, too."
    )
    # No simpler design misses a goal, so there is no cause to look for.
    assert said[sentences.CAUSE].startswith("likely too little contention for a difference.")
    assert sentences.NEAREST not in said
    assert sentences.CHANGE not in said


def test_deep_switches_are_chosen_and_why():
    of = evidence(DEEP_WINS)
    assert of.rejected == "shallow"
    said = sentences.parts(of)
    assert said[sentences.CHOICE] == "Choose one fabric of deep-buffer switches."
    assert said[sentences.CAUSE] == (
        "the other tenants' frames, as runs of each tenant alone show. With shallow, query (p99 query time) has 200 µs alone and 12.0 ms in the mixture; "
        "with deep it has 220 µs. A flow of query takes longer by recovery +4.000 ms, queueing +1.000 ms on average. "
        "Its frames waited in switches behind bulk (70 %), its own tenant (25 %)."
    )
    assert said[sentences.CAUSE].ja == (
        "ほかのテナントのフレーム（各テナント単独の実行で確認）。shallow での query（クエリー時間の p99） は単独で 200 µs、混在で 12.0 ms、"
        "deep では混在で 220 µs です。query のフローは平均で次だけ長くかかります: 損失回復 +4.000 ms、キューイング +1.000 ms。"
        "そのフレームがスイッチで待った相手: bulk（70%）、同じテナント（25%）。"
    )
    pays = "query (p99 query time) 220 µs instead of 200 µs, 10 % more (95 % interval 9.5 to 11 %, 10 paired seeds), waiting behind bulk (80 %), hadoop (20 %)"
    assert pays in said[sentences.PAYS]
    assert "Dearer" not in said[sentences.COSTS]
    assert "USD 100,000 instead of 180,000" in said[sentences.COSTS]


def test_a_tenant_that_spoils_its_own_queue_is_no_victim():
    of = evidence(DEEP_WINS)
    spoiled = {
        **of.alone,
        "shallow": {
            **of.alone["shallow"],
            QUERIES.name: seeds(OWN_FABRIC[QUERIES.name] * 60, 0.01),
        },
    }
    itself = Evidence(ASKED, of.values, of.judged, spoiled, of.cost)
    said = sentences.parts(itself)[sentences.CAUSE]
    assert said.startswith(
        "likely query's own traffic. With shallow, query (p99 query time) has 12.0 ms alone and 12.0 ms in the mixture, which is no clear loss"
    )


def test_where_nothing_meets_the_goals_it_says_by_how_much():
    said = sentences.parts(evidence(NONE))
    assert said[sentences.CHOICE] == "No shared fabric meets all goals."
    assert (
        said[sentences.NEAREST]
        == "The nearest is one of deep-buffer switches: hadoop (job time) 30 % more (goal: at most 10 % more)."
    )
    assert (
        said[sentences.SURE]
        == "9 goals of all designs were judged together (95 %, 10 paired seeds)."
    )
    assert said[sentences.OTHERS] == (
        "The others: "
        "shallow clearly misses query (p99 query time) 60 times as much (goal: at most 50 % more); "
        "ecn clearly misses bulk (time-weighted goodput per flow) 70 % less (goal: at most 40 % less), "
        "query (p99 query time) 90 % more (goal: at most 50 % more)."
    )
    whole = sentences.answer(evidence(NONE), "out/points/deep-1")
    assert [part for part, bold in whole.parts if bold] == ["No shared fabric meets all goals."]
    assert whole.endswith(
        "as afflux export sonic and afflux export linux write them of out/points/deep-1/scenario.toml."
    )


def test_where_a_fabric_is_open_it_is_not_said_to_miss_its_goals():
    """Values of the deep buffers exceed a limit, but not clearly: with more seeds they may meet all
    goals."""
    wide = mixture(0.5, deep=FINE | {"hadoop": 1.3})
    said = sentences.parts(evidence(NONE | wide))
    assert judged(NONE).unresolved == []
    assert judged(NONE | wide).unresolved == ["deep"]
    choice = "No shared fabric is shown to meet all goals; still open: deep-buffer switches."
    assert said[sentences.CHOICE] == choice
    assert said[sentences.CHOICE].ja.startswith("すべての目標を満たすと示された")
    assert said[sentences.SURE].startswith(
        "low. 9 goals of all designs were judged together (95 %, 10 paired seeds), and with deep these are open: hadoop (job time) 13.8 s"
    )
    # The open designs need not be the nearest one.
    wide = mixture(0.5, shallow=FINE | {"query": 1.9}, ecn=FINE | {"query": 1.9})
    said = sentences.parts(evidence(NONE | wide))
    assert said[sentences.CHOICE] == (
        "No shared fabric is shown to meet all goals; still open: shallow switches without marking, shallow switches with ECN."
    )
    assert (
        said[sentences.SURE]
        == "9 goals of all designs were judged together (95 %, 10 paired seeds)."
    )
    asked = replace(ASKED, variants=(Variant("3.75:1", {}), Variant("2:1", {}), Variant("1:1", {})))
    of = replace(
        evidence(NONE | wide),
        question=asked,
        variants=[(asked.variants[1], judged(NONE)), (asked.variants[2], judged(NONE | wide))],
    )
    said = sentences.parts(of)
    assert said[sentences.CHOICE].startswith(
        "With uplinks at 27 % of the host ports (3.75:1), no shared fabric is shown to meet all goals; still open: "
    )
    assert said[sentences.VARIANTS] == (
        "By fabric (10 paired seeds each): with uplinks at 2:1 no shared fabric meets all goals; "
        "with uplinks at 1:1 no shared fabric is shown to meet all goals, with some still open."
    )


def test_an_uncertain_choice_names_what_is_open():
    said = sentences.parts(evidence(mixture(0.5, deep=FINE, shallow=FINE, ecn=FINE)))
    assert (
        said[sentences.CHOICE] == "Choose one fabric of shallow switches without marking for now."
    )
    assert said[sentences.SURE].startswith(
        "low. With shallow all values are within their limits, but these are not clearly so (95 %, 9 goals of all designs"
    )
    assert (
        "hadoop (job time) 10.8 s instead of 10.0 s, between 22 % less and 33 % more in the geometric mean of pairs (goal: at most 10 % more)"
        in said[sentences.SURE]
    )


def test_the_first_sentence_survives_or_flips():
    half, more = Change(BULK, 0.5), Change(BULK, 1.5)
    kept = sentences.parts(
        evidence(SHALLOW_WINS, ((half, judged(SHALLOW_WINS)), (more, judged(SHALLOW_WINS))))
    )
    assert (
        kept[sentences.CHANGE]
        == "the first sentence holds with bulk x 0.5, bulk x 1.5, too (10 paired seeds each)."
    )
    flips = sentences.parts(
        evidence(SHALLOW_WINS, ((half, judged(SHALLOW_WINS)), (more, judged(DEEP_WINS))))
    )
    assert flips[sentences.CHANGE] == (
        "the first sentence holds in 1 of 2 mixtures (bulk x 0.5, bulk x 1.5; 10 paired seeds each). It flips: with bulk x 1.5 deep would be chosen, "
        "as shallow clearly misses query (p99 query time) 60 times as much (goal: at most 50 % more)."
    )
    # With less load a simpler design is enough, and the choice would still meet all goals.
    easier = sentences.parts(
        evidence(
            DEEP_WINS,
            (
                (half, judged(mixture(deep=FINE, shallow=FINE, ecn=FINE))),
                (more, judged(NONE)),
                (more, judged(DEEP_WINS)),
            ),
        )
    )
    assert easier[sentences.CHANGE] == (
        "the first sentence holds in 1 of 3 mixtures (one tenant's load x 0.5 or x 1.5; 10 paired seeds each). "
        "It flips: with bulk x 0.5 shallow would be chosen, though deep still meets every goal; "
        "with bulk x 1.5 no design would be chosen, as deep clearly misses hadoop (job time) 30 % more (goal: at most 10 % more)."
    )
    checks = {
        check.name: check
        for check in overview.checks(
            evidence(DEEP_WINS, ((half, judged(SHALLOW_WINS)), (more, judged(DEEP_WINS))))
        )
    }
    assert (
        checks["the choice is the same with other loads: mixtures"].holds,
        checks["the choice is the same with other loads: mixtures"].value,
    ) == (False, 1)
    assert not checks["slide 84: no switch made for one purpose is needed"].holds
    assert (
        checks[
            "slide 84: it needs settings made for the purpose: goals that plain switches miss"
        ].value
        == 1
    )


def test_conditions():
    dropped = Condition("dropped", ("shallow", "ecn"), {})
    lost, kept = (mixture(shallow=FINE | {"hadoop": ratio}, ecn=FINE) for ratio in (1.8, 1.05))
    said = sentences.parts(evidence(SHALLOW_WINS, conditions=((dropped, judged(lost)),)))
    assert said[sentences.CHANGE] == (
        "With frames that are not ECN-capable dropped (SONiC's default), shallow clearly misses hadoop (job time) 80 % more (goal: at most 10 % more)."
    )
    said = sentences.parts(evidence(SHALLOW_WINS, conditions=((dropped, judged(kept)),)))
    assert said[sentences.CHANGE].endswith("shallow still meets every goal.")
    # A condition of other designs has no bearing on this choice.
    assert sentences.CHANGE not in sentences.parts(
        evidence(DEEP_WINS, conditions=((dropped, judged(lost)),))
    )


def test_the_choice_is_told_by_fabric():
    """The first sentence names the fabric, the second one says where the choice is the same and where it flips."""
    asked = replace(
        ASKED,
        variants=(
            Variant("3.75:1", {}),
            Variant("2:1", {}),
            Variant("1:1", {}),
            Variant("mine", {}),
            Variant("shared hosts", {}),
            Variant("other", {}),
        ),
    )
    open_ = mixture(deep=FINE, shallow=FINE | {"query": 1.5}, ecn=FINE)
    found = [*map(judged, (SHALLOW_WINS, DEEP_WINS, NONE, open_, SHALLOW_WINS))]
    said = sentences.parts(
        replace(
            evidence(SHALLOW_WINS),
            question=asked,
            variants=list(zip(asked.variants[1:], found, strict=True)),
        )
    )
    assert (
        said[sentences.CHOICE]
        == "With uplinks at 27 % of the host ports (3.75:1), choose one fabric of shallow switches without marking."
    )
    assert said[sentences.VARIANTS] == (
        "By fabric (10 paired seeds each): with uplinks at 2:1 and other the choice is the same; "
        "with uplinks at 1:1 it flips to deep-buffer switches; "
        "with mine no shared fabric meets all goals; "
        "with shared host ports it flips to shallow switches with ECN."
    )
    of = replace(
        evidence(NONE), question=asked, variants=[(asked.variants[1], judged(SHALLOW_WINS))]
    )
    assert (
        sentences.parts(of)[sentences.CHOICE]
        == "With uplinks at 27 % of the host ports (3.75:1), no shared fabric meets all goals."
    )
    page_answer = overview.page_answer(of, None)
    assert page_answer.head.startswith(
        "With uplinks at 27 % of the host ports (3.75:1), no shared fabric meets all goals. By fabric (10 paired seeds each): with uplinks at 2:1"
    )
    _, table = overview.tables(of)
    assert table.head == ["", "choice", "all goals met", "goals open", "goals missed"]
    assert [row[:2] for row in table.rows] == [
        ["uplinks at 27 % of the host ports (3.75:1)", "none"],
        ["uplinks at 2:1", "shallow"],
    ]
    assert table.rows[0][2] == "–"
    assert table.rows[1][2:] == ["shallow, ecn", "–", "deep"]
    checks = {check.name: check for check in overview.checks(of)}
    assert not checks["the choice is the same on other fabrics: variants"].holds


def test_the_table_and_the_page():
    (made,) = overview.tables(evidence(DEEP_WINS))
    assert made.head[-3:] == ["price, USD", "power", "goals"]
    assert made.rows[1] == [
        "shallow",
        "10.2 s (+2.0 %)",
        "12.0 ms (×60.0)",
        "7.20 Gbps (−10.0 %)",
        "40,000",
        "1,200 W",
        "misses query",
    ]
    assert made.rows[-1] == [
        "own fabrics",
        "10.0 s (deep)",
        "200 µs (shallow)",
        "8.00 Gbps (shallow)",
        "180,000",
        "6,000 W",
        "reference",
    ]
    page_answer = overview.page_answer(evidence(DEEP_WINS), None)
    assert page_answer.head == "Choose one fabric of deep-buffer switches."
    assert page_answer.facts.why[0].startswith("The other tenants' frames")
    assert len(overview.rows(evidence(DEEP_WINS))) == 12
