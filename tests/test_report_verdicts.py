"""Verdicts, intervals and numbers of the report agree with each other and with its sentences."""

import html
import re
from dataclasses import replace

import pytest
from made import Made, compare, design, spread, summary

import afflux
from afflux import metrics
from afflux.comparison import headline
from afflux.comparison.compare import Comparison
from afflux.comparison.paired import UNCLEAR, Difference
from afflux.metrics import COST, JOB_TIME, METRICS, Metric
from afflux.report import (
    axis,
    dots,
    heading,
    markup,
    measures,
    reasons,
)
from afflux.words import Words, say

BY_NAME = {metric.name: metric for metric in METRICS}


def text(shown: str, language: str = "en") -> str:
    """Returns the text of HTML as a reader of this language sees it."""
    other = "ja" if language == "en" else "en"
    return html.unescape(re.sub(rf'<span lang="{other}">.*?</span>|<[^>]*>', "", shown)).replace(
        "\N{NO-BREAK SPACE}", " "
    )


def row(found: Comparison, metric: Metric, name: str, language: str = "en") -> str:
    """Returns the last cells of a design in the figure of the first screen: verdict and interval."""
    shown = dots.figure(found.of_name, metric, found, markup.Terms(), "")
    (cell,) = [
        re.search(r'<td class="vs">(.*?)</td>', line, re.S)[1]
        for line in re.findall(r"<tr[^>]*>.*?</tr>", shown, re.S)
        if f"<span>{name}" in line
    ]
    return text(cell, language)


def table(found: Comparison, *, metrics: list[Metric], asked: list[Metric] | None = None) -> str:
    return measures.section(
        found.of_name,
        found,
        markup.Terms(),
        metrics=metrics,
        asked=asked or [],
        currency="",
        lead="",
    )


def difference(found: Comparison, metric: Metric) -> Difference:
    return next(d for d in found.differences if d.metric.name == metric.name)


# Intervals stand beside the verdicts that follow from them.


def test_the_interval_is_that_of_the_verdict():
    """The ratios differ clearly from 1, and the interval of the differences includes 0."""
    found = compare(
        design("a", job=[1.0, 1.0, 1.0, 1.0, 40.0]), design("b", job=[0.5, 0.6, 0.4, 0.5, 20.0])
    )
    d = difference(found, JOB_TIME)
    assert d.low is not None
    assert d.high is not None
    assert d.low < 0 < d.high
    assert d.ratio_high is not None
    assert d.ratio_high < 1
    assert row(found, JOB_TIME, "b") == "better −50 %−58.5 to −40.7 %"
    assert row(found, JOB_TIME, "b", "ja") == "改善 −50 %−58.5～−40.7 %"


def test_an_interval_of_no_verdict_includes_no_change():
    """The interval of the differences does not include 0, and that of the ratios includes 1."""
    goodput = BY_NAME["goodput_bps"]
    found = compare(
        design("a", goodput=[0.1, 5.0, 5.0, 5.0, 5.0]),
        design("b", goodput=[5.1, 10.0, 9.0, 10.0, 9.0]),
    )
    d = difference(found, goodput)
    assert d.low is not None
    assert d.low > 0
    assert d.ratio_low is not None
    assert d.ratio_low < 1
    assert row(found, goodput, "b") == "cannot tell−41.1 % to ×22.8"
    assert row(found, goodput, "b", "ja") == "判断できない−41.1 %～×22.8"


def test_means_that_contradict_a_clear_interval_are_named():
    """Nine seeds are faster, and the tenth makes the mean slower."""
    found = compare(
        design("a", job=[1.0] * 9 + [10.0]), design("b", job=[0.5] * 5 + [0.4] * 4 + [16.0])
    )
    assert difference(found, JOB_TIME).verdict == UNCLEAR
    assert row(found, JOB_TIME, "b") == "cannot tell−61.8 to −30.9 %the means say otherwise"
    assert row(found, JOB_TIME, "b", "ja") == "判断できない−61.8～−30.9 %平均の差は逆向き"


def test_counts_have_the_interval_of_their_difference():
    found = compare(
        design("a", unfinished=[50, 52, 54, 51, 53]), design("b", unfinished=[10, 11, 12, 10, 14])
    )
    metric = BY_NAME["unfinished"]
    assert row(found, metric, "b") == "better −40.60−42.0 to −39.2"
    assert row(found, metric, "b", "ja") == "改善 −40.60−42.0～−39.2"


def test_prices_and_marks_are_not_called_alone():
    """A price is certain. Marks that differ clearly are not judged with the main measures."""
    found = compare(
        design("a", price=30.0, marks=spread(100, 0.1)),
        design("b", price=12.0, marks=spread(200, 0.1)),
    )
    assert row(found, COST, "b") == "lower −60 %"
    assert row(found, BY_NAME["ecn_marks"], "b").startswith("higher +100.3, alone")


def test_seeds_are_drawn_in_the_unit_of_the_verdict():
    found = compare(
        design("a", job=[1.0, 1.0, 1.0, 1.0, 40.0]), design("b", job=[0.5, 0.6, 0.4, 0.5, 20.0])
    )
    strip = reasons.strip(found, difference(found, JOB_TIME), 1)
    assert text(strip) == "b against a, seed by seed−60 %−40 %−20 %0"
    assert text(strip, "ja").startswith("a に対する b の変化（シードごと）")
    places = {
        kind: [float(x) for x in re.findall(rf'class="{kind}" style="--x:([\d.]+)%', strip)]
        for kind in ("zero", "mean", "ci", "seed")
    }
    # The axis reaches from a ratio of 0.4 to 1.
    at = {
        ratio: pytest.approx(100 * (ratio - 0.4) / 0.6, abs=0.01) for ratio in (0.4, 0.5, 0.6, 1.0)
    }
    assert places["zero"] == [at[1.0]]
    assert places["seed"] == [at[0.4], at[0.5], at[0.5], at[0.5], at[0.6]]
    # Both ends of the interval are on the same side of no change as the verdict.
    assert float(re.search(r"--w:([\d.]+)%", strip)[1]) + places["ci"][0] < 100
    counts = compare(
        design("a", unfinished=[50, 52, 54, 51, 53]), design("b", unfinished=[10, 11, 12, 10, 14])
    )
    strip = reasons.strip(counts, difference(counts, BY_NAME["unfinished"]), 1)
    assert text(strip).startswith("b minus a, seed by seed")


def test_wide_ratios_are_drawn_on_a_logarithmic_axis():
    found = compare(design("a", job=[1.0] * 5), design("b", job=[0.1, 0.5, 1.0, 4.0, 30.0]))
    strip = reasons.strip(found, difference(found, JOB_TIME), 1)
    assert text(strip).startswith("b against a, seed by seed; logarithmic scale−")
    assert "×" in text(strip)
    assert all(-1 <= float(x) <= 101 for x in re.findall(r"--x:(-?[\d.]+)%", strip))


@pytest.mark.parametrize(
    ("ratios", "en", "ja"),
    [
        (
            [0.5, 0.51, 0.49, 0.5, 0.5],
            "All 5 seeds agree: the job time is 49 to 51 % less with b than with a (95 % interval).",
            "5 個のシードすべてで一致: ジョブ所要時間は b の方が a より 49～51% 小さくなります（95% 信頼区間）。",
        ),
        (
            [1.5, 1.51, 1.49, 1.5, 1.5],
            "All 5 seeds agree: the job time is 49 to 51 % more with b than with a (95 % interval).",
            "5 個のシードすべてで一致: ジョブ所要時間は b の方が a より 49～51% 大きくなります（95% 信頼区間）。",
        ),
        (
            [4.0, 4.4, 3.6, 4.0, 4.2],
            "All 5 seeds agree: the job time is 3.7 to 4.4 times as much with b as with a (95 % interval).",
            "5 個のシードすべてで一致: ジョブ所要時間は b では a の 3.7～4.4 倍です（95% 信頼区間）。",
        ),
        (
            [0.004, 0.005, 0.006, 0.005, 0.005],
            "All 5 seeds agree: the job time is 99 to 99.6 % less with b than with a (95 % interval).",
            "5 個のシードすべてで一致: ジョブ所要時間は b の方が a より 99～99.6% 小さくなります（95% 信頼区間）。",
        ),
        (
            [0.5] * 5,
            "All 5 seeds agree on the direction of the difference between b and a.",
            "b と a の差の向きは、5 個のシードすべてで一致します。",
        ),
    ],
)
def test_the_seeds_agree_within_the_interval_of_the_ratio(ratios, en, ja):
    # One slow seed keeps the interval of the differences wide.
    times = [1.0, 1.0, 1.0, 1.0, 40.0]
    found = compare(
        design("a", job=times),
        design("b", job=[time * ratio for time, ratio in zip(times, ratios, strict=True)]),
    )
    (said,) = heading.of_comparison(found, JOB_TIME).facts.sure
    assert said == en
    assert said.ja == ja


def test_seeds_that_do_not_agree_are_counted():
    more = [7.0, 7.5, 6.5, 7.0, 6.9, 7.1, 0.95]
    found = compare(design("a", job=[1.0] * 7), design("b", job=more))
    (said,) = heading.of_comparison(found, JOB_TIME).facts.sure
    assert said == (
        "6 of 7 seeds agree: the job time is 2.6 to 11 times as much with b as with a (95 % interval)."
    )
    assert said.ja == (
        "7 個のシードのうち 6 個で一致: ジョブ所要時間は b では a の 2.6～11 倍です（95% 信頼区間）。"
    )


# Verdicts outside the family that is judged together.


def test_a_metric_outside_the_family_is_judged_alone():
    """Slowdown p99.9 is not a main measure, so it is never judged with the others."""
    p999 = BY_NAME["fct_p999_ns"]
    made = [_with_p999("a", spread(20, 0.05)), _with_p999("b", spread(10, 0.05))]
    found = compare(*made)
    d = difference(found, p999)
    assert d.established is None
    assert d.verdict == "better"
    chip = measures.verdict(d, found)
    assert chip.startswith('<span class="chip open">')
    assert text(chip) == "better −50 %, alone"
    assert text(chip, "ja") == "単独では改善 −50 %"
    terms = markup.Terms()
    shown = measures.section(
        found.of_name, found, terms, metrics=[p999], asked=[], currency="", lead=""
    )
    assert text(shown).endswith("better −50 %, alone")
    assert "alone" in terms.used
    definition = say("term.alone")
    assert definition == (
        "Clear when this difference is judged by itself, but not established: either it does not hold when all main "
        "measures of all designs are judged together (Holm), or its measure is none of them."
    )
    assert definition.ja == (
        "その差だけを見れば明確だが、確定はしないもの。全構成の主な指標をまとめて判定（Holm 法）すると成り立たないか、主な指標ではありません。"
    )


def _with_p999(name: str, values: list[float]) -> afflux.Design:
    """Returns a design with a p99.9 of completion times in ms."""
    results = {}
    for seed, value in enumerate(values, 1):
        made = summary(name, seed)
        made["fct"]["all"]["p999_ns"] = value * 1e6
        results[seed] = Made(made)
    return afflux.Design(name, results)  # type: ignore[arg-type]


def test_a_deterministic_difference_is_exact():
    made = []
    for name, value in (("a", 20.0), ("b", 10.0)):
        one = _with_p999(name, [value] * 3)
        for result in one.results.values():
            result.summary["result_hash"] = name
        made.append(one)
    found = compare(*made)
    d = difference(found, BY_NAME["fct_p999_ns"])
    assert d.deterministic
    assert d.established is None
    chip = measures.verdict(d, found)
    assert chip.startswith('<span class="chip good">')
    assert text(chip) == "better −50 %, exact"


# Counts.


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ([0, 0, 0, 1, 0], "0.200.00–0.76"),
        ([1, 5, 2, 3, 10], "4.201–16"),
        ([9, 10, 9, 10, 10], "9.608.9–10.3"),
        ([2, 2, 2, 2, 2], "2"),
        ([900, 910, 905, 915, 917], "909901–918"),
        ([0, 0, 0, 0, 0], "0"),
    ],
)
def test_means_of_counts_have_the_digits_of_the_sentences(counts, shown):
    metric = BY_NAME["timeouts"]
    value = design("a", timeouts=counts).value(metric)
    assert text(measures.value(metric, value)) == shown
    assert shown.startswith(metric.brief(value.mean))


def test_counts_of_the_first_screen_are_those_of_the_sentences():
    found = compare(
        design("a", unfinished=[0, 0, 0, 1, 0]), design("b", unfinished=[1, 2, 0, 4, 5])
    )
    shown = text(dots.figure(found.of_name, BY_NAME["unfinished"], found, markup.Terms(), ""))
    assert "a0.200.00–0.76" in shown
    assert "b2.40" in shown
    assert axis.short(BY_NAME["drops"], 12.6) == "12.6"
    # The unit and the number of digits are those of the rounded value.
    shown = [axis.short(BY_NAME["fct_mean_ns"], ns) for ns in (999_999.6, 999_400, 9_996)]
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in shown] == [
        "1.00 ms",
        "999 µs",
        "10.0 µs",
    ]


# Too few seeds.


def test_too_few_seeds_are_said_with_the_change():
    found = compare(design("a", job=[12.0]), design("b", job=[6.0]))
    chip = measures.verdict(difference(found, JOB_TIME), found)
    assert text(chip) == "too few seeds −50 %"
    assert text(chip, "ja") == "シード不足 −50 %"
    assert row(found, JOB_TIME, "b") == "too few seeds −50 %"


def test_a_change_that_the_cells_do_not_give_is_not_shown():
    """Design b has the metric with one seed only, and the cell of a is the mean of five."""
    found = compare(
        design("a", job=[5.4, 5.8, 5.6, 5.9, 5.8]), design("b", job=[3.72, None, None, None, None])
    )
    d = difference(found, JOB_TIME)
    assert d.share == pytest.approx(-0.31, abs=0.002)
    assert text(measures.verdict(d, found)) == "too few seeds"
    assert text(measures.verdict(d, found), "ja") == "シード不足"
    shown = text(table(found, metrics=[JOB_TIME]))
    assert shown.endswith("5.70 ms5.45–5.96baseline3.72 mstoo few seeds")
    # Counts without a share: the amount is compared.
    counts = compare(design("a", unfinished=[0]), design("b", unfinished=[4]))
    chip = measures.verdict(difference(counts, BY_NAME["unfinished"]), counts)
    assert text(chip) == "too few seeds +4"


# Sentences that refer to each other.


def test_a_sentence_stays_with_those_that_refer_to_it():
    slowdowns = [50, 52, 47, 55, 49.0]
    parts = [0.9, 0.7, 0.8, 0.64, 0.94]
    found = compare(
        design("a", job=spread(10, 0.1), slow99=slowdowns, p99=[20, 21, 19, 20, 22.0]),
        design(
            "b",
            job=spread(8.8, 0.3)[::-1],
            slow99=[value * part for value, part in zip(slowdowns, parts, strict=True)],
            p99=[18.4, 14.7, 15.2, 12.8, 20.68],
        ),
    )
    page = heading.of_comparison(found, JOB_TIME)
    said = [str(words) for words, _ in headline.parts(found)][1:]
    assert [*page.facts.sure, *page.facts.observations] == said
    # Each column begins with a sentence that refers to no other one.
    beginnings = ["The job time is ", "About ", "Judged alone, the p99 slowdown is clear: "]
    beginnings += ["About ", "The same holds for p99 completion time (21 % less)."]
    assert len(said) == len(beginnings)
    assert all(map(str.startswith, said, beginnings))
    assert page.facts.sure == said[:2]
    assert page.facts.observations == said[2:]
    assert page.rest == []
    japanese = [words.ja for words in page.facts.observations]
    assert japanese[0].startswith("単独で見ればスローダウンの p99の差は明確です: ")
    assert re.fullmatch(r"あと約 \d+ 個のシードで判断できる見込みです。", japanese[1])
    assert japanese[2] == "次も同様です: 完了時間の p99（21% 減）。"


def test_a_long_sentence_is_folded_with_those_that_belong_to_it(monkeypatch):
    monkeypatch.setattr(heading, "_LONG", 190)
    times = [10, 12, 11, 13, 14.0]
    slowdowns = [50, 52, 47, 55, 49.0]
    parts = [0.9, 0.7, 0.8, 0.64, 0.94]
    found = compare(
        design("a", job=times, slow99=slowdowns),
        design(
            "b",
            job=times[::-1],
            slow99=[value * part for value, part in zip(slowdowns, parts, strict=True)],
        ),
    )
    page = heading.of_comparison(found, JOB_TIME)
    assert page.rest[0].startswith("Judged alone, the p99 slowdown is clear: ")
    assert page.rest[1].startswith("About ")
    assert not any(words.startswith("About ") for words in page.facts.observations)


@pytest.mark.parametrize(
    ("lengths", "shown"), [([1, 1, 1, 1], 3), ([3, 1], 1), ([1, 3, 1], 2), ([2, 2, 2], 2), ([], 0)]
)
def test_a_group_that_begins_within_the_limit_is_shown_whole(lengths, shown):
    groups = [[Words("x", "x")] * length for length in lengths]
    assert heading._fitting(groups) == (groups[:shown], groups[shown:])


# Terms.


def test_no_verdict_is_defined_by_the_interval_that_is_shown():
    assert say("term.unclear") == (
        "The 95 % interval of the ratio, for counts that of the difference, includes no change, or the means point "
        "the other way: these seeds do not tell the difference from chance."
    )
    assert say("term.unclear").ja == (
        "比（個数は差）の 95% 信頼区間が「変化なし」を含むか、平均の差が逆向きで、これらのシードでは偶然と区別できません。"
    )


def test_the_time_of_any_job_is_described():
    found = compare(design("a", job=TIMES), design("b", job=TIMES))
    shown = table(found, metrics=[JOB_TIME])
    assert "Job timefrom submission or first flow to the end of the last flow or step" in text(
        shown
    )
    assert "投入または最初のフローの開始から、最後のフローまたは段階の終了まで" in shown
    assert say("term.job_time") == (
        "Time from the submission of a job, or from the start of its first flow, to the end of its last flow or step."
    )
    assert say("term.job_time").ja == (
        "ジョブの投入または最初のフローの開始から、最後のフローまたは段階の終了までの時間。"
    )


TIMES = [10.0, 12.0, 11.0, 13.0, 14.0]


def test_names_of_classes_and_blocks_keep_their_case():
    """A title that begins with a name is not capitalized; that of all flows is."""
    of_class = replace(metrics.named("class.c1.fct_mean_ns"), whole=None)
    for metric in (of_class, metrics.named("job.sort.p99_ns")):
        for words in (measures.title(metric), dots.capital_of(metric)):
            assert words == metric.title
            assert words.startswith(f"{metric.group}: ")
            assert words.ja.startswith(f"{metric.group}: ")
    named = dots.capital_of(metrics.named("class.c1.fct_mean_ns"))
    assert named == "Mean completion time of c1"
    whole = metrics.named("drops")
    assert measures.title(whole) == dots.capital_of(whole) == "Queue drops"
