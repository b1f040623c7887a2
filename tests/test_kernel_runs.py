"""Runs with `[[host.kernel]]`: that they repeat, that rates are those of theory, what happens when a
guest fails, and what a guest can see. Tests are skipped where no image exists (`afflux kernel
build`)."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Command
from test_kernels import IMAGES, PAIR, changed, needs_image

#: Kernels boot, and watchdogs and pings take their time.
pytestmark = [needs_image, pytest.mark.slow]

#: Two kernels that transfer 300 kB, with loss in a queue of 20 kB, and two hosts without traffic.
SMALL = """\
format = 1
name = "small"
[topology]
kind = "star"
hosts = 4
rate = "100Mbps"
delay = "500us"
[switch]
sharing = "static"
buffer = "20kB"
[[host.kernel]]
match = ["host0", "host1"]
run = "bulk server 5001"
at = { "0.1s" = 'test "$AFFLUX_NUMBER" = 1 || bulk client host1 5001 300000B' }
[run]
until = "0.5s"
"""
#: Two more kernels, on the other hosts.
BESIDE = """\
[[host.kernel]]
match = ["host2", "host3"]
run = "bulk server 5001"
at = { "0.1s" = 'test "$AFFLUX_NUMBER" = 3 || bulk client host3 5001 300000B' }
[run]
"""


def run(command: Command, text: str, *options: str, status: int = 0) -> tuple[Path, str]:
    """Runs a scenario, and returns its result and the text on stderr."""
    Path("case.toml").write_text(text)
    done = command("run", "case.toml", "-o", "result", "--force", *options)
    assert done.returncode == status, done.stderr
    return Path("result").absolute(), done.stderr


def contents(result: Path, hosts: str = "host[0-9]") -> dict[str, bytes]:
    """Returns the files of a result that are equal in every run: all but real times."""
    kept = {
        path.name: path.read_bytes()
        for path in result.iterdir()
        if path.suffix in (".parquet", ".csv") or re.match(hosts, path.name)
    }
    report = json.loads((result / "kernels.json").read_text())
    for host in report["hosts"]:
        del host["wall_s"]
    return kept | {"kernels.json": json.dumps(report).encode()}


def test_runs_repeat_with_threads_engines_and_kernels_beside(command):
    first = contents(run(command, SMALL)[0])
    assert b"received 300000 bytes" in first["host1.console"]
    assert len(first["host0.pcap"]) > 200 * 16
    for options in (
        (),
        ("--threads", "2"),
        ("--threads", "3"),
        ("--set", "run.engine=classical"),
    ):
        again = contents(run(command, SMALL, *options)[0])
        assert again == first, options
    beside = run(command, SMALL.replace("[run]\n", BESIDE))[0]
    pair = "host[01]"
    of_pair = {name: data for name, data in first.items() if re.match(pair, name)}
    assert {
        name: data for name, data in contents(beside).items() if re.match(pair, name)
    } == of_pair
    other = contents(run(command, SMALL, "--seed", "2")[0])
    assert other["host0.pcap"] != first["host0.pcap"]


@pytest.mark.skipif(
    not (IMAGES / "6.1" / "linux").is_file(),
    reason=f"no kernel 6.1 in {IMAGES}: afflux kernel build 6.1",
)
@pytest.mark.parametrize("sender", [0, 1])
def test_two_versions_side_by_side(command, sender):
    """Linux before 6.10 has its clock by messages only, later versions share a page with it."""
    text = SMALL[: SMALL.index("[[host.kernel]]")]
    for host, image in enumerate(("6.1", "6.12")):
        sends = f"bulk client host{1 - host} 5001 300000B" if host == sender else "uname -r"
        text += (
            f'[[host.kernel]]\nmatch = "host{host}"\nimage = "{image}"\n'
            f'run = "bulk server 5001"\nat = {{ "0.1s" = "{sends}" }}\n'
        )
    text += SMALL[SMALL.index("[run]") :]
    first = contents(run(command, text)[0])
    assert b"received 300000 bytes" in first[f"host{1 - sender}.console"]
    assert contents(run(command, text, "--threads", "2")[0]) == first


def test_a_ping_over_300_ms_takes_300_ms_every_time(command):
    text = changed(
        ('rate = "100Mbps"', 'rate = "1000Gbps"'),
        ('delay = "500us"', 'delay = "75ms"'),
        ("bulk client host1 5001 1", "ping -c 200 -i 0.4 host1"),
        ('until = "2.5s"', 'until = "82s"'),
    )
    result, _ = run(command, text)
    times = re.findall(r"time=(\S+) ms", (result / "host0.console").read_text())
    assert len(times) == 200
    # The program reads its clock before and after, which takes 256 ns each.
    assert set(times) <= {"300.000", "300.001"}


@pytest.mark.skipif(not Path("/bin/ip").exists(), reason="needs /bin/ip: apt-get install iproute2")
def test_the_rate_of_a_window_is_that_of_theory(command):
    """The congestion window is held at 44 segments of 1,448 B. A window is acknowledged one round
    trip after its first pair has left: 75 ms on each of four links, two segments on the first link
    and one on the second, and an acknowledgement on two links."""
    segments, extra = 44, 100
    short, long = 2_000_000, 2_000_000 + extra * segments * 1448
    text = changed(
        ('delay = "500us"', 'delay = "75ms"'),
        (
            'run = "bulk server 5001"',
            'files = ["/bin/ip"]\nmemory = "96MB"\nrun = "bulk server 5001"',
        ),
        (
            '"1s" =',
            # A kernel holds windows only to destinations that it has met before.
            '"0.1s" = \'/bin/ip route replace default dev eth0 table 100 cwnd lock 44; '
            'test "$AFFLUX_NUMBER" = 1 || bulk client host1 5001 1000B\', "2s" =',
        ),
        ("bulk client host1 5001 1'", f"bulk client host1 5001 {short}B'"),
        (
            " }\n[run]",
            f' , "20s" = \'test "$AFFLUX_NUMBER" = 1 || bulk client host1 5001 {long}B\' }}\n[run]',
        ),
        ('until = "2.5s"', 'until = "80s"'),
    )
    result, _ = run(command, text)
    console = (result / "host0.console").read_text()
    times = [float(took) for took in re.findall(r"sent \d+ bytes in ([\d.]+) s", console)]
    assert len(times) == 3
    round_trip = 0.3 + 8 * (3 * 1538 + 2 * 90) / 100e6
    assert times[2] - times[1] == pytest.approx(extra * round_trip, rel=1e-4)


@pytest.mark.parametrize(
    "spins",
    [
        "while :; do :; done",
        # Two processes that wake each other by system calls.
        "yes | cat > /dev/null",
    ],
)
def test_a_guest_that_spins_is_stopped(command, spins):
    text = changed(("bulk client host1 5001 1", spins), ('run = "', 'watchdog = "6s"\nrun = "'))
    result, said = run(command, text, status=1)
    assert "host0: did not become idle for 6 s of real time (host.kernel watchdog)" in said
    assert f'after the command 1: test "$AFFLUX_NUMBER" = 1 || {spins}, at 1.0' in said
    report = json.loads((result / "kernels.json").read_text())
    assert report["hosts"][0]["ended_s"] == pytest.approx(1, abs=0.01)
    # The other guest hands over what it has.
    assert "[afflux] start 0: bulk server" in (result / "host1.console").read_text()


@pytest.mark.skipif(not Path("/usr/bin/perl").exists(), reason="needs /usr/bin/perl")
def test_a_guest_that_floods_is_held_by_its_card(command, tmp_path):
    """A program that sends datagrams without end waits for the card, so that time passes."""
    (tmp_path / "flood.pl").write_text(
        'socket(S, 2, 2, 17); $to = pack("Sna4x8", 2, 9, "\\x0a\\0\\0\\2");\n'
        'send(S, "x" x 1400, 0, $to) while 1;\n'
    )
    text = changed(
        ('run = "', 'files = ["flood.pl", "/usr/bin/perl"]\nmemory = "96MB"\nrun = "'),
        ("bulk client host1 5001 1", "perl flood.pl"),
        ('until = "2.5s"', 'until = "1.05s"'),
    )
    result, _ = run(command, text)
    hosts = json.loads((result / "kernels.json").read_text())["hosts"]
    # 50 ms at 100 Mbps with 1,466 B for each, and what waits in the card.
    line = 0.05 * 100e6 / 8 / 1466
    assert line * 0.95 < hosts[0]["sent_packets"] < line + 260


def test_a_panic_is_told(command):
    text = changed(
        (
            "bulk client host1 5001 1",
            "echo 1 > /proc/sys/vm/panic_on_oom; tail /dev/zero",
        ),
    )
    result, said = run(command, text, status=1)
    assert "host0: Kernel panic - not syncing: " in said
    assert "out of memory" in said.lower()
    assert ", at 1.0" in said
    report = json.loads((result / "kernels.json").read_text())
    assert "Kernel panic" in report["failure"]
    assert "Kernel panic" in (result / "host0.console").read_text()
    assert (result / "host0.pcap").is_file()


def test_too_little_memory_is_told(command, tmp_path):
    (tmp_path / "large").write_bytes(os.urandom(30_000_000))
    text = changed(('run = "', 'memory = "24MB"\nfiles = ["large"]\nrun = "'))
    _, said = run(command, text, status=1)
    assert said.startswith("error: host0: its kernel did not start; ")
    assert "raise memory in [[host.kernel]]; its console ends with" in said
    assert "Kernel panic - not syncing: " in said.splitlines()[-1]


def test_a_program_without_memory_is_ended_by_its_kernel(command):
    text = changed(("bulk client host1 5001 1", "tail /dev/zero"))
    _, said = run(command, text, status=1)
    assert "ended with status 137" in said
    assert "Out of memory" in said


def test_an_unknown_kernel_parameter_is_told(command):
    text = changed(("at = {", 'sysctl = { "net.ipv4.tcp_nothing" = 1 }\nat = {'))
    result, said = run(command, text, status=1)
    assert "host0: sysctl net.ipv4.tcp_nothing=1 failed: unknown" in said
    assert (result / "kernels.json").is_file()


def test_a_guest_sees_neither_files_nor_networks_of_the_machine(command):
    look = (
        "ls /; cat /proc/filesystems; ls /sys/block; ls /sys/class/net; "
        "mount -t hostfs none /tmp -o / && ls /tmp; true"
    )
    text = changed(("bulk client host1 5001 1", look), ('until = "2.5s"', 'until = "1.1s"'))
    result, _ = run(command, text)
    console = (result / "host0.console").read_text()
    seen = console.split("&& ls /tmp; true\n")[1].split("[afflux] end 1")[0]
    words = set(seen.replace("nodev\t", "").split("mount: ")[0].split())
    # All that is there is of the guest: its own tree, file systems in memory, its card.
    assert words == {
        *("bin", "dev", "etc", "init", "proc", "results", "root", "sys", "tmp"),
        *("cgroup", "cgroup2", "devpts", "devtmpfs", "mqueue", "overlay", "pipefs", "ramfs"),
        *("sockfs", "sysfs", "tmpfs"),
        *("lo", "eth0", "dummy0", "sit0"),
    }
    assert "mounting none on /tmp failed: No such device" in seen


def guests(folder: Path) -> list[Path]:
    """Returns the processes of kernels whose image is below `folder`."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (
                str(folder)
                in (path / "cmdline").read_bytes().decode(errors="replace").split("\0")[0]
            ):
                found.append(path)
        except OSError:
            continue
    return found


def test_the_process_of_a_guest_has_no_privileges(tmp_path):
    (tmp_path / "images").symlink_to(IMAGES)
    (tmp_path / "case.toml").write_text(
        PAIR.replace('"2.5s"', '"500s"').replace("5001 1'", "5001 400'")
    )
    with subprocess.Popen(
        [sys.executable, "-m", "afflux", "run", "case.toml"],
        cwd=tmp_path,
        env=os.environ | {"AFFLUX_KERNELS": str(tmp_path / "images")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            end = time.monotonic() + 60
            while not (running := guests(tmp_path / "images")) and time.monotonic() < end:
                time.sleep(0.1)
            assert running
            # A guest starts with processes that end at once.
            time.sleep(1)
            running = guests(tmp_path / "images")
            assert running
            for guest in running:
                status = dict(
                    line.split(":\t")
                    for line in (guest / "status").read_text().splitlines()
                    if ":\t" in line
                )
                assert int(status["CapEff"], 16) == 0
                assert int(status["CapPrm"], 16) == 0
                assert status["NoNewPrivs"] == "1"
                for kind in ("user", "net", "pid", "ipc", "mnt"):
                    assert os.readlink(guest / "ns" / kind) != os.readlink(f"/proc/self/ns/{kind}")
                mounts = [line.split() for line in (guest / "mounts").read_text().splitlines()]
                writable = [at for _, at, _, how, *_ in mounts if "rw" in how.split(",")]
                assert writable == ["/dev/shm"]
                devices = (guest / "net/dev").read_text().splitlines()[2:]
                assert [line.split(":")[0].strip() for line in devices] == ["lo"]
        finally:
            process.send_signal(signal.SIGKILL)
