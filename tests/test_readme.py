"""Every command of README.md is run here or refers to the test of what it calls. A command without
a rule fails.

The lines with `.venv/bin/afflux` run unchanged, one after the other, in one empty directory.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from email.parser import Parser
from pathlib import Path

import pytest
from conftest import REPO

from afflux.commands import study

README = (REPO / "README.md").read_text(encoding="utf-8")
#: Commands of the README: indented lines, and code spans that contain a blank, such as `afflux
#: study` and `make demo`.
LINES = [line.strip() for line in re.findall(r"^ {4}(\S.*)$", README, re.M)]
SPANS = [span for span in re.findall(r"`([^`\n]+)`", README) if " " in span]
COMMANDS = list(dict.fromkeys([*LINES, *SPANS]))
WALK = [line for line in LINES if line.startswith(".venv/bin/afflux ")]

#: Target of make to: a command of its recipe, and the test of this command.
TARGETS = {
    "setup": (
        "maturin develop --release --extras tune",
        "tests/test_readme.py::test_the_package_can_be_built",
    ),
    "test": ("-m tests.suite", "tests/test_suite.py"),
    "demo": ("afflux demo", "tests/test_demo.py::test_it_runs_and_writes_a_report"),
    "docs": ("-m mkdocs build --strict --quiet", "tests/test_site.py::site"),
    "wheel": (".ci/dist.sh wheel", "tests/test_readme.py::test_the_package_can_be_built"),
    "validate": ("-m validation.run", "tests/test_readme.py::test_validation_of_one_run"),
}
#: Command whose line in README.md cannot run everywhere to its test.
TESTED = {
    "afflux live": "tests/test_live.py",
    "afflux decide": "tests/test_decide.py::test_one_command_gives_answer_table_and_report",
}
#: Commands that change the machine or need the network. `.ci/run` runs the same on a bare machine.
NOT_RUN = (
    "sudo apt-get install git make gcc libc6-dev python3-venv curl",
    "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh",
    "apt-get install cargo",
    "apt-cache policy rustc",
    # tests/test_kernels.py has its steps.
    "afflux kernel build",
)


def has_rule(command: str) -> bool:
    name = " ".join(command.split()[:2])
    if command in WALK or command in NOT_RUN or name in TESTED:
        return True
    if command.startswith("make "):
        return command.removeprefix("make ") in TARGETS
    if command.startswith("afflux "):
        return command in ALONE or any(line.startswith(f".venv/bin/{command} ") for line in WALK)
    return command == 'pip install ".[tune]"'


#: Commands that need no file and end without input.
ALONE = ("afflux study", "afflux models")


def there(test: str) -> bool:
    file, _, name = test.partition("::")
    return (REPO / file).is_file() and (
        not name or f"def {name}(" in (REPO / file).read_text(encoding="utf-8")
    )


def test_every_command_has_a_rule():
    assert [command for command in COMMANDS if not has_rule(command)] == []
    assert not has_rule("make everything")
    assert not has_rule("afflux compare out/a out/b")
    assert not has_rule("npm run build")


def test_rules_are_about_commands_of_the_page():
    assert [
        command
        for command in (*NOT_RUN, *ALONE, *TESTED, *(f"make {target}" for target in TARGETS))
        if command not in COMMANDS
    ] == []
    assert [
        test
        for test in (*TESTED.values(), *(test for _, test in TARGETS.values()))
        if not there(test)
    ] == []


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Creates an empty directory with `.venv/bin/afflux`."""
    program = tmp_path / ".venv/bin/afflux"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m afflux "$@"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    return tmp_path


def run(command: str, where: Path) -> str:
    environment = os.environ | {"NO_COLOR": "1", "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


# Runs the README's sweep of 15 simulations and its search of 8 settings.
@pytest.mark.slow
def test_the_walk(place):
    assert [line.split()[1] for line in WALK] == [
        "new",
        "check",
        "run",
        "explain",
        "sweep",
        "tune",
        "report",
    ]
    for line in WALK:
        assert run(line, place), line
    for file in (
        "incast.toml",
        "out/incast-1/summary.json",
        "out/sweep-incast/sweep.csv",
        "out/tune-incast/best.toml",
        "incast.html",
    ):
        assert (place / file).is_file(), file


@pytest.mark.parametrize("command", ALONE)
def test_commands_without_a_file(place, command):
    assert run(f".venv/bin/{command}", place)


def test_what_is_said_of_the_list_of_studies(place):
    """Every study has a question, an answer, a duration and parts."""
    for one in json.loads(run(".venv/bin/afflux study --json", place)):
        assert all(one[key] for key in ("question", "answer", "duration", "parts")), one["study"]
    assert "afflux study" in study.EXAMPLES


def recipe(*arguments: str) -> list[str]:
    """Returns the lines that make would run if nothing had been built yet."""
    if shutil.which("make") is None or shutil.which("cargo") is None:
        pytest.skip("needs make and cargo")
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "--no-print-directory", *arguments],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("target", TARGETS)
def test_targets_of_make(target):
    called, _ = TARGETS[target]
    assert any(called in line for line in recipe(target))


def test_validation_of_one_run(tmp_path):
    """Runs the command of `make validate` with a reference of one run."""
    reference = tmp_path / "reference"
    (reference / "linux").mkdir(parents=True)
    (reference / "bars.toml").write_text(
        "[linux]\nrepetitions = 1\n[linux.a1_window]\nhalf2_mbps = { rel = 0.02 }\n",
        encoding="utf-8",
    )
    head = "name,RATE,RTT,Q,CC,LOSS,W,CONNS,GAP,T,STALL,half2_mbps,avg_mbps\n"
    (reference / "linux/a1_window.csv").write_text(
        f"{head}small,20,40000,bfifo limit 50000,reno,,16384,1,,2,,3.5,3.4\n", encoding="utf-8"
    )
    (line,) = [
        line
        for line in recipe("validate", f"REF={reference}", "ONLY=linux.a1_window", "JOBS=1")
        if "validation.run" in line
    ]
    _, *arguments = shlex.split(line)
    done = subprocess.run(
        [sys.executable, *arguments, "--out", str(tmp_path / "out")],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["metric"]: row for row in json.loads((tmp_path / "out/validate.json").read_text())}
    assert rows["half2_mbps"]["within"]
    assert "half2_mbps" in (tmp_path / "out/validation.md").read_text()


def test_the_package_can_be_built(tmp_path):
    """maturin reads the configuration and writes the wheel's metadata. This needs neither a
    compiler nor the network."""
    maturin = shutil.which(
        "maturin", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if maturin is None or shutil.which("cargo") is None:
        pytest.skip("needs maturin and cargo")
    environment = os.environ | {"CARGO_NET_OFFLINE": "true"}
    done = subprocess.run(
        [maturin, "pep517", "write-dist-info", "--metadata-directory", str(tmp_path)],
        cwd=REPO,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    (info,) = tmp_path.glob("afflux-*.dist-info")
    metadata = Parser().parsestr((info / "METADATA").read_text(encoding="utf-8"))
    assert any(
        line.startswith("optuna") and "tune" in line
        for line in metadata.get_all("Requires-Dist") or []
    )
    # The wheel is for every Python version from 3.11 on.
    assert "Tag: cp311-abi3-" in (info / "WHEEL").read_text(encoding="utf-8")
    assert "afflux=afflux.__main__:main" in (info / "entry_points.txt").read_text(encoding="utf-8")


def test_versions_of_what_is_needed():
    rust = tomllib.loads((REPO / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "rust-version"
    ]
    python = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "requires-python"
    ].removeprefix(">=")
    assert f"Rust {rust} or later, and Python {python} or later" in README
    assert re.findall(r"shows (\d+\.\d+) or later", README) == [rust]


def test_pages_that_are_linked_are_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if target.startswith("https://afflux.github.io/afflux/"):
            continue
        assert (REPO / target).exists(), target
