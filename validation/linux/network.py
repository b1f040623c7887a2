"""The network of the reference `linux`: hosts, links, queues and TCP."""

import re
from typing import Any

from ..case import Runner, Unreadable, greedy

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
CONGESTION = {"reno": "newreno", "cubic": "cubic", "htcp": "htcp", "bbr": "bbr", "dctcp": "dctcp"}


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


def link(a: str, b: str, bps: int, delay_ns: int) -> dict[str, str]:
    return {"a": a, "b": b, "rate": f"{bps}bps", "delay": f"{delay_ns}ns"}


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
    links = [link(f"host{host}", "r1", ACCESS_BPS, access) for host in range(sources)]
    links.append(link("r1", "r2", round(rate), middle))
    links += [link("r2", f"host{sources + host}", ACCESS_BPS, access) for host in range(sinks)]
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
