"""Writer of `docs/validation.md`: results of `make validate`, with handwritten notes about the
misses."""

import fnmatch
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from .bars import Bar
from .bars import median as middle_of
from .decision import Decision

Row = dict[str, Any]

HEAD = """\
# Validation

Made by `make validate`; do not edit. Notes about cells outside the bar are in [validation-notes.toml](validation-notes.toml). Each points at the runs that it
rests on, in `validation/evidence`; the README there tells how they were made and how the peers are built.

afflux runs the cases of other simulators and of real systems and each number is held against the bar in `bars.toml` (of `hosts`: in `validation/hosts/`).
Runs and bars are in `validation/reference`, whose README tells how each peer was built and run; the raw runs in `../shared/reference` are read instead where
they are, with the same numbers. *Ours* is the median over the repetitions (fixed start jitters within one packet time, or seeds); their least and greatest
stand behind it. Where a metric's name ends in `_greatest`, `_least`, `_mean` or `_p90`, both numbers are that of the repetitions instead of the median.
Metrics without a bar are informational: they are in `out/validate.json`, and here only where a whole file has no bar.

    make validate                                the whole (last time: {took})
    make validate ONLY=linux.b_datacentre        one file; a part of "set.file/run" is enough
    make validate REF=folder                     another folder of the same layout
"""


class NotesError(Exception):
    """`validation-notes.toml` contains an error."""


@dataclass(frozen=True)
class Note:
    """Explanation attempts for a miss. `reference`, `run` and `metric` may contain `*`."""

    reference: str
    run: str
    metric: str
    hypotheses: tuple[str, ...]
    numbers: str
    command: str
    #: Files in `validation/evidence`, and what they show.
    evidence: tuple[tuple[str, str], ...]
    #: Hypotheses whose numbers come from runs that were not kept.
    not_kept: str | None = None

    def about(self, row: Row) -> bool:
        return all(
            fnmatch.fnmatchcase(row[name], getattr(self, name))
            for name in ("reference", "run", "metric")
        )


#: Folder of the files that notes refer to.
EVIDENCE = Path(__file__).parent / "evidence"


def read_notes(path: Path, evidence: Path = EVIDENCE) -> list[Note]:
    if not path.is_file():
        return []
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8")).get("note", [])
    except tomllib.TOMLDecodeError as error:
        raise NotesError(f"{path}: {error}") from None
    notes = []
    for index, note in enumerate(given):
        where = f"{path}: note {index}"
        names = ("reference", "run", "metric", "hypotheses", "numbers", "command", "evidence")
        if set(note) - {"not_kept"} != set(names):
            raise NotesError(f"{where}: the keys are {', '.join(names)} and perhaps not_kept")
        if not isinstance(note["hypotheses"], list) or len(note["hypotheses"]) < 3:
            raise NotesError(
                f"{where}: at least three hypotheses are to be tested before a miss is left"
            )
        files = tuple(
            (one["file"], one["shows"]) for one in note["evidence"] if set(one) == {"file", "shows"}
        )
        if not files or len(files) != len(note["evidence"]):
            raise NotesError(f"{where}: evidence has file and shows, once at least")
        if missing := [name for name, _ in files if not (evidence / name).is_file()]:
            raise NotesError(f"{where}: {', '.join(missing)} is not in {evidence}")
        notes.append(Note(**(note | {"hypotheses": tuple(note["hypotheses"]), "evidence": files})))
    return notes


def page(
    rows: list[Row],
    notes: list[Note],
    took: str,
    without_runs: list[str] | None = None,
    decided: Iterable[Decision] = (),
) -> str:
    parts = [HEAD.format(took=took), "## Summary\n\n" + table(SUMMARY, summary(rows))]
    of_kernels = {(one.run, one.metric): one for one in decided}
    parts += _outside(rows, notes, of_kernels)
    parts += _kernels(rows, of_kernels)
    parts += _not_run(rows)
    parts += _within(rows)
    if without_runs:
        parts.append(
            "## Bars without a run\n\nThe folder has no file for these tables of `bars.toml`; `validate` reads it once it is there.\n"
        )
        parts.append("".join(f"- {name}\n" for name in without_runs))
    parts += _without_bar(rows)
    if stale := [
        note for note in notes if not any(note.about(row) for row in rows if not row["within"])
    ]:
        lines = [f"- {note.reference} / {note.run} / {note.metric}\n" for note in stale]
        parts.append("## Notes about cells that are within the bar by now\n\n" + "".join(lines))
    return "\n".join(parts)


#: Decisions by run (set.file/run) and metric.
Decisions = Mapping[tuple[str, str], Decision]


def place(row: Row) -> tuple[str, str]:
    return f"{row['reference']}/{row['run']}", row["metric"]


def _outside(rows: list[Row], notes: list[Note], decided: Decisions) -> Iterator[str]:
    """Lists the misses of each file with the notes about them, and what runs of kernels gave."""
    missed = [row for row in rows if is_miss(row)]
    yield f"## Outside the bar: {len(missed)}\n"
    for reference, group in grouped(missed, lambda row: row["reference"]):
        head: tuple[str, ...] = (*COMPARED, "bar")
        lines = [(*compared(row), bar(row)) for row in group]
        if any(place(row) in decided for row in group):
            head += ("kernel in virtual time", "right")
            lines = [
                (*line, *of_kernel(decided.get(place(row))))
                for line, row in zip(lines, group, strict=True)
            ]
        yield f"### {reference}\n\n" + table(head, lines)
        for note in notes:
            if about := [row for row in group if note.about(row)]:
                yield told(note, about)
    if not missed:
        yield "None.\n"


def of_kernel(one: Decision | None) -> tuple[str, str]:
    """Returns the cells of a row of which kernels may have been run."""
    return (spread(one.kernel), one.right) if one else ("–", "–")


def spread(values: Sequence[float]) -> str:
    """Formats the median with the least and the greatest."""
    least, greatest = min(values), max(values)
    if least == greatest:
        return show(least)
    return f"{show(middle_of(values))} ({show(least)} – {show(greatest)})"


#: Text above the table of runs of kernels.
OF_KERNELS = """\
## Against kernels in virtual time

Rows of real Linux that are outside their bars, with Linux 6.12.117 as hosts ([kernels.md](kernels.md)) in our network, and with our model of TCP in the same
network, with the same starts (`make validate-kernel`; the runs are in `validation/evidence/linux-kernel.csv`). Columns of kernel and model are the median of
their runs, with the least and the greatest. The model's numbers differ from those above, whose starts differ less. Who is right was decided by a rule that was
written down before the first run (`validation/decision.py`):

- The kernel's range is from the least to the greatest of its runs, widened by 2 % at both ends. The reference *fits* if its one run is within. The model fits
  if its median is within, and the kernel's median within the model's range, widened likewise.
- Both fit: *chance*. Only the reference fits: *the reference* is right, and the model wrong. Only the model fits: *the model* is right, since the kernel does
  not give the reference's run again. None fits: *neither*.
"""


def _kernels(rows: list[Row], decided: Decisions) -> Iterator[str]:
    """Lists what runs of kernels decided about the references of these rows."""
    here = {row["reference"] for row in rows}
    lines = [
        (
            f"`{run}`",
            metric,
            show(one.theirs),
            spread(one.kernel),
            spread(one.model),
            f"{len(one.kernel)}, {len(one.model)}",
            one.right,
        )
        for (run, metric), one in decided.items()
        if run.partition("/")[0] in here
    ]
    if lines:
        head = ("run", "metric", "reference", "kernel", "model", "runs", "right")
        yield OF_KERNELS
        yield table(head, lines)


def _not_run(rows: list[Row]) -> Iterator[str]:
    """Counts the runs that failed, and those of models that afflux lacks, by reason."""
    failed = [row for row in rows if is_failure(row)]
    yield f"## Not run: {len(failed)}\n"
    lines: list[tuple[Any, ...]]
    lines = [
        (reference, len(group), reason)
        for (reference, reason), group in grouped(
            failed, lambda row: (row["reference"], short(row["reason"]))
        )
    ]
    yield table(("file", "rows", "why"), lines) if lines else "None.\n"
    if absent := [row for row in rows if row["absent"]]:
        yield f"## Of models that afflux does not have: {len(absent)}\n"
        lines = [
            (reference, len(group), reason, ", ".join(f"`{row['run']}`" for row in group))
            for (reference, reason), group in grouped(
                absent, lambda row: (row["reference"], row["reason"])
            )
        ]
        yield table(("file", "rows", "why", "runs"), lines)


def _within(rows: list[Row]) -> Iterator[str]:
    """Sums up the rows within their bars by file and metric."""
    yield "## Within the bar\n"
    held = [row for row in rows if row["bar"] is not None and row["within"]]
    lines = []
    for (reference, metric), group in grouped(held, lambda row: (row["reference"], row["metric"])):
        ratios = [row["ratio"] for row in group if row["ratio"] is not None]
        spreads = [
            (row["ours_high"] - row["ours_low"]) / row["ours"]
            for row in group
            if row["ours"] and row["ours_low"] is not None
        ]
        middle = show(median(ratios)) if ratios else "–"
        far = max(ratios, key=lambda ratio: abs(ratio - 1), default=None)
        spread = percent(max(spreads, default=0.0))
        lines.append((reference, metric, len(group), middle, show(far), spread))
    head = ("file", "metric", "rows", "median ratio", "furthest ratio", "widest spread")
    yield table(head, lines) if lines else "None.\n"


def _without_bar(rows: list[Row]) -> Iterator[str]:
    """Lists the results of files of which no number has a bar."""
    barred = {row["reference"] for row in rows if row["bar"] is not None}
    if lines := [
        (row["reference"], *compared(row))
        for row in rows
        if row["ours"] is not None and row["reference"] not in barred
    ]:
        yield "## Files without a bar\n\nNothing here is judged: `bars.toml` says nothing about these numbers.\n"
        yield table(("file", *COMPARED), lines)


#: Columns of `compared`.
COMPARED = ("run", "metric", "theirs", "ours (least – greatest)", "ratio")


def compared(row: Row) -> tuple[str, ...]:
    return (
        f"`{row['run']}`",
        row["metric"],
        show(row["theirs"]),
        ours(row),
        show(row["ratio"]),
    )


def is_miss(row: Row) -> bool:
    return not row["within"] and row["ours"] is not None and row["bar"] is not None


def is_failure(row: Row) -> bool:
    """True if the run should have been simulated and was not, or there was nothing to compare."""
    return not row["within"] and not is_miss(row) and not row["absent"]


#: Columns of `summary`.
SUMMARY = (
    "file",
    "compat",
    "with a bar",
    "within",
    "outside",
    "not run",
    "no model",
    "informational",
)


def summary(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    lines = []
    for reference, group in grouped(rows, lambda row: row["reference"]):
        barred = [row for row in group if row["bar"] is not None]
        compat = ", ".join(sorted({row["compat"] for row in group if row["compat"]})) or "–"
        failed, absent = sum(map(is_failure, group)), sum(row["absent"] for row in group)
        informational = sum(1 for row in group if row["bar"] is None and row["ours"] is not None)
        lines.append(
            (
                reference,
                compat,
                len(barred),
                sum(row["within"] for row in barred),
                sum(map(is_miss, group)),
                failed,
                absent,
                informational,
            )
        )
    return lines


def told(note: Note, rows: list[Row]) -> str:
    cells = ", ".join(f"`{row['run']}` {row['metric']}" for row in rows)
    tested = "".join(f"- {text}\n" for text in note.hypotheses)
    kept = "".join(f"- `validation/evidence/{name}`: {shows}\n" for name, shows in note.evidence)
    gone = f"\nNot kept: {note.not_kept}\n" if note.not_kept else ""
    return f"About {cells}. Hypotheses tested:\n\n{tested}\n{note.numbers}\n\n    {note.command}\n\nEvidence kept:\n\n{kept}{gone}"


def table(header: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    header = list(header)
    text = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    text += [
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
    ]
    return "\n".join(text) + "\n"


def grouped(rows: Iterable[Row], key: Any) -> list[tuple[Any, list[Row]]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.items())


def ours(row: Row) -> str:
    if row["ours"] is None:
        return "–"
    if row["ours_low"] is None or row["ours_low"] == row["ours_high"]:
        return show(row["ours"])
    return f"{show(row['ours'])} ({show(row['ours_low'])} – {show(row['ours_high'])})"


def bar(row: Row) -> str:
    given = row["bar"]
    if given is None:
        return "–"
    if "range" in given:
        low, high = given["range"]
        return f"{show(low)} – {show(high)} ±{100 * given['inside_range_widened_by']:g} %"
    return str(Bar(**given))


def show(value: float | None) -> str:
    if value is None:
        return "–"
    if math.isinf(value):
        return "none"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def percent(value: float) -> str:
    return f"{100 * value:.2g} %"


def short(reason: str | None, most: int = 200) -> str:
    reason = reason or "unknown"
    return reason if len(reason) <= most else reason[: most - 1] + "…"
