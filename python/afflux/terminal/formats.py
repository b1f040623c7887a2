"""Help of `afflux import` and `afflux export`: every format with its options."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

#: An option in the help: its names with its value, and its help text with its default.
_Row = tuple[str, str]


def show_help(group: Any, context: Any, commands: Sequence[Any]) -> None:
    console = Console(highlight=False)
    options = {command.name: _options(command, context) for command in commands}
    common = _common(list(options.values()))
    console.print(
        Text.assemble(
            "\n ",
            ("Usage: ", "bold yellow"),
            (f"{context.command_path} FORMAT [OPTIONS] …", "bold"),
        )
    )
    console.print(Text(f"\n {group.help}\n"))
    for panel in dict.fromkeys(command.rich_help_panel for command in commands):
        parts = [
            _format(command, options[command.name], common)
            for command in commands
            if command.rich_help_panel == panel
        ]
        console.print(_panel(panel, Group(*parts)))
    rows = []
    for names, help in common.items():
        lacking = [name for name, of_format in options.items() if names not in dict(of_format)]
        rows.append((names, help + (f" Not for {', '.join(lacking)}." if lacking else "")))
    rows.append(
        (
            "-h, --help",
            f"Show this help, or that of a format with an example: {context.command_path} {commands[0].name} --help.",
        )
    )
    console.print(_panel("Common options", _grid(rows)))


def _panel(title: str, content: Any) -> Panel:
    return Panel(content, title=title, title_align="left", border_style="dim")


def _format(command: Any, options: Sequence[_Row], common: dict[str, str]) -> Group:
    arguments = " ".join(
        param.metavar + "…" * (param.nargs != 1)
        for param in command.params
        if param.param_type_name == "argument"
    )
    head = Text.assemble((command.name, "bold cyan"), " ", (arguments, "yellow"))
    own = [row for row in options if common.get(row[0]) != row[1]]
    return Group(
        head,
        Padding(Text.from_markup(command.help or ""), (0, 0, 0, 2)),
        *([_grid(own, indent=2)] if own else []),
    )


def _grid(rows: Sequence[_Row], indent: int = 0) -> Padding:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="cyan", width=26 - indent)
    grid.add_column()
    for names, help in rows:
        grid.add_row(names, Text.from_markup(help))
    return Padding(grid, (0, 0, 0, indent))


def _options(command: Any, context: Any) -> list[_Row]:
    rows = []
    for param in command.params:
        if param.param_type_name != "option" or param.name == "help":
            continue
        names = ", ".join([*sorted(param.opts, key=len), *param.secondary_opts])
        if not param.is_flag:
            names += f" {param.metavar or param.name.upper()}"
        default = param.show_default if isinstance(param.show_default, str) else None
        if (
            default is None
            and not param.is_flag
            and param.show_default is not False
            and isinstance(param.default, str | int | float)
        ):
            default = str(param.default)
        rows.append(
            (names, (param.help or "") + (escape(f" [default: {default}]") if default else ""))
        )
    return rows


def _common(every: Sequence[Sequence[_Row]]) -> dict[str, str]:
    """Returns the options common to most formats, with their most frequent help text."""
    common: dict[str, str] = {}
    for names in dict.fromkeys(names for rows in every for names, _ in rows):
        if any(option in names for option in ("--out", "--force", "--json")):
            common[names] = Counter(
                help for rows in every for name, help in rows if name == names
            ).most_common(1)[0][0]
    return common
