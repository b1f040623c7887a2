"""Multipath TCP on FatTrees: the share of the network that it uses, and what short flows next to it
wait for.

The source is Fujii (seminar report of July 2014) on a slice of four hosts. The FatTree
permutation and the table of short flows are from Raiciu et al. (SIGCOMM 2011).
studies/mptcp/README.md says what is assumed.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

from ...batch import Point
from ...comparison.paired import Pairs, of_pairs
from ...comparison.phrases import in_words
from ...metrics import Metric
from ...results.designs import Design, Designs
from ...results.result import Result
from ...results.statistics import interval
from ...words import Words, say
from ...words.text import digits
from .. import Check, Row, Slice, Study, files, named
from . import background, dual_homed, figures, four, kernels, mechanisms, path
from .four import ALONE, AWARE, DENSE, LARGE, LIA, LOADED, SIZES, TENTH

#: Payload of a segment in bytes, and its bytes on the wire including preamble and gap.
_PAYLOAD, _WIRE = 1436, 1538
_SUBFLOWS = (1, 2, 4, 8)

_UNCOUPLED = {"host.transports.long.mptcp.coupling": "off"}
#: Transports of the long flows next to the short ones, with the numbers of Raiciu et al.: mean and
#: deviation of the short flows' completion time in ms, and utilisation of the core in percent.
_LONG_FLOWS: dict[str, tuple[dict[str, Any], tuple[float, float, float]]] = {
    "TCP": ({"host.transports.long.mptcp.subflows": 1}, (78, 108, 25)),
    "packet scatter": (
        {
            "host.transports.long.mptcp.subflows": 1,
            "switch.balance": "spray",
            "host.transport.dupack_threshold": 12,
        },
        (42, 63, 30),
    ),
    "MPTCP": ({}, (97, 106, 62)),
    "uncoupled": (_UNCOUPLED, (152, 158, 65)),
}
#: Shares of the optimum that Raiciu et al. report for each number of subflows.
_REACHED = (0.5, None, None, 0.9)
#: Seeds of the slice. The two larger fabrics have three.
_SEEDS, _FEWER = (1, 2, 3, 4, 5), (1, 2, 3)


def _of_fabric(subflows: int) -> str:
    return f"permutation-{subflows}"


def _of_short(case: str) -> str:
    return f"short flows beside {case}"


def _over_seeds(
    design: Design,
    value: Callable[[Result], float],
    *,
    signed: bool = False,
    most: float = math.inf,
) -> tuple[float, float | None, float | None]:
    """Returns mean and interval over the seeds of a value that cannot be above `most`."""
    each = [value(result) for result in design.samples.values()]
    return mean(each), *(interval(each, signed=signed, most=most) or (None, None))


def _within(value: float, low: float | None, high: float | None) -> Words:
    """Words milliseconds with their interval."""
    within = (
        say("mptcp.within", low=f"{low:.1f}", high=f"{high:.1f}")
        if low is not None and high is not None
        else Words("", "")
    )
    return Words(
        f"{value:.1f} ms" + (f" {within}" if within else ""), f"{value:.1f} ms" + within.ja
    )


def _against(base: Design, design: Design, value: Callable[[Result], float], unit: str) -> str:
    """Compares one design with another in a number of their results, over the seeds that both
    have."""
    pairs = Pairs.of(base, design)
    metric = Metric("", "", (), lambda number: f"{digits(number, 3)} {unit}")
    both = [(value(before), value(after)) for before, after in pairs.samples]
    return in_words(of_pairs(metric, design.name, both, deterministic=pairs.deterministic))


def _share_used(result: Result) -> float:
    optimum = 128 * 1e9 * _PAYLOAD / _WIRE
    return result.summary["goodput_bps"] / optimum


def _core(result: Result) -> float:
    """Returns the mean utilisation of the links to the core, in percent."""
    links = zip(*(result.links.column(name) for name in ("to", "utilisation")), strict=True)
    return 100 * mean(used for end, used in links if end.startswith("core"))


def _completion(result: Result) -> list[float]:
    warmup = result.summary["warmup_ns"]
    rows = zip(
        *(result.flows.column(name) for name in ("class", "start_ns", "fct_ns")), strict=True
    )
    return [
        fct / 1e6
        for kind, start, fct in rows
        if kind == "short" and fct is not None and start >= warmup
    ]


class Mptcp(Study):
    name = "mptcp"
    title = "MPTCP on FatTrees, and why short flows wait"
    question = "How much of a FatTree does MPTCP fill, and why do short flows wait?"
    finding = (
        "With eight subflows MPTCP fills 85 % of what the hosts of a FatTree can send (95 % interval "
        "83 to 87 %, three seeds), and misses the 90 % of Raiciu et al."
    )
    duration = "about 8 min"
    parts = (
        Slice(
            "permutation",
            "Which share of a FatTree do 1, 2, 4 and 8 subflows fill?",
            has=named("permutation-*"),
        ),
        Slice(
            "short-flows",
            "How long do short flows take beside long ones on an oversubscribed FatTree?",
            has=named("short flows beside *"),
        ),
        Slice(
            "slice", "For what do short flows wait next to an MPTCP flow?", has=named("slice, *")
        ),
        Slice("path", "Where do the 130 ms of a lone flow come from?", has=named("path, *")),
        mechanisms.SERIES,
        dual_homed.SERIES,
        kernels.SERIES,
        background.SERIES,
    )

    def points(self, quick: bool) -> Sequence[Point]:
        place, (seeds, fewer) = files("mptcp"), ((1,), (1,)) if quick else (_SEEDS, _FEWER)
        points = [
            Point(
                _of_fabric(n),
                place / "permutation.toml",
                {"host.transport.mptcp.subflows": n},
                seed,
            )
            for n in _SUBFLOWS
            for seed in fewer
        ]
        points += path.points(seeds) + four.points(seeds)
        if not quick:
            points += [
                Point(_of_short(case), place / "short-flows.toml", keys, seed)
                for case, (keys, _) in _LONG_FLOWS.items()
                for seed in fewer
            ]
        return points

    def table(self, designs: Designs) -> Sequence[Row]:
        rows = []
        for subflows, theirs in zip(_SUBFLOWS, _REACHED, strict=True):
            if _of_fabric(subflows) in designs:
                rows.append(
                    Row(
                        f"FatTree permutation, {subflows} subflows: share of the optimum",
                        theirs,
                        *_over_seeds(designs[_of_fabric(subflows)], _share_used, most=1.0),
                    )
                )
        for case, (_, (average, deviation, core)) in _LONG_FLOWS.items():
            if _of_short(case) in designs:
                design = designs[_of_short(case)]
                rows.append(
                    Row(
                        f"70 kB beside {case}: mean, ms",
                        average,
                        *_over_seeds(design, lambda r: mean(_completion(r))),
                    )
                )
                rows.append(
                    Row(
                        f"70 kB beside {case}: deviation, ms",
                        deviation,
                        *_over_seeds(design, lambda r: pstdev(_completion(r))),
                    )
                )
                rows.append(
                    Row(
                        f"70 kB beside {case}: core used, %",
                        core,
                        *_over_seeds(design, _core, most=100.0),
                    )
                )
        return [*rows, *self.path_rows(designs), *self.slice_rows(designs)]

    def path_rows(self, designs: Designs) -> Sequence[Row]:
        """Compares flows that meet no background, on the slice with the printed rates and on the
        author's links."""
        rows, theirs = [], path.published()
        if path.CAPTURED in designs:
            for number, flow in enumerate(path.flows(designs[path.CAPTURED].first), 1):
                # The assumption that two acknowledgements are delayed was derived from these
                # numbers.
                rows.append(
                    Row(
                        f"captured flow {number}: from SYN to FIN, ms",
                        theirs[f"capture {number}"],
                        path.to_fin(flow),
                        predicted=False,
                    )
                )
        for case, printed in ((path.SPACED, False), (path.PRINTED, True)):
            if case in designs:
                rows.append(
                    Row(
                        f"{case}: lone flows until their last byte, ms",
                        None,
                        *_over_seeds(designs[case], path.lone),
                    )
                )
                rows.append(
                    Row(
                        f"{case}: lone flows from SYN to FIN, ms",
                        theirs["lone"],
                        *_over_seeds(designs[case], path.lone_to_fin(printed)),
                    )
                )
        for case in (path.DENSE, path.PRINTED_DENSE):
            if case in designs:
                rows.append(
                    Row(
                        f"{case}: share of time in which the interface is busy",
                        None,
                        *_over_seeds(designs[case], path.busy, most=1.0),
                    )
                )
        return rows

    def slice_rows(self, designs: Designs) -> Sequence[Row]:
        rows = []
        for case in (LOADED, LARGE):
            for size in four.BYTES:
                if (name := four.name(case, size)) in designs:
                    theirs = path.published()["later"] if size == "2 kB" else None
                    rows.append(
                        Row(
                            f"{size.removesuffix(' kB')} kB {case}: 95th percentile later on loaded paths, ms",
                            theirs,
                            *_over_seeds(designs[name], four.later, signed=True),
                        )
                    )
                    waits = _over_seeds(designs[name], four.share_behind("background"), most=1.0)
                    rows.append(
                        Row(
                            f"{size.removesuffix(' kB')} kB {case}: share of its waits on loaded paths behind the background",
                            None,
                            *waits,
                        )
                    )
            if (name := four.name(case, "70 kB")) in designs:
                for switch in ("core0", "core1", "core2", "core3"):
                    rows.append(
                        Row(
                            f"{case}, path over {switch}: used, %",
                            None,
                            _over_seeds(designs[name], four.used(switch))[0],
                        )
                    )
                    rows.append(
                        Row(
                            f"{case}, path over {switch}: 70 kB, mean, ms",
                            None,
                            *_over_seeds(designs[name], four.by_path(switch, mean)),
                        )
                    )
                    rows.append(
                        Row(
                            f"{case}, path over {switch}: 70 kB, deviation, ms",
                            None,
                            *_over_seeds(designs[name], four.by_path(switch, pstdev)),
                        )
                    )
        for case in (ALONE, TENTH):
            if (name := four.name(case, "70 kB")) in designs:
                rows.append(
                    Row(f"70 kB {case}: mean, ms", None, *_over_seeds(designs[name], four.average))
                )
        for size in SIZES:
            if (name := four.name(DENSE, size)) in designs:
                waits = _over_seeds(designs[name], four.share_behind(size), most=1.0)
                rows.append(
                    Row(
                        f"{size} alone, dense: share of its waits behind other short flows",
                        None,
                        *waits,
                    )
                )
        for case in (ALONE, LOADED, LARGE, LIA, AWARE):
            for size in SIZES:
                if (name := four.name(case, size)) in designs:
                    rows.append(
                        Row(
                            f"{size.removesuffix(' kB')} kB {case}: slowest 5 %, ms",
                            None,
                            *_over_seeds(designs[name], four.slow),
                        )
                    )
            if case != ALONE and (name := four.name(case, "70 kB")) in designs:
                rows.append(
                    Row(
                        f"{case}: background, Mbps",
                        None,
                        *_over_seeds(designs[name], four.background),
                    )
                )
        return rows

    def checks(self, designs: Designs) -> Sequence[Check]:
        found = []
        if _of_fabric(1) in designs and _of_fabric(8) in designs:
            one, eight = (_over_seeds(designs[_of_fabric(n)], _share_used)[0] for n in (1, 8))
            found.append(
                Check(
                    "eight subflows reach 90 % of the optimum",
                    eight >= _REACHED[-1],
                    round(eight, 3),
                    _REACHED[-1],
                )
            )
            # Values that round to a half.
            found.append(
                Check(
                    "a single path reaches about half",
                    0.45 <= one <= 0.55,
                    round(one, 3),
                    "0.45 to 0.55",
                )
            )
        for case in (path.DENSE, path.PRINTED_DENSE):
            if case in designs:
                # "Always", apart from the gaps before the first flows overlap.
                busy = _over_seeds(designs[case], path.busy)[0]
                found.append(
                    Check(
                        f"{case}: the interface always sends, share of time",
                        busy >= 0.95,
                        round(busy, 3),
                        0.95,
                    )
                )
        for case in (LOADED, LARGE):
            if all(four.name(case, size) in designs for size in ("2 kB", "70 kB")):
                found += self.findings(designs, case)
        if (name := four.name(DENSE, "70 kB")) in designs:
            both = [four.by_overlap(result) for result in designs[name].results.values()]
            slower = mean(
                four.slowest(overlapping) / four.slowest(separate) for overlapping, separate in both
            )
            called = (
                "no background, 70 kB: slowest 5 % with an earlier flow under way, by those without"
            )
            found.append(Check(called, slower > 1.1, round(slower, 3), 1.1))
        if all(four.name(case, "2 kB") in designs for case in (ALONE, LOADED)):
            alone, loaded = (
                _over_seeds(designs[four.name(case, "2 kB")], four.slow)[0]
                for case in (ALONE, LOADED)
            )
            found.append(
                Check(
                    "2 kB: the slowest 5 % are faster without background, ms",
                    alone < loaded,
                    round(alone, 2),
                    round(loaded, 2),
                )
            )
        if all(four.name(case, "70 kB") in designs for case in (LIA, AWARE)):
            before, after = (
                _over_seeds(designs[four.name(case, "70 kB")], four.slow)[0]
                for case in (LIA, AWARE)
            )
            found.append(
                Check(
                    "queue-aware windows shorten the slowest 5 % of 70 kB, ms",
                    after < before,
                    round(after, 2),
                    round(before, 2),
                )
            )
        return found

    def findings(self, designs: Designs, case: str) -> list[Check]:
        """Checks the source's findings on the slice. Completion times are from flows of all seeds;
        the deepest queue, and the flows ahead in it, are from the first seed."""
        large, small = (designs[four.name(case, size)] for size in ("70 kB", "2 kB"))
        flows = [flow for result in large.results.values() for flow in four.short(result)]
        loaded, idle = ([flow for flow in flows if flow.loaded is on] for on in (True, False))
        spread = [pstdev([flow.fct for flow in part]) / 1e6 for part in (loaded, idle)]
        later, bar = _over_seeds(small, four.later)[0], path.published()["later"]
        extra = four.slowest([flow.fct for flow in loaded]) - four.slowest(
            [flow.fct for flow in idle]
        )
        slow = sorted(loaded, key=lambda flow: flow.fct)[-max(1, len(loaded) // 20) :]
        queueing = (
            mean(flow.queueing for flow in slow) - mean(flow.queueing for flow in idle)
        ) / extra
        ports = zip(
            *(large.first.ports.column(name) for name in ("node", "queue", "queue_bytes_max")),
            strict=True,
        )
        deepest = max((most, node) for node, queue, most in ports if queue == -1)[1]
        first, share, place = four.in_front(small.first, True)[0]
        return [
            Check(
                f"{case}: 70 kB: a larger spread on the loaded paths, ms",
                spread[0] > spread[1],
                round(spread[0], 2),
                round(spread[1], 2),
            ),
            Check(
                f"{case}: 2 kB: the 95th percentile is 10 ms later on the loaded paths, ms",
                later >= bar,
                round(later, 2),
                bar,
            ),
            Check(
                f"{case}: queueing is most of what the slowest 5 % of 70 kB are later by, share",
                queueing > 0.5,
                round(queueing, 2),
                0.5,
            ),
            Check(
                f"{case}: 2 kB on loaded paths wait behind the background, share of their waits",
                first == "background" and share > 0.5,
                round(share, 2),
                0.5,
            ),
            Check(
                f"{case}: they wait for it at an edge switch",
                place.startswith("edge"),
                place,
                "edge",
            ),
            Check(
                f"{case}: the deepest queue is at an edge switch",
                deepest.startswith("edge"),
                deepest,
                "edge",
            ),
        ]

    def shown(self, designs: Designs) -> Designs:
        return Designs(
            [design for design in designs.values() if design.name.startswith("slice, 70 kB")]
        )

    def answer(self, designs: Designs) -> str | None:
        names = [
            *(four.name(case, "70 kB") for case in (LOADED, LARGE, LIA, AWARE)),
            path.PRINTED,
            path.SPACED,
            _of_fabric(8),
        ]
        if not all(name in designs for name in names):
            return None
        loaded, large, lia, aware, printed, spaced, eight = (designs[name] for name in names)
        alone, fin = _over_seeds(printed, path.lone)[0], _over_seeds(spaced, path.lone_to_fin())[0]
        later, overflow = (
            _over_seeds(design, four.later, signed=True) for design in (loaded, large)
        )
        flows, sends = (
            _against(lia, aware, four.slow, "ms"),
            _against(lia, aware, four.background, "Mbps"),
        )
        values = {
            "later": _within(*later),
            "overflow": _within(*overflow),
            "filled": f"{100 * _over_seeds(eight, _share_used)[0]:.0f}",
        }
        return say(
            "mptcp.answer",
            lone=f"{alone:.1f}",
            fin=f"{fin:.0f}",
            flows=flows,
            sends=sends,
            **values,
        )

    def plots(self, designs: Designs, dir: Path) -> Sequence[Path]:
        return figures.draw(designs, dir)


STUDY = Mptcp()
