"""Multipath TCP on FatTrees: how much of the network it uses, and what short flows beside it wait for.

The source is Fujii, Tazaki and Sekiya (IEICE 2014) on a slice of four hosts; the FatTree permutation and the table of short flows are of Raiciu et
al. (SIGCOMM 2011). studies/mptcp/README.md tells what is assumed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import mean, pstdev
from typing import Any

from ...batch import Point
from ...comparison.paired import Pairs, of_pairs
from ...comparison.phrases import told
from ...metrics import Metric
from ...results.designs import Design, Designs
from ...results.result import Result
from ...results.statistics import interval
from ...results.waits import behind
from ...words import Words, say
from ...words.text import digits
from .. import Check, Row, Study, files

#: Payload of a segment, and what it takes on the wire with preamble and gap.
_PAYLOAD, _WIRE = 1436, 1538
_SUBFLOWS = (1, 2, 4, 8)

_UNCOUPLED = {"host.transports.long.mptcp.coupling": "off"}
#: What the long flows beside the short ones are, and the mean and deviation of the short ones' completion time in ms with the utilisation of the
#: core in percent that Raiciu et al. give.
_BESIDE: dict[str, tuple[dict[str, Any], tuple[float, float, float]]] = {
    "TCP": ({"host.transports.long.mptcp.subflows": 1}, (78, 108, 25)),
    "packet scatter": ({"host.transports.long.mptcp.subflows": 1, "switch.balance": "spray", "host.transport.dupack_threshold": 12}, (42, 63, 30)),
    "MPTCP": ({}, (97, 106, 62)),
    "uncoupled": (_UNCOUPLED, (152, 158, 65)),
}
_SIZES = ("2 kB", "20 kB", "70 kB")
#: The background on all paths, as its host could, and its windows going by its queues.
_ALL_PATHS = {"host.transports.background.mptcp.subflows": 16, "host.transports.background.receive_window": "800kB"}
_QUEUE_AWARE = _ALL_PATHS | {"host.transports.background.mptcp.coupling": "queue_aware"}
#: Shares of the optimum that Raiciu et al. report for so many subflows; milliseconds of Fujii et al.: how much later the slowest 5 % of 2 kB are on loaded
#: paths (figure 6), and how long a flow of 70 kB takes that meets no other (figure 9).
_REACHED = (0.5, None, None, 0.9)
_LATER, _LONE = 10.0, 130.0
#: No background: a flow that is over at once.
_ALONE = {"traffic[0].sizes": "1kB"}
_DENSE = {f"traffic[{block}].flows_per_second": 20 for block in (1, 2, 3)}
_LIA, _AWARE = "beside LIA on all paths", "beside queue-aware windows on all paths"
_SLICE: dict[str, dict[str, Any]] = {"beside MPTCP": {}, "alone": _ALONE, "alone, dense": _ALONE | _DENSE, _LIA: _ALL_PATHS, _AWARE: _QUEUE_AWARE}


def _of_fabric(subflows: int) -> str:
    return f"permutation-{subflows}"


def _of_slice(case: str) -> str:
    return f"slice, {case}"


def _of_short(case: str) -> str:
    return f"short flows beside {case}"


@dataclass(frozen=True)
class _Short:
    """A short flow of the slice."""

    id: int
    size: str
    start: int
    fct: int
    queueing: int
    #: The core switch by which it went: there is one for each path.
    core: str
    #: It went by the uplink that the background uses.
    loaded: bool


@lru_cache(maxsize=32)
def _short(result: Result) -> tuple[_Short, ...]:
    by_path = dict(zip(result.paths.column("flow"), result.paths.column("path"), strict=True))
    names = ("id", "class", "start_ns", "fct_ns", "queueing_ns")
    rows = zip(*(result.flows.column(name) for name in names), strict=True)
    return tuple(
        _Short(id, size, start, fct, queueing, by_path[id].split(">")[3], "edge0a" in by_path[id])
        for id, size, start, fct, queueing in rows
        if size in _SIZES and fct is not None
    )


def _slowest(times: Sequence[float]) -> float:
    """Mean of the slowest twentieth."""
    return mean(sorted(times)[-max(1, len(times) // 20) :])


def _over_seeds(design: Design, value: Callable[[Result], float], *, signed: bool = False) -> tuple[float, float | None, float | None]:
    each = [value(result) for result in design.samples.values()]
    return mean(each), *(interval(each, signed=signed) or (None, None))


def _against(base: Design, design: Design, value: Callable[[Result], float], unit: str) -> str:
    """One design against another in a number of their results, by the seeds that both have, in words."""
    pairs = Pairs.of(base, design)
    metric = Metric("", "", (), lambda number: f"{digits(number, 3)} {unit}")
    both = [(value(before), value(after)) for before, after in pairs.samples]
    return told(of_pairs(metric, design.name, both, deterministic=pairs.deterministic))


def _later(size: str) -> Callable[[Result], float]:
    """How much later, in ms, the slowest twentieth of one size is on loaded paths than on others."""

    def of(result: Result) -> float:
        flows = [flow for flow in _short(result) if flow.size == size]
        return (_slowest([f.fct for f in flows if f.loaded]) - _slowest([f.fct for f in flows if not f.loaded])) / 1e6

    return of


def _slow(size: str) -> Callable[[Result], float]:
    """The mean completion time of the slowest twentieth of one size, in ms."""
    return lambda result: _slowest([flow.fct for flow in _short(result) if flow.size == size]) / 1e6


def _mean_of(size: str) -> Callable[[Result], float]:
    """The mean completion time of one size, in ms."""
    return lambda result: mean(flow.fct for flow in _short(result) if flow.size == size) / 1e6


def _used(core: str) -> Callable[[Result], float]:
    """Utilisation of the path over a core switch where it is its own, percent."""

    def of(result: Result) -> float:
        links = zip(*(result.links.column(name) for name in ("from", "to", "utilisation")), strict=True)
        return 100 * max(used for start, end, used in links if end == core and start.startswith("agg0"))

    return of


def _by_path(core: str, value: Callable[[list[float]], float]) -> Callable[[Result], float]:
    """Of the completion times of 70 kB over a core switch, in ms."""
    return lambda result: value([flow.fct / 1e6 for flow in _short(result) if flow.size == "70 kB" and flow.core == core])


def _in_front(result: Result, size: str, loaded: bool) -> list[tuple[str, float, str]]:
    """Behind whom frames of one size waited: class, share of their waits, and where most of it was; the longest first."""
    chosen = [flow.id for flow in _short(result) if flow.size == size and flow.loaded is loaded]
    return [(one.behind, one.share, one.node) for one in behind(result.table("waits"), result.flows, chosen)]


def _behind(size: str, whom: Callable[[str], bool]) -> Callable[[Result], float]:
    """The share of the waits of one size on loaded paths that was behind them."""
    return lambda result: sum(share for name, share, _ in _in_front(result, size, True) if whom(name))


def _background(result: Result) -> float:
    """Mbps that the background sends."""
    links = zip(*(result.links.column(name) for name in ("from", "to", "bytes")), strict=True)
    return sum(bytes for start, end, bytes in links if end == "host2" and start.startswith("edge1")) * 8e3 / result.summary["simulated_ns"]


def _share_used(result: Result) -> float:
    optimum = 128 * 1e9 * _PAYLOAD / _WIRE
    return result.summary["goodput_bps"] / optimum


def _core(result: Result) -> float:
    """Mean utilisation of the links to the core, percent."""
    links = zip(*(result.links.column(name) for name in ("to", "utilisation")), strict=True)
    return 100 * mean(used for end, used in links if end.startswith("core"))


def _completion(result: Result) -> list[float]:
    warmup = result.summary["warmup_ns"]
    rows = zip(*(result.flows.column(name) for name in ("class", "start_ns", "fct_ns")), strict=True)
    return [fct / 1e6 for kind, start, fct in rows if kind == "short" and fct is not None and start >= warmup]


class Mptcp(Study):
    name = "mptcp"
    title = "MPTCP on FatTrees, and why short flows wait"

    def points(self, quick: bool) -> Sequence[Point]:
        place, seeds = files("mptcp"), [1] if quick else [1, 2, 3]
        points = [Point(_of_fabric(n), place / "permutation.toml", {"host.transport.mptcp.subflows": n}, seed) for n in _SUBFLOWS for seed in seeds]
        points += [Point(_of_slice(case), place / "slice.toml", keys, seed) for case, keys in _SLICE.items() for seed in seeds]
        if not quick:
            points += [Point(_of_short(case), place / "short-flows.toml", keys, seed) for case, (keys, _) in _BESIDE.items() for seed in seeds]
        return points

    def table(self, designs: Designs) -> Sequence[Row]:
        rows = []
        for subflows, theirs in zip(_SUBFLOWS, _REACHED, strict=True):
            if _of_fabric(subflows) in designs:
                rows.append(
                    Row(f"FatTree permutation, {subflows} subflows: share of the optimum", theirs, *_over_seeds(designs[_of_fabric(subflows)], _share_used))
                )
        for case, (_, (average, deviation, core)) in _BESIDE.items():
            if _of_short(case) in designs:
                design = designs[_of_short(case)]
                rows.append(Row(f"70 kB beside {case}: mean, ms", average, *_over_seeds(design, lambda r: mean(_completion(r)))))
                rows.append(Row(f"70 kB beside {case}: deviation, ms", deviation, *_over_seeds(design, lambda r: pstdev(_completion(r)))))
                rows.append(Row(f"70 kB beside {case}: core used, %", core, *_over_seeds(design, _core)))
        if _of_slice("beside MPTCP") in designs:
            design = designs[_of_slice("beside MPTCP")]
            for size in _SIZES:
                theirs = _LATER if size == "2 kB" else None
                rows.append(Row(f"{size} beside MPTCP: slowest 5 % later on loaded paths, ms", theirs, *_over_seeds(design, _later(size), signed=True)))
                waits = _over_seeds(design, _behind(size, lambda name: name == "background"))
                rows.append(Row(f"{size} beside MPTCP: share of its waits on loaded paths behind the background", None, *waits))
            for switch in ("core0", "core1", "core2", "core3"):
                rows.append(Row(f"path over {switch}: used, %", None, *_over_seeds(design, _used(switch))))
                rows.append(Row(f"path over {switch}: 70 kB, mean, ms", None, *_over_seeds(design, _by_path(switch, mean))))
                rows.append(Row(f"path over {switch}: 70 kB, deviation, ms", None, *_over_seeds(design, _by_path(switch, pstdev))))
        if _of_slice("alone") in designs:
            rows.append(Row("70 kB alone: mean, ms", _LONE, *_over_seeds(designs[_of_slice("alone")], _mean_of("70 kB"))))
        if _of_slice("alone, dense") in designs:
            design = designs[_of_slice("alone, dense")]
            for size in _SIZES:
                waits = _over_seeds(design, _behind(size, lambda name: name in _SIZES))
                rows.append(Row(f"{size} alone, dense: share of its waits behind other short flows", None, *waits))
        for case in ("alone", "beside MPTCP", _LIA, _AWARE):
            if _of_slice(case) in designs:
                design = designs[_of_slice(case)]
                rows += [Row(f"{size} {case}: slowest 5 %, ms", None, *_over_seeds(design, _slow(size))) for size in _SIZES]
                if case != "alone":
                    rows.append(Row(f"{case}: background, Mbps", None, *_over_seeds(design, _background)))
        return rows

    def checks(self, designs: Designs) -> Sequence[Check]:
        found = []
        if _of_fabric(1) in designs and _of_fabric(8) in designs:
            one, eight = (_over_seeds(designs[_of_fabric(n)], _share_used)[0] for n in (1, 8))
            found.append(Check("eight subflows reach 90 % of the optimum", eight >= _REACHED[-1], round(eight, 3), _REACHED[-1]))
            # What is rounded to a half.
            found.append(Check("a single path reaches about half", 0.45 <= one <= 0.55, round(one, 3), "0.45 to 0.55"))
        if _of_slice("beside MPTCP") in designs:
            found += self.findings(designs[_of_slice("beside MPTCP")])
        if _of_slice("alone, dense") in designs:
            found.append(self.overlaps(designs[_of_slice("alone, dense")].first))
        if _of_slice("alone") in designs and _of_slice("beside MPTCP") in designs:
            alone, beside = (_over_seeds(designs[_of_slice(case)], _slow("2 kB"))[0] for case in ("alone", "beside MPTCP"))
            found.append(Check("2 kB: the slowest 5 % are faster without background, ms", alone < beside, round(alone, 2), round(beside, 2)))
        if all(_of_slice(case) in designs for case in (_LIA, _AWARE)):
            before, after = (_over_seeds(designs[_of_slice(case)], _slow("70 kB"))[0] for case in (_LIA, _AWARE))
            found.append(Check("queue-aware windows shorten the slowest 5 % of 70 kB, ms", after < before, round(after, 2), round(before, 2)))
        return found

    def findings(self, design: Design) -> list[Check]:
        """What the source saw on the slice. Flows of all seeds together; whose queue is the deepest, and who stood in front, of the first."""
        flows = [flow for result in design.results.values() for flow in _short(result)]
        result = design.first
        loaded, idle = ([f for f in flows if f.loaded is on and f.size == "70 kB"] for on in (True, False))
        spread = [pstdev([f.fct for f in part]) / 1e6 for part in (loaded, idle)]
        later = _over_seeds(design, _later("2 kB"))[0]
        extra = _slowest([f.fct for f in loaded]) - _slowest([f.fct for f in idle])
        slow = sorted(loaded, key=lambda f: f.fct)[-max(1, len(loaded) // 20) :]
        queueing = (mean(f.queueing for f in slow) - mean(f.queueing for f in idle)) / extra
        ports = zip(*(result.ports.column(name) for name in ("node", "queue", "queue_bytes_max")), strict=True)
        deepest = max((most, node) for node, queue, most in ports if queue == -1)[1]
        first, share, place = _in_front(result, "2 kB", True)[0]
        return [
            Check("70 kB: a larger spread on the loaded paths, ms", spread[0] > spread[1], round(spread[0], 2), round(spread[1], 2)),
            Check("2 kB: the slowest 5 % are 10 ms later on the loaded paths, ms", later >= _LATER, round(later, 2), _LATER),
            Check("queueing is most of what the slowest 5 % of 70 kB are later by, share", queueing > 0.5, round(queueing, 2), 0.5),
            Check("2 kB on loaded paths wait behind the background, share of their waits", first == "background" and share > 0.5, round(share, 2), 0.5),
            Check("they wait for it at an edge switch", place.startswith("edge"), place, "edge"),
            Check("the deepest queue is at an edge switch", deepest.startswith("edge"), deepest, "edge"),
        ]

    def overlaps(self, result: Result) -> Check:
        """Without background: flows that start while another is under way are slower."""
        flows = sorted((f for f in _short(result)), key=lambda f: f.start)
        ends = 0
        beside: list[int] = []
        apart: list[int] = []
        for flow in flows:
            if flow.size == "70 kB":
                (beside if flow.start < ends else apart).append(flow.fct)
            ends = max(ends, flow.start + flow.fct)
        slower = (_slowest(beside) / _slowest(apart)) if beside and apart else 0.0
        return Check("no background, 70 kB: slowest 5 % with an earlier flow under way, by those without", slower > 1.1, round(slower, 3), 1.1)

    def shown(self, designs: Designs) -> Designs:
        return Designs([design for design in designs.values() if design.name.startswith("slice")])

    def answer(self, designs: Designs) -> str | None:
        names = [_of_slice(case) for case in ("beside MPTCP", _LIA, _AWARE)]
        if not all(name in designs for name in names):
            return None
        beside, lia, aware = (designs[name] for name in names)
        later, low, high = _over_seeds(beside, _later("70 kB"), signed=True)
        within = say("mptcp.within", low=f"{low:.1f}", high=f"{high:.1f}") if low is not None and high is not None else Words("", "")
        flows, sends = _against(lia, aware, _slow("70 kB"), "ms"), _against(lia, aware, _background, "Mbps")
        return say("mptcp.answer", later=f"{later:.1f}", within=Words(f" {within}" if within else "", within.ja), flows=flows, sends=sends)


STUDY = Mptcp()
