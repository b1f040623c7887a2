"""Results by design: those of one scenario name are one design, run with several seeds."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import toml
from .metrics import METRICS, Metric
from .result import Result
from .statistics import interval, mean

#: Differences in these keys, and in what is recorded, leave a design what it is. Threads and engines give the same results; names of inputs are told
#: apart by their hash.
_SAME = {"run.seed", "run.threads", "run.engine", "run.max_memory", "description"}


@dataclass(frozen=True)
class Value:
    """A metric of a design: the mean over its seeds, with a bootstrap interval where there are several."""

    metric: Metric
    mean: float
    low: float | None
    high: float | None
    seeds: int

    def __str__(self) -> str:
        show = self.metric.show
        return (
            show(self.mean) if self.low is None or self.high is None or self.low == self.high else f"{show(self.mean)} ({show(self.low)} – {show(self.high)})"
        )


@dataclass(frozen=True)
class Design:
    name: str
    #: By seed, ascending.
    results: Mapping[int, Result]

    @property
    def seeds(self) -> list[int]:
        return list(self.results)

    @property
    def first(self) -> Result:
        """The result of the lowest seed: the one whose series are shown."""
        return next(iter(self.results.values()))

    def by_seed(self, metric: Metric) -> dict[int, float]:
        """What a metric is for each seed; without the seeds where it is not known."""
        values = {seed: metric.of(result.summary) for seed, result in self.results.items()}
        return {seed: value for seed, value in values.items() if value is not None}

    def value(self, metric: Metric) -> Value | None:
        """None if it is not known for any seed."""
        values = list(self.by_seed(metric).values())
        if not values:
            return None
        low, high = interval(values, mean) or (None, None)
        return Value(metric, mean(values), low, high, len(values))

    def __repr__(self) -> str:
        return f"<Design {self.name!r}: seeds {', '.join(map(str, self.results))}>"


class Designs(Mapping[str, Design]):
    """By name, in the order in which they were given."""

    def __init__(self, designs: Iterable[Design]) -> None:
        self._designs = {design.name: design for design in designs}

    def __getitem__(self, name: str) -> Design:
        try:
            return self._designs[name]
        except KeyError:
            raise KeyError(f"there is no design {name!r}: there are {', '.join(self._designs)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._designs)

    def __len__(self) -> int:
        return len(self._designs)

    def metrics(self) -> list[Metric]:
        """Those that are known for some design, without counters that are zero everywhere."""
        known = [(metric, [value.mean for design in self.values() if (value := design.value(metric))]) for metric in METRICS]
        return [metric for metric, values in known if values and (any(values) or not metric.counter)]


def gather(results: "Designs | Iterable[Result | str | os.PathLike[str]]") -> Designs:
    """Groups results, or result directories, by the names of their scenarios.

    Raises `FileNotFoundError` if a directory holds no result, `ValueError` if two of a name have the same seed or differ in more than the seed.
    """
    if isinstance(results, Designs):
        return results
    names: dict[str, dict[int, Result]] = {}
    for item in results:
        result = item if isinstance(item, Result) else Result.open(item)
        name, seed = result.summary["name"], result.summary["seed"]
        of_name = names.setdefault(name, {})
        if seed in of_name:
            raise ValueError(f"{_where(result)} and {_where(of_name[seed])} are both {name!r} with seed {seed}: {_ADVICE}")
        if of_name:
            other = next(iter(of_name.values()))
            if different := _different(result, other):
                what = ", ".join(different[:4]) + (", …" if len(different) > 4 else "")
                raise ValueError(f"{_where(result)} and {_where(other)} are both {name!r} but differ in {what}: {_ADVICE}")
        of_name[seed] = result
    if not names:
        raise ValueError("no results: name at least one result directory")
    return Designs(Design(name, dict(sorted(of_name.items()))) for name, of_name in names.items())


_ADVICE = "give designs names of their own, as in --set name=shallow"


def _where(result: Result) -> str:
    return str(result.dir) if result.dir else f"the result of seed {result.summary['seed']}"


def _different(one: Result, other: Result) -> list[str]:
    """Keys of the resolved scenarios that differ; nothing is known of results that were not written."""
    if one.dir is None or other.dir is None or not (one.dir / "scenario.toml").is_file() or not (other.dir / "scenario.toml").is_file():
        return []
    first, second = (dict(_leaves(toml.with_defaults(_scenario(result.dir)), "")) for result in (one, other) if result.dir)
    keys = [key for key in first.keys() | second.keys() if first.get(key) != second.get(key)]
    return sorted(key for key in keys if key not in _SAME and not key.startswith("record."))


def _scenario(dir: Path) -> str:
    return (dir / "scenario.toml").read_text(encoding="utf-8")


def _leaves(item: Any, key: str) -> Iterator[tuple[str, Any]]:
    if isinstance(item, dict):
        for name, inner in item.items():
            yield from _leaves(inner, f"{key}.{name}" if key else name)
    elif isinstance(item, list) and item and all(isinstance(inner, dict) for inner in item):
        for place, inner in enumerate(item):
            yield from _leaves(inner, f"{key}[{place}]")
    elif not key.endswith(".file"):
        yield key, item
