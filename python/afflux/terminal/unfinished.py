"""Says what tables of the slowest flows and jobs leave out."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from ..words import text


def not_listed(count: int, longest_ns: int, names: tuple[str, str]) -> Iterator[RenderableType]:
    """Says how many flows or jobs had not finished when the run ended, and the longest time in
    nanoseconds that one of them had run. `names` are the singular and the plural."""
    if count:
        name = names[count != 1]
        whose = "it" if count == 1 else "the oldest of them"
        yield Text(
            f"not listed: {text.count(count)} {name} that did not finish before the end of the run; {whose} had run for {text.time(longest_ns)} by then"
        )
