"""A pager for outputs that are longer than the terminal."""

import os
import shutil
import signal
import subprocess
import sys

_allowed = True


def forbid() -> None:
    """Turns the pager off, for `--no-pager`."""
    global _allowed
    _allowed = False


def command() -> str | None:
    """Returns the pager: `PAGER`, else less or more. None if there is none, if `PAGER` is empty or
    `cat`, or if the output is not a terminal."""
    if not _allowed or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return None
    chosen = os.environ.get("PAGER")
    if chosen is None:
        chosen = next((name for name in ("less", "more") if shutil.which(name)), "")
    return chosen if chosen.strip() not in ("", "cat") else None


def coloured(pager: str) -> bool:
    """True if the pager shows colours instead of control characters."""
    return os.path.basename(pager.split()[0]) == "less" and "r" in _options().lower()


def _options() -> str:
    """Returns the options of less. Unless the user has set some, they are those of git: exit at
    once if all fits, show colours, keep the text on the screen."""
    return os.environ.get("LESS", "FRX")


def show(text: str, pager: str) -> None:
    """Shows the text in the pager; prints it if the pager cannot be started."""
    # Ctrl-C belongs to the pager. An empty handler is used because the pager would inherit an
    # ignored signal.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        with subprocess.Popen(
            pager, shell=True, stdin=subprocess.PIPE, env=os.environ | {"LESS": _options()}
        ) as process:
            assert process.stdin is not None
            try:
                process.stdin.write(text.encode(errors="replace"))
                process.stdin.close()
            except BrokenPipeError:  # the user has closed the pager
                process.stdin = None
            status = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if status in (126, 127):  # exit codes of the shell: cannot be executed, not found
        sys.stdout.write(text)
