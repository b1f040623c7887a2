"""The documentation site: every key, model and command has its page, examples and ranges are
correct, links work, and pages load nothing from other hosts."""

import fnmatch
import html.parser
import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import REPO
from given import REFERENCE

import afflux
from afflux import _core
from afflux.reference import facts
from afflux.reference.document import Key, document, split_default
from docs.generator import api, commands, examples, keys, models, notebooks, outside, validated
from docs.generator.probe import probe
from docs.generator.schema import unknown

SCHEMA = json.loads(_core.schema())
KEYS = keys.pages()
MODELS = models.pages()


# ----------------------------------------------------------------------------------------------------------------------------- keys


def declared() -> list[tuple[str, str | None, str]]:
    """Returns definition, kind and key of everything that the schema declares as a property."""
    found: list[tuple[str, str | None, str]] = [("", None, name) for name in SCHEMA["properties"]]
    for name, schema in SCHEMA["$defs"].items():
        found += [(name, None, key) for key in schema.get("properties", {})]
        for variant in schema.get("oneOf", []):
            if properties := variant.get("properties"):
                found += [(name, properties["kind"]["const"], key) for key in properties]
    return found


def test_every_key_of_the_schema_is_on_a_page():
    known = document()
    assert len(declared()) > 700
    for definition, kind, name in declared():
        table = known.by_definition[definition] if definition else known.tables[0]
        places = [table, *([table.variants[kind]] if kind in table.variants else [])]
        key = next((found for place in places if (found := place.key(name))), None)
        assert key is not None, f"{definition} {kind}: {name}"
        assert f"### `{name}` {{ #{name} }}" in KEYS[f"{keys.FOLDER}/{keys.file(key.table)}"], (
            f"{definition} {kind}: {name}"
        )
        if kind:
            assert kind in table.kinds


def test_every_key_says_what_it_is():
    assert len({keys.file(table) for table in document().tables}) == len(document().tables)
    for key in document().every_key():
        name = f"{key.table.name}.{key.name}"
        shown = dict(re.findall(r"<dt>(\w+)</dt><dd>(.*?)</dd>", keys.entry(key)))
        assert key.text or key.default, name
        assert shown["Type"], name
        assert shown["Default"], name
        assert len(shown["Example"]) > len(f"<code>{key.name} = </code>"), name
        if key.type.number or key.type.units:
            assert shown["Unit"], name
    assert all(isinstance(models.find(name), Key) for name in facts.UNITS)
    assert all(models.find(name) is not None for name in examples.OWN)


def test_examples_are_values_that_afflux_takes():
    for key in document().every_key():
        value = examples.example(key)
        assert tomllib.loads(f"{key.name} = {examples.toml(value)}")[key.name] == value
        refused = probe().refusal(key, value) or ""
        assert not re.search(r"\b(above|at least|at most|up to|from \S+ to)\b", refused), (
            f"{key.table.name}.{key.name} = {value}: {refused}"
        )


def test_ranges_are_asked_for():
    """Ranges that the schema lacks are determined by probing."""
    known = document()
    assert (
        probe().range(known.table("switch").key("alpha"))
        == "a number above 0, up to 1024 (switches have powers of two from 1/128 to 8)"
    )
    assert (
        probe().range(known.table("host.transport.timely").key("t_low"))
        == 'a time above 0, at most "1s"'
    )
    assert (
        probe().range(known.table("switch.balance.conga").key("tdre"))
        == 'a time from "1ns" to "1s"'
    )
    assert sum(1 for key in known.every_key() if facts.limits(key)) > 400
    assert (
        probe().range(known.table("switch.voq").key("max_time"))
        == 'a time above 0, or "off"; a time up to 1s'
    )
    assert probe().range(known.table("host.pacer").key("max_rate")) == "at least `min_rate`"
    assert probe().range(known.table("switch.balance.letflow").key("gap")) == "0 or more"


def test_defaults_are_taken_from_descriptions():
    assert split_default('Least rate. Default `"10Mbps"`.') == ("Least rate.", '`"10Mbps"`')
    assert split_default("Weight. Default 0.5 (e.g. in Linux 6.1). See RED.") == (
        "Weight. See RED.",
        "0.5 (e.g. in Linux 6.1)",
    )
    assert split_default("With `a`: x. Default 1. With `b`: y. Default 2.") == (
        "With `a`: x. With `b`: y.",
        "1 with `a`; 2 with `b`",
    )
    assert split_default("With `a`: x. Default 1. With `b`: y. Default 1.") == (
        "With `a`: x. With `b`: y.",
        "1",
    )
    assert split_default("With `a`: x. Default 1. With `b`: y.")[1] is None
    assert split_default(
        "Rate. Default 1; 2 in ns-3. In an override the default is that of `[switch] rate`."
    ) == ("Rate.", "that of `[switch] rate`")


# --------------------------------------------------------------------------------------------------------------------------- models


def test_every_model_has_a_page():
    assert {model.kind for model in _core.models()} == set(models.KINDS)
    for model in _core.models():
        text = MODELS[f"{models.FOLDER}/{models.file(model)}"]
        assert model.source in text or model.source == "-", model.name
        assert all(
            part in text
            for part in re.split(r"; (?![^(]*\))", f"{model.faithful}; {model.simplified}")
        ), model.name
        assert f"({models.file(model)})" in MODELS[f"{models.FOLDER}/index.md"], model.name


def test_models_lead_to_keys_that_are_there():
    named = {f"{model.kind}/{model.name}" for model in _core.models()}
    assert {*models.KEYS, *models.CHOICE, *models.SEE} <= named
    for model in models.every():
        assert all(models.find(place) is not None for place in models.places_of(model)), model.name
        chosen = models.choice(model)
        assert chosen or f"{model.kind}/{model.name}" in models.SEE, (
            f"{model.kind}/{model.name}: how it is chosen"
        )
        assert unknown(tomllib.loads(chosen or "")) == [], model.name


def test_tables_lead_to_models():
    linked = models.on_key_pages(KEYS)
    assert (
        "\nModel: [drill](../models/balance/drill.md).\n\n## Keys\n"
        in linked["reference/keys/switch.balance.drill.md"]
    )
    assert "[red](../models/marking/red.md)" in linked["reference/keys/switch.ecn.md"]
    assert linked.keys() == KEYS.keys()


def test_rows_of_the_validation_are_about_models():
    named = {f"{model.kind}/{model.name}" for model in _core.models()}
    files = {row[0] for row in validated.sections()["Summary"]}
    assert len(files) > 40
    for pattern, covered in validated.COVERED.items():
        assert set(covered) <= named, pattern
        assert fnmatch.filter(files, pattern), pattern
    assert validated.of("balance/drill", "Within the bar")
    assert not validated.of("balance/detail", "Within the bar")


def test_runs_of_references_use_the_models():
    """Checks the runs against the scenarios that reproduce them."""
    from validation import run

    words = {
        "marking/red": "kmax",
        "marking/ecn step": '"k"',
        "flow control/pfc": '"pfc"',
        "congestion control/bbr (ns-3)": '"bbr"',
        "fault/loss": '"loss"',
    }
    # Hosts with Linux's TCP use this model without a key.
    words["host/timing"] = '"tcp"'
    words["host/qdisc"] = '"qdisc"'
    used: dict[str, str] = {}
    for case in run.collect(REFERENCE, 1)[1]:
        used[case.reference] = used.get(case.reference, "") + "".join(
            json.dumps(setup.scenario) for setup in case.setups
        )
    for pattern, covered in validated.COVERED.items():
        for file in fnmatch.filter(used, pattern):
            for model in covered if used[file] else ():
                assert words.get(model, f'"{model.partition("/")[2]}"') in used[file], (
                    f"{file}: {model}"
                )


# ------------------------------------------------------------------------------------------------------------ commands, other pages


def test_every_command_has_a_place():
    made = commands.pages()
    for words, command in commands.every():
        text = made[f"{commands.FOLDER}/{commands.file(words)}"]
        if words:
            assert f"# `afflux {' '.join(words)}`" in text
        assert commands.plain(command.help).split("\n")[0] in text
    run = made["reference/commands/run.md"]
    assert "`--set KEY.PATH=VALUE`" in run
    assert "`-o`, `--out DIR`" in run
    assert "afflux run examples/incast-dctcp.toml" in run
    assert (
        commands.meaning("Points.  [default: (one per core); x>=1]")
        == "Points. Default: one per core. `x>=1`."
    )
    assert commands.meaning("Executor.  [default: local]") == "Executor. Default: `local`."
    assert not re.search(r"\[/?(bold|cyan)\]", "".join(made.values()))


# ------------------------------------------------------------------------------------------------------------------ the Python package


def test_every_public_name_has_a_place_and_a_docstring():
    placed = [name for page in api.PAGES for name in page.names]
    # Documented modules are on the pages by their members, as in `afflux.batch.run`.
    titles = [title for page in api.PAGES for title in page.further.values()]
    modules = {found[1] for title in titles if (found := re.fullmatch(r"`afflux\.(\w+).*`", title))}
    assert sorted([*placed, *modules]) == sorted(afflux.__all__) == dir(afflux)
    assert [
        name for name in placed if name != "__version__" and not getattr(afflux, name).__doc__
    ] == []


def test_everything_on_the_pages_of_the_python_package_has_a_docstring():
    """Reads the docstrings with griffe, which generates the pages."""
    griffe = pytest.importorskip("griffe", reason="needs griffe: pip install 'afflux[docs]'")
    extensions = griffe.load_extensions("griffe_sphinx")
    package = griffe.load(
        "afflux", search_paths=[REPO / "python"], extensions=extensions, allow_inspection=False
    )

    def silent(item, chosen=()):
        if item.docstring is None:
            yield item.path
        if item.is_class or item.is_module:
            for name, member in item.members.items():
                if (
                    not member.is_alias
                    and not name.startswith("_")
                    and (not chosen or name in chosen)
                ):
                    yield from silent(member)

    for page in api.PAGES:
        for path in (*(f"afflux.{name}" for name in page.names), *page.further):
            found = package[path.removeprefix("afflux.")]
            chosen = api.MEMBERS.get(path, ())
            assert not {*chosen} - {*found.members}, path
            assert list(silent(found.final_target if found.is_alias else found, chosen)) == []


def test_notebooks_become_pages():
    made = notebooks.pages()
    assert set(made) >= {
        "notebooks/first-run.md",
        "notebooks/compare-designs.md",
        "notebooks/congestion-control.md",
    }
    assert "```python\n" in made["notebooks/first-run.md"]
    picture = {"data": {"image/png": "AAAA"}}
    assert notebooks.shown(picture, "page-3", made) == "![](page-3.png)"
    assert made["notebooks/page-3.png"] == b"\0\0\0"


def test_links_between_files_become_links_between_pages():
    moved = outside.site_links(
        "[a](../bench.md#x) [b](../../CONTRIBUTING.md) [c](../../Makefile) [d](../notebooks/first-run.ipynb) `[e](f)` [g](#h)",
        "dev/python.md",
    )
    assert moved == (
        f"[a](../bench.md#x) [b](contributing.md) [c]({outside.SOURCES}/Makefile) [d](../notebooks/first-run.md) `[e](f)` [g](#h)"
    )
    assert (
        outside.site_links("[rooms](docs/dev/python.md)", "dev/contributing.md")
        == "[rooms](python.md)"
    )
    assert (
        outside.site_links(f"[a]({outside.SITE}reference/python/index.html#x)", "how-to/b.md")
        == "[a](../reference/python/index.md#x)"
    )
    assert f"site_url: {outside.SITE}\n" in (REPO / "mkdocs.yml").read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------------------------------------- the site


@dataclass
class Html(html.parser.HTMLParser):
    """References of a page, and the anchors that other pages can refer to."""

    links: list[str] = field(default_factory=list)
    #: Styles, scripts and pictures, which a browser loads automatically.
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and given.get("name"):
            self.anchors.add(given["name"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preconnect", "preload"):
            self.loaded.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Html]:
    """Builds the site like `make docs`."""
    if any(find_spec(name) is None for name in ("material", "mkdocstrings", "griffe_sphinx")):
        pytest.skip("needs mkdocs-material and mkdocstrings: pip install 'afflux[docs]'")
    place = tmp_path_factory.mktemp("site").resolve()
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)],
        cwd=REPO,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {}
    for path in place.rglob("*.html"):
        pages[path] = Html()
        pages[path].feed(path.read_text(encoding="utf-8"))
    return pages


# Reads every page of the site.
@pytest.mark.slow
def test_links_of_the_site_lead_somewhere(site):
    assert len(site) > 300
    pages = {str(path): page for path, page in site.items()}
    root = next(path for path in site if path.name == "404.html").parent
    files = {str(path) for path in root.rglob("*") if path.is_file()}
    for path, page in site.items():
        if path.name == "404.html":
            continue
        folder = str(path.parent)
        # Uses strings instead of `Path` objects, because pages link to most other pages: there are
        # 100,000 lookups.
        for link in {*page.links, *page.loaded}:
            if re.match(r"(https?|mailto|data):", link):
                continue
            target, _, anchor = unquote(link).partition("#")
            there = os.path.normpath(f"{folder}/{target}") if target else str(path)
            assert there in files, f"{path}: {link}"
            if anchor and there.endswith(".html"):
                assert anchor in pages[there].anchors or anchor == "__comments", f"{path}: {link}"


def test_pages_ask_no_other_host(site):
    for path, page in site.items():
        assert [link for link in page.loaded if re.match(r"(https?:)?//", link)] == [], path
        text = path.read_text(encoding="utf-8")
        assert "fonts.g" not in text
        # With this attribute, the theme's script would query GitHub for the stars of the
        # repository.
        assert 'data-md-component="source"' not in text


def test_the_site_has_every_public_name(site):
    root = next(path for path in site if path.name == "404.html").parent
    for page in api.PAGES:
        anchors = site[root / api.FOLDER / page.file.replace(".md", ".html")].anchors
        assert {*(f"afflux.{name}" for name in page.names), *page.further} <= anchors, page.file


def test_pages_have_the_version_and_a_link_to_their_source(site):
    root = next(path for path in site if path.name == "404.html").parent
    for path in site:
        text = path.read_text(encoding="utf-8")
        if "http-equiv" not in text:
            # The version is in the header and in the footer.
            assert (
                f'<div class="md-source__repository">afflux {afflux.__version__}</div>' in text
            ), path
            assert f"afflux {afflux.__version__}, Apache License 2.0" in text, path
    edited = {
        page: re.search(
            r'<a href="([^"]+)"[^>]* rel="edit"', (root / page).read_text(encoding="utf-8")
        )
        for page in (
            "tutorial.html",
            "how-to/deep-or-shallow.html",
            "changelog.html",
            "studies/hadoop.html",
            "reference/keys/switch.html",
        )
    }
    assert {
        page: found and found[1].removeprefix(f"{outside.EDITED}/")
        for page, found in edited.items()
    } == {
        "tutorial.html": "docs/tutorial.md",
        "how-to/deep-or-shallow.html": "docs/how-to/deep-or-shallow.md",
        "changelog.html": "CHANGELOG.md",
        "studies/hadoop.html": "python/afflux/studies/hadoop/README.md",
        "reference/keys/switch.html": None,
    }


# A browser opens pages of the whole site, which it first has to read from the disk.
@pytest.mark.slow
def test_the_site_works_from_a_disk(site, browser):
    """Pages open without a message or a request to a host, a narrow screen cuts off nothing, and
    the search finds a key."""
    root = next(path for path in site if path.name == "404.html").parent
    troubles: list[str] = []
    page = browser.new_context(
        viewport={"width": 390, "height": 844}, color_scheme="dark"
    ).new_page()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda request: (
            troubles.append(request.url)
            if not request.url.startswith(("file:", "data:", "blob:"))
            else None
        ),
    )
    for path in (
        "index.html",
        "reference/keys/switch.ecn.html",
        "reference/models/balance/drill.html",
        "reference/python/scenarios.html",
        "validation.html",
    ):
        page.goto((root / path).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    page.click("label[for=__search]")
    page.keyboard.type("probe_rtt_interval")
    page.wait_for_selector(
        ".md-search-result__link[href*='host.transport.bbr.html'][href*='#probe_rtt_interval']",
        timeout=20_000,
    )
    page.close()
    assert troubles == []


def test_every_page_has_a_place_in_the_navigation(site):
    """mkdocs's strict mode reports pages that are missing in the navigation. This test reports
    superfluous entries of the navigation."""
    from docs.generator import hook

    nav = re.search(
        r"^nav:\n(.*)\Z", (REPO / "mkdocs.yml").read_text(encoding="utf-8"), re.M | re.S
    )
    assert nav is not None
    named = re.findall(r"(?:- |: |\[|, )([\w./-]+\.md)", nav[1])
    made = {*KEYS, *MODELS, *commands.pages(), *api.pages(), *notebooks.pages(), *outside.pages()}
    missing = [path for path in named if path not in made and not (REPO / "docs" / path).is_file()]
    assert missing == [], "mkdocs.yml names pages that are not there"
    titles = {
        "a.md": "A",
        "how-to/z.md": "About",
        "how-to/b.md": "Zebra",
        "reference/m/index.md": "All",
        "reference/m/k/index.md": "Kind",
        "reference/m/k/x.md": "x",
    }
    assert hook.complete(
        [
            "a.md",
            "gone.md",
            {"How-to": ["how-to/*"]},
            {"None": ["none/*"]},
            {"Models": ["reference/m/**"]},
        ],
        titles,
    ) == [
        "a.md",
        {"How-to": ["how-to/z.md", "how-to/b.md"]},
        {
            "Models": [
                "reference/m/index.md",
                {"Kind": ["reference/m/k/index.md", "reference/m/k/x.md"]},
            ]
        },
    ]
