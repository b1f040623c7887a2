"""A pager for outputs that are longer than the terminal."""

import os
import shutil
import signal
import subprocess
import sys

_allowed = True


def forbid() -> None:
    """`--no-pager`."""
    global _allowed
    _allowed = False


def command() -> str | None:
    """The pager: `PAGER`, else less or more. None if there is none, if `PAGER` is empty or `cat`, or if the output goes to no terminal."""
    if not _allowed or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return None
    chosen = os.environ.get("PAGER")
    if chosen is None:
        chosen = next((name for name in ("less", "more") if shutil.which(name)), "")
    return chosen if chosen.strip() not in ("", "cat") else None


def coloured(pager: str) -> bool:
    """Whether the pager shows colours instead of control characters."""
    return os.path.basename(pager.split()[0]) == "less" and "r" in _options().lower()


def _options() -> str:
    """Options of less where the user has set none, as git's: leave at once if all fits, show colours, keep the text on the screen."""
    return os.environ.get("LESS", "FRX")


def show(text: str, pager: str) -> None:
    """Shows the text in the pager; prints it if the pager cannot be started."""
    # Ctrl-C is for the pager. A handler, because an ignored signal would stay ignored in the pager too.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        with subprocess.Popen(pager, shell=True, stdin=subprocess.PIPE, env=os.environ | {"LESS": _options()}) as process:
            assert process.stdin is not None
            try:
                process.stdin.write(text.encode(errors="replace"))
                process.stdin.close()
            except BrokenPipeError:  # the reader has seen enough
                process.stdin = None
            status = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if status in (126, 127):  # of the shell: not to be run, not found
        sys.stdout.write(text)
