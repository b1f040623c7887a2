"""The answer in the order of its parts: choice, size, cause, what the tenants pay for each other, cost, certainty, what would change it, settings."""

from collections.abc import Mapping, Sequence

from ...comparison import changes
from ...comparison.paired import SAME, TOO_FEW, Difference
from ...comparison.phrases import between, change_of, told, what_of
from ...metrics import COST
from ...results.waits import NOBODY
from ...words import Marked, Words, has, join, known, say, text
from .choice import MET, MISSED, OPEN, OWN, Judged, Standing, paired, survives
from .evidence import Evidence
from .goals import Tenant
from .mixtures import Change

_LISTED = ("; ", "；")
#: A part of a wait or of a completion time is named from this share on.
_NAMED = 0.1
#: So many changes of the mixture are named one by one.
_FEW = 2


#: Roles of the parts of an answer; some have a word of their own in front.
CHOICE, NEAREST, SIZE, CAUSE, PAYS, COSTS = "choice", "nearest", "size", "cause", "pays", "cost"
SURE, OTHERS, CHANGE, SETTINGS = "sure", "others", "change", "settings"


def parts(of: Evidence, settings: str | None = None) -> dict[str, Words]:
    """The sentences by their role. `settings`: the result directory whose scenario has the settings to export."""
    made = {
        CHOICE: _choice(of),
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
    """All parts, with their roles in front."""
    said = [(say(key, words=words) if has(key := f"standard.role.{role}") else words, role == CHOICE) for role, words in parts(of, settings).items()]
    return Marked.of(said)


def title(design: str) -> Words | str:
    return known(f"standard.design.{design}") or design


def _list(items: Sequence[Words | str]) -> Words:
    return join(list(items), _LISTED)


def label(tenant: Tenant) -> Words:
    """`query (p99 query time)`."""
    return say("standard.what", tenant=tenant.name, what=what_of(tenant.metric))


def _item(tenant: Tenant, d: Difference) -> Words:
    return say("standard.item", label=label(tenant), told=_told(d))


def _told(d: Difference) -> Words:
    """As `told`, with a difference that is not clear by its interval alone."""
    if d.clear or d.verdict in (SAME, TOO_FEW) or d.bounds is None:
        return told(d)
    return say("standard.unclear", between=between(d), **changes.values(d))


def _missed(standing: Standing) -> Words:
    """`query (p99 query time): 6.5 times as much, goal at most 50 % more`."""
    return say("standard.missed", label=label(standing.tenant), change=change_of(standing.own), goal=goal(standing.tenant))


def goal(tenant: Tenant) -> Words:
    return say("standard.goal", change=changes.change(tenant.limit))


def _choice(of: Evidence) -> Words:
    choice = of.choice
    if choice.design is None:
        return say("standard.none")
    return say("standard.choose" if choice.certain else "standard.choose.open", design=title(choice.design))


def _nearest(of: Evidence) -> Words:
    """Without a choice: by how much the nearest design exceeds which goals."""
    if of.choice.design:
        return Words("", "")
    worst = [_missed(one) for one in of.judged.outside(of.choice.nearest)]
    return say("standard.nearest", design=title(of.choice.nearest), items=_list(worst))


def _size(of: Evidence) -> Words:
    return say("standard.size", items=_list([_item(one.tenant, one.own) for one in of.judged.standings[of.choice.shown].values()]))


def _cause(of: Evidence) -> Words:
    """Runs of a tenant alone isolate the others as the cause; the split says how they do it."""
    chosen, rejected = of.choice.shown, of.rejected
    if rejected is None:
        worst = of.judged.worst(chosen).tenant
        return say("standard.cause.none", design=chosen, item=_item(worst, _others(of, chosen, worst)))
    worst = of.judged.worst(rejected).tenant
    alone = _others(of, rejected, worst)
    words = {"design": rejected, "tenant": worst.name, "label": label(worst)} | changes.values(alone)
    best = worst.metric.brief(_mean(of.values[chosen][worst.name]))
    said = say("standard.cause" if _is_others(alone, worst) else "standard.cause.itself", chosen=chosen, best=best, **words)
    return join([part for part in (said, _split(of, rejected, worst), _queued(of, rejected, worst)) if part])


def _mean(values: Mapping[int, float]) -> float:
    return sum(values.values()) / len(values)


def _others(of: Evidence, design: str, tenant: Tenant) -> Difference:
    """The mixture compared with the tenant alone, on the same fabric."""
    return paired(tenant, design, of.alone[design][tenant.name], of.values[design][tenant.name])


def _is_others(d: Difference, tenant: Tenant) -> bool:
    """Clearly worse in the mixture than alone on the same fabric."""
    return d.clear and d.fell != bool(tenant.metric.lower_is_better)


def _split(of: Evidence, design: str, tenant: Tenant) -> Words:
    """The parts that make its flows take longer than alone."""
    parts = of.parts.get(design, {}).get(tenant.name, {})
    whole = sum(ns for ns in parts.values() if ns > 0)
    longer = [(label, ns) for label, ns in sorted(parts.items(), key=lambda item: -item[1]) if ns > 0 and ns >= _NAMED * whole]
    if not longer:
        return Words("", "")
    named = [say("split.named", part=say(f"part.{label}"), by=text.signed_time(ns)) for label, ns in longer]
    return say("standard.split", tenant=tenant.name, parts=join(named, (", ", "、")))


def _queued(of: Evidence, design: str, tenant: Tenant) -> Words:
    shares = _shares(of, design, tenant)
    return say("standard.queued", tenant=tenant.name, shares=shares) if shares else Words("", "")


def _shares(of: Evidence, design: str, tenant: Tenant) -> Words:
    """`bulk (62 %), hadoop (30 %)`: behind whom frames waited, without small shares."""
    causes = of.behind.get(design, {}).get(tenant.name, {})
    named = [(cause, share) for cause, share in sorted(causes.items(), key=lambda item: (-item[1], item[0])) if share >= _NAMED]
    name = lambda cause: say("standard.nobody") if cause == NOBODY else say("standard.same") if cause == tenant.name else cause  # noqa: E731
    return join([say("standard.share", name=name(cause), share=f"{100 * share:.0f}") for cause, share in named], (", ", "、"))


def _pays(of: Evidence) -> Words:
    """Each tenant in the mixture compared with itself alone, on the chosen fabric."""
    chosen = of.choice.shown
    items = []
    for tenant in of.goals.tenants:
        item = _item(tenant, _others(of, chosen, tenant))
        shares = _shares(of, chosen, tenant)
        items.append(say("standard.pays.behind", item=item, shares=shares) if shares else item)
    return say("standard.pays", design=chosen, items=_list(items))


def _cost(of: Evidence) -> Words:
    prices, watts, chosen = of.cost.prices, of.cost.watts, of.choice.shown
    if not prices:
        return Words("", "")
    own = prices[OWN]
    said = say("standard.cost", currency=of.cost.currency, new=COST.show(prices[chosen]), old=COST.show(own), change=changes.change(prices[chosen] / own))
    dearer = [name for name in of.goals.order if prices[name] > prices[chosen]]
    parts = [said]
    if dearer:
        items = [say("standard.price", design=name, currency=of.cost.currency, price=COST.show(prices[name])) for name in dearer]
        parts.append(say("standard.dearer", items=join(items, (", ", "、"))))
    if chosen in watts and OWN in watts:
        parts.append(say("standard.power", new=f"{watts[chosen]:,.0f}", old=f"{watts[OWN]:,.0f}"))
    return join([*parts, say("standard.examples")])


def _certainty(of: Evidence) -> Words:
    chosen, standings = of.choice.shown, of.judged.standings
    goals = len(standings) * len(of.goals.tenants)
    seeds = min(one.own.samples for one in standings[chosen].values())
    if of.choice.design and of.choice.certain:
        return say("standard.sure", design=chosen, goals=goals, seeds=seeds)
    if of.choice.design:
        open_ = [_open(one) for one in of.judged.states(chosen, OPEN)]
        return say("standard.unsure", design=chosen, goals=goals, seeds=seeds, items=_list(open_))
    return say("standard.sure.none", goals=goals, seeds=seeds)


def _rivals(of: Evidence) -> Words:
    """Why the others are not chosen."""
    return say("standard.rejected", items=_list([_rejected(of.judged, name) for name in of.goals.order if name != of.choice.shown]))


def _open(standing: Standing) -> Words:
    return say("standard.open", item=_item(standing.tenant, standing.own), goal=goal(standing.tenant))


def _rejected(judged: Judged, design: str) -> Words:
    """Why a design is not the choice: the goals that it misses, or leaves open; if there are none, it is dearer or has more settings."""
    if missed := judged.states(design, MISSED):
        return say("standard.misses", design=design, items=join([_missed(one) for one in missed], (", ", "、")))
    if open_ := judged.states(design, OPEN):
        return say("standard.leaves", design=design, items=join([label(one.tenant) for one in open_], (", ", "、")))
    return say("standard.fits", design=design)


def _change(of: Evidence) -> Words:
    base, others = of.choice, of.changed
    parts = []
    if others:
        flipped = [(change, judged) for change, judged in others if not survives(base, judged.choice)]
        seeds = min(one.own.samples for _, judged in others for some in judged.standings.values() for one in some.values())
        words = {"seeds": seeds, "kept": len(others) - len(flipped), "count": len(others), "changes": _names([change for change, _ in others])}
        parts.append(say("standard.survives" if flipped else "standard.survives.all" if len(others) > _FEW else "standard.survives.few", **words))
        if unsure := [change.name for change, judged in others if survives(base, judged.choice) and base.certain and not judged.choice.certain]:
            parts.append(say("standard.unsure.changes", names=", ".join(unsure)))
        if flipped:
            parts.append(say("standard.flips", items=_list([_flip(of, change.name, judged) for change, judged in flipped])))
    under = [_condition(condition.name, base.design, judged) for condition, judged in of.conditions if base.design in judged.standings]
    return join([*parts, *under])


def _names(changed: Sequence[Change]) -> Words:
    """`one tenant's load x 0.5 or x 1.5`, or the changes one by one if they are few."""
    if len(changed) > _FEW:
        factors = sorted({change.factor for change in changed})
        return say("standard.changed", factors=join([say("standard.times", factor=f"{factor:g}") for factor in factors], (" or ", "または")))
    return join([Words(change.name, change.name) for change in changed], (", ", "、"))


def _flip(of: Evidence, change: str, judged: Judged) -> Words:
    """The other choice, and whether the first one would still do."""
    design, other = of.choice.design, judged.choice
    new = say("standard.flip.other", design=other.design) if other.design else say("standard.flip.none")
    if design is None:
        return say("standard.flip", change=change, new=new)
    if missed := judged.states(design, MISSED):
        items = join([_missed(one) for one in missed], (", ", "、"))
        return say("standard.flip.misses", change=change, new=new, design=design, items=items)
    return say("standard.flip.met" if not judged.states(design, OPEN) else "standard.flip.open", change=change, new=new, design=design)


def _condition(name: str, design: str | None, judged: Judged) -> Words:
    assert design is not None
    what = known(f"standard.condition.{name}") or name
    if missed := judged.states(design, MISSED):
        return say("standard.condition.misses", condition=what, design=design, items=join([_missed(one) for one in missed], (", ", "、")))
    met = all(one.state == MET for one in judged.standings[design].values())
    return say("standard.condition.met" if met else "standard.condition.open", condition=what, design=design)


def _settings(of: Evidence, settings: str | None) -> Words:
    return say("standard.settings", design=of.choice.shown, dir=settings) if settings else Words("", "")
