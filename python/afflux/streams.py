"""Standard output and standard error of the program: what happens where they are closed or full.

`install` comes before anything is printed. A failed write ends the program with one sentence and code 1, or, if the reader of a pipe has gone (`| head`),
quietly with 141, as SIGPIPE would.
"""

# What is imported here is imported before signals are heeded: as little as possible.
import errno
import io
import os
import sys
from contextlib import suppress

#: Exit codes: a failed write; the reader of a pipe has gone (128 + SIGPIPE).
FAILED, PIPE = 1, 141


class Unwritten(SystemExit):
    """Standard output cannot be written. A `SystemExit`: libraries let it pass."""


class _Output(io.TextIOWrapper):
    """Standard output. Characters that its encoding lacks are escaped."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise _unwritten(error) from None

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise _unwritten(error) from None


class _Errors(io.TextIOWrapper):
    """Standard error. Nobody can be told that it cannot be written, and the exit code stays."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def install() -> None:
    """For programs, before they print."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # Otherwise the next file that is opened would be taken for the closed stream. Writing to it fails as before.
            os.open(os.devnull, os.O_WRONLY if descriptor == 2 else os.O_RDONLY)
    errors = io.FileIO(2, "wb", closefd=False)
    sys.stderr = _Errors(io.BufferedWriter(errors), encoding="utf-8", errors="backslashreplace", line_buffering=True)
    encoding = sys.stdout.encoding if sys.stdout is not None else "utf-8"
    terminal = os.isatty(1)
    raw = io.FileIO(1, "wb", closefd=False)
    sys.stdout = _Output(io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=terminal)


def finish() -> None:
    """For programs, at their end: what is buffered is written, or the failure is told."""
    sys.stdout.flush()


def _unwritten(error: OSError) -> Unwritten:
    # The interpreter flushes once more at its end.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    if error.errno == errno.EPIPE:
        return Unwritten(PIPE)
    words = {errno.EBADF: "it is closed", errno.ENOSPC: "no space left on the device"}.get(error.errno or 0) or (error.strerror or "it failed").lower()
    with suppress(OSError):  # nobody can be told
        os.write(2, f"error: standard output: {words}\n".encode())
    return Unwritten(FAILED)
