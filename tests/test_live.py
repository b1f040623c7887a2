"""`afflux live`: packets of real hosts cross the simulated fabric, and nothing remains afterwards.

These tests run alone, after all others. `make validate-live` tests the accuracy in time.
"""

import ctypes
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import REPO

from afflux import _core

pytestmark = pytest.mark.realtime

PEER = REPO / "tests/live_peer.py"
#: Option that tolerates late packets, which do not matter here.
LENIENT = ("--bound", "10s")
CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN, CAP_SYS_NICE = 12, 13, 21, 23
PR_CAPBSET_DROP = 24

SCENARIO = """\
format = 1
name = "small"

[topology]
kind = "dumbbell"
pairs = 1
access_rate = "1Gbps"
access_delay = "10us"
rate = "20Mbps"
delay = "5ms"

[switch]
sharing = "static"
buffer = "40kB"
ecn = { k = "15kB" }

[host]
dscp_to_priority = { 26 = 3 }

[record]
ports = { interval = "10ms" }

[[traffic]]
kind = "pairs"
pairs = [[0, 1]]
sizes = "100kB"
"""

lacking = (
    [
        name
        for name, _, required, why, _ in _core.live_capabilities()
        if required and why is not None
    ]
    if sys.platform == "linux"
    else ["Linux"]
)
needs_hosts = pytest.mark.skipif(bool(lacking), reason=f"real hosts need {', '.join(lacking)}")


def live(
    tmp_path: Path,
    *arguments: object,
    text: str = SCENARIO,
    without: int | None = None,
    before: tuple[object, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Runs `afflux live` after `before`. `without`: a capability to drop."""
    (tmp_path / "small.toml").write_text(text)
    drop = (
        None
        if without is None
        else functools.partial(ctypes.CDLL(None).prctl, PR_CAPBSET_DROP, without, 0, 0, 0)
    )
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    command = [
        *map(str, before),
        sys.executable,
        "-m",
        "afflux",
        "live",
        "small.toml",
        *map(str, arguments),
    ]
    return subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=drop,
    )


def peer(
    tmp_path: Path, *arguments: object, options: tuple[str, ...] = LENIENT, text: str = SCENARIO
) -> tuple[dict, dict]:
    """Returns the findings of the hosts' program, and live.json."""
    done = live(
        tmp_path,
        *options,
        "--json",
        "--force",
        "-o",
        "out",
        "--",
        sys.executable,
        PEER,
        "found.json",
        *arguments,
        text=text,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report == json.loads((tmp_path / "out/live.json").read_text())
    return json.loads((tmp_path / "found.json").read_text()), report


@needs_hosts
def test_packets_cross_with_the_delay(tmp_path):
    found, report = peer(tmp_path, "echo", 50)
    # At least two times 5 ms, four times 10 us, and the serialization times on the links.
    assert len(found["trips"]) == 50
    assert min(found["trips"]) > 0.01004
    assert report["packets"]["entered"] == report["packets"]["delivered"] == 100
    assert report["valid"]
    assert report["base_rtt_us"] == pytest.approx(10_040)
    # The first packet to each of the two hosts is counted separately.
    assert (report["lateness_us"]["count"], report["first_lateness_us"]["count"]) == (98, 2)
    assert [(host["name"], host["addresses"]) for host in report["hosts"]] == [
        ("host0", ["10.0.0.1"]),
        ("host1", ["10.0.0.2"]),
    ]
    ports = {(port["node"], port["peer"]): port for port in report["ports"]}
    # 4 B of payload and 28 B of headers, padded to 64 B on the cable.
    assert ports["left", "right"]["tx_bytes"] == ports["right", "left"]["tx_bytes"] == 50 * 64
    assert any("1 of 1 flows are between real hosts" in note for note in report["notes"])


@needs_hosts
def test_marks_and_drops_reach_real_hosts(tmp_path):
    found, report = peer(tmp_path, "burst", 100, 2)
    packets = report["packets"]
    assert packets["entered"] == 100
    assert found["received"] == packets["delivered"]
    assert packets["unread"] == 0
    assert found["received"] + packets["dropped"] == 100
    assert 0 < packets["dropped"] < 90
    # 15 kB hold 14 frames, including the frame in transmission.
    assert found["marked"] == packets["marks_written"] > 10
    assert found["other"] == 0
    port = next(
        port for port in report["ports"] if (port["node"], port["peer"]) == ("left", "right")
    )
    assert (
        port["drops"],
        port["ecn_marks"] >= packets["marks_written"],
        port["queue_bytes_max"] <= 40_000,
    ) == (packets["dropped"], True, True)
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["name"] == "small"
    assert (tmp_path / "out/ports.parquet").is_file()


@needs_hosts
def test_packets_that_cannot_be_marked_are_not(tmp_path):
    found, report = peer(tmp_path, "burst", 100, 0)
    assert found["marked"] == report["packets"]["marks_written"] == 0
    assert found["other"] == found["received"] == 100 - report["packets"]["dropped"] < 100


@needs_hosts
def test_long_segments_are_cut_as_a_nic_would(tmp_path):
    found, report = peer(tmp_path, "upload", 2_000_000)
    packets = report["packets"]
    assert (found["received"], found["same"]) == (2_000_000, True)
    # Frames have 1,518 B plus overhead and are never longer. Some were marked, and the sender then
    # set CWR.
    port = next(
        port for port in report["ports"] if (port["node"], port["peer"]) == ("left", "right")
    )
    carried = 2_000_000 / 1448
    assert carried < packets["delivered"]
    assert carried * 1518 < port["tx_bytes"] < 1.1 * carried * 1518
    assert packets["marks_written"] > 0
    assert (packets["too_long"], packets["ignored"], packets["unread"]) == (0, 0, 0)


@needs_hosts
def test_notes_are_about_what_happened(tmp_path):
    # host0 and host1 are 40 us apart, but only host0 and host3 communicate.
    found, report = peer(
        tmp_path,
        "echo",
        20,
        text=SCENARIO.replace("pairs = 1", "pairs = 2").replace("[[0, 1]]", "[[0, 2], [1, 3]]"),
    )
    assert len(found["trips"]) == 20
    assert report["base_rtt_us"] == pytest.approx(10_040)
    late = [note for note in report["notes"] if "first packet" in note]
    assert len(late) == (report["first_lateness_us"]["max"] > report["bound_us"])
    assert [note for note in report["notes"] if note not in late] == [
        "2 of 2 flows are between real hosts: programs there send, live mode does not"
    ]


@needs_hosts
def test_no_packets_no_round_trip(tmp_path):
    done = live(
        tmp_path,
        "--json",
        "-o",
        "out",
        "--",
        "true",
        text=SCENARIO.replace('delay = "5ms"', 'delay = "5us"'),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["base_rtt_us"] is None
    assert not any("base round trip" in note for note in report["notes"])


@needs_hosts
def test_explain_says_where_packets_waited(tmp_path, command):
    peer(tmp_path, "upload", 2_000_000)
    done = command("explain", "out")
    assert done.returncode == 0, done.stderr
    assert "no completion time to split" in done.stdout
    assert re.search(r"propagation +10\.04 ms  there and back", done.stdout), done.stdout
    mean, unit, most = re.search(
        r"longest queue +([\d.]+) (µs|ms)  mean, at left → right; most ([\d.]+) ms", done.stdout
    ).groups()
    # 40 kB at 20 Mbps take 16 ms.
    assert 0 < float(mean) / (1 if unit == "ms" else 1e3) <= float(most) <= 16.7
    assert re.search(r"this machine +[\d.]+ (ns|µs|ms)  median", done.stdout)
    for wanted in (("--flow", "0"), ("--slowest", "3")):
        done = command("explain", "out", *wanted)
        assert done.returncode != 0
        assert "no simulated flows" in done.stderr


@needs_hosts
def test_explain_splits_what_was_simulated_beside(tmp_path, command):
    text = (
        SCENARIO.replace("pairs = 1", "pairs = 2")
        .replace("[[0, 1]]", "[[1, 3]]")
        .replace('"40kB"\necn = { k = "15kB" }', '"400kB"')
    )
    peer(tmp_path, "echo", 20, options=(*LENIENT, "--hosts", "host0,host2"), text=text)
    done = command("explain", "out")
    assert "Live run" in done.stdout
    assert "mean completion" in done.stdout


@needs_hosts
def test_the_command_sees_its_host_and_finds_the_others(tmp_path):
    found, _ = peer(tmp_path, "look")
    assert found["devices"] == found["sys"] == ["lo", "nic0"]
    assert found["processes"][0] == 1
    assert len(found["processes"]) <= 3, "a process namespace of its own"
    expected = {
        "AFFLUX_HOST": "host0",
        "AFFLUX_HOSTS": "2",
        "AFFLUX_NAME_1": "host1",
        "AFFLUX_ADDRESS_1": "10.0.0.2",
        "AFFLUX_ADDRESSES_0": "10.0.0.1",
    }
    assert expected.items() <= found["env"].items()


@needs_hosts
def test_simulated_and_real_hosts_share_the_fabric(tmp_path):
    text = SCENARIO.replace("pairs = 1", "pairs = 2").replace("[[0, 1]]", "[[1, 3], [0, 2]]")
    # Without ECN: the simulated flow would fill the queue above k, where datagrams that are not
    # ECN-capable are dropped, so that echoes would not come back.
    text = text.replace('"40kB"\necn = { k = "15kB" }', '"400kB"')
    assert "ecn" not in text
    found, report = peer(
        tmp_path, "echo", 30, options=(*LENIENT, "--hosts", "host0,host2"), text=text
    )
    assert len(found["trips"]) == 30
    assert any("1 of 2 flows are between real hosts" in note for note in report["notes"])
    import afflux

    flows = afflux.Result.open(tmp_path / "out").flows
    assert (flows["src"], flows["dst"], flows["status"]) == ([1], [3], ["finished"])


@needs_hosts
def test_a_run_that_fell_behind_is_not_valid(tmp_path):
    done = live(
        tmp_path,
        "--bound",
        "0us",
        "-o",
        "out",
        "--",
        sys.executable,
        PEER,
        "found.json",
        "echo",
        "20",
    )
    assert (done.returncode, "not valid: packets left" in done.stderr) == (1, True), done.stderr
    assert json.loads((tmp_path / "out/live.json").read_text())["valid"] is False


@needs_hosts
def test_it_ends_by_time_and_with_the_command(tmp_path):
    done = live(
        tmp_path, *LENIENT, "--duration", "300ms", "--json", "-o", "a", "--", "sleep", "1000"
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert 0.3 <= report["duration_s"] < 5
    assert report["command"] == {"command": ["sleep", "1000"], "status": None}
    done = live(tmp_path, *LENIENT, "-o", "b", "--", "sh", "-c", "exit 7")
    assert done.returncode == 1
    assert "the command ended with status 7" in done.stderr
    assert json.loads((tmp_path / "b/live.json").read_text())["command"]["status"] == 7
    done = live(tmp_path, "-o", "c", "--", "no-such-command")
    assert done.returncode == 2
    assert "no-such-command: there is no such command" in done.stderr
    assert not (tmp_path / "c").exists()


def namespaces() -> set[str]:
    """Returns the network namespaces that contain processes or that a process holds open."""
    found = set()
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            for link in [process / "ns/net", *fds(process)]:
                try:
                    found.add(os.readlink(link))
                except OSError:
                    continue
    return {name for name in found if name.startswith("net:")}


def fds(process: Path) -> list[Path]:
    try:
        return list((process / "fd").iterdir())
    except OSError:
        return []


def descendants(pid: int) -> set[int]:
    try:
        children = {
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        }
    except OSError:
        return set()
    return children | {found for child in children for found in descendants(child)}


def alive(pid: int) -> bool:
    try:
        return not re.search(r"^State:\s+Z", Path(f"/proc/{pid}/status").read_text(), re.M)
    except OSError:
        return False


@needs_hosts
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_behind(tmp_path, by):
    (tmp_path / "small.toml").write_text(SCENARIO)
    before, devices = namespaces(), Path("/proc/net/dev").read_text().count("\n")
    # A grandchild process that has left its parent, its session and standard output.
    stray = "setsid sleep 1000 >/dev/null 2>&1 & echo ready; sleep 1000"
    command = [
        sys.executable,
        "-m",
        "afflux",
        "live",
        "small.toml",
        "-o",
        "out",
        "--",
        "sh",
        "-c",
        stray,
    ]
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=heed,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        children = descendants(process.pid)
        assert len(children) >= 4, "two in between, the shell, and its children"
        # Other namespaces may appear and disappear meanwhile.
        own = {
            os.readlink(f"/proc/{process.pid}/fd/{fd.name}")
            for fd in fds(Path(f"/proc/{process.pid}"))
        } & (namespaces() - before)
        assert len(own) == 2
    finally:
        process.send_signal(by)
        process.communicate(timeout=20)
    deadline = time.monotonic() + 10
    while (any(map(alive, children)) or own & namespaces()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not [child for child in children if alive(child)]
    assert not own & namespaces()
    assert Path("/proc/net/dev").read_text().count("\n") == devices
    if by != signal.SIGKILL:
        assert process.returncode == 128 + by
        assert json.loads((tmp_path / "out/live.json").read_text())["interrupted"]
    else:
        assert not (tmp_path / "out").exists()


@needs_hosts
def test_thousands_of_hosts_can_be_stopped_while_they_are_set_up(tmp_path):
    scenario = SCENARIO.replace("pairs = 1", "pairs = 2000")
    (tmp_path / "many.toml").write_text(scenario)
    command = [
        sys.executable,
        "-m",
        "afflux",
        "live",
        "many.toml",
        "-o",
        "out",
        "--duration",
        "600s",
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        assert (
            process.stderr.readline()
            == "note: 4000 real hosts: each takes about 10 ms to set up; --hosts N makes fewer real\n"
        )
        time.sleep(1)
        namespace = Path("/proc/self/ns/net").stat().st_ino
        own = {
            os.stat(fd).st_ino
            for fd in fds(Path(f"/proc/{process.pid}"))
            if os.readlink(fd).startswith("net:")
        } - {namespace}
        assert 0 < len(own) < 3000, "under way"
    finally:
        process.send_signal(signal.SIGTERM)
        start = time.monotonic()
        process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert time.monotonic() - start < 8
    assert not (tmp_path / "out").exists()


@needs_hosts
def test_it_names_what_it_lacks(tmp_path):
    for capability, name in [(CAP_SYS_ADMIN, "CAP_SYS_ADMIN"), (CAP_NET_ADMIN, "CAP_NET_ADMIN")]:
        done = live(tmp_path, "-o", "out", "--", "true", without=capability)
        assert (done.returncode, f"error: {name} is lacking, which" in done.stderr) == (1, True), (
            done.stderr
        )
        assert not (tmp_path / "out").exists()
        done = live(tmp_path, "--check", "--json", without=capability)
        assert done.returncode == 1
        assert name in [row["name"] for row in json.loads(done.stdout) if row["lacking"]]
    done = live(tmp_path, *LENIENT, "--json", "-o", "out", "--", "true", without=CAP_SYS_NICE)
    assert done.returncode == 0
    assert not json.loads(done.stdout)["real_time_scheduling"]
    assert "note: no real-time scheduling (CAP_SYS_NICE is lacking" in done.stderr


def test_wrong_options(tmp_path):
    for options, message in [
        (["--hosts", "3"], "--hosts 3: the scenario has 2 hosts"),
        (
            ["--hosts", "host0,host9"],
            '"host9" is not one of the scenario\'s 2 hosts (host0 to host1)',
        ),
        (["--hosts", "0,host0"], '"host0" comes twice'),
        (["--attach", "host1"], "--attach host1: write HOST=INTERFACE, as in host2=eth1"),
        (
            ["--attach", "host9=eth1"],
            '--attach host9=eth1: "host9" is not one of the scenario\'s 2 hosts (host0 to host1)',
        ),
        (
            ["--attach", "host1=eth1,eth2"],
            "host1 needs an interface per NIC, with commas between them: 1, not 2",
        ),
        (["--attach", "host0=eth1", "--attach", "host1=eth1"], '"eth1" comes twice'),
        (
            ["--attach", "host1=eth1", "--hosts", "1"],
            "host1 is not among the real hosts that --hosts names",
        ),
        (["--duration", "5"], "--duration 5: "),
        (["--bound", "fast"], "--bound fast: "),
        (["--set", "run.engine=ideal"], '"ideal"'),
    ]:
        done = live(tmp_path, *options, "-o", "out", "--", "true")
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
        assert not (tmp_path / "out").exists()


WIRE = REPO / "tests/live_wire.py"


def attached(
    tmp_path: Path, state: str, *arguments: object, without: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs `afflux live` where host1 is a machine behind the interface `wire`."""
    return live(tmp_path, *arguments, before=(sys.executable, WIRE, state), without=without)


@needs_hosts
def test_a_machine_behind_an_interface(tmp_path):
    command = ("--", sys.executable, PEER, "found.json", "call", 50)
    done = attached(
        tmp_path, "free", *LENIENT, "--attach", "host1=wire", "--json", "-o", "out", *command
    )
    assert done.returncode == 0, done.stderr
    assert "host1  10.0.0.2  behind wire\n" in done.stderr
    found, report = json.loads((tmp_path / "found.json").read_text()), json.loads(done.stdout)
    assert len(found["trips"]) == 50
    assert min(found["trips"]) > 0.01004
    assert (found["received"], found["same"]) == (256_000, True)
    assert report["valid"]
    assert [(host["name"], host["interfaces"]) for host in report["hosts"]] == [
        ("host0", []),
        ("host1", ["wire"]),
    ]
    packets = report["packets"]
    assert packets["entered"] > 100 + 2 * 256_000 / 1460
    assert packets["delivered"] + packets["dropped"] == packets["entered"]
    assert (packets["unread"], packets["refused"], packets["too_long"]) == (0, 0, 0)


@needs_hosts
def test_interfaces_that_cannot_be_attached(tmp_path):
    for state, interface, message in [
        ("free", "eth7", "eth7 is not there: `ip link` lists what is"),
        ("free", "lo", "lo is not an Ethernet interface"),
        (
            "used",
            "wire",
            "wire has an address of this machine (192.0.2.1), so it is in use: `ip addr flush dev wire`",
        ),
        (
            "joins",
            "wire",
            "wire joins the segments that it receives: `ethtool -K wire gro off lro off`",
        ),
    ]:
        done = attached(
            tmp_path, state, "--attach", f"host1={interface}", "-o", "out", "--", "true"
        )
        assert (done.returncode, f"--attach: {message}" in done.stderr) == (2, True), done.stderr
        assert not (tmp_path / "out").exists()
    done = attached(
        tmp_path,
        "free",
        "--set",
        "host.mtu=9000B",
        "--attach",
        "host1=wire",
        "-o",
        "out",
        "--",
        "true",
    )
    assert (
        done.returncode,
        "wire carries packets of 1500 B at most, and the scenario has 9000 B" in done.stderr,
    ) == (2, True), done.stderr
    done = attached(
        tmp_path, "free", "--attach", "host1=wire", "-o", "out", "--", "true", without=CAP_NET_RAW
    )
    assert (
        done.returncode,
        "error: CAP_NET_RAW is lacking, which attaches interfaces that exist" in done.stderr,
    ) == (1, True), done.stderr


@needs_hosts
def test_an_interface_behind_which_nobody_answers(tmp_path):
    done = attached(
        tmp_path,
        "free",
        *LENIENT,
        "--attach",
        "host0=wire",
        "--duration",
        "100ms",
        "--json",
        "-o",
        "out",
    )
    assert done.returncode == 0, done.stderr
    assert "host0  10.0.0.1  behind wire, nobody answers yet" in done.stderr
    assert "nobody behind wire has said that it is 10.0.0.1 (host0)" in done.stderr


@needs_hosts
@pytest.mark.skipif(shutil.which("ip") is None, reason="deleting a device needs `ip`")
def test_a_device_that_vanishes_ends_the_run_with_its_result(tmp_path):
    """The whole run was lost."""
    script = f"{sys.executable} {PEER} found.json echo 20 && ip link del nic0 && sleep 5"
    done = live(tmp_path, *LENIENT, "--json", "-o", "out", "--", "sh", "-c", script)
    assert done.returncode == 1, done.stderr
    report = json.loads((tmp_path / "out/live.json").read_text())
    assert report == json.loads(done.stdout)
    assert not report["valid"]
    assert re.match(
        r"reading from host0: .*: the run ended there, at \d\.\d+ s$", report["wrong"][0]
    )
    assert report["packets"]["delivered"] > 10
    assert report["duration_s"] < 5
