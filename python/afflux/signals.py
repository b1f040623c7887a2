"""Ends the command when a signal asks for it. Ctrl-C, SIGTERM and SIGHUP end it with exit code 128
+ the signal's number, without a traceback and without half-written files.

While the program starts and while Python ends, no work is in progress, so a signal ends the process
at once. While a command works, a signal raises `Stopped`, and the code in progress cleans up after
itself. If a library swallows the exception, `check` raises it again.
"""

# These imports run before the signal handlers are installed, so there are as few as possible.
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, NoReturn

#: Message printed for each signal.
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "terminated"}
#: Seconds in which further signals count as the same one. After that, the next signal ends the
#: process without cleaning up.
GRACE = 1.0
#: Delay in seconds before `Stopped` is raised again if it could not be raised at the signal.
AGAIN = 0.01

_working = False
_received: int | None = None
_received_at = 0.0


class Stopped(SystemExit):
    """Raised when a signal asks the process to end. It is a `SystemExit`, so libraries let it pass
    and Python prints no traceback."""


def install() -> None:
    """Installs the signal handlers. A program calls it first. An ignored signal stays ignored
    (`nohup`)."""
    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)
    sys.unraisablehook = _unraisable


class working:
    """Context in which a signal raises `Stopped` instead of ending the process at once. Prints the
    message when stopped."""

    def __enter__(self) -> None:
        global _working
        self._before, _working = _working, True

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        problem: BaseException | None,
        trace: "TracebackType | None",
    ) -> None:
        global _working
        _working = self._before
        if isinstance(problem, Stopped):
            _say(_received)


def finish() -> None:
    """Ignores further signals. A program calls it at its end, so that no signal disturbs the
    interpreter's shutdown."""
    for number in WORDS:
        signal.signal(number, signal.SIG_IGN)


def check() -> None:
    """Raises `Stopped` if a signal was received. For loops that wait. Does nothing in programs that
    have not called `install`."""
    if _received is not None:
        raise Stopped(128 + _received)


def exit_code() -> int | None:
    """Returns the exit code for the received signal; None if there was none."""
    return None if _received is None else 128 + _received


def _handle(number: int, frame: object) -> None:
    global _received, _received_at
    if not _working:
        if _received is None:
            _say(number)
        _leave(number)
    if _received is None:
        _received, _received_at = number, time.monotonic()
        raise Stopped(128 + number)
    if time.monotonic() - _received_at > GRACE:
        _leave(_received)


def _leave(number: int) -> "NoReturn":
    os._exit(128 + number)


def _say(number: int | None) -> None:
    try:
        os.write(2, (WORDS.get(signal.Signals(number or signal.SIGINT), "stopped") + "\n").encode())
    except OSError:  # the terminal has hung up
        return


def _unraisable(unraisable: "Any") -> None:
    """Handles `Stopped` raised in a callback of the interpreter, which cannot propagate it: a timer
    raises it again after `AGAIN` seconds."""
    if not isinstance(unraisable.exc_value, Stopped):
        sys.__unraisablehook__(unraisable)
    elif hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda number, frame: check())
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
