"""`afflux check` estimates the cost of a run and draws the fabric. `afflux new` writes scenarios
that pass the check."""

import itertools
import json
import os
import subprocess
import sys
from itertools import takewhile
from textwrap import dedent

import pytest
from conftest import REPO

import afflux
from afflux import studies, templates
from afflux._core import load, parse
from afflux.estimates.checking import check
from afflux.estimates.topology import FIELD, drawing, tiers
from afflux.studies.standard import mixtures

PAGE = REPO / "docs" / "check-and-new.md"

MANY = """
format = 1
[topology]
kind = "star"
hosts = 16
rate = "10Gbps"
[[traffic]]
kind = "random"
sizes = "1kB"
flows_per_second = 20000.0
flows = 200000
"""

TEMPLATES = {template.name: template for template in templates.every()}


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_are_valid(name):
    template = TEMPLATES[name]
    loaded = parse(template.text, f"{name}.toml")
    assert loaded.name == name
    # Each template has comments and simulates within a minute.
    assert sum("#" in line for line in template.text.splitlines()) >= 5
    found = check(loaded)
    assert found.packet_hops / found.speed < 60


@pytest.mark.parametrize(
    ("arguments", "width"),
    [("check fabric.toml", 160), ("schema host.transport.dcqcn.additive", 80)],
)
def test_examples_of_the_page_are_what_is_printed(arguments, width, invoke, monkeypatch):
    assert invoke("new", "leaf-spine", "-o", "fabric.toml").exit_code == 0
    monkeypatch.setenv("COLUMNS", str(width))
    printed = invoke(*arguments.split())
    assert printed.exit_code == 0, printed.stderr
    # The first example of a command is the one whose output is shown.
    block = PAGE.read_text().split(f"\n    $ afflux {arguments}\n")[1]
    shown = list(takewhile(lambda line: not line or line.startswith("    "), block.splitlines()))
    lines = "\n".join(line.rstrip() for line in printed.stdout.splitlines())
    assert lines.strip("\n") == dedent("\n".join(shown)).strip("\n")


def test_templates_run_within_their_estimate():
    found = parse(TEMPLATES["incast"].text, "incast.toml")
    hops = json.loads(found.run().summary)["packet_hops"]
    assert check(found).packet_hops == pytest.approx(hops, rel=0.1)


@pytest.mark.parametrize(
    "example",
    ["incast-dctcp", "leaf-spine-websearch", "mptcp-fat-tree", "rdma-incast", "lossless-incast"],
)
def test_estimates_of_packet_hops(example):
    scenario = afflux.load(REPO / "examples" / f"{example}.toml")
    summary = scenario.run().summary
    assert check(scenario.check()).packet_hops == pytest.approx(summary["packet_hops"], rel=0.1)


SIDE_BY_SIDE = """
format = 1
topology.kind = "custom"
topology.hosts = 4
topology.switches = ["left", "right"]
switch.balance = "spray"
topology.link = [
    { a = "host0", b = "left", rate = "10Gbps" },
    { a = "host1", b = "left", rate = "10Gbps" },
    { a = "host2", b = "right", rate = "10Gbps" },
    { a = "host3", b = "right", rate = "10Gbps" },
    { a = "left", b = "right", rate = "10Gbps", count = 2 },
]
[[traffic]]
kind = "pairs"
pairs = [[0, 2], [3, 1]]
sizes = "1MB"
"""


def test_links_beside_each_other_have_the_capacity_of_all():
    """The switches of a pair of racks are of one tier, so frames are sprayed neither up nor down."""
    found = parse(SIDE_BY_SIDE, "pair.toml")
    hops = json.loads(found.run().summary)["packet_hops"]
    assert check(found).packet_hops == pytest.approx(hops, rel=0.1)


WEB = """
format = 1
[topology]
kind = "fat_tree"
k = {k}
[host.transport]
kind = "tcp"
congestion = "dctcp"
[switch]
ecn = {{ k = "65kB" }}
[[traffic]]
kind = "random"
sizes = "websearch"
load = 0.5
load_basis = "host_payload"
duration = "{duration}"
"""


def test_large_traffic_is_counted_in_closed_form(invoke, tmp_path):
    """8,192 hosts at half of 100 Gbps for 100 ms offer 5.12 TB in three million flows, of which
    only a part is drawn."""
    (tmp_path / "large.toml").write_text(WEB.format(k=32, duration="100ms"))
    before = os.times()
    done = invoke("check", "large.toml", "--json")
    after = os.times()
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["payload_bytes"] == pytest.approx(8_192 * 100e9 / 8 * 0.5 * 0.1, rel=0.02)
    assert 2.9e6 < told["flows"] < 3.1e6
    assert told["followed"] < 0.1
    assert "of the bytes were followed" in told["rest"]
    assert told["least_hops"] < told["packet_hops"] < told["most_hops"] < 1.3 * told["least_hops"]
    # The estimate takes seconds of processor time. Drawing all flows took half a minute.
    assert after.user + after.children_user - before.user - before.children_user < 20


@pytest.mark.parametrize("until", [None, "2ms"])
def test_a_part_tells_of_the_whole(until, tmp_path):
    """An estimate from a tenth of the flows matches the bytes and packet-hops of the run."""
    text = WEB.format(k=4, duration="3ms").replace('"websearch"', '"20kB"')
    (tmp_path / "part.toml").write_text(text)
    chosen = [("run.until", f'"{until}"')] if until else []
    part = load(tmp_path / "part.toml", set=chosen, most_flows=1_500)
    found = check(part)
    whole = load(tmp_path / "part.toml", set=chosen)
    assert found.flows == pytest.approx(
        whole.flows if until is None else whole.flows * 2 / 3, rel=0.03
    )
    ran = json.loads(whole.run().summary)
    assert found.least_hops <= ran["packet_hops"] <= found.most_hops
    assert found.packet_hops == pytest.approx(ran["packet_hops"], rel=0.1)
    assert found.end_ns == pytest.approx(ran["simulated_ns"], rel=0.1)
    with pytest.raises(ValueError, match="most_flows"):
        part.run()


BURST = """
format = 1
[topology]
kind = "star"
hosts = 201
rate = "10Gbps"
delay = "1us"
[switch]
buffer = "40MB"
[host.transport]
initial_window = {window}
[[traffic]]
kind = "incast"
to = 0
senders = {senders}
bytes = "{size}"
"""


@pytest.mark.parametrize(
    ("window", "senders", "size"), [(10, 200, "5kB"), (10, 200, "14kB"), (1_000, 4, "500kB")]
)
def test_windows_that_leave_at_once_share_their_links(window, senders, size):
    """Flows of less than one initial window end when their common link has carried all of them."""
    found = parse(BURST.format(window=window, senders=senders, size=size), "burst.toml")
    ran = json.loads(found.run().summary)
    assert ran["timeouts"] == 0
    expected = check(found)
    assert expected.packet_hops == pytest.approx(ran["packet_hops"], rel=0.1)
    assert expected.end_ns == pytest.approx(ran["simulated_ns"], rel=0.15)


@pytest.mark.parametrize(
    "fault",
    ['loss = "10%"', 'down = [{ from = "100us", to = "500ms" }]'],
)
def test_faults_of_links_are_a_doubt(fault, invoke, tmp_path):
    text = BURST.format(window=10, senders=4, size="2MB")
    fault = f'[[topology.fault]]\nlink = "host1-switch0"\n{fault}\n'
    (tmp_path / "faulty.toml").write_text(text.replace("[[traffic]]", f"{fault}[[traffic]]", 1))
    done = invoke("check", "faulty.toml")
    assert "links lose frames or are down for a time" in " ".join(done.stdout.split())
    assert "or later" in done.stdout
    assert "or more" in done.stdout
    found = check(load(tmp_path / "faulty.toml"))
    ran = afflux.load(tmp_path / "faulty.toml").run().summary
    assert ran["simulated_ns"] > 10 * found.end_ns
    assert found.least_hops < ran["packet_hops"] < found.most_hops


def test_set_up_and_results_take_time():
    found = check(parse(MANY, "many.toml"))
    assert found.set_up_seconds == pytest.approx(1.8, rel=0.05)
    assert (
        found.seconds
        == found.least_seconds
        == found.most_seconds
        == pytest.approx(found.set_up_seconds + found.packet_hops / found.speed)
    )


def test_a_bottleneck_bounds_what_is_sent():
    scenario = afflux.Scenario.parse(TEMPLATES["long-fat"].text, "long-fat.toml").set(
        "run.until", "2s"
    )
    # The payload is at most 1 Gbps for two seconds, whatever the flows have to send, and less while
    # their windows grow.
    payload = check(scenario.check()).payload_bytes
    assert payload < 250e6
    assert payload == pytest.approx(scenario.run().summary["delivered_bytes"], rel=0.06)


def test_command(invoke, tmp_path):
    (tmp_path / "star.toml").write_text(TEMPLATES["incast"].text)
    done = invoke("check", "star.toml", "--set", "topology.hosts=20")
    assert done.exit_code == 0, done.stderr
    for words in (
        "incast  seed 1  ·  valid",
        "20 hosts",
        "20 links of 25 Gbps, 1 µs",
        "packet-hops",
        "docs/bench.md",
        "memory",
    ):
        assert words in done.stdout, words
    assert max(map(len, done.stdout.splitlines())) <= 100
    told = json.loads(invoke("check", "star.toml", "--json").stdout)
    assert (told["hosts"], told["switches"], told["tiers"][0]["name"]) == (17, 1, "switch")
    assert {"packet_hops", "seconds", "memory_bytes", "payload_bytes", "notes"} <= set(told)
    wrong = invoke("check", "star.toml", "--set", "switch.bufer=9MB")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "did you mean" in wrong.stderr
    # `check` writes no files.
    assert {path.name for path in tmp_path.iterdir()} == {"star.toml"}


def scenario(topology: str):
    text = f'format = 1\n[topology]\n{topology}\n[host.transport]\nkind = "tcp"\n[[traffic]]\nkind = "permutation"\nsizes = "1kB"\n'
    return parse(text, "drawn.toml")


@pytest.mark.parametrize("until", [None, "30ms"])
def test_time_outs_may_make_a_run_longer(invoke, tmp_path, until):
    text = TEMPLATES["incast"].text.replace('buffer = "4MB"', 'buffer = "100kB"')
    (tmp_path / "small.toml").write_text(text)
    ends = [] if until is None else ["--set", f"run.until={until}"]
    shown = " ".join(invoke("check", "small.toml", *ends).stdout.split())
    assert "a range, because frames are likely to be lost at switch0" in shown
    assert (", or later time" in shown, " MB, or more" in shown) == (until is None,) * 2


def test_drawings():
    assert drawing(
        tiers(
            scenario(
                'kind = "leaf_spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nhost_rate = "10Gbps"'
            )
        )
    ) == [
        f"{'■ ■':^{FIELD}}  2 spines",
        f"{'╲╳╱':^{FIELD}}  4 links of 10 Gbps, 1 µs",
        f"{'■ ■':^{FIELD}}  2 leaves, 1:1 down to up",
        f"{'│ │':^{FIELD}}  4 links of 10 Gbps, 1 µs",
        f"{'•• ••':^{FIELD}}  4 hosts, 2 racks of 2",
    ]
    large = drawing(tiers(scenario('kind = "fat_tree"\nk = 16\noversubscription = 2')))
    assert max(map(len, large)) <= 80
    assert [line.split()[-3:] for line in large if "hosts" in line] == [["racks", "of", "16"]]
    assert "2,048 hosts" in large[-1]
    assert any("oversubscribed 2:1" in line for line in large)
    dumbbell = "\n".join(drawing(tiers(scenario('kind = "dumbbell"\npairs = 2'))))
    assert "1 link of 10 Gbps, 10 µs among them" in dumbbell
    short = drawing(tiers(scenario('kind = "star"\nhosts = 2\nrate = "1Tbps"\ndelay = "1.5ns"')))
    assert short[1].endswith("2 links of 1 Tbps, 1.5 ns")


@pytest.mark.parametrize(
    ("switches", "said"),
    [
        (("s1", "s2"), "2 switches (s…)"),
        (("east", "west"), "2 switches"),
        (("gw",), "1 switch (gw…)"),
        (("tor1", "tor2"), "2 ToRs"),
    ],
)
def test_names_of_a_custom_fabric_are_drawn(switches, said):
    links = [(f"h{number}", switch) for number, switch in enumerate(switches)]
    links += list(itertools.pairwise(switches)) or [("h1", switches[0])]
    text = f'kind = "custom"\nhosts = ["h0", "h1"]\nswitches = {list(switches)}\nrate = "10Gbps"\ndelay = "1us"\n'
    text += "".join(f'[[topology.link]]\na = "{a}"\nb = "{b}"\n' for a, b in links)
    drawn = drawing(tiers(scenario(text)))
    assert drawn[0].split(maxsplit=len(switches))[-1].split(",")[0] == said


def test_new(invoke, tmp_path):
    listed = invoke("new")
    assert all(name in listed.stdout for name in TEMPLATES)
    assert [one["template"] for one in json.loads(invoke("new", "--json").stdout)] == list(
        TEMPLATES
    )
    assert invoke("new", "incast", "-o", "mine.toml").exit_code == 0
    assert (tmp_path / "mine.toml").read_text() == TEMPLATES["incast"].text
    (tmp_path / "mine.toml").write_text("changed")
    again = invoke("new", "incast", "-o", "mine.toml")
    assert (again.exit_code, (tmp_path / "mine.toml").read_text()) == (2, "changed")
    assert "--force" in again.stderr
    assert invoke("new", "incast", "-o", "mine.toml", "--force").exit_code == 0
    blank = invoke("new", "incast", "-o", "of mine.toml")
    assert "next: afflux check 'of mine.toml', afflux run 'of mine.toml'" in blank.stdout
    assert "--json only lists" in invoke("new", "incast", "--json", "-o", "other.toml").stderr
    assert "-o other.toml: no template is named" in invoke("new", "-o", "other.toml").stderr
    assert "--force: no template is named" in invoke("new", "--force").stderr
    assert not (tmp_path / "other.toml").exists()
    unknown = invoke("new", "incest")
    assert unknown.exit_code == 2
    assert "did you mean 'incast'" in unknown.stderr


def test_new_standard_writes_a_mixture_and_its_goals(invoke, tmp_path):
    """Both files pass the check commands of the message, and give the same simulations as the
    study."""
    done = invoke("new", "standard", "-o", "mixture.toml")
    assert done.exit_code == 0, done.stderr
    assert "afflux study standard --scenario mixture.toml --goals mixture-goals.toml" in done.stdout
    files = tmp_path / "mixture.toml", tmp_path / "mixture-goals.toml"
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in files}
    checked = invoke("check", "mixture.toml")
    assert checked.exit_code == 0, checked.stderr
    blocks = [block["name"] for block in afflux.load(files[0])["traffic"]]
    assert [tenant.name for tenant in mixtures.read(files[1], files[0]).tenants] == blocks
    own, built_in = studies.find("standard").of_files(*files), studies.find("standard")
    for quick in (False, True):
        points = own.points(quick)
        assert [(point.name, point.seed) for point in points] == [
            (point.name, point.seed) for point in built_in.points(quick)
        ]
    # Only the points of `--quick` are loaded. tests/test_traps.py reads all points of the built-in
    # mixture.
    for point in {point.name: point for point in points}.values():
        point.load()


def test_show_config(invoke, tmp_path):
    (tmp_path / "star.toml").write_text(TEMPLATES["incast"].text)
    done = invoke("run", "star.toml", "--set", "switch.buffer=1MB", "--seed", "7", "--show-config")
    assert done.exit_code == 0
    shown = afflux.Scenario.parse(done.stdout, tmp_path / "shown.toml")
    assert (shown["switch"]["buffer"], shown["run"]["seed"], shown["run"]["fct_end"]) == (
        "1MB",
        7,
        "last_ack",
    )
    assert (
        shown.check().hash
        == afflux.load(tmp_path / "star.toml").set("switch.buffer", "1MB").check(seed=7).hash
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "place", "expected"),
    [
        (
            "afflux run x.toml --set switch.ecn.k",
            4,
            ["switch.ecn.k=", "switch.ecn.kmax=", "switch.ecn.kmin="],
        ),
        ("afflux schema switch.ecn.k", 2, ["switch.ecn.k", "switch.ecn.kmax", "switch.ecn.kmin"]),
        ("afflux new lo", 2, ["long-fat", "lossless-rdma"]),
        ("afflux sw", 1, ["sweep"]),
    ],
)
def test_completion(words, place, expected):
    environment = os.environ | {
        "_AFFLUX_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(place),
    }
    script = "import sys; sys.argv[0] = 'afflux'; from afflux.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == expected
