"""How the command ends when it is asked to: Ctrl-C, SIGTERM and SIGHUP end it with 128 + the signal's number, quietly and with nothing half-written.

While the program starts and while Python ends, a signal ends the process at once: nothing is under way. While a command works, it raises `Stopped`, and
what is under way cleans up after itself. A library that swallows the exception does not save the process: `check` raises it again.
"""

# What is imported here is imported before signals are heeded: as little as possible.
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, NoReturn

#: What people are told.
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "terminated"}
#: Seconds in which further signals are taken for the same one; after that the next one ends the process without cleaning up.
GRACE = 1.0
#: Seconds until `Stopped` is raised again where it could not be.
AGAIN = 0.01

_working = False
_received: int | None = None
_received_at = 0.0


class Stopped(SystemExit):
    """A signal asked the process to end. A `SystemExit`: libraries let it pass, and it is quiet wherever it comes out."""


def install() -> None:
    """For programs, first thing. A signal that is ignored stays ignored (`nohup`)."""
    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)
    sys.unraisablehook = _unraisable


class working:
    """Around what has to be cleaned up. Says what happened when it is stopped."""

    def __enter__(self) -> None:
        global _working
        self._before, _working = _working, True

    def __exit__(self, kind: "type[BaseException] | None", problem: BaseException | None, trace: "TracebackType | None") -> None:
        global _working
        _working = self._before
        if isinstance(problem, Stopped):
            _say(_received)


def finish() -> None:
    """For programs, at their end: all is done, and Python's own end is not to be disturbed."""
    for number in WORDS:
        signal.signal(number, signal.SIG_IGN)


def check() -> None:
    """Raises `Stopped` if a signal has come: for loops that wait. Does nothing in programs that have not called `install`."""
    if _received is not None:
        raise Stopped(128 + _received)


def exit_code() -> int | None:
    """What to end with, if a signal has come."""
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
    except OSError:  # a terminal that has hung up
        return


def _unraisable(unraisable: "Any") -> None:
    """The signal came where nothing can be raised, in a callback of the interpreter: it is raised a little later."""
    if not isinstance(unraisable.exc_value, Stopped):
        sys.__unraisablehook__(unraisable)
    elif hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda number, frame: check())
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
