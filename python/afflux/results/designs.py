"""Groups results by design. The results of one scenario name are one design, run with several
seeds."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .. import __version__, spelling
from ..files import toml
from ..metrics import METRICS, Metric, of_blocks, of_classes
from ..words import Words, say
from . import failed_checks
from .result import Result
from .statistics import drawn, interval, mean

#: Keys that only affect how a run is carried out. Results do not depend on them, but for the engine
#: that simulates flows instead of packets.
_EXECUTION = ("run.engine", "run.max_memory", "run.threads")
_IDEAL = "ideal"


def affects_execution_only(key: str, *values: Any) -> bool:
    """True if results do not depend on which of these values a key of a scenario has."""
    return key in _EXECUTION and _IDEAL not in values


#: Further keys in which results of one design may differ, in addition to `[record]`. Inputs are
#: compared by hash.
_SAME = {"run.seed", "description"}


@dataclass(frozen=True)
class Value:
    """A metric of a design: the mean over its samples and, if there are several, the 95 %
    interval."""

    #: The metric. Its name ends in the unit of the values (`_ns`, `_bps`).
    metric: Metric
    #: Mean over the samples.
    mean: float
    #: Lower end of the 95 % interval; None with one sample, and if it is too wide to say anything.
    low: float | None
    #: Upper end of the 95 % interval; None under the same conditions as `low`.
    high: float | None
    #: Number of samples.
    seeds: int

    @property
    def wide(self) -> bool:
        """True if there is no interval because it would be too wide to say anything."""
        return self.seeds > 1 and self.low is None

    def __str__(self) -> str:
        show = self.metric.show
        if self.wide:
            return f"{show(self.mean)} (–)"
        return (
            show(self.mean)
            if self.low is None or self.high is None or self.low == self.high
            else f"{show(self.mean)} ({show(self.low)} – {show(self.high)})"
        )


@dataclass(frozen=True)
class Design:
    """The results of one scenario name, by seed."""

    #: Name of the scenario.
    name: str
    #: Results by seed, in ascending order.
    results: Mapping[int, Result]

    @property
    def seeds(self) -> list[int]:
        """Seeds in ascending order."""
        return list(self.results)

    @property
    def first(self) -> Result:
        """Result of the lowest seed. Its time series are the ones that are shown."""
        return next(iter(self.results.values()))

    @cached_property
    def samples(self) -> Mapping[int, Result]:
        """Results by seed; only the first if all seeds gave the same result. If outcomes differ,
        each of them counts as often as it was drawn."""
        every = [*self.results.items()]
        return dict(drawn(every, lambda one: one[1].summary.get("result_hash")))

    @property
    def deterministic(self) -> bool:
        """True if several seeds gave the same result."""
        return len(self.results) > 1 == len(self.samples)

    def by_seed(self, metric: Metric) -> dict[int, float]:
        """Returns the metric by seed. Seeds that lack it are left out."""
        return _known(metric, self.results)

    def value(self, metric: Metric) -> Value | None:
        """Returns mean and interval of a metric; None if no seed has it."""
        values = list(_known(metric, self.samples).values())
        if not values:
            return None
        low, high = interval(values, least=metric.least, most=metric.most) or (None, None)
        return Value(metric, mean(values), low, high, len(values))

    def __repr__(self) -> str:
        return f"<Design {self.name!r}: seeds {', '.join(map(str, self.results))}>"


def _known(metric: Metric, results: Mapping[int, Result]) -> dict[int, float]:
    values = {seed: metric.of(result.summary) for seed, result in results.items()}
    return {seed: value for seed, value in values.items() if value is not None}


class Designs(Mapping[str, Design]):
    """Designs by name, in the order in which they were given."""

    def __init__(self, designs: Iterable[Design], notes: Iterable[str] = ()) -> None:
        self._designs = {design.name: design for design in designs}
        #: Notes on the origin of the results, without duplicates.
        self.notes = tuple(
            dict.fromkeys(
                (
                    *notes,
                    *failed_checks.of(self._results()),
                    *failed_checks.of_kernels(self._results()),
                )
            )
        )

    def __getitem__(self, name: str) -> Design:
        try:
            return self._designs[name]
        except KeyError:
            raise KeyError(spelling.unknown("design", name, list(self._designs))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._designs)

    def __len__(self) -> int:
        return len(self._designs)

    def led_by(self, name: str) -> "Designs":
        """Returns the same designs with this one first. Raises `KeyError`."""
        first = self[name]
        made = Designs([])
        made._designs, made.notes = {first.name: first, **self._designs}, self.notes
        return made

    def _results(self) -> Iterator[Result]:
        return (result for design in self.values() for result in design.results.values())

    def metrics(self) -> list[Metric]:
        """Returns the metrics that at least one design has, without counters that are zero
        everywhere. Metrics of classes and blocks follow those of all flows."""
        summaries = [result.summary for result in self._results()]
        place = [metric.name for metric in METRICS].index("goodput_flow_mean_bps") + 1
        every = [
            *METRICS[:place],
            *of_blocks(summaries),
            *of_classes(summaries, self._tenants()),
            *METRICS[place:],
        ]
        known = [
            (metric, [value.mean for design in self.values() if (value := design.value(metric))])
            for metric in every
        ]
        return [
            metric for metric, values in known if values and (any(values) or not metric.counter)
        ]

    def _tenants(self) -> set[str] | None:
        """Returns the classes that traffic blocks name in the scenarios; None if no scenario is
        known."""
        texts = [text for design in self.values() if (text := design.first.scenario)]
        return (
            {
                block["class"]
                for text in texts
                for block in toml.with_defaults(text).get("traffic", [])
                if "class" in block
            }
            if texts
            else None
        )


#: Results, or their directories.
Results = Designs | Result | str | os.PathLike[str] | Iterable[Result | str | os.PathLike[str]]


def gather(results: Results) -> Designs:
    """Groups results, or result directories, by the names of their scenarios. One result or one
    path needs no list.

    Raises `FileNotFoundError` if a directory holds no result. Raises `ValueError` if two results of
    one name have the same seed or differ in more than the seed, if results are of several versions
    of afflux, or if one lacks a key that this version writes.
    """
    if isinstance(results, Designs):
        return results
    if isinstance(results, Result | str | os.PathLike):
        results = [results]
    names: dict[str, dict[int, Result]] = {}
    every = [item if isinstance(item, Result) else Result.open(item) for item in results]
    notes = _versions(every)
    for result in every:
        name, seed = result.summary["name"], result.summary["seed"]
        of_name = names.setdefault(name, {})
        if seed in of_name:
            raise ValueError(
                f"{_where(result)} and {_where(of_name[seed])} are both {name!r} with seed {seed}: {_ADVICE}"
            )
        if of_name:
            other = next(iter(of_name.values()))
            if different := _different(result, other):
                what = ", ".join(different[:4]) + (", …" if len(different) > 4 else "")
                raise ValueError(
                    f"{_where(result)} and {_where(other)} are both {name!r} but differ in {what}: {_ADVICE}"
                )
        of_name[seed] = result
    if not names:
        raise ValueError("no results: name at least one result directory")
    return Designs(
        (Design(name, dict(sorted(of_name.items()))) for name, of_name in names.items()), notes
    )


#: Keys of summary.json that every comparison needs.
_NEEDED = ("afflux_version", "name", "seed", "flows", "fct", "result_hash")


def _versions(results: Sequence[Result]) -> list[Words]:
    """Refuses results of several versions, because the meaning of a number may have changed between
    them. Returns a note if all results are of another version than this one."""
    by_version: dict[str, list[Result]] = {}
    for result in results:
        # A result without a directory was made just now, by this version.
        version = str(
            result.summary.get("afflux_version", "unknown" if result.dir else __version__)
        )
        if result.dir and (missing := [key for key in _NEEDED if key not in result.summary]):
            raise ValueError(
                f"{_where(result)}: summary.json has no {missing[0]!r} (made by afflux {version}, this is {__version__}): {_AGAIN}"
            )
        by_version.setdefault(version, []).append(result)
    if len(by_version) > 1:
        places = "; ".join(
            f"{version}: {_places(of_version)}" for version, of_version in by_version.items()
        )
        raise ValueError(
            f"results of different versions of afflux cannot be compared ({places}): {_AGAIN}"
        )
    return [
        say("versions.other", version=version, ours=__version__, places=_places(every))
        for version, every in by_version.items()
        if version != __version__
    ]


_AGAIN = "simulate again with this version: afflux run DIR/scenario.toml -o DIR --force"


def _places(results: Sequence[Result]) -> str:
    named = [_where(result) for result in results]
    return ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")


_ADVICE = "give designs names of their own, as in --set name=shallow"


def _where(result: Result) -> str:
    return str(result.dir) if result.dir else f"the result of seed {result.summary['seed']}"


def _different(one: Result, other: Result) -> list[str]:
    """Returns the keys of the resolved scenarios that differ. Empty if a result was not written,
    because its scenario is unknown."""
    first_text, second_text = one.scenario, other.scenario
    if first_text is None or second_text is None:
        return []
    keys = toml.differing(toml.with_defaults(first_text), toml.with_defaults(second_text))
    return sorted(
        key
        for key, values in keys.items()
        if not (key in _SAME or key.startswith("record.") or affects_execution_only(key, *values))
    )
