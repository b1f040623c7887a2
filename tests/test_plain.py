"""The source stays readable for strangers: numbers of riddles, dialect names and long functions by room, which only go down."""

from collections import Counter
from pathlib import Path

import pytest
from conftest import REPO

from tests import plain

#: Number of findings by room. A change that removes some lowers the number; no change raises it.
RIDDLES = {
    "crates": 0,
    "python": 0,
    "tests": 0,
    "validation": 0,
    "fuzz": 0,
    "docs": 0,
    "benches": 0,
    "report": 0,
}
NAMES = {"crates": 1, "python": 1, "report": 0}
LONG = {"crates": 0, "python": 0, "validation": 0, "fuzz": 0, "docs": 0, "report": 0}


def held(findings: list[plain.Finding], most: int, where: str) -> None:
    shown = "\n".join(map(str, findings))
    assert len(findings) <= most, f"{len(findings)} findings, {most} were there before:\n{shown}"
    assert len(findings) == most, (
        f"{len(findings)} findings are left of {most}: write the new number into {where} of {Path(__file__).name}"
    )


@pytest.mark.parametrize("room", RIDDLES)
def test_comments_are_plain_sentences(room: str):
    held(
        [found for file in plain.sources([room]) for found in plain.riddles(file)],
        RIDDLES[room],
        "RIDDLES",
    )


@pytest.mark.parametrize("room", NAMES)
def test_names_are_the_terms_of_the_field(room: str):
    held(
        [found for file in plain.sources([room]) for found in plain.dialect(file)],
        NAMES[room],
        "NAMES",
    )


@pytest.mark.parametrize("room", LONG)
def test_functions_and_files_are_short(room: str):
    held(
        [found for file in plain.sources([room]) for found in plain.long(file)], LONG[room], "LONG"
    )


def test_no_file_has_conflict_markers():
    marks = ("<" * 7 + " ", ">" * 7 + " ")
    endings = {".md", ".py", ".rs", ".toml", ".ts", ".css", ".json", ".yml", ".csv"}
    found = [
        f"{file}:{number}"
        for files in (
            REPO.glob("*"),
            *((REPO / room).rglob("*") for room in (*RIDDLES, "examples")),
        )
        for file in files
        if file.suffix in endings and "node_modules" not in file.parts and file.is_file()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if line.startswith(marks)
    ]
    assert not found, f"a conflict was committed unresolved: {', '.join(found)}"


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("What comes in the window.", "clause"),
        ("When it is to have ended.", "clause"),
        ("When the timer fires, the sender retransmits.", None),
        ("The same out of line.", "neighbour"),
        ("The same seed gives the same bytes.", None),
        ("As `offer`.", "neighbour"),
        ("Of its source, in its shard.", "fragment"),
        ("Of course the queue is empty.", None),
        ("It never sends faster than a rate of its own.", "pronoun"),
        ("It is possible that both ends close at once.", None),
        ("Is it so already?", "question"),
        ("Time in ps at which the transmitter becomes idle.", None),
    ],
)
def test_a_sentence_is_judged_by_its_subject(sentence: str, rule: str | None):
    assert plain.rule(sentence, documents=True, first=True) == rule


def test_comments_are_found_in_both_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plain, "REPO", tmp_path)
    rust = "/// Sends a frame.\n/// As [`offer`]. What\n/// waits, waits.\nfn send() {\n    // They go.\n"
    rust += "    // Then `x = 1;` runs.\n    x = 1; // Of no interest.\n}\n"
    (tmp_path / "a.rs").write_text(rust)
    assert [(found.line, found.rule) for found in plain.riddles(Path("a.rs"))] == [
        (2, "neighbour"),
        (5, "pronoun"),
    ]
    python = 'def f():\n    """Returns 1.\n\n    - Of the other kind.\n    """\n    # Those are all.\n    return 1\n\n\n#: Its name.\nx = 2\n'
    (tmp_path / "a.py").write_text(python)
    assert Counter(found.rule for found in plain.riddles(Path("a.py"))) == Counter(
        fragment=1, pronoun=2
    )


def test_long_functions_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plain, "REPO", tmp_path)
    body = "        x();\n" * 99
    (tmp_path / "a.rs").write_text(
        f"impl A {{\n    fn long() {{\n{body}    }}\n\n    pub(super) fn longer(\n    ) {{\n{body}    }}\n\n    fn none(&self);\n}}\n"
    )
    assert [(found.line, found.text) for found in plain.long(Path("a.rs"))] == [
        (2, "long: 101 lines"),
        (104, "longer: 102 lines"),
    ]
    (tmp_path / "a.py").write_text("def f():\n" + "    pass\n" * 100 + "\n" * 500)
    assert [found.rule for found in plain.long(Path("a.py"))] == ["file", "function"]
