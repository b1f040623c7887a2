"""Compares the paper's claims with the simulated results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ...comparison.paired import BETTER, WORSE, Difference, difference
from ...metrics import Metric
from ...results.designs import Design, Designs
from ...results.statistics import CONFIDENCE, interval, mean
from ...words import join, say
from ...words.text import digits, ratio
from .. import Check, Row, files, lines
from .cases import BASELINES, BDP, CONWEAVE, LONG, Case, long_name
from .series import Reordering, imbalance, reordering


@dataclass(frozen=True)
class Claim:
    """The claim that ConWeave's slowdown is at least `gain` below that of every baseline."""

    case: Case
    #: `all`, `short` or `long`. Short flows are smaller than a bandwidth-delay product.
    flows: str
    statistic: str
    gain: float

    def __str__(self) -> str:
        of = "" if self.flows == "all" else f" of {self.flows} flows"
        return f"{self.case.fabric}, {self.case.load} %, {self.case.mode}: {self.statistic} slowdown{of}"

    def metric(self) -> Metric:
        classes = {
            "all": ("all",),
            "short": ("by_size", f"le_{_bound(self.case)}"),
            "long": ("by_size", f"gt_{_bound(self.case)}"),
        }
        return Metric(
            f"slowdown_{self.flows}_{self.statistic}",
            "slowdown",
            ("slowdown", *classes[self.flows], self.statistic),
            ratio,
        )


def _bound(case: Case) -> str:
    return BDP[case.fabric].replace("k", "K")


@cache
def claims() -> tuple[Claim, ...]:
    rows = lines.read(files("conweave") / "published.csv")
    return tuple(
        Claim(
            Case(r["fabric"], "alistorage", int(r["load"]), r["mode"]),
            r["flows"],
            r["statistic"],
            float(r["gain_percent"]) / 100,
        )
        for r in rows
    )


@cache
def reference() -> Mapping[Claim, Mapping[str, float]]:
    """Returns the gains over each baseline in the authors' simulator, for the claims whose case was
    run there."""
    rows = lines.read(files("conweave") / "reference.csv")
    values = {(int(row["load"]), row["mode"], row["scheme"]): row for row in rows}
    found = {}
    for claim in claims():
        case = claim.case
        runs = {
            scheme: float(values[case.load, case.mode, scheme][claim.statistic])
            for scheme in (*BASELINES, CONWEAVE)
            if case.fabric == "leaf-spine" and (case.load, case.mode, scheme) in values
        }
        if runs and claim.flows == "all":
            found[claim] = {scheme: 1 - runs[CONWEAVE] / runs[scheme] for scheme in BASELINES}
    return found


@dataclass(frozen=True)
class Gain:
    """Share by which ConWeave's value is below a baseline's with the same flows. From the paired
    ratios, with the interval by Student's t."""

    mean: float
    low: float | None
    high: float | None
    verdict: str

    @classmethod
    def of(cls, baseline: Design, conweave: Design, metric: Metric) -> "Gain | None":
        return cls.of_difference(difference(metric, baseline, conweave, conweave.seeds))

    @classmethod
    def of_difference(cls, found: Difference | None) -> "Gain | None":
        """Returns the gain of a difference; None if it has no ratio."""
        if found is None or found.share is None:
            return None
        low, high = found.bounds or (None, None)
        return cls(
            -found.share,
            None if high is None else 1 - high,
            None if low is None else 1 - low,
            found.verdict,
        )

    @property
    def is_positive(self) -> bool:
        """True if ConWeave is clearly ahead: the interval is above 0."""
        return self.low is not None and self.low > 0

    def reaches(self, published: float) -> bool | None:
        """True if ConWeave is clearly ahead and the interval does not lie below the published gain.
        None if the seeds cannot tell."""
        if self.low is None or self.high is None:
            return None
        return False if self.high < published else True if self.is_positive else None


def gains(claim: Claim, designs: Designs) -> dict[str, Gain]:
    """Returns the gain over each baseline."""
    found = claim.case.of(designs)
    pairs = {
        scheme: Gain.of(found[scheme], found[CONWEAVE], claim.metric())
        for scheme in BASELINES
        if scheme in found and CONWEAVE in found
    }
    return {scheme: gain for scheme, gain in pairs.items() if gain}


def gain_rows(designs: Designs) -> Iterator[Row]:
    for claim in claims():
        for scheme, gain in gains(claim, designs).items():
            low, high = (
                (percent(gain.low), percent(gain.high))
                if gain.low is not None and gain.high is not None
                else (None, None)
            )
            yield Row(
                f"{claim}, % below {scheme}",
                percent(claim.gain),
                percent(gain.mean),
                low,
                high,
                at_least=True,
            )


def percent(share: float) -> float:
    return round(100 * share, 1)


def gain_checks(designs: Designs) -> Iterator[Check]:
    for claim in claims():
        if found := gains(claim, designs):
            worst = min(found, key=lambda scheme: found[scheme].mean)
            value = found[worst].mean
            yield Check(
                f"{claim}: % below every baseline (least: {worst})",
                value >= claim.gain,
                percent(value),
                percent(claim.gain),
            )


def balance_checks(designs: Designs) -> Iterator[Check]:
    """Checks Figure 14: only DRILL balances better than ConWeave."""
    for case in dict.fromkeys(
        claim.case for claim in claims() if claim.case.fabric == "leaf-spine"
    ):
        means = {
            scheme: mean([mean(imbalance(result)) for result in design.results.values()])
            for scheme, design in case.of(designs).items()
        }
        if CONWEAVE in means and len(means) > 1:
            better = sorted(
                (scheme for scheme in means if means[scheme] < means[CONWEAVE]),
                key=means.__getitem__,
            )
            yield Check(
                f"{case}: schemes with less imbalance than ConWeave",
                better == ["drill"],
                ", ".join(better) or "none",
                "drill",
            )


def _over_seeds(
    design: Design, value: Callable[[Reordering], float]
) -> tuple[float, float | None, float | None]:
    values = [value(reordering(result)) for result in design.results.values()]
    return mean(values), *(interval(values) or (None, None))


def resource_rows(designs: Designs) -> Iterator[Row]:
    """Yields rows for Figure 16: memory of a switch used for reordering, lossless at 80 %."""
    design = Case("leaf-spine", "alistorage", 80, "lossless").of(designs).get(CONWEAVE)
    if design:
        for what, theirs, value in (
            ("p99.9", 1.5, lambda r: r.bytes(0.999)),
            ("largest", 2.4, lambda r: r.bytes(1.0)),
        ):
            ours, low, high = (
                None if x is None else round(x / 1e6, 3) for x in _over_seeds(design, value)
            )
            yield Row(
                f"leaf-spine, 80 %, lossless: reorder memory of a switch, {what}, MB",
                theirs,
                ours,
                low,
                high,
            )


def resource_checks(designs: Designs) -> Iterator[Check]:
    """Checks Figures 15 and 16."""
    memory: dict[tuple[int, str], float] = {}
    for case in dict.fromkeys(
        claim.case for claim in claims() if claim.case.fabric == "leaf-spine"
    ):
        if design := case.of(designs).get(CONWEAVE):
            every = [reordering(result) for result in design.results.values()]
            most = max(r.queues(1.0) for r in every)
            usual = mean([r.fewer_than(10) for r in every])
            memory[case.load, case.mode] = mean([r.bytes(0.999) for r in every])
            yield Check(
                f"{case}: samples with fewer than 10 reorder queues, of a port that has any, %",
                usual > 0.5,
                round(100 * usual, 3),
                "most",
            )
            yield Check(f"{case}: most reorder queues at a port", most <= 15, most, 15)
    for load in sorted({load for load, _ in memory}):
        if (load, "lossless") in memory and (load, "irn") in memory:
            lossless, irn = (round(memory[load, mode] / 1e6, 3) for mode in ("lossless", "irn"))
            yield Check(
                f"{load} %: reorder memory (p99.9, MB), lossless more than IRN",
                lossless > irn,
                lossless,
                irn,
            )


#: Largest change of the gain that is accepted when the window is ten times as long.
LONG_BAR = 0.05


def _of_seeds(design: Design, seeds: Sequence[int]) -> Design:
    return Design(
        design.name, {seed: result for seed, result in design.results.items() if seed in seeds}
    )


def long_rows(designs: Designs) -> Iterator[tuple[Row, Check]]:
    """Yields the effect of the short window: the gain over ECMP, and ConWeave's own slowdown."""
    if not all(
        name in designs
        for scheme in ("ecmp", CONWEAVE)
        for name in (LONG.name(scheme), long_name(scheme))
    ):
        return
    for claim in (claim for claim in claims() if claim.case == LONG):
        metric = claim.metric()
        long = Gain.of(designs[long_name("ecmp")], designs[long_name(CONWEAVE)], metric)
        baseline, conweave = (
            _of_seeds(designs[LONG.name(scheme)], designs[long_name(scheme)].seeds)
            for scheme in ("ecmp", CONWEAVE)
        )
        short = Gain.of(baseline, conweave, metric)
        if short and long:
            row = Row(f"{claim}, % below ecmp, in a window of 100 ms", None, percent(long.mean))
            change = abs(long.mean - short.mean)
            yield (
                row,
                Check(
                    f"{claim}: change of the gain over ecmp from 10 to 100 ms, points",
                    change <= LONG_BAR,
                    percent(change),
                    percent(LONG_BAR),
                ),
            )


def sentence(designs: Designs) -> str | None:
    found = [(claim, gains(claim, designs)) for claim in claims()]
    found = [(claim, of) for claim, of in found if of]
    if not found:
        return None
    total = sum(len(of) for _, of in found)
    verdicts = [gain.verdict for _, of in found for gain in of.values()]
    least = sum(gain.mean >= claim.gain for claim, of in found for gain in of.values())
    claim, of = found[0]
    shown = join(
        [
            say("conweave.gain", gain=digits(100 * gain.mean, 3), scheme=scheme)
            for scheme, gain in of.items()
        ],
        (", ", "、"),
    )
    below, above = verdicts.count(BETTER), verdicts.count(WORSE)
    counts = say(
        "conweave.clear" if below or above else "conweave.unclear",
        below=below,
        above=above,
        total=total,
        false=f"{(1 - CONFIDENCE) * total:.0f}",
    )
    return say(
        "conweave.answer",
        counts=counts,
        total=total,
        least=least,
        claim=claim,
        shown=shown,
        published=digits(100 * claim.gain, 3),
    )


def rows(designs: Designs) -> Sequence[Row]:
    return [*gain_rows(designs), *resource_rows(designs), *(row for row, _ in long_rows(designs))]


def checks(designs: Designs) -> Sequence[Check]:
    return [
        *gain_checks(designs),
        *balance_checks(designs),
        *resource_checks(designs),
        *(check for _, check in long_rows(designs)),
    ]
