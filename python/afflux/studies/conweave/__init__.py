"""ConWeave's evaluation (SIGCOMM 2023, §4.1): five load balancers under RDMA, lossless and with
IRN.

studies/conweave/README.md says what the source did, what is assumed, and which results differ.
"""

from collections.abc import Sequence
from pathlib import Path

from ...batch import Point
from ...files import durable
from ...results.designs import Design, Designs
from .. import Check, Row, Study
from . import claims, page, tables, verdicts, whole
from .cases import CLAIMED, LONG, SEEDS, long_points, others
from .parts import PARTS
from .runs import read


class ConWeave(Study):
    name = "conweave"
    title = "ConWeave compared with ECMP, CONGA, LetFlow and DRILL, lossless and with IRN"
    question = "How much lower are slowdowns with ConWeave than with other load balancers?"
    finding = (
        "Two of the sixteen published claims (slowdowns at least 12.7 to 66.8 % below those of every other scheme) hold, four hold only against the "
        "baselines' defaults, and ten do not hold, although with default parameters ConWeave's slowdowns are below those of ECMP, CONGA, LetFlow and DRILL "
        "in all sixteen published comparisons, by 0.5 to 98 %, and clearly so in all but one: the mean at 50 % with IRN, over DRILL."
    )
    duration = "about 1.3 h"
    parts = PARTS

    def points(self, quick: bool) -> Sequence[Point]:
        if quick:
            return [
                point for case in CLAIMED if case.fabric == "leaf-spine" for point in case.points(1)
            ]
        claimed = [point for case in CLAIMED for point in case.points(SEEDS)]
        return [
            *claimed,
            *long_points(),
            *(point for case, seeds in others() for point in case.points(seeds)),
        ]

    def table(self, designs: Designs) -> Sequence[Row]:
        return claims.rows(designs)

    def checks(self, designs: Designs) -> Sequence[Check]:
        # The verdicts come from the runs that are shipped with afflux, which use the default
        # assumptions.
        return [*claims.checks(designs), *([] if self.assumed else verdicts.checks())]

    def answer(self, designs: Designs) -> str | None:
        return claims.sentence(designs)

    def shown(self, designs: Designs) -> Designs:
        """Returns one seed of the hardest case: five would be more points than a page can hold."""
        found = LONG.of(designs).values() or designs.values()
        return Designs([Design(design.name, {design.seeds[0]: design.first}) for design in found])

    def plots(self, designs: Designs, dir: Path) -> Sequence[Path]:
        claimed = (
            []
            if self.assumed
            else [
                durable.write_text(
                    dir / "claims.md", f"# What is left of each claim\n\n{tables.every(read())}\n"
                )
            ]
        )
        return [
            *claimed,
            page.tables(designs, whole.CASES, dir / "cases.md"),
            whole.write(whole.of_designs(designs), dir / whole.NAME),
            *page.figures(designs, CLAIMED, dir),
        ]


STUDY = ConWeave()
