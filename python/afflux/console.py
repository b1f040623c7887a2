"""What commands share: how they print, and how they fail."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console, RenderableType

from . import _core

# Exit codes: wrong scenario or option; failure while running; Ctrl-C.
WRONG, FAILED, INTERRUPTED = 2, 1, 130


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


def warn(warnings: Iterable[object], strict: bool = False) -> None:
    """One line each on stderr; with `strict` they are errors, and nothing is done."""
    every = list(warnings)
    for warning in every:
        print(f"{'error' if strict else 'warning'}: {warning}", file=sys.stderr)
    if strict and every:
        raise typer.Exit(WRONG)


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


def deliver(text: str, out: Path | None, force: bool, notes: Iterable[str]) -> None:
    """To a file as a whole or to stdout; notes to stderr."""
    if out is None:
        print(text, end="")
    else:
        from .exchange.files import deliver as written
        from .exchange.files import text_writer

        written({out: text_writer(text)}, force)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
