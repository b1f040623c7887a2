"""The commands of docs/how-to work one after the other in an empty directory, and print the output
that the pages show."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPO

#: Pages without `sh` blocks are skipped: they need more than this machine, for example a cluster or
#: a compiler.
PAGES = [
    page
    for page in sorted((REPO / "docs/how-to").glob("*.md"))
    if "```sh\n" in page.read_text(encoding="utf-8")
]
BLOCK = re.compile(r'^```(\w+)(?: title="([\w./-]+)")?\n(.*?)^```$', re.M | re.S)


# Runs every command of a page.
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    if "afflux tune" in text and importlib.util.find_spec("optuna") is None:
        pytest.skip("needs the Python package optuna")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "120",
    }
    printed: set[str] = set()
    for language, name, block in BLOCK.findall(text):
        if language in ("toml", "py"):
            (tmp_path / name).write_text(block, encoding="utf-8")
        elif language == "sh":
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert done.returncode == 0, f"{block}\n{done.stderr}"
            printed.update(done.stdout.split())
        else:
            assert language == "text", language
            # The page may omit columns and rows, but every number that it shows must have been
            # printed.
            assert not [
                word for word in block.split() if re.search(r"\d", word) and word not in printed
            ], block
