"""TCP and MPTCP over disjoint paths."""

import re
from collections.abc import Iterator
from typing import Any

from ..bars import Bars
from ..case import Case, Row, Runner, Setup, Unmeasured, Unreadable, fraction, maybe, number
from .network import ACCESS_BPS, ACK, FRAME, HOST, OPTIONAL, PAYLOAD, SET, half2, link, transport

#: Round-trip time of a path, which the columns lack. TCP over `100@5ms` carried exactly the same
#: bytes as over `1x100`, so it is 5 ms. T follows from the bytes.
BULK_RTT_MS = 5.0
#: Queue of a path in bytes, which the columns lack. A lone Reno flow on 100 Mbps loses every 3.9 s
#: (raw/d_bulk_tcp_reno_1x100.rx). Ours loses every 3.85 s with this queue, 2.0 s with 250,000 B,
#: and 4.3 s with 400,000 B.
BULK_QUEUE = 375_000


def mptcp_bulk(
    reference: str, stem: str, rows: list[Row], related: list[Row], bars: Bars
) -> Iterator[Case]:
    """Disjoint paths `100`, `100+50`, `3x100`, `100@5ms+100@50ms`. TCP uses only the first one."""
    for row in rows:
        case = Case(
            reference,
            row["name"],
            theirs={metric: maybe(row, metric) for metric in ("half2_mbps", "avg_mbps")},
            bars=bars.of(SET, stem),
        )
        with case.reading():
            case.setups = [
                paths(row, repetition) for repetition in range(bars.repetitions(SET, stem))
            ]
        yield case


def parse_paths(text: str) -> list[tuple[float, float]]:
    """Returns the rate in Mbps and the round-trip time in ms of each path."""
    found = []
    for part in text.split("+"):
        match = re.fullmatch(r"(?:(\d+)x)?(\d+(?:\.\d+)?)(?:@(\d+(?:\.\d+)?)ms)?", part)
        if not match:
            raise Unreadable(f"paths {text!r} cannot be understood")
        found += [(float(match[2]), float(match[3]) if match[3] else BULK_RTT_MS)] * int(
            match[1] or 1
        )
    return found


def paths(row: Row, repetition: int) -> Setup:
    given, payload = used_paths(row)
    carried = sum(float(part) for part in row["path_bytes"].split(";"))
    duration = carried * payload / FRAME * 8e-6 / number(row, "avg_mbps")
    # The reference has no queues of these runs, so no port is recorded.
    scenario = disjoint(row, given, payload) | {"record": {"explain": False}}
    start = round(fraction(repetition, 0) * FRAME * 8e9 / (max(rate for rate, _ in given) * 1e6))
    flows = ((start, 0, 1, int(duration * sum(rate for rate, _ in given) * 1e6 / 4)),)
    lag = min(ms for _, ms in given) / 2e3
    parameters = {"from_s": duration / 2, "to_s": duration, "lag_s": lag}
    return Setup(scenario, half2, parameters, flows, seed=repetition + 1, optional=OPTIONAL)


def used_paths(row: Row) -> tuple[list[tuple[float, float]], int]:
    """Returns rate in Mbps and round-trip time in ms of the paths that the protocol uses, and the
    payload of a frame in bytes."""
    if row["proto"] not in ("tcp", "mptcp"):
        raise Unreadable(f"proto {row['proto']!r} is neither tcp nor mptcp")
    given = parse_paths(row["paths"])
    return (given[:1], PAYLOAD) if row["proto"] == "tcp" else (given, PAYLOAD - 24)


def disjoint(row: Row, given: list[tuple[float, float]], payload: int) -> dict[str, Any]:
    """Returns a scenario with two hosts and these paths between them."""
    tcp = transport(row["cc"], ecn=False)
    # Each path has two links and a switch.
    links, switches = [], []
    for number_, (mbps, ms) in enumerate(given):
        near, far = f"a{number_}", f"b{number_}"
        one_way = (ms * 1e6 - (FRAME + ACK) * 8e3 / mbps) / 2
        if one_way < 3:
            raise Unreadable(f"paths {row['paths']!r}: a round trip shorter than a frame")
        switches += [near, far]
        delay = round(one_way / 3)
        links += [
            link("host0", near, ACCESS_BPS, delay),
            link(near, far, round(mbps * 1e6), delay),
            link(far, "host1", ACCESS_BPS, delay),
        ]
    if row["proto"] == "mptcp":
        # Multipath connections have no send buffer there.
        del tcp["send_buffer_max"]
        tcp |= {
            "mss": f"{payload}B",
            "mptcp": {"manager": "fullmesh", "subflows": len(given), "coupling": "off"},
        }
    return {
        "format": 1,
        "topology": {"kind": "custom", "hosts": 2, "switches": switches, "link": links},
        "switch": {
            "sharing": "unlimited",
            "queue_length": "before_transmission",
            "override": [{"match": "a*", "sharing": "static", "buffer": f"{BULK_QUEUE}B"}],
        },
        "host": HOST | {"transport": tcp},
        "traffic": [{"kind": "flows", "file": "flows.csv"}],
    }


#: Possible names of the column with a transfer's bytes.
SIZES = ("size_B", "bytes", "size", "block")


def mptcp_fct(
    reference: str, stem: str, rows: list[Row], related: list[Row], bars: Bars
) -> Iterator[Case]:
    """Compares transfers of a given size over the paths of `d_mptcp_bulk`, each on its own
    connection. `p50_ms` is the median completion time.

    bars.toml has a tolerance for it, but the folder has no such file and its README does not
    mention one. So the columns (`name`, `proto`, `cc`, `paths`, a size in bytes, `p50_ms`) are an
    assumption about the future file, and so is the definition that a transfer lasts from the first
    SYN until its last byte is acknowledged.
    """
    for row in rows:
        case = Case(
            reference, row["name"], theirs={"p50_ms": maybe(row, "p50_ms")}, bars=bars.of(SET, stem)
        )
        with case.reading():
            column = next((name for name in SIZES if (row.get(name) or "").strip()), None)
            if column is None:
                raise Unreadable(f"no size in bytes: none of the columns {', '.join(SIZES)}")
            given, payload = used_paths(row)
            scenario = disjoint(row, given, payload) | {"record": {"explain": False}}
            slot_ns = FRAME * 8e3 / max(rate for rate, _ in given)
            flow = (0, 1, int(number(row, column)))
            case.setups = [
                Setup(
                    scenario,
                    completion,
                    {},
                    ((round(fraction(repetition, 0) * slot_ns), *flow),),
                    seed=repetition + 1,
                    optional=OPTIONAL,
                )
                for repetition in range(bars.repetitions(SET, stem))
            ]
        yield case


def completion(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    (fct,) = runner.run(ports=False).flows.column("fct_ns")
    if fct is None:
        raise Unmeasured("the flow did not end")
    return {"p50_ms": fct / 1e6}
