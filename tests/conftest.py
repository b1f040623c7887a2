"""What the tests share: small scenarios, and the command as users run it."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from afflux import cli

REPO = Path(__file__).resolve().parents[1]
SHARED = REPO.parent / "shared"

# Newer versions of Ray let only those into a cluster who know its token. All processes of the tests know this one.
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}

#: A few senders overflow a small buffer: drops, retransmissions, time-outs, all within milliseconds.
INCAST = """\
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
stack = "basic"
min_rto = "1ms"

[[traffic]]
kind = "incast"
name = "query"
to = 0
senders = 8
bytes = "200kB"
rounds = 3
period = "5ms"
jitter = "1us"

[record]
ports = { interval = "100us" }
paths = true
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    chromium = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
    if chromium is None:
        pytest.skip("needs a browser: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs `afflux` in an empty directory."""

    def run(*args: object, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
        return subprocess.run([sys.executable, "-m", "afflux", *map(str, args)], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)

    return run


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The same within this process: quicker, for what does not hang on processes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*args: object) -> Any:
        return CliRunner().invoke(cli.app, [*map(str, args)])

    return run


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[..., Path]:
    """Writes a scenario file: `INCAST`, with pieces of its text replaced."""

    def write(*replacements: tuple[str, str], text: str = INCAST, name: str = "small.toml") -> Path:
        for old, new in replacements:
            assert old in text, f"{old!r} is not in the scenario"
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def shared() -> Path:
    """Reference data beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the reference data in {SHARED}")
    return SHARED
