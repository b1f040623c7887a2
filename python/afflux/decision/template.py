"""The commented decision file that `afflux new decide` writes for a scenario."""

import shlex
import tomllib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from .. import _core
from .._core import ScenarioError
from ..files import toml
from ..files.toml import BARE
from ..scenario import Scenario
from . import kinds
from .blocks import belongs, class_of, described
from .file import Candidate
from .measures import Tenant
from .points import changed

_HEAD = """\
# Which design meets the goals of its tenants at the least price? Change this file, then run: afflux decide {own}
scenario = {scenario}
# currency = "USD"
# seeds = "1-5"

# Designs: keys of the scenario that differ. The first one is today's.
[[design]]
name = "today"
# price = 48000                 # of the whole fabric
# power = 1200                  # of the whole fabric in W
{designs}
# Tenants: each class of traffic is one. Write [[tenant]] blocks where a tenant has several classes:
# [[tenant]]
# name = "web"
# classes = ["web", "search"]

# Goals: a measure of a tenant and its bound: at_most or at_least, or within = 0.1 with design = "today" or alone = true.
# Measures: fct_mean, fct_p50, fct_p99, slowdown_mean, slowdown_p99, query_p99, job_time_mean, goodput, flow_goodput, jain.
"""
_DESIGN = """
[[design]]
name = "{name}"
[design.set]
{lines}
"""
_GOAL = """
[[goal]]
tenant = {tenant}
measure = "{measure}"
within = 0.1                    # at most 10 % more …
design = "today"                # … than with this design
"""
#: Marking begins at `kmin` and reaches 5 % at four times as much.
_MARKING = (
    '"switch.ecn" = {{ kmin = "{kmin}kB", kmax = "{kmax}kB", pmax = 0.05, incapable = "pass" }}'
)
_STEP = '"switch.ecn" = {{ k = "{kmax}kB", incapable = "pass" }}'
_SPREAD = 4
#: Marking threshold in kB for each Gbps of the slowest link: 400 kB at 100 Gbps, as Li et al.
#: (HPCC, SIGCOMM 2019) have it for DCQCN.
_PER_GBPS = 4
#: The threshold is at least that of 20 frames in kB, as Alizadeh et al. (DCTCP, SIGCOMM 2010) have
#: it at 1 Gbps, and a seventh of the bandwidth-delay product, which is their lower bound.
_FRAMES, _PART = 30, 7
#: Smallest threshold in kB, of two frames. Short queues have less than the above.
_LEAST = 3
_DEEP = 'switch = { preset = "jericho_plus" }'
_LARGER = '"switch.buffer" = "32MB"'
#: Designs that are shown next to today's.
_SHOWN = 2


def text(scenario: Path, own: Path) -> str:
    """Returns the decision file for a scenario. Raises `ScenarioError` if the scenario is
    invalid."""
    loaded = Scenario.load(scenario)
    loaded.check()
    designs = "".join(
        _DESIGN.format(name=name, lines="\n".join(lines))
        for name, lines in islice(_designs(loaded), _SHOWN)
    )
    # A comment ends with its line, so a name with a line break cannot stand in it.
    command = "".join(one if one.isprintable() else "?" for one in shlex.quote(str(own)))
    head = _HEAD.format(own=command, scenario=toml.value(_relative(scenario, own)), designs=designs)
    return head + "".join(
        _GOAL.format(tenant=toml.value(tenant), measure=measure)
        for tenant, measure in _goals(loaded)
    )


def _goals(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yields each tenant and the first measure that it has a value of. Background traffic ends with
    the jobs, so it has none."""
    blocks = [pair for pair in described(scenario) if pair[0]["kind"] != "background"]
    for name in dict.fromkeys(class_of(block) for block, _ in blocks):
        tenant = Tenant(name, (name,))
        own = [of_core for block, of_core in blocks if belongs(block, tenant)]
        for measure in ("fct_p99", "query_p99", "job_time_mean"):
            if not kinds.refusal(measure, own, tenant):
                yield name, measure
                break


def _designs(scenario: Scenario) -> Iterator[tuple[str, Sequence[str]]]:
    """Yields name and lines of those designs that the scenario admits."""
    kmin = _threshold(scenario)
    if kmin is not None:
        marking = [_MARKING.format(kmin=kmin, kmax=_SPREAD * kmin)]
        for line in _reactions(scenario):
            if _admits(scenario, [*marking, line]):
                marking.append(line)
        yield "marking", marking
    for name, line in (("deep", _DEEP), ("larger", _LARGER)):
        if _admits(scenario, [line]):
            yield name, [line]


def _threshold(scenario: Scenario) -> int | None:
    """Returns the queue length in kB at which marking begins: by the rate of the slowest link and
    the delay of the longest one, halved until queues reach four times this length. None if the
    scenario admits no marking, or if all queues are too short for it."""
    edges = scenario.check().edges
    rate = min((rate for *_, rate, _ in edges), default=0)
    delay_ns = max((delay for *_, delay in edges), default=0.0)
    product = rate * 2 * delay_ns / 8e12
    kmin = max(round(_PER_GBPS * rate / 1e9), round(product / _PART), _FRAMES)
    while kmin >= _LEAST:
        made = _checked(scenario, [_STEP.format(kmax=_SPREAD * kmin)])
        if made is None:
            return None
        # The check warns of a threshold that no queue reaches.
        if not any("marks nothing: marking begins at" in warning.text for warning in made.warnings):
            return kmin
        kmin //= 2
    return None


def _reactions(scenario: Scenario) -> Iterator[str]:
    """Yields a line for each transport that is used, which makes it react to marks."""
    blocks = scenario.get("traffic", [])
    kinds = {None: scenario.get("host.transport", {}), **scenario.get("host.transports", {})}
    for name, transport in kinds.items():
        if name in {block.get("transport") for block in blocks}:
            prefix = "host.transport"
            if name is not None:
                # A name with dots stands in double quotes.
                prefix = (
                    f"host.transports.{name}"
                    if BARE.fullmatch(name)
                    else f'host.transports."{name}"'
                )
            rdma = transport.get("kind") == "rdma"
            key, value = ("congestion", "dcqcn") if rdma else ("ecn", "classic")
            yield toml.dumps({f"{prefix}.{key}": value}).strip()


def _admits(scenario: Scenario, lines: Sequence[str]) -> bool:
    """Returns whether the scenario is valid with these lines of a design."""
    return _checked(scenario, lines) is not None


def _checked(scenario: Scenario, lines: Sequence[str]) -> _core.Scenario | None:
    """Returns the scenario with these lines of a design; None if it is invalid."""
    design = Candidate("", tomllib.loads("\n".join(lines)))
    try:
        return changed(scenario, design).check()
    except (ScenarioError, TypeError, ValueError):
        return None


def _relative(scenario: Path, own: Path) -> str:
    """Returns the scenario's path relative to the folder of the decision file, or absolute if it is
    not below it."""
    try:
        return scenario.resolve().relative_to(own.resolve().parent).as_posix()
    except ValueError:
        return scenario.resolve().as_posix()
