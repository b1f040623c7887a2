"""Runs one call of `afflux` in a separate process with limited memory and time, so that a fuzzer
can try thousands of inputs.

The process is forked from a process that has imported everything, so a case takes only
milliseconds.
"""

import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from afflux import cli

#: Limits of a case: address space in bytes, and processor time in seconds. A check of 1.5 million
#: flows takes 25 s.
MEMORY = 6_000_000_000
SECONDS = 60
#: Limit of a case's wall time, as a multiple of its processor time limit. The machine may be busy
#: with other things, but a case that waits forever must end.
PATIENCE = 10


@dataclass(frozen=True)
class Ended:
    """Result of a call."""

    #: Exit code, or minus the signal number, as a shell shows it.
    code: int
    #: Text on stderr.
    said: str
    #: Text on stdout.
    told: str
    #: Processor time in seconds.
    seconds: float
    peak_bytes: int
    #: True if the call was stopped because it took too long.
    late: bool = False

    def wrong(self, *names: str, exits: Sequence[int] = (0, 2)) -> str | None:
        """Returns why this is not a clean run or a clean refusal that names one of the files. None
        if it is clean."""
        if self.late:
            return f"not done after {self.seconds:.0f} s"
        if self.code not in exits:
            return f"exit code {self.code}" if self.code >= 0 else f"ended by signal {-self.code}"
        for sign in (
            "Traceback (most recent call last)",
            "panicked at",
            "internal error",
            "PanicException",
        ):
            if sign in self.said:
                return sign
        if self.code == 2 and not any(name in self.said for name in names):
            return "the refusal does not name the file"
        if len(self.said) > 4_000:
            return f"a message of {len(self.said)} characters"
        return None


def call(
    arguments: Sequence[str], *, folder: Path, memory: int = MEMORY, seconds: int = SECONDS
) -> Ended:
    """Runs `afflux` with `arguments` in `folder`."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as told:
        child = os.fork()
        if child == 0:
            _child(arguments, folder, memory, seconds, said.fileno(), told.fileno())
        late = False
        while True:
            ended, status, usage = os.wait4(child, os.WNOHANG)
            if ended:
                break
            if time.monotonic() - began > PATIENCE * seconds:
                late = True
                os.kill(child, signal.SIGKILL)
                _, status, usage = os.wait4(child, 0)
                break
            time.sleep(0.002)
        texts = []
        for file in (said, told):
            file.seek(0)
            texts.append(file.read(1_000_000).decode(errors="replace"))
    code = os.waitstatus_to_exitcode(status)
    late = late or code == -signal.SIGXCPU
    return Ended(code, *texts, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, late)


def _child(
    arguments: Sequence[str], folder: Path, memory: int, seconds: int, said: int, told: int
) -> None:
    """Runs the call in the child process. Never returns."""
    code = 70
    try:
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream, target in ((0, nothing), (1, told), (2, said)):
            os.dup2(target, stream)
        # A test runner may have replaced the streams.
        sys.stdout, sys.stderr = (
            os.fdopen(1, "w", errors="backslashreplace"),
            os.fdopen(2, "w", errors="backslashreplace"),
        )
        sys.argv = ["afflux", *arguments]
        try:
            cli.app()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else (0 if end.code is None else 1)
        except BaseException:
            import traceback

            traceback.print_exc()
            code = 70
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
