"""Requests next to bulk flows of the same host, with several queueing disciplines."""

import random
from collections.abc import Iterator
from typing import Any

from ..bars import Bar, Bars, median
from ..case import Case, Row, Runner, Setup, Unmeasured, Unreadable, number
from .flows import SET, bulk, grouped, numbers, summary, transport

WARM_S, REQUEST = 2.0, 20_000


def queues(rows: list[Row], bars: Bars) -> Iterator[Case]:
    groups = grouped(rows, lambda row: (row["qdisc"], row["bulk"], row["connection"], row["clock"]))
    for (qdisc, count, connection, clock), repetitions in groups.items():
        case = Case(
            f"{SET}.measured-qdisc", f"{qdisc.replace(' limit ', '-')} {count} {connection} {clock}"
        )
        with case.reading():
            case.theirs = summary(
                [
                    {
                        metric: number(row, metric)
                        for metric in ("median_ms", "p90_ms", "p99_ms", "bulk_mbps")
                    }
                    for row in repetitions
                ]
            )
            case.theirs |= {
                metric: median([number(row, metric) for row in repetitions])
                for metric in ("largest_bulk_share", "drops", "retransmissions")
            }
            case.bars = {
                "median_ms": Bar(rel=0.15),
                "p90_ms": Bar(rel=0.25),
                "p99_ms": Bar(rel=0.25),
                "bulk_mbps": Bar(rel=0.05),
            }
            low, high = (end(number(row, "median_ms") for row in repetitions) for end in (min, max))
            case.remark = f"{len(repetitions)} real runs: median_ms {low:.4g} to {high:.4g}"
            case.setups = requests_and_bulk(qdisc, int(count), connection == "persistent", bars)
        yield case


def host_queue(qdisc: str) -> dict[str, Any]:
    """Returns the keys of `[host]` for a qdisc given to `tc`. A token bucket keeps no ring: it
    takes a frame only when it may be sent."""
    kind, *words = qdisc.split()
    if kind == "pfifo" and len(words) == 2:
        return {"qdisc": {"kind": kind, "limit": int(words[1])}, "bql": "1B"}
    if kind in ("fq_codel", "fq") and not words:
        return {"qdisc": kind, "bql": "1B"}
    raise Unreadable(f"queueing discipline {qdisc!r} is unknown")


def requests_and_bulk(qdisc: str, count: int, persistent: bool, bars: Bars) -> list[Setup]:
    """Returns setups in which host 0 sends to host 1, and requests to host 2. Only its own link is
    slow."""
    links = {
        "rate": "10Gbps",
        "delay": "20us",
        "override": [{"link": "host0>switch0", "rate": "100Mbps"}],
    }
    scenario: dict[str, Any] = {
        "format": 1,
        "topology": {"kind": "star", "hosts": 3} | links,
        "switch": {"sharing": "unlimited"},
    }
    scenario["host"] = {"wire": "linux", "transport": transport("cubic")} | host_queue(qdisc)
    # Bulk flows start ten milliseconds apart, like the programs. A flow that starts while another
    # one fills the queue includes the queueing delay in its round-trip time.
    scenario["traffic"] = [
        bulk(flow, 10 * flow, name=f"bulk{flow}", pairs=[[0, 1]], jitter="5ms")
        for flow in range(1, count + 1)
    ]
    scenario["traffic"].append(
        {"kind": "flows", "name": "requests", "file": "flows.csv", "persistent": persistent}
    )
    scenario["record"] = {"explain": False}
    setups = []
    for seed in numbers(bars, "measured-qdisc"):
        draw, due, flows = random.Random(seed), round(WARM_S * 1e9), []
        for _ in range(300):
            due += round(draw.uniform(70e6, 130e6))
            flows.append((due, 0, 2, REQUEST))
        # A request that still waits then has waited for a second.
        run = {"until": f"{due // 1_000_000 + 1000}ms", "fct_end": "last_byte"}
        setups.append(
            Setup(
                scenario | {"run": run},
                requests,
                {"bulk": count, "seconds": due / 1e9 + 1},
                tuple(flows),
                seed=seed,
            )
        )
    return setups


def requests(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    result = runner.run(ports=False)
    columns = ("dst", "fct_ns", "delivered_bytes", "packets_retransmitted")
    flows = list(zip(*(result.flows.column(name) for name in columns), strict=True))
    times = sorted(fct for dst, fct, *_ in flows if dst == 2 and fct is not None)
    if len(times) < 0.99 * (len(flows) - p["bulk"]):
        raise Unmeasured(f"{len(flows) - p['bulk'] - len(times)} requests did not end")
    own = [delivered for dst, _, delivered, _ in flows if dst == 1]
    values = {
        name: 1e-6 * times[int(share * len(times))]
        for name, share in (("median_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99))
    }
    values |= {
        "bulk_mbps": 8e-6 * sum(own) / p["seconds"],
        "largest_bulk_share": max(own) / sum(own),
    }
    return values | {
        "drops": float(result.summary["drops"]),
        "retransmissions": float(sum(flow[3] for flow in flows)),
    }
