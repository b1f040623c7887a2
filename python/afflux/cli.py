"""The command `afflux`."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from . import __version__, _core
from .result import Result

# Exit codes: wrong scenario or option; failure while running; Ctrl-C.
WRONG, FAILED, INTERRUPTED = 2, 1, 130

app = typer.Typer(
    name="afflux",
    help="Simulates data-centre networks packet by packet: buffers, ECN, congestion control, load balancing.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def example(*lines: str) -> str:
    """The end of a command's help."""
    return "[bold]Example[/bold]\n\n" + "\n\n".join(f"[cyan]{line}[/cyan]" for line in lines)


@contextmanager
def failures() -> Iterator[None]:
    """Turns what can go wrong into a message on stderr and an exit code."""
    try:
        yield
    except (_core.ScenarioError, _core.ResultExists, LookupError, ValueError) as error:
        complain(error.args[0] if isinstance(error, KeyError) else error)
        raise typer.Exit(WRONG) from None
    except FileNotFoundError as error:
        complain(error)
        raise typer.Exit(WRONG) from None
    except (_core.Error, OSError, MemoryError) as error:
        complain(error)
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def complain(error: object) -> None:
    print(f"error: {error}", file=sys.stderr)


def show(parts: Iterable[RenderableType]) -> None:
    console = Console(highlight=False)
    for part in parts:
        console.print(part)


def width() -> int:
    return Console().width


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


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
    set: Annotated[list[str] | None, typer.Option("--set", metavar="KEY.PATH=VALUE", help="Change a key before validation; may be repeated.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random draws, instead of the scenario's.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Worker threads; results do not depend on it.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Result directory.", show_default="out/<scenario name>-<seed>")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a result directory that exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json instead of tables.")] = False,
) -> None:
    """Run one simulation, write a result directory, print the summary."""
    from . import progress, render

    with failures():
        loaded = _core.load(scenario, set=[assignment(text) for text in set or []], seed=seed, threads=threads)
        where = out or Path("out") / f"{loaded.name}-{loaded.seed}"
        with progress.shown(loaded, Console(stderr=True)) as on_progress:
            result = Result.of_run(loaded.run(where, force=force, on_progress=on_progress, whole_process=True))
        if as_json:
            print(json.dumps(result.summary, indent=2, ensure_ascii=False))
        else:
            show(render.summary(result, hosts=loaded.hosts, switches=loaded.switches))
            print(f"written to {where}")


def assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"--set {text}: expected KEY.PATH=VALUE, as in --set switch.buffer=9MB")
    return key.strip(), value.strip()


@app.command(
    epilog=example("afflux explain out/incast-dctcp-1", "afflux explain out/incast-dctcp-1 --slowest 10", "afflux explain out/incast-dctcp-1 --flow 17")
)
def explain(
    dir: Annotated[Path, typer.Argument(metavar="DIR", help="A result directory.", show_default=False)],
    flow: Annotated[int | None, typer.Option("--flow", metavar="ID", help="One flow, part by part.")] = None,
    slowest: Annotated[int | None, typer.Option("--slowest", metavar="N", min=1, help="The N flows with the largest slowdown.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show where each flow's time went; without options the mean over all flows, by size."""
    from . import render

    with failures():
        if flow is not None and slowest is not None:
            raise ValueError("--flow and --slowest exclude each other")
        explanation = Result.open(dir).explain()
        if flow is not None:
            one = explanation.flow(flow)
            print_json(one.to_dict()) if as_json else show(render.flow(one, width()))
        elif slowest is not None:
            flows = explanation.slowest(slowest)
            print_json([one.to_dict() for one in flows]) if as_json else show(render.slowest(flows, width()))
        else:
            groups = explanation.by_size()
            print_json([group.to_dict() for group in groups]) if as_json else show(render.shares(groups, width()))


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


def main() -> None:
    """Entry point of the command."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
