"""Incast: servers that answer one client at the same time, in closed loop."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..bars import Bar, Bars
from ..case import Case, Row, Runner, Setup, Unmeasured, Unreadable, fraction, maybe, number
from .network import FRAME, PAYLOAD, SET, bits, dumbbell, transport

#: Burst of the token bucket in bytes.
BURST = 1600
#: Largest N with a tolerance. Above it the noise of single runs is too large.
MOST_INCAST_SENDERS = 16
#: Time in ns that the client waits between rounds (t_start_s and dur_s in raw/*.rounds).
THINK_NS = 10_050_000


def incast(
    reference: str, stem: str, rows: list[Row], related: list[Row], bars: Bars
) -> Iterator[Case]:
    """N servers answer one client, 20 rounds, closed loop. Goodput is N·block over the mean
    duration of a round including the request."""
    named = bars.of(SET, stem)
    for row in rows:
        case = Case(
            reference,
            row["name"],
            theirs={metric: maybe(row, metric) for metric in ("goodput_mbps", "mean_ms", "drops")},
        )
        with case.reading():
            senders = int(number(row, "N"))
            case.labels = {"series": row["config"], "N": senders}
            if senders <= MOST_INCAST_SENDERS:
                case.bars = named
            case.setups = [
                rounds(row, rows, repetition) for repetition in range(bars.repetitions(SET, stem))
            ]
        yield case


def rounds(row: Row, rows: list[Row], repetition: int) -> Setup:
    senders, block, count = (
        int(number(row, "N")),
        int(number(row, "block")),
        int(number(row, "rounds")),
    )
    rate = rate_of(row)
    rtt_ns = number(row, "RTT") * 1e3 if (row.get("RTT") or "").strip() else round_trip_ns(rows)
    # The connections are open before the first round.
    tcp = transport(row["cc"], ecn=False) | {"min_rto": row["rto_min"], "handshake": False}
    scenario = dumbbell(senders, rate, rtt_ns, row["queue"], tcp, sinks=1)
    scenario["traffic"] = [
        {
            "kind": "incast",
            "to": senders,
            "bytes": f"{block}B",
            "rounds": count,
            "closed_loop": True,
            "request_delay": f"{round(THINK_NS + rtt_ns / 2)}ns",
            "start": f"{round(rtt_ns / 2 + fraction(repetition, 0) * FRAME * 8e9 / rate)}ns",
            "persistent": True,
        }
    ]
    if repetition:
        # Only in the first repetition do all servers answer at the same instant.
        scenario["traffic"][0]["jitter"] = f"{round(FRAME * 8e9 / rate)}ns"
    scenario["run"] = {"fct_end": "last_byte"}
    scenario["record"] = {"explain": False}
    return Setup(
        scenario,
        rounds_done,
        {"request_ns": rtt_ns / 2, "bytes": senders * block, "rounds": count},
        seed=repetition + 1,
        optional=("traffic.0.persistent",),
    )


def rounds_done(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    result = runner.run()
    spans = [
        (start, end)
        for start, end in zip(
            result.jobs.column("start_ns"), result.jobs.column("finish_ns"), strict=True
        )
    ]
    if len(spans) != p["rounds"] or any(end is None for _, end in spans):
        raise Unmeasured(
            f"{sum(end is not None for _, end in spans)} of {p['rounds']} rounds ended"
        )
    mean = sum(end - start + p["request_ns"] for start, end in spans) / len(spans)
    return {
        "goodput_mbps": p["bytes"] * 8e3 / mean,
        "mean_ms": mean / 1e6,
        "drops": result.summary["drops"],
    }


def rate_of(row: Row) -> float:
    """Returns the rate from the column RATE, from RED's `bandwidth`, or 1 Gbps."""
    told = re.search(r"bandwidth (\S+)", row.get("queue") or "")
    if (row.get("RATE") or "").strip():
        return number(row, "RATE") * 1e6
    return bits(told[1]) if told else 1e9


def round_trip_ns(rows: list[Row]) -> float:
    """Estimates the round-trip time, rounded to 10 us, because there is no column for it. A round
    without drops takes a round trip plus the frames' slots at the bottleneck minus the burst."""
    left = []
    for row in rows:
        segments = -(-int(number(row, "block")) // PAYLOAD)
        wire = number(row, "N") * (number(row, "block") + segments * (FRAME - PAYLOAD))
        if maybe(row, "drops") == 0:
            left.append(number(row, "mean_ms") * 1e6 - (wire - BURST) * 8e9 / rate_of(row))
    if not left or min(left) < 5_000:
        raise Unreadable("no column RTT, and no row without drops from which it follows")
    return max(1, round(min(left) / 10_000)) * 10_000.0


def derived(
    done: Sequence[tuple[Case, dict[str, float]]], bars: Bars
) -> Iterator[tuple[Case, dict[str, float]]]:
    """Compares the N at which the goodput of a series falls below a third of its best, within a
    factor of 1.5 (bars.toml, linux.c_incast)."""
    series: dict[tuple[str, str], list[tuple[Case, dict[str, float]]]] = {}
    for case, ours in done:
        if "series" in case.labels and bars.of(SET, case.reference.split(".")[1]):
            series.setdefault((case.reference, case.labels["series"]), []).append((case, ours))
    for (reference, name), runs in series.items():
        runs = sorted(runs, key=lambda run: run[0].labels["N"])
        metric = "goodput_mbps"
        theirs = collapse([(case.labels["N"], case.theirs.get(metric)) for case, _ in runs])
        ours = collapse([(case.labels["N"], values.get(metric)) for case, values in runs])
        most = runs[-1][0].labels["N"]
        case = Case(
            reference, name, theirs={"collapse_N": theirs}, bars={"collapse_N": Bar(factor=1.5)}
        )
        if len(runs) < 2 or (theirs is None and ours is None and all(values for _, values in runs)):
            # The goodput does not collapse on either side, so there is nothing to compare.
            continue
        if not all(values for _, values in runs):
            case.problem = "not every N of the series could be run"
        elif theirs is None or ours is None:
            falls, stays = ("ours", "theirs") if theirs is None else ("theirs", "ours")
            case.problem = (
                f"{falls} falls below a third at {ours or theirs:g}, {stays} not up to {most}"
            )
        yield case, {} if ours is None else {"collapse_N": ours}


def collapse(series: list[tuple[int, float | None]]) -> float | None:
    best = max((goodput for _, goodput in series if goodput is not None), default=0.0)
    return next(
        (float(n) for n, goodput in series if goodput is not None and goodput < best / 3), None
    )
