"""The process that simulates one point: reads an order from standard input, writes progress and outcome to standard output."""

import json
import os
import sys
import threading
from typing import Any

from .. import __version__, _core
from ..files import plain
from .process import build


def main() -> None:
    order = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        loaded = _core.parse(order["text"], order["path"], store=order["store"])
        run = loaded.run(order["out"], repair=True, on_progress=lambda progress: _say(share=_share(loaded, progress)), interval=0.5, whole_process=True)
        summary = json.loads(run.summary)
        if summary["early_end"]:
            raise _core.RunError(summary["notes"][-1])
        made_by = {"scenario_hash": loaded.hash, "afflux_version": __version__, "build": build()}
        _say(answer={key: summary[key] for key in ("result_hash", "peak_rss_bytes", "packet_hops")} | made_by)
    except (_core.Error, OSError, MemoryError) as error:
        _say(answer={"error": plain.words(error)})


def _end_with_parent() -> None:
    """The parent holds the other end of the pipe. When the parent has ended, no process waits for the result."""
    while os.read(sys.stdin.fileno(), 4_096):  # not through the buffer, whose lock would be held when the interpreter ends
        pass
    os._exit(1)


def _share(loaded: _core.Scenario, progress: _core.Progress) -> float:
    by_time = progress.now_ns / loaded.until_ns if loaded.until_ns else 0.0
    by_flows = progress.flows_finished / loaded.flows if loaded.flows else 0.0
    return min(max(by_time, by_flows), 1.0)


def _say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
