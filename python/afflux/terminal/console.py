"""Printing and error handling for all commands."""

import errno
import json
import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType, RenderHook, RenderResult
from rich.markup import escape
from rich.segment import Segment

from .. import _core, signals
from ..files import delivery, plain, toml
from ..files.durable import Writer
from ..results import failed_checks, own
from ..results.result import Result, UncheckedResult
from . import pager

if TYPE_CHECKING:
    from ..batch import Outcome

# Exit codes: wrong scenario or option; failure while running. After a signal the code is 128 + its
# number (`signals`).
WRONG, FAILED = 2, 1
#: Group of options that name inputs, in the help of importers and exporters.
INPUT = "Input"


def example(*lines: str) -> str:
    """Returns the end of a command's help with its examples."""
    return f"[bold]Example{'s' if len(lines) > 1 else ''}[/bold]\n\n" + "\n\n".join(
        f"[cyan]{line}[/cyan]" for line in map(escape, lines)
    )


@contextmanager
def failures(failed: int = FAILED) -> Iterator[None]:
    """Turns exceptions into a message on stderr and an exit code: 2 if the user's input is wrong,
    `failed` otherwise."""
    try:
        with signals.working(), _note_unchecked():
            yield
    except (_core.ScenarioError, _core.ResultExists, LookupError, ValueError) as error:
        complain(
            str(error.args[0]) if isinstance(error, KeyError) else _of_decision(error) or error
        )
        raise typer.Exit(WRONG) from None
    except OSError as error:
        complain(error)
        raise typer.Exit(
            WRONG
            if (error.filename is not None and error.errno in _NAMED_WRONGLY) or error.errno is None
            else failed
        ) from None
    except (_core.Error, MemoryError) as error:
        complain(error)
        raise typer.Exit(failed) from None


def _of_decision(error: Exception) -> str | None:
    """Returns the message about a decision file that was taken for a scenario; None for any other
    error."""
    # Errors that Python raises have neither file nor key.
    file = getattr(error, "file", None)
    if not isinstance(error, _core.ScenarioError) or file is None or error.key is not None:
        return None
    from ..decision.file import taken_for_scenario

    return taken_for_scenario(Path(file))


#: System error codes that come from a file name that the user gave.
_NAMED_WRONGLY = {
    errno.EACCES,
    errno.EEXIST,
    errno.EINVAL,
    errno.EIO,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
}
_NAMED_WRONGLY |= {errno.ENOTDIR, errno.EPERM, errno.EROFS}


@contextmanager
def _note_unchecked() -> Iterator[None]:
    """Prints a single note about all results without digests."""
    unchecked: list[str] = []
    with warnings.catch_warnings():
        others = warnings.showwarning

        def collect(
            message: Warning | str, category: type[Warning], *rest: Any, **more: Any
        ) -> None:
            if issubclass(category, UncheckedResult):
                unchecked.append(str(message))
            else:
                others(message, category, *rest, **more)

        warnings.simplefilter("always", UncheckedResult)
        warnings.showwarning = collect
        try:
            yield
        finally:
            if unchecked:
                more = f" and {len(unchecked) - 1} more have" if len(unchecked) > 1 else " has"
                print(
                    f"note: {unchecked[0]}{more} no digests (written by an older version): its files were not checked",
                    file=sys.stderr,
                )


#: Replacements of characters that a terminal would obey or hide: pictures for control characters,
#: and a mark for changes of the writing direction.
_PICTURES = (
    {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: 0x2421}
    | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
)
_PICTURES |= dict.fromkeys(
    [0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD
)


#: JSON escapes of the characters in `_PICTURES` that JSON itself does not escape. (JSON ends lines
#: with a control character, which must stay.)
_ESCAPED = {code: f"\\u{code:04x}" for code in _PICTURES if code >= 0x7F}


def visible(text: str) -> str:
    """Replaces all control characters except line ends and tabs."""
    return text.translate(_PICTURES)


class _Visible(RenderHook):
    """Removes control characters from everything that is printed. Names come from files, and their
    control characters must not reach the terminal."""

    class Part:
        def __init__(self, inner: RenderableType) -> None:
            self._inner = inner

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for segment in console.render(self._inner, options):
                yield segment if segment.control else Segment(visible(segment.text), segment.style)

    def process_renderables(self, renderables: list[Any]) -> list[Any]:
        return [self.Part(renderable) for renderable in renderables]


def warn(warnings: Iterable[object], strict: bool = False) -> None:
    """Prints one line per warning on stderr. With `strict`, warnings are errors and the command
    ends."""
    every = list(warnings)
    for warning in every:
        note(warning, "error: " if strict else "warning: ")
    if strict and every:
        raise typer.Exit(WRONG)


def complain(error: object) -> None:
    """Prints an error as a line on stderr, without system error numbers."""
    print(
        f"error: {visible(plain.words(error if isinstance(error, BaseException) else str(error)))}",
        file=sys.stderr,
    )


def note(text: object, mark: str = "note: ") -> None:
    """Prints a line on stderr."""
    print(visible(f"{mark}{text}"), file=sys.stderr)


def warn_of_failed_checks(results: Iterable[Result]) -> bool:
    """Names the results that failed an internal check on stderr. Returns True if there are any."""
    found = failed_checks.of(results)
    for sentence in found:
        complain(sentence)
    return bool(found)


def lacks_points(outcome: "Outcome") -> bool:
    """Names the failed points of a batch, and the results that failed an internal check, on stderr.
    Returns True if there are any."""
    for failure in outcome.failures:
        complain(f"{failure.point}: {failure.error}")
    return warn_of_failed_checks(outcome.results.values()) or bool(outcome.failures)


def show(parts: Iterable[RenderableType], *, paged: bool = False) -> None:
    """Prints the parts. With `paged`, output longer than the terminal goes to the pager."""
    command = pager.command() if paged else None
    console = _console(colours=command is None or pager.coloured(command))
    if command is None:
        for part in parts:
            console.print(part)
        return
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    page(captured.get(), command)


def _console(*, colours: bool) -> Console:
    # Markup and emoji codes are off, so that names such as [bold] and a:b: stay text.
    console = (
        Console(highlight=False, markup=False, emoji=False)
        if colours
        else Console(highlight=False, markup=False, emoji=False, color_system=None)
    )
    console.push_render_hook(_Visible())
    return console


def page(text: str, command: str | None) -> None:
    """Prints a text, or shows it in the pager if it is longer than the terminal."""
    if command is not None and text.count("\n") >= Console().height:
        sys.stdout.flush()
        pager.show(text, command)
    else:
        sys.stdout.write(text)


def width() -> int:
    return Console().width


def print_text(text: str) -> None:
    """Prints text from files unchanged, except characters that a terminal would obey."""
    sys.stdout.write(visible(text))


def print_json(value: Any) -> None:
    """Prints JSON with control characters escaped. JSON has no infinite numbers and no NaN, which
    may be values of a scenario: they are printed as text, as TOML writes them."""
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(text.translate(_ESCAPED) + "\n")


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return toml.value(value)
        case dict():
            return {key: _finite(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_finite(inner) for inner in value]
    return value


def deliver(text: str, out: Path | None, force: bool, notes: Iterable[str]) -> None:
    """Writes the text to a file or to stdout, and the notes to stderr."""
    if out is None:
        print_text(text)
    else:
        write_files({out: delivery.text_writer(out, text)}, force)
    for line in notes:
        note(line)


def write_files(files: Mapping[Path, Writer], force: bool) -> None:
    """Writes output files, all or none. Raises `ValueError` if one exists and `force` is not set.
    Raises it with `force` too if the command reads the file or the file belongs to a result."""
    own.refuse_parts(files)
    delivery.deliver(
        files, force, [each for path in _read.get() for each in (path, *toml.named(path))]
    )


#: Files that the running command was given.
_read: ContextVar[Sequence[Path]] = ContextVar("read", default=())


@contextmanager
def reading(params: Iterable[Any], values: Mapping[str, Any]) -> Iterator[None]:
    """Surrounds a command: its arguments, and its options of the group "Input", name files that no
    output may replace."""
    paths: list[Path] = []
    for param in params:
        if param.param_type_name == "argument" or getattr(param, "rich_help_panel", None) == INPUT:
            value = values.get(param.name)
            paths += [
                one
                for one in (value if isinstance(value, list | tuple) else [value])
                if isinstance(one, Path)
            ]
    before = _read.set(paths)
    try:
        yield
    finally:
        _read.reset(before)
