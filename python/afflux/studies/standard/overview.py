"""The designs side by side, the rows and checks of the study, and the answer in the parts of a page."""

import copy
from collections.abc import Sequence
from dataclasses import replace

from ...comparison import changes
from ...comparison.compare import Comparison, compare
from ...comparison.paired import difference
from ...metrics import COST, Metric
from ...report import Facts, Table, Told
from ...results.designs import Design, Designs
from ...results.result import Result
from ...results.statistics import interval, mean
from ...words import Words, join, say
from .. import Check, Row
from . import sentences
from .choice import MISSED, OPEN, OWN, survives
from .evidence import Evidence
from .goals import Tenant

#: Units of rows, by measure: name and factor.
_UNITS = {"job_time": ("s", 1e-9), "query_p99": ("ms", 1e-6), "flow_p99": ("ms", 1e-6), "goodput": ("Gbps", 1e-9)}


def table(of: Evidence) -> Table:
    """A row per design: each tenant's value with its change against the tenant's own fabric, price, power, and the goals."""
    tenants, prices, watts = of.goals.tenants, of.cost.prices, of.cost.watts
    head: list[str] = ["", *(sentences.label(tenant) for tenant in tenants)]
    head += ([say("standard.head.price", currency=of.cost.currency)] if prices else []) + ([say("standard.head.power")] if watts else [])
    rows = []
    for design in [*of.goals.order, OWN]:
        cells: list[str] = [sentences.title(design) if design == OWN else design, *(_cell(of, design, tenant) for tenant in tenants)]
        cells += ([COST.show(prices[design])] if prices else []) + ([f"{watts[design]:,.0f} W" if design in watts else "–"] if watts else [])
        rows.append([*cells, _verdict(of, design)])
    return Table(say("standard.table"), [*head, say("standard.head.goals")], rows)


def _cell(of: Evidence, design: str, tenant: Tenant) -> str:
    shown = tenant.metric.brief(mean(list(of.values[design][tenant.name].values())))
    if design == OWN:
        return f"{shown} ({tenant.own})"
    return f"{shown} ({changes.by(of.judged.standings[design][tenant.name].own)})"


def _verdict(of: Evidence, design: str) -> Words:
    """Which goals a design misses or leaves open."""
    if design == OWN:
        return say("standard.reference")
    found = []
    for state in (MISSED, OPEN):
        if names := [one.tenant.name for one in of.judged.states(design, state)]:
            found.append(say(f"standard.state.{state}", names=", ".join(names)))
    return join(found, ("; ", "；")) if found else say("standard.state.met")


def rows(of: Evidence) -> Sequence[Row]:
    """Values without published ones: the source asks, and has no numbers for a mixture."""
    found = []
    for design in [*of.goals.order, OWN]:
        for tenant in of.goals.tenants:
            unit, factor = _UNITS[tenant.measure]
            values = [value * factor for value in of.values[design][tenant.name].values()]
            low, high = interval(values) or (None, None)
            found.append(Row(f"mixture behind {design}: {tenant.name}, {unit}", None, mean(values), low, high))
    return found


def checks(of: Evidence) -> Sequence[Check]:
    """Statements of the source (slides 83 and 84) on this mixture."""
    choice, prices = of.choice, of.cost.prices
    found = [Check("slide 84: one shared fabric serves all tenants within their goals", choice.design is not None, choice.design or "none", "a shared design")]
    if prices:
        dearest = max(of.goals.order, key=lambda name: prices[name])
        cheaper = choice.design is not None and prices[choice.design] < prices[dearest]
        found.append(Check("slide 84: no switch made for one purpose is needed", cheaper, choice.design or "none", f"cheaper than {dearest}"))
    plain = next((design.name for design in of.goals.designs if not design.set), None)
    if plain is not None:
        missed = len(of.judged.states(plain, MISSED))
        found.append(Check("slide 84: it needs settings made for the purpose: goals that plain switches miss", missed > 0, missed, 1))
    if of.changed:
        kept = sum(survives(choice, judged.choice) for _, judged in of.changed)
        found.append(Check("the choice is the same with other loads: mixtures", kept == len(of.changed), kept, len(of.changed)))
    return found


def told(of: Evidence, settings: str | None) -> Told:
    """The answer on the first screen of a page."""
    parts = {role: _capital(words) for role, words in sentences.parts(of, settings).items()}
    head = [parts[role] for role in (sentences.CHOICE, sentences.NEAREST) if role in parts]
    some = {name: [parts[role] for role in roles if role in parts] for name, roles in _ROLES.items()}
    chosen = of.choice.design
    return Told(join(head), lead=some["lead"], rest=some["rest"], facts=Facts(why=some["why"], sure=some["sure"], change=some["change"], chosen=chosen))


def measures(of: Evidence) -> Sequence[Metric]:
    """The tenants' measures, first that in which the rejected design, or the chosen one, is farthest beyond its goal. Designs of `with_values` have them."""
    worst = of.judged.worst(of.rejected or of.choice.shown).tenant
    return [_measure(tenant) for tenant in sorted(of.goals.tenants, key=lambda tenant: tenant != worst)]


def _measure(tenant: Tenant) -> Metric:
    return replace(tenant.metric, title=f"{tenant.name}, {sentences.what_of(tenant.metric)}", path=("tenants", tenant.name))


def against(of: Evidence, shown: Designs) -> Comparison:
    """Each design compared with the one in which the cause is looked for, in the tenants' measures, too."""
    found = compare(shown, of.rejected or of.choice.shown)
    base = shown[found.baseline]
    own = [d for design in found.designs for metric in measures(of) if (d := difference(metric, base, shown[design], base.seeds))]
    return replace(found, differences=(*own, *found.differences))


def with_values(of: Evidence, designs: Designs) -> Designs:
    """The designs in the mixture, each with its tenants' values in its summaries."""

    def result(design: str, seed: int, found: Result) -> Result:
        made = copy.copy(found)
        made.summary = found.summary | {"tenants": {name: values[seed] for name, values in of.values[design].items()}}
        return made

    some = [Design(name, {seed: result(name, seed, found) for seed, found in designs[name].results.items()}) for name in of.goals.order]
    return Designs(some, designs.notes)


_ROLES = {
    "lead": (sentences.COSTS,),
    "why": (sentences.CAUSE,),
    "sure": (sentences.SURE,),
    "change": (sentences.CHANGE,),
    "rest": (sentences.SIZE, sentences.OTHERS, sentences.PAYS, sentences.SETTINGS),
}


def _capital(words: Words) -> Words:
    return Words(f"{words[:1].upper()}{words[1:]}", words.ja)
