"""Reader of equal flows behind one drop-tail port: `hosts/*.csv`. It compares how hosts share a
link with real ones, and shows the causes.

`real-linux.csv` has real Linux in real time, `exact-time.csv` a real kernel in exact virtual time
without noise. CAUSE.md of the raw reference explains both. `measured-linux.csv` and
`measured-qdisc.csv` were measured for this repository and are only here (evidence/hosts-flows.sh
and hosts-qdisc.sh). Real runs differ from each other, so distributions are compared: ten seeds of
afflux, which draw the noise and the starts, with two to five real runs. The tolerances are in this
module, not in bars.toml:

- In every seed the largest share is at most 45 % (BBR: 60 %) and the smallest at least 10 %. The
  median of the largest share is at most 35 % (not for BBR).
- Retransmissions are within 15 % of real Linux, per 1,000 delivered segments. The absolute number
  is informational: late token buckets give the real flows 89 to 91 Mbps of 95.6. Real runs with BBR
  differ by a factor of twenty, so there the tolerance is their range, widened by 15 %.
- CUBIC next to BBR: the mean share of each kind is within 5 points.
- Outcast: in nine of ten seeds the near flow has less than 0.3 of the far flows' mean, and the far
  ones are within a factor of 2 of each other.
- Exact time: the largest share is within 10 points, and in the outcast also the near flow's share.
- `rates`: the first tolerances at 1, 10 and 25 Gbps. No real machine was measured at these rates,
  so "theirs" is real Linux at 100 Mbps.
- `measured-linux`: N equal flows have the first tolerances times 4/N. With unequal round trips the
  near pair's share is within 5 points and retransmissions are within 15 %. With step marking, marks
  per 1,000 segments are within 15 % and goodput is within 5 %, as with real Linux elsewhere.
- `measured-qdisc`: requests next to bulk flows of the same host. Their median is within 15 %, as
  for MPTCP's requests, their 90th and 99th percentiles are within 25 %, and the goodput of bulk
  flows is within 5 %.

The README of the reference is reproduced as follows:

- A star (for the outcast two switches) of links with 20 us, at the rate of the senders' token
  buckets. Frames have 1,514 B without a gap.
- Real Linux: `[host]` and its transport are the defaults, including `timing`. Only below a token
  bucket there is no other discipline (`qdisc = "off"`). A token bucket hands a frame on at the
  start of its slot, so the queue does not contain the frame in transmission. Limits are in bytes.
- Exact time: `timing = "exact"`, ticks of 10 ms (HZ = 100). Limits are in frames, but in bytes at
  the outcast's first switch, which connection requests bypass there. Delays `dly` and `dly2` are
  those of links in both directions. Clocks `ppm` are rates of the senders' directions of links.
- `jit`, a uniform delay of each frame on its way to the switch that keeps the order: `timing.send`
  delays a frame that finds the transmitter idle (nearly every frame while a flow has a part of its
  line). All other parts of `timing` are zero, also `gap`: it would slow down a flow that fills its
  line, which jitter does not.
- `measured-*`: as for real Linux. Where the kernel ran in virtual time, the receiver's replies were
  55 to 105 us late (uniform, in order; 80 us for requests), in place of the links' delays and of
  the interrupt noise that afflux has by default.
- A marking step in time, CoDel's `ce_threshold`: a step at the number of bytes that the link sends
  in this time.
- `tierand`, simultaneous frames in random order: afflux always does this. It never orders them by
  host, forward or reversed, so such runs are named but not run.
"""

import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from .bars import Bar, Bars, median
from .case import Case, Runner, Setup, Unmeasured, Unreadable, maybe, number, read_csv

SET = "hosts"
SEEDS = 10
PAYLOAD, FRAME = 1448, 1514
CONGESTION = {"cubic": "cubic", "reno": "newreno", "bbr": "bbr", "dctcp": "dctcp"}
#: Constants of real-linux.csv.
REAL_S, LIMIT = (
    30,
    {"30packets": 45_420, "64packets": 96_896, "100packets": 151_400, "1000packets": 1_514_000},
)
#: Constants of exact-time.csv: differences of delays and clocks by sender.
DELAYS = {"dly": (20.0, 21.7, 33.1, 47.9), "dly2": (20.0, 27.3, 92.8, 165.0)}
CLOCKS_PPM, CLOCKS_OF = (30, -50, 80, -11), {"ppm-exact-reno": (90, 20, 60, 5)}
FAR = 12

LARGEST, GREATEST, SMALLEST = "largest_share", "largest_share_greatest", "smallest_share_least"
RETRANSMITTED = "retransmitted_per_1000"
NEAR, SPREAD, OUTCAST = "near_to_far_p90", "far_spread_p90", "outcast_mean"
EVEN = {LARGEST: Bar(most=0.35), GREATEST: Bar(most=0.45), SMALLEST: Bar(least=0.10)}
UNEVEN = {GREATEST: Bar(most=0.60), SMALLEST: Bar(least=0.10)}
POINTS = Bar(or_abs=0.10)

#: Files measured-*.csv, which are not among the raw runs.
OWN = {
    name: Path(__file__).parent / "reference" / SET / name
    for name in ("measured-linux.csv", "measured-qdisc.csv")
}
RAW = Path(__file__).parents[2] / "shared" / "reference" / SET
MEASURED_S, WARM_S, REQUEST = 24, 2.0, 20_000
#: Additional round-trip times in us of senders 1 to 4.
FARTHER_US = (20, 20, 1000, 1000)
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


def cases(folder: Path, bars: Bars) -> Iterator[Case]:
    for name, read, columns in (
        ("real-linux", real, "case congestion repetition flow mbps"),
        ("exact-time", exact, "run host bytes"),
        (
            "measured-linux",
            measured,
            "case clock congestion repetition flow mbps retransmissions marks_at_the_port",
        ),
        (
            "measured-qdisc",
            queues,
            "clock qdisc bulk connection repetition median_ms p90_ms p99_ms bulk_mbps",
        ),
    ):
        path = folder / f"{name}.csv"
        if path.name in OWN and folder.resolve() == RAW.resolve():
            path = OWN[path.name]
        if not path.is_file():
            continue
        try:
            yield from read(read_csv(path, columns.split()), bars)
        except Unreadable as error:
            yield Case(f"{SET}.{name}", path.name, problem=str(error))


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


# ------------------------------------------------------------------------------------------------------------------------- real Linux


def real(rows: list[dict[str, str]], bars: Bars) -> Iterator[Case]:
    #: Case and congestion control → repetition → flows. Flows of a mix are in one group.
    groups: dict[tuple[str, str], dict[str, list[dict[str, str]]]] = {}
    for row in rows:
        key = (row["case"], "" if row["case"].startswith("mix") else row["congestion"])
        groups.setdefault(key, {}).setdefault(row["repetition"], []).append(row)
    for (name, congestion), repetitions in groups.items():
        try:
            yield real_case(name, congestion, list(repetitions.values()), bars)
        except Unreadable as error:
            yield Case(f"{SET}.real-linux", f"{name} {congestion}".strip(), problem=str(error))
    equal = {
        congestion: list(repetitions.values())
        for (name, congestion), repetitions in groups.items()
        if name == "four-100packets"
    }
    for congestion in ("cubic", "reno"):
        if congestion in equal:
            yield from rates(
                congestion, summary([real_run(flows) for flows in equal[congestion]]), bars
            )


def real_case(
    name: str, congestion: str, repetitions: list[list[dict[str, str]]], bars: Bars
) -> Case:
    kind, _, limit = name.partition("-")
    if limit not in LIMIT or kind not in ("four", "mix", "outcast"):
        raise Unreadable(f"case {name!r} is unknown")
    kinds = [row["congestion"] for row in repetitions[0]]
    runs = [real_run(flows) for flows in repetitions]
    case = Case(f"{SET}.real-linux", f"{name} {congestion}".strip(), of_repetitions=OF_RUNS)
    switch = {
        "sharing": "static",
        "buffer": f"{LIMIT[limit]}B",
        "queue_length": "before_transmission",
    }
    if kind == "outcast":
        case.bars = {NEAR: Bar(most=0.3), SPREAD: Bar(most=2), OUTCAST: Bar(least=0.9)}
        scenario = two_switches(switch)
    else:
        scenario = star(switch)
        if kind == "mix":
            case.bars = {f"share_{one}_mean": Bar(or_abs=0.05) for one in dict.fromkeys(kinds)}
        else:
            retransmitted = [run[RETRANSMITTED] for run in runs]
            if congestion == "bbr":
                case.bars = UNEVEN | {
                    RETRANSMITTED: Bar(inside_range_widened_by=0.15, cell=tuple(retransmitted))
                }
            else:
                case.bars = EVEN | {RETRANSMITTED: Bar(rel=0.15)}
            case.remark = f"{len(runs)} real runs: {RETRANSMITTED} {min(retransmitted):.4g} to {max(retransmitted):.4g}"
    case.theirs = summary(runs)
    scenario["host"] = {"wire": "linux", "qdisc": "off", "transport": transport(kinds[0])}
    scenario["host"]["transports"] = {one: transport(one) for one in dict.fromkeys(kinds)}
    scenario["traffic"] = [
        {
            "kind": "pairs",
            "name": f"flow{index}",
            "pairs": [[index, 0]],
            "sizes": "100GB",
            "start": f"{index}ms",
            "jitter": "1ms",
            "transport": one,
        }
        for index, one in enumerate(kinds, 1)
    ]
    case.setups = seeds(
        scenario,
        {"kinds": kinds, "seconds": REAL_S, "outcast": kind == "outcast"},
        bars,
        "real-linux",
    )
    return case


def real_run(flows: list[dict[str, str]]) -> dict[str, float]:
    mbps = [number(row, "mbps") for row in flows]
    if flows[0]["case"].startswith("outcast"):
        return outcast(mbps[0], mbps[1:])
    lost = [maybe(row, "retransmissions") or 0.0 for row in flows]
    segments = [one * 1e6 * REAL_S / 8 / PAYLOAD for one in mbps]
    return of_flows(segments, lost, [row["congestion"] for row in flows]) | {"mbps": sum(mbps)}


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


def transport(name: str) -> dict[str, Any]:
    if name not in CONGESTION:
        raise Unreadable(f"congestion control {name!r} is none of {', '.join(CONGESTION)}")
    return {"kind": "tcp", "congestion": CONGESTION[name]}


# ------------------------------------------------------------------------------------------------------- measured for this repository


def measured(rows: list[dict[str, str]], bars: Bars) -> Iterator[Case]:
    groups: dict[tuple[str, str, str], dict[str, list[dict[str, str]]]] = {}
    for row in rows:
        key = (row["case"], row["congestion"], row["clock"])
        groups.setdefault(key, {}).setdefault(row["repetition"], []).append(row)
    for (name, congestion, clock), repetitions in groups.items():
        run = " ".join((name, congestion, clock))
        try:
            yield measured_case(run, name, congestion, list(repetitions.values()), bars)
        except Unreadable as error:
            yield Case(f"{SET}.measured-linux", run, problem=str(error))


def measured_case(
    run: str, name: str, congestion: str, repetitions: list[list[dict[str, str]]], bars: Bars
) -> Case:
    kind, _, limit = name.partition("-")
    if limit not in LIMIT or (kind not in ("rtt", "step") and not kind.isdigit()):
        raise Unreadable(f"case {name!r} is unknown")
    runs = [measured_run(kind, flows) for flows in repetitions]
    flows = len(repetitions[0])
    case = Case(f"{SET}.measured-linux", run, theirs=summary(runs), of_repetitions=OF_RUNS)
    seen = MARKED if kind == "step" else RETRANSMITTED
    case.remark = f"{len(runs)} real runs: {seen} {min(one[seen] for one in runs):.4g} to {max(one[seen] for one in runs):.4g}"
    switch: dict[str, Any] = {
        "sharing": "static",
        "buffer": f"{LIMIT[limit]}B",
        "queue_length": "before_transmission",
    }
    scenario = star(switch, hosts=flows + 1)
    tcp = transport(congestion)
    even = {
        LARGEST: Bar(most=1.4 / flows),
        GREATEST: Bar(most=1.8 / flows),
        SMALLEST: Bar(least=0.4 / flows),
    }
    if kind == "rtt":
        case.bars = {NEARER: Bar(or_abs=0.05), RETRANSMITTED: Bar(rel=0.15)}
        scenario["topology"]["override"] = [
            {"link": f"host{host}-switch0", "delay": f"{20 + more / 2:g}us"}
            for host, more in enumerate(FARTHER_US, 1)
        ]
    elif kind == "step":
        case.bars = even | {MARKED: Bar(rel=0.15), "mbps": Bar(rel=0.05)}
        frames = LIMIT[limit] // FRAME
        switch |= {"buffer": "1000packets", "ecn": {"k": f"{frames}packets"}}
        if congestion != "dctcp":
            tcp["ecn"] = "classic"
    else:
        case.bars = even | {RETRANSMITTED: Bar(rel=0.15)}
    scenario["host"] = {"wire": "linux", "qdisc": "off", "transport": tcp}
    scenario["traffic"] = [
        {
            "kind": "pairs",
            "name": f"flow{host}",
            "pairs": [[host, 0]],
            "sizes": "100GB",
            "start": f"{host}ms",
            "jitter": "1ms",
        }
        for host in range(1, flows + 1)
    ]
    case.setups = seeds(
        scenario,
        {"seconds": MEASURED_S, "kind": kind, "congestion": congestion},
        bars,
        "measured-linux",
    )
    return case


def measured_run(kind: str, flows: list[dict[str, str]]) -> dict[str, float]:
    segments = [number(row, "mbps") * 1e6 * MEASURED_S / 8 / PAYLOAD for row in flows]
    lost = [number(row, "retransmissions") for row in flows]
    return of_measured(kind, segments, lost, number(flows[0], "marks_at_the_port")) | {
        "mbps": sum(number(row, "mbps") for row in flows)
    }


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


def queues(rows: list[dict[str, str]], bars: Bars) -> Iterator[Case]:
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(
            tuple(row[column] for column in ("qdisc", "bulk", "connection", "clock")), []
        ).append(row)
    for (qdisc, bulk, connection, clock), repetitions in groups.items():
        case = Case(
            f"{SET}.measured-qdisc", f"{qdisc.replace(' limit ', '-')} {bulk} {connection} {clock}"
        )
        try:
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
            case.setups = beside_bulk(
                qdisc, int(number(repetitions[0], "bulk")), connection == "persistent", bars
            )
        except Unreadable as error:
            case.problem = str(error)
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


def beside_bulk(qdisc: str, bulk: int, persistent: bool, bars: Bars) -> list[Setup]:
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
        {
            "kind": "pairs",
            "name": f"bulk{flow}",
            "pairs": [[0, 1]],
            "sizes": "100GB",
            "start": f"{10 * flow}ms",
            "jitter": "5ms",
        }
        for flow in range(1, bulk + 1)
    ]
    scenario["traffic"].append(
        {"kind": "flows", "name": "requests", "file": "flows.csv", "persistent": persistent}
    )
    scenario["record"] = {"explain": False}
    setups = []
    for seed in range(1, bars.repetitions(SET, "measured-qdisc", least=SEEDS) + 1):
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
                {"bulk": bulk, "seconds": due / 1e9 + 1},
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


# ------------------------------------------------------------------------------------------------------------------------ exact time


BY_HOST = "an order of simultaneous frames by host: it takes them in an order that prefers no port (as `tierand`)"


def exact(rows: list[dict[str, str]], bars: Bars) -> Iterator[Case]:
    runs: dict[str, list[float]] = {}
    for row in rows:
        runs.setdefault(row["run"], []).append(number(row, "bytes"))
    drops: dict[str, float] = {}
    for row in rows:
        drops[row["run"]] = drops.get(row["run"], 0.0) + (
            maybe(row, "drops_at_the_receivers_port") or 0.0
        )
    for name, delivered in runs.items():
        found = re.fullmatch(r"(.+)-([12])", name)
        if found and found[2] == "2":
            # The second run exists only to show that the first one is byte-identical when repeated.
            if runs.get(f"{found[1]}-1") != delivered:
                yield Case(
                    f"{SET}.exact-time", found[1], problem=f"the runs {found[1]}-1 and -2 differ"
                )
            continue
        run = found[1] if found else name
        case = Case(
            f"{SET}.exact-time",
            run,
            of_repetitions=OF_RUNS,
            remark="the same to the byte in two runs" if found else None,
        )
        case.theirs = exact_values(delivered) | {"drops": drops[name]}
        case.absent = not_modelled(run)
        if case.absent is None:
            case.bars = {
                metric: POINTS for metric in ("near_share", LARGEST) if metric in case.theirs
            }
            try:
                case.setups = virtual(run, bars)
            except Unreadable as error:
                case.problem = str(error)
        yield case


def exact_values(delivered: list[float]) -> dict[str, float | None]:
    largest = max(delivered) / sum(delivered)
    if len(delivered) == FAR + 1:
        return {LARGEST: largest, "near_share": delivered[0] / sum(delivered)}
    return {LARGEST: largest, "smallest_share": min(delivered) / sum(delivered)}


def not_modelled(run: str) -> str | None:
    words = run.split("-")
    if run == "g10-jit1us-reno":
        return "the program of this run: each flow sends for a time of its own, and two began after another had ended, so shares have no common interval"
    if "tierev" in words or ("exact" in words and not {"dly", "dly2", "ppm"} & set(words)):
        return BY_HOST
    return None


def virtual(run: str, bars: Bars) -> list[Setup]:
    words = run.split("-")
    congestion = next((word for word in words if word in CONGESTION), "")
    frames = 30 if "30packets" in words else 64 if "outcast" in words else 100
    rate, seconds = (1e9, 4.0) if "g1" in words else (1e10, 0.3) if "g10" in words else (1e8, 30.0)
    if rate == 1e8 and {"dly", "dly2", "ppm", "stag", "outcast", "bbr", "30packets"} & set(words):
        seconds = 20.0
    jitter = next((word[3:] for word in words if word.startswith("jit")), None)
    switch = {"sharing": "static", "buffer": f"{frames}packets"}
    scenario = (
        two_switches(switch, f"{FRAME * frames}B") if "outcast" in words else star(switch, rate)
    )
    overrides = []
    for word in words:
        if word in DELAYS:
            overrides += [
                {"link": f"host{host}-switch0", "delay": f"{delay:g}us"}
                for host, delay in enumerate(DELAYS[word], 1)
            ]
        elif word == "ppm":
            ppm = CLOCKS_OF.get(run, CLOCKS_PPM)
            overrides += [
                {"link": f"host{host}>switch0", "rate": f"{round(rate * (1 + part * 1e-6))}bps"}
                for host, part in enumerate(ppm, 1)
            ]
    if overrides:
        scenario["topology"]["override"] = overrides
    tcp = transport(congestion) | {"tick": "10ms"}
    if congestion == "cubic":
        tcp["cubic"] = {"tick": "10ms"}
    scenario["host"] = {
        "wire": "linux",
        "timing": "exact"
        if jitter is None
        else {"receive": "0ns", "send": jitter, "gap": "0ns", "clock_ppm": 0.0},
        "qdisc": "off",
        "transport": tcp,
    }
    # Start times as in the guests' sleep (exact-time-init.sh), whose first sender is number 2.
    senders = range(1, scenario["topology"]["hosts"])
    starts = {host: 1000 * host if "stag" in words else (host + 1) * 37 % 20 for host in senders}
    own = round(1e3 * seconds)
    scenario["traffic"] = [
        {
            "kind": "pairs",
            "name": f"flow{host}",
            "pairs": [[host, 0]],
            "sizes": "1TB",
            "start": f"{start}ms",
            "jitter": "1ms",
            "stop": f"{start + own}ms",
        }
        for host, start in starts.items()
    ]
    last = (max(starts.values()) + own) / 1e3
    return seeds(scenario, {"seconds": last, "exact": True}, bars, "exact-time")


# ----------------------------------------------------------------------------------------------------------------------------- rates


RATES = {"1Gbps": (1e9, 4), "10Gbps": (1e10, 4), "25Gbps": (2.5e10, 2)}


def rates(congestion: str, theirs: dict[str, float | None], bars: Bars) -> Iterator[Case]:
    """Uses the defaults of `afflux`, except for the buffer and the congestion control."""
    for name, (rate, seconds) in RATES.items():
        for paths in ("equal", "unequal"):
            case = Case(
                f"{SET}.rates", f"{name} {paths} {congestion}", bars=EVEN, of_repetitions=OF_RUNS
            )
            case.theirs = {metric: theirs[metric] for metric in EVEN}
            case.remark = "theirs is real Linux at 100 Mbps with equal paths"
            scenario = star({"sharing": "static", "buffer": "100packets"}, rate)
            if paths == "unequal":
                scenario["topology"]["override"] = [
                    {"link": f"host{host}-switch0", "delay": f"{delay:g}us"}
                    for host, delay in enumerate(DELAYS["dly"], 1)
                ]
            scenario["host"] = {"transport": transport(congestion)}
            scenario["traffic"] = [
                {
                    "kind": "pairs",
                    "pairs": [[host, 0] for host in range(1, 5)],
                    "sizes": "100GB",
                    "jitter": "20ms",
                }
            ]
            case.setups = seeds(scenario, {"seconds": seconds}, bars, "rates")
            yield case


# ------------------------------------------------------------------------------------------------------------------------ scenarios


def star(switch: dict[str, Any], rate: float = 1e8, hosts: int = 5) -> dict[str, Any]:
    """Returns a scenario with four senders (or another number), from host 1 on, and their receiver,
    host 0."""
    return {
        "format": 1,
        "topology": {"kind": "star", "hosts": hosts, "rate": f"{round(rate)}bps", "delay": "20us"},
        "switch": switch,
    }


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


def seeds(
    scenario: dict[str, Any], parameters: dict[str, Any], bars: Bars, file: str
) -> list[Setup]:
    scenario["run"] = {"until": f"{round(1e3 * parameters['seconds'])}ms"}
    scenario["record"] = {"explain": False}
    count = bars.repetitions(SET, file, least=SEEDS)
    return [Setup(scenario, delivered, parameters, seed=seed) for seed in range(1, count + 1)]


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
