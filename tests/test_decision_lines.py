"""Errors of decision files name the line, however the file is written."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import REPO

from afflux._core import line_of
from afflux.decision.file import place_of, read
from afflux.files.toml import named

#: A document with what makes lines hard to find. The number of a line is its index + 1.
AWKWARD = [
    "# [[design]]",
    'seeds = "1-3" # name = "x"',
    "",
    "  [[design]]   # today's",
    'name = "a=b"',
    'set."switch.buffer" = "1MB"',
    "set.'switch.ecn'.k = 3",
    "[[ design ]]",
    'name = """',
    "[[design]]",
    'name = "no"',
    '"""',
    "power = [",
    "  # price = 4",
    "  1,",
    "[2],",
    "]",
    'note = """a""" # """',
    "\tprice\t=\t1_000",
    "[design.set]",
    '"a.b" = 1',
    "host.transport = { k = 3, m = [1,",
    "  2] }",
    "goal = '''",
    "x = 1'''",
    "[deep.er.table]",
    "k = 1",
    "[deep]",
    "k = 2",
    "[[list.of]]",
    "[[list.of.lists]]",
    "v = 1",
    "[[list.of.lists]]",
    "v = 2",
    "[[list.of]]",
    "[[list.of.lists]]",
    "v = 3",
    '"größe \\u00e4" = 5',
    "many = [ { a = 1 },",
    "  { b = 2 } ]",
    "ends = 'here'",
]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("seeds",), 2),
        (("design",), 4),
        (("design", 0), 4),
        (("design", 0, "name"), 5),
        (("design", 0, "set"), 6),
        (("design", 0, "set", "switch.buffer"), 6),
        (("design", 0, "set", "switch.ecn", "k"), 7),
        (("design", 1), 8),
        (("design", 1, "name"), 9),
        (("design", 1, "power"), 13),
        (("design", 1, "power", 1), 16),
        (("design", 1, "note"), 18),
        (("design", 1, "price"), 19),
        (("design", 1, "set"), 20),
        (("design", 1, "set", "a.b"), 21),
        (("design", 1, "set", "host", "transport", "m"), 22),
        (("design", 1, "set", "goal"), 24),
        (("deep", "er", "table", "k"), 27),
        (("deep",), 28),
        (("deep", "k"), 29),
        (("list", "of", 0), 30),
        (("list", "of", 0, "lists", 0, "v"), 32),
        (("list", "of", 0, "lists", 1, "v"), 34),
        (("list", "of", 1), 35),
        (("list", "of", 1, "lists", 0, "v"), 37),
        (("list", "of", 1, "lists", 0, "größe ä"), 38),
        (("list", "of", 1, "lists", 0, "many", 0), 39),
        (("list", "of", 1, "lists", 0, "many", 1, "b"), 40),
        (("list", "of", 1, "lists", 0, "ends"), 41),
        # These do not exist.
        (("design", 2), None),
        (("design", 0, "price"), None),
        (("x",), None),
        (("seeds", "more"), None),
        (("seeds", 0), None),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_of_awkward_documents(path, line, ending):
    assert line_of(ending.join(AWKWARD) + ending, path) == line
    assert line_of(ending.join(AWKWARD), path) == line


def leaves(item: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inner = item.items() if isinstance(item, dict) else enumerate(item)
    for key, value in inner:
        yield (*path, key)
        if isinstance(value, dict) or (isinstance(value, list) and isinstance(value[0], dict)):
            yield from leaves(value, (*path, key))


def test_lines_of_every_key_of_a_decision_file():
    text = (REPO / "python/afflux/templates/goals/standard.toml").read_text(encoding="utf-8")
    lines = text.splitlines()
    every = list(leaves(tomllib.loads(text)))
    assert len(every) > 80
    for path in every[::3]:
        line = line_of(text, path)
        assert line is not None, path
        assert any(str(part) in lines[line - 1] for part in path[-4:]), path
        assert line_of("\n".join(lines[: line - 1]), path) is None


def test_long_values_are_no_hindrance():
    long = "pairs = [\n" + "[1, 2],\n" * 1_000 + "]\n"
    text = f'{long}[[goal]]\nmeasure = "fct_p99"\n[traffic]\n{long}'
    assert line_of(text, ("goal", 0, "measure")) == 1_004


EMPTY = 'scenario = "fabric.toml"\n'
TWO = '[[design]]\nname = "a"\n\n[[design]]\nname = "b"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{EMPTY}seeds = '5-1'\n{TWO}", ":2: key seeds: 5-1: expected whole numbers"),
        (f"{EMPTY}\nseeds = 5\n{TWO}", ":3: key seeds: found 5: write text in quotes"),
        (f"{EMPTY}{TWO}bugdet = 3\n", ":7: key design[1].bugdet: there is no key called 'bugdet'"),
        (f"{EMPTY}bugdet.x = 3\n{TWO}", ":2: key bugdet: there is no key called 'bugdet'"),
        (f"{EMPTY}goal = 3\n{TWO}", ":2: key goal: write blocks [[goal]]"),
        (f"{EMPTY}[[design]]\nname = 'a'\n", ":2: key design: found 1 design: write at least two"),
        # A key that is missing belongs to its block.
        (f"{EMPTY}{TWO}[[design]]\nprice = 3\n", ":7: key design[2].name is missing"),
        (f"{EMPTY}{TWO}[[goal]]\nmeasure = 'fct_p99'\n", ":7: goal[0]: found no bound: write one"),
        # The second of two equal names.
        (
            f"{EMPTY}{TWO}[[design]]\nset = {{}}\nname = 'a'\n",
            ":9: key design[2].name: the name 'a' stands 2 times",
        ),
        (
            f"{EMPTY}design = [\n{{ name = 'a' }},\n{{ name = 'b', price = -1 }},\n]\n",
            ":4: key design[1].price: found -1: write 0 or more",
        ),
        (
            f"{EMPTY}{TWO}[[goal]]\nmeasure = 'fct_p99'\nat_most = '3 parsecs'\n",
            ":9: key goal[0].at_most: found '3 parsecs': write a number above 0",
        ),
        # Syntax, in the words of scenario files.
        (f"{EMPTY}{TWO}[[goal\n", ":7: not TOML: "),
        (f"{EMPTY}{TWO}name = 'c'\n", ":7: not TOML: "),
        (f'{EMPTY}{TWO}price = """\n\n', ":8: not TOML: "),
    ],
)
def test_errors_name_the_line(text, said, tmp_path, scenario):
    (tmp_path / "fabric.toml").write_text(scenario().read_text())
    file = tmp_path / "decision.toml"
    for ending in ("\n", "\r\n"):
        file.write_bytes(text.replace("\n", ending).encode())
        with pytest.raises(ValueError, match=re.escape(f"{file}{said}")):
            read(file)


def test_a_scenario_in_the_same_file_keeps_its_lines(tmp_path, scenario, command):
    """Decision keys and scenario keys are in one file, and errors of both name its lines."""
    text = scenario().read_text() + TWO
    file = tmp_path / "both.toml"
    file.write_text(f"{text}[[goal]]\nmeasure = 'fct_p98'\nat_most = '1ms'\n")
    line = file.read_text().splitlines().index("measure = 'fct_p98'") + 1
    with pytest.raises(ValueError, match=rf"both\.toml:{line}: key goal\[0\]\.measure: there is"):
        read(file)
    file.write_text(text.replace('delay = "1us"', 'delay = "1uz"'))
    line = file.read_text().splitlines().index('delay = "1uz"') + 1
    assert f"both.toml:{line}: key topology.delay" in command("decide", file).stderr


def test_errors_of_a_designs_settings_name_their_line(tmp_path, scenario, command):
    (tmp_path / "fabric.toml").write_text(scenario().read_text())
    for setting, line in (
        ("[design.set]\n'switch.sharing' = 'dynamic'\n'switch.buffer' = '9MBs'", 9),
        ("set = { 'switch.buffer' = '9MBs' }", 7),
        ("set.switch.buffer = '9MBs'", 7),
        ("[design.set]\n'switch.ecn.k' = '30kB'\n'switch.ecn' = { kk = 3 }", 9),
        ("[design.set.switch]\n# ECN\necn.kk = 3", 7),
    ):
        (tmp_path / "d.toml").write_text(f"{EMPTY}{TWO}{setting}\n")
        done = command("decide", "d.toml")
        assert done.returncode == 2
        said = " ".join(done.stderr.split())
        assert said.startswith(f"error: d.toml:{line}: design b: "), (setting, said)


def test_errors_of_a_designs_name_are_on_the_block(tmp_path, scenario):
    (tmp_path / "fabric.toml").write_text(scenario().read_text())
    (tmp_path / "d.toml").write_text(EMPTY + TWO)
    question = read(tmp_path / "d.toml")
    assert place_of(question, "b", "switch.buffer") == f"{tmp_path / 'd.toml'}:5"
    assert place_of(question, "a", None) == f"{tmp_path / 'd.toml'}:2"
    assert place_of(question, "a, query alone", None) == f"{tmp_path / 'd.toml'}:2"


def test_byte_order_marks_are_no_part_of_the_files(tmp_path):
    """Editors write them. `check` and `run` take such scenarios."""
    fabric = 'format = 1\n[topology]\nkind = "star"\nhosts = 3\n[[traffic]]\nkind = "permutation"\nclass = "web"\nsizes = "1kB"\n'
    question = 'scenario = "fabric.toml"\n[[design]]\nname = "a"\nprice = 3\n[[design]]\nname = "b"\nprice = 3\n'
    (tmp_path / "fabric.toml").write_text(fabric, encoding="utf-8-sig")
    (tmp_path / "d.toml").write_text(question, encoding="utf-8-sig")
    found = read(tmp_path / "d.toml")
    assert (found.order, [tenant.name for tenant in found.tenants]) == (["a", "b"], ["web"])
    (tmp_path / "d.toml").write_text(question.replace("= 3", "= -3"), encoding="utf-8-sig")
    with pytest.raises(ValueError, match=r"d\.toml:4: key design\[0\]\.price: found -3"):
        read(tmp_path / "d.toml")
    # Files that a scenario names are found, too.
    trace = tmp_path / "trace.toml"
    trace.write_text('traffic = [{ kind = "flows", file = "x.csv" }]\n', encoding="utf-8-sig")
    assert [*named(trace)] == [tmp_path / "x.csv"]
