"""Tables of the cross-validation: the part `cross-validation` of the study."""

from collections.abc import Mapping
from pathlib import Path
from statistics import mean, median

from ..lines import own_or_shipped
from . import sensitivity
from .cases import FRAMEWORKS, SIZES, Case, published
from .crossvalidation import Simulated, all_judged, fit, per_cent, signs
from .runs import FILE, with_defaults


def as_text(file: Path = FILE) -> str:
    """Returns the results of all splits, signs and cases as text, from the runs in a file."""
    simulated = Simulated.read(file)
    numbers = simulated.known(published())
    lines = [f"{len(numbers)} of {len(published())} published numbers are simulated.", ""]
    lines.append(
        "| fitted on | numbers | error, % (95 % interval) | null model, % | better | under traffic, % | start s, CPU ms/MB, disk MB/s, share |"
    )
    lines.append("|---|---|---|---|---|---|---|")
    judged = all_judged(simulated)
    if not judged:
        return lines[0]
    for one in judged:
        busy = one.errors(lambda case: case.traffic)
        constants = "; ".join(
            f"{c.start:.1f}, {c.cpu:.1f}, {c.disk:.0f}, {c.share:.2f}" for c in one.constants
        )
        columns = [
            one.split,
            str(len(one.predicted)),
            f"{per_cent(one.error)} ({per_cent(one.low)} to {per_cent(one.high)})",
            f"{per_cent(one.null)} ({per_cent(one.null_low)} to {per_cent(one.null_high)})",
            "yes" if one.better else "no",
            per_cent(median(busy)) if busy else "-",
            constants,
        ]
        lines.append(f"| {' | '.join(columns)} |")
    by_design = judged[-1].predicted
    right, wrong = signs(by_design)
    lines += [
        "",
        f"Deep against shallow, measured differences above 8 %: {len(right)} of {len(right) + len(wrong)} with the right sign.",
    ]
    lines += [f"  wrong: {pair[0].name} and {pair[1].design}" for pair in wrong]
    lines += [
        "",
        f"Fitted on all numbers: {fit(simulated, numbers)}",
        "",
        case_tables(by_design),
        "",
        by_constants(simulated, sensitivity.read(own_or_shipped(file, sensitivity.FILE))),
        "",
        "Network's part of the simulated jobs, s:",
        "",
    ]
    lines += [f"  {case.design}, {case.name}: {simulated.network(case):+.1f}" for case in by_design]
    return "\n".join(lines)


def case_tables(predicted: Mapping[Case, tuple[float, float]]) -> str:
    """Returns tables of measured and predicted seconds, for each size with and without traffic."""
    tables = []
    for size in SIZES:
        for traffic in (True, False):
            lines = [f"{size} GB {'under' if traffic else 'without'} traffic, seconds:", ""]
            lines.append(
                "| | MapReduce: measured | predicted without this design | Tez: measured | predicted without this design |"
            )
            lines.append("|---|---|---|---|---|")
            for design in dict.fromkeys(case.design for case in predicted):
                pairs = [
                    predicted[Case(design, framework, size, traffic)] for framework in FRAMEWORKS
                ]
                lines.append(
                    f"| {design} | "
                    + " | ".join(
                        f"{seconds} | {ours:.1f} ({100 * (ours / seconds - 1):+.0f} %)"
                        for seconds, ours in pairs
                    )
                    + " |"
                )
            tables.append("\n".join(lines))
    return "\n\n".join(tables)


def by_constants(simulated: Simulated, measured: sensitivity.Runs) -> str:
    """Returns the network's part of sorts of 10 GB by MapReduce under traffic at Hadoop's defaults,
    which no number chose, next to that at the study's constants."""
    lines = [
        "| 10 GB, MapReduce, under traffic | with Hadoop's defaults, s | with the study's constants, s |",
        "|---|---|---|",
    ]
    quiet = with_defaults(simulated.runs)(Case("deep", FRAMEWORKS[0], SIZES[0], False))
    for design in sensitivity.DESIGNS:
        ours = simulated.network(Case(design, FRAMEWORKS[0], SIZES[0], True))
        busy = sensitivity.seconds(measured, sensitivity.DEFAULT, design)
        if ours is not None and (common := busy.keys() & quiet.keys()):
            usual = mean(busy[seed] - quiet[seed] for seed in common)
            lines.append(f"| `{design}` | {usual:.1f} | {ours:.1f} |")
    return "\n".join(lines)
