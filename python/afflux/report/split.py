"""Where the time went: the parts of `afflux explain`, all seeds of a design together."""

from collections.abc import Sequence
from typing import Any

from .. import text
from ..designs import Design
from ..explain import LABELS, Group


def of(designs: Sequence[Design]) -> dict[str, Any] | None:
    """None if no design has its split recorded."""
    found = [_groups(design) for design in designs]
    sizes = list(dict.fromkeys(size for groups in found for size in groups))
    # One size class says what "all" says.
    sizes = sizes if len(sizes) > 2 else sizes[:1]
    if not sizes:
        return None
    names = {size: "all" if size == "all" else text.size_class(size) for size in sizes}
    return {"labels": list(LABELS), "groups": [{"size": names[size], "designs": [_shown(groups.get(size, [])) for groups in found]} for size in sizes]}


def _groups(design: Design) -> dict[str, list[Group]]:
    groups: dict[str, list[Group]] = {}
    for result in design.results.values():
        try:
            explanation = result.explain()
        except LookupError:  # not recorded
            continue
        for group in explanation.by_size():
            groups.setdefault(group.name, []).append(group)
    return groups


def _shown(groups: Sequence[Group]) -> dict[str, Any] | None:
    """Of several seeds together: weighted by their flows."""
    flows = sum(group.flows for group in groups)
    if not flows:
        return None
    shares = [round(sum(group.shares[label] * group.flows for group in groups) / flows, 6) for label in LABELS]
    return {"flows": flows, "mean_fct_ns": round(sum(group.mean_fct_ns * group.flows for group in groups) / flows), "shares": shares}
