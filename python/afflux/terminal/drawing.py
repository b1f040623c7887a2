"""Tables and bars."""

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from ..words import Marked, text

#: One colour per label, the same wherever a label is shown.
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


def table(title: str, *columns: str, left: int = 1) -> Table:
    """A plain table: the first `left` columns are aligned to the left, numbers to the right."""
    made = Table(title=f"\n{title}" if title else None, title_justify="left", title_style="bold")
    made.box, made.header_style, made.show_edge, made.pad_edge, made.padding = box.SIMPLE_HEAD, "dim", False, False, (0, 1, 0, 0)
    for place, column in enumerate(columns):
        # On a narrow terminal names are broken into lines; numbers are not.
        made.add_column(column, justify="left" if place < left else "right", no_wrap=place >= left)
    return made


def bar(share: float, width: int, colour: str) -> Text:
    """A horizontal bar in eighths of a character."""
    eighths = round(share * width * 8)
    full, rest = divmod(eighths, 8)
    return Text("█" * full + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest], style=colour)


def stacked(shares: dict[str, float], width: int) -> Text:
    """Shares side by side, exactly `width` characters if they add up to one."""
    line, done, total = Text(), 0, 0.0
    for label, share in shares.items():
        total += share
        cells = round(total * width) - done
        line.append("█" * cells, style=COLOURS[label])
        done += cells
    return line


def diverging(value: int, most: int, width: int, colour: str) -> Text:
    """A bar from the middle to the left for less, to the right for more."""
    half = (width - 1) // 2
    length = round(abs(value) / most * half) if most else 0
    # A value too small for a block is a thin line.
    less, more = ("█" * length or "▕", "") if value < 0 else ("", "█" * length or "▏") if value > 0 else ("", "")
    return Text(less.rjust(half), style=colour).append("│", style="dim").append(more, style=colour)


def legend(labels: Sequence[str]) -> Text:
    line = Text()
    for label in labels:
        line.append("█", style=COLOURS[label]).append(f" {label}  ", style="dim")
    return line


def answer(words: str) -> Text:
    """The marked parts of an answer are bold; an answer without parts is bold as a whole."""
    if not isinstance(words, Marked):
        return Text(words, style="bold")
    return Text(" ").join(Text(part, style="bold" if bold else "") for part, bold in words.parts)


def plural(number: int, noun: str, ending: str = "s") -> str:
    return f"{text.count(number)} {noun}{'' if number == 1 else ending}"
