"""Real Linux, measured for this repository."""

from collections.abc import Iterator

from ..bars import Bar, Bars
from ..case import Case, Row, Unreadable, number
from .flows import (
    FRAME,
    GREATEST,
    LARGEST,
    LIMIT,
    MARKED,
    NEARER,
    OF_RUNS,
    PAYLOAD,
    RETRANSMITTED,
    SET,
    SMALLEST,
    bulk,
    delays,
    drop_tail,
    grouped,
    of_measured,
    repeated,
    seeds,
    star,
    summary,
    transport,
)

MEASURED_S = 24
#: Additional round-trip times in us of senders 1 to 4.
FARTHER_US = (20, 20, 1000, 1000)


def measured(rows: list[Row], bars: Bars) -> Iterator[Case]:
    groups = grouped(rows, lambda row: (row["case"], row["congestion"], row["clock"]))
    for (name, congestion, clock), flows in groups.items():
        run = " ".join((name, congestion, clock))
        try:
            yield measured_case(run, name, congestion, repeated(flows), bars)
        except Unreadable as error:
            yield Case(f"{SET}.measured-linux", run, problem=str(error))


def measured_case(
    run: str, name: str, congestion: str, repetitions: list[list[Row]], bars: Bars
) -> Case:
    kind, _, limit = name.partition("-")
    if limit not in LIMIT or (kind not in ("rtt", "step") and not kind.isdigit()):
        raise Unreadable(f"case {name!r} is unknown")
    runs = [measured_run(kind, flows) for flows in repetitions]
    flows = len(repetitions[0])
    case = Case(f"{SET}.measured-linux", run, theirs=summary(runs), of_repetitions=OF_RUNS)
    seen = MARKED if kind == "step" else RETRANSMITTED
    case.remark = f"{len(runs)} real runs: {seen} {min(one[seen] for one in runs):.4g} to {max(one[seen] for one in runs):.4g}"
    switch = drop_tail(LIMIT[limit])
    scenario = star(switch, hosts=flows + 1)
    tcp = transport(congestion)
    even = {
        LARGEST: Bar(most=1.4 / flows),
        GREATEST: Bar(most=1.8 / flows),
        SMALLEST: Bar(least=0.4 / flows),
    }
    if kind == "rtt":
        case.bars = {NEARER: Bar(or_abs=0.05), RETRANSMITTED: Bar(rel=0.15)}
        scenario["topology"]["override"] = delays(20 + more / 2 for more in FARTHER_US)
    elif kind == "step":
        case.bars = even | {MARKED: Bar(rel=0.15), "mbps": Bar(rel=0.05)}
        frames = LIMIT[limit] // FRAME
        switch |= {"buffer": "1000packets", "ecn": {"k": f"{frames}packets"}}
        if congestion != "dctcp":
            tcp["ecn"] = "classic"
    else:
        case.bars = even | {RETRANSMITTED: Bar(rel=0.15)}
    scenario["host"] = {"wire": "linux", "qdisc": "off", "transport": tcp}
    scenario["traffic"] = [bulk(host, host) for host in range(1, flows + 1)]
    case.setups = seeds(
        scenario,
        {"seconds": MEASURED_S, "kind": kind, "congestion": congestion},
        bars,
        "measured-linux",
    )
    return case


def measured_run(kind: str, flows: list[Row]) -> dict[str, float]:
    segments = [number(row, "mbps") * 1e6 * MEASURED_S / 8 / PAYLOAD for row in flows]
    lost = [number(row, "retransmissions") for row in flows]
    return of_measured(kind, segments, lost, number(flows[0], "marks_at_the_port")) | {
        "mbps": sum(number(row, "mbps") for row in flows)
    }
