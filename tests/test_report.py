"""The HTML report: its content, and its function in a real browser."""

import hashlib
import html
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
import reported
from conftest import REPO
from reported import data_of

import afflux
from afflux import report
from afflux.comparison import headline, phrases
from afflux.metrics import COST, MAIN
from afflux.report import series
from afflux.results.statistics import quantile

BUILT = REPO / "python" / "afflux" / "report" / "built"
SOURCES = REPO / "report"


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> list[afflux.Result]:
    return reported.incast(tmp_path_factory.mktemp("results"))


def heading(page: str) -> str:
    """Returns the English heading as text."""
    shown = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.S)[1]
    return html.unescape(re.sub(r'<span lang="ja">.*?</span>|<[^>]*>', "", shown)).replace(
        "\N{NO-BREAK SPACE}", " "
    )


def test_everything_is_inside(results, tmp_path):
    page = report.write(results, tmp_path / "report.html")
    text = page.read_text()
    assert not re.search(r'(src|href)="(?!#|data:)', text)
    assert "default-src 'none'" in text
    # The page without its data is smaller than 1 MB.
    assert len(text) - len(re.search(r'id="data">([^<]*)', text)[1]) < 1_000_000
    assert "tail-drop" in re.search(r'<p class="question">(.*?)</p>', text)[1]
    assert "chance" in heading(text)
    assert report.write(results, tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_the_answer_can_be_given(results, tmp_path):
    table = report.Table("Ours & theirs", ["", "a <b>"], [["job time", "1 s (0.5 s – 2 s)"]])
    text = report.write(
        results[:1],
        tmp_path / "report.html",
        answer="Buy <shallow>.",
        tables=[table],
        title="Buffers",
        notes=["Mind."],
    ).read_text()
    for words in (
        "Buy &lt;shallow&gt;.",
        "Ours &amp; theirs",
        "a &lt;b&gt;",
        "<h1>Buy",
        '<p class="kicker">Buffers</p>',
        "Mind.",
        "1 s <small>",
    ):
        assert words in text
    alone = results[0].report(tmp_path / "alone.html").read_text()
    assert heading(alone).startswith("With tail-drop the job time is ")
    assert "One seed shows one draw of the traffic" in alone


def test_designs_are_judged_beside_the_answer(scenario, tmp_path):
    # One buffer holds nine packets, the other one all data of eight senders.
    results = []
    for name, buffer in (("narrow", "9packets"), ("wide", "4000packets")):
        built = afflux.load(
            scenario(
                ('name = "small"', f'name = "{name}"'),
                ("30packets", buffer),
                ("rounds = 3", "rounds = 2"),
                name=f"{name}.toml",
            )
        )
        results += [built.run(seed=seed) for seed in range(1, 6)]
    page = report.write(results, tmp_path / "r.html").read_text()
    found = afflux.compare(results)
    lead = headline.lead(found)
    assert heading(page).startswith(f"wide has the lower {phrases.what_of(lead.metric)}: ")
    # The figure has a row with the verdict for each design, and marks the chosen one.
    rows = re.findall(
        r"<tr[^>]*>.*?</tr>", re.search(r'<table class="dots.*?</table>', page, re.S)[0], re.S
    )
    (best,) = [row for row in rows if row.startswith('<tr class="best"')]
    assert "wide" in best
    assert re.search(r'<span class="chip good"><span lang="en">better −\d+', best)
    assert re.search(r"−[\d.]+ to −[\d.]+", best)
    # The table of measures has the verdicts of `compare`. Counts have no verdict.
    table = re.search(r'<table class="grid measures">.*?</table>', page, re.S)[0]
    of_metric = {}
    for row in re.findall(r'<tr><th scope="row">.*?</tr>', table, re.S):
        title = re.sub(
            r'<small>.*|<span lang="ja">.*?</span>', "", re.search(r"<th[^>]*>(.*?)</th>", row)[1]
        )
        of_metric[re.sub(r"<[^>]*>", "", title).casefold()] = row
    assert {d.metric.title.casefold() for d in found.differences} == set(of_metric)
    for d in found.differences:
        row = of_metric[d.metric.title.casefold()]
        if d.metric.counter and d.metric not in MAIN:
            assert "chip" not in row
        elif d.needed:
            assert re.search(r"needs (100 flows|1,000 flows|100 jobs) per run", row)
            assert "chip" not in row
        elif d.metric is not COST:
            assert f'<span lang="en">{d.verdict}' in row
            assert ("chip good" in row) is bool(d.verdict == "better" and d.established)
            assert (", alone" in row) is (d.clear and not d.established)
    assert "改善" in of_metric[lead.metric.title.casefold()]


def test_one_result_of_several_seeds_is_said(scenario, tmp_path):
    built = afflux.load(
        scenario(("senders = 8", "senders = 1"), ('jitter = "1us"', 'jitter = "0us"'))
    )
    results = [built.run(seed=seed) for seed in (1, 2, 3)]
    assert len({result.summary["result_hash"] for result in results}) == 1
    page = report.write(results, tmp_path / "r.html").read_text()
    assert "Every seed gives the same result, so one run says all." in page


def test_lines_are_drawn_above_the_table(results, tmp_path):
    series = {
        "a<b": [(0.1, 1.0), (0.5, 3.0), (0.8, 40.0)],
        "beside": [(0.1, 2.0)],
        "far": [(0.1, 33.0), (0.5, 31.0), (0.8, 47.0)],
    }
    page = report.write(
        results,
        tmp_path / "r.html",
        answer="x",
        figures=[report.Lines("Mice & co", "load", "times", series, most=10.0)],
    ).read_text()
    assert (
        page.index("<h1>x</h1>")
        < page.index("Mice &amp; co")
        < page.index('<section id="measures"')
    )
    (way,) = re.findall(r'<path d="M([^"]+)" style="stroke:var\(--series-0\)', page)
    places = [tuple(map(float, point.split())) for point in way.split("L")]
    # A value beyond the axis is drawn at the end of the axis and listed below.
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert places[0][1] > places[1][1] > places[2][1] == 0
    assert page.count('class="dot"') == 7
    # Many such values are summarised as a range, for lack of space.
    assert re.search(r"Above the axis: a&lt;b 40[.0]* \(0\.8\); far 31[.0]* – 47[.0]*", page)
    assert "目盛りの上端を超える値" in page
    # Names are at the ends of their lines and do not overlap.
    heights = sorted(float(y) for y in re.findall(r'class="line-name" style="--y:([\d.]+)%', page))
    assert all(after - before >= 8 for before, after in pairwise(heights))


def test_completion_times_are_those_of_the_flows(results, tmp_path):
    data = data_of(report.write(results, tmp_path / "report.html"))
    first = data["completion"]["designs"][0]
    flows = [
        flow
        for result in results[:2]
        for flow in zip(result.flows["bytes"], result.flows["slowdown"], strict=True)
        if flow[1] is not None
    ]
    assert sum(first["count"]) == len(flows)
    for (low, high), count, p50 in zip(
        data["completion"]["sizes"], first["count"], first["slowdown"]["p50"], strict=True
    ):
        of_class = sorted(slowdown for size, slowdown in flows if low <= size <= high)
        assert len(of_class) == count
        if of_class:
            assert p50 == pytest.approx(quantile(of_class, 0.5), rel=1e-4)
    cdf = data["completion"]["cdf"]["slowdown"]
    assert cdf["below"][0][-1] == cdf["flows"][0] == len(flows)
    at = len(cdf["x"]) // 2
    assert cdf["below"][0][at] == sum(slowdown <= cdf["x"][at] for _, slowdown in flows)


def port_of(result: afflux.Result, name: str) -> list[dict]:
    """Returns the rows of a port, directly from the table."""
    names = result.ports.column_names
    rows = (
        dict(zip(names, row, strict=True))
        for row in zip(*(result.ports[column] for column in names), strict=True)
    )
    return [row for row in rows if f"{row['node']} port {row['port']} → {row['peer']}" == name]


def test_series_are_those_of_the_table(results, tmp_path):
    ports = data_of(report.write(results, tmp_path / "report.html"))["ports"]["views"][0]
    assert ports["bucket_ns"] == 100_000
    # The port with the most drops comes first: the one to the receiver.
    assert ports["ports"][0]["name"] == "switch0 port 0 → host0"
    shown, rows = (
        ports["ports"][0]["series"][0]["-1"],
        port_of(results[0], ports["ports"][0]["name"]),
    )
    for metric, (column, _) in series.COLUMNS.items():
        values = [row[column] for row in rows]
        assert shown.get(metric, []) + [0] * (len(values) - len(shown.get(metric, []))) == values, (
            metric
        )
    assert any(shown["drops"])
    # A finished run has no queues, so its line ends there.
    first = [result for result in results if result.summary["seed"] == 1]
    assert ports["lasted"] == [len(set(result.ports["time_ns"])) for result in first]


def test_downsampling_keeps_sums_and_extremes(results, tmp_path, monkeypatch):
    monkeypatch.setattr(series, "BUCKETS", 20)
    ports = data_of(report.write(results, tmp_path / "report.html"))["ports"]["views"][0]
    assert ports["buckets"] <= 20
    assert ports["bucket_ns"] % 100_000 == 0
    shown, rows = (
        ports["ports"][0]["series"][0]["-1"],
        port_of(results[0], ports["ports"][0]["name"]),
    )
    assert sum(shown["drops"]) == sum(row["drops"] for row in rows)
    assert sum(shown["tx_bytes"]) == sum(row["tx_bytes"] for row in rows)
    for place, highest in enumerate(shown["queue_max"]):
        inside = [
            row
            for row in rows
            if place * ports["bucket_ns"] < row["time_ns"] <= (place + 1) * ports["bucket_ns"]
        ]
        assert highest == max(row["queue_bytes_max"] for row in inside)
        lowest = shown.get("queue_min", [])
        assert (lowest[place] if place < len(lowest) else 0) == min(
            row["queue_bytes"] for row in inside
        )


def test_many_queues_share_the_room(results, tmp_path, monkeypatch):
    whole = data_of(report.write(results, tmp_path / "report.html"))["ports"]["views"][0]["buckets"]
    monkeypatch.setattr(series, "FEWEST", 10)
    # There are 9 ports in each of two designs.
    monkeypatch.setattr(series, "VALUES", 20 * 2 * 9 * len(series.COLUMNS))
    found = data_of(report.write(results, tmp_path / "report.html"))["ports"]["views"][0]["buckets"]
    assert 10 <= found <= 20 < whole


def test_many_ports_are_chosen_from(results, tmp_path, monkeypatch):
    monkeypatch.setattr(series, "PORTS", 3)
    ports = data_of(report.write(results, tmp_path / "report.html"))["ports"]
    assert (len(ports["views"][0]["ports"]), ports["recorded"]) == (3, 9)


def test_what_was_not_recorded_is_left_out(scenario, tmp_path):
    bare = afflux.load(
        scenario(('ports = { interval = "100us" }', ""), ("paths = true", "explain = false"))
    ).run()
    data = data_of(bare.report(tmp_path / "report.html"))
    assert data["ports"] is None
    assert data["split"] is None
    assert data["completion"] is not None


def test_command(command, scenario, tmp_path):
    assert command("run", scenario()).returncode == 0
    done = command("report", "out/small-1", "-o", "r/report.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r/report.html").is_file()
    done = command("report", "out/nothing", "-o", "other.html")
    assert done.returncode == 2
    assert "out/nothing is not a result directory" in done.stderr
    assert not (tmp_path / "other.html").exists()


def test_only_an_older_page_is_replaced(command, scenario, tmp_path):
    assert command("run", scenario()).returncode == 0
    (tmp_path / "page.html").touch()
    for _ in range(2):
        done = command("report", "out/small-1", "-o", "page.html")
        assert done.returncode == 0, done.stderr
    # Possible mistakes: the scenario's file name instead of a page, and a page of another program.
    for name, text in (
        ("small.toml", scenario().read_text()),
        ("theirs.html", "<!doctype html>\n<title>notes</title>"),
    ):
        (tmp_path / name).write_text(text)
        done = command("report", "out/small-1", "-o", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert (
            f"{name} exists and is not a report of afflux: choose another name, or --force to replace it"
            in done.stderr
        )
        assert (tmp_path / name).read_text() == text
        assert command("report", "out/small-1", "-o", name, "--force").returncode == 0
        assert report.is_page(tmp_path / name)


def test_built_files_say_they_are_up_to_date():
    names = [
        "../python/afflux/words/words.json",
        "build.mjs",
        "package-lock.json",
        "package.json",
        "tsconfig.json",
    ]
    names += [f"src/{path.name}" for path in (SOURCES / "src").iterdir()]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(f"{name}\0".encode() + (SOURCES / name).read_bytes() + b"\0")
    for name in ("report.js", "style.css"):
        assert f"sources {digest.hexdigest()}" in (BUILT / name).read_text()[:200], (
            f"{name} is older than report/: run npm ci and npm run build there"
        )


def test_building_gives_the_built_files(tmp_path):
    if not (SOURCES / "node_modules").is_dir():
        pytest.skip("needs the tools of report/: run npm ci --ignore-scripts there")
    checkout = tmp_path / "checkout"
    shutil.copytree(SOURCES, checkout / "report", symlinks=True)
    words = Path("python/afflux/words/words.json")
    (checkout / words.parent).mkdir(parents=True)
    shutil.copy(REPO / words, checkout / words)
    subprocess.run(
        ["npm", "run", "build"],
        cwd=checkout / "report",
        check=True,
        capture_output=True,
        timeout=300,
    )
    for name in ("report.js", "style.css"):
        assert (checkout / "python/afflux/report/built" / name).read_bytes() == (
            BUILT / name
        ).read_bytes(), name
