"""Parts and assumptions of studies: everything that `afflux study NAME --list` names can be run,
and results under an assumption are stored separately."""

import json
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import INCAST
from tiny_study import Tiny

import afflux
from afflux import studies
from afflux.studies import Series, Slice, assumption, lines, named
from afflux.studies import part as parts
from afflux.studies.assumption import Assumed, Assumption
from afflux.studies.study import _under, here, place
from afflux.words import Marked, Words

NAMES = [study.name for study in studies.built_in()]
#: Keys that make a point small enough to load quickly.
SMALL = {
    "conweave": {"traffic[0].duration": "20us", "run.warmup": "0s"},
    "mptcp": {"traffic[1].duration": "1s", "run.until": "2s"},
    "pfabric": {"traffic[0].flows": 50},
    "hadoop": {},
    "longfat": {},
    "standard": {},
}
BUFFER = Assumption(
    "buffer",
    "memory of the switch",
    "30packets",
    {"10packets": {"switch.buffer": "10packets"}},
    "of the test",
    points=("tail-*",),
)


class Assuming(Tiny):
    """The study of the tests with one part and one assumption."""

    parts = (Slice("marks", "What do marks do?", has=named("dctcp")),)
    assumptions = (BUFFER,)


@pytest.fixture
def tiny(tmp_path: Path) -> Assuming:
    (tmp_path / "incast.toml").write_text(INCAST)
    return Assuming(tmp_path / "incast.toml")


# ---------------------------------------------------------------------------------------------------------------- what there is


@pytest.mark.parametrize("name", NAMES)
def test_every_point_belongs_to_a_part(name: str) -> None:
    study = studies.find(name)
    points = {point.name for point in study.points(False)}
    slices = [part for part in study.parts if isinstance(part, Slice)]
    for part in slices:
        assert any(part.has(point) for point in points), part.name
    assert not [point for point in points if not any(part.has(point) for part in slices)]
    assert len({part.name for part in study.parts}) == len(study.parts)
    for part in study.parts:
        assert re.fullmatch(r"[A-Za-z0-9-]+", part.name)
        assert part.question.endswith("?")


@pytest.mark.parametrize("name", NAMES)
def test_assumptions_change_points_and_nothing_else(name: str) -> None:
    study = studies.find(name)
    before = study.points(False)
    assert study.assumptions
    for one in study.assumptions:
        assert one.changes.keys() <= one.alternatives.keys()
        for value in one.alternatives:
            # The value becomes part of a directory's name.
            assert re.fullmatch(r"[\w.-]+", value)
            after = study.assuming([f"{one.name}={value}"]).simulated(False)
            assert [(point.name, point.seed) for point in after] == [
                (point.name, point.seed) for point in before
            ]
            changed = [point for old, point in zip(before, after, strict=True) if old != point]
            assert changed, f"{one.name}={value}"
            assert all(
                point.set[key] == wanted
                for point in changed
                for key, wanted in one.alternatives[value].items()
            )
        # Points with prepared flows read them from a results directory, so they are skipped.
        if point := next((point for point in changed if "traffic" not in point.set), None):
            replace(point, set={**point.set, **SMALL[name]}).load()


@pytest.mark.parametrize("name", NAMES)
def test_each_page_says_what_would_change_its_answer(name: str) -> None:
    page = (studies.files(name) / "README.md").read_text(encoding="utf-8")
    _, found, after = page.partition("What would change this answer")
    assert found
    words = " ".join(after.partition("\n**What")[0].split())
    for one in studies.find(name).assumptions:
        assert one.changes.keys() == one.alternatives.keys(), "every alternative is simulated"
        if one.decides and name != "hadoop":
            assert f"(`{one.name}`" in words


def test_hadoop_assumes_what_the_source_does_not_tell() -> None:
    study = studies.find("hadoop")
    assert {"honours_pause", "traffic", "connections"} <= {one.name for one in study.assumptions}
    points = study.assuming(["honours_pause=true", "connections=4"]).simulated(True)
    obeying = {point.name.split("-")[0] for point in points if point.set.get("host.honours_pause")}
    assert obeying == {"pfc", "ecn_pfc"}
    busy = [point for point in points if point.name.endswith("-traffic")]
    assert {point.set["traffic[1].connections"] for point in busy} == {4}
    assert not any(
        "traffic[1].connections" in point.set for point in points if point.name.endswith("-quiet")
    )
    # Checks that use runs with the defaults are left out.
    assert not any(
        "null model" in check.name for check in study.assuming(["connections=4"]).checks({})
    )


@pytest.mark.parametrize("name", ["hadoop", "longfat", "standard"])
def test_the_list_of_parts_fits_a_terminal(
    invoke, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    study = studies.find(name)
    shown = invoke("study", name, "--list").stdout
    assert max(map(len, shown.splitlines())) <= 80
    words = " ".join(shown.split())
    assert study.question in words
    assert study.finding in words
    first = [line.split(" ")[0] for line in shown.splitlines()]
    assert [word for word in first if word in {part.name for part in study.parts}] == [
        part.name for part in study.parts
    ]
    assert {one.name for one in study.assumptions} <= set(first)
    found = json.loads(invoke("study", name, "--list", "--json").stdout)
    assert [part["part"] for part in found["parts"]] == [part.name for part in study.parts]
    together = sum(part["points"] for part in found["parts"] if "kept" not in part)
    assert together >= found["points"]
    # Loads and conditions of the standard study both need its designs.
    assert (together > found["points"]) == (name == "standard")
    assert ("some simulations belong to several parts" in words) == (name == "standard")
    assert {one["assumption"]: one["default"] for one in found["assumptions"]} == {
        one.name: one.default for one in study.assumptions
    }


def test_durations_are_divided_by_cores() -> None:
    assert here("about 3 h", 2) == "about 3 h"
    assert here("about 3 h", 8) == "about 45 min"
    assert here("about 3 h", 1) == "about 6 h"
    assert here("about 1 min", 64) == "about 1 min"
    assert here("not measured", 8) == "not measured"


# ---------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hadoop", "10"], "there is no part of the study hadoop called '10'"),
        (["hadoop", "10"], "there are 10GB, 200GB, grid"),
        (
            ["hadoop", "--assume", "conections=4"],
            "there is no assumption of the study hadoop called 'conections' (did you mean 'connections'?)",
        ),
        (
            ["hadoop", "--assume", "connections=5"],
            "there is no value of connections called '5': there are 16, 4, 1",
        ),
        (["hadoop", "--assume", "connections"], "expected NAME=VALUE, as in honours_pause=true"),
        (
            ["hadoop", "--assume", "connections=4", "--assume", "connections=1"],
            "connections is named twice",
        ),
        (["hadoop", "cross-validation", "--assume", "connections=4"], "has no --assume"),
        (["conweave", "tables", "--watch"], "has no --watch"),
        (["conweave", "tables", "--address", "tcp://head:8786"], "has no --address"),
        (["conweave", "fat-tree", "--quick"], "no point of fat-tree is in the quick part"),
        (["--assume", "connections=4"], "--assume needs the name of a study"),
        (["--quick"], "--quick needs the name of a study"),
        (
            ["hadoop", "--assume", "qdisc=red", "--list"],
            "--list runs nothing, so --assume has no effect: leave it out",
        ),
        (["hadoop", "--list", "--quick"], "so --quick has no effect"),
        (["hadoop", "10GB", "--list"], "so PART has no effect"),
    ],
)
def test_what_does_not_exist_is_refused(
    invoke, tmp_path: Path, words: list[str], said: str
) -> None:
    done = invoke("study", *words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())
    assert not list(tmp_path.glob("out/*/points/*"))


# ---------------------------------------------------------------------------------------------------------------- runs


def test_results_under_an_assumption_are_apart(tiny: Assuming, tmp_path: Path) -> None:
    default = studies.carry_out(tiny, quick=True, out=tmp_path / "out")
    other = tiny.assuming(["buffer=10packets"])
    found = studies.carry_out(other, quick=True, out=tmp_path / "out")
    assert default.outcome.dir == tmp_path / "out" / "points"
    assert found.outcome.dir == tmp_path / "out" / "buffer=10packets" / "points"
    assert found.outcome.reused == 0
    assert found.rows[0].ours != default.rows[0].ours
    # Only the points that match the assumption's pattern change.
    assert found.rows[1].ours == default.rows[1].ours
    assert (
        found.answer
        == "Assuming buffer = 10packets (default: 30packets): Marks keep the queue short."
    )
    assert found.to_dict()["assumed"] == {"buffer": "10packets"}
    assert default.answer == "Marks keep the queue short."
    assert "assumed" not in default.to_dict()
    assert (
        "--assume buffer=10packets"
        in (tmp_path / "out" / "buffer=10packets" / "results.md").read_text()
    )
    assert place(other) == Path("out/study-tiny,buffer=10packets")
    assert place(tiny) == Path("out/study-tiny")
    # Setting the default value gives the unmodified study.
    assert not tiny.assuming(["buffer=30packets"]).assumed


def test_a_part_shares_its_points_with_the_study(tiny: Assuming, tmp_path: Path) -> None:
    part = tiny.part("marks")
    assert isinstance(part, Slice)
    found = studies.carry_out(tiny, part=part, quick=True, out=tmp_path / "out")
    assert set(found.outcome.designs) == {"dctcp"}
    assert found.to_dict()["part"] == "marks"
    assert json.loads((tmp_path / "out" / "marks" / "study.json").read_text())["part"] == "marks"
    whole = studies.carry_out(tiny, quick=True, out=tmp_path / "out")
    assert whole.outcome.reused == 1
    assert json.loads((tmp_path / "out" / "study.json").read_text())["study"] == "tiny"


def test_the_report_says_which_assumption_would_change_the_answer(
    tiny: Assuming, tmp_path: Path
) -> None:
    decided = replace(BUFFER, changes={"10packets": "twice the drops"}, decides=["10packets"])
    tiny.assumptions = (decided,)
    said = (
        "Assuming buffer = 10packets (default: 30packets; memory of the switch): twice the drops."
    )
    assert [str(one) for one in assumption.decisive(tiny.assumptions)] == [said]
    studies.carry_out(tiny, quick=True, out=tmp_path / "out")
    assert said in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    # Under the alternative the effect of the alternative is no longer news.
    studies.carry_out(tiny.assuming(["buffer=10packets"]), quick=True, out=tmp_path / "out")
    other = tmp_path / "out" / "buffer=10packets" / "report.html"
    assert "twice the drops" not in other.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_assumptions_that_decide_have_a_measured_effect(name: str) -> None:
    for one in studies.find(name).assumptions:
        assert set(one.decides) <= set(one.alternatives)
        assert set(one.decides) <= set(one.changes)


def test_an_answer_of_parts_begins_with_what_is_assumed() -> None:
    chosen = [Assumed(BUFFER, "10packets")]
    said = _under(
        assumption.in_words(chosen),
        Marked.of([(Words("Yes.", "はい。"), True), (Words("So.", "そう。"), False)]),
    )
    assert said == "Assuming buffer = 10packets (default: 30packets): Yes. So."
    assert said.ja == "buffer = 10packets（既定値: 30packets） と仮定した場合: はい。そう。"
    assert [bold for _, bold in said.parts] == [True, False]


def test_files_of_lines_that_cannot_be_read_name_file_and_place(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text("# made by hand\nfabric,sizes\nleaf-spine,alistorage\n")
    (line,) = lines.read(file)
    assert line == {"fabric": "leaf-spine", "sizes": "alistorage"}
    with pytest.raises(
        ValueError, match=r"runs\.csv: there is no column load: there are fabric, sizes"
    ):
        line["load"]
    # A process that was killed may leave a part of a line.
    for broken in ("fat-tree", "fat-tree,solar,60"):
        file.write_text(f"fabric,sizes\nleaf-spine,alistorage\n{broken}\n")
        with pytest.raises(ValueError, match="line 2 below the header does not have 2 values"):
            lines.read(file)


def test_a_value_that_is_no_number_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    header = "design,framework,size_gb,traffic,seed,start_s,cpu_ms_per_mb,disk_mb_per_s,job_s\n"
    file.write_text(f"{header}deep,tez,10,no,1,0,4,150,26\ndeep,tez,10,no,2,0,4,150,x\n")
    with pytest.raises(ValueError, match=r"runs\.csv: line 2 below the header: .*'x'"):
        studies.find("hadoop").part("grid").missing(file)


def test_lines_of_other_columns_are_refused_before_a_run(tmp_path: Path) -> None:
    """A file without lines of its own must not count as one of the series, which would be simulated
    and then written below the wrong header."""
    file = tmp_path / "runs.csv"
    file.write_text("# of another series\nfabric,sizes\n")
    assert lines.read(file) == lines.read(file, ("sizes",)) == []
    for series in (
        series
        for study in studies.built_in()
        for series in study.parts
        if isinstance(series, Series) and series.shipped
    ):
        with pytest.raises(
            ValueError, match=r"runs\.csv: there is no column \w+: there are fabric, sizes"
        ):
            series.missing(file)
    file.write_text("")
    assert lines.read(file, ("sizes",)) == []


def test_a_series_continues_from_what_comes_with_afflux(tmp_path: Path) -> None:
    shipped = tmp_path / "shipped.csv"
    shipped.write_text("1\n2\n")

    def read(file: Path) -> list[int]:
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def simulate(run: int, file: Path) -> str:
        with file.open("a") as out:
            out.write(f"{run}\n")
        return f"run {run}"

    series = Series(
        "few",
        "How many?",
        "seconds",
        shipped,
        lambda file, quick: range(1, 3 if quick else 5),
        read,
        simulate,
        lambda file: str(read(file)),
    )
    assert (series.count(), series.kept(), series.count(True)) == (4, 2, 2)
    told: list[str] = []
    ended = parts.run(series, tmp_path / "out", tell=told.append)
    assert (ended.simulated, ended.runs, ended.tables) == (2, 4, "[1, 2, 3, 4]")
    assert told == ["1 of 2: run 3", "2 of 2: run 4"]
    assert read(shipped) == [1, 2]
    assert (tmp_path / "out" / "tables.md").read_text() == "[1, 2, 3, 4]\n"
    assert parts.run(series, tmp_path / "out", tell=told.append).simulated == 0
    assert parts.run(series, tmp_path / "out", fresh=True, tell=told.append).simulated == 4


def test_a_series_on_several_processes_writes_the_same_lines(tmp_path: Path) -> None:
    def read(file: Path) -> list[int]:
        return [int(row["run"]) for row in lines.read(file)] if file.exists() else []

    def simulate(run: int, file: Path) -> str:
        # Later runs end earlier.
        time.sleep(0.05 * (6 - run))
        lines.append(file, "of the test", ("run", "process"), (run, os.getpid() != parent))
        return f"run {run}"

    parent = os.getpid()
    series = Series(
        "few", "How many?", wanted=lambda file, quick: range(6), there=read, simulate=simulate
    )
    told: list[str] = []
    ended = parts.run(series, tmp_path / "several", jobs=3, tell=told.append)
    assert (ended.simulated, ended.runs) == (6, 6)
    assert sorted(line.partition(": ")[2] for line in told) == [f"run {run}" for run in range(6)]
    text = ended.file.read_text()
    assert text == "# of the test\nrun,process\n" + "".join(f"{run},True\n" for run in range(6))
    one = parts.run(series, tmp_path / "one", tell=told.append).file.read_text()
    assert one == text.replace("True", "False")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_series_whose_process_dies_ends_and_continues(tmp_path: Path, how: int) -> None:
    def read(file: Path) -> list[int]:
        return [int(row["run"]) for row in lines.read(file)] if file.exists() else []

    def simulate(run: int, file: Path) -> str:
        if run == 1 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), how)
        lines.append(file, "of the test", ("run",), (run,))
        return f"run {run}"

    killed = tmp_path / "killed"
    series = Series(
        "few", "How many?", wanted=lambda file, quick: range(4), there=read, simulate=simulate
    )
    with pytest.raises(afflux.Error, match="the same command continues"):
        parts.run(series, tmp_path / "out", jobs=2, tell=lambda line: None)
    ended = parts.run(series, tmp_path / "out", jobs=2, tell=lambda line: None)
    assert sorted(read(ended.file)) == [0, 1, 2, 3]


def test_a_series_of_a_study_prints_its_tables(invoke, tmp_path: Path) -> None:
    done = invoke("study", "conweave", "tables")
    assert done.exit_code == 0, done.stderr
    readme = (studies.files("conweave") / "README.md").read_text(encoding="utf-8")
    table = done.stdout.split("<!-- claims -->\n")[1].split("\n\n")[0]
    assert table in readme
    assert (tmp_path / "out" / "study-conweave-tables" / "tables.md").is_file()
    found = json.loads(invoke("study", "mptcp", "mechanisms", "--json").stdout)
    assert (found["study"], found["part"], found["simulated"], found["runs"]) == (
        "mptcp",
        "mechanisms",
        0,
        13,
    )


def test_no_study_is_run_as_a_module() -> None:
    for file in studies.files(".").rglob("*.py"):
        assert "__main__" not in file.name + file.read_text(encoding="utf-8")
