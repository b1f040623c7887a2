"""Data of the report's replay, flows and texts."""

import math
import re
import string

import pytest
import reported
from reported import data_of

import afflux
from afflux import report
from afflux.metrics import METRICS
from afflux.report import flows, replay
from afflux.studies import built_in
from afflux.words import Words, _every, say


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> list[afflux.Result]:
    return reported.fabric(tmp_path_factory.mktemp("fabric"))


def rows(result: afflux.Result, *columns: str):
    return zip(*(result.ports.column(name) for name in columns), strict=True)


def port_rows(result: afflux.Result, fabric: dict, direction: int) -> list[tuple[int, ...]]:
    """Returns from the table: time, queue, sent bytes and drops of the port that sends in a
    direction."""
    ends = [(a, b)[direction % 2] for a, b in zip(fabric["a"], fabric["b"], strict=True)]
    node = ends[direction // 2]
    before = sum(
        (a == node) + (b == node)
        for a, b in list(zip(fabric["a"], fabric["b"], strict=True))[: direction // 2]
    )
    key = (fabric["nodes"][node], before, -1)
    columns = (
        "node",
        "port",
        "queue",
        "time_ns",
        "queue_bytes_max",
        "tx_bytes",
        "drops",
        "in_discards",
    )
    return [
        tuple(values)
        for name, port, queue, *values in rows(result, *columns)
        if (name, port, queue) == key
    ]


def decoded(text: str, most: int) -> list[float]:
    return [
        0 if step == 0 else math.exp((step - 1) / (replay.STEPS - 2) * math.log(max(most, 2)))
        for step in (ord(c) - replay.ZERO for c in text)
    ]


@pytest.mark.parametrize("frames", [300, 30])
def test_moments_are_those_of_the_table(results, tmp_path, monkeypatch, frames):
    monkeypatch.setattr(replay, "FRAMES", frames)
    found = data_of(report.write(results, tmp_path / "report.html"))["replay"]
    run, result = found["runs"][0], results[0]
    fabric, (ports,) = found["fabrics"][run["fabric"]], run["ports"]["views"]
    interval, totals = run["ports"]["interval_ns"], run["ports"]["totals"]
    assert ports["frames"] <= frames
    assert ports["frame_ns"] % interval == 0
    assert len(ports["series"]) == 2 * len(fabric["a"])
    checked = 0
    for direction, series in ports["series"].items():
        table = port_rows(result, fabric, int(direction))
        queue = decoded(series["q"], ports["most"]["q"])
        for frame in range(ports["frames"]):
            inside = [
                row
                for row in table
                if frame * ports["frame_ns"] < row[0] <= (frame + 1) * ports["frame_ns"]
            ]
            longest = max((row[1] for row in inside), default=0)
            shown = queue[frame] if frame < len(queue) else 0
            assert shown == pytest.approx(longest, rel=0.01)
            used = (
                (ord(series["u"][frame]) - replay.ZERO) / 1_000 if frame < len(series["u"]) else 0
            )
            sent = (
                8e9
                * sum(row[2] for row in inside)
                / fabric["rate"][int(direction)]
                / ports["frame_ns"]
            )
            assert used == pytest.approx(sent, abs=0.001)
            checked += longest > 0
        assert totals["d"].get(direction, 0) == sum(row[3] + row[4] for row in table)
    assert checked > 50
    assert any(totals["d"].values())


def test_its_size_is_bounded(results, tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "CELLS", 2 * 2 * replay.FEWEST * 10)
    found = data_of(report.write(results, tmp_path / "report.html"))["replay"]
    fabric = found["fabrics"][0]
    assert len(found["fabrics"]) == 1
    for run in found["runs"]:
        (view,) = run["ports"]["views"]
        assert len(view["series"]) == 10
        assert run["ports"]["recorded"] == 2 * len(fabric["a"])
        assert view["frames"] <= replay.FEWEST
        # Links between switches come first.
        for direction in map(int, view["series"]):
            assert fabric["a"][direction // 2] >= fabric["hosts"]


def test_flows_worth_a_look(results, tmp_path, monkeypatch):
    monkeypatch.setattr(flows, "FLOWS", 5)
    monkeypatch.setattr(flows, "PATHS", 1)
    found = data_of(report.write(results, tmp_path / "report.html"))["flows"]
    table = results[1].flows
    of = found[1]
    slowest = sorted(table.column("slowdown"), reverse=True)[:5]
    assert [of["columns"]["slowdown"][row] for row in of["kinds"]["slowest"]] == slowest
    assert [of["columns"]["bytes"][row] for row in of["kinds"]["biggest"]] == sorted(
        table.column("bytes"), reverse=True
    )[:5]
    assert of["kinds"]["unfinished"] == []
    for row, fct in enumerate(of["columns"]["fct_ns"]):
        assert sum(parts[row] for parts in of["split"].values()) == fct
    assert all(len(paths["paths"]) == 1 for paths in of["paths"])
    assert max(paths["all"] for paths in of["paths"]) == 2


def places(text: str) -> set[str]:
    return {
        name for _, name, _, _ in string.Formatter().parse(re.sub(r"\{ [^}]*\}", "", text)) if name
    }


def test_every_word_is_in_both_languages():
    for key, both in _every().items():
        assert set(both) == {"en", "ja"}, key
        assert both["en"], key
        assert both["ja"], key
        # The Japanese text may repeat the baseline's name where the English text does not, and may
        # state the currency where English omits it.
        assert places(both["en"]) - places(both["ja"]) <= {"bare"}, key
        assert places(both["ja"]) - places(both["en"]) <= {"baseline", "old"}, key


def test_words_are_those_of_the_code():
    for metric in METRICS:
        assert _every()[f"metric.{metric.name}"]["en"] == metric.title
    for study in built_in():
        key = f"study.title.{study.name}"
        assert key not in _every() or _every()[key]["en"] == study.title


def test_words_in_words():
    said = say("split.named", part=Words("queueing", "キューイング"), by="1 s")
    assert (said, said.ja) == ("queueing 1 s", "キューイング 1 s")


def test_there_is_an_answer_without_jobs(tmp_path):
    text = (
        reported.MIXED[: reported.MIXED.index("[[traffic]]")]
        + reported.RANDOM.replace("load = 0.2", "load = 0.8")
        + '\nports = { interval = "1ms" }\n'
    )
    scenario = afflux.Scenario.parse(text, tmp_path / "random.toml")
    designs = (("deep", "100packets"), ("shallow", "3packets"))
    found = [
        scenario.set("name", name).set("switch.buffer", buffer).run(seed=seed)
        for name, buffer in designs
        for seed in range(1, 6)
    ]
    page = report.write(found, tmp_path / "report.html").read_text()
    said = re.search(r"<h1>(.*?)</h1>", page)[1]
    assert "shallow has the higher mean slowdown:" in said
    assert "shallow の方がスローダウンの平均が大きくなります。" in said


def test_what_is_recorded_makes_no_other_design(tmp_path):
    scenario = afflux.Scenario.parse(reported.MIXED, tmp_path / "small.toml")
    one = scenario.run(seed=1, out=tmp_path / "1")
    two = scenario.set("record.paths", False).run(seed=2, out=tmp_path / "2")
    found = data_of(report.write([one, two], tmp_path / "report.html"))
    assert [design["seeds"] for design in found["designs"]] == [[1, 2]]
    with pytest.raises(ValueError, match=r"differ in switch\.buffer"):
        report.write(
            [one, scenario.set("switch.buffer", "20packets").run(seed=3, out=tmp_path / "3")],
            tmp_path / "other.html",
        )
