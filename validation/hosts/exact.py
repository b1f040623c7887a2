"""A real kernel in exact virtual time."""

import re
from collections.abc import Iterator

from ..bars import Bar, Bars
from ..case import Case, Row, Setup, maybe, number
from .flows import (
    CONGESTION,
    DELAYS,
    FRAME,
    LARGEST,
    OF_RUNS,
    SET,
    bulk,
    delays,
    exact_values,
    grouped,
    seeds,
    star,
    transport,
    two_switches,
)

#: Differences of clocks by sender in exact-time.csv.
CLOCKS_PPM, CLOCKS_OF = (30, -50, 80, -11), {"ppm-exact-reno": (90, 20, 60, 5)}
POINTS = Bar(or_abs=0.10)


BY_HOST = "an order of simultaneous frames by host: it takes them in an order that prefers no port (as `tierand`)"


def exact(rows: list[Row], bars: Bars) -> Iterator[Case]:
    groups = grouped(rows, lambda row: row["run"])
    runs = {name: [number(row, "bytes") for row in group] for name, group in groups.items()}
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
        drops = sum(maybe(row, "drops_at_the_receivers_port") or 0.0 for row in groups[name])
        case.theirs = exact_values(delivered) | {"drops": drops}
        case.absent = not_modelled(run)
        if case.absent is None:
            case.bars = {
                metric: POINTS for metric in ("near_share", LARGEST) if metric in case.theirs
            }
            with case.reading():
                case.setups = virtual(run, bars)
        yield case


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
            overrides += delays(DELAYS[word])
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
        bulk(host, start, sizes="1TB", stop=f"{start + own}ms") for host, start in starts.items()
    ]
    last = (max(starts.values()) + own) / 1e3
    return seeds(scenario, {"seconds": last, "exact": True}, bars, "exact-time")
