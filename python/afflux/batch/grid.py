"""Simulates every combination of some settings, each once: `afflux sweep`."""

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from .. import _core, settings
from ..comparison.unfinished import with_never_started
from ..display import Card, Displayed, Grid
from ..executors import Executor, opened
from ..files import csvtext, durable
from ..metrics import METRICS, SHORT, Metric, named, of_blocks, of_classes
from ..results.designs import Designs
from ..results.statistics import drawn, interval, mean
from ..results.written import Table
from . import Outcome, Point, Source, Watch, given, home, load, run, shown

#: File names: the table of a sweep in two formats, and the table of its means.
TABLE, PARQUET, MEANS = "sweep.csv", "sweep.parquet", "sweep-means.csv"


@dataclass(frozen=True)
class Mean:
    """A metric of a combination: its mean over the seeds with a result, and the 95 % interval of this mean."""

    #: Mean over the seeds with a result.
    mean: float
    #: Lower end of the interval; None if there is only one result, if every seed gave the same
    #: value, and if the interval is too wide to say anything.
    low: float | None
    #: Upper end of the interval; None under the same conditions as `low`.
    high: float | None
    #: True if there is no interval because it would be too wide to say anything.
    wide: bool = False


@dataclass(frozen=True)
class Combination:
    """A combination of the varied values, over its seeds."""

    #: Value of each varied key.
    values: Mapping[str, Any]
    #: Number of seeds with a result.
    finished: int
    #: Number of seeds whose points failed.
    failed: int
    #: Number of samples: that of `finished`, but one if all seeds gave the same result.
    samples: int
    #: Mean of each metric, by its name. Metrics that some result lacks are absent.
    means: Mapping[str, Mean]

    @property
    def deterministic(self) -> bool:
        """True if several seeds gave the same result, so that no interval is needed."""
        return self.finished > 1 == self.samples


@dataclass(frozen=True, repr=False)
class Sweep(Displayed):
    """Results of a sweep, with one row per point in the order of the combinations. The seed varies
    fastest."""

    #: The keys that were varied.
    keys: tuple[str, ...]
    #: Columns: the varied keys, `seed`, `status` (`finished`, `failed`), each metric that any result has, `packet_hops`, `result_hash`, `error`.
    rows: tuple[dict[str, Any], ...]
    #: The results, failures and notes of the batch.
    outcome: Outcome
    #: Path of the table as a CSV file. The same directory holds the table as a Parquet file.
    path: Path

    @property
    def designs(self) -> Designs:
        """The combinations as designs with several seeds each, for `afflux.compare` and reports.
        Raises `ValueError` if every point failed."""
        return self.outcome.designs

    @property
    def combinations(self) -> tuple[Combination, ...]:
        """Each combination with the means and intervals over its seeds, in the order of the rows."""
        # Text, because true and 1 are equal in Python.
        grouped = itertools.groupby(
            self.rows, key=lambda row: [settings.shown(row[key]) for key in self.keys]
        )
        return tuple(_combination(self.keys, list(rows)) for _, rows in grouped)

    def means_to_csv(self) -> str:
        """Returns CSV with one line per combination: the keys, `finished`, `failed`,
        `deterministic`, and each metric with the ends of its 95 % interval (`…_low`, `…_high`;
        empty if there is no interval)."""
        every = self.combinations
        names = list(
            dict.fromkeys(
                name for row in self.rows for name in row if any(name in one.means for one in every)
            )
        )
        head = [
            *self.keys,
            "finished",
            "failed",
            "deterministic",
            *(f"{name}{end}" for name in names for end in ("", "_low", "_high")),
        ]
        lines: list[list[Any]] = [head]
        for one in every:
            values = [
                settings.shown(value) if isinstance(value, list | dict | bool) else value
                for value in one.values.values()
            ]
            found = [one.means.get(name) for name in names]
            ends = [
                cell
                for value in found
                for cell in ((value.mean, value.low, value.high) if value else (None, None, None))
            ]
            lines.append(
                [*values, one.finished, one.failed, settings.shown(one.deterministic), *ends]
            )
        return csvtext.lines(lines)

    def to_csv(self) -> str:
        """Returns the rows as CSV. Unknown values are empty cells. Text that a spreadsheet would
        read as a formula begins with an apostrophe."""
        keys = list(self.rows[0])
        cells = (
            [
                settings.shown(item) if isinstance(item := row[key], list | dict | bool) else item
                for key in keys
            ]
            for row in self.rows
        )
        return csvtext.lines([keys, *cells])

    def to_table(self) -> Table:
        """Returns the rows as an Arrow table. Unknown values are nulls. A column with values of
        several types becomes text."""
        return Table("sweep", self._arrow())

    def _arrow(self) -> _core.Table:
        return _core.table_of(
            [(key, _column([row[key] for row in self.rows])) for key in self.rows[0]]
        )

    def write(self) -> None:
        """Writes both files of the table, and the table of the means."""
        table, text, means = self._arrow(), self.to_csv(), self.means_to_csv()
        durable.write_all(
            {
                self.path: lambda place: place.write_bytes(text.encode("utf-8")),
                self.path.with_name(PARQUET): lambda place: _core.write_parquet(table, place),
                self.path.with_name(MEANS): lambda place: place.write_bytes(means.encode("utf-8")),
            }
        )

    def _card(self) -> Card:
        every, rows = self.combinations, self.rows
        failed = sum(row["status"] == "failed" for row in rows)
        seeds = list(dict.fromkeys(row["seed"] for row in rows))
        facts = [
            ("points", f"{len(rows):,}: {len(rows) - failed:,} finished, {failed:,} failed"),
            ("seeds", f"{len(seeds):,}: {settings.brief_seeds(seeds)}"),
            ("table", str(self.path)),
        ]
        metrics = [
            metric
            for metric in SHORT
            if any(one.means[metric.name].mean for one in every if metric.name in one.means)
        ]
        of = shown.values(self, metrics)
        facts += [
            (shown.MARK, note.removeprefix(f"{shown.MARK} "))
            if note.startswith(shown.MARK)
            else ("note", note)
            for note in of.notes
        ]
        cells = [
            [*(settings.shown(value) for value in one.values.values()), *row]
            for one, row in zip(every, of.rows, strict=True)
        ]
        title = (
            f"Sweep over {', '.join(self.keys)}: means of {len(every):,} combinations"
            if self.keys
            else "Sweep of one design: means"
        )
        head = [*settings.short(self.keys), *of.heads]
        return Card(title, facts, Grid(head, cells, left=len(self.keys)))


def _combination(keys: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Combination:
    done = [row for row in rows if row["status"] == "finished"]
    samples = drawn(done, lambda row: row["result_hash"])
    means = {}
    for name in rows[0]:
        if name in (*keys, "seed", "status", "packet_hops", "result_hash", "error"):
            continue
        values = [row.get(name) for row in samples]
        known = [value for value in values if value is not None]
        if known and len(known) == len(values):
            # Equal values get no interval. One of width zero would look like certainty, although
            # the values of only these seeds agree.
            several = len({*known}) > 1
            least, most = _limits(name)
            found = interval(known, least=least, most=most) if several else None
            low, high = found or (None, None)
            means[name] = Mean(mean(known), low, high, several and found is None)
    return Combination(
        {key: rows[0][key] for key in keys}, len(done), len(rows) - len(done), len(samples), means
    )


@cache
def _limits(name: str) -> tuple[float, float]:
    """Returns the smallest and the largest possible value of a column."""
    try:
        metric = named(name)
    except LookupError:
        return 0.0, math.inf
    return metric.least, metric.most


def _column(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or kinds in ({bool}, {str}):
        return values
    return [None if value is None else settings.shown(value) for value in values]


def sweep(
    scenario: Source,
    vary: Mapping[str, Sequence[Any]],
    *,
    seeds: Iterable[int] | None = None,
    set: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    executor: str | Executor = "local",
    address: str | None = None,
    storage: str | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
    strict: bool = False,
    metrics: Sequence[str | Metric] = (),
) -> Sweep:
    """Simulates every combination of the values of `vary` with each of `seeds` (default: the
    scenario's own seed).

        found = afflux.sweep("incast.toml", {"switch.buffer": ["1MB", "9MB"], "switch.ecn.k": ["50kB", "200kB"]}, seeds=range(1, 6))

    All results are kept in `out` (default: `out/sweep-<scenario name>`). A point with a result is
    not simulated again, so a sweep that was stopped or killed continues. A point that fails, or
    whose scenario is refused, does not stop the others. `ScenarioError` is raised only if all
    points are refused or, with `strict`, if a point has warnings, and `ValueError` for values and
    seeds that cannot be used. Rows contain `metrics` in addition to the metrics of every sweep;
    names are those that `afflux.compare` takes. Rows do not depend on the executor. `executor`,
    `address`, `storage` and `jobs` are those of `afflux.executors.named`.
    """
    vary = {key: _values(key, values) for key, values in vary.items()}
    fixed = dict(set or {})
    given.set_once(fixed, vary)
    asked = [metric if isinstance(metric, Metric) else named(metric) for metric in metrics]
    chosen_seeds = None
    if seeds is not None:
        given.without_seed(fixed)
        chosen_seeds = given.seeds(seeds)
    settings.limited(*map(len, vary.values()), 1 if chosen_seeds is None else len(chosen_seeds))
    combinations = [
        dict(zip(vary, values, strict=True)) for values in itertools.product(*vary.values())
    ]
    first = _first_valid(scenario, [{**fixed, **changes} for changes in combinations])
    every_seed = [first.seed] if chosen_seeds is None else chosen_seeds
    # If no key is varied, the only design has the name of the scenario.
    names = [settings.point_name(changes) or first.name for changes in combinations]
    points = [
        Point(name, scenario, {**fixed, **changes}, seed)
        for name, changes in zip(names, combinations, strict=True)
        for seed in every_seed
    ]
    place = Path(out) if out is not None else Path("out") / f"sweep-{first.name}"
    points_place = home(place)
    with opened(executor, jobs=jobs, address=address, storage=storage) as chosen:
        outcome = run(
            points,
            points_place,
            fresh=fresh,
            watch=watch,
            executor=chosen,
            all_valid=False,
            strict=strict,
            tables=[place / name for name in (TABLE, PARQUET, MEANS)],
        )
    if others := sorted(outcome.others):
        shown = f"{', '.join(others[:3])}{', …' if others[3:] else ''}"
        of = f"{len(others):,} point{'s' if len(others) != 1 else ''} of an earlier sweep"
        note = f"{points_place} also holds {of} ({shown}), which {TABLE} does not have: remove {'them' if others[1:] else 'it'}, or choose another directory"
        outcome = replace(outcome, notes=(*outcome.notes, note))
    if alone := given.threads_note(first):
        outcome = replace(outcome, notes=(*outcome.notes, *alone))
    found = Sweep(
        tuple(vary), tuple(_rows(list(vary), points, outcome, asked)), outcome, place / TABLE
    )
    found.write()
    return found


def _values(key: str, values: Sequence[Any]) -> list[Any]:
    given.variable(key)
    found = given.values(key, values)
    for value in found:
        given.without_seed({key: value}, "varied")
    return found


def _first_valid(scenario: Source, combinations: Iterable[Mapping[str, Any]]) -> _core.Scenario:
    """Returns the first valid scenario. Raises the error of the first combination if all are
    invalid."""
    wrong = []
    for changes in combinations:
        try:
            return load(scenario, changes)
        except _core.ScenarioError as error:
            wrong.append(error)
    raise wrong[0]


def _rows(
    keys: Sequence[str], points: Sequence[Point], outcome: Outcome, asked: Sequence[Metric]
) -> Iterator[dict[str, Any]]:
    errors = {failure.point: failure.error for failure in outcome.failures}
    found = {key: with_never_started(result).summary for key, result in outcome.results.items()}
    summaries = list(found.values())
    every = {
        metric.name: metric
        for metric in (*METRICS, *of_blocks(summaries), *of_classes(summaries), *asked)
    }.values()
    metrics = [
        metric for metric in every if any(metric.of(summary) is not None for summary in summaries)
    ]
    for point in points:
        assert point.seed is not None
        summary = found.get((point.name, point.seed), {})
        row = {key: point.set[key] for key in keys} | {
            "seed": point.seed,
            "status": "finished" if summary else "failed",
        }
        row |= {metric.name: metric.of(summary) if summary else None for metric in metrics}
        yield (
            row
            | {key: summary.get(key) for key in ("packet_hops", "result_hash")}
            | {"error": errors.get(f"{point.name}-{point.seed}")}
        )
