"""The figures of the report in a real browser: they draw the recorded data, and respond to choices,
the pointer and keys."""

import re
from itertools import pairwise

import pytest
from conftest import INCAST
from reported import DESIGNS, data_of
from test_report_page import opened, pages, slide  # noqa: F401

import afflux
from afflux import report
from afflux.results.explain import LABELS

WIDTHS = "(bars) => bars.map((bar) => bar.getBoundingClientRect().width)"


def seconds(text: str) -> float:
    """Converts a time with its unit to ns."""
    value, unit = text.replace("\N{NO-BREAK SPACE}", " ").replace(",", "").split(" ")
    return float(value) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


@pytest.mark.parametrize("width", [1280, 390])
def test_distributions_have_their_percentiles(opened, pages, width):  # noqa: F811
    page = opened("fabric", width=width)
    data = data_of(pages("fabric"))["completion"]
    section = page.locator("#completion")
    assert section.locator("h3").first.inner_text() == "Completion times, logarithmic scale"
    assert section.locator("path.hill").count() == len(data["designs"])
    grid, marks = data["cdf"]["fct"]["x"], section.locator(".hills").first.locator("i.percentile")
    known = [
        value
        for name, value in data["groups"][0]["percentiles"][0]["fct"].items()
        if name != "mean" and value is not None
    ]
    places = [
        float(place)
        for place in re.findall(
            r"--x: ?([\d.]+)%",
            " ".join(marks.evaluate_all("(all) => all.map((one) => one.getAttribute('style'))")),
        )
    ]
    assert len(places) == len(known) >= 2
    # The axis is logarithmic.
    for place, value in zip(places, known, strict=True):
        assert grid[0] * (grid[-1] / grid[0]) ** (place / 100) == pytest.approx(value, rel=0.001)
    # The values are next to the marks, or below the curve on a phone.
    shown = section.locator(".percentiles" if width < 500 else ".of-percentile").first.inner_text()
    assert seconds(re.search(r"p50 ([\d.,]+ \S+)", shown)[1]) == pytest.approx(known[0], rel=0.01)
    section.get_by_label("Slowdown", exact=True).check(force=True)
    assert section.locator("h3").first.inner_text() == "Slowdown, logarithmic scale"
    assert "slowdown" in section.locator(".lead").inner_text()


def test_percentiles_by_flow_size(opened, pages):  # noqa: F811
    page = opened("fabric")
    section = page.locator("#completion")
    figure = section.locator("figure.later")
    figure.get_by_label("p50", exact=True).check(force=True)
    assert figure.locator("h3").inner_text() == "Completion time by flow size, p50"
    values = [
        value
        for value in data_of(pages("fabric"))["completion"]["designs"][0]["fct"]["p50"]
        if value is not None
    ]
    assert figure.locator(".cell").first.locator(".dot").count() == len(values) > 3
    # The first design is drawn faintly behind the second.
    assert (
        figure.locator(".cell").first.locator(".ghost").count(),
        figure.locator(".cell").nth(1).locator(".ghost").count(),
    ) == (0, 1)


def test_where_the_time_and_the_difference_went(opened, pages):  # noqa: F811
    page = opened("stragglers")
    section = page.locator("#split")
    group = data_of(pages("stragglers"))["split"]["groups"][0]
    before, after = map(sum, group["designs"])
    small, large = section.locator(".stacks .stack:not(.heads)").evaluate_all(WIDTHS)
    # The lengths of the bars are proportional to the sums of all flows' times.
    assert small / large == pytest.approx(before / after, rel=0.02)
    assert [
        seconds(text) for text in section.locator(".stack em").all_inner_texts()
    ] == pytest.approx([before, after], rel=0.006)
    # The largest change comes first, and the bars lead from one sum to the other.
    rows = section.locator(".fall > span:nth-child(3n+1)").all_inner_texts()
    changes = dict(zip(LABELS, group["changes"][1]["parts"], strict=True))
    largest = sorted(changes, key=lambda name: -abs(changes[name][0]))
    assert (rows[0], rows[-1], rows[1]) == ("small", "large", largest[0])
    assert sum(by for by, _, _ in changes.values()) == after - before
    # A single seed gives no interval, and no bar is hatched.
    assert "Too few seeds in common" in section.inner_text()
    assert section.locator(".fall .open").count() == 0
    assert "With large all flows together take" in section.locator(".lead").inner_text()
    page.locator("#tools select").first.select_option("ja")
    assert "large では全フローの合計時間が" in section.locator(".lead").inner_text()


def test_parts_have_definitions(opened):  # noqa: F811
    page = opened("stragglers")
    term = page.locator("#split .fall .term", has_text="recovery")
    # Scrolling hides a definition, so the test scrolls first.
    term.scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    term.hover()
    page.locator("#tip").wait_for(state="visible")
    assert (
        page.locator("#tip").inner_text()
        == "Waiting for the detection of a loss and for its retransmission, with every wait that a time-out ends."
    )
    # Parts that took no time have no definition.
    assert page.locator("#term-part_paused").count() == 0


def test_ports_have_a_panel_per_design(opened):  # noqa: F811
    page = opened()
    section = page.locator("#ports")
    assert section.locator(".cell h4").all_inner_texts() == list(DESIGNS)
    assert "logarithmic scale" in section.locator("h3").inner_text()
    assert section.locator(".plot .value").first.inner_text().startswith("mean ")
    line = section.locator("path.line").first
    before = line.get_attribute("d")
    assert len(before) > 500
    assert section.get_by_text("Zero all the time at this port").inner_text() != ""
    section.get_by_label("Series").select_option(label="Queue Drops (Out Discards)")
    assert line.get_attribute("d") != before
    assert re.search(r"\d+ in all\.", section.locator(".cell > p").first.inner_text())
    section.get_by_label("Series").select_option(label="Queue Length")
    section.locator("select").first.select_option(index=5)
    assert line.get_attribute("d") != before


def test_the_pointer_and_keys_read_all_panels(opened):  # noqa: F811
    page = opened()
    plots = page.locator("#ports .plot")
    plots.first.scroll_into_view_if_needed()
    box = plots.first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + 40)
    told = page.locator("#ports .told:visible")
    assert told.count() == len(DESIGNS)
    first = told.first.inner_text()
    assert re.fullmatch(r".+ at [\d.]+ .s", first)
    # Dragging zooms in, and Escape resets the view.
    axis = page.locator("#ports .axis").first
    whole = axis.inner_text()
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.mouse.up()
    assert axis.inner_text() != whole
    plots.first.focus()
    page.keyboard.press("Escape")
    assert axis.inner_text() == whole
    plots.first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert told.first.inner_text() != first


def test_everything_can_be_reached_by_keys(opened):  # noqa: F811
    page = opened()
    reached = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.tagName + '.' + document.activeElement.className")
        )
        assert page.evaluate(
            "document.activeElement === document.body || document.activeElement.matches(':focus-visible')"
        )
    assert {
        "A.",
        "INPUT.",
        "INPUT.slider",
        "SELECT.",
        "DIV.plot",
        "SUMMARY.",
        "BUTTON.play",
        "BUTTON.link",
        "DIV.fabric",
    } <= reached


def test_jobs_have_tracks_with_names(opened, pages):  # noqa: F811
    page = opened("hadoop")
    section = page.locator("#jobs")
    timeline = data_of(pages("hadoop"))["timelines"][0]
    nodes = {timeline["names"][str(node)] for node in timeline["node"] if node >= 0}
    names = [text.split("\n")[0] for text in section.locator(".who").all_inner_texts()]
    assert names == ["job", *sorted(nodes)]
    assert section.locator(".row.phases i").get_by_text("map", exact=True).count() == 1
    assert re.search(r"\d+ × map", ", ".join(section.locator(".who small").all_inner_texts()))
    # A task has the colour of its phase, in both themes.
    assert re.match(
        r"terasort, \w+, \d+: [\d.]+ ", section.locator("i.t").first.get_attribute("title")
    )
    colours = section.locator("i.t").evaluate_all(
        "(all) => [...new Set(all.map((one) => getComputedStyle(one).backgroundColor))].length"
    )
    assert colours >= 3
    # The job's phases add up to its completion time.
    assert page.locator("#split h3").first.inner_text().startswith("The job by phase")


def test_jobs_without_tasks_are_drawn(opened):  # noqa: F811
    assert opened("incast").locator("#jobs .row i").count() > 0


def test_a_port_of_the_drawing_has_its_series(opened):  # noqa: F811
    page = opened("fabric")
    page.locator(".chosen select").select_option(label="leaf0 port 0 → host0")
    assert page.locator(".chosen h3").inner_text() == "leaf0 port 0 → host0"
    queue = page.locator(".chosen figure", has_text="Queue length: highest of each moment")
    assert len(queue.locator("path.line").get_attribute("d")) > 300
    page.get_by_role("button", name="All series of this port").click()
    assert (
        page.locator("#ports select").first.evaluate("(select) => select.selectedOptions[0].text")
        == "leaf0 port 0 → host0"
    )
    page.get_by_role("button", name="The other direction").click()
    assert page.locator(".chosen h3").inner_text() == "host0 port 0 → leaf0"


def test_the_path_of_a_flow(opened, pages):  # noqa: F811
    """The table shows the recorded paths, and sprayed flows have more than one path."""
    flows = data_of(pages("fabric"))["flows"]
    page = opened("fabric")
    page.get_by_label("Biggest", exact=True).check(force=True)
    page.locator("tr.pick button").first.click()
    title = page.locator(".flow-text h3").inner_text()
    # The biggest flow is the same in the other design.
    page.get_by_label("spray", exact=True).check(force=True)
    assert page.locator(".flow-text h3").inner_text() == title
    row = flows[1]["kinds"]["biggest"][0]
    shown = page.locator(".flow-text table").last.locator("tbody tr").all_inner_texts()
    recorded = flows[1]["paths"][row]
    assert len(shown) == recorded["all"] == len(recorded["paths"])
    assert shown[0].startswith(" › ".join(recorded["paths"][0]["nodes"]))
    assert any(paths["all"] > 1 for paths in flows[1]["paths"])
    assert all(paths["all"] == 1 for paths in flows[0]["paths"])


def test_the_replay_follows_a_flow(opened, pages):  # noqa: F811
    data = data_of(pages("fabric"))
    flows, view = data["flows"][0], data["replay"]["runs"][0]["ports"]["views"][0]
    page = opened("fabric")
    page.get_by_label("Biggest", exact=True).check(force=True)
    page.locator("tr.pick").first.click()
    row = flows["kinds"]["biggest"][0]
    start, fct = flows["columns"]["start_ns"][row], flows["columns"]["fct_ns"][row]
    # The replay starts with the flow, and describes what the flow meets at each hop of its path.
    assert int(page.locator(".slider").input_value()) == start // view["frame_ns"]
    hops = page.locator(".hops > span:nth-child(3n+1)").all_inner_texts()
    nodes = flows["paths"][row]["paths"][0]["nodes"]
    assert hops == [f"{one} › {other}" for one, other in pairwise(nodes)]
    assert "What it meets at" in page.locator(".flow-text").inner_text()
    slide(page, 0)
    last = int(page.locator(".slider").get_attribute("max"))
    slide(page, last)
    if (start + fct) // view["frame_ns"] < last:
        assert "not under way" in page.locator(".flow-text").inner_text()
    page.get_by_role("button", name="Let go of this flow").click()
    assert not page.locator(".flow-text").is_visible()


def test_equal_designs_are_shown_once(opened, tmp_path):  # noqa: F811
    scenario = afflux.Scenario.parse(INCAST, tmp_path / "small.toml")
    buffers = {"large": "1MB", "larger": "2MB", "small": "20packets"}
    cases = [(name, buffer, seed) for name, buffer in buffers.items() for seed in (1, 2)]
    found = [
        scenario.set("name", name)
        .set("switch.buffer", buffer)
        .run(seed=seed, out=tmp_path / f"{name}-{seed}")
        for name, buffer, seed in cases
    ]
    page = opened(report.write(found, tmp_path / "report.html"))
    assert page.locator("#ports .cell h4").all_inner_texts() == ["large = larger", "small"]
    assert page.locator("#split .stacks").last.locator(".sd").all_inner_texts() == [
        "large *",
        "small",
    ]
    assert (
        "larger gives the same results as large with every seed: no frame was dropped."
        in page.locator("#split").inner_text()
    )
