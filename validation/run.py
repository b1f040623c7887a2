"""Runs afflux on every reference in a folder and compares. Writes `out/validate.json` (a list of
rows), `out/validate-times.json` (how long the simulations took) and `out/validation.md`.

    make validate                              everything in ../shared/reference, or if that is missing, in
                                               validation/reference, which has the same numbers; also renews
                                               docs/validation.md
    make validate REF=folder                   another folder of the same layout
    make validate ONLY=linux.b_datacentre      runs whose "set.file/run" contains this
    make validate JOBS=1 LIMIT=60              one process; seconds for each simulation

The exit code is 0 if everything is within its tolerance, 1 if not, and 2 if there is nothing to
compare or bars.toml is missing.
"""

import argparse
import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from . import decision, kept, page
from .bars import Bars, BarsError, median
from .case import Case, Measured, Setup, measure, one_line

REPO = Path(__file__).resolve().parent.parent
#: Folders of the raw runs, and of the compact form with the data that the readers need
#: (`compact.py`).
RAW, COMPACT = REPO.parent / "shared" / "reference", REPO / "validation" / "reference"
REF = RAW if RAW.is_dir() else COMPACT
NOTES = REPO / "docs" / "validation-notes.toml"
PAGE = REPO / "docs" / "validation.md"
#: Files and folders next to the runs of a reference, and suffixes of the scripts that made the
#: runs.
NOT_RUNS = {"README.md", "MODEL.md", "CAUSE.md", "raw", "traces", "inputs", "tools", kept.NAME}
SCRIPTS = {".sh", ".py", ".c", ".diff"}


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    start = time.monotonic()
    try:
        bars, cases = collect(options.ref, options.repetitions)
        notes = page.read_notes(NOTES)
    except (BarsError, page.NotesError, FileNotFoundError) as error:
        print(f"validate: {error}", file=sys.stderr)
        return 2
    if options.only:
        cases = [case for case in cases if options.only in f"{case.reference}/{case.run}"]
        if not cases:
            print(
                f"validate: nothing in {options.ref} has {options.only!r} in its set.file/run",
                file=sys.stderr,
            )
            return 2
    if options.rows:
        rows, times = read_json(options.rows), read_json(times_beside(options.rows))
    else:
        done = simulate(cases, options)
        rows = [row for case in cases for row in rows_of(case, done)]
        rows += derived(cases, done, bars)
        minutes = max(1, round((time.monotonic() - start) / 60))
        took = f"{minutes} min with {options.jobs} process{'es' if options.jobs > 1 else ''}"
        times = {"took": took, "seconds": spent_on(cases, done)}
    seconds = time.monotonic() - start

    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / "validate.json"
    write_json(table, rows)
    write_json(times_beside(table), times)
    missing = [] if options.only else without_runs(bars, cases)
    text = page.page(rows, notes, times["took"], missing, decision.decisions(decision.read()))
    (options.out / "validation.md").write_text(text, encoding="utf-8")
    if (
        not (options.only or options.lenient or options.repetitions)
        and options.ref.resolve() == REF.resolve()
    ):
        PAGE.write_text(text, encoding="utf-8")
    show(rows)
    print(f"{seconds:.0f} s; written to {table} and {options.out / 'validation.md'}")
    return 0 if all(row["within"] or row["absent"] for row in rows) else 1


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make validate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--ref",
        type=Path,
        default=REF,
        help=f"folder with the references and bars.toml (default: {REF})",
    )
    parser.add_argument("--only", default="", help='only what has this in its "set.file/run"')
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each simulation")
    parser.add_argument(
        "--repetitions", type=int, help="at most so many of each run, for a first look"
    )
    parser.add_argument("--out", type=Path, default=REPO / "out", help="where validate.json goes")
    parser.add_argument(
        "--rows",
        type=Path,
        help="a validate.json with its validate-times.json beside it: nothing is simulated, the page is made "
        "again, as after a change of the notes",
    )
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="leave out keys that this afflux does not know; such rows are never within",
    )
    return parser.parse_args(arguments)


def times_beside(table: Path) -> Path:
    """Returns the path of the file with the times of the simulations whose rows `table` has."""
    return table.with_name(f"{table.stem}-times.json")


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# ------------------------------------------------------------------------------------------------------------------------- inputs


def collect(ref: Path, repetitions: int | None = None) -> tuple[Bars, list[Case]]:
    """Turns everything in the folder into cases. Raises `FileNotFoundError` if there is nothing,
    and `BarsError`."""
    if not ref.is_dir():
        raise FileNotFoundError(f"{ref} is no folder: REF=… says where the references are")
    inputs = sorted(
        path
        for path in ref.iterdir()
        if path.name not in {"bars.toml", "README.md"} and not path.name.startswith(".")
    )
    if not inputs:
        raise FileNotFoundError(f"{ref} is empty: there is nothing to compare with")
    bars = Bars.read(ref / "bars.toml", repetitions)
    cases = [case for path in inputs for case in cases_of(path, bars)]
    if not cases:
        raise FileNotFoundError(f"{ref} has no runs: there is nothing to compare with")
    return bars, cases


def cases_of(path: Path, bars: Bars) -> Iterator[Case]:
    if not path.is_dir():
        yield Case(path.name, path.name, problem="is no folder of references")
        return
    module = reader(path.name)
    seen: set[str] = set()
    if module is not None:
        try:
            for case in module.cases(path, bars):
                seen.add(case.reference.partition(".")[2])
                yield case
        except Exception as error:
            yield Case(
                path.name,
                path.name,
                problem=f"the reader fails: {type(error).__name__}: {one_line(error)}",
            )
    for entry in sorted(path.iterdir()):
        # Entries that no reader has handled.
        if (
            entry.name in NOT_RUNS
            or entry.suffix in SCRIPTS
            or entry.name.startswith(".")
            or entry.name.endswith("fabric.toml")
            or entry.name.split(".")[0] in seen
        ):
            continue
        yield Case(
            path.name,
            entry.name,
            problem="no reader for this reference yet"
            if module is None
            else "no reader for this file yet",
            bars=bars.of(path.name),
        )


def without_runs(bars: Bars, cases: Iterable[Case]) -> list[str]:
    """Returns names such as "linux.d_mptcp_fct" that have their own tolerances but no file in the
    folder."""
    there = {case.reference for case in cases}
    named = (
        f"{name}.{file}"
        for name, section in bars.table.items()
        for file in section
        if bars.is_file(name, file)
    )
    return [name for name in named if not any(reference.startswith(name) for reference in there)]


def reader(name: str) -> Any:
    """Returns the module of this package that reads the folder `name`, if there is one."""
    if not name.isidentifier() or importlib.util.find_spec(f"{__package__}.{name}") is None:
        return None
    module = importlib.import_module(f"{__package__}.{name}")
    return module if hasattr(module, "cases") else None


# --------------------------------------------------------------------------------------------------------------------------- runs


def simulate(cases: list[Case], options: argparse.Namespace) -> dict[str, Measured]:
    """Runs all simulations, equal ones only once."""
    setups: dict[str, Setup] = {}
    for case in cases:
        if case.problem is None and case.absent is None:
            setups |= {setup.key: setup for setup in case.setups}
    # Simulations of many flows take longest and come first, so that all processes end together.
    setups = dict(sorted(setups.items(), key=lambda item: -len(item[1].flows)))
    work = [(setup, options.limit, options.lenient) for setup in setups.values()]
    tell = progress(len(work))
    done: dict[str, Measured] = {}
    if options.jobs <= 1 or len(work) < 2:
        for key, item in zip(setups, work, strict=True):
            done[key] = measure(item)
            tell(len(done))
        return done
    with ProcessPoolExecutor(options.jobs) as pool:
        try:
            running = {
                pool.submit(measure, item): key for key, item in zip(setups, work, strict=True)
            }
            for future in as_completed(running):
                done[running[future]] = future.result()
                tell(len(done))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return done


def spent_on(cases: list[Case], done: dict[str, Measured]) -> dict[str, float]:
    """Returns the processor seconds of each run's simulations, longest first. A simulation shared by several
    runs counts for the first of them."""
    left = {key: measured.seconds for key, measured in done.items()}
    spent = {
        f"{case.reference}/{case.run}": sum(left.pop(setup.key, 0.0) for setup in case.setups)
        for case in cases
    }
    return {
        run: round(seconds, 1)
        for run, seconds in sorted(spent.items(), key=lambda item: -item[1])
        if seconds >= 0.05
    }


def progress(total: int) -> Callable[[int], None]:
    start = latest = time.monotonic()

    def tell(count: int) -> None:
        nonlocal latest
        now = time.monotonic()
        if count == total or now - latest > (1 if sys.stderr.isatty() else 15):
            latest = now
            end = "\r" if sys.stderr.isatty() and count < total else "\n"
            print(
                f"{count} of {total} simulations, {now - start:.0f} s",
                end=end,
                file=sys.stderr,
                flush=True,
            )

    return tell


# --------------------------------------------------------------------------------------------------------------------------- rows


def rows_of(case: Case, done: dict[str, Measured]) -> list[page.Row]:
    if case.absent is not None:
        return [row(case, "run", reason=f"afflux does not model {case.absent}")]
    reason, measured = case.problem, []
    if reason is None:
        measured = [done[setup.key] for setup in case.setups]
        reason = next(
            (one.error for one in measured if one.error), None if measured else "nothing to run"
        )
    if reason is not None:
        # One row for each number with a tolerance, or one for the whole run.
        return [
            row(case, metric, reason=reason)
            for metric in case.bars
            if case.theirs.get(metric) is not None
        ] or [row(case, "run", reason=reason)]
    without = sorted({key for one in measured for key in one.without})
    remark = f"without {', '.join(without)}" if without else None
    crippled = remark if any(one.crippled for one in measured) else None
    rows = []
    for metric in case.theirs:
        values = [one.values[metric] for one in measured if metric in one.values]
        if values or metric in case.bars:
            rows.append(row(case, metric, values, reason=crippled, remark=remark))
    return rows or [row(case, "run", reason="nothing to compare")]


def row(
    case: Case,
    metric: str,
    values: list[float] | None = None,
    reason: str | None = None,
    remark: str | None = None,
) -> page.Row:
    theirs, bar = case.theirs.get(metric), case.bars.get(metric)
    ours = case.of_repetitions.get(metric, median)(values) if values else None
    if reason is None and ours is None:
        reason = "not measured"
    if reason is None and bar is not None and theirs is None:
        reason = "the reference has no such number"
    within = reason is None and (bar is None or bar.holds(theirs, ours))
    remarks = "; ".join(text for text in (case.remark, remark) if text)
    if reason is None and not within:
        low, high = bar.bounds(theirs)
        reason = f"outside {low:.6g} to {high:.6g}" + (f" ({remarks})" if remarks else "")
    return {
        "reference": case.reference,
        "run": case.run,
        "metric": metric,
        "theirs": theirs,
        "ours": ours,
        "ours_low": min(values) if values else None,
        "ours_high": max(values) if values else None,
        "ratio": ours / theirs if ours is not None and theirs else None,
        "bar": bar.json() if bar else None,
        "within": within,
        "compat": case.compat,
        "absent": case.absent is not None,
        "reason": reason or remarks or None,
    }


def derived(cases: list[Case], done: dict[str, Measured], bars: Bars) -> list[page.Row]:
    """Returns the rows that readers derive from several runs together."""
    rows = []
    for name in sorted({case.reference.split(".")[0] for case in cases}):
        module = reader(name)
        if not hasattr(module, "derived"):
            continue
        of_set = []
        for case in cases:
            if (
                case.reference.startswith(f"{name}.")
                and case.problem is None
                and case.absent is None
            ):
                measured = [done[setup.key] for setup in case.setups]
                failed = any(one.error or one.crippled for one in measured)
                of_set.append(
                    (
                        case,
                        {}
                        if failed
                        else {
                            metric: median([one.values[metric] for one in measured])
                            for metric in measured[0].values
                        },
                    )
                )
        for case, values in module.derived(of_set, bars):
            rows += [
                row(
                    case,
                    metric,
                    [values[metric]] if metric in values else None,
                    reason=case.problem,
                )
                for metric in case.bars
            ]
    return rows


# -------------------------------------------------------------------------------------------------------------------------- output


def show(rows: list[page.Row]) -> None:
    """Prints every row with a tolerance and every row that could not be run, hits and misses alike.
    Then the summary."""
    lines = []
    for row in rows:
        if row["absent"] or (row["bar"] is None and (row["within"] or row["ours"] is not None)):
            continue
        verdict = "within" if row["within"] else "OUTSIDE" if page.is_miss(row) else "NOT RUN"
        why = (
            ""
            if row["within"] or row["reason"].startswith("outside")
            else page.short(row["reason"], 90)
        )
        numbers = (page.show(row["theirs"]), page.ours(row), page.show(row["ratio"]), page.bar(row))
        lines.append((f"{row['reference']}/{row['run']}", row["metric"], *numbers, verdict, why))
    aligned(
        ("run", "metric", "theirs", "ours (least – greatest)", "ratio", "bar", "", "why"),
        lines,
        left={0, 1, 6, 7},
    )
    print()
    aligned(
        (
            "file",
            "compat",
            "with a bar",
            "within",
            "outside",
            "not run",
            "no model",
            "informational",
        ),
        page.summary(rows),
        left={0, 1},
    )
    outside = sum(map(page.is_miss, rows))
    absent = sum(row["absent"] for row in rows)
    print(
        f"\n{sum(row['bar'] is not None and row['within'] for row in rows)} within, {outside} outside, {sum(map(page.is_failure, rows))} not run",
        end="",
    )
    print(f", {absent} of models that afflux does not have" if absent else "")


def aligned(header: Sequence[str], lines: Iterable[Sequence[Any]], left: set[int]) -> None:
    """Prints aligned columns and never cuts off a number, regardless of the terminal's width."""
    table = [[str(cell) for cell in line] for line in (header, *lines)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print(
            "  ".join(
                cell.ljust(width) if place in left else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
        )


if __name__ == "__main__":
    sys.exit(main())
