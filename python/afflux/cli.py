"""The command `afflux`."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from . import __version__, _core, commands, settings
from .commands import options
from .console import FAILED, complain, deliver, example, failures, print_json, show, warn, warn_of_doubts, width
from .result import Result

#: What several result directories mean.
DIRS = "Result directories; those of one scenario name are one design, with several seeds."

app = typer.Typer(
    name="afflux",
    help="Simulates data-centre networks packet by packet: buffers, ECN, congestion control, load balancing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def version(wanted: bool) -> None:
    if wanted:
        print(f"afflux {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and leave.")] = False,
) -> None:
    pass


@app.command(epilog=example("afflux run examples/incast-dctcp.toml --set switch.buffer=9MB --seed 2"))
def run(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    set: options.Set = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random draws, instead of the scenario's.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Worker threads; results do not depend on it.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Result directory.", show_default="out/<scenario name>-<seed>")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a result directory that exists.")] = False,
    strict: options.Strict = False,
    show_config: Annotated[bool, typer.Option("--show-config", help="Print the resolved scenario, defaults as comments, and run nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json instead of tables.")] = False,
) -> None:
    """Run one simulation, write a result directory, print the summary."""
    from . import progress, render

    with failures():
        loaded = _core.load(scenario, set=[settings.assignment(text) for text in set or []], seed=seed, threads=threads)
        warn(loaded.warnings, strict)
        if show_config:
            print(loaded.resolved, end="")
            return
        where = out or Path("out") / f"{loaded.name}-{loaded.seed}"
        with progress.shown(loaded, Console(stderr=True)) as on_progress:
            result = Result.of_run(loaded.run(where, force=force, on_progress=on_progress, whole_process=True))
        if as_json:
            print(json.dumps(result.summary, indent=2, ensure_ascii=False))
        else:
            show(render.summary(result, hosts=loaded.hosts, switches=loaded.switches))
            print(f"written to {where}")
        doubtful = warn_of_doubts([result])
        if result.ended_early:
            raise _core.RunError(f"{result.ended_early} (written to {where})")
        if doubtful:
            raise typer.Exit(FAILED)


@app.command(
    epilog=example(
        "afflux explain out/incast-dctcp-1",
        "afflux explain out/incast-dctcp-1 --slowest 10",
        "afflux explain out/incast-dctcp-1 --flow 17",
        "afflux explain out/shallow-1 --against out/deep-1 --by class",
    )
)
def explain(
    dir: Annotated[Path, typer.Argument(metavar="DIR", help="A result directory.", show_default=False)],
    flow: Annotated[int | None, typer.Option("--flow", metavar="ID", help="One flow, part by part.")] = None,
    slowest: Annotated[int | None, typer.Option("--slowest", metavar="N", min=1, help="The N flows with the largest slowdown.")] = None,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="DIR", help="What makes the difference to the mean completion time of this result.")
    ] = None,
    by: Annotated[str, typer.Option("--by", metavar="size|class", help="Group flows by size or by class of traffic.")] = "size",
    per_flow: Annotated[bool, typer.Option("--shares", help="Mean of each flow's shares, so that all flows have the same weight.")] = False,
    hosts: Annotated[bool, typer.Option("--hosts", help="Among the longest queues, show those of hosts too.")] = False,
    front: Annotated[bool, typer.Option("--waits", help="Only who stood in front of whom, by class of traffic (of --flow or --slowest, if given).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show where each flow's time went; without options the parts of the mean completion time, by size, the longest queues of
    switches if ports were recorded, and who stood in front of whom if waits were."""
    from . import render, split
    from .explain import longest_queues
    from .waits import behind

    with failures():
        if flow is not None and slowest is not None:
            raise ValueError("--flow and --slowest exclude each other")
        result = Result.open(dir)
        warn_of_doubts([result])
        if against is not None:
            if flow is not None or slowest is not None or front or per_flow or hosts:
                raise ValueError("--against compares means: of the other options it takes --by and --json")
            other = Result.open(against)
            names = [one.summary["name"] for one in (other, result)]
            if names[0] == names[1]:
                names = [str(against), str(dir)]
            change = split.compare(other, result, by, names=(names[0], names[1]))
            if change is None:
                raise ValueError("no flow finished in both: there is nothing to compare")
            print_json(change.to_dict()) if as_json else show(render.change(change, width()))
            return
        explanation = result.explain()
        chosen = [flow] if flow is not None else [one.id for one in explanation.slowest(slowest)] if slowest is not None else None
        if front or ("waits" in result.recorded and not as_json):
            waits = behind(result.table("waits"), result.flows, chosen)
        if front:
            print_json([one.to_dict() for one in waits]) if as_json else show(render.waits(waits))
            return
        if flow is not None:
            one = explanation.flow(flow)
            print_json(one.to_dict()) if as_json else show(render.flow(one, width()))
        elif slowest is not None:
            flows = explanation.slowest(slowest)
            print_json([one.to_dict() for one in flows]) if as_json else show(render.slowest(flows, width()))
        else:
            groups = split.groups([explanation], [by])
            print_json([group.to_dict() for group in groups]) if as_json else show(render.parts(groups, width(), per_flow=per_flow))
            if "ports" in result.recorded and not as_json:
                show(render.queues(longest_queues(result.ports, result.is_host), hosts=hosts))
        if "waits" in result.recorded and not as_json:
            show(render.waits(waits))


@app.command(epilog=example("afflux report out/shallow-* out/deep-* -o report.html", "afflux report out/shallow-* out/deep-* --format pdf -o figures"))
def report(
    dirs: Annotated[list[Path], typer.Argument(metavar="DIR…", help=DIRS, show_default=False)],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="FILE.html|DIR", help="The page, or the directory of figures; files of a name are replaced.", show_default=False),
    ],
    title: Annotated[str | None, typer.Option("--title", help="Heading of the page.", show_default="the designs' names")] = None,
    format: Annotated[str, typer.Option("--format", metavar="html|pdf|svg|png", help="The page, or figures for a paper.")] = "html",
    whole_run: Annotated[bool, typer.Option("--whole-run", help="Figures: time axes to the end of the run, though little happens there.")] = False,
    hosts: Annotated[bool, typer.Option("--hosts", help="Figures: the longest queue may be a host's.")] = False,
) -> None:
    """Write one self-contained HTML file: the answer, completion times, where the time went, a replay, port series, job timelines; or figures."""
    from . import report as reports
    from .report import paper

    with failures():
        results = [Result.open(dir) for dir in dirs]
        warn_of_doubts(results)
        if format == "html" and (whole_run or hosts):
            raise ValueError("--whole-run and --hosts are of figures: on the page both can be chosen")
        if format == "html":
            written = [reports.write(results, out, title=title)]
        elif title is not None:
            raise ValueError("--title is of the page: figures for papers have none")
        else:
            written = paper.write(results, out, format, whole_run=whole_run, hosts=hosts)
        for path in written:
            print(f"written to {path}: {path.stat().st_size / 1e6:.2f} MB")


@app.command(epilog=example("afflux compare out/shallow-* out/deep-* --baseline out/deep-1"))
def compare(
    dirs: Annotated[list[Path], typer.Argument(metavar="DIR…", help=DIRS, show_default=False)],
    baseline: Annotated[Path | None, typer.Option("--baseline", metavar="DIR", help="A result of the design to compare to.", show_default="the first")] = None,
    by: Annotated[str, typer.Option("--by", metavar="size|class", help="Split the differences by size of flows or by class of traffic, too.")] = "size",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Differences between designs, seed by seed, with 95 % intervals; first the answer in words, last what makes the difference in completion time."""
    from . import comparison, render, split
    from .designs import gather

    with failures():
        chosen = Result.open(baseline).summary["name"] if baseline else None
        # The baseline may be named once more, or only there.
        places = {path.resolve(): path for path in [*dirs, *([baseline] if baseline else [])]}
        designs = gather(places.values())
        warn_of_doubts(result for design in designs.values() for result in design.results.values())
        found = comparison.compare(designs, chosen)
        changes = split.changes(designs, found.baseline, [by])
        if as_json:
            print_json(found.to_dict() | {"split": {name: change.to_dict() if change else None for name, change in changes.items()}})
        else:
            show(render.comparison(found, changes, width()))


@app.command(epilog=example("afflux study", "afflux study hadoop --quick"))
def study(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Which; without it they are listed.", show_default=False)] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The part that is done in minutes.")] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", metavar="N", min=1, help="Simulations at a time.", show_default="one per core")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Where everything is kept.", show_default="out/study-<name>")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run every point again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """List the built-in studies, or run one: ours beside the published numbers. A study that was stopped continues."""
    from . import progress, render, studies

    with failures():
        if name is None:
            listed = [{"study": s.name, "title": s.title, "points": len(s.points(False)), "points_quick": len(s.points(True))} for s in studies.built_in()]
            print_json(listed) if as_json else show(render.studies(listed))
            return
        chosen = studies.find(name)
        with progress.of_batch(Console(stderr=True)) as watch:
            verdict = studies.carry_out(chosen, quick=quick, out=out, jobs=jobs, fresh=fresh, watch=watch)
        warn(verdict.outcome.warnings)
        print_json(verdict.to_dict()) if as_json else show(render.verdict(verdict))
        for failure in verdict.outcome.failures:
            complain(f"{failure.point}: {failure.error}")
        if warn_of_doubts(verdict.outcome.results.values()) or verdict.outcome.failures:
            raise typer.Exit(FAILED)


app.command(epilog=example(*commands.new.EXAMPLES))(commands.new.new)
app.command(epilog=example(*commands.check.EXAMPLES))(commands.check.check)
app.command(epilog=example(*commands.plan.EXAMPLES))(commands.plan.plan)
app.command(epilog=example(*commands.sweep.EXAMPLES))(commands.sweep.sweep)
app.command(epilog=example(*commands.tune.EXAMPLES))(commands.tune.tune)
app.command(epilog=example(*commands.live.EXAMPLES))(commands.live.live)
app.command(epilog=example(*commands.verify.EXAMPLES))(commands.verify.verify)

importing = typer.Typer(name="import", help="Read other tools' files.", no_args_is_help=True, epilog=example("afflux import sonic config_db.json -o leaf.toml"))
exporting = typer.Typer(name="export", help="Write a design for other tools.", no_args_is_help=True, epilog=example("afflux export sonic leaf.toml"))
app.add_typer(importing)
app.add_typer(exporting)
commands.exchange.register(importing, exporting)


@importing.command(
    "sonic", epilog=example("afflux import sonic config_db.json -o leaf.toml", "afflux import sonic buffers.json qos.json --into fabric.toml -o new.toml")
)
def import_sonic(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="config_db.json, or its buffer and QoS parts.", show_default=False)],
    into: Annotated[Path | None, typer.Option("--into", metavar="SCENARIO.toml", help="The scenario whose switches are set.", show_default=False)] = None,
    match: Annotated[
        str | None,
        typer.Option(
            "--match", metavar="PATTERN", help="Set only the switches of these names, as in 'leaf*': [[switch.override]].", show_default="all switches"
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where the scenario goes.", show_default="printed")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Set a scenario's switches as SONiC's config_db.json says: buffers, WRED, scheduling, PFC. What is left out is named."""
    from . import sonic

    with failures():
        text, notes = sonic.imported(files, into, out, match)
        deliver(text, out, force, notes)


@exporting.command("sonic", epilog=example("afflux export sonic leaf.toml -o patch.json"))
def export_sonic(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    ports: Annotated[int | None, typer.Option("--ports", min=1, help="Ports of the switch, for a scenario that was not imported.", show_default="32")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where the patch goes.", show_default="printed")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write [switch] as a patch of SONiC's config_db.json (sonic-cfggen -j FILE --write-to-db). What SONiC cannot be told is named."""
    from . import sonic

    with failures():
        tables, missing = sonic.exported(scenario, ports)
        deliver(json.dumps(tables, indent=4) + "\n", out, force, [f"not expressed: {line}" for line in missing])


@exporting.command("linux", epilog=example("afflux export linux fabric.toml -o 90-afflux.conf"))
def export_linux(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where the lines go.", show_default="printed")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write the hosts' TCP as sysctl lines, with the commands for what has no sysctl. What Linux cannot be set to is named."""
    from . import sysctl, toml

    with failures():
        groups = list(sysctl.of_scenario(toml.with_defaults(_core.load(scenario).resolved)))
        missing = [f"not expressed, {title}: {line}" for title, settings in groups for line in settings.missing]
        deliver("\n".join(settings.text(title) for title, settings in groups), out, force, missing)


@app.command(epilog=example("afflux schema > scenario.schema.json"))
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    with failures():
        print(_core.schema())


@app.command(epilog=example("afflux models", "afflux models --json"))
def models(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False) -> None:
    """List every model with its source and its limits."""
    from . import render

    with failures():
        every = sorted(_core.models(), key=lambda model: model.kind)
        if as_json:
            keys = ("kind", "name", "source", "faithful", "simplified")
            print_json([{key: getattr(model, key) for key in keys} for model in every])
        else:
            show(render.models(every))
