"""Durations of `make test`: a test that takes too long fails, and all durations are kept."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import LIMIT, Stopwatch, group

from tests import suite

pytest_plugins = ["pytester"]


def test_a_long_test_fails_unless_it_is_marked(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    hooks = (
        Path(__file__)
        .with_name("conftest.py")
        .read_text(encoding="utf-8")
        .replace(f"LIMIT = {LIMIT}", "LIMIT = 0.2")
    )
    assert "LIMIT = 0.2" in hooks
    pytester.makeconftest(hooks)
    pytester.makeini("[pytest]\nmarkers =\n  slow: x\n  realtime: x\n")
    sleep = "import time, pytest\n{mark}\ndef test_it():\n    time.sleep(0.5)\n"
    pytester.makepyfile(
        test_long=sleep.format(mark=""),
        test_marked=sleep.format(mark="@pytest.mark.slow"),
        test_short="def test_it():\n    pass\n",
    )
    done = pytester.runpytest("-p", "no:xdist")
    done.assert_outcomes(passed=3, errors=1)
    done.stdout.fnmatch_lines(
        ["*test_long.py::test_it took * s, more than 0.2: make it shorter, or mark it `slow`*"]
    )


def test_a_wait_for_a_processor_is_not_the_tests():
    # 30 s, of which 5 s are waits for a processor, with children of 2 s that waited at most four
    # times as long.
    assert Stopwatch.alone(wall=30, waited=5, own=9, children=2, stalled=25) == 30 - 5 - 8
    # With ten processes for each processor, children wait up to ten times their processor time.
    assert (
        Stopwatch.alone(wall=40, waited=5, own=9, children=2, stalled=25, crowd=10) == 40 - 5 - 20
    )
    # On a kernel that does not count the wait, it may have been as long as the 9 s of own processor
    # time.
    assert Stopwatch.alone(wall=30, waited=0, own=9, children=0, stalled=25) == 30 - 9
    # A sleeping test uses no processor time.
    assert Stopwatch.alone(wall=30, waited=0, own=0, children=0, stalled=25) == 30


@pytest.mark.skipif(
    not [*Path("/proc/self/task").glob("*/children")], reason="the kernel lists no children"
)
def test_a_stopwatch_knows_the_processor_time_of_running_children():
    """A browser runs on after a test, so its time is not yet that of an ended child."""
    work = "while True: pass"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"
    watch = Stopwatch()
    with subprocess.Popen([sys.executable, "-c", child], start_new_session=True) as process:
        try:
            deadline = time.monotonic() + 30
            while watch.children() < 0.5 and time.monotonic() < deadline:
                time.sleep(0.05)
            seen = watch.children()
            assert seen >= 0.5
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert watch.children() >= seen
    # The next test's stopwatch starts at nothing.
    assert Stopwatch().children() < 0.5


def test_a_stopwatch_counts_sleep():
    watch = Stopwatch()
    time.sleep(0.2)
    # A busy machine may wake the test late.
    assert 0.15 < watch.seconds() < 10


def test_tests_that_share_a_fixture_of_their_module_stay_together():
    assert group("tests/test_findings.py::test_q1") == "tests/test_findings.py"
    assert group("tests/test_cli.py::test_version") == "tests/test_cli.py::test_version"


def test_binaries_of_rust_tests_are_found_in_the_messages_of_cargo(tmp_path: Path):
    def message(kind: str, name: str, test: bool, executable: str | None) -> str:
        target = {"kind": [kind], "name": name}
        manifest = str(tmp_path / "net" / "Cargo.toml")
        rest = {
            "target": target,
            "profile": {"test": test},
            "executable": executable,
            "manifest_path": manifest,
        }
        return json.dumps({"reason": "compiler-artifact", **rest})

    lines = [
        message("lib", "afflux_net", True, "/x/net"),
        message("test", "it", True, "/x/it"),
        message("lib", "afflux_net", False, None),
        "no JSON",
    ]
    found = list(suite.binaries("\n".join(lines)))
    assert [(one.name, str(one.path), one.folder) for one in found] == [
        ("net-lib", "/x/net", tmp_path / "net"),
        ("net-it", "/x/it", tmp_path / "net"),
    ]


def test_failed_tests_are_named_at_the_end(pytester: pytest.Pytester):
    """A log of many tests ends with the names of the failed ones."""
    pytester.makeconftest("")
    pytester.makepyfile(
        test_some="""
            import pytest

            @pytest.fixture
            def broken():
                yield
                raise ValueError("left open")

            def test_right():
                pass

            def test_wrong():
                assert 1 == 2, "one is not two"

            def test_torn(broken):
                pass
        """
    )
    file = pytester.path / "tests.xml"
    pytester.runpytest("-p", "no:xdist", f"--junitxml={file}")
    wrong, torn = suite.python_failures(file)
    assert wrong == "test_some.py::test_wrong: AssertionError: one is not two"
    assert torn.startswith("test_some.py::test_torn: failed on teardown with ")
    assert "left open" in torn
    assert len(suite.python_durations(file)) == 3
    assert not [*suite.python_failures(pytester.path / "none.xml")]


def test_a_long_rust_test_fails_the_suite():
    tests = {"quick": 0.1, "long": suite.LIMIT + 5}
    (told,) = suite.too_long(
        suite.Binary(
            "net-lib", Path("net"), Path(), seconds=30, cpu_s=30 * suite.PROCESSES, tests=tests
        )
    )
    assert told.startswith("net-lib long took 25 s, more than 20")
    # With half of the processors, the same work would have taken half as long on an idle machine.
    assert (
        list(
            suite.too_long(
                suite.Binary(
                    "net-lib",
                    Path("net"),
                    Path(),
                    seconds=30,
                    cpu_s=15 * suite.PROCESSES,
                    tests=tests,
                )
            )
        )
        == []
    )


def test_durations_of_a_junit_file(tmp_path: Path):
    file = tmp_path / "x.xml"
    file.write_text(
        '<testsuites><testsuite><testcase classname="tests.test_x" name="test_it[a]" time="1.5"/>'
        '<testcase classname="tests.test_y" name="test_it" time="0.25"/></testsuite></testsuites>'
    )
    assert suite.python_durations(file) == {
        "tests/test_x.py::test_it[a]": 1.5,
        "tests/test_y.py::test_it": 0.25,
    }
    assert suite.python_durations(tmp_path / "none.xml") == {}
