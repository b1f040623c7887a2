"""Names of hosts are kept from the import to the last table and page. Names from files never become
keys, rows, comments or formulas."""

import json
import re
import shutil
import subprocess
import tomllib

import pyarrow
import pyarrow.parquet
import pytest
from conftest import REPO, rows

import afflux
from afflux import _core
from afflux.exchange import hosts
from afflux.exchange.account import Wrong
from afflux.exchange.into import Into
from afflux.exchange.jobs import Log, Transfer
from afflux.exchange.jobs import flows as flows_of
from fuzz.importer_samples import CONFIG_DB, SCENARIO, pcap

LAB = """\
name: shop
topology:
  nodes:
    leaf1: {kind: nokia_srlinux}
    leaf2: {kind: nokia_srlinux}
    spine1: {kind: nokia_srlinux}
    db1: {kind: linux, exec: ["ip addr add 10.1.0.1/24 dev eth1"]}
    web1: {kind: linux, exec: ["ip address add 10.1.0.2/24 dev eth1", "ping -c1 10.9.9.9"]}
    web2: {kind: linux, exec: ["ifconfig eth1 10.2.0.1 netmask 255.255.255.0"], mgmt-ipv4: 172.20.20.7}
    web3: {kind: linux, labels: {address: 10.2.0.2}}
  links:
    - endpoints: ["leaf1:e1-49", "spine1:e1-1"]
    - endpoints: ["leaf2:e1-49", "spine1:e1-2"]
    - endpoints: ["leaf1:e1-1", "db1:eth1"]
    - endpoints: ["leaf1:e1-2", "web1:eth1"]
    - endpoints: ["leaf2:e1-1", "web2:eth1"]
    - endpoints: ["leaf2:e1-2", "web3:eth1"]
"""


def udp(src: tuple[int, ...], dst: tuple[int, ...], size: int, dscp: int, port: int) -> bytes:
    ip = bytes(
        [0x45, dscp << 2, *(28 + size).to_bytes(2), 0, 0, 0, 0, 64, 17, 0, 0, 10, *src, 10, *dst]
    )
    return (
        bytes(12)
        + b"\x08\x00"
        + ip
        + bytes([0, port, 0, 9, *(8 + size).to_bytes(2), 0, 0])
        + bytes(size)
    )


def capture() -> bytes:
    """Returns a capture: three web servers send to the database at once, every third flow has DSCP
    26, and one flow comes from outside the lab."""
    senders = [(1, 0, 2), (2, 0, 1), (2, 0, 2)]
    frames = [
        (
            100 + at * 2e-6,
            udp(senders[at % 3], (1, 0, 1), 1_400, 26 if at % 3 == 0 else 0, at % 7 + 1),
        )
        for at in range(400)
    ]
    return pcap([*frames, (100.01, udp((9, 9, 9), (1, 0, 1), 1_400, 0, 1))])


def configuration(lossy: int) -> str:
    tables = json.loads(json.dumps(CONFIG_DB))
    tables["BUFFER_POOL"]["egress_lossy_pool"]["size"] = tables["BUFFER_POOL"][
        "ingress_lossless_pool"
    ]["size"] = str(lossy)
    tables["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "100000"
    return json.dumps(tables, indent=1)


# ------------------------------------------------------------------------------------------------------- from a lab to a report


def test_the_how_to(command, tmp_path):
    """Runs every command of the how-to in docs/exchange.md on samples made here."""
    for name, content in {"lab.clab.yml": LAB.encode(), "capture.pcap": capture()}.items():
        (tmp_path / name).write_bytes(content)
    for name, lossy in (("deep", 9_000_000), ("shallow", 60_000)):
        (tmp_path / f"{name}.json").write_text(configuration(lossy))
    section = (
        (REPO / "docs/exchange.md")
        .read_text()
        .split("## From a lab, a capture")[1]
        .split("\n## ")[0]
    )
    lines = [line.split() for line in section.splitlines() if line.startswith("    afflux ")]
    assert len(lines) == 9
    said = {}
    for words in lines:
        done = command(*words[1:])
        assert done.returncode == 0, (words, done.stderr)
        said[" ".join(words[1:3])] = done
    # The lab: a short file, with names and addresses.
    lab = tomllib.loads((tmp_path / "lab.toml").read_text())["topology"]
    assert (lab["kind"], lab["leaves"], lab["host_rate"], lab["uplink_rate"]) == (
        "leaf_spine",
        2,
        "25Gbps",
        "100Gbps",
    )
    assert lab["switches"] == ["leaf1", "leaf2", "spine1"]
    assert lab["hosts"][2] == {"name": "web2", "address": ["10.2.0.1", "172.20.20.7"]}
    # The capture: flows with host names and DSCPs replace the stand-in traffic.
    traffic = tomllib.loads((tmp_path / "traffic.toml").read_text())["traffic"]
    assert traffic == [{"kind": "flows", "file": "traffic.flows.csv"}]
    listed = rows(tmp_path / "traffic.flows.csv")
    assert {(row["src"], row["dst"], row["dscp"]) for row in listed} == {
        ("web1", "db1", "26"),
        ("web2", "db1", "0"),
        ("web3", "db1", "0"),
    }
    assert (
        "1 flow of hosts that lab.toml does not name left out (10.9.9.9)"
        in said["import pcap"].stderr
    )
    # The switches: SONiC's map assigns priority 3 to DSCP 26.
    assert (
        tomllib.loads((tmp_path / "deep.toml").read_text())["host"]["dscp_to_priority"]["26"] == 3
    )
    planned = tmp_path / "planned.csv"
    assert command("export", "flows", "deep.toml", "-o", planned).returncode == 0
    assert {(row["src"], row["priority"]) for row in rows(planned)} == {
        ("web1", "3"),
        ("web2", "0"),
        ("web3", "0"),
    }
    assert "leaf1: db1, web1" in said["check deep.toml"].stdout
    # The results.
    result = afflux.Result.open(tmp_path / "out/shallow")
    assert set(result.flows["dst_name"]) == {"db1"}
    assert set(result.flows["src_name"]) == {"web1", "web2", "web3"}
    assert result.summary["pause_frames"] > 0, "what is in priority 3 is lossless"
    assert {"db1", "web3", "leaf1", "spine1"} <= {*result.links["from"], *result.links["to"]}
    explained = command("explain", "out/shallow", "--slowest", "3").stdout
    assert re.search(r"web\d→db1", explained)
    assert (
        command("explain", "out/shallow", "--flow", result.flows["id"][0], "--json").stdout.count(
            '"db1"'
        )
        == 1
    )
    from afflux.report import data
    from afflux.results.designs import gather

    shown = data.of(gather([tmp_path / "out/deep", tmp_path / "out/shallow"]))
    assert shown["replay"]["fabrics"][0]["nodes"][:4] == ["db1", "web1", "web2", "web3"]
    assert shown["replay"]["fabrics"][0]["hosts"] == 4
    assert set(shown["flows"][1]["columns"]["to"]) == {"db1"}
    assert (tmp_path / "report.html").stat().st_size > 50_000


def test_leaves_and_spines_of_their_own(command, tmp_path):
    (tmp_path / "s.toml").write_text(SCENARIO.replace('buffer = "9MB"', '# none\nbuffer = "9MB"'))
    (tmp_path / "leaf.json").write_text(configuration(1_000_000))
    (tmp_path / "spine.json").write_text(configuration(7_000_000))
    assert (
        command(
            "import",
            "sonic",
            "leaf.json",
            "--match",
            "tor-*",
            "--into",
            "s.toml",
            "-o",
            "both.toml",
        ).returncode
        == 0
    )
    assert (
        command(
            "import",
            "sonic",
            "spine.json",
            "--match",
            "core",
            "--into",
            "both.toml",
            "-o",
            "both.toml",
            "--force",
        ).returncode
        == 0
    )
    done = command(
        "import",
        "sonic",
        "leaf.json",
        "--match",
        "tor-*",
        "--into",
        "both.toml",
        "-o",
        "both.toml",
        "--force",
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "both.toml").read_text()
    assert "# none" in text
    assert "# deep enough" in text
    switch = tomllib.loads(text)["switch"]
    assert switch["buffer"] == "9MB"
    assert sorted(
        (change["match"], change["buffer"], change["sharing"]) for change in switch["override"]
    ) == [
        ("core", "7100000B", "sonic"),
        ("tor-*", "1100000B", "sonic"),
    ]
    done = command("import", "sonic", "leaf.json", "--match", "leaf*", "--into", "s.toml")
    assert done.returncode == 2
    assert '--match leaf*: s.toml: no node matches "leaf*"' in done.stderr


def test_hosts_of_a_scenario_and_a_class_of_ones_own(command, tmp_path):
    (tmp_path / "lab.toml").write_text(SCENARIO)
    (tmp_path / "c.pcap").write_bytes(
        pcap([(1, udp((0, 0, 1), (0, 0, 3), 9, 46, 1)), (1, udp((0, 0, 2), (0, 0, 1), 5, 0, 1))])
    )
    done = command(
        "import", "pcap", "c.pcap", "--hosts", "lab.toml", "--class", "mine", "-o", "flows.csv"
    )
    assert done.returncode == 0, done.stderr
    assert (
        (tmp_path / "flows.csv").read_text()
        == "start_ns,src,dst,bytes,class,dscp\n0,db2,w1,9,mine,46\n0,10.0.0.2,db2,5,mine,0\n"
    )
    assert not (tmp_path / "flows.hosts.csv").exists(), "the names say who is who"
    assert (
        command("import", "pcap", "c.pcap", "--hosts", "lab.toml", "-o", "flows.parquet").returncode
        == 0
    )
    assert pyarrow.parquet.read_table(tmp_path / "flows.parquet").column("src").to_pylist() == [
        "db2",
        "10.0.0.2",
    ]
    # The user's class and priority take precedence over the file's.
    text = (
        SCENARIO[: SCENARIO.index("[[traffic]]")] + '[[traffic]]\nkind = "flows"\nfile = "FILE"\n'
    )
    for file in ("flows.csv", "flows.parquet"):
        for more, classes, priorities in (
            ("", {"mine", "tcp", "udp"}, [5, 1]),
            ('class = "web"\npriority = 2\n', {"web"}, [2, 2]),
        ):
            (tmp_path / "s.toml").write_text(text.replace("FILE", file) + more)
            table, _ = _core.load(tmp_path / "s.toml").flow_list()
            assert set(table["class"]) <= classes
            assert table["priority"] == priorities
            assert (table["src"], table["dst"]) == ([1, 2], [3, 1])
    # The resolved scenario has the same flows.
    (tmp_path / "s.toml").write_text(text.replace("FILE", "flows.csv"))
    resolved = _core.load(tmp_path / "s.toml").resolved
    assert _core.parse(resolved, tmp_path / "again.toml").flow_list()[0]["priority"] == [5, 1]


def test_strangers_are_named(command, tmp_path):
    (tmp_path / "lab.toml").write_text(SCENARIO)
    (tmp_path / "c.pcap").write_bytes(pcap([(1, udp((0, 0, 71), (0, 0, 72), 9, 0, 1))]))
    done = command("import", "pcap", "c.pcap", "--into", "lab.toml", "-o", "new.toml")
    assert done.returncode == 2
    assert (
        "c.pcap: found only addresses of unknown hosts: 10.0.0.71, 10.0.0.72, expected addresses of the hosts of lab.toml"
        in done.stderr
    )
    (tmp_path / "flows.csv").write_text("start_ns,src,dst,bytes\n0,db1,db2,5\n0,db1,db3,5\n")
    text = (
        SCENARIO[: SCENARIO.index("[[traffic]]")]
        + '[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n'
    )
    (tmp_path / "s.toml").write_text(text)
    done = command("check", "s.toml")
    assert done.returncode == 2
    assert 'flows.csv:3: column "dst": found "db3", expected a host\'s number' in done.stderr
    assert 'did you mean "db' in done.stderr


def test_machines_of_logs_are_matched_by_name():
    log = Log(
        transfers=[
            Transfer(0, "db1", "w1", 10, "fetch"),
            Transfer(1, "10.0.0.1", "elsewhere", 10, "fetch"),
        ]
    )
    known = hosts.of_scenario(_core.parse(SCENARIO, "lab.toml"), "lab.toml")
    list_, _ = flows_of(log, known)
    assert "".join(list_.csv()) == "start_ns,src,dst,bytes,class\n0,db1,w1,10,fetch\n"
    assert log.of_transfers.dropped == {"of hosts that the mapping does not name": 1}
    with pytest.raises(Wrong, match=r"no host called 'dbx'.*did you mean 'db"):
        flows_of(Log(transfers=[Transfer(0, "dbx", "wx", 1, "fetch")]), known)


def test_captures_have_addresses_and_names(command, tmp_path):
    text = (
        SCENARIO[: SCENARIO.index("[[traffic]]")]
        + '[[traffic]]\nkind = "pairs"\npairs = [["db2", "w1"], ["db1", "w1"]]\nsizes = "3kB"\n'
    )
    (tmp_path / "s.toml").write_text(
        text + '[record]\ncapture = "tor-b>w1"\nports = { interval = "1us" }\npaths = true\n'
    )
    assert command("run", "s.toml", "-o", "result").returncode == 0
    file = tmp_path / "result/tor-b-w1.pcapng"
    data = file.read_bytes()
    assert b"tor-b->w1" in data
    assert b"\x0a\x00\x00\x03w1\0" in data, "a name resolution block"
    # The flows come back with their hosts: db2 and w1 are recognised by their addresses.
    done = command("import", "pcap", file, "--hosts", "s.toml", "-o", "back.csv")
    assert done.returncode == 0, done.stderr
    assert {(row["src"], row["dst"]) for row in rows(tmp_path / "back.csv")} == {("db2", "w1")}
    result = afflux.Result.open(tmp_path / "result")
    assert {"db2>tor-a>core>tor-b>w1"} <= set(result.paths["path"])
    assert "w1" in result.ports["peer"]
    if shutil.which("tshark"):
        shown = subprocess.run(
            ["tshark", "-r", file, "-N", "n", "-T", "fields", "-e", "ip.dst_host"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert set(shown.stdout.split()) == {"w1"}, shown.stderr


def test_results_of_scenarios_without_names_are_what_they_were(command, scenario, tmp_path):
    assert command("run", scenario(), "-o", "plain").returncode == 0
    plain = afflux.Result.open(tmp_path / "plain")
    named = scenario(
        ("hosts = 9", f"hosts = {[f'node-{number}' for number in range(9)]}".replace("'", '"')),
        name="named.toml",
    )
    assert command("run", named, "-o", "named").returncode == 0
    other = afflux.Result.open(tmp_path / "named")
    assert "host_names" not in plain.summary
    assert plain.flows["src_name"][0] == f"host{plain.flows['src'][0]}"
    assert other.flows["src_name"][0] == f"node-{other.flows['src'][0]}"
    assert [plain.summary[key] for key in ("result_hash", "ports_hash", "counters_hash")] == [
        other.summary[key] for key in ("result_hash", "ports_hash", "counters_hash")
    ]


# ---------------------------------------------------------------------------------------------------------------------- --into


def test_comments_and_all_else_stay(command, tmp_path):
    (tmp_path / "config_db.json").write_text(configuration(1_000_000))
    text = (
        "# Ours, since 2019.\nformat = 1\n\n[topology]   # the lab\nkind = 'star'\nhosts = 4 # four\n\n"
        '[switch]\nalpha = 8.0 # as bought\nbuffer = "1MB"\n[[switch.override]]\nmatch = "switch0" # the only one\ncut_through_header = "64B"\n'
        'forwarding = "cut_through"\n\n[host]\n# slow ones\ndelay = "1us"\n\n[[traffic]]\nkind = "permutation" # for now\nsizes = "1MB"\n'
    )
    (tmp_path / "mine.toml").write_text(text)
    done = command("import", "sonic", "config_db.json", "--into", "mine.toml", "-o", "new.toml")
    assert done.returncode == 0, done.stderr
    new = (tmp_path / "new.toml").read_text()
    for comment in (
        "# Ours, since 2019.",
        "# the lab",
        "# four",
        "# as bought",
        "# the only one",
        "# slow ones",
        "# for now",
    ):
        assert comment in new, new
    read = tomllib.loads(new)
    assert (read["switch"]["sharing"], read["switch"]["override"][0]["match"]) == (
        "sonic",
        "switch0",
    )
    assert read["host"]["delay"] == "1us"
    (tmp_path / "lab.clab.yml").write_text(LAB)
    done = command(
        "import",
        "containerlab",
        "lab.clab.yml",
        "--rate",
        "10Gbps",
        "--into",
        "new.toml",
        "-o",
        "lab.toml",
    )
    assert done.returncode == 2, "its override means a switch that the lab does not have"
    assert "lab.clab.yml: its content makes no valid scenario" in done.stderr
    (tmp_path / "new.toml").write_text(new.replace('match = "switch0"', 'match = "leaf*"'))
    done = command(
        "import",
        "containerlab",
        "lab.clab.yml",
        "--rate",
        "10Gbps",
        "--into",
        "new.toml",
        "-o",
        "lab.toml",
    )
    assert done.returncode == 0, done.stderr
    lab = (tmp_path / "lab.toml").read_text()
    assert "# Ours, since 2019." in lab
    assert "# as bought" in lab
    assert tomllib.loads(lab)["topology"]["hosts"][0]["name"] == "db1"
    assert tomllib.loads(lab)["traffic"] == read["traffic"]


def test_paths_stay_right_elsewhere(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in/flows.csv").write_text("start_ns,src,dst,bytes\n0,0,1,5\n")
    (tmp_path / "in/s.toml").write_text(
        'format = 1\n[topology]\nkind = "star"\nhosts = 2\n[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n'
    )
    assert (
        Into(tmp_path / "in/s.toml", tmp_path / "out/s.toml").data["traffic"][0]["file"]
        == "../in/flows.csv"
    )
    assert (
        Into(tmp_path / "in/s.toml", tmp_path / "in/t.toml").data["traffic"][0]["file"]
        == "flows.csv"
    )


# ---------------------------------------------------------------------------------------------------------------------- shapes


def fabric_of(links: list[str], hosts: str, more: str = "") -> str:
    nodes = "".join(f"    {name}: {{kind: linux}}\n" for name in hosts.split())
    switches = "".join(
        f"    {name}: {{kind: x}}\n"
        for name in sorted({end for link in links for end in link.split("-")} - set(hosts.split()))
    )
    ends = "".join(
        f'    - endpoints: ["{a}:{n}", "{b}:{n}"]\n'
        for n, (a, b) in enumerate(link.split("-") for link in links)
    )
    return f"name: x\ntopology:\n  nodes:\n{nodes}{switches}  links:\n{ends}{more}"


@pytest.mark.parametrize(
    ("links", "names", "kind", "says"),
    [
        (
            ["a-s", "b-s", "c-s"],
            "a b c",
            "star",
            {"hosts": ["a", "b", "c"], "rate": "10Gbps", "delay": "1us", "switches": ["s"]},
        ),
        (
            ["a-l1", "b-l2", "l1-s", "l2-s"],
            "a b",
            "leaf_spine",
            {"leaves": 2, "hosts_per_leaf": 1, "host_rate": "10Gbps"},
        ),
        (["a-l1", "b-l2", "l1-s", "l1-s", "s-l2", "l2-s"], "a b", "leaf_spine", {"parallel": 2}),
        (
            ["a-l1", "b-l2", "c-l2", "l1-s", "l2-s"],
            "a b c",
            "custom",
            {"rate": "10Gbps", "delay": "1us"},
        ),
        (["a-l1", "b-l2", "l1-s", "l2-s", "l1-l2"], "a b", "custom", {"hosts": ["a", "b"]}),
        (["a-l1", "a-l2", "b-l2", "l1-s", "l2-s"], "a b", "custom", {}),
    ],
)
def test_nothing_is_unrolled(command, tmp_path, links, names, kind, says):
    (tmp_path / "x.yml").write_text(fabric_of(links, names))
    done = command("import", "containerlab", "x.yml", "--rate", "10Gbps", "-o", "x.toml")
    assert done.returncode == 0, done.stderr
    topology = tomllib.loads((tmp_path / "x.toml").read_text())["topology"]
    assert topology["kind"] == kind
    assert says.items() <= topology.items()
    if kind == "custom":
        assert all(set(link) == {"a", "b"} for link in topology["link"])
    assert (tmp_path / "x.toml").read_text().count("10Gbps") == 1
    # The links are the same for every kind.
    scenario = _core.load(tmp_path / "x.toml")
    called = [name for name, *_ in scenario.nodes]
    assert sorted(sorted((called[a], called[b])) for a, b, *_ in scenario.edges) == sorted(
        sorted(link.split("-")) for link in links
    )


@pytest.mark.parametrize("name", ["α1", "日本", "a+b", "a=b", "a:b", "a(1)", "a%b", "x..y", "é'ß"])
def test_captures_of_any_node_make_results_that_can_be_read(name, command, tmp_path):
    (tmp_path / "s.toml").write_text(
        "format = 1\nname = 's'\n"
        f"[topology]\nkind = 'star'\nrate = '10Gbps'\nhosts = [{json.dumps(name)}, 'other']\n"
        "[[traffic]]\nkind = 'pairs'\npairs = [[0, 1]]\nsizes = '3kB'\n"
        f"[record]\ncapture = {json.dumps(name + '-switch0')}\n"
    )
    for more in ([], ["--force"]):
        assert command("run", "s.toml", "-o", "result", *more).returncode == 0
    result = afflux.Result.open(tmp_path / "result")
    assert f"{name}-switch0-both.pcapng" in result.digests
    for words in (["verify"], ["explain"], ["export", "flows"]):
        done = command(*words, "result")
        assert done.returncode == 0, done.stderr
    done = command("sweep", "s.toml", "--vary", "switch.buffer=1MB,2MB", "-o", "sweep")
    assert done.returncode == 0, done.stderr
    assert command("verify", "sweep").returncode == 0
