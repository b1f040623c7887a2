"""Suggests corrections for unknown names: the nearest known name, and the list of all."""

import difflib
import itertools
from collections.abc import Iterable, Sequence

#: Most names that an error lists.
FEW = 40


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns ` (did you mean …?)`, or an empty string if no name is near."""
    found = difflib.get_close_matches(name[:100], list(itertools.islice(known, 10_000)), 1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def unknown(what: str, name: str, known: Sequence[str], otherwise: str = "") -> str:
    """Returns the message for an unknown name. `otherwise` says where to find the names if there
    are too many to list."""
    names = ", ".join(known[:FEW]) + (f", … ({len(known) - FEW} more)" if len(known) > FEW else "")
    listed = (
        otherwise
        if otherwise and len(known) > FEW
        else f"there are {names}"
        if known
        else "there are none"
    )
    return f"there is no {what} called {name!r}{nearest(name, known)}: {listed}"
