"""Draws tables and bars."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from ..words import Marked, text

#: Colour of each label, used wherever the label is shown.
COLOURS = {
    "propagation": "bright_black",
    "serialization": "blue",
    "recovery": "red",
    "reordering": "magenta",
    "paused": "bright_magenta",
    "queueing": "yellow",
    "pacing": "cyan",
    "window": "green",
    "application": "bright_blue",
}

#: Letter of each label in stacked bars, which are thus readable without colours.
LETTERS = {
    "propagation": "P",
    "serialization": "S",
    "recovery": "R",
    "reordering": "O",
    "paused": "U",
    "queueing": "Q",
    "pacing": "C",
    "window": "W",
    "application": "A",
}

#: Least width in characters to which columns of words are wrapped.
PROSE = 24


class Fitted(Table):
    """A table whose cells are never clipped.

    If a table is too wide for the terminal, it is made narrower in this order: heads and columns of
    words are wrapped, columns that only illustrate (`extras`) are left out, names and labels are
    wrapped between their words, and columns move to further tables below, which repeat the names.
    """

    #: Number of columns, from the left, that name the row.
    names = 1
    #: Indices of columns that may be left out.
    extras: tuple[int, ...] = ()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width
        widest = [self._natural(console, options, column) for column in self.columns]
        if _together(widest) <= room:
            yield from super().__rich_console__(console, options)
            return
        least = [
            self._least(console, options, column, width)
            for column, width in zip(self.columns, widest, strict=True)
        ]
        places = list(range(len(self.columns)))
        if _together(least) > room:
            places = [place for place in places if place not in self.extras]
        least = self._broken_labels(places, least, room)
        # Names stay whole unless they leave too little space for the widest of the other columns.
        names = places[: self.names]
        beside = max((least[place] for place in places[self.names :]), default=0)
        while names and _together([*(least[place] for place in names), beside]) > room:
            longest = max(names, key=lambda place: least[place])
            excess = _together([*(least[place] for place in names), beside]) - room
            if least[longest] <= PROSE:
                break
            least[longest] = max(least[longest] - excess, PROSE)
        for part, chosen in enumerate(self._parts(names, places[self.names :], least, room)):
            if part:
                yield from Text().__rich_console__(console, options)
            yield from self._of(chosen, widest, least, room, first=part == 0).__rich_console__(
                console, options
            )

    def _broken_labels(self, places: Sequence[int], least: list[int], room: int) -> list[int]:
        """Returns the widths with names and labels wrapped between their words, as far as needed
        for one table with all columns. Returns `least` if wrapping does not suffice for that."""
        excess, made = _together([least[place] for place in places]) - room, list(least)
        labels = [
            place
            for place in places
            if self.columns[place].justify == "left" and place not in self.extras
        ]
        for place in sorted(labels, key=lambda place: -least[place]):
            column = self.columns[place]
            words = [word for cell in column.cells for word in str(cell).split()]
            head = _narrowest(column.header) if isinstance(column.header, str) else least[place]
            made[place] = max(
                min(least[place], max(map(cell_len, words), default=0)),
                head,
                least[place] - max(excess, 0),
            )
            excess -= least[place] - made[place]
        return made if excess <= 0 else least

    def _parts(
        self, names: list[int], others: list[int], least: list[int], room: int
    ) -> Iterator[list[int]]:
        """Splits the columns into tables. Prefers few tables, then few tables with a single column
        next to the names, then tables of about equal width."""

        @cache
        def best(start: int) -> tuple[int, int, int, tuple[int, ...]]:
            """Returns, for the columns from `start` on: number of tables, number of tables with one
            column, sum of the squared widths, and the end index of each table."""
            if start == len(others):
                return 0, 0, 0, ()
            found = []
            for end in range(start + 1, len(others) + 1):
                width = _together([least[place] for place in [*names, *others[start:end]]])
                if width > room and end > start + 1:
                    break
                tables, lone, squares, ends = best(end)
                found.append(
                    (tables + 1, lone + (end == start + 1), squares + width**2, (end, *ends))
                )
            return min(found)

        ends = best(0)[3]
        for start, end in zip((0, *ends[:-1]), ends, strict=True):
            yield [*names, *others[start:end]]

    def _of(
        self, chosen: list[int], widest: list[int], least: list[int], room: int, *, first: bool
    ) -> Table:
        """Returns a table of the chosen columns. Spare width goes, from the left, to columns that
        are narrower than their widest cell."""
        left = room - _together([least[place] for place in chosen])
        made = Table(
            title=self.title if first else "",
            title_justify=self.title_justify,
            title_style=self.title_style,
            show_header=self.show_header,
        )
        _plain(made)
        for index, place in enumerate(chosen):
            width = min(least[place] + max(left, 0), widest[place])
            left -= width - least[place]
            column = self.columns[place]
            head = (
                _broken(column.header, width) if isinstance(column.header, str) else column.header
            )
            made.columns.append(
                replace(
                    column,
                    header=head,
                    width=width,
                    min_width=None,
                    no_wrap=False,
                    overflow="fold",
                    _index=index,
                )
            )
        made.rows = self.rows
        return made

    def _natural(self, console: Console, options: ConsoleOptions, column: Column) -> int:
        # The width may exceed the terminal's. Padding is not included.
        free = options.update(max_width=10_000)
        return max(
            Measurement.get(console, free, cell).maximum
            for cell in (column.header, *column.cells, "")
        )

    def _least(
        self, console: Console, options: ConsoleOptions, column: Column, natural: int
    ) -> int:
        """Returns the width at which every cell is whole and the head is wrapped into few lines."""
        cells = max(
            (
                Measurement.get(console, options.update(max_width=10_000), cell).maximum
                for cell in column.cells
            ),
            default=0,
        )
        head = _narrowest(column.header) if isinstance(column.header, str) else natural
        words = not column.no_wrap and column._index >= self.names
        return max(min(cells, PROSE) if words else cells, min(head, natural))


def _together(widths: Sequence[int]) -> int:
    """Returns the total width of columns. A blank and the line of the box separate two columns."""
    return sum(widths) + 2 * max(len(widths) - 1, 0)


#: Longest word of a head, in characters, that is not broken after a hyphen, a dot or the like.
_WORD = 14


def _narrowest(head: str) -> int:
    """Returns the least width at which a head takes at most five lines and its words are whole."""
    longest = min(max((len(word.rstrip()) for word in _pieces(head)), default=0), PROSE)
    return next(
        width
        for width in range(max(longest, 1), len(head) + 2)
        if len(_broken(head, width).split("\n")) <= 5
    )


def _pieces(head: str) -> Iterator[str]:
    """Yields the parts of a head between which a line may end."""
    for word in re.split(r"(?<=\s)", head):
        yield from re.split(r"(?<=[\-_,=./])", word) if len(word.rstrip()) > _WORD else [word]


def _broken(head: str, width: int) -> str:
    lines = [""]
    for word in _pieces(head):
        if len((lines[-1] + word).rstrip()) > width and lines[-1]:
            lines.append("")
        while len(word.rstrip()) > width:
            lines[-1:], word = [word[:width], ""], word[width:]
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines if line.strip()) or head


def _plain(made: Table) -> None:
    made.box, made.header_style, made.show_edge, made.pad_edge, made.padding = (
        box.SIMPLE_HEAD,
        "dim",
        False,
        False,
        (0, 1, 0, 0),
    )


def table(
    title: str,
    *columns: str,
    left: int = 1,
    words: Sequence[int] = (),
    labels: Sequence[int] = (),
    extras: Sequence[int] = (),
) -> Fitted:
    """Returns a plain table. The first `left` columns name the row and are aligned left, numbers
    are aligned right.

    `words`, `labels` and `extras` are column indices (-1 is the last). `words` and `labels` are
    aligned left. If the table is too wide, `words` are wrapped and `extras` are left out.
    """
    made = Fitted(title=f"\n{title}" if title else None, title_justify="left", title_style="bold")
    _plain(made)
    made.names = left
    made.extras = tuple(place % len(columns) for place in extras)
    prose, aligned = (
        {place % len(columns) for place in places} for places in (words, (*words, *labels, *extras))
    )
    for place, column in enumerate(columns):
        made.add_column(
            column,
            justify="left" if place < left or place in aligned else "right",
            no_wrap=place not in prose,
        )
    return made


def paragraphs(**columns: int) -> Table:
    """Returns a table of sentences as wide as the terminal. Each column has a share of the width; a
    column with share 0 is as wide as its longest line."""
    made = Table(expand=True, leading=1)
    _plain(made)
    for column, share in columns.items():
        made.add_column(column, ratio=share or None, no_wrap=not share)
    return made


def bar(share: float, width: int, colour: str) -> Text:
    """Returns a horizontal bar with a resolution of an eighth of a character."""
    eighths = round(share * width * 8)
    full, rest = divmod(eighths, 8)
    return Text("█" * full + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest], style=colour)


def stacked(shares: dict[str, float], width: int) -> Text:
    """Draws shares next to each other, each as its letter on its colour. The bar is exactly `width`
    characters wide if the shares add up to one."""
    line, done, total = Text(), 0, 0.0
    for label, share in shares.items():
        total += share
        cells = round(total * width) - done
        line.append(LETTERS[label] * cells, style=_on(label))
        done += cells
    return line


def diverging(value: int, most: int, width: int, colour: str) -> Text:
    """Draws a bar from the middle: to the left if negative, to the right if positive."""
    half = (width - 1) // 2
    length = round(abs(value) / most * half) if most else 0
    # A nonzero value too small for a block is drawn as a thin line.
    less, more = (
        ("█" * length or "▕", "")
        if value < 0
        else ("", "█" * length or "▏")
        if value > 0
        else ("", "")
    )
    return Text(less.rjust(half), style=colour).append("│", style="dim").append(more, style=colour)


def legend(labels: Sequence[str]) -> Text:
    """Returns the letters of stacked bars with their labels."""
    return Text("  ").join(
        Text.assemble((LETTERS[label], _on(label)), (f"\N{NO-BREAK SPACE}{label}", "dim"))
        for label in labels
    )


def _on(label: str) -> str:
    return f"black on {COLOURS[label]}"


def zeros(names: Sequence[str]) -> Iterator[Text]:
    """Yields the sentence below a table that names the rows left out because all their values are
    zero."""
    if names:
        listed = f"{', '.join(names[:-1])} and {names[-1]} are" if names[1:] else f"{names[0]} is"
        yield Text(f"{listed} zero and not shown", style="dim")


#: Most characters of an answer that is shown as one paragraph. A longer one does not fit on a
#: screen.
_PARAGRAPH = 1_600


def answer(words: str) -> Text:
    """Renders an answer. Its marked parts are bold; an answer without parts is bold as a whole. The
    parts of a long answer are on separate lines."""
    if not isinstance(words, Marked):
        return Text(words, style="bold")
    between = "\n" if len(words) > _PARAGRAPH and len(words.parts) > 1 else " "
    return Text(between).join(
        Text(part, style="bold" if bold else "") for part, bold in words.parts
    )


def plural(number: int, noun: str, ending: str = "s") -> str:
    return f"{text.count(number)} {noun}{'' if number == 1 else ending}"
