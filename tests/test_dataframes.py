"""Conversion of results to polars, pandas and DuckDB, and scenarios built in code."""

import re
import sys

import pyarrow as pa
import pytest
from conftest import REPO

import afflux


@pytest.fixture(scope="module")
def result() -> afflux.Result:
    return afflux.Scenario(
        topology={"kind": "star", "hosts": 5}, traffic=[{"kind": "permutation", "sizes": "50kB"}]
    ).run()


def test_polars(result):
    polars = pytest.importorskip("polars")
    flows = polars.DataFrame(result.flows)
    assert flows["fct_ns"].to_list() == result.flows["fct_ns"]
    assert flows.schema["slowdown"] == polars.Float64
    # No copy is made: both objects refer to the same memory.
    assert (
        flows["fct_ns"].to_arrow().buffers()[1].address
        == pa.table(result.flows)["fct_ns"].chunk(0).buffers()[1].address
    )


def test_arrow_does_not_copy(result):
    buffers = [pa.table(result.flows)["fct_ns"].chunk(0).buffers()[1].address for _ in range(2)]
    assert buffers[0] == buffers[1]


def test_pandas(result):
    pandas = pytest.importorskip("pandas")
    take = getattr(pandas.DataFrame, "from_arrow", lambda table: pa.table(table).to_pandas())
    frame = take(result.flows)
    assert frame["fct_ns"].tolist() == result.flows["fct_ns"]
    assert len(frame) == 5


def test_duckdb(result):
    duckdb = pytest.importorskip("duckdb")
    flows = pa.table(result.flows)  # noqa: F841 – found by its name in the query
    assert duckdb.sql("SELECT sum(bytes), count(*), max(fct_ns) FROM flows").fetchall() == [
        (250_000, 5, max(result.flows["fct_ns"]))
    ]


def test_conversions(result):
    """The frames have the values and types of the table. This also holds for parts of a table."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    flows = result.flows
    assert flows.to_arrow() == pa.table(flows)
    assert flows.to_polars().equals(polars.DataFrame(flows))
    assert isinstance(flows.to_pandas(), pandas.DataFrame)
    assert flows.to_pandas()["fct_ns"].tolist() == flows["fct_ns"]
    part = flows[1:4][["id", "class", "src"]]
    assert part.to_arrow().schema == pa.schema(
        [flows.to_arrow().schema.field(name) for name in ("id", "class", "src")]
    )
    assert part.to_polars().to_dict(as_series=False) == {
        name: part[name] for name in ("id", "class", "src")
    }
    assert part.to_pandas()["src"].tolist() == part["src"]


SLICES = [
    slice(1, 4),
    slice(-2, None),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(4, 1),
    slice(10, 20),
    slice(None),
]


@pytest.mark.parametrize("rows", SLICES, ids=str)
def test_slices_are_those_of_a_list(result, rows):
    polars = pytest.importorskip("polars")
    flows = result.flows
    part = flows[rows]
    assert isinstance(part, afflux.Table)
    assert len(part) == len(flows["id"][rows])
    assert part.column_names == flows.column_names
    for name in part.column_names:
        assert part[name] == flows[name][rows]
    # A part of a table has Arrow's interface, too.
    for taken in (pa.table(part), part.to_arrow()):
        assert taken["fct_ns"].to_pylist() == flows["fct_ns"][rows]
    for frame in (polars.DataFrame(part), part.to_polars()):
        assert frame["fct_ns"].to_list() == flows["fct_ns"][rows]


def test_parts_of_parts(result):
    flows = result.flows
    assert flows[1:][1:3]["id"] == flows["id"][2:4]
    assert flows[["id", "src", "dst"]][["dst", "id"]].column_names == ["dst", "id"]
    assert flows[1:4][("src",)][::-1]["src"] == flows["src"][3:0:-1]
    assert "src" in flows
    assert "src" not in flows[["id"]]
    assert pa.schema(flows[["id"]]).names == ["id"]


def test_what_is_no_part_of_a_table(result):
    for wrong in ("fct", ["id", "fct"]):
        with pytest.raises(
            KeyError, match="there is no column called 'fct' \\(did you mean 'fct_ns'"
        ):
            result.flows[wrong]
    with pytest.raises(KeyError, match="no column called 'src'"):
        result.flows[["id"]]["src"]
    with pytest.raises(ValueError, match="named twice"):
        result.flows[["id", "id"]]
    for wrong in (3, None, ["id", 3], {"id"}):
        with pytest.raises(TypeError, match="is no part of a table"):
            result.flows[wrong]


@pytest.mark.parametrize(
    ("method", "missing", "packages"),
    [
        ("arrow", "pyarrow", "pyarrow"),
        ("polars", "polars", "polars"),
        ("pandas", "pandas", "pandas pyarrow"),
    ],
)
def test_a_missing_library(result, monkeypatch, method, missing, packages):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(
        ImportError,
        match=f"Table.to_{method} needs the Python package '{missing}', which is not installed: .*-m pip install {packages}$",
    ) as found:
        getattr(result.flows, f"to_{method}")()
    assert isinstance(found.value, afflux.MissingExtra)


def test_parts_need_one_library_that_cuts_columns(result, monkeypatch):
    polars = pytest.importorskip("polars")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert polars.DataFrame(result.flows[1:3])["id"].to_list() == result.flows["id"][1:3]
    assert result.flows[["id"]].__arrow_c_schema__()
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        result.flows[1:3].__arrow_c_stream__()
    assert result.flows[1:3]["id"] == result.flows["id"][1:3]


def test_a_part_of_a_table_that_was_read_is_checked(tmp_path):
    run = afflux.Scenario(
        topology={"kind": "star", "hosts": 5}, traffic=[{"kind": "permutation", "sizes": "50kB"}]
    ).run(out=tmp_path / "out")
    flows = afflux.Result.open(tmp_path / "out").flows
    assert flows[1:3]["fct_ns"] == run.flows["fct_ns"][1:3]
    assert flows[1:3].to_arrow() == run.flows[1:3].to_arrow()


def test_a_missing_file_is_named(tmp_path):
    missing = tmp_path / "nothing.toml"
    for call in (
        lambda: afflux.load(missing),
        lambda: afflux.sweep(missing, {"switch.buffer": ["1MB"]}),
    ):
        with pytest.raises(
            FileNotFoundError, match=r"nothing\.toml: there is no such file"
        ) as found:
            call()
        # Programs that catch a `ScenarioError` keep working.
        assert isinstance(found.value, afflux.ScenarioError)
        assert (found.value.filename, found.value.file, found.value.line, found.value.key) == (
            str(missing),
            str(missing),
            None,
            None,
        )
    for call in (
        lambda: afflux.Result.open(tmp_path / "out"),
        lambda: afflux.compare([tmp_path / "out", tmp_path / "other"]),
    ):
        with pytest.raises(
            FileNotFoundError, match=f"{tmp_path}/out is not a result directory: it does not exist"
        ) as found:
            call()
        assert not isinstance(found.value, afflux.Error)


def test_scenarios_in_code():
    scenario = afflux.Scenario(
        name="two",
        topology={"kind": "star", "hosts": 3},
        traffic=[{"kind": "pairs", "pairs": [[0, 1]], "sizes": "1MB"}],
    )
    assert scenario["format"] == 1
    scenario["switch.buffer"] = "9MB"
    scenario["traffic.0.sizes"] = "2kB"
    assert scenario["switch"] == {"buffer": "9MB"}
    assert (
        "switch.buffer" in scenario,
        "switch.nothing" in scenario,
        "traffic.7.sizes" in scenario,
    ) == (True, False, False)
    assert scenario.run().flows["bytes"] == [2_000]
    del scenario["switch.buffer"]
    assert scenario["switch"] == {}
    for wrong in ("switch.buffer", "traffic.9", "nothing.at.all", "traffic.x"):
        with pytest.raises(KeyError):
            scenario[wrong]
        with pytest.raises(KeyError):
            del scenario[wrong]
    with pytest.raises(TypeError, match=r"name.*not a table"):
        scenario["name.of"] = 1
    scenario["switch.bufer"] = "1MB"
    with pytest.raises(afflux.ScenarioError, match="buffer"):
        scenario.check()


def test_a_file_without_format_is_still_refused(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text('[topology]\nkind = "star"\nhosts = 2\n')
    with pytest.raises(afflux.ScenarioError, match="format"):
        afflux.load(path)
    with pytest.raises(afflux.ScenarioError, match="format"):
        afflux.Scenario.parse(path.read_text()).check()


def test_the_page_runs(tmp_path, monkeypatch):
    """Runs the code of docs/python.md from top to bottom."""
    for name in ("duckdb", "pandas", "polars"):
        pytest.importorskip(name)
    (tmp_path / "incast.toml").write_text(
        (REPO / "python/afflux/templates/incast.toml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    page = (REPO / "docs/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) == 6
    names: dict = {}
    for place, block in enumerate(blocks):
        exec(compile(block, "docs/python.md", "exec"), names)
        if place == 1:
            assert (
                "    >>> result\n"
                + "".join(f"    {line}\n" for line in repr(names["result"]).splitlines())
                in page
            )
    assert names["found"].differences
    assert names["result"].summary["congestion"] == "python:Aimd"
