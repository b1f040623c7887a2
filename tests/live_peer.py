"""Programs that the hosts of tests/test_live.py run."""

import json
import os
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

from afflux.live import address, hosts, inside

IP_RECVTOS = 13


def round_trips(here: socket.socket, count: int) -> list[float]:
    """Measures round trips in seconds to port 7 of the last host, which echoes all datagrams."""
    trips = []
    for number in range(count):
        begin = time.monotonic()
        here.sendto(struct.pack("!I", number), (address(hosts() - 1), 7))
        assert struct.unpack("!I", here.recv(2048))[0] == number
        trips.append(time.monotonic() - begin)
    return trips


def everything(connection: socket.socket) -> bytes:
    """Returns all bytes until the other side closes the connection."""
    received = bytearray()
    while part := connection.recv(1 << 16):
        received += part
    return bytes(received)


def call(count: int) -> dict[str, Any]:
    """Measures round trips from this host to the last host, which must answer, and checks the bytes
    that its TCP server echoes."""
    trips = round_trips(udp(0), count)
    content = pattern(256_000)
    with socket.create_connection((address(hosts() - 1), 8), timeout=20) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        received = everything(connection)
    return {"trips": trips, "received": len(received), "same": received == content}


def pattern(length: int) -> bytes:
    """Returns bytes whose pattern does not repeat, so that misplaced segments are noticed."""
    return b"".join(struct.pack("!I", number) for number in range(length // 4))


def upload(length: int) -> dict[str, Any]:
    """Sends all data at once over one connection with ECN from the first host to the last."""
    last = hosts() - 1
    for host in (0, last):
        inside(host, lambda: Path("/proc/sys/net/ipv4/tcp_ecn").write_text("1"))
    server = inside(last, lambda: socket.create_server((address(last), 8)))
    client = inside(0, lambda: socket.create_connection((address(last), 8), timeout=20))
    connection, _ = server.accept()
    content = pattern(length)

    def send() -> None:
        with client:
            client.sendall(content)

    thread = threading.Thread(target=send)
    thread.start()
    received = everything(connection)
    thread.join()
    return {"received": len(received), "same": received == content}


def udp(host: int, port: int = 0) -> socket.socket:
    def make() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        made.bind((address(host), port))
        made.settimeout(5)
        return made

    return inside(host, make)


def echo(count: int) -> dict[str, Any]:
    """Measures round trips in seconds between the first and the last host."""
    last = hosts() - 1
    here, there = udp(0), udp(last, 7)

    def answer() -> None:
        for _ in range(count):
            data, sender = there.recvfrom(2048)
            there.sendto(data, sender)

    thread = threading.Thread(target=answer)
    thread.start()
    trips = round_trips(here, count)
    thread.join()
    return {"trips": trips}


def burst(count: int, tos: int) -> dict[str, Any]:
    """Sends datagrams of 1,000 B in one burst. Returns how many arrive, and how many of these are
    marked."""
    last = hosts() - 1
    here, there = udp(0), udp(last, 9)
    there.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
    here.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    for _ in range(count):
        here.sendto(bytes(1000), (address(last), 9))
    there.settimeout(1)
    seen: list[int] = []
    try:
        while len(seen) < count:
            _, extra, _, _ = there.recvmsg(2048, 64)
            seen += [
                value[0]
                for level, kind, value in extra
                if level == socket.IPPROTO_IP and kind == socket.IP_TOS
            ]
    except TimeoutError:
        pass
    return {
        "received": len(seen),
        "marked": sum(tos & 3 == 3 for tos in seen),
        "other": sum(tos & 3 == 0 for tos in seen),
    }


def look() -> dict[str, Any]:
    """Returns what a process sees of its host."""
    devices = [
        line.split(":")[0].strip()
        for line in Path("/proc/thread-self/net/dev").read_text().splitlines()[2:]
    ]
    processes = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    return {
        "devices": sorted(devices),
        "sys": sorted(os.listdir("/sys/class/net")),
        "processes": processes,
        "env": dict(os.environ),
    }


if __name__ == "__main__":
    out, what, *arguments = sys.argv[1:]
    Path(out).write_text(json.dumps(globals()[what](*map(int, arguments))))
