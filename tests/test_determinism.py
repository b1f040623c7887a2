"""The same scenario and seed give the same bytes, with any engine, number of
threads, and process.
"""

import json

import pytest

HASHES = ("result_hash", "ports_hash", "counters_hash")

#: A fabric with racks, several paths, marks and drops.
FABRIC = """\
format = 1
[topology]
kind = "leaf_spine"
leaves = 4
spines = 2
hosts_per_leaf = 4
host_rate = "10Gbps"
[switch]
buffer = "200kB"
ecn = { kmin = "20kB", kmax = "80kB", pmax = 0.2 }
[host.transport]
congestion = "dctcp"
min_rto = "1ms"
[[traffic]]
kind = "random"
sizes = "websearch"
load = 0.7
load_basis = "host_payload"
duration = "3ms"
[[traffic]]
kind = "incast"
senders = 15
total = "1MB"
[run]
until = "20ms"
[record]
ports = { interval = "1ms" }
"""


@pytest.fixture
def hashes(command, scenario):
    file = scenario(text=FABRIC, name="fabric.toml")

    def run(*options: str) -> tuple[str, ...]:
        done = command("run", file, "--json", "--force", *options)
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        assert summary["drops"] > 0
        assert summary["ecn_marks"] > 0
        return tuple(summary[key] for key in HASHES)

    return run


def test_same_seed_same_bytes(hashes):
    first = hashes("--seed", "1")
    assert hashes("--seed", "1") == first
    other = hashes("--seed", "2")
    assert all(a != b for a, b in zip(first, other, strict=True))


def test_both_engines(hashes):
    assert hashes("--set", "run.engine=classical") == hashes("--set", "run.engine=window_log")


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_any_number_of_threads(hashes, threads):
    assert hashes("--threads", str(threads)) == hashes("--threads", "1")
