"""Stopping a run: Ctrl-C ends it soon and cleanly; a kill leaves nothing that looks like a result."""

import functools
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import INCAST

import afflux

#: A minute of simulated time: far longer than any test waits.
LONG = INCAST[: INCAST.index("[[traffic]]")] + '[[traffic]]\nkind = "datagram"\npairs = [[1, 0], [2, 3]]\nrate = "9Gbps"\nduration = "60s"\n'


def start(file: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "afflux", "run", str(file), *options]
    # What runs the tests in the background may have it ignored, which is inherited.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(command, cwd=file.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed)


def wait_until_running(process: subprocess.Popen[str], file: Path) -> None:
    for _ in range(3_000):
        if any((file.parent / "out").glob(".*.partial-*")):
            return
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    pytest.fail("the run does not start")


def test_ctrl_c(scenario):
    file = scenario(text=LONG)
    process = start(file)
    wait_until_running(process, file)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert (out, err) == ("", "interrupted\n")
    assert list((file.parent / "out").iterdir()) == []


def test_kill_while_simulating(scenario, command):
    file = scenario(text=LONG)
    process = start(file)
    wait_until_running(process, file)
    process.kill()
    process.communicate()
    assert not (file.parent / "out/small-1").exists()
    # The next run of the same name is not hindered, and clears away what was left.
    assert command("run", scenario()).returncode == 0
    assert [path.name for path in (file.parent / "out").iterdir()] == ["small-1"]


def test_kill_at_any_moment(scenario, command):
    file = scenario()
    began = time.monotonic()
    assert command("run", file, "-o", "reference").returncode == 0
    whole = time.monotonic() - began
    expected = afflux.Result.open(file.parent / "reference").summary["result_hash"]
    moments = random.Random(1)
    for _ in range(20):
        process = start(file, "--force")
        time.sleep(moments.uniform(0.5, 1.1) * whole)
        process.kill()
        process.communicate()
        dir = file.parent / "out" / "small-1"
        if dir.exists():  # then it is whole
            result = afflux.Result.open(dir)
            assert result.summary["result_hash"] == expected
            assert all(len(result.table(name)) for name in result.recorded)
