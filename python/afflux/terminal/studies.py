"""Shows the list of studies, and the parts and assumptions of each."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from ..executors.local import cores
from ..studies import Part, Series, Slice, Study
from ..studies.part import Ended
from ..studies.study import MEASURED_ON, here
from ..words import text
from .drawing import paragraphs, plural


def listed(every: Iterable[Study]) -> list[dict[str, Any]]:
    """Returns a row for each study. `duration` is estimated for the whole study on this machine."""
    return [
        {
            "study": study.name,
            "title": study.title,
            "question": study.question,
            "answer": study.finding,
            "duration": here(study.duration, cores()),
            "parts": [part.name for part in study.parts],
            "points": len(study.points(False)),
            "points_quick": len(study.points(True)),
        }
        for study in every
    ]


def studies(every: Sequence[dict[str, Any]]) -> Iterator[RenderableType]:
    """Renders the list of studies."""
    if not every:
        yield Text("there are no built-in studies yet")
        return
    made = paragraphs(study=0, question=9, answer=12, duration=0, parts=10)
    for one in every:
        simulations = f"{text.count(one['points'])} simulations, {text.count(one['points_quick'])} with --quick"
        made.add_row(
            one["study"],
            one["question"],
            one["answer"],
            one["duration"],
            f"{', '.join(one['parts'])}\n{simulations}",
        )
    yield made
    yield Text()
    yield Text(
        "answer: of the runs that come with afflux; the study's page tells which", style="dim"
    )
    yield Text(f"duration: of the whole study; {_origin()}", style="dim")
    yield Text(
        "afflux study NAME --list: the questions of its parts, and its assumptions", style="dim"
    )


def _origin() -> str:
    """Says where durations come from. They are shipped with afflux, because `check` would take
    minutes to estimate so many simulations."""
    count = cores()
    shipped = f"on {MEASURED_ON} cores, comes with afflux"
    return shipped if count == MEASURED_ON else f"{shipped}, here for {plural(count, 'core')}"


def about(study: Study) -> dict[str, Any]:
    """Returns a study with its parts and assumptions, for JSON output."""
    whole, quick = study.points(False), study.points(True)
    (row,) = listed([study])
    parts = [
        {"part": part.name, "question": part.question, "duration": _duration(part)}
        | (
            {
                "points": sum(part.has(p.name) for p in whole),
                "points_quick": sum(part.has(p.name) for p in quick),
            }
            if isinstance(part, Slice)
            else {}
        )
        | (
            {"points": part.count(), "points_quick": part.count(True), "kept": part.kept()}
            if isinstance(part, Series)
            else {}
        )
        for part in study.parts
    ]
    return row | {"parts": parts, "assumptions": [one.to_dict() for one in study.assumptions]}


def _duration(part: Part) -> str:
    """Returns the expected duration of a part. A series runs one simulation at a time, so more
    cores do not shorten it."""
    return here(part.duration, cores()) if isinstance(part, Slice) else part.duration


def study(of: Study) -> Iterator[RenderableType]:
    """Output of `afflux study NAME --list`."""
    found = about(of)
    yield Text(f"{of.name}: {of.question}", style="bold")
    yield Text(of.finding)
    count = f"{text.count(found['points'])} simulations, {text.count(found['points_quick'])} with --quick"
    yield Text(f"{count}; {found['duration']} ({_origin()})", style="dim")
    yield Text()
    parts = paragraphs(part=0, question=1, simulations=0, duration=0)
    for one in found["parts"]:
        kept = f"\n{text.count(one['kept'])} are there" if one.get("kept") else ""
        parts.add_row(
            one["part"], one["question"], f"{text.count(one['points'])}{kept}", one["duration"]
        )
    yield parts
    slices = [one for one in found["parts"] if "kept" not in one]
    if sum(one["points"] for one in slices) > found["points"]:
        yield Text()
        yield Text("some simulations belong to several parts and are done once", style="dim")
    if any("kept" in one for one in found["parts"]):
        yield Text()
        yield Text(
            "are there: come with afflux and are not simulated again. Their duration is that on one core; --jobs says how many run at a time.",
            style="dim",
        )
    yield Text()
    if not of.assumptions:
        yield Text("the study has no assumptions to choose from")
        return
    made = paragraphs(assumption=0, value=0, meaning=1)
    for each in of.assumptions:
        made.add_row(each.name, each.default, f"default; {each.what} ({each.source})")
        for value in each.alternatives:
            made.add_row("", value, each.changes.get(value, "not known what it changes"))
    yield made
    yield Text()
    yield Text(
        f"afflux study {of.name} --assume NAME=VALUE has a directory of its own", style="dim"
    )


def series(found: Ended) -> Iterator[RenderableType]:
    """Output of `afflux study NAME PART` if the part is a series of runs."""
    yield Text(
        f"{plural(found.runs, 'run')}, {text.count(found.simulated)} simulated now; written to {found.file.parent}",
        style="dim",
    )
