"""Records of senders' state: the table, `afflux explain`, and the report."""

import re
from pathlib import Path

import pytest

import afflux
from afflux import report
from afflux.results.senders import known

#: A window of 20 segments over a round trip of 8 ms. Only its window limits the flow.
PATH = """\
format = 1
name = "path"

[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
delay = "2ms"

[host.transport]
stack = "basic"
congestion = "newreno"
max_window = 20

[[traffic]]
kind = "pairs"
class = "limited"
pairs = [[1, 0]]
sizes = "1460kB"

[[traffic]]
kind = "datagram"
pairs = [[2, 0]]
rate = "1Mbps"
bytes = "14600B"

[record]
senders = "1ms"
"""


@pytest.fixture
def run(tmp_path: Path) -> afflux.Result:
    (tmp_path / "path.toml").write_text(PATH)
    return afflux.load(tmp_path / "path.toml").run(out=tmp_path / "out")


def test_the_window_limits(run: afflux.Result) -> None:
    assert "senders" in afflux.Result.open(run.dir).recorded
    table = run.table("senders")
    assert set(table.column("flow")) == {0}, "datagrams have no window"
    assert max(table.column("window_bytes")) == 20 * 1460
    (one,) = known(table, run.flows)
    assert (one.flow_class, one.window_bytes, one.in_flight_bytes) == ("limited", 29_200, 29_200)
    # The window is full except during the last round trip.
    assert one.window_full is not None
    assert 0.97 < one.window_full < 1
    # 1,000 segments, 20 per round trip.
    assert one.smoothed_rtt_ns == pytest.approx(8e6, rel=0.02)
    assert known(table, run.flows, only=[1]) == []


def test_explain_shows_medians(run: afflux.Result, command) -> None:
    shown = command("explain", run.dir)
    assert shown.returncode == 0, shown.stderr
    assert re.search(
        r"limited\s+29\.2 kB\s+–\s+29\.2 kB\s+98\.\d+ %\s+8\.\d+ ms\s+–", shown.stdout
    ), shown.stdout
    assert "What senders knew" in command("explain", run.dir, "--flow", "0").stdout
    assert "What senders knew" not in command("explain", run.dir, "--slowest", "0", "--json").stdout


def test_the_report_draws_them(run: afflux.Result, tmp_path: Path) -> None:
    page = report.write([run], tmp_path / "page.html").read_text(encoding="utf-8")
    section = page[page.index('<section id="senders"') :]
    assert re.findall(
        r'<h3><span lang="en">(.*?)</span>', section[: section.index("</section>")]
    ) == ["Congestion window", "In flight", "Smoothed round trip"]
    assert "path 14.6" in section, "the lines in words"


def test_no_section_without_them(scenario, tmp_path: Path) -> None:
    results = [afflux.load(scenario()).run(out=tmp_path / "plain")]
    page = report.write(results, tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="senders"' not in page


def test_a_design_has_one_colour(run: afflux.Result, tmp_path: Path) -> None:
    (tmp_path / "path.toml").write_text(
        PATH.replace('name = "path"', 'name = "paced"').replace(
            'congestion = "newreno"', 'congestion = "bbr"'
        )
    )
    paced = afflux.load(tmp_path / "path.toml").run(out=tmp_path / "paced")
    page = report.write([run, paced], tmp_path / "page.html").read_text(encoding="utf-8")
    section = page[
        page.index('<section id="senders"') : page.index(
            "</section>", page.index('<section id="senders"')
        )
    ]
    figures = section.split("<figure")[1:]
    names = [
        {
            name: colour
            for colour, name in re.findall(
                r'class="line-name" style="--y:[\d.]+%;--c:var\((.*?)\)">.*?</svg>(\w+)<', figure
            )
        }
        for figure in figures
    ]
    assert [set(one) for one in names] == [{"path", "paced"}] * 3 + [{"paced"}]
    assert len({one["paced"] for one in names}) == 1
