"""Output of `afflux diff`."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from .. import settings
from ..comparison.diff import Diff, File, Flow, Key
from ..words import text
from .drawing import plural, table


def difference(found: Diff) -> Iterator[RenderableType]:
    yield Text(_answer(found), style="bold")
    if found.keys:
        yield _keys("Keys of the scenarios", found, found.keys)
    if found.execution:
        yield _keys("Keys that change no result", found, found.execution)
    if found.files and not all(file.same for file in found.files):
        made = table(
            "Files of the results", "file", "rows", "columns", "SHA-256", "difference", words=[-1]
        )
        for file in found.files:
            cells = (
                _change(file.rows_a, file.rows_b),
                _change(file.columns_a, file.columns_b),
                _change(_short(file.hash_a), _short(file.hash_b)),
            )
            made.add_row(
                file.name, *cells, _difference(found, file), style="dim" if file.same else ""
            )
        yield made
    if found.first_flow:
        yield from _flow(found, found.first_flow)
    if found.notes:
        yield Text()
    for note in found.notes:
        yield Text(f"note: {note}", style="dim")


def _answer(found: Diff) -> str:
    if found.same:
        return f"{found.a} and {found.b} are the same: no key{' and no table' if found.files else ''} differs."
    parts = [plural(len(found.keys), "key")] if found.keys else []
    if different := [file for file in found.files if not file.same]:
        parts.append(f"{len(different)} of {len(found.files)} files")
    if found.flows_different:
        parts.append(plural(found.flows_different, "flow"))
    return f"{found.a} and {found.b} differ in {', '.join(parts)}."


def _keys(title: str, found: Diff, keys: tuple[Key, ...]) -> RenderableType:
    made = table(title, "key", found.a, found.b, words=[1, 2])
    for key in keys:
        made.add_row(
            key.key, *("–" if value is None else settings.shown(value) for value in (key.a, key.b))
        )
    return made


def _short(hash: str | None) -> str | None:
    return None if hash is None else hash[:8]


def _change(a: object, b: object) -> str:
    if a == b:
        return "" if a is None else _shown(a)
    return f"{_shown(a)} → {_shown(b)}"


def _shown(value: Any) -> str:
    return (
        "–"
        if value is None
        else text.count(value)
        if isinstance(value, int) and not isinstance(value, bool)
        else str(value)
    )


def _difference(found: Diff, file: File) -> str:
    if file.same:
        return "none"
    if file.hash_a is None or file.hash_b is None:
        return f"only {found.a if file.hash_b is None else found.b} has it"
    if file.rows_a is None:
        return "counters" if file.name.endswith(".json") else "content"
    parts = ["number of rows"] if file.rows_a != file.rows_b else []
    parts += [
        f"only in {side}: {', '.join(columns)}"
        for columns, side in ((file.only_a, found.a), (file.only_b, found.b))
        if columns
    ]
    if file.different:
        parts.append(f"{plural(file.rows_different, 'row')} in {', '.join(file.different)}")
    return "; ".join(parts)


def _flow(found: Diff, flow: Flow) -> Iterator[RenderableType]:
    start = "never started" if flow.start_ns is None else f"start {text.time(flow.start_ns)}"
    title = f"First flow that differs: flow {flow.id}, {start}"
    if flow.only:
        yield Text(f"\n{title}", style="bold")
        yield Text(f"only {found.a if flow.only == 'a' else found.b} has it")
        return
    made = table(title, "column", found.a, found.b)
    for column, pair in flow.columns.items():
        made.add_row(column, *map(_shown, pair))
    yield made
