"""Compares the designs in a table, lists the rows and checks of the study, and splits the answer
into the parts of a page."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...comparison import changes
from ...comparison.compare import Comparison, compare
from ...comparison.paired import difference
from ...decision.judge import MISSED, OPEN
from ...decision.sentences import label, price_head, verdict
from ...metrics import COST, Metric
from ...report import Facts, PageAnswer, Table
from ...results.designs import Designs
from ...results.statistics import interval, mean
from ...words import Words, capital, join, say, text
from .. import Check, Row
from . import sentences
from .evidence import Evidence
from .mixtures import OWN
from .sentences import start

#: Unit and factor of rows, by the function that formats the metric.
_UNITS: Mapping[Callable[..., str], tuple[str, float]] = {
    text.time: ("ms", 1e-6),
    text.rate: ("Gbps", 1e-9),
}


def tables(of: Evidence) -> Sequence[Table]:
    return [_designs(of), *([_variants(of)] if of.variants else [])]


def _variants(of: Evidence) -> Table:
    """Returns a row per variant, the scenario as it is first: the choice, and the designs that meet
    all goals, that leave some open, and that miss some."""
    head = [
        "",
        *(say(f"standard.variants.{column}") for column in ("choice", "met", "open", "missed")),
    ]
    rows = []
    for variant, judged in ((of.question.variants[0], of.judged), *of.variants):
        missed = [design for design in of.question.order if judged.states(design, MISSED)]
        unsure = [
            design
            for design in of.question.order
            if judged.states(design, OPEN) and design not in missed
        ]
        met = [design for design in of.question.order if design not in (*unsure, *missed)]
        choice = judged.choice.design or say("standard.variants.none")
        groups = [", ".join(designs) or "–" for designs in (met, unsure, missed)]
        rows.append([sentences.variant(variant.name), choice, *groups])
    return Table(say("standard.variants.table"), head, rows)


def _designs(of: Evidence) -> Table:
    """Returns a row per design: each goal's value with its change from the tenant's own fabric,
    price, power, and the state of the goals."""
    goals, prices, power = of.question.goals, of.cost.prices, of.cost.power
    head: list[str] = ["", *(label(goal) for goal in goals)]
    head += ([price_head(of.question.currency)] if prices else []) + (
        [say("decision.head.power")] if power else []
    )
    rows = []
    for design in [*of.question.order, OWN]:
        cells: list[str] = [
            sentences.title(design) if design == OWN else design,
            *_values(of, design),
        ]
        cells += ([COST.show(prices[design])] if prices else []) + (
            [f"{power[design]:,.0f} W" if design in power else "–"] if power else []
        )
        rows.append(
            [*cells, say("standard.reference") if design == OWN else verdict(of.judged, design)]
        )
    return Table(say("standard.table"), [*head, say("decision.head.goals")], rows)


def _values(of: Evidence, design: str) -> list[str]:
    shown = [
        goal.metric.brief(mean(list(of.numbers(design, goal).values())))
        for goal in of.question.goals
    ]
    beside = (
        [str(goal.against) for goal in of.question.goals]
        if design == OWN
        else [changes.by(start(one)) for one in of.judged.standings[design]]
    )
    return [f"{value} ({other})" for value, other in zip(shown, beside, strict=True)]


def rows(of: Evidence) -> Sequence[Row]:
    """Returns values without published ones: the source asks the question, but has no numbers for a
    mixture."""
    found = []
    for design in [*of.question.order, OWN]:
        for goal in of.question.goals:
            unit, factor = (
                ("s", 1e-9)
                if goal.measure.startswith("job_time")
                else _UNITS.get(goal.metric.show, ("1", 1.0))
            )
            values = [value * factor for value in of.numbers(design, goal).values()]
            low, high = interval(values) or (None, None)
            found.append(
                Row(
                    f"mixture behind {design}: {sentences.named(goal)} {goal.measure}, {unit}",
                    None,
                    mean(values),
                    low,
                    high,
                )
            )
    return found


def checks(of: Evidence) -> Sequence[Check]:
    """Checks statements of the source (slides 83 and 84) on this mixture."""
    choice, prices = of.choice, of.cost.prices
    found = [
        Check(
            "slide 84: one shared fabric serves all tenants within their goals",
            choice.design is not None,
            choice.design or "none",
            "a shared design",
        )
    ]
    if prices:
        dearest = max(of.question.order, key=lambda name: prices[name])
        cheaper = choice.design is not None and prices[choice.design] < prices[dearest]
        found.append(
            Check(
                "slide 84: no switch made for one purpose is needed",
                cheaper,
                choice.design or "none",
                f"cheaper than {dearest}",
            )
        )
    plain = next((design.name for design in of.question.designs if not design.set), None)
    if plain is not None:
        missed = len(of.judged.states(plain, MISSED))
        found.append(
            Check(
                "slide 84: it needs settings made for the purpose: goals that plain switches miss",
                missed > 0,
                missed,
                1,
            )
        )
    if of.changed:
        kept = sum(of.survives(judged) for _, judged in of.changed)
        found.append(
            Check(
                "the choice is the same with other loads: mixtures",
                kept == len(of.changed),
                kept,
                len(of.changed),
            )
        )
    if of.variants:
        kept = sum(of.survives(judged) for _, judged in of.variants)
        found.append(
            Check(
                "the choice is the same on other fabrics: variants",
                kept == len(of.variants),
                kept,
                len(of.variants),
            )
        )
    return found


def page_answer(of: Evidence, settings: str | None) -> PageAnswer:
    """Returns the answer for the first screen of a page."""
    parts = {role: _begun(words, of) for role, words in sentences.parts(of, settings).items()}
    head = [
        parts[role]
        for role in (sentences.CHOICE, sentences.VARIANTS, sentences.NEAREST)
        if role in parts
    ]
    some = {
        name: [parts[role] for role in roles if role in parts] for name, roles in _ROLES.items()
    }
    facts = Facts(
        why=some["why"], sure=some["sure"], change=some["change"], chosen=of.choice.design
    )
    return PageAnswer(join(head), lead=some["lead"], rest=some["rest"], facts=facts)


def _begun(words: Words, of: Evidence) -> Words:
    """Returns a sentence as a paragraph of its own: with a capital letter, unless it begins with the
    name of a tenant or of a design without a title."""
    names = [tenant.name for tenant in of.question.tenants]
    names += [design for design in of.question.order if sentences.title(design) == design]
    named = any(re.match(rf"{re.escape(name)}(?![\w-])", words) for name in names)
    return words if named else capital(words)


def measures(of: Evidence) -> Sequence[Metric]:
    """Returns the goals' metrics. The one in which the rejected (or the chosen) design is farthest
    beyond its goal comes first."""
    worst = of.judged.worst(of.rejected or of.choice.shown).goal.metric
    return list(dict.fromkeys([worst, *(goal.metric for goal in of.question.goals)]))


def against(of: Evidence, shown: Designs) -> Comparison:
    """Compares each design with the one in which the cause is looked for. The goals' metrics are
    included, but not judged again: they are judged by the goals."""
    found = compare(shown, of.rejected or of.choice.shown)
    base = shown[found.baseline]
    own = [
        d
        for design in found.designs
        for metric in measures(of)
        if (d := difference(metric, base, shown[design], base.seeds))
    ]
    return replace(found, differences=(*own, *found.differences))


_ROLES = {
    "lead": (sentences.COSTS,),
    "why": (sentences.CAUSE,),
    "sure": (sentences.SURE,),
    "change": (sentences.CHANGE,),
    "rest": (sentences.SIZE, sentences.OTHERS, sentences.PAYS, sentences.SETTINGS),
}
