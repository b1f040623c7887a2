"""Measures how much the baselines gain from other parameters. Their best ones are chosen with some
seeds and judged with others.

The rule was written before the runs were made. For each case, the best setting of a baseline is the
one of its grid with the lowest mean slowdown of all flows with the selection seed. In a tie the
first one is chosen. CONGA's grid is searched one parameter at a time: `tdre` first, then `gap`.
ECMP has no parameters. The judging seeds are different ones. ConWeave keeps its authors'
parameters: the effect of `reply_extra` is measured too, but not used in a verdict.

DRILL's seeds, the fat-tree's grid and the windows of DRILL and of the fat-tree were reduced for
their cost while the first runs were made, without regard to their results. The fat-tree has had two
more seeds since its first three left one claim open, and the leaf-spine at 80 %, lossless, five more
since its first five did.
"""

from collections.abc import Iterator, Mapping

from ...results.statistics import mean
from . import differences
from .cases import BASELINES, CLAIMED, CONWEAVE, LONG, Case
from .runs import DEFAULT, THEIR_RULES, Measured, Run, Setting

#: Steps of the search by fabric and baseline, each with the values of a parameter. The first step
#: includes the default. Runs on the fat-tree are expensive, so its grid has fewer values, and DRILL
#: keeps its default there: on the leaf-spine its four settings are within 7 % of each other.
GRIDS: dict[str, dict[str, list[list[Setting]]]] = {
    "leaf-spine": {
        "conga": [
            [DEFAULT, *((("tdre", f"{us}us"),) for us in (2, 5, 20, 100, 250))],
            [(("gap", f"{us}us"),) for us in (20, 50, 200)],
        ],
        "letflow": [[DEFAULT, *((("gap", f"{us}us"),) for us in (20, 50, 200))]],
        "drill": [
            [
                DEFAULT,
                *((("memory", str(m)), ("samples", str(d))) for d, m in ((1, 1), (2, 2), (4, 1))),
            ]
        ],
    },
    "fat-tree": {
        "conga": [[DEFAULT, *((("tdre", f"{us}us"),) for us in (2, 5, 20))], [(("gap", "50us"),)]],
        "letflow": [[DEFAULT, *((("gap", f"{us}us"),) for us in (20, 50))]],
    },
}
#: Baselines that have parameters.
TUNABLE = ("conga", "letflow", "drill")
#: Seeds that select settings, and seeds that judge them.
SELECTING = (11,)
JUDGING = (1, 2, 3, 4, 5)
#: Judging seeds of a case whose first five left a claim open.
MORE = {LONG: tuple(range(1, 11))}
#: Windows in ms: of the study, and of the judging runs.
WINDOW = 10
JUDGED = {"leaf-spine": WINDOW, "fat-tree": 4}
#: Long window in ms for the claim at 80 %, lossless, and its seeds.
LONG_WINDOW, LONG_SEEDS = 100, (1, 2)
#: Seeds of the long window under the rules of the authors' simulator.
RULES_SEEDS = (1,)

#: Values of ConWeave's `reply_extra`, the extra over the base round-trip time. The default is 4 us.
REPLIES = ("1us", "2us", "8us", "16us")
REPLY_CASES = [Case("leaf-spine", "alistorage", load, "lossless") for load in (50, 80)]
REPLY_SEEDS = (1,)
#: Locations of the frames that ConWeave reorders, other than unlimited memory.
MEMORIES = ("apart", "shared")
MEMORY_CASES = [
    *(
        Case("leaf-spine", "alistorage", load, mode)
        for load, mode in ((50, "lossless"), (80, "lossless"), (80, "irn"))
    ),
    Case("fat-tree", "alistorage", 60, "lossless"),
]
MEMORY_SEEDS = (1,)
#: SolarRPC, for which CONGA's default performs poorly: other times of its estimators, and finer
#: metrics.
SOLAR = [Case("leaf-spine", "solar", load, mode) for load, mode in ((50, "lossless"), (50, "irn"))]
SOLAR_SEEDS = (1,)
SOLAR_SETTINGS: list[Setting] = [
    DEFAULT,
    *((("tdre", f"{us}us"),) for us in (20, 5, 2)),
    (("bits", "8"),),
    (("bits", "8"), ("tdre", "5us")),
]


def merged(*settings: Setting) -> Setting:
    return tuple(sorted({key: value for setting in settings for key, value in setting}.items()))


def grid(case: Case, scheme: str) -> list[list[Setting]]:
    """Returns the steps of a search; empty if there is nothing to search."""
    return GRIDS[case.fabric].get(scheme, [])


def judging(case: Case, scheme: str) -> tuple[int, ...]:
    """Returns the judging seeds. Lossless DRILL has only two: it retransmits most of what it sends,
    so a run costs as much as ten others, and it is behind by a factor of ten or more."""
    if (scheme, case.mode) == ("drill", "lossless"):
        return JUDGING[:2]
    return MORE.get(case, JUDGING)


def selecting(case: Case, scheme: str, setting: Setting) -> list[Run]:
    """Returns the runs that select a setting. They have a shorter window if they are expensive."""
    window = 4 if case.fabric == "fat-tree" or scheme == "drill" else WINDOW
    return [Run(case, scheme, setting, window, seed) for seed in SELECTING]


def selected_mean(
    case: Case, scheme: str, setting: Setting, runs: Mapping[Run, Measured]
) -> float | None:
    """Returns the mean slowdown over the selection seeds; None if one is missing."""
    wanted = selecting(case, scheme, setting)
    return (
        mean([runs[run].all_mean for run in wanted]) if all(run in runs for run in wanted) else None
    )


def _steps(case: Case, scheme: str, runs: Mapping[Run, Measured]) -> Iterator[list[Setting]]:
    """Yields the settings that each step of the search compares, with the best one of the previous
    step first. Ends where runs are missing."""
    best = DEFAULT
    for place, step in enumerate(grid(case, scheme)):
        candidates = step if place == 0 else [best, *(merged(best, setting) for setting in step)]
        yield candidates
        means = [selected_mean(case, scheme, setting, runs) for setting in candidates]
        known = [value for value in means if value is not None]
        if len(known) < len(candidates):
            return
        best = candidates[known.index(min(known))]
    yield [best]


def best(case: Case, scheme: str, runs: Mapping[Run, Measured]) -> Setting | None:
    """Returns the setting that the rule chooses; None while runs are missing."""
    steps = list(_steps(case, scheme, runs))
    return steps[-1][0] if len(steps) > len(grid(case, scheme)) else None


def candidates(case: Case, scheme: str, runs: Mapping[Run, Measured]) -> list[Setting]:
    """Returns all settings that were compared."""
    return list(dict.fromkeys(setting for step in _steps(case, scheme, runs) for setting in step))


def select(runs: Mapping[Run, Measured]) -> Iterator[Run]:
    for case in CLAIMED:
        for scheme in GRIDS[case.fabric]:
            for setting in candidates(case, scheme, runs):
                yield from selecting(case, scheme, setting)


def judge(runs: Mapping[Run, Measured]) -> Iterator[Run]:
    """Yields the runs of the defaults and of the best settings, seed by seed."""
    for seed in sorted({seed for case in CLAIMED for seed in judging(case, CONWEAVE)}):
        for case in CLAIMED:
            settings = [
                (scheme, setting)
                for scheme in BASELINES
                for setting in dict.fromkeys((DEFAULT, best(case, scheme, runs)))
                if setting is not None
            ]
            for scheme, setting in [*settings, (CONWEAVE, DEFAULT)]:
                if seed in judging(case, scheme):
                    yield Run(case, scheme, setting, JUDGED[case.fabric], seed)


def window(runs: Mapping[Run, Measured]) -> Iterator[Run]:
    for seed in LONG_SEEDS:
        yield from (Run(LONG, scheme, DEFAULT, LONG_WINDOW, seed) for scheme in ("ecmp", CONWEAVE))


def memory(runs: Mapping[Run, Measured]) -> Iterator[Run]:
    for case in MEMORY_CASES:
        for setting in MEMORIES:
            yield from (
                Run(case, CONWEAVE, (("reorder_memory", setting),), WINDOW, seed)
                for seed in MEMORY_SEEDS
            )
        for scheme in ("ecmp", CONWEAVE):
            yield from (Run(case, scheme, DEFAULT, WINDOW, seed) for seed in MEMORY_SEEDS)


def reply(runs: Mapping[Run, Measured]) -> Iterator[Run]:
    for case in REPLY_CASES:
        for setting in (DEFAULT, *((("reply_extra", time),) for time in REPLIES)):
            yield from (Run(case, CONWEAVE, setting, WINDOW, seed) for seed in REPLY_SEEDS)


def solar(runs: Mapping[Run, Measured]) -> Iterator[Run]:
    for case in SOLAR:
        for seed in SOLAR_SEEDS:
            yield Run(case, "ecmp", DEFAULT, WINDOW, seed)
            yield Run(case, CONWEAVE, DEFAULT, WINDOW, seed)
            yield from (Run(case, "conga", setting, WINDOW, seed) for setting in SOLAR_SETTINGS)


def rules(runs: Mapping[Run, Measured]) -> Iterator[Run]:
    """Yields the runs under the rules of the authors' simulator: the long window with the defaults,
    and with the best parameters of CONGA and LetFlow, then the other lossless claims with the
    defaults."""
    for scheme in ("ecmp", "conga", "letflow", CONWEAVE):
        chosen = best(LONG, scheme, runs) if scheme in TUNABLE else DEFAULT
        for setting in dict.fromkeys((DEFAULT, chosen)):
            if setting is not None:
                theirs = merged(setting, (THEIR_RULES,))
                yield from (Run(LONG, scheme, theirs, LONG_WINDOW, seed) for seed in RULES_SEEDS)
    for case in CLAIMED:
        if case.mode == "lossless" and case != LONG:
            for scheme in (*BASELINES, CONWEAVE):
                theirs = merged((THEIR_RULES,))
                yield from (Run(case, scheme, theirs, WINDOW, seed) for seed in RULES_SEEDS)


RUNS = {
    "select": select,
    "judge": judge,
    "window": window,
    "memory": memory,
    "reply": reply,
    "solar": solar,
    "rules": rules,
    "differences": differences.runs,
}
