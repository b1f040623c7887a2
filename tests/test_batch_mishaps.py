"""Batches in which something goes wrong: classes that print, files of the user that look like
modules, points that fail late, and runs that are killed while they repeat."""

import hashlib
import json
from pathlib import Path

import pytest
from here import Here

import afflux
from afflux import settings
from afflux.batch.manifest import OUTDATED, members
from afflux.comparison.diff import diff
from afflux.results.result import Result, file_digest

TALKER = """\
import sys
import afflux

class Talker(afflux.CongestionControl):
    def on_ack(self, ack):
        print("cwnd", self.cwnd)
        sys.stderr.write("x" * 20_000 + "\\n")
        self.cwnd += 1
"""
SMALL = """\
format = 1
name = "small"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "5us"

[switch]
buffer = "60packets"
sharing = "static"

[host.transport]
stack = "basic"

[[traffic]]
kind = "pairs"
pairs = [[1, 0], [2, 0], [3, 0]]
sizes = "200kB"
"""
#: Two flows over two paths, which the seed chooses: they collide or not.
TWO_PATHS = """\
format = 1
name = "paths"

[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_rate = "10Gbps"
uplink_rate = "10Gbps"
delay = "1us"

[host.transport]
stack = "basic"

[[traffic]]
kind = "pairs"
pairs = [[0, 2], [1, 3]]
sizes = "200kB"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


class Failing(Here):
    """Simulates in this process, but some points end with an error, or end the process."""

    def __init__(self, *failing: str, ends_at: str | None = None) -> None:
        super().__init__()
        self._failing, self._ends_at = failing, ends_at

    def ended(self, patience: float):
        key, _ = self._waiting[0]
        if key == self._ends_at:
            raise SystemExit(f"killed at {key}")
        ((key, answer),) = super().ended(patience)
        if any(key.endswith(name) for name in self._failing):
            return [(key, afflux.executors.Answer(0.0, "no memory"))]
        return [(key, answer)]


def test_what_a_class_prints_reaches_no_parser(small, tmp_path):
    """100 kB on stderr filled a pipe, and a line on stdout was no JSON."""
    (tmp_path / "talker.py").write_text(TALKER)
    small.write_text(SMALL + '\n[host.python]\nfile = "talker.py"\n')
    found = afflux.sweep(small, {}, seeds=[1], out=tmp_path / "out", jobs=1)
    (row,) = found.rows
    assert (row["status"], row["error"]) == ("finished", None)
    assert row["result_hash"] == afflux.load(small).run(seed=1).summary["result_hash"]


def test_files_of_the_user_are_no_modules(small, tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text('raise SystemExit("my own json.py")\n')
    monkeypatch.chdir(tmp_path)
    found = afflux.sweep(small, {}, seeds=[1], out="out", jobs=1)
    assert [row["error"] for row in found.rows] == [None]


def test_a_killed_repeat_leaves_no_table_of_an_earlier_scenario(small, tmp_path):
    vary, out = {"switch.buffer": ["60packets", "90packets"]}, tmp_path / "out"
    found = afflux.sweep(small, vary, seeds=[1], out=out, executor=Here())
    assert [path.name for path in members(out) or []] == [
        "switch.buffer=60packets-1",
        "switch.buffer=90packets-1",
    ]
    small.write_text(SMALL.replace("10Gbps", "1Gbps"))
    with pytest.raises(SystemExit):
        afflux.sweep(
            small, vary, seeds=[1], out=out, executor=Failing(ends_at="switch.buffer=90packets-1")
        )
    assert not list(out.glob("sweep*"))
    assert [path.name for path in members(out) or []] == ["switch.buffer=60packets-1"]
    points = json.loads((out / "points/manifest.json").read_text())["points"]
    assert points["switch.buffer=90packets-1"]["error"] == OUTDATED
    again = afflux.sweep(small, vary, seeds=[1], out=out, executor=Here())
    assert again.outcome.reused == 1
    assert found.path.is_file()
    assert all(
        new["result_hash"] != old["result_hash"]
        for old, new in zip(found.rows, again.rows, strict=True)
    )


def test_means_count_each_outcome_as_often_as_it_was_drawn(tmp_path):
    path = tmp_path / "paths.toml"
    path.write_text(TWO_PATHS)
    found = afflux.sweep(path, {}, seeds=range(1, 9), out=tmp_path / "out", executor=Here())
    (one,) = found.combinations
    times = [row["fct_mean_ns"] for row in found.rows]
    # The seeds have few different outcomes, and several have the same one.
    assert 1 < len({row["result_hash"] for row in found.rows}) < 8
    assert (one.samples, one.deterministic) == (8, False)
    assert one.means["fct_mean_ns"].mean == pytest.approx(sum(times) / 8)
    (design,) = found.designs.values()
    assert design.value(afflux.metrics.named("fct_mean")).mean == pytest.approx(sum(times) / 8)


@pytest.mark.parametrize("failing", ["60packets", "90packets"])
def test_a_baseline_without_results_hides_no_table(invoke, small, failing):
    wrong = failing.replace("packets", "oops")
    done = invoke(
        "sweep",
        small,
        "--vary",
        f"switch.buffer={','.join(wrong if name == failing else name for name in ('60packets', '90packets'))}",
        "--baseline",
        f"switch.buffer={wrong if failing == '60packets' else '60packets'}",
    )
    assert done.exit_code == 1
    assert "FCT mean" in done.stdout, done.stdout
    assert f"switch.buffer={wrong}-1: " in done.stderr
    assert "nothing is compared, because points failed" in done.stderr


def test_a_search_in_which_no_setting_is_valid_is_refused(small, tmp_path):
    pytest.importorskip("optuna", reason="needs the Python package optuna")
    with pytest.raises(afflux.ScenarioError, match="bufer"):
        afflux.tune(
            small,
            {"switch.bufer": "9packets..90packets"},
            "fct_mean",
            budget=2,
            seeds=[1],
            out=tmp_path / "out",
            executor=Here(),
        )
    assert not (tmp_path / "out").exists()


def test_points_that_fail_after_the_search_are_told(small, tmp_path):
    pytest.importorskip("optuna", reason="needs the Python package optuna")

    def tuned(*failing: str) -> afflux.Tuning:
        return afflux.tune(
            small,
            {"switch.buffer": "9packets..90packets"},
            "fct_mean",
            budget=2,
            seeds=[1],
            sensitivity=False,
            out=tmp_path / f"out{len(failing)}",
            executor=Failing(*failing),
        )

    found = tuned("as-it-is-3")
    assert found.chosen.changes
    assert "it could not be compared with other seeds." in found.sentence()
    assert "as-it-is-3: no memory" in map(str, found.doubts)
    with pytest.raises(afflux.RunError, match="further seeds: no memory"):
        tuned("-2", "-3")


def test_settings_are_not_dropped(invoke, small):
    for arguments, words in (
        (
            ("run", "--set", "switch.buffer=1MB", "--set", "switch.buffer=2MB"),
            "--set switch.buffer is given twice",
        ),
        (
            ("run", "--set", "traffic.0.bytes=1MB", "--set", "traffic[0].bytes=2MB"),
            "--set traffic[0].bytes is given twice",
        ),
        (
            ("sweep", "--set", "switch.buffer=1MB", "--vary", "switch.buffer=2MB,3MB"),
            "switch.buffer is set and varied",
        ),
        (
            ("sweep", "--set", "traffic[0].bytes=1kB", "--vary", "traffic.0.bytes=2kB,3kB"),
            "traffic[0].bytes is set and varied",
        ),
        (
            ("sweep", "--set", "switch.buffer=1MB", "--vary", 'switch={buffer="2MB"},{}'),
            "switch.buffer has no effect, because each value of switch replaces the whole table",
        ),
        (
            ("run", "--set", "switch.buffer=1MB", "--set", 'switch."buffer"=2MB'),
            '--set switch."buffer" is given twice',
        ),
        (
            ("run", "--set", "switch.buffer=1MB", "--set", 'switch={buffer="2MB"}'),
            "--set switch.buffer has no effect, because --set switch replaces the whole table",
        ),
        (("run", "--set", "run.seed=5", "--seed", "2"), "name two seeds"),
        (
            ("sweep", "--vary", "run.threads=1,2"),
            "run.threads cannot be varied: points run side by",
        ),
        (("sweep", "--vary", '"name"=a,b'), '"name" cannot be varied: the points are named after'),
        (
            ("tune", "--vary", "run.threads=1..2", "--objective", "fct"),
            "run.threads cannot be varied",
        ),
        (("tune", "--vary", "name=a,b", "--objective", "fct"), "name cannot be varied"),
        (("sweep", "--vary", "description=2020-01-01,b", "--set", "switch.bufer=1"), "bufer"),
    ):
        done = invoke(arguments[0], small, *arguments[1:])
        assert done.exit_code == 2, done.stdout
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    assert settings.value("2020-01-01") == "2020-01-01"
    done = invoke("sweep", small, "--set", "run.threads=4", "--seeds", "1")
    assert "run.threads has no effect here" in done.stdout + done.stderr


def test_times_on_the_wall_are_no_difference_between_kernels(small, tmp_path):
    results = []
    for name, wall, status in (("a", 1.0, 0), ("b", 2.0, 0), ("c", 1.0, 1)):
        place = tmp_path / name
        afflux.load(small).run(out=place, seed=1)
        report = {"failure": None, "hosts": [{"host": "host0", "wall_s": wall, "status": status}]}
        _add(place, "kernels.json", json.dumps(report))
        results.append(place)
    assert diff(results[0], results[1]).same
    assert not diff(results[0], results[2]).same


def test_the_failure_of_a_kernel_is_read_and_told(small, tmp_path):
    for seed in (1, 2):
        afflux.load(small).run(out=tmp_path / str(seed), seed=seed)
    _add(
        tmp_path / "1",
        "kernels.json",
        json.dumps({"failure": "host0: `false` ended with 1", "hosts": []}),
    )
    assert Result.open(tmp_path / "1").kernel_failure == "host0: `false` ended with 1"
    assert Result.open(tmp_path / "2").kernel_failure is None
    designs = afflux.results.designs.gather([tmp_path / "1", tmp_path / "2"])
    (note,) = [str(note) for note in designs.notes]
    assert note.startswith("small, seed 1: a kernel among the hosts failed (host0: `false`")


def _add(result: Path, name: str, text: str) -> None:
    """Adds a file to a result, with its digest."""
    (result / name).write_text(text)
    summary = json.loads((result / "summary.json").read_text())
    summary["digests"][name] = file_digest(result / name)
    # The digest of the summary is computed with an empty one in its place.
    empty = json.dumps(summary | {"summary_digest": ""})
    digest = hashlib.sha256(empty.encode()).hexdigest()
    written = empty.replace('"summary_digest": ""', f'"summary_digest": "{digest}"')
    (result / "summary.json").write_text(written)
