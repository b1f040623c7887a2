"""Reader of ns-3 mainline: dumbbells, window-limited transfers, incast: `ns3/*.csv`.

    S_i — left ══ right — D_i        bottleneck left→right

Columns and README of the reference are reproduced as follows:

- Frames of 1460 + 42 B, acknowledgements of 42 B, SACK 2 + 8 per block padded to 4 (the wire
  profile `ns3p2p`).
- ns-3's TCP is the compat set `stack = "ns3"`. Other settings of the README are explicit keys.
- A device takes a frame out of its queue when its transmission starts (`queue_length =
  "through_start"`: an arrival at that instant was scheduled before, since propagation takes longer
  than a transmission, and comes first). Behind a queue disc there is a device queue of one frame
  (`device_queue = 1`), so a disc's length is that of the port minus two frames.
- Rate and delay of the access links depend on the set (README), not on a column.
- Times there are whole nanoseconds (README), and a transmission takes the nearest one. Links here
  have the rate at which a full frame takes the same time (`in_whole_nanoseconds`).
- q_mean: mean over some 20,000 samples after the warm-up, in packets of 1,502 B.
- Runs whose name ends in _nosack, _classicrec, _ts or _nohystart have the differences that the
  README lists, without a column for them.
- `ns3.traces` are the runs whose windows are in traces/. A reduction there lasts from the beginning
  of a fall of the window until it has grown by a segment again. For the runs with drop-tail and
  CoDel the number of reductions equals the number of entries in the column `recov`. If queues mark,
  the column `cwr` counts them. Ours come from a capture at the sender: entries to recovery (the
  first retransmission beyond all that was outstanding at the previous entry) and frames with CWR.
  Time-outs count as reductions, and retransmissions after one may count again here. The depth of a
  fall is not compared: a capture has no windows, and the outstanding data is less than the window
  during a recovery. (`record.senders` has windows at intervals, but this comparison does not use
  it.)
- Incast: senders start at U(0, 20 us) after t0, with ns-3's own draws, from the stream that gives
  the lone sender's `all_done_us`.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from . import kept
from .bars import Bars
from .capture import CWR, SYN, recoveries, segments
from .case import Case, Row, Runner, Setup, Unmeasured, Unreadable, greedy, maybe, number, read_csv
from .mrg32k3a import uniform

SET = "ns3"
COMPAT = "ns3"
PAYLOAD, FRAME = 1460, 1502
#: Rate and delay of the access links, minimum and granularity of the time-out, time-out of a SYN
#: (ConnTimeout; data always has a sample).
SETS = {
    "dc": ("100Gbps", 10_000, "1ms", "1us", "3s"),
    "lfn100": ("1Gbps", 1_000_000, "200ms", "1ms", "3s"),
    "lfn1g": ("10Gbps", 1_000_000, "200ms", "1ms", "3s"),
    "window": ("10Gbps", 1_000_000, "200ms", "1ms", "3s"),
}
CONGESTION = {
    "TcpNewReno": "newreno",
    "TcpLinuxReno": "newreno",
    "TcpCubic": "cubic",
    "TcpHtcp": "htcp",
    "TcpBbr": "bbr",
    "TcpDctcp": "dctcp",
}
#: Target and interval of CoDel by set. The others use ns-3's defaults.
CODEL = {"dc": ("50us", "1ms")}
CODEL_DEFAULT = ("5ms", "100ms")
#: Thresholds of RED in packets, its weight, and its largest probability (1/LInterm).
RED = (400, 1200, 0.002, 0.02)
#: Time of a frame while idle, unless given: 500 B at 1.5 Mbps.
RED_IDLE = "2667us"
SAMPLES = 20_000
#: Keys that are set if this version of afflux has them.
OPTIONAL = (
    *(
        f"host.transport.{key}"
        for key in ("granularity", "handshake", "cubic.flavour", "bbr.flavour")
    ),
    *(f"switch.override.0.ecn.{key}" for key in ("gentle", "spacing", "idle_frame")),
)
DUMBBELL = (
    "run algo q rate rtt_s buf_pkts K n stagger_s delack rcvbuf ecn dur_s warm_s goodput_mbps"
)
INCAST = "algo q n size_B buf_B K_pkts minRto_ms all_done_us"


def cases(folder: Path, bars: Bars) -> Iterator[Case]:
    for path in sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and re.search(r"\.csv(\.gz)?$", path.name)
    ):
        stem = path.name.split(".")[0]
        reference = f"{SET}.{stem}"
        if stem not in SETS and stem != "incast":
            yield Case(
                reference,
                path.name,
                problem="no reader for this file yet",
                bars=bars.of(SET, stem),
                compat=COMPAT,
            )
            continue
        try:
            rows = read_csv(path, (INCAST if stem == "incast" else DUMBBELL).split())
        except Unreadable as error:
            yield Case(reference, path.name, problem=str(error), compat=COMPAT)
            continue
        for row in rows:
            if stem == "incast":
                yield incast(reference, stem, row, bars)
            else:
                yield dumbbell(reference, stem, row, bars)
                yield from traced(stem, row, folder)


# --------------------------------------------------------------------------------------------------------------------- dumbbells


def dumbbell(reference: str, stem: str, row: Row, bars: Bars) -> Case:
    named = bars.of(SET, stem)
    metrics = dict.fromkeys((*named, "goodput_mbps", "q_mean", "drops", "marks", "retx", "rto"))
    case = Case(
        reference,
        row["run"],
        theirs={metric: maybe(row, metric) for metric in metrics},
        bars=named,
        compat=COMPAT,
    )
    with case.reading():
        if row["algo"] == "TcpHtcp" or (row["algo"] == "TcpDctcp" and not number(row, "ecn", 0)):
            # ns-3's H-TCP differs from the published one, and its DCTCP does not halve the window
            # on loss.
            case.bars, case.remark = {}, "informational: ns-3 is wrong here"
        case.setups = [
            transfer(stem, row, repetition) for repetition in range(bars.repetitions(SET, stem))
        ]
    return case


def transfer(stem: str, row: Row, repetition: int) -> Setup:
    access_rate, access_delay, min_rto, granularity, syn_timeout = SETS[stem]
    flows_count, duration, warm = int(number(row, "n")), number(row, "dur_s"), number(row, "warm_s")
    rate = bits_per_second(row["rate"])
    delay = number(row, "rtt_s") / 2 * 1e9 - 2 * access_delay
    if delay < 1:
        raise Unreadable(
            f"rtt_s {row['rtt_s']} is not above four access delays of {access_delay} ns"
        )
    tcp = transport(row["algo"]) | {
        "min_rto": min_rto,
        "min_rto_on_variance": False,
        "granularity": granularity,
        "initial_rto": syn_timeout,
        "receive_window": f"{int(number(row, 'rcvbuf'))}B",
        "initial_window": 10,
    }
    if row["algo"] != "TcpDctcp":
        tcp["ecn"] = "classic" if number(row, "ecn", 0) else "off"
    if number(row, "delack", 1) > 1:
        tcp["delayed_ack"] = {"segments": int(number(row, "delack")), "timeout": "40ms"}
    wire: str | dict[str, Any] = "ns3p2p"
    aside, unit, fragments = float(FRAME if row["q"] == "droptail" else 2 * FRAME), float(FRAME), 1
    for variant in row["run"].split("_"):
        if variant == "nosack":
            tcp["recovery"] = "newreno"
        elif variant == "classicrec":
            tcp["prr"] = False
        elif variant == "nohystart":
            tcp.setdefault("cubic", {})["hystart"] = "off"
        elif variant == "ts":
            # The options do not fit the MTU, so ns-3's IP splits a segment into two fragments, 1460
            # + 32 + 2·20 + 2·2 B together. While the first one is sent the second one waits, so an
            # odd number fills the queue, and both parts of another segment are dropped (drops there
            # are twice the retransmissions). One frame here represents both, in a queue of half the
            # length.
            wire = {"base": "ns3p2p", "data_header": "76B", "mtu_header": "40B", "ack": "54B"}
            fragments, unit = 2, (PAYLOAD + 76) / 2
            aside = aside // FRAME * unit
    # The interval need not divide the warm-up: only samples after the warm-up count.
    interval = max(1, round((duration - warm) * 1e9 / SAMPLES))
    scenario = {
        "format": 1,
        "topology": {
            "kind": "dumbbell",
            "pairs": flows_count,
            "access_rate": in_whole_nanoseconds(bits_per_second(access_rate)),
            "access_delay": f"{access_delay}ns",
            "rate": in_whole_nanoseconds(rate),
            "delay": f"{round(delay)}ns",
        },
        "switch": {
            "sharing": "unlimited",
            "queue_length": "through_start",
            "override": [{"match": "left", **queue(stem, row, fragments)}],
        },
        "host": {"wire": wire, "transport": tcp},
        "traffic": [{"kind": "flows", "file": "flows.csv"}],
        "record": {"explain": False, "ports": {"interval": f"{interval}ns", "nodes": ["left"]}},
    }
    stagger, size = number(row, "stagger_s", 0) * 1e9, int(rate * duration / 4) + 1_000_000
    flows = tuple(
        (round(index * stagger), index, flows_count + index, size) for index in range(flows_count)
    )
    parameters = {
        "from_s": warm,
        "to_s": duration,
        "node": "left",
        "peer": "right",
        "aside_bytes": aside,
        "unit_bytes": unit,
        "fragments": fragments,
    }
    return Setup(scenario, goodput, parameters, flows, seed=repetition + 1, optional=OPTIONAL)


def goodput(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    got = greedy(runner, p)
    return {
        "goodput_mbps": got["mbps"],
        "q_mean": got["queue"],
        "drops": got["drops"] * p["fragments"],
        "marks": got["ecn_marks"],
        "retx": got["retransmits"],
        "rto": got["timeouts"],
    }


def queue(stem: str, row: Row, fragments: int = 1) -> dict[str, Any]:
    buffer = f"{int(number(row, 'buf_pkts')) // fragments}packets"
    if row["q"] == "droptail":
        return {"sharing": "static", "buffer": buffer}
    behind = {"sharing": "static", "buffer": buffer, "device_queue": 1}
    if row["q"] == "dctcp":
        return behind | {
            "ecn": {
                "k": f"{int(number(row, 'K'))}packets",
                "compare": "at_or_above",
                "at": "enqueue",
            }
        }
    if row["q"] == "red":
        low, high, weight, most = RED
        red = {
            "kmin": f"{low}packets",
            "kmax": f"{high}packets",
            "pmax": most,
            "average_weight": weight,
            "compare": "at_or_above",
        }
        return behind | {
            "ecn": red
            | {"incapable": "drop", "gentle": True, "spacing": "ns3", "idle_frame": RED_IDLE}
        }
    if row["q"] == "codel":
        target, interval = CODEL.get(stem, CODEL_DEFAULT)
        return behind | {
            "aqm": {
                "kind": "codel",
                "target": target,
                "interval": interval,
                "ecn": bool(number(row, "ecn", 0)),
            }
        }
    raise Unreadable(f"queue {row['q']!r} is none of droptail, dctcp, red, codel")


def transport(algorithm: str) -> dict[str, Any]:
    if algorithm not in CONGESTION:
        raise Unreadable(f"algo {algorithm!r} is none of {', '.join(CONGESTION)}")
    tcp: dict[str, Any] = {"kind": "tcp", "stack": "ns3", "congestion": CONGESTION[algorithm]}
    if algorithm == "TcpNewReno":
        tcp["newreno"] = {"flavour": "rfc5681"}
    if algorithm == "TcpCubic":
        tcp["cubic"] = {"flavour": "ns3"}
    if algorithm == "TcpBbr":
        tcp["bbr"] = {"flavour": "ns3"}
    return tcp


def bits_per_second(text: str) -> float:
    found = re.fullmatch(r"([\d.]+)([kMGT]?)bps", text.strip())
    if not found:
        raise Unreadable(f"rate {text!r} cannot be understood")
    return float(found[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[found[2]]


def in_whole_nanoseconds(rate: float, slower: float = 0.0) -> str:
    """Returns the nearest rate at which a full frame takes whole nanoseconds."""
    bits = 8 * FRAME
    return f"{bits / round(1e9 * bits / rate) * 1e9 * (1 - slower):.0f}bps"


# ------------------------------------------------------------------------------------------------------------------------ traces


def traced(stem: str, row: Row, folder: Path) -> Iterator[Case]:
    """Yields the run's window reductions, if its windows are in traces/, as changes or
    as samples.
    """
    files = (f"traces/{stem}_{row['run']}.{kind}.csv.gz" for kind in ("cwnd", "flows"))
    file = next((file for file in files if kept.there(folder, file)), None)
    if file is None:
        return
    case = Case(f"{SET}.traces", f"{stem}_{row['run']}", compat=COMPAT)
    with case.reading():
        counted = number(row, "recov") + number(row, "cwr") + number(row, "rto")
        lone = row["algo"] != "TcpBbr" and not number(row, "cwr") and int(number(row, "n")) == 1
        found = kept.of(folder, file, reductions if lone else lambda _: [])
        if found and not number(row, "rto") and len(found) != counted:
            raise Unreadable(
                f"{file.removeprefix('traces/')} has {len(found)} reductions, the columns say {counted:g}"
            )
        case.theirs = {"reductions": counted} | described(found)
        setup = transfer(stem, row, 0)
        hosts = int(number(row, "n"))
        setup.scenario["record"] = {
            "explain": False,
            "capture": [f"host{host}-left" for host in range(hosts)],
        }
        case.setups = [
            Setup(
                setup.scenario,
                captured,
                {"until_s": number(row, "dur_s"), "hosts": hosts},
                setup.flows,
                optional=OPTIONAL,
            )
        ]
    yield case


def reductions(trace: Path) -> list[float]:
    """Returns the times at which a lone flow's window begins to fall. A fall ends when the window
    has grown by a segment."""
    rows = [
        (number(row, "t_s"), number(row, "cwnd_bytes"))
        for row in read_csv(trace, ["t_s", "cwnd_bytes"])
    ]
    found: list[float] = []
    least = None
    for (_, before), (time_s, window) in pairwise(rows):
        if least is not None and window <= least + PAYLOAD:
            least = min(least, window)
        elif window < before:
            found.append(time_s)
            least = window
        else:
            least = None
    return found


def described(found: list[float]) -> dict[str, float]:
    values = {"first_reduction_ms": 1e3 * found[0]} if found else {}
    if len(found) > 1:
        values["period_ms"] = 1e3 * (found[-1] - found[0]) / (len(found) - 1)
    return values


def captured(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    """Returns the window reductions, from the frames between the senders and the bottleneck."""
    count, found = 0, list[float]()
    with runner.directory(p["until_s"]) as out:
        for host in range(p["hosts"]):
            frames = list(segments(out / f"host{host}-left-both.pcapng"))
            found = recoveries(frames)
            count += len(found) + sum(
                1
                for frame in frames
                if frame.direction == 0 and frame.flags & CWR and not frame.flags & SYN
            )
    return {"reductions": count} | (described(found) if p["hosts"] == 1 else {})


# ------------------------------------------------------------------------------------------------------------------------ incast


RATE, DELAY_NS, SPREAD_NS = 10e9, 5_000, 20_000
#: Relative slowdown of the senders. Acknowledgements clock all senders by the transmissions at one
#: port, so that their frames arrive together. In ns-3 the frame that was sent immediately on its
#: acknowledgement then comes first, because the arrival of a frame that waited for another one was
#: scheduled later.
SENDERS_SLOWER = 1e-5
#: Random stream of the starts, one of those that ns-3 numbers automatically (from 2^63): the eighth
#: that the program creates.
STREAM = (1 << 63) + 7


def incast(reference: str, stem: str, row: Row, bars: Bars) -> Case:
    columns = ("algo", "q", "n", "size_B", "buf_B", "minRto_ms", "seed")
    run = "_".join(
        f"{'' if name in ('algo', 'q') else name}{row[name]}" for name in columns if row.get(name)
    )
    theirs = {
        metric: maybe(row, metric)
        for metric in ("all_done_us", "first_done_us", "fct_p50_us", "drops", "marks", "rto_events")
    }
    case = Case(reference, run, theirs=theirs, bars=bars.of(SET, stem), compat=COMPAT)
    with case.reading():
        if maybe(row, "rto_events"):
            case.bars, case.remark = {}, "informational: time-outs in the reference"
        case.setups = [burst(row, repetition) for repetition in range(bars.repetitions(SET, stem))]
    return case


def burst(row: Row, repetition: int) -> Setup:
    senders, size = int(number(row, "n")), int(number(row, "size_B"))
    tcp = transport(row["algo"]) | {
        "min_rto": f"{number(row, 'minRto_ms'):g}ms",
        "min_rto_on_variance": False,
        "granularity": "1us",
        "initial_window": 10,
        # The connections were opened long before.
        "handshake": False,
    }
    if row["q"] == "droptail":
        switch = {"sharing": "static", "buffer": f"{int(number(row, 'buf_B'))}B"}
    elif row["q"] == "dctcp":
        switch = {
            "sharing": "static",
            "buffer": f"{int(number(row, 'buf_B'))}B",
            "device_queue": 1,
            "ecn": {
                "k": f"{int(number(row, 'K_pkts')) * 1500}B",
                "compare": "at_or_above",
                "at": "enqueue",
            },
        }
    else:
        raise Unreadable(f"queue {row['q']!r} is neither droptail nor dctcp")
    scenario = {
        "format": 1,
        "topology": {
            "kind": "star",
            "hosts": senders + 1,
            "rate": in_whole_nanoseconds(RATE),
            "delay": f"{DELAY_NS}ns",
            "override": [
                {
                    "link": f"host{sender}-switch0",
                    "rate": in_whole_nanoseconds(RATE, SENDERS_SLOWER),
                }
                for sender in range(1, senders + 1)
            ],
        },
        "switch": {"queue_length": "through_start", **switch},
        "host": {"wire": "ns3p2p", "transport": tcp},
        "traffic": [{"kind": "flows", "file": "flows.csv"}],
        "run": {"fct_end": "last_byte"},
        "record": {"explain": False},
    }
    draws = uniform(int(number(row, "seed", 1)), STREAM, run=1 + repetition)
    flows = tuple(
        (round(next(draws) * SPREAD_NS), sender, 0, size) for sender in range(1, senders + 1)
    )
    return Setup(scenario, all_done, {}, tuple(sorted(flows)), optional=OPTIONAL)


def all_done(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    result = runner.run()
    ends, times = result.flows.column("finish_ns"), result.flows.column("fct_ns")
    if any(end is None for end in ends):
        raise Unmeasured(f"{sum(end is None for end in ends)} of {len(ends)} flows did not finish")
    return {
        "all_done_us": max(ends) / 1e3,
        "first_done_us": min(ends) / 1e3,
        "fct_p50_us": sorted(times)[len(times) // 2] / 1e3,
        "drops": result.summary["drops"],
        "marks": result.summary["ecn_marks"],
        "rto_events": result.summary["timeouts"],
    }
