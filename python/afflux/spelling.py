"""Names that do not exist: the nearest known name, and the list of all."""

import difflib
import itertools
from collections.abc import Iterable, Sequence

#: A list of more names than this does not help in an error.
FEW = 40


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean …?)`, or nothing."""
    found = difflib.get_close_matches(name[:100], list(itertools.islice(known, 10_000)), 1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def unknown(what: str, name: str, known: Sequence[str], otherwise: str = "") -> str:
    """The message for a wrong name; `otherwise` says where the names are, if they are too many to list."""
    names = ", ".join(known[:FEW]) + (f", … ({len(known) - FEW} more)" if len(known) > FEW else "")
    listed = otherwise if otherwise and len(known) > FEW else f"there are {names}" if known else "there are none"
    return f"there is no {what} called {name!r}{nearest(name, known)}: {listed}"
