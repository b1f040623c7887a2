"""Makes the tables of README.md from results/runs.csv."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from ...results.statistics import mean
from ...words.text import digits
from .cases import BASELINES, CLAIMED, CONWEAVE, LONG, Case
from .claims import Claim, Gain, reference
from .differences import EXPERIMENTS, SEED, Experiment, gains
from .runs import DEFAULT, THEIR_RULES, Measured, Run, Setting, shown
from .sensitivity import (
    GRIDS,
    JUDGED,
    LONG_SEEDS,
    LONG_WINDOW,
    MEMORIES,
    MEMORY_CASES,
    MEMORY_SEEDS,
    REPLIES,
    REPLY_CASES,
    REPLY_SEEDS,
    SOLAR,
    SOLAR_SEEDS,
    SOLAR_SETTINGS,
    TUNABLE,
    WINDOW,
    best,
    judging,
    merged,
    rules,
    selected_mean,
)
from .verdicts import EXCESS, judged

#: Cases in the order of the paper.
CASES = sorted(CLAIMED, key=lambda case: (case.fabric != "leaf-spine", case.load))
Runs = Mapping[Run, Measured]
NONE = "–"
NAMES = {
    "ecmp": "ECMP",
    "conga": "CONGA",
    "letflow": "LetFlow",
    "drill": "DRILL",
    "conweave": "ConWeave",
}


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Returns a table without lines and columns that have no value. Empty if no line is left."""
    lines = [line for line in lines if any(cell != NONE for cell in line[1:])]
    used = [
        0,
        *(place for place in range(1, len(head)) if any(line[place] != NONE for line in lines)),
    ]
    rows = [[line[place] for place in used] for line in (head, ["---"] * len(head), *lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) if lines else ""


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _cell(gain: Gain | None) -> str:
    if gain is None:
        return NONE
    return _percent(gain.mean) + (
        f" ({_percent(gain.low)} to {_percent(gain.high)})"
        if gain.low is not None and gain.high is not None
        else ""
    )


def _least(gains: Mapping[str, float], window: str = "") -> str:
    """Words the least gain, with the baseline over which it is, and the window if one is named."""
    if not gains:
        return NONE
    scheme = min(gains, key=gains.__getitem__)
    return f"{_percent(gains[scheme])} ({NAMES[scheme]}{window})"


def _means(gains: Mapping[str, Gain]) -> dict[str, float]:
    return {scheme: gain.mean for scheme, gain in gains.items()}


def of_claims(runs: Runs) -> str:
    head = (
        "claim",
        "the paper: at least, %",
        "the authors' simulator, one seed, %",
        "under its rules, one seed, %",
        "least gain over a default, %",
        "over best parameters, %",
        "clearly ahead of all at their best",
        "verdict by these two",
    )
    lines = []
    for found in judged(runs):
        beats_all = NONE if found.verdict is None else "yes" if found.beats_all_baselines else "no"
        excess = f"; more than {EXCESS:g} times the paper's gain: to be explained"
        lines.append(
            (
                str(found.claim),
                _percent(found.claim.gain),
                _least(reference().get(found.claim, {})),
                _least_under_rules(found.claim, runs),
                _least(_means(found.default)),
                _least(_means(found.tuned)),
                beats_all,
                f"**{found.verdict or 'not judged'}**{excess if found.exceeds else ''}",
            )
        )
    return _table(head, lines)


def _least_under_rules(claim: Claim, runs: Runs) -> str:
    """Returns the least gain over a baseline's default under the rules of the authors' simulator, in
    the longest window that was simulated."""
    for window in (LONG_WINDOW, WINDOW):
        found = {
            scheme: [
                one.slowdown(claim.flows, claim.statistic)
                for name in (scheme, CONWEAVE)
                if (one := runs.get(Run(claim.case, name, (THEIR_RULES,), window, SEED)))
            ]
            for scheme in BASELINES
        }
        gains = {
            scheme: 1 - both[1] / both[0]
            for scheme, both in found.items()
            if len(both) == 2 and both[0] is not None and both[1] is not None
        }
        if gains:
            return _least(gains, f", {window} ms")
    return NONE


def of_rules(runs: Runs) -> str:
    """Returns slowdowns and gains in the long window under the rules of the authors' simulator."""
    lines = []
    for run in rules(runs):
        if run.window != LONG_WINDOW:
            continue
        ours = Run(run.case, CONWEAVE, merged((THEIR_RULES,)), run.window, run.seed)
        if run in runs and ours in runs:
            old, new = runs[run], runs[ours]
            setting = tuple(pair for pair in run.setting if pair != THEIR_RULES)
            below = [1 - new.all_mean / old.all_mean, 1 - new.all_p99 / old.all_p99]
            gain = NONE if run == ours else " and ".join(map(_percent, below))
            label = f"{NAMES[run.scheme]}, {shown(setting) or 'default'}, seed {run.seed}"
            lines.append((label, _pair([old]), f"{old.drops:,}", gain))
    head = ("rules of the authors", "mean (p99) slowdown", "drops", "ConWeave, % below (mean, p99)")
    return _table(head, lines)


def of_gains(runs: Runs) -> str:
    """Returns the gains over each baseline, with its default and with its best parameters."""
    head = (
        "% below",
        *(
            f"{NAMES[scheme]}, {which}"
            for scheme in BASELINES
            for which in (("default", "best") if scheme in TUNABLE else ("",))
        ),
    )
    lines = []
    for found in judged(runs):
        cells = [
            _cell(gains.get(scheme))
            for scheme in BASELINES
            for gains in ((found.default, found.tuned) if scheme in TUNABLE else (found.default,))
        ]
        lines.append((str(found.claim), *cells))
    return _table([name.removesuffix(", ") for name in head], lines)


def _case(case: Case) -> str:
    return f"{case.fabric}, {case.load} %, {case.mode}"


def of_settings(runs: Runs) -> str:
    """Returns the mean slowdown of each setting over the selection seeds. The chosen one is
    bold."""
    lines = []
    for scheme, (first, *others) in GRIDS["leaf-spine"].items():
        for setting in first:
            lines.append(
                (
                    f"{NAMES[scheme]}, {shown(setting) or 'default'}",
                    *(_selected(case, scheme, setting, runs) for case in CASES),
                )
            )
        for step in others:
            for setting in step:
                chosen = [(case, best(case, scheme, runs)) for case in CASES]
                rows = [
                    _selected(case, scheme, _before(found, setting), runs)
                    if found is not None
                    else NONE
                    for case, found in chosen
                ]
                lines.append((f"{NAMES[scheme]}, best tdre and {shown(setting)}", *rows))
    return _table(("", *(_case(case) for case in CASES)), lines)


def _before(chosen: Setting, setting: Setting) -> Setting:
    """Returns a setting of CONGA's second step: the `tdre` of the first step, and another gap."""
    return merged(tuple(pair for pair in chosen if pair[0] == "tdre"), setting)


def _selected(case: Case, scheme: str, setting: Setting, runs: Runs) -> str:
    value = selected_mean(case, scheme, setting, runs)
    if value is None:
        return NONE
    text = digits(value, 3)
    return f"**{text}**" if setting == best(case, scheme, runs) else text


def _pair(found: Sequence[Measured]) -> str:
    """Formats mean and p99 of the slowdown of all flows, as means over the seeds."""
    return (
        f"{digits(mean([one.all_mean for one in found]), 3)} ({digits(mean([one.all_p99 for one in found]), 3)})"
        if found
        else NONE
    )


def _of(
    case: Case, scheme: str, setting: Setting, window: int, seeds: Sequence[int], runs: Runs
) -> list[Measured]:
    return [
        runs[run] for seed in seeds if (run := Run(case, scheme, setting, window, seed)) in runs
    ]


def of_slowdowns(runs: Runs) -> str:
    """Returns mean and p99 of the slowdown, with the defaults and with the best parameters."""
    lines = []
    for case in CASES:
        cells = []
        for scheme in (*BASELINES, CONWEAVE):
            cells.append(
                _pair(_of(case, scheme, DEFAULT, JUDGED[case.fabric], judging(case, scheme), runs))
            )
            if scheme in TUNABLE:
                setting = best(case, scheme, runs)
                cells.append(
                    NONE
                    if setting is None
                    else _pair(
                        _of(case, scheme, setting, JUDGED[case.fabric], judging(case, scheme), runs)
                    )
                )
        lines.append((_case(case), *cells))
    names = [
        NAMES[scheme] + which
        for scheme in (*BASELINES, CONWEAVE)
        for which in ((", default", ", best") if scheme in TUNABLE else ("",))
    ]
    return _table(("mean (p99) slowdown", *names), lines)


def of_fat_tree(runs: Runs) -> str:
    """Returns the data of Figure 17: mean and p99 of short and of long flows on the fat-tree."""
    names = [
        (scheme, which)
        for scheme in (*BASELINES, CONWEAVE)
        for which in (("default", "best") if scheme in TUNABLE else ("",))
    ]
    lines = []
    for case in (case for case in CASES if case.fabric == "fat-tree"):
        for flows in ("short", "long"):
            cells = []
            for scheme, which in names:
                setting = best(case, scheme, runs) if which == "best" else DEFAULT
                found = (
                    []
                    if setting is None
                    else _of(
                        case, scheme, setting, JUDGED[case.fabric], judging(case, scheme), runs
                    )
                )
                means = [
                    [one.slowdown(flows, statistic) or 0.0 for one in found]
                    for statistic in ("mean", "p99")
                ]
                cells.append(
                    f"{digits(mean(means[0]), 3)} ({digits(mean(means[1]), 3)})" if found else NONE
                )
            lines.append((f"{case.mode}, {flows} flows", *cells))
    return _table(
        (
            "mean (p99) slowdown",
            *(", ".join(filter(None, (NAMES[scheme], which))) for scheme, which in names),
        ),
        lines,
    )


def of_window(runs: Runs) -> str:
    lines = []
    for seed in LONG_SEEDS:
        for window in (WINDOW, LONG_WINDOW):
            old, new = (
                _of(LONG, scheme, DEFAULT, window, (seed,), runs) for scheme in ("ecmp", CONWEAVE)
            )
            if old and new and Run(LONG, CONWEAVE, DEFAULT, LONG_WINDOW, seed) in runs:
                below = [
                    _percent(1 - getattr(new[0], name) / getattr(old[0], name))
                    for name in ("all_mean", "all_p99")
                ]
                lines.append(
                    (
                        f"{window} ms, seed {seed}",
                        _pair(old),
                        _pair(new),
                        f"{below[0]} and {below[1]}",
                    )
                )
    return _table(("window", "ECMP", "ConWeave", "% below (mean and p99)"), lines)


def of_memory(runs: Runs) -> str:
    lines = []
    for case in MEMORY_CASES:
        seeds = MEMORY_SEEDS
        cells = []
        for setting in (DEFAULT, *((("reorder_memory", name),) for name in MEMORIES)):
            found = _of(case, CONWEAVE, setting, WINDOW, seeds, runs)
            cells.append(
                f"{_pair(found)}, {round(mean([one.retransmits for one in found])):,}"
                if found
                else NONE
            )
        if any(cell != NONE for cell in cells[1:]):
            lines.append(
                (_case(case), _pair(_of(case, "ecmp", DEFAULT, WINDOW, seeds, runs)), *cells)
            )
    return _table(
        (
            "mean (p99) slowdown, retransmitted frames",
            "ECMP",
            "ConWeave, `unbounded`",
            *(f"`{name}`" for name in MEMORIES),
        ),
        lines,
    )


def of_replies(runs: Runs) -> str:
    """Returns mean (p99) slowdown of ConWeave with other values of `reply_extra`."""
    lines = []
    for setting in sorted(
        (DEFAULT, *((("reply_extra", time),) for time in REPLIES)),
        key=lambda of: int(dict(of).get("reply_extra", "4us")[:-2]),
    ):
        label = dict(setting).get("reply_extra", "4us (default)")
        lines.append(
            (
                label,
                *(
                    _pair(_of(case, CONWEAVE, setting, WINDOW, REPLY_SEEDS, runs))
                    for case in REPLY_CASES
                ),
            )
        )
    if all(line[1:] == (NONE,) * len(REPLY_CASES) for line in lines if "default" not in line[0]):
        return ""
    return _table(("`reply_extra`", *(_case(case) for case in REPLY_CASES)), lines)


def of_solar(runs: Runs) -> str:
    lines = []
    rows: list[tuple[str, str, Setting]] = [("ECMP", "ecmp", DEFAULT)]
    rows += [
        (f"CONGA, {shown(setting) or 'tdre=50us bits=3 (default)'}", "conga", setting)
        for setting in SOLAR_SETTINGS
    ]
    rows.append(("ConWeave", CONWEAVE, DEFAULT))
    for label, scheme, setting in rows:
        lines.append(
            (
                label,
                *(_pair(_of(case, scheme, setting, WINDOW, SOLAR_SEEDS, runs)) for case in SOLAR),
            )
        )
    return _table(("mean (p99) slowdown", *(_case(case) for case in SOLAR)), lines)


def of_differences(runs: Runs) -> str:
    """Returns ConWeave's slowdown and its gains over each baseline, mean and p99, for each change
    that may explain a difference from the published gains."""
    lines = [line for one in EXPERIMENTS for line in _of_experiment(one, runs)]
    head = ("case and change", "ConWeave, mean (p99) slowdown")
    return _table((*head, *(f"% below {NAMES[scheme]}" for scheme in BASELINES)), lines)


def _of_experiment(one: Experiment, runs: Runs) -> Iterator[tuple[str, ...]]:
    own = runs.get(one.run(CONWEAVE))
    for flows in ("short", "long") if one.case.fabric == "fat-tree" else ("all",):
        found = gains(one, runs, flows)
        if own and found:
            mean, p99 = (own.slowdown(flows, statistic) or 0.0 for statistic in ("mean", "p99"))
            of = "" if flows == "all" else f", {flows} flows"
            yield (
                f"{one.case.fabric}, {one.case.load} %{of}: {one.words}",
                f"{digits(mean, 3)} ({digits(p99, 3)})",
                *(
                    " and ".join(map(_percent, found[scheme])) if scheme in found else NONE
                    for scheme in BASELINES
                ),
            )


TABLES = {
    "claims": of_claims,
    "gains": of_gains,
    "slowdowns": of_slowdowns,
    "settings": of_settings,
    "fat-tree": of_fat_tree,
    "window": of_window,
    "memory": of_memory,
    "replies": of_replies,
    "solar": of_solar,
    "rules": of_rules,
    "differences": of_differences,
}


def some(runs: Runs, names: Collection[str]) -> str:
    return "\n\n".join(
        f"<!-- {name} -->\n{found}"
        for name, table in TABLES.items()
        if name in names and (found := table(runs))
    )


def every(runs: Runs) -> str:
    return some(runs, TABLES)
