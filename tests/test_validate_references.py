"""`make validate`: what is read from each reference, and how its runs become scenarios."""

import gzip
import json
import lzma
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from validating import DUMBBELL, references, validate

from validation import conweave, hosts, htsim, linux, ns3, run
from validation.bars import Bars
from validation.capture import Segment, recoveries
from validation.case import Case, Unreadable
from validation.mrg32k3a import uniform


@pytest.fixture
def ref(tmp_path: Path) -> Path:
    return references(tmp_path)


def test_runs_of_conweaves_simulator(tmp_path: Path):
    """A lone flow takes the time that results from their clock of whole nanoseconds. Schemes
    without a scenario are reported."""
    folder = tmp_path / "reference" / "conweave"
    (folder / "inputs").mkdir(parents=True)
    bars = "micro_fct = { rel = 0.01 }\nslowdown_mean = { rel = 0.05 }\npause_frames = { factor = 1.5, or_abs = 0 }\necn_marks = { rel = 0.1, or_abs = 5 }\n"
    (tmp_path / "reference" / "bars.toml").write_text(f"[conweave]\n{bars}")
    (folder / "inputs" / "star.txt").write_text(
        "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1000ns 0\n" for host in range(4))
    )
    (folder / "inputs" / "one.txt.xz").write_bytes(
        lzma.compress(b"2\n0 1 3 10000 2.000000000\n2 3 3 1 2.002000000\n")
    )
    for name, scheme, mode in (
        ("micro_one_irn", "fecmp", "irn"),
        ("micro_one_lossless", "fecmp", "lossless"),
        ("later", "nothing", "irn"),
    ):
        run_folder = folder / name
        run_folder.mkdir()
        # 10 · 83 ns, another 83 ns, 4 ns twice, 4 us; and for 49 B: 3 ns twice. Start times are
        # truncated, so 2.002 s is a nanosecond early.
        lines = b"2 3 10000 100 1 2001999999 4014 4163\n0 1 10000 100 10000 2000000000 4921 4998\n"
        (run_folder / "fct.txt.xz").write_bytes(lzma.compress(lines))
        counts = dict.fromkeys(
            ("pfc_frames", "drop_ingress", "drop_egress", "ecn_marks", "timeouts", "retx_pkts"), 0
        ) | {"ecn_marks": 7 * (mode == "lossless")}
        summary = {
            "lb": scheme,
            "mode": mode,
            "topo": "star",
            "flow_file": "one.txt",
            "all": {"all": {"avg": 1.0, "p99": 1.0}},
        }
        (run_folder / "summary.json").write_text(json.dumps(summary | counts))
    code, rows = validate(tmp_path / "reference")
    assert code == 1
    by_run = {(row["run"], row["metric"]): row for row in rows}
    for mode in ("irn", "lossless"):
        exact = by_run[f"micro_one_{mode}, compat", "micro_fct"]
        assert (exact["ours"], exact["within"], exact["compat"]) == (1.0, True, "conweave-ns3")
        # Two links of 1 us in both directions, and the frames: the flow of 1 B takes 4,014 ns,
        # where their formula for a lone flow gives 4,163 ns.
        slowdown = by_run[f"micro_one_{mode}, compat", "slowdown_mean"]
        assert (slowdown["ours"], slowdown["within"], slowdown["bar"]) == (1.0, True, {"rel": 0.05})
        # The reference has seven marks in the lossless run, where afflux marks nothing.
        assert by_run[f"micro_one_{mode}, compat", "ecn_marks"]["within"] == (mode == "irn")
        # A check that cannot fail is omitted: IRN runs without PFC.
        assert (by_run[f"micro_one_{mode}, compat", "pause_frames"]["bar"] is None) == (
            mode == "irn"
        )
        default = by_run[f"micro_one_{mode}, default rules", "micro_fct"]
        assert default["bar"] is None
        assert 1.0 < default["ours"] < 1.01
    later = [row for row in rows if row["reference"] == "conweave.later"]
    assert later
    assert all("scheme nothing" in row["reason"] and not row["within"] for row in later)


def test_the_window_of_irn_and_conweaves_times_follow_the_topology(tmp_path: Path):
    """ConWeave's authors: 104,000 B and its own times on the leaf-spine, 156,000 B and longer times on the fat-tree, all links 100 Gbps and 1 us."""

    def scenario(switches: int, scheme: str, mode: str) -> dict[str, Any]:
        # A row of switches between two hosts, which are nodes 0 and 1.
        row = [0, *range(2, 2 + switches), 1]
        lines = [f"{one} {other} 100Gbps 1000ns 0\n" for one, other in pairwise(row)]
        (tmp_path / "row.txt").write_text(
            f"{len(row)} {switches} {len(lines)}\n{' '.join(map(str, row[1:-1]))}\n"
            + "".join(lines)
        )
        return conweave.scenario_of(tmp_path / "row.txt", scheme, mode, conweave.COMPAT)

    assert scenario(3, "fecmp", "irn")["host"]["transport"]["bdp"] == "104000B"
    assert scenario(5, "fecmp", "irn")["host"]["transport"]["bdp"] == "156000B"
    assert scenario(3, "conweave", "irn")["switch"]["balance"] == "conweave"
    times = scenario(5, "conweave", "irn")["switch"]["balance"]
    assert times == {"kind": "conweave", "inactive": "1ms", "default_wait": "300us"}
    assert scenario(5, "conweave", "lossless")["switch"]["balance"] == times | {
        "default_wait": "600us",
        "flush_extra": "64us",
    }


def test_matrices_of_htsim(tmp_path: Path):
    """Completion times come from the README's sentence. A matrix not named there is run once. A
    matrix that cannot be a fat-tree is reported."""
    folder = tmp_path / "reference" / "htsim"
    folder.mkdir(parents=True)
    (tmp_path / "reference" / "bars.toml").write_text("[htsim]\nlast_done_ms = { rel = 0.01 }\n")
    # Six links of 100 Gbps and 1 us: SYN, its answer and the acknowledgement with 40 B each, eight
    # frames of 0.12 us, the last of them on five more links, and one acknowledgement of 40 B.
    (folder / "README.md").write_text(
        "Fat-trees. Last flow done: DCTCP k=4 0.012 MB 0.0256208 ms, 7 MB 0.5 ms; k=8 1 MB 9 ms; the hash draw decides.\n"
    )
    for name, size in (
        ("perm_16n_12000B", 12_000),
        ("perm_16n_30000B", 30_000),
        ("perm_17n_100000B", 100_000),
        ("odd", 1),
    ):
        (folder / f"{name}.cm").write_text(
            f"Nodes 16\nConnections 1\n0->15 id 1 start 0 size {size}\n"
        )
    code, rows = validate(tmp_path / "reference")
    last = {row["reference"]: row for row in rows if row["metric"] == "last_done_ms"}
    assert code == 1
    exact = last["htsim.perm_16n_12000B"]
    assert (exact["theirs"], exact["ours"]) == (0.0256208, pytest.approx(0.0256208, rel=1e-4))
    assert exact["within"]
    assert last["htsim.perm_16n_30000B"]["reason"] == "the reference has no such number"
    reasons = {row["reference"]: row["reason"] for row in rows}
    assert "17 hosts" in reasons["htsim.perm_17n_100000B"]
    assert "perm_<hosts>n" in reasons["htsim.odd"]
    assert htsim.completions(folder / "README.md") == {
        (4, 12_000): 0.0256208,
        (4, 7_000_000): 0.5,
        (8, 1_000_000): 9.0,
    }
    (folder / "README.md").write_text("Nothing about completion.\n")
    with pytest.raises(Unreadable):
        htsim.completions(folder / "README.md")


def test_hosts_that_should_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Compares distributions over runs. Cases that ties decide are named and not run. Scripts of
    the runs are no runs."""
    folder = tmp_path / "reference" / "hosts"
    folder.mkdir(parents=True)
    (folder.parent / "bars.toml").write_text("")
    for name in ("CAUSE.md", "four.sh", "gaps.py", "sniff.c", "noise.diff"):
        (folder / name).write_text("")

    def flows(case: str, congestion: str, repetition: int, mbps: list[float]) -> str:
        return "".join(
            f"{case},{congestion},{repetition},s{place},{one},100\n"
            for place, one in enumerate(mbps)
        )

    (folder / "real-linux.csv").write_text(
        "case,congestion,repetition,flow,mbps,retransmissions\n"
        + flows("four-100packets", "cubic", 1, [20, 20, 20, 30])
        + flows("four-100packets", "cubic", 2, [20, 20, 20, 20])
        + flows("four-100packets", "cubic", 3, [24, 22, 22, 22])
        + flows("mix-100packets", "cubic", 1, [20, 25])
        + flows("mix-100packets", "bbr", 1, [30, 15])
        + flows("outcast-64packets", "reno", 1, [0.3, *[7.5] * 12])
        + flows("five", "cubic", 1, [1.0])
    )
    runs = {
        "exact-reno-1": (6, 2, 1, 1),
        "exact-reno-2": (6, 2, 1, 1),
        "dly-exact-cubic": (1, 1, 1, 27),
        "jit10us-cubic": (5, 5, 5, 6),
        "tierev-reno": (1, 1, 2, 6),
    }
    (folder / "exact-time.csv").write_text(
        "run,host,bytes\n"
        + "".join(
            f"{run_},host{host},{sent}\n"
            for run_, all_ in runs.items()
            for host, sent in enumerate(all_, 2)
        )
    )
    cases = {f"{case.reference}/{case.run}": case for case in run.collect(folder.parent)[1]}
    equal = cases["hosts.real-linux/four-100packets cubic"]
    shares = [equal.theirs[metric] for metric in hosts.flows.EVEN]
    assert shares == pytest.approx([24 / 90, 30 / 90, 20 / 90])
    assert len(equal.setups) == hosts.flows.SEEDS
    assert cases["hosts.real-linux/mix-100packets"].theirs["share_cubic_mean"] == 0.5
    near = cases["hosts.real-linux/outcast-64packets reno"]
    assert [
        near.theirs[metric] for metric in ("near_to_far_p90", "far_spread_p90", "outcast_mean")
    ] == pytest.approx([0.04, 1, 1])
    assert "five" in (cases["hosts.real-linux/five cubic"].problem or "")
    assert [case.run for case in cases.values() if case.absent] == ["exact-reno", "tierev-reno"]
    assert cases["hosts.exact-time/dly-exact-cubic"].setups[0].scenario["topology"]["override"][
        3
    ] == {"link": "host4-switch0", "delay": "47.9us"}
    assert cases["hosts.exact-time/jit10us-cubic"].setups[0].scenario["host"]["timing"] == {
        "receive": "0ns",
        "send": "10us",
        "gap": "0ns",
        "clock_ppm": 0.0,
    }
    assert {case.reference for case in cases.values()} == {
        "hosts.real-linux",
        "hosts.exact-time",
        "hosts.rates",
    }
    # One row has the median over the seeds, another one the worst seed.
    values = [0.3, 0.2, 0.4]
    assert [
        run.row(equal, metric, values)["ours"]
        for metric in ("largest_share", "largest_share_greatest", "smallest_share_least")
    ] == [0.3, 0.4, 0.2]
    assert hosts.flows.nine_of_ten([*range(9), 99]) == 8
    monkeypatch.setattr(hosts.flows, "SEEDS", 1)
    monkeypatch.setattr(hosts.real, "REAL_S", 2)
    _, rows = validate(folder.parent, "--only", "four-100packets")
    assert [row["metric"] for row in rows if row["within"] and row["bar"]][:3] == [
        "largest_share",
        "largest_share_greatest",
        "smallest_share_least",
    ]
    _, (row,) = validate(folder.parent, "--only", "tierev")
    assert row["absent"]
    assert "by host" in row["reason"]


def test_hosts_that_were_measured(tmp_path: Path):
    """The tolerance for equal flows depends on their number. Unequal round trips, steps and
    queueing disciplines become keys. An unknown case is reported."""
    folder = tmp_path / "hosts"
    folder.mkdir()

    def flows(case: str, congestion: str, mbps: list[float]) -> str:
        return "".join(
            f"{case},virtual,{congestion},{repetition},s{place},{one},10,20\n"
            for repetition in (1, 2)
            for place, one in enumerate(mbps)
        )

    (folder / "measured-linux.csv").write_text(
        "case,clock,congestion,repetition,flow,mbps,retransmissions,marks_at_the_port\n"
        + flows("2-100packets", "reno", [40, 50])
        + flows("rtt-100packets", "cubic", [30, 30, 20, 10])
        + flows("step-30packets", "cubic", [20, 20, 20, 30])
        + flows("step-7packets", "cubic", [1])
    )
    lines = (
        "fq_codel,virtual,1,new,1,3.3,3.4,3.5,94,1,4,4",
        "pfifo limit 100,real,4,persistent,1,20,30,40,93,0.3,4,4",
        "sfq,real,1,new,1,1,1,1,1,1,1,1",
    )
    (folder / "measured-qdisc.csv").write_text(
        "qdisc,clock,bulk,connection,repetition,median_ms,p90_ms,p99_ms,bulk_mbps,largest_bulk_share,drops,retransmissions\n"
        + "\n".join(lines)
        + "\n"
    )
    cases = {case.run: case for case in hosts.cases(folder, Bars({}))}
    equal = cases["2-100packets reno virtual"]
    assert [equal.bars[metric].most for metric in ("largest_share", "largest_share_greatest")] == [
        0.7,
        0.9,
    ]
    assert equal.theirs["retransmitted_per_1000"] == pytest.approx(
        1e3 * 20 / (90e6 * 24 / 8 / 1448)
    )
    far = cases["rtt-100packets cubic virtual"]
    assert far.theirs["share_near_mean"] == pytest.approx(60 / 90)
    assert far.setups[0].scenario["topology"]["override"][3] == {
        "link": "host4-switch0",
        "delay": "520us",
    }
    step = cases["step-30packets cubic virtual"]
    assert step.theirs["marked_per_1000"] == pytest.approx(1e3 * 20 / (90e6 * 24 / 8 / 1448))
    assert (
        step.setups[0].scenario["switch"]["ecn"],
        step.setups[0].scenario["host"]["transport"]["ecn"],
    ) == ({"k": "30packets"}, "classic")
    assert "step-7packets" in (cases["step-7packets cubic virtual"].problem or "")
    assert cases["fq_codel 1 new virtual"].setups[0].scenario["host"]["qdisc"] == "fq_codel"
    fifo = cases["pfifo-100 4 persistent real"]
    assert len(fifo.setups) == hosts.flows.SEEDS
    assert fifo.setups[0].scenario["host"]["qdisc"] == {"kind": "pfifo", "limit": 100}
    assert fifo.setups[0].flows != fifo.setups[1].flows
    assert "sfq" in (cases["sfq 1 new real"].problem or "")


def test_runs_of_uec(tmp_path: Path):
    """A lone NDP flow: ten frames of 4150 B, one of them on five more links, 1 us per link, and an
    answer of 64 B. Options without a model are named."""
    folder = tmp_path / "reference" / "uec"
    (folder / "inputs").mkdir(parents=True)
    (tmp_path / "reference" / "bars.toml").write_text("[uec]\nlast_us = { rel = 0.0001 }\n")
    head = "Nodes 128\nConnections 1\n{}0->127 id 1 start 0 size 41500\n"
    (folder / "inputs/one.cm").write_text(head.format(""))
    (folder / "inputs/chain.cm.gz").write_bytes(gzip.compress(head.format("Triggers 1\n").encode()))
    alone = 15 * 0.332 + 6 * 2 + 6 * 0.00512
    common = "-strat perm -nodes 128 -mtu 4150 -q 8 -cwnd 40 -tm inputs"
    lines = [
        f"ndp,1,1,1,1,{alone},htsim_ndp {common}/one.cm",
        f"other,1,1,1,1,{alone + 1},htsim_ndp {common}/one.cm",
        f"ring,1,1,1,1,1,htsim_ndp {common}/chain.cm",
        f"fast,1,1,1,1,1,htsim_ndp {common}/one.cm -linkspeed 800000",
        "nscc,1,1,1,1,1,-tm inputs/one.cm -sender_cc_only",
    ]
    (folder / "runs.csv").write_text(
        "run,flows,first_us,median_us,p99_us,last_us,options\n" + "\n".join(lines) + "\n"
    )
    (folder / "fct.csv.gz").write_bytes(
        gzip.compress(f"run,src,dst,flow,finished_us\nndp,0,127,1,{alone}\n".encode())
    )
    code, rows = validate(tmp_path / "reference")
    found = {(row["reference"], row["run"], row["metric"]): row for row in rows}
    assert code == 1
    assert found["uec.runs", "ndp", "last_us"]["within"]
    assert found["uec.fct", "ndp", "p90_us"]["ratio"] == pytest.approx(1, rel=1e-4)
    assert not found["uec.runs", "other", "last_us"]["within"]
    absent = {row["run"]: row["reason"] for row in rows if row["absent"]}
    assert absent.keys() == {"ring", "nscc"}
    assert "triggers" in absent["ring"]
    assert "-linkspeed" in found["uec.runs", "fast", "last_us"]["reason"]
    page_ = (tmp_path / "out" / "validation.md").read_text()
    assert "## Of models that afflux does not have: 2" in page_
    assert "## Not run: 1" in page_
    # Runs without a model do not make a comparison fail.
    (folder / "runs.csv").write_text(
        "run,flows,first_us,median_us,p99_us,last_us,options\n" + lines[0] + "\n" + lines[4] + "\n"
    )
    assert validate(tmp_path / "reference")[0] == 0


SMALL = """\
leaves = 2
spines = 1
hosts_per_leaf = 2
host_rate = "40Gbps"
uplink_rate = "40Gbps"
delay = "500ns"
"""


def test_another_fabric_of_a_reference(tmp_path: Path):
    """A file next to the run describes the fabric and the time of a lone flow: frames of 0.3 us,
    answers of 0.008 us, 0.5 us per link."""
    folder = tmp_path / "reference" / "pfabric"
    folder.mkdir(parents=True)
    (tmp_path / "reference" / "bars.toml").write_text(
        "[pfabric]\nmean = { rel = 0.0005 }\n[yaps]\nmean = { rel = 0.0005 }\n"
    )
    flows = "start_ns,src,dst,bytes,fct_ns,normalized\n1000,0,1,1460,0,1.0\n9000,1,2,2920,0,1.0\n"
    for run_ in ("0.5", "0.6", "0.7"):
        (folder / f"pfabric_websearch_{run_}.csv.gz").write_bytes(gzip.compress(flows.encode()))
    idle = 'idle = {{ in_rack = "{}ns", across = "5232ns", segment = "300ns" }}\n'
    (folder / "fabric.toml").write_text(SMALL + idle.format(2616))
    # The run's own file takes precedence, and is wrong here.
    (folder / "pfabric_websearch_0.6.fabric.toml").write_text(SMALL + idle.format(5000))
    (folder / "pfabric_websearch_0.7.fabric.toml").write_text(SMALL + "planes = 2\n")
    yaps = tmp_path / "reference" / "yaps"
    yaps.mkdir()
    (yaps / "fabric.toml").write_text(SMALL)
    lines = "id,size_bytes,src,dst,start_us,fct_us,oracle_us,slowdown\n0,1460,0,2,1000001.0,5.232,5.232,1.0\n"
    (yaps / "pfabric_ws_0.1_small.csv.gz").write_bytes(gzip.compress(lines.encode()))
    code, rows = validate(tmp_path / "reference")
    found = {(row["run"], row["metric"]): row for row in rows}
    assert code == 1
    right, wrong = (
        found[f"pfabric_websearch_0.{load}/le_100KB", "le_100KB.mean"] for load in (5, 6)
    )
    assert right["ours"] == pytest.approx(1, abs=5e-4)
    assert right["within"]
    assert wrong["ours"] == pytest.approx((1 + 2616 / 5000) / 2, abs=5e-4)
    assert not wrong["within"]
    assert any(
        "planes is not known" in row["reason"]
        for row in rows
        if row["run"] == "pfabric_websearch_0.7"
    )
    assert found["pfabric_ws_0.1_small/le_100KB", "le_100KB.mean"]["within"]
    assert not [row for row in rows if "fabric.toml" in row["run"]]


def test_a_lone_flow_of_yaps(tmp_path: Path):
    """Two links at 10 Gbps and, across racks, two at 40 Gbps, 1.44 us each, in both directions;
    plus 1.2 us for every segment but the first."""
    folder = tmp_path / "reference" / "yaps"
    folder.mkdir(parents=True)
    (tmp_path / "reference" / "bars.toml").write_text("[yaps]\nmean = { rel = 0.0001 }\n")
    head = "id,size_bytes,src,dst,start_us,fct_us,oracle_us,slowdown\n"
    # Twelve segments are less than fit into the round trip of 14.6 us, so the window of 12 leaves a
    # gap of 0.2 us.
    lines = "0,1460,0,16,1000001.5,14.6,14.6,1.0\n1,17520,0,15,1000101.5,21.424,21.424,1.0\n2,146000,3,100,1000201.5,133.6,133.4,1.0015\n"
    (folder / "pfabric_ws_0.1_lone.csv.gz").write_bytes(gzip.compress((head + lines).encode()))
    (folder / "dctcp_ws_0.1_lone.csv.gz").write_bytes(gzip.compress(head.encode()))
    code, rows = validate(tmp_path / "reference")
    barred = [row for row in rows if row["bar"] and row["reference"] == "yaps.pfabric_ws_0"]
    assert [(row["metric"], row["within"]) for row in barred] == [
        ("le_100KB.mean", True),
        ("100KB_10MB.mean", True),
    ], rows
    (other,) = [row for row in rows if row["reference"] == "yaps"]
    assert code == 1
    assert "no reader" in other["reason"]


def test_linux_queues_and_paths():
    red = linux.network.discipline(
        "red limit 2000000 min 30000 max 31500 avpkt 1500 burst 21 probability 1 bandwidth 1000mbit ecn"
    )
    assert (
        red["buffer"],
        red["ecn"]["kmin"],
        red["ecn"]["kmax"],
        red["ecn"]["average_weight"],
    ) == ("2000000B", "30000B", "31500B", 0.25)
    # Values that `tc -d` shows for this command, and for a RED below a token bucket.
    assert (round(red["ecn"]["pmax"], 6), red["ecn"]["idle_frame"]) == (0.732422, "off")
    assert linux.network.discipline("bfifo limit 32000") == {
        "sharing": "static",
        "buffer": "32000B",
    }
    for wrong in ("pfifo limit 10", "bfifo", "", "red limit 1"):
        with pytest.raises(Unreadable):
            linux.network.discipline(wrong)
    assert linux.mptcp.parse_paths("2x100+50@30ms") == [(100, 5), (100, 5), (50, 30)]
    with pytest.raises(Unreadable):
        linux.mptcp.parse_paths("100+")


def test_linux_round_trip_is_what_was_asked_for():
    scenario = linux.network.dumbbell(2, 1e9, 500_000, "bfifo limit 32000", {})
    delays = [int(link["delay"].removesuffix("ns")) for link in scenario["topology"]["link"]]
    round_trip = (
        2 * (delays[0] + delays[2] + delays[3])
        + (1514 + 66) * 8
        + 2 * (1514 + 66) * 8e9 / linux.network.ACCESS_BPS
    )
    assert math.isclose(round_trip, 500_000, abs_tol=4)
    with pytest.raises(Unreadable):
        linux.network.dumbbell(1, 1e6, 1000, "bfifo limit 32000", {})


def test_linux_incast_round_trip_follows_from_a_round_without_drops():
    block, rtt_ms = 65536, 0.3
    wire = [n * (block + 46 * 66) for n in (1, 2)]
    rows = [
        {"N": str(n), "block": str(block), "drops": "0", "mean_ms": str(rtt_ms + (w - 1600) * 8e-6)}
        for n, w in zip((1, 2), wire, strict=True)
    ]
    assert linux.incast.round_trip_ns(rows) == 300_000
    with pytest.raises(Unreadable):
        linux.incast.round_trip_ns([row | {"drops": "5"} for row in rows])


def test_linux_multipath_completion_times(ref: Path):
    """Ten segments over one path take the handshake, a round trip and nine slots of 1514 B. Twenty
    million bytes take half as long over two paths."""
    with (ref / "bars.toml").open("a") as bars:
        bars.write(
            "[linux.d_mptcp_fct]\np50_ms = { rel = 0.02 }\n[linux.y_never]\np50_ms = { rel = 0.02 }\n"
        )
    head = "name,proto,cc,paths,size_B,p50_ms\n"
    rows = f"short,tcp,cubic,1x100,14480,{10 + 9 * 0.12112}\none,tcp,reno,2x100,20000000,1\ntwo,mptcp,reno,2x100,20000000,1\nodd,mptcp,cubic,2x100,,1\n"
    (ref / "linux/d_mptcp_fct.csv").write_text(head + rows)
    _, rows = validate(ref)
    found = {row["run"]: row for row in rows if row["reference"] == "linux.d_mptcp_fct"}
    assert found["short"]["within"], found["short"]
    assert "no size" in found["odd"]["reason"]
    assert found["two"]["ours"] / found["one"]["ours"] == pytest.approx(0.5, abs=0.03)
    # A tolerance without a file is reported.
    page_ = (ref.parent / "out" / "validation.md").read_text()
    assert "- linux.y_never\n" in page_
    assert "- linux.d_mptcp_fct\n" not in page_


def test_linux_collapse_is_compared_by_series():
    bars = Bars({"linux": {"c_incast": {"goodput_mbps": {"rel": 0.15}}}})

    def series(ours: dict[int, float]) -> list[tuple[Case, dict[str, float]]]:
        theirs = {8: 900, 16: 850, 24: 200}
        found = [
            (
                Case(
                    "linux.c_incast",
                    f"n{n}",
                    {"goodput_mbps": theirs[n]},
                    labels={"series": "s", "N": n},
                ),
                {"goodput_mbps": ours[n]},
            )
            for n in theirs
        ]
        return list(linux.derived(found, bars))

    (((case, values)),) = series({8: 900, 16: 100, 24: 100})
    assert (case.theirs, values, case.problem) == ({"collapse_N": 24.0}, {"collapse_N": 16.0}, None)
    assert case.bars["collapse_N"].holds(24, 16)
    assert "24" in series({8: 900, 16: 900, 24: 900})[0][0].problem


def test_ns3_window_reductions(ref: Path):
    """A lone Reno flow over a queue of 20 packets: each reduction of the made-up trace, and
    afflux's sawtooth. A trace that contradicts the columns is reported."""
    row = (
        "{},TcpLinuxReno,droptail,1Gbps,0.0004,20,65,1,0,1,67108864,0,0.1,0.01,900,10,5,0,{},0,0\n"
    )
    (ref / "ns3/dc.csv").write_text(
        DUMBBELL.rstrip()
        + ",recov,cwr,rto\n"
        + row.format("a", 2)
        + row.format("b", 3)
        + row.format("c", 1)
    )
    (ref / "ns3/traces").mkdir()
    # The window goes up, down in two steps, up by less than a segment (still the same reduction),
    # up, and down.
    windows = [
        (10, 14600),
        (11, 29200),
        (12, 20000),
        (13, 14600),
        (14, 15000),
        (15, 14000),
        (16, 30000),
        (20.5, 15000),
    ]
    text = "t_s,flow,cwnd_bytes,ssthresh_bytes\n" + "".join(
        f"{ms / 1e3},0,{window},0\n" for ms, window in windows
    )
    for run_ in "ab":
        (ref / f"ns3/traces/dc_{run_}.cwnd.csv.gz").write_bytes(gzip.compress(text.encode()))
    _, rows = validate(ref, "--only", "ns3.traces")
    found = {(row["run"], row["metric"]): row for row in rows}
    assert {run_ for run_, _ in found} == {"dc_a", "dc_b"}
    assert "has 2 reductions, the columns say 3" in found["dc_b", "run"]["reason"]
    assert found["dc_a", "reductions"]["theirs"] == 2
    assert found["dc_a", "first_reduction_ms"]["theirs"] == pytest.approx(12)
    assert found["dc_a", "period_ms"]["theirs"] == pytest.approx(8.5)
    # From half of to all of the pipe (0.424 ms at 1 Gbps: 35 segments) and the queue (20 + 1) it
    # takes 28 round trips: 7 of 0.424 ms and 21 of 0.424 to 0.673 ms. The second reduction follows
    # soon after the first, because slow start has overshot.
    intervals = found["dc_a", "reductions"]["ours"] - 1
    assert found["dc_a", "period_ms"]["ours"] == pytest.approx(
        (7 * 0.424 + 21 * 0.548) * (intervals - 1) / intervals, rel=0.1
    )


def test_recoveries_in_a_capture():
    def data(ms: int, sequence: int) -> Segment:
        return Segment(ms * 10**6, 0, sequence, 1, 0x10, 100)

    def answer(ms: int, acknowledged: int) -> Segment:
        return Segment(ms * 10**6, 1, 1, acknowledged, 0x10, 0)

    begin = [data(1, 1), data(2, 101), data(3, 201), answer(4, 101)]
    # Two retransmissions belong to one recovery. After all 301 bytes are acknowledged, another
    # recovery begins.
    once = [
        *begin,
        data(5, 101),
        data(6, 201),
        data(7, 301),
        answer(8, 301),
        data(9, 401),
        data(10, 301),
        answer(11, 501),
    ]
    assert recoveries(begin) == []
    assert recoveries(once) == [0.005, 0.010]
    assert recoveries([*begin, data(5, 101), data(6, 201), answer(7, 201), data(8, 201)]) == [0.005]


def test_ns3_draws():
    # The lone senders of the first three seeds start 16.946, 13.892 and 10.838 us after t0.
    first = [20 * next(uniform(seed, ns3.STREAM, 1)) for seed in (1, 2, 3)]
    assert [round(value, 3) for value in first] == [16.946, 13.892, 10.838]


def test_order_of_schemes() -> None:
    def of(scheme: str, theirs: float, ours: float | None) -> tuple[Case, dict[str, float]]:
        case = Case(
            f"conweave.L50_2ms_{scheme}_irn",
            "",
            theirs={"slowdown_mean": theirs},
            labels={"scheme": scheme, "runs": "L50_2ms_irn"},
        )
        return case, {} if ours is None else {"slowdown_mean": ours}

    def judged(*runs: tuple[Case, dict[str, float]]) -> list[dict]:
        return [
            run.row(
                case,
                "schemes_in_order",
                [values["schemes_in_order"]] if values else None,
                case.problem,
            )
            for case, values in conweave.derived(runs, Bars({}))
        ]

    # LetFlow and ECMP are within 5 %, so their order does not matter.
    (same,) = judged(of("fecmp", 1.45, 1.40), of("letflow", 1.43, 1.41), of("conweave", 1.33, 1.30))
    assert (same["reference"], same["theirs"], same["ours"], same["within"]) == (
        "conweave.L50_2ms_irn",
        2,
        2,
        True,
    )
    (swapped,) = judged(
        of("fecmp", 1.45, 1.30), of("letflow", 1.43, 1.41), of("conweave", 1.33, 1.31)
    )
    assert (swapped["theirs"], swapped["ours"], swapped["within"]) == (2, 1, False)
    assert "fecmp and conweave: theirs 1.450 and 1.330, ours 1.300 and 1.310" in swapped["reason"]
    (missing,) = judged(of("fecmp", 1.45, None), of("conweave", 1.33, 1.31))
    assert not missing["within"]
    assert missing["reason"] == "fecmp could not be run"
    assert not judged(of("fecmp", 1.45, 1.40), of("letflow", 1.43, 1.41)), (
        "no pair is far enough apart"
    )
