"""Comparison table of the designs, rows and checks of the study, and the answer in the parts of a
page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...comparison import changes
from ...comparison.compare import Comparison, compare
from ...comparison.paired import difference
from ...decision.judge import MISSED
from ...decision.sentences import label, price_head, verdict
from ...metrics import COST, Metric
from ...report import Facts, Table, Told
from ...results.designs import Designs
from ...results.statistics import interval, mean
from ...words import capital, join, say, text
from .. import Check, Row
from . import sentences
from .evidence import Evidence
from .mixtures import OWN
from .sentences import start

#: Units of rows, by the function that formats a measure.
_UNITS: Mapping[Callable[..., str], tuple[str, float]] = {text.time: ("ms", 1e-6), text.rate: ("Gbps", 1e-9)}


def table(of: Evidence) -> Table:
    """Returns a row per design: each goal's value with its change against the tenant's own fabric,
    price, power, and the goals."""
    goals, prices, power = of.question.goals, of.cost.prices, of.cost.power
    head: list[str] = ["", *(label(goal) for goal in goals)]
    head += ([price_head(of.question.currency)] if prices else []) + ([say("decision.head.power")] if power else [])
    rows = []
    for design in [*of.question.order, OWN]:
        cells: list[str] = [sentences.title(design) if design == OWN else design, *_values(of, design)]
        cells += ([COST.show(prices[design])] if prices else []) + ([f"{power[design]:,.0f} W" if design in power else "–"] if power else [])
        rows.append([*cells, say("standard.reference") if design == OWN else verdict(of.judged, design)])
    return Table(say("standard.table"), [*head, say("decision.head.goals")], rows)


def _values(of: Evidence, design: str) -> list[str]:
    shown = [goal.metric.brief(mean(list(of.numbers(design, goal).values()))) for goal in of.question.goals]
    beside = [str(goal.against) for goal in of.question.goals] if design == OWN else [changes.by(start(one)) for one in of.judged.standings[design]]
    return [f"{value} ({other})" for value, other in zip(shown, beside, strict=True)]


def rows(of: Evidence) -> Sequence[Row]:
    """Returns values without published ones: the source has no numbers for a mixture."""
    found = []
    for design in [*of.question.order, OWN]:
        for goal in of.question.goals:
            unit, factor = ("s", 1e-9) if goal.measure.startswith("job_time") else _UNITS.get(goal.metric.show, ("1", 1.0))
            values = [value * factor for value in of.numbers(design, goal).values()]
            low, high = interval(values) or (None, None)
            found.append(Row(f"mixture behind {design}: {sentences.named(goal)} {goal.measure}, {unit}", None, mean(values), low, high))
    return found


def checks(of: Evidence) -> Sequence[Check]:
    """Checks statements of the source (slides 83 and 84) on this mixture."""
    choice, prices = of.choice, of.cost.prices
    found = [Check("slide 84: one shared fabric serves all tenants within their goals", choice.design is not None, choice.design or "none", "a shared design")]
    if prices:
        dearest = max(of.question.order, key=lambda name: prices[name])
        cheaper = choice.design is not None and prices[choice.design] < prices[dearest]
        found.append(Check("slide 84: no switch made for one purpose is needed", cheaper, choice.design or "none", f"cheaper than {dearest}"))
    plain = next((design.name for design in of.question.designs if not design.set), None)
    if plain is not None:
        missed = len(of.judged.states(plain, MISSED))
        found.append(Check("slide 84: it needs settings made for the purpose: goals that plain switches miss", missed > 0, missed, 1))
    if of.changed:
        kept = sum(of.survives(judged) for _, judged in of.changed)
        found.append(Check("the choice is the same with other loads: mixtures", kept == len(of.changed), kept, len(of.changed)))
    return found


def told(of: Evidence, settings: str | None) -> Told:
    """Returns the answer for the first screen of a page."""
    parts = {role: capital(words) for role, words in sentences.parts(of, settings).items()}
    head = [parts[role] for role in (sentences.CHOICE, sentences.NEAREST) if role in parts]
    some = {name: [parts[role] for role in roles if role in parts] for name, roles in _ROLES.items()}
    facts = Facts(why=some["why"], sure=some["sure"], change=some["change"], chosen=of.choice.design)
    return Told(join(head), lead=some["lead"], rest=some["rest"], facts=facts)


def measures(of: Evidence) -> Sequence[Metric]:
    """Returns the goals' measures. The first one is the measure in which the rejected design, or
    the chosen one, exceeds its goal most."""
    worst = of.judged.worst(of.rejected or of.choice.shown).goal.metric
    return list(dict.fromkeys([worst, *(goal.metric for goal in of.question.goals)]))


def against(of: Evidence, shown: Designs) -> Comparison:
    """Compares each design with the one in which the cause is looked for, also in the goals'
    measures. The goals judge these measures, so they are not judged again here."""
    found = compare(shown, of.rejected or of.choice.shown)
    base = shown[found.baseline]
    own = [d for design in found.designs for metric in measures(of) if (d := difference(metric, base, shown[design], base.seeds))]
    return replace(found, differences=(*own, *found.differences))


_ROLES = {
    "lead": (sentences.COSTS,),
    "why": (sentences.CAUSE,),
    "sure": (sentences.SURE,),
    "change": (sentences.CHANGE,),
    "rest": (sentences.SIZE, sentences.OTHERS, sentences.PAYS, sentences.SETTINGS),
}
