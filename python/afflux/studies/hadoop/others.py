"""What the source names and has not measured, beside the design that each is a change of: python -m afflux.studies.hadoop.others.

The sort of 10 GB by MapReduce under traffic, from results/runs.csv. Nothing here is judged: the source has no numbers for these designs.
"""

from ...comparison.paired import Difference, of_pairs
from ...metrics import JOB_TIME
from .cases import BASE, FRAMEWORKS, OTHERS, SIZES, Case
from .runs import Run, read

#: The measured design that each changes.
CHANGED = {
    "deep_codel": "deep",
    "deep_codel_fast": "deep",
    "all_shallow": "shallow",
    "pfc_watchdog": "pfc",
    "pfc_spines_obey": "pfc",
    "shallow_dlb": "shallow",
    "shallow_glb": "shallow",
}
assert CHANGED.keys() == OTHERS.keys()


def _times(design: str, runs: dict[Run, float]) -> dict[int, float]:
    case = Case(design, FRAMEWORKS[0], SIZES[0], True)
    return {run.seed: seconds for run, seconds in runs.items() if run.case == case and (run.cpu, run.disk) == (BASE.cpu, BASE.disk)}


def differences(runs: dict[Run, float]) -> list[Difference]:
    """Job times in nanoseconds, over the seeds that both designs have."""
    found = []
    for design, base in CHANGED.items():
        own, before = _times(design, runs), _times(base, runs)
        pairs = [(1e9 * before[seed], 1e9 * own[seed]) for seed in sorted(own.keys() & before.keys())]
        if pairs:
            found.append(of_pairs(JOB_TIME, design, pairs))
    return found


def table(found: list[Difference]) -> str:
    lines = ["| design | seeds | job time, s | of the design that it changes, s | change, % (95 % interval) |", "|---|---|---|---|---|"]
    for one in found:
        between = "" if one.ratio_low is None or one.ratio_high is None else f" ({100 * one.ratio_low - 100:+.1f} to {100 * one.ratio_high - 100:+.1f})"
        change = f"{100 * (one.ratio or 1.0) - 100:+.1f}{between}"
        base = CHANGED[one.design]
        lines.append(f"| `{one.design}` | {one.samples} | {one.design_mean / 1e9:.1f} | {one.baseline_mean / 1e9:.1f} (`{base}`) | {change} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(differences(read())))
