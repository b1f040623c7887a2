"""`afflux decide`: its file, its answer on small simulations, kills, and errors."""

import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from conftest import REPO, as_many
from test_decision_judging import contradictions

import afflux
from afflux import templates
from afflux.decision.file import read
from afflux.decision.points import changed

FABRIC = """\
format = 1
name = "fabric"

[topology]
kind = "star"
hosts = 6
rate = "10Gbps"
delay = "1us"

[switch]
sharing = "static"
buffer = "200kB"

[host.transport]
stack = "basic"
min_rto = "2ms"

[[traffic]]
kind = "incast"
name = "web"
class = "web"
to = 0
senders = 4
bytes = "5kB"
rounds = 60
period = "200us"
jitter = "5us"

[[traffic]]
kind = "incast"
name = "storage"
class = "storage"
to = 0
senders = 3
bytes = "1MB"
rounds = 4
period = "3ms"
jitter = "50us"
"""
DESIGNS = """\
currency = "USD"

[[design]]
name = "today"
price = 1000

[[design]]
name = "marking"
price = 1100
power = 300
[design.set]
"switch.ecn" = { k = "40kB", incapable = "pass" }
"host.transport.ecn" = "dctcp"
"host.transport.congestion" = "dctcp"

[[design]]
name = "tiny"
price = 900
[design.set]
"switch.buffer" = "20kB"

[[goal]]
tenant = "web"
measure = "fct_p50"
at_most = "90us"

[[goal]]
tenant = "storage"
measure = "fct_mean"
within = 2.0
alone = true

[[goal]]
measure = "goodput"
within = 0.3
design = "today"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fabric.toml").write_text(FABRIC)
    (tmp_path / "designs.toml").write_text(f'scenario = "fabric.toml"\n{DESIGNS}')
    return tmp_path


def test_one_command_gives_answer_table_and_report(folder, command):
    done = command("decide", "designs.toml", "--seeds", "1-4")
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "out/decide-designs/decision.json").read_text())
    assert not contradictions(found)
    assert found["chosen"] == "marking", done.stdout
    assert found["certain"]
    assert " ".join(done.stdout.split()).startswith(
        "Choose marking: no other design meets every goal."
    )
    assert [design["price"] for design in found["designs"]] == [1000, 1100, 900]
    assert re.search(r"^today +✕", done.stdout, re.M)
    assert "6 scenarios with 4 seeds" in done.stderr
    page = (folder / "out/decide-designs/report.html").read_text()
    assert page.index('class="grid goals"') < page.index('id="measures"')
    assert (
        json.loads(command("decide", "designs.toml", "--seeds", "1-4", "--json").stdout) == found
    ), "nothing is simulated again"


@pytest.mark.usefixtures("here")
def test_a_scenario_file_may_hold_its_own_decision(folder, command):
    (folder / "both.toml").write_text(FABRIC + DESIGNS.replace('currency = "USD"\n', ""))
    done = command("decide", "both.toml", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["seeds"] == [1, 2, 3]
    # Other commands ignore the tables of `decide`, and say so.
    checked = command("check", "both.toml")
    assert checked.returncode == 0, checked.stderr
    assert "design, goal of this file are for afflux decide" in " ".join(checked.stdout.split())


@pytest.mark.usefixtures("here")
def test_without_goals_designs_are_compared_with_the_first(folder, command):
    (folder / "designs.toml").write_text(
        f'scenario = "fabric.toml"\n{DESIGNS.partition("[[goal]]")[0]}'
    )
    done = command("decide", "designs.toml", "--quick")
    assert done.returncode == 0, done.stderr
    assert "Goals by design" not in done.stdout
    assert "marking has" in done.stdout
    compared = command("compare", "out/decide-designs", "--json")
    assert json.loads(compared.stdout)["baseline"] == "today", "the first of the file, not by name"


@pytest.mark.usefixtures("here")
def test_seeds_are_added_until_it_is_decided(folder, command):
    done = command("decide", "designs.toml", "--until-decided", "--budget", "10", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["certain"]
    assert len(found["seeds"]) == found["looks"][-1]["seeds"] == 5
    assert found["looks"] == [{"seeds": 5, "level": pytest.approx(0.025)}], (
        "the first of two looks with equally many new seeds"
    )
    assert found["error"] == pytest.approx(0.05)


def test_python(folder, monkeypatch):
    monkeypatch.chdir(folder)
    found = afflux.decide("designs.toml", seeds=[1, 2, 3], jobs=1)
    assert isinstance(found, afflux.Decision)
    assert found.judged.choice.design == "marking"
    assert str(found.sentence()) in repr(found)
    assert "<table" in found._repr_html_()
    with pytest.raises(ValueError, match=r"seeds: found 3: write a list of seeds"):
        afflux.decide("designs.toml", seeds=3)


@pytest.mark.slow  # starts the command seven times
def test_killed_at_random_moments_and_continued_it_gives_the_same_bytes(folder):
    def start(out: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            "afflux",
            "decide",
            "designs.toml",
            "--seeds",
            "1-3",
            "-o",
            out,
        ]
        return subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    began = time.monotonic()
    assert start("whole").wait(120) == 0
    took = time.monotonic() - began
    rng = random.Random(7)
    for _ in range(as_many(5)):
        process = start("killed")
        time.sleep(rng.uniform(0.3, 1.0) * took)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    assert start("killed").wait(120) == 0
    whole, killed = (folder / "whole", folder / "killed")
    assert (whole / "report.html").read_bytes() == (killed / "report.html").read_bytes()
    # The processor time of two runs differs.
    one, other = (
        re.sub(r'"seconds": [\d.]+', "", (place / "decision.json").read_text())
        for place in (whole, killed)
    )
    assert one == other


#: The shape of `decide --json` and of `decision.json`, as the contract of the project fixes it.
SHAPE = "{answer, chosen, designs: [{name, price, goals: [{goal, value, low, high, bound, verdict}], differences}], seeds, seconds}"


def lacks(found: object, shape: object, place: str = "") -> list[str]:
    """Returns the keys of the shape that the found JSON lacks."""
    if isinstance(shape, list):
        assert isinstance(found, list), place
        return [key for one in found for key in lacks(one, shape[0], place)]
    if not isinstance(shape, dict):
        return []
    assert isinstance(found, dict), place
    missing = [f"{place}.{key}" for key in shape if key not in found]
    return missing + [
        key
        for name, inner in shape.items()
        if name in found
        for key in lacks(found[name], inner, f"{place}.{name}")
    ]


@pytest.mark.usefixtures("here")
def test_json_has_the_shape_of_the_contract(folder, command):
    contract = REPO.parent / "shared/CONTRACT.md"
    assert not contract.is_file() or SHAPE in contract.read_text()
    assert SHAPE in (REPO / "docs/decide.md").read_text()
    shape = yaml.safe_load(SHAPE)
    found = json.loads(command("decide", "designs.toml", "--quick", "--json").stdout)
    assert lacks(found, shape) == []
    assert lacks({"answer": ""} | {"designs": [{}]}, shape), "the check can fail"
    # No name of an earlier version stays beside its new one.
    goals = [goal for design in found["designs"] for goal in design["goals"]]
    assert not {"choice", "comparison"} & found.keys()
    assert not {key for goal in goals for key in goal} & {"state", "limit", "limit_cut"}
    today, marking, tiny = found["designs"]
    assert today["differences"] == []
    for design in (marking, tiny):
        assert {row["design"] for row in design["differences"]} == {design["name"]}
        assert "fct_p99_ns" in {row["metric"] for row in design["differences"]}
    assert [goal["goal"] for goal in today["goals"]] == [
        "web: FCT p50, at most 90.0 µs",
        "storage: FCT mean, at most 3.0 times what it has alone",
        "goodput while busy, at least 30 % less than with today",
    ]
    for goal in goals:
        assert goal["verdict"] in ("met", "missed", "open")
        assert goal["bound"] > 0
        assert (goal["low"] is None) == (goal["high"] is None)
        assert goal["low"] is None or goal["low"] < goal["value"] < goal["high"]
    assert any(goal["low"] is not None for goal in goals)
    assert goals[0]["bound"] == 90_000
    points = (folder / "out/decide-designs/points").glob("*/summary.json")
    taken = [json.loads(point.read_text())["cpu_s"] for point in points]
    assert len(taken) == 18
    assert found["seconds"] == pytest.approx(sum(taken))
    # Without goals the keys are the same.
    (folder / "designs.toml").write_text(
        f'scenario = "fabric.toml"\n{DESIGNS.partition("[[goal]]")[0]}'
    )
    found = json.loads(command("decide", "designs.toml", "--quick", "--json").stdout)
    assert lacks(found, shape) == []
    assert found["chosen"] is None
    assert [design["goals"] for design in found["designs"]] == [[], [], []]
    assert found["designs"][1]["differences"]


def test_new_writes_a_file_that_can_be_decided(folder, command):
    done = command("new", "decide", "fabric.toml")
    assert done.returncode == 0, done.stderr
    found = read(folder / "fabric-designs.toml")
    assert found.order == ["today", "marking", "deep"]
    assert [goal.tenant.name for goal in found.goals] == ["web", "storage"]
    marks = found.design("marking").set["switch.ecn"]
    assert (marks["kmin"], marks["kmax"]) == ("40kB", "160kB"), "10 Gbps, and queues of 200 kB"
    assert "write afflux new decide SCENARIO.toml" in command("new", "decide").stderr


def test_new_quotes_names(folder, command):
    """A quote or a backslash in a name made a file that is not TOML."""
    own = FABRIC.replace('class = "web"', r"class = 'w\"b'")
    assert own != FABRIC
    (folder / 'fab"ric\\.toml').write_text(own)
    done = command("new", "decide", 'fab"ric\\.toml', "-o", "quoted.toml")
    assert done.returncode == 0, done.stderr
    found = read(folder / "quoted.toml")
    assert found.goals[0].tenant.name == 'w\\"b'


@pytest.mark.parametrize(
    ("old", "new", "kmin"),
    [
        ('rate = "10Gbps"', 'rate = "100Gbps"', "25kB"),  # 400 kB, halved until 200 kB hold 100 kB
        ('buffer = "200kB"', 'buffer = "9MB"', "40kB"),
        ('buffer = "200kB"', 'buffer = "100kB"', "20kB"),
        ('sharing = "static"\nbuffer = "200kB"', 'buffer = "200kB"', "20kB"),
        # A link of 2 ms has 2.5 MB on the way and back: a seventh of it is 357 kB.
        (
            'delay = "1us"\n\n[switch]\nsharing = "static"\nbuffer = "200kB"',
            'delay = "1ms"\n\n[switch]\nbuffer = "90MB"',
            "357kB",
        ),
        ('buffer = "200kB"', 'buffer = "9kB"', None),
    ],
)
def test_the_thresholds_of_a_new_decision_suit_rate_and_buffer(folder, command, old, new, kmin):
    assert old in FABRIC
    (folder / "fabric.toml").write_text(FABRIC.replace(old, new))
    done = command("new", "decide", "fabric.toml")
    assert done.returncode == 0, done.stderr
    found = read(folder / "fabric-designs.toml")
    assert ("marking" in found.order) == (kmin is not None)
    for design in found.designs:
        warnings = changed(found.scenario, design).check(seed=1).warnings
        assert not [one for one in warnings if "marks nothing" in one.text]
        if design.name == "marking":
            assert design.set["switch.ecn"]["kmin"] == kmin


@pytest.mark.parametrize("name", [one.name for one in templates.every()])
@pytest.mark.usefixtures("here")
def test_each_template_has_a_decision_whose_designs_are_valid(name, command):
    assert command("new", name).returncode == 0
    done = command("new", "decide", f"{name}.toml")
    assert done.returncode == 0, done.stderr
    found = read(Path(f"{name}-designs.toml"))
    assert len(found.order) == 3
    for design in found.designs:
        assert changed(found.scenario, design).check(seed=1)
    # DCTCP brings its own ECN, and RDMA reacts to marks by DCQCN.
    reaction = {
        "incast": ["switch.ecn"],
        "lossless-rdma": ["switch.ecn", "host.transport.congestion"],
    }.get(name)
    if reaction:
        assert list(found.design("marking").set) == reaction


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (
            'measure = "fct_p50"',
            'measure = "p50"',
            "key goal[0].measure: there is no measure called 'p50'",
        ),
        (
            'at_most = "90us"',
            'at_least = "90us"',
            "key goal[0].at_least: fct_p50 is better the lower it is: write at_most",
        ),
        (
            'at_most = "90us"',
            "at_most = 90",
            "key goal[0].at_most: found 90: write a number above 0 with one of ns, us, ms, s in quotes",
        ),
        (
            'at_most = "90us"',
            'at_most = "90us"\nwithin = 0.1',
            "goal[0]: found at_most and within: write one of at_most, at_least and within",
        ),
        (
            'at_most = "90us"',
            'at_most = "90us"\nalone = true',
            "key goal[0].alone: it belongs to within",
        ),
        (
            "within = 2.0\nalone = true",
            "within = 2.0",
            'goal[1]: within needs design = "NAME", alone = true, or both',
        ),
        (
            "within = 0.3",
            "within = 1.5",
            "key goal[2].within: found 1.5: write a share of 0 or more and below 1, as more is better",
        ),
        (
            'design = "today"',
            'design = "todai"',
            "key goal[2].design: there is no design called 'todai' (did you mean 'today'?)",
        ),
        (
            'design = "today"',
            "alone = true",
            "key goal[2].alone: all traffic is alone already: name a tenant",
        ),
        (
            'tenant = "web"',
            'tenant = "wob"',
            "key goal[0].tenant: there is no tenant called 'wob' (did you mean 'web'?)",
        ),
        (
            'name = "tiny"',
            'name = "today"',
            "key design[2].name: the name 'today' stands 2 times: names must differ",
        ),
        (
            "price = 900",
            "prize = 900",
            "key design[2].prize: there is no key called 'prize' (did you mean 'price'?)",
        ),
        ("price = 900", 'price = "900"', "key design[2].price: found '900': write a number"),
        ("price = 900", "price = -1", "key design[2].price: found -1: write 0 or more"),
        ("price = 900", "price = nan", "key design[2].price: found nan: write 0 or more"),
        ("price = 900", "price = inf", "key design[2].price: found inf: write 0 or more"),
        ("price = 900", "power = -inf", "key design[2].power: found -inf: write 0 or more"),
        ('"switch.buffer" = "20kB"', '"switch.bufer" = "20kB"', "switch.bufer: unknown key"),
        (
            'scenario = "fabric.toml"',
            'scenario = "nothing.toml"',
            "key scenario: found 'nothing.toml': there is no file nothing.toml",
        ),
        (
            '"switch.buffer" = "20kB"',
            '"run.seed" = 9',
            "key design[2].set.run.seed: all designs have the same seeds: write seeds = ",
        ),
        (
            '"switch.buffer" = "20kB"',
            "run.seed = 9",
            "key design[2].set.run.seed: all designs have the same seeds",
        ),
        (
            "[[goal]]",
            '[[condition]]\nname = "x"\ndesigns = []\nset = { "run.seed" = 9 }\n[[goal]]',
            "key condition[0].set.run.seed: all designs have the same seeds",
        ),
        (
            "[[goal]]",
            '[[variant]]\nname = "x"\n[[variant]]\nname = "y"\nset = { "run.seed" = 9 }\n[[goal]]',
            "key variant[1].set.run.seed: all designs have the same seeds",
        ),
        ('scenario = "fabric.toml"', "", "there is no scenario: write scenario"),
        (
            'scenario = "fabric.toml"',
            'scenario = "fabric.toml"\nbudget = 3',
            "key budget: there is no key called 'budget'",
        ),
        (
            "[[goal]]",
            "[[tenant]]\nname = 'x'\n[[goal]]",
            "key tenant[0].name: there is no class of traffic called 'x': there are web, storage",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_key_and_cure(folder, command, old, new, wanted):
    text = (folder / "designs.toml").read_text()
    assert old in text
    (folder / "designs.toml").write_text(text.replace(old, new, 1))
    done = command("decide", "designs.toml", "--quick")
    assert done.returncode == 2, done.stderr
    said = " ".join(done.stderr.split())
    assert wanted in said, said
    if wanted.startswith(("key ", "goal")):
        number = (folder / "designs.toml").read_text()[: text.index(old)].count("\n") + 1
        (line,) = re.findall(r"^error: designs\.toml:(\d+): ", said)
        assert number <= int(line) <= number + new.count("\n") or wanted.startswith("goal"), said
    assert not (folder / "out").exists()


def test_options_that_contradict_each_other(folder, command):
    budget = "--budget is the limit of --until-decided: add --until-decided, or leave out --budget"
    by_itself = "--until-decided adds seeds by itself: leave out --seeds, or write --budget for the most seeds"
    for options, said in (
        (["--quick", "--seeds", "1-3"], "leave out --seeds and --until-decided"),
        (["--until-decided", "--seeds", "1-3"], by_itself),
        (["--budget", "10"], budget),
        (["--budget", "10", "--seeds", "1-3"], budget),
    ):
        done = command("decide", "designs.toml", *options)
        assert done.returncode == 2
        # Nothing is announced before.
        assert " ".join(done.stderr.split()).startswith("error: --"), done.stderr
        assert said in " ".join(done.stderr.split())
    text = (folder / "designs.toml").read_text()
    (folder / "designs.toml").write_text(text[: text.index("[[goal]]")])
    done = command("decide", "designs.toml", "--until-decided")
    assert done.stderr.startswith("error: designs.toml: --until-decided needs a [[goal]]")
    assert not (folder / "out").exists()


@pytest.mark.parametrize("name", ["run", "check"])
def test_other_commands_recognize_a_decision_file(folder, command, name):
    done = command(name, "designs.toml")
    assert done.returncode == 2
    assert " ".join(done.stderr.split()) == (
        "error: designs.toml: this is a decision file of the scenario fabric.toml, not a scenario: "
        "write afflux decide designs.toml, or name fabric.toml"
    )
    (folder / "fabric.toml").write_text(FABRIC.replace("format = 1\n", ""))
    assert 'the key "format" is missing' in command(name, "fabric.toml").stderr


@pytest.mark.usefixtures("here")
def test_run_takes_several_seeds(folder, command):
    done = command("run", "fabric.toml", "--seeds", "1-3", "--json")
    assert done.returncode == 0, done.stderr
    assert [row["seed"] for row in json.loads(done.stdout)] == [1, 2, 3]
    assert "3 seeds" in command("run", "fabric.toml", "--seeds", "1-3").stdout
    assert (
        "leave out --seed," in command("run", "fabric.toml", "--seeds", "1-3", "--seed", "4").stderr
    )


def test_errors_name_the_decision_file_and_its_design(folder, command):
    text = (folder / "designs.toml").read_text()
    (folder / "designs.toml").write_text(text.replace('"20kB"', '"20Kb"'))
    said = " ".join(command("decide", "designs.toml").stderr.split())
    line = text[: text.index('"20kB"')].count("\n") + 1
    assert said.startswith(f"error: designs.toml:{line}: design tiny: "), said
    assert "key switch.buffer" in said
    (folder / "designs.toml").write_bytes(text.encode() + b"\n# \xff\n")
    done = command("decide", "designs.toml")
    assert (done.returncode, " ".join(done.stderr.split())) == (
        2,
        f"error: designs.toml:{text.count(chr(10)) + 2}: the file is not text in UTF-8: save it as UTF-8",
    )


@pytest.mark.parametrize("key", ["traffic.web.load", "traffic[0].load", "traffic.0.load"])
def test_an_error_names_the_line_of_a_key_however_it_names_the_block(folder, command, key):
    text = (
        (folder / "designs.toml")
        .read_text()
        .replace('"switch.buffer" = "20kB"', f'"switch.buffer" = "20kB"\n"{key}" = -1.0')
    )
    (folder / "designs.toml").write_text(text)
    line = text[: text.index(" = -1.0")].count("\n") + 1
    said = " ".join(command("decide", "designs.toml").stderr.split())
    assert said.startswith(f"error: designs.toml:{line}: design tiny: "), said


RARE = """
[[traffic]]
kind = "random"
name = "rare"
class = "rare"
sizes = "20kB"
flows_per_second = 20.0
duration = "10ms"
"""
RARE_GOAL = """
[[goal]]
tenant = "rare"
measure = "slowdown_mean"
within = 1.0
alone = true
"""


@pytest.mark.usefixtures("here")
def test_a_goal_is_judged_by_the_seeds_in_which_its_tenant_has_flows(folder, command):
    (folder / "fabric.toml").write_text(FABRIC + RARE)
    (folder / "designs.toml").write_text(f'scenario = "fabric.toml"\n{DESIGNS}{RARE_GOAL}')
    done = command("decide", "designs.toml", "--seeds", "1-6", "--json")
    assert done.returncode == 0, done.stderr
    samples = {
        goal["tenant"]: goal["samples"] for goal in json.loads(done.stdout)["designs"][1]["goals"]
    }
    without = [
        seed
        for seed in range(1, 7)
        if not afflux.Result.open(folder / f"out/decide-designs/points/tiny-{seed}")
        .summary["fct"]["by_class"]
        .get("rare", {})
        .get("count")
    ]
    assert 0 < len(without) < 5, "some seeds draw no flow"
    assert samples.pop("rare") == 6 - len(without)
    assert {*samples.values()} == {6}
    said = " ".join(command("decide", "designs.toml", "--seeds", "1-6").stdout.split())
    assert (
        f"has no value with seed {', '.join(map(str, without))}, because none of its flows started there"
        in said
    )
    # If no seed has flows of a tenant, the tenant cannot be judged at all.
    (folder / "fabric.toml").write_text(FABRIC + RARE.replace("20.0", "0.001"))
    said = " ".join(command("decide", "designs.toml", "--seeds", "1-2", "--fresh").stderr.split())
    assert "tenant rare has no slowdown_mean: none of its flows started after the warm-up" in said


RING = """
[[traffic]]
kind = "ring_all_reduce"
class = "train"
bytes = "100kB"
iterations = 2

[[traffic]]
kind = "pairs"
class = "copy"
pairs = [[1, 2]]
sizes = "100kB"
"""


@pytest.mark.parametrize(
    ("tenant", "measure", "says"),
    [
        (
            "train",
            "job_time_mean",
            "tenant train has coflows, no jobs of applications: write coflow_mean",
        ),
        ("web", "job_time_p99", "tenant web has queries, no jobs of applications: write query_p99"),
        ("web", "coflow_p50", "tenant web has queries, no coflows: write query_p50"),
        ("copy", "query_mean", "tenant copy has only flows, no queries: write fct_mean"),
        (
            None,
            "job_time_mean",
            "the traffic has queries and coflows, no jobs of applications: write query_mean or coflow_mean",
        ),
    ],
)
def test_a_tenant_without_such_jobs_is_refused_before_the_runs(
    folder, command, tenant, measure, says
):
    (folder / "fabric.toml").write_text(FABRIC + RING)
    text = (folder / "designs.toml").read_text()
    head = text[: text.index("[[goal]]")]
    owner = f'tenant = "{tenant}"\n' if tenant else ""
    (folder / "designs.toml").write_text(
        f'{head}[[goal]]\n{owner}measure = "{measure}"\nat_most = "1s"\n'
    )
    done = command("decide", "designs.toml", "--quick")
    assert done.returncode == 2
    assert f"measure: found '{measure}', but {says}" in " ".join(done.stderr.split())
    assert not (folder / "out").exists()


def test_goals_on_coflows(folder, command):
    (folder / "fabric.toml").write_text(FABRIC + RING)
    text = (folder / "designs.toml").read_text()
    head = text[: text.index("[[goal]]")]
    goals = "".join(
        f'[[goal]]\ntenant = "train"\nmeasure = "{measure}"\nat_most = "1s"\n'
        for measure in ("coflow_mean", "query_mean")
    )
    (folder / "designs.toml").write_text(head + goals)
    done = command("decide", "designs.toml", "--quick", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "train: coflow time mean" in " ".join(done.stdout.split())
    (coflow, query) = json.loads((folder / "out/decision.json").read_text())["designs"][0]["goals"]
    assert coflow["value"] == query["value"] > 0
