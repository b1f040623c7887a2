"""`afflux demo`: it poses its question, and its answer follows from the numbers."""

import json
import re

from made import design, spread

import afflux
from afflux import demo
from afflux.batch import Point
from afflux.comparison.compare import compare
from afflux.results.designs import Designs


def made(**seconds: list[float]) -> Designs:
    return Designs(_design(name, times) for name, times in seconds.items())


def _design(name: str, times: list[float]) -> afflux.Design:
    found = design(
        name,
        job=[1e3 * time for time in times],
        drops=30,
        marks=40,
        pauses=50,
        price=100 if name == "deep" else 25,
    )
    for time, result in zip(times, found.results.values(), strict=True):
        result.summary["drops_by_reason"] = {"buffer": 10, "red": 20}
        result.summary["fct"]["by_class"] = {"rpc": {"mean_ns": time * 1e6}}
    return found


DEEP = [10.0, 12.0, 11.0, 13.0, 14.0]


def times(ratio: float, by: float = 0.02) -> list[float]:
    return [time * new for time, new in zip(DEEP, spread(ratio, by), strict=True)]


def background(designs: Designs) -> demo.Background:
    """Returns the comparison without other traffic: job times of 4.1 s with the first design, 4.2 s
    and so on with the others, and 4 s with DCTCP. The other traffic gets 66 Gbps, 65 Gbps and so
    on."""
    without_traffic = made(
        **{
            name: [4.0 if name == "shallow-dctcp" else 4.1 + 0.1 * place]
            for place, name in enumerate(designs)
        }
    )
    return demo.Background(
        without_traffic, {name: 66e9 - 1e9 * place for place, name in enumerate(designs)}
    )


def answer(designs: Designs) -> str:
    parts = demo.answer(designs, compare(designs, "deep"), background(designs)).parts
    return " ".join(f"**{part}**" if bold else part for part, bold in parts)


def test_the_sentence_says_what_the_numbers_say():
    designs = made(
        **{
            "deep": DEEP,
            "shallow": times(0.8),
            "shallow-dctcp": times(0.5),
            "other": times(2),
            "alike": times(0.98, 0.1),
        }
    )
    assert answer(designs) == (
        "**Choose the shallow switch with DCTCP.** Under background traffic, compared with the deep switch, the sort takes 6.00 s instead of 12.0 s, "
        "50 % less (95 % interval 49 to 51 %, 5 paired seeds). Likely cause: queueing. One Hadoop call takes 12 ms on average behind the deep buffer, "
        "6.0 ms to 24 ms behind the others. Cost: USD 25 instead of 100 (example prices of this switch). "
        "Certainty: shallow and shallow-dctcp beat the deep switch, by 20 to 50 %; other is slower than the deep switch, by 100 %; "
        "not told apart from the deep switch: alike (between 11 % less and 8.1 % more); "
        "shallow-dctcp beats shallow, other and alike too, by 38 to 75 %. "
        "The other traffic gets 66.0 Gbps behind the deep buffer, 62.0 Gbps to 65.0 Gbps behind the others. "
        "What would change it: without background traffic the sort takes 4.00 s with the shallow switch with DCTCP, 4.10 s with the deep switch; "
        "the designs differ less for a job that spends longer on starting, computing or its disks."
    )


def test_what_is_not_clear_is_not_chosen():
    said = answer(
        made(**{"deep": DEEP, "shallow": times(0.95, 0.2), "shallow-ecn": times(1.05, 0.2)})
    )
    assert said.startswith(
        "**These seeds do not tell which design is best.** Certainty: not told apart from the deep switch: shallow (between"
    )
    assert "Choose" not in said
    assert (
        "What would change it: without background traffic the sort takes 4.1 to 4.3 s; the designs differ less for a job"
        in said
    )
    assert answer(
        made(**{"deep": DEEP, "shallow": times(1.2), "shallow-ecn": times(1.3)})
    ).startswith("**Keep the deep switch.**")


def test_of_equals_the_cheapest_and_simplest_is_chosen():
    # DCTCP has the better mean, but the difference is not certain.
    designs = made(
        **{
            "deep": DEEP,
            "shallow": times(0.6),
            "shallow-ecn": times(0.7, 0.01),
            "shallow-dctcp": times(0.59, 0.05),
        }
    )
    page_answer = demo.explained(designs, compare(designs, "deep"), background(designs))
    assert (
        page_answer.head
        == "The shallow switch does better: the sort is done in 7.20 s instead of 12.0 s, for USD 25 instead of 100."
    )
    assert page_answer.facts.sure == [
        "All 3 other designs beat the deep switch, by 30 to 41 %.",
        "shallow beats shallow-ecn too, by 14 %.",
        "Nothing is clearly better than shallow: shallow-dctcp (between 4.5 % less and 1.3 % more).",
    ]
    assert answer(designs).startswith("**Choose the shallow switch.**")


def test_designs_are_judged_together():
    # The difference is clear on its own (p = 0.03), but not as one of four.
    barely = times(0.8, 0.195)
    assert answer(made(deep=DEEP, shallow=barely)).startswith("**Choose the shallow switch.**")
    four = made(
        **{
            "deep": DEEP,
            "shallow": barely,
            "shallow-ecn": times(1.0, 0.1),
            "shallow-dctcp": times(1.01, 0.1),
            "alike": times(0.99, 0.1),
        }
    )
    said = answer(four)
    assert said.startswith("**These seeds do not tell which design is best.**")
    assert "shallow (20 % less, clear only when judged alone)" in said
    _, rows = demo.cells(four, compare(four, "deep"))
    assert next(row for row in rows if row[0] == "verdict") == (
        "verdict",
        "–",
        *["cannot tell"] * 4,
    )


def test_the_table_has_a_column_per_design():
    designs = made(deep=[10.0] * 5, shallow=[5.0, 6.0, 5.0, 6.0, 5.5])
    head, rows = demo.cells(designs, compare(designs, "deep"))
    assert head == ["", "deep", "shallow"]
    of = {name: values for name, *values in rows}
    assert of["change"] == ["–", "−45.2 %"]
    assert of["verdict"] == ["–", "better"]
    # Early drops are not counted twice.
    assert (of["tail drops"], of["early drops"], of["pauses"], of["price, USD"]) == (
        ["10", "10"],
        ["20", "20"],
        ["50", "50"],
        ["100", "25"],
    )


def test_it_runs_and_writes_a_report(monkeypatch, tmp_path, invoke):
    tiny = {"traffic[0].size": "50MB", "traffic[1].rate": "200Mbps"}
    points = [
        Point(point.name, point.scenario, point.set | tiny, point.seed)
        for point in demo.points()
        if point.seed == demo.SEEDS[0]
    ]
    assert {point.name for point in points} == {
        before + name for name in demo.DESIGN_NAMES for before in ("", demo.WITHOUT_TRAFFIC)
    }
    monkeypatch.setattr(demo, "points", lambda: points)
    done = invoke("demo", "-o", "answer")
    assert done.exit_code == 0, done.stderr
    shown = done.stdout
    assert all(re.search(rf"^{re.escape(row)} ", shown, re.MULTILINE) for row in demo.ROWS)
    # One seed allows no conclusion.
    said = " ".join(shown.split())
    # The hosts of the design with PFC have strict priorities instead of fq_codel, so its frames
    # leave at slightly different times.
    assert re.search(
        "These seeds do not tell which design is best. Certainty: as long as with the deep switch: shallow, shallow-ecn and shallow-dctcp; "
        r"not told apart from the deep switch: shallow-ecn-pfc \([\d.]+ s instead of [\d.]+ s, too few seeds to decide\); "
        "shallow-dctcp gives the results of shallow-ecn, flow by flow. The other traffic gets",
        said,
    )
    assert "One call" in (tmp_path / "answer" / "report.html").read_text()
    # The scenario comes from the package, because an installed afflux has no checkout.
    assert str(demo.SCENARIO) in "".join(shown.split())
    assert demo.SCENARIO.is_file()
    # The same results again, as JSON.
    run = demo.batch.run
    monkeypatch.setattr(demo.batch, "run", lambda *of, **how: run(*of, **how | {"fresh": False}))
    done = invoke("demo", "-o", "answer", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["baseline"], found["designs"]) == ("deep", list(demo.DESIGN_NAMES)[1:])
    assert found["answer"].startswith("These seeds do not tell which design is best.")
    assert demo.JOB_TIME.name in {difference["metric"] for difference in found["differences"]}
    assert found["report"] == "answer/report.html"


def test_what_is_not_its_own_is_left_alone(monkeypatch, tmp_path, invoke):
    # All points are validated before the directory is examined.
    points = demo.points()[:1]
    monkeypatch.setattr(demo, "points", lambda: points)
    mine = tmp_path / "out" / "demo" / "points" / "mine"
    mine.parent.mkdir(parents=True)
    mine.write_text("")
    done = invoke("demo")
    assert done.exit_code == 1
    assert "has files (mine) but no manifest.json" in done.stderr
    assert mine.exists()


def test_the_page_has_the_answer_in_parts():
    designs = made(**{"deep": DEEP, "shallow": times(0.8), "shallow-dctcp": times(0.5)})
    page_answer = demo.explained(designs, compare(designs, "deep"), background(designs))
    assert (
        page_answer.head
        == "The shallow switch with DCTCP does better: the sort is done in 6.00 s instead of 12.0 s, for USD 25 instead of 100."
    )
    assert page_answer.facts.why == [
        "Likely cause: queueing. One Hadoop call takes 12 ms on average behind the deep buffer, 6.0 ms to 9.6 ms behind the others."
    ]
    assert page_answer.facts.sure == [
        "All 2 other designs beat the deep switch, by 20 to 50 %.",
        "shallow-dctcp beats shallow too, by 38 %.",
    ]
    assert (
        page_answer.facts.change[0]
        == "Without background traffic the sort takes 4.00 s with the shallow switch with DCTCP, 4.10 s with the deep switch."
    )
    alike = made(deep=DEEP, shallow=times(0.95, 0.2))
    page_answer = demo.explained(alike, compare(alike, "deep"), background(alike))
    assert page_answer.head.startswith(
        "These seeds do not tell which design is best. The sort takes "
    )
    assert page_answer.facts.sure[0].startswith(
        "Not told apart from the deep switch: shallow (between "
    )
