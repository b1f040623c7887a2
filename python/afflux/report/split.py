"""Where the time went, by design: the parts of mean completion times, and what makes the difference to the first design."""

from collections.abc import Sequence
from typing import Any

from ..results import split
from ..results.designs import Design, Designs
from ..results.explain import ALL, GROUPINGS, LABELS
from ..words import Words, japanese, text


def of(designs: Sequence[Design]) -> dict[str, Any] | None:
    """None if no design has its split recorded."""
    found = [{(group.by, group.name): group for group in split.groups(split.explained(design), GROUPINGS)} for design in designs]
    keys = _shown(list(dict.fromkeys(key for groups in found for key in groups)))
    if not keys:
        return None
    changes = split.changes(Designs(designs), designs[0].name, GROUPINGS) if len(designs) > 1 else {}
    return {
        "labels": list(LABELS),
        "groups": [
            {
                "by": ALL if name == ALL else by,
                "name": text.size_class(name) if by == "size" and name != ALL else name,
                "designs": [_group(groups.get((by, name))) for groups in found],
                "changes": [_change(changes.get(design.name), by, name) for design in designs],
            }
            for by, name in keys
        ],
        "said": [_said(changes.get(design.name)) for design in designs],
    }


def _shown(keys: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """All flows once, then sizes and classes; the only one of them says what all say."""
    shown = [key for key in keys if key == (GROUPINGS[0], ALL)]
    for by in GROUPINGS:
        own = [key for key in keys if key[0] == by and key[1] != ALL]
        shown += own if len(own) > 1 else []
    return shown


def _group(group: split.Group | None) -> dict[str, Any] | None:
    if group is None:
        return None
    mean = group.mean
    shares = [round(share, 6) for share in mean.flow_shares.values()]
    return {"flows": mean.flows, "unfinished": group.unfinished, "mean_fct_ns": mean.fct_ns, "parts_ns": list(mean.parts_ns.values()), "shares": shares}


def _change(found: split.Comparison | None, by: str, name: str) -> dict[str, Any] | None:
    if found is None or (change := found.of(by, name)) is None:
        return None
    means = {"before_ns": change.baseline.fct_ns, "after_ns": change.design.fct_ns}
    return means | {"flows": change.design.flows, "parts_ns": list(change.parts_ns.values())}


def _said(found: split.Comparison | None) -> dict[str, list[str]] | None:
    """The difference in a sentence, and of which flows it is."""
    return None if found is None else _both([found.sentence(), found.note()])


def _both(said: Sequence[Words]) -> dict[str, list[str]]:
    return {"en": [str(words) for words in said], "ja": [japanese(words) for words in said]}
