"""Finds what makes the source hard to read for a stranger: comments without a subject, names of a private dialect,
long functions and long files.

    python -m tests.plain PATH...          # comments, one finding per line
    python -m tests.plain --names PATH...  # names of definitions
    python -m tests.plain --long PATH...   # functions over 100 lines, files over 600

tests/test_plain.py holds the numbers of each room below its limits. A comment is a run of lines with nothing else, or a
docstring. Its paragraphs are cut into sentences, and each sentence is judged by these rules:

- clause: the subject is a clause with what or who. "What comes in the window."
- neighbour: the sentence refers to a neighbour instead of saying it. "The same out of line."
- fragment: the sentence begins with a bare preposition. "Of its source, in its shard."
- pronoun: the first sentence of a comment begins with a pronoun. "It never sends faster than a rate of its own."
- question: a doc comment asks ("Is it so already?") instead of saying what is true.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
#: Lines that a function and a file may have.
FUNCTION, FILE = 100, 600

_CLAUSE = re.compile(r"^(What|Whatever|Who|Whoever|Whom|Whose)\b(?! about)(?!'s)")
#: An adverbial clause is plain English before a main clause ("When the timer fires, ..."), and a riddle alone.
_ALONE = re.compile(
    r"^(?:(?:When|Where)(?! to\b)|(?:Wherever|Which|From which|By which|In which|To whom|Since when|Until when)\b)[^,;:]*$"
)
_NEIGHBOUR = re.compile(
    r"^(The same(?=[.,;:]|$| (?:at|of|for|by|as|with|without|in|on|out|where|when|if|from|over|to|again|but|under|after|before|until|per|among)\b)"
    r"|Likewise\b|Ditto\b|As (?:above|before)[.,]|As (?:`[^`]+`|\[[^\]]+\])(?=[.,;:]|$| (?:at|of|for|with|without|in|on|out|by)\b))"
)
_FRAGMENT = re.compile(
    r"^(Of (?!course\b)|By (?:input|output|port|node|host|queue|class|priority|flow|index|name|rank|switch|link|path|kind|id)\b(?=[^,]*$))"
)
_PRONOUN = re.compile(
    r"^(It|Its|They|Their|Those|Them|Then|Or|Nor|And|But|So|Nobody|Somebody|Nothing|Everybody|One|Both|Neither|Others?|Else|Besides|That)\b"
)
#: In a comment inside a function the line below is near enough for "It", "But" and "One".
_PRONOUN_INSIDE = re.compile(
    r"^(Its|They|Their|Them|Those|Or|Nor|Nobody|Somebody|Everybody|Then)\b"
)
#: Plain after all: a determiner, an impersonal "It is possible", an imperative after "Then".
_DETERMINER = re.compile(
    r"^(One (?!(?:that|who|which|of|whose|is|has|may|can)\b)\w|Both [a-z]+s\b|Both `|Neither [a-z]+ nor|Others? [a-z]+s?\b"
    r"|That [a-z]+\b(?! (?:a|an|the|it|is|has))|Those [a-z]+s\b"
    r"|It(?:'s| is| was| may be| might be| would be) (?:\w+ )?(?:\w+ly )?"
    r"(?:possible|impossible|important|allowed|assumed|safe|expected|necessary|valid|enough|up to|not|better)\b"
    r"|It (?:makes|should|must|might|would|could|seems|turns|also|can)\b|Nothing to do\b|So that\b|So far\b"
    r"|Then (?!(?:nothing|nobody|it|its|they|there|no|the|a|an|all|one|only|what|who)\b))"
)
_CODE = re.compile(
    r"^(?:[\w.:<>\[\]()&*]+\s*[=;{}(]|@|\$|https?:|#|\||>|-{3,}|={3,}|```|SPDX|noqa|type:|fmt:|clippy|ruff|mypy)"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\[])")

#: Words that mean something only to the authors. The field has a term for each mechanism.
_DIALECT = """
heeds minds wants calm calmly quiet quietly steady steadies steadily unsteady unsettle settle
settles settled aside apart beside besides closely foresees spares eventful urgent whereabouts way
ways joint told tells asked asks unasked awaited awaits habits hint undated room doubt doubts trap
traps ground around soon ahead recall restless mind knows owes lets stands heard
"""
DIALECT = frozenset(_DIALECT.split())
_RUST_NAME = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:const|static|async|unsafe|export|default)\s+)*"
    r"(?:fn|struct|enum|trait|type|mod|const|static|function|class|interface)\s+([A-Za-z_]\w*)"
    r"|^\s{4,}pub(?:\([^)]*\))?\s+([a-z_]\w*)\s*:"
)
_PYTHON_NAME = re.compile(
    r"^\s*(?:async\s+)?(?:def|class)\s+([A-Za-z_]\w*)|^([A-Z_][A-Z0-9_]*)\s*(?::[^=]+)?=(?!=)"
)
_RUST_FUNCTION = re.compile(
    r"^(\s*)(?:pub(?:\([^)]*\))?\s+)?(?:(?:const|async|unsafe)\s+)*fn\s+(\w+)"
)


@dataclass(frozen=True)
class Finding:
    file: Path
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.text}"


def sources(paths: Sequence[str | Path]) -> list[Path]:
    """Files in Rust, Python and TypeScript below paths of the repository that git knows, without built ones."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *map(str, paths)],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = [Path(name) for name in listed.split("\0") if name]
    wanted = (".rs", ".py", ".pyi", ".ts", ".mjs")
    return [
        path
        for path in found
        if path.suffix in wanted and "built" not in path.parts and (REPO / path).is_file()
    ]


def read(file: Path) -> str:
    return (REPO / file).read_text(encoding="utf-8")


def comments(file: Path, text: str) -> Iterator[tuple[bool, list[tuple[int, str]]]]:
    """Each comment of a file: whether it documents an item, and its lines with their numbers."""
    lines = text.splitlines()
    is_python = file.suffix in (".py", ".pyi")
    if is_python:
        yield from _docstrings(text, lines)
    opening = re.compile(
        r"^\s*(#:?)(?!!)\s?(.*)$" if is_python else r"^\s*(///?!?|/\*\*?|\*(?!/))\s?(.*?)(?:\*/)?$"
    )
    block: list[tuple[int, str]] = []
    mark, inside = "", False
    for number, line in enumerate([*lines, ""], 1):
        found = opening.match(line)
        if found and found[1] == "*" and not inside:
            found = None
        if found and found[1].startswith("/*"):
            inside = "*/" not in line
        elif inside and "*/" in line:
            inside = False
        if block and not (found and found[1] in (mark, "*")):
            yield mark in ("///", "//!", "#:", "/**"), block
            block = []
        if found:
            mark = mark if block else found[1]
            block.append((number, found[2].strip()))


def _docstrings(text: str, lines: Sequence[str]) -> Iterator[tuple[bool, list[tuple[int, str]]]]:
    for node in ast.walk(ast.parse(text)):
        if (
            not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            or not node.body
        ):
            continue
        first = node.body[0]
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            rows = lines[first.lineno - 1 : first.end_lineno]
            quotes = re.compile(r'^\s*[rR]?("""|\'\'\'|")|("""|\'\'\'|")\s*$')
            yield (
                True,
                [
                    (first.lineno + place, quotes.sub("", row).strip())
                    for place, row in enumerate(rows)
                ],
            )


def sentences(block: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str, bool]]:
    """The line, the text, and whether it is the first of the comment. Code, tables and headings are passed over."""
    paragraph: list[tuple[int, str]] = []
    first, fenced = True, False
    for number, text in [*block, (0, "")]:
        if text.startswith("```"):
            fenced, text = not fenced, ""
        is_item = re.match(r"([-*] |\d+\. )", text)
        is_other = fenced or text.startswith(("#", "|", ">"))
        if paragraph and (is_item or is_other or not text):
            yield from _cut(paragraph, first)
            first, paragraph = False, []
        if text and not is_other:
            paragraph.append((number, text[is_item.end() :] if is_item else text))


def _cut(paragraph: Sequence[tuple[int, str]], first: bool) -> Iterator[tuple[int, str, bool]]:
    text, starts = "", []
    for number, part in paragraph:
        text += " " if text else ""
        starts.append((len(text), number))
        text += part
    at = 0
    for sentence in _SENTENCE.split(text):
        at = text.index(sentence, at)
        yield (
            max((start, number) for start, number in starts if start <= at)[1],
            sentence.strip(),
            first and at == 0,
        )
        at += len(sentence)


def rule(sentence: str, documents: bool, first: bool) -> str | None:
    """The rule that a sentence breaks."""
    bare = sentence.rstrip(".")
    if _CODE.match(sentence) or len(bare) < 4:
        return None
    if sentence.endswith("?"):
        return "question" if documents else None
    if _CLAUSE.match(sentence) or _ALONE.match(bare):
        return "clause"
    if _NEIGHBOUR.match(sentence):
        return "neighbour"
    if _FRAGMENT.match(bare):
        return "fragment"
    pronoun = _PRONOUN if documents else _PRONOUN_INSIDE
    if first and pronoun.match(sentence) and not _DETERMINER.match(sentence):
        return "pronoun"
    return None


def riddles(file: Path) -> Iterator[Finding]:
    text = read(file)
    seen = set()
    for documents, block in comments(file, text):
        for line, sentence, first in sentences(block):
            if (found := rule(sentence, documents, first)) and line not in seen:
                seen.add(line)
                yield Finding(file, line, found, sentence)


def dialect(file: Path) -> Iterator[Finding]:
    """Definitions and files with a word of `DIALECT` in their names. Names of five words and more, as of tests, are sentences."""
    if (word := _word(file.stem)) and file.stem not in ("mod", "lib", "main"):
        yield Finding(file, 1, word, f"file {file.name}")
    pattern = _PYTHON_NAME if file.suffix in (".py", ".pyi") else _RUST_NAME
    for number, line in enumerate(read(file).splitlines(), 1):
        found = pattern.match(line)
        name = next(filter(None, found.groups()), None) if found else None
        if name and name.count("_") < 4 and name != "size_hint" and (word := _word(name)):
            yield Finding(file, number, word, name)


def _word(name: str) -> str | None:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")
    return next((word for word in words if word in DIALECT), None)


def long(file: Path) -> Iterator[Finding]:
    """Functions and files with too many lines; tests may have long files."""
    text = read(file)
    lines = text.splitlines()
    if len(lines) > FILE and "tests" not in file.parts:
        yield Finding(file, 1, "file", f"{len(lines)} lines")
    for name, first, last in (
        _python_functions(text) if file.suffix == ".py" else _rust_functions(lines)
    ):
        if last - first + 1 > FUNCTION:
            yield Finding(file, first, "function", f"{name}: {last - first + 1} lines")


def _python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, node.end_lineno or node.lineno


def _rust_functions(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """By indentation, as rustfmt leaves it: a function ends at the first brace that stands as far left as its `fn`."""
    for number, line in enumerate(lines, 1):
        if found := _RUST_FUNCTION.match(line):
            ends = (
                later
                for later, text in enumerate(lines[number - 1 :], number)
                if text.rstrip() in (f"{found[1]}}}", f"{found[1]}}},")
            )
            if not line.rstrip().endswith((";", "}")):
                yield found[2], number, next(ends, number)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.plain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", help="files and folders of the repository")
    parser.add_argument(
        "--names", action="store_true", help="names of definitions instead of comments"
    )
    parser.add_argument(
        "--long", action="store_true", help="long functions and files instead of comments"
    )
    options = parser.parse_args(arguments)
    find = dialect if options.names else long if options.long else riddles
    found = [finding for file in sources(options.paths) for finding in find(file)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(found)} findings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
