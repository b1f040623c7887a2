"""What runs outside a checkout: workflows, forms, the container, the hooks. GitHub and Docker run them; here, what they name exists and fits together."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from conftest import REPO

GITHUB = REPO / ".github"
FORMS = {path.stem: yaml.safe_load(path.read_text()) for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"}
HOOKS = REPO / ".pre-commit-config.yaml"
DEVCONTAINER = REPO / ".devcontainer" / "devcontainer.json"
DOCKERFILE = REPO / "Dockerfile"
NOTES = REPO / ".ci" / "release_notes.py"


# ---------------------------------------------------------------------------------------------------------------------------- forms

#: Fields that somebody has to fill in, and those that may stay empty.
FIELDS = {
    "bug": ({"version", "system", "command", "expected", "scenario"}, {"summary"}),
    "model": ({"model", "kind", "source", "need"}, {"check"}),
    "wrong-answer": ({"version", "scenario", "summary", "found", "expected", "kind", "source"}, set()),
}


def test_there_is_a_form_for_each_kind_of_issue():
    assert set(FORMS) == set(FIELDS)
    assert len({form["name"] for form in FORMS.values()}) == len(FORMS)
    config = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / "config.yml").read_text())
    assert config["blank_issues_enabled"] is False


@pytest.mark.parametrize("name", FIELDS)
def test_forms_ask_for_what_an_answer_needs(name):
    form = FORMS[name]
    assert all(form[key] for key in ("name", "description", "labels"))
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    required, optional = FIELDS[name]
    assert {field["id"] for field in fields if field["validations"]["required"]} == required
    assert {field["id"] for field in fields if not field["validations"]["required"]} == optional
    assert len({field["attributes"]["label"] for field in fields}) == len(fields)
    for field in fields:
        assert field["type"] in ("input", "textarea", "dropdown")
        assert field["attributes"].get("description") or field["attributes"].get("options"), field["id"]
    if "version" in required:
        assert "afflux --version" in next(field for field in fields if field["id"] == "version")["attributes"]["description"]


def test_links_of_forms_lead_to_files():
    repository = tomllib.loads((REPO / "Cargo.toml").read_text())["workspace"]["package"]["repository"]
    found = [link for path in (GITHUB / "ISSUE_TEMPLATE").iterdir() for link in re.findall(r"https://[^\s)]+", path.read_text())]
    assert len(found) > 3
    for link in found:
        assert link.startswith(f"{repository}/"), link
        if "/blob/main/" in link:
            assert (REPO / link.partition("/blob/main/")[2]).is_file(), link


def test_the_request_asks_for_the_rules():
    """Commands and files that the template names are in CONTRIBUTING.md's rules, and exist."""
    template, rules = (path.read_text() for path in (GITHUB / "pull_request_template.md", REPO / "CONTRIBUTING.md"))
    for command in ("python benches/golden.py", "python benches/instructions.py"):
        assert f"`{command}`" in template
        assert f"`{command}`" in rules
        assert (REPO / command.split()[1]).is_file()
    for words in ("`make lint`", "`make test`", "CHANGELOG.md", "72 characters", "2 %"):
        assert words in template
    assert "72 characters" in rules


# ---------------------------------------------------------------------------------------------------------------------------- hooks


def test_hooks_are_what_lint_runs():
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (REPO / "Makefile").read_text(), re.M)
    assert recipe
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines() if not line.startswith("\t@")]
    (local,) = yaml.safe_load(HOOKS.read_text())["repos"]
    assert local["repo"] == "local"
    assert [hook["entry"] for hook in local["hooks"]] == commands
    assert all(hook["language"] == "system" and hook["pass_filenames"] is False for hook in local["hooks"])
    # What takes minutes does not hold up a commit.
    assert [hook["id"] for hook in local["hooks"] if hook.get("stages") == ["pre-push"]] == ["imports", "clippy"]


# ------------------------------------------------------------------------------------------------------------------------ container


def instructions() -> list[tuple[str, list[str]]]:
    """Instructions of the Dockerfile and their words."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.M))
    return [(line.split()[0], line.split()[1:]) for line in text.splitlines() if line.strip()]


def stages() -> list[str]:
    return [words[2] for name, words in instructions() if name == "FROM" and len(words) == 3]


def test_stages_of_the_image_are_there():
    known: list[str] = []
    for name, words in instructions():
        if name == "FROM":
            base, *alias = words
            # A stage before it, or an image with a version.
            assert base in known or re.fullmatch(r"(rust:1|python:3\.13-slim)-trixie", base), base
            known += alias[1:]
        for stage in re.findall(r"from=([\w-]+)", " ".join(words)):
            assert stage in known, stage
    assert stages() == ["tools", "dev", "wheel"]


def test_the_image_copies_what_exists_and_is_not_left_out():
    copied = [source for name, words in instructions() if name == "COPY" for source in words[:-1]]
    ignored = (REPO / ".dockerignore").read_text().split()
    assert {"Cargo.toml", "Cargo.lock", "pyproject.toml", "crates", "python"} <= set(copied)
    for source in copied:
        assert (REPO / source).exists(), source
        assert not any(Path(source).match(pattern.removeprefix("**/")) for pattern in ignored), source
    # What git leaves out belongs to another machine.
    assert {".git", *(f"**/{pattern.rstrip('/')}" for pattern in (REPO / ".gitignore").read_text().split())} == set(ignored)


def test_the_image_has_the_sources_of_the_wheel():
    """What Makefile and pyproject.toml name."""
    copied = {source for name, words in instructions() if name == "COPY" for source in words[:-1]}
    project = tomllib.loads((REPO / "pyproject.toml").read_text())
    wanted = {project["project"]["readme"], *project["project"]["license-files"], project["tool"]["maturin"]["python-source"]}
    wanted |= {Path(project["tool"]["maturin"]["manifest-path"]).parts[0]}
    wanted |= set(re.findall(r"^SOURCES := (.*) \$", (REPO / "Makefile").read_text(), re.M)[0].split())
    assert wanted | {"Makefile"} == copied


def test_the_image_runs_afflux_without_rights():
    settings: dict[str, str] = {}
    for name, words in instructions():
        # Of the last stage.
        settings = {name: " ".join(words)} if name == "FROM" else settings | {name: " ".join(words)}
    assert settings["FROM"].startswith("python:")
    assert settings["ENTRYPOINT"] == '["afflux"]'
    assert settings["WORKDIR"] == "/work"
    # A number: Kubernetes does not know what a name stands for.
    assert settings["USER"] == "1000"
    assert "--uid 1000 afflux" in settings["RUN"]


def test_the_development_container_uses_a_stage():
    container = json.loads(DEVCONTAINER.read_text())
    build = container["build"]
    assert (DEVCONTAINER.parent / build["dockerfile"]).resolve() == DOCKERFILE
    assert (DEVCONTAINER.parent / build["context"]).resolve() == REPO
    assert build["target"] in stages()
    assert f"--uid 1000 {container['remoteUser']}" in DOCKERFILE.read_text()


# -------------------------------------------------------------------------------------------------------------------- release notes

CHANGELOG = """\
# Changelog

## [Unreleased]

### Added
- Not yet.

## [1.10.0] - 2031-05-06

A sentence that goes on
in the next line.

### Added
- One thing, with more
  words in a second line.
- Another thing:

  ```toml
  [switch]
    buffer = "1MB"
  ```

| a | b |
|---|---|
| 1 | 2 |

## [1.1.0] - 2031-01-02

- First.

## [1.0.0]

[1.0.0]: https://example.org/1.0.0
"""


def notes(version: str, *options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(NOTES), version, *map(str, options)], capture_output=True, text=True, encoding="utf-8", timeout=60)


@pytest.fixture
def changelog(tmp_path: Path) -> Path:
    path = tmp_path / "CHANGELOG.md"
    path.write_text(CHANGELOG)
    return path


def test_notes_are_the_section_of_the_version(changelog):
    done = notes("v1.10.0", "--changelog", changelog)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "A sentence that goes on in the next line.\n\n### Added\n- One thing, with more words in a second line.\n- Another thing:\n\n"
        '  ```toml\n  [switch]\n    buffer = "1MB"\n  ```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n'
    )
    assert notes("1.1.0", "--changelog", changelog).stdout == "- First.\n"


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("v2.0.0", "CHANGELOG.md: no section for version 2.0.0: there are 1.10.0, 1.1.0, 1.0.0"),
        ("1.1", "no section for version 1.1:"),
        ("Unreleased", "no section for version Unreleased:"),
        ("1.0.0", "the section of version 1.0.0 is empty"),
    ],
)
def test_a_version_without_notes_is_an_error(version, says, changelog):
    done = notes(version, "--changelog", changelog)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr


def test_without_a_changelog(tmp_path):
    done = notes("1.0.0", "--changelog", tmp_path / "CHANGELOG.md")
    assert done.returncode == 1
    assert done.stderr.startswith("error: CHANGELOG.md: ")


def test_notes_of_every_version_of_the_changelog():
    """Of afflux itself: nothing gets lost, and a version that is not there is an error."""
    text = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    for version in re.findall(r"^## \[(\d[^\]]*)\]", text, re.M):
        done = notes(version)
        assert done.returncode == 0, done.stderr
        section = text.partition(f"## [{version}]")[2].partition("\n")[2].partition("\n## ")[0]
        assert done.stdout.split() == re.sub(r"(?m)^\[[^]]+\]: .*$", "", section).split()
    assert notes("99.0.0").returncode == 1
