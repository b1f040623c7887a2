"""What a person at a terminal sees: tables that fit, a pager, completion."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from rich.console import Console

from afflux.terminal.drawing import Fitted, table

NAMES = ["goodput while busy", "time-outs", "a-name-with-many-words"]


def drawn(made: Fitted, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(made)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def sample(columns: int, **options: object) -> Fitted:
    made = table("Title", "", *(f"column {place}" for place in range(columns)), **options)
    for name in NAMES:
        made.add_row(name, *(f"{place}{place}.123 ms" for place in range(columns)))
    return made


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_cell_is_clipped_and_names_are_repeated(width):
    lines = drawn(sample(8), width)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    rows = {name: [line for line in lines if line.startswith(name)] for name in NAMES}
    tables = len(rows[NAMES[0]])
    assert (tables == 1) == (width == 120)
    for of_name in rows.values():
        assert len(of_name) == tables, "each table repeats the names"
        assert re.findall(r"(\d\d)\.123 ms", "".join(of_name)) == [f"{place}{place}" for place in range(8)]


def test_heads_are_broken_between_words_first():
    made = table("", "", "a design with a long name", "another-design-with-hyphens", "time-outs")
    made.add_row("x", "1.00 ms", "2.00 ms", "3")
    lines = drawn(made, 40)
    assert sum(line.startswith("x") for line in lines) == 1, "one table is enough"
    assert "time-outs" in "".join(lines)
    assert "".join(re.sub(r"\s", "", line) for line in lines if "─" not in line).count("hyphens") == 1


def test_bars_are_left_out_before_columns_move():
    made = table("", "", "value", "", extras=[-1])
    made.add_row("name", "1", "█" * 40)
    assert "█" in "".join(drawn(made, 60))
    narrow = drawn(made, 30)
    assert "█" not in "".join(narrow)
    assert sum(line.startswith("name") for line in narrow) == 1


def test_words_are_broken_into_lines():
    made = table("", "name", "meaning", words=[-1])
    made.add_row("short", "one two three four five six seven eight nine ten eleven twelve")
    lines = drawn(made, 40)
    assert max(map(len, lines)) <= 40
    assert "one two three four five six seven eight nine ten eleven twelve" in " ".join(" ".join(lines).split())


def test_a_name_wider_than_the_terminal_is_broken_not_clipped():
    made = table("", "", "value")
    made.add_row("n" * 90, "1.234 ms")
    lines = drawn(made, 60)
    assert max(map(len, lines)) <= 60
    assert "".join(lines).count("n") == 90
    assert "1.234 ms" in "".join(lines)


# ----------------------------------------------------------------------------------------------------------------------- the pager


def at_terminal(arguments: list[str], tmp_path: Path, rows: int = 24, **environment: str) -> str:
    """The output of the command at a terminal of 80 columns."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    own = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "PAGER", "LESS", "NO_COLOR")}
    command = [sys.executable, "-m", "afflux", *arguments]
    process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, cwd=tmp_path, env=own | {"TERM": "xterm"} | environment)
    os.close(child)
    read = b""
    try:
        while part := os.read(parent, 65_536):
            read += part
    except OSError:  # Linux's end of a terminal
        pass
    os.close(parent)
    assert process.wait(60) == 0, read
    return read.decode()


MARK = "sed s/^/paged:/"


def test_long_output_is_paged(tmp_path):
    assert "paged:" in at_terminal(["models"], tmp_path, PAGER=MARK)
    assert "paged:{" in at_terminal(["schema"], tmp_path, PAGER=MARK)
    assert "\x1b" not in at_terminal(["models"], tmp_path, PAGER=MARK), "only less shows colours"


def test_short_output_is_not_paged(tmp_path):
    shown = at_terminal(["models", "dctcp"], tmp_path, PAGER=MARK)
    assert "RFC 8257" in shown
    assert "paged:" not in shown


NONE = [({"PAGER": ""}, "models"), ({"PAGER": "cat"}, "models"), ({"TERM": "dumb"}, "models"), ({}, "models --no-pager"), ({}, "--no-pager models")]


@pytest.mark.parametrize(("environment", "arguments"), NONE)
def test_no_pager(environment, arguments, tmp_path):
    shown = at_terminal(arguments.split(), tmp_path, **{"PAGER": MARK} | environment)
    assert "RFC 8257" in shown
    assert "paged:" not in shown


def test_a_pager_that_is_not_there(tmp_path):
    assert "RFC 8257" in at_terminal(["models"], tmp_path, PAGER="no-such-pager-exists")


def test_a_pager_that_ends_early(tmp_path):
    shown = at_terminal(["schema"], tmp_path, PAGER="head -n 3 | sed s/^/paged:/")
    assert shown.count("paged:") == 3
    assert "error" not in shown.lower()


def test_never_a_pager_without_a_terminal(command, monkeypatch):
    monkeypatch.setenv("PAGER", MARK)
    assert "paged:" not in command("models").stdout
    assert "paged:" not in command("schema").stdout
