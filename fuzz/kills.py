"""Kills `run`, `sweep`, `tune` and a study at chosen steps of writing, and Dask workers in the
middle of points. Each must then finish soon, with the table of an uninterrupted run and without
leftovers.

    python -m fuzz.kills --count 200 --signals 100 --dask 20 --seed 1

A step is a change on disk (docs/dev/faults.md). The kill hits a random step of the process itself
or of a process that simulates a point, or it comes at a random time. An interrupted run is started
again with the same command, and may be killed once more. Ctrl-C and SIGTERM are sent in the same
way, and the command must then end quietly.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from afflux.batch.verification import verify

REPO = Path(__file__).resolve().parents[1]
#: Seconds after which a process counts as stuck.
PATIENCE = 120
#: Environment variable of all processes that belong to a try.
MARK = "AFFLUX_KILLS"

#: A scenario whose points take some milliseconds.
SCENARIO = """\
format = 1
name = "small"

[topology]
kind = "star"
hosts = 9
rate = "10Gbps"
delay = "1us"

[switch]
sharing = "static"
buffer = "30packets"

[host.transport]
min_rto = "1ms"

[[traffic]]
kind = "incast"
name = "query"
to = 0
senders = 8
bytes = "20kB"
rounds = 2
period = "5ms"
jitter = "1us"

[record]
ports = { interval = "100us" }
"""

#: A class for `[host.python]` that makes a point take a while with little processor time: each flow
#: sleeps once.
SLEEPER = """\
import time

import afflux


class Sleeper(afflux.CongestionControl):
    def __init__(self, seconds=0.004):
        self.seconds = seconds

    def on_ack(self, ack):
        if self.seconds:
            time.sleep(self.seconds)
            self.seconds = 0
        super().on_ack(ack)
"""

AFFLUX = (sys.executable, "-m", "afflux")
VARY = ("--vary", "switch.buffer=9packets,90packets", "--vary", "traffic.0.senders=4,8")


@dataclass(frozen=True)
class Job:
    """A command that can be killed and started again. It writes only to `out` in its directory."""

    name: str
    command: tuple[str, ...]
    #: Part of the directory and of the output that must be the same in the end, whatever happened.
    outcome: Callable[[Path, str], object]
    #: Exit codes of runs in which points were killed.
    broken: tuple[int, ...] = (1,)


JOBS = (
    Job(
        "run",
        (*AFFLUX, "run", "small.toml", "-o", "out", "--force"),
        lambda place, said: [
            json.loads((place / "out" / "summary.json").read_text())[key]
            for key in ("result_hash", "digests")
        ],
        (),
    ),
    Job(
        "sweep",
        (*AFFLUX, "sweep", "small.toml", *VARY, "-o", "out"),
        lambda place, said: (place / "out" / "sweep.csv").read_text(),
    ),
    Job(
        "tune",
        (
            *AFFLUX,
            "tune",
            "small.toml",
            "--vary",
            "switch.buffer=9packets..90packets",
            "--objective",
            "fct_p99",
            "--objective",
            "drops",
            "--budget",
            "2",
        )
        + ("--seeds", "1-2", "--no-sensitivity", "--json", "-o", "out"),
        # Killed points are retried only by the next search. The words of the last search depend on
        # them, so only its result is compared.
        lambda place, said: (said, (place / "out" / "best.toml").read_text()),
    ),
    Job(
        "study",
        (sys.executable, str(REPO / "tests" / "tiny_study.py"), "small.toml", "out", "2"),
        lambda place, said: (place / "out" / "study.json").read_text(),
        (0, 1),
    ),
)


class Stuck(AssertionError):
    pass


@dataclass
class Try:
    """A directory in which a job is run, killed and run again."""

    job: Job
    dir: Path

    def __post_init__(self) -> None:
        self.dir.mkdir(parents=True)
        (self.dir / "small.toml").write_text(SCENARIO)

    def start(
        self, fault: str | None = None, worker_fault: str | None = None
    ) -> subprocess.Popen[str]:
        environment = os.environ | {MARK: str(self.dir), "NO_COLOR": "1", "COLUMNS": "100"}
        environment |= {
            name: value
            for name, value in (("AFFLUX_FAULT", fault), ("AFFLUX_WORKER_FAULT", worker_fault))
            if value
        }
        return subprocess.Popen(
            self.job.command,
            cwd=self.dir,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, fault: str | None = None, worker_fault: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return finished(self.start(fault, worker_fault))

    def wait_for_workers(self) -> None:
        """Waits until the processes that a killed process started have ended, which they do without
        help."""
        until = time.monotonic() + PATIENCE
        while processes(self.dir):
            if time.monotonic() > until:
                raise Stuck(f"{self.dir}: processes {processes(self.dir)} do not end")
            time.sleep(0.01)

    def outcome(self, done: subprocess.CompletedProcess[str]) -> object:
        """Returns the outcome of the last run. Raises `AssertionError` if it failed or left files
        over."""
        assert done.returncode == 0, f"{self.dir}: {done.stderr}"
        left = [str(path) for path in self.dir.rglob(".*") if path.name != ".lock"]
        assert not left, f"left over: {left}"
        verified = verify(self.dir / "out")
        assert (verified.problems, verified.notes) == ([], []), verified
        return self.job.outcome(self.dir, done.stdout)


def finished(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    try:
        out, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Stuck(f"{process.args} does not end") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


def is_heeding(pid: int) -> bool:
    """True if the program handles signals itself. Before that, Python is still starting."""
    (line,) = [
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("SigCgt")
    ]
    return bool(int(line.split()[1], 16) & (1 << (signal.SIGTERM - 1)))


def processes(dir: Path) -> list[int]:
    """Returns the living processes that belong to a try."""
    wanted = f"{MARK}={dir}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (
                wanted in (entry / "environ").read_bytes().split(b"\0")
                and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
            ):
                found.append(int(entry.name))
        except OSError:  # it has ended, or belongs to another user
            continue
    return found


def steps(job: Job, dir: Path) -> tuple[int, int, object]:
    """Returns the number of steps of the process itself and of one of its workers, and the outcome
    of an uninterrupted run."""
    one = Try(job, dir)
    own, workers = dir / "own.trace", dir / "workers.trace"
    done = one.run(f"TRACE@{own}", f"TRACE@{workers}")
    points = len(list((dir / "out" / "points").glob("*/summary.json")))
    count = len(workers.read_text().splitlines()) // points if points else 0
    return len(own.read_text().splitlines()), count, one.outcome(done)


def kill_and_continue(
    job: Job, dir: Path, unbroken: tuple[int, int, object], draws: random.Random, most: int
) -> Counter[str]:
    """Kills a job at most `most` times, then lets it finish. Returns the kinds of kills that
    occurred."""
    own, workers, expected = unbroken
    one, kills = Try(job, dir), Counter[str]()
    began = time.monotonic()
    while sum(kills.values()) < most:
        kind = draws.choice(["step", "step", "step", "time", *(["worker"] if workers else [])])
        if kind == "step":
            done = one.run(fault=f"KILL@{draws.randint(1, own)}")
        elif kind == "worker":
            done = one.run(worker_fault=f"KILL@{draws.randint(1, workers)}")
        else:
            process = one.start()
            time.sleep(draws.uniform(0.0, 1.5))
            process.kill()
            done = finished(process)
        if done.returncode == -signal.SIGKILL:
            kills[kind] += 1
            if draws.random() < 0.5:
                one.wait_for_workers()
        elif (
            kind == "worker"
            and done.returncode in job.broken
            and "signal 9" in done.stderr + done.stdout
        ):
            kills[kind] += 1
        elif done.returncode != 0 and not (kind == "worker" and done.returncode in job.broken):
            raise AssertionError(f"{dir}: {kind}: ended with {done.returncode}: {done.stderr}")
        else:
            # The run was past that step, because finished work is not repeated.
            break
    outcome = one.outcome(one.run())
    assert outcome == expected, f"{dir}: after {dict(kills)} it is\n{outcome}\nand not\n{expected}"
    assert time.monotonic() - began < PATIENCE, f"{dir}: it took {time.monotonic() - began:.0f} s"
    one.wait_for_workers()
    shutil.rmtree(dir)
    return kills


def stop_and_continue(
    job: Job, dir: Path, unbroken: tuple[int, int, object], draws: random.Random
) -> bool:
    """Ends a job by Ctrl-C or SIGTERM at a step or at a random time: it must end quietly and leave
    nothing over. Then runs it to its end. Returns whether the job was stopped."""
    own, _, expected = unbroken
    one = Try(job, dir)
    number = draws.choice([signal.SIGINT, signal.SIGTERM])
    if draws.random() < 0.5:
        done = one.run(fault=f"{number.name.removeprefix('SIG')}@{draws.randint(1, own)}")
    else:
        process = one.start()
        until = time.monotonic() + PATIENCE
        while process.poll() is None and not is_heeding(process.pid) and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(draws.uniform(0.0, 2.0))
        process.send_signal(number)
        done = finished(process)
    assert done.returncode in (0, 128 + number), (
        f"{dir}: ended with {done.returncode}: {done.stderr}"
    )
    stopped = done.returncode != 0
    last = done.stderr.splitlines()[-1:]
    assert "Traceback" not in done.stderr, done.stderr
    assert not stopped or last == ["interrupted" if number == signal.SIGINT else "terminated"], (
        done.stderr
    )
    assert not processes(dir), f"{dir}: {processes(dir)} go on"
    left = [str(path) for path in dir.rglob(".*") if path.name != ".lock"]
    assert not left, f"left over: {left}"
    outcome = one.outcome(one.run())
    assert outcome == expected, f"{dir}: after a signal it is\n{outcome}\nand not\n{expected}"
    shutil.rmtree(dir)
    return stopped


@contextmanager
def cluster(
    dir: Path, workers: int, prefix: Sequence[str] = ()
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]], Callable[[], None]]]:
    """Yields a Dask scheduler's address, its workers, and a function that starts another worker.
    All run in separate processes and directories. `prefix` precedes the command of each worker."""
    place = dir / "scheduler.json"
    place.unlink(missing_ok=True)
    environment = os.environ | {MARK: str(dir)}
    log = (dir / "dask.log").open("ab")

    def program(own: Path, name: str, *options: str) -> subprocess.Popen[bytes]:
        own.mkdir(exist_ok=True)
        command = [
            *(prefix if name == "worker" else ()),
            sys.executable,
            "-m",
            f"distributed.cli.dask_{name}",
            "--no-dashboard",
            *options,
        ]
        return subprocess.Popen(command, cwd=own, env=environment, stdout=log, stderr=log)

    alive = [
        scheduler := program(
            dir, "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(place)
        )
    ]
    until = time.monotonic() + PATIENCE
    while not place.exists() or not place.read_text():
        if scheduler.poll() is not None or time.monotonic() > until:
            raise Stuck(
                f"Dask's scheduler does not start: {(dir / 'dask.log').read_text()[-2_000:]}"
            )
        time.sleep(0.05)
    address = json.loads(place.read_text())["address"]
    running: list[subprocess.Popen[bytes]] = []

    def another() -> None:
        running.append(
            program(
                dir / f"worker-{len(running)}",
                "worker",
                address,
                "--no-nanny",
                "--nthreads",
                "1",
                "--local-directory",
                ".",
            )
        )
        alive.append(running[-1])

    try:
        for _ in range(workers):
            another()
        yield address, running, another
    finally:
        for process in reversed(alive):
            process.kill()
            process.wait()
        log.close()


def kill_dask_workers(
    dir: Path, kills: int, seed: int, points: int = 12, workers: int = 3, asleep: bool = False
) -> None:
    """Runs a sweep on a cluster whose workers are killed in the middle of points and replaced. The
    table must equal that of an undisturbed sweep. A point simulates for a second or more, or sleeps
    for most of a second."""
    draws = random.Random(seed)
    dir.mkdir(parents=True)
    (dir / "sleeper.py").write_text(SLEEPER)
    sleeping = (
        SCENARIO.replace("rounds = 2", "rounds = 30") + '[host.python]\nfile = "sleeper.py"\n'
    )
    (dir / "small.toml").write_text(
        sleeping if asleep else SCENARIO.replace("rounds = 2", "rounds = 2500")
    )
    arguments = ["sweep", "small.toml", *VARY, "--seeds", f"1-{-(-points // 4)}"]
    undisturbed = subprocess.run(
        [*AFFLUX, *arguments, "-o", "undisturbed"],
        cwd=dir,
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE,
    )
    assert undisturbed.returncode == 0, undisturbed.stderr
    done = 0
    while done < kills:
        out = f"out-{done}"
        with cluster(dir, workers) as (address, running, another):
            command = [*AFFLUX, *arguments, "--executor", "dask", "--address", address, "-o", out]
            sweep = subprocess.Popen(
                command, cwd=dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            until = time.monotonic() + PATIENCE
            # Dask gives up a task after its third worker, so there is at most one kill per point on
            # average.
            here = 0
            while sweep.poll() is None and done < kills and here < max(1, points // 3):
                time.sleep(draws.uniform(0.1, 0.5))
                busy = [
                    worker for worker in running if worker.poll() is None and children(worker.pid)
                ]
                if busy:
                    draws.choice(busy).kill()
                    another()
                    done, here = done + 1, here + 1
                if time.monotonic() > until:
                    raise Stuck(f"{dir}: no worker gets to work")
            last = finished(sweep)
            # A point whose workers were killed too often has failed, and is retried.
            for _ in range(3):
                if last.returncode == 0:
                    break
                assert "KilledWorker" in last.stderr, last.stderr
                last = finished(
                    subprocess.Popen(
                        command, cwd=dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
                    )
                )
        assert last.returncode == 0, last.stderr
        assert (dir / out / "sweep.csv").read_bytes() == (
            dir / "undisturbed" / "sweep.csv"
        ).read_bytes(), f"{dir}/{out}: another table"
        assert not [path for path in (dir / out).rglob(".*") if path.name != ".lock"]
    shutil.rmtree(dir)


def children(pid: int) -> list[int]:
    try:
        return [
            int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ] + [
            int(text)
            for task in Path(f"/proc/{pid}/task").iterdir()
            if task.name != str(pid)
            for text in (task / "children").read_text().split()
        ]
    except OSError:
        return []


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--count",
        type=int,
        default=200,
        help="kills of run, sweep, tune and a study (default: 200)",
    )
    options.add_argument(
        "--signals", type=int, default=100, help="Ctrl-C and SIGTERM (default: 100)"
    )
    options.add_argument(
        "--dask", type=int, default=20, help="kills of Dask's workers (default: 20)"
    )
    options.add_argument("--seed", type=int, default=1, help="of all that is drawn (default: 1)")
    options.add_argument("--only", choices=[job.name for job in JOBS], help="kill nothing else")
    chosen = options.parse_args(arguments)
    draws = random.Random(chosen.seed)
    jobs = [job for job in JOBS if chosen.only in (None, job.name)]
    began, total = time.monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="afflux-kills-") as root:
        unbroken = {job.name: steps(job, Path(root) / f"unbroken-{job.name}") for job in jobs}
        for job in jobs:
            own, workers, _ = unbroken[job.name]
            print(
                f"{job.name}: {own} steps of its own{f', {workers} of each worker' if workers else ''}",
                flush=True,
            )
        tries = 0
        while sum(total.values()) < chosen.count:
            job = jobs[tries % len(jobs)]
            kills = kill_and_continue(
                job,
                Path(root) / f"{job.name}-{tries}",
                unbroken[job.name],
                draws,
                draws.randint(1, 4),
            )
            total += Counter({f"{job.name}, {kind}": count for kind, count in kills.items()})
            tries += 1
            print(
                f"{sum(total.values())} of {chosen.count} kills, {time.monotonic() - began:.0f} s",
                flush=True,
            )
        stopped = 0
        while stopped < chosen.signals:
            job = jobs[tries % len(jobs)]
            tries += 1
            if stop_and_continue(
                job, Path(root) / f"{job.name}-{tries}", unbroken[job.name], draws
            ):
                stopped += 1
                total[f"{job.name}, signal"] += 1
                print(
                    f"{stopped} of {chosen.signals} signals, {time.monotonic() - began:.0f} s",
                    flush=True,
                )
        if chosen.dask:
            kill_dask_workers(Path(root) / "dask", chosen.dask, chosen.seed)
            total["dask worker"] += chosen.dask
    for kind, count in sorted(total.items()):
        print(f"{count:5} {kind}")
    print(f"all ended with the table of an unbroken run, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
