"""A small study for the tests: incast with and without ECN, two seeds each. As a program it runs
the study in the given directory."""

import sys
from collections.abc import Sequence
from pathlib import Path

from afflux import signals, studies
from afflux.batch import Point
from afflux.metrics import JOB_TIME
from afflux.results.designs import Designs
from afflux.studies import Check, Row, Study

DESIGNS = {
    "tail-drop": {},
    "dctcp": {"switch.ecn.k": "15packets", "host.transport.congestion": "dctcp"},
}


class Tiny(Study):
    name = "tiny"
    title = "Incast of eight, with and without marks"

    def __init__(self, scenario: Path, rounds: int = 3) -> None:
        self.scenario, self.rounds = scenario, rounds

    def points(self, quick: bool) -> Sequence[Point]:
        seeds = [1] if quick else [1, 2]
        return [
            Point(name, self.scenario, {"traffic.0.rounds": self.rounds, **keys}, seed)
            for name, keys in DESIGNS.items()
            for seed in seeds
        ]

    def table(self, designs: Designs) -> Sequence[Row]:
        rows = []
        for name in DESIGNS:
            value = designs[name].value(JOB_TIME) if name in designs else None
            rows.append(
                Row(
                    f"job time, {name}",
                    1.5e6,
                    value and value.mean,
                    value and value.low,
                    value and value.high,
                    predicted=name != "tail-drop",
                )
            )
        return rows

    def checks(self, designs: Designs) -> Sequence[Check]:
        if len(designs) < len(DESIGNS):
            return []
        marks = sum(result.summary["ecn_marks"] for result in designs["dctcp"].results.values())
        return [Check("marks with DCTCP", marks > 0, marks, 1)]

    def answer(self, designs: Designs) -> str:
        return "Marks keep the queue short."


if __name__ == "__main__":
    signals.install()
    with signals.working():
        verdict = studies.carry_out(
            Tiny(Path(sys.argv[1]), rounds=int(sys.argv[3])), out=Path(sys.argv[2])
        )
        print(f"{verdict.outcome.reused} reused, {len(verdict.outcome.results)} results")
    signals.finish()
