"""`check` estimates the memory of a run, no run exceeds its limit, and a scenario that cannot fit
is refused with a message."""

import json
import resource
import subprocess
import sys
import time

import pytest
from given import defect

from validation import estimates

#: Fast cases of `validation/estimates.py`: plain, short, cut, sampled, recorded, captured,
#: lossless.
CHEAP = (
    "examples/incast-dctcp",
    "examples/partition-aggregate",
    "ports every 1us",
    "paths, round trips",
    "capture",
    "lossless incasts",
    "benches/leaf-spine-rdma",
    "long until",
)
#: Address space in bytes that a process may use.
ADDRESSES = 6_000_000_000

STAR = 'format = 1\n[topology]\nkind = "star"\nhosts = 4\nrate = "10Gbps"\n[host.transport]\nkind = "tcp"\n'
PAIR = '[[traffic]]\nkind = "pairs"\npairs = [[0, 1]]\nsizes = "1MB"\n'


@pytest.fixture(scope="session")
def offset(once) -> int:
    """Returns by how many bytes an almost empty process exceeds its estimate here."""

    def measure(folder) -> None:
        (folder / "offset").write_text(str(estimates.process_offset(folder)))

    return int((once("process-offset", measure) / "offset").read_text())


def test_the_estimate_of_an_almost_empty_process_is_within_its_margin(offset):
    assert abs(offset) < 8 << 20


@pytest.mark.parametrize("name", CHEAP)
def test_check_is_within_a_tenth(name, tmp_path, offset):
    said, came = estimates.figures(name, tmp_path)
    assert said["memory_bytes"] + offset == pytest.approx(came["peak_rss_bytes"], rel=0.1)
    assert said["doubt"] is None
    assert said["packet_hops"] == pytest.approx(came["packet_hops"], rel=0.1)


#: Uncertain cases: the run lies within the bounds, and the bounds are close together.
DOUBTFUL = ("redundant subflows", "overload, small buffers", "overload until 5ms")


@pytest.mark.parametrize("name", DOUBTFUL)
def test_check_gives_a_range_that_holds(name, tmp_path):
    said, came = estimates.figures(name, tmp_path)
    assert said["doubt"]
    assert said["least_hops"] <= came["packet_hops"] <= said["most_hops"] < 6 * said["least_hops"]
    assert said["least_seconds"] < said["seconds"] < said["most_seconds"]


def limited(*words: object, cwd) -> subprocess.CompletedProcess:
    """Calls `afflux` with 6 GB of address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))

    return subprocess.run(
        [sys.executable, "-m", "afflux", *map(str, words)],
        cwd=cwd,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("h2.toml", "key traffic[0].size: 74505798518 blocks: at most 1000000 are possible"),
        ("abort.toml", "abort.tsv:4: found 137438953475 maps so far, expected at most 1000000"),
        ("maxmem.toml", "key run.max_memory: this scenario needs about 12 GB of memory"),
    ],
)
def test_what_cannot_fit_is_refused(name, said, tmp_path):
    for command in ("check", "run"):
        done = limited(command, defect(name), cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_billion_flows_are_refused_before_they_are_drawn(tmp_path):
    (tmp_path / "many.toml").write_text(
        STAR
        + '[[traffic]]\nkind = "random"\nsizes = "1kB"\nflows_per_second = 1e9\nflows = 1_000_000_000\n'
    )
    began = time.monotonic()
    done = limited("check", "many.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert (
        "many.toml:12: key traffic[0].flows: this makes about 1.0 billion flows, which take at least"
        in done.stderr
    )
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('[switch]\nbuffer = "2TB"', 'key switch.buffer: "2TB": write a size from 1B to 1TB'),
        ('[run]\nuntil = "1ms"', 'key traffic[0].sizes: a flow of "20000TB": at most'),
    ],
)
def test_sizes_that_cannot_be_counted_are_refused(line, said, tmp_path):
    pair = PAIR.replace("1MB", "20000TB") if "sizes" in said else PAIR
    (tmp_path / "large.toml").write_text(STAR + pair + line + "\n")
    done = limited("check", "large.toml", cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_rows_of_flow_lists_that_cannot_be_counted_are_refused(tmp_path):
    (tmp_path / "flows.csv").write_text(
        f"id,start_ns,src,dst,bytes\n1,0,0,1,1000\n2,0,0,1,{2**64 - 1}\n"
    )
    (tmp_path / "list.toml").write_text(STAR + '[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n')
    done = limited("check", "list.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "flows.csv:3" in done.stderr
    assert f"found {2**64 - 1}" in done.stderr


def test_a_run_ends_at_its_limit_with_what_was_recorded(tmp_path):
    # The estimate does not foresee the outage, during which sampling continues.
    fault = '[[topology.fault]]\nlink = "host0-switch0"\ndown = [{ from = "100us", to = "20s" }]\n'
    more = '[run]\nmax_memory = "150MB"\n[record]\nports = { interval = "1us" }\n'
    (tmp_path / "outage.toml").write_text(STAR + fault + PAIR + more)
    done = limited("run", "outage.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "the run ended early" in done.stderr
    assert "max_memory, 150 MB" in done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (
        summary["ended_by"],
        summary["early_end"]["reached_by"],
        summary["early_end"]["repeatable"],
    ) == ("max_memory", "records", True)
    # In addition to the process, records may take a third of the limit, and twice as much again
    # while they are sorted and written.
    process = 40_000_000
    assert process + (150_000_000 - process) / 3 < summary["peak_rss_bytes"] < 155_000_000
    assert summary["flows"]["unfinished"] == 1
    assert (tmp_path / "out" / "ports.parquet").is_file()
    assert limited("verify", "out", cwd=tmp_path).returncode == 0
