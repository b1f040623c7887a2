"""Digests: data read from a result is as it was written, or is refused. `afflux verify` checks all
of it."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import INCAST

import afflux
from afflux import batch

POINTS = 2


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """Creates a result and a sweep, once for all tests."""
    place = tmp_path_factory.mktemp("written")
    (place / "small.toml").write_text(INCAST)
    afflux.load(place / "small.toml").run(out=place / "result")
    afflux.sweep(place / "small.toml", {"traffic.0.senders": [2, 4]}, out=place / "sweep")
    return place


@pytest.fixture
def place(written, tmp_path, monkeypatch) -> Path:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def flip(path: Path) -> None:
    """Flips one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_all_good(place, invoke):
    done = invoke("verify", "result", "sweep")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.count("good") == 2
    result, sweep = json.loads(invoke("verify", "result", "sweep/points", "--json").stdout)
    files = len(list((place / "result").iterdir()))
    size = sum(file.stat().st_size for file in (place / "result").iterdir())
    assert result == {
        "dir": "result",
        "kind": "result",
        "good": True,
        "results": 1,
        "files": files,
        "bytes": size,
        "problems": [],
        "notes": [],
    }
    assert (sweep["kind"], sweep["good"], sweep["results"], sweep["files"]) == (
        "points",
        True,
        POINTS,
        POINTS * files,
    )


@pytest.mark.parametrize(
    "name",
    [
        "flows.parquet",
        "jobs.parquet",
        "links.parquet",
        "paths.parquet",
        "ports.parquet",
        "scenario.toml",
        "summary.json",
    ],
)
def test_every_bit_counts(name, place, invoke):
    flip(place / "result" / name)
    done = invoke("verify", "result")
    assert done.exit_code == 1
    assert "not good" in done.stdout
    assert f"error: result/{name}" in done.stderr
    assert "restore it, or simulate again" in done.stderr
    (found,) = json.loads(invoke("verify", "result", "--json").stdout)
    assert len(found["problems"]) == 1


def test_the_command_that_simulates_again_takes_blanks(place, invoke):
    (place / "result").rename(place / "my result")
    flip(place / "my result" / "flows.parquet")
    done = invoke("explain", "my result")
    assert "(afflux run 'my result/scenario.toml' -o 'my result-again')" in done.stderr


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("flows.parquet", ["explain", "result"]),
        ("ports.parquet", ["explain", "result"]),
        ("flows.parquet", ["report", "result", "-o", "page.html"]),
        ("ports.parquet", ["report", "result", "-o", "page.html"]),
        ("scenario.toml", ["report", "result", "-o", "page.html"]),
        ("summary.json", ["compare", "result", "sweep/points/traffic.0.senders=2-1"]),
        ("flows.parquet", ["export", "hpcc-flows", "result"]),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_is_read_is_checked(name, command, place, invoke):
    flip(place / "result" / name)
    done = invoke(*command)
    assert done.exit_code == 1, done.output
    assert f"error: result/{name} is not as it was written" in done.stderr.replace(
        "cannot be read", "is not as it was written"
    )
    assert not (place / "page.html").exists()
    if name.endswith("parquet"):
        assert "afflux run result/scenario.toml -o result-again" in done.stderr
        # The changed file may belong to the user, so `--force` does not replace it.
        assert invoke("run", "result/scenario.toml", "-o", "result", "--force").exit_code == 2
        assert invoke("run", "result/scenario.toml", "-o", "result-again").exit_code == 0
        assert invoke("verify", "result-again").exit_code == 0


def test_scenarios_that_differ_are_told_from_digested_text(place):
    afflux.load("small.toml").run(seed=2, out="other")
    assert afflux.Designs
    flip(place / "other" / "scenario.toml")
    with pytest.raises(afflux.DamagedResult, match=r"other/scenario\.toml"):
        batch.designs.gather(["result", "other"])


def test_missing_and_further_files(place, invoke):
    (place / "result" / "links.parquet").unlink()
    (place / "result" / "notes.txt").touch()
    done = invoke("verify", "result")
    assert done.exit_code == 1
    assert "error: result/links.parquet is missing: restore it, or simulate again" in done.stderr
    assert "note: result/notes.txt is not part of the result" in done.stdout
    with pytest.raises(afflux.DamagedResult, match="is missing"):
        afflux.Result.open("result").links  # noqa: B018
    # Missing files that a command does not need are not reported.
    assert invoke("explain", "result", "--slowest", "1").exit_code == 0


def test_results_without_digests_are_named(place, invoke):
    path = place / "result" / "summary.json"
    summary = {
        key: value
        for key, value in json.loads(path.read_text()).items()
        if key not in ("digests", "summary_digest")
    }
    path.write_text(json.dumps(summary))
    done = invoke("verify", "result")
    assert done.exit_code == 1
    assert "error: result has no digests (written by an older version)" in done.stderr
    done = invoke("explain", "result")
    assert done.exit_code == 0
    assert (
        done.stderr
        == "note: result has no digests (written by an older version): its files were not checked\n"
    )
    with pytest.warns(afflux.UncheckedResult):
        assert len(afflux.Result.open("result").flows) == 24


def test_a_sweep_with_damage(place, invoke):
    points = place / "sweep" / "points"
    flip(points / "traffic.0.senders=2-1" / "flows.parquet")
    (points / ".x-1.partial-12ab").mkdir()
    (points / "mine").mkdir()
    done = invoke("verify", "sweep")
    assert done.exit_code == 1
    assert "senders=2-1/flows.parquet is not as it was written" in done.stderr
    assert ".x-1.partial-12ab was left by a process that was killed" in done.stdout
    assert "sweep/points/mine is not in manifest.json" in done.stdout
    # The result differs from the one in the manifest.
    shutil.rmtree(points / "traffic.0.senders=4-1")
    shutil.copytree(place / "result", points / "traffic.0.senders=4-1")
    assert "is not the result that manifest.json names" in invoke("verify", "sweep").stderr
    # Both are simulated again, and the damaged one is named.
    outcome = afflux.sweep("small.toml", {"traffic.0.senders": [2, 4]}, out="sweep").outcome
    assert outcome.reused == 0
    assert [note.partition(" (")[0] for note in outcome.notes] == [
        "traffic.0.senders=2-1 was simulated again: sweep/points/traffic.0.senders=2-1/flows.parquet is not as it was written"
    ]
    (points / "mine").rmdir()
    assert invoke("verify", "sweep").exit_code == 0


def test_what_is_no_directory_of_results(place, invoke):
    for name, words in [
        ("nothing", "does not exist"),
        ("small.toml", "is not a directory"),
        (".", "has neither summary.json nor points/manifest.json"),
    ]:
        done = invoke("verify", name)
        assert (done.exit_code, words in done.stderr) == (2, True), done.output
