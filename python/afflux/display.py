"""Renders objects in interactive sessions: a screenful of text, a small table in a notebook."""

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

#: Width of a line in characters, and height of a screen in lines. Many sessions are this small.
WIDTH, SCREEN = 80, 24
#: Most rows of a table that are shown, and most columns in a notebook.
MOST_ROWS, MOST_COLUMNS = 8, 12
#: Rows that are shown even if the facts above them fill the screen.
_LEAST_ROWS = 3
#: Longest text of a table cell in characters, and most lines of a fact.
_CELL, _LINES = 28, 10


@dataclass(frozen=True)
class Grid:
    """A table: column heads and rows of text. The first `left` columns are aligned left, the others
    right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    #: Number of rows that exist, including those that are not in `rows`.
    total: int = 0
    #: Whether further columns exist.
    cut: bool = False


@dataclass(frozen=True)
class Card:
    """Printed form of an object: a title, facts by name, and a table."""

    title: str
    facts: Sequence[tuple[str, str]] = field(default_factory=list)
    grid: Grid | None = None

    def text(self) -> str:
        """Returns lines of at most `WIDTH` characters that fill about one screen."""
        lines = textwrap.wrap(
            _visible(self.title),
            WIDTH,
            subsequent_indent="  ",
            max_lines=2,
            placeholder=" …",
            break_on_hyphens=False,
        ) or [""]
        names = max((len(name) for name, _ in self.facts), default=0)
        for name, value in self.facts:
            head = f"  {_visible(name):{names}}  "
            lines += textwrap.wrap(
                _visible(value),
                WIDTH,
                initial_indent=head,
                subsequent_indent=" " * len(head),
                max_lines=_LINES,
                placeholder=" …",
                break_on_hyphens=False,
            ) or [head.rstrip()]
        if self.grid and self.grid.rows:
            # Three more lines: a blank one, the heads, and the count of rows that are not shown.
            lines += [
                "",
                *_lines(self.grid, max(min(MOST_ROWS, SCREEN - len(lines) - 3), _LEAST_ROWS)),
            ]
        return "\n".join(lines)

    def html(self) -> str:
        """Returns HTML tables without styles, so that the notebook's own styles apply. All text is
        escaped."""
        facts = "".join(
            f'<tr><th scope="row" style="text-align: left">{_escaped(name)}</th>{_cell(value, left=True)}</tr>'
            for name, value in self.facts
        )
        made = f"<table><caption>{_escaped(self.title)}</caption><tbody>{facts}</tbody></table>"
        if self.grid is None or not self.grid.rows:
            return made
        shown, rows = min(len(self.grid.head), MOST_COLUMNS), self.grid.rows[:MOST_ROWS]
        cut = ["…"] if self.grid.cut or shown < len(self.grid.head) else []
        head = "".join(
            f'<th scope="col">{_escaped(name)}</th>' for name in [*self.grid.head[:shown], *cut]
        )
        body = "".join(
            f"<tr>{''.join(_cell(cell, left=place < self.grid.left) for place, cell in enumerate([*row[:shown], *cut]))}</tr>"
            for row in rows
        )
        return f"{made}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{_escaped(_more(self.grid, MOST_ROWS))}"


class Displayed:
    """An object that is shown as a card."""

    def _card(self) -> Card:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._card().text()

    def _repr_html_(self) -> str:
        return self._card().html()


def plural(number: int, noun: str) -> str:
    """Returns a number with its noun, plural unless the number is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _lines(grid: Grid, most: int) -> list[str]:
    """Returns the heads and at most `most` rows, with as many columns as fit into `WIDTH`."""
    rows = [
        [textwrap.shorten(_visible(cell), _CELL, placeholder="…") for cell in row]
        for row in [grid.head, *grid.rows[:most]]
    ]
    widths: list[int] = []
    for place in range(len(grid.head)):
        width = max(len(row[place]) for row in rows)
        # Two blanks before each column, and room for the mark that columns are left out.
        if (
            sum(widths)
            + 2 * len(widths)
            + 2
            + width
            + (3 if grid.cut or place + 1 < len(grid.head) else 0)
            > WIDTH
        ):
            break
        widths.append(width)
    cut = ["…"] if grid.cut or len(widths) < len(grid.head) else []
    lines = []
    for row in rows:
        cells = [
            f"{cell:{'<' if place < grid.left else '>'}{width}}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append(f"  {'  '.join([*cells, *cut])}".rstrip())
    return [*lines, *([f"  {more}"] if (more := _more(grid, most)) else [])]


def _more(grid: Grid, most: int) -> str:
    left = max(grid.total, len(grid.rows)) - min(len(grid.rows), most)
    return f"… and {plural(left, 'row')} more" if left > 0 else ""


def _visible(text: str) -> str:
    """Escapes control characters. Names come from files, and their control characters must not
    reach the terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def _escaped(text: str) -> str:
    return html.escape(_visible(text))


def _cell(text: str, *, left: bool = False) -> str:
    return f'<td style="text-align: {"left" if left else "right"}">{_escaped(text)}</td>'
