"""`[[host.kernel]]` and `afflux kernel`: Linux kernels as hosts in simulated time.

Tests that run a kernel are skipped where no image exists (`afflux kernel build`)."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_captures import dissect

from afflux import Result, _core, kernels
from afflux.kernels import building
from afflux.terminal import progress

#: The image that these tests use, looked up before any test changes the environment.
IMAGES = kernels.directory()
needs_image = pytest.mark.skipif(
    not (IMAGES / kernels.USUAL / "linux").is_file(),
    reason=f"no kernel {kernels.USUAL} in {IMAGES}: afflux kernel build",
)

PAIR = """\
format = 1
name = "pair"
[topology]
kind = "star"
hosts = 2
rate = "100Mbps"
delay = "500us"
[[host.kernel]]
match = "host*"
run = "bulk server 5001"
at = { "1s" = 'test "$AFFLUX_NUMBER" = 1 || bulk client host1 5001 1' }
[run]
until = "2.5s"
"""


def changed(*replacements: tuple[str, str]) -> str:
    text = PAIR
    for before, after in replacements:
        assert before in text
        text = text.replace(before, after)
    return text


def wrong(tmp_path: Path, *replacements: tuple[str, str]) -> str:
    """Returns the message about a changed scenario."""
    with pytest.raises(_core.ScenarioError) as error:
        _core.parse(changed(*replacements), tmp_path / "pair.toml")
    return str(error.value)


@pytest.mark.parametrize(
    ("replacement", "told"),
    [
        (('until = "2.5s"', ""), "key run.until: kernels do not end by themselves"),
        (("[run]", '[[host.kernel]]\nmatch = "host1"\n[run]'), "host1 has a kernel already"),
        (('match = "host*"', 'match = "host7"'), "host7"),
        (("[run]", '[run]\nengine = "ideal"'), "kernels send packets"),
        (('run = "', 'image = "six"\nrun = "'), '"six" is no version'),
        (('run = "', 'memory = "8MB"\nrun = "'), 'write a size from "24MB" to "4GB"'),
        (('run = "', 'watchdog = "1ms"\nrun = "'), 'write a time from "1s" to "1h"'),
        (('run = "', 'sysctl = { "a b" = 1 }\nrun = "'), "is no name of a kernel parameter"),
        (('run = "', 'files = ["nothing.py"]\nrun = "'), "nothing.py"),
        (
            ('run = "', 'files = ["/nowhere/redis-benchmark"]\nrun = "'),
            "/nowhere/redis-benchmark: cannot be read: No such file or directory (os error 2): "
            "the package redis-tools has it (key host.kernel[0].files[0]",
        ),
        (('"1s" =', '"soon" ='), "write a time as in"),
        (('run = "', 'sysctls = { a = 1 }\nrun = "'), 'did you mean "sysctl"'),
        (
            ("[run]", '[[traffic]]\nkind = "pairs"\npairs = [[0, 1]]\nsizes = "1kB"\n[run]'),
            "host0 is a kernel",
        ),
        (('run = "', 'tcp_info = "1.5ms"\nrun = "'), "write whole milliseconds"),
        (('run = "', 'tcp_info = "0s"\nrun = "'), "write whole milliseconds"),
    ],
)
def test_wrong_scenarios_are_refused(tmp_path, replacement, told):
    message = wrong(tmp_path, replacement)
    assert told in message
    assert "pair.toml" in message


def test_two_files_need_two_places(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "server.py").write_text(f"print('{name}')\n")
    message = wrong(tmp_path, ('run = "', 'files = ["one/server.py", "other/server.py"]\nrun = "'))
    assert "another file has the same place in the guest, /root/server.py" in message
    assert "host.kernel[0].files[1]" in message


def test_an_image_in_the_making_is_not_listed(tmp_path, monkeypatch):
    monkeypatch.setenv("AFFLUX_KERNELS", str(tmp_path))
    for name in ("6.12", "6.6", "6.12-old", "6.12.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "linux").touch()
        (tmp_path / name / "image.json").write_text("{}")
    assert [image.version for image in kernels.images()] == ["6.6", "6.12"]


def test_files_are_identified(tmp_path):
    (tmp_path / "server.py").write_text("print(1)\n")
    text = changed(('run = "', 'files = ["server.py"]\nrun = "'))
    resolved = _core.parse(text, tmp_path / "pair.toml").resolved
    assert str(tmp_path / "server.py") in resolved
    (tmp_path / "server.py").write_text("print(2)\n")
    with pytest.raises(_core.ScenarioError, match="not the one of this scenario"):
        _core.parse(resolved, tmp_path / "pair.toml")


def test_without_an_image(command, tmp_path, monkeypatch):
    monkeypatch.setenv("AFFLUX_KERNELS", str(tmp_path / "none"))
    (tmp_path / "pair.toml").write_text(PAIR)
    done = command("run", "pair.toml")
    assert done.returncode == 2
    assert "afflux kernel build 6.12" in done.stderr
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").glob("pair*"))
    checked = command("check", "pair.toml", "--json")
    assert "`afflux kernel build 6.12`" in json.loads(checked.stdout)["notes"][-1]
    swept = command("sweep", "pair.toml", "--seeds", "1")
    assert swept.returncode == 1
    assert "afflux kernel build 6.12" in swept.stderr + swept.stdout
    assert "Traceback" not in swept.stderr + swept.stdout
    assert "build one with  afflux kernel build" in command("kernel", "list").stdout
    assert json.loads(command("kernel", "list", "--json").stdout) == []
    assert command("kernel", "check").returncode == 2


def test_a_build_says_what_it_lacks(command, tmp_path, monkeypatch):
    monkeypatch.setenv("AFFLUX_KERNELS", str(tmp_path / "kernels"))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = command("kernel", "build")
    assert done.returncode == 2
    assert "apt-get install gcc make bc" in done.stderr
    assert command("kernel", "build", "new").returncode == 2


def test_an_image_has_one_timer_frequency(command, tmp_path, monkeypatch):
    monkeypatch.setenv("AFFLUX_KERNELS", str(tmp_path))
    (tmp_path / "6.12").mkdir()
    (tmp_path / "6.12" / "image.json").write_text('{"hz": 250}')
    assert command("kernel", "build").returncode == 0
    done = command("kernel", "build", "--hz", "1000")
    assert done.returncode == 2
    assert "has a timer of 250 Hz" in done.stderr
    assert "default 1000" in building.changes(1000)[-1][2]


def test_an_interrupted_step_leaves_nothing_under_its_name(tmp_path):
    def step(fail: bool) -> None:
        with building._whole(tmp_path / "done") as partial:
            (partial / "a").write_text("a")
            if fail:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        step(fail=True)
    assert not (tmp_path / "done").exists()
    step(fail=False)
    assert [path.name for path in (tmp_path / "done").iterdir()] == ["a"]
    assert not list(tmp_path.glob("*.partial"))


@needs_image
def test_check_and_list(command):
    done = command("kernel", "check")
    assert done.returncode == 0, done.stderr
    assert "300.00" in done.stdout
    listed = json.loads(command("kernel", "list", "--json").stdout)
    assert kernels.USUAL in [image["version"] for image in listed]


@needs_image
def test_a_transfer_takes_the_link_and_its_files_are_there(command, tmp_path):
    (tmp_path / "pair.toml").write_text(PAIR)
    done = command("run", "pair.toml")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out" / "pair-1"
    files = {path.name for path in out.iterdir()}
    assert {"kernels.json", "packets.parquet", "host0.pcap", "host1.console"} <= files
    report = json.loads((out / "kernels.json").read_text())
    assert report["failure"] is None
    assert [command["status"] for command in report["hosts"][0]["commands"]] == [None, 0]
    # Full frames, the handshake and the end of the connection.
    sent, received = (
        [host[key] for host in report["hosts"]] for key in ("sent_packets", "received_packets")
    )
    payload = re.search(r"received (\d+) bytes", (out / "host1.console").read_text())
    assert payload
    assert sent[0] == pytest.approx(int(payload[1]) / 1448, abs=5)
    assert sent == received[::-1]
    assert "2 started, 2 finished, 0 unfinished (2 of kernels)" in done.stdout
    assert "0 retransmissions, time-outs unknown" in done.stdout
    assert "Completion time" in done.stdout
    assert "Slowdown" not in done.stdout
    rate = re.search(r"received \d+ bytes .*: ([\d.]+) Mbit/s", (out / "host1.console").read_text())
    # 1448 of 1538 bytes are payload.
    assert rate
    assert float(rate[1]) == pytest.approx(100 * 1448 / 1538, rel=0.01)
    assert command("verify", "out/pair-1").returncode == 0
    the_flows_are_in_the_usual_tables(Result.open(out), int(payload[1]))
    summary = json.loads((out / "summary.json").read_text())
    assert summary["simulated_ns"] == 2_500_000_000


def the_flows_are_in_the_usual_tables(result: Result, payload: int) -> None:
    flows = {name: result.flows.column(name) for name in result.flows.column_names}
    # The transfer, and the server's last byte.
    assert flows["bytes"] == flows["delivered_bytes"] == [payload, 1]
    assert flows["status"] == ["finished", "finished"]
    assert flows["kernel"] == [True, True]
    assert flows["class"] == ["kernel", "kernel"]
    assert [*zip(flows["src_name"], flows["dst_name"], strict=True)] == [
        ("host0", "host1"),
        ("host1", "host0"),
    ]
    for name in ("ideal_ns", "slowdown", "timeouts", "propagation_ns", "window_ns"):
        assert flows[name] == [None, None], name
    # 1448 of 1538 bytes are payload.
    assert flows["goodput_bps"][0] == pytest.approx(1e8 * 1448 / 1538, rel=0.02)
    packets = {
        name: result.table("packets").column(name) for name in result.table("packets").column_names
    }
    assert packets["flow"] == flows["id"]
    assert packets["protocol"] == ["tcp", "tcp"]
    assert packets["dst_address"][0] == "10.0.0.2"
    assert packets["dst_port"][0] == packets["src_port"][1] == 5001
    # SYN, the last acknowledgement, the FIN and the frame of the handshake are no data.
    assert 1 <= packets["sent_packets"][0] - flows["packets_sent"][0] <= 5
    # Two cables of 500 us, and at least the frame of an acknowledgement on two links.
    assert 1_000_000 + 2 * 6_720 <= packets["delay_ns_least"][0] < 1_050_000
    assert packets["round_trip_ns_least"][0] >= 2 * packets["delay_ns_least"][0]
    summary = result.summary
    assert summary["flows"]["of_kernels"] == 2
    assert summary["fct"]["all"]["count"] == 2
    assert summary["slowdown"]["all"]["count"] == 0
    assert summary["slowdown"]["all"]["mean"] is None
    assert result.explain().slowest(5) == []


@needs_image
def test_a_captured_link_has_the_bytes_of_packets(command, tmp_path):
    record = '[record]\ncapture = "host0-switch0"\nsnaplen = "64kB"\npaths = true\n[run]'
    (tmp_path / "pair.toml").write_text(
        changed(("[run]", record), ("host1 5001 1'", "host1 5001 200000B'"))
    )
    done = command("run", "pair.toml")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out/pair-1"
    result = Result.open(out)
    packets, paths = result.table("packets"), result.table("paths")
    assert paths.column("path")[0] == "host0>switch0>host1"
    # All packets of the client's direction arrive, and nothing else takes its path.
    assert paths.column("frames")[0] == packets.column("received_packets")[0]
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark")
    (file,) = out.rglob("host0-switch0-both.pcapng")
    assert dissect(file, "_ws.malformed || tcp.checksum.status == 0", ["frame.number"]) == []
    # The frames on the link are those at the NIC: the same identification, numbers and lengths.
    names = ("ip.src", "ip.id", "tcp.seq_raw", "tcp.ack_raw", "tcp.len", "frame.len")
    link, nic = (
        {tuple(frame.values()) for frame in dissect(of, "tcp", names)}
        for of in (file, out / "host0.pcap")
    )
    assert link == nic
    assert sum(int(length) for *_, length, _ in link) == 200_001


def test_what_is_no_tcp_has_no_completion(command, tmp_path):
    if not (IMAGES / kernels.USUAL / "linux").is_file():
        pytest.skip(f"no kernel {kernels.USUAL} in {IMAGES}: afflux kernel build")
    ping = 'test "$AFFLUX_NUMBER" = 1 || ping -c 3 -i 0.1 host1'
    text = changed((at_of(PAIR), ping), ('run = "bulk server 5001"\n', 'class = "probe"\n'))
    (tmp_path / "pair.toml").write_text(text)
    assert command("run", "pair.toml").returncode == 0
    result = Result.open(tmp_path / "out/pair-1")
    assert result.table("packets").column("protocol") == ["icmp", "icmp"]
    assert result.flows.column("fct_ns") == [None, None]
    assert result.flows.column("class") == ["probe", "probe"]
    assert result.table("packets").column("round_trips") == [None, None]
    assert not result.summary["fct"]["all"]["censored"]
    done = command("explain", "out/pair-1", "--flow", str(result.flows.column("id")[0]))
    assert "packets of this protocol do not show an end" in done.stdout


def at_of(text: str) -> str:
    """Returns the client's command in `PAIR`."""
    found = re.search(r"\"1s\" = '(.*?)'", text)
    assert found
    return found[1]


#: A kernel's transfer and a simulated one share a short queue, in which both lose packets.
MIXED = """\
format = 1
name = "mixed"
[topology]
kind = "dumbbell"
pairs = 2
access_rate = "200Mbps"
access_delay = "100us"
rate = "100Mbps"
delay = "500us"
[switch]
sharing = "static"
buffer = "20kB"
[[host.kernel]]
match = ["host0", "host2"]
run = "bulk server 5001"
at = { "0.5s" = 'test "$AFFLUX_NUMBER" = 2 || bulk client host2 5001 500000B' }
tcp_info = "1ms"
[[traffic]]
kind = "pairs"
pairs = [[1, 3]]
sizes = "300kB"
start = "0.5s"
[record]
waits = "all"
[run]
until = "0.7s"
"""


@needs_image
def test_explain_compare_and_report(command, tmp_path):
    (tmp_path / "mixed.toml").write_text(MIXED)
    for name, buffer in (("mixed", "20kB"), ("deep", "60kB")):
        done = command(
            "run", "mixed.toml", "--set", f"name={name}", "--set", f"switch.buffer={buffer}"
        )
        assert done.returncode == 0, done.stderr
        assert "3 started, 3 finished, 0 unfinished (2 of kernels)" in done.stdout
        assert "time-outs of simulated senders" in done.stdout
    compared = command("compare", "out/mixed-1", "out/deep-1", "--json")
    assert compared.returncode == 0, compared.stderr
    # The parts are those of simulated flows, and the sentence says so.
    done = command("report", "out/mixed-1", "-o", "one.html")
    assert done.returncode == 0, done.stderr
    one = (tmp_path / "one.html").read_text()
    assert "Of the time of simulated flows, " in one
    assert "programs on 2 Linux kernels" in one
    assert "Of the time of all flows" not in one.partition("<script")[0]
    done = command("report", "out/mixed-1", "out/deep-1", "-o", "report.html")
    assert done.returncode == 0, done.stderr
    result = Result.open(tmp_path / "out/mixed-1")
    assert result.flows.column("class") == ["default", "kernel", "kernel"]
    assert result.flows.column("slowdown")[1:] == [None, None]
    ((slow, *_),) = [result.explain().slowest(5)]
    assert slow.id == 0
    transfer = result.flows.column("bytes").index(500_000)
    the_simulated_and_the_real_flow_are_explained(command, result.flows.column("id")[transfer])
    the_samples_fit_the_packets(result, transfer)


def the_simulated_and_the_real_flow_are_explained(command, id: int) -> None:
    done = command("explain", "out/mixed-1")
    assert done.returncode == 0, done.stderr
    for told in ("Where the time went", "Flows of kernels, by their packets", "What senders knew"):
        assert told in done.stdout, told
    listed = json.loads(command("explain", "out/mixed-1", "--kernels", "--json").stdout)
    assert id in [one["id"] for one in listed]
    one = json.loads(command("explain", "out/mixed-1", "--flow", str(id), "--json").stdout)
    # 346 segments, and as many again as the queue dropped.
    again = one["packets_retransmitted"]
    assert one["packets_sent"] == 346 + again
    assert 1 <= one["dropped_packets"] <= again
    # The link of 100 Mbps empties 20 kB in 1.6 ms.
    assert 0 < one["queueing_ns_mean"] < 1_600_000
    assert one["delay_ns_most"] - one["delay_ns_least"] < 1_600_000 + 30 * 60_000
    worst = one["hops"][0]
    assert (worst["node"], worst["peer"]) == ("left", "right")
    assert worst["wait_ns"] > 0
    done = command("explain", "out/mixed-1", "--flow", str(id))
    for told in (
        "class kernel, a real kernel's",
        "delay from NIC to NIC",
        "round trip to its",
        f"{again} data packets had been sent before",
        "do not show why a kernel",
    ):
        assert told in " ".join(done.stdout.split()), told
    assert command("explain", "out/mixed-1", "--kernels", "--where").returncode == 2


def the_samples_fit_the_packets(result: Result, row: int) -> None:
    """The kernel's own account of a flow agrees with that of its packets."""
    id, start, fct = (result.flows.column(name)[row] for name in ("id", "start_ns", "fct_ns"))
    senders, packets = result.table("senders"), result.table("packets")
    columns = [
        senders.column(name) for name in ("flow", "time_ns", "window_bytes", "smoothed_rtt_ns")
    ]
    samples = [rest for flow, *rest in zip(*columns, strict=True) if flow == id]
    assert [time for time, *_ in samples] == [
        time for time in range(500_000_000, 700_000_000, 1_000_000) if start <= time < start + fct
    ]
    windows = [window for _, window, _ in samples]
    assert all(window % 1448 == 0 for window in windows)
    # It begins with ten segments.
    assert windows[0] == 14_480
    assert max(windows) > windows[0]
    most = packets.column("round_trip_ns_most")[packets.column("flow").index(id)]
    # The cables take 1.4 ms there and back, which a smoothed round trip exceeds, also that of the SYN.
    assert all(1_400_000 < srtt <= most for _, _, srtt in samples if srtt is not None)


@needs_image
def test_progress_has_speed_and_the_slowest_guest(tmp_path):
    seen = []
    loaded = _core.parse(MIXED, tmp_path / "mixed.toml")
    loaded.run(on_progress=lambda progress: seen.append((progress.now_ns, progress.slowest_guest)))
    slowest = [guest for _, guest in seen if guest]
    assert slowest
    assert {name for name, _ in slowest} <= {"host0", "host2"}
    assert all(seconds > 0 for _, seconds in slowest)
    assert sorted(now for now, _ in seen) == [now for now, _ in seen]


def test_the_line_of_progress_names_the_slowest_guest():
    class Scenario:
        until_ns, flows, expected_end_ns = 2_000_000_000, 0, None

    class Progress:
        now_ns, packet_hops, flows_finished = 500_000_000, 10, 0
        slowest_guest = ("host7", 1e-9)

    pace = progress.Pace(Scenario())
    time.sleep(0.01)
    pace.update(Progress())
    assert re.search(
        r"^500.0 ms of 2.000 s  [\d.]+ s per second, slowest host7 \(.* %\)  ", pace.line
    )
    Progress.slowest_guest = None
    pace.update(Progress())
    assert "Mhop/s" in pace.line


@needs_image
def test_a_failing_command_is_named_and_results_are_kept(command, tmp_path):
    text = changed(("bulk server 5001", "ls /nowhere"))
    (tmp_path / "pair.toml").write_text(text)
    done = command("run", "pair.toml")
    assert done.returncode == 1
    assert 'host0: the command "ls /nowhere" ended with status 1' in done.stderr
    assert "/nowhere: No such file" in done.stderr
    assert "written to out/pair-1" in done.stderr
    assert (tmp_path / "out/pair-1/host0.console").is_file()


def traces(of: Path) -> list[str]:
    """Returns command lines of processes that were started from below `of`, and files there."""
    found = [str(path) for path in (of / "tmp").iterdir()]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(of) in text:
            found.append(text)
    return found


@needs_image
@pytest.mark.slow
def test_a_kill_leaves_nothing_behind(tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "images").symlink_to(IMAGES)
    (tmp_path / "pair.toml").write_text(
        PAIR.replace('"2.5s"', '"500s"').replace("5001 1'", "5001 400'")
    )
    environment = os.environ | {
        "AFFLUX_KERNELS": str(tmp_path / "images"),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    mounts = Path("/proc/mounts").read_text()
    draw = random.Random(1)
    seen = 0
    for _ in range(10):
        run = subprocess.Popen(
            [sys.executable, "-m", "afflux", "run", str(tmp_path / "pair.toml")],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(draw.uniform(0.5, 3))
        seen += any("images/6.12/linux" in trace for trace in traces(tmp_path))
        run.send_signal(signal.SIGKILL)
        run.wait()
        end = time.monotonic() + 10
        while (left := traces(tmp_path)) and time.monotonic() < end:
            time.sleep(0.05)
        assert not left
    assert seen >= 3, "the guests were running at some of the kills"
    assert Path("/proc/mounts").read_text() == mounts
