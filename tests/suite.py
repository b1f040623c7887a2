"""Runs all tests and stores their durations: `make test`, or `make test FAST=1` for the tests of at
most half a second, compiled incrementally.

1. The Rust tests compile while pytest runs on all cores.
2. The binaries of Rust tests run one after another. Most of these tests simulate with several
   threads, which is slow if other processes need the cores.
3. Real-time tests run alone.

`out/tests` contains the durations of all tests (`durations.json`), those of the Rust binaries
(`rust.json`), and pytest's junit files.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
OUT = REPO / "out" / "tests"
#: Longest time in seconds of a Rust test on an otherwise idle machine.
LIMIT = 20.0
#: Rust tests that may take longer, with the reasons.
SLOW: dict[str, str] = {}
#: Profile of the extension module. The Rust tests use the same one, because most of what they need
#: is compiled then.
PROFILE = "release" if (REPO / ".venv" / "released").exists() else "checking"
CARGO = ["cargo", "test", "--profile", PROFILE, "--workspace"]
#: Options that print the seconds of each test. They are unstable, so the test harness requires a
#: variable.
TIMED = ["--report-time", "-Zunstable-options"]
PROCESSES = os.cpu_count() or 1
#: File with the durations that determine the order of tests, and the shortest duration in seconds
#: that it contains.
KEPT, SHORTEST = REPO / "tests" / "durations.json", 0.3
#: Duration in seconds in an earlier run above which `--fast` leaves a test out.
FAST = 0.5


@dataclass
class Binary:
    """A binary of Rust tests, and its results."""

    name: str
    path: Path
    folder: Path
    seconds: float = 0.0
    cpu_s: float = 0.0
    status: int = 0
    tests: dict[str, float] = field(default_factory=dict)


class Rust(threading.Thread):
    """Compiles the Rust tests in the background. `test_all` runs them, one binary after another."""

    def __init__(self, fast: bool) -> None:
        super().__init__()
        self.fast = fast
        self.compiled_s = 0.0
        self.binaries: list[Binary] = []
        self.failed: list[str] = []

    def run(self) -> None:
        start = time.monotonic()
        compiled = subprocess.run(
            [
                *CARGO,
                *(["--lib"] if self.fast else ["--tests", "--examples"]),
                "--no-run",
                "--message-format=json-render-diagnostics",
            ],
            cwd=REPO,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.compiled_s = time.monotonic() - start
        if compiled.returncode:
            self.failed.append("the Rust tests do not compile")
            return
        self.binaries = list(binaries(compiled.stdout))

    def test_all(self) -> None:
        self.join()
        for binary in self.binaries:
            self.test(binary)
        if (
            self.binaries
            and not self.fast
            and subprocess.run([*CARGO, "--doc", "--quiet"], cwd=REPO).returncode
        ):
            self.failed.append("documentation tests")

    def test(self, binary: Binary) -> None:
        log, start = OUT / f"rust-{binary.name}.log", time.monotonic()
        with log.open("wb") as out:
            process = subprocess.Popen(
                [binary.path, *TIMED, *(left_out(binary) if self.fast else [])],
                cwd=binary.folder,
                env=os.environ | {"RUSTC_BOOTSTRAP": "1"},
                stdout=out,
                stderr=out,
            )
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = binary.status = os.waitstatus_to_exitcode(status)
        binary.seconds, binary.cpu_s = time.monotonic() - start, used.ru_utime + used.ru_stime
        told = log.read_text(encoding="utf-8", errors="replace")
        binary.tests = {
            name: float(took)
            for name, took in re.findall(
                r"^test (\S+) (?:- should panic )?\.\.\. \w+ <([\d.]+)s>$", told, re.M
            )
        }
        closing = re.findall(r"^test result: .*$", told, re.M)
        print(
            f"{binary.name}: {closing[-1] if closing else f'ended with {binary.status}'}",
            flush=True,
        )
        if binary.status:
            self.failed.append(binary.name)
            print(told.partition("\nfailures:\n")[2] or told, flush=True)


def binaries(messages: str) -> Iterator[Binary]:
    """Yields the test binaries in the output of `cargo test --no-run`."""
    for line in messages.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if (
            message.get("reason") == "compiler-artifact"
            and message["executable"]
            and message["profile"]["test"]
        ):
            folder = Path(message["manifest_path"]).parent
            kind = message["target"]["kind"][0]
            yield Binary(
                f"{folder.name}-{kind}"
                if kind != "test"
                else f"{folder.name}-{message['target']['name']}",
                Path(message["executable"]),
                folder,
            )


def left_out(binary: Binary) -> list[str]:
    """Returns the options that leave out the tests that took more than `FAST` in an earlier run."""
    took = json.loads(KEPT.read_text(encoding="utf-8"))
    long = [
        name.removeprefix(f"{binary.name}::")
        for name, seconds in took.items()
        if name.startswith(f"{binary.name}::") and seconds > FAST
    ]
    return ["--exact", *(word for name in long for word in ("--skip", name))] if long else []


def pytest(name: str, *options: str) -> int:
    command = [sys.executable, "-m", "pytest", f"--junitxml={OUT / name}.xml", *options]
    return subprocess.run(command, cwd=REPO).returncode


def python_durations(file: Path) -> dict[str, float]:
    """Returns the seconds of each test in a junit file, by pytest's node identifiers."""
    return {name: float(case.get("time", 0)) for name, case in _cases(file)}


def python_failures(file: Path) -> Iterator[str]:
    """Yields each failed test in a junit file, with the first line of what it says."""
    for name, case in _cases(file):
        for broken in (*case.iter("failure"), *case.iter("error")):
            said, *_ = (broken.get("message") or "no message").splitlines()
            yield f"{name}: {said}"


def _cases(file: Path) -> Iterator[tuple[str, xml.Element]]:
    """Yields the tests in a junit file, by pytest's node identifiers."""
    for case in xml.parse(file).iter("testcase") if file.is_file() else ():
        yield f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}", case


def too_long(binary: Binary) -> Iterator[str]:
    """Yields an error for each test over the limit. On a busy machine, durations are scaled by the
    share of the processors that the binary got."""
    share = min(1.0, binary.cpu_s / (PROCESSES * binary.seconds)) if binary.seconds else 1.0
    for name, seconds in binary.tests.items():
        if seconds * share > LIMIT and name not in SLOW:
            told = f"{binary.name} {name} took {seconds * share:.0f} s, more than {LIMIT:g}"
            yield f"{told}: make it shorter, or add it to SLOW in tests/suite.py with the reason"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.suite",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--fast",
        action="store_true",
        help=f"only tests of at most {FAST:g} s, without Rust's integration tests",
    )
    parser.add_argument(
        "--keep", action="store_true", help="keep the durations as the order of later runs"
    )
    options = parser.parse_args(arguments)
    fast: bool = options.fast
    # Hundreds of processes import the package, so it must be compiled only once.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if fast:
        os.environ["CARGO_INCREMENTAL"] = "1"
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    start = time.monotonic()
    rust = Rust(fast)
    rust.start()
    failed = []
    if pytest(
        "pytest",
        "-n",
        str(PROCESSES),
        "--dist",
        "loadscope",
        "--no-loadscope-reorder",
        "-m",
        "not realtime and not validation",
        *([f"--fast={FAST}"] if fast else []),
    ):
        failed.append("pytest")
        failed += python_failures(OUT / "pytest.xml")
    rust.test_all()
    if not fast and pytest("realtime", "-m", "realtime"):
        failed.append("pytest in real time")
        failed += python_failures(OUT / "realtime.xml")
    failed += rust.failed + [line for binary in rust.binaries for line in too_long(binary)]

    durations = python_durations(OUT / "pytest.xml") | python_durations(OUT / "realtime.xml")
    durations |= {
        f"{binary.name}::{name}": seconds
        for binary in rust.binaries
        for name, seconds in binary.tests.items()
    }
    durations = dict(sorted(durations.items(), key=lambda item: -item[1]))
    (OUT / "durations.json").write_text(json.dumps(durations, indent=1) + "\n", encoding="utf-8")
    if options.keep:
        kept = {
            name: round(seconds, 1) for name, seconds in durations.items() if seconds >= SHORTEST
        }
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    rows = [
        asdict(binary)
        | {"path": str(binary.path), "folder": str(binary.folder), "tests": len(binary.tests)}
        for binary in rust.binaries
    ]
    (OUT / "rust.json").write_text(
        json.dumps({"compiled_s": rust.compiled_s, "binaries": rows}, indent=1) + "\n",
        encoding="utf-8",
    )
    print(
        f"{len(durations)} tests in {time.monotonic() - start:.0f} s, {rust.compiled_s:.0f} s of them until the Rust tests were compiled. The longest:"
    )
    for name, seconds in list(durations.items())[:10]:
        print(f"{seconds:7.1f} s  {name}")
    for what in failed:
        print(f"failed: {what}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
