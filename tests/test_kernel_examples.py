"""Examples of `examples/kernels`: Linux kernels with real programs. A test is skipped where no image
exists (`afflux kernel build`), or a program that the example copies into its guests."""

import csv
import json
import re
import statistics
import tomllib
from pathlib import Path

import pytest
from conftest import REPO, Command
from test_kernels import needs_image

from afflux import Result

EXAMPLES = REPO / "examples" / "kernels"
#: Key of the congestion control of the incast's kernels.
CONTROL = 'host.kernel.0.sysctl."net.ipv4.tcp_congestion_control"'
#: Key of the command that sets the queueing discipline.
DISCIPLINE = 'host.kernel.0.at."0.1s"'

pytestmark = [needs_image, pytest.mark.slow]


def run(command: Command, name: str, *options: str) -> Path:
    """Runs an example and returns its result."""
    path = EXAMPLES / f"{name}.toml"
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    for block in document["host"]["kernel"]:
        for file in block.get("files", ()):
            if not Path(file).exists():
                pytest.skip(f"needs {file}")
    done = command("run", path, "-o", "result", "--force", *options)
    assert done.returncode == 0, done.stderr
    return Path("result").absolute()


def received(console: Path) -> list[float]:
    """Returns the rates in Mbit/s of the transfers that a server has received."""
    return [
        float(rate) for rate in re.findall(r"received .*: ([\d.]+) Mbit/s", console.read_text())
    ]


def pings(console: Path) -> list[float]:
    """Returns the round trips in ms that a guest has measured."""
    return [float(time) for time in re.findall(r"time=([\d.]+) ms", console.read_text())]


def test_every_example_has_a_test():
    tests = Path(__file__).read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.toml"):
        assert f'"{path.stem}"' in tests, path


def test_long_path(command):
    result = run(command, "long-path")
    # Four links of 75 ms, and 122 B at 100 Mbps on each.
    assert pings(result / "host0.console") == pytest.approx([300.039] * 3, abs=0.0011)
    (rate,) = received(result / "host1.console")
    assert 45 < rate < 100 * 1448 / 1538
    rows = list(csv.DictReader((result / "host0.tcp.csv").open()))
    assert max(int(row["cwnd"]) for row in rows) > 2000


def test_mptcp_uses_both_paths(command):
    out = run(command, "mptcp", "--set", "record.gaps=all", "--set", "record.senders=100ms")
    console = (out / "host1.console").read_text()
    (rate,) = received(out / "host1.console")
    # More than one path carries.
    assert 120 < rate < 200 * 1448 / 1538
    the_connection_is_one_flow(command, Result.open(out), console)


def the_connection_is_one_flow(command: Command, result: Result, console: str) -> None:
    """The transfer and the server's last byte have two subflows each."""
    flows, packets = result.flows, result.table("packets")
    bytes = re.search(r"received (\d+) bytes", console)
    assert bytes
    assert flows.column("bytes") == flows.column("delivered_bytes") == [int(bytes[1]), 1]
    assert flows.column("status") == ["finished", "finished"]
    ids = flows.column("id")
    assert packets.column("flow") == [ids[0], ids[0], ids[1], ids[1]]
    assert packets.column("subflow") == [0, 1, 0, 1]
    assert packets.column("src_address") == ["10.0.0.1", "10.1.0.1", "10.0.0.2", "10.1.0.2"]
    # Each subflow carries, over the path of its cards.
    assert min(packets.column("sent_bytes")[:2]) > 10e6
    assert sum(packets.column("sent_bytes")[:2]) >= int(bytes[1])
    for table in ("senders", "gaps"):
        of = zip(*map(result.table(table).column, ("flow", "subflow")), strict=True)
        assert {(ids[0], 0), (ids[0], 1)} <= set(of), table
    one = json.loads(command("explain", "result", "--flow", str(ids[0]), "--json").stdout)
    assert (one["subflows"], one["protocol"]) == (2, "mptcp")
    assert one["received_packets"] == sum(packets.column("received_packets")[:2])
    # The paths have 2 and 10 ms, and their difference is no queueing: 200 kB at 100 Mbps are 16 ms.
    assert 0 < one["queueing_ns_mean"] < one["delay_ns_mean"] - one["delay_ns_least"]


def test_iperf3_over_a_long_path(command):
    result = run(command, "iperf3")
    report = json.loads((result / "host0.iperf3.json").read_text())
    assert report["start"]["test_start"]["reverse"] == 1
    rates = [interval["sum"]["bits_per_second"] for interval in report["intervals"]]
    assert len(rates) == 8
    # HyStart ends slow start when acknowledgements arrive for half a round trip, which is at half
    # of the link's rate. CUBIC grows slowly from there.
    assert rates[0] < 5e6
    assert 7e6 < sum(rates[-3:]) / 3 < 12e6
    assert report["end"]["sum_received"]["bytes"] > 6e6


def test_redis_under_load(command):
    result = run(command, "key-value")
    assert "Ready to accept connections" in (result / "host8.console").read_text()
    for client in ("host0", "host1", "host2"):
        rows = {
            row["test"]: row for row in csv.DictReader((result / f"{client}.requests.csv").open())
        }
        assert rows.keys() == {"SET", "GET"}
        for row in rows.values():
            # Four links of 5 us there and back, and 1 kB at 1 Gbps over four links.
            assert float(row["min_latency_ms"]) > 0.040 + 4 * 0.0085
            assert float(row["p99_latency_ms"]) < 5
            assert float(row["rps"]) > 10_000
    report = json.loads((result / "kernels.json").read_text())
    assert [command["status"] for host in report["hosts"] for command in host["commands"]] == [
        0,
        0,
        0,
        None,
    ]
    # The server answers 6,000 requests, of which 3,000 carry 1 kB to it, and 3,000 carry 1 kB back.
    server = report["hosts"][3]
    assert server["sent_packets"] >= 6_000
    assert server["received_packets"] >= 6_000


@pytest.mark.parametrize("control", ["dctcp", "reno", "cubic", "bbr"])
def test_incast(command, control):
    result = run(command, "incast", "--set", f"{CONTROL}={control}")
    rates = received(result / "host0.console")
    assert len(rates) == 16
    summary = json.loads((result / "summary.json").read_text())
    # A transfer that has lost its last packets waits for a time-out, which is at least 200 ms.
    with_timeout = 256_000 * 8 / 0.2 / 1e6
    if control == "dctcp":
        # The switch marks in time, and the servers share 1 Gbps.
        assert summary["drops"] < 50
        assert min(rates) > 40
    else:
        assert summary["drops"] > 100
        assert min(rates) < with_timeout


@pytest.mark.parametrize(
    ("discipline", "least", "most"),
    [
        # All connections wait in one queue, in which TCP keeps two frames or 1 ms of each.
        ("pfifo limit 1000", 18, 30),
        ("fq_codel", 4, 12),
        ("fq", 4, 12),
        # TCP counts a packet as gone when netem has it.
        ("netem delay 20ms", 100, 250),
    ],
)
def test_queueing_disciplines(command, discipline, least, most):
    result = run(
        command,
        "qdisc",
        "--set",
        f"{DISCIPLINE}=/sbin/tc qdisc replace dev eth0 root {discipline}",
    )
    console = (result / "host0.console").read_text()
    assert f"qdisc {discipline.split()[0]} " in console
    times = pings(result / "host0.console")
    assert len(times) == 8
    assert least < statistics.median(times) < most
    if discipline in ("pfifo limit 1000", "fq_codel"):
        # The card was full, and the discipline had to take a packet back.
        assert int(re.findall(r"requeues (\d+)", console)[0]) > 0
    assert len(received(result / "host1.console")) == 8
