"""Real Linux in real time, and the same tolerances at higher rates."""

from collections.abc import Iterator

from ..bars import Bar, Bars
from ..case import Case, Row, Unreadable, maybe, number
from .flows import (
    DELAYS,
    EVEN,
    LIMIT,
    NEAR,
    OF_RUNS,
    OUTCAST,
    PAYLOAD,
    RETRANSMITTED,
    SET,
    SPREAD,
    UNEVEN,
    bulk,
    delays,
    drop_tail,
    grouped,
    of_flows,
    outcast,
    repeated,
    seeds,
    star,
    summary,
    transport,
    two_switches,
)

REAL_S = 30


def real(rows: list[Row], bars: Bars) -> Iterator[Case]:
    # By case and congestion control. Flows of a mix are in one group.
    groups = grouped(
        rows,
        lambda row: (row["case"], "" if row["case"].startswith("mix") else row["congestion"]),
    )
    for (name, congestion), flows in groups.items():
        try:
            yield real_case(name, congestion, repeated(flows), bars)
        except Unreadable as error:
            yield Case(f"{SET}.real-linux", f"{name} {congestion}".strip(), problem=str(error))
    for congestion in ("cubic", "reno"):
        if equal := groups.get(("four-100packets", congestion)):
            yield from rates(
                congestion, summary([real_run(flows) for flows in repeated(equal)]), bars
            )


def real_case(name: str, congestion: str, repetitions: list[list[Row]], bars: Bars) -> Case:
    kind, _, limit = name.partition("-")
    if limit not in LIMIT or kind not in ("four", "mix", "outcast"):
        raise Unreadable(f"case {name!r} is unknown")
    kinds = [row["congestion"] for row in repetitions[0]]
    runs = [real_run(flows) for flows in repetitions]
    case = Case(f"{SET}.real-linux", f"{name} {congestion}".strip(), of_repetitions=OF_RUNS)
    switch = drop_tail(LIMIT[limit])
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
    scenario["traffic"] = [bulk(index, index, transport=one) for index, one in enumerate(kinds, 1)]
    case.setups = seeds(
        scenario,
        {"kinds": kinds, "seconds": REAL_S, "outcast": kind == "outcast"},
        bars,
        "real-linux",
    )
    return case


def real_run(flows: list[Row]) -> dict[str, float]:
    mbps = [number(row, "mbps") for row in flows]
    if flows[0]["case"].startswith("outcast"):
        return outcast(mbps[0], mbps[1:])
    lost = [maybe(row, "retransmissions") or 0.0 for row in flows]
    segments = [one * 1e6 * REAL_S / 8 / PAYLOAD for one in mbps]
    return of_flows(segments, lost, [row["congestion"] for row in flows]) | {"mbps": sum(mbps)}


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
                scenario["topology"]["override"] = delays(DELAYS["dly"])
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
