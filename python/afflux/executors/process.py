"""Runs the process that simulates one point (`afflux.worker`). A crash of it affects no other
point."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import _core
from ..worker import BUILD, known


@dataclass(frozen=True)
class Order:
    """A scenario to simulate, and the directory for the result."""

    #: The resolved scenario. Inputs have absolute paths and hashes, so an executor uses the same
    #: inputs or refuses the order.
    text: str
    #: The scenario file, for messages.
    path: str
    #: Result directory. An existing one is replaced.
    out: str
    #: The files that the scenario names, by the SHA-256 of their content.
    inputs: Mapping[str, str] = field(default_factory=dict)
    #: Directory that holds the inputs under their SHA-256. None: they are read from the paths in
    #: the scenario.
    store: str | None = None


@dataclass(frozen=True)
class Answer:
    """The outcome of an order."""

    wall_s: float
    #: Error message; None if the simulation succeeded.
    error: str | None = None
    #: Values of the summary, and the version and build of afflux that made it.
    said: dict[str, Any] = field(default_factory=dict)


class Process:
    """Simulates an order in a process. The process ends when its pipe closes, so it also ends when
    its parent is killed."""

    def __init__(self, order: Order) -> None:
        self.share = 0.0
        self._out = order.out
        self._began, self._rest = time.monotonic(), b""
        self._answer: dict[str, Any] | None = None
        # A file, because nobody reads a pipe while the worker runs, and a full one would stop it.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            # -P: modules are not taken from the current directory, where a user's json.py may be.
            [sys.executable, "-P", "-m", "afflux.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C reaches only the parent, which stops the workers
            env=_environment(),
        )
        assert self._process.stdin
        assert self._process.stdout
        self.output = self._process.stdout
        with suppress(BrokenPipeError):  # the worker has already ended: `answer` has the reason
            self._process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
            self._process.stdin.flush()

    def read(self) -> bool:
        """Reads messages of the process. Returns False when the process has ended."""
        data = os.read(self.output.fileno(), 65_536)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            self.share = said.get("share", self.share)
            self._answer = said.get("answer", self._answer)
        return bool(data)

    def answer(self) -> Answer:
        """Returns the outcome after the process has ended."""
        code = self._process.wait()
        # The last lines: the reason of a crash, which follows what a user's class has printed.
        self._errors.seek(max(self._errors.seek(0, os.SEEK_END) - 1_000, 0))
        words = self._errors.read().decode(errors="replace").strip()
        self._close()
        if code != 0:
            self._clear()
        wall = round(time.monotonic() - self._began, 3)
        if code == 0 and self._answer and "error" not in self._answer:
            return Answer(wall, said=self._answer)
        how = (
            f"the process was ended by signal {-code}"
            if code < 0
            else f"the process ended with code {code}"
        )
        return Answer(
            wall,
            (self._answer or {}).get("error") or (f"{how}: {words}" if words else how),
        )

    def kill(self) -> None:
        """Kills the process. The reader of its messages sees the end."""
        self._process.kill()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()
        self._clear()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _clear(self) -> None:
        """Removes the partial result of a crashed worker. The next run removes the rest."""
        with suppress(_core.Error, OSError):
            _core.clear(self._out)


def _environment() -> dict[str, str]:
    """Returns the environment of a worker. `AFFLUX_FAULT` injects a fault into this process,
    `AFFLUX_WORKER_FAULT` into a worker (docs/dev/faults.md)."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("AFFLUX_FAULT", "AFFLUX_WORKER_FAULT")
    }
    if fault := os.environ.get("AFFLUX_WORKER_FAULT"):
        environment["AFFLUX_FAULT"] = fault
    return environment | {BUILD: "".join(known())}
