"""Bulk transfers, and thresholds that a host remembers of earlier connections."""

from collections.abc import Iterator
from typing import Any

from ..bars import Bar, Bars
from ..case import Case, Row, Runner, Setup, fraction, maybe, number, received_bytes
from .network import (
    FRAME,
    OPTIONAL,
    RECEIVE_BUFFER_SHARE,
    SET,
    dumbbell,
    half2,
    interval,
    stall,
    transport,
)

#: Time in ns from the first host's start to the last host's.
HOSTS_BEGIN_NS = 3_400_000
#: Minimum number of seeds for a distribution over random losses.
LOSS_SEEDS = 21


def bulk(
    reference: str, stem: str, rows: list[Row], related: list[Row], bars: Bars
) -> Iterator[Case]:
    """Simulates one run per row: greedy flows, measured in the second half of T."""
    for row in rows:
        named = {name: bar for name, bar in bars.of(SET, stem).items() if name in row}
        theirs = {
            name: maybe(row, name)
            for name in (
                *named,
                "avg_mbps",
                "half2_mbps",
                "q_mean_B",
                "bneck_drops",
                "marked",
                "retrans",
            )
        }
        case = Case(reference, row.get("name") or "?", theirs=theirs, bars=named)
        with case.reading():
            cell = [
                value
                for other in related
                if same_cell(row, other) and (value := maybe(other, "half2_mbps")) is not None
            ]
            if any(bar.inside_range_widened_by is not None for bar in named.values()):
                case.bars = {
                    name: Bar(**(vars(bar) | {"cell": tuple(cell)})) for name, bar in named.items()
                }
                case.remark = (
                    f"range of {len(cell)} real runs: {min(cell):g} to {max(cell):g}"
                    if len(cell) > 1
                    else "one real run"
                )
            repetitions = bars.repetitions(
                SET, stem, least=LOSS_SEEDS if number(row, "LOSS", 0) > 0 else 1
            )
            case.setups = [transfer(row, repetition) for repetition in range(repetitions)]
        yield case


#: Columns that are equal in two runs of the same cell.
INPUTS = ("HOSTS", "RATE", "RTT", "Q", "CC", "ECN", "LOSS", "W", "CONNS", "GAP", "T", "STALL")


def same_cell(row: Row, other: Row) -> bool:
    return all((row.get(name) or "") == (other.get(name) or "") for name in INPUTS)


def transfer(row: Row, repetition: int) -> Setup:
    rate, duration = number(row, "RATE") * 1e6, number(row, "T")
    rtt_ns = number(row, "RTT") * 1e3
    pairs, parallel = int(number(row, "HOSTS", 1)), int(number(row, "CONNS", 1))
    # The connections of a host are opened one after the other. Each waits until the previous one is
    # established.
    gap_ns = max(number(row, "GAP", 0) * 1e9, rtt_ns)
    slot_ns = FRAME * 8e9 / rate
    size = int(rate * duration / 4) + 1_000_000
    apart_ns = HOSTS_BEGIN_NS / max(pairs - 1, 1)
    flows = tuple(
        (
            round(
                index // pairs * gap_ns
                + index % pairs * apart_ns
                + fraction(repetition, index) * slot_ns
            ),
            index % pairs,
            pairs + index % pairs,
            size,
        )
        for index in range(pairs * parallel)
    )
    tcp = transport(row.get("CC") or "", ecn=number(row, "ECN", 0) > 0)
    if (row.get("W") or "").strip():
        del tcp["receive_window"]
        tcp |= {
            "receive_buffer": f"{2 * int(number(row, 'W'))}B",
            "receive_buffer_share": RECEIVE_BUFFER_SHARE,
        }
    if (row.get("STALL") or "").strip():
        tcp["reader"] = stall(row["STALL"])
    scenario = dumbbell(
        pairs, rate, rtt_ns, row.get("Q") or "", tcp, loss=number(row, "LOSS", 0) / 100
    )
    scenario["traffic"] = [{"kind": "flows", "file": "flows.csv"}]
    scenario["record"] = {
        "explain": False,
        "ports": {"interval": interval(duration), "nodes": ["r1"]},
    }
    parameters = {
        "from_s": duration / 2,
        "to_s": duration,
        "lag_s": rtt_ns / 2e9,
        "node": "r1",
        "peer": "r2",
        "aside_bytes": FRAME,
    }
    return Setup(scenario, half2, parameters, flows, seed=repetition + 1, optional=OPTIONAL)


#: Values that the columns lack, from the runs in raw/ with this name.
CACHE_RUN = {"RATE": "100", "RTT": "300000", "Q": "bfifo limit 375000", "T": "12"}


def ssthresh_cache(
    reference: str, stem: str, rows: list[Row], related: list[Row], bars: Bars
) -> Iterator[Case]:
    """Simulates connections one after the other, T seconds each. A scenario cannot end them at a
    given time, so each gets the bytes that the reference carried in T plus a tenth, and the next
    begins 3 T later. It inherits the threshold of a connection that has ended."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["name"], []).append(CACHE_RUN | row)
    for name, group in groups.items():
        for row in group:
            run = f"{name}.conn{row['conn']}"
            case = Case(
                reference,
                run,
                theirs={metric: maybe(row, metric) for metric in ("half2_mbps", "avg_mbps")},
                bars=bars.of(SET, stem),
            )
            with case.reading():
                place = [other["conn"] for other in group].index(row["conn"])
                case.setups = [
                    remembered(group, place, repetition)
                    for repetition in range(bars.repetitions(SET, stem))
                ]
            yield case


def remembered(group: list[Row], place: int, repetition: int) -> Setup:
    row = group[place]
    rate, duration = number(row, "RATE") * 1e6, number(row, "T")
    caches = (
        number(row, "tcp_no_metrics_save") == 0 and number(row, "tcp_no_ssthresh_metrics_save") == 0
    )
    tcp = transport(row["cc"], ecn=False)
    if caches:
        tcp["ssthresh_cache"] = True
    jitter = fraction(repetition, 0) * FRAME * 8e9 / rate
    starts = [round(3 * duration * 1e9 * index + jitter) for index in range(place + 1)]
    flows = tuple(
        (start, 0, 1, round(1.1 * number(other, "avg_mbps") * 1e6 / 8 * duration))
        for start, other in zip(starts, group, strict=False)
    )
    scenario = dumbbell(1, rate, number(row, "RTT") * 1e3, row["Q"], tcp)
    scenario["traffic"] = [{"kind": "flows", "file": "flows.csv"}]
    begin = starts[-1] / 1e9
    scenario["record"] = {"explain": False}
    return Setup(
        scenario,
        connection,
        {"begin_s": begin, "T": duration, "lag_s": number(row, "RTT") / 2e6},
        flows,
        seed=repetition + 1,
        optional=OPTIONAL,
    )


def connection(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    """Measures the connection that begins at `begin_s`, by subtracting the bytes of connections that
    have ended before.
    """
    begin, duration = p["begin_s"], p["T"]
    at = [
        received_bytes(runner.run(begin + t - p["lag_s"])) if begin + t > p["lag_s"] else 0.0
        for t in (0, duration / 2, duration)
    ]
    return {
        "half2_mbps": (at[2] - at[1]) * 8e-6 / (duration / 2),
        "avg_mbps": (at[2] - at[0]) * 8e-6 / duration,
    }
