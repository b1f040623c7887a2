"""Results that other versions of afflux have written."""

import itertools
import json

from made import summary

import afflux
from afflux.results.designs import gather


def written(tmp_path, name: str, seed: int, **numbers):
    place = tmp_path / f"{name}-{seed}"
    place.mkdir()
    (place / "summary.json").write_text(
        json.dumps(summary(name, seed, **numbers)), encoding="utf-8"
    )
    return place


def test_results_of_several_versions_are_refused(invoke, tmp_path):
    for name, seed, version in itertools.product("ab", (1, 2, 3), ("0.0.9",)):
        written(
            tmp_path,
            name,
            seed,
            fct=10.0 + seed,
            version=version if name == "a" else afflux.__version__,
        )
    for command in (
        ("compare", "a-1", "a-2", "b-1", "b-2"),
        ("report", "a-1", "a-2", "b-1", "b-2", "-o", "page.html"),
    ):
        done = invoke(*command)
        assert done.exit_code == 2
        # Each result without digests causes a note.
        note, line = done.stderr.splitlines()
        assert "no digests" in note
        assert line == (
            f"error: results of different versions of afflux cannot be compared (0.0.9: a-1, a-2; {afflux.__version__}: b-1, b-2): "
            "simulate again with this version: afflux run DIR/scenario.toml -o DIR --force"
        )
    assert not (tmp_path / "page.html").exists()


def test_results_of_another_version_are_named(invoke, tmp_path):
    for name, seed in itertools.product("ab", (1, 2, 3)):
        written(tmp_path, name, seed, fct=10.0 + seed + ord(name), version="0.0.9")
    done = invoke("compare", *(f"{name}-{seed}" for name in "ab" for seed in (1, 2, 3)))
    assert done.exit_code == 0, done.output
    assert f"note: made by afflux 0.0.9, read by {afflux.__version__}" in " ".join(
        done.output.split()
    )
    assert "a-1, a-2, a-3 and 3 more" in " ".join(done.output.split())


def test_a_summary_of_another_make_is_refused(invoke, tmp_path):
    written(tmp_path, "a", 1)
    place = written(tmp_path, "b", 1)
    old = json.loads((place / "summary.json").read_text()) | {"afflux_version": "0.0.1"}
    del old["fct"]
    (place / "summary.json").write_text(json.dumps(old))
    done = invoke("compare", "a-1", "b-1")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith(
        f"error: b-1: summary.json has no 'fct' (made by afflux 0.0.1, this is {afflux.__version__}): simulate again"
    )


def test_results_in_memory_are_of_this_version():
    numbers = summary("a", 1)
    del numbers["afflux_version"]
    assert gather([afflux.Result(numbers, None, [], lambda name: None)]).notes == ()
