"""Standard output and standard error of the program, which may be closed or full.

A program calls `install` before it prints. If a write fails, the program ends with one sentence and
exit code 1. If the reader of a pipe has gone (`| head`), it ends without a message and with code
141, as SIGPIPE would cause.
"""

# These imports run before the signal handlers are installed, so there are as few as possible.
import errno
import io
import os
import sys
from contextlib import suppress

#: Exit code of a failed write, and of a pipe whose reader has gone (128 + SIGPIPE).
FAILED, PIPE = 1, 141


class Unwritten(SystemExit):
    """Raised when standard output cannot be written. It is a `SystemExit`, so libraries let it
    pass."""


class _Output(io.TextIOWrapper):
    """Standard output. Escapes characters that its encoding lacks."""

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
    """Standard error. Ignores failed writes: there is nowhere to report them, and the exit code
    must not change."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def install() -> None:
    """Replaces standard output and standard error. A program calls it before it prints."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # Occupies a closed descriptor. Otherwise the next opened file would get its number and
            # be taken for the stream. A write to the replacement still fails.
            os.open(os.devnull, os.O_WRONLY if descriptor == 2 else os.O_RDONLY)
    errors = io.FileIO(2, "wb", closefd=False)
    sys.stderr = _Errors(
        io.BufferedWriter(errors), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
    encoding = sys.stdout.encoding if sys.stdout is not None else "utf-8"
    terminal = os.isatty(1)
    raw = io.FileIO(1, "wb", closefd=False)
    sys.stdout = _Output(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=terminal,
    )


def finish() -> None:
    """Flushes standard output and reports a failure. A program calls it at its end."""
    sys.stdout.flush()


def _unwritten(error: OSError) -> Unwritten:
    # The interpreter flushes standard output once more when it ends. The null device lets that
    # succeed.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    if error.errno == errno.EPIPE:
        return Unwritten(PIPE)
    words = {errno.EBADF: "it is closed", errno.ENOSPC: "no space left on the device"}.get(
        error.errno or 0
    ) or (error.strerror or "it failed").lower()
    with suppress(OSError):  # a failure on standard error cannot be reported
        os.write(2, f"error: standard output: {words}\n".encode())
    return Unwritten(FAILED)
