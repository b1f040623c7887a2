"""The first screen of a report: the question, the answer, the figure, the cause, the certainty, and
what would change the answer. Also the differences between scenarios, terms, and rows of studies."""

import ast
import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import reported
from conftest import REPO
from made import design, spread

import afflux
from afflux import report, studies
from afflux.comparison import changes, circumstances, headline
from afflux.comparison.compare import compare
from afflux.files import toml
from afflux.metrics import JOB_TIME, METRICS
from afflux.report import axis, differs, dots, first, heading, markup, published, questions, reasons
from afflux.results.designs import Designs, gather
from afflux.words import Words, sentence

TIMES = [10.0, 12.0, 11.0, 13.0, 14.0]
SLOWDOWN = next(metric for metric in METRICS if metric.name == "slowdown_mean")


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> list[afflux.Result]:
    return reported.incast(tmp_path_factory.mktemp("results"))


def text(shown: str) -> str:
    """Returns the text of HTML as a reader of English sees it."""
    return html.unescape(re.sub(r'<span lang="ja">.*?</span>|<[^>]*>', "", shown)).replace(
        "\N{NO-BREAK SPACE}", " "
    )


# The question.


def test_the_question_says_what_was_simulated(results):
    said = questions.question(gather(results))
    assert said == (
        "Is dctcp better than tail-drop? Simulated: 9 hosts at 10 Gbps on one switch; incast query of 8 senders, 200 kB each and web search flows at a load "
        "of 20 % of the host links (payload); TCP with NewReno or DCTCP; 2 seeds per design."
    )
    assert said.ja == (
        "dctcp は tail-drop より優れているか。条件: スイッチ 1 台にホスト 9 台（10 Gbps）、送信元 8 台のインキャスト query（各 200 kB）、"
        "web search のフロー（ホストリンク（ペイロード）の 20% の負荷）、TCP（NewReno、DCTCP）、構成ごとにシード 2 個。"
    )
    assert questions.question(gather(results[:1])).endswith("TCP with NewReno; seed 1.")


@pytest.mark.parametrize(
    ("matches", "words"),
    [
        (["host0"], "programs on a Linux kernel"),
        (["host[0-2]", "host1,host4"], "programs on 4 Linux kernels"),
        (["host*"], "programs on 9 Linux kernels"),
        (["nowhere*"], "programs on Linux kernels"),
        ([], ""),
    ],
)
def test_programs_on_kernels_are_traffic(matches, words):
    scenario = {"host": {"kernel": [{"match": match} for match in matches]}}
    assert questions._kernels(scenario, [f"host{number}" for number in range(9)]) == words


@pytest.mark.parametrize(
    "path",
    sorted((REPO / "examples").glob("*.toml"))
    + sorted((REPO / "python" / "afflux" / "templates").glob("*.toml")),
    ids=lambda path: path.stem,
)
def test_every_example_has_words(path):
    """Every clause has words other than the name of the block, and no placeholder in braces
    remains."""
    try:
        scenario = toml.with_defaults(afflux.load(path).check().resolved)
    except afflux.ScenarioError:
        pytest.skip("its inputs are not here")
    traffic, transports = questions._traffic(scenario), questions._transports(scenario)
    assert traffic
    assert transports
    assert not re.search(
        r"[{}]|None|traffic\d", f"{traffic} {traffic.ja} {transports} {transports.ja}"
    )


def test_points_of_a_sweep_have_names_for_people():
    assert (
        questions.label("switch.buffer=30packets,switch.ecn.k=8packets").replace(
            "\N{NO-BREAK SPACE}", " "
        )
        == "buffer 30 packets, ecn.k 8 packets"
    )
    assert questions.is_point("switch.buffer=1MB")
    points = [f"switch.buffer={buffer}MB,switch.ecn.k={k}kB" for buffer in (1, 9) for k in (8, 30)]
    designs = Designs(design(questions.label(name), job=TIMES) for name in points)
    assert questions.question(designs) == "Which combination of buffer and ecn.k is best, of 4?"
    assert not questions.is_point("deep,shallow")


# The answer.


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"senders": 8}, "8 senders"),
        ({"senders": 1}, "1 sender"),
        ({"senders": "1-24"}, "24 senders"),
        ({"senders": "1-3, 7"}, "4 senders"),
        ({"senders": [0, 2, 5]}, "3 senders"),
        ({"senders": "leaf0"}, "senders"),
        ({"random_senders": 16}, "16 senders"),
        ({"senders": "srv[1-3,08-12]"}, "8 senders"),
        ({"senders": ["srv[a,b][1-2]", 7]}, "5 senders"),
        ({"senders": [0, 1, 2], "to": 1}, "2 senders"),
        ({"senders": "srv*"}, "senders"),
        ({"senders": 4, "to": [1, 2]}, "4 senders to each of 2 clients"),
        ({"senders": 4, "to": "host[1-3]"}, "4 senders to each of 3 clients"),
    ],
)
def test_senders_are_counted_however_they_are_given(block, words):
    # An earlier version of a page started with "an incast of 1 senders", although 24 hosts sent.
    assert questions._senders(block) == words


def test_hosts_of_patterns_are_counted_by_their_names():
    names = ["db1", "db2", "db10", "web1"]
    counts = {
        "db*": "3 senders",
        "db?": "2 senders",
        "*[1-2]": "3 senders",
        "[db,web]1": "2 senders",
        "all": "senders",
    }
    assert {
        pattern: questions._senders({"senders": pattern}, names) for pattern in counts
    } == counts


def test_each_incast_is_named_once_with_its_width():
    def said(*blocks):
        return questions._traffic(
            {"traffic": [{"kind": "incast", "bytes": "64kB", **block} for block in blocks]}
        )

    assert said({"name": "traffic0", "senders": 16}) == "an incast of 16 senders, 64 kB each"
    assert said({"name": "read", "senders": 16}) == "incast read of 16 senders, 64 kB each"
    blocks = [{"name": f"read{number}", "senders": 2**number} for number in range(3)]
    assert (
        said(*blocks)
        == "incasts read0 of 1 sender, read1 of 2 senders and read2 of 4 senders, 64 kB each"
    )
    assert (
        said(*blocks).ja
        == "インキャスト read0（送信元 1 台）、read1（送信元 2 台）、read2（送信元 4 台）（各 64 kB）"
    )
    assert (
        said({"name": "traffic0", "senders": 4}, {"name": "traffic1", "senders": 8})
        == "incasts incast of 4 senders and traffic1 of 8 senders, 64 kB each"
    )
    assert said(*({"name": f"read{number}", "senders": 4} for number in range(20))).endswith(
        "read6 of 4 senders and 13 more, 64 kB each"
    )
    sizes = said({"name": "a", "senders": 4}, {"name": "b", "senders": 8, "bytes": "1MB"})
    assert sizes == "incast a of 4 senders, 64 kB each and incast b of 8 senders, 1 MB each"


def of(**ratios: tuple[float, float]) -> Designs:
    """Returns designs with job times and prices by name. The first design is the baseline."""
    return Designs(
        design(name, job=[time * ratio for time in TIMES], price=price)
        for name, (ratio, price) in ratios.items()
    )


def test_the_heading_has_the_numbers_in_it():
    found = compare(of(deep=(1.0, 30_000), shallow=(0.5, 12_000)))
    page_answer = heading.of_comparison(found, JOB_TIME)
    assert (
        page_answer.head
        == "shallow has the lower job time: 6.00 ms instead of 12.0 ms with deep, 50 % less, for USD 12,000 instead of 30,000."
    )
    # Each seed has half the time, so there is no interval.
    assert (
        page_answer.facts.sure[0]
        == "All 5 seeds agree on the direction of the difference between shallow and deep."
    )
    assert [str(change) for change in page_answer.facts.change] == [
        "A price of deep below USD 12,000: the better job time would then cost extra.",
        "Not simulated: loads, fabrics and numbers of hosts other than these.",
    ]


def test_prices_are_told_also_where_the_heading_has_none():
    """The price is stated in three cases: no difference is established; no design is better; the
    best costs as much as the baseline."""
    undecided = Designs(
        [
            design("a", job=[10, 12, 11, 13, 14], price=30),
            design("b", job=[12, 10, 13, 11, 14.5], price=12),
        ]
    )
    few = Designs([design("a", job=[10], price=30), design("b", job=[12], price=12)])
    cases = {
        "Cost: USD 12 with b instead of 30, 60 % less.": (undecided, few),
        "Cost: USD 30 with deep, USD 12 with x, USD 15 with y.": (
            of(deep=(1.0, 30), x=(1.5, 12), y=(1.3, 15)),
        ),
        "Cost: USD 30 with deep, USD 30 with marking, USD 12 with shallow.": (
            of(deep=(1.0, 30), marking=(0.5, 30), shallow=(0.8, 12)),
        ),
    }
    for words, every in cases.items():
        for designs in every:
            page_answer = heading.of_comparison(compare(designs), JOB_TIME)
            assert words in [
                *map(str, page_answer.facts.sure),
                *map(str, page_answer.facts.observations),
            ], page_answer
            assert "USD" not in page_answer.head


def test_the_next_best_design_would_change_the_answer():
    page_answer = heading.of_comparison(
        compare(of(deep=(1.0, 1), shallow=(0.8, 1), dctcp=(0.5, 1))), JOB_TIME
    )
    assert page_answer.head.startswith(
        "dctcp has the lowest job time: 6.00 ms instead of 12.0 ms with deep, 50 % less."
    )
    assert (
        page_answer.facts.change[0]
        == "If dctcp is not possible: shallow still has 20 % less than deep."
    )


def test_what_cannot_be_told_has_its_numbers_too():
    designs = Designs(
        [design("a", job=[10, 12, 11, 13, 14]), design("b", job=[12, 10, 13, 11, 14.5])]
    )
    page_answer = heading.of_comparison(compare(designs), JOB_TIME)
    assert (
        page_answer.head
        == "Cannot tell whether b is better than a. The job time is 12.0 to 12.1 ms.".replace(
            " ms", "\N{NO-BREAK SPACE}ms"
        )
    )
    assert page_answer.facts.sure[0].startswith(
        "The job time is 12.1 ms with b and 12.0 ms with a, between "
    )
    assert (
        page_answer.facts.change[0]
        == "More seeds with the same scenarios: they narrow the intervals."
    )
    one = heading.of_comparison(
        compare(Designs([design("a", job=[10]), design("b", job=[12])])), JOB_TIME
    )
    assert (
        one.head
        == "One seed cannot tell a difference from chance. The job time is 10.0 to 12.0 ms.".replace(
            " ms", "\N{NO-BREAK SPACE}ms"
        )
    )
    assert one.facts.change[0] == "Run at least 3 seeds, better 5 or more."
    # A small time beside a long one is not 0.
    apart = heading.of_comparison(
        compare(Designs([design("a", job=[0.248]), design("b", job=[50.2])])), JOB_TIME
    )
    space = "\N{NO-BREAK SPACE}"
    assert apart.head.endswith(f"The job time is 248{space}µs to 50.2{space}ms.")


def test_what_speaks_against_the_answer_would_change_it():
    counts = [
        design("a", unfinished=[5, 6, 7]),
        design("b", unfinished=[500, 600, 700], fct=[1, 1.1, 1.2]),
    ]
    found = compare(Designs(counts))
    page_answer = heading.of_comparison(found, first.main_measure(found.of_name, found))
    assert page_answer.head == "b leaves more flows unfinished: 600 instead of 6 with a, 594 more."
    assert (
        page_answer.facts.change[0]
        == "If the mean completion time of finished flows counts more: with b it is 78 % less than with a."
    )
    shown = dots.figure(
        found.of_name, first.main_measure(found.of_name, found), found, markup.Terms(), ""
    )
    assert "600" in text(shown)
    assert "600.0" not in text(shown)


def test_the_figure_has_a_row_per_design_and_marks_the_best():
    designs = Designs(
        [
            design("deep", job=TIMES, price=30_000),
            design("shallow", job=[5.0, 6.1, 5.4, 6.6, 6.9], price=12_000),
        ]
    )
    found = compare(designs)
    shown = dots.figure(designs, JOB_TIME, found, markup.Terms(), "USD")
    rows = re.findall(r"<tr[^>]*>.*?</tr>", shown, re.S)[1:-1]
    assert [text(row) for row in rows] == [
        "deep12.0 ms10.2–14.2 msbaseline30,000 USD",
        "shallow best mean of the 26.00 ms5.1–7.1 msbetter −50 %−51.0 to −49.0 %12,000 USD",
    ]
    assert rows[1].startswith('<tr class="best"')
    # There is a ring for each seed.
    assert [row.count('<i class="seed"') for row in rows] == [5, 5]
    assert all(0 <= float(place) <= 100 for place in re.findall(r"--x:(-?[\d.]+)%", shown))


def test_a_stack_of_many_rings_has_two_and_the_number_of_the_others():
    drawn = axis.axis([0.0, 10.0], JOB_TIME)
    marks = dots.seed_marks(drawn, [2.0, *[8.0] * 6, *[5.0] * 3], 1.6)
    places = [float(re.search(r"--x:([\d.]+)", mark)[1]) for mark in marks]
    assert re.findall(r'class="(\w+)"', "".join(marks)) == ["seed"] * 6 + ["others"]
    assert 'data-more="4"' in marks[-1]
    assert [places.count(drawn.at(value)) for value in (2.0, 5.0, 8.0)] == [1, 3, 3]


def test_designs_with_the_same_results_share_a_row_and_a_colour():
    same = [f"hash-{seed}" for seed in range(5)]
    designs = Designs(
        [
            design("a", job=TIMES),
            *(design(name, job=TIMES[::-1], hash=same) for name in ("ecn", "pfc")),
        ]
    )
    assert differs.colours(designs) == [0, 1, 1]
    shown = dots.figure(designs, JOB_TIME, compare(designs), markup.Terms(), "")
    assert "ecn, <br>pfc" in shown
    assert "pfc equals ecn in every seed." in text(shown)


def test_many_designs_are_folded():
    names = {f"d{place}": (1.0 + place / 10, 1) for place in range(14)}
    shown = dots.figure(of(**names), JOB_TIME, compare(of(**names)), markup.Terms(), "USD")
    assert "6 more designs" in text(shown)
    assert len(re.findall(r"<tr[^>]* style=", shown)) == 14


# Numbers.


def test_ticks_are_round_and_hold_all_values():
    for low, high in ((5.4e9, 10.6e9), (1.9e6, 3.1e6), (0.0, 1.0), (7.0, 7.0), (-4.7e9, 0.1e9)):
        drawn = axis.axis([low, high], JOB_TIME)
        assert drawn.low <= low <= high <= drawn.high
        assert 2 <= len(drawn.ticks) <= 8
        assert drawn.labels(JOB_TIME)[0][0] == 0
        assert drawn.labels(JOB_TIME)[-1][0] == pytest.approx(100)
    wide = axis.axis([40.0, 2_700.0], SLOWDOWN)
    assert wide.logarithmic
    assert [label for _, label in wide.labels(SLOWDOWN)] == ["30", "100", "300", "1,000", "3,000"]


def test_intervals_are_no_finer_than_their_value_and_have_true_signs():
    assert axis.span(JOB_TIME, 10.92e9, 11.70e9, 11.3e9) == "10.9–11.7\N{NO-BREAK SPACE}s"
    assert (
        axis.span(JOB_TIME, -3.5e9, -1.3e9, 8.5e9, sign=True) == "−3.5 to −1.3\N{NO-BREAK SPACE}s"
    )
    assert (
        axis.span(JOB_TIME, -0.5e9, 0.44e9, 6.2e9, sign=True) == "−0.50 to +0.44\N{NO-BREAK SPACE}s"
    )
    assert axis.number(-0.001, 1) == "0.0"
    assert axis.number(-12_345.6, 0) == "−12,346"


# Differences between scenarios.


def test_only_keys_that_differ_are_shown(results):
    found, following = differs.keys(gather(results))
    shown = {(key.group, key.name): key.values for key in found}
    assert shown == {
        ("switch", "ecn.k"): ("off", "15packets"),
        ("host", "transport.congestion"): ("newreno", "dctcp"),
    }
    assert {"ecn.kmin", "ecn.kmax", "transport.ecn"} <= {key.name for key in following}
    page = differs.section(gather(results), markup.Terms())
    assert "2 keys of the scenario differ" in text(page)
    # The first column marks no differences, because there is no design to its left.
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', page, re.S)
    assert [re.findall(r"<td><(mark|span)>", row) for row in rows[:2]] == [["span", "mark"]] * 2


def test_values_are_written_as_people_read_them():
    shown = {
        "1048576B": "1 MiB",
        "2300ns": "2.3 µs",
        "12345678B": "12,345,678 B",
        "15packets": "15 packets",
        "900Gbps": "900 Gbps",
    }
    assert {
        value: differs.value_of(value).replace("\N{NO-BREAK SPACE}", " ") for value in shown
    } == shown
    assert differs.value_of(None) == "–"


def test_nothing_is_said_of_results_without_scenarios():
    designs = of(deep=(1.0, 1), shallow=(0.5, 1))
    assert differs.keys(designs) is None
    assert differs.section(designs, markup.Terms()) == ""


def test_notes_that_all_designs_share_are_said_once(results, tmp_path):
    page = report.write(results, tmp_path / "report.html").read_text()
    about = text(page[page.index('<section id="about"') : page.index('<section id="terms"')])
    assert about.count("is 20.00 % of a source's link in payload") == 1


# Terms.


def test_terms_that_are_pointed_at_are_defined():
    terms = markup.Terms()
    shown = terms.in_text(Words("ECN and DCTCP, DCTCP", "ECN と DCTCP"))
    assert shown.count('aria-describedby="term-dctcp"') == 2  # once in each language
    listed = terms.listed()
    for key in re.findall(r'aria-describedby="([^"]+)"', shown):
        assert f'<dd id="{key}">' in listed


# Studies.


def _texts(kind: str) -> Iterator[str]:
    """Yields the names of all rows or checks that the studies write, with numbers in place of
    inserted values."""
    for path in sorted((Path(studies.__file__).parent).glob("*/*.py")):
        calls = {"Row": ("Row", "add"), "Check": ("Check", "say")}[kind][
            : 2 if path.parent.name == "longfat" else 1
        ]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in calls
                and node.args
            ):
                name = node.args[0]
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield name.value
                elif isinstance(name, ast.JoinedStr) and any(
                    isinstance(part, ast.Constant) and len(str(part.value)) > 3
                    for part in name.values
                ):
                    yield "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "7"
                        for part in name.values
                    )


@pytest.mark.parametrize("kind", ["Row", "Check"])
def test_rows_and_checks_of_studies_are_in_japanese(kind):
    every = sorted(set(_texts(kind)))
    assert len(every) > 20
    # `connection{'s' if …}` is filled in with a number here.
    names = {
        "7: Mbps": "gigabit, frames of 1500 B, 20 us per packet: Mbps",
        "7: Mbps in 60 s": "CUBIC, 300 ms, loss 1e-4: Mbps in 60 s",
    }
    every = [names.get(name, name) for name in every]
    missing = [
        name
        for name in every
        if not isinstance(sentence(re.sub(r"(connection|pair)7", r"\1s", name)), Words)
    ]
    assert missing == []


def test_sentences_from_elsewhere_are_translated_with_their_numbers():
    said = sentence("leaf-spine, 80 %, lossless: p99 slowdown of short flows, % below ecmp")
    assert (
        said.ja == "リーフ・スパイン、80%、ロスレス: 短いフローのスローダウンのp99、ecmp との差 (%)"
    )
    assert sentence(
        "7 flows from a host to itself finish at their start: they never see the network"
    ).ja.startswith("ホストから自身へのフロー 7 本")
    note = 'traffic[1]: load 0.5 of "fabric_oversub" is 25.00 % of a source\'s link in payload'
    assert (
        sentence(note).ja
        == 'traffic[1]: "fabric_oversub" の負荷 0.5 は、送信元リンクのペイロードで 25.00% にあたります'
    )
    early = "the run ended early, after 1.0 ms: its records came to max_memory, 5 MB; flows that were under way then are unfinished"
    assert "記録がmax_memory（5 MB）に達した" in sentence(early).ja
    assert sentence("nobody knows this one") == "nobody knows this one"


def test_nothing_is_minus_zero():
    assert changes.signed(-1e-12) == "0.0 %"
    assert changes.signed(-0.034) == "−3.4 %"


def test_published_numbers_stand_beside_ours():
    rows = [
        published.Published(
            "web search, load 0.6, all flows, average, pFabric", 2.0, 2.2, 1.9, 2.5
        ),
        published.Published("least", 10.0, 12.0, at_least=True),
        published.Published("ours alone", None, -3.5),
        published.Published("alike", 95.64, 95.63),
    ]
    terms = markup.Terms()
    figure = text(published.figure(rows, terms))
    assert "2.20" in figure
    assert "+10 % inside the interval" in figure
    assert "reached" in figure
    assert "ours alone" not in figure
    assert "95.60.0" in figure
    assert "−0.0" not in figure
    table = text(published.section(rows, terms))
    assert "ours alone−3.50––" in table
    assert "負荷 0.6" in published.section(rows, terms)
    checks = published.checks(
        [
            published.Held("median error under traffic", True, 0.0339, 0.06),
            published.Held("x", False, 1, 2),
        ]
    )
    assert "1 of 2 checks hold." in text(checks)
    assert 'chip good"><span lang="en">holds' in checks
    assert 'chip bad"><span lang="en">does not' in checks
    assert "0.034, bar 0.06" in text(checks)


def test_why_shows_the_wait_that_the_answer_names(monkeypatch):
    """If more is better, as for goodput, the cause is still the waiting time that fell."""
    waits = {"a": {"queueing": 1e6, "recovery": 5e6}, "b": {"queueing": 2e6, "recovery": 1e5}}

    def waiting(
        result: afflux.Result, observations: afflux.Result | None = None
    ) -> dict[str, float]:
        return {
            wait: spread(middle, 0.01)[result.summary["seed"] - 1]
            for wait, middle in waits[result.summary["name"]].items()
        }

    monkeypatch.setattr(circumstances, "waiting", waiting)
    found = compare(
        Designs([design("a", goodput=spread(5, 0.1)), design("b", goodput=spread(90, 0.1))]), None
    )
    lead = headline.lead(found)
    assert lead is not None
    assert (lead.metric.name, lead.fell) == ("goodput_bps", False)
    assert "less time in loss recovery" in circumstances.causes(found, lead)
    cause = heading._cause(found, lead)
    assert cause is not None
    assert cause.name == "wait.recovery"


def test_bars_of_many_designs_have_the_chosen_one():
    made = Designs(
        [
            design(f"d{number}", job=100.0 * value)
            for number, value in enumerate([9, 3, 5, 7, 8, 1, 6])
        ]
    )
    assert re.findall(r"d\d", text(reasons.bars(made, JOB_TIME, "d1"))) == [
        "d0",
        "d1",
        "d3",
        "d4",
        "d5",
    ]
    five = Designs(list(made.values())[:5])
    assert re.findall(r"d\d", text(reasons.bars(five, JOB_TIME))) == ["d0", "d1", "d2", "d3", "d4"]


def test_the_choice_and_the_baseline_are_never_folded():
    names = {f"d{place}": (1.0 + place / 10, 1) for place in range(14)}
    designs = of(**names)
    found = compare(designs, baseline="d12")
    shown = dots.figure(designs, JOB_TIME, found, markup.Terms(), "USD", "d13")
    before, _, folded = shown.partition("<details>")
    assert "4 more designs" in text(folded)
    for name in ("d12", "d13"):
        assert f"<span>{name}" in before
    assert "the choice" in text(before)
    assert len(re.findall(r"<tr[^>]* style=", shown)) == 14
