"""Shows a result and a table in an interactive session."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..display import MOST_COLUMNS, Card, Grid, plural
from ..words import text

#: Number of table rows that are shown.
FIRST = 5


def of_table(
    name: str,
    columns: Sequence[str],
    rows: range,
    types: Mapping[str, str],
    values: Callable[[str], Sequence[Any]],
) -> Card:
    """Returns the card of a table: columns with their types, number of rows, and the first rows.
    `values` returns a whole column. It is called only for columns that are shown or whose type is
    not in `types`."""
    shown = columns[:MOST_COLUMNS]
    found = {column: values(column) for column in columns if column in shown or column not in types}
    named = ", ".join(f"{column} {types.get(column) or _type(found[column])}" for column in columns)
    cells = [[_brief(found[column][row]) for column in shown] for row in rows[:FIRST]]
    grid = Grid(shown, cells, left=0, total=len(rows), cut=len(shown) < len(columns))
    return Card(
        f"Table {name}: {plural(len(rows), 'row')}, {plural(len(columns), 'column')}",
        [("columns", named)],
        grid,
    )


def _type(values: Sequence[Any]) -> str:
    """Returns the type, in Arrow's words, of a column that is not a standard column of a result."""
    kinds = {type(value) for value in values} - {type(None)}
    known = {int: "int64", float: "double", str: "string", bool: "bool"}
    return known.get(kinds.pop(), "other") if len(kinds) == 1 else "other" if kinds else "(empty)"


def _brief(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def of_result(summary: Mapping[str, Any], recorded: Sequence[str], place: object | None) -> Card:
    """Returns the card of a result: name, seed, flows, and the main numbers with their units."""
    facts = [("flows", _flows(summary.get("flows") or {}))]
    times, slowdown, jobs = ((summary.get(key) or {}) for key in ("fct", "slowdown", "jobs"))
    if jobs:
        unfinished = f", {jobs['unfinished']:,} unfinished" if jobs.get("unfinished") else ""
        facts.append(("job time", f"{text.time(jobs.get('mean_ns'))} mean{unfinished}"))
    facts.append(("completion time", _distribution(times.get("all") or {}, "_ns", text.time)))
    facts.append(("slowdown", _distribution(slowdown.get("all") or {}, "", text.ratio)))
    if summary.get("goodput_bps") is not None:
        facts.append(("goodput", f"{text.rate(summary['goodput_bps'])} while flows were active"))
    facts.append(
        (
            "switches",
            _counts(
                summary,
                drops="drop",
                ecn_marks="ECN mark",
                in_discards="ingress discard",
                pause_frames="pause frame",
            ),
        )
    )
    facts.append(("senders", _counts(summary, retransmits="retransmission", timeouts="time-out")))
    facts.append(("simulated", text.time(summary.get("simulated_ns"))))
    facts.append(("tables", ", ".join(recorded) or "none"))
    facts.append(("directory", "none: in memory" if place is None else str(place)))
    if summary.get("early_end"):
        facts.append(("ended early", str(summary["early_end"])))
    if summary.get("failed_checks_total"):
        facts.append(("not valid", plural(summary["failed_checks_total"], "failed check")))
    return Card(f"Result {summary.get('name', '')}, seed {summary.get('seed', '–')}", facts)


def _flows(flows: Mapping[str, int]) -> str:
    line = f"{flows.get('finished', 0):,} finished of {flows.get('started', 0):,} started"
    return line + (f", {flows['not_started']:,} not started" if flows.get("not_started") else "")


def _distribution(group: Mapping[str, Any], suffix: str, show: Callable[[Any], str]) -> str:
    return ", ".join(
        f"{show(group.get(f'{key}{suffix}'))} {key}" for key in ("mean", "p50", "p99")
    ) + (", of the finished flows" if group.get("censored") else "")


def _counts(summary: Mapping[str, Any], **nouns: str) -> str:
    """Formats the counters that are not zero, and always the first one."""
    found = {noun: summary.get(key) or 0 for key, noun in nouns.items()}
    first = next(iter(found))
    return ", ".join(plural(count, noun) for noun, count in found.items() if count or noun == first)
