"""A process that simulates one point (`afflux.executors.worker`): whatever happens to it, nothing else is touched."""

import hashlib
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .. import _core


@dataclass(frozen=True)
class Order:
    """What is to be simulated, and where the result goes."""

    #: The resolved scenario: inputs have absolute paths and hashes, so whoever carries it out finds the same ones or refuses.
    text: str
    #: The scenario file, for messages.
    path: str
    #: The result directory; one that exists is replaced.
    out: str


@dataclass(frozen=True)
class Answer:
    """What came of an order."""

    wall_s: float
    #: None: it went well.
    error: str | None = None
    #: Of the summary, and of the afflux that made it.
    said: dict[str, Any] = field(default_factory=dict)


class Process:
    """Simulates an order. It ends when the pipe to it closes, so also when this process is killed."""

    def __init__(self, order: Order) -> None:
        self.share = 0.0
        self._out = order.out
        self._began, self._rest = time.monotonic(), b""
        self._answer: dict[str, Any] | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-m", "afflux.executors.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us; we stop the workers
            env=_environment(),
        )
        assert self._process.stdin
        assert self._process.stdout
        self.output = self._process.stdout
        with suppress(BrokenPipeError):  # it is dead already: `answer` tells
            self._process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
            self._process.stdin.flush()

    def read(self) -> bool:
        """Takes what it says; false when it has ended."""
        data = os.read(self.output.fileno(), 65_536)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            self.share = said.get("share", self.share)
            self._answer = said.get("answer", self._answer)
        return bool(data)

    def answer(self) -> Answer:
        """What came of it, once it has ended."""
        assert self._process.stderr
        # It writes there only when it dies.
        words = self._process.stderr.read().decode(errors="replace").strip()
        code = self._process.wait()
        self._close()
        if code != 0:
            self._clear()
        wall = round(time.monotonic() - self._began, 3)
        if code == 0 and self._answer and "error" not in self._answer:
            return Answer(wall, said=self._answer)
        how = f"the process was ended by signal {-code}" if code < 0 else f"the process ended with code {code}"
        return Answer(wall, (self._answer or {}).get("error") or (f"{how}: {words[-1_000:]}" if words else how))

    def kill(self) -> None:
        """Ends it; whoever reads what it says notices."""
        self._process.kill()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()
        self._clear()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _clear(self) -> None:
        """It could not clean up after itself. What cannot be removed is found by the next run."""
        with suppress(_core.Error, OSError):
            _core.clear(self._out)


def _environment() -> dict[str, str]:
    """Faults of tests (docs/dev/faults.md) are for this process, or for its workers."""
    environment = {name: value for name, value in os.environ.items() if name not in ("AFFLUX_FAULT", "AFFLUX_WORKER_FAULT")}
    if fault := os.environ.get("AFFLUX_WORKER_FAULT"):
        environment["AFFLUX_FAULT"] = fault
    return environment


@cache
def build() -> str:
    """Tells one build of the simulator from another of the same version."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:16]
