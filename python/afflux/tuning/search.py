"""The search: Optuna proposes settings, the executors simulate them."""

import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import _core, batch, extras, settings
from ..batch import Silent, Source, Watch, given
from ..comparison.paired import TOO_FEW, WORSE, Difference
from ..executors import Executor, opened
from ..files import durable
from ..metrics import Metric
from ..results.statistics import ADVISED_SEEDS, CONFIDENCE, ENOUGH_SEEDS
from .evaluate import Evaluator, alike, front, lowered, name_of
from .objective import objectives
from .result import Candidate, Drift, Tuning
from .rounds import Rounds
from .space import DRIFTS, Choices, Parameter, Range, parameter
from .work import begun, share, stalls

BEST = "best.toml"
#: Number of settings proposed at a time. It does not depend on the number of cores, because the
#: next proposals depend on the results of earlier ones.
BATCH = 4
#: With one objective: number of best settings that are simulated with further seeds before one is
#: chosen.
FINALISTS = 3
#: Most settings that a note names.
NAMED = 3
#: Largest seed of a search: Optuna takes 32 bits.
MOST_SEED = 2**32 - 1
#: Relative difference below which no answer depends on it.
NEGLIGIBLE = 0.01


def tune(
    scenario: Source,
    vary: Mapping[str, str | Sequence[Any]],
    objective: str | Sequence[str],
    *,
    budget: int = 24,
    seeds: Iterable[int] = range(1, 6),
    set: Mapping[str, Any] | None = None,
    seed: int = 1,
    slack: float = 0.01,
    sensitivity: bool = True,
    out: str | os.PathLike[str] | None = None,
    executor: str | Executor = "local",
    address: str | None = None,
    storage: str | None = None,
    jobs: int | None = None,
    watch: Watch | None = None,
    strict: bool = False,
) -> Tuning:
    """Searches for the settings that make an objective best. With several objectives, finds all
    settings that no other one beats in every objective.

        found = afflux.tune("star.toml", {"switch.ecn.k": "5kB..500kB"}, ["throughput", "fct_p99"], budget=20)

    In addition to the baseline (the unchanged scenario), `budget` settings are tried with every one
    of `seeds`; hopeless ones only with the first few. With several objectives, a setting qualifies
    if it is within the share `slack` of the best in all objectives but the last, and the best in
    the last objective is chosen. With one objective, the best three and the baseline are first
    simulated with as many further seeds. The chosen setting is then compared with the baseline over
    seeds that are new again. `seed` is the seed of the search itself.

    The same call gives the same answer on any executor and any number of cores, and continues where
    it was stopped: everything is kept in `out` (default: `out/tune-<scenario name>`). Raises
    `ScenarioError`, `ValueError` for a range or objective that cannot be read, `MissingExtra`
    without Optuna, `RunError` if the baseline fails. With `strict` a scenario with warnings is
    refused, and settings with warnings are not tried.
    """
    with extras.needed("tune", "afflux tune"):
        import optuna
    metrics = objectives([objective] if isinstance(objective, str) else list(objective))
    space = _space(vary)
    every_seed, fixed = given.seeds(seeds), given.without_seed(set or {})
    _refuse(budget, every_seed, seed, slack)
    loaded = _loaded(scenario, fixed, space, seed, strict)
    place = Path(out) if out is not None else Path("out") / f"tune-{loaded.name}"
    points_place = batch.home(place)
    with opened(executor, jobs=jobs, address=address, storage=storage) as chosen_executor:
        planned = len(every_seed) * _planned(budget, metrics, space if sensitivity else ())
        rounds = Rounds(watch or Silent(), planned)
        evaluator = Evaluator(
            scenario, fixed, metrics, points_place, chosen_executor, rounds, strict
        )
        (place / BEST).unlink(missing_ok=True)  # of an earlier search
        own = _own(evaluator, every_seed)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        tried = _search(optuna, evaluator, space, own, budget, every_seed, seed)
        own, *tried = _with_ties([own, *tried], metrics, every_seed)
        whole = [*filter(_is_whole, (own, *tried))]
        sound, stalled = _sound(whole, [one for one in tried if one.stopped])
        best = _front(sound, metrics, every_seed)
        searched = frozenset(evaluator.failures)
        finalists, seen = (
            _final(evaluator, own, sound, every_seed) if len(metrics) == 1 else ((), every_seed)
        )
        chosen = finalists[0] if finalists else _choose(best, metrics, every_seed, slack)
        fresh = _fresh(seen, len(every_seed))
        confirmed = _confirm(evaluator, chosen, fresh) if chosen.changes else ()
        late = evaluator.failed_after(searched)
        undone = evaluator.undone({}, chosen.changes, fresh) if chosen.changes else None
        drifts = (
            tuple(_drifts(evaluator, space, chosen, every_seed))
            if sensitivity and chosen.changes
            else ()
        )
    notes = [*given.threads_note(loaded), *evaluator.notes, *_errors(tried)]
    notes += evaluator.of_few(own.changes, chosen.changes)
    notes += [*_left_out(stalled, chosen), *_limits(space, chosen, tried, drifts, len(every_seed))]
    best_scenario = batch.load(
        scenario, {**fixed, **chosen.changes, "name": f"{loaded.name}-tuned"}
    )
    durable.write_text(place / BEST, best_scenario.resolved)
    return Tuning(
        metrics,
        tuple(vary),
        own,
        tuple(tried),
        tuple(best),
        tuple(finalists),
        chosen,
        confirmed,
        drifts,
        tuple(notes),
        (*late, *evaluator.failed_checks()),
        place / BEST,
        evaluator.warnings,
        tuple(stalled),
        undone,
    )


def _refuse(budget: int, seeds: Sequence[int], seed: int, slack: float) -> None:
    """Raises `ValueError` for numbers that the search would stumble over later."""
    settings.whole("--budget", budget, 1, settings.MOST_POINTS)
    settings.whole("--seed", seed, 0, MOST_SEED)
    settings.limited(budget, len(seeds))
    if not slack >= 0:
        raise ValueError(f"--slack {slack}: expected a number that is not negative")
    if (last := max(seeds) + 2 * len(seeds)) > settings.MOST_SEED:
        raise ValueError(
            f"--seeds: the answer is checked with further seeds, up to {last}, but a seed is at most {settings.MOST_SEED}: name smaller ones"
        )


def _space(vary: Mapping[str, str | Sequence[Any]]) -> list[Parameter]:
    for key in vary:
        given.variable(key)
    given.without_seed(vary, "varied")
    space = [parameter(key, values) for key, values in vary.items()]
    if not space:
        raise ValueError(
            "--vary is missing: name a key and its range, as in --vary switch.ecn.k=20kB..400kB"
        )
    return space


def _planned(budget: int, metrics: Sequence[Metric], varied: Sequence[Parameter]) -> int:
    """Returns the number of settings that a search simulates, with the neighbours of those that are
    `varied` around the chosen one."""
    finals = (FINALISTS + 1) * (len(metrics) == 1)
    return budget + 3 + finals + DRIFTS * sum(isinstance(one, Range) for one in varied)


def _loaded(
    scenario: Source,
    fixed: Mapping[str, Any],
    space: Sequence[Parameter],
    seed: int,
    strict: bool,
) -> _core.Scenario:
    """Returns the baseline. Raises its warnings if they are refused, and the first error if every
    one of some settings is refused, as where a key of `--vary` is unknown."""
    loaded = batch.load(scenario, fixed)
    if strict and loaded.warnings:
        raise _core.ScenarioError("\nerror: ".join(map(str, loaded.warnings)))
    wrong = []
    for params in _spread(space, 4 * BATCH, seed):
        changes = {one.key: one.setting(params[one.key]) for one in space}
        try:
            batch.load(scenario, {**fixed, **changes})
            return loaded
        except _core.ScenarioError as error:
            wrong.append(error)
    raise wrong[0]


def _errors(tried: Sequence[Candidate]) -> list[str]:
    return [f"{one.name}: {one.error}" for one in tried if one.error]


def _is_whole(candidate: Candidate) -> bool:
    """True if the setting was simulated with all seeds."""
    return bool(candidate.values) and not candidate.stopped


def _sound(
    whole: Sequence[Candidate], dropped: Sequence[Candidate] = ()
) -> tuple[list[Candidate], list[Candidate]]:
    """Returns the settings that do not stall compared with the one that begins most of its work, and
    those that stall, the dropped ones included. Few flows of a stalled setting may be fast, but most
    of its work is missing."""
    most = max(whole, key=lambda one: share(one.work))
    stalled = [one for one in (*whole, *dropped) if stalls(one.work, most.work)]
    return [one for one in whole if one not in stalled], stalled


def _left_out(stalled: Sequence[Candidate], chosen: Candidate) -> Iterator[str]:
    """Names the settings that stall, with the flows or jobs that they lack."""
    if stalled:
        named = [f"{one.name} ({begun(one.work)})" for one in stalled[:NAMED]]
        named += [f"{len(stalled) - NAMED} more"] if len(stalled) > NAMED else []
        yield f"left out of the choice, because they stall: {', '.join(named)}; with {chosen.name} {begun(chosen.work)}"


def _with_ties(
    tried: Sequence[Candidate], metrics: Sequence[Metric], seeds: Sequence[int]
) -> list[Candidate]:
    """Adds to each setting how many others cannot be distinguished from it."""
    whole = [*filter(_is_whole, tried)]
    ties = dict(zip((c.name for c in whole), alike(whole, metrics, seeds), strict=True))
    return [replace(candidate, alike=ties.get(candidate.name)) for candidate in tried]


def _limits(
    space: Sequence[Parameter],
    chosen: Candidate,
    tried: Sequence[Candidate],
    drifts: Sequence[Drift],
    seeds: int,
) -> Iterator[str]:
    """Words the limits of the answer: few seeds, a value at the end of its range, and many
    judgements at once."""
    if seeds < ADVISED_SEEDS:
        few = "1 seed is" if seeds == 1 else f"{seeds} seeds are"
        few += " too few" if seeds < ENOUGH_SEEDS else " few"
        yield f"{few} to tell a difference from chance; search with at least {ADVISED_SEEDS}"
    for one in space:
        if not isinstance(one, Range) or one.key not in chosen.changes:
            continue
        value = chosen.changes[one.key]
        if end := one.end(value, [c.changes[one.key] for c in tried if c.values]):
            yield (
                f"{one.key} = {settings.shown(value)} is {end} of the range that was searched: "
                f"what is better may lie outside, so search on with --vary {one.key}={one.beyond(value)}"
            )
    judged = sum(
        found is not None and found.p is not None for drift in drifts for _, found in drift.tried
    )
    if judged > 1:
        yield f"{judged} neighbours of the chosen setting are judged, each at 95 %: about {(1 - CONFIDENCE) * judged:.1f} of them come out clear by chance"


def _own(evaluator: Evaluator, seeds: Sequence[int]) -> Candidate:
    evaluator.simulate([{}], seeds)
    own = evaluator.candidate({}, seeds)
    if own.values is None:
        raise _core.RunError(
            f"the baseline (the scenario without changes) cannot be simulated: {own.error}"
        )
    return own


def _search(
    optuna: Any,
    evaluator: Evaluator,
    space: Sequence[Parameter],
    own: Candidate,
    budget: int,
    seeds: Sequence[int],
    seed: int,
) -> list[Candidate]:
    sampler = optuna.samplers.TPESampler(
        seed=seed, n_startup_trials=_first(budget), constant_liar=True
    )
    study = optuna.create_study(
        sampler=sampler, directions=["minimize"] * len(evaluator.objectives)
    )
    for params in _spread(space, _first(budget), seed):
        study.enqueue_trial(params)
    distributions = {one.key: _distribution(optuna, one) for one in space}
    tried: dict[str, Candidate] = {}
    asked = 0
    # In a small search space the sampler keeps proposing settings that were already tried, so the
    # number of proposals is limited too.
    while len(tried) < budget and asked < 10 * budget:
        trials = [study.ask(distributions) for _ in range(min(BATCH, budget - len(tried)))]
        asked += len(trials)
        changes = [
            {one.key: one.setting(trial.params[one.key]) for one in space} for trial in trials
        ]
        new = {name_of(change): change for change in changes if name_of(change) not in tried}
        known = [own, *filter(_is_whole, tried.values())]
        for candidate in evaluator.race(list(new.values()), seeds, known):
            tried[candidate.name] = candidate
        for trial, change in zip(trials, changes, strict=True):
            _tell(optuna, study, trial, tried[name_of(change)], own, evaluator.objectives)
    return list(tried.values())


def _first(budget: int) -> int:
    """Returns the number of settings that are spread evenly before the search begins to learn."""
    return max(min(budget, BATCH), budget // 3)


def _spread(space: Sequence[Parameter], count: int, seed: int) -> list[dict[str, Any]]:
    """Returns a Latin hypercube: every range is cut into as many parts as there are settings, and
    each part is used once."""
    draws = random.Random(seed)
    columns: dict[str, list[Any]] = {}
    for one in space:
        order = draws.sample(range(count), count)
        if isinstance(one, Range):
            found = [one.place((part + 0.5) / count) for part in order]
            columns[one.key] = (
                [round(value) for value in found] if one.whole and not one.units else found
            )
        else:
            columns[one.key] = [one.values[part % len(one.values)] for part in order]
    return [{key: values[place] for key, values in columns.items()} for place in range(count)]


def _distribution(optuna: Any, one: Parameter) -> Any:
    if isinstance(one, Choices):
        return optuna.distributions.CategoricalDistribution(one.values)
    if one.whole and not one.units:
        return optuna.distributions.IntDistribution(int(one.low), int(one.high), log=one.log)
    return optuna.distributions.FloatDistribution(one.low, one.high, log=one.log)


def _tell(
    optuna: Any,
    study: Any,
    trial: Any,
    candidate: Candidate,
    own: Candidate,
    metrics: Sequence[Metric],
) -> None:
    """Reports a result to Optuna as the relative difference from the baseline with the same seeds.
    This removes the variation that both have in common. A setting that stalls is reported as at
    least twice as bad as the baseline, the worse the less of its work it begins."""
    if candidate.values is None:
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return
    seeds = list(candidate.values[metrics[0].name])
    (mine,), (its_own,) = lowered([candidate], metrics, seeds), lowered([own], metrics, seeds)
    told = [(a - b) / (abs(b) or 1.0) for a, b in zip(mine, its_own, strict=True)]
    if stalls(candidate.work, own.work):
        less = share(own.work) - share(candidate.work)
        told = [max(one, 1.0) + less for one in told]
    study.tell(trial, told)


def _front(
    candidates: Sequence[Candidate], metrics: Sequence[Metric], seeds: Sequence[int]
) -> list[Candidate]:
    means = lowered(candidates, metrics, seeds)
    # If settings are equal, the first one stays: the baseline precedes all others.
    places = [place for place in front(means) if means.index(means[place]) == place]
    return [candidates[place] for place in sorted(places, key=lambda place: means[place])]


def _choose(
    best: Sequence[Candidate], metrics: Sequence[Metric], seeds: Sequence[int], slack: float
) -> Candidate:
    """Returns the best setting, objective by objective: first the settings within `slack` of the
    best in the first objective, of those the ones within `slack` in the second, and so on. The last
    objective decides."""
    means = lowered(best, metrics, seeds)
    left = list(range(len(best)))
    for place in range(len(metrics) - 1):
        least = min(means[one][place] for one in left)
        left = [one for one in left if means[one][place] <= least + slack * abs(least)]
    return best[min(left, key=lambda one: means[one][-1])]


def _final(
    evaluator: Evaluator, own: Candidate, sound: Sequence[Candidate], seeds: Sequence[int]
) -> tuple[list[Candidate], list[int]]:
    """Simulates the best few and the baseline with as many further seeds. Returns them with the
    best over all seeds first, and all seeds used. Settings that stall come last."""
    metrics = evaluator.objectives
    means = {
        candidate.name: mean
        for candidate, (mean,) in zip(sound, lowered(sound, metrics, seeds), strict=True)
    }
    others = [candidate for candidate in sound if candidate.changes]
    few = [own, *sorted(others, key=lambda candidate: means[candidate.name])[:FINALISTS]]
    seen = [*seeds, *_fresh(seeds, len(seeds))]
    evaluator.simulate([candidate.changes for candidate in few], seen[len(seeds) :])
    every = [
        candidate
        for candidate in (evaluator.candidate(one.changes, seen) for one in few)
        if candidate.values
    ]
    if not every:
        error = evaluator.candidate(own.changes, seen).error
        raise _core.RunError(f"nothing could be simulated with further seeds: {error}")
    ties = alike(every, metrics, seen)
    _, stalled = _sound(every)
    order = sorted(
        range(len(every)),
        key=lambda place: (every[place] in stalled, lowered([every[place]], metrics, seen)[0]),
    )
    return [replace(every[place], alike=ties[place]) for place in order], seen


def _fresh(seen: Sequence[int], count: int) -> range:
    return range(max(seen) + 1, max(seen) + 1 + count)


def _confirm(
    evaluator: Evaluator, chosen: Candidate, fresh: Sequence[int]
) -> tuple[Difference, ...]:
    """Compares the chosen setting with the baseline over new seeds. A setting that was chosen for
    its numbers was partly lucky, and new seeds show the remaining difference."""
    evaluator.simulate([{}, chosen.changes], fresh)
    return evaluator.differences({}, chosen.changes, fresh)


def _drifts(
    evaluator: Evaluator, space: Sequence[Parameter], chosen: Candidate, seeds: Sequence[int]
) -> Iterable[Drift]:
    """Varies each threshold separately, down and up. Yields the sensitivity of each objective."""
    ranges = [one for one in space if isinstance(one, Range)]
    around = {
        one.key: [
            (number, {**chosen.changes, one.key: one.written(number)})
            for number in one.drifts(chosen.changes[one.key])
        ]
        for one in ranges
    }
    evaluator.simulate([changes for values in around.values() for _, changes in values], seeds)
    for one in ranges:
        middle = one.number(chosen.changes[one.key]) or 0.0
        stalled = tuple(
            changes[one.key]
            for _, changes in around[one.key]
            if evaluator.stalls(changes, chosen.changes, seeds)
        )
        for place, metric in enumerate(evaluator.objectives):
            tried: list[_Tried] = [(middle, chosen.changes[one.key], None)]
            for number, changes in around[one.key]:
                found = (
                    None
                    if evaluator.failed(changes)
                    else evaluator.differences(chosen.changes, changes, seeds)[place]
                )
                tried.append((number, changes[one.key], found))
            tried.sort(key=lambda item: item[0])
            at = [item[0] for item in tried].index(middle)
            (low, below), (high, above) = (
                _unharmed(outwards, stalled) for outwards in (tried[at::-1], tried[at:])
            )
            harm = tuple((value, found) for _, value, found in (*below, *above))
            yield Drift(
                one.key,
                metric,
                low,
                high,
                harm,
                tuple((value, found) for number, value, found in tried if number != middle),
                stalled,
            )


#: A value as a number and as it is written, and its difference from the chosen setting.
_Tried = tuple[float, Any, Difference | None]


def _unharmed(outwards: Sequence[_Tried], stalled: Sequence[Any]) -> tuple[Any, list[_Tried]]:
    """Returns the last harmless value and the first harmful one. The list begins with the chosen
    value itself."""
    last = outwards[0][1]
    for one in outwards[1:]:
        if one[2] is None or one[1] in stalled or harmful(one[2]):
            return last, [one]
        last = one[1]
    return last, []


def harmful(found: Difference) -> bool:
    """True if the setting is worse by more than `NEGLIGIBLE`, and either clearly so or with too few
    seeds to tell."""
    worse = found.difference > 0 if found.metric.lower_is_better else found.difference < 0
    weighty = found.share is None or abs(found.share) > NEGLIGIBLE
    return worse and weighty and found.verdict in (WORSE, TOO_FEW)
