"""Prints the text of a release: the section of CHANGELOG.md for its version, as in `python .ci/release_notes.py v0.2.0`."""

import argparse
import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"
HEADING = re.compile(r"^## \[?v?(?P<version>[^\]\s]+)\]?(?: .*)?$")
#: A link of a heading, as those at the end of the file.
TARGET = re.compile(r"^\[[^\]]+\]: ")
#: Beginnings of list items, headings, tables and quotations. A line that begins otherwise goes on with the line before it.
BLOCK = re.compile(r"\s*([-*+] |\d+\. |#|\||>)")


def sections(changelog: str) -> dict[str, list[str]]:
    """Lines of each version."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in changelog.splitlines():
        if heading := HEADING.match(line):
            lines = found.setdefault(heading["version"], [])
        elif not TARGET.match(line):
            lines.append(line)
    return found


def unwrapped(lines: list[str]) -> str:
    """GitHub shows every line end in the text of a release, so a paragraph or a list item becomes one line."""
    made: list[str] = []
    code = False
    for line in lines:
        fence = line.lstrip().startswith("```")
        if (
            line.strip()
            and made
            and made[-1].strip()
            and not (
                code
                or fence
                or BLOCK.match(line)
                or made[-1].lstrip().startswith(("#", "|", "```"))
            )
        ):
            made[-1] = f"{made[-1].rstrip()} {line.strip()}"
        else:
            made.append(line)
        code ^= fence
    return "\n".join(made).strip()


def notes(changelog: str, version: str) -> str:
    """Raises `ValueError` if there is nothing to say about the version."""
    found = sections(changelog)
    versions = [one for one in found if one[0].isdigit()]
    number = version.removeprefix("v")
    if number not in versions:
        raise ValueError(
            f"no section for version {number}: there are {', '.join(versions) or 'none'}"
        )
    text = unwrapped(found[number])
    if not text:
        raise ValueError(f"the section of version {number} is empty")
    return text


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("version", help="a version or its tag, as in 0.2.0 or v0.2.0")
    arguments.add_argument("--changelog", type=Path, default=CHANGELOG, metavar="FILE")
    wanted = arguments.parse_args()
    try:
        print(notes(wanted.changelog.read_text(encoding="utf-8"), wanted.version))
    except (OSError, ValueError) as error:
        print(f"error: {wanted.changelog.name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
