"""Representation of objects in an interactive session (at most a screen of text) and in a notebook
(a small table)."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import INCAST
from made import design

import afflux
from afflux.display import Card, Grid
from afflux.results.designs import Designs

#: Number of lines of a terminal.
SCREEN = 24
NAME = "a <b>bold</b> name"


@pytest.fixture(scope="module")
def scenario_of_test(tmp_path_factory) -> afflux.Scenario:
    path = tmp_path_factory.mktemp("display") / "small.toml"
    path.write_text(INCAST)
    return afflux.load(path)


@pytest.fixture(scope="module")
def result(scenario_of_test) -> afflux.Result:
    return scenario_of_test.run()


@pytest.fixture(scope="module")
def sweep(scenario_of_test, tmp_path_factory) -> afflux.Sweep:
    out = tmp_path_factory.mktemp("sweep") / "out"
    return afflux.sweep(
        scenario_of_test,
        {"switch.buffer": ["9packets", "90packets"]},
        seeds=[1, 2],
        out=out,
        jobs=1,
    )


@pytest.fixture(scope="module")
def comparison() -> afflux.Comparison:
    return afflux.compare(
        Designs(
            [
                design("deep", job=[1.5, 1.52, 1.49]),
                design("shallow", job=[2.7, 2.8, 2.9], drops=[5, 6, 7]),
            ]
        )
    )


def screenful(shown: object) -> list[str]:
    lines = repr(shown).splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 80
    assert not re.match(r"\w+\(", lines[0]), "no dump of a dataclass"
    return lines


class Cells(HTMLParser):
    """Collects the text of the cells of all tables."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.tags.append(tag)
        if tag in ("td", "th", "caption"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def small(shown: object) -> list[str]:
    """Returns the cells of an object's HTML, after a check that it consists of tables only."""
    page = Cells(shown._repr_html_())
    assert {*page.tags} <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    return page.cells


def test_scenario(scenario_of_test):
    path = scenario_of_test.path
    lines = screenful(scenario_of_test)
    assert lines[0] == "Scenario small"
    assert re.sub(r"\s", "", str(path)) in re.sub(r"\s", "", repr(scenario_of_test))
    assert lines[-6:] == [
        "  topology   star: hosts = 9, rate = 10Gbps, delay = 1us",
        "  hosts      9; 1 switch",
        "  switch     sharing = static, buffer = 30packets",
        "  host       transport.stack = basic, transport.min_rto = 1ms",
        "  traffic.0  incast query: to = 0, senders = 8, bytes = 200kB, rounds = 3,",
        "             period = 5ms, jitter = 1us",
    ]
    assert (
        "incast query: to = 0, senders = 8, bytes = 200kB, rounds = 3, period = 5ms, jitter = 1us"
        in small(scenario_of_test)
    )


def test_names_are_escaped(scenario_of_test):
    named = scenario_of_test.copy()
    named["name"] = NAME
    assert "<b>" not in named._repr_html_()
    assert small(named)[0] == f"Scenario {NAME}"
    assert "(changed since it was read)" in " ".join(repr(named).split())
    other = scenario_of_test.run()
    other.summary["name"] = NAME
    for shown in (other, afflux.compare([scenario_of_test.run(), other])):
        assert "<b>" not in shown._repr_html_()
        assert NAME in "".join(small(shown))


def test_control_characters_do_not_reach_the_terminal():
    shown = afflux.Scenario(name="x\x1b[31m\ny\u202e", topology={"kind": "star", "hosts": 2})
    assert repr(shown).splitlines()[0] == r"Scenario x\x1b[31m\ny\u202e"
    assert "\x1b" not in shown._repr_html_()


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"topology": 3, "traffic": "none"},
        {
            "topology": {"kind": "nope"},
            "traffic": [3, {"kind": "pairs", "pairs": [[0, 1]] * 100}] * 20,
        },
        {"topology": {"kind": "star", "hosts": None}, "host": {"a": object()}, "name": ["x"]},
        {"name": "x" * 10_000, "topology": {"kind": "custom", "hosts": ["h" * 50] * 1_000}},
    ],
)
def test_a_scenario_that_is_not_valid_is_shown_nevertheless(data):
    assert screenful(afflux.Scenario(data))[0].startswith("Scenario ")
    assert small(afflux.Scenario(data))


@pytest.mark.parametrize(
    "template",
    sorted((Path(afflux.__file__).parent / "templates").glob("*.toml")),
    ids=lambda path: path.stem,
)
def test_the_number_of_hosts_is_that_of_the_scenario(template):
    scenario = afflux.load(template)
    checked = scenario.check()
    assert f"  hosts      {checked.hosts:,}; {checked.switches:,} switch" in repr(scenario)
    screenful(scenario)


def test_result(result, tmp_path, scenario_of_test):
    assert screenful(result) == [
        "Result small, seed 1",
        "  flows            24 finished of 24 started",
        *(
            line
            for line in repr(result).splitlines()
            if re.match(r"  (job|completion) time .* (mean|p99)$|  slowdown .* p99$", line)
        ),
        f"  goodput          {result.summary['goodput_bps'] / 1e9:.2f} Gbps while flows were active",
        f"  switches         {result.summary['drops']} drops",
        f"  senders          {result.summary['retransmits']} retransmissions, {result.summary['timeouts']} time-outs",
        *(line for line in repr(result).splitlines() if line.startswith("  simulated ")),
        "  tables           flows, ports, links, jobs, paths",
        "  directory        none: in memory",
    ]
    assert len(screenful(result)) == 11
    written = scenario_of_test.run(out=tmp_path / "out")
    assert str(tmp_path / "out") in small(written)
    assert screenful(afflux.Result.open(tmp_path / "out"))[:9] == screenful(result)[:9]


def test_table(result):
    lines = screenful(result.flows)
    assert lines[0] == "Table flows: 24 rows, 34 columns"
    assert "id int64, class string, job string, src int32, dst int32, bytes int64" in " ".join(
        " ".join(lines).split()
    )
    head = next(place for place, line in enumerate(lines) if line.split()[:2] == ["id", "class"])
    assert lines[head].split()[-1] == "…", "columns that do not fit are not hidden"
    assert [line.split()[0] for line in lines[head + 1 : head + 6]] == [
        str(id) for id in result.flows["id"][:5]
    ]
    assert lines[-1] == "  … and 19 rows more"
    heads = small(result.flows)[3:]
    assert heads[:13] == [*result.flows.column_names[:12], "…"]
    some = result.flows[3:5][["id", "slowdown", "deadline_met"]]
    first = [f"{value:.6g}" for value in result.flows["slowdown"][3:5]]
    assert screenful(some) == [
        "Table flows: 2 rows, 3 columns",
        "  columns  id int64, slowdown double, deadline_met bool",
        "",
        f"  id  {'slowdown':>{len(max(first, key=len))}}  deadline_met".replace("  id", "  id"),
        *(
            f"  {id:>2}  {value:>{max(8, *map(len, first))}}  {'–':>12}"
            for id, value in zip((3, 4), first, strict=True)
        ),
    ]


def test_sweep(sweep):
    lines = screenful(sweep)
    assert lines[:3] == [
        "Sweep over switch.buffer: means of 2 combinations",
        "  points  4: 4 finished, 0 failed",
        "  seeds   2: 1, 2",
    ]
    rows = [line.split()[0] for line in lines if line.split()[:1] in (["9packets"], ["90packets"])]
    assert rows == ["9packets", "90packets"]
    assert "job time" in small(sweep)
    table = sweep.to_table()
    assert isinstance(table, afflux.Table)
    assert screenful(table)[0] == f"Table sweep: 4 rows, {len(sweep.rows[0])} columns"
    assert "seed int64" in repr(table)
    assert table[1:3]["seed"] == [2, 1]


def test_comparison(comparison):
    lines = screenful(comparison)
    assert lines[0] == "Comparison of shallow with deep"
    assert str(comparison.sentence())[:40] in " ".join(" ".join(lines).split())
    (row,) = [line for line in lines if line.startswith("  job time")]
    assert re.split(r"\s{2,}", row.strip()) == [
        "job time",
        "1.503 ms",
        "2.800 ms",
        "+86.2 %",
        "worse",
    ]
    assert {"measure", "deep", "shallow", "change", "verdict"} <= {*small(comparison)}


def test_comparison_of_many_designs():
    names = [
        f"switch.buffer={buffer}MB,switch.ecn.k={k}kB" for buffer in range(1, 6) for k in (50, 200)
    ]
    found = afflux.compare(
        Designs(
            [
                design(name, job=[1.0 + place, 1.1 + place, 1.2 + place])
                for place, name in enumerate(names)
            ]
        )
    )
    lines = screenful(found)
    assert lines[0] == "Comparison with buffer=1MB k=50kB"
    assert "buffer=5MB k=200kB" in " ".join(lines)
    assert re.match(r"  … and \d+ rows more$", lines[-1])


def test_a_card_without_facts():
    card = Card("Nothing", [("empty", "")], Grid(["a"], []))
    assert card.text() == "Nothing\n  empty"
    assert "<table>" in card.html()
