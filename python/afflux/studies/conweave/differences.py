"""Tests what could explain that gains with IRN are smaller than the published ones: rules of the
authors' simulator, and windows as long as theirs. One seed each."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .cases import BASELINES, CONWEAVE, Case
from .runs import DEFAULT, THEIR_RULES, Measured, Run, Setting

SEED = 1
#: Windows in ms: as in the study, and long ones by fabric.
WINDOW = 10
LONG_WINDOWS = {"leaf-spine": 100, "fat-tree": 40}
#: Receivers that send notifications for frames out of order as for marked ones.
NOTIFYING: Setting = (("host.transport.cnp_out_of_order", "true"),)
#: The paper's rule for the time for which ConWeave avoids a path after a mark: the time to send
#: `kmin`.
BUSY: Setting = (("path_busy", "8us"),)
THEIRS: Setting = (THEIR_RULES,)
#: Settings that change ConWeave alone.
OWN = (BUSY,)


class Experiment(NamedTuple):
    """A change that may explain a difference, in one case."""

    case: Case
    words: str
    setting: Setting
    window: int
    baselines: tuple[str, ...]

    def run(self, scheme: str) -> Run:
        setting = DEFAULT if scheme != CONWEAVE and self.setting in OWN else self.setting
        return Run(self.case, scheme, setting, self.window, SEED)

    @property
    def runs(self) -> list[Run]:
        return [self.run(scheme) for scheme in (*self.baselines, CONWEAVE)]


def _case(fabric: str, load: int) -> Case:
    return Case(fabric, "alistorage", load, "irn")


_ALL = tuple(BASELINES)
#: DRILL is nearly as good as ConWeave at 50 % and far behind at 80 %.
_SLOW = tuple(scheme for scheme in BASELINES if scheme != "drill")


def _experiments() -> Iterator[Experiment]:
    for load, baselines in ((50, _ALL), (80, _SLOW)):
        case = _case("leaf-spine", load)
        yield Experiment(case, "as in the study", DEFAULT, WINDOW, baselines)
        notified = ("drill",) if load == 50 else ("ecmp",)
        yield Experiment(case, "notifications of frames out of order", NOTIFYING, WINDOW, notified)
        yield Experiment(case, '`path_busy = "8us"`', BUSY, WINDOW, baselines)
        yield Experiment(case, "the authors' rules", THEIRS, WINDOW, baselines)
        yield Experiment(case, "window of 100 ms", DEFAULT, LONG_WINDOWS["leaf-spine"], _SLOW)
    case = _case("fat-tree", 60)
    yield Experiment(case, "window of 10 ms", DEFAULT, WINDOW, ("conga",))
    yield Experiment(case, "the authors' rules", THEIRS, WINDOW, ("conga",))
    yield Experiment(case, "window of 40 ms", DEFAULT, LONG_WINDOWS["fat-tree"], ("conga",))


EXPERIMENTS = tuple(_experiments())


def runs(there: Mapping[Run, Measured]) -> Iterator[Run]:
    """Yields the runs of all experiments, those with long windows last."""
    every = dict.fromkeys(run for experiment in EXPERIMENTS for run in experiment.runs)
    yield from sorted(every, key=lambda run: run.window)


def gains(
    experiment: Experiment, there: Mapping[Run, Measured], flows: str = "all"
) -> dict[str, tuple[float, float]]:
    """Returns the shares by which ConWeave's mean and 99th percentile are below each baseline's, for
    the baselines that were simulated."""
    new = there.get(experiment.run(CONWEAVE))
    if new is None:
        return {}
    found = {}
    for scheme in experiment.baselines:
        old = there.get(experiment.run(scheme))
        if old is not None:
            mean, p99 = (
                1 - after / before
                for after, before in (
                    (new.slowdown(flows, statistic), old.slowdown(flows, statistic))
                    for statistic in ("mean", "p99")
                )
                if after is not None and before is not None
            )
            found[scheme] = (mean, p99)
    return found
