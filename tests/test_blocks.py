"""Code blocks in the documentation: scenarios are valid, commands and options exist, Python
compiles."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from conftest import REPO

import afflux
from afflux import _core
from docs.generator import commands
from docs.generator.schema import unknown

DOCS = REPO / "docs"

FENCED = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^ *```", re.M | re.S)


ALIASES = {"py": "python", "bash": "sh"}


def pages() -> list[Path]:
    return [
        REPO / "README.md",
        *sorted(path for path in DOCS.rglob("*.md") if "generator" not in path.parts),
    ]


def blocks(language: str) -> list[tuple[str, str]]:
    """Returns page and text of each block of the language. Blocks that are only indented count as
    scenarios if they contain a table of one."""
    found = []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        texts = [
            re.sub(f"^{indent}", "", block, flags=re.M)
            for indent, named, block in FENCED.findall(text)
            if ALIASES.get(named, named) == language
        ]
        if language == "toml":
            indented = re.findall(r"(?:^\n)((?:^ {4}.*\n|^\n)+)", FENCED.sub("", text), re.M)
            texts += [
                re.sub(r"^ {4}", "", block, flags=re.M)
                for block in indented
                if re.search(r"^ {4}\[\[?\w", block, re.M)
            ]
        found += [(str(path.relative_to(REPO)), block) for block in texts]
    return found


@pytest.mark.parametrize(
    ("page", "text"), blocks("toml"), ids=lambda value: value if value.endswith(".md") else ""
)
def test_scenarios_of_pages(page: str, text: str) -> None:
    """Whole scenarios are valid, and parts of scenarios contain only existing keys."""
    data = tomllib.loads(text)
    known = set(json.loads(_core.schema())["properties"])
    if not known & data.keys():
        return  # A file of another program, or keys without their table.
    assert unknown(data) == [], page
    if {"format", "topology", "traffic"} <= data.keys():
        wrong = None
        try:
            afflux.Scenario(data).check()
        except afflux.ScenarioError as error:
            wrong = error
        # The commands of the page create the files.
        assert wrong is None or (wrong.key or "").endswith(("file", "matrix")), wrong


def test_python_and_json_of_pages() -> None:
    """Python and JSON blocks can be parsed. `tests/test_python.py` resolves the names below
    `afflux`."""
    assert len(blocks("python")) > 5
    for page, text in blocks("python"):
        compile(text, page, "exec")
    for _, text in blocks("json"):
        json.loads(text)


def lines() -> list[tuple[str, str]]:
    """Returns every line of a page's blocks that calls afflux. Blocks are fenced or indented by
    four blanks."""
    call = re.compile(r"^ *(?:\$ )?(?:sudo )?(?:\.venv/bin/)?afflux ((?:\w|-).*)$", re.M)
    found = []
    for path in pages():
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        fenced = [
            block
            for _, language, block in FENCED.findall(text)
            if ALIASES.get(language, language) in ("sh", "console", "text")
        ]
        indented = re.findall(r"^ {4}.*$", FENCED.sub("", text), re.M)
        found += [
            (str(path.relative_to(REPO)), line)
            for block in [*fenced, *indented]
            for line in call.findall(block)
        ]
    return found


def test_commands_of_pages() -> None:
    """All commands and their options exist."""
    known = {" ".join(words): command for words, command in commands.every()}
    assert len(lines()) > 80
    for page, line in lines():
        words = shlex.split(
            re.split(r" (?:#|\||>|&&|;|  )", f"{line} ")[0].strip().rstrip("…"), comments=True
        )
        words = words[: words.index("--")] if "--" in words else words
        name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
        if name.startswith("-"):
            name, options = "", words
        else:
            assert name in known, f"{page}: afflux {line}"
            options = words[len(name.split()) :]
        taken = {
            spelling
            for parameter in known[name].params
            for spelling in (*parameter.opts, *parameter.secondary_opts)
        } | {"-h", "--help"}
        for option in options:
            if re.match(r"--?[a-z]", option):
                assert option.partition("=")[0] in taken, f"{page}: afflux {line}: {option}"
