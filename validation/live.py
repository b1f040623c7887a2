"""Compares real Linux hosts over `afflux live` with theory, and with the simulation of the same
scenario. Writes `out/validate-live.json`.

    make validate-live                   everything
    make validate-live ONLY=cubic        checks whose name contains this

Needs root (namespaces, devices, real-time scheduling) and a machine without other load. The exit
code is 0 if everything is within its tolerance or the check had to be skipped (it says so), and 1
otherwise.
"""

import argparse
import json
import os
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import afflux
from afflux import _core
from afflux.live import address, hosts, inside

OUT = Path("out")
#: Constants of Linux's headers for which Python has no names.
IPPROTO_MPTCP, TCP_CONGESTION, TCP_WINDOW_CLAMP, SO_TIMESTAMPNS, SO_RCVBUFFORCE = (
    262,
    13,
    10,
    35,
    33,
)
WARMUP_S = 5.0


@dataclass
class Row:
    """One comparison. `low` and `high` are the bounds of `ours`."""

    name: str
    what: str
    ours: float
    low: float
    high: float
    unit: str
    valid: bool
    late_p99_us: float

    @property
    def within(self) -> bool:
        return self.valid and self.low <= self.ours <= self.high


# Scenarios: a bottleneck between two switches. Hosts are ten times as fast unless stated otherwise.


#: Traffic for runs without simulated flows: a scenario needs some, which is left to the real hosts.
TRAFFIC = """
[[traffic]]
kind = "pairs"
pairs = [[0, 1]]
sizes = "1MB"
"""


def path(
    rate: str,
    delay: str,
    buffer: str,
    access: str = "10Gbps",
    switch: str = "",
    pairs: int = 1,
    traffic: str = TRAFFIC,
) -> str:
    return f"""\
format = 1
name = "live-validation"

[topology]
kind = "dumbbell"
pairs = {pairs}
access_rate = "{access}"
access_delay = "10us"
rate = "{rate}"
delay = "{delay}"

[switch]
sharing = "static"
buffer = "{buffer}"
{switch}

[host]
wire = "ethernet_timestamps"

[record]
ports = {{ interval = "5ms" }}
{traffic}
"""


def four_paths(rate: str) -> str:
    links = "\n".join(
        f'[[topology.link]]\na = "host{host}"\nb = "switch{path}"\nrate = "{rate}"\ndelay = "1ms"\n'
        for path in range(4)
        for host in range(2)
    )
    return f"""\
format = 1
name = "live-four-paths"

[topology]
kind = "custom"
hosts = 2
switches = 4
{links}

[switch]
sharing = "static"
buffer = "100kB"
{TRAFFIC}"""


@cache
def _runs() -> tempfile.TemporaryDirectory[str]:
    """Returns the folder of the runs of this process. It is removed at the end."""
    return tempfile.TemporaryDirectory(prefix="afflux-live-")


def run_live(
    text: str, what: str, *arguments: object, seconds: float = 60
) -> tuple[dict[str, Any], dict[str, Any], Path]:
    """Returns the findings of the program in its host, live.json, and the result directory."""
    place = Path(tempfile.mkdtemp(dir=_runs().name))
    (place / "scenario.toml").write_text(text)
    found = place / "found.json"
    program = [
        sys.executable,
        "-m",
        "validation.live",
        "--in-host",
        str(found),
        what,
        *map(str, arguments),
    ]
    command = [
        sys.executable,
        "-m",
        "afflux",
        "live",
        str(place / "scenario.toml"),
        "-o",
        str(place / "out"),
        "--json",
        "--",
        *program,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if not found.exists():
        raise RuntimeError(f"{what}: {done.stderr.strip()}")
    return json.loads(found.read_text()), json.loads(done.stdout), place / "out"


# Programs that run in the hosts.


#: Listening sockets. They stay open, because they accept subflows too.
LISTENERS: list[socket.socket] = []


def connected(
    control: str, window: int | None = None, protocol: int = 0, port: int = 5001
) -> tuple[socket.socket, socket.socket]:
    """Returns a connection from the first host to the last."""
    last = hosts() - 1

    def listen() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
        if window:
            # A buffer of a fixed size does not grow, and neither does the window.
            made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 * window)
            made.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, window)
        # Listens on all of its addresses, for subflows.
        made.bind(("", port))
        made.listen()
        return made

    def connect() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
        made.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, control.encode())
        made.connect((address(last), port))
        return made

    listener = inside(last, listen)
    sender = inside(0, connect)
    receiver, _ = listener.accept()
    LISTENERS.append(listener)
    return sender, receiver


def bulk(
    sender: socket.socket, receiver: socket.socket, seconds: float, series: list[tuple[float, int]]
) -> None:
    """Sends as fast as possible. `series` gets the received bytes over time."""
    stop = time.monotonic() + seconds

    def send() -> None:
        data = bytes(1 << 17)
        try:
            while time.monotonic() < stop:
                sender.send(data)
        except OSError:
            pass

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    room, total = bytearray(1 << 18), 0
    while time.monotonic() < stop:
        total += receiver.recv_into(room)
        series.append((time.monotonic(), total))


def rate_of(series: list[tuple[float, int]], skip: float) -> float:
    """Returns the rate in bit/s, starting `skip` seconds after the first byte."""
    begin = series[0][0] + skip
    kept = [entry for entry in series if entry[0] >= begin]
    return 8 * (kept[-1][1] - kept[0][1]) / (kept[-1][0] - kept[0][0])


def settle(sysctls: dict[str, str]) -> None:
    """Applies settings to every host, inside its namespace only."""
    for host in range(hosts()):
        for name, value in sysctls.items():
            inside(host, lambda name=name, value=value: Path("/proc/sys", name).write_text(value))


def throughput(control: str, seconds: str, window: str = "0") -> dict[str, Any]:
    settle(
        {
            "net/ipv4/tcp_rmem": "4096 131072 67108864",
            "net/ipv4/tcp_wmem": "4096 131072 67108864",
            "net/ipv4/tcp_no_metrics_save": "1",
        }
    )
    sender, receiver = connected(control, int(window) or None)
    series: list[tuple[float, int]] = []
    bulk(sender, receiver, float(seconds), series)
    # Field of Linux's struct tcp_info: the window that the receiver announced last.
    announced = struct.unpack_from(
        "I", sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232), 228
    )[0]
    return {"bps": rate_of(series, WARMUP_S), "announced": announced}


#: Pause in seconds between two echoes. A kernel that has been idle for some milliseconds is slow
#: because of the machine (docs/live.md).
PACE_S = 0.0005


def ping(count: str) -> dict[str, Any]:
    """Sends echoes that the other kernel answers. This kernel timestamps the replies."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    begun: list[int] = []
    trips = []
    following = time.monotonic()
    while len(trips) < int(count):
        wait = following - time.monotonic()
        if wait <= 0 and len(begun) < int(count):
            body = struct.pack("!BBHHH", 8, 0, 0, 7, len(begun)) + bytes(48)
            total = sum(struct.unpack(f"!{len(body) // 2}H", body))
            total = (total & 0xFFFF) + (total >> 16)
            packet = body[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + body[4:]
            begun.append(time.time_ns())
            raw.sendto(packet, (address(hosts() - 1), 0))
            following += PACE_S
            continue
        # After the last echo, wait a second. By then all replies have arrived or are lost.
        raw.settimeout(wait if wait > 0 else 1.0)
        try:
            answer, extra, _, _ = raw.recvmsg(256, 128)
        except TimeoutError:
            if len(begun) == int(count):
                break
            continue
        if answer[20] == 0 and answer[24:26] == b"\0\7":
            seconds, nanoseconds = struct.unpack(
                "qq", next(data for level, kind, data in extra if kind == SO_TIMESTAMPNS)
            )
            trips.append(
                seconds * 10**9 + nanoseconds - begun[struct.unpack("!H", answer[26:28])[0]]
            )
    return {"trips_ns": trips}


def marked(seconds: str) -> dict[str, Any]:
    settle({"net/ipv4/tcp_ecn": "1"})
    sender, receiver = connected("cubic")
    series: list[tuple[float, int]] = []
    bulk(sender, receiver, float(seconds), series)
    seen = (
        inside(0, lambda: subprocess.run(["ss", "-tin"], capture_output=True, text=True).stdout)
        if shutil.which("ss")
        else ""
    )
    return {"ss": seen, "bps": rate_of(series, 2.0)}


def multipath(seconds: str) -> dict[str, Any]:
    def ip(host: int, *words: str) -> None:
        inside(host, lambda: subprocess.run(["ip", "mptcp", *words], check=True))

    last = hosts() - 1
    for host in (0, last):
        ip(host, "limits", "set", "subflows", "8", "add_addr_accepted", "8")
    for nic in range(1, 4):
        ip(last, "endpoint", "add", address(last, nic), "dev", f"nic{nic}", "signal")
    sender, receiver = connected("cubic", protocol=IPPROTO_MPTCP)
    series: list[tuple[float, int]] = []
    bulk(sender, receiver, float(seconds), series)
    return {"bps": rate_of(series, 3.0)}


# Checks.


def window_limited() -> list[Row]:
    window, round_trip = 1_000_000, 0.300_040
    found, report, _ = run_live(path("100Mbps", "150ms", "4MB"), "throughput", "cubic", 30, window)
    theory = 8 * found["announced"] / round_trip
    return [
        row(
            "window-limited",
            f"a window of {found['announced']} B over 300 ms at 100 Mbps",
            found["bps"] / theory,
            0.97,
            1.03,
            "of theory",
            report,
        )
    ]


def delay() -> list[Row]:
    count = 10_000
    found, report, _ = run_live(path("1Gbps", "5ms", "1MB", access="1Gbps"), "ping", count)
    # 98 B on the cable plus the gap, on three links in each direction.
    configured = 2 * (5e6 + 2 * 10e3) + 6 * (28 + 56 - 8 + 18 + 20) * 8
    errors = sorted(trip - configured for trip in found["trips_ns"])
    rows = []
    for share, name in [(0.5, "p50"), (0.99, "p99")]:
        # A lost echo counts as an infinite error.
        at = int(share * (count - 1))
        error = errors[at] / 1e3 if at < len(errors) else float("inf")
        rows.append(
            row(
                f"ping-{name}",
                f"{name} of ping's error over 10 ms",
                error,
                -1.0,
                100.0,
                "us",
                report,
            )
        )
    return rows


def fast() -> list[Row]:
    found, report, _ = run_live(
        path("1Gbps", "1ms", "1MB", access="10Gbps"), "throughput", "cubic", 15
    )
    return [
        row("gigabit", "one flow through 1 Gbps", found["bps"] / 1e6, 860.0, 960.0, "Mbps", report)
    ]


def ecn() -> list[Row]:
    found, report, _ = run_live(
        path("100Mbps", "5ms", "250kB", switch='ecn = { k = "30kB" }'), "marked", 8
    )
    seen = (
        re.search(r"delivered_ce:[1-9]", found["ss"]) is not None
        and report["packets"]["marks_written"] > 0
    )
    return [
        row(
            "ecn-seen",
            "`ss -ti` shows marks, and nothing is dropped",
            float(seen and report["packets"]["dropped"] == 0),
            1.0,
            1.0,
            "",
            report,
        )
    ]


def mptcp() -> list[Row]:
    found, report, _ = run_live(four_paths("50Mbps"), "multipath", 12)
    carried = [port["tx_bytes"] for port in report["ports"] if port["peer"] == "host1"]
    # 94.1 % of a link is payload, minus 1.7 % for MPTCP's options.
    return [
        row(
            "mptcp-rate",
            "kernel MPTCP over four paths of 50 Mbps",
            found["bps"] / 1e6,
            0.85 * 4 * 50 * 0.925,
            4 * 50 * 0.941,
            "Mbps",
            report,
        ),
        row(
            "mptcp-paths",
            "least share of the four paths",
            min(carried) / max(carried),
            0.8,
            1.0,
            "",
            report,
        ),
    ]


def same(control: str, simulated: str, runs: int = 1) -> Callable[[], list[Row]]:
    """Returns a check that compares the same scenario simulated and live: throughput and mean
    queue, medians of `runs` runs of each. An invalid live run is repeated, at most `runs` times.
    """

    def check() -> list[Row]:
        seconds = 30
        traffic = f"""
[host.transport]
stack = "linux"
congestion = "{simulated}"

[[traffic]]
kind = "pairs"
pairs = [[0, 1]]
sizes = "1GB"

[run]
until = "{seconds}s"
"""
        text = path("100Mbps", "10ms", "250kB", access="1Gbps", traffic=traffic)
        ours = [
            bottleneck(afflux.Scenario.parse(text).run(seed=seed).ports)
            for seed in range(1, runs + 1)
        ]
        tries: list[tuple[float, float, dict[str, Any]]] = []
        while len(tries) < 2 * runs and sum(report["valid"] for *_, report in tries) < runs:
            _found, report, out = run_live(text, "throughput", control, seconds)
            tries.append((*bottleneck(afflux.Result.open(out).ports), report))
        valid = [run for run in tries if run[2]["valid"]]
        kept = valid or tries
        # The row has the worst lateness of the runs that it uses. It is valid if there are enough
        # valid runs.
        worst = max(
            (report for *_, report in kept), key=lambda report: report["lateness_us"]["p99"]
        ) | {"valid": len(valid) == runs}
        rows = []
        for name, at in (("queue", 0), ("rate", 1)):
            simulated_one, live_one = (
                statistics.median(run[at] for run in ours),
                statistics.median(run[at] for run in kept),
            )
            each = ", ".join(f"{run[at] / 1e3:.1f}" for run in kept)
            what = f"{control}: simulated {name} against live ({each} kB{'/s' if at else ''}; simulated {simulated_one / 1e3:.1f})"
            rows.append(
                row(
                    f"{control}-{name}",
                    what,
                    simulated_one / live_one,
                    0.85,
                    1.15,
                    "of live",
                    worst,
                )
            )
        return rows

    return check


def bottleneck(ports: Any) -> tuple[float, float]:
    """Returns the mean queue in bytes and the rate in bytes per second from `left` to `right`,
    after the warm-up."""
    columns = {
        name: ports.column(name)
        for name in ("time_ns", "node", "port", "queue", "queue_bytes", "tx_bytes")
    }
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    # The bottleneck is the last link of the dumbbell.
    last = max(row["port"] for row in rows if row["node"] == "left")
    kept = [
        row
        for row in rows
        if row["node"] == "left"
        and row["port"] == last
        and row["queue"] < 0
        and row["time_ns"] > WARMUP_S * 1e9
    ]
    # Only while there is data to send.
    while kept and kept[-1]["tx_bytes"] == 0:
        kept.pop()
    span = (kept[-1]["time_ns"] - kept[0]["time_ns"]) / 1e9
    return statistics.fmean(row["queue_bytes"] for row in kept), sum(
        row["tx_bytes"] for row in kept[1:]
    ) / span


def row(
    name: str, what: str, ours: float, low: float, high: float, unit: str, report: dict[str, Any]
) -> Row:
    return Row(name, what, ours, low, high, unit, report["valid"], report["lateness_us"]["p99"])


CHECKS: dict[str, Callable[[], list[Row]]] = {
    "window-limited": window_limited,
    "ping": delay,
    "gigabit": fast,
    "ecn": ecn,
    "mptcp": mptcp,
    "cubic": same("cubic", "cubic"),
    "reno": same("reno", "newreno"),
    # The times at which BBR probes the round-trip time are random, on both sides.
    "bbr": same("bbr", "bbr", runs=5),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Live mode against theory and simulation.")
    parser.add_argument("--only", default="", help="what has this in its name")
    options = parser.parse_args()
    lacking = [
        f"{name} ({why})" for name, _, _, why, _ in _core.live_capabilities() if why is not None
    ]
    if lacking:
        print(
            f"validate-live: skipped, nothing was compared: this machine lacks {', '.join(lacking)}"
        )
        return 0
    controls = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    rows: list[Row] = []
    for name, check in CHECKS.items():
        if options.only not in name:
            continue
        if name in ("reno", "bbr", "cubic") and name not in controls:
            print(f"{name}: skipped, this kernel has {', '.join(controls)}")
            continue
        if name == "mptcp" and not (
            Path("/proc/sys/net/mptcp/enabled").exists() and shutil.which("ip")
        ):
            print(f"{name}: skipped, it needs a kernel with MPTCP, and the command ip")
            continue
        for one in check():
            rows.append(one)
            verdict = "ok" if one.within else "NOT VALID" if not one.valid else "OUTSIDE"
            print(
                f"{verdict:9} {one.name:16} {one.ours:10.3f} {one.unit:9} [{one.low:g}, {one.high:g}]  late p99 {one.late_p99_us:.0f} us  {one.what}",
                flush=True,
            )
    OUT.mkdir(exist_ok=True)
    (OUT / "validate-live.json").write_text(
        json.dumps([asdict(one) | {"within": one.within} for one in rows], indent=1) + "\n"
    )
    return 0 if rows and all(one.within for one in rows) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--in-host"]:
        result, function, *arguments = sys.argv[2:]
        Path(result).write_text(json.dumps(globals()[function](*arguments)))
        # Connections may still have data to send, so exit without waiting for them.
        os._exit(0)
    sys.exit(main())
