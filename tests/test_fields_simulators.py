"""Topologies, flows and completion times of HPCC and ConWeave, and htsim's matrices: each field
changes the output, or a note names it."""

import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from afflux import ScenarioError, _core
from afflux.exchange import Account, hpcc, htsim
from afflux.exchange.account import Wrong
from afflux.exchange.flow_list import FlowList
from fuzz.importer_samples import COMPLETIONS, FLOWS, MATRIX, TOPOLOGY

Reader = Callable[[Path], tuple[str, str]]


def topology(path: Path) -> tuple[str, str]:
    text, account = hpcc.topology(path, None)
    return text, "\n".join(account.lines())


def flows(path: Path) -> tuple[str, str]:
    read, account = hpcc.flows(path)
    return "".join(read.csv()), "\n".join(account.lines())


def completions(path: Path) -> tuple[str, str]:
    text, account = hpcc.completion_times(path)
    return text, "\n".join(account.lines())


def matrix(path: Path) -> tuple[str, str]:
    read, account = htsim.flows(path)
    return "".join(read.csv()), "\n".join(account.lines())


SMALL = "4 1 3\n3\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 1000ns 0\n2 3 100Gbps 1000ns 0.01\n"
PORTS = "2\n0 2 3 100 50000 2.000000010\n1 3 3 200 1000 2.000001000\n"
#: A reader, a base text, and words of it with a replacement for each. A note with `left out` names
#: the field and covers all its values.
FIELDS: list[tuple[Reader, str, list[tuple[str, str, str | None]]]] = [
    (
        topology,
        SMALL,
        [
            ("4 1 3", "5 1 3", None), ("4 1 3", "4 2 3", None), ("4 1 3", "4 1 2", None), ("\n3\n", "\n2\n", None), ("0 3 100", "1 3 100", None),
            ("0 3 100Gbps", "0 1 100Gbps", None), ("0 3 100Gbps", "0 3 40Gbps", None), ("3 100Gbps 1000ns 0\n", "3 100Gbps 2000ns 0\n", None),
            ("0.01", "0.02", None), ("0.01\n", "0.01 7\n", None), ("0.01\n", "0.01\nsaid afterwards\n", None),
        ],
    ),
    (
        flows,
        PORTS,
        [
            ("2\n0", "3\n0", None), ("0 2 3", "1 2 3", None), ("0 2 3", "0 1 3", None), ("0 2 3", "0 2 1", None), ("50000", "50001", None),
            ("2.000000010", "2.000000011", None), (" 100 ", " 101 ", "dport"),
        ],
    ),
    (
        completions,
        COMPLETIONS,
        [
            ("0 2 10000", "1 2 10000", None), ("0 2 10000", "0 1 10000", None), ("0 2 10000", "0 2 10001", "sport"), (" 100 50000", " 101 50000", "dport"),
            ("50000", "50001", None), ("2000000010", "2000000011", None), ("9000", "9001", None), ("8000", "8001", None),
        ],
    ),
    (
        matrix,
        MATRIX,
        [
            ("Nodes 4", "Nodes 5", None), ("Connections 3", "Connections 2", None), ("0->2", "1->2", None), ("0->2", "0->1", None), ("id 1", "id 9", "id (3)"),
            ("start 0", "start 5000", None), ("size 50000", "size 50001", None), ("size 50000", "size 50000 prio 1", None),
        ],
    ),
]  # fmt: skip


def silent(tmp_path: Path) -> list[str]:
    """Returns the words whose change is not refused, does not change output or messages, and is
    named by no note."""
    path, found = tmp_path / "file.txt", []
    for read, base, changes in FIELDS:
        path.write_text(base)
        plain = read(path)
        for old, new, named in changes:
            assert old in base
            path.write_text(base.replace(old, new, 1))
            try:
                outcome = read(path)
            except (Wrong, ValueError, ScenarioError):
                continue
            if outcome == plain and (
                named is None
                or not any("left out" in line and named in line for line in outcome[1].splitlines())
            ):
                found.append(f"{read.__name__}: {old!r} -> {new!r}")
    return found


def test_no_field_is_silent(tmp_path):
    assert silent(tmp_path) == []


def test_silence_is_found(tmp_path, monkeypatch):
    """With readers that drop priority groups and notes, the test of fields fails."""
    of_table = FlowList.of_table
    monkeypatch.setattr(
        FlowList, "of_table", lambda table: replace(of_table(table), priorities=None)
    )
    monkeypatch.setattr(Account, "lines", lambda account: [f"{account.taken}"])
    assert {
        "flows: '0 2 3' -> '0 2 1'",
        "flows: ' 100 ' -> ' 101 '",
        "matrix: 'id 1' -> 'id 9'",
    } <= set(silent(tmp_path))


def test_priority_groups_are_priorities(tmp_path):
    path = tmp_path / "flow.txt"
    # Two flows of the same pair and size, the later one first.
    path.write_text(
        "4\n0 1 1 100 1000 2.1\n1 0 5 100 500 2.3\n1 0 3 100 500 2.2\n0 0 7 100 5 2.2\n"
    )
    read, account = hpcc.flows(path)
    assert (
        "".join(read.csv())
        == "start_ns,src,dst,bytes,priority\n100000000,0,1,1000,1\n200000000,1,0,500,3\n300000000,1,0,500,5\n"
    )
    back = hpcc.flows_of(read, Account("flows"), ports=True)
    path.write_text(back)
    assert "".join(hpcc.flows(path)[0].csv()) == "".join(read.csv())
    path.write_text(FLOWS)
    read, account = hpcc.flows(path)
    assert read.priorities is None
    assert "all flows are in priority group 3" in "\n".join(account.lines())
    path.write_text("1\n0 1 9 100 1000 2.1\n")
    with pytest.raises(
        ScenarioError,
        match=r"flow.txt:2: found priority group `9`, expected a priority from 0 to 7",
    ):
        hpcc.flows(path)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (
            "27 8 2 9 40 H100\n16 17\n",
            1,
            "SimAI's form '27 8 2 9 40 H100' .*, expected `nodes switches links`",
        ),
        (
            "3 1 2\n2\n0 2 10Gbps 1us 0\n1 2 10Gbps 1us 0\n0 2 40Gbps 1us 0\n",
            5,
            "link 3: '0 2 40Gbps 1us 0', expected 2 links, as line 1 says",
        ),
        ("3 1 2 9\n2\n", 1, "'3 1 2 9', expected `nodes switches links`"),
        ("3 1 2\n2 1\n", 2, "2 numbers of switches, expected 1, as line 1 says"),
        (
            "3 1 2\n2\n0 2 10Gbps 1us 0 0\n",
            3,
            "6 columns in '0 2 10Gbps 1us 0 0', expected five columns",
        ),
        ("", 1, "an empty file"),
    ],
)
def test_other_forms_of_topologies_are_refused(tmp_path, text, line, says):
    path = tmp_path / "topology.txt"
    path.write_text(text)
    with pytest.raises(Wrong, match=f"topology.txt:{line}: found {says}"):
        hpcc.topology(path, None)


def test_text_after_the_links_is_noted(tmp_path):
    path = tmp_path / "topology.txt"
    path.write_text(TOPOLOGY + "\n\nsrc0 dst0 rate delay error_rate\noversubscription=2\n")
    text, said = topology(path)
    assert tomllib.loads(text)["topology"]["kind"]
    assert "text after the links: left out (line 14, line 15)" in said


def test_small_losses_are_written(tmp_path):
    path, back = tmp_path / "small.toml", tmp_path / "topology.txt"
    path.write_text(
        'format = 1\ntraffic = [{ kind = "permutation", sizes = "1kB" }]\n[topology]\nkind = "star"\nhosts = 2\n'
        'fault = [{ link = "host0-*", loss = 1e-8 }]\n'
    )
    back.write_text(hpcc.topology_of(_core.load(path))[0])
    assert tomllib.loads(hpcc.topology(back, None)[0])["topology"]["fault"][0]["loss"] == 1e-8


def test_a_matrix_names_what_it_drops():
    flows = FlowList([0], [0], [1], [1000], dscps=[46], priorities=[5])
    account = Account("flows")
    htsim.matrix_of(flows, 2, account)
    assert account.notes == [
        "the format has no DSCPs: they were dropped",
        "the format has no priorities: they were dropped",
    ]


def test_one_note_is_about_the_default_group(tmp_path):
    path = tmp_path / "flow.txt"
    path.write_text(FLOWS)
    _, account = hpcc.flows(path)
    assert [note for note in account.notes if "group" in note] == [
        "all flows are in priority group 3, that of all data there: written without priorities"
    ]
