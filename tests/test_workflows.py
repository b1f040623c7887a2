"""What runs outside a checkout: workflows, forms, the container, the hooks. GitHub and Docker run them; here, what they name exists and fits together."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPO

NOTES = REPO / ".ci" / "release_notes.py"


# -------------------------------------------------------------------------------------------------------------------- release notes

CHANGELOG = """\
# Changelog

## [Unreleased]

### Added
- Not yet.

## [1.10.0] - 2031-05-06

A sentence that goes on
in the next line.

### Added
- One thing, with more
  words in a second line.
- Another thing:

  ```toml
  [switch]
    buffer = "1MB"
  ```

| a | b |
|---|---|
| 1 | 2 |

## [1.1.0] - 2031-01-02

- First.

## [1.0.0]

[1.0.0]: https://example.org/1.0.0
"""


def notes(version: str, *options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(NOTES), version, *map(str, options)], capture_output=True, text=True, encoding="utf-8", timeout=60)


@pytest.fixture
def changelog(tmp_path: Path) -> Path:
    path = tmp_path / "CHANGELOG.md"
    path.write_text(CHANGELOG)
    return path


def test_notes_are_the_section_of_the_version(changelog):
    done = notes("v1.10.0", "--changelog", changelog)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "A sentence that goes on in the next line.\n\n### Added\n- One thing, with more words in a second line.\n- Another thing:\n\n"
        '  ```toml\n  [switch]\n    buffer = "1MB"\n  ```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n'
    )
    assert notes("1.1.0", "--changelog", changelog).stdout == "- First.\n"


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("v2.0.0", "CHANGELOG.md: no section for version 2.0.0: there are 1.10.0, 1.1.0, 1.0.0"),
        ("1.1", "no section for version 1.1:"),
        ("Unreleased", "no section for version Unreleased:"),
        ("1.0.0", "the section of version 1.0.0 is empty"),
    ],
)
def test_a_version_without_notes_is_an_error(version, says, changelog):
    done = notes(version, "--changelog", changelog)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr


def test_without_a_changelog(tmp_path):
    done = notes("1.0.0", "--changelog", tmp_path / "CHANGELOG.md")
    assert done.returncode == 1
    assert done.stderr.startswith("error: CHANGELOG.md: ")


def test_notes_of_every_version_of_the_changelog():
    """Of afflux itself: nothing gets lost, and a version that is not there is an error."""
    text = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    for version in re.findall(r"^## \[(\d[^\]]*)\]", text, re.M):
        done = notes(version)
        assert done.returncode == 0, done.stderr
        section = text.partition(f"## [{version}]")[2].partition("\n")[2].partition("\n## ")[0]
        assert done.stdout.split() == re.sub(r"(?m)^\[[^]]+\]: .*$", "", section).split()
    assert notes("99.0.0").returncode == 1
