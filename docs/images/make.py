"""Makes the pictures of the README from a real run: `python docs/images/make.py`. Needs the tools
of the tests (`make test` installs them)."""

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright
from rich.console import Console
from rich.text import Text

HERE = Path(__file__).resolve().parent
#: Page with the scenario and the commands to run.
PAGE = HERE.parent / "how-to/deep-or-shallow.md"
#: Path where the page's commands write the results.
POINTS = "out/decide-designs/points"
#: Commands in the picture of the terminal.
COMMANDS = ("check rack.toml", f"explain {POINTS}/shallow-1")
COLUMNS = 96
#: Size in pixels of the picture of the report's first screen.
SIZE = ViewportSize(width=1280, height=800)


def afflux(*arguments: str, cwd: Path) -> str:
    environment = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
    return subprocess.run(
        [sys.executable, "-m", "afflux", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def simulate(where: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    files = dict(re.findall(r'^```toml title="([\w.]+)"\n(.*?)^```$', text, re.M | re.S))
    files["rack.toml"] += '\n[record]\nports = { interval = "100us" }\n'
    for file, content in files.items():
        (where / file).write_text(content, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S):
        subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=where,
            env=os.environ | {"PATH": path},
            stdout=subprocess.DEVNULL,
            check=True,
        )


def terminal(where: Path) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for command in COMMANDS:
        console.print(Text.assemble(("$ ", "bold green"), f"afflux {command}"))
        console.print(Text.from_ansi(afflux(*command.split(), cwd=where).rstrip()))
        console.print()
    svg = console.export_svg(title="afflux")
    # Remove fonts from other servers, so that the picture causes no network requests.
    return re.sub(r"@font-face \{.*?\}", "", svg, flags=re.S).replace(
        "Fira Code", "DejaVu Sans Mono, Menlo, Consolas"
    )


def report(where: Path) -> bytes:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium")
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light", locale="en-GB")
        page.goto((where / POINTS / "rack.html").as_uri())
        page.wait_for_timeout(1_000)
        picture = page.screenshot()
        browser.close()
        return picture


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        simulate(where)
        (HERE / "terminal.svg").write_text(terminal(where), encoding="utf-8")
        (HERE / "report.png").write_bytes(report(where))


if __name__ == "__main__":
    main()
