"""The command `afflux`: its options of its own, and the table of its commands."""

from typing import Annotated

import typer

from . import __version__, commands
from .commands import exchange
from .terminal.console import example

app = typer.Typer(
    name="afflux",
    help="Simulates data-centre networks packet by packet: buffers, ECN, congestion control, load balancing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
importing = typer.Typer(name="import", help="Read other tools' files.", no_args_is_help=True, epilog=example("afflux import sonic config_db.json -o leaf.toml"))
exporting = typer.Typer(name="export", help="Write a design for other tools.", no_args_is_help=True, epilog=example("afflux export sonic leaf.toml"))


def version(wanted: bool) -> None:
    if wanted:
        print(f"afflux {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and leave.")] = False,
) -> None:
    pass


for function, examples in commands.EVERY:
    app.command(epilog=example(*examples))(function)
for group, rows in ((importing, exchange.IMPORTS), (exporting, exchange.EXPORTS)):
    app.add_typer(group)
    for name, function, examples in rows:
        group.command(name, epilog=example(*examples))(function)
