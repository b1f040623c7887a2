"""Notes beside the misses of `make validate`, their evidence, and the product without references."""

import ast
import re
from pathlib import Path

import pytest
from conftest import REPO

from validation import ns3, page, run
from validation.bars import Bar
from validation.case import Case, number, read_csv

NOTE = """\
[[note]]
reference = "s.*"
run = "r"
metric = "m"
hypotheses = ["one: no", "two: no", "three: perhaps"]
numbers = "theirs 1, ours 2"
command = "make validate ONLY=s.f/r"
evidence = [{ file = "kept.csv", shows = "twenty seeds" }]
not_kept = "the second line"
"""


def test_notes_stand_beside_the_misses(tmp_path: Path):
    path = tmp_path / "notes.toml"
    assert page.read_notes(path) == []
    path.write_text(NOTE)
    with pytest.raises(page.NotesError, match=r"kept\.csv is not in"):
        page.read_notes(path, tmp_path)
    (tmp_path / "kept.csv").write_text("run\n")
    case = Case("s.f", "r", {"m": 1.0}, {"m": Bar(rel=0.1)})
    text = page.page([run.row(case, "m", [2.0])], page.read_notes(path, tmp_path), "a minute")
    kept = ("- `validation/evidence/kept.csv`: twenty seeds", "Not kept: the second line")
    for part in (
        "## Outside the bar: 1",
        "two: no",
        *kept,
        "theirs 1, ours 2",
        "    make validate ONLY=s.f/r",
        "| `r` | m | 1 | 2 | 2 | ±10 % |",
    ):
        assert part in text
    text = page.page([run.row(case, "m", [1.0])], page.read_notes(path, tmp_path), "a minute")
    assert "within the bar by now" in text
    path.write_text(NOTE.replace(', "three: perhaps"', ""))
    with pytest.raises(page.NotesError, match="three"):
        page.read_notes(path, tmp_path)
    path.write_text(NOTE.replace('[{ file = "kept.csv", shows = "twenty seeds" }]', "[]"))
    with pytest.raises(page.NotesError, match="evidence"):
        page.read_notes(path, tmp_path)


def outside(text: str) -> list[tuple[str, str, str]]:
    """Returns set.file, run and metric of the rows of `docs/validation.md` that are outside their
    tolerance."""
    section = text.split("## Outside the bar: ")[1]
    count, rest = section.split("\n", 1)
    rows, reference = [], ""
    for line in rest.split("\n## ")[0].splitlines():
        if line.startswith("### "):
            reference = line.removeprefix("### ")
        elif found := re.match(r"\| `(.+?)` \| (\w+) \|", line):
            rows.append((reference, found[1], found[2]))
    assert len(rows) == int(count)
    return rows


def test_each_miss_has_a_note_whose_evidence_is_kept():
    """The evidence files concern the same run and contain its metric."""
    notes = page.read_notes(run.NOTES)
    rows = outside((REPO / "docs/validation.md").read_text())
    assert rows
    for reference, run_, metric in rows:
        about = [
            note
            for note in notes
            if note.about({"reference": reference, "run": run_, "metric": metric})
        ]
        assert about, f"{reference}/{run_} {metric} has no note"
        held: set[tuple[str, str]] = set()
        for name, _ in (one for note in about for one in note.evidence):
            if name.endswith(".csv"):
                rows_ = read_csv(
                    page.EVIDENCE / name,
                    ("run", "setting", "metric", "theirs", "repetition", "ours"),
                )
                held |= {
                    (row["run"].partition(",")[0], row["metric"])
                    for row in rows_
                    if number(row, "ours") >= 0
                }
        # The collapse point of a series follows from its run with sixteen senders.
        needed = (
            (f"{reference}/c_{run_}_n16", "goodput_mbps")
            if metric == "collapse_N"
            else (f"{reference}/{run_.partition(',')[0]}", metric)
        )
        assert needed in held, f"{reference}/{run_} {metric}: its evidence has no such run"
    # Every evidence file is referenced, or is a script that the README names.
    readme = (page.EVIDENCE / "README.md").read_text()
    used = {name for note in notes for name, _ in note.evidence}
    for path in page.EVIDENCE.iterdir():
        if path.suffix in (".csv", ".py") and path.name != "__init__.py":
            assert path.name in readme or path.name in used, f"{path.name} is evidence of nothing"


def test_the_product_knows_no_reference():
    files = [
        path
        for folder in ("crates", "python/afflux")
        for path in (REPO / folder).rglob("*")
        if path.suffix in {".rs", ".py", ".toml"}
    ]
    assert len(files) > 100
    names = {name for name in ns3.SETS if name not in {"dc", "window"}}
    names |= {
        "a1_window",
        "a2_parallel",
        "a3_cc_loss",
        "a5_ssthresh",
        "b_datacentre",
        "c_incast",
        "d_mptcp",
        "e_stall",
        "half2_mbps",
        "q_mean_B",
    }
    names |= {"shared/reference", "bars.toml", "validate.json", "afflux-validation"}
    forbidden = re.compile("|".join(map(re.escape, sorted(names))))
    for path in files:
        if "tests" in path.parts or path.stem.endswith("tests"):
            continue
        # Code behind this marker is a test, which may read reference data.
        text = path.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        assert not forbidden.search(text), path
        if path.suffix == ".py":
            nodes = list(ast.walk(ast.parse(text)))
            modules = [
                alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
            ]
            modules += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
            assert not [name for name in modules if name.split(".")[0] == "validation"], path
