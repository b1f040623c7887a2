"""Checks that the worked example of docs/concepts/time-split.md shows the numbers that afflux
computes."""

import re
from pathlib import Path

import afflux

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_worked_example_of_the_split(tmp_path: Path) -> None:
    section = (
        (DOCS / "concepts/time-split.md")
        .read_text()
        .split("## A worked example")[1]
        .split("\n## ")[0]
    )
    blocks = dict(re.findall(r"```(toml|csv)\n(.*?)```", section, re.S))
    (tmp_path / "example.toml").write_text(blocks["toml"])
    (tmp_path / "flows.csv").write_text(blocks["csv"])
    table = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    header, rows = table[0], table[2:]
    assert len(rows) == 4
    flows = afflux.load(tmp_path / "example.toml").run().flows
    for row in rows:
        index = flows.column("id").index(int(row[0]))
        for name, value in list(zip(header, row, strict=True))[1:]:
            assert flows.column(name)[index] == int(value), f"flow {row[0]}: {name}"
        assert sum(int(cell) for cell in row[2:]) == int(row[1])
