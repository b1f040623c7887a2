"""The command `afflux`: its options of its own, and the table of its commands."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from . import __version__, commands
from .commands import exchange
from .commands.options import NoPager
from .terminal.console import example


def _plain(params: list[Any]) -> list[Any]:
    """Help need not tell that a flag is of type bool."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


app = typer.Typer(
    name="afflux",
    cls=_Group,
    help="Simulates data-centre networks packet by packet: buffers, ECN, congestion control, load balancing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
importing = typer.Typer(
    name="import", cls=_Group, help="Read other tools' files.", no_args_is_help=True, epilog=example("afflux import sonic config_db.json -o leaf.toml")
)
exporting = typer.Typer(
    name="export", cls=_Group, help="Write a design for other tools.", no_args_is_help=True, epilog=example("afflux export sonic leaf.toml")
)


def version(wanted: bool) -> None:
    if wanted:
        print(f"afflux {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and exit.")] = False,
    _no_pager: NoPager = False,
) -> None:
    pass


for function, examples in commands.EVERY:
    app.command(cls=_Command, epilog=example(*examples))(function)
for group, rows in ((importing, exchange.IMPORTS), (exporting, exchange.EXPORTS)):
    app.add_typer(group)
    for name, function, examples in rows:
        group.command(name, cls=_Command, epilog=example(*examples))(function)
