"""The commented decision file that `afflux new decide` writes for a scenario."""

from pathlib import Path

from ..scenario import Scenario

_HEAD = """\
# Which design meets the goals of its tenants at the least price? Change this file, then run: afflux decide {own}
scenario = "{scenario}"
# currency = "USD"
# seeds = "1-5"

# Designs: keys of the scenario that differ. The first one is today's.
[[design]]
name = "today"
# price = 48000                 # of the whole fabric
# power = 1200                  # of the whole fabric in W

[[design]]
name = "marking"
[design.set]
"switch.ecn" = {{ kmin = "400kB", kmax = "1600kB", pmax = 0.05, incapable = "pass" }}
{ecn}
[[design]]
name = "deep"
[design.set]
switch = {{ preset = "jericho_plus" }}

# Tenants: each class of traffic is one. Write [[tenant]] blocks where a tenant has several classes:
# [[tenant]]
# name = "web"
# classes = ["web", "search"]

# Goals: a measure of a tenant and its bound: at_most or at_least, or within = 0.1 with design = "today" or alone = true.
# Measures: fct_mean, fct_p50, fct_p99, slowdown_mean, slowdown_p99, query_p99, job_time_mean, goodput, flow_goodput, jain.
"""
_GOAL = """
[[goal]]
tenant = "{tenant}"
measure = "fct_p99"
within = 0.1                    # at most 10 % more …
design = "today"                # … than with this design
"""


def text(scenario: Path, own: Path) -> str:
    """Returns the decision file for a scenario. Raises `ScenarioError` if the scenario is
    invalid."""
    loaded = Scenario.load(scenario)
    blocks = loaded.get("traffic", [])
    classes = dict.fromkeys(
        str(block.get("class") or block.get("name") or "default") for block in blocks
    )
    transports = loaded.get("host.transports", {})
    kinds = {None: loaded.get("host.transport", {}), **transports}
    used = [name for name in kinds if name in {block.get("transport") for block in blocks}]
    lines = []
    for name in used:
        prefix = "host.transport" if name is None else f"host.transports.{name}"
        lines.append(
            f'"{prefix}.congestion" = "dcqcn"'
            if kinds[name].get("kind") == "rdma"
            else f'"{prefix}.ecn" = "classic"'
        )
    return _HEAD.format(
        own=own, scenario=_relative(scenario, own), ecn="".join(f"{line}\n" for line in lines)
    ) + "".join(_GOAL.format(tenant=name) for name in classes)


def _relative(scenario: Path, own: Path) -> str:
    """Returns the scenario's path relative to the folder of the decision file, or absolute if it is
    not below it."""
    try:
        return scenario.resolve().relative_to(own.resolve().parent).as_posix()
    except ValueError:
        return scenario.resolve().as_posix()
