"""The page of the report in a real browser: it draws, replays, answers clicks and keys, and speaks two languages."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import reported
from conftest import REPO
from reported import DESIGNS, data_of
from tiny_study import Tiny

from afflux import report, studies

WORDS = json.loads((REPO / "python" / "afflux" / "words" / "words.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
    if chromium is None:
        pytest.skip("needs a browser: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Callable[[str], Path]:
    """A report by the name of its results; each is written once."""
    written: dict[str, Path] = {}

    def write(name: str) -> Path:
        if name not in written:
            folder = tmp_path_factory.mktemp(name)
            written[name] = report.write(getattr(reported, name)(folder), folder / "report.html")
        return written[name]

    return write


@pytest.fixture
def opened(browser, pages) -> Iterator[Callable[..., Any]]:
    """Opens a report from the file system; nothing may go wrong in it, and nothing else be asked for."""
    troubles: list[str] = []
    asked: list[str] = []
    files: set[str] = set()

    def show(of: str | Path = "incast", width: int = 1280, height: int = 900, scheme: str = "light", locale: str = "en-GB"):
        path = pages(of) if isinstance(of, str) else of
        files.add(path.as_uri())
        page = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, locale=locale).new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=20_000)
        return page

    yield show
    assert troubles == []
    assert {url.split("#")[0] for url in asked if not url.startswith("data:")} <= files


def inked(page, chart: str) -> int:
    """Pixels of a chart's canvas that are drawn on. It is made a moment after its caption."""
    page.locator("figure.chart", has=page.locator("figcaption", has_text=chart)).locator("canvas").first.wait_for(state="attached")
    return page.evaluate(
        """(title) => {
            const chart = [...document.querySelectorAll("figure.chart")].find((one) => one.querySelector("figcaption").textContent.startsWith(title));
            const canvas = chart.querySelector("canvas");
            const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            return data.filter((_, at) => at % 4 === 3).reduce((sum, alpha) => sum + (alpha > 0), 0);
        }""",
        chart,
    )


def drawn(page) -> str:
    """The drawing of the fabric, to be compared."""
    return page.evaluate("document.querySelector('.fabric canvas').toDataURL()")


def slide(page, frame: int) -> None:
    page.evaluate("(frame) => { const s = document.querySelector('.slider'); s.value = frame; s.dispatchEvent(new Event('input')); }", frame)


def click_a_link(page) -> str:
    """Clicks into the drawing, between the tiers, until a port is chosen; its name."""
    box = page.locator(".fabric canvas").bounding_box()
    for across in range(8, 92):
        page.locator(".fabric canvas").click(position={"x": box["width"] * across / 100, "y": box["height"] * 0.42})
        heading = page.locator(".chosen h3").inner_text()
        if "→" in heading:
            return heading
    raise AssertionError("no link was hit")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_the_page_fits_and_draws(opened, width, scheme):
    page = opened(width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    headings = ["What differs", "Measures", "Completion times", "Where the time went", "Ports", "Jobs", "Replay", "Scenarios", "Terms"]
    assert [heading.inner_text() for heading in page.query_selector_all("h2")] == headings
    for chart in ("Slowdown by flow size", "Share of flows", "Queue Length", "Queue Drops", "Transmit Latency", "Out Rate"):
        assert inked(page, chart) > 500, chart
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
    assert (lightness < 60) == (scheme == "dark")
    assert page.query_selector_all("svg.timeline rect")


def test_choices_change_what_is_shown(opened):
    page = opened()
    page.get_by_label("Completion time", exact=True).check(force=True)
    page.get_by_label("p50", exact=True).check(force=True)
    page.get_by_label("Tail", exact=True).check(force=True)
    assert page.get_by_text("Completion time by flow size, p50", exact=True).first.is_visible()
    assert page.get_by_text("Share of flows with a larger completion time").is_visible()
    assert page.get_by_text("Zero all the time at this port").inner_text() != ""
    drops = page.locator("#ports figure.chart", has_text="Queue Drops")
    busy = inked(page, "Queue Drops")
    page.locator("#ports select").select_option(index=5)
    assert inked(page, "Queue Drops") != busy
    assert drops.is_visible()
    page.get_by_label("Colours").select_option("dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_where_the_time_went_by_time_and_by_flow(opened, pages):
    page = opened("stragglers")
    section = page.locator("#split")
    widths = "[...document.querySelectorAll('#split .bars:not(.slim) .stack')].map((bar) => bar.getBoundingClientRect().width)"
    small, large = page.evaluate(widths)
    means = [one["mean_fct_ns"] for one in data_of(pages("stragglers"))["split"]["groups"][0]["designs"]]
    # As long as the mean completion times.
    assert small / large == pytest.approx(means[0] / means[1], rel=0.02)
    section.get_by_label("Per flow").check(force=True)
    small, large = page.evaluate(widths)
    assert small == pytest.approx(large, abs=1)
    assert "every flow has the same weight" in section.inner_text()
    # What makes the difference: bars to both sides of zero, and their sum.
    text = section.locator("figure.difference").inner_text()
    assert "With large the mean completion time is" in text
    assert {"recovery", "queueing", "in all"} <= set(text.splitlines())
    left = page.evaluate("[...document.querySelectorAll('.diverging')].map((bar) => parseFloat(bar.querySelector('.change')?.style.left ?? 'NaN'))")
    zero = page.evaluate("parseFloat(document.querySelector('.diverging .zero').style.left)")
    assert min(left) < zero
    page.get_by_label("Language").select_option("ja")
    assert "large の平均完了時間は small より" in section.inner_text()


def test_stragglers_are_shown_on_request(opened):
    page = opened("stragglers")
    for of in ("ports", "replay"):
        section = page.locator(f"#{of}")
        assert re.search(r"Shown until [\d.]+ ms, with 99\.\d+ % of the bytes.*The run ends at 51(\.\d)? ms", section.inner_text()), section.inner_text()
        section.get_by_label("Whole run").check(force=True)
        assert "Shown until" not in section.inner_text()
    slider = page.locator(".slider")
    slider.focus()
    page.keyboard.press("End")
    assert page.locator(".clock").inner_text() == "51 ms"
    page.locator("#replay").get_by_label("Busy time").check(force=True)
    assert float(page.locator(".clock").inner_text().removesuffix(" ms")) < 10
    # Where nobody straggles there is no choice.
    assert opened("incast").get_by_label("Whole run").count() == 0


def test_the_keyboard_reaches_and_reads_charts(opened):
    page = opened()
    reached = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName + '.' + document.activeElement.className"))
        assert page.evaluate("document.activeElement === document.body || document.activeElement.matches(':focus-visible')")
    assert {"A.", "INPUT.", "INPUT.slider", "SELECT.", "FIGURE.chart", "SUMMARY.", "BUTTON.play", "BUTTON.link", "DIV.fabric"} <= reached
    chart = page.locator("#ports figure.chart", has_text="Queue Length")
    chart.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    before = chart.locator(".readout").inner_text()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("(before) => document.activeElement.querySelector('.readout').innerText !== before", arg=before)
    # The readout tells the time and the value of each design.
    assert chart.locator(".readout b").count() == len(DESIGNS)


def test_it_prints_in_light_colours(opened):
    page = opened(scheme="dark")
    before = page.evaluate("document.documentElement.dataset.theme")
    page.evaluate("window.seen = null; addEventListener('beforeprint', () => { window.seen = document.documentElement.dataset.theme; })")
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert (before, page.evaluate("window.seen"), page.evaluate("document.documentElement.dataset.theme")) == ("dark", "light", "dark")


@pytest.mark.parametrize("of", ["hadoop", "conweave"])
def test_the_replay_of_the_studies_small(opened, of):
    page = opened(of)
    assert page.locator(".slider").is_enabled()
    frames = int(page.locator(".slider").get_attribute("max"))
    before = drawn(page)
    slide(page, frames // 3)
    assert drawn(page) != before
    port = click_a_link(page)
    assert page.locator(".chosen").inner_text().count(port) >= 1
    flow = page.locator("tr.pick").nth(1)
    before = drawn(page)
    flow.click()
    assert drawn(page) != before
    assert page.locator(".flow-text table").last.inner_text().count("›") >= 1
    assert page.locator(".flow-text .stack").is_visible()
    page.get_by_label("Language").select_option("ja")
    page.get_by_label("配色").select_option("dark")
    # What was chosen is still so.
    assert page.locator(".chosen h3").inner_text() == port
    assert int(page.locator(".slider").input_value()) == frames // 3
    assert page.locator(".flow-text .stack").is_visible()


def test_a_port_of_the_drawing_has_its_series(opened):
    page = opened("fabric")
    page.locator(".chosen select").select_option(label="leaf0 port 0 → host0")
    assert page.locator(".chosen h3").inner_text() == "leaf0 port 0 → host0"
    assert inked(page, "Queue length: highest of each moment") > 500
    page.get_by_role("button", name="All series of this port").click()
    assert page.locator("#ports select").evaluate("(select) => select.selectedOptions[0].text") == "leaf0 port 0 → host0"
    page.get_by_role("button", name="The other direction").click()
    assert page.locator(".chosen h3").inner_text() == "host0 port 0 → leaf0"


def test_time_goes_on_by_button_and_key(opened):
    page = opened("fabric")
    slide(page, 3)
    text = page.locator(".slider").get_attribute("aria-valuetext")
    assert text == page.locator(".clock").inner_text() == "400 µs"
    page.locator(".slider").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".slider").input_value() == "4"
    page.keyboard.press("Space")
    page.wait_for_function("() => Number(document.querySelector('.slider').value) > 6")
    page.keyboard.press("Space")
    stopped = page.locator(".slider").input_value()
    page.wait_for_timeout(300)
    assert page.locator(".slider").input_value() == stopped
    page.locator(".fabric").focus()
    for key, name in (("ArrowUp", "spine0"), ("ArrowRight", "spine1"), ("ArrowDown", "leaf")):
        page.keyboard.press(key)
        assert page.locator(".chosen h3").inner_text().startswith(name)
    page.locator(".chosen button.link").first.focus()
    page.keyboard.press("Enter")
    assert "→" in page.locator(".chosen h3").inner_text()


def test_the_path_of_a_flow(opened, pages):
    """What the table says is what was recorded, and sprayed flows have more than one path."""
    flows = data_of(pages("fabric"))["flows"]
    page = opened("fabric")
    page.get_by_label("Biggest", exact=True).check(force=True)
    page.locator("tr.pick button").first.click()
    title = page.locator(".flow-text h3").inner_text()
    # The biggest flow is the same one in the other design.
    page.get_by_label("spray", exact=True).check(force=True)
    assert page.locator(".flow-text h3").inner_text() == title
    row = flows[1]["kinds"]["biggest"][0]
    shown = page.locator(".flow-text table").last.locator("tbody tr").all_inner_texts()
    recorded = flows[1]["paths"][row]
    assert len(shown) == recorded["all"] == len(recorded["paths"])
    assert shown[0].startswith(" › ".join(recorded["paths"][0]["nodes"]))
    assert any(paths["all"] > 1 for paths in flows[1]["paths"])
    assert all(paths["all"] == 1 for paths in flows[0]["paths"])


def test_it_speaks_japanese(opened):
    page = opened("incast", locale="ja-JP")
    assert page.evaluate("document.documentElement.lang") == "ja"
    titles = [WORDS[f"{name}.title"]["ja"] for name in ("differs", "measures", "completion", "split", "ports", "jobs", "replay", "about", "terms")]
    assert [heading.inner_text() for heading in page.query_selector_all("h2")] == titles
    # No English sentence is left but what the scenario itself says.
    page.evaluate("document.getElementById('about').remove()")
    text = page.locator("body").inner_text()
    assert not re.findall(r"(?:\b[a-z]{2,} ){4,}", text)
    page.get_by_label("言語").select_option("en")
    assert page.locator("h2").first.inner_text() == "What differs"
    assert "too few to tell" in page.locator("h1").inner_text()
    assert page.evaluate("document.activeElement.closest('#tools') !== null")


def test_what_was_not_recorded_is_said(opened, scenario, tmp_path):
    import afflux

    bare = afflux.load(scenario(('ports = { interval = "100us" }', ""), ("paths = true", "explain = false"))).run()
    page = opened(bare.report(tmp_path / "bare.html"))
    assert not page.locator(".slider").is_visible()
    assert "Port series were not recorded" in page.locator("#replay").inner_text()
    page.locator("tr.pick").first.click()
    said = page.locator(".flow-text").inner_text()
    assert "paths = true in [record]" in said
    assert "explain = true in [record]" in said
    assert click_a_link(page)
    assert 'ports = { interval = "100us" } in [record]' in page.locator(".chosen").inner_text()


def test_the_report_of_a_study(opened, scenario, tmp_path):
    studies.carry_out(Tiny(scenario()), quick=True, out=tmp_path / "study")
    page = opened(tmp_path / "study" / "report.html")
    assert page.locator("h1").inner_text() == "Marks keep the queue short."
    assert "Published" in page.locator("#answer table").inner_text()
    assert "✓ holds" in page.evaluate(
        "(c => getComputedStyle(c, '::before').content.replaceAll('\"', '') + c.innerText)(document.querySelector('#checks .chip'))"
    )
    page.get_by_label("Language").select_option("ja")
    assert "公表値" in page.locator("#answer table").inner_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_term_is_explained_where_one_points(opened, width):
    page = opened(width=width)
    tip = page.locator("#tip")
    term = page.locator("#measures .term:visible").first
    described = page.locator(f"#{term.get_attribute('aria-describedby')}").inner_text()
    term.scroll_into_view_if_needed()
    page.wait_for_timeout(100)
    term.focus()
    assert tip.inner_text() == described
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    page.mouse.move(0, 0)
    term.hover()
    assert tip.inner_text() == described
    page.mouse.move(0, 0)
    assert tip.is_hidden()
    term.click()
    assert tip.is_visible()


def test_the_section_being_read_is_marked(opened):
    page = opened()
    assert page.locator("#links a[aria-current]").inner_text() == "Answer"
    for name in ("Measures", "Ports", "Terms"):
        page.locator("#links a", has_text=name).click()
        page.wait_for_function("(name) => document.querySelector('#links a[aria-current]').innerText === name", arg=name)
    widths = page.evaluate("[...document.querySelectorAll('#links a')].map((link) => getComputedStyle(link).fontWeight)")
    assert len(set(widths)) == 1


def test_tables_scroll_by_themselves_and_say_so(opened):
    page = opened("incast", width=390)
    measures = page.locator("#measures tbody tr").first
    # Cards, not columns: each design has its name beside its value.
    assert page.evaluate("[...document.querySelectorAll('#measures td')].every((cell) => cell.getBoundingClientRect().right <= 390)")
    assert "dctcp" in page.evaluate("getComputedStyle(document.querySelectorAll('#measures td')[1], '::before').content")
    assert measures.is_visible()
    page.evaluate("document.querySelector('#differs td').textContent = 'a value that is much wider than the screen of a phone, and does not break'")
    page.evaluate("dispatchEvent(new Event('resize'))")
    assert page.locator("#differs .hint").first.is_visible()
    first = page.locator("#differs tbody th[scope=row]").first
    before = first.bounding_box()["x"]
    page.evaluate("document.querySelector('#differs .scroll').scrollLeft = 150")
    assert first.bounding_box()["x"] == before
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def contrast(page, front: str, back: str) -> float:
    return page.evaluate(
        """([front, back]) => {
            const light = (name) => {
                const probe = document.body.appendChild(document.createElement("i"));
                probe.style.color = `var(--${name})`;
                const rgb = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map((of) => of / 255);
                probe.remove();
                const [r, g, b] = rgb.map((of) => (of <= 0.04045 ? of / 12.92 : ((of + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const [low, high] = [light(front), light(back)].sort((a, b) => a - b);
            return (high + 0.05) / (low + 0.05);
        }""",
        [front, back],
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground(opened, scheme):
    page = opened(scheme=scheme)
    texts = ["ink", "muted", "link", *(f"series-{place}" for place in range(9))]
    pairs = [(text, ground) for text in texts for ground in ("bg", "panel")]
    pairs += [("good", "good-bg"), ("bad", "bad-bg"), ("open", "open-bg"), ("ink", "new"), *(("fill-ink", f"phase-{place}") for place in range(5))]
    assert {pair: found for pair in pairs if (found := contrast(page, *pair)) < 4.5} == {}
