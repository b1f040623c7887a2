"""Import and export of other tools' files: the import is complete, errors are named, and an export
can be imported again."""

import gzip
import io
import json
import lzma
import random
import tomllib
from pathlib import Path

import pyarrow.parquet
import pytest
from conftest import as_many, rows
from given import REFERENCE
from typer.testing import CliRunner

import afflux
from afflux.cli import app
from afflux.exchange import avro, hosts
from fuzz.importer_samples import (
    COMPLETIONS,
    FLOWS,
    LAB,
    MATRIX,
    SCHEMA,
    TOPOLOGY,
    as_binary,
    as_json,
    history,
    pcap,
    spark_log,
    udp,
)


@pytest.fixture
def files(tmp_path):
    """Returns a function that writes files by name."""

    def write(**texts: str | bytes) -> Path:
        for name, text in texts.items():
            path = tmp_path / name.replace("__", ".")
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path

    return write


# ------------------------------------------------------------------------------------------------------------------ HPCC, ConWeave


def test_hpcc_topology_is_the_same_fabric(command, files):
    here = files(topology__txt=TOPOLOGY, flow__txt=FLOWS)
    assert command("import", "hpcc-flows", "flow.txt", "-o", "flows.csv").returncode == 0
    done = command(
        "import", "hpcc-topology", "topology.txt", "--flows", "flows.csv", "-o", "fabric.toml"
    )
    assert done.returncode == 0, done.stderr
    assert "9 links taken, 0 dropped" in done.stderr
    (here / "direct.toml").write_text(
        'format = 1\ntopology = { kind = "hpcc", file = "topology.txt" }\ntraffic = [{ kind = "flows", file = "flow.txt", format = "hpcc", local = "drop" }]\n'
    )
    ours, theirs = (
        afflux.load(here / name).run().summary for name in ("fabric.toml", "direct.toml")
    )
    assert [ours[key] for key in ("result_hash", "ports_hash", "counters_hash")] == [
        theirs[key] for key in ("result_hash", "ports_hash", "counters_hash")
    ]
    back = command("export", "hpcc-topology", "fabric.toml")
    assert [line.split() for line in back.stdout.splitlines()] == [
        [*line.split()[:4], f"{float(line.split()[4]):.6f}"]
        if line.count(" ") == 4
        else line.split()
        for line in TOPOLOGY.splitlines()
    ]


def test_hpcc_flows_there_and_back(command, files):
    here = files(flow__txt=FLOWS, topology__txt=TOPOLOGY)
    done = command("import", "hpcc-flows", "flow.txt", "-o", "flows.csv")
    assert "3 flows taken, 1 dropped: 1 from a host to itself" in done.stderr
    assert (
        here / "flows.csv"
    ).read_text() == "start_ns,src,dst,bytes\n10,0,2,50000\n1000,1,3,1000\n2500,2,0,777\n"
    command("import", "hpcc-topology", "topology.txt", "--flows", "flows.csv", "-o", "fabric.toml")
    back = command("export", "hpcc-flows", "fabric.toml")
    assert (
        back.stdout
        == "3\n"
        + "\n".join(line for line in FLOWS.splitlines()[1:] if not line.startswith("3 3"))
        + "\n"
    )
    command("export", "hpcc-flows", "fabric.toml", "--ports", "-o", "ports.txt")
    assert command("import", "hpcc-flows", "ports.txt").stdout == (here / "flows.csv").read_text()


def test_hpcc_completion_times(command, files, scenario):
    here = files(fct__txt=COMPLETIONS)
    done = command("import", "hpcc-fct", "fct.txt", "-o", "theirs.csv", "--json")
    assert json.loads(done.stdout)["records"] == [
        {
            "what": "flows",
            "taken": 2,
            "dropped": {"from a host to itself": 1},
            "notes": ["left out, ports: sport and dport (2)"],
        }
    ]
    assert [list(row.values()) for row in rows(here / "theirs.csv")] == [
        ["10", "0", "2", "50000", "9000", "8000", "1.125"],
        ["1000", "1", "3", "1000", "5000", "6000", "1.0"],
    ]
    command("run", scenario(), "-o", "result")
    command("export", "hpcc-fct", "result", "-o", "ours.txt")
    assert command("import", "hpcc-fct", "ours.txt", "-o", "ours.csv").returncode == 0
    flows = afflux.Result.open(here / "result").flows
    read = {
        (int(row["start_ns"]), int(row["src"])): int(row["fct_ns"])
        for row in rows(here / "ours.csv")
    }
    assert read == {
        (start, src): fct
        for start, src, fct in zip(flows["start_ns"], flows["src"], flows["fct_ns"], strict=True)
        if fct is not None
    }


# --------------------------------------------------------------------------------------------------------------------------- htsim


def test_htsim_there_and_back(command, files, scenario):
    here = files(perm__cm=MATRIX)
    done = command("import", "htsim", "perm.cm", "-o", "flows.csv")
    assert done.returncode == 0, done.stderr
    assert "1 starts were rounded to whole nanoseconds" in done.stderr
    assert (
        here / "flows.csv"
    ).read_text() == "start_ns,src,dst,bytes\n0,0,2,50000\n1500,1,3,1000\n1500,2,1,9\n"
    scenario(
        text='format = 1\n[topology]\nkind = "star"\nhosts = 4\n[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n',
        name="star.toml",
    )
    assert command("export", "htsim", "star.toml").stdout == MATRIX.replace("1500001", "1500000")


# -------------------------------------------------------------------------------------------------------------------- containerlab


def test_containerlab(command, files):
    here = files(lab__clab__yml=LAB)
    done = command(
        "import",
        "containerlab",
        "lab.clab.yml",
        "--rate",
        "100Gbps",
        "--host-rate",
        "25Gbps",
        "--delay",
        "2us",
        "-o",
        "fabric.toml",
    )
    assert done.returncode == 0, done.stderr
    assert "6 links taken, 2 dropped: 1 of type mgmt-net, 1 that leave the lab" in done.stderr
    assert "without a link, left out: 1 host (lonely)" in done.stderr
    topology = tomllib.loads((here / "fabric.toml").read_text())["topology"]
    # Hosts are in rack order: a1 under leaf1, b1 under leaf2, a2 under frr. The common rate and
    # delay are stated once, and deviations separately.
    assert topology == {
        "kind": "leaf_spine",
        "leaves": 3,
        "spines": 1,
        "hosts_per_leaf": 1,
        "host_rate": "25Gbps",
        "uplink_rate": "100Gbps",
        "delay": "2us",
        "hosts": ["a1", "b1", "a2"],
        "switches": ["leaf1", "leaf2", "frr", "spine1"],
        "override": [{"link": ["a1-leaf1"], "rate": "40Gbps", "delay": "3us"}],
    }
    assert command("run", "fabric.toml", "--set", "run.until=1ms").returncode == 0

    done = command("export", "containerlab", "fabric.toml", "-o", "back.clab.yml")
    assert done.returncode == 0, done.stderr
    assert command("import", "containerlab", "back.clab.yml", "-o", "back.toml").returncode == 0
    assert tomllib.loads((here / "back.toml").read_text())["topology"] == topology


def test_roles_by_option(command, files):
    nodes = "nodes:\n    s: {kind: linux}\n    x: {kind: linux}\n    y: {kind: linux}\n"
    files(
        lab__yml=f"topology:\n  {nodes}  links:\n    - endpoints: ['s:1', 'x:1']\n    - endpoints: ['s:2', 'y:1']\n"
    )
    assert command("import", "containerlab", "lab.yml", "--rate", "1Gbps").returncode == 2
    done = command("import", "containerlab", "lab.yml", "--rate", "1Gbps", "--switch", "s*")
    assert done.returncode == 0, done.stderr
    assert tomllib.loads(done.stdout)["topology"]["switches"] == ["s"]


# ------------------------------------------------------------------------------------------------------------------------ captures


def test_a_capture_of_ours_gives_the_flows(command, scenario, tmp_path):
    """Eight connections of four hosts, with drops: retransmitted data counts once."""
    text = 'format = 1\nname = "captured"\n[topology]\nkind = "star"\nhosts = 5\nrate = "10Gbps"\n[switch]\nbuffer = "15kB"\nsharing = "static"\n'
    text += '[host.transport]\nmin_rto = "1ms"\n[[traffic]]\nkind = "incast"\nto = 0\nsenders = 4\nbytes = "123457B"\nrounds = 2\nperiod = "30ms"\n'
    text += '[record]\ncapture = ["host*>switch0"]\n'
    assert command("run", scenario(text=text), "-o", "result").returncode == 0
    result = afflux.Result.open(tmp_path / "result")
    assert result.summary["retransmits"] > 0
    captures = sorted(
        (tmp_path / "result").glob("host*.pcapng"), key=lambda path: hosts.natural(path.name)
    )
    assert len(captures) == 5
    found, again = [], 0
    for path in captures:
        done = command("import", "pcap", path, "-o", "flows.parquet", "--force", "--json")
        if done.returncode == 2:
            assert "no flows" in done.stderr
            assert path.name.startswith("host0-")
            continue
        assert done.returncode == 0, done.stderr
        again += json.loads(done.stdout)["records"][0]["dropped"].get("sent again", 0)
        names = {row["host"]: row["name"] for row in rows(tmp_path / "flows.hosts.csv")}
        table = pyarrow.parquet.read_table(tmp_path / "flows.parquet").to_pylist()
        found += [
            (names[str(row["src"])], names[str(row["dst"])], row["bytes"], row["class"])
            for row in table
        ]
    expected = [
        (f"10.0.0.{src + 1}", "10.0.0.1", size, "tcp")
        for src, size in zip(result.flows["src"], result.flows["bytes"], strict=True)
    ]
    assert sorted(found) == sorted(expected)
    assert again == result.summary["retransmits"]


def test_gaps_and_given_numbers(command, files):
    capture = pcap(
        [(100, udp(1, 2, 50)), (100.25, udp(1, 2, 50)), (101, udp(9, 2, 7)), (103, udp(1, 2, 1))]
    )
    here = files(c__pcap=capture, names__csv="host,name\n7,10.0.0.1\n3,10.0.0.2\n")
    assert command("import", "pcap", "c.pcap", "-o", "one.csv", "--gap", "10s").returncode == 0
    assert [row["bytes"] for row in rows(here / "one.csv")] == ["101", "7"]
    done = command(
        "import", "pcap", "c.pcap", "-o", "two.csv", "--gap", "500ms", "--hosts", "names.csv"
    )
    assert "1 flow of hosts that names.csv does not name left out (10.0.0.9)" in done.stderr
    assert "from 1970-01-01 00:01:40 UTC on" in done.stderr
    assert (
        here / "two.csv"
    ).read_text() == "start_ns,src,dst,bytes,class\n0,7,3,100,udp\n3000000000,7,3,1,udp\n"
    assert (here / "two.hosts.csv").read_text() == "host,name\n3,10.0.0.2\n7,10.0.0.1\n"
    (here / "c.pcap.gz").write_bytes(gzip.compress(capture))
    assert (
        command("import", "pcap", "c.pcap.gz", "--gap", "10s").stdout
        == (here / "one.csv").read_text()
    )


# ---------------------------------------------------------------------------------------------------------------------------- jobs

TRACE = "job_7_0001\t0.000\t0.000\t2000\t900\t800\njob_7_0002\t61.500\t61.500\t2000\t900\t800\n"
SHUFFLE = """\
start_ns,src,dst,bytes,class
100000000,2,1,1000,read
500000000,0,1,150,fetch
900000000,0,3,150,fetch
900000000,1,3,300,fetch
"""


@pytest.mark.parametrize("form", [as_json, as_binary])
def test_jhist(command, files, scenario, form):
    here = files(
        a__jhist=form(history()),
        b__jhist=form(history("job_7_0002", 1_061_500)),
        c__jhist=form(history("job_7_0003")[:-1]),
    )
    done = command("import", "jhist", "b.jhist", "a.jhist", "c.jhist", "-o", "jobs.tsv")
    assert done.returncode == 0, done.stderr
    assert "2 jobs taken, 1 dropped: 1 without an end" in done.stderr
    assert (here / "jobs.tsv").read_text() == TRACE
    done = command("import", "jhist", "a.jhist", "--flows", "shuffle.csv")
    assert (
        "4 flows taken, 2 dropped: 1 from a host to itself, 1 reads on the same host" in done.stderr
    )
    assert "attempts that failed or were killed: left out" in done.stderr
    assert (here / "shuffle.csv").read_text() == SHUFFLE
    assert [row["name"] for row in rows(here / "shuffle.hosts.csv")] == [
        "node1",
        "node2",
        "node3",
        "node10",
    ]
    # A scenario can read the written file.
    text = 'format = 1\n[topology]\nkind = "star"\nhosts = 4\n[[traffic]]\nkind = "hadoop_trace"\nfile = "jobs.tsv"\n[run]\nuntil = "jobs"\n'
    assert afflux.load(scenario(text=text)).check().hosts == 4


def test_spark(command, files):
    text = "".join(json.dumps(event) + "\n" for event in spark_log())
    here = files(app__log=text + '{"Event": "SparkListenerTa')
    done = command("import", "spark", "app.log", "-o", "jobs.tsv", "--flows", "shuffle.csv")
    assert done.returncode == 0, done.stderr
    assert (
        here / "jobs.tsv"
    ).read_text() == "app-1_0\t0.000\t0.000\t2000\t900\t420\napp-1_1\t3.500\t3.500\t0\t10\t0\n"
    assert (here / "shuffle.csv").read_text() == (
        "start_ns,src,dst,bytes,class\n1000000000,1,0,300,fetch\n1001000000,0,2,150,fetch\n1001000000,1,2,300,fetch\n"
    )
    assert "3 flows taken, 1 dropped: 1 fetches whose writers are not in the log" in done.stderr
    assert "tasks that did not succeed (TaskKilled): left out (app.log:7)" in done.stderr
    assert "the last line is incomplete" in done.stderr


# -------------------------------------------------------------------------------------------------------------------------- export


#: Queries by DSCP 26 (priority 4 here), of which only the first round is known before the run, a
#: flow of priority 1 and one without any, of one class.
def test_nothing_is_replaced_or_left_half_written(command, files):
    here = files(perm__cm=MATRIX, bad__cm=MATRIX.replace("size 9", "size nine"), flows__csv="mine")
    done = command("import", "htsim", "perm.cm", "-o", "flows.csv")
    assert done.returncode == 2
    assert "flows.csv exists: choose another name, or --force" in done.stderr
    assert command("import", "htsim", "bad.cm", "-o", "flows.csv", "--force").returncode == 2
    assert (here / "flows.csv").read_text() == "mine"
    assert command("import", "htsim", "perm.cm", "-o", "flows.csv", "--force").returncode == 0
    # If the second of two outputs exists, neither is written.
    (here / "a.jhist").write_text(as_json(history()))
    (here / "s.hosts.csv").write_text("mine")
    assert (
        command("import", "jhist", "a.jhist", "-o", "jobs.tsv", "--flows", "s.csv").returncode == 2
    )
    assert command("import", "htsim", "perm.cm", "-o", "nowhere/flows.csv").returncode == 2
    assert sorted(path.name for path in here.iterdir()) == [
        "a.jhist",
        "bad.cm",
        "flows.csv",
        "perm.cm",
        "s.hosts.csv",
    ]


# -------------------------------------------------------------------------------------------------------------------------- errors

JOB = as_json(history())


@pytest.mark.parametrize(
    ("kind", "text", "found", "expected"),
    [
        ("hpcc-topology", TOPOLOGY.replace("25Gbps", "25"), ":5: found", "a rate"),
        ("hpcc-flows", FLOWS.replace(" 777 ", " x "), ":5: found size `x`", "a whole number of bytes"),
        ("hpcc-flows", FLOWS.replace("2.000000010", "1.9"), ":2: found start `1.9`", "2s or later"),
        ("hpcc-fct", COMPLETIONS.replace(" 8000\n", "\n"), ":1: found 7 columns", "eight columns: src dst sport"),
        ("hpcc-fct", COMPLETIONS.replace("0b000101", "0c000101"), ":2: found host '0c000101'", "a number, or an address"),
        ("htsim", MATRIX.replace("size 9", "size nine"), ":5: found", "`size` and at least one byte"),
        ("containerlab", LAB, ":17: found the link leaf1 – spine1 without a rate", "--rate"),
        ("containerlab", LAB.replace("rate: 40Gbps", "rate: fast"), "fast", "Gbps"),
        ("containerlab", LAB.replace('"leaf2:e1-2"', '"leef2:e1-2"'), ":20: found a link to 'leef2'", "one of the nodes: spine1, leaf1"),
        ("containerlab", LAB.replace("topology:", "topolgy:"), ":1: found no topology", "topology:"),
        ("containerlab", LAB.replace('["leaf1:e1-1", "spine1:e1-1"]', '["leaf1:e1-1"]'), ":17: found endpoints", "two of them"),
        ("containerlab", "a: [1\n", ":2: found", "YAML"),
        ("pcap", "start_ns,src\n", "found the bytes", "a capture: pcap or pcapng"),
        ("jhist", "Avro-Xml\n", ":1: found 'Avro-Xml'", "Avro-Json or Avro-Binary"),
        ("jhist", JOB.replace('"submitTime": 1000000', '"submitTime": "now"'), ":3: found submitTime of JOB_SUBMITTED 'now'", "a whole number"),
        ("jhist", JOB.replace('{"type": "JOB_FINISHED"', '{"type": "JOB_FINISHED" oops') + "{}\n", ":27: found", "an object in JSON"),
        ("spark", '{"Event": 5}\n', ":1: found", "an event of Spark"),
        ("spark", '{"Event": "SparkListenerJobStart", "Job ID": -1}\n', ":1: found Job ID -1", "a whole number, not negative"),
        ("spark", "", "found no events", "an event log of Spark"),
        ("spark", b"\xb5/\xfd\x00", ":1: found the bytes", "text in UTF-8"),
        ("spark", b"(\xb5/\xfd\x00", ": found no events", "an event log of Spark"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(command, files, kind, text, found, expected):
    here = files(broken__file=text)
    options = ["--rate", "fast"] if found == "fast" else []
    done = command("import", kind, "broken.file", "-o", "out.csv", *options)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert "broken.file" in done.stderr or kind == "containerlab"
    assert found in done.stderr
    assert expected in done.stderr
    assert [path.name for path in here.iterdir()] == ["broken.file"]


def whole(kind: str) -> bytes:
    """Returns a valid file."""
    texts = {
        "hpcc-topology": TOPOLOGY,
        "hpcc-flows": FLOWS,
        "hpcc-fct": COMPLETIONS,
        "htsim": MATRIX,
        "containerlab": LAB,
        "jhist": JOB,
    }
    if kind == "pcap":
        return pcap([(100, udp(1, 2, 50)), (100.25, udp(2, 1, 50))])
    if kind == "spark":
        return "".join(json.dumps(event) + "\n" for event in spark_log()).encode()
    if kind == "jhist-binary":
        return as_binary(history())
    return texts[kind].encode()


@pytest.mark.parametrize(
    "kind",
    [
        "hpcc-topology",
        "hpcc-flows",
        "hpcc-fct",
        "htsim",
        "containerlab",
        "pcap",
        "jhist",
        "jhist-binary",
        "spark",
    ],
)
def test_no_bytes_crash_an_importer(kind, tmp_path):
    """Truncated, changed and random bytes are read or refused, without any other effect."""
    draw = random.Random(f"afflux {kind}")
    good = whole(kind)
    path, out = tmp_path / "file", tmp_path / "out.csv"
    options = ["--rate", "10Gbps"] if kind == "containerlab" else []
    codes = []
    for attempt in range(as_many(20)):
        data = bytearray(good)
        if attempt % 3 == 0:
            del data[draw.randrange(len(data) + 1) :]
        if attempt % 3 == 1:
            for _ in range(draw.randrange(1, 6)):
                data[draw.randrange(len(data))] = draw.choice(
                    [draw.randrange(256), *b'0123456789-"{}[]:,. \n']
                )
        if attempt % 3 == 2:
            at = draw.randrange(len(data))
            data[at : at + draw.randrange(40)] = draw.choice(
                [b"", draw.randbytes(draw.randrange(60)), data[draw.randrange(len(data)) :][:80]]
            )
        if attempt % 20 == 19:
            data = bytearray(draw.randbytes(draw.randrange(300)))
        if attempt % 10 == 5:
            data = bytearray(draw.choice([gzip.compress, lzma.compress])(bytes(data)))
            del data[draw.randrange(len(data) // 2, len(data) + 1) :]
        path.write_bytes(data)
        done = CliRunner().invoke(
            app,
            [
                "import",
                kind.removesuffix("-binary"),
                str(path),
                "-o",
                str(out),
                "--force",
                *options,
            ],
        )
        assert done.exception is None or isinstance(done.exception, SystemExit), (
            attempt,
            bytes(data),
            done.exception,
        )
        assert done.exit_code in (0, 2), (attempt, done.output)
        codes.append(done.exit_code)
    path.write_bytes(good)
    assert (
        CliRunner()
        .invoke(
            app,
            [
                "import",
                kind.removesuffix("-binary"),
                str(path),
                "-o",
                str(out),
                "--force",
                *options,
            ],
        )
        .exit_code
        == 0
    )
    assert 2 in codes


def test_avro_of_any_bytes():
    schema = avro.Schema(SCHEMA)
    draw = random.Random(1)
    for _ in range(3_000):
        stream = io.BytesIO(draw.randbytes(draw.randrange(60)))
        try:
            schema.read(stream)
        except avro.AvroError:
            continue


@pytest.mark.parametrize("kind", ["record", "enum", "fixed", "array", "map"])
def test_avro_types_without_their_parts_are_refused(kind):
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}
    with pytest.raises(avro.AvroError, match=f"a type '{kind}' without its parts"):
        avro.Schema(schema)


def test_files_of_the_reference_runs(command, tmp_path):
    """Reads topologies, flows, completion times and matrices of the reference runs."""
    inputs = REFERENCE / "conweave/inputs"
    fabric = inputs / "leaf_spine_128_100G_OS2.txt"
    assert (
        command("import", "hpcc-flows", inputs / "micro_perm.txt.xz", "-o", "flows.csv").returncode
        == 0
    )
    assert (
        command(
            "import", "hpcc-topology", fabric, "--flows", "flows.csv", "-o", "fabric.toml"
        ).returncode
        == 0
    )
    back = [
        line.split()
        for line in command("export", "hpcc-topology", "fabric.toml").stdout.splitlines()
    ]
    given = [line.split() for line in fabric.read_text().splitlines() if line.strip()]
    assert back[:2] == given[:2]
    assert [line[:4] for line in back[2:]] == [line[:4] for line in given[2 : 2 + int(given[0][2])]]
    theirs = lzma.decompress((inputs / "micro_perm.txt.xz").read_bytes()).decode().split("\n")
    ours = command("export", "hpcc-flows", "fabric.toml").stdout.split("\n")
    assert sorted(line.strip() for line in ours if line) == sorted(
        line.strip() for line in theirs if line.strip()
    )
    run = next(
        path
        for path in sorted((REFERENCE / "conweave").iterdir())
        if (path / "fct.txt.xz").is_file()
    )
    done = command("import", "hpcc-fct", run / "fct.txt.xz", "-o", "fct.csv")
    assert done.returncode == 0, done.stderr
    matrix = REFERENCE / "htsim/perm_128n_10000000B.cm"
    assert command("import", "htsim", matrix, "-o", "perm.csv").returncode == 0
    assert len(rows(tmp_path / "perm.csv")) == 128
