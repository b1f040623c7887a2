"""Where memory ends in the middle of a command, there is a message and no half-written result. `make fuzz` tries more (fuzz/memory.py)."""

from fuzz import memory
from fuzz.isolated import Ended


def test_too_little_memory_leaves_no_half_result():
    counts, found = memory.run(seed=1, count=12)
    assert found == []
    # The limits reach both sides: some calls fail, others do not.
    assert counts["runs"]
    assert counts["refuses"] + counts["aborts with a message"]


def test_a_half_result_would_be_found(tmp_path):
    (tmp_path / memory.RESULT).mkdir()
    failed = Ended(code=1, said="error: no memory", told="", seconds=0.1, peak_bytes=0)
    assert memory.unclean(failed, tmp_path) == "fails, and leaves a result directory"
    killed = Ended(code=-11, said="", told="", seconds=0.1, peak_bytes=0)
    assert memory.unclean(killed, tmp_path) == "ended by signal 11"
