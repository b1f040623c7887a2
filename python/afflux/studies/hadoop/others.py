"""What the source names and has not measured, beside the design that each is a change of, and what the deep buffer costs when an assumption is another:
python -m afflux.studies.hadoop.others.

The sort of 10 GB by MapReduce under traffic, from results/runs.csv. Nothing here is judged: the source has no numbers for these designs.
"""

from ...comparison.paired import Difference, of_pairs
from ...metrics import JOB_TIME
from .cases import BASE, FRAMEWORKS, OTHERS, OTHERWISE, SIZES, VARIED, Case
from .runs import Run, read

#: The measured design that each changes.
CHANGED = {
    "deep_codel": "deep",
    "deep_codel_fast": "deep",
    "all_shallow": "shallow",
    "dctcp_everywhere": "dctcp",
    "pfc_watchdog": "pfc",
    "pfc_spines_obey": "pfc",
    "shallow_dlb": "shallow",
    "shallow_glb": "shallow",
}
assert CHANGED.keys() == OTHERS.keys()


def _times(design: str, runs: dict[Run, float]) -> dict[int, float]:
    case = Case(design, FRAMEWORKS[0], SIZES[0], True)
    return {run.seed: seconds for run, seconds in runs.items() if run.case == case and (run.cpu, run.disk) == (BASE.cpu, BASE.disk)}


def _difference(design: str, base: str, runs: dict[Run, float]) -> Difference | None:
    own, before = _times(design, runs), _times(base, runs)
    pairs = [(1e9 * before[seed], 1e9 * own[seed]) for seed in sorted(own.keys() & before.keys())]
    return of_pairs(JOB_TIME, design, pairs) if pairs else None


def differences(runs: dict[Run, float]) -> list[Difference]:
    """Job times in nanoseconds, over the seeds that both designs have."""
    found = (_difference(design, base, runs) for design, base in CHANGED.items())
    return [one for one in found if one]


def table(found: list[Difference]) -> str:
    lines = ["| design | seeds | job time, s | of the design that it changes, s | change, % (95 % interval) |", "|---|---|---|---|---|"]
    for one in found:
        between = "" if one.ratio_low is None or one.ratio_high is None else f" ({100 * one.ratio_low - 100:+.1f} to {100 * one.ratio_high - 100:+.1f})"
        change = f"{100 * (one.ratio or 1.0) - 100:+.1f}{between}"
        base = CHANGED[one.design]
        lines.append(f"| `{one.design}` | {one.samples} | {one.design_mean / 1e9:.1f} | {one.baseline_mean / 1e9:.1f} (`{base}`) | {change} |")
    return "\n".join(lines)


#: What is assumed: the study's own assumptions, then each of `OTHERWISE`.
NAMES = {
    "": "as in the study (9000 B, 40 ms, pairs drawn at random)",
    "1500B": "frames of 1500 B",
    "4500B": "frames of 4500 B",
    "all_ports": "each node sends 25 Gbps to one that nobody else sends to",
    "100ms": "queues of the deep buffer up to 100 ms (312 MB)",
}
assert NAMES.keys() - {""} == OTHERWISE.keys()


def otherwise(runs: dict[Run, float]) -> list[tuple[str, Difference]]:
    """How much longer a job takes behind the deep buffer than behind the shallow one, when something else is assumed."""
    found = []
    for name in NAMES:
        deep = f"deep_{name}" if name else "deep"
        shallow = f"shallow_{name}" if f"shallow_{name}" in VARIED else "shallow"
        if one := _difference(deep, shallow, runs):
            found.append((name, one))
    return found


def table_otherwise(found: list[tuple[str, Difference]]) -> str:
    lines = ["| assumed | seeds | deep, s | shallow, s | deep longer by, s (95 % interval) |", "|---|---|---|---|---|"]
    for name, one in found:
        between = "" if one.low is None or one.high is None else f" ({one.low / 1e9:.1f} to {one.high / 1e9:.1f})"
        cells = f"{one.samples} | {one.design_mean / 1e9:.1f} | {one.baseline_mean / 1e9:.1f} | {one.difference / 1e9:.1f}{between}"
        lines.append(f"| {NAMES[name]} | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(differences(read())) + "\n\n" + table_otherwise(otherwise(read())))
