"""The report's page in a real browser: it draws, replays, responds to clicks and keys, and is
available in two languages."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import reported
from conftest import REPO
from tiny_study import Tiny

from afflux import report, studies

WORDS = json.loads(
    (REPO / "python" / "afflux" / "words" / "words.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def pages(once) -> Callable[[str], Path]:
    """Returns a function that gives a report by the name of its results. Each report is written
    once, also for other modules."""

    def page(name: str) -> Path:
        return (
            once(
                f"report of {name}",
                lambda folder: report.write(
                    getattr(reported, name)(folder), folder / "report.html"
                ),
            )
            / "report.html"
        )

    return page


@pytest.fixture
def opened(browser, pages) -> Iterator[Callable[..., Any]]:
    """Returns a function that opens a report from the file system. The page must cause no error and
    request no other resource."""
    troubles: list[str] = []
    asked: list[str] = []
    files: set[str] = set()

    def show(
        of: str | Path = "incast",
        width: int = 1280,
        height: int = 900,
        scheme: str = "light",
        locale: str = "en-GB",
    ):
        path = pages(of) if isinstance(of, str) else of
        files.add(path.as_uri())
        page = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, locale=locale
        ).new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=20_000)
        return page

    yield show
    assert troubles == []
    assert {url.split("#")[0] for url in asked if not url.startswith("data:")} <= files


def drawn(page) -> str:
    """Returns the drawing of the fabric in a form that can be compared."""
    return page.evaluate("document.querySelector('.fabric canvas').toDataURL()")


def slide(page, frame: int) -> None:
    page.evaluate(
        "(frame) => { const s = document.querySelector('.slider'); s.value = frame; s.dispatchEvent(new Event('input')); }",
        frame,
    )


def click_a_link(page) -> str:
    """Clicks between the tiers of the drawing until a port is selected. Returns the port's name."""
    box = page.locator(".fabric canvas").bounding_box()
    for across in range(8, 92):
        page.locator(".fabric canvas").click(
            position={"x": box["width"] * across / 100, "y": box["height"] * 0.42}
        )
        heading = page.locator(".chosen h3").inner_text()
        if "→" in heading:
            return heading
    raise AssertionError("no link was hit")


# The first case starts the browser and opens the page, which takes long beside other tests.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
)
def test_the_page_fits_and_draws(opened, width, scheme):
    page = opened(width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    headings = [
        "What differs",
        "Measures",
        "Completion times",
        "Where the time went",
        "Ports",
        "Jobs",
        "Replay",
        "Scenarios",
        "Terms",
    ]
    assert [heading.inner_text() for heading in page.query_selector_all("h2")] == headings
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
    assert (lightness < 60) == (scheme == "dark")


def test_stragglers_are_shown_on_request(opened):
    page = opened("stragglers")
    for of in ("ports", "replay"):
        section = page.locator(f"#{of}")
        assert re.search(
            r"Shown until [\d.]+ ms, with 99\.\d+ % of the bytes.*The run ends at 51(\.\d)? ms",
            section.inner_text(),
        ), section.inner_text()
        section.get_by_label("Whole run").check(force=True)
        assert "Shown until" not in section.inner_text()
    slider = page.locator(".slider")
    slider.focus()
    page.keyboard.press("End")
    assert page.locator(".clock").inner_text() == "51 ms"
    page.locator("#replay").get_by_label("Busy time").check(force=True)
    assert float(page.locator(".clock").inner_text().removesuffix(" ms")) < 10
    # Without stragglers there is no choice of the period.
    assert opened("incast").get_by_label("Whole run").count() == 0


def test_it_prints_in_light_colours(opened):
    page = opened(scheme="dark")
    before = page.evaluate("document.documentElement.dataset.theme")
    page.evaluate(
        "window.seen = null; addEventListener('beforeprint', () => { window.seen = document.documentElement.dataset.theme; })"
    )
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert (
        before,
        page.evaluate("window.seen"),
        page.evaluate("document.documentElement.dataset.theme"),
    ) == ("dark", "light", "dark")


# On a busy machine, Chromium's waits for a processor count as time of the test.
@pytest.mark.slow
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
    moment = page.locator(".slider").input_value()
    assert page.locator(".flow-text table").last.inner_text().count("›") >= 1
    assert page.locator(".flow-text .stack").is_visible()
    page.get_by_label("Language").select_option("ja")
    page.get_by_label("配色").select_option("dark")
    # The previous selections are kept.
    assert page.locator(".chosen h3").inner_text() == port
    assert page.locator(".slider").input_value() == moment
    assert page.locator(".flow-text .stack").is_visible()


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


def test_it_speaks_japanese(opened):
    page = opened("incast", locale="ja-JP")
    assert page.evaluate("document.documentElement.lang") == "ja"
    titles = [
        WORDS[f"{name}.title"]["ja"]
        for name in (
            "differs",
            "measures",
            "completion",
            "split",
            "ports",
            "jobs",
            "replay",
            "about",
            "terms",
        )
    ]
    assert [heading.inner_text() for heading in page.query_selector_all("h2")] == titles
    # No English sentence remains, except for the scenario's own text.
    page.evaluate("document.getElementById('about').remove()")
    text = page.locator("body").inner_text()
    assert not re.findall(r"(?:\b[a-z]{2,} ){4,}", text)
    page.get_by_label("言語").select_option("en")
    assert page.locator("h2").first.inner_text() == "What differs"
    assert "too few to tell" in page.locator("h1").inner_text()
    assert page.evaluate("document.activeElement.closest('#tools') !== null")


def test_what_was_not_recorded_is_said(opened, scenario, tmp_path):
    import afflux

    bare = afflux.load(
        scenario(('ports = { interval = "100us" }', ""), ("paths = true", "explain = false"))
    ).run()
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
        page.wait_for_function(
            "(name) => document.querySelector('#links a[aria-current]').innerText === name",
            arg=name,
        )
    widths = page.evaluate(
        "[...document.querySelectorAll('#links a')].map((link) => getComputedStyle(link).fontWeight)"
    )
    assert len(set(widths)) == 1


def test_tables_scroll_by_themselves_and_say_so(opened):
    page = opened("incast", width=390)
    measures = page.locator("#measures tbody tr").first
    # A narrow screen shows cards instead of columns, with the design's name next to each value.
    assert page.evaluate(
        "[...document.querySelectorAll('#measures td')].every((cell) => cell.getBoundingClientRect().right <= 390)"
    )
    assert "dctcp" in page.evaluate(
        "getComputedStyle(document.querySelectorAll('#measures td')[1], '::before').content"
    )
    assert measures.is_visible()
    page.evaluate(
        "document.querySelector('#differs td').textContent = 'a value that is much wider than the screen of a phone, and does not break'"
    )
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
    pairs += [
        ("good", "good-bg"),
        ("bad", "bad-bg"),
        ("open", "open-bg"),
        ("ink", "new"),
        *(("fill-ink", f"phase-{place}") for place in range(5)),
    ]
    assert {pair: found for pair in pairs if (found := contrast(page, *pair)) < 4.5} == {}
