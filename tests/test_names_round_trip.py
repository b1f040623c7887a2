"""Names and numbers survive each format, and are only text wherever they are shown."""

import csv
import io
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from conftest import as_many
from hypothesis import given, settings
from hypothesis import strategies as st

import afflux
from afflux import _core
from afflux.exchange import FlowList
from afflux.files import csvtext, toml
from afflux.terminal.console import visible
from fuzz import importers

nasty = st.one_of(
    st.sampled_from(importers.NASTY),
    st.text(max_size=40),
    st.text(alphabet="=+-@'\t\r\n\",#[]\\\0 a1\u202e😀é", max_size=12),
)


@settings(max_examples=as_many(150), deadline=None)
@given(
    st.lists(
        st.lists(
            nasty.filter(lambda text: not re.search(r"[\ud800-\udfff\r\n]", text)),
            min_size=2,
            max_size=2,
        ),
        max_size=5,
    )
)
def test_csv_comes_back_and_is_no_formula(table):
    text = csvtext.lines(table)
    for row in csv.reader(io.StringIO(text, newline="")):
        assert not any(
            re.match(r"[=+\-@\t\r]", cell)
            and not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell, re.A)
            for cell in row
        )
    back = [
        cells
        for _, cells in csvtext.read((at, line) for at, line in enumerate(text.split("\n")[:-1]))
    ]
    assert back == table


def test_numbers_stay_numbers():
    assert (
        csvtext.lines([(-3, 1.5, None, "-3", "+1e9", "=1+1", "-x", "'-x", "'x")])
        == "-3,1.5,,-3,+1e9,'=1+1,'-x,''-x,'x\n"
    )


@settings(max_examples=as_many(150), deadline=None)
@given(nasty.filter(lambda text: not re.search(r"[\ud800-\udfff]", text)))
def test_toml_comes_back(name):
    document = {"topology": {name: [name, {name: name}]}, "traffic": [{"class": name}]}
    assert tomllib.loads(toml.dumps(document)) == document


@settings(max_examples=as_many(120), deadline=None)
@given(name=nasty)
def test_a_class_is_refused_or_comes_back(name):
    """A class name passes through the scenario, the exported CSV and Parquet files, and back."""
    import tempfile

    try:
        name.encode()
    except UnicodeEncodeError:
        return
    topology = 'format = 1\n[topology]\nkind = "star"\nhosts = 4\n'
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        one = (
            topology
            + f'[[traffic]]\nkind = "pairs"\npairs = [[1, 0]]\nsizes = "30kB"\nclass = {toml.value(name)}\n'
        )
        if _core.wrong_name(name) is not None:
            with pytest.raises(_core.ScenarioError) as refused:
                _core.parse(one, here / "one.toml")
            assert visible(str(refused.value)) == str(refused.value)
            assert len(str(refused.value)) < 1_000
            return
        table, _ = _core.parse(one, here / "one.toml").flow_list()
        flows = FlowList.of_table(table)
        for file in ("flows.csv", "flows.parquet"):
            flows.writer(here / file)(here / file)
            back, _ = _core.parse(
                topology + f'[[traffic]]\nkind = "flows"\nfile = "{file}"\n', here / "back.toml"
            ).flow_list()
            assert (back["class"], back["src"], back["bytes"]) == ([name], [1], [30_000])


def test_names_on_the_terminal_are_text(scenario, tmp_path, command):
    """A result from another user may contain any name."""
    assert command("run", scenario(), "-o", "result").returncode == 0
    table = pyarrow.parquet.read_table(tmp_path / "result/flows.parquet")
    at = table.schema.get_field_index("class")
    evil = "\x1b]0;pwned\x07[/bold]\u202e"
    pyarrow.parquet.write_table(
        table.set_column(at, "class", pyarrow.array([evil] * table.num_rows)),
        tmp_path / "result/flows.parquet",
    )
    done = command("explain", "result", "--flow", table.column("id")[0].as_py())
    if done.returncode == 0:
        assert "[/bold]" in done.stdout
    assert not re.search(r"[\x1b\x07\u202e]", done.stdout + done.stderr), "as text, or refused"


def test_a_name_with_a_colon_is_no_emoji(scenario, command):
    """Titles of the measures of the class a:b contain the code of an emoji."""
    path = scenario(('name = "query"', 'name = "query"\nclass = "a:b"'))
    done = command("sweep", path, "--metric", "class.a:b.fct_mean", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "a:b: FCT mean" in done.stdout


def test_a_name_with_markup_stays_text_in_a_page(scenario, tmp_path):
    evil = "</script><script>alert(1)</script>"
    path = scenario(('name = "query"', f'name = "query"\nclass = {toml.value(evil)}'))
    assert command_run(path, tmp_path / "result").returncode == 0
    page = afflux.Result.open(tmp_path / "result").report(tmp_path / "report.html").read_text()
    assert evil not in page


def command_run(path: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "afflux", "run", str(path), "-o", str(out)],
        capture_output=True,
        text=True,
        timeout=60,
    )
