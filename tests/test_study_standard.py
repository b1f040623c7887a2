"""The study of one standard fabric: its decision file, and a small run of it. Its sentences are in
test_study_standard_sentences.py."""

import json
import re

import pytest
from conftest import REPO

from afflux import studies, templates
from afflux.decision import points
from afflux.decision.measures import value
from afflux.results import coflows
from afflux.results.designs import Design, Designs
from afflux.results.result import Result
from afflux.results.statistics import quantile
from afflux.scenario import Scenario
from afflux.studies import standard
from afflux.studies.standard import measured, overview, sentences
from afflux.studies.standard.evidence import of_values
from afflux.studies.standard.mixtures import OWN, read, times

THEIRS = templates.FILES / "goals" / "standard.toml"
MIXTURE = templates.FILES / "standard.toml"
# Decision files and loads.


def test_the_goals_of_the_study():
    asked = read(THEIRS, MIXTURE)
    assert asked.order == ["deep", "shallow", "ecn", "dctcp", "pfc", "classes"]
    assert [goal.name for goal in asked.goals] == [
        "hadoop.job_time_mean",
        "query.query_p99",
        "storage.fct_p99",
        "bulk.flow_goodput",
    ]
    assert asked.currency == "USD"
    # The power is for a whole fabric of four switches.
    assert asked.scenario.check().switches == 4
    assert points.power(asked) == {"deep": 3_600.0} | dict.fromkeys(asked.order[1:], 1_200.0)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("within = 0.1", "within = -1", "key goal[0].within: found -1: write a share of 0 or more"),
        (
            "within = 0.4",
            "within = 1.5",
            "key goal[3].within: found 1.5: write a share of 0 or more and below 1, as more is better",
        ),
        (
            'measure = "job_time_mean"',
            'measure = "job_time_men"',
            "key goal[0].measure: there is no measure called 'job_time_men'",
        ),
        ('design = "pfc"', 'design = "pcf"', "key goal[2].design: there is no design called 'pcf'"),
        ("within = 0.1", "withn = 0.1", "key goal[0].withn: there is no key called 'withn'"),
        (
            "[[goal]]",
            '[[tenant]]\nname = "hadoop"\n\n[[goal]]',
            "key tenant[4].name: the name 'hadoop' stands 2 times",
        ),
        ("power = 3600", 'power = "900W"', "key design[0].power: found '900W': write a number"),
        ("power = 3600", "power = 3600\npower = 3600", 'not TOML: the key "power" is there twice'),
        # Goals and tenants of this study.
        (
            'tenant = "bulk"\nmeasure = "flow_goodput"',
            'measure = "flow_goodput"',
            "key goal[3].alone: all traffic is alone already: name a tenant",
        ),
        (
            'tenant = "bulk"\nmeasure = "flow_goodput"\nwithin = 0.4\ndesign = "shallow"\nalone = true',
            'measure = "flow_goodput"\nat_least = "1Gbps"',
            "key goal[3].tenant is missing",
        ),
        (
            'within = 0.1\ndesign = "deep"\nalone = true',
            'at_most = "2s"',
            "goal[0]: the study starts from the tenant's own fabric: write within = SHARE",
        ),
        (
            'design = "deep"\nalone = true',
            'design = "deep"',
            "goal[0]: the study starts from the tenant's own fabric",
        ),
        (
            'design = "deep"\nalone = true',
            "alone = true",
            "goal[0]: the study starts from the tenant's own fabric",
        ),
        (
            'tenant = "bulk"\n',
            'tenant = "query"\n',
            "tenant[3]: tenant bulk: it has no goal: write a [[goal]] block",
        ),
        (
            'tenant = "storage"\n',
            'tenant = "query"\n',
            "tenant[1]: tenant query: its goals start from the designs shallow, pfc: write one",
        ),
        (
            'load = "traffic.bulk.load"\n',
            "",
            "key tenant[3].load is missing: name the key of the scenario",
        ),
        (
            'load = "traffic.bulk.load"',
            'load = "traffic.bulk.lod"',
            "key tenant[3].load: the scenario has no traffic.bulk.lod",
        ),
        (
            'load = "traffic.bulk.load"',
            'load = "traffic.bulk.kind"',
            "key tenant[3].load: traffic.bulk.kind: a load is a number or a quantity",
        ),
    ],
)
def test_wrong_goals_are_named(old, new, said, tmp_path):
    text = THEIRS.read_text()
    assert old in text
    path = tmp_path / "goals.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=re.escape(said)) as raised:
        read(path, MIXTURE)
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(raised.value))


def test_the_scenario_that_a_file_names_is_simulated(tmp_path):
    """Without --scenario the file's scenario is used. The template's mixture is the fallback if the
    file names none."""
    (tmp_path / "mine.toml").write_text(small().to_toml())
    path = tmp_path / "goals.toml"
    path.write_text('seeds = "5-1"\n' + THEIRS.read_text())
    with pytest.raises(ValueError, match=re.escape(f"{path}:1: key seeds: 5-1: expected whole")):
        read(path, MIXTURE)
    path.write_text('scenario = "mine.toml"\n' + THEIRS.read_text())
    assert read(path, None, MIXTURE).scenario["traffic.hadoop.size"] == "100MB"
    assert read(path, MIXTURE).scenario["traffic.hadoop.size"] == "3.5GB"
    path.write_text(THEIRS.read_text())
    assert read(path, None, MIXTURE).scenario["traffic.hadoop.size"] == "3.5GB"
    with pytest.raises(ValueError, match="there is no scenario"):
        read(path)
    assert standard.Standard(tmp_path / "mine.toml", path).folder == "study-standard-mine"
    assert standard.Standard(None, path).folder == "study-standard-goals"


def test_a_single_tenant_is_no_mixture(tmp_path):
    path = tmp_path / "goals.toml"
    path.write_text(
        '[[tenant]]\nname = "query"\nload = "traffic.query.queries_per_second"\n[[design]]\nname = "a"\n[[design]]\nname = "b"\n'
        '[[goal]]\ntenant = "query"\nmeasure = "query_p99"\nwithin = 0.5\ndesign = "a"\nalone = true\n'
    )
    with pytest.raises(
        ValueError,
        match=re.escape(f"{path}:1: key tenant: found 1: the study needs at least two tenants"),
    ):
        read(path, MIXTURE)


def test_loads_times_a_factor():
    assert [times(value, 1.5) for value in ("3.5GB", 0.3, 100, "2MiB", "40 %")] == [
        "5.25GB",
        0.45,
        150.0,
        "3MiB",
        "60%",
    ]
    for wrong in ("websearch", True, None):
        with pytest.raises(ValueError, match="a load is a number or a quantity"):
            times(wrong, 0.5)


# Runs.


def small() -> Scenario:
    """Returns the mixture with a job of 100 MB, and 10 ms of the other traffic."""
    found = Scenario.load(templates.FILES / "standard.toml")
    for key, setting in {
        "traffic.hadoop.size": "100MB",
        "traffic.hadoop.reducers": 4,
        "traffic.bulk.sizes": "2MB",
    }.items():
        found.set(key, setting)
    for name in ("query", "storage", "bulk"):
        found.set(f"traffic.{name}.duration", "10ms")
    return found


def test_measures(tmp_path):
    result = small().run(out=tmp_path / "run")
    goals = {goal.tenant.name: goal for goal in read(THEIRS, MIXTURE).goals}

    def of(name: str) -> float:
        found = value(result, goals[name].tenant, goals[name].measure)
        assert found.exact
        return found.number

    (job,) = result.summary["jobs"]["each"]
    assert of("hadoop") == job["completion_ns"]
    queries = sorted(
        one.completion_ns for one in coflows.jobs(result) if one.name.startswith("query")
    )
    assert len(queries) >= 4
    assert of("query") == quantile(queries, 0.99)
    storage = sorted(
        fct
        for own, fct in zip(
            result.flows.column("class"), result.flows.column("fct_ns"), strict=True
        )
        if own == "storage"
    )
    assert of("storage") == pytest.approx(quantile(storage, 0.99))
    bulk = [
        fct
        for own, fct in zip(
            result.flows.column("class"), result.flows.column("fct_ns"), strict=True
        )
        if own == "bulk"
    ]
    assert of("bulk") == pytest.approx(8e9 * 2e6 * len(bulk) / sum(bulk))


def test_a_mixture_that_does_not_finish_is_refused(tmp_path):
    cut = small().set("run.until", "5ms")
    (tmp_path / "mine.toml").write_text(cut.to_toml())
    study = standard.Standard(tmp_path / "mine.toml")
    order = read(THEIRS, MIXTURE).order
    result = cut.run(out=tmp_path / "cut")
    designs = Designs(Design(name, {1: result}) for name in order)
    with pytest.raises(
        ValueError, match=r"deep, seed 1: a part of the traffic did not finish: remove run\.until"
    ):
        study.evidence(designs)


def test_a_wrong_key_is_refused_with_its_file_and_block(tmp_path):
    goals = tmp_path / "mine.toml"
    text = THEIRS.read_text()
    for right, wrong, block in (
        ('"topology.uplink_rate" = "75Gbps"', '"topology.uplink_rat" = "75Gbps"', "deep, 2:1"),
        ('"host.transport.congestion" = "dctcp"', '"host.transport.cong" = "dctcp"', "dctcp"),
        ('"switch.ecn.incapable" = "drop"', '"switch.ecn.incapabl" = "drop"', "ecn, dropped"),
    ):
        assert right in text
        goals.write_text(text.replace(right, wrong))
        line = goals.read_text().partition(wrong)[0].count("\n") + 1
        with pytest.raises(ValueError, match=rf"mine\.toml:{line}: {block}: .*unknown key"):
            studies.carry_out(standard.Standard(None, goals), quick=True, out=tmp_path / "out")


def test_points():
    whole = studies.find("standard").points(False)
    quick = studies.find("standard").points(True)
    assert len({(point.name, point.seed) for point in whole}) == len(whole)
    assert {(point.name, point.seed) for point in quick} < {
        (point.name, point.seed) for point in whole
    }
    # Variants have choices of their own, so they have more seeds than other loads and conditions.
    seeds = {
        name: [len([point for point in of if point.name == name]) for of in (quick, whole)]
        for name in ("classes", "classes, bulk x 1.5", "classes, 1:1", "deep, hadoop alone, 1:1")
    }
    assert seeds == {
        "classes": [5, 8],
        "classes, bulk x 1.5": [5, 5],
        "classes, 1:1": [8, 16],
        "deep, hadoop alone, 1:1": [8, 16],
    }
    by_name = {point.name: point for point in whole}
    more = by_name["classes, bulk x 1.5"].scenario
    assert more["traffic.bulk.load"] == pytest.approx(0.9)
    assert by_name["classes, hadoop x 0.5"].scenario["traffic.hadoop.size"] == "1.75GB"
    alone = by_name["pfc, query alone"].scenario
    assert [block["name"] for block in alone["traffic"]] == ["query"]
    # The tables of goals are not shared between points.
    assert by_name["pfc, storage alone"].scenario["switch.pfc"] == {"priorities": [3]}
    assert by_name["classes, dropped"].scenario["switch.ecn.incapable"] == "drop"
    assert by_name["classes"].scenario["switch.ecn.incapable"] == "pass"
    # On other fabrics the tenants' own ones are others, too.
    assert by_name["classes, 1:1"].scenario["topology.uplink_rate"] == "150Gbps"
    assert by_name["deep, hadoop alone, 2:1"].scenario["topology.uplink_rate"] == "75Gbps"
    together = by_name["shallow, bulk alone, shared hosts"].scenario["traffic"]
    assert [block["sources"] for block in together] == [[0, 1, 12, 13]]
    assert "classes, 3.75:1" not in by_name


def test_the_study_in_small(tmp_path):
    """Two designs, two tenants, five seeds: checks all sentences, the table, the settings and the
    page."""
    scenario = small()
    scenario["traffic"] = [
        block for block in scenario["traffic"] if block["name"] in ("query", "bulk")
    ]
    del scenario["host"]["transports"]["rdma"]
    (tmp_path / "mine.toml").write_text(scenario.to_toml())
    (tmp_path / "goals.toml").write_text(
        'seeds = "1-5"\n'
        + "".join(
            f'[[tenant]]\nname = "{name}"\nload = "traffic.{name}.{load}"\n'
            f'[[goal]]\ntenant = "{name}"\nmeasure = "{measure}"\nwithin = {within}\ndesign = "plain"\nalone = true\n'
            for name, measure, within, load in (
                ("query", "query_p99", 0.5, "queries_per_second"),
                ("bulk", "flow_goodput", 0.4, "load"),
            )
        )
        + '[[design]]\nname = "plain"\n[[design]]\nname = "marks"\n[design.set]\n"switch.ecn" = { k = "100kB", incapable = "pass" }\n'
        + '"host.transport.ecn" = "classic"\n"host.transports.bulk.ecn" = "classic"\n'
        + '[[variant]]\nname = "narrow"\n[[variant]]\nname = "1:1"\n[variant.set]\n"topology.uplink_rate" = "150Gbps"\n'
    )
    study = standard.Standard(tmp_path / "mine.toml", tmp_path / "goals.toml")
    verdict = studies.carry_out(study, quick=True, out=tmp_path / "out", jobs=2)
    assert not verdict.outcome.failures
    values, variants = verdict.overview
    assert [row[0] for row in values.rows] == ["plain", "marks", "own fabrics"]
    assert [row[0] for row in variants.rows] == [
        "narrow",
        "uplinks at 1:1",
    ]
    assert {check.name.partition(":")[0] for check in verdict.checks} == {
        "slide 84",
        "the choice is the same with other loads",
        "the choice is the same on other fabrics",
    }
    assert verdict.answer is not None
    assert "Cost" in verdict.answer
    assert "bulk x 1.5" in verdict.answer
    # The values are those of the runs.
    plain = (
        Result.open(tmp_path / "out/points/plain, query alone-1")
        if (tmp_path / "out/points/plain, query alone-1").is_dir()
        else None
    )
    found = study.evidence(verdict.outcome.designs)
    assert found is not None
    if plain:
        goal = found.question.goals[0]
        assert found.numbers(OWN, goal)[1] == value(plain, goal.tenant, goal.measure).number
    assert found.behind[found.choice.shown]["query"]
    assert {path.name for path in verdict.written} == {
        "sonic.json",
        "linux.txt",
        "notes.txt",
        "report.html",
        "results.md",
        "values.csv",
    }
    # The file of values says everything that was judged.
    kept = measured.read(found.question, tmp_path / "out/values.csv")
    assert {name: [*of_goals] for name, of_goals in kept.items()} == {
        name: [*of_goals] for name, of_goals in found.measured.items()
    }
    reread = of_values(study._mixtures(), kept, found.cost)
    assert reread is not None
    assert overview.tables(reread) == verdict.overview
    assert sentences.parts(reread)[sentences.SURE] == sentences.parts(found)[sentences.SURE]
    assert (
        "WRED_PROFILE" in json.loads((tmp_path / "out/settings/sonic.json").read_text())
        or found.choice.shown == "plain"
    )
    assert "| plain | " in (tmp_path / "out/results.md").read_text()
    page = (tmp_path / "out/report.html").read_text()
    assert str(sentences.parts(found)[sentences.CHOICE]) in page
    # A second run reuses all results.
    again = studies.carry_out(
        standard.Standard(tmp_path / "mine.toml", tmp_path / "goals.toml"),
        quick=True,
        out=tmp_path / "out",
        jobs=2,
    )
    assert again.outcome.reused == len(again.outcome.results)
    assert again.answer == verdict.answer


def test_mixtures_that_lack_a_tenant_are_refused(tmp_path):
    scenario = small()
    scenario["traffic"] = [block for block in scenario["traffic"] if block["name"] != "bulk"]
    (tmp_path / "mine.toml").write_text(scenario.to_toml())
    with pytest.raises(
        ValueError,
        match=r"standard\.toml:\d+: key tenant\[3\].name: there is no class of traffic called 'bulk'",
    ):
        standard.Standard(tmp_path / "mine.toml").points(True)


def test_the_readme_names_the_settings_that_are_written(tmp_path):
    text = (REPO / "studies" / "standard" / "README.md").read_text(encoding="utf-8")
    found = small()
    (tmp_path / "scenario.toml").write_text(found.to_toml())
    written = standard._settings(tmp_path / "scenario.toml", tmp_path / "settings")
    assert [path.name for path in written] == re.findall(
        r"(?m)^\| `(\w+\.\w+)` \| [^|]+ \| [^|]+ \|$", text
    )
    assert "out/study-standard/settings/" in text
    assert studies.find("standard").folder == "study-standard"


def test_what_the_readme_says_is_in_its_goals():
    """The README's table of goals matches the template."""
    text = (REPO / "studies" / "standard" / "README.md").read_text()
    for goal in read(THEIRS, MIXTURE).goals:
        assert f"{100 * goal.within:g} %" in text, goal
