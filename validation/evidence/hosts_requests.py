"""Programs that run on the hosts of hosts-qdisc.sh: bulk senders, requests, their receiver, and a
sampler of a queue. Uses only the standard library.

    hosts_requests.py serve WARM END                    on ports 5201 (bulk) and 5202 (requests), until END seconds after the first connection
    hosts_requests.py bulk ADDRESS SECONDS CONGESTION   one flow
    hosts_requests.py requests ADDRESS COUNT SEED new|persistent CONGESTION
    hosts_requests.py sample DEVICE WARM SECONDS EVERY  `tc -s qdisc`, every EVERY seconds

A request has 20,000 bytes. The receiver answers its last byte with 8 bytes: the time
(CLOCK_MONOTONIC, which all network namespaces share) at which it had read this byte. `received_ms`
is that time, and `answered_ms` the time at which the sender had read the answer. Both count from
just before connect() (`new`) or send() (`persistent`). Requests start 70 to 130 ms apart, uniformly
distributed. A `serial` request should have started before the end of its predecessor, and waited
for it.
"""

import json
import random
import selectors
import socket
import struct
import subprocess
import sys
import time

BULK, REQUESTS, SIZE = 5201, 5202, 20_000
CONGESTION = getattr(socket, "TCP_CONGESTION", 13)


def main() -> None:
    mode, *rest = sys.argv[1:]
    if mode == "serve":
        serve(float(rest[0]), float(rest[1]))
    elif mode == "bulk":
        bulk(rest[0], float(rest[1]), rest[2])
    elif mode == "requests":
        requests(rest[0], int(rest[1]), int(rest[2]), rest[3] == "new", rest[4])
    else:
        sample(rest[0], *map(float, rest[1:]))


def serve(warm: float, end: float) -> None:
    listeners = []
    choose = selectors.DefaultSelector()
    for port in (BULK, REQUESTS):
        listener = socket.create_server(("", port), backlog=64)
        choose.register(listener, selectors.EVENT_READ)
        listeners.append(listener)
    #: Bytes by the sender's address: of bulk connections after the warm-up, and of the request that
    #: is being read.
    counted: dict[str, int] = {}
    begun: dict[socket.socket, int] = {}
    first: float | None = None
    # The senders stop before the receiver.
    while first is None or time.monotonic() < first + end + 6:
        for key, _ in choose.select(0.2):
            if key.fileobj in listeners:
                connection, address = key.fileobj.accept()
                first = first or time.monotonic()
                if key.fileobj is listeners[1]:
                    begun[connection] = 0
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                else:
                    counted[f"{address[0]}:{address[1]}"] = 0
                choose.register(connection, selectors.EVENT_READ, f"{address[0]}:{address[1]}")
                continue
            connection = key.fileobj
            try:
                got = len(connection.recv(262_144))
            except ConnectionError:
                got = 0
            now = time.monotonic_ns()
            if not got:
                choose.unregister(connection)
                connection.close()
            elif connection in begun:
                begun[connection] += got
                if begun[connection] == SIZE:
                    begun[connection] = 0
                    connection.sendall(struct.pack("!q", now))
            elif first is not None and first + warm <= now * 1e-9 < first + end:
                counted[key.data] += got
    print(
        json.dumps({name: round(8e-6 * value / (end - warm), 3) for name, value in counted.items()})
    )


def connected(address: str, port: int, congestion: str) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, CONGESTION, congestion.encode())
    connection.connect((address, port))
    return connection


def bulk(address: str, seconds: float, congestion: str) -> None:
    connection, block = connected(address, BULK, congestion), bytes(131_072)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        connection.sendall(block)
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    (window,), (repeated,), (marked,) = (
        struct.unpack_from("I", info, place) for place in (80, 100, 196)
    )
    print(
        json.dumps(
            {
                "from": "{}:{}".format(*connection.getsockname()),
                "window": window,
                "retransmissions": repeated,
                "delivered_ce": marked,
            }
        )
    )


def requests(address: str, count: int, seed: int, new: bool, congestion: str) -> None:
    draw, block = random.Random(seed), bytes(SIZE)
    connection = None if new else connected(address, REQUESTS, congestion)
    received, answered, serial = [], [], 0
    due = time.monotonic_ns()
    for _ in range(count):
        due += round(draw.uniform(70e6, 130e6))
        wait = due - time.monotonic_ns()
        serial += wait < 0
        time.sleep(max(0.0, wait * 1e-9))
        start = time.monotonic_ns()
        if new:
            connection = connected(address, REQUESTS, congestion)
        assert connection is not None
        connection.sendall(block)
        (read,) = struct.unpack("!q", connection.recv(8, socket.MSG_WAITALL))
        end = time.monotonic_ns()
        received.append(round((read - start) * 1e-6, 4))
        answered.append(round((end - start) * 1e-6, 4))
        if new:
            connection.close()
    print(json.dumps({"received_ms": received, "answered_ms": answered, "serial": serial}))


def sample(device: str, warm: float, seconds: float, every: float) -> None:
    start = time.monotonic()
    rows = []
    while time.monotonic() < start + seconds:
        time.sleep(every)
        if time.monotonic() > start + warm:
            rows.append(
                json.loads(
                    subprocess.run(
                        ["tc", "-s", "-j", "qdisc", "show", "dev", device],
                        capture_output=True,
                        check=True,
                    ).stdout
                )[-1]
            )
    last = rows[-1]
    values = {
        name: last.get(name, 0)
        for name in (
            "kind",
            "packets",
            "drops",
            "overlimits",
            "ecn_mark",
            "drop_overlimit",
            "new_flow_count",
            "throttled",
        )
    }
    values["backlog_bytes"] = round(sum(row["backlog"] for row in rows) / len(rows), 1)
    values["backlog_packets"] = round(sum(row["qlen"] for row in rows) / len(rows), 2)
    values["backlog_packets_greatest"] = max(row["qlen"] for row in rows)
    print(json.dumps(values))


main()
