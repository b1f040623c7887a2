"""Compact reference runs: they give the same cases as the raw runs, and contain only files that the
script writes."""

import gzip
import hashlib
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from validation import compact, kept, run

#: Size limit in bytes of the whole folder.
MOST_BYTES = 8_000_000


def collected(ref: Path) -> list[tuple[Any, ...]]:
    """Returns the cases with a reader, all their numbers, and the digests of their first two
    simulations."""
    ref, found = ref.resolve(), []
    for case in run.collect(ref, 2)[1]:
        if run.reader(case.reference.partition(".")[0]) is not None:
            place = json.dumps(str(ref))[1:-1]
            keys = [
                hashlib.sha256(setup.text().replace(place, "REF").encode()).hexdigest()
                for setup in case.setups
            ]
            found.append(
                (
                    case.reference,
                    case.run,
                    case.theirs,
                    case.bars,
                    keys,
                    case.compat,
                    case.problem,
                    case.absent,
                    case.remark,
                    case.labels,
                )
            )
    return found


def plain(name: str, data: bytes) -> bytes:
    """Returns unpacked data, because another version of a library may compress differently."""
    return (
        gzip.decompress(data)
        if name.endswith(".gz")
        else lzma.decompress(data)
        if name.endswith(".xz")
        else data
    )


def there(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


# ------------------------------------------------------------------------------------------------------------ what is in the repository


@pytest.fixture(scope="module")
def cases() -> list[tuple[Any, ...]]:
    return collected(run.COMPACT)


def test_every_run_can_be_read_from_it(cases):
    assert len(cases) > 900
    assert {reference.partition(".")[0] for reference, *_ in cases} == set(compact.MAKERS)
    assert not [
        (reference, run_, problem) for reference, run_, _, _, _, _, problem, *_ in cases if problem
    ]
    files = there(run.COMPACT)
    assert sum(map(len, files.values())) < MOST_BYTES
    readme = files[compact.README].decode()
    assert all(f"| `{name}` |" in readme and f"\n### {name}\n" in readme for name in compact.MAKERS)


@pytest.mark.parametrize(
    ("file", "hosts", "size", "seed"),
    [
        ("htsim/perm_128n_10000000B.cm", 128, 10_000_000, compact.HTSIM_SEED),
        ("htsim/perm_1024n_1000000B.cm", 1024, 1_000_000, compact.HTSIM_SEED),
        ("uec/inputs/perm_128n_128c_2MB.cm", 128, 2_000_000, compact.UEC_SEED),
    ],
)
def test_permutations_are_those_of_the_generator(file, hosts, size, seed):
    assert (run.COMPACT / file).read_text() == compact.permutation(hosts, size, seed)


def test_it_is_what_the_script_writes(shared):
    made = compact.contents(shared / "reference")
    files = there(run.COMPACT)
    assert files.keys() == made.keys() | {compact.README}, "python -m validation.compact"
    differing = [
        name for name, data in made.items() if plain(name, data) != plain(name, files[name])
    ]
    assert not differing, "python -m validation.compact"


def test_cases_are_those_of_the_raw_runs(shared, cases):
    raw = collected(shared / "reference")
    assert len(raw) == len(cases)
    for theirs, ours in zip(raw, cases, strict=True):
        assert ours == theirs, theirs[:2]


# ---------------------------------------------------------------------------------------------------------------------- on made-up runs


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Creates some runs of each kind: an output with every flow, a trace, a permutation, a run
    without a model."""
    ref = tmp_path / "raw"
    counters = dict.fromkeys(
        ("pfc_frames", "drop_ingress", "drop_egress", "ecn_marks", "timeouts", "retx_pkts"), 0
    )
    whole = {"n": 2, "avg": 1.5, "p99": 2.5, "p50": 1.25}
    summary = {
        "lb": "fecmp",
        "mode": "irn",
        "topo": "star",
        "flow_file": "two.txt",
        "all": {"all": whole},
        "wall": 344.7,
    }
    fct = b"2 3 10000 100 1 2002000000 4014 4163\n0 1 10000 100 10000 2000000000 4921 4998\n"
    lists = {
        "pfabric/tcp_websearch_0.6.csv.gz": "start_ns,src,dst,bytes,fct_ns,timeouts,normalized\n0,0,5,1460,16000,0,1.25\n70,1,6,2920,18000,0,1.5\n",
        "yaps/pfabric_ws_0.1_x.csv.gz": "id,size_bytes,src,dst,start_us,fct_us,oracle_us,slowdown\n0,1460,0,16,1000001.5,14.6,14.6,1.0\n",
        "uec/fct.csv.gz": "run,src,dst,flow,finished_us\n"
        + "".join(f"ndp,{src},1,{src},{100 + src}\n" for src in range(2, 9)),
        "ns3/traces/dc_a.cwnd.csv.gz": "t_s,flow,cwnd_bytes,ssthresh_bytes\n0.01,0,29200,0\n0.012,0,14600,0\n0.016,0,30000,0\n0.0205,0,15000,0\n",
    }
    dumbbell = "run,algo,q,rate,rtt_s,buf_pkts,K,n,stagger_s,delack,rcvbuf,ecn,dur_s,warm_s,goodput_mbps,q_mean,drops,marks,recov,cwr,rto\n"
    options = "-strat perm -nodes 128 -mtu 4150 -q 8 -cwnd 40 -tm inputs/perm_128n_128c_2MB.cm -o /somewhere/log"
    texts = {
        "bars.toml": "[ns3.dc]\ngoodput_mbps = { rel = 0.02 }\n[pfabric]\nmean = { rel = 0.1 }\n[yaps]\nmean = { rel = 0.1 }\n",
        "linux/a1_window.csv": "name,RATE,RTT,Q,CC,LOSS,W,CONNS,GAP,T,STALL,half2_mbps,avg_mbps\nx,20,40000,bfifo limit 50000,reno,,16384,1,,2,,4.1,4.0\n",
        "linux/raw/x.q.csv": "t_s\n0\n",
        "ns3/dc.csv": dumbbell
        + "a,TcpLinuxReno,droptail,1Gbps,0.0004,20,65,1,0,1,67108864,0,0.1,0.01,900,10,5,0,2,0,0\n",
        "conweave/inputs/star.txt": "5 1 4\n4\n"
        + "".join(f"{host} 4 100Gbps 1000ns 0\n" for host in range(4)),
        "conweave/MODEL.md": "A model.\n",
        "htsim/README.md": "Last flow done: DCTCP k=4 0.03 MB 0.5 ms.\n",
        "htsim/perm_16n_30000B.cm": compact.permutation(16, 30_000, compact.HTSIM_SEED),
        "uec/inputs/perm_128n_128c_2MB.cm": compact.permutation(128, 2_000_000, compact.UEC_SEED),
        "uec/inputs/one.cm": "Nodes 128\nConnections 1\n0->127 id 1 start 0 size 1\n",
        "uec/runs.csv": f"run,flows,first_us,median_us,p99_us,last_us,options\nndp,7,1,2,3,4,htsim_ndp {options}\nnscc,1,1,1,1,1,-tm inputs/one.cm\n",
        "later/notes.txt": "Without a reader.\n",
    }
    packed = {name: gzip.compress(text.encode()) for name, text in lists.items()}
    packed |= {
        "conweave/inputs/two.txt.xz": lzma.compress(b"2\n0 1 3 10000 2.0\n2 3 3 1 2.002\n"),
        "conweave/inputs/unused.txt.xz": b"x",
    }
    for name in ("L50_2ms_fecmp_irn", "micro_two_fecmp_irn"):
        packed[f"conweave/{name}/fct.txt.xz"] = lzma.compress(fct)
        texts[f"conweave/{name}/summary.json"] = json.dumps(summary | counters)
    for name, data in (packed | {name: text.encode() for name, text in texts.items()}).items():
        path = ref / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return ref


def test_the_compact_form_serves_the_same_readers(raw: Path, tmp_path: Path):
    out = tmp_path / "compact"
    (out / "old").mkdir(parents=True)
    (out / "old/left.csv").write_text("from before")
    (out / compact.README).write_text("by hand")
    assert compact.main(["--ref", str(raw), "--out", str(out)]) == 0
    assert collected(out) == collected(raw)
    files = there(out)
    assert files.pop(compact.README) == b"by hand"
    assert files == compact.contents(raw)
    gone = {
        "old/left.csv",
        "linux/raw/x.q.csv",
        "conweave/MODEL.md",
        "conweave/inputs/unused.txt.xz",
        "uec/inputs/one.cm",
        "uec/fct.csv.gz",
        "later/notes.txt",
    }
    assert not gone & files.keys()
    assert not (out / "old").exists()
    # Only the micro runs compare single flows.
    assert "conweave/micro_two_fecmp_irn/fct.txt.xz" in files
    assert json.loads(files["conweave/kept.json"]) == {"L50_2ms_fecmp_irn/fct.txt.xz": 4921}
    assert json.loads(files["conweave/L50_2ms_fecmp_irn/summary.json"])["all"] == {
        "all": {"n": 2, "avg": 1.5, "p99": 2.5}
    }
    assert json.loads(files["ns3/kept.json"]) == {"traces/dc_a.cwnd.csv.gz": [0.012, 0.0205]}
    assert json.loads(files["uec/kept.json"])["fct.csv.gz"]["ndp"]["p25_us"] == 103.5
    assert (
        gzip.decompress(files["pfabric/tcp_websearch_0.6.csv.gz"])
        == b"start_ns,src,dst,bytes\n0,0,5,1460\n70,1,6,2920\n"
    )
    assert b"/somewhere" not in files["uec/runs.csv"]


def test_standalone_times_follow_from_the_topology(raw: Path):
    from validation import conweave

    flows = conweave.read_flows(raw / "conweave/inputs/two.txt.xz")
    assert conweave.standalone_ns(raw / "conweave/inputs/star.txt", flows) == [4998, 4163]
    (raw / "conweave/inputs/star.txt").write_text("nothing")
    with pytest.raises(conweave.Unreadable, match=r"star\.txt"):
        conweave.standalone_ns(raw / "conweave/inputs/star.txt", flows)


def test_what_cannot_be_made_again_is_refused(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """A matrix that differs from the generator's is refused, and so is an unreadable run."""
    (raw / "htsim/perm_16n_30000B.cm").write_text(compact.permutation(16, 30_000, 1))
    assert compact.main(["--ref", str(raw), "--out", str(tmp_path / "out")]) == 2
    assert "perm_16n_30000B.cm is not the permutation" in capsys.readouterr().err
    (raw / "conweave/L50_2ms_fecmp_irn/fct.txt.xz").unlink()
    assert compact.main(["--ref", str(raw), "--out", str(tmp_path / "out")]) == 2
    assert "conweave.L50_2ms_fecmp_irn" in capsys.readouterr().err
    assert compact.main(["--ref", str(tmp_path / "not there"), "--out", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "out").exists()


def test_a_damaged_table_is_a_problem_of_its_reference(raw: Path):
    for text in ("{", "[]"):
        (raw / "ns3" / kept.NAME).write_text(text)
        assert any(
            "kept.json" in (problem or "")
            for reference, _, _, _, _, _, problem, *_ in collected(raw)
            if reference.startswith("ns3")
        )
