"""The study of one standard fabric: the rule of its choice and its sentences on made numbers, what it measures, and a small run of it.

Values are ratios to the tenants' own fabrics, spread over ten seeds (`made.SPREAD` twice) so that the paired logarithms have a standard error of 0.2357
times the spread. With t(9) = 2.262 the 95 % interval of a ratio is the ratio times exp(±0.533 · spread).
"""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import REPO
from made import SPREAD

from afflux import studies, templates
from afflux.metrics import JOB_TIME
from afflux.results import coflows
from afflux.results.result import Result
from afflux.results.statistics import quantile
from afflux.scenario import Scenario
from afflux.studies import standard
from afflux.studies.standard import measures, overview, sentences
from afflux.studies.standard.choice import MET, MISSED, OPEN, OWN, Choice, Judged, Values
from afflux.studies.standard.evidence import Cost, Evidence
from afflux.studies.standard.goals import Candidate, Condition, Goals, Tenant, read
from afflux.studies.standard.mixtures import Change, times

THEIRS = templates.FILES / "goals" / "standard.toml"
SEEDS = 10
JOBS = Tenant("hadoop", "job_time", 0.1, "deep", "traffic.hadoop.size")
QUERIES = Tenant("query", "query_p99", 0.5, "shallow", "traffic.query.queries_per_second")
COPIES = Tenant("bulk", "goodput", 0.4, "shallow", "traffic.bulk.load")
TENANTS = (JOBS, QUERIES, COPIES)
#: Values on the tenants' own fabrics: 10 s, 200 us, 8 Gbps.
ALONE = {"hadoop": 10e9, "query": 200e3, "bulk": 8e9}
DESIGNS = (Candidate("deep", {"switch": {"preset": "jericho_plus"}}, 900), Candidate("shallow", {}, 300), Candidate("ecn", {"switch.ecn.k": "1MB"}, 300))
GOALS = Goals(Path("goals.toml"), TENANTS, DESIGNS, ())
PRICES = {"deep": 100_000.0, "shallow": 40_000.0, "ecn": 40_000.0, OWN: 180_000.0}
WATTS = {"deep": 3_600.0, "shallow": 1_200.0, "ecn": 1_200.0, OWN: 6_000.0}
FINE = {"hadoop": 1.02, "query": 1.1, "bulk": 0.9}


def seeds(middle: float, by: float = 0.01) -> dict[int, float]:
    return {seed + 1: middle * math.exp(by * SPREAD[seed % 5]) for seed in range(SEEDS)}


def mixture(by: float = 0.01, **ratios: Mapping[str, float]) -> Values:
    """Each design's ratios to the own fabrics, whose values are the same with each seed."""
    own = {name: dict.fromkeys(range(1, SEEDS + 1), value) for name, value in ALONE.items()}
    return {OWN: own} | {design: {name: seeds(ALONE[name] * ratio, by) for name, ratio in some.items()} for design, some in ratios.items()}


def judged(values: Values) -> Judged:
    return Judged.of(values, TENANTS, PRICES)


def evidence(values: Values, changed: tuple[tuple[Change, Judged], ...] = (), conditions: tuple[tuple[Condition, Judged], ...] = ()) -> Evidence:
    """Alone each tenant has what it has on its own fabric."""
    alone = {design: {name: seeds(value, 0.001) for name, value in ALONE.items()} for design in values if design != OWN}
    behind = {"shallow": {"query": {"bulk": 0.7, "query": 0.25, "hadoop": 0.05}}, "deep": {"query": {"bulk": 0.8, "hadoop": 0.2}}}
    parts = {"shallow": {"query": {"recovery": 4_000_000, "queueing": 1_000_000, "window": 200_000, "pacing": 0}}}
    return Evidence(GOALS, values, judged(values), alone, Cost(PRICES, "USD", WATTS), changed, conditions, behind, parts)


#: Plain and marking switches lose queries; deep ones meet all goals.
DEEP_WINS = mixture(deep=FINE, shallow=FINE | {"query": 60}, ecn=FINE | {"query": 1.9})
SHALLOW_WINS = mixture(deep=FINE | {"query": 4}, shallow=FINE, ecn=FINE)
#: All miss: deep ones the job, by 30 %, shallow ones the queries.
NONE = mixture(deep=FINE | {"hadoop": 1.3}, shallow=FINE | {"query": 60}, ecn=FINE | {"query": 1.9, "bulk": 0.3})


# The rule.


def test_the_plainest_of_the_cheapest_wins():
    assert judged(SHALLOW_WINS).choice == Choice("shallow", True, "shallow")


def test_deep_buffers_win_where_nothing_cheaper_meets_the_goals():
    found = judged(DEEP_WINS)
    assert found.choice == Choice("deep", True, "deep")
    assert [one.tenant.name for one in found.states("shallow", MISSED)] == ["query"]
    assert found.states("deep", MISSED) == found.states("deep", OPEN) == []


def test_nothing_meets_the_goals():
    found = judged(NONE)
    # 1.3 / 1.1 is nearer than 1.9 / 1.5, and than 60 / 1.5.
    assert found.choice == Choice(None, False, "deep")
    assert found.worst("deep").beyond == pytest.approx(math.log(1.3 / 1.1), abs=1e-3)


def test_settings_count_only_at_the_same_price():
    # Both meet the goals: the first of the list is chosen, though the other one is better.
    better = {"hadoop": 0.9, "query": 0.9, "bulk": 1.1}
    assert judged(mixture(deep=better, shallow=FINE, ecn=better)).choice.design == "shallow"
    assert Judged.of(mixture(deep=better, shallow=FINE, ecn=better), TENANTS, PRICES | {"ecn": 39_999.0}).choice.design == "ecn"


def test_goodput_is_the_other_way_round():
    for ratio, state in ((0.5, MISSED), (0.7, MET), (1.5, MET)):
        found = judged(mixture(deep=FINE, shallow=FINE | {"bulk": ratio}, ecn=FINE))
        assert found.standings["shallow"]["bulk"].state == state
        assert (found.worst("shallow").beyond > 0) == (state == MISSED)


def test_what_is_not_clear_is_open():
    # Spread by a factor of exp(1): the intervals hold the limits. Typical values decide, and the choice is not certain.
    wide = dict.fromkeys(("deep", "shallow", "ecn"), FINE)
    assert judged(mixture(0.5, **wide)).choice == Choice("shallow", False, "deep")
    # A dearer design whose goals are clearly met comes before a cheaper one whose goals are open.
    known = {**mixture(0.5, **wide), "deep": mixture(deep=FINE)["deep"]}
    assert judged(known).choice == Choice("deep", True, "deep")
    # Beyond a limit, though not clearly: no choice for now.
    beyond = dict.fromkeys(wide, FINE | {"query": 1.6})
    found = judged(mixture(0.5, **beyond))
    assert found.choice.design is None
    assert found.states("shallow", MISSED) == []
    assert [one.tenant.name for one in found.outside("shallow")] == ["query"]


def test_goals_are_judged_together():
    """Of nine goals that are met with a chance of 2 % each, none counts as met; of one goal alone it would."""
    near = {tenant.name: tenant.limit * math.exp(-0.05 if tenant.metric.lower_is_better else 0.05) for tenant in TENANTS}
    values = mixture(0.075, deep=near, shallow=near, ecn=near)
    together = judged(values).standings["shallow"]["hadoop"]
    assert together.goal.p is not None
    assert 0.05 / 9 < together.goal.p < 0.05
    assert together.state == OPEN
    one = Judged.of({OWN: values[OWN], "shallow": values["shallow"]}, [JOBS], PRICES)
    assert one.standings["shallow"]["hadoop"].state == MET
    few = judged({design: {name: {1: of[1], 2: of[2]} for name, of in some.items()} for design, some in values.items()})
    assert {one.state for some in few.standings.values() for one in some.values()} == {OPEN}


# Sentences.


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
    assert said[sentences.SURE] == "shallow meets every goal (95 %, 9 goals of all designs judged together, 10 paired seeds)."
    assert said[sentences.OTHERS] == (
        "The others: deep clearly misses query (p99 query time) 4.0 times as much (goal: at most 50 % more); ecn meets every goal, too."
    )
    # No plainer design misses anything: there is nothing to look for a cause in.
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
    alone = {**of.alone, "shallow": {**of.alone["shallow"], "query": seeds(ALONE["query"] * 60, 0.01)}}
    itself = Evidence(GOALS, of.values, of.judged, alone, of.cost)
    said = sentences.parts(itself)[sentences.CAUSE]
    assert said.startswith(
        "likely query's own traffic. With shallow, query (p99 query time) has 12.0 ms alone and 12.0 ms in the mixture, which is no clear loss"
    )


def test_where_nothing_meets_the_goals_it_says_by_how_much():
    said = sentences.parts(evidence(NONE))
    assert said[sentences.CHOICE] == "No shared fabric meets all goals."
    assert said[sentences.NEAREST] == "The nearest is one of deep-buffer switches: hadoop (job time) 30 % more (goal: at most 10 % more)."
    assert said[sentences.SURE] == "9 goals of all designs were judged together (95 %, 10 paired seeds)."
    assert said[sentences.OTHERS] == (
        "The others: "
        "shallow clearly misses query (p99 query time) 60 times as much (goal: at most 50 % more); "
        "ecn clearly misses bulk (goodput per flow) 70 % less (goal: at most 40 % less), query (p99 query time) 90 % more (goal: at most 50 % more)."
    )
    whole = sentences.answer(evidence(NONE), "out/points/deep-1")
    assert [part for part, bold in whole.parts if bold] == ["No shared fabric meets all goals."]
    assert whole.endswith("as afflux export sonic and afflux export linux write them of out/points/deep-1/scenario.toml.")


def test_an_uncertain_choice_names_what_is_open():
    said = sentences.parts(evidence(mixture(0.5, deep=FINE, shallow=FINE, ecn=FINE)))
    assert said[sentences.CHOICE] == "Choose one fabric of shallow switches without marking for now."
    assert said[sentences.SURE].startswith("low. With shallow all values are within their limits, but these are not clearly so (95 %, 9 goals of all designs")
    assert "hadoop (job time) 10.8 s instead of 10.0 s, between 22 % less and 33 % more (goal: at most 10 % more)" in said[sentences.SURE]


def test_the_first_sentence_survives_or_flips():
    half, more = Change(COPIES, 0.5), Change(COPIES, 1.5)
    kept = sentences.parts(evidence(SHALLOW_WINS, ((half, judged(SHALLOW_WINS)), (more, judged(SHALLOW_WINS)))))
    assert kept[sentences.CHANGE] == "the first sentence holds with bulk x 0.5, bulk x 1.5, too (10 paired seeds each)."
    flips = sentences.parts(evidence(SHALLOW_WINS, ((half, judged(SHALLOW_WINS)), (more, judged(DEEP_WINS)))))
    assert flips[sentences.CHANGE] == (
        "the first sentence holds in 1 of 2 mixtures (bulk x 0.5, bulk x 1.5; 10 paired seeds each). It flips: with bulk x 1.5 deep would be chosen, "
        "as shallow clearly misses query (p99 query time) 60 times as much (goal: at most 50 % more)."
    )
    # Less load: something plainer is enough, and the choice would still do.
    easier = sentences.parts(evidence(DEEP_WINS, ((half, judged(mixture(deep=FINE, shallow=FINE, ecn=FINE))), (more, judged(NONE)), (more, judged(DEEP_WINS)))))
    assert easier[sentences.CHANGE] == (
        "the first sentence holds in 1 of 3 mixtures (one tenant's load x 0.5 or x 1.5; 10 paired seeds each). "
        "It flips: with bulk x 0.5 shallow would be chosen, though deep still meets every goal; "
        "with bulk x 1.5 no design would be chosen, as deep clearly misses hadoop (job time) 30 % more (goal: at most 10 % more)."
    )
    checks = {check.name: check for check in overview.checks(evidence(DEEP_WINS, ((half, judged(SHALLOW_WINS)), (more, judged(DEEP_WINS)))))}
    assert (checks["the choice is the same with other loads: mixtures"].holds, checks["the choice is the same with other loads: mixtures"].value) == (False, 1)
    assert not checks["slide 84: no switch made for one purpose is needed"].holds
    assert checks["slide 84: it needs settings made for the purpose: goals that plain switches miss"].value == 1


def test_conditions():
    dropped = Condition("dropped", ("shallow", "ecn"), {})
    lost, kept = (mixture(shallow=FINE | {"hadoop": ratio}, ecn=FINE) for ratio in (1.8, 1.05))
    said = sentences.parts(evidence(SHALLOW_WINS, conditions=((dropped, judged(lost)),)))
    assert said[sentences.CHANGE] == (
        "With frames that are not ECN-capable dropped (SONiC's default), shallow clearly misses hadoop (job time) 80 % more (goal: at most 10 % more)."
    )
    said = sentences.parts(evidence(SHALLOW_WINS, conditions=((dropped, judged(kept)),)))
    assert said[sentences.CHANGE].endswith("shallow still meets every goal.")
    # A condition of other designs says nothing of this choice.
    assert sentences.CHANGE not in sentences.parts(evidence(DEEP_WINS, conditions=((dropped, judged(lost)),)))


def test_the_table_and_the_page():
    made = overview.table(evidence(DEEP_WINS))
    assert made.head[-3:] == ["price, USD", "power", "goals"]
    assert made.rows[1] == ["shallow", "10.2 s (+2.0 %)", "12.0 ms (×60.0)", "7.20 Gbps (−10.0 %)", "40,000", "1,200 W", "misses query"]
    assert made.rows[-1] == ["own fabrics", "10.0 s (deep)", "200 µs (shallow)", "8.00 Gbps (shallow)", "180,000", "6,000 W", "reference"]
    told = overview.told(evidence(DEEP_WINS), None)
    assert told.head == "Choose one fabric of deep-buffer switches."
    assert told.facts.why[0].startswith("The other tenants' frames")
    assert len(overview.rows(evidence(DEEP_WINS))) == 12


# Goals and loads.


def test_the_goals_of_the_study():
    goals = read(THEIRS)
    assert goals.order == ["deep", "shallow", "ecn", "dctcp", "pfc", "classes"]
    assert {tenant.measure for tenant in goals.tenants} == set(measures.MEASURES)
    assert measures.MEASURES["job_time"] is JOB_TIME


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("within = 0.1", "within = 0", "key tenant[0].within: found 0: write a share above 0"),
        ("within = 0.4", "within = 1.5", "key tenant[3].within: found 1.5: write a share above 0 and below 1, as more is better"),
        ('measure = "job_time"', 'measure = "job_tim"', "key tenant[0].measure: there is no measure called 'job_tim'"),
        ('own = "pfc"', 'own = "pcf"', "key tenant[2].own: there is no design called 'pcf'"),
        ("within = 0.1", "withn = 0.1", "key tenant[0].withn: there is no key called 'withn'"),
        ('name = "query"', 'name = "hadoop"', "tenant: the name 'hadoop' stands 2 times"),
        ("watts = 900", 'watts = "900W"', "key design[0].watts: found '900W': write a number"),
        ("watts = 900", "watts = 900\nwatts = 900", "goals.toml: Cannot overwrite a value"),
    ],
)
def test_wrong_goals_are_named(old, new, said, tmp_path):
    text = THEIRS.read_text()
    assert old in text
    path = tmp_path / "goals.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=re.escape(said)) as raised:
        read(path)
    assert str(path) in str(raised.value)


def test_loads_times_a_factor():
    assert [times(value, 1.5) for value in ("3.5GB", 0.3, 100, "2MiB", "40 %")] == ["5.25GB", 0.45, 150.0, "3MiB", "60%"]
    for wrong in ("websearch", True, None):
        with pytest.raises(ValueError, match="a load is a number or a quantity"):
            times(wrong, 0.5)


# Runs.


def small() -> Scenario:
    """The mixture with a job of 100 MB, and 10 ms of the others."""
    found = Scenario.load(templates.FILES / "standard.toml")
    for key, setting in {"traffic.hadoop.size": "100MB", "traffic.hadoop.reducers": 4, "traffic.bulk.sizes": "2MB"}.items():
        found.set(key, setting)
    for name in ("query", "storage", "bulk"):
        found.set(f"traffic.{name}.duration", "10ms")
    return found


def test_jobs_belong_to_their_block():
    names = ["query", "query.0", "query.11", "query1.0", "query1", "xquery.0", "query.job0"]
    assert [name for name in names if measures._belongs(name, "query")] == ["query", "query.0", "query.11", "query.job0"]


def test_measures(tmp_path):
    result = small().run(out=tmp_path / "run")
    tenants = {tenant.name: tenant for tenant in read(THEIRS).tenants}
    (job,) = result.summary["jobs"]["each"]
    assert measures.value(result, tenants["hadoop"]) == job["completion_ns"]
    queries = sorted(one.completion_ns for one in coflows.jobs(result) if one.name.startswith("query"))
    assert len(queries) >= 4
    assert measures.value(result, tenants["query"]) == quantile(queries, 0.99)
    storage = sorted(fct for own, fct in zip(result.flows.column("class"), result.flows.column("fct_ns"), strict=True) if own == "storage")
    assert measures.value(result, tenants["storage"]) == pytest.approx(quantile(storage, 0.99))
    bulk = [fct for own, fct in zip(result.flows.column("class"), result.flows.column("fct_ns"), strict=True) if own == "bulk"]
    assert measures.value(result, tenants["bulk"]) == pytest.approx(8e9 * 2e6 * len(bulk) / sum(bulk))
    cut = small().set("run.until", "5ms").run(out=tmp_path / "cut")
    for name in ("hadoop", "bulk"):
        with pytest.raises(ValueError, match=f"tenant {name} has no .*remove run.until"):
            measures.value(cut, tenants[name])


def test_points():
    points = studies.find("standard").points(False)
    quick = studies.find("standard").points(True)
    assert len({(point.name, point.seed) for point in points}) == len(points)
    assert {(point.name, point.seed) for point in quick} < {(point.name, point.seed) for point in points}
    assert {point.seed for point in quick} == {1, 2, 3, 4, 5}
    by_name = {point.name: point for point in points}
    more = by_name["classes, bulk x 1.5"].scenario
    assert more["traffic.bulk.load"] == pytest.approx(0.9)
    assert by_name["classes, hadoop x 0.5"].scenario["traffic.hadoop.size"] == "1.75GB"
    alone = by_name["pfc, query alone"].scenario
    assert [block["name"] for block in alone["traffic"]] == ["query"]
    # The goals' tables are not shared between points.
    assert by_name["pfc, storage alone"].scenario["switch.pfc"] == {"priorities": [3]}
    assert by_name["classes, dropped"].scenario["switch.ecn.incapable"] == "drop"
    assert by_name["classes"].scenario["switch.ecn.incapable"] == "pass"


def test_the_study_in_small(tmp_path):
    """Two designs, two tenants, five seeds: all sentences, the table, the settings and the page."""
    scenario = small()
    scenario["traffic"] = [block for block in scenario["traffic"] if block["name"] in ("query", "bulk")]
    del scenario["host"]["transports"]["rdma"]
    (tmp_path / "mine.toml").write_text(scenario.to_toml())
    (tmp_path / "goals.toml").write_text(
        "".join(
            f'[[tenant]]\nname = "{name}"\nmeasure = "{measure}"\nwithin = {within}\nown = "plain"\nload = "traffic.{name}.{load}"\n'
            for name, measure, within, load in (("query", "query_p99", 0.5, "queries_per_second"), ("bulk", "goodput", 0.4, "load"))
        )
        + '[[design]]\nname = "plain"\n[[design]]\nname = "marks"\n[design.set]\n"switch.ecn" = { k = "100kB", incapable = "pass" }\n'
        + '"host.transport.ecn" = "classic"\n"host.transports.bulk.ecn" = "classic"\n'
    )
    study = standard.Standard(tmp_path / "mine.toml", tmp_path / "goals.toml")
    verdict = studies.carry_out(study, quick=True, out=tmp_path / "out", jobs=2)
    assert not verdict.outcome.failures
    assert verdict.overview is not None
    assert [row[0] for row in verdict.overview.rows] == ["plain", "marks", "own fabrics"]
    assert {check.name.partition(":")[0] for check in verdict.checks} == {"slide 84", "the choice is the same with other loads"}
    assert verdict.answer is not None
    assert "Cost" in verdict.answer
    assert "bulk x 1.5" in verdict.answer
    # The values are those of the runs.
    plain = Result.open(tmp_path / "out/points/plain, query alone-1") if (tmp_path / "out/points/plain, query alone-1").is_dir() else None
    found = study.evidence(verdict.outcome.designs)
    assert found is not None
    if plain:
        assert found.values[OWN]["query"][1] == measures.value(plain, found.goals.tenants[0])
    assert found.behind[found.choice.shown]["query"]
    assert {path.name for path in verdict.written} == {"sonic.json", "linux.txt", "notes.txt", "report.html", "results.md"}
    assert "WRED_PROFILE" in json.loads((tmp_path / "out/settings/sonic.json").read_text()) or found.choice.shown == "plain"
    assert "| plain | " in (tmp_path / "out/results.md").read_text()
    page = (tmp_path / "out/report.html").read_text()
    assert str(sentences.parts(found)[sentences.CHOICE]) in page
    # It continues: nothing is simulated again.
    again = studies.carry_out(standard.Standard(tmp_path / "mine.toml", tmp_path / "goals.toml"), quick=True, out=tmp_path / "out", jobs=2)
    assert again.outcome.reused == len(again.outcome.results)
    assert again.answer == verdict.answer


def test_mixtures_that_lack_a_tenant_are_refused(tmp_path):
    scenario = small()
    scenario["traffic"] = [block for block in scenario["traffic"] if block["name"] != "bulk"]
    (tmp_path / "mine.toml").write_text(scenario.to_toml())
    with pytest.raises(ValueError, match=r'tenant bulk of .*standard.toml needs a \[\[traffic\]\] block with name = "bulk" and class likewise'):
        standard.Standard(tmp_path / "mine.toml").points(True)


def test_the_readme_names_the_settings_that_are_written(tmp_path):
    text = (REPO / "studies" / "standard" / "README.md").read_text(encoding="utf-8")
    found = small()
    (tmp_path / "scenario.toml").write_text(found.to_toml())
    written = standard._settings(tmp_path / "scenario.toml", tmp_path / "settings")
    assert [path.name for path in written] == re.findall(r"(?m)^\| `(\w+\.\w+)` \| [^|]+ \| [^|]+ \|$", text)
    assert "out/study-standard/settings/" in text
    assert studies.find("standard").folder == "study-standard"


def test_what_the_readme_says_is_in_its_goals():
    """The README's table of goals is that of the template."""
    text = (REPO / "studies" / "standard" / "README.md").read_text()
    for tenant in read(THEIRS).tenants:
        assert f"{100 * tenant.within:g} %" in text, tenant
