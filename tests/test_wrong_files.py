"""One hundred wrong files: each message names the file, the place, the value found and the expected
value, in words that need no knowledge of the program."""

import gzip
import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import afflux

HEAD = 'format = 1\n[topology]\nkind = "star"\nhosts = 4\nrate = "10Gbps"\ndelay = "1us"\n'
PAIRS = '[[traffic]]\nkind = "pairs"\npairs = [[1, 0]]\nsizes = "30kB"\n'
FLOWS = HEAD + '[[traffic]]\nkind = "flows"\nfile = "{file}"\n'
SIZES = (
    HEAD
    + '[[traffic]]\nkind = "random"\nload = 0.1\nload_basis = "host_payload"\nstop = "1ms"\nsizes = "sizes.txt"\n'
)
TOPOLOGY = 'format = 1\n[topology]\nkind = "hpcc"\nfile = "topology.txt"\n' + PAIRS
CUSTOM = 'format = 1\n[topology]\nkind = "custom"\nhosts = 2\nswitches = 1\n{links}' + PAIRS
LINK = '[[topology.link]]\na = "{a}"\nb = "{b}"\nrate = "{rate}"\ndelay = "1us"\n'

#: Patterns that must not appear in a message, because they do not help a user.
NOISE = re.compile(
    r"Errno|os error|Traceback|imported\.toml|\b(Value|Type|Key|Index|Attribute|Overflow|OS|Unicode\w+|JSONDecode|Py)Err(or)?\b"
)

#: name: (text to replace, replacement, line, phrases of the message)
SCENARIOS: dict[str, tuple[str, str, int | None, list[str]]] = {
    "format of a later version": (
        "format = 1",
        "format = 2",
        1,
        ["format", "found 2", "format = 1"],
    ),
    "no format": ("format = 1\n", "", None, ["format", "format = 1"]),
    "misspelt kind": ('"star"', '"stra"', 3, ["topology.kind", "stra", 'did you mean "star"']),
    "kind of a wrong type": ('"star"', "3", 3, ["topology.kind", "found 3"]),
    "text for a number": (
        "hosts = 4",
        'hosts = "four"',
        4,
        ["topology.hosts", "four", "a number of hosts"],
    ),
    "negative count": ("hosts = 4", "hosts = -4", 4, ["topology.hosts", "-4"]),
    "no hosts": ("hosts = 4", "hosts = 0", 4, ["hosts"]),
    "misspelt key": ("hosts = 4", "host = 4", 4, ["topology.host", 'did you mean "hosts"']),
    "key twice": ("hosts = 4", "hosts = 4\nhosts = 5", 5, ['"hosts" is there twice']),
    "rate with a wrong unit": ('"10Gbps"', '"10Gb"', 5, ["topology.rate", "10Gb", "Gbps"]),
    "rate without a unit": ('"10Gbps"', "10", 5, ["topology.rate", "10", "Gbps"]),
    "rate of zero": ('"10Gbps"', '"0Gbps"', 5, ["topology.rate"]),
    "negative rate": ('"10Gbps"', '"-1Gbps"', 5, ["topology.rate", "-1Gbps"]),
    "text that does not end": ('"10Gbps"', '"10Gbps', 5, ["not TOML"]),
    "no value": ('rate = "10Gbps"', "rate =", 5, ["not TOML"]),
    "delay with a unit of bytes": ('"1us"', '"1kB"', 6, ["topology.delay", "1kB", "us"]),
    "delay without a unit": ('"1us"', '"1"', 6, ["topology.delay", "us"]),
    "table instead of a list": (
        "[[traffic]]",
        "[traffic]",
        7,
        ["traffic", "found a table", "write an array"],
    ),
    "misspelt traffic": (
        '"pairs"',
        '"pears"',
        8,
        ["traffic[0].kind", "pears", 'did you mean "pairs"'],
    ),
    "host that is not there": ("[[1, 0]]", "[[1, 9]]", 9, ["pairs[0][1]", "host 9", "0 to 3"]),
    "pair of one host": ("[[1, 0]]", "[[1, 1]]", 9, ["pairs[0]", "two different hosts"]),
    "pair of texts": ("[[1, 0]]", '[["a", "b"]]', 9, ["pairs[0]"]),
    "no pairs": ("[[1, 0]]", "[]", 9, ["pairs"]),
    "unknown sizes": ('"30kB"', '"nosuch"', 10, ["traffic[0].sizes", "nosuch", "websearch"]),
    "negative size": ('"30kB"', '"-30kB"', 10, ["sizes", "-30kB"]),
    "key of another kind": (
        'sizes = "30kB"',
        'sizes = "30kB"\nload = 0.5',
        11,
        ["traffic[0].load", "unknown key"],
    ),
    "negative seed": (
        'sizes = "30kB"',
        'sizes = "30kB"\n[run]\nseed = -1',
        12,
        ["run.seed", "-1", "a number from 0 to 9223372036854775807"],
    ),
    "time in words": (
        'sizes = "30kB"',
        'sizes = "30kB"\n[run]\nuntil = "soon"',
        12,
        ["run.until", "soon", "1us"],
    ),
    "no threads": (
        'sizes = "30kB"',
        'sizes = "30kB"\n[run]\nthreads = 0',
        12,
        ["run.threads", "1 to 1024"],
    ),
    "unknown table": (
        'sizes = "30kB"',
        'sizes = "30kB"\n[swich]\nbuffer = "1MB"',
        11,
        ["swich", 'did you mean "switch"'],
    ),
    "buffer with a unit of time": (
        'sizes = "30kB"',
        'sizes = "30kB"\n[switch]\nbuffer = "1us"',
        12,
        ["switch.buffer", "1us", "MB"],
    ),
    "unknown congestion control": (
        'sizes = "30kB"',
        'sizes = "30kB"\n[host.transport]\ncc = "cubik"',
        12,
        ["host.transport"],
    ),
}


def cause(done: Any, *phrases: str) -> str:
    """Returns the error of a refused command, after the checks that apply to all messages."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    message = "\n".join(line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert message, done.stderr
    assert not NOISE.search(done.stderr), done.stderr
    for phrase in phrases:
        assert phrase in message, f"{phrase!r} is not in {message!r}"
    return message


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name, command, tmp_path):
    old, new, line, phrases = SCENARIOS[name]
    text = HEAD + PAIRS
    assert old in text
    (tmp_path / "fabric.toml").write_text(text.replace(old, new, 1))
    cause(
        command("check", "fabric.toml"),
        f"fabric.toml:{line}: " if line else "fabric.toml: ",
        *phrases,
    )


@pytest.mark.parametrize(
    ("links", "phrases"),
    [
        ([("host0", "switch0", "1Gbps")], ["host1"]),
        (
            [("host0", "switch0", "1Gbps"), ("host1", "switch7", "1Gbps")],
            ["fabric.toml:13", "switch7"],
        ),
        ([("host0", "switch0", "1Gbps"), ("host1", "host1", "1Gbps")], ["fabric.toml", "host1"]),
        (
            [("host0", "switch0", "1Gbps"), ("host1", "switch0", "fast")],
            ["fabric.toml:14", "fast", "Gbps"],
        ),
    ],
    ids=["host without a link", "unknown switch", "link to itself", "rate in words"],
)
def test_links(links, phrases, command, tmp_path):
    text = CUSTOM.format(links="".join(LINK.format(a=a, b=b, rate=rate) for a, b, rate in links))
    (tmp_path / "fabric.toml").write_text(text)
    cause(command("check", "fabric.toml"), *phrases)


HEADER = b"start_ns,src,dst,bytes\n"


@pytest.mark.parametrize(
    ("name", "content", "phrases"),
    [
        ("f.csv", None, ["f.csv: ", "fabric.toml:9", "o such file"]),
        ("f.csv", b"", ["f.csv: ", "an empty file", "start_ns,src,dst,bytes"]),
        ("f.csv", HEADER, ["f.csv: ", "without rows", "at least one flow"]),
        ("f.csv", b"start_ns,src,dst\n0,1,2\n", ["f.csv:1: ", '"bytes"', "start_ns,src,dst,bytes"]),
        ("f.csv", b"start_ns;src;dst;bytes\n0;1;2;10\n", ["f.csv:1: ", '"start_ns"']),
        ("f.csv", b"start_ns,src,dst,bytes,bytes\n0,1,2,9,9\n", ["f.csv:1: ", '"bytes" twice']),
        ("f.csv", HEADER + b"0,1,2\n", ["f.csv:2: ", "3 fields", "expected 4"]),
        ("f.csv", HEADER + b"0,1,2,9\n5,1,two,9\n", ["f.csv:3: ", '"dst"', "two"]),
        ("f.csv", HEADER + b"0,1,9,9\n", ["f.csv:2: ", '"dst"', "host 9", "0 to 3"]),
        ("f.csv", HEADER + b"0,1,1,9\n", ["f.csv:2: ", '"dst"', "the source itself"]),
        ("f.csv", HEADER + b"0,1,2,-4\n", ["f.csv:2: ", '"bytes"', "-4"]),
        ("f.csv", HEADER + b"0,1,2,0\n", ["f.csv:2: ", '"bytes"', "at least one byte"]),
        ("f.csv", HEADER + b"0,1,2,1e3\n", ["f.csv:2: ", '"bytes"', "1e3", "whole number"]),
        (
            "f.csv",
            HEADER + b"0,1,2,99999999999999999999\n",
            ["f.csv:2: ", '"bytes"', "99999999999999999999"],
        ),
        ("f.csv", HEADER + b"-5,1,2,9\n", ["f.csv:2: ", '"start_ns"', "-5", "nanoseconds"]),
        ("f.csv", HEADER + b'0,1,2,"9\n', ["f.csv:2: ", "quotes"]),
        ("f.csv.gz", b"no gzip", ["f.csv.gz:1: ", '"start_ns"']),
        (
            "f.csv.gz",
            gzip.compress(HEADER + b"0,1,2,9\n", mtime=0)[:-9],
            ["f.csv.gz: ", "cannot be read"],
        ),
        ("f.parquet", b"PAR1", ["f.parquet: ", "it is no Parquet file, or breaks off"]),
        (
            "f.parquet",
            b"PAR1" + bytes(20) + b"PAR1",
            ["f.parquet: ", "it is no Parquet file, or breaks off"],
        ),
    ],
)
def test_flow_list(name, content, phrases, command, tmp_path):
    (tmp_path / "fabric.toml").write_text(FLOWS.format(file=name))
    if content is not None:
        (tmp_path / name).write_bytes(content)
    cause(command("check", "fabric.toml"), *phrases)


@pytest.mark.parametrize(
    ("content", "phrases"),
    [
        (None, ["sizes.txt"]),
        ("", ["sizes.txt: ", "no points", "size and cumulative share"]),
        ("1000 0\n500 1\n", ["sizes.txt:2", "500"]),
        ("1000 0\n2000 nan\n", ["sizes.txt:2", "nan"]),
        ("abc 0\n1 1\n", ["sizes.txt:1", "abc"]),
        ("-5 0\n10 1\n", ["sizes.txt:1", "-5"]),
        ("1000 0.5\n2000 0.2\n", ["sizes.txt:2"]),
    ],
)
def test_sizes(content, phrases, command, tmp_path):
    (tmp_path / "fabric.toml").write_text(SIZES)
    if content is not None:
        (tmp_path / "sizes.txt").write_text(content)
    cause(command("check", "fabric.toml"), *phrases)


@pytest.mark.parametrize("imported", [False, True])
@pytest.mark.parametrize(
    ("content", "phrases"),
    [
        ("", ["topology.txt:", "empty"]),
        ("3 1 2\n2\n0 2 100Gbps 1us 0\n", ["topology.txt", "1 link"]),
        ("3 1 2\n2\n0 2 fast 1us 0\n1 2 100Gbps 1us 0\n", ["topology.txt:3: ", "fast", "100Gbps"]),
        ("3 x 2\n2\n", ["topology.txt:1: ", "x"]),
        (
            "3 1 2\n2\n0 x 100Gbps 1us 0\n1 2 100Gbps 1us 0\n",
            ["topology.txt:3: ", "x", "write a whole number"],
        ),
        ("3 1 2\n7\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n", ["topology.txt:2: ", "7", "0 to 2"]),
        ("3 1 2\n2\n0 0 100Gbps 1us 0\n1 2 100Gbps 1us 0\n", ["topology.txt:3: ", "itself"]),
    ],
)
def test_hpcc_topology(content, phrases, imported, command, tmp_path):
    (tmp_path / "fabric.toml").write_text(TOPOLOGY)
    (tmp_path / "topology.txt").write_text(content)
    cause(
        command(
            *(("import", "hpcc-topology", "topology.txt") if imported else ("check", "fabric.toml"))
        ),
        *phrases,
    )


@pytest.mark.parametrize(
    ("kind", "content", "phrases"),
    [
        ("hpcc-flows", b"2\n0 1 3 100 1000 2\n", ["in.x", "1 flow", "2"]),
        ("hpcc-flows", b"1\n0 1 3 100 x 2\n", ["in.x:2: ", "x"]),
        ("hpcc-flows", b"", ["in.x", "the number of flows"]),
        ("hpcc-flows", b"0\n", ["in.x: ", "a file without flows", "at least one flow"]),
        ("hpcc-fct", b"", ["in.x: ", "a file without flows", "src dst sport dport"]),
        ("hpcc-fct", b"\n \n", ["in.x: ", "a file without flows"]),
        ("hpcc-fct", b"0 1 2\n", ["in.x:1: ", "0 1 2", "src dst sport dport"]),
        ("hpcc-fct", b"zz 1 1 1 1 1 1 1\n", ["in.x:1: ", "zz"]),
        ("htsim", b"", ["in.x: ", "no connections", "src->dst"]),
        (
            "htsim",
            b"Nodes 2\nConnections 1\n0->5 start 0 size 100\n",
            ["in.x:3: ", "0->5", "below 2"],
        ),
        (
            "htsim",
            b"Nodes 2\nConnections 2\n0->1 start 0 size 100\n",
            ["in.x: ", "1 connection", "2"],
        ),
        ("htsim", b"Nodes 2\nConnections 1\n0->1 start 0\n", ["in.x:3: ", "size"]),
        ("sonic", b"{", ["in.x:1: "]),
        ("sonic", b"[]", ["in.x:1: ", "no object ('[]')", "tables"]),
        ("sonic", b'{"BUFFER_POOL": []}', ["in.x", "BUFFER_POOL", "a list"]),
        ("sonic", b'{"FOO": {}}', ["in.x", "FOO", "BUFFER_POOL"]),
        ("containerlab", b"name: x\n", ["in.x:1: ", "topology"]),
        ("containerlab", b"a: [\n", ["in.x:2: ", "YAML"]),
        (
            "containerlab",
            b"name: x\ntopology:\n  nodes:\n    a: {kind: linux}\n  links:\n    - endpoints: ['a:e1', 'b:e1']\n",
            ["in.x:6: ", "'b'", "a"],
        ),
        (
            "containerlab",
            b"name: x\ntopology:\n  nodes:\n    a: {kind: linux}\n    s: {kind: srl}\n  links:\n    - endpoints: ['a:e1']\n",
            ["in.x:7: "],
        ),
        ("jhist", b"no\n", ["in.x:1: ", "found 'no', expected Avro-Json"]),
        ("jhist", b"", ["in.x: ", "found an empty file, expected Avro-Json"]),
        ("sonic", b'{\n"a": "\xff"}', ["in.x:2: ", "ff", "UTF-8"]),
        ("containerlab", b"name: x\n\n# \xe9\n", ["in.x:3: ", "e9 0a", "UTF-8"]),
        ("hpcc-topology", b"3 1 2\n2\n\xff\n", ["in.x:3: ", "ff", "UTF-8"]),
        ("spark", b"{bad\n", ["in.x:1: ", "{bad"]),
        ("spark", b"[]\n", ["in.x:1: ", "a list"]),
        ("pcap", b"", ["in.x: ", "pcap or pcapng"]),
        ("pcap", b"abcd", ["in.x: ", "pcap or pcapng"]),
        ("pcap", b"\xd4\xc3\xb2\xa1" + bytes(10), ["in.x: ", "24 bytes", "pcap header"]),
    ],
)
def test_import(kind, content, phrases, command, tmp_path):
    (tmp_path / "in.x").write_bytes(content)
    cause(command("import", kind, "in.x", "-o", "out.x"), *phrases)
    assert not (tmp_path / "out.x").exists()


def test_texts_that_are_not_utf8_have_a_line(command, tmp_path):
    (tmp_path / "fabric.toml").write_bytes((HEAD + PAIRS).encode() + b"# \xe9\n")
    line = (HEAD + PAIRS).count("\n") + 1
    cause(command("check", "fabric.toml"), f"fabric.toml:{line}: ", "the byte e9", "UTF-8")
    (tmp_path / "lab.yml").write_text("name: x\ntopology: {nodes: {a: {kind: linux}}, links: []}\n")
    cause(
        command("import", "containerlab", "lab.yml", "--into", "fabric.toml"),
        f"fabric.toml:{line}: ",
        "UTF-8",
    )
    (tmp_path / "fabric.toml").write_text(TOPOLOGY)
    (tmp_path / "topology.txt").write_bytes(b"3 1 2\n2\n0 2 100Gbps 1us \xff\n1 2 100Gbps 1us 0\n")
    cause(command("check", "fabric.toml"), "topology.txt:3: ", "the byte ff", "UTF-8")


def test_a_wrong_scenario_to_write_into_is_named_itself(command, tmp_path):
    """The message names the target scenario, and not the imported file or a missing file."""
    (tmp_path / "fabric.toml").write_text(
        (HEAD + PAIRS).replace("[topology]", "[switch]\naplha = 1.0\n[topology]")
    )
    (tmp_path / "topology.txt").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    cause(
        command("import", "hpcc-topology", "topology.txt", "--into", "fabric.toml"),
        "error: fabric.toml:",
        "key switch.aplha",
    )


@pytest.mark.parametrize("pairs", ["[[1, 0, 2]]", "[[1, 0], [2]]"])
def test_pairs_of_other_lengths(pairs, command, tmp_path):
    (tmp_path / "fabric.toml").write_text(HEAD + PAIRS.replace("[[1, 0]]", pairs))
    at = pairs.count("],")
    cause(
        command("check", "fabric.toml"),
        "fabric.toml:",
        f"key traffic[0].pairs[{at}]: found",
        "elements: write an array of 2 elements",
    )


KINDS = (
    "hpcc-topology",
    "hpcc-flows",
    "hpcc-fct",
    "htsim",
    "sonic",
    "containerlab",
    "jhist",
    "spark",
    "pcap",
)


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_cannot_be_read(kind, command, tmp_path):
    """A missing file, a loop of symbolic links, a name that is too long, and a file whose reading
    fails."""
    (tmp_path / "loop.x").symlink_to("loop.x")
    for name in (
        "none.x",
        "loop.x",
        "x" * 300,
        *(["/proc/self/mem"] if os.path.exists("/proc/self/mem") else []),
    ):
        cause(command("import", kind, name), name)


# ------------------------------------------------------------------------------------------------------------ results


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("written")
    (place / "fabric.toml").write_text(
        HEAD
        + PAIRS.replace("[[1, 0]]", "[[1, 0], [2, 0], [3, 0]]")
        + '[record]\nports = { interval = "100us" }\nwaits = "all"\n'
    )
    afflux.load(place / "fabric.toml").run(out=place / "good")
    return place / "good"


@pytest.fixture
def result(written, tmp_path) -> Path:
    return shutil.copytree(written, tmp_path / "r")


def seal(dir: Path, change: dict[str, Any], without: str | None = None) -> None:
    """Writes the summary with changed values by path, and with correct digests."""
    summary = json.loads((dir / "summary.json").read_text())
    for path, value in change.items():
        *tables, last = path.split(".")
        place = summary
        for table in tables:
            place = place[table]
        place[last] = value
    if without:
        *tables, last = without.split(".")
        place = summary
        for table in tables:
            place = place[table]
        del place[last]
    summary["digests"] = {
        name: hashlib.sha256((dir / name).read_bytes()).hexdigest() for name in summary["digests"]
    }
    summary["summary_digest"] = ""
    text = json.dumps(summary, indent=2)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (dir / "summary.json").write_text(
        text.replace('"summary_digest": ""', f'"summary_digest": "{digest}"')
    )


#: Commands that read one table or key of a result.
READ = {
    "report": ("report", "r", "-o", "page.html"),
    "explain": ("explain", "r"),
    "compare": ("compare", "r", "good"),
    "flows": ("export", "flows", "r"),
}


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("name", 5, "name is 5, expected text"),
        ("name", None, "name is null, expected text"),
        ("seed", "one", "seed is 'one', expected a whole number"),
        ("seed", -1, "seed is -1"),
        ("seed", True, "seed is true"),
        ("simulated_ns", "long", "simulated_ns is 'long'"),
        ("flows", [], "flows is a list, expected an object"),
        ("flows.finished", 1.5, "flows.finished is 1.5"),
        ("fct.all", None, "fct.all is null"),
        ("fct.all.mean_ns", "fast", "fct.all.mean_ns is 'fast'"),
        ("fct.all.p99_ns", -1.0, "fct.all.p99_ns is -1.0"),
        ("fct.all.p99_ns", 1e300, "fct.all.p99_ns is 1e+300"),
        ("fct.all.mean_ns", float("inf"), "Infinity is no number"),
        ("fct.all.mean_ns", float("nan"), "NaN is no number"),
        ("slowdown.by_size", {"huge": {}}, "the name 'huge'"),
        ("goodput", 3, "goodput is 3, expected an object"),
        ("jobs", {"each": 3}, "jobs.each is 3, expected a list"),
        ("cost", {"currency": 1, "total": 1}, "cost.currency is 1"),
        ("notes", "all well", "notes is 'all well', expected a list"),
        ("host_names", [1, 2], "host_names.0 is 1"),
        ("digests", {"../x": "0" * 64}, "the name '../x'"),
        ("drops", 10**40, "drops is a number of more than 30 digits"),
    ],
)
def test_summary(key, value, found, result, command):
    if key == "digests":
        (result / "summary.json").write_text(
            json.dumps(
                json.loads((result / "summary.json").read_text())
                | {"digests": value, "summary_digest": "0"}
            )
        )
        done = command("explain", "r")
        assert done.returncode in (1, 2)
        assert "summary.json" in done.stderr
        return
    seal(result, {key: value})
    for arguments in READ.values():
        cause(
            command(*arguments, cwd=result.parent),
            "r/summary.json: not as afflux writes it: ",
            found,
        )


@pytest.mark.parametrize(
    "key", ["slowdown", "fct.all.mean_ns", "simulated_ns", "warmup_ns", "flows.unfinished"]
)
def test_summary_without_a_key(key, result, command, written):
    seal(result, {}, without=key)
    shutil.copytree(written, result.parent / "good")
    refused = [
        done
        for arguments in READ.values()
        if (done := command(*arguments, cwd=result.parent)).returncode
    ]
    assert refused
    for done in refused:
        assert not NOISE.search(done.stderr), done.stderr
        assert done.returncode == 2


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("x", "line 1 is no JSON"),
        ("[]", "a list, expected an object"),
        ("{}", "it has no name"),
        ("[" * 100_000, "nested too deeply"),
        ("\xff", "line 1"),
    ],
)
def test_summary_of_another_program(content, found, result, command):
    (result / "summary.json").write_text(content)
    for arguments in READ.values():
        cause(
            command(*arguments, cwd=result.parent),
            "r/summary.json: not as afflux writes it: ",
            found,
        )


@pytest.mark.parametrize(
    ("table", "column", "row", "value", "found"),
    [
        ("ports", "time_ns", 0, -1, "column time_ns is -1 in row 1"),
        ("ports", "time_ns", 0, 2**62, "column time_ns"),
        ("ports", "queue_bytes_max", 2, -5, "column queue_bytes_max is -5 in row 3"),
        ("ports", "tx_bytes", 0, None, "column tx_bytes has no value in row 1"),
        ("flows", "bytes", 0, -3, "column bytes is -3 in row 1"),
        ("flows", "bytes", 1, None, "column bytes has no value in row 2"),
        ("flows", "fct_ns", 0, None, "column"),
        (
            "flows",
            "slowdown",
            0,
            float("inf"),
            "column slowdown is inf in row 1, expected a finite number",
        ),
        ("flows", "slowdown", 0, float("nan"), "column slowdown is nan in row 1"),
        ("flows", "slowdown", 0, None, "has a value in row 1, where slowdown has none"),
        ("flows", "queueing_ns", 0, None, "not both empty"),
        (
            "flows",
            "start_ns",
            0,
            None,
            "column fct_ns has a value in row 1, where start_ns has none",
        ),
        ("links", "rate_bps", 0, 0, "column rate_bps is 0 in row 1"),
        ("links", "utilisation", 0, float("nan"), "column utilisation is nan"),
        ("waits", "flow", 0, 999, "column flow has 999, which is no flow"),
    ],
)
def test_table(table, column, row, value, found, result, command, written):
    path = result / f"{table}.parquet"
    content = pyarrow.parquet.read_table(path)
    values = content[column].to_pylist()
    values[row] = value
    at = content.column_names.index(column)
    pyarrow.parquet.write_table(
        content.set_column(at, column, pyarrow.array(values, content.schema.field(column).type)),
        path,
    )
    refuse_table(result, command, written, table, found)


@pytest.mark.parametrize(
    ("table", "column"),
    [("flows", "bytes"), ("flows", "class"), ("ports", "drops"), ("links", "from")],
)
def test_table_of_other_types(table, column, result, command, written):
    path = result / f"{table}.parquet"
    content = pyarrow.parquet.read_table(path)
    at = content.column_names.index(column)
    other = (
        pyarrow.array([1.5] * len(content))
        if column != "class"
        else pyarrow.array([1] * len(content), pyarrow.int64())
    )
    pyarrow.parquet.write_table(content.set_column(at, column, other), path)
    refuse_table(result, command, written, table, f"column {column} has other values than")
    pyarrow.parquet.write_table(content.drop_columns([column]), path)
    refuse_table(result, command, written, table, f"it has no column {column}")
    path.write_bytes(b"PAR1 no")
    refuse_table(result, command, written, table, "arquet")


def refuse_table(result: Path, command: Any, written: Path, table: str, found: str) -> None:
    seal(result, {"name": "r"})
    if not (result.parent / "good").exists():
        shutil.copytree(written, result.parent / "good")
    wanted = f"r/{table}.parquet: not as afflux writes it: "
    refused = [
        done
        for arguments in READ.values()
        if (done := command(*arguments, cwd=result.parent)).returncode
    ]
    assert refused
    for done in refused:
        cause(done, wanted, found)
    assert not (result.parent / "page.html").exists() or not any(
        "report" in " ".join(done.args) for done in refused
    )
