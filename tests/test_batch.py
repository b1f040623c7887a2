"""Batches of simulations and the studies based on them: each point is simulated once, whatever
interrupts the batch."""

import csv
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import INCAST, REPO
from tiny_study import Tiny

import afflux
from afflux import batch, studies, worker
from afflux.batch import Point, verification
from afflux.studies import Study, pfabric
from afflux.studies.pfabric import schemes
from afflux.studies.pfabric.measure import idle_ns
from afflux.studies.study import here
from fuzz import kills

#: Seconds after which an expected event counts as missing.
PATIENCE = 120


@pytest.fixture
def small(tmp_path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(INCAST)
    return path


class Told(batch.Silent):
    def __init__(self) -> None:
        self.done: list[str] = []

    def finished(self, point: str, seconds: float, error: str | None) -> None:
        self.done.append(point)


def run(small: Path, out: Path, seeds=(1, 2), **keys) -> tuple[batch.Outcome, list[str]]:
    told = Told()
    outcome = batch.run([Point("small", small, keys, seed) for seed in seeds], out, watch=told)
    return outcome, sorted(told.done)


def test_points_are_what_run_gives(small, tmp_path):
    outcome, done = run(small, tmp_path / "batch", **{"switch.buffer": "9packets"})
    assert done == ["small-1", "small-2"]
    alone = afflux.load(small).set("switch.buffer", "9packets").run(seed=2)
    assert outcome.results["small", 2].summary["result_hash"] == alone.summary["result_hash"]
    assert outcome.designs["small"].seeds == [1, 2]
    assert outcome.failures == ()


def test_a_worker_believes_what_it_is_told_of_its_own_file_alone(monkeypatch):
    """A worker accepts the digest that its parent passes only for its own file, because the
    simulator may have been rebuilt since the parent started."""
    file, build = worker.known()
    known = worker.known.__wrapped__
    for told, believed in (
        (f"{file}0123", "0123"),
        (f"elsewhere/{file}0123", build),
        (f"{file.rpartition(':')[0]}1:0123", build),
    ):
        monkeypatch.setenv("AFFLUX_BUILD", told)
        assert known() == (file, believed)


def test_each_point_is_run_once_and_again_when_it_changes(small, tmp_path):
    out = tmp_path / "batch"
    assert run(small, out)[1] == ["small-1", "small-2"]
    outcome, done = run(small, out, seeds=(1, 2, 3))
    assert (outcome.reused, done) == (2, ["small-3"])
    assert run(small, out, **{"switch.buffer": "9packets"})[1] == ["small-1", "small-2"]
    # Settings of records change no result, but they change the content of the directory.
    small.write_text(INCAST.replace("paths = true", "paths = false"))
    assert run(small, out, seeds=(3,))[1] == ["small-3"]
    # A missing or different result is simulated again.
    (out / "small-3" / "summary.json").unlink()
    (out / "small-3" / "scenario.toml").unlink()
    for rest in (out / "small-3").iterdir():
        rest.unlink()
    assert run(small, out, seeds=(3,))[1] == ["small-3"]
    assert batch.run([Point("small", small, seed=3)], out, fresh=True).reused == 0


@pytest.mark.parametrize("fresh", [False, True])
def test_a_point_without_summary_is_simulated_again(fresh, small, tmp_path):
    out = tmp_path / "batch"
    whole = run(small, out, seeds=(1,))[0].results["small", 1].summary["result_hash"]
    (out / "small-1" / "summary.json").unlink()
    (out / "small-1" / "leaf0-spine1.pcapng").touch()
    outcome = batch.run([Point("small", small, seed=1)], out, fresh=fresh)
    assert (outcome.reused, outcome.failures) == (0, ())
    assert outcome.notes == (f"small-1 was simulated again: {out}/small-1 has no summary.json",)
    assert outcome.results["small", 1].summary["result_hash"] == whole
    assert not (out / "small-1" / "leaf0-spine1.pcapng").exists()


def test_own_files_in_a_point_without_summary_stay(small, tmp_path):
    """The point fails with a cure. Its manifest entry is then that of a failed point, and the point
    is simulated again once the file is moved."""
    out = tmp_path / "batch"
    run(small, out, seeds=(1,))
    (out / "small-1" / "summary.json").unlink()
    (out / "small-1" / "thesis.tex").write_text("mine")
    before = sorted((out / "small-1").iterdir())
    outcome, _ = run(small, out)
    (failure,) = outcome.failures
    assert failure.point == "small-1"
    assert "it has no summary.json): move your own files, remove it, and run" in failure.error
    assert (sorted((out / "small-1").iterdir()), outcome.notes) == (before, ())
    assert list(outcome.results) == [("small", 2)]
    (out / "small-1" / "thesis.tex").unlink()
    assert run(small, out)[0].failures == ()


def test_a_directory_that_the_manifest_does_not_list_is_not_cleared(small, tmp_path):
    out = tmp_path / "batch"
    run(small, out, seeds=(1,))
    (out / "small-2").mkdir()
    (out / "small-2" / "flows.parquet").write_text("mine")
    (failure,) = run(small, out)[0].failures
    assert "small-2 is not a result that afflux may replace" in failure.error
    assert (out / "small-2" / "flows.parquet").read_text() == "mine"


def spoil(point: Path, how: str) -> None:
    """Replaces a point, or a file in it, by something that is neither a result nor missing."""
    if how in ("summary.json", "flows.parquet"):
        (point / how).unlink()
        (point / how).mkdir()
        return
    shutil.rmtree(point)
    if how == "file":
        point.touch()
    else:
        point.symlink_to(point.name if how == "loop" else "nowhere")


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("summary.json", "may replace (it has no summary.json)"),
        ("flows.parquet", "holds files that are not part of its result (flows.parquet)"),
        ("loop", "small-1 is not a directory: remove"),
        ("dangling", "small-1 is not a directory: remove"),
        ("file", "small-1 is not a directory: remove"),
    ],
)
def test_damage_of_one_point_stops_no_other(how, found, small, tmp_path):
    out = tmp_path / "batch"
    run(small, out)
    spoil(out / "small-1", how)
    checked = verification.verify(out)
    assert (checked.results, len(checked.problems)) == (2, 1)
    assert "small-1" in checked.problems[0]
    outcome, done = run(small, out, seeds=(1, 2, 3))
    assert (outcome.reused, done, outcome.notes) == (1, ["small-1", "small-3"], ())
    (failure,) = outcome.failures
    assert failure.point == "small-1"
    assert found in failure.error
    assert sorted(outcome.results) == [("small", 2), ("small", 3)]
    # The cure that the message names works.
    place = out / "small-1"
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    assert run(small, out)[0].failures == ()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"result_hash": None}, "it has no points.small-1.result_hash"),
        ({"status": None}, "it has no points.small-1.status"),
        ({"status": "failed"}, "it has no points.small-1.error"),
        ({"status": "done"}, 'status is \'done\', expected "finished" or "failed"'),
        ({"result_hash": 5}, "points.small-1.result_hash is 5, expected text"),
        ({"digest": []}, "points.small-1.digest is a list, expected text"),
        ({"set": "none"}, "points.small-1.set is 'none', expected an object"),
        ({"seed": "one"}, "points.small-1.seed is 'one', expected a whole number"),
        ({"build": ["x"]}, "points.small-1.build is a list"),
        ({"wall_s": "long"}, "points.small-1.wall_s is 'long'"),
    ],
)
def test_wrong_keys_of_a_manifest_are_named(change, found, small, tmp_path):
    """`None` removes the key. `verify` and the batch refuse the manifest alike."""
    out = tmp_path / "batch"
    out.mkdir()
    point = POINT | change
    point = {key: value for key, value in point.items() if value is not None}
    (out / "manifest.json").write_text(json.dumps({"format": 1, "points": {"small-1": point}}))
    with pytest.raises(afflux.DamagedResult) as refused:
        run(small, out, seeds=(1,))
    assert "manifest.json: not as afflux writes it: " in str(refused.value)
    assert "or remove " in str(refused.value)
    assert found in str(refused.value)
    assert verification.verify(out).problems == [str(refused.value)]


#: Entry of a finished point in a manifest.
POINT = {
    "scenario": "small.toml",
    "set": {},
    "seed": 1,
    "scenario_hash": "0",
    "digest": "0",
    "afflux_version": "0.0",
    "build": "0.0",
    "status": "finished",
    "wall_s": 0.1,
    "result_hash": "0",
    "peak_rss_bytes": 1,
    "packet_hops": 1,
}


def test_a_failed_point_stops_no_other_and_is_tried_again(small, tmp_path):
    out = tmp_path / "batch"
    (out / "small-1").mkdir(parents=True)
    (out / "small-1" / "in the way").touch()
    (out / "manifest.json").write_text('{"format": 1, "points": {}}')
    outcome, done = run(small, out)
    assert done == ["small-1", "small-2"]
    assert [failure.point for failure in outcome.failures] == ["small-1"]
    assert "small-1" in outcome.failures[0].error
    assert list(outcome.results) == [("small", 2)]
    (out / "small-1" / "in the way").unlink()
    outcome, done = run(small, out)
    assert (done, outcome.failures, outcome.reused) == (["small-1"], (), 1)


def test_a_wrong_point_is_found_before_anything_runs(small, tmp_path):
    points = [Point("good", small, seed=1), Point("bad", small, {"switch.bufer": "9MB"}, seed=1)]
    with pytest.raises(afflux.ScenarioError, match="bufer"):
        batch.run(points, tmp_path / "batch")
    assert not (tmp_path / "batch").exists()
    with pytest.raises(ValueError, match="two points"):
        batch.run(
            [Point("good", small, seed=1), Point("good", small, {"switch.buffer": "9MB"}, seed=1)],
            tmp_path / "batch",
        )


def test_directories_of_others_are_left_alone(small, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(ValueError, match=r"no manifest\.json"):
        run(small, tmp_path / "mine")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    with pytest.raises(ValueError, match="not as afflux writes it"):
        run(small, tmp_path / "broken")


# Each point sleeps for half a second: when the first one ends, another one is running.
ROUNDS = 15


@pytest.fixture
def sleeping(tmp_path) -> Path:
    (tmp_path / "sleeper.py").write_text(kills.SLEEPER)
    path = tmp_path / "sleeping.toml"
    path.write_text(INCAST + '[host.python]\nfile = "sleeper.py"\n')
    return path


def start(small: Path, out: Path, rounds: int) -> subprocess.Popen:
    program = [
        sys.executable,
        str(REPO / "tests" / "tiny_study.py"),
        str(small),
        str(out),
        str(rounds),
    ]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(what, describe: str):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(0.01)
    raise AssertionError(f"{describe} did not come about in {PATIENCE} s")


def finished(out: Path) -> list[str]:
    manifest = out / "points" / "manifest.json"
    points = json.loads(manifest.read_text())["points"] if manifest.exists() else {}
    return sorted(key for key, entry in points.items() if entry["status"] == "finished")


def children(pid: int) -> list[int]:
    """Returns the processes that this process started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):  # it has ended meanwhile
            continue
        if parent == pid:
            found.append(int(stat.parent.name))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to find the workers")
def test_a_study_killed_in_the_middle_ends_as_an_unbroken_one(sleeping, tmp_path):
    unbroken = start(sleeping, tmp_path / "unbroken", ROUNDS)
    said, errors = unbroken.communicate(timeout=PATIENCE)
    assert said == "0 reused, 4 results\n", errors

    broken = tmp_path / "broken"
    study = start(sleeping, broken, ROUNDS)
    wait_for(lambda: finished(broken), "the first finished point")
    workers = wait_for(lambda: children(study.pid), "a running worker")
    os.kill(study.pid, signal.SIGKILL)
    study.communicate(timeout=PATIENCE)
    wait_for(lambda: not any(alive(pid) for pid in workers), "the end of the workers")
    kept = finished(broken)
    assert 0 < len(kept) < 4

    again = start(sleeping, broken, ROUNDS)
    said, errors = again.communicate(timeout=PATIENCE)
    assert said == f"{len(kept)} reused, 4 results\n", errors
    assert (broken / "study.json").read_bytes() == (
        tmp_path / "unbroken" / "study.json"
    ).read_bytes()
    assert sorted(
        path.name for path in (broken / "points").iterdir() if not path.name.startswith(".")
    ) == [
        "dctcp-1",
        "dctcp-2",
        "manifest.json",
        "tail-drop-1",
        "tail-drop-2",
    ]
    assert not list((broken / "points").glob(".*partial*"))


def test_two_at_work_in_one_directory(sleeping, tmp_path):
    out = tmp_path / "study"
    first = start(sleeping, out, 3_000)
    try:
        wait_for(
            lambda: (out / "points" / ".lock").exists() and children(first.pid), "a running worker"
        )
        with pytest.raises(batch.Busy, match="another afflux"):
            studies.carry_out(Tiny(sleeping, ROUNDS), out=out)
    finally:
        first.kill()
        first.communicate()


def test_a_study(small, tmp_path):
    out = tmp_path / "study"
    quick = studies.carry_out(Tiny(small), quick=True, out=out)
    assert [row.low for row in quick.rows] == [None, None]
    verdict = studies.carry_out(Tiny(small), out=out)
    assert verdict.outcome.reused == 2
    written = json.loads((out / "study.json").read_text())
    assert written == verdict.to_dict()
    assert set(written) == {"study", "rows", "checks"}
    assert set(written["rows"][0]) == {
        "what",
        "published",
        "role",
        "ours",
        "low",
        "high",
        "predicted",
    }
    assert [(row["published"], row["role"]) for row in written["rows"]] == [
        (1.5e6, "fitted"),
        (1.5e6, "judged"),
    ]
    assert set(written["checks"][0]) == {"name", "holds", "value", "bar"}
    times = [
        afflux.Result.open(out / "points" / f"dctcp-{seed}").summary["jobs"]["mean_ns"]
        for seed in (1, 2)
    ]
    assert written["rows"][1]["ours"] == pytest.approx(sum(times) / 2)
    page = (out / "report.html").read_text()
    assert "Marks keep the queue short." in page
    assert "calibrated" in page


def test_the_command_lists_studies_and_knows_when_there_is_none(command):
    listed = json.loads(command("study", "--json").stdout)
    assert [set(one) for one in listed] == [
        {"study", "title", "question", "answer", "duration", "parts", "points", "points_quick"}
    ] * len(listed)
    assert [one["study"] for one in listed] == [study.name for study in studies.built_in()]
    done = command("study", "nothing")
    assert done.returncode == 2
    assert "no study called 'nothing'" in done.stderr


def test_the_list_of_studies_says_what_their_pages_say():
    questions = dict(
        re.findall(
            r"^\| \[(\w+)\]\(.*?\) \| (.*) \|$", (REPO / "docs/studies.md").read_text(), re.M
        )
    )
    for study in studies.built_in():
        page = " ".join(
            (studies.files(study.name) / "README.md").read_text().replace("**", "").split()
        )
        assert study.question.lower() == questions[study.name].lower()
        assert f" Answer. {study.finding} " in page or study.finding == Study.finding, study.name
        assert f"{study.duration} on two cores" in page, study.name
        assert study.parts


@pytest.mark.parametrize("columns", [80, 100])
def test_the_list_of_studies_fits_the_terminal(invoke, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = invoke("study").stdout
    lines = shown.splitlines()
    assert max(map(len, lines)) <= columns
    assert re.fullmatch(r"study +question +answer +duration +parts", lines[0].rstrip())
    starts = [lines[0].index(word) for word in lines[0].split()]
    rows = [
        [line[start:end].strip() for start, end in itertools.pairwise([*starts, columns])]
        for line in lines[2:]
    ]
    for study in studies.built_in():
        begin = next(place for place, row in enumerate(rows) if row[0] == study.name)
        of_study = list(itertools.takewhile(any, rows[begin:]))
        said = [" ".join(cells).split() for cells in zip(*of_study, strict=True)]
        parts, duration = (
            ", ".join(part.name for part in study.parts),
            here(study.duration, len(os.sched_getaffinity(0))),
        )
        simulations = (
            f"{len(study.points(False)):,} simulations, {len(study.points(True))} with --quick"
        )
        assert said == [
            text.split()
            for text in (
                study.name,
                study.question,
                study.finding,
                duration,
                f"{parts} {simulations}",
            )
        ]


def test_files_of_studies_are_found():
    assert (studies.files(".") / "README.md").is_file()
    with pytest.raises(FileNotFoundError, match="nothing"):
        studies.files("nothing")


def test_the_pfabric_study_covers_the_figures(tmp_path):
    study = studies.find("pfabric")
    every, quick = study.points(quick=False), study.points(quick=True)
    slides = len(pfabric.SCHEMES) - len(schemes.WEB_ONLY)
    assert len(every) == len(pfabric.SEEDS) * 8 * (len(pfabric.SCHEMES) + slides)
    assert {point.name for point in quick} < {point.name for point in every}
    assert all(point in every for point in quick)
    for scheme in pfabric.SCHEMES:
        workload = "websearch" if scheme in schemes.WEB_ONLY else "datamining"
        if scheme in pfabric.QUEUES:
            schemes.write_flows(tmp_path, scheme, workload, 0.8, 1)
        assert schemes.point(scheme, workload, 0.8, 1, tmp_path).load().flows >= 20_000
    # A flow within a rack, and a flow across racks with a second segment.
    assert (idle_ns(0, 15, 1), idle_ns(0, 16, 1_461)) == (13_264, 15_880)


def test_priorities_follow_sizes(tmp_path):
    file = schemes.write_flows(tmp_path, "4 queues", "websearch", 0.3, 2)
    with file.open() as lines:
        rows = [(int(row["bytes"]), int(row["priority"])) for row in csv.DictReader(lines)]
    drawn, _ = schemes.point("pFabric", "websearch", 0.3, 2, tmp_path).load().flow_list()
    assert sorted(size for size, _ in rows) == sorted(drawn.column("bytes"))
    largest = [max(size for size, priority in rows if priority == number) for number in range(4)]
    least = [min(size for size, priority in rows if priority == number) for number in range(4)]
    assert all(largest[number + 1] < least[number] for number in range(3)), (
        "shorter flows have higher priorities"
    )
    counts = [sum(priority == number for _, priority in rows) for number in range(4)]
    # Sizes are whole segments, so many of them are equal.
    assert max(counts) - min(counts) < len(rows) / 20
