"""Collects the data of the page's charts. The reader is report/src/data.ts."""

from typing import Any

from ..results.designs import Design, Designs
from . import alike, completion, differs, flows, phases, replay, series, split, timeline


def of(designs: Designs) -> dict[str, Any]:
    every = list(designs.values())
    return {
        "designs": [
            _design(design, colour)
            for design, colour in zip(every, differs.colours(designs), strict=True)
        ],
        "alike": alike.of(every),
        "completion": completion.of(every),
        "ports": series.of(every),
        "timelines": [timeline.of(design.first) for design in every],
        "phases": phases.of(every),
        "split": split.of(every),
        "replay": replay.of(every),
        "flows": [flows.of(design.first) for design in every],
    }


def _design(design: Design, colour: int) -> dict[str, Any]:
    return {"name": design.name, "seeds": design.seeds, "colour": colour}
