"""Reader of ConWeave's ns-3 (conweave-project/conweave-ns3): one folder per run, `micro_*` or
`L<load>_<window>_<scheme>_<mode>`.

Its model (MODEL.md next to the runs) is reproduced as follows:

- Queue 0 there is priority 7 here: served first, not counted and never dropped (`mmu.bypass`). Data
  have priority 3.
- The rules of the MMU are `sharing = "conweave"`. A frame counts until its transmission starts,
  when the ECN decision is made. The thresholds apply to the part of the queue above its minimum of
  1049 B. `default` rows apply them to the whole queue.
- `compat = "conweave-ns3"` reproduces deviations of the code. Ordinary keys express everything
  else.
- Flows begin at the times of the flow file, truncated to nanoseconds as there.
- `micro_fct` compares completion times flow by flow where nothing is random (single flows: the
  ratio of the flow with the largest deviation). Where ECN's draws decide whose rate is cut, it is
  the ratio of the means over the flows. `fct_worst` is the flow with the largest deviation in every
  case.
- Slowdown is their formula: completion time over `rtt(src, dst) + wire bytes / rate`, at least 1,
  over all flows. This standalone time is a column of `fct.txt.xz`. If only numbers of that file
  were kept, it is computed (`standalone_ns`).

`schemes_in_order` compares all runs of a load and mode: the number of pairs of schemes whose mean
slowdowns differ by more than 5 % there, and how many of these have the same order here (medians
over the seeds).

Every run, including `micro_*`, is shown with compat, against the tolerances for slowdown, PAUSE
frames (with PFC), drops and marks. It is also shown with the default rules (each switch hashes with
its own seed), for information.
"""

import json
import lzma
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from afflux.results.statistics import quantile

from . import fabric, kept
from .bars import Bar, Bars
from .case import Case, Runner, Setup, Unmeasured, Unreadable, one_line
from .ns3 import bits_per_second

SET = "conweave"
COMPAT = "conweave-ns3"
PAYLOAD, HEADER = 1000, 48
#: Switch settings of each scheme. Further schemes are added here.
SCHEMES: dict[str, dict[str, Any]] = {
    "fecmp": {"balance": "ecmp"},
    "letflow": {"balance": {"kind": "letflow", "gap": "100us"}},
    "conga": {
        "balance": {"kind": "conga", "gap": "100us", "tdre": "50us", "alpha": 0.2, "aging": "500us"}
    },
    "drill": {"balance": "drill"},
    "conweave": {"balance": "conweave"},
}
MODES = ("lossless", "irn")
#: Times of ConWeave by the number of links of a path across the fabric (MODEL.md §9: `run.py` has
#: them by topology). The others are afflux's defaults.
TIMES: dict[int, dict[str, dict[str, str]]] = {
    6: {
        "lossless": {"inactive": "1ms", "default_wait": "600us", "flush_extra": "64us"},
        "irn": {"inactive": "1ms", "default_wait": "300us"},
    }
}
#: Minimum of a queue in bytes, which the ECN thresholds there exclude.
MINIMUM = 1049


def cases(folder: Path, bars: Bars) -> Iterator[Case]:
    for path in sorted(
        path for path in folder.iterdir() if path.is_dir() and path.name != "inputs"
    ):
        reference = f"{SET}.{path.name}"
        try:
            yield from of_run(reference, path, folder / "inputs", bars)
        except Unreadable as error:
            yield Case(
                reference,
                path.name,
                problem=str(error),
                compat=COMPAT,
                bars=bars.of(SET, path.name),
            )


def of_run(reference: str, path: Path, inputs: Path, bars: Bars) -> Iterator[Case]:
    summary = read_json(path / "summary.json")
    scheme, mode = summary.get("lb"), summary.get("mode")
    named = bars.of(SET, path.name)
    if scheme not in SCHEMES or mode not in MODES:
        what = f"the scheme {scheme}" if scheme not in SCHEMES else f"the mode {mode}"
        yield Case(
            reference, path.name, problem=f"no scenario for {what} yet", compat=COMPAT, bars=named
        )
        return
    topology = inputs / f"{summary['topo']}.txt"
    if not topology.is_file():
        raise Unreadable(f"there is no topology {topology.name}")
    flows = read_flows(inputs / f"{summary['flow_file']}.xz")
    micro = path.name.startswith("micro_")
    file = path / "fct.txt.xz"
    # Flow by flow only where single flows are compared.
    fct_ns = [fct for fct, _ in read_finished(file, flows)] if micro else []
    last_ns = (
        max(fct_ns)
        if micro
        else kept.of(
            path.parent,
            f"{path.name}/{file.name}",
            lambda whole: max(fct for fct, _ in read_finished(whole, flows)),
        )
    )
    alone_ns = (
        [alone for _, alone in read_finished(file, flows)]
        if file.is_file()
        else standalone_ns(topology, flows)
    )
    theirs: dict[str, float | None] = {
        "slowdown_mean": summary["all"]["all"]["avg"],
        "slowdown_p99": summary["all"]["all"]["p99"],
        "pause_frames": summary["pfc_frames"],
        "drops": summary["drop_ingress"] + summary["drop_egress"],
        "ecn_marks": summary["ecn_marks"],
        "timeouts": summary["timeouts"],
        "retransmits": summary["retx_pkts"],
        "fct_last_us": last_ns / 1e3,
    }
    if micro:
        theirs |= {
            "micro_fct": 1.0,
            "fct_worst": 1.0,
            "fct_mean_us": sum(fct_ns) / len(fct_ns) / 1e3,
        }
    certain = summary["ecn_marks"] == 0
    # Without PFC a tolerance on PAUSE frames could not be missed.
    left_out = (set() if micro else {"micro_fct"}) | ({"pause_frames"} if mode == "irn" else set())
    of_case = {metric: bar for metric, bar in named.items() if metric not in left_out}
    for compat in (COMPAT, None):
        case = Case(
            reference,
            f"{path.name}, {'compat' if compat else 'default rules'}",
            theirs=theirs,
            compat=compat,
        )
        if compat and not micro:
            case.labels = {"scheme": scheme, "runs": path.name.replace(f"_{scheme}_", "_")}
        case.bars = of_case if compat else {}
        if micro:
            case.remark = "micro_fct: " + (
                "the flow farthest off, as a ratio"
                if certain
                else "mean over the flows, as a ratio"
            )
        scenario = scenario_of(topology, scheme, mode, compat)
        parameters = {"certain": certain, "fct_ns": fct_ns, "standalone_ns": alone_ns}
        case.setups = [
            Setup(scenario, times, parameters, flows=tuple(flows), seed=1 + repetition)
            for repetition in range(bars.repetitions(SET, path.name))
        ]
        yield case


#: Relative difference below which means have no order.
APART = 0.05


def derived(
    done: Iterable[tuple[Case, dict[str, float]]], bars: Bars
) -> Iterator[tuple[Case, dict[str, float]]]:
    """Compares the order of the schemes with the reference's order."""
    groups: dict[str, list[tuple[str, float, float | None]]] = {}
    for case, values in done:
        if case.labels:
            groups.setdefault(case.labels["runs"], []).append(
                (case.labels["scheme"], case.theirs["slowdown_mean"], values.get("slowdown_mean"))
            )
    for name, schemes in groups.items():
        pairs = [
            pair
            for pair in combinations(schemes, 2)
            if max(pair[0][1], pair[1][1]) > (1 + APART) * min(pair[0][1], pair[1][1])
        ]
        if not pairs:
            continue
        case = Case(
            f"{SET}.{name}",
            f"{name}, order of schemes",
            theirs={"schemes_in_order": len(pairs)},
            compat=COMPAT,
        )
        case.bars = {"schemes_in_order": Bar(rel=0.0)}
        if missing := [scheme for scheme, _, ours in schemes if ours is None]:
            case.problem = f"{', '.join(missing)} could not be run"
            yield case, {}
            continue
        wrong = [
            (one, other) for one, other in pairs if (one[1] - other[1]) * (one[2] - other[2]) <= 0
        ]
        if wrong:
            said = (
                f"{one[0]} and {other[0]}: theirs {one[1]:.3f} and {other[1]:.3f}, ours {one[2]:.3f} and {other[2]:.3f}"
                for one, other in wrong
            )
            case.remark = "; ".join(said)
        yield case, {"schemes_in_order": len(pairs) - len(wrong)}


def scenario_of(topology: Path, scheme: str, mode: str, compat: str | None) -> dict[str, Any]:
    aside = MINIMUM if compat else 0
    switch = {
        "sharing": "conweave",
        "buffer": "9437184B",
        "scheduling": "strict_priority",
        "queue_length": "before_transmission",
        "mmu": {"bypass": [7]},
        "ecn": {
            "kmin": f"{100_000 + aside}B",
            "kmax": f"{400_000 + aside}B",
            "pmax": 0.2,
            "at": "dequeue",
        },
        **SCHEMES[scheme],
    }
    links = links_of(topology)
    if times := TIMES.get(most_links(links), {}).get(mode) if scheme == "conweave" else None:
        switch["balance"] = {"kind": "conweave"} | times
    if mode == "lossless":
        switch["pfc"] = {"priorities": [3], "response": "0ns"}
    transport: dict[str, Any] = {
        "kind": "rdma",
        "mode": mode,
        "ack_priority": 7,
        "dcqcn": {"parameters": "conweave"},
    }
    if mode == "irn":
        transport["bdp"] = f"{longest_product(links)}B"
    return {
        "format": 1,
        "name": "conweave",
        "topology": {"kind": "hpcc", "file": str(topology.resolve())},
        "switch": switch,
        "host": {"wire": "ns3rdma", "timing": "exact", "transport": transport},
        "traffic": [{"kind": "flows", "file": "flows.csv", "priority": 3}],
        "run": {"compat": compat} if compat else {},
        "record": {"explain": False},
    }


def times(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    """Returns completion times flow by flow. `fct_ns`, if present, and `standalone_ns` are those of
    the reference, in the order of the flow file."""
    result = runner.run()
    by_id = dict(zip(result.flows.column("id"), result.flows.column("fct_ns"), strict=True))
    ours = [by_id[flow] for flow in range(len(p["standalone_ns"]))]
    if None in ours:
        raise Unmeasured(f"{ours.count(None)} flows never ended")
    slowdowns = sorted(
        max(1.0, fct / alone) for fct, alone in zip(ours, p["standalone_ns"], strict=True)
    )
    summary = result.summary
    values = {
        "slowdown_mean": sum(slowdowns) / len(slowdowns),
        "slowdown_p99": quantile(slowdowns, 0.99),
        "pause_frames": summary["pause_frames"],
        "drops": summary["drops"] + summary["in_discards"],
        "ecn_marks": summary["ecn_marks"],
        "timeouts": summary["timeouts"],
        "retransmits": summary["retransmits"],
        "fct_last_us": max(ours) / 1e3,
        "fct_mean_us": sum(ours) / len(ours) / 1e3,
    }
    if p["fct_ns"]:
        ratios = [fct / theirs for fct, theirs in zip(ours, p["fct_ns"], strict=True)]
        worst = max(ratios, key=lambda ratio: abs(ratio - 1))
        values |= {
            "micro_fct": worst if p["certain"] else sum(ours) / sum(p["fct_ns"]),
            "fct_worst": worst,
        }
    return values


# ------------------------------------------------------------------------------------------------------------------------- inputs


def read_lines(path: Path) -> list[str]:
    try:
        return lzma.decompress(path.read_bytes()).decode("ascii").splitlines()
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path.name} cannot be read: {one_line(error)}") from None


def read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path.name} cannot be read: {one_line(error)}") from None


def read_flows(path: Path) -> list[tuple[int, int, int, int]]:
    """Returns `(start_ns, source, destination, bytes)`. The start in the file is a double in
    seconds, truncated to nanoseconds."""
    first, *lines = read_lines(path)
    if len(lines) < int(first):
        raise Unreadable(f"{path.name} has {len(lines)} flows, its first line says {first}")
    flows = []
    for line in lines[: int(first)]:
        src, dst, _, size, start = line.split()
        seconds, by = float(start).as_integer_ratio()
        flows.append((seconds * 10**9 // by - 2_000_000_000, int(src), int(dst), max(1, int(size))))
    return flows


def read_finished(path: Path, flows: list[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
    """Returns the completion time and the standalone time of each flow, in the order of the flow
    file."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for line in read_lines(path):
        src, _, sport, _, _, _, fct, standalone = map(int, line.split())
        found[src, sport] = (fct, standalone)
    count: dict[int, int] = {}
    finished = []
    for _, src, _, _ in flows:
        sport = 10_000 + count.get(src, 0)
        count[src] = count.get(src, 0) + 1
        if (src, sport) not in found:
            raise Unreadable(f"{path.name} has no flow of host {src} with port {sport}")
        finished.append(found[src, sport])
    return finished


#: Rate in bits per second and delay in nanoseconds of each link, by node and peer.
Links = dict[int, dict[int, tuple[float, float]]]


def links_of(topology: Path) -> Links:
    """Reads the links of a topology file."""
    links: Links = {}
    try:
        first, _, *lines = topology.read_text(encoding="ascii").splitlines()
        for line in lines[: int(first.split()[2])]:
            a, b, rate, delay, *_ = line.split()
            for one, other in ((int(a), int(b)), (int(b), int(a))):
                links.setdefault(one, {})[other] = (
                    bits_per_second(rate),
                    fabric.nanoseconds(delay),
                )
    except (OSError, ValueError, IndexError, UnicodeDecodeError) as error:
        raise Unreadable(f"{topology.name} cannot be read: {one_line(error)}") from None
    return links


def hosts_of(links: Links) -> list[int]:
    return [node for node, peers in links.items() if len(peers) == 1]


def most_links(links: Links) -> int:
    """Returns the number of links of the longest path between hosts: 2 with one switch between them."""

    def far(src: int) -> int:
        hops, nearest = {src: 0}, [src]
        for node in nearest:
            new = [peer for peer in links[node] if peer not in hops]
            hops |= dict.fromkeys(new, hops[node] + 1)
            nearest += new
        return max(hops.values())

    return max(map(far, hosts_of(links)))


def longest_product(links: Links) -> int:
    """Returns the bandwidth-delay product in bytes of the pair of hosts with the longest round trip.
    IRN may have so much in flight at every host."""

    def product(src: int) -> float:
        ((rate, _),) = links[src].values()
        return max(round_trips_ns(links, src).values()) * rate / 8e9

    return int(max(map(product, hosts_of(links))))


def standalone_ns(topology: Path, flows: list[tuple[int, int, int, int]]) -> list[int]:
    """Returns the standalone times by their formula (MODEL.md §1, §2): for each link of the path
    its delay in both directions and 1,000 B at its rate, plus all bytes at the host's rate."""
    links = links_of(topology)
    trips: dict[int, dict[int, float]] = {}
    alone = []
    for _, src, dst, size in flows:
        if src not in trips:
            trips[src] = round_trips_ns(links, src)
        ((rate, _),) = links[src].values()
        alone.append(int(trips[src][dst]) + int((size + HEADER * -(-size // PAYLOAD)) * 8e9 / rate))
    return alone


def round_trips_ns(links: Links, src: int) -> dict[int, float]:
    """Returns the round-trip times to every node, over the path with the fewest links."""
    trips, nearest = {src: 0.0}, [src]
    for node in nearest:
        for peer, (rate, delay) in links[node].items():
            if peer not in trips:
                trips[peer] = trips[node] + 2 * delay + PAYLOAD * 8e9 / rate
                nearest.append(peer)
    return trips
