"""`docs/generator/new.py` adds a model: its file, the lines that register it, and its row in
docs/scenario.md."""

import re
import shutil
from pathlib import Path

import pytest
from conftest import REPO

from docs.generator import new


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Returns a copy of the files that the script reads."""
    folders = [kind.folder for kind in new.KINDS.values()]
    for file in [new.SCENARIO, *(f / name for f in folders for name in ("mod.rs", "template.rs"))]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPO / file, tmp_path / file)
    return tmp_path


#: Declaration of a new model's parameters, by kind. A rule of marking has none.
KEYS = dict.fromkeys(new.KINDS, 'pub struct Keys as "NewRule" => NewRuleConfig') | {
    "marking": "pub struct NewRule;",
    "memory": 'pub struct NewRuleKeys as "NewRuleMmu" => NewRuleRules',
}
#: Types in the line of the registry.
TYPES = dict.fromkeys(new.KINDS, "(NewRuleConfig)") | {
    "congestion-control": "(NewRuleConfig): NewRule(new_rule::NewRule)",
    "marking": "",
    "memory": "(NewRuleKeys, NewRuleRules)",
}


@pytest.mark.parametrize("kind", new.KINDS)
def test_a_model_is_one_file_two_lines_and_a_row(kind: str, checkout: Path):
    before = {file: (REPO / file).read_text().splitlines() for file in _kept(kind)}
    assert new.add(checkout, kind, "new_rule", "A rule (Author, 2026).") == [
        new.KINDS[kind].folder / "new_rule.rs",
        *before,
    ]
    code = (checkout / new.KINDS[kind].folder / "new_rule.rs").read_text()
    assert code.startswith("//! A rule (Author, 2026).\n\nuse super::")
    assert KEYS[kind] in code
    assert kind == "marking" or 'name: "new_rule"' in code
    assert not re.search("template|Template", code)
    added = [
        line
        for file, lines in before.items()
        for line in (checkout / file).read_text().splitlines()
        if line not in lines
    ]
    assert [line.strip() for line in added[:3]] == [
        f"{new.KINDS[kind].module} new_rule;",
        "/// A rule (Author, 2026).",
        f"new_rule NewRule{TYPES[kind]};",
    ]
    assert len(added) == 4
    assert "new_rule" in added[3]


def _kept(kind: str) -> list[Path]:
    return [new.KINDS[kind].folder / "mod.rs", new.SCENARIO]


def test_the_line_is_the_last_of_the_registry_and_modules_stay_in_order(checkout: Path):
    new.add(checkout, "balancer", "drum", "A rule (Author, 2026).")
    text = (checkout / new.KINDS["balancer"].folder / "mod.rs").read_text()
    assert "mod drill;\nmod drum;\nmod ecmp;\n" in text
    listed = text[text.index("macro_rules! balancers") :]
    assert re.search(r"drum Drum\(DrumConfig\);\n {8}\}\n", listed)


@pytest.mark.parametrize(
    ("name", "description", "message"),
    [
        ("Drum", "A rule.", "write lower-case letters"),
        ("loop", "A rule.", "write lower-case letters"),
        ("drum", "A rule", "write a sentence that ends with a period"),
        ("template", "A rule.", "template.rs exists: choose another name"),
    ],
)
def test_what_cannot_be_added_changes_nothing(
    checkout: Path, name: str, description: str, message: str
):
    before = {file: file.read_bytes() for file in checkout.rglob("*") if file.is_file()}
    with pytest.raises(new.Refused, match=message):
        new.add(checkout, "aqm", name, description)
    assert before == {file: file.read_bytes() for file in checkout.rglob("*") if file.is_file()}
