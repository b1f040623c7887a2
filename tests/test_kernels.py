"""`[[host.kernel]]` and `afflux kernel`: Linux kernels as hosts in simulated time.

Tests that run a kernel are skipped where no image exists (`afflux kernel build`)."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import REPO

from afflux import _core, kernels
from afflux.kernels import building

#: The image that these tests use, looked up before any test changes the environment.
IMAGES = kernels.directory()
needs_image = pytest.mark.skipif(
    not (IMAGES / kernels.USUAL / "linux").is_file(),
    reason=f"no kernel {kernels.USUAL} in {IMAGES}: afflux kernel build",
)

PAIR = """\
format = 1
name = "pair"
[topology]
kind = "star"
hosts = 2
rate = "100Mbps"
delay = "500us"
[[host.kernel]]
match = "host*"
run = "bulk server 5001"
at = { "1s" = 'test "$AFFLUX_NUMBER" = 1 || bulk client host1 5001 1' }
[run]
until = "2.5s"
"""


def changed(*replacements: tuple[str, str]) -> str:
    text = PAIR
    for before, after in replacements:
        assert before in text
        text = text.replace(before, after)
    return text


def wrong(tmp_path: Path, *replacements: tuple[str, str]) -> str:
    """Returns the message about a changed scenario."""
    with pytest.raises(_core.ScenarioError) as error:
        _core.parse(changed(*replacements), tmp_path / "pair.toml")
    return str(error.value)


@pytest.mark.parametrize(
    ("replacement", "told"),
    [
        (('until = "2.5s"', ""), "key run.until: kernels do not end by themselves"),
        (("[run]", '[[host.kernel]]\nmatch = "host1"\n[run]'), "host1 has a kernel already"),
        (('match = "host*"', 'match = "host7"'), "host7"),
        (("[run]", '[run]\nengine = "ideal"'), "kernels send packets"),
        (('run = "', 'image = "six"\nrun = "'), '"six" is no version'),
        (('run = "', 'memory = "8MB"\nrun = "'), 'write a size from "24MB" to "4GB"'),
        (('run = "', 'watchdog = "1ms"\nrun = "'), 'write a time from "1s" to "1h"'),
        (('run = "', 'sysctl = { "a b" = 1 }\nrun = "'), "is no name of a kernel parameter"),
        (('run = "', 'files = ["nothing.py"]\nrun = "'), "nothing.py"),
        (('"1s" =', '"soon" ='), "write a time as in"),
        (('run = "', 'sysctls = { a = 1 }\nrun = "'), 'did you mean "sysctl"'),
        (
            ("[run]", '[[traffic]]\nkind = "pairs"\npairs = [[0, 1]]\nsizes = "1kB"\n[run]'),
            "host0 is a kernel",
        ),
        (("[run]", "[record]\npaths = true\n[run]"), "paths are not recorded beside kernels"),
    ],
)
def test_wrong_scenarios_are_refused(tmp_path, replacement, told):
    message = wrong(tmp_path, replacement)
    assert told in message
    assert "pair.toml" in message


def test_files_are_identified(tmp_path):
    (tmp_path / "server.py").write_text("print(1)\n")
    text = changed(('run = "', 'files = ["server.py"]\nrun = "'))
    resolved = _core.parse(text, tmp_path / "pair.toml").resolved
    assert str(tmp_path / "server.py") in resolved
    (tmp_path / "server.py").write_text("print(2)\n")
    with pytest.raises(_core.ScenarioError, match="not the one of this scenario"):
        _core.parse(resolved, tmp_path / "pair.toml")


def test_without_an_image(command, tmp_path, monkeypatch):
    monkeypatch.setenv("AFFLUX_KERNELS", str(tmp_path / "none"))
    (tmp_path / "pair.toml").write_text(PAIR)
    done = command("run", "pair.toml")
    assert done.returncode == 2
    assert "afflux kernel build 6.12" in done.stderr
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").glob("pair*"))
    assert "build one with  afflux kernel build" in command("kernel", "list").stdout
    assert json.loads(command("kernel", "list", "--json").stdout) == []
    assert command("kernel", "check").returncode == 2


def test_a_build_says_what_it_lacks(command, tmp_path, monkeypatch):
    monkeypatch.setenv("AFFLUX_KERNELS", str(tmp_path / "kernels"))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = command("kernel", "build")
    assert done.returncode == 2
    assert "apt-get install gcc make bc" in done.stderr
    assert command("kernel", "build", "new").returncode == 2


def test_an_image_has_one_timer_frequency(command, tmp_path, monkeypatch):
    monkeypatch.setenv("AFFLUX_KERNELS", str(tmp_path))
    (tmp_path / "6.12").mkdir()
    (tmp_path / "6.12" / "image.json").write_text('{"hz": 250}')
    assert command("kernel", "build").returncode == 0
    done = command("kernel", "build", "--hz", "1000")
    assert done.returncode == 2
    assert "has a timer of 250 Hz" in done.stderr
    assert "default 1000" in building.changes(1000)[-1][2]


def test_an_interrupted_step_leaves_nothing_under_its_name(tmp_path):
    def step(fail: bool) -> None:
        with building._whole(tmp_path / "done") as partial:
            (partial / "a").write_text("a")
            if fail:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        step(fail=True)
    assert not (tmp_path / "done").exists()
    step(fail=False)
    assert [path.name for path in (tmp_path / "done").iterdir()] == ["a"]
    assert not list(tmp_path.glob("*.partial"))


@needs_image
def test_check_and_list(command):
    done = command("kernel", "check")
    assert done.returncode == 0, done.stderr
    assert "300.00" in done.stdout
    listed = json.loads(command("kernel", "list", "--json").stdout)
    assert kernels.USUAL in [image["version"] for image in listed]


@needs_image
def test_a_transfer_takes_the_link_and_its_files_are_there(command, tmp_path):
    (tmp_path / "pair.toml").write_text(PAIR)
    done = command("run", "pair.toml")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out" / "pair-1"
    files = {path.name for path in out.iterdir()}
    assert {"kernels.json", "kernel_flows.csv", "host0.pcap", "host1.console"} <= files
    report = json.loads((out / "kernels.json").read_text())
    assert report["failure"] is None
    assert [command["status"] for command in report["hosts"][0]["commands"]] == [None, 0]
    # Full frames, the handshake and the end of the connection.
    sent, received = (
        [host[key] for host in report["hosts"]] for key in ("sent_packets", "received_packets")
    )
    payload = re.search(r"received (\d+) bytes", (out / "host1.console").read_text())
    assert payload
    assert sent[0] == pytest.approx(int(payload[1]) / 1448, abs=5)
    assert sent == received[::-1]
    assert "Completion time" not in done.stdout
    assert not re.search(r"^(senders|goodput)", done.stdout, re.M)
    rate = re.search(r"received \d+ bytes .*: ([\d.]+) Mbit/s", (out / "host1.console").read_text())
    # 1448 of 1538 bytes are payload.
    assert rate
    assert float(rate[1]) == pytest.approx(100 * 1448 / 1538, rel=0.01)
    assert command("verify", "out/pair-1").returncode == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["simulated_ns"] == 2_500_000_000


@needs_image
def test_a_failing_command_is_named_and_results_are_kept(command, tmp_path):
    text = changed(("bulk server 5001", "ls /nowhere"))
    (tmp_path / "pair.toml").write_text(text)
    done = command("run", "pair.toml")
    assert done.returncode == 1
    assert 'host0: the command "ls /nowhere" ended with status 1' in done.stderr
    assert "/nowhere: No such file" in done.stderr
    assert "written to out/pair-1" in done.stderr
    assert (tmp_path / "out/pair-1/host0.console").is_file()


def traces(of: Path) -> list[str]:
    """Returns command lines of processes that were started from below `of`, and files there."""
    found = [str(path) for path in (of / "tmp").iterdir()]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(of) in text:
            found.append(text)
    return found


@needs_image
@pytest.mark.slow
def test_a_kill_leaves_nothing_behind(tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "images").symlink_to(IMAGES)
    (tmp_path / "pair.toml").write_text(
        PAIR.replace('"2.5s"', '"500s"').replace("5001 1'", "5001 400'")
    )
    environment = os.environ | {
        "AFFLUX_KERNELS": str(tmp_path / "images"),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    mounts = Path("/proc/mounts").read_text()
    draw = random.Random(1)
    seen = 0
    for _ in range(10):
        run = subprocess.Popen(
            [sys.executable, "-m", "afflux", "run", str(tmp_path / "pair.toml")],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(draw.uniform(0.5, 3))
        seen += any("images/6.12/linux" in trace for trace in traces(tmp_path))
        run.send_signal(signal.SIGKILL)
        run.wait()
        end = time.monotonic() + 10
        while (left := traces(tmp_path)) and time.monotonic() < end:
            time.sleep(0.05)
        assert not left
    assert seen >= 3, "the guests were running at some of the kills"
    assert Path("/proc/mounts").read_text() == mounts


@needs_image
@pytest.mark.slow
@pytest.mark.parametrize(
    "path", sorted((REPO / "examples/kernels").glob("*.toml")), ids=lambda p: p.stem
)
def test_examples(command, tmp_path, path):
    loaded = _core.load(path)
    for file in re.findall(r'files = \["(.*?)"\]', path.read_text()):
        if not Path(file).exists():
            pytest.skip(f"needs {file}")
    done = command("run", path)
    assert done.returncode == 0, done.stderr
    consoles = "".join(
        file.read_text() for file in (tmp_path / "out" / f"{loaded.name}-1").glob("*.console")
    )
    assert "bulk" in consoles
    assert "received" in consoles
