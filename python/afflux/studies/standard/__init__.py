"""One standard fabric for a mixture of tenants, instead of a network per use: the question of LY Corporation's talk (JANOG), simulated."""

from collections.abc import Sequence

from ... import templates
from ...batch import Point
from ...results.designs import Designs
from .. import Row, Study, files
from .evidence import Evidence, gather
from .goals import read
from .mixtures import Mixtures

__all__ = ["STUDY", "Standard"]

_SEEDS, _QUICK = 8, 5


class Standard(Study):
    name = "standard"
    title = "One standard fabric for Hadoop, queries, storage and bulk copies"

    def _mixtures(self, quick: bool) -> Mixtures:
        goals = read(files("standard") / "goals.toml")
        seeds = range(1, (_QUICK if quick else _SEEDS) + 1)
        return Mixtures.of(templates.FILES / "standard.toml", goals, seeds, ["bulk"] if quick else None)

    def points(self, quick: bool) -> Sequence[Point]:
        return list(self._mixtures(quick).points())

    def table(self, designs: Designs) -> Sequence[Row]:
        return []


STUDY = Standard()
