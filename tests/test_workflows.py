"""Files for use outside a checkout: workflows, forms, the container, the hooks. GitHub and Docker
run them. These tests check that everything they name exists and is consistent."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import REPO

GITHUB = REPO / ".github"
FILES = sorted([*GITHUB.rglob("*.yml"), *GITHUB.rglob("*.yaml")])
WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text()) for path in sorted((GITHUB / "workflows").iterdir())
}
SETUP = GITHUB / "actions" / "setup" / "action.yml"
FORMS = {
    path.stem: yaml.safe_load(path.read_text())
    for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml")
    if path.stem != "config"
}
HOOKS = REPO / ".pre-commit-config.yaml"
DEVCONTAINER = REPO / ".devcontainer" / "devcontainer.json"
DOCKERFILE = REPO / "Dockerfile"
NOTES = REPO / ".ci" / "release_notes.py"

#: Permissions of jobs beyond reading the repository.
RIGHTS = {
    ("ci.yml", "pages"): {"pages": "write", "id-token": "write"},
    ("release.yml", "github"): {"contents": "write"},
    ("release.yml", "pypi"): {"id-token": "write"},
}


def named(path: Path) -> str:
    return str(path.relative_to(REPO))


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for file, workflow in WORKFLOWS.items():
        for name, job in workflow["jobs"].items():
            yield file, name, job


def steps(job: dict[str, Any], uses: str) -> list[dict[str, Any]]:
    """Returns the steps of a job that use this action."""
    return [step for step in job["steps"] if step.get("uses", "").partition("@")[0] == uses]


def needs(job: dict[str, Any]) -> list[str]:
    found = job.get("needs", [])
    return [found] if isinstance(found, str) else found


def rows(job: dict[str, Any]) -> list[dict[str, str]]:
    """Returns the matrix entries of a job. A job without a matrix has one empty entry."""
    return job.get("strategy", {}).get("matrix", {}).get("include", [{}])


EVERY = {f"{file}: {name}": (file, name, job) for file, name, job in jobs()}
each_job = pytest.mark.parametrize(("file", "name", "job"), EVERY.values(), ids=EVERY)


# ------------------------------------------------------------------------------------------------------------------------ workflows


@pytest.mark.parametrize("path", [*FILES, HOOKS], ids=named)
def test_it_is_yaml(path):
    assert isinstance(yaml.safe_load(path.read_text()), dict)


def test_the_workflows_are_there():
    assert [workflow["name"] for workflow in WORKFLOWS.values()] == ["CI", "Release"]
    assert set(WORKFLOWS["ci.yml"]["jobs"]) == {
        "lint",
        "test",
        "macos",
        "docs",
        "container",
        "gate",
        "pages",
    }
    assert set(WORKFLOWS["release.yml"]["jobs"]) == {"notes", "wheels", "sdist", "github", "pypi"}
    # YAML reads the key `on` as a boolean.
    assert set(WORKFLOWS["ci.yml"][True]) == {"push", "pull_request", "workflow_dispatch"}
    assert WORKFLOWS["release.yml"][True]["push"] == {"tags": ["v*"]}


@pytest.mark.parametrize(
    "path",
    [*FILES, HOOKS, DEVCONTAINER, DOCKERFILE, GITHUB / "pull_request_template.md"],
    ids=named,
)
def test_targets_of_make_exist(path):
    targets = set(re.findall(r"^([a-z-]+):", (REPO / "Makefile").read_text(), re.M))
    assert {"lint", "test", "docs", "wheel", "setup"} <= targets
    assert set(re.findall(r"\bmake ([a-z][\w-]*)", path.read_text())) <= targets


@pytest.mark.parametrize(
    ("job", "target"),
    [("lint", "make lint"), ("test", "make test"), ("docs", "make docs"), ("macos", "make wheel")],
)
def test_jobs_call_make(job, target):
    assert target in [step.get("run") for step in WORKFLOWS["ci.yml"]["jobs"][job]["steps"]]


@pytest.mark.parametrize("path", FILES, ids=named)
def test_files_that_are_named_exist(path):
    for name in re.findall(
        r"(?<![\w/])(?:tests|benches|docs|\.ci|\.github|report)/[\w./-]*\w", path.read_text()
    ):
        assert (REPO / name).exists(), name


def test_actions_have_one_major_version():
    used = [step["uses"] for _, _, job in jobs() for step in job["steps"] if "uses" in step]
    used += [
        step["uses"]
        for step in yaml.safe_load(SETUP.read_text())["runs"]["steps"]
        if "uses" in step
    ]
    local = {action for action in used if action.startswith("./")}
    assert local == {f"./{named(SETUP.parent)}"}
    others = {action for action in used if action not in local}
    assert len(others) > 5
    for action in others:
        assert re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+", action), action
    assert len({action.partition("@")[0] for action in others}) == len(others)


@each_job
def test_jobs_have_limits_and_few_rights(file, name, job):
    assert 0 < job["timeout-minutes"] <= 150
    assert job.get("permissions", {}) == RIGHTS.get((file, name), {})
    assert WORKFLOWS[file]["permissions"] == {"contents": "read"}
    assert set(needs(job)) <= set(WORKFLOWS[file]["jobs"])


@pytest.mark.parametrize("file", WORKFLOWS)
def test_older_runs_are_cancelled(file):
    concurrency = WORKFLOWS[file]["concurrency"]
    assert concurrency["group"] == f"{Path(file).stem}-${{{{ github.ref }}}}"
    # A new push cancels older runs of its branch or tag, but every commit of main is tested
    # completely.
    assert concurrency["cancel-in-progress"] in (True, "${{ github.ref != 'refs/heads/main' }}")


def test_the_gate_waits_for_every_job():
    jobs = WORKFLOWS["ci.yml"]["jobs"]
    gate = jobs["gate"]
    assert set(gate["needs"]) == set(jobs) - {"gate", "pages"}
    assert gate["if"] == "always()"
    assert needs(jobs["pages"]) == ["gate"]
    (step,) = gate["steps"]
    assert step["env"] == {"RESULTS": "${{ join(needs.*.result, ' ') }}"}
    for results, code in (
        ("success success", 0),
        ("success failure", 1),
        ("cancelled success", 1),
        ("skipped", 1),
    ):
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], env={"RESULTS": results}, capture_output=True
        )
        assert done.returncode == code, results


@each_job
def test_the_matrix_has_what_the_job_uses(file, name, job):
    wanted = set(re.findall(r"matrix\.(\w+)", yaml.safe_dump(job)))
    assert all(set(row) == wanted for row in rows(job))
    names = [row.get("name") for row in rows(job)]
    assert len(set(names)) == len(names)
    for row in rows(job):
        runner = row.get("runner", job["runs-on"])
        assert re.fullmatch(r"(ubuntu-24\.04|macos-15)(-arm|-intel)?", runner)
        if row:
            system = {"ubuntu": "linux", "macos": "macos"}[runner.split("-")[0]]
            arm = runner in ("ubuntu-24.04-arm", "macos-15")
            assert row["name"] == f"{system}-{'aarch64' if arm else 'x86_64'}"
            assert (
                row.get("target", "aarch64" if arm else "x86_64") == row["name"].partition("-")[2]
            )


def test_every_platform_is_tested_and_built():
    ci, release = WORKFLOWS["ci.yml"]["jobs"], WORKFLOWS["release.yml"]["jobs"]
    assert [row["name"] for row in rows(ci["test"])] == ["linux-x86_64", "linux-aarch64"]
    assert {row["name"] for row in rows(release["wheels"])} == {
        f"{system}-{machine}" for system in ("linux", "macos") for machine in ("x86_64", "aarch64")
    }


def test_the_oldest_and_a_newer_python_are_tested():
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=")
    tested = [row["python"] for row in rows(WORKFLOWS["ci.yml"]["jobs"]["test"])]
    assert oldest in tested
    assert len(set(tested)) == 2
    assert yaml.safe_load(SETUP.read_text())["inputs"]["python"]["default"] == oldest


def test_durations_of_tests_are_kept_when_tests_fail():
    (step,) = steps(WORKFLOWS["ci.yml"]["jobs"]["test"], "actions/upload-artifact")
    assert step["if"] == "always()"
    assert step["with"]["path"] == "out/tests/"


@pytest.mark.parametrize("file", WORKFLOWS)
def test_artifacts_have_names_of_their_own(file):
    kept = []
    for job in WORKFLOWS[file]["jobs"].values():
        for step in steps(job, "actions/upload-artifact"):
            kept += [
                re.sub(
                    r"\$\{\{ matrix\.(\w+) \}\}",
                    lambda match, row=row: row[match[1]],
                    step["with"]["name"],
                )
                for row in rows(job)
            ]
    assert kept
    assert len(set(kept)) == len(kept)
    for job in WORKFLOWS[file]["jobs"].values():
        for step in steps(job, "actions/download-artifact"):
            assert any(
                Path(name).match(step["with"].get("pattern") or step["with"]["name"])
                for name in kept
            )


def test_only_tags_are_published_and_packages_after_approval():
    jobs = WORKFLOWS["release.yml"]["jobs"]
    for name in ("notes", "github", "pypi"):
        assert jobs[name]["if"] == "github.ref_type == 'tag'"
    assert set(needs(jobs["github"])) == {"notes", "wheels", "sdist"}
    assert needs(jobs["pypi"]) == ["github"]
    # The reviewers of the environment are a setting of the repository.
    assert jobs["pypi"]["environment"] == "pypi"
    assert not any("secrets" in yaml.safe_dump(job) for job in jobs.values())


def test_the_tag_is_compared_with_the_version():
    step = next(
        step
        for step in WORKFLOWS["release.yml"]["jobs"]["notes"]["steps"]
        if "Cargo.toml" in step.get("run", "")
    )
    version = tomllib.loads((REPO / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    for tag, code in ((f"v{version}", 0), (f"v{version}.1", 1), ("v99", 1)):
        assert (
            subprocess.run(
                ["bash", "-e", "-c", step["run"]],
                cwd=REPO,
                env={"GITHUB_REF_NAME": tag},
                capture_output=True,
            ).returncode
            == code
        ), tag


def test_dependencies_are_looked_up_where_they_are_declared():
    manifests = {"cargo": "Cargo.toml", "pip": "pyproject.toml", "npm": "package.json"}
    updates = yaml.safe_load((GITHUB / "dependabot.yml").read_text())["updates"]
    assert {update["package-ecosystem"] for update in updates} == {*manifests, "github-actions"}
    for update in updates:
        assert update["schedule"]["interval"] == "weekly"
        assert all(group["patterns"] == ["*"] for group in update["groups"].values())
        for folder in update.get("directories") or [update["directory"]]:
            if manifest := manifests.get(update["package-ecosystem"]):
                assert (REPO / folder.strip("/") / manifest).is_file(), folder
            elif folder != "/":
                assert list(REPO.glob(f"{folder.strip('/')}/action.yml")), folder


# ---------------------------------------------------------------------------------------------------------------------------- forms

#: Required and optional fields of the forms.
FIELDS = {
    "bug": ({"version", "system", "command", "expected", "scenario"}, {"summary"}),
    "model": ({"model", "kind", "source", "need"}, {"check"}),
    "wrong-answer": (
        {"version", "scenario", "summary", "found", "expected", "kind", "source"},
        set(),
    ),
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
        assert field["attributes"].get("description") or field["attributes"].get("options"), field[
            "id"
        ]
    if "version" in required:
        assert (
            "afflux --version"
            in next(field for field in fields if field["id"] == "version")["attributes"][
                "description"
            ]
        )


def test_links_of_forms_lead_to_files():
    repository = tomllib.loads((REPO / "Cargo.toml").read_text())["workspace"]["package"][
        "repository"
    ]
    found = [
        link
        for path in (GITHUB / "ISSUE_TEMPLATE").iterdir()
        for link in re.findall(r"https://[^\s)]+", path.read_text())
    ]
    assert len(found) > 3
    for link in found:
        assert link.startswith(f"{repository}/"), link
        if "/blob/main/" in link:
            assert (REPO / link.partition("/blob/main/")[2]).is_file(), link


def test_the_request_asks_for_the_rules():
    """Commands and files named by the template are in CONTRIBUTING.md's rules, and exist."""
    template, rules = (
        path.read_text() for path in (GITHUB / "pull_request_template.md", REPO / "CONTRIBUTING.md")
    )
    for command in ("python benches/golden.py", "python benches/instructions.py"):
        assert f"`{command}`" in template
        assert f"`{command}`" in rules
        assert (REPO / command.split()[1]).is_file()
    for words in ("`make lint`", "`make test`", "CHANGELOG.md", "72 characters", "2 %"):
        assert words in template
    assert "72 characters" in rules


# ---------------------------------------------------------------------------------------------------------------------------- hooks


def test_hooks_are_what_lint_runs():
    recipes = re.findall(r"^lint[\w-]*:.*\n((?:\t.*\n)+)", (REPO / "Makefile").read_text(), re.M)
    commands = [
        line.strip().replace("$(BIN)", ".venv/bin")
        for recipe in recipes
        for line in recipe.splitlines()
        if not line.startswith("\t@")
    ]
    assert len(commands) == 6
    (local,) = yaml.safe_load(HOOKS.read_text())["repos"]
    assert local["repo"] == "local"
    assert sorted(hook["entry"] for hook in local["hooks"]) == sorted(commands)
    assert all(
        hook["language"] == "system" and hook["pass_filenames"] is False for hook in local["hooks"]
    )
    # Hooks that take minutes do not run at a commit.
    assert [hook["id"] for hook in local["hooks"] if hook.get("stages") == ["pre-push"]] == [
        "imports",
        "clippy",
    ]


# ------------------------------------------------------------------------------------------------------------------------ container


def instructions() -> list[tuple[str, list[str]]]:
    """Returns the instructions of the Dockerfile and their words."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.M))
    return [(line.split()[0], line.split()[1:]) for line in text.splitlines() if line.strip()]


def stages() -> list[str]:
    return [words[2] for name, words in instructions() if name == "FROM" and len(words) == 3]


def test_stages_of_the_image_are_there():
    known: list[str] = []
    for name, words in instructions():
        if name == "FROM":
            base, *alias = words
            # The base is an earlier stage or an image with a version.
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
        assert not any(Path(source).match(pattern.removeprefix("**/")) for pattern in ignored), (
            source
        )
    # Files that git ignores belong to one machine and are not copied.
    assert {
        ".git",
        *(f"**/{pattern.strip('/')}" for pattern in (REPO / ".gitignore").read_text().split()),
    } == set(ignored)


def test_the_image_has_the_sources_of_the_wheel():
    """The wheel needs the files that Makefile and pyproject.toml name, and the script of `make
    wheel`."""
    copied = {source for name, words in instructions() if name == "COPY" for source in words[:-1]}
    project = tomllib.loads((REPO / "pyproject.toml").read_text())
    wanted = {
        project["project"]["readme"],
        *project["project"]["license-files"],
        project["tool"]["maturin"]["python-source"],
    }
    wanted |= {Path(project["tool"]["maturin"]["manifest-path"]).parts[0]}
    wanted |= set(
        re.findall(r"^SOURCES := (.*) \$", (REPO / "Makefile").read_text(), re.M)[0].split()
    )
    assert wanted | {"Makefile", ".ci/dist.sh"} == copied
    assert ".ci/dist.sh wheel" in (REPO / "Makefile").read_text()


def test_the_image_runs_afflux_without_rights():
    settings: dict[str, str] = {}
    for name, words in instructions():
        # Each stage starts with FROM, and the last one is the image.
        settings = {name: " ".join(words)} if name == "FROM" else settings | {name: " ".join(words)}
    assert settings["FROM"].startswith("python:")
    assert settings["ENTRYPOINT"] == '["afflux"]'
    assert settings["WORKDIR"] == "/work"
    # The user is a number, because Kubernetes cannot resolve names.
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
    return subprocess.run(
        [sys.executable, str(NOTES), version, *map(str, options)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )


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
    """The script prints every section of the changelog completely, and a missing version is an
    error."""
    text = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    for version in re.findall(r"^## \[(\d[^\]]*)\]", text, re.M):
        done = notes(version)
        assert done.returncode == 0, done.stderr
        section = text.partition(f"## [{version}]")[2].partition("\n")[2].partition("\n## ")[0]
        assert done.stdout.split() == re.sub(r"(?m)^\[[^]]+\]: .*$", "", section).split()
    assert notes("99.0.0").returncode == 1
