"""`afflux run`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .. import _core, settings
from ..congestion import check_class
from ..results import own
from ..results.result import Result
from ..terminal.console import (
    FAILED,
    failures,
    lacks_points,
    print_json,
    print_text,
    show,
    warn,
    warn_of_failed_checks,
)
from .options import (
    EXECUTION,
    MOST_AT_ONCE,
    OUTPUT,
    SCENARIO,
    ForceDir,
    ScenarioFile,
    Seed,
    Set,
    Strict,
    Watched,
    at_most,
    out_option,
)

EXAMPLES = (
    "afflux run examples/incast-dctcp.toml --set switch.buffer=9MB --seed 2",
    "afflux run fabric.toml --watch",
    "afflux run fabric.toml --seeds 1-5",
)


def run(
    scenario: ScenarioFile,
    set: Set = None,
    seed: Seed = None,
    seeds: Annotated[
        str | None,
        SCENARIO.option(
            "--seeds",
            "A-B",
            "Run several seeds on all cores, as in 1-5 or 1,2,7, and print means with intervals; what was stopped continues.",
        ),
    ] = None,
    strict: Strict = False,
    show_config: Annotated[
        bool,
        SCENARIO.flag(
            "--show-config", "Print the scenario with all defaults as comments, and run nothing."
        ),
    ] = False,
    threads: Annotated[
        int | None,
        EXECUTION.option(
            "--threads",
            "N",
            "Number of worker threads. Results do not depend on it.",
            min=1,
            callback=at_most(MOST_AT_ONCE),
            show_default="the scenario's",
        ),
    ] = None,
    watched: Watched = False,
    out: Annotated[
        Path | None,
        out_option("DIR", "Result directory.", "out/<scenario name>-<seed>"),
    ] = None,
    force: ForceDir = False,
    as_json: Annotated[
        bool,
        OUTPUT.flag("--json", "Print summary.json instead of tables."),
    ] = False,
) -> None:
    """Run one simulation, write its result directory and print a summary. With --seeds, run one
    simulation for each seed and print means with intervals."""
    from .. import watching
    from ..terminal import progress, summary

    with failures():
        if show_config:
            _only_shown({"-o": out, "--force": force, "--json": as_json, "--watch": watched})
        if seeds is not None:
            if seed is not None or show_config or force:
                raise ValueError(
                    "--seeds runs a batch of its own: leave out --seed, --show-config and --force"
                )
            _several(scenario, set, settings.seeds(seeds), strict, threads, watched, out, as_json)
            return
        changes = settings.assignments(set)
        if seed is not None:
            _one_seed(changes)
        loaded = _core.load(scenario, set=changes, seed=seed, threads=threads)
        check_class(loaded, scenario, changes)
        warn(loaded.warnings, strict)
        if show_config:
            print_text(loaded.resolved)
            return
        where = out or Path("out") / f"{loaded.name}-{loaded.seed}"
        if force and (found := own.foreign(where)):
            raise ValueError(found)
        with (
            progress.shown(loaded, Console(stderr=True)) as bar,
            watching.of_run(loaded, bar, watched) as on_progress,
        ):
            result = Result.of_run(
                loaded.run(where, force=force, on_progress=on_progress, whole_process=True)
            )
        if as_json:
            print_json(result.summary)
        else:
            show(summary.summary(result, hosts=loaded.hosts, switches=loaded.switches))
            if result.kernels:
                hosts = result.kernels["hosts"]
                packets = sum(host["sent_packets"] for host in hosts)
                print_text(
                    f"kernels   {len(hosts)} hosts sent {packets:,} packets of"
                    f" {result.kernels['flows']} flows (HOST.console, HOST.pcap)\n"
                )
            print_text(f"written to {where}\n")
        doubtful = warn_of_failed_checks([result])
        if failure := result.kernel_failure:
            raise _core.RunError(f"{failure}\n(written to {where})")
        if result.ended_early:
            raise _core.RunError(f"{result.ended_early} (written to {where})")
        if doubtful:
            raise typer.Exit(FAILED)


def _one_seed(changes: list[tuple[str, str]]) -> None:
    """Refuses a seed among the changes beside `--seed`."""
    from ..batch import given

    if any(given.sets_seed(key, settings.value(value)) for key, value in changes):
        raise ValueError("--seed and --set run.seed name two seeds: leave out one of them")


def _only_shown(others: Mapping[str, object]) -> None:
    """Refuses options that `--show-config` would ignore."""
    if found := [option for option, value in others.items() if value]:
        raise ValueError(
            f"--show-config prints the scenario and runs nothing: leave out {' and '.join(found)}"
        )


def _several(
    scenario: Path,
    set: list[str] | None,
    seeds: list[int],
    strict: bool,
    threads: int | None,
    watched: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Runs a sweep that varies only the seed."""
    from ..batch import grid
    from ..terminal import points
    from .batch import watching

    if threads is not None:
        raise ValueError(
            "--seeds runs one simulation per core, each on one thread: leave out --threads"
        )
    with watching(f"run {scenario.name}", watched) as watch:
        found = grid.sweep(
            scenario,
            {},
            seeds=seeds,
            set=settings.changes(set),
            out=out,
            watch=watch,
            strict=strict,
        )
    warn(found.outcome.warnings)
    print_json(list(found.rows)) if as_json else show(points.sweep(found))
    if lacks_points(found.outcome):
        raise typer.Exit(FAILED)
