"""Writes the answer: choice, size, cause, what sharing costs the tenants, cost, certainty, what
would change it, settings."""

from collections.abc import Iterable, Sequence

from ...comparison import changes
from ...comparison.paired import SAME, TOO_FEW, WORSE, Difference
from ...comparison.phrases import between, change_of, in_words
from ...decision.file import Goal
from ...decision.judge import MET, MISSED, OPEN, Judged, Standing, paired
from ...decision.sentences import CHOICE, COSTS, NEAREST, OTHERS, SIZE, SURE, label, money
from ...results.statistics import mean
from ...results.waits import NOBODY
from ...words import Marked, Words, has, join, known, lowered, say, text
from .evidence import Evidence
from .mixtures import OWN, Change

_LISTED, _COMMAS = ("; ", "；"), (", ", "、")
#: Share from which on a part of a wait or of a completion time is named.
_NAMED = 0.1
#: Most changes of the mixture that are named individually.
_FEW = 2


#: Roles of parts of the answer that other decisions do not have.
CAUSE, PAYS, CHANGE, SETTINGS, VARIANTS = "cause", "pays", "change", "settings", "variants"


def parts(of: Evidence, settings: str | None = None) -> dict[str, Words]:
    """Returns the sentences by role. `settings` is the result directory whose scenario has the
    settings to export."""
    made = {
        CHOICE: _choice(of),
        VARIANTS: _variants(of),
        NEAREST: _nearest(of),
        SIZE: _size(of),
        CAUSE: _cause(of),
        PAYS: _pays(of),
        COSTS: _cost(of),
        SURE: _certainty(of),
        OTHERS: _rivals(of),
        CHANGE: _change(of),
        SETTINGS: _settings(of, settings),
    }
    return {role: words for role, words in made.items() if words}


def answer(of: Evidence, settings: str | None = None) -> Marked:
    """Returns all parts, with the titles of their roles."""
    said = [
        (say(key, words=words) if has(key := f"standard.role.{role}") else words, role == CHOICE)
        for role, words in parts(of, settings).items()
    ]
    return Marked.of(said)


def title(design: str) -> Words | str:
    return known(f"standard.design.{design}") or design


def _list(items: Sequence[Words | str]) -> Words:
    return join(list(items), _LISTED)


def named(goal: Goal) -> str:
    """Returns the tenant's name of a goal."""
    assert goal.tenant, "goals of this study are those of tenants"
    return goal.tenant.name


def start(standing: Standing) -> Difference:
    """Returns the difference of the value from that of the tenant's own fabric."""
    assert standing.start, "goals of this study are relative"
    return standing.start


def _item(goal: Goal, d: Difference) -> Words:
    return say("standard.item", label=label(goal), told=_in_words(d))


def _in_words(d: Difference) -> Words:
    """Words a difference with both values. One that is not clear is worded only with its interval,
    without "cannot tell" and the number of further seeds."""
    if d.clear or d.verdict in (SAME, TOO_FEW) or d.bounds is None:
        return in_words(d)
    return say("standard.unclear", between=between(d), **changes.values(d))


def _missed(standing: Standing) -> Words:
    """Words a missed goal: `query (p99 query time) 6.5 times as much (goal: at most 50 % more)`."""
    return say(
        "standard.missed",
        label=label(standing.goal),
        change=change_of(start(standing)),
        goal=changes.change(standing.goal.factor),
    )


def _all_missed(standings: Sequence[Standing]) -> Words:
    return join([_missed(one) for one in standings], _COMMAS)


def _choice(of: Evidence) -> Words:
    choice = of.choice
    if choice.design is None:
        said = _none(of.judged)
    else:
        said = say(
            "standard.choose" if choice.certain else "standard.choose.open",
            design=title(choice.design),
        )
    return (
        say("standard.in", variant=variant(of.question.variants[0].name), words=lowered(said))
        if of.variants
        else said
    )


def _none(judged: Judged) -> Words:
    """Says that no design is chosen: all miss a goal, or some may yet turn out to meet all."""
    if not judged.unresolved:
        return say("standard.none")
    designs = join([title(design) for design in judged.unresolved], _COMMAS)
    return say("standard.none.open", designs=designs)


def variant(name: str) -> Words | str:
    return known(f"standard.fabric.{name}") or name


def _variants(of: Evidence) -> Words:
    """Says for the other variants whether the choice is the same, and to which design it flips."""
    outcomes: dict[tuple[str, str | None], list[Words | str]] = {}
    for one, judged in of.variants:
        choice = judged.choice
        kind = "none" if choice.design is None else "other"
        if choice.design is not None and choice.design == of.choice.design:
            kind = "same"
        unsure = judged.unresolved if choice.design is None else not choice.certain
        ending = ".open" if unsure else ""
        outcomes.setdefault((kind + ending, choice.design), []).append(variant(one.name))
    items = [
        say(
            f"standard.variant.{kind}",
            variant=join(names, (" and ", "と")),
            **({"design": title(design)} if kind.startswith("other") and design else {}),
        )
        for (kind, design), names in outcomes.items()
    ]
    if not items:
        return Words("", "")
    return say(
        "standard.variants", seeds=_seeds(judged for _, judged in of.variants), items=_list(items)
    )


def _seeds(of: Iterable[Judged]) -> int:
    """Returns the least number of paired seeds of a goal."""
    return min(
        one.against.samples for judged in of for some in judged.standings.values() for one in some
    )


def _nearest(of: Evidence) -> Words:
    """If there is no choice, says by how much the nearest design exceeds which goals."""
    if of.choice.design:
        return Words("", "")
    worst = [_missed(one) for one in of.judged.outside(of.choice.nearest)]
    return say("standard.nearest", design=title(of.choice.nearest), items=_list(worst))


def _size(of: Evidence) -> Words:
    return say(
        "standard.size",
        items=_list([_item(one.goal, start(one)) for one in of.judged.standings[of.choice.shown]]),
    )


def _cause(of: Evidence) -> Words:
    """Words the cause. Runs of a tenant alone show that the other tenants are the cause; the split
    shows how."""
    chosen, rejected = of.choice.shown, of.rejected
    if rejected is None:
        worst = of.judged.worst(chosen).goal
        return say(
            "standard.cause.none", design=chosen, item=_item(worst, _others(of, chosen, worst))
        )
    worst = of.judged.worst(rejected).goal
    alone = _others(of, rejected, worst)
    words = {"design": rejected, "tenant": named(worst), "label": label(worst)} | changes.values(
        alone
    )
    best = worst.metric.brief(mean(list(of.numbers(chosen, worst).values())))
    said = say(
        "standard.cause" if alone.verdict == WORSE else "standard.cause.itself",
        chosen=chosen,
        best=best,
        **words,
    )
    return join(
        [
            part
            for part in (
                said,
                _split(of, rejected, named(worst)),
                _queued(of, rejected, named(worst)),
            )
            if part
        ]
    )


def _others(of: Evidence, design: str, goal: Goal) -> Difference:
    """Compares the mixture with the tenant alone, on the same fabric."""
    return paired(
        goal,
        design,
        {seed: value.number for seed, value in of.alone[design][goal.name].items()},
        of.values[design][goal.name],
    )


def _split(of: Evidence, design: str, tenant: str) -> Words:
    """Names the parts that make the tenant's flows take longer than alone."""
    parts = of.parts.get(design, {}).get(tenant, {})
    whole = sum(ns for ns in parts.values() if ns > 0)
    longer = [
        (part, ns)
        for part, ns in sorted(parts.items(), key=lambda item: -item[1])
        if ns > 0 and ns >= _NAMED * whole
    ]
    if not longer:
        return Words("", "")
    longest = [
        say("split.named", part=say(f"part.{part}"), by=text.signed_time(ns)) for part, ns in longer
    ]
    return say("standard.split", tenant=tenant, parts=join(longest, _COMMAS))


def _queued(of: Evidence, design: str, tenant: str) -> Words:
    shares = _shares(of, design, tenant)
    return say("standard.queued", tenant=tenant, shares=shares) if shares else Words("", "")


def _shares(of: Evidence, design: str, tenant: str) -> Words:
    """Lists what frames waited behind, without small shares: `bulk (62 %), hadoop (30 %)`."""
    causes = of.behind.get(design, {}).get(tenant, {})
    shown = [
        (cause, share)
        for cause, share in sorted(causes.items(), key=lambda item: (-item[1], item[0]))
        if share >= _NAMED
    ]

    def name(cause):
        return (
            say("standard.nobody")
            if cause == NOBODY
            else say("standard.same")
            if cause == tenant
            else cause
        )

    return join(
        [
            say("standard.share", name=name(cause), share=f"{100 * share:.0f}")
            for cause, share in shown
        ],
        _COMMAS,
    )


def _pays(of: Evidence) -> Words:
    """Compares each tenant in the mixture with itself alone, on the chosen fabric."""
    chosen = of.choice.shown
    items = []
    for goal in of.question.goals:
        item = _item(goal, _others(of, chosen, goal))
        shares = _shares(of, chosen, named(goal))
        items.append(say("standard.pays.behind", item=item, shares=shares) if shares else item)
    return say("standard.pays", design=chosen, items=_list(items))


def _cost(of: Evidence) -> Words:
    prices, power, chosen, currency = (
        of.cost.prices,
        of.cost.power,
        of.choice.shown,
        of.question.currency,
    )
    if not prices:
        return Words("", "")
    own = prices[OWN]
    parts = [
        say(
            "standard.cost",
            new=money(prices[chosen], currency),
            old=money(own, None),
            change=changes.change(prices[chosen] / own),
        )
    ]
    dearer = [name for name in of.question.order if prices[name] > prices[chosen]]
    if dearer:
        items = [
            say("standard.price", design=name, price=money(prices[name], currency))
            for name in dearer
        ]
        parts.append(say("standard.dearer", items=join(items, _COMMAS)))
    if chosen in power and OWN in power:
        parts.append(say("standard.power", new=f"{power[chosen]:,.0f}", old=f"{power[OWN]:,.0f}"))
    return join([*parts, say("standard.examples")])


def _certainty(of: Evidence) -> Words:
    chosen, goals = of.choice.shown, of.judged.family
    seeds = min(one.against.samples for one in of.judged.standings[chosen])
    if of.choice.design and of.choice.certain:
        return say("standard.sure", design=chosen, goals=goals, seeds=seeds)
    if of.choice.design:
        open_ = [_open(one) for one in of.judged.states(chosen, OPEN)]
        return say("standard.unsure", design=chosen, goals=goals, seeds=seeds, items=_list(open_))
    if chosen in of.judged.unresolved:
        items = _list([_open(one) for one in of.judged.states(chosen, OPEN)])
        return say("standard.sure.none.open", design=chosen, goals=goals, seeds=seeds, items=items)
    return say("standard.sure.none", goals=goals, seeds=seeds)


def _rivals(of: Evidence) -> Words:
    """Says why the other designs are not chosen."""
    return say(
        "standard.rejected",
        items=_list(
            [_rejected(of.judged, name) for name in of.question.order if name != of.choice.shown]
        ),
    )


def _open(standing: Standing) -> Words:
    return say(
        "standard.open",
        item=_item(standing.goal, start(standing)),
        goal=changes.change(standing.goal.factor),
    )


def _rejected(judged: Judged, design: str) -> Words:
    """Says why a design is not chosen: the goals that it misses or leaves open. If there are none,
    it costs more or has more settings."""
    if missed := judged.states(design, MISSED):
        return say("standard.misses", design=design, items=_all_missed(missed))
    if open_ := judged.states(design, OPEN):
        return say(
            "standard.leaves",
            design=design,
            items=join([label(one.goal) for one in open_], _COMMAS),
        )
    return say("standard.fits", design=design)


def _change(of: Evidence) -> Words:
    base, others = of.choice, of.changed
    parts = []
    if others:
        flipped = [(change, judged) for change, judged in others if not of.survives(judged)]
        words = {
            "seeds": _seeds(judged for _, judged in others),
            "kept": len(others) - len(flipped),
            "count": len(others),
            "changes": _names([change for change, _ in others]),
        }
        parts.append(
            say(
                "standard.survives"
                if flipped
                else "standard.survives.all"
                if len(others) > _FEW
                else "standard.survives.few",
                **words,
            )
        )
        if unsure := [
            change.name
            for change, judged in others
            if of.survives(judged) and base.certain and not judged.choice.certain
        ]:
            parts.append(say("standard.unsure.changes", names=", ".join(unsure)))
        if flipped:
            parts.append(
                say(
                    "standard.flips",
                    items=_list([_flip(of, change.name, judged) for change, judged in flipped]),
                )
            )
    under = [
        _condition(condition.name, base.design, judged)
        for condition, judged in of.conditions
        if base.design in judged.standings
    ]
    return join([*parts, *under])


def _names(changed: Sequence[Change]) -> Words:
    """Words changes: `one tenant's load x 0.5 or x 1.5`, or each change if there are few."""
    if len(changed) > _FEW:
        factors = sorted({change.factor for change in changed})
        return say(
            "standard.changed",
            factors=join(
                [say("standard.times", factor=f"{factor:g}") for factor in factors],
                (" or ", "または"),
            ),
        )
    return join([Words(change.name, change.name) for change in changed], _COMMAS)


def _flip(of: Evidence, change: str, judged: Judged) -> Words:
    """Words the changed choice, and whether the first one would still meet the goals."""
    design, other = of.choice.design, judged.choice
    new = (
        say("standard.flip.other", design=other.design)
        if other.design
        else say("standard.flip.none")
    )
    if design is None:
        return say("standard.flip", change=change, new=new)
    if missed := judged.states(design, MISSED):
        return say(
            "standard.flip.misses", change=change, new=new, design=design, items=_all_missed(missed)
        )
    return say(
        "standard.flip.met" if not judged.states(design, OPEN) else "standard.flip.open",
        change=change,
        new=new,
        design=design,
    )


def _condition(name: str, design: str | None, judged: Judged) -> Words:
    assert design is not None
    what = known(f"standard.condition.{name}") or name
    if missed := judged.states(design, MISSED):
        return say(
            "standard.under.misses", condition=what, design=design, items=_all_missed(missed)
        )
    met = all(one.state == MET for one in judged.standings[design])
    return say(
        "standard.under.met" if met else "standard.under.open",
        condition=what,
        design=design,
    )


def _settings(of: Evidence, settings: str | None) -> Words:
    return (
        say("standard.settings", design=of.choice.shown, dir=settings)
        if settings
        else Words("", "")
    )
