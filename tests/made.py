"""Results built from the numbers of a summary alone, so that tests of comparisons need no
simulation."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import afflux
from afflux.results.designs import Designs

#: Five deviations around 0, one per seed.
SPREAD = (-1.0, 0.5, 1.0, -0.5, 0.0)


def spread(middle: float, by: float, seeds: int = 5) -> list[float]:
    """Returns values whose ratios to `middle` range from exp(-by) to exp(by)."""
    return [middle * math.exp(by * SPREAD[place % 5]) for place in range(seeds)]


class Made:
    """A result that consists only of a summary."""

    dir = None
    scenario = None
    kernel_failure = None
    recorded: Sequence[str] = ()

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary


def summary(name: str, seed: int, **numbers: Any) -> dict[str, Any]:
    """Returns a summary with times in ms. All numbers that are not given have fixed defaults."""
    given = {
        "fct": 5.0,
        "p50": 4.0,
        "p99": 20.0,
        "slow": 5.0,
        "slow50": 4.0,
        "slow99": 20.0,
        "goodput": 10.0,
        "unfinished": 0,
        "started": 1_000,
        "not_started": 0,
    }
    given |= {
        "job": None,
        "jobs_unfinished": 0,
        "jobs_not_started": 0,
        "drops": 0,
        "timeouts": 0,
        "marks": 0,
        "retransmits": 0,
        "pauses": 0,
        "discards": 0,
        "price": None,
    }
    given |= {
        "alone": 1.0,
        "currency": "USD",
        "hash": f"{name}-{seed}",
        "version": afflux.__version__,
        "classes": {},
    }
    assert set(numbers) <= set(given), set(numbers) - set(given)
    n = given | numbers
    left = n["unfinished"] > 0

    def ms(value: float | None) -> float | None:
        return None if value is None else value * 1e6

    return {
        "afflux_version": n["version"],
        "name": name,
        "seed": seed,
        "flows": {
            "started": n["started"],
            "finished": n["started"] - n["unfinished"],
            "unfinished": n["unfinished"],
            "not_started": n["not_started"],
        },
        "jobs": None
        if n["job"] is None
        else {
            "mean_ns": ms(n["job"]),
            "unfinished": n["jobs_unfinished"],
            "not_started": n["jobs_not_started"],
        },
        "fct": {
            "all": {
                "censored": left,
                "mean_ns": ms(n["fct"]),
                "p50_ns": ms(n["p50"]),
                "p99_ns": ms(n["p99"]),
            },
            "by_class": {
                name: {
                    "mean_ns": ms(one["fct"]),
                    "p99_ns": ms(one["p99"]),
                    "count": 100,
                    "unfinished": 0,
                    "censored": False,
                }
                for name, one in n["classes"].items()
            },
        },
        "goodput": {
            "by_class": {
                name: {"bps": one["goodput"] * 1e9, "jain": None, "flows": 100}
                for name, one in n["classes"].items()
            }
        },
        "slowdown": {
            "all": {
                "mean": n["slow"],
                "p50": n["slow50"],
                "p99": n["slow99"],
                "ideal_mean_ns": ms(n["alone"]),
            }
        },
        "goodput_bps": n["goodput"] * 1e9,
        "drops": n["drops"],
        "in_discards": n["discards"],
        "ecn_marks": n["marks"],
        "pause_frames": n["pauses"],
        "retransmits": n["retransmits"],
        "timeouts": n["timeouts"],
        "cost": None if n["price"] is None else {"total": n["price"], "currency": n["currency"]},
        "result_hash": n["hash"],
    }


def design(name: str, *, seeds: Sequence[int] | None = None, **numbers: Any) -> afflux.Design:
    """Returns a design. Each number is one value for all seeds or a list with one value per seed.
    Without lists and `seeds` there are five seeds.

    `classes` has such numbers by traffic class: `{"web": {"fct": [1.0, 1.1, …]}}`. Numbers that are
    not given have fixed defaults.
    """
    classes = numbers.pop("classes", {})
    lists = {key: value for key, value in numbers.items() if isinstance(value, list)}
    of_classes = [
        value for one in classes.values() for value in one.values() if isinstance(value, list)
    ]
    count = max(map(len, [*lists.values(), *of_classes]), default=5)
    seeds = seeds or range(1, count + 1)
    results = {}
    for place, seed in enumerate(seeds):
        of_seed: Mapping[str, Any] = {
            key: value[place] if key in lists else value for key, value in numbers.items()
        }
        of_class = {
            one: {"fct": 1.0, "p99": 2.0, "goodput": 5.0}
            | {
                key: value[place] if isinstance(value, list) else value
                for key, value in given.items()
            }
            for one, given in classes.items()
        }
        results[seed] = Made(summary(name, seed, classes=of_class, **of_seed))
    return afflux.Design(name, results)


def compare(*designs: afflux.Design, baseline: str | None = None) -> afflux.Comparison:
    return afflux.compare(Designs(designs), baseline)
