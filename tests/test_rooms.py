"""Imports between the rooms (folders and modules) of the Python package go in one direction only.
docs/dev/python.md describes the rooms."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import REPO

PACKAGE = REPO / "python" / "afflux"

#: Folders and single modules by level. Each imports only from levels above its own in this list.
LEVELS = (
    {"_core"},
    {"congestion", "extras", "live", "signals", "spelling", "streams"},
    {"display", "files", "kernels", "templates", "words"},
    {"metrics", "reference", "settings", "worker"},
    {"results", "sketch"},
    {"comparison", "executors", "scenario"},
    {"batch", "estimates", "exchange", "report"},
    {"decision"},
    {"studies", "tuning"},
    {"terminal"},
    {"demo", "watching"},
    {"commands"},
    {"cli"},
    {"__main__"},
)
LEVEL = {room: place for place, rooms in enumerate(LEVELS) for room in rooms}
#: Imports within a function that go in the opposite direction: the file and the room.
EXCEPTIONS = {("results/result.py", "report")}  # `Result.report` is documented
#: Rooms that a command imports only when it runs, so that `afflux --help` does not wait for them.
LATE = {
    "batch",
    "comparison",
    "decision",
    "demo",
    "executors",
    "kernels",
    "report",
    "studies",
    "tuning",
    "watching",
}

ROOMS = sorted(
    {
        path.stem
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    - {"__init__"}
)


def sources(room: str) -> list[Path]:
    folder = PACKAGE / room
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def imported(source: Path) -> Iterator[str]:
    """Yields the rooms of afflux that a file imports from, including imports within functions and
    for types only."""
    package = ["afflux", *source.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(name.name.partition(".")[0] == "afflux" for name in node.names), (
                f"{source}:{node.lineno}: import from afflux by `from … import`"
            )
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            for name in node.names:
                path = [*base, *(node.module.split(".") if node.module else []), name.name]
                if path[0] == "afflux" and path[1] != "__version__":
                    yield path[1]


def test_every_room_has_its_level():
    assert set(ROOMS) == set(LEVEL) - {"_core"}


@pytest.mark.parametrize("room", ROOMS)
def test_doors_open_one_way(room):
    for source in sources(room):
        for other in set(imported(source)) - {room}:
            allowed = (
                LEVEL[other] < LEVEL[room]
                or (str(source.relative_to(PACKAGE)), other) in EXCEPTIONS
            )
            assert allowed, (
                f"{source.relative_to(REPO)} imports from {other}, which is not above {room}"
            )


def test_the_page_names_every_room():
    page = (REPO / "docs" / "dev" / "python.md").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^\| `(\w+)/?`", page) == [
        room for rooms in LEVELS[1:] for room in sorted(rooms)
    ]


def test_a_command_imports_its_rooms_when_it_runs():
    script = "import sys, afflux.cli; print(*{name.split('.')[1] for name in sys.modules if name.startswith('afflux.')})"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not LATE & set(loaded)
