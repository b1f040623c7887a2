"""Flow lists and size distributions: each column, number and key changes the flows, is named by a
note, or is refused."""

import gzip
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from afflux import ScenarioError, _core

FABRIC = 'format = 1\n[topology]\nkind = "star"\nhosts = 8\nrate = "10Gbps"\ndelay = "1us"\n'
#: Flows of a scenario, and its notes and warnings.
Outcome = tuple[list[tuple[object, ...]], str]
COLUMNS = ("id", "start_ns", "src", "dst", "bytes", "class", "deadline_ns", "priority")


def loaded(folder: Path, traffic: str) -> Outcome:
    scenario = _core.parse(FABRIC + "[[traffic]]\n" + traffic, folder / "fabric.toml")
    table, _ = scenario.flow_list()
    said = "\n".join([*scenario.notes, *(str(warning) for warning in scenario.warnings)])
    return list(zip(*(table.column(name) for name in COLUMNS), strict=True)), said


def attempted(read: Callable[[], Outcome]) -> Outcome | None:
    """Returns `None` if the input is refused."""
    try:
        return read()
    except ScenarioError:
        return None


# ------------------------------------------------------------------------------------------------------------- tables: CSV, Parquet

Rows = Mapping[str, list[object]]
TABLE: Rows = {
    "id": [5, 6], "start_ns": [0, 100], "src": [0, 1], "dst": [1, 2], "bytes": [1_000, 2_000], "class": ["a", "b"], "deadline_ns": [1_000, 2_000],
    "dscp": [40, 40], "priority": [1, 1], "src_name": ["host0", "host1"], "dst_name": ["host1", "host2"], "fct_ns": [7, 8],
}  # fmt: skip
OTHER: dict[str, object] = {
    "id": 9, "start_ns": 7, "src": 3, "dst": 4, "bytes": 1_001, "class": "c", "deadline_ns": 1_001, "dscp": 46, "priority": 2, "src_name": "host7",
    "dst_name": "host7", "fct_ns": 9,
}  # fmt: skip


def csv_text(table: Rows) -> str:
    return (
        "\n".join(
            [
                ",".join(table),
                *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
            ]
        )
        + "\n"
    )


def write_csv(folder: Path, table: Rows) -> str:
    (folder / "list.csv").write_text(csv_text(table))
    return "list.csv"


def write_gzip(folder: Path, table: Rows) -> str:
    (folder / "list.csv.gz").write_bytes(gzip.compress(csv_text(table).encode(), mtime=0))
    return "list.csv.gz"


def write_parquet(folder: Path, table: Rows) -> str:
    _core.write_parquet(_core.table_of(list(table.items())), folder / "list.parquet")
    return "list.parquet"


Write = Callable[[Path, Rows], str]
TABLES: list[Write] = [write_csv, write_gzip, write_parquet]


def read_table(folder: Path, write: Write, table: Rows) -> Outcome:
    return loaded(folder, f'kind = "flows"\nfile = "{write(folder, table)}"\n')


def without(table: Rows, *names: str) -> Rows:
    return {name: values for name, values in table.items() if name not in names}


def silent_columns(
    folder: Path, write: Write, read: Callable[[Path, Write, Rows], Outcome] = read_table
) -> list[str]:
    """Returns the silent columns: a different or missing value neither changes the flows nor is
    refused, and no note names the column."""
    found = []
    # A flow's priority takes precedence over its DSCP, so each is also tested without the other.
    for base in (TABLE, without(TABLE, "priority"), without(TABLE, "dscp")):
        plain = read(folder, write, base)
        for name in base:
            changed = attempted(
                lambda base=base, name=name: read(
                    folder, write, base | {name: [OTHER[name], base[name][1]]}
                )
            )
            absent = attempted(
                lambda base=base, name=name: read(folder, write, without(base, name))
            )
            noted = re.search(rf"column.*\b{name}\b.*: left out", plain[1])
            # One of a DSCP and the corresponding priority is enough.
            redundant = name in ("dscp", "priority") and {"dscp", "priority"} <= set(base)
            if (changed == plain and not noted) or (absent == plain and not redundant):
                found.append(name)
    return found


@pytest.mark.parametrize("write", TABLES)
def test_no_column_is_silent(write, tmp_path):
    assert silent_columns(tmp_path, write) == []


@pytest.mark.parametrize("name", ["class", "deadline_ns", "dscp", "src_name", "dst_name", "fct_ns"])
def test_a_silent_column_is_found(name, tmp_path):
    """If a reader ignores a column, this column is reported."""
    passing = lambda folder, write, table: read_table(folder, write, without(table, name))  # noqa: E731
    assert name in silent_columns(tmp_path, write_parquet, passing)


@pytest.mark.parametrize("write", TABLES)
def test_other_columns(write, tmp_path):
    flows, said = read_table(
        tmp_path, write, without(TABLE, "dscp", "src_name", "dst_name") | {"queueing_ns": [1, 2]}
    )
    assert len(flows) == 2
    assert "columns fct_ns, queueing_ns are not part of a flow list: left out" in said
    assert (
        "column src_name repeats a host"
        in read_table(tmp_path, write, without(TABLE, "dst_name"))[1]
    )
    for wrong in ("dealine_ns", "Priority", "start-ns"):
        with pytest.raises(ScenarioError, match=rf'unknown column "{wrong}".*did you mean'):
            read_table(tmp_path, write, without(TABLE, "deadline_ns", "priority") | {wrong: [1, 2]})


def test_a_column_twice_is_refused(tmp_path):
    (tmp_path / "twice.csv").write_text("start_ns,src,dst,bytes,bytes\n0,1,2,3,4\n")
    with pytest.raises(ScenarioError, match=r'twice\.csv:1: found column "bytes" twice'):
        loaded(tmp_path, 'kind = "flows"\nfile = "twice.csv"\n')


def test_a_dscp_under_a_priority_is_noted(tmp_path):
    table = TABLE | {"dscp": [40, 46]}
    flows, said = read_table(tmp_path, write_csv, table)
    assert [flow[-1] for flow in flows] == [1, 1]
    assert '"dscp" of 1 flows is not used: their "priority" takes precedence' in said
    own = loaded(tmp_path, 'kind = "flows"\nfile = "list.csv"\npriority = 4\n')[1]
    assert '"dscp" or "priority" of 2 flows is not used: the block' in own
    assert "their" not in own


# --------------------------------------------------------------------------------------------------- texts: HPCC, htsim, coflow traces

#: Format, keys, a base text, and words of it with a replacement for each. The third element of a
#: word is part of the note that names it, or `None`.
TEXTS: list[tuple[str, str, list[tuple[str, str, str | None]]]] = [
    (
        'format = "hpcc"\n',
        "2\n0 2 3 100 50000 2.000000010\n1 3 3 200 1000 2.000001000\n",
        [
            ("2\n0", "3\n0", None), ("0 2 3", "1 2 3", None), ("0 2 3", "0 1 3", None), ("0 2 3", "0 2 1", None), ("50000", "50001", None),
            ("2.000000010", "2.000000011", None), (" 100 ", " 101 ", '"dport" of 2 flows is left out'),
        ],
    ),
    (
        'format = "hpcc"\npriority = 3\n',
        "1\n0 2 5 50000 2.0\n",
        [("0 2 5", "0 2 6", '"pg" of 1 flows is not used'), ("50000", "50001", None)],
    ),
    (
        'format = "htsim"\n',
        "Nodes 4\nConnections 2\n0->2 id 1 start 0 size 50000 prio 1\n1->3 id 2 start 1000000 size 1000\n",
        [
            ("Nodes 4", "Nodes 5", None), ("Connections 2", "Connections 3", None), ("0->2", "1->2", None), ("0->2", "0->1", None), ("id 1", "id 9", None),
            ("start 0", "start 5000", None), ("50000", "50001", None), ("prio 1", "prio 2", '"prio" fields'), ("Nodes 4", "Nodes 4\nNodes 5", None),
            ("start 0", "start 0 start 5000", None),
        ],
    ),
    (
        'format = "htsim"\n',
        "Nodes 8\nConnections 2\n0->2 id 1 start 0 size 50000\n1->3 start 1000000 size 1000\n",
        [("id 1", "id 9", '1 "id" fields are left out'), ("Nodes 8", "Nodes 7", None)],
    ),
    (
        'format = "coflow"\nplacement = "modulo"\ncoflows = 2\n',
        "6 3\n1 0 1 0 2 1:10 2:20\n2 5 2 0 1 1 3:6\n3 9 1 0 1 1:1\n",
        [
            ("6 3", "7 3", None), ("6 3", "6 4", None), ("1 0 1 0", "1 7 1 0", None), ("1 0 1 0", "1 0 1 4", None), ("1:10", "3:10", None),
            ("1:10", "1:11", None), ("2 5 2 0 1", "2 5 2 0 2", None), ("2 1:10 2:20", "1 1:10", None),
        ],
    ),
]  # fmt: skip


def read_text(folder: Path, keys: str, text: str) -> Outcome:
    (folder / "list.txt").write_text(text)
    return loaded(folder, f'kind = "flows"\nfile = "list.txt"\n{keys}')


def silent_words(folder: Path, read: Callable[[Path, str, str], Outcome] = read_text) -> list[str]:
    found = []
    for keys, base, changes in TEXTS:
        plain = read(folder, keys, base)
        for old, new, note in changes:
            assert old in base
            changed = attempted(
                lambda keys=keys, text=base.replace(old, new, 1): read(folder, keys, text)
            )
            if changed == plain and (note is None or note not in plain[1]):
                found.append(f"{old} -> {new}")
    return found


def test_no_word_is_silent(tmp_path):
    assert silent_words(tmp_path) == []


def test_a_silent_word_is_found(tmp_path):
    """If a reader gives no notes, the words that only notes name are reported."""
    mute = lambda *arguments: (read_text(*arguments)[0], "")  # noqa: E731
    assert {
        " 100  ->  101 ",
        "0 2 5 -> 0 2 6",
        "Nodes 4 -> Nodes 5",
        "prio 1 -> prio 2",
        "id 1 -> id 9",
        "6 3 -> 7 3",
        "6 3 -> 6 4",
    } <= set(silent_words(tmp_path, mute))


def test_an_identifier_of_a_coflow_is_its_name(tmp_path):
    (tmp_path / "list.txt").write_text("6 1\n17 0 1 0 1 1:10\n")
    text = f'{FABRIC}[[traffic]]\nkind = "flows"\nfile = "list.txt"\nformat = "coflow"\n'
    assert _core.parse(text, tmp_path / "fabric.toml").run().table("jobs").column("job") == [
        "flows.coflow17"
    ]


@pytest.mark.parametrize(
    ("keys", "text", "says"),
    [
        ('format = "hpcc"\n', "0\n", "a file without flows, expected at least one flow"),
        ('format = "coflow"\n', "4 0\n", "a file without coflows, expected at least one coflow"),
        ('format = "htsim"\n', "Nodes 4\n", "no connections"),
    ],
)
def test_lists_without_flows_are_refused(keys, text, says, tmp_path):
    with pytest.raises(ScenarioError, match=rf"list\.txt: found {says}"):
        read_text(tmp_path, keys, text)


# ------------------------------------------------------------------------------------------------------------------------------ sizes

#: A value of `sizes`, a distribution file, and words of either with a replacement for each.
SIZES: list[tuple[str, str, list[tuple[str, str, str | None]]]] = [
    ('"10kB"', "", [("10kB", "11kB", None)]),
    ('"websearch"', "", [("websearch", "datamining", None), ("websearch", "websaerch", None)]),
    ('{ fixed = "10kB" }', "", [("10kB", "11kB", None), ('"10kB"', '"10kB", unit = "2B"', None), ('"10kB"', '"10kB", whole_units = true', None)]),
    ('{ min = "1kB", max = "9kB" }', "", [("1kB", "2kB", None), ("9kB", "8kB", None), (', max = "9kB"', "", None), ("min", "mean", None)]),
    ('{ mean = "10kB" }', "", [("10kB", "11kB", None), ("mean", "fixed", None)]),
    (
        '"sizes.txt"',
        "size_bytes,cdf\n1000,0\n2000,0.5\n9000,1\n",
        [
            ("1000", "1100", None), ("2000", "2100", None), ("9000", "9100", None), (",0\n", ",0.2\n", None), ("0.5", "0.6", None), (",1\n", ",0.9\n", None),
            ("size_bytes", "size_kB", None), ("size_bytes", "packets", None), ("cdf", "percent", None), ("cdf", "pdf", None), (",cdf", ",n,cdf", None),
            ("0.5\n", "0.5,7\n", None),
        ],
    ),
    ('"sizes.txt"', "size percent\n1000 0\n2000 50\n9000 100\n", [("50", "60", None), ("100", "90", None), ("100", "1", None)]),
    (
        '{ file = "sizes.txt", unit = "1460B", whole_units = true }',
        "1 1 0\n6 1 0.5\n20 1 1\n",
        [
            ("1 1 0\n", "2 1 0\n", None), ("6 1", "9 1", None), ("20 1", "30 1", None), ("0.5", "0.7", None), ("1 1 0\n", "1 2 0\n", None),
            ("6 1", "6 0", None), ("20 1", "20 2", None), ("6 1 ", "6 x ", None), ("1460B", "1000B", None), ("true", "false", None),
            (', unit = "1460B"', "", None), ("sizes.txt\"", f'sizes.txt", sha256 = "{"0" * 64}"', None),
        ],
    ),
    ('{ file = "sizes.txt" }', "1 1 0\n6 1 1\n", [("6 1 1", "6 1", None), ('"sizes.txt"', '"sizes.txt", unit = "1B"', "three columns")]),
]  # fmt: skip


def read_sizes(folder: Path, sizes: str, content: str) -> Outcome:
    (folder / "sizes.txt").write_text(content)
    return loaded(
        folder, f'kind = "random"\nflows = 200\nflows_per_second = 1000\nsizes = {sizes}\n'
    )


def silent_sizes(folder: Path, read: Callable[[Path, str, str], Outcome] = read_sizes) -> list[str]:
    found = []
    for sizes, content, changes in SIZES:
        plain = read(folder, sizes, content)
        for old, new, note in changes:
            assert (old in sizes) != (old in content), old
            changed = attempted(
                lambda old=old, new=new, sizes=sizes, content=content: read(
                    folder, sizes.replace(old, new, 1), content.replace(old, new, 1)
                )
            )
            if changed == plain and (note is None or note not in plain[1]):
                found.append(f"{old!r} -> {new!r}")
    return found


def test_no_size_is_silent(tmp_path):
    assert silent_sizes(tmp_path) == []


def test_a_silent_size_is_found(tmp_path):
    """Readers without notes and readers that ignore a unit are detected."""
    mute = lambda *arguments: (read_sizes(*arguments)[0], "")  # noqa: E731
    assert {"'6 1' -> '6 0'", "'20 1' -> '20 2'", "'1 1 0\\n' -> '1 2 0\\n'"} <= set(
        silent_sizes(tmp_path, mute)
    )

    def unitless(folder, sizes, content):
        return read_sizes(folder, re.sub(r', unit = "\w+"', "", sizes), content)

    assert "'1460B' -> '1000B'" in silent_sizes(tmp_path, unitless)


def test_the_middle_column_is_noted_with_its_line(tmp_path):
    said = read_sizes(
        tmp_path, '{ file = "sizes.txt", unit = "1460B" }', "1 1 0\n6 3 0.5\n20 4 1\n"
    )[1]
    assert (
        "sizes.txt:2: the middle one of three columns is not 1, as in files of ns-2: it is left out"
        in said
    )
    assert (
        "middle"
        not in read_sizes(
            tmp_path, '{ file = "sizes.txt", unit = "1460B" }', "1 1 0\n6 1 0.5\n20 1 1\n"
        )[1]
    )
