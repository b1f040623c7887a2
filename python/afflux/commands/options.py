"""Options of several commands."""

from pathlib import Path
from typing import Annotated

import typer


def _keys(incomplete: str) -> list[str]:
    from ..terminal.completion import keys

    return keys(incomplete)


Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY.PATH=VALUE", help="Change a key before validation; may be repeated.", show_default=False, autocompletion=_keys),
]
Dirs = Annotated[
    list[Path],
    typer.Argument(metavar="DIR…", help="Result directories; those of one scenario name are one design, with several seeds.", show_default=False),
]


def _forbid(wanted: bool) -> None:
    from ..terminal import pager

    if wanted:
        pager.forbid()


NoPager = Annotated[bool, typer.Option("--no-pager", callback=_forbid, help="Print long output without a pager.")]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse a scenario with warnings.")]
Values = Annotated[
    list[str] | None,
    typer.Option("--vary", metavar="KEY.PATH=A,B,…", help="A key and its values; may be repeated.", show_default=False, autocompletion=_keys),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option("--vary", metavar="KEY.PATH=LO..HI", help="A key and its range, or choices A,B,…; may be repeated.", show_default=False, autocompletion=_keys),
]
With = Annotated[str, typer.Option("--executor", metavar="local|dask|ray", help="Where points are simulated; it changes no result.")]
Address = Annotated[str | None, typer.Option("--address", metavar="URL", help="Of the cluster, as in tcp://head:8786.", show_default="one on this machine")]
Jobs = Annotated[int | None, typer.Option("--jobs", metavar="N", min=1, help="Points at a time.", show_default="one per core")]
