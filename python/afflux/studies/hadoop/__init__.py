"""TeraSort behind deep and shallow buffers, with ECN, PFC and DCTCP: LY Corporation's measurement (JANOG), simulated.

studies/hadoop/README.md tells what the source did and what is assumed; calibration.toml holds what was fitted, on which of its numbers.
"""

import csv
import tomllib
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from statistics import median
from typing import Any

from ...batch import Point
from ...comparison.paired import difference
from ...comparison.phrases import told
from ...metrics import JOB_TIME
from ...results.designs import Designs
from ...words import say
from .. import Check, Row, Study, files
from . import findings

_LEAF = "switch.override[0]"
#: The source's thresholds were on a picture; these are SONiC's defaults (AZURE_LOSSLESS).
_ECN = {"kmin": "1MiB", "kmax": "2MiB", "pmax": 0.05}
_MARKS: dict[str, Any] = {f"{_LEAF}.ecn": _ECN, "host.transport.ecn": "classic"}
_SHALLOW: dict[str, Any] = {f"{_LEAF}.preset": "trident3"}
#: All traffic in a lossless class.
_LOSSLESS: dict[str, Any] = {f"{_LEAF}.preset": "trident3_lossless", "traffic[0].priority": 3, "traffic[1].priority": 3}
_LOSSLESS |= {"host.scheduling": "strict_priority", f"{_LEAF}.scheduling": "strict_priority"}

#: What the compute leaf and the hosts are, by the source's patterns.
DESIGNS: dict[str, dict[str, Any]] = {
    "deep": {f"{_LEAF}.preset": "jericho_plus"},
    "shallow": _SHALLOW,
    "ecn": _SHALLOW | _MARKS,
    "ecn_pfc": _LOSSLESS | _MARKS,
    "pfc": _LOSSLESS,
    "dctcp": _SHALLOW | _MARKS | {"host.transport.congestion": "dctcp", "host.transport.ecn": "dctcp"},
}
#: The same design measured again.
_SAME = {"ecn_again": "ecn"}
_FITTED = {("deep", "mapreduce", 10, False), ("deep", "mapreduce", 200, False), ("deep", "tez", 10, False), ("deep", "tez", 200, False)}
_FITTED |= {("shallow", "mapreduce", 200, True)}
#: The jobs, by gigabytes, whose ports are recorded.
_SCREENS = 10


@cache
def _calibration() -> dict[str, Any]:
    return tomllib.loads((files("hadoop") / "calibration.toml").read_text(encoding="utf-8"))


@cache
def published() -> dict[tuple[str, str, int, bool], float]:
    """Seconds by design, framework, gigabytes, traffic."""
    with (files("hadoop") / "published.csv").open(encoding="utf-8") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return {(r["design"], r["framework"], int(r["size_gb"]), r["traffic"] == "yes"): float(r["job_s"]) for r in rows}


def null(case: tuple[str, str, int, bool]) -> float:
    """One number for all shallow designs: the median of what was measured. It has none of its own for the deep one."""
    return median(seconds for other, seconds in published().items() if other[1:] == case[1:] and other[0] != "deep")


def _name(design: str, framework: str, size: int, traffic: bool) -> str:
    return f"{_SAME.get(design, design)}-{framework}-{size}GB-{'traffic' if traffic else 'quiet'}"


def _keys(design: str, framework: str, size: int, traffic: bool) -> dict[str, Any]:
    calibration = _calibration()
    of, assumed, others = calibration[framework], calibration["assumed"], calibration["traffic"]
    keys = DESIGNS[design] | {
        "traffic[0].framework": framework,
        "traffic[0].size": f"{size}GB",
        "traffic[0].cluster.master_init": of["master_init"],
        "traffic[0].cluster.map_cpu_per_mb": of["cpu_per_mb"],
        "traffic[0].cluster.reduce_cpu_per_mb": of["cpu_per_mb"],
        "traffic[0].cluster.read_buffer": assumed["receive_buffer"],
        "host.transport.receive_buffer": assumed["receive_buffer"][0],
        "host.transport.receive_buffer_max": assumed["receive_buffer"][1],
        "host.transport.receive_buffer_share": assumed["receive_buffer_share"],
        "host.mtu": assumed["mtu"],
    }
    if size == _SCREENS:
        keys["record.ports"] = {"interval": f"{findings.INTERVAL // 1_000_000}ms", "nodes": ["compute-leaf"]}
        keys["record.paths"] = True
    if traffic:
        keys |= {f"traffic[1].{key}": value for key, value in others.items()} | {"traffic[1].start": "0s"}
        keys |= {f"traffic[0].cluster.{key}": value for key, value in calibration["under_traffic"].items()}
    return keys


class Hadoop(Study):
    name = "hadoop"
    title = "TeraSort behind deep and shallow buffers, with ECN, PFC and DCTCP"

    def points(self, quick: bool) -> Sequence[Point]:
        sizes = [10] if quick else [10, 200]
        cases = [(d, f, s, t) for s in sizes for f in ("mapreduce", "tez") for t in (False, True) for d in DESIGNS]
        return [Point(_name(*case), files("hadoop") / "terasort.toml", _keys(*case), seed=1) for case in cases]

    def table(self, designs: Designs) -> Sequence[Row]:
        rows = []
        for case, seconds in published().items():
            name = _name(*case)
            if name in designs:
                ours = designs[name].value(JOB_TIME)
                fitted = case in _FITTED
                what = f"{case[0]}, {case[1]}, {case[2]} GB, {'traffic' if case[3] else 'quiet'}"
                rows.append(Row(what, seconds, ours.mean / 1e9 if ours else None, predicted=not fitted, null=null(case)))
        return rows

    def checks(self, designs: Designs) -> Sequence[Check]:
        errors, simple = [], []
        for case, seconds in published().items():
            ours = designs[_name(*case)].value(JOB_TIME) if _name(*case) in designs else None
            if ours and case[3] and case not in _FITTED:
                errors.append(abs(ours.mean / 1e9 - seconds) / seconds)
                simple.append(abs(null(case) - seconds) / seconds)
        if not errors:
            return []
        middle, beside = round(median(errors), 4), round(median(simple), 4)
        checks = [
            Check("median error under traffic", middle <= 0.06, middle, 0.06),
            Check("largest error under traffic", max(errors) <= 0.15, round(max(errors), 4), 0.15),
            Check("better than one number for all shallow designs (median)", middle < beside, middle, beside),
            self.signs(designs),
        ]
        return checks + self.findings(designs)

    def signs(self, designs: Designs) -> Check:
        """Of the pairs of designs that differ by more than 8 % under traffic: how many come out the right way round."""
        right = of = 0
        for (one, first), (other, second) in combinations(published().items(), 2):
            if one[1:] != other[1:] or not one[3] or _name(*one) not in designs or _name(*other) not in designs or abs(second / first - 1) <= 0.08:
                continue
            a, b = (designs[_name(*case)].value(JOB_TIME) for case in (one, other))
            of += 1
            right += bool(a and b and (b.mean - a.mean) * (second - first) > 0)
        return Check("measured differences of more than 8 % with the right sign", right == of, right, of)

    def findings(self, designs: Designs) -> list[Check]:
        """The qualitative ones of the source, on MapReduce with 10 GB: those jobs' screens are recorded."""
        runs = {}
        for design in DESIGNS:
            for ending, traffic in (("", True), ("-quiet", False)):
                name = _name(design, "mapreduce", _SCREENS, traffic)
                if name in designs:
                    runs[design + ending] = designs[name].first
        return [check for finding in findings.ALL for check in finding(runs)]

    def answer(self, designs: Designs) -> str | None:
        names = [_name(d, "mapreduce", 10, True) for d in ("deep", "shallow")]
        if not all(name in designs for name in names):
            return None
        deep, shallow = (designs[name] for name in names)
        found = difference(JOB_TIME, deep, shallow, shallow.seeds)
        return say("hadoop.answer", told=told(found)) if found else None

    def shown(self, designs: Designs) -> Designs:
        return Designs([design for design in designs.values() if design.name.endswith("mapreduce-10GB-traffic")])


STUDY = Hadoop()
