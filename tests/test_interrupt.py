"""Signals such as Ctrl-C: at every instant the command ends with exit code 128 + the signal's
number, without a traceback and without half-written files."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import INCAST, REPO

import afflux
from fuzz.kills import is_heeding

#: A scenario that runs far longer than any test waits.
FOREVER = (
    INCAST[: INCAST.index("[[traffic]]")]
    + '[[traffic]]\nkind = "datagram"\npairs = [[1, 0], [2, 3]]\nrate = "9Gbps"\nduration = "60s"\n'
)
BULK = '[[traffic]]\nkind = "random"\nload = 0.8\nload_basis = "host_payload"\nsizes = "websearch"\nflows = 60_000\n'
STAR = 'format = 1\nname = "small"\n[topology]\nkind = "star"\nhosts = 32\nrate = "10Gbps"\ndelay = "1us"\n'
#: One scenario for every kind of engine.
ENGINES = {
    "windows": FOREVER,
    "classical": FOREVER + '[run]\nengine = "classical"\n',
    "pfabric": (REPO / "benches" / "leaf-spine-pfabric.toml")
    .read_text()
    .replace('"20ms"', '"2s"')
    .replace('name = "leaf-spine-pfabric"', 'name = "small"'),
    "ideal": STAR + '[run]\nengine = "ideal"\n' + BULK.replace("60_000", "400_000"),
}
#: Seconds after which an expected event counts as missing.
PATIENCE = 60

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="needs /proc to see which signals a process handles",
)


def heed() -> None:
    """Ends a child process at SIGINT. A background test runner may ignore the signal, which child
    processes inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(arguments: Sequence[object], cwd: Path, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed,
    )


def wait_until(what, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "it does not come about"
        time.sleep(0.01)


def ended(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> str:
    """Sends the signal, and returns the output on stdout until the end of the process."""
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    # A batch that takes long to check its points prints its progress.
    said = [
        line for line in err.splitlines() if not line.endswith(" of scenarios and results checked")
    ]
    if process.returncode == 0:  # it had finished before the signal
        assert said == []
    else:
        assert (process.returncode, said) == (
            128 + number,
            ["interrupted" if number == signal.SIGINT else "terminated"],
        )
    return out


def nothing_half_written(out: Path) -> None:
    for dir in out.iterdir() if out.exists() else []:
        assert not dir.name.startswith("."), f"{dir} was left"
        afflux.Result.open(dir).check()


@needs_proc
def test_ctrl_c_at_many_instants(scenario, tmp_path):
    file = scenario()
    for instant in range(12):
        process = start(["afflux", "run", file, "--force"], tmp_path)
        wait_until(lambda process=process: is_heeding(process.pid), process)
        time.sleep(0.03 * instant)
        ended(process, (signal.SIGINT, signal.SIGTERM)[instant % 2])
        nothing_half_written(tmp_path / "out")


@needs_proc
@pytest.mark.parametrize("engine", ENGINES)
def test_ctrl_c_while_simulating(engine, scenario, tmp_path):
    file = scenario(text=ENGINES[engine])
    process = start(["afflux", "run", file], tmp_path)
    wait_until(lambda: any((tmp_path / "out").glob(".*.partial-*")), process)
    time.sleep(0.1)
    ended(process)
    assert process.returncode == 130
    assert list((tmp_path / "out").iterdir()) == []


@needs_proc
def test_ctrl_c_while_flows_are_drawn(scenario, tmp_path):
    file = scenario(
        text=STAR + BULK.replace("60_000", "9_000_000") + '[run]\nmax_memory = "200GB"\n'
    )
    process = start(["afflux", "check", file], tmp_path)
    wait_until(lambda: is_heeding(process.pid), process)
    time.sleep(0.4)
    began = time.monotonic()
    ended(process)
    assert process.returncode == 130
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("fault", ["INT@2", "TERM@9", "INT@25", "TERM@36"])
def test_signals_while_files_are_written(fault, scenario, tmp_path):
    process = start(["afflux", "run", scenario(), "--force"], tmp_path, AFFLUX_FAULT=fault)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (
        (130, "interrupted\n") if fault.startswith("INT") else (143, "terminated\n")
    ), out
    nothing_half_written(tmp_path / "out")


def workers(marked: str) -> list[int]:
    """Returns the processes that simulate points for this test."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (
                marked.encode() in (entry / "environ").read_bytes()
                and b"afflux.worker" in (entry / "cmdline").read_bytes()
            ):
                found.append(int(entry.name))
        except OSError:  # it has ended, or belongs to another user
            continue
    return found


@needs_proc
@pytest.mark.parametrize(
    "arguments",
    [
        [
            "afflux",
            "sweep",
            "small.toml",
            "--vary",
            "switch.buffer=9packets,90packets",
            "-o",
            "out",
        ],
        [
            "afflux",
            "tune",
            "small.toml",
            "--vary",
            "switch.buffer=9packets..90packets",
            "--objective",
            "fct_p99",
            "--seeds",
            "1-2",
            "-o",
            "out",
        ],
        ["afflux", "demo"],
        ["afflux.demo"],
    ],
    ids=["sweep", "tune", "demo", "module"],
)
def test_workers_end_with_the_command(arguments, scenario, tmp_path):
    scenario(text=FOREVER)
    mark = f"AFFLUX_TEST={tmp_path}"
    process = start(arguments, tmp_path, AFFLUX_TEST=str(tmp_path))
    wait_until(lambda: len(workers(mark)) > 1 or (os.cpu_count() == 1 and workers(mark)), process)
    wait_until(lambda: any((tmp_path / "out").rglob(".*.partial-*")), process)
    ended(process, signal.SIGTERM)
    assert process.returncode == 143
    assert workers(mark) == []
    assert [path.name for path in (tmp_path / "out").rglob(".*")] == [".lock"]


PROGRAM = """
import sys, time
from afflux import signals
signals.install()
with signals.working():
    {}
"""


def program(text: str, tmp_path: Path) -> subprocess.Popen[str]:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(text.replace("\n", "\n    ")))
    return subprocess.Popen(
        [sys.executable, file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed,
    )


def test_a_signal_that_cannot_be_raised_is_raised_later(tmp_path):
    text = """
class Swallowing:
    def __del__(self):
        print("here", flush=True)
        time.sleep(60)
Swallowing()
time.sleep(60)"""
    process = program(text, tmp_path)
    assert process.stdout.readline() == "here\n"
    ended(process)
    assert process.returncode == 130
    swallowed = "print('here', flush=True)\ntry:\n    time.sleep(60)\nexcept BaseException:\n    pass\nwhile True:\n    time.sleep(0.01)\n    signals.check()"
    process = program(swallowed, tmp_path)
    assert process.stdout.readline() == "here\n"
    ended(process)
    assert process.returncode == 130


def test_a_second_signal_lets_clean_up_and_a_later_one_does_not(tmp_path):
    process = program(
        "try:\n    print('here', flush=True); time.sleep(60)\nfinally:\n    time.sleep(0.3); print('clean', flush=True)",
        tmp_path,
    )
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    assert ended(process) == "clean\n"
    process = program(
        "try:\n    print('here', flush=True); time.sleep(60)\nfinally:\n    print('slow', flush=True); time.sleep(60)",
        tmp_path,
    )
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "slow\n"
    time.sleep(1.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 143


def test_what_is_ignored_stays_ignored(scenario, tmp_path):
    command = [sys.executable, "-m", "afflux", "run", str(scenario())]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    time.sleep(0.15)
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")


def test_importing_leaves_signals_alone():
    """A program that uses the package keeps its own signal handlers and Python's default Ctrl-C."""
    text = "import signal, afflux; afflux.load; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler; import afflux.cli"
    text += "; assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL; from afflux import signals; signals.check()"
    subprocess.run([sys.executable, "-c", text], check=True, timeout=PATIENCE)


def test_the_program_heeds_signals_before_it_imports_the_rest():
    """Few modules are imported before the signal handlers are set, so a Python traceback can appear
    only during Python's own start."""
    text = "import sys; before = {*sys.modules}; from afflux import __main__; print(*sorted({*sys.modules} - before))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", text],
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    ours = [name for name in done.stdout.split() if name.startswith("afflux")]
    assert ours == ["afflux", "afflux.__main__", "afflux.signals", "afflux.streams"]
    script = (REPO / "pyproject.toml").read_text()
    assert 'afflux = "afflux.__main__:main"' in script
