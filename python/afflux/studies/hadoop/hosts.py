"""Compares job times with the hosts of today (noise, fq_codel, `host.timing`) and with the exact ones
of the runs of the cross-validation, seed by seed."""

from collections.abc import Iterator, Mapping

from .. import files, lines
from . import constant, runs, sensitivity
from .cases import BASE, FRAMEWORKS, SIZES, Case, published
from .sensitivity import DEFAULT, DESIGNS, OBEY, Difference


def _pairs(today: Mapping[int, float], before: Mapping[int, float]) -> Difference | None:
    common = sorted(today.keys() & before.keys())
    return Difference({seed: today[seed] - before[seed] for seed in common}) if common else None


def differences(
    busy: sensitivity.Runs, quiet: constant.Runs, before: Mapping[runs.Run, float]
) -> Iterator[tuple[str, Difference]]:
    """Yields how much longer jobs take with today's hosts, with the words of the page: without
    traffic, and each design under traffic. The earlier hosts obeyed PAUSE."""

    def earlier(design: str, traffic: bool) -> dict[int, float]:
        case = Case(design, FRAMEWORKS[0], SIZES[0], traffic)
        return {
            run.seed: seconds
            for run, seconds in before.items()
            if run[:3] == (case, BASE.cpu, BASE.disk)
        }

    without = {run.seed: seconds for run, seconds in quiet.items() if not run.causes}
    if found := _pairs(without, earlier("deep", False)):
        yield "without traffic", found
    for design in DESIGNS:
        assumed = (OBEY,) if design == "pfc" else DEFAULT
        own = {
            run.seed: measured.seconds
            for run, measured in busy.items()
            if (run.assumed, run.design) == (assumed, design)
        }
        if found := _pairs(own, earlier(design, True)):
            yield f"under traffic, `{design}`", found


def table() -> str:
    lines = [
        "| 10 GB, MapReduce | longer with today's hosts by, s: median / mean, and seeds that agree |",
        "|---|---|",
    ]
    found = differences(sensitivity.read(), constant.read(), runs.read())
    lines += [f"| {words} | {one} |" for words, one in found]
    return "\n".join(lines)


#: Job times of the quick part with the hosts of today: 10 GB, seed 1, at the constants of
#: `calibration.toml`.
QUICK = files("hadoop") / "results" / "quick.csv"


def quick() -> dict[Case, float]:
    """Returns the job times in seconds of the quick part."""
    return {
        Case(row["design"], row["framework"], int(row["size_gb"]), row["traffic"] == "yes"): float(
            row["job_s"]
        )
        for row in lines.read(QUICK)
    }


def quick_table() -> str:
    """Returns how much longer jobs take than with the shallow buffer, with the source's numbers in
    brackets."""
    found, source = quick(), published()
    designs = [name for name in dict.fromkeys(case.design for case in found) if name != "shallow"]
    table = [
        "| 10 GB, seed 1 | `shallow`, s | " + " | ".join(f"`{name}`" for name in designs) + " |",
        "|" + "---|" * (2 + len(designs)),
    ]
    for framework in FRAMEWORKS:
        for traffic in (False, True):
            base = Case("shallow", framework, SIZES[0], traffic)
            cells = []
            for design in designs:
                case = base._replace(design=design)
                # No "-0.0".
                longer = (
                    f"{round(found[case] - found[base], 1) + 0.0:+.1f}" if case in found else "–"
                )
                theirs = f"{source[case] - source[base]:+.1f}" if case in source else "–"
                cells.append(f"{longer} ({theirs})")
            words = f"{framework}, {'under' if traffic else 'without'} traffic"
            table.append(
                f"| {words} | {found[base]:.1f} ({source[base]:.1f}) | {' | '.join(cells)} |"
            )
    return "\n".join(table)


def quick_sentence() -> str:
    """Returns how the costs of two designs under traffic compare with the source's."""
    found, source = quick(), published()
    shares = []
    for design in ("deep", "dctcp"):
        of = []
        for framework in FRAMEWORKS:
            case, base = (Case(name, framework, SIZES[0], True) for name in (design, "shallow"))
            of.append((found[case] - found[base]) / (source[case] - source[base]))
        shares.append(" and ".join(f"{100 * share:.0f}" for share in of))
    return f"Under traffic the deep buffer costs {shares[0]} % of what it costs in the source (MapReduce and Tez), and DCTCP {shares[1]} %."
