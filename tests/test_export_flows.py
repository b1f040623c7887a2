"""Export of the flows of scenarios and results to flow lists and to other tools' files."""

import csv
import gzip
import json
import lzma

import pyarrow.parquet
import pytest
from conftest import rows

import afflux

PRIORITIES = """\
format = 1
name = "prio"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
[switch]
scheduling = "strict_priority"
[host]
scheduling = "strict_priority"
dscp_to_priority = { 26 = 4 }
[[traffic]]
kind = "incast"
class = "query"
to = 0
bytes = "30kB"
rounds = 2
closed_loop = true
dscp = 26
[[traffic]]
kind = "pairs"
class = "bulk"
pairs = [[1, 2]]
sizes = "100kB"
priority = 1
[[traffic]]
kind = "pairs"
class = "bulk"
pairs = [[1, 3]]
sizes = "100kB"
"""


def test_priorities_of_results(command, tmp_path):
    (tmp_path / "prio.toml").write_text(PRIORITIES)
    assert command("run", "prio.toml", "-o", "result").returncode == 0
    for name in ("was.csv", "was.parquet"):
        done = command("export", "flows", "result", "-o", name)
        assert done.returncode == 0, done.stderr
        assert "unknown" not in done.stderr
    with (tmp_path / "was.csv").open() as file:
        found = [(row["class"], row["dst"], row["priority"]) for row in csv.DictReader(file)]
    assert found == [
        *[("query", "0", "4")] * 3,
        ("bulk", "2", "1"),
        ("bulk", "3", "0"),
        *[("query", "0", "4")] * 3,
    ]
    assert pyarrow.parquet.read_table(tmp_path / "was.parquet")["priority"].to_pylist() == [
        int(priority) for *_, priority in found
    ]
    done = command("export", "hpcc-flows", "result")
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    # Both simulators read the flows in the order of their starts.
    starts = [float(row[-1]) for row in rows]
    assert starts == sorted(starts)
    assert sorted(row[2] for row in rows) == sorted(priority for *_, priority in found)


def test_a_priority_that_is_unknown_is_said(command, tmp_path):
    """Rounds that start after others have a class with two priorities."""
    text = PRIORITIES.replace('class = "bulk"', 'class = "query"')
    (tmp_path / "prio.toml").write_text(text)
    assert command("run", "prio.toml", "-o", "result").returncode == 0
    done = command("export", "flows", "result", "-o", "was.csv")
    assert "the priority of 3 flows is unknown, because blocks of one class" in " ".join(
        done.stderr.split()
    )
    with (tmp_path / "was.csv").open() as file:
        priorities = [row["priority"] for row in csv.DictReader(file)]
    assert priorities == ["4", "4", "4", "1", "0", "", "", ""]


def test_flows_of_scenarios_and_results(command, scenario, tmp_path):
    path = scenario()
    done = command("export", "flows", path, "-o", "planned.csv")
    assert done.returncode == 0, done.stderr
    assert "24 flows taken" in done.stderr
    command("run", path, "-o", "result")
    for name in ("was.csv", "was.csv.gz", "was.csv.xz", "was.parquet"):
        assert command("export", "flows", "result", "-o", name).returncode == 0
    assert (
        gzip.decompress((tmp_path / "was.csv.gz").read_bytes()).decode()
        == (tmp_path / "was.csv").read_text()
    )
    assert (
        lzma.decompress((tmp_path / "was.csv.xz").read_bytes()).decode()
        == (tmp_path / "was.csv").read_text()
    )
    assert (tmp_path / "was.csv").read_text() == (tmp_path / "planned.csv").read_text()
    # A run of the exported list reproduces the original run.
    expected = afflux.Result.open(tmp_path / "result").flows["fct_ns"]
    text = path.read_text()
    replay = text[: text.index("[[traffic]]")] + '[[traffic]]\nkind = "flows"\nfile = "{}"\n'
    for name in ("was.csv", "was.csv.xz", "was.parquet"):
        assert (
            afflux.load(scenario(text=replay.format(name), name="replay.toml"))
            .run()
            .flows["fct_ns"]
            == expected
        )


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("was.txt", "ends with .txt"),
        ("was.csv.bz2", "ends with .bz2"),
        ("was", "has no ending"),
    ],
)
def test_other_endings_are_refused(command, scenario, tmp_path, name, found):
    done = command("export", "flows", scenario(), "-o", name)
    assert done.returncode == 2
    assert (
        f"{name}: the name of the flow list {found}: write .csv, .csv.gz, .csv.xz or .parquet"
        in " ".join(done.stderr.split())
    )
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("change", ["gone", "changed"])
def test_a_result_has_its_flows_without_the_list_they_came_from(command, tmp_path, change):
    listed = tmp_path / "listed.csv"
    listed.write_text("start_ns,src,dst,bytes\n0,0,1,10000\n0,2,1,20000\n")
    (tmp_path / "listed.toml").write_text(
        PRIORITIES[: PRIORITIES.index("[[traffic]]")]
        + '[[traffic]]\nkind = "flows"\nfile = "listed.csv"\n'
    )
    assert command("run", "listed.toml", "-o", "result").returncode == 0
    formats = ("flows", "htsim", "hpcc-flows")
    before = [command("export", format, "result").stdout for format in formats]
    assert before[1].startswith("Nodes 4\nConnections 2\n")
    if change == "gone":
        listed.unlink()
    else:
        listed.write_text("start_ns,src,dst,bytes\n0,0,1,10\n")
    for format, text in zip(formats, before, strict=True):
        done = command("export", format, "result")
        assert (done.returncode, done.stdout) == (0, text)
        said = " ".join(done.stderr.split())
        assert "2 flows taken, 0 dropped" in said
        assert f"note: the priorities of the flows are unknown: {listed}: " in said


#: A run that ends within the second of three rounds, next to listed flows. Two of these have a
#: deadline, two have no class, and the last two start after the end.
CUT_OFF = """\
format = 1
name = "cut-off"

[topology]
kind = "star"
hosts = 5
rate = "10Gbps"
delay = "1us"

[[traffic]]
kind = "incast"
class = "query"
to = 0
senders = 4
bytes = "200kB"
rounds = 3
closed_loop = true

[[traffic]]
kind = "flows"
file = "listed.csv"

[run]
until = "1ms"
"""
LISTED = """\
start_ns,src,dst,bytes,class,deadline_ns
0,1,2,1000,mice,50000
10,2,3,40000000,,
20,3,4,1000,mice,
2000000,3,4,1000,mice,60000
2000010,4,3,1000,,
"""
#: Reason for which a list lacks the flows of the third round.
UNKNOWN = "whose start is unknown because the run ended before it"


@pytest.mark.parametrize(
    ("form", "ending", "options"),
    [
        ("flows", "csv", []),
        ("flows", "parquet", []),
        ("htsim", "cm", []),
        ("hpcc-flows", "txt", []),
        ("hpcc-flows", "txt", ["--ports"]),
        ("hpcc-fct", "txt", []),
    ],
)
def test_flows_that_never_started_are_dropped_and_counted(
    form, ending, options, command, scenario, tmp_path
):
    (tmp_path / "listed.csv").write_text(LISTED)
    assert command("run", scenario(text=CUT_OFF), "-o", "result").returncode == 0
    flows = afflux.Result.open(tmp_path / "result").flows
    columns = [flows[name] for name in ("start_ns", "src", "dst", "bytes", "fct_ns")]
    started = [row[:4] for row in zip(*columns, strict=True) if row[0] is not None]
    finished = [row[:4] for row in zip(*columns, strict=True) if row[4] is not None]
    # The start of listed flows is known also if the run ended before it.
    assert (len(flows), len(started), len(finished)) == (17, 13, 6)
    assert [*flows["status"]].count("running") == 17 - 6

    done = command("export", form, "result", "-o", f"list.{ending}", *options)
    assert done.returncode == 0, done.stderr
    of_finished = form == "hpcc-fct"
    taken, reason = (6, "not finished") if of_finished else (13, UNKNOWN)
    dropped = 17 - taken
    assert done.stderr.splitlines()[0] == (
        f"{taken} flows taken, {dropped} dropped: {dropped} {reason}"
    )
    as_json = command(
        "export", form, "result", "-o", f"list.{ending}", "--force", "--json", *options
    )
    (record,) = json.loads(as_json.stdout)["records"]
    assert (record["taken"], record["dropped"]) == (taken, {reason: dropped})

    # afflux reads each of these files again, with the same flows.
    names = ("start_ns", "src", "dst", "bytes")
    if form == "flows":
        replay = CUT_OFF[: CUT_OFF.index("[[traffic]]")]
        replay += f'[[traffic]]\nkind = "flows"\nfile = "list.{ending}"\n'
        table, _ = afflux.Scenario.parse(replay, tmp_path / "replay.toml").check().flow_list()
        deadlines = [one for one in table["deadline_ns"] if one is not None]
        assert deadlines == [50_000, 60_000]
        assert sorted(table["class"]) == ["default"] * 2 + ["mice"] * 3 + ["query"] * 8
        again = list(zip(*(table[name] for name in names), strict=True))
    else:
        back = command("import", form, f"list.{ending}", "-o", "back.csv")
        assert back.returncode == 0, back.stderr
        again = [tuple(int(row[name]) for name in names) for row in rows(tmp_path / "back.csv")]
    assert sorted(again) == sorted(finished if of_finished else started)
