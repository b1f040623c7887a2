"""`--baseline`: the design that the others are compared with."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import settings, spelling
from ..terminal.console import complain

if TYPE_CHECKING:
    from ..batch import Outcome
    from ..comparison.compare import Comparison
    from ..metrics import Metric
    from ..results.designs import Designs


def gathered(dirs: Sequence[Path], baseline: str | None) -> "Designs":
    """Returns the designs of result directories, the baseline first. The directory of a sweep stands
    for all its points. `baseline` is the name of a design or a directory, which need not be in
    `dirs`. Raises `LookupError`."""
    from ..batch.manifest import members
    from ..batch.place import MANIFEST
    from ..results.designs import gather
    from ..results.result import Result

    # A shell's `points/*` names the manifest, too.
    named = [path for path in dirs if path.name != MANIFEST or path.is_dir()]
    places = {one.resolve(): one for path in named for one in members(path) or [path]}
    designs = gather(places.values())
    if baseline is None:
        return designs
    if (name := settings.named_by(baseline, designs)) in designs:
        return designs.led_by(name)
    path = Path(baseline)
    if not path.exists():
        raise LookupError(f"--baseline: {spelling.unknown('design', baseline, list(designs))}")
    name = Result.open(path).summary["name"]
    return gather({path.resolve(): path, **places}.values()).led_by(name)


def known(baseline: str | None, names: Sequence[str]) -> str | None:
    """Returns the name of the design that `baseline` means: a name, or keys and values as in
    `--vary`. Raises `LookupError` if there is no such design, and `ValueError` if there is no other
    one. Called before anything is simulated."""
    if baseline is None:
        return None
    found = settings.named_by(baseline, names)
    if found not in names:
        raise LookupError(
            f"--baseline: {spelling.unknown('design', baseline, list(dict.fromkeys(names)))}"
        )
    if {*names} == {found}:
        raise ValueError(f"--baseline {baseline}: there is no other design to compare with it")
    return found


def against(
    outcome: "Outcome", baseline: str | None, asked: "Sequence[Metric]" = ()
) -> "Comparison | None":
    """Compares every design that has a seed in common with the baseline with it, in the metrics
    `asked` (default: all). None if there is no baseline, or if its points or those of all other
    designs have failed."""
    from ..comparison.compare import compare
    from ..results.designs import Designs

    if baseline is None or not outcome.results:
        return None
    designs = outcome.designs
    if baseline not in designs:
        return None
    seeds = {*designs[baseline].seeds}
    common = [design for design in designs.values() if seeds & {*design.seeds}]
    if len(common) == 1 and outcome.failures:
        return None
    return compare(Designs(common), baseline, metrics=asked)


def complain_if_missing(compared: "Comparison | None", baseline: str | None) -> None:
    """Says on stderr that failed points leave nothing to compare."""
    if baseline is not None and compared is None:
        complain(f"--baseline {baseline}: nothing is compared, because points failed")
