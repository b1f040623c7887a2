"""`afflux export linux`."""

from pathlib import Path
from typing import Annotated

import typer

from ... import _core
from ...terminal.console import deliver, failures


def export_linux(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where the lines go.", show_default="printed")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write the hosts' TCP as sysctl lines, with the commands for what has no sysctl. What Linux cannot be set to is named."""
    from ...exchange import sysctl
    from ...files import toml

    with failures():
        groups = list(sysctl.of_scenario(toml.with_defaults(_core.load(scenario).resolved)))
        missing = [f"not expressed, {title}: {line}" for title, settings in groups for line in settings.missing]
        deliver("\n".join(settings.text(title) for title, settings in groups), out, force, missing)
