"""Simulates the designs of a decision and judges them."""

import html
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import batch, report
from ..batch import Outcome, Watch, given
from ..comparison.compare import Comparison, compare
from ..executors import Executor, opened
from ..files import durable
from ..metrics import Metric
from ..report import Facts, PageAnswer, Table
from ..results.designs import Designs
from ..results.statistics import CONFIDENCE, ENOUGH_SEEDS
from ..words import Marked, Words, capital, join, say
from . import sentences
from .file import Question, read
from .judge import MET, MISSED, OPEN, Judged, Standing
from .looks import BUDGET, Look, looks
from .points import (
    alone_values,
    points,
    power,
    prices,
    values,
    with_unfinished,
    with_values,
)

#: File names: the answer with all facts behind it, and the page.
DECISION, REPORT = "decision.json", "report.html"
#: Default seeds, and seeds with `--quick`.
SEEDS, QUICK = range(1, 6), range(1, ENOUGH_SEEDS + 1)
#: Mark of each state, placed before the value in the table of goals.
MARKS = {MET: "\N{CHECK MARK}", MISSED: "\N{MULTIPLICATION X}", OPEN: "\N{WHITE CIRCLE}"}


@dataclass(frozen=True)
class Decision:
    """The designs judged by the goals or, without goals, compared with the first one."""

    #: The designs, tenants and goals of the decision file.
    question: Question
    #: Results, failures and notes of the batch.
    outcome: Outcome
    #: Results of the designs. The runs of tenants alone are in `outcome`.
    designs: Designs
    #: Judgement by the goals; None without goals.
    judged: Judged | None
    #: Comparison of every design with the first one.
    comparison: Comparison
    #: Price of each design; empty unless all prices are known.
    prices: Mapping[str, float]
    #: Power in W of each design whose power is known.
    power: Mapping[str, float]
    #: Seeds of each design.
    seeds: tuple[int, ...]
    #: Looks at the results that were made. There is one if all seeds were given beforehand.
    looks: tuple[Look, ...]

    @property
    def facts(self) -> sentences.DecisionFacts:
        """Facts that the answer is written from. Only available if there are goals."""
        assert self.judged, "there are goals"
        chosen = self.judged.choice.design
        return sentences.DecisionFacts(
            self.judged,
            self.question.order,
            self.prices,
            self.power,
            self.question.currency,
            len(self.seeds),
            len(self.looks),
            drops_frames=chosen is not None and self.drops_frames(chosen),
        )

    def drops_frames(self, design: str) -> bool:
        """Returns whether frames are dropped with this design, in any seed."""
        return any(result.summary["drops"] for result in self.designs[design].results.values())

    def sentence(self) -> Marked:
        """Returns the answer as text."""
        return sentences.answer(self.facts) if self.judged else self.comparison.sentence()

    def table(self) -> Table | None:
        """Returns a table with a row per design: value and state of each goal, price and power.
        None without goals."""
        if self.judged is None:
            return None
        goals = self.question.goals
        head: list[str] = [
            say("decision.head.design"),
            *(
                _title(self.judged.standings[self.question.order[0]][place])
                for place in range(len(goals))
            ),
        ]
        if self.prices:
            head.append(sentences.price_head(self.question.currency))
        if self.power:
            head.append(say("decision.head.power"))
        rows = [self._row(design) for design in self.question.order]
        return Table(say("decision.table"), [*head, say("decision.head.goals")], rows)

    def _row(self, design: str) -> list[str]:
        assert self.judged
        cells: list[str] = [design]
        for one in self.judged.standings[design]:
            cells.append(f"{MARKS[one.state]} {one.goal.metric.brief(one.value)}")
        if self.prices:
            cells.append(f"{self.prices[design]:,.0f}")
        if self.power:
            cells.append(f"{self.power[design]:,.0f} W" if design in self.power else "–")
        return [*cells, sentences.verdict(self.judged, design)]

    def __repr__(self) -> str:
        lines = [str(self.sentence())]
        if goals := self.table():
            rows = [list(map(str, row)) for row in (goals.head, *goals.rows)]
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            lines += [
                "  ".join(
                    cell.ljust(width) for cell, width in zip(row, widths, strict=True)
                ).rstrip()
                for row in rows
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Returns HTML for notebooks: the answer and the table of goals."""
        goals = self.table()
        rows = [goals.head, *goals.rows] if goals else []
        cells = [
            "".join(
                f"<{'td' if place else 'th'}>{html.escape(str(cell))}</{'td' if place else 'th'}>"
                for cell in row
            )
            for place, row in enumerate(rows)
        ]
        table = f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>" if rows else ""
        return f"<p>{html.escape(str(self.sentence()))}</p>{table}"

    @property
    def seconds(self) -> float:
        """Processor time of all simulations in seconds. Results that were read instead of
        simulated count with the time that they took, so the number does not depend on them."""
        return math.fsum(result.summary["cpu_s"] for result in self.outcome.results.values())

    def to_dict(self) -> dict[str, Any]:
        """Returns the content of `decision.json`: the answer and all facts behind it."""
        choice = self.judged.choice if self.judged else None
        made: dict[str, Any] = {
            "answer": str(self.sentence()),
            "chosen": choice and choice.design,
            "designs": [self._design(name) for name in self.question.order],
            "seeds": list(self.seeds),
            "seconds": self.seconds,
            "currency": self.question.currency,
            "judged_together": self.judged.family if self.judged else self.comparison.family,
            "notes": list(self.comparison.notes),
        }
        if choice:
            made |= {
                "certain": choice.certain,
                "nearest": choice.nearest,
                "error": self.facts.error,
                "looks": [{"seeds": look.seeds, "level": look.level} for look in self.looks],
            }
        return made

    def _design(self, name: str) -> dict[str, Any]:
        return {
            "name": name,
            "price": self.prices.get(name),
            "goals": [*map(_goal, self.judged.standings[name])] if self.judged else [],
            "differences": [difference.to_dict() for difference in self.comparison.of(name)],
            "power": self.power.get(name),
            "drops_frames": self.drops_frames(name),
        }


def _goal(standing: Standing) -> dict[str, Any]:
    low, high = standing.interval or (None, None)
    return {
        "goal": str(_title(standing)),
        "value": standing.value,
        "low": low,
        "high": high,
        "bound": standing.limit,
        "verdict": standing.state,
        "tenant": standing.goal.tenant.name if standing.goal.tenant else None,
        "measure": standing.goal.measure,
        "ratio": standing.against.ratio,
        "ratio_low": standing.against.ratio_low,
        "ratio_high": standing.against.ratio_high,
        "p": standing.tested.p,
        "samples": standing.against.samples,
        "given": standing.given,
        "cut": standing.cut,
        "bound_cut": standing.limit_cut,
        "depends": standing.depends,
    }


def _title(standing: Standing) -> Words:
    """Words a goal as `web: FCT p99, at most 1.80 ms`. If the limit differs between designs, gives
    the rule instead."""
    goal = standing.goal
    limit = sentences.bound(standing) if goal.limit is not None else sentences.rule(goal)
    return join([goal.metric.title, limit], (", ", "、"))


def decide(
    question: Question | str | os.PathLike[str],
    *,
    seeds: Sequence[int] | None = None,
    quick: bool = False,
    until_decided: bool = False,
    budget: int | None = None,
    out: str | os.PathLike[str] | None = None,
    executor: str | Executor = "local",
    address: str | None = None,
    storage: str | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
) -> Decision:
    """Finds the design of a decision file that meets the goals of its tenants at the least price.

    All results are in `out` (default `out/decide-<name>`), together with `decision.json` and
    `report.html`. Points with a result are not simulated again. With `until_decided`, seeds are
    added (5, 10, 20, … up to `budget`, 40 by default) until more of them cannot change the choice.
    Raises `ValueError` for an invalid file and for contradictory options, and `RuntimeError` if
    points failed.
    """
    asked = question if isinstance(question, Question) else read(Path(question))
    dir = Path(out) if out is not None else Path("out") / f"decide-{asked.path.stem}"
    chosen, planned_looks = planned(asked, seeds, quick, until_decided, budget)
    place = batch.home(dir)
    found = None
    with opened(executor, jobs=jobs, address=address, storage=storage) as running:

        def simulated(some: Sequence[int], fresh: bool) -> Outcome:
            return batch.run(
                list(points(asked, some)),
                place,
                fresh=fresh,
                watch=watch,
                executor=running,
                tables=[dir / name for name in (DECISION, REPORT)],
            )

        for number, look in enumerate(planned_looks, 1):
            some = chosen[: look.seeds]
            if fresh and number > 1:
                # The seeds of the looks before are fresh already.
                _refuse_failures(simulated(some[planned_looks[number - 2].seeds :], True))
            outcome = simulated(some, fresh and number == 1)
            found = judged(asked, outcome, some, planned_looks[:number])
            if found.judged is None or found.judged.decided(found.prices):
                break
    assert found
    _write(found, dir)
    return found


def planned(
    question: Question,
    seeds: Sequence[int] | None,
    quick: bool,
    until_decided: bool,
    budget: int | None,
) -> tuple[Sequence[int], Sequence[Look]]:
    """Returns the seeds of every design, and the looks at their results. The seeds are those that
    were asked for, three with `quick`, those of the file, or five; with `until_decided` all of the
    budget. Raises `ValueError` for values that are no seeds and for contradictory options."""
    if quick and (seeds is not None or until_decided):
        raise ValueError("--quick is three seeds: leave out --seeds and --until-decided")
    if not until_decided:
        if budget is not None:
            raise ValueError(
                "--budget is the limit of --until-decided: add --until-decided, or leave out --budget"
            )
        usual = QUICK if quick else question.seeds or SEEDS
        chosen = given.seeds(usual if seeds is None else seeds)
        return chosen, [Look(len(chosen), 1 - CONFIDENCE)]
    if seeds is not None:
        raise ValueError(
            "--until-decided adds seeds by itself: leave out --seeds, or write --budget for the most seeds"
        )
    if not question.goals:
        raise ValueError(
            f"{question.path}: --until-decided needs a [[goal]]: without one, nothing can be decided by adding seeds"
        )
    made = looks(BUDGET if budget is None else budget)
    return range(1, made[-1].seeds + 1), made


def _refuse_failures(outcome: Outcome) -> None:
    if outcome.failures:
        first = outcome.failures[0]
        more = f", and {len(outcome.failures) - 1} more" if len(outcome.failures) > 1 else ""
        raise RuntimeError(f"{first.point} failed{more}: {first.error}")


def judged(
    question: Question, outcome: Outcome, seeds: Sequence[int], made: Sequence[Look]
) -> Decision:
    """Judges the results. Raises `RuntimeError` if a point failed, because designs with different
    seeds are not comparable."""
    _refuse_failures(outcome)
    every = outcome.designs
    shown = Designs([every[name] for name in question.order], every.notes)
    cost = prices(question, every)
    of_goals = None
    if question.goals:
        own, alone = values(question, every), alone_values(question, every)
        question = with_unfinished(question, own, alone)
        of_goals = Judged.of(own, alone, question.order, question.goals, cost, made[-1].level)
        shown = with_values(question, every, own)
    comparison = compare(shown, question.order[0])
    return Decision(
        question,
        outcome,
        comparison.of_name,
        of_goals,
        comparison,
        cost,
        power(question),
        tuple(seeds),
        tuple(made),
    )


def measures(decision: Decision) -> Sequence[Metric]:
    """Returns the metrics of the goals without duplicates, in the order of the file."""
    found = dict.fromkeys(goal.metric for goal in decision.question.goals)
    return list(found)


def _write(decision: Decision, dir: Path) -> None:
    durable.write_text(
        dir / DECISION, json.dumps(decision.to_dict(), indent=1, ensure_ascii=False) + "\n"
    )
    if decision.judged is None:
        report.write(decision.designs, dir / REPORT, against=decision.comparison)
        return
    report.write(
        decision.designs,
        dir / REPORT,
        answer=page(decision),
        goals=decision.table(),
        metrics=[*measures(decision), *decision.designs.metrics()],
        against=decision.comparison,
    )


def page(decision: Decision) -> PageAnswer:
    """Returns the answer in the parts of the report's first screen."""
    parts = sentences.parts(decision.facts)
    head = [parts[role] for role in (sentences.CHOICE, sentences.NEAREST) if role in parts]
    of = {
        role: [parts[role]] if role in parts else []
        for role in (sentences.SIZE, sentences.OTHERS, sentences.COSTS)
    }
    chosen = decision.facts.choice.design
    return PageAnswer(
        join(head),
        lead=of[sentences.COSTS],
        facts=Facts(
            why=[*of[sentences.SIZE], *of[sentences.OTHERS]],
            sure=[capital(parts[sentences.SURE])],
            chosen=chosen,
        ),
    )
