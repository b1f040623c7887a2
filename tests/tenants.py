"""Three tenants whose goals compare with their own fabrics, and handmade values.

Values are ratios to the tenants' own fabrics, spread over ten seeds (`made.SPREAD` twice) so that
the paired logarithms have a standard error of 0.2357 times the spread. With t(9) = 2.262 the 95 %
interval of a ratio is the ratio times exp(±0.533 · spread).
"""

import math
from collections.abc import Mapping

from made import SPREAD

from afflux.decision.file import Goal
from afflux.decision.judge import Judged, Standing, Values
from afflux.decision.measures import Tenant, Value

SEEDS = 10
HADOOP = Tenant("hadoop", ("hadoop",), ("hadoop",), "traffic.hadoop.size")
QUERY = Tenant("query", ("query",), ("query",), "traffic.query.queries_per_second")
BULK = Tenant("bulk", ("bulk",), ("bulk",), "traffic.bulk.load")
JOBS = Goal(HADOOP, "job_time_mean", within=0.1, against="deep", alone=True)
QUERIES = Goal(QUERY, "query_p99", within=0.5, against="shallow", alone=True)
COPIES = Goal(BULK, "flow_goodput", within=0.4, against="shallow", alone=True)
GOALS = (JOBS, QUERIES, COPIES)
ORDER = ("deep", "shallow", "ecn")
PRICES = {"deep": 100_000.0, "shallow": 40_000.0, "ecn": 40_000.0}
#: Values on the tenants' own fabrics: 10 s, 200 us, 8 Gbps.
OWN_FABRIC = {JOBS.name: 10e9, QUERIES.name: 200e3, COPIES.name: 8e9}
FINE = {"hadoop": 1.02, "query": 1.1, "bulk": 0.9}


def seeds(middle: float, by: float = 0.01) -> dict[int, Value]:
    return {seed + 1: Value(middle * math.exp(by * SPREAD[seed % 5])) for seed in range(SEEDS)}


def mixture(by: float = 0.01, **ratios: Mapping[str, float]) -> Values:
    """Returns the values of each design from its ratios to the own fabrics."""
    return {
        design: {
            goal.name: seeds(OWN_FABRIC[goal.name] * some[goal.tenant.name], by)
            for goal in GOALS
            if goal.tenant
        }
        for design, some in ratios.items()
    }


def alone(by: float = 0.0) -> Values:
    """Returns values of tenants that run alone. They equal those of the own fabric for every
    design, with the same spread over seeds."""
    return {
        design: {name: seeds(value, by) for name, value in OWN_FABRIC.items()} for design in ORDER
    }


def judged(values: Values, prices: Mapping[str, float] = PRICES) -> Judged:
    return Judged.of(values, alone(), list(values), GOALS, prices)


def standing(found: Judged, design: str, tenant: str) -> Standing:
    return next(
        one for one in found.standings[design] if one.goal.tenant and one.goal.tenant.name == tenant
    )


#: Plain and marking switches miss the query goal. Deep switches meet all goals.
DEEP_WINS = mixture(deep=FINE, shallow=FINE | {"query": 60}, ecn=FINE | {"query": 1.9})
SHALLOW_WINS = mixture(deep=FINE | {"query": 4}, shallow=FINE, ecn=FINE)
#: All designs miss a goal: deep switches miss the job goal by 30 %, shallow ones the query goal.
NONE = mixture(
    deep=FINE | {"hadoop": 1.3},
    shallow=FINE | {"query": 60},
    ecn=FINE | {"query": 1.9, "bulk": 0.3},
)
