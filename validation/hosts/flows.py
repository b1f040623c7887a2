"""Metrics, scenarios and simulations that the files of the reference `hosts` have in common."""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import mean
from typing import Any, TypeVar

from ..bars import Bar, Bars, median
from ..case import Row, Runner, Setup, Unmeasured, Unreadable

SET = "hosts"
SEEDS = 10
PAYLOAD, FRAME = 1448, 1514
CONGESTION = {"cubic": "cubic", "reno": "newreno", "bbr": "bbr", "dctcp": "dctcp"}
#: Bytes of the bottleneck's queue, by the limit in the name of a run.
LIMIT = {"30packets": 45_420, "64packets": 96_896, "100packets": 151_400, "1000packets": 1_514_000}
#: Delays in us of the senders' links, by a word in the name of a run.
DELAYS = {"dly": (20.0, 21.7, 33.1, 47.9), "dly2": (20.0, 27.3, 92.8, 165.0)}
FAR = 12

LARGEST, GREATEST, SMALLEST = "largest_share", "largest_share_greatest", "smallest_share_least"
RETRANSMITTED = "retransmitted_per_1000"
NEAR, SPREAD, OUTCAST = "near_to_far_p90", "far_spread_p90", "outcast_mean"
EVEN = {LARGEST: Bar(most=0.35), GREATEST: Bar(most=0.45), SMALLEST: Bar(least=0.10)}
UNEVEN = {GREATEST: Bar(most=0.60), SMALLEST: Bar(least=0.10)}
NEARER, MARKED = "share_near_mean", "marked_per_1000"


def nine_of_ten(values: Sequence[float]) -> float:
    """Returns the value that nine of ten values do not exceed."""
    return sorted(values)[math.ceil(0.9 * len(values)) - 1]


#: Functions that combine several runs into one number, for theirs and ours. Default: the median.
OF_RUNS: dict[str, Callable[[Sequence[float]], float]] = {
    GREATEST: max,
    SMALLEST: min,
    NEAR: nine_of_ten,
    SPREAD: nine_of_ten,
    OUTCAST: mean,
}
OF_RUNS |= {f"share_{kind}_mean": mean for kind in (*CONGESTION, "near")}


Key = TypeVar("Key")


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Returns the rows by key, in the order of their first appearance."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def repeated(rows: Iterable[Row]) -> list[list[Row]]:
    """Returns the rows of each repetition."""
    return list(grouped(rows, lambda row: row["repetition"]).values())


def summary(runs: list[dict[str, float]]) -> dict[str, float | None]:
    """Returns one number for each metric."""
    return {
        metric: OF_RUNS.get(metric, median)([run[metric] for run in runs]) for metric in runs[0]
    }


def shares(delivered: Sequence[float]) -> dict[str, float]:
    """Returns the shares of flows that should be equal."""
    total = sum(delivered)
    if not total:
        raise Unmeasured("nothing was delivered")
    largest, smallest = max(delivered) / total, min(delivered) / total
    return {LARGEST: largest, GREATEST: largest, SMALLEST: smallest}


def outcast(near: float, far: Sequence[float]) -> dict[str, float]:
    # A flow that delivered nothing counts as a flow with a single segment.
    ratio, spread = near / mean(far), max(far) / (min(far) or 1.0)
    return {NEAR: ratio, SPREAD: spread, OUTCAST: float(ratio < 0.3 and spread <= 2)}


def of_flows(
    segments: Sequence[float], lost: Sequence[float], kinds: Sequence[str]
) -> dict[str, float]:
    values = shares(segments) | {
        RETRANSMITTED: 1e3 * sum(lost) / sum(segments),
        "retransmissions": sum(lost),
    }
    if len(set(kinds)) == 1:
        return values
    values = {
        name: value for name, value in values.items() if name not in (LARGEST, GREATEST, SMALLEST)
    }
    for kind in dict.fromkeys(kinds):
        own = [place for place, other in enumerate(kinds) if other == kind]
        values[f"share_{kind}_mean"] = sum(segments[place] for place in own) / sum(segments)
        values[f"retransmitted_per_1000_{kind}"] = (
            1e3 * sum(lost[place] for place in own) / sum(segments[place] for place in own)
        )
    return values


def of_measured(
    kind: str, segments: Sequence[float], lost: Sequence[float], marked: float
) -> dict[str, float]:
    values = of_flows(segments, lost, ["cubic"])
    if kind == "rtt":
        values = {
            NEARER: sum(segments[:2]) / sum(segments),
            RETRANSMITTED: values[RETRANSMITTED],
            "retransmissions": values["retransmissions"],
        }
    return values | ({MARKED: 1e3 * marked / sum(segments)} if kind == "step" else {})


def exact_values(delivered: list[float]) -> dict[str, float | None]:
    largest = max(delivered) / sum(delivered)
    if len(delivered) == FAR + 1:
        return {LARGEST: largest, "near_share": delivered[0] / sum(delivered)}
    return {LARGEST: largest, "smallest_share": min(delivered) / sum(delivered)}


def transport(name: str) -> dict[str, Any]:
    if name not in CONGESTION:
        raise Unreadable(f"congestion control {name!r} is none of {', '.join(CONGESTION)}")
    return {"kind": "tcp", "congestion": CONGESTION[name]}


def star(switch: dict[str, Any], rate: float = 1e8, hosts: int = 5) -> dict[str, Any]:
    """Returns a scenario with four senders (or another number), from host 1 on, and their receiver,
    host 0."""
    return {
        "format": 1,
        "topology": {"kind": "star", "hosts": hosts, "rate": f"{round(rate)}bps", "delay": "20us"},
        "switch": switch,
    }


def drop_tail(bytes: int) -> dict[str, Any]:
    """Returns the keys of `[switch]` for a queue below a token bucket, as long as the bytes."""
    return {
        "sharing": "static",
        "buffer": f"{bytes}B",
        "queue_length": "before_transmission",
    }


def delays(values_us: Iterable[float]) -> list[dict[str, str]]:
    """Returns delays of the links of hosts, from host 1 on."""
    return [
        {"link": f"host{host}-switch0", "delay": f"{delay:g}us"}
        for host, delay in enumerate(values_us, 1)
    ]


def bulk(host: int, start_ms: int, **more: Any) -> dict[str, Any]:
    """Returns a flow from a host to host 0 without an end."""
    return {
        "kind": "pairs",
        "name": f"flow{host}",
        "pairs": [[host, 0]],
        "sizes": "100GB",
        "start": f"{start_ms}ms",
        "jitter": "1ms",
    } | more


def two_switches(switch: dict[str, Any], first: str | None = None) -> dict[str, Any]:
    """Returns a scenario with receiver 0 and near sender 1 at one switch, and far senders 2 to 13
    behind another. `first`: the far switch's buffer, if it differs."""
    links = [
        {"a": f"host{host}", "b": "near" if host < 2 else "far"} for host in range(2 + FAR)
    ] + [{"a": "far", "b": "near"}]
    topology = {
        "kind": "custom",
        "hosts": 2 + FAR,
        "switches": ["near", "far"],
        "rate": "100Mbps",
        "delay": "20us",
        "link": links,
    }
    if first is not None:
        switch = switch | {"override": [{"match": "far", "buffer": first}]}
    return {"format": 1, "topology": topology, "switch": switch}


def numbers(bars: Bars, file: str) -> range:
    """Returns the seeds of the simulations of a file."""
    return range(1, bars.repetitions(SET, file, least=SEEDS) + 1)


def seeds(
    scenario: dict[str, Any], parameters: dict[str, Any], bars: Bars, file: str
) -> list[Setup]:
    scenario["run"] = {"until": f"{round(1e3 * parameters['seconds'])}ms"}
    scenario["record"] = {"explain": False}
    return [Setup(scenario, delivered, parameters, seed=seed) for seed in numbers(bars, file)]


def delivered(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    result = runner.run(ports=False)
    flows = sorted(
        zip(
            *(
                result.flows.column(name)
                for name in ("src", "packets_sent", "packets_retransmitted", "timeouts")
            ),
            strict=True,
        )
    )
    segments = [float(sent - repeated) for _, sent, repeated, _ in flows]
    lost = [float(repeated) for _, _, repeated, _ in flows]
    counters = {
        "timeouts": float(sum(flow[3] for flow in flows)),
        "drops": float(result.summary["drops"]),
    }
    if p.get("exact"):
        return {
            metric: value for metric, value in exact_values(segments).items() if value is not None
        } | counters
    if "kind" in p:
        mbps = sum(segments) * PAYLOAD * 8e-6 / p["seconds"]
        return (
            of_measured(p["kind"], segments, lost, float(result.summary["ecn_marks"]))
            | {"mbps": mbps}
            | counters
        )
    if p.get("outcast"):
        return outcast(segments[0], segments[1:]) | counters
    mbps = sum(segments) * PAYLOAD * 8e-6 / p["seconds"]
    return of_flows(segments, lost, p.get("kinds", ["cubic"])) | {"mbps": mbps} | counters
