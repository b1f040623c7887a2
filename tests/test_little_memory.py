"""A command that runs out of memory prints a message and leaves no half-written result. `make fuzz`
tries more cases (fuzz/memory.py)."""

import subprocess
import sys

from conftest import REPO, as_many

from fuzz import memory
from fuzz.isolated import Ended


def test_too_little_memory_leaves_no_half_result():
    # Runs in a separate process, because a process that has run other tests has free memory to
    # reuse.
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.memory", "--seed", "1", "--count", str(as_many(8))],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # The limits cover both outcomes: some calls fail, others do not.
    assert "runs" in done.stdout
    assert "refuses" in done.stdout or "aborts with a message" in done.stdout


def test_a_half_result_would_be_found(tmp_path):
    (tmp_path / memory.RESULT).mkdir()
    failed = Ended(code=1, said="error: no memory", told="", seconds=0.1, peak_bytes=0)
    assert memory.unclean(failed, tmp_path) == "fails, and leaves a result directory"
    killed = Ended(code=-11, said="", told="", seconds=0.1, peak_bytes=0)
    assert memory.unclean(killed, tmp_path) == "ended by signal 11"
