"""Results go into polars, pandas and DuckDB, and scenarios are built in code."""

import re

import pyarrow as pa
import pytest
from conftest import REPO

import afflux


@pytest.fixture(scope="module")
def result() -> afflux.Result:
    return afflux.Scenario(topology={"kind": "star", "hosts": 5}, traffic=[{"kind": "permutation", "sizes": "50kB"}]).run()


def test_polars(result):
    polars = pytest.importorskip("polars")
    flows = polars.DataFrame(result.flows)
    assert flows["fct_ns"].to_list() == result.flows["fct_ns"]
    assert flows.schema["slowdown"] == polars.Float64
    # Without a copy: both look at the same numbers.
    assert flows["fct_ns"].to_arrow().buffers()[1].address == pa.table(result.flows)["fct_ns"].chunk(0).buffers()[1].address


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
    assert duckdb.sql("SELECT sum(bytes), count(*), max(fct_ns) FROM flows").fetchall() == [(250_000, 5, max(result.flows["fct_ns"]))]


def test_scenarios_in_code():
    scenario = afflux.Scenario(name="two", topology={"kind": "star", "hosts": 3}, traffic=[{"kind": "pairs", "pairs": [[0, 1]], "sizes": "1MB"}])
    assert scenario["format"] == 1
    scenario["switch.buffer"] = "9MB"
    scenario["traffic.0.sizes"] = "2kB"
    assert scenario["switch"] == {"buffer": "9MB"}
    assert ("switch.buffer" in scenario, "switch.nothing" in scenario, "traffic.7.sizes" in scenario) == (True, False, False)
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
    """docs/python.md, top to bottom."""
    for name in ("duckdb", "pandas", "polars"):
        pytest.importorskip(name)
    (tmp_path / "incast.toml").write_text((REPO / "python/afflux/templates/incast.toml").read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (REPO / "docs/python.md").read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 6
    code = "\n".join(blocks)
    if not hasattr(pytest.importorskip("pandas").DataFrame, "from_arrow"):
        code = code.replace("pandas.DataFrame.from_arrow(result.flows)", "pyarrow.table(result.flows).to_pandas()")
    names: dict = {}
    exec(compile(code, "docs/python.md", "exec"), names)
    assert names["found"].differences
    assert names["result"].summary["congestion"] == "python:Aimd"
