"""Training of the compiler for a wheel with profile-guided optimisation."""

import sys
import tomllib

from conftest import REPO

sys.path.append(str(REPO / "benches"))

import golden
import train


def test_it_is_the_command_of_maturin() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["maturin"]["pgo-command"] == "python benches/train.py"


def test_a_case_runs_until_it_has_enough_hops(monkeypatch, capsys) -> None:
    path = REPO / "benches" / "fat-tree-k8-websearch.toml"
    case = ("small", path, path.read_text(encoding="utf-8"), {}, None)
    missing = ("missing", path, 'format = 1\n[topology]\nkind = "none"\n', {}, None)
    monkeypatch.setattr(golden, "written_cases", lambda: iter([case, missing]))
    monkeypatch.setattr(train, "ENOUGH", 1000)
    assert train.main() == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("left out: missing: ")
    assert int(said[1].split()[2].replace(",", "")) >= 1000
    # Without a profile the build must not go on as if it had one.
    monkeypatch.setattr(golden, "written_cases", lambda: iter([missing]))
    assert train.main() == 1


def test_the_cases_are_those_of_golden() -> None:
    names = [case[0] for case in golden.written_cases()]
    assert {"benches/fat-tree-k16-lossless", "examples/rdma-incast"} <= {*names}
    for study in ("hadoop", "pfabric", "conweave", "mptcp", "longfat", "standard"):
        assert any(name.startswith(f"{study}: ") for name in names)
    assert names == [case[0] for case in golden.all_cases(["hadoop"])]
