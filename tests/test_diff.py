"""`afflux diff`: it reports differing keys, tables and flows, and has the exit codes of diff(1)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from conftest import INCAST

import afflux
from afflux.comparison.diff import diff
from afflux.results.designs import gather

LONG = ("bytes = ", "# longer\nbytes = ")


@pytest.fixture
def results(scenario, tmp_path) -> Path:
    """Creates two results that differ in the buffer size, and a repetition of the first one on two
    threads."""
    for name, threads, changes in [
        ("a", 1, []),
        ("b", 1, [("30packets", "60packets")]),
        ("again", 2, []),
    ]:
        made = afflux.load(scenario(*changes, name=f"{name}.toml"))
        made.run(out=tmp_path / name, threads=threads)
    return tmp_path


def of(found: dict[str, Any], file: str) -> dict[str, Any]:
    return next(one for one in found["files"] if one["name"] == file)


def test_results_that_differ(invoke, results):
    done = invoke("diff", "a", "b", "--json")
    assert done.exit_code == 1, done.output
    found = json.loads(done.stdout)
    assert (found["same"], found["a"], found["b"]) == (False, "a", "b")
    assert found["keys"] == [{"key": "switch.buffer", "a": "30packets", "b": "60packets"}]
    a, b = (afflux.Result.open(results / name) for name in "ab")
    flows = of(found, "flows.parquet")
    assert (flows["hash_a"], flows["hash_b"]) == (
        a.digests["flows.parquet"],
        b.digests["flows.parquet"],
    )
    assert (flows["rows_a"], flows["rows_b"], flows["columns_a"]) == (
        24,
        24,
        len(a.flows.column_names),
    )
    columns = [name for name in a.flows.column_names if a.flows[name] != b.flows[name]]
    assert flows["different"] == columns
    rows = (
        list(zip(*(a.flows[name] for name in columns), strict=True)),
        list(zip(*(b.flows[name] for name in columns), strict=True)),
    )
    changed = [row for row in range(24) if rows[0][row] != rows[1][row]]
    assert flows["rows_different"] == found["flows_different"] == len(changed)
    first = min(changed, key=lambda row: (a.flows["start_ns"][row], a.flows["id"][row]))
    assert (found["first_flow"]["id"], found["first_flow"]["only"]) == (a.flows["id"][first], None)
    assert found["first_flow"]["columns"] == {
        name: [a.flows[name][first], b.flows[name][first]]
        for name in columns
        if a.flows[name][first] != b.flows[name][first]
    }
    assert of(found, "summary.json")["hash_a"] == a.summary["counters_hash"]


def test_results_that_are_the_same(invoke, results):
    done = invoke("diff", "a", "again")
    assert done.exit_code == 0, done.output
    assert "are the same" in done.stdout
    found = json.loads(invoke("diff", "a", "again", "--json").stdout)
    assert found["same"]
    assert found["keys"] == []
    assert [key["key"] for key in found["execution"]] == ["run.threads"]
    assert found["first_flow"] is None
    assert all(file["same"] for file in found["files"])


@pytest.mark.parametrize("width", [80, 120])
def test_text(invoke, results, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    done = invoke("diff", "a", "b")
    assert done.exit_code == 1
    for words in (
        "a and b differ in 1 key, ",
        "switch.buffer",
        "30packets",
        "60packets",
        "flows.parquet",
        "First flow that differs: flow ",
    ):
        assert words in done.stdout, words
    assert max(map(len, done.stdout.splitlines())) <= width
    assert "…" not in done.stdout


def test_tables_and_flows_of_one_side(invoke, results, scenario, tmp_path):
    afflux.load(
        scenario(("rounds = 3", "rounds = 2"), ("paths = true\n", ""), name="less.toml")
    ).run(out=tmp_path / "less")
    found = json.loads(invoke("diff", "a", "less", "--json").stdout)
    assert {key["key"] for key in found["keys"]} == {"traffic.0.rounds", "record.paths"}
    assert (of(found, "paths.parquet")["hash_b"], of(found, "paths.parquet")["rows_b"]) == (
        None,
        None,
    )
    assert (of(found, "flows.parquet")["rows_a"], of(found, "flows.parquet")["rows_b"]) == (24, 16)
    assert (found["first_flow"]["id"], found["first_flow"]["only"], found["flows_different"]) == (
        16,
        "a",
        8,
    )
    text = invoke("diff", "a", "less").stdout
    assert "only a has it" in text
    assert "number of rows" in text


def test_columns_of_one_side(results, tmp_path):
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    path = tmp_path / "c" / "jobs.parquet"
    table = pyarrow.parquet.read_table(path).drop_columns(["task"])
    pyarrow.parquet.write_table(table.append_column("more", pyarrow.array([1] * len(table))), path)
    summary = json.loads((tmp_path / "c" / "summary.json").read_text())
    del summary["digests"], summary["summary_digest"]
    (tmp_path / "c" / "summary.json").write_text(json.dumps(summary))
    with pytest.warns(afflux.UncheckedResult):
        found = diff(tmp_path / "a", tmp_path / "c")
    jobs = next(file for file in found.files if file.name == "jobs.parquet")
    assert (jobs.only_a, jobs.only_b, jobs.different, jobs.same) == (
        ("task",),
        ("more",),
        (),
        False,
    )
    assert [file.name for file in found.files if not file.same] == ["jobs.parquet"]


def test_scenario_files(invoke, scenario):
    scenario(name="a.toml")
    scenario(LONG, name="comment.toml")
    scenario(("[host.transport]", "[host.transport]\nhandshake = false"), name="default.toml")
    scenario(('"200kB"', '"100kB"'), ("jitter", "# jitter"), name="b.toml")
    assert invoke("diff", "a.toml", "comment.toml").exit_code == 0
    assert invoke("diff", "a.toml", "default.toml").exit_code == 0, (
        "a default that is written is the same"
    )
    done = invoke("diff", "a.toml", "b.toml", "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert {key["key"]: (key["a"], key["b"]) for key in found["keys"]} == {
        "traffic.0.bytes": ("200kB", "100kB"),
        "traffic.0.jitter": ("1us", "0ps"),
    }
    assert found["files"] == []


def test_inputs_are_compared_by_content(invoke, tmp_path):
    text = 'format = 1\n[topology]\nkind = "star"\nhosts = 3\nrate = "10Gbps"\ndelay = "1us"\n[[traffic]]\nkind = "flows"\nfile = "FILE"\n'
    for name, bytes in (("one", 9), ("same", 9), ("other", 10)):
        (tmp_path / f"{name}.csv").write_text(f"start_ns,src,dst,bytes\n0,0,1,{bytes}\n")
        (tmp_path / f"{name}.toml").write_text(
            text.replace("FILE", f"{name}.csv").replace("format = 1", 'format = 1\nname = "x"')
        )
    assert invoke("diff", "one.toml", "same.toml").exit_code == 0
    found = json.loads(invoke("diff", "one.toml", "other.toml", "--json").stdout)
    assert [key["key"] for key in found["keys"]] == ["traffic.0.sha256"]


def test_flows_that_never_started_have_no_start(invoke, tmp_path):
    """The first flow that differs began after 9,223,372,037 s."""
    text = INCAST.replace('period = "5ms"', "closed_loop = true")
    scenario = afflux.Scenario.parse(text, tmp_path / "small.toml").set("run.until", "10us")
    for name, rounds in (("a", 3), ("b", 4)):
        scenario.set("traffic.0.rounds", rounds).run(out=tmp_path / name)
    assert "First flow that differs: flow 24, never started" in invoke("diff", "a", "b").stdout
    found = json.loads(invoke("diff", "a", "b", "--json").stdout)["first_flow"]
    assert (found["id"], found["start_ns"], found["only"]) == (24, None, "b")


def test_matrices_are_compared_by_content(invoke, tmp_path):
    """The path of a matrix counted as a difference, and results of two seeds were refused as those
    of two designs."""
    text = """format = 1
name = "m"
topology = { kind = "leaf_spine", leaves = 2, spines = 1, hosts_per_leaf = 1, host_rate = "10Gbps" }
traffic = [{ kind = "random", flows = 3, matrix = "m.json", sizes = "9kB", load = 0.3, load_basis = "host_payload" }]
"""
    for place, weight in (("one", 1), ("same", 1), ("other", 2)):
        (tmp_path / place).mkdir()
        matrix = {"matrix": {"inner": [[1, weight], [1, 0]]}}
        (tmp_path / place / "m.json").write_text(json.dumps(matrix))
        (tmp_path / place / "s.toml").write_text(text)
    assert invoke("diff", "one/s.toml", "same/s.toml").exit_code == 0
    found = json.loads(invoke("diff", "one/s.toml", "other/s.toml", "--json").stdout)
    assert [key["key"] for key in found["keys"]] == ["traffic.0.matrix_sha256"]
    for place, seed in (("one", 1), ("same", 2)):
        afflux.load(tmp_path / place / "s.toml").run(seed=seed, out=tmp_path / place / "out")
    both = gather([tmp_path / "one/out", tmp_path / "same/out"])
    assert both["m"].seeds == [1, 2]


def test_a_result_and_its_scenario(invoke, results):
    done = invoke("diff", "a", "a.toml")
    assert done.exit_code == 0, done.output
    assert "only one of the two is a result" in done.stdout
    assert invoke("diff", "a", "b.toml").exit_code == 1


def test_trouble_is_exit_code_2(invoke, results, tmp_path, scenario):
    scenario(("[switch]", "[swich]"), name="wrong.toml")
    (tmp_path / "b" / "jobs.parquet").write_bytes(b"damaged")
    (tmp_path / "empty").mkdir()
    wrong: list[tuple[str, str, Callable[[str], bool]]] = [
        ("a", "nowhere", lambda said: "nowhere" in said),
        ("a", "empty", lambda said: "not a result directory" in said),
        ("a.toml", "wrong.toml", lambda said: "did you mean" in said),
        ("a", "b", lambda said: "is not as it was written" in said),
    ]
    for a, b, says in wrong:
        done = invoke("diff", a, b)
        assert done.exit_code == 2, (a, b, done.output)
        assert says(done.stderr), done.stderr


@pytest.mark.parametrize(("engine", "same"), [("classical", True), ("ideal", False)])
def test_the_engine_of_flows_counts_as_a_difference(tmp_path, engine, same):
    text = """format = 1
name = "one"
[topology]
kind = "star"
hosts = 3
[host]
timing = "exact"
qdisc = "off"
[[traffic]]
kind = "incast"
to = 0
senders = 2
bytes = "10kB"
[run]
engine = "window_log"
"""
    a, b = tmp_path / "a.toml", tmp_path / "b.toml"
    a.write_text(text)
    b.write_text(text.replace("window_log", engine))
    found = diff(a, b)
    assert found.same == same
    keys = found.execution if same else found.keys
    assert [(key.key, key.a, key.b) for key in keys] == [("run.engine", "window_log", engine)]
    # Two seeds are not one design if only one of them was simulated packet by packet.
    runs = [
        afflux.load(path).run(seed=seed, out=tmp_path / f"out-{seed}")
        for seed, path in ((1, a), (2, b))
    ]
    if same:
        assert gather(runs)["one"].seeds == [1, 2]
    else:
        with pytest.raises(ValueError, match=r"both 'one' but differ in run\.engine"):
            gather(runs)
