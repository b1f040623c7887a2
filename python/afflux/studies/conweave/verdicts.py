"""Judges each claim of the paper from results/runs.csv, against the baselines' defaults and against
their best parameters.

The rule: ConWeave's gain over a baseline is 1 minus the typical ratio of their slowdowns (the
geometric mean over the paired seeds), with a 95 % interval by Student's t on the logarithms. A gain
misses the published one if its whole interval is below it. It reaches the published one if it does
not miss it and ConWeave is clearly ahead (the interval is above 0). Otherwise the seeds cannot
tell.

- A claim holds if all gains over the baselines reach it, with the defaults and with their best
  parameters.
- It does not hold if a gain over a default misses it.
- It holds only against the default if all gains over defaults reach it and one over best parameters
  misses it.
- Otherwise the seeds cannot tell.

The claims at 80 %, lossless, must also hold in a window of 100 ms, because queues still grow when
the study's window ends. The gain over ECMP must be at least the published one with every seed that
was simulated with the long window, or the claim is withdrawn. No other baseline was simulated with
it, so the long window says nothing about differences from CONGA, LetFlow or DRILL.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...comparison.paired import UNCLEAR, of_pairs
from .. import Check
from .cases import BASELINES, CONWEAVE, LONG
from .claims import Claim, Gain, claims
from .runs import DEFAULT, Measured, Run, Setting, read
from .sensitivity import JUDGED, LONG_SEEDS, LONG_WINDOW, best, judging

HOLDS, DEFAULT_ONLY, FAILS, WITHDRAWN = (
    "holds",
    "holds only against the default",
    "does not hold",
    "withdrawn",
)
#: A gain above this multiple of the published one is a difference to explain, not a success.
EXCESS = 2.0

Gains = Mapping[str, Gain]


def verdict(
    published: float,
    default: Gains,
    tuned: Gains,
    long: Sequence[float] | None = None,
    baselines: Sequence[str] = BASELINES,
) -> str | None:
    """Returns the verdict on a claim. `long` are the gains in the long window, one per seed, if the
    claim needs one. None if a baseline is missing."""
    if any(name not in gains for gains in (default, tuned) for name in baselines):
        return None
    over_default, over_tuned = (
        [gains[name].reaches(published) for name in baselines] for gains in (default, tuned)
    )
    if False in over_default:
        return FAILS
    if long is not None and not (long and min(long) >= published):
        return WITHDRAWN
    if None in over_default:
        return UNCLEAR
    return DEFAULT_ONLY if False in over_tuned else UNCLEAR if None in over_tuned else HOLDS


@dataclass(frozen=True)
class Judged:
    """A claim with the gains by which it is judged."""

    claim: Claim
    settings: Mapping[str, Setting]
    default: Gains
    tuned: Gains
    #: Gains in the window of 100 ms, by seed; None if the claim needs none.
    long: Sequence[float] | None

    @property
    def verdict(self) -> str | None:
        return verdict(self.claim.gain, self.default, self.tuned, self.long)

    @property
    def exceeds(self) -> bool:
        """True if all gains over the defaults are clearly above `EXCESS` times the published one."""
        return bool(self.default) and all(
            gain.low is not None and gain.low > EXCESS * self.claim.gain
            for gain in self.default.values()
        )

    @property
    def beats_all_baselines(self) -> bool:
        """True if ConWeave is clearly ahead of every baseline with its best parameters, by any
        amount."""
        return all(gain.is_positive for gain in self.tuned.values())


def gain(claim: Claim, scheme: str, setting: Setting, runs: Mapping[Run, Measured]) -> Gain | None:
    """Returns the gain over the judging seeds; None without a pair of runs."""
    pairs = _pairs(
        claim, scheme, setting, JUDGED[claim.case.fabric], judging(claim.case, scheme), runs
    )
    return Gain.of_difference(of_pairs(claim.metric(), CONWEAVE, pairs)) if pairs else None


def _pairs(
    claim: Claim,
    scheme: str,
    setting: Setting,
    window: int,
    seeds: Sequence[int],
    runs: Mapping[Run, Measured],
) -> list[tuple[float, float]]:
    found = []
    for seed in seeds:
        both = [
            runs.get(Run(claim.case, name, of, window, seed))
            for name, of in ((scheme, setting), (CONWEAVE, DEFAULT))
        ]
        old, new = (
            None if one is None else one.slowdown(claim.flows, claim.statistic) for one in both
        )
        if old is not None and new is not None:
            found.append((old, new))
    return found


def judged(runs: Mapping[Run, Measured]) -> Iterator[Judged]:
    """Yields all claims with the gains for which runs exist."""
    for claim in claims():
        settings = {
            scheme: setting
            for scheme in BASELINES
            if (setting := best(claim.case, scheme, runs)) is not None
        }
        default = {
            scheme: found for scheme in BASELINES if (found := gain(claim, scheme, DEFAULT, runs))
        }
        tuned = {
            scheme: found
            for scheme, setting in settings.items()
            if (found := gain(claim, scheme, setting, runs))
        }
        long = None
        if claim.case == LONG:
            long = [
                1 - new / old
                for old, new in _pairs(claim, "ecmp", DEFAULT, LONG_WINDOW, LONG_SEEDS, runs)
            ]
        yield Judged(claim, settings, default, tuned, long)


def checks() -> Iterator[Check]:
    for found in judged(read()):
        if found.verdict is not None:
            excess = f", but more than {EXCESS:g} times the gain" if found.exceeds else ""
            yield Check(
                f"{found.claim}: the claim, also against the baselines' best parameters",
                found.verdict == HOLDS and not found.exceeds,
                f"{found.verdict}{excess}",
                HOLDS,
            )
