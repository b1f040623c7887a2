"""Sweeps: every combination is simulated once, in spite of interruptions and on every executor."""

import csv
import importlib.util
import json
import re
import sys
from numbers import Integral
from pathlib import Path

import pytest
from conftest import INCAST, REPO

import afflux
from afflux import _core, settings
from afflux.executors import named
from afflux.files import toml
from afflux.results import statistics

#: Fast points with a few frames.
QUICK = (
    INCAST.replace("rounds = 3", "rounds = 2")
    .replace('bytes = "200kB"', 'bytes = "20kB"')
    .replace("paths = true", "")
)
VARY = {"switch.buffer": ["9packets", "90packets"], "traffic.0.senders": [4, 8]}


@pytest.fixture
def quick(tmp_path) -> Path:
    path = tmp_path / "quick.toml"
    path.write_text(QUICK)
    return path


def executor(name: str):
    module = {"dask": "distributed", "ray": "ray"}.get(name)
    if module and importlib.util.find_spec(module) is None:
        pytest.skip(f"needs the Python package {module}")
    return named(name, jobs=2)


@pytest.fixture(scope="module")
def local_rows(tmp_path_factory):
    place = tmp_path_factory.mktemp("local")
    (place / "quick.toml").write_text(QUICK)
    return afflux.sweep(place / "quick.toml", VARY, seeds=[1, 2], out=place / "out").rows


@pytest.mark.parametrize("name", ["local", "dask", "ray"])
def test_the_contract_of_executors(name, quick, tmp_path, local_rows):
    """All executors give the same rows. A failing point does not stop the others and is retried.
    Existing results are not simulated again. Orders after a cancellation are accepted."""
    out = tmp_path / "out"
    in_the_way = out / "points" / "switch.buffer=9packets,traffic.0.senders=4-1"
    in_the_way.mkdir(parents=True)
    (in_the_way / "thesis.tex").touch()
    (out / "points" / "manifest.json").write_text('{"format": 1, "points": {}}')
    with executor(name) as chosen:
        broken = afflux.sweep(quick, VARY, seeds=[1, 2], out=out, executor=chosen)
        assert [row["status"] for row in broken.rows] == ["failed"] + ["finished"] * 7
        assert "traffic.0.senders=4-1" in broken.rows[0]["error"]
        assert (in_the_way / "thesis.tex").exists()
        (in_the_way / "thesis.tex").unlink()
        found = afflux.sweep(quick, VARY, seeds=[1, 2], out=out, executor=chosen)
        assert found.outcome.reused == 7
        assert found.rows == local_rows
        again = afflux.sweep(quick, VARY, seeds=[1, 2], out=out, executor=chosen)
    assert (again.outcome.reused, again.rows) == (8, local_rows)
    # The complete result is stored, not only its numbers.
    files = {
        file.name
        for file in (out / "points" / "switch.buffer=90packets,traffic.0.senders=8-2").iterdir()
    }
    assert files == {
        "scenario.toml",
        "summary.json",
        "flows.parquet",
        "links.parquet",
        "ports.parquet",
        "jobs.parquet",
    }
    assert not list((out / "points").glob(".*partial*"))


def test_command(invoke, quick, tmp_path):
    done = invoke(
        "sweep",
        quick,
        "--vary",
        "switch.buffer=9packets,oops",
        "--set",
        "traffic.0.senders=4",
        "--seeds",
        "1",
    )
    assert done.exit_code == 1
    assert "switch.buffer=oops-1: " in done.stderr
    assert '"oops" is not a size' in done.stderr
    assert "1 failed" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    rows = json.loads(
        invoke(
            "sweep",
            quick,
            "--vary",
            "switch.buffer=9packets",
            "--set",
            "traffic.0.senders=4",
            "--json",
        ).stdout
    )
    (row,) = rows
    alone = (
        afflux.load(quick)
        .set("switch.buffer", "9packets")
        .set("traffic.0.senders", 4)
        .run(seed=1)
        .summary
    )
    assert (row["result_hash"], row["drops"], row["error"]) == (
        alone["result_hash"],
        alone["drops"],
        None,
    )
    table = (tmp_path / "out" / "sweep-small" / "sweep.csv").read_text().splitlines()
    assert table[0].startswith("switch.buffer,seed,status,job_time_mean_ns,")


def test_its_points_are_compared_by_the_name_of_its_directory(invoke, quick, tmp_path):
    vary = ("--vary", "switch.buffer=9packets,20packets,oops", "--set", "traffic.0.senders=4")
    invoke("sweep", quick, *vary, "--seeds", "1-2")
    place = tmp_path / "out" / "sweep-small"
    # The shell's `points/*` names the manifest, too; the point that failed has no result.
    every = [*place.glob("points/[!.]*")]
    assert "manifest.json" in [path.name for path in every]
    for dirs in ([place], [place / "points"], [path for path in every if "oops" not in path.name]):
        found = json.loads(invoke("compare", *dirs, "--json").stdout)
        designs = {found["baseline"], *found["designs"]}
        assert designs == {"switch.buffer=9packets", "switch.buffer=20packets"}
    refused = invoke("explain", place).stderr
    assert f"it has no summary.json; results are in {place}/points" in refused
    failed = tmp_path / "failed"
    (failed / "points").mkdir(parents=True)
    (failed / "points" / "manifest.json").write_text('{"format": 1, "points": {}}')
    done = invoke("compare", failed)
    assert done.exit_code == 2
    assert "none of its points is finished" in done.stderr


def test_several_seeds_have_intervals(invoke, quick, tmp_path):
    done = invoke("sweep", quick, "--vary", "switch.buffer=9packets,90packets", "--seeds", "1-3")
    assert done.exit_code == 0, done.stderr
    assert "95 % intervals of these means" in done.stdout
    assert re.search(r"^9packets .*\d – \d", done.stdout.split("95 % intervals")[1], re.M)
    assert max(map(len, done.stdout.splitlines())) <= 100
    head, *lines = csv.reader(
        (tmp_path / "out/sweep-small/sweep-means.csv").read_text().splitlines()
    )
    rows = list(csv.DictReader((tmp_path / "out/sweep-small/sweep.csv").read_text().splitlines()))
    assert len(lines) == 2
    for line in lines:
        one = dict(zip(head, line, strict=True))
        values = [
            float(row["fct_mean_ns"])
            for row in rows
            if row["switch.buffer"] == one["switch.buffer"]
        ]
        assert (one["finished"], one["failed"], one["deterministic"]) == ("3", "0", "false")
        assert float(one["fct_mean_ns"]) == pytest.approx(statistics.mean(values))
        ends = statistics.interval(values)
        assert ends is not None
        assert (float(one["fct_mean_ns_low"]), float(one["fct_mean_ns_high"])) == pytest.approx(
            ends
        )
    # With the larger buffer the three seeds have equal drops by chance. An interval of zero width
    # would suggest certainty.
    last = dict(zip(head, lines[1], strict=True))
    assert {float(row["drops"]) for row in rows if row["switch.buffer"] == "90packets"} == {
        float(last["drops"])
    }
    assert (last["drops_low"], last["drops_high"]) == ("", "")


def test_metrics_are_the_columns_of_the_table(invoke, quick):
    words = ("sweep", quick, "--vary", "switch.buffer=9packets,90packets", "--seeds", "1-3")
    name = f"class.{afflux.load(quick).run(seed=1).flows.column('class')[0]}.fct_p99"
    done = invoke(
        *words, "--metric", name, "--metric", "goodput", "--baseline", "switch.buffer=90packets"
    )
    assert done.exit_code == 0, done.stderr
    means, intervals, compared = (
        done.stdout.split("95 % intervals of these means")[0],
        *done.stdout.split("95 % intervals of these means")[1].split("means over seeds"),
    )
    for table in (means, intervals, compared):
        assert [
            word for word in ("FCT p99", "goodput", "retransmissions", "FCT mean") if word in table
        ] == ["FCT p99", "goodput"], table
    wrong = invoke(*words, "--metric", "class.nobody.fct_p99")
    assert (
        wrong.exit_code,
        "no point has class.nobody.fct_p99_ns" in " ".join(wrong.stderr.split()),
    ) == (2, True), wrong.stderr
    assert invoke(*words, "--metric", "fct_p98").exit_code == 2


def test_equal_seeds_are_called_exact(invoke, quick, tmp_path):
    """Without randomness, and with one sender whose frames meet no others, every seed gives the
    same result."""
    quick.write_text(QUICK.replace('jitter = "1us"\n', "").replace("senders = 8", "senders = 1"))
    done = invoke("sweep", quick, "--vary", "switch.buffer=90packets", "--seeds", "1-3")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"^90packets +exact", done.stdout.split("95 % intervals")[1], re.M), (
        done.stdout
    )
    assert "exact: every seed gave the same result" in done.stdout
    one = next(
        csv.DictReader((tmp_path / "out/sweep-small/sweep-means.csv").read_text().splitlines())
    )
    assert (one["deterministic"], one["fct_mean_ns_low"], one["fct_mean_ns_high"]) == (
        "true",
        "",
        "",
    )
    alone = invoke("sweep", quick, "--vary", "switch.buffer=90packets", "--seeds", "1")
    assert "intervals" not in alone.stdout


def test_the_table_as_parquet(quick, tmp_path):
    """The Parquet table has the same columns and values as the rows. A column of numbers and texts
    becomes a text column."""
    found = afflux.sweep(
        quick, {"traffic.0.senders": [4, "many"]}, seeds=[1, 2], out=tmp_path / "out"
    )
    table = _core.read_parquet(tmp_path / "out" / "sweep.parquet")
    assert table.column_names == list(found.rows[0])
    assert table["traffic.0.senders"] == ["4", "4", "many", "many"]
    for key in ("seed", "status", "drops", "fct_p99_ns", "result_hash", "error"):
        assert table[key] == [row[key] for row in found.rows], key
    assert (table["drops"][2], table["error"][0]) == (None, None)
    assert type(table["seed"][0]) is int
    again = found.to_table()
    assert [again[key] for key in again.column_names] == [table[key] for key in table.column_names]
    flags = afflux.sweep(quick, {"record.paths": [True, False]}, out=tmp_path / "flags").to_table()
    assert flags["record.paths"] == [True, False]


def test_what_cannot_be_swept(invoke, quick, tmp_path):
    for arguments, words in [
        (["--vary", "switch.bufer=9packets,90packets"], "did you mean"),
        (["--vary", "switch.buffer=9packets,9packets"], "given twice"),
        (["--vary", "switch.buffer"], "KEY.PATH=VALUE"),
        (["--vary", "run.seed=1,2"], "run.seed cannot be varied: write --seeds instead"),
        (["--vary", "run={seed=1},{seed=2}"], "run.seed cannot be varied"),
        (["--set", "run.seed=9", "--seeds", "1-2"], "run.seed cannot be set: write --seeds"),
        (["--set", "run={seed=9}", "--seeds", "1-2"], "run.seed cannot be set: write --seeds"),
        (["--vary", "switch.buffer=9packets", "--vary", "switch.buffer=8packets"], "given twice"),
        (["--seeds", "5-1"], "--seeds 5-1"),
        (["--executor", "slurm"], "local, dask, ray"),
        (["--address", "tcp://head:8786"], "--executor dask"),
        (
            ["--vary", "switch.buffer=9packets", "--baseline", "switch.buffer=9packets"],
            "--baseline switch.buffer=9packets: there is no other design",
        ),
    ]:
        done = invoke("sweep", quick, *arguments)
        assert (done.exit_code, words in done.stderr) == (2, True), done.output
    assert not (tmp_path / "out").exists()


def test_a_baseline_is_named_as_it_is_varied(invoke, quick, tmp_path):
    """Quotes and brackets do not stand in the name of a point, so it has another form."""
    vary = 'topology={kind="star",hosts=9},{kind="star",hosts=10}'
    words = ("sweep", quick, "--vary", vary, "--seeds", "1-3", "-o", tmp_path / "out")
    name = 'topology={kind="star",hosts=10}'
    done = invoke(*words, "--baseline", name, "--json")
    assert done.exit_code == 0, done.stderr
    chosen = json.loads(done.stdout)["comparison"]["baseline"]
    assert chosen == settings.point_name({"topology": {"kind": "star", "hosts": 10}}) != name
    again = invoke("compare", tmp_path / "out", "--baseline", name, "--json")
    assert json.loads(again.stdout)["baseline"] == chosen
    assert invoke(*words, "--baseline", "topology={}").exit_code == 2


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "afflux.executors.on_dask", raising=False)
    with pytest.raises(afflux.MissingExtra, match=r"-m pip install 'dask\[distributed\]>="):
        named("dask")


def test_a_scenario_made_in_code(quick, tmp_path):
    scenario = afflux.load(quick).set("switch.buffer", "9packets")
    found = afflux.sweep(scenario, {"traffic.0.senders": [4, 8]}, out=tmp_path / "out")
    assert [row["traffic.0.senders"] for row in found.rows] == [4, 8]
    assert found.rows[1]["result_hash"] == scenario.run().summary["result_hash"]
    assert found.designs["traffic.0.senders=4"].seeds == [1]


def test_points_have_names_fit_for_directories():
    assert (
        settings.point_name({"switch.ecn.k": "20kB", "host.n": 3}) == "switch.ecn.k=20kB,host.n=3"
    )
    slashed, other = (
        settings.point_name({"traffic.0.file": "a/b"}),
        settings.point_name({"traffic.0.file": "a_b"}),
    )
    assert "/" not in slashed
    assert slashed != other
    assert len(settings.point_name({"key": "x" * 400})) < 200
    # A name has at most 200 bytes, and a letter may have three.
    name = settings.point_name({"description": "長" * 200})
    assert len(name.encode()) < 200
    assert name != settings.point_name({"description": "長" * 201})


def test_values_of_options():
    assert settings.choices('a,[1,2],{ k = "1,2" },"x,y"') == [
        "a",
        "[1,2]",
        '{ k = "1,2" }',
        '"x,y"',
    ]
    assert [settings.value(text) for text in ("9MB", "3", "0.5", "true", '"x"', "[1, 2]")] == [
        "9MB",
        3,
        0.5,
        True,
        "x",
        [1, 2],
    ]
    assert settings.seeds("1-3,7") == [1, 2, 3, 7]
    assert settings.short(["switch.ecn.k", "host.transport.k", "switch.buffer"]) == [
        "ecn.k",
        "transport.k",
        "buffer",
    ]


def test_a_resolved_scenario_is_the_scenario():
    """The scenario sent to executors and stored in a result directory reads back as the same
    scenario."""
    checked = 0
    for path in sorted(
        [
            *REPO.glob("examples/*.toml"),
            *REPO.glob("benches/*.toml"),
            *REPO.glob("studies/*/*.toml"),
        ]
    ):
        try:
            loaded = afflux.load(path).check()
        except afflux.ScenarioError:  # its inputs are not in the repository
            continue
        again = afflux.Scenario.parse(loaded.resolved, path).check()
        assert (again.hash, again.resolved) == (loaded.hash, loaded.resolved), path
        checked += 1
    assert checked > 15


def test_an_interval_that_says_nothing_is_not_shown(invoke, tmp_path):
    """Some seeds have a time-out of 200 ms, others none."""
    (tmp_path / "two.toml").write_text(
        "format = 1\nname = 'two'\n[topology]\nkind = 'star'\nhosts = 5\nrate = '10Gbps'\n"
        "[[traffic]]\nkind = 'incast'\nto = 0\nbytes = '3MB'\nrounds = 4\nclosed_loop = true\n"
    )
    path = str(tmp_path / "two.toml")
    done = invoke("sweep", path, "--vary", "switch.buffer=100kB,1MB", "--seeds", "1-3", "-o", "out")
    assert done.exit_code == 0, done.stderr
    told = " ".join(done.stdout.split("95 % intervals of these means")[1].split())
    assert re.search(r"100kB – \d", told)
    assert "reach above ten times the mean and say nothing" in told
    with (tmp_path / "out/sweep-means.csv").open() as file:
        narrow, wide = csv.DictReader(file)
    assert narrow["job_time_mean_ns"]
    assert narrow["job_time_mean_ns_low"] == narrow["job_time_mean_ns_high"] == ""
    assert float(wide["job_time_mean_ns_high"]) < 2 * float(wide["job_time_mean_ns"])
    assert invoke("report", "out", "-o", "page.html").exit_code == 0
    page = (tmp_path / "page.html").read_text()
    assert "would reach above ten times the mean and say nothing" in page


class Whole:
    """An integer of another library, such as numpy's."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __int__(self) -> int:
        return self.value


Integral.register(Whole)


class Fractional(float):
    """A number of another library whose `repr` is no number."""

    def __repr__(self) -> str:
        return f"other.float({float(self)!r})"


def test_numbers_of_other_libraries_are_numbers(quick, tmp_path):
    assert [toml.value(item) for item in (Whole(3), Fractional(0.5), True)] == ["3", "0.5", "true"]
    vary = {"traffic.0.senders": [Whole(4)], "switch.alpha": [Fractional(0.5)]}
    changes = {"switch.sharing": "dynamic", "switch.buffer": "1MB"}
    (row,) = afflux.sweep(quick, vary, set=changes, out=tmp_path / "out").rows
    assert [row["traffic.0.senders"], row["switch.alpha"]] == [4, 0.5]
    assert {type(row[key]) for key in vary} == {int, float}


def test_values_that_python_takes_for_equal_are_two_combinations(quick, tmp_path):
    """true and 1 are equal in Python. The refused point counted as a failed seed of the other."""
    found = afflux.sweep(quick, {"record.paths": [True, 1]}, seeds=[1], out=tmp_path / "out")
    counts = [(one.values["record.paths"], one.finished, one.failed) for one in found.combinations]
    assert [repr(count) for count in counts] == ["(True, 1, 0)", "(1, 0, 1)"]


def test_json_has_no_nan(invoke, quick, tmp_path):
    """A refused value stays in its row. JSON has no name for NaN and infinity."""
    words = ("--vary", "switch.alpha=nan,inf,1", "--set", 'switch={ sharing = "dynamic" }')
    done = invoke("sweep", quick, *words, "-o", tmp_path / "out", "--json")

    def refused(constant):
        raise AssertionError(constant)

    rows = json.loads(done.stdout, parse_constant=refused)
    assert [row["switch.alpha"] for row in rows] == ["nan", "inf", 1]
    assert [row["status"] for row in rows] == ["failed", "failed", "finished"]


def test_metrics_have_names_in_python(quick, tmp_path):
    """A name instead of a metric raised AttributeError after the last point."""
    found = afflux.sweep(quick, {}, metrics=["fct.all.p95_ns"], out=tmp_path / "out")
    assert found.rows[0]["fct.all.p95_ns"] > 0
    with pytest.raises(LookupError, match="no metric called 'nope'"):
        afflux.sweep(quick, {}, metrics=["nope"], out=tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "2", True, 1_025])
def test_wrong_numbers_of_jobs_are_refused(quick, tmp_path, jobs):
    """With -1 a sweep began no point and never ended."""
    wrong = f"jobs {jobs!r}: expected a whole number from 1 to 1024"
    with pytest.raises(ValueError, match=wrong):
        afflux.sweep(quick, {}, jobs=jobs, out=tmp_path / "out")
    with pytest.raises(ValueError, match=wrong):
        afflux.batch.run([afflux.batch.Point("a", quick)], tmp_path / "out", jobs=jobs)
    assert not (tmp_path / "out").exists()


def test_options_of_an_executor_object_are_not_dropped(quick, tmp_path):
    with named("local") as local:
        with pytest.raises(ValueError, match="jobs, storage: no effect with an executor object"):
            afflux.sweep(
                quick, {}, executor=local, jobs=1, storage="file:///x", out=tmp_path / "out"
            )
        points = [afflux.batch.Point("a", quick)]
        with pytest.raises(ValueError, match="jobs: no effect with an executor object"):
            afflux.batch.run(points, tmp_path / "out", executor=local, jobs=1)


@pytest.mark.parametrize(
    ("vary", "seeds", "words"),
    [
        ({"switch.buffer": "9packets,8packets"}, [1], "switch.buffer: found .*: write a list"),
        ({"switch.alpha": 0.5}, [1], "switch.alpha: found 0.5: write a list"),
        ({"switch.alpha": [None]}, [1], "switch.alpha: TOML has no NoneType"),
        ({"switch.alpha": [0.5, 0.5]}, [1], "switch.alpha: the value 0.5 is given twice"),
        ({"switch.alpha": [1, 1.0]}, [1], "switch.alpha: the value 1.0 is given twice"),
        ({"switch": [{"alpha": 1}, {"alpha": 1.0}]}, [1], "switch: the value .* is given twice"),
        (
            {"traffic.0.senders": [4], "traffic[0].senders": [8]},
            [1],
            r"traffic.0.senders and traffic\[0\].senders are one key: vary it once",
        ),
        ({"switch.alpha": []}, [1], "switch.alpha: no values"),
        ({"switch.alpha": [0.5]}, [], "seeds: there are none"),
        ({"switch.alpha": [0.5]}, [1, 1], "seeds: 1 is given twice"),
        ({"switch.alpha": [0.5]}, "1-3", "seeds: found '1-3': write a list of seeds"),
        ({"switch.alpha": [0.5]}, 3, "seeds: found 3: write a list of seeds"),
        ({"switch.alpha": [0.5]}, [None], "seeds: found None: write whole numbers"),
        ({"switch.alpha": [0.5]}, ["2"], "seed '2': expected a whole number"),
        ({"switch.alpha": [0.5]}, [2.0], "seed 2.0: expected a whole number"),
        ({"switch.alpha": [0.5]}, [True], "seed True: expected a whole number"),
        ({"switch.alpha": [0.5]}, [-1], "seed -1"),
    ],
)
def test_lists_that_cannot_be_used_are_refused_first(quick, tmp_path, vary, seeds, words):
    with pytest.raises(ValueError, match=words):
        afflux.sweep(quick, vary, seeds=seeds, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
