"""Reader of real Linux TCP over a token bucket: `linux/*.csv`.

    host_i — r1 — r2 — host_j        bottleneck r1→r2 at RATE with the queue Q, delay RTT/2 each way

Columns and README of the reference are reproduced as follows:

- Frames as a queueing discipline counts them: 1448 B of payload in 1514 B, acknowledgements of 66
  B, no gap.
- A token bucket hands a frame on at the *start* of its slot. Here the transmission of a frame takes
  its slot. So the slot of a frame (and that of an acknowledgement, which takes the reverse
  direction of our link) is subtracted from the propagation delay. The backlog does not contain the
  frame in transmission (`queue_length = "before_transmission"`).
- W is SO_RCVBUF. The kernel doubles it, and uses the share `len/truesize` of a full frame of this
  memory as window (tcp_measure_rcv_mss, tcp_win_from_space; in 256ths). 1448 B in a frame of 2416 B
  of memory are 153/256, so the window is 2·W·153/256 = 1.195 W. This explains every `snd_wnd` in
  raw/: from 64 KB to 32 MB it is this value, minus the memory of the partial segment that filled
  the window (600 to 1,000 B).
- A RED queue: `max` and `min` as given; the weight of the average as `tc` derives it from `burst`
  (tc_red_eval_ewma). The token bucket above it looks (red_peek, which asks the FIFO inside) before
  it takes a frame. So RED is never found empty, and its average never decays with time: the first
  frames after a pause still see the average that the last burst left. `probability 1` becomes 0.73
  at `max`, 1 above.
- Parallel connections begin at least a round trip apart: at 300 ms the raw files show the eighth
  established at 2.4 s.
- CPU work takes no time there, but every reading of the virtual clock advances it by 256 ns, so a
  sender does not send everything at one instant. raw/c_reno_dt64k_n1.q shows bursts of 46 frames
  (68,572 B) that have all arrived while at most 10 have been sent on, and a limit of 64,000 B drops
  none of them. So a frame takes at least 36 us / 46, which is four readings or more. Here it takes
  four: links between hosts and r1 carry a frame of 1514 B in 1,024 ns.
- Hosts do not begin at the same time. In b_*_n2 the handshake of one took 500 us. The handshake of
  the other, behind the first one's slow start, took 1,595 us with Reno and 1,199 us with CUBIC
  (`srtt_us` of the first row in raw/). A lone flow of ours has a queue of 1,095 and 699 us when a
  SYN comes 3.5 ms after its start. With eight hosts both the order and the times differ from run to
  run. Here they are spread evenly over the same time.
- The clock ticks 1,000 times a second. Marks with CUBIC come 35.5 ms apart (its wait of HZ/32 and
  the round trip) and never on a coarser grid. The shortest repair of a lost tail in c_incast takes
  4.6 ms, where a tick of 4 or 10 ms would allow 2 to 4 or 10.
- `rmem` and `wmem` are up to 64 MB: windows have no limit other than W, and send buffers this one.
- half2_mbps counts bytes acknowledged from T/2 to T, which were received half a round trip earlier.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .bars import Bar, Bars
from .case import (
    Case,
    Runner,
    Setup,
    Unmeasured,
    Unreadable,
    fraction,
    greedy,
    maybe,
    number,
    read_csv,
    received_bytes,
)

SET = "linux"
PAYLOAD, FRAME, ACK = 1448, 1514, 66
#: Share of the 2416 B of memory of a full frame that is window, in 256ths as the kernel stores it.
RECEIVE_BUFFER_SHARE = 153 / 256
TICK = "1ms"
#: Virtual time has no noise, and a virtual link has no queueing discipline.
HOST: dict[str, Any] = {"wire": "linux", "timing": "exact", "qdisc": "off"}
#: Keys that are set if this version of afflux has them.
OPTIONAL = (
    *(f"host.transport.{key}" for key in ("tick", "cubic.tick", "htcp.tick")),
    *(f"switch.override.0.ecn.{key}" for key in ("idle_frame", "spacing")),
)
#: Rate that carries 1514 B in four readings of the virtual clock.
ACCESS_BPS = 11828125000
#: Time in ns from the first host's start to the last host's.
HOSTS_BEGIN_NS = 3_400_000
#: Burst of the token bucket in bytes.
BURST = 1600
#: Minimum number of seeds for a distribution over random losses.
LOSS_SEEDS = 21
CONGESTION = {"reno": "newreno", "cubic": "cubic", "htcp": "htcp", "bbr": "bbr", "dctcp": "dctcp"}
#: Largest N with a tolerance. Above it the noise of single runs is too large.
MOST_INCAST_SENDERS = 16


def cases(folder: Path, bars: Bars) -> Iterator[Case]:
    files = sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and re.search(r"\.csv(\.gz)?$", path.name)
    )
    readable: dict[Path, list[dict[str, str]]] = {}
    for path in files:
        reference = f"{SET}.{path.name.split('.')[0]}"
        reader = next((reader for start, reader in READERS if path.name.startswith(start)), None)
        if reader is None:
            yield Case(
                reference,
                path.name,
                problem="no reader for this file yet",
                bars=bars.of(SET, path.name),
            )
            continue
        try:
            readable[path] = read_csv(path, reader.columns)
        except Unreadable as error:
            yield Case(reference, path.name, problem=str(error))
    for path, rows in readable.items():
        reader = next(reader for start, reader in READERS if path.name.startswith(start))
        stem = path.name.split(".")[0]
        # Files of one kind describe the same cells.
        related = [
            row
            for other in readable
            if bars.section(SET, other.name) == bars.section(SET, path.name)
            for row in readable[other]
        ]
        yield from reader.read(f"{SET}.{stem}", stem, rows, related, bars)


# ---------------------------------------------------------------------------------------------------------------- bulk transfers


def bulk(
    reference: str, stem: str, rows: list[dict[str, str]], related: list[dict[str, str]], bars: Bars
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
        try:
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
        except Unreadable as error:
            case.problem = str(error)
        yield case


#: Columns that are equal in two runs of the same cell.
INPUTS = ("HOSTS", "RATE", "RTT", "Q", "CC", "ECN", "LOSS", "W", "CONNS", "GAP", "T", "STALL")


def same_cell(row: dict[str, str], other: dict[str, str]) -> bool:
    return all((row.get(name) or "") == (other.get(name) or "") for name in INPUTS)


def transfer(row: dict[str, str], repetition: int) -> Setup:
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


#: Columns of the reference, and what `greedy` calls them.
MEASURED = {
    "half2_mbps": "mbps",
    "avg_mbps": "avg_mbps",
    "q_mean_B": "queue",
    "bneck_drops": "drops",
    "marked": "ecn_marks",
    "retrans": "retransmits",
}


def half2(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    got = greedy(runner, p)
    return {name: got[measured] for name, measured in MEASURED.items() if measured in got}


def interval(duration: float) -> str:
    """Returns an interval with 2,000 samples in the measured half, at least 100 us."""
    return f"{max(100_000, round(duration * 1e9 / 4000))}ns"


def transport(congestion: str, *, ecn: bool) -> dict[str, Any]:
    if congestion not in CONGESTION:
        raise Unreadable(f"congestion control {congestion!r} is none of {', '.join(CONGESTION)}")
    # The machines' receive buffers never limited a sender, except in rows with W.
    tcp: dict[str, Any] = {
        "kind": "tcp",
        "stack": "linux",
        "congestion": CONGESTION[congestion],
        "receive_window": "unlimited",
        "send_buffer_max": "64MB",
        "tick": TICK,
    }
    if congestion in ("cubic", "htcp"):
        tcp[congestion] = {"tick": TICK}
    if congestion != "dctcp":
        tcp["ecn"] = "classic" if ecn else "off"
    return tcp


def stall(text: str) -> dict[str, str]:
    found = re.fullmatch(r"\s*(\d+)\s*,\s*(\d+)\s*", text)
    if not found:
        raise Unreadable(f"STALL {text!r} is not 'read ms, sleep ms'")
    return {"read": f"{found[1]}ms", "sleep": f"{found[2]}ms"}


def dumbbell(
    sources: int,
    rate: float,
    rtt_ns: float,
    queue: str,
    tcp: dict[str, Any],
    *,
    loss: float = 0.0,
    sinks: int | None = None,
) -> dict[str, Any]:
    """Returns a scenario in which hosts 0 … sources−1 send to hosts sources …. `sinks` receivers,
    by default as many as sources."""
    sinks = sources if sinks is None else sinks
    taken = (FRAME + ACK) * 8e9 / rate + 2 * (FRAME + ACK) * 8e9 / ACCESS_BPS
    one_way = (rtt_ns - taken) / 2
    # The delay is distributed evenly over the three links. Only the sum matters.
    access = round(one_way / 3)
    middle = round(one_way) - 2 * access
    if access < 1:
        raise Unreadable(
            f"a round trip of {rtt_ns / 1e3:g} us is shorter than the transmission of a frame at {rate / 1e6:g} Mbps"
        )
    links = [
        {"a": f"host{host}", "b": "r1", "rate": f"{ACCESS_BPS}bps", "delay": f"{access}ns"}
        for host in range(sources)
    ]
    links.append({"a": "r1", "b": "r2", "rate": f"{round(rate)}bps", "delay": f"{middle}ns"})
    links += [
        {
            "a": "r2",
            "b": f"host{sources + host}",
            "rate": f"{ACCESS_BPS}bps",
            "delay": f"{access}ns",
        }
        for host in range(sinks)
    ]
    topology: dict[str, Any] = {
        "kind": "custom",
        "hosts": sources + sinks,
        "switches": ["r1", "r2"],
        "link": links,
    }
    if loss > 0:
        # Losses occur in both directions, because a single direction is not possible here. A few
        # lost acknowledgements do not matter.
        topology["fault"] = [
            {"link": [f"r2-host{sources + host}" for host in range(sinks)], "loss": loss}
        ]
    return {
        "format": 1,
        "topology": topology,
        "switch": {
            "sharing": "unlimited",
            "queue_length": "before_transmission",
            "override": [{"match": "r1", **discipline(queue)}],
        },
        "host": HOST | {"transport": tcp},
    }


def discipline(text: str) -> dict[str, Any]:
    """Parses `bfifo limit BYTES`, or `red limit … min … max … avpkt … burst …
    probability … [ecn]`.
    """
    words = text.split()
    options = dict(zip(words[1::2], words[2::2], strict=False))
    try:
        keys: dict[str, Any] = {"sharing": "static", "buffer": f"{int(options['limit'])}B"}
        if words[0] == "red":
            keys["ecn"] = {
                "kmin": f"{int(options['min'])}B",
                "kmax": f"{int(options['max'])}B",
                "pmax": red_probability(
                    int(options["max"]) - int(options["min"]), float(options["probability"])
                ),
                "average_weight": red_weight(
                    int(options["min"]), int(options["burst"]), int(options["avpkt"])
                ),
                # The token bucket above looks before it takes a frame (red_peek), so RED is never
                # found empty and its average is never idle.
                "idle_frame": "off",
                "compare": "at_or_above",
                "spacing": "linux",
                "incapable": "drop",
            }
            if "ecn" not in words:
                raise Unreadable(f"queue {text!r}: RED without ecn")
        elif words[0] != "bfifo":
            raise Unreadable(f"queue {text!r} is neither bfifo nor red")
    except (KeyError, ValueError, IndexError):
        raise Unreadable(f"queue {text!r} cannot be understood") from None
    return keys


def bits(text: str) -> float:
    """Parses a rate as `tc` writes it."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?)bit", text.lower())
    if not found:
        raise Unreadable(f"rate {text!r} cannot be understood")
    return float(found[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[found[2]]


def red_probability(span: int, probability: float) -> float:
    """Returns the probability at `max`. `tc` passes it in 32 bits, where 1 becomes 0. The kernel
    then uses 2^-Plog for each byte above `min` (tc_red_eval_P, red_maxp)."""
    return probability if probability < 1 else span / 2 ** span.bit_length()


def red_weight(low: int, burst: int, packet: int) -> float:
    """Returns the weight that `tc` chooses (iproute2 tc/tc_red.c, tc_red_eval_ewma)."""
    a = burst + 1 - low / packet
    for log in range(1, 32):
        weight = 0.5**log
        if 1 <= a <= (1 - (1 - weight) ** burst) / weight:
            return weight
    raise Unreadable(f"RED with burst {burst} below min {low}")


# ---------------------------------------------------------------------------------------------------------- remembered thresholds


#: Values that the columns lack, from the runs in raw/ with this name.
CACHE_RUN = {"RATE": "100", "RTT": "300000", "Q": "bfifo limit 375000", "T": "12"}


def ssthresh_cache(
    reference: str, stem: str, rows: list[dict[str, str]], related: list[dict[str, str]], bars: Bars
) -> Iterator[Case]:
    """Simulates connections one after the other, T seconds each. A scenario cannot end them at a
    given time, so each gets the bytes that the reference carried in T plus a tenth, and the next
    begins 3 T later. It inherits the threshold of a connection that has ended."""
    groups: dict[str, list[dict[str, str]]] = {}
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
            try:
                place = [other["conn"] for other in group].index(row["conn"])
                case.setups = [
                    remembered(group, place, repetition)
                    for repetition in range(bars.repetitions(SET, stem))
                ]
            except Unreadable as error:
                case.problem = str(error)
            yield case


def remembered(group: list[dict[str, str]], place: int, repetition: int) -> Setup:
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


# ------------------------------------------------------------------------------------------------------------------------ incast


#: Time in ns that the client waits between rounds (t_start_s and dur_s in raw/*.rounds).
THINK_NS = 10_050_000


def incast(
    reference: str, stem: str, rows: list[dict[str, str]], related: list[dict[str, str]], bars: Bars
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
        try:
            senders = int(number(row, "N"))
            case.labels = {"series": row["config"], "N": senders}
            if senders <= MOST_INCAST_SENDERS:
                case.bars = named
            case.setups = [
                rounds(row, rows, repetition) for repetition in range(bars.repetitions(SET, stem))
            ]
        except Unreadable as error:
            case.problem = str(error)
        yield case


def rounds(row: dict[str, str], rows: list[dict[str, str]], repetition: int) -> Setup:
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


def rate_of(row: dict[str, str]) -> float:
    """Returns the rate from the column RATE, from RED's `bandwidth`, or 1 Gbps."""
    told = re.search(r"bandwidth (\S+)", row.get("queue") or "")
    if (row.get("RATE") or "").strip():
        return number(row, "RATE") * 1e6
    return bits(told[1]) if told else 1e9


def round_trip_ns(rows: list[dict[str, str]]) -> float:
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


# ------------------------------------------------------------------------------------------------------------------------- MPTCP


#: Round-trip time of a path, which the columns lack. TCP over `100@5ms` carried exactly the same
#: bytes as over `1x100`, so it is 5 ms. T follows from the bytes.
BULK_RTT_MS = 5.0
#: Queue of a path in bytes, which the columns lack. A lone Reno flow on 100 Mbps loses every 3.9 s
#: (raw/d_bulk_tcp_reno_1x100.rx). Ours loses every 3.85 s with this queue, 2.0 s with 250,000 B,
#: and 4.3 s with 400,000 B.
BULK_QUEUE = 375_000


def mptcp_bulk(
    reference: str, stem: str, rows: list[dict[str, str]], related: list[dict[str, str]], bars: Bars
) -> Iterator[Case]:
    """Disjoint paths `100`, `100+50`, `3x100`, `100@5ms+100@50ms`. TCP uses only the first one."""
    for row in rows:
        case = Case(
            reference,
            row["name"],
            theirs={metric: maybe(row, metric) for metric in ("half2_mbps", "avg_mbps")},
            bars=bars.of(SET, stem),
        )
        try:
            case.setups = [
                paths(row, repetition) for repetition in range(bars.repetitions(SET, stem))
            ]
        except Unreadable as error:
            case.problem = str(error)
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


def paths(row: dict[str, str], repetition: int) -> Setup:
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


def used_paths(row: dict[str, str]) -> tuple[list[tuple[float, float]], int]:
    """Returns rate in Mbps and round-trip time in ms of the paths that the protocol uses, and the
    payload of a frame in bytes."""
    if row["proto"] not in ("tcp", "mptcp"):
        raise Unreadable(f"proto {row['proto']!r} is neither tcp nor mptcp")
    given = parse_paths(row["paths"])
    return (given[:1], PAYLOAD) if row["proto"] == "tcp" else (given, PAYLOAD - 24)


def disjoint(row: dict[str, str], given: list[tuple[float, float]], payload: int) -> dict[str, Any]:
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
        links += [
            {
                "a": "host0",
                "b": near,
                "rate": f"{ACCESS_BPS}bps",
                "delay": f"{round(one_way / 3)}ns",
            },
            {
                "a": near,
                "b": far,
                "rate": f"{round(mbps * 1e6)}bps",
                "delay": f"{round(one_way / 3)}ns",
            },
            {
                "a": far,
                "b": "host1",
                "rate": f"{ACCESS_BPS}bps",
                "delay": f"{round(one_way / 3)}ns",
            },
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
    reference: str, stem: str, rows: list[dict[str, str]], related: list[dict[str, str]], bars: Bars
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
        try:
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
        except Unreadable as error:
            case.problem = str(error)
        yield case


def completion(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    (fct,) = runner.run(ports=False).flows.column("fct_ns")
    if fct is None:
        raise Unmeasured("the flow did not end")
    return {"p50_ms": fct / 1e6}


class Reader:
    def __init__(self, read: Any, columns: str) -> None:
        self.read, self.columns = read, columns.split()


#: Readers by the beginning of a file's name, as the README of the reference lists them.
READERS = [
    (
        "a5_",
        Reader(
            ssthresh_cache,
            "name cc tcp_no_metrics_save tcp_no_ssthresh_metrics_save conn avg_mbps half2_mbps",
        ),
    ),
    ("a", Reader(bulk, "name RATE RTT Q CC T half2_mbps")),
    ("b_", Reader(bulk, "name RATE RTT Q CC T half2_mbps q_mean_B")),
    ("c_", Reader(incast, "name config N cc queue rto_min block rounds goodput_mbps mean_ms")),
    ("d_mptcp_bulk", Reader(mptcp_bulk, "name proto cc paths avg_mbps half2_mbps path_bytes")),
    ("d_mptcp_fct", Reader(mptcp_fct, "name proto cc paths p50_ms")),
    ("e_", Reader(bulk, "name RATE RTT Q CC T half2_mbps")),
]
