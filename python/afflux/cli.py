"""The command `afflux`: its global options and its table of commands."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from . import _core, commands
from .commands import exchange, kernel
from .commands.options import OUTPUT, NoPager
from .terminal import formats
from .terminal.console import example, reading
from .terminal.values import convert_here


def _plain(params: list[Any]) -> list[Any]:
    """Prepares parameters for help and parsing: hides the types of flags and arguments, puts
    `--help` into the output group, converts values without pydantic."""
    convert_here(params)
    panels = {panel for param in params if (panel := getattr(param, "rich_help_panel", None))}
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
        if param.name == "help" and panels:
            param.rich_help_panel = OUTPUT
        if param.param_type_name == "argument":
            # The name of an argument explains it; a Python type would not.
            param.display_type_rich = lambda *_, **__: None
    # The output group comes last in every command. Arguments have no group and come first.
    return sorted(params, key=lambda param: getattr(param, "rich_help_panel", None) == OUTPUT)


class _Command(TyperCommand):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        for param in self.params:
            # typer reads help as markup: without escaping, a table name such as [record] is taken
            # for a style and vanishes.
            if text := getattr(param, "help", None):
                param.help = escape(text)  # type: ignore[attr-defined]

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        with reading(self.params, ctx.params):
            return super().invoke(ctx)


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        params = _plain(super().get_params(ctx))
        for param in params:
            # The program itself has few options, so they form one group.
            param.rich_help_panel = None
        return params


class _Formats(_Group):
    """`afflux import` and `afflux export`, whose help lists the options of every format."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        every = [
            command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))
        ]
        formats.show_help(self, ctx, every)


app = typer.Typer(
    name="afflux",
    cls=_Group,
    help="Simulate data-centre networks packet by packet: buffers, ECN, congestion control, load balancing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
importing = typer.Typer(
    name="import", cls=_Formats, help="Read files of other tools.", no_args_is_help=True
)
kernels = typer.Typer(
    name="kernel",
    cls=_Group,
    help="Build, list and check Linux kernels that run as hosts in simulated time.",
    epilog=example("afflux kernel build", "afflux kernel check"),
    no_args_is_help=True,
)
exporting = typer.Typer(
    name="export", cls=_Formats, help="Write files for other tools.", no_args_is_help=True
)


def version(wanted: bool) -> None:
    if wanted:
        print(f"afflux {_core.__build__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=version, is_eager=True, help="Print version and commit, and exit."
        ),
    ] = False,
    _no_pager: NoPager = False,
) -> None:
    pass


def _register(
    to: typer.Typer,
    function: Callable[..., Any],
    panel: str,
    examples: Sequence[str],
    name: str | None = None,
) -> None:
    help = escape(" ".join((function.__doc__ or "").split()))
    first, dot, _ = help.partition(". ")
    to.command(
        name,
        cls=_Command,
        help=help,
        short_help=first + dot.strip(),
        epilog=example(*examples),
        rich_help_panel=panel,
    )(function)


for panel, rows in commands.GROUPS.items():
    for function, examples in rows:
        _register(app, function, panel, examples)
app.add_typer(kernels, rich_help_panel="Simulation")
for name, function, examples in kernel.COMMANDS:
    _register(kernels, function, "Commands", examples, name)
for group, panels in ((importing, exchange.IMPORTS), (exporting, exchange.EXPORTS)):
    app.add_typer(group, rich_help_panel=commands.FILES)
    for panel, formats_of in panels.items():
        for name, function, examples in formats_of:
            _register(group, function, panel, examples, name)
