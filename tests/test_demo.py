"""`make demo`: that it asks, and that its sentence follows from the numbers."""

import re

import afflux
from afflux import demo
from afflux.batch import Point
from afflux.comparison import compare
from afflux.designs import Designs


class Made:
    """A result with nothing but the numbers that the demo shows."""

    dir = None

    def __init__(self, name: str, seed: int, seconds: float, price: int) -> None:
        self.summary = {
            "name": name,
            "seed": seed,
            "jobs": {"mean_ns": seconds * 1e9},
            "fct": {"all": {"censored": False}, "by_class": {"rpc": {"mean_ns": seconds * 1e6}}},
            "drops": 30,
            "drops_by_reason": {"buffer": 10, "red": 20},
            "ecn_marks": 40,
            "pause_frames": 50,
            "cost": {"total": price, "currency": "USD"},
        }


def made(**seconds: list[float]) -> Designs:
    prices = {"deep": 100}
    return Designs(
        afflux.Design(name, {seed: Made(name, seed, time, prices.get(name, 25)) for seed, time in enumerate(times, 1)}) for name, times in seconds.items()
    )


def test_the_sentence_says_what_the_numbers_say():
    deep = [10.0, 12.0, 11.0, 13.0, 14.0]
    designs = made(
        deep=deep,
        shallow=[time * 0.8 for time in deep],
        better=[time * 0.5 for time in deep],
        worse=[time * 2 for time in deep],
        alike=[9.0, 13.0, 10.0, 14.0, 14.0],
    )
    said = demo.answer(designs, compare(designs, "deep"))
    assert "takes 12 s behind the deep buffer" in said
    assert "20 to 50 % sooner with shallow and better" in said
    assert "100 % later with worse" in said
    assert "not to be told apart with alike" in said
    assert "at 25 % of the price" in said


def test_the_table_has_a_column_per_design():
    designs = made(deep=[10.0] * 5, shallow=[5.0, 6.0, 5.0, 6.0, 5.5])
    head, rows = demo.cells(designs, compare(designs, "deep"))
    assert head == ["", "deep", "shallow"]
    of = {name: values for name, *values in rows}
    assert of["change"] == ["–", "-45 %"]
    # Early drops are not counted twice.
    assert (of["tail drops"], of["early drops"], of["pauses"], of["price, USD"]) == (["10", "10"], ["20", "20"], ["50", "50"], ["100", "25"])


def test_it_runs_and_writes_a_report(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    tiny = {"traffic[0].size": "50MB", "traffic[1].rate": "200Mbps"}
    points = [Point(point.name, point.scenario, point.set | tiny, point.seed) for point in demo.points() if point.seed == 1]
    assert {point.name for point in points} == set(demo.ASKED)
    monkeypatch.setattr(demo, "points", lambda: points)
    assert demo.main() == 0
    shown = capsys.readouterr().out
    assert all(re.search(rf"^{re.escape(row)} ", shown, re.MULTILINE) for row in demo.ROWS)
    # With one seed nothing can be told.
    assert "not to be told apart with shallow, shallow-ecn, shallow-ecn-pfc and shallow-dctcp" in " ".join(shown.split())
    assert "One call" in (tmp_path / "out" / "demo" / "report.html").read_text()


def test_what_is_not_its_own_is_left_alone(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "out" / "demo" / "points" / "mine"
    mine.parent.mkdir(parents=True)
    mine.write_text("")
    assert demo.main() == 1
    assert "has files (mine) but no manifest.json" in capsys.readouterr().err
    assert mine.exists()
