"""Process that simulates one point: reads an order from standard input, writes progress and outcome
to standard output. Prints of a user's class go to standard error.

Every point waits for this process to start. So this module imports little, and it is not in a
package whose `__init__` would import other modules.
"""

import json
import os
import sys
import threading
from functools import cache

from . import __version__, _core
from .files import plain

#: Environment variable that tells a worker the build. Otherwise every worker would hash the whole
#: simulator file, a quarter of its start-up time.
BUILD = "AFFLUX_BUILD"

#: File descriptor on which the parent reads progress and outcome.
_answers = 1


def main() -> None:
    global _answers
    _answers = os.dup(1)
    os.dup2(2, 1)
    order = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        loaded = _core.parse(order["text"], order["path"], store=order["store"])
        run = loaded.run(
            order["out"],
            repair=True,
            on_progress=lambda progress: _say(share=_share(loaded, progress)),
            interval=0.5,
            whole_process=True,
        )
        summary = json.loads(run.summary)
        if run.kernel_failure:
            raise _core.RunError(run.kernel_failure)
        if summary["early_end"]:
            raise _core.RunError(summary["notes"][-1])
        made_by = {"scenario_hash": loaded.hash, "afflux_version": __version__, "build": build()}
        _say(
            answer={key: summary[key] for key in ("result_hash", "peak_rss_bytes", "packet_hops")}
            | made_by
        )
    # ValueError: this machine lacks the image of a kernel.
    except (_core.Error, OSError, MemoryError, ValueError) as error:
        _say(answer={"error": plain.words(error)})


def _end_with_parent() -> None:
    """Ends the process when its parent has ended, because nobody waits for the result then. The
    parent holds the other end of the pipe on standard input."""
    # Not read through the buffer, whose lock would be held when the interpreter ends.
    while os.read(sys.stdin.fileno(), 4_096):
        pass
    os._exit(1)


def _share(loaded: _core.Scenario, progress: _core.Progress) -> float:
    by_time = progress.now_ns / loaded.until_ns if loaded.until_ns else 0.0
    by_flows = progress.flows_finished / loaded.flows if loaded.flows else 0.0
    return min(max(by_time, by_flows), 1.0)


def _say(**what: object) -> None:
    line = memoryview(json.dumps(what).encode() + b"\n")
    while line:
        line = line[os.write(_answers, line) :]


def build() -> str:
    """Returns the identifier of the simulator's build within a version."""
    return known()[1]


@cache
def known() -> tuple[str, str]:
    """Returns an identifier of the simulator file (path, size and modification time) and the build.
    The build is valid while the identifier stays the same."""
    path = str(_core.__file__)
    found = os.stat(path)
    file = f"{path}:{found.st_size}:{found.st_mtime_ns}:"
    told = os.environ.get(BUILD, "")
    return file, told.removeprefix(file) if told.startswith(file) else _digest(path)


def _digest(path: str) -> str:
    import hashlib  # imported here because workers, which are told the build, do not need it

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


if __name__ == "__main__":
    main()
