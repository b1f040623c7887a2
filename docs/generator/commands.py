"""Pages of the commands, one each, made from the program's help."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from rich.text import Text

from afflux.cli import app

from .keys import cell, quoted

FOLDER = "reference/commands"


def every() -> Iterator[tuple[list[str], Any]]:
    """Yields each command and group with the words that call it."""
    root = typer.main.get_command(app)
    yield [], root
    for name, command in sorted(root.commands.items()):  # type: ignore[attr-defined]
        yield [name], command
        yield from (
            ([name, inner], below)
            for inner, below in sorted(getattr(command, "commands", {}).items())
        )


def file(words: list[str]) -> str:
    """Returns the file name of the page. The commands of a group share one page."""
    return f"{words[0]}.md" if words else "index.md"


def pages() -> dict[str, str]:
    """Returns the text of each page, by its path below `docs/`."""
    found = list(every())
    rows = "".join(
        f"| [`afflux {words[0]}`]({file(words)}) | {cell(plain(command.help))} |\n"
        for words, command in found
        if len(words) == 1
    )
    listed = f"## All commands\n\n| command | what it does |\n|---|---|\n{rows}"
    made = {
        f"{FOLDER}/index.md": f"---\ntitle: All commands\n---\n\n# Commands\n\n{body([], found[0][1])}\n{listed}"
    }
    for words, command in found:
        path = f"{FOLDER}/{file(words)}"
        if len(words) == 1:
            made[path] = (
                f"---\ntitle: {quoted(f'afflux {words[0]}')}\n---\n\n# `afflux {words[0]}`\n\n{body(words, command)}"
            )
        elif words:
            made[path] += f"\n## `afflux {' '.join(words)}`\n\n{body(words, command, 3)}"
    return made


def body(words: list[str], command: Any, level: int = 2) -> str:
    context = command.make_context(" ".join(["afflux", *words]), [], resilient_parsing=True)
    parts = [f"{' '.join(plain(command.help).split())}\n"]
    usage = (
        " ".join(["afflux", *words, *command.collect_usage_pieces(context)])
        .replace("{", "")
        .replace("}", "")
    )
    parts.append(f"```text\n{usage}\n```\n")
    mark = "#" * level
    shown = [
        parameter
        for parameter in command.get_params(context)
        if parameter.name != "help" or not words
    ]
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        of_kind = [parameter for parameter in shown if parameter.param_type_name == kind]
        groups = list(
            dict.fromkeys(
                getattr(parameter, "rich_help_panel", None) or "" for parameter in of_kind
            )
        )
        if of_kind:
            parts.append(f"{mark} {title} {{ #{'-'.join([*words, kind])}s }}\n")
        for group in groups:
            records = [
                parameter.get_help_record(context)
                for parameter in of_kind
                if (getattr(parameter, "rich_help_panel", None) or "") == group
            ]
            rows = "".join(
                f"| {spelling(record[0])} | {cell(meaning(record[1]))} |\n"
                for record in records
                if record
            )
            parts.append(
                f"{f'**{group}**' if group else ''}\n\n| {kind} | meaning |\n|---|---|\n{rows}"
            )
    if command.epilog and (
        lines := re.findall(r"^\s*(afflux .*|sudo .*)$", plain(command.epilog), re.M)
    ):
        parts.append(
            f"{mark} Examples {{ #{'-'.join([*words, 'examples'])} }}\n\n```sh\n"
            + "\n".join(lines)
            + "\n```\n"
        )
    return "\n".join(parts)


def spelling(names: str) -> str:
    """Returns the names of an option, or the placeholder of an argument, as code."""
    names = re.sub(r" <\w+>$", "", plain(names))
    return ", ".join(f"`{name.strip()}`" for name in names.split(", "))


def meaning(text: str) -> str:
    """Returns the help of an option, with its default and range as text."""
    text, _, facts = text.partition("  [")
    said = [fact for fact in facts.removesuffix("]").split("; ") if fact and fact != "required"]
    said = [
        re.sub(
            r"^default: (?:\((.*)\)|(.*))$",
            lambda match: f"Default: {match[1] or f'`{match[2]}`'}",
            fact,
        )
        for fact in said
    ]
    return " ".join(
        [
            plain(text),
            *(f"{fact}." if fact.startswith("Default") else f"`{fact}`." for fact in said),
        ]
    ).replace("<", "&lt;")


def plain(text: str | None) -> str:
    """Returns the help text without the markup of rich."""
    return Text.from_markup(text or "").plain.strip()
