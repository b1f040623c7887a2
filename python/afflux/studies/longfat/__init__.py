"""Fast transfers over long fat networks: windows, parallel connections, and the limits of hosts and
routers.

The source is Sato (KEK, Linux Conference 2001): Linux 2.2 and 2.4 and FreeBSD over an emulated
round trip of 300 ms. studies/longfat/README.md says what is assumed.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ... import words
from ...batch import Point
from ...report import Lines
from ...results.designs import Designs
from ...results.result import Result
from .. import Check, Row, Slice, Study, files, named
from . import kernels, pipeline, processor, windows
from .measure import FRAME, PAYLOAD, WINDOW, average, converged_rate, of_window, over_seeds

#: Name of hosts that are limited only by the window.
_FREE = "no limit in the hosts"
_KB = (64, 128, 256, 450, 700, 1000, 1400, 2000, 3000)
#: Windows in kB and systems whose window is drawn over time. The source's other window, 256 kB, has
#: no losses here: the driver's queue holds it.
_WATCHED = ((3000, _FREE), (1000, "Linux 2.2"))
#: The transfer with the systems' defaults: the receive window of Solaris up to version 7, 8,192 B in
#: whole segments of 1,460 B (`tcp_recv_hiwat`).
_DEFAULTS = "default settings"
_DEFAULT_WINDOW = {WINDOW: "8760B"}
#: The source's congestion window with default settings, in kB.
_THEIR_WINDOW = 10.0
#: Frames that the sender's driver holds, fitted to the 700 kB beyond which the source's Linux 2.2
#: does not grow.
_DRIVER = {"host.queue": "240packets"}
#: Delay that gives the satellite's round-trip time.
_SATELLITE = {"topology.link.5.delay": "299997us"}
#: Numbers of parallel connections, and the window that the source settles on.
_CONNECTIONS, _SETTLED = (1, 2, 4, 8), {WINDOW: "450kB"}

#: A receiver that reads for 3 s and flushes its disk for 1 s: either only the program stops
#: meanwhile, or the kernel too.
_STALLS: dict[str, dict[str, Any]] = {
    "none": {},
    "the program stops reading": {"host.transport.reader": {"read": "3s", "sleep": "1s"}},
    "the kernel stops": {
        "host.override": [{"match": "host4", "processor": {"stall": {"work": "3s", "pause": "1s"}}}]
    },
}

#: The router's processor, fitted to the source's "up to three pairs": 27 us for each packet, of
#: which its arrival takes 9 us.
_ROUTER = {
    "switch.override": [
        {"match": "router", "processor": {"packet_time": "18us", "interrupt_time": "9us"}}
    ]
}
_PAIRS = (1, 2, 3, 4)

_WIRE = {"base": "linux", "name": "gigabit", "data_header": "70B", "ack": "70B", "gap": "20B"}
_GIGABIT = {f"topology.link.{link}.rate": "1Gbps" for link in (0, 6)} | {
    "topology.link.5.delay": "10us",
    WINDOW: "1MB",
    "host.wire": _WIRE,
    "run.until": "2s",
}
_MTU = (1500, 9000)
#: A receiver that needs 20 us for a packet of any size.
_SLOW = {"host.override": [{"match": "host4", "processor": {"packet_time": "20us", "queue": 5000}}]}

#: Modern hosts on a path of 100 Mbps, whose bottleneck has a queue of one bandwidth-delay product.
_LOSSY: dict[str, Any] = {"topology.link.0.rate": "1Gbps", "run.until": "60s"}
_LOSSES = {"no loss": None, "loss 1e-4": 1e-4}
_MODERN = {
    "kind": "tcp",
    "stack": "linux",
    "receive_window": "unlimited",
    "send_buffer_max": "unlimited",
}
_TRANSPORTS: dict[str, dict[str, Any]] = {
    "Reno": _MODERN | {"congestion": "newreno"},
    "CUBIC": _MODERN | {"congestion": "cubic"},
    "H-TCP": _MODERN | {"congestion": "htcp"},
    "BBR": _MODERN | {"congestion": "bbr"},
    "datagrams": {"kind": "nack", "rate": "90Mbps"},
}
_TRIPS = {300: ("149997us", "3750kB"), 600: ("299997us", "7500kB")}


def _connections(count: int, apart: str, pairs: int = 1) -> dict[str, Any]:
    """Returns the keys for `count` connections of each pair, which start at intervals of
    `apart`."""
    keys: dict[str, Any] = {"traffic.0.pairs": [[host, host + 4] for host in range(pairs)]}
    return keys | ({"traffic.0.rounds": count, "traffic.0.period": apart} if count > 1 else {})


def _of_window(system: str, kilobytes: int) -> str:
    return f"{system}, window {kilobytes} kB"


def _of_parallel(count: int, apart: str) -> str:
    return f"{count} connections, {'at once' if apart == '1ns' else apart + ' apart'}"


def _of_pairs(pairs: int) -> str:
    return f"{pairs} pairs of hosts"


def _of_stall(kind: str) -> str:
    return f"stall: {kind}"


def _of_cache(on: bool) -> str:
    return "threshold cached" if on else "threshold forgotten"


def _of_frames(mtu: int, slow: bool) -> str:
    return f"gigabit, frames of {mtu} B{', 20 us per packet' if slow else ''}"


def _of_transfer(transport: str, trip: int, loss: str) -> str:
    return f"{transport}, {trip} ms, {loss}"


def _in_flight(result: Result) -> float:
    """Returns the largest number of bytes in flight, in kB."""
    return max(result.table("senders").column("in_flight_bytes")) / 1e3


def _second(result: Result) -> float:
    """Returns the rate in Mbps of the second connection to a host."""
    rows = sorted(
        zip(*(result.flows.column(name) for name in ("start_ns", "bytes", "fct_ns")), strict=True)
    )
    _, bytes, time = rows[1]
    # A connection that has not finished counts as lasting until the end of the run.
    return bytes * 8e3 / (time or result.summary["simulated_ns"] - rows[1][0])


class LongFat(Study):
    name = "longfat"
    title = "Fast transfers over long fat networks"
    question = "What limits a transfer over a long fat path?"
    finding = "One connection carries one window per round trip, until a host or the router on the path can do no more."
    duration = "about 1 min"
    parts = (
        Slice(
            "windows",
            "What does one connection carry, by its window?",
            has=named(_DEFAULTS, "Linux 2.2, *", f"{_FREE}, *", "600 ms, window *"),
        ),
        Slice(
            "processors",
            "At which processor time does a host limit a connection, as FreeBSD's did?",
            has=named("sender takes *", "receiver takes *"),
        ),
        Slice(
            "parallel",
            "What do parallel connections carry, apart and at once?",
            has=named("* connections, *"),
        ),
        Slice(
            "pairs",
            "How many pairs of hosts does the router's processor serve?",
            has=named("* pairs of hosts"),
        ),
        Slice("files", "What does a disk flush cost eight connections?", has=named("stall: *")),
        Slice(
            "threshold",
            "What does a cached threshold cost the connection after a loss?",
            has=named("threshold *"),
        ),
        Slice(
            "pipeline",
            "Which stage of producing, transferring and reading sets the rate?",
            has=named("producer *"),
        ),
        Slice("gigabit", "When are jumbo frames needed at 1 Gbps?", has=named("gigabit, *")),
        Slice(
            "transports",
            "What do today's transports carry where frames are lost?",
            has=named(*(f"{transport}, *" for transport in _TRANSPORTS)),
        ),
        kernels.SERIES,
    )

    def points(self, quick: bool) -> Sequence[Point]:
        place = files("longfat") / "path.toml"
        cases: dict[str, dict[str, Any]] = {_DEFAULTS: _DEFAULT_WINDOW | windows.RECORDED}
        for kilobytes in _KB:
            window = {WINDOW: f"{kilobytes}kB"}
            cases[_of_window("Linux 2.2", kilobytes)] = window | _DRIVER
            cases[_of_window(_FREE, kilobytes)] = window
        cases |= processor.cases()
        for kilobytes, system in _WATCHED:
            cases[_of_window(system, kilobytes)] |= windows.RECORDED
        cases[_of_window("600 ms", 700)] = {WINDOW: "700kB"} | _SATELLITE
        for count in _CONNECTIONS:
            for apart in ("1s",) if count == 1 else ("1s", "1ns"):
                watched = windows.RECORDED if count == 8 else {}
                cases[_of_parallel(count, apart)] = (
                    _SETTLED | _DRIVER | _connections(count, apart) | watched
                )
        for pairs in _PAIRS:
            cases[_of_pairs(pairs)] = _SETTLED | _ROUTER | _connections(8, "1s", pairs)
        for kind, keys in _STALLS.items():
            buffer = {"host.transport.receive_buffer": "900kB"}
            transport = {
                "kind": "tcp",
                "stack": "linux",
                "congestion": "newreno",
                "initial_window": 2,
                "burst": 1,
                "small_queues": False,
            }
            cases[_of_stall(kind)] = (
                {"host.transport": transport}
                | buffer
                | keys
                | _connections(8, "1s")
                | {"run.until": "60s"}
            )
        for on in (False, True):
            down = [
                {
                    "link": "router-hub1",
                    "down": [{"from": "1.55s", "to": "1.75s", "detect": "1000s"}],
                }
            ]
            cases[_of_cache(on)] = {
                WINDOW: "2MB",
                "host.transport.ssthresh_cache": on,
                "topology.fault": down,
                "run.until": "180s",
            } | {
                "traffic.0.sizes": "40MB",
                "traffic.0.rounds": 2,
                "traffic.0.period": "90s",
                **windows.RECORDED,
            }
        cases |= pipeline.cases()
        for mtu in _MTU:
            for slow in (False, True):
                cases[_of_frames(mtu, slow)] = (
                    _GIGABIT | {"host.mtu": f"{mtu}B"} | (_SLOW if slow else {})
                )
        points = [Point(name, place, keys, 1) for name, keys in cases.items()]
        seeds = [1, 2, 3] if quick else list(range(1, 12))
        for trip, (delay, queue) in _TRIPS.items():
            for loss, share in _LOSSES.items():
                path = _LOSSY | {
                    "topology.link.5.delay": delay,
                    "switch.override": [{"match": "hub1", "sharing": "static", "buffer": queue}],
                }
                if share is not None:
                    path["topology.fault"] = [{"link": "router-hub1", "loss": share}]
                for control, settings in _TRANSPORTS.items():
                    name = _of_transfer(control, trip, loss)
                    points += [
                        Point(name, place, path | {"host.transport": settings}, seed)
                        for seed in (seeds if share else [1])
                    ]
        return points

    def table(self, designs: Designs) -> Sequence[Row]:
        rows: list[Row] = []

        def add(
            what: str,
            design: str,
            value: Callable[[Result], float] = converged_rate,
            theirs: float | None = None,
            **role: bool,
        ) -> None:
            if design in designs:
                rows.append(Row(what, theirs, *over_seeds(designs[design], value), **role))

        add("default settings: kB in flight, at most", _DEFAULTS, _in_flight, theirs=_THEIR_WINDOW)
        add(
            "default settings: Mbps (the source's window over the round trip)",
            _DEFAULTS,
            theirs=of_window(_THEIR_WINDOW),
            computed=True,
        )
        for kilobytes in (64, 450, 700):
            add(
                f"window {kilobytes} kB, 300 ms: Mbps (window over round trip)",
                _of_window(_FREE, kilobytes),
                theirs=of_window(kilobytes),
                computed=True,
            )
        add(
            "window 700 kB, 600 ms: Mbps (window over round trip)",
            _of_window("600 ms", 700),
            theirs=of_window(700, 0.6),
            computed=True,
        )
        if limit := self.limit(designs):
            rows.append(
                Row(
                    "Linux 2.2: window up to which throughput rises, kB",
                    700.0,
                    limit,
                    predicted=False,
                )
            )
        for kilobytes in (1000, 3000):
            add(f"Linux 2.2, window {kilobytes} kB: Mbps", _of_window("Linux 2.2", kilobytes))
            add(f"no limit in the hosts, window {kilobytes} kB: Mbps", _of_window(_FREE, kilobytes))
        rows += processor.rows(designs)
        for count in _CONNECTIONS:
            what = f"{count} connection{'s' if count > 1 else ''} of 450 kB, starts 1 s apart: Mbps (so many windows over the round trip)"
            add(
                what,
                _of_parallel(count, "1s"),
                theirs=min(of_window(count * 450), 100 * PAYLOAD / FRAME),
                computed=True,
            )
        for count in _CONNECTIONS[1:]:
            add(f"{count} connections of 450 kB, all at once: Mbps", _of_parallel(count, "1ns"))
        for pairs in _PAIRS:
            add(
                f"{pairs} pair{'s' if pairs > 1 else ''} of hosts through the router: Mbps",
                _of_pairs(pairs),
                predicted=pairs not in (3, 4),
            )
        for kind in _STALLS:
            add(
                f"8 connections, disk flush for 1 s after 3 s, {kind}: Mbps",
                _of_stall(kind),
                average,
            )
        for on in (False, True):
            add(
                f"40 MB after a connection with losses, {_of_cache(on)}: Mbps",
                _of_cache(on),
                _second,
            )
        rows += pipeline.rows(designs)
        for mtu in _MTU:
            for slow in (False, True):
                name = _of_frames(mtu, slow)
                add(
                    f"{name}: Mbps",
                    name,
                    _frames(mtu),
                    theirs=990.0 if (mtu, slow) == (9000, False) else None,
                )
        for trip in _TRIPS:
            for loss in _LOSSES:
                for transport in _TRANSPORTS:
                    name = _of_transfer(transport, trip, loss)
                    add(f"{name}: Mbps in 60 s", name, average)
        return rows

    @staticmethod
    def limit(designs: Designs) -> float | None:
        """Returns the largest window in kB up to which throughput with the driver's queue grows."""
        rates = [
            (kb, over_seeds(designs[name], converged_rate)[0])
            for kb in _KB
            if (name := _of_window("Linux 2.2", kb)) in designs
        ]
        if len(rates) < len(_KB):
            return None
        rises = 1
        while rises < len(rates) and rates[rises][1] > rates[rises - 1][1] * 1.02:
            rises += 1
        return float(rates[rises - 1][0])

    def checks(self, designs: Designs) -> Sequence[Check]:
        found: list[Check] = []

        def value(name: str, of: Callable[[Result], float] = converged_rate) -> float:
            return over_seeds(designs[name], of)[0]

        def say(what: str, needs: Sequence[str], hold: Callable[[], tuple[bool, Any, Any]]) -> None:
            if all(name in designs for name in needs):
                holds, ours, bar = hold()
                found.append(Check(what, holds, ours, bar))

        def above(
            first: str, second: str, by: float = 1.0, of: Callable[[Result], float] = converged_rate
        ) -> Callable[[], tuple[bool, Any, Any]]:
            def hold() -> tuple[bool, Any, Any]:
                one, two = value(first, of), value(second, of)
                return one > by * two, one, by * two

            return hold

        def proportional() -> tuple[bool, Any, Any]:
            worst = max(abs(value(_of_window(_FREE, kb)) / of_window(kb) - 1) for kb in _KB)
            return worst < 0.05, 100 * worst, 5

        def flat() -> tuple[bool, Any, Any]:
            most = value(_of_window("Linux 2.2", 700))
            worst = max(
                abs(value(_of_window("Linux 2.2", kb)) / most - 1) for kb in _KB if kb > 700
            )
            return worst < 0.05, 100 * worst, 5

        free = [_of_window(_FREE, kb) for kb in _KB]
        say(
            "our formula: throughput is the window over the round trip, largest error in %",
            free,
            proportional,
        )
        linux = [_of_window("Linux 2.2", kb) for kb in _KB]
        # The growth up to 700 kB is fitted. "It does not grow after that": larger windows give the
        # throughput of 700 kB.
        say("Linux 2.2: change of throughput beyond 700 kB, %, largest", linux, flat)
        found += processor.checks(designs)
        one, eight = _of_parallel(1, "1s"), _of_parallel(8, "1s")
        say(
            "eight parallel connections, at least seven times one, Mbps",
            [one, eight],
            above(eight, one, 7),
        )
        for count in (4, 8):
            apart, at_once = _of_parallel(count, "1s"), _of_parallel(count, "1ns")
            say(
                f"{count} connections that start 1 s apart, more than at once, Mbps",
                [apart, at_once],
                above(apart, at_once, 1.1),
            )
        pairs = [_of_pairs(count) for count in _PAIRS]
        # The facts that three pairs carry more than two, and four less than three, are fitted.
        say("two pairs of hosts carry more than one, Mbps", pairs, above(pairs[1], pairs[0], 1.2))
        none, reading, kernel = (_of_stall(kind) for kind in _STALLS)
        # "Then there is no performance at all": eight connections carry even less than one without
        # files.
        say(
            "disk flush where the kernel stops: eight connections carry less than one without files, Mbps",
            [one, kernel],
            _below(value, kernel, one),
        )
        say(
            "and more than where only the program stops, Mbps",
            [reading, kernel],
            above(reading, kernel, of=average),
        )
        # "The same state as when congestion occurs": without files no frame is lost.
        say(
            "it looks like congestion: segments sent again, more than without",
            [none, kernel],
            lambda: _more_again(designs[kernel].first, designs[none].first),
        )
        without, cached = _of_cache(False), _of_cache(True)
        say(
            "a cached threshold slows the connections after a loss down to half and less, Mbps",
            [without, cached],
            above(without, cached, 2, _second),
        )
        found += pipeline.checks(designs)
        frames = [_of_frames(9000, True), _of_frames(1500, True)]
        say("jumbo frames where packets limit, Mbps", frames, lambda: _beats(designs, *frames))
        for trip in _TRIPS:
            rates = [_of_transfer(transport, trip, "loss 1e-4") for transport in _TRANSPORTS]
            say(
                f"datagrams beat every TCP but BBR, {trip} ms with losses, Mbps",
                rates,
                partial(_first, value, rates),
            )
        return found

    def answer(self, designs: Designs) -> str | None:
        lossy = {transport: _of_transfer(transport, 300, "loss 1e-4") for transport in _TRANSPORTS}
        apart, once, kernel = (
            _of_parallel(8, "1s"),
            _of_parallel(8, "1ns"),
            _of_stall("the kernel stops"),
        )
        if not all(name in designs for name in (*lossy.values(), apart, once, kernel)):
            return None
        eight = {
            "apart": (apart, converged_rate),
            "once": (once, converged_rate),
            "flush": (kernel, average),
        }
        said = {key: f"{over_seeds(designs[name], of)[0]:.1f}" for key, (name, of) in eight.items()}
        rates = {
            transport.replace("-", "").lower(): f"{over_seeds(designs[name], average)[0]:.0f}"
            for transport, name in lossy.items()
        }
        return words.say("longfat.answer", **said, **rates)

    def shown(self, designs: Designs) -> Designs:
        return Designs(
            [
                design
                for name, design in designs.items()
                if name.startswith(("stall", "2 pairs", "4 pairs"))
            ]
        )

    def figures(self, designs: Designs) -> Sequence[Lines]:
        def line(named: Callable[[int], str], across: Sequence[int]) -> list[tuple[float, float]]:
            return [
                (x, over_seeds(designs[name], converged_rate)[0])
                for x in across
                if (name := named(x)) in designs
            ]

        limits = {
            "no limit in the hosts": line(lambda kb: _of_window(_FREE, kb), _KB),
            "a sender that takes 400 us per acknowledgement (FreeBSD)": processor.line(designs),
            "a driver that holds 240 frames (Linux 2.2)": line(
                lambda kb: _of_window("Linux 2.2", kb), _KB
            ),
        }
        parallel = {
            "starts 1 s apart": line(lambda count: _of_parallel(count, "1s"), _CONNECTIONS),
            "all at once": line(lambda count: _of_parallel(count, "1ns"), _CONNECTIONS[1:]),
        }
        pairs = {"8 connections each": line(_of_pairs, _PAIRS)}
        drawn = [
            Lines("Throughput against window, one connection, 300 ms", "kB", "Mbps", limits),
            processor.figure(designs),
            Lines("Parallel connections of 450 kB", "connections", "Mbps", parallel),
            Lines("Pairs of hosts through one router", "pairs", "Mbps", pairs),
        ]
        return [figure for figure in drawn if all(figure.series.values())]

    def plots(self, designs: Designs, dir: Path) -> Sequence[Path]:
        single = {
            "slow start, window 3 MB": _of_window(_FREE, 3000),
            "Linux 2.2, losses in the slow start": _of_window("Linux 2.2", 1000),
        }
        eight = {
            "8 connections, 1 s apart": _of_parallel(8, "1s"),
            "8 connections, at once": _of_parallel(8, "1ns"),
        }
        cached = {
            "after losses, threshold forgotten": _of_cache(False),
            "after losses, threshold cached": _of_cache(True),
        }
        return windows.draw(designs, dir, single, eight, cached)


def _again(result: Result) -> int:
    return result.summary["retransmits"]


def _frames(mtu: int) -> Callable[[Result], float]:
    """Returns a function for the payload rate in Mbps in the second half, with frames of this
    size."""
    return lambda result: converged_rate(result) * (mtu - 52) / (mtu + 18) * FRAME / PAYLOAD


def _beats(designs: Designs, jumbo: str, usual: str) -> tuple[bool, Any, Any]:
    one, two = (
        over_seeds(designs[name], _frames(mtu))[0] for name, mtu in ((jumbo, 9000), (usual, 1500))
    )
    return one > 1.3 * two, one, 1.3 * two


def _more_again(result: Result, without: Result) -> tuple[bool, Any, Any]:
    return _again(result) > _again(without), _again(result), _again(without)


def _below(
    value: Callable[..., float], name: str, than: str
) -> Callable[[], tuple[bool, Any, Any]]:
    def hold() -> tuple[bool, Any, Any]:
        one, two = value(name, average), value(than)
        return one < two, one, two

    return hold


def _first(value: Callable[..., float], names: Sequence[str]) -> tuple[bool, Any, Any]:
    rates = {name.split(",")[0]: value(name, average) for name in names}
    datagrams = rates.pop("datagrams")
    rates.pop("BBR")
    best = max(rates.values())
    return datagrams > best, datagrams, best


STUDY = LongFat()
