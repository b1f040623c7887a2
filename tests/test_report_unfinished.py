"""The report of runs that were cut off: what it says of flows and jobs that did not finish or never
started, and over which time it averages queues."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import INCAST
from made import design, spread
from reported import data_of
from test_report_page import opened, pages  # noqa: F401

import afflux
from afflux import report
from afflux.report import completion, heading, markup, measures, series
from afflux.report import flows as listed_flows
from afflux.results.designs import Designs
from afflux.words import Words

#: With `closed_loop`, the next round waits for the last flow of the one before. With a long
#: time-out, the design `slow` gets through the first round only.
CUT = (
    INCAST.replace('rounds = 3\nperiod = "5ms"\n', "rounds = 6\nclosed_loop = true\n")
    + '\n[run]\nuntil = "30ms"\n'
)
TIME_OUTS = {"fast": "1ms", "slow": "20ms"}


def run(folder: Path, *names: str) -> list[afflux.Result]:
    scenario = afflux.Scenario.parse(CUT, folder / "small.toml")
    return [
        scenario.set("name", name).set("host.transport.min_rto", TIME_OUTS[name]).run(seed=1)
        for name in names
    ]


@pytest.fixture(scope="module")
def cut(once: Callable[..., Path]) -> Path:
    """Returns the page of both designs."""
    return (
        once(
            "report of a run that was cut off",
            lambda folder: report.write(run(folder, "fast", "slow"), folder / "report.html"),
        )
        / "report.html"
    )


def flows(
    fct: list[int], *, unfinished: int = 0, not_started: int = 0, kind: str = "web"
) -> completion.Flows:
    """Returns flows of one class with these completion times in ns, and others without one."""
    return completion.Flows(
        [1_000] * len(fct),
        fct,
        [time / 1e6 for time in fct],
        [kind] * len(fct),
        Counter({kind: unfinished}),
        Counter({kind: not_started}),
    )


def said(**of_designs: completion.Flows) -> dict[str, Words]:
    """Returns the sentence on completion times and that on slowdowns."""
    designs = [design(name) for name in of_designs]
    found = completion._described(designs, list(of_designs.values()))["said"]
    return {name: Words(words["en"], words["ja"]) for name, words in found.items()}


#: 200 flows: half of them take at most 1.01 ms, 99 % at most 1.99 ms.
TIMES = [1_000_000 + 5_000 * place for place in range(1, 201)]


def test_all_flows_are_meant_only_if_all_finished():
    words = said(a=flows(TIMES))
    assert words["fct"] == "Half of the flows are done within 1.50 ms, 99 % within 1.99 ms."
    assert words["fct"].ja == "フローの半数は 1.50 ms 以内、99% は 1.99 ms 以内に完了します。"
    words = said(a=flows(TIMES, unfinished=10))
    assert words["fct"] == (
        "Half of the flows that finished are done within 1.50 ms, 99 % within 1.99 ms. "
        "Not finished when the run ended: 10 of 210 flows."
    )
    assert words["fct"].ja == (
        "完了したフローの半数は 1.50 ms 以内、99% は 1.99 ms 以内に完了します。"
        "実行の終わりまでに完了しなかったフロー: 210 本中 10 本。"
    )
    assert words["slowdown"].startswith(
        "Half of the flows that finished have a slowdown of at most 1.50, 99 % of at most 1.99. Not"
    )


def test_designs_are_compared_in_the_flows_that_finished():
    slower = [2 * time for time in TIMES]
    words = said(
        a=flows(TIMES),
        b=flows(slower, unfinished=2, not_started=1_000),
        c=flows(TIMES, unfinished=1),
    )
    assert words["fct"] == (
        "99 % of the flows that finished are done within 1.99 ms with a, within 3.98 ms with b; "
        "half of them within 1.50 ms and 3.00 ms. Not finished when the run ended: "
        "1,002 of 1,202 flows with b (1,000 of them never started); 1 of 201 flows with c."
    )
    assert words["fct"].ja == (
        "完了したフローの 99% が完了するまでの時間は、a で 1.99 ms、b で 3.98 ms です。"
        "半数が完了するまでの時間は、それぞれ 1.50 ms、3.00 ms です。実行の終わりまでに完了しなかったフロー: "
        "b で 1,202 本中 1,002 本（うち 1,000 本は開始していない）；c で 201 本中 1 本。"
    )
    assert words["slowdown"].ja.startswith(
        "完了したフローの 99% のスローダウンは、a で 1.99 以下、b で 3.98 以下です。"
    )


SENTENCES = [
    (
        {"a": TIMES[:1]},
        "Half of the flows that finished are done within 1.00 ms.",
        "完了したフローの半数は 1.00 ms 以内に完了します。",
        "Half of the flows that finished have a slowdown of at most 1.00.",
        "完了したフローの半数のスローダウンは 1.00 以下です。",
    ),
    (
        {"a": TIMES},
        "Half of the flows that finished are done within 1.50 ms, 99 % within 1.99 ms.",
        "完了したフローの半数は 1.50 ms 以内、99% は 1.99 ms 以内に完了します。",
        "Half of the flows that finished have a slowdown of at most 1.50, 99 % of at most 1.99.",
        "完了したフローの半数のスローダウンは 1.50 以下、99% は 1.99 以下です。",
    ),
    (
        {"a": TIMES[:9], "b": TIMES[:9]},
        "With every design half of the flows that finished are done within 1.02 ms.",
        "どの構成でも、完了したフローの半数は 1.02 ms 以内に完了します。",
        "With every design half of the flows that finished have a slowdown of at most 1.02.",
        "どの構成でも、完了したフローの半数のスローダウンは 1.02 以下です。",
    ),
    (
        {"a": TIMES, "b": TIMES},
        "With every design half of the flows that finished are done within 1.50 ms, 99 % within 1.99 ms.",
        "どの構成でも、完了したフローの半数は 1.50 ms 以内、99% は 1.99 ms 以内に完了します。",
        "With every design half of the flows that finished have a slowdown of at most 1.50, 99 % of at most 1.99.",
        "どの構成でも、完了したフローの半数のスローダウンは 1.50 以下、99% は 1.99 以下です。",
    ),
    (
        {"a": TIMES[:9], "b": TIMES[100:109]},
        "Half of the flows that finished are done within 1.02 ms with a, within 1.52 ms with b.",
        "完了したフローの半数が完了するまでの時間は、a で 1.02 ms、b で 1.52 ms です。",
        "Half of the flows that finished have a slowdown of at most 1.02 with a, of at most 1.52 with b.",
        "完了したフローの半数のスローダウンは、a で 1.02 以下、b で 1.52 以下です。",
    ),
    (
        {"a": [1_000_000] * 200, "b": [1_000_000] * 150 + [9_000_000] * 50},
        "99 % of the flows that finished are done within 1.00 ms with a, within 9.00 ms with b; "
        "half of them within 1.00 ms with both.",
        "完了したフローの 99% が完了するまでの時間は、a で 1.00 ms、b で 9.00 ms です。"
        "半数はどちらでも 1.00 ms 以内に完了します。",
        "99 % of the flows that finished have a slowdown of at most 1.00 with a, of at most 9.00 with b; "
        "half of them of at most 1.00 with both.",
        "完了したフローの 99% のスローダウンは、a で 1.00 以下、b で 9.00 以下です。半数はどちらでも 1.00 以下です。",
    ),
    (
        {"a": TIMES, "b": [2 * time for time in TIMES]},
        "99 % of the flows that finished are done within 1.99 ms with a, within 3.98 ms with b; "
        "half of them within 1.50 ms and 3.00 ms.",
        "完了したフローの 99% が完了するまでの時間は、a で 1.99 ms、b で 3.98 ms です。"
        "半数が完了するまでの時間は、それぞれ 1.50 ms、3.00 ms です。",
        "99 % of the flows that finished have a slowdown of at most 1.99 with a, of at most 3.98 with b; "
        "half of them of at most 1.50 and 3.00.",
        "完了したフローの 99% のスローダウンは、a で 1.99 以下、b で 3.98 以下です。半数は、それぞれ 1.50 以下、3.00 以下です。",
    ),
]


@pytest.mark.parametrize(("of_designs", "fct", "fct_ja", "slowdown", "slowdown_ja"), SENTENCES)
def test_every_sentence_says_which_flows_it_is_about(
    of_designs, fct, fct_ja, slowdown, slowdown_ja
):
    finished = said(**{name: flows(times) for name, times in of_designs.items()})
    cut_off = said(**{name: flows(times, unfinished=1) for name, times in of_designs.items()})
    for measure, en, ja in (("fct", fct, fct_ja), ("slowdown", slowdown, slowdown_ja)):
        assert cut_off[measure].startswith(f"{en} Not finished when the run ended: 1 of ")
        assert cut_off[measure].ja.startswith(f"{ja}実行の終わりまでに完了しなかったフロー: ")
        assert finished[measure] == en.replace(" that finished", "")
        assert finished[measure].ja == ja.replace("完了したフロー", "フロー")


def test_without_a_finished_flow_the_others_are_counted():
    assert said(a=flows([], unfinished=3))["fct"] == (
        "Not finished when the run ended: 3 of 3 flows."
    )


def test_classes_have_their_own_flows(cut):
    group = data_of(cut)["completion"]["groups"][0]
    assert group["flows"] == [48, 7]
    assert group["unfinished"] == [0, 41]


#: Two rounds of c1, three of c2, one of each other class. Flows of `long` are too long to finish;
#: those of `late` start after the end of the run.
CLASSES = {f"c{place}": {"sizes": "2kB"} for place in range(1, 12)}
CLASSES["c1"] |= {"rounds": 2, "period": "1us"}
CLASSES["c2"] |= {"rounds": 3, "period": "1us"}
CLASSES |= {"long": {"sizes": "1GB"}, "late": {"sizes": "1kB", "start": "1s"}}


@pytest.fixture(scope="module")
def classes(once: Callable[..., Path]) -> Path:
    """Returns the page of a run with more traffic classes than a page shows."""

    def write(folder: Path) -> None:
        traffic = [{"kind": "permutation", "class": name, **keys} for name, keys in CLASSES.items()]
        result = afflux.Scenario(
            name="classes",
            topology={"kind": "star", "hosts": 4, "rate": "10Gbps", "delay": "1us"},
            traffic=traffic,
            run={"until": "1ms"},
        ).run(seed=1)
        report.write([result], folder / "report.html")

    return once("report of many classes", write) / "report.html"


def test_classes_with_the_most_flows_are_shown_in_the_order_of_the_scenario(classes):
    data = data_of(classes)
    found = data["completion"]
    assert [group["name"] for group in found["groups"]] == [
        None,
        *(f"c{place}" for place in range(1, 9)),
    ]
    assert found["hidden"] == len(CLASSES) - 8
    names = [group["name"] for group in data["split"]["groups"] if group["by"] == "class"]
    assert names == [f"c{place}" for place in range(1, 12)]
    assert data["split"]["without"] == {
        "en": "No parts are known of classes without a finished flow: long, late.",
        "ja": "完了したフローがないため内訳のないクラス: long、late。",
    }


def test_classes_without_a_finished_flow_are_shown():
    of_designs = [
        flows(TIMES, kind="short"),
        flows(TIMES[:5], kind="short"),
    ]
    for of_design, never in zip(of_designs, (4, 5), strict=True):
        of_design.unfinished["long"] = 3
        of_design.not_started["late"] = never
    counted = {"short": {"fct": 5, "p99": 20, "goodput": 1}}
    designs = [design(name, classes=counted) for name in ("a", "b")]
    for result in (result for one in designs for result in one.results.values()):
        groups = result.summary["fct"]["by_class"]
        groups["long"] = {"count": 0, "unfinished": 3, "not_started": 0}
        groups["late"] = {"count": 0, "unfinished": 0, "not_started": 4}
    kinds = completion._kinds(designs, of_designs)
    assert kinds == ["short", "late", "long"]
    assert completion.unfinished_classes(designs) == ["long", "late"]
    groups = completion._groups(designs, of_designs, kinds)
    assert [group["name"] for group in groups] == [None, "short", "long", "late"]
    assert groups[3]["said"]["fct"]["en"] == (
        "Not finished when the run ended: 4 of 4 flows with a (4 of them never started); "
        "5 of 5 flows with b (5 of them never started)."
    )
    assert groups[3]["cdf"]["fct"]["flows"] == [0, 0]


def test_the_page_says_which_classes_it_leaves_out(opened, classes):  # noqa: F811
    page = opened(classes)
    note = page.locator("#completion > .note").first
    assert note.inner_text().startswith("The list has the 8 classes with the most flows, of 13 in")
    assert "without a finished flow: long, late." in page.locator("#split").inner_text()
    rows = [text.split("\n")[0] for text in page.locator("#measures tbody th").all_inner_texts()]
    assert "c1: FCT mean" in rows
    assert not any(row.startswith("C1") for row in rows)


def test_the_page_has_no_distribution_of_classes_without_a_finished_flow(tmp_path, opened):  # noqa: F811
    result = afflux.Scenario(
        name="long",
        topology={"kind": "star", "hosts": 4, "rate": "10Gbps", "delay": "1us"},
        traffic=[
            {"kind": "permutation", "class": name, "sizes": size}
            for name, size in (("short", "2kB"), ("long", "1GB"))
        ],
        run={"until": "1ms"},
    ).run(seed=1)
    page = opened(report.write([result], tmp_path / "report.html"))
    page.get_by_label("long", exact=True).first.check(force=True)
    text = page.locator("#completion").inner_text()
    assert "Not finished when the run ended: 4 of 4 flows." in text
    assert "None of these flows finished, so there are no completion times." in text
    assert "Height: share" not in text


def test_the_page_says_how_many_flows_finished(opened, cut):  # noqa: F811
    page = opened(cut)
    section = page.locator("#completion")
    assert section.locator(".lead").inner_text() == (
        "Half of the flows that finished are done within 1.23 ms with fast, within 20.5 ms with slow. "
        "Not finished when the run ended: 41 of 48 flows with slow (40 of them never started)."
    )
    names = section.locator(".curve-name small").all_inner_texts()
    assert names == ["48 flows", "7 of 48 flows finished"]
    notes = section.locator("p.note").all_inner_texts()
    assert notes[0].startswith("Height: share of the design’s finished flows, by square root")
    assert "p99: 99 % of the finished flows need no longer than this." in notes[0]
    assert "flows that started in the warm-up or did not finish are left out" in notes[-1]
    section.locator("summary").first.click()
    rows = section.locator("details table").first.locator("tr").all_inner_texts()
    assert rows[-2:] == ["flows\t48\t7", "flows not finished\t0\t41"]
    page.locator("#tools select").first.select_option("ja")
    assert "フロー 48 本中 7 本が完了" in section.inner_text()
    assert "完了したフローの 99% がこの時間以内に完了したことを示します。" in section.inner_text()
    assert (
        "ウォームアップ中に始まったフローと完了しなかったフローを除きます。" in section.inner_text()
    )


def test_jobs_are_counted_by_design(opened, cut):  # noqa: F811
    page = opened(cut)
    lead = page.locator("#jobs .lead")
    assert lead.inner_text() == (
        "The last job (seed 1) is done after 10.7 ms with fast (6 jobs), "
        "not before the end of the run (30 ms) with slow (1 of 6 jobs started)."
    )
    page.locator("#tools select").first.select_option("ja")
    assert lead.inner_text() == (
        "最後のジョブ（シード 1）: fast は 10.7 ms で完了（6 個のジョブ）、"
        "slow は実行の終わり（30 ms）までに未完了（6 個中 1 個のジョブが開始）。"
    )


def test_equal_numbers_of_jobs_are_said_once(opened):  # noqa: F811
    assert (
        opened("incast")
        .locator("#jobs .lead")
        .inner_text()
        .startswith("The last of 3 jobs (seed 1)")
    )


def test_single_designs_and_measures_speak_of_finished_flows(tmp_path):
    page = report.write(run(tmp_path, "slow"), tmp_path / "report.html").read_text()
    assert (
        "Some flows did not finish, so the true completion times and slowdowns are higher." in page
    )
    assert "one finished flow in a hundred is slower" not in page


def test_completion_times_are_those_of_finished_flows():
    counts = {"unfinished": 9, "started": 1_000}
    times = {"fct": spread(5, 0.01), "p99": spread(20, 0.01)}
    designs = Designs(
        [
            design("a", goodput=spread(10, 0.01), **times, **counts),
            design(
                "b", goodput=spread(50, 0.01), fct=spread(4, 0.01), p99=spread(60, 0.01), **counts
            ),
        ]
    )
    found = afflux.compare(designs)
    page = measures.section(
        designs,
        found,
        markup.Terms(),
        metrics=designs.metrics(),
        asked=[],
        currency="",
        lead="",
    )
    assert "one finished flow in a hundred is slower" in page
    assert "完了したフローの 100 本に 1 本はこれより遅い" in page
    (contrary, *_) = heading.of_comparison(found, None).facts.change
    assert contrary == (
        "If the p99 completion time of finished flows counts more: with b it is 200 % more than with a."
    )
    assert (
        contrary.ja == "完了フローの完了時間の p99をより重視する場合: b では a より 200% 増です。"
    )


class Column:
    """A table of one port and one queue per sample."""

    def __init__(self, queue: list[int]) -> None:
        self.queue = queue

    def column(self, name: str) -> list[int]:
        return self.queue


def recording(queue: list[int], *, done: bool) -> series.Recording:
    """Returns a port whose queue was sampled every 10 ns."""
    times = [10 * (place + 1) for place in range(len(queue))]
    return series.Recording(Column(queue), times, {"p": {-1: 0}}, 1, frozenset(), done)  # type: ignore[arg-type]


def means(*recordings: series.Recording) -> tuple[int, list[int]]:
    """Returns the time of the means, and the mean of each recording."""
    view = series._view(recordings, ["p"], 1_000_000)
    return view["mean_ns"], [of_design[0]["-1"] for of_design in view["means"]]


def test_mean_queues_are_over_the_same_time():
    # A run that is done has no queues afterwards.
    short, long = recording([40, 80], done=True), recording([10, 20, 30, 40], done=True)
    assert means(short, long) == (40, [30, 25])
    # The queues after the end of a run that was cut off are not known.
    assert means(recording([40, 80], done=False), long) == (20, [60, 15])


def test_mean_queues_are_over_the_time_that_is_shown():
    whole = recording([10, 20, 30, 0, 0, 0], done=True)
    assert means(whole) == (60, [10])
    assert means(whole.cut(30)) == (30, [20])
    # A run that ended within the view is done in the view, too.
    assert means(recording([30], done=True).cut(30), whole.cut(30)) == (30, [10, 20])


def test_the_mean_queue_has_its_period(opened, cut):  # noqa: F811
    view = data_of(cut)["ports"]["views"][0]
    assert view["mean_ns"] == view["end_ns"] == 10_600_000
    page = opened(cut)
    section = page.locator("#ports")
    lead = section.locator(".lead")
    words = "From 0 to 10.6 ms the mean queue at switch0 port 0 → host0 is "
    assert lead.inner_text().startswith(words)
    labels = section.locator(".plot .value").all_inner_texts()
    assert [label.endswith(" up to 10.6 ms") for label in labels] == [True, True]
    section.get_by_label("Whole run", exact=True).check(force=True)
    assert lead.inner_text().startswith(
        "From 0 to 30 ms the mean queue at switch0 port 0 → host0 is "
    )
    page.locator("#tools select").first.select_option("ja")
    assert lead.inner_text().startswith("0～30 ms での switch0 port 0 → host0 の平均キュー長は、")
    assert section.locator(".plot .value").first.inner_text().startswith("30 ms までの平均 ")


def test_a_single_design_and_equal_means_have_their_period(opened, tmp_path):  # noqa: F811
    page = opened(report.write(run(tmp_path, "slow"), tmp_path / "report.html"))
    lead = page.locator("#ports .lead")
    assert lead.inner_text() == (
        "From 0 to 900 µs the mean queue at switch0 port 0 → host0 is 22.8 kB."
    )
    page.locator("#tools select").first.select_option("ja")
    assert lead.inner_text() == (
        "0～900 µs での switch0 port 0 → host0 の平均キュー長は 22.8 kB です。"
    )
    page = opened("incast")
    # Neither design had other traffic to this host.
    page.locator("#ports select").first.select_option(label="switch0 port 6 → host6")
    lead = page.locator("#ports .lead")
    assert lead.inner_text() == (
        "From 0 to 13.2 ms the mean queue at switch0 port 6 → host6 is 0 B with every design."
    )
    page.locator("#tools select").first.select_option("ja")
    assert lead.inner_text() == (
        "0～13.2 ms での switch0 port 6 → host6 の平均キュー長は、どの構成でも 0 B です。"
    )


def test_starts_after_the_end_of_the_run_are_none(tmp_path):
    """A flow whose start is known beforehand has one in the table, although it never started."""
    (tmp_path / "flows.csv").write_text(
        "id,start_ns,src,dst,bytes\n0,0,1,0,1460\n1,1000,2,0,9000000\n2,900000,3,0,1460\n"
    )
    scenario = afflux.Scenario(
        name="late",
        topology={"kind": "star", "hosts": 4, "rate": "1Gbps"},
        traffic=[{"kind": "flows", "file": str(tmp_path / "flows.csv")}],
        run={"until": "500us"},
    )
    result = scenario.run()
    assert result.summary["flows"]["not_started"] == 1
    found = completion._flows(afflux.Design("late", {1: result}))
    assert (found.unfinished.total(), found.not_started.total(), len(found.fct)) == (1, 1, 1)
    listed = listed_flows.of(result)
    assert (listed["flows"], len(listed["kinds"]["unfinished"])) == (2, 1)
