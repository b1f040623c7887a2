"""The page of the standard study against the values of its whole run, `results/values.csv`: tables
and sentences are those that the study makes from them."""

import re

import pytest

from afflux import studies
from afflux.results.designs import Designs
from afflux.studies import files
from afflux.studies.standard import measured, overview, sentences
from afflux.studies.standard.evidence import Cost, Evidence, of_values

STANDARD = files("standard")


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    mixtures = studies.find("standard")._mixtures()
    found = measured.read(mixtures.question, STANDARD / "results" / "values.csv")
    # Every point of the whole study has its seeds.
    assert {(name, seed) for name, of in found.items() for by in of.values() for seed in by} == {
        (point.name, point.seed) for point in studies.find("standard").points(False)
    }
    cost = Cost(mixtures.prices(Designs([])), mixtures.power())
    judged = of_values(mixtures, found, cost)
    assert judged is not None
    return judged


@pytest.fixture(scope="module")
def page() -> str:
    return (STANDARD / "README.md").read_text(encoding="utf-8")


def rows(page: str, first: str) -> list[list[str]]:
    """Returns the cells of the table whose first row begins with a cell, without emphasis."""
    lines = page.splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith(f"| {first} |"))
    found = []
    for line in lines[place:]:
        if not line.startswith("|"):
            break
        found.append([re.sub(r"[`*]", "", cell).strip() for cell in line.strip("|").split("|")])
    return found


def test_the_table_of_designs(evidence, page):
    designs = overview.tables(evidence)[0]
    assert rows(page, "`deep`") == [[str(cell) for cell in row] for row in designs.rows]


def test_the_table_of_fabrics(evidence, page):
    """The page names the fabrics in its own words, and adds nothing to the choices."""
    fabrics = overview.tables(evidence)[1]
    found = rows(page, "uplinks at 27 % of the host ports (3.75:1)")
    assert [row[1:] for row in found] == [[str(cell) for cell in row[1:]] for row in fabrics.rows]


def test_the_answer(evidence, page):
    said = sentences.parts(evidence)
    finding = studies.find("standard").finding
    assert str(said[sentences.CHOICE]).rstrip(".") == finding.partition("; ")[0]
    words = " ".join(page.split())
    assert finding in words.replace("**", "")
