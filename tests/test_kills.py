"""Kills and full disks at chosen steps of writing: the next run ends with the table of an
uninterrupted run. `make fuzz` does this for hours (fuzz/kills.py)."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from given import defect

from afflux import batch
from fuzz import kills
from fuzz.kills import JOBS, Try

RUN, SWEEP, TUNE, STUDY = JOBS


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """Returns a function that gives the number of steps of a job and of one of its workers, and the
    result. Each job is evaluated once."""
    known = {}

    def of(job):
        if job.name not in known:
            known[job.name] = kills.steps(job, tmp_path_factory.mktemp("unbroken") / job.name)
        return known[job.name]

    return of


# Steps of a run: the lock, the new directory, then for each file: create, half a write, the other
# half, synchronise. At the end, counted from the last step backwards: unlock, remove leftovers,
# synchronise, rename.
@pytest.mark.parametrize("step", [1, 3, 8, -3, 0])
def test_a_run_killed_at_a_step(step, unbroken, tmp_path):
    own, _, expected = unbroken(RUN)
    one = Try(RUN, tmp_path / "run")
    assert one.run(fault=f"KILL@{step if step > 0 else own + step}").returncode == -signal.SIGKILL
    if (one.dir / "out").exists():
        assert RUN.outcome(one.dir, "") == expected
    assert one.outcome(one.run()) == expected


@pytest.mark.parametrize(
    ("job", "fault", "worker_fault"),
    [
        # Before and in the first manifest, then in the second.
        (SWEEP, "KILL@3", None),
        (SWEEP, "KILL@15", None),
        (SWEEP, None, "KILL@6"),
        (STUDY, "KILL@9", None),
        (TUNE, "KILL@9", None),
    ],
    ids=lambda value: value.name if isinstance(value, kills.Job) else value or "",
)
def test_a_batch_killed_at_a_step(job, fault, worker_fault, unbroken, tmp_path):
    expected = unbroken(job)[2]
    one = Try(job, tmp_path / job.name)
    done = one.run(fault, worker_fault)
    assert done.returncode == (1 if worker_fault else -signal.SIGKILL), done.stderr
    # Run again at once: workers of the killed process may still be alive.
    assert one.outcome(one.run()) == expected


@pytest.mark.parametrize("step", [1, 4, 20])
def test_a_full_disk_leaves_nothing(step, unbroken, tmp_path):
    one = Try(RUN, tmp_path / "run")
    done = one.run(fault=f"FULL@{step}")
    assert done.returncode == 1
    assert done.stderr.startswith("error: out")
    assert done.stderr.endswith(" cannot be written: No space left on device\n")
    assert done.stderr.count("\n") == 1
    assert [path.name for path in one.dir.iterdir()] == ["small.toml"]
    # An existing result is kept.
    assert one.outcome(one.run()) == unbroken(RUN)[2]
    assert one.run(fault=f"FULL@{step}").returncode == 1
    assert RUN.outcome(one.dir, "") == unbroken(RUN)[2]
    assert sorted(path.name for path in one.dir.iterdir()) == ["out", "small.toml"]


def test_a_disk_that_fills_up_in_a_sweep(unbroken, tmp_path):
    one = Try(SWEEP, tmp_path / "points")
    done = one.run(worker_fault="FULL@9")
    assert done.returncode == 1
    assert "cannot be written: No space left on device" in done.stderr
    assert one.outcome(one.run()) == unbroken(SWEEP)[2]
    one = Try(SWEEP, tmp_path / "manifest")
    done = one.run(fault="FULL@13")
    assert (done.returncode, done.stdout) == (1, "")
    assert "manifest.json: no space left on device" in done.stderr
    assert not [path for path in one.dir.rglob(".*") if path.name != ".lock"]
    assert one.outcome(one.run()) == unbroken(SWEEP)[2]


def test_a_file_that_may_not_grow(tmp_path):
    """Uses a limit of the system instead of an injected one, so that writes end in the middle."""
    one = Try(RUN, tmp_path / "run")
    command = ["bash", "-c", 'ulimit -f 4; exec "$@"', "bash", *RUN.command]
    done = subprocess.run(
        command, cwd=one.dir, capture_output=True, text=True, timeout=kills.PATIENCE
    )
    assert (done.returncode, done.stderr) == (
        1,
        "error: out/flows.parquet cannot be written: File too large\n",
    )
    assert [path.name for path in one.dir.iterdir()] == ["small.toml"]


def test_two_writers_of_one_directory(tmp_path):
    one = Try(RUN, tmp_path / "run")
    (one.dir / "sleeper.py").write_text(kills.SLEEPER)
    long = (
        kills.SCENARIO.replace("rounds = 2", "rounds = 1_000")
        + '[host.python]\nfile = "sleeper.py"\nparameters = { seconds = 0.02 }\n'
    )
    (one.dir / "long.toml").write_text(long)
    first = subprocess.Popen(
        [*kills.AFFLUX, "run", "long.toml", "-o", "out"],
        cwd=one.dir,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until = time.monotonic() + kills.PATIENCE
        while not list(one.dir.glob(".out.partial-*")) and time.monotonic() < until:
            time.sleep(0.01)
        there = sorted(path.name for path in one.dir.iterdir())
        second = one.run()  # with --force
        assert second.returncode == 1
        assert (
            second.stderr
            == "error: out is being written by another run: wait for its end, or choose another directory with -o\n"
        )
        assert sorted(path.name for path in one.dir.iterdir()) == there
    finally:
        first.terminate()
        first.communicate(timeout=kills.PATIENCE)
    assert one.run().returncode == 0
    assert sorted(path.name for path in one.dir.iterdir()) == [
        "long.toml",
        "out",
        "sleeper.py",
        "small.toml",
    ]


def as_anybody() -> None:
    """Drops the rights by which root may write everywhere (CAP_DAC_OVERRIDE,
    CAP_DAC_READ_SEARCH).
    """
    libc = ctypes.CDLL(None)
    libc.prctl(24, 1)
    libc.prctl(24, 2)


IN_ONE_PROCESS = """
import json, sys
from typer.testing import CliRunner
from afflux import cli

ended = [CliRunner().invoke(cli.app, arguments) for arguments in json.loads(sys.argv[1])]
print(json.dumps([(one.exit_code, one.stderr) for one in ended]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="drops rights in Linux's manner")
def test_places_that_cannot_be_written(tmp_path):
    one = Try(RUN, tmp_path / "run")
    (one.dir / "closed").mkdir(mode=0o555)
    (one.dir / "file").write_text("mine")
    (one.dir / "link").symlink_to("nowhere")
    sweep = ("sweep", "small.toml", "--vary", "switch.buffer=9packets")
    wanted = [
        (
            ("run", "small.toml", "-o", "closed/x"),
            1,
            "error: closed/x cannot be written: Permission denied\n",
        ),
        (
            ("run", "small.toml", "-o", "closed/y/x"),
            1,
            "error: closed/y/x cannot be written: Permission denied\n",
        ),
        (
            ("run", "small.toml", "-o", "file"),
            2,
            "error: file exists; choose another directory with -o, or --force to replace it\n",
        ),
        (
            ("run", "small.toml", "-o", "file", "--force"),
            2,
            "error: file is not a result directory (it has no summary.json); --force replaces only results\n",
        ),
        (
            ("run", "small.toml", "-o", "file/x"),
            2,
            "error: file/x cannot be made: a part of its path is a file; choose another directory with -o\n",
        ),
        (
            ("run", "small.toml", "-o", "link", "--force"),
            2,
            "error: link is not a result directory (it has no summary.json); --force replaces only results\n",
        ),
        ((*sweep, "-o", "closed/x"), 2, f"error: {one.dir}/closed/x: permission denied\n"),
        ((*sweep, "-o", "file"), 2, "error: file is a file: name a directory\n"),
        ((*sweep, "-o", "file/x"), 2, f"error: {one.dir}/file is a file: name a directory\n"),
        (
            (*sweep, "-o", "."),
            2,
            "error: . has files (closed, file, link, …) but no points/manifest.json: choose another directory, or empty it\n",
        ),
    ]
    # One process without these rights runs all commands.
    program = [
        sys.executable,
        "-c",
        IN_ONE_PROCESS,
        json.dumps([arguments for arguments, _, _ in wanted]),
    ]
    done = subprocess.run(
        program,
        cwd=one.dir,
        capture_output=True,
        text=True,
        timeout=kills.PATIENCE,
        preexec_fn=as_anybody,
    )
    assert done.returncode == 0, done.stderr
    assert [tuple(ended) for ended in json.loads(done.stdout)] == [
        (code, words) for _, code, words in wanted
    ]
    assert sorted(path.name for path in one.dir.iterdir()) == [
        "closed",
        "file",
        "link",
        "small.toml",
    ]
    assert not list((one.dir / "closed").iterdir())


def test_what_a_link_points_to_is_replaced(tmp_path):
    one = Try(RUN, tmp_path / "run")
    assert one.run().returncode == 0
    (one.dir / "out").rename(one.dir / "elsewhere")
    (one.dir / "out").symlink_to("elsewhere")
    before = (one.dir / "elsewhere" / "summary.json").stat().st_ino
    assert one.run().returncode == 0
    assert (one.dir / "out").is_symlink()
    assert (one.dir / "elsewhere" / "summary.json").stat().st_ino != before
    assert sorted(path.name for path in one.dir.iterdir()) == ["elsewhere", "out", "small.toml"]


def test_what_we_leave_is_ours_and_anything_else_is_not(tmp_path):
    points = tmp_path / "out" / "points"
    assert batch.home(tmp_path / "out") == points
    points.mkdir(parents=True)
    for name in (".lock", ".a-1.lock", ".manifest.json.partial-12ab", ".manifest.json.partial"):
        (points / name).touch()
    (points / ".a-1.partial-7").mkdir()
    (tmp_path / "out" / ".sweep.csv.partial-12ab").touch()
    (tmp_path / "small.toml").write_text(kills.SCENARIO)
    outcome = batch.run(
        [batch.Point("a", tmp_path / "small.toml", seed=1)], batch.home(tmp_path / "out")
    )
    assert list(outcome.results) == [("a", 1)]
    assert sorted(path.name for path in points.iterdir()) == [".lock", "a-1", "manifest.json"]
    (points / "manifest.json").unlink()
    with pytest.raises(ValueError, match=r"a-1.* but no manifest\.json"):
        batch.run([batch.Point("a", tmp_path / "small.toml", seed=1)], points)
    (tmp_path / "out" / "thesis.tex").touch()
    with pytest.raises(ValueError, match=r"thesis\.tex.* but no points/manifest\.json"):
        batch.home(tmp_path / "out")


def test_a_sweep_killed_before_its_first_point(tmp_path):
    """Uses the file that revealed the defect: captures and series make its first point take a
    while."""
    command = [
        *kills.AFFLUX,
        "sweep",
        defect("sweep.toml"),
        "--vary",
        "switch.buffer=200kB,2MB",
        "--set",
        "traffic.0.duration=1ms",
        "-o",
        "out",
    ]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {kills.MARK: str(tmp_path)},
    )
    until = time.monotonic() + kills.PATIENCE
    while (
        not list((tmp_path / "out").rglob(".*.partial-*"))
        and process.poll() is None
        and time.monotonic() < until
    ):
        time.sleep(0.002)
    process.kill()
    process.communicate(timeout=kills.PATIENCE)
    again = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=kills.PATIENCE
    )
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "out" / "sweep.csv").exists()
    assert not [path for path in (tmp_path / "out").rglob(".*") if path.name != ".lock"]


# Starts a cluster of processes, one of which is killed and replaced.
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to see which workers are busy")
def test_a_dask_worker_killed_in_the_middle_of_a_point(tmp_path):
    pytest.importorskip("distributed", reason="needs the Python package distributed")
    kills.kill_dask_workers(tmp_path / "dask", kills=1, seed=1, points=4, workers=2, asleep=True)
