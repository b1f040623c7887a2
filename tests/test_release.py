"""Identification of a release: the build script determines version and commit, the program and its
results show them, and the files that quote the version agree."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from conftest import REPO

import afflux
from afflux import _core

BUILD = re.compile(r"(\d+\.\d+\.\d+)(\+g[0-9a-f]{7,40}(\.dirty)?)?")
VERSION = tomllib.loads((REPO / "Cargo.toml").read_text())["workspace"]["package"]["version"]

# Git variables of a hook or a user must not affect the repositories of these tests.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
ENVIRONMENT |= {
    f"GIT_{who}_{what}": "nobody@example.org"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}
ENVIRONMENT |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.fixture(scope="module")
def script(tmp_path_factory) -> Path:
    """Returns crates/python/build.rs, compiled."""
    if not shutil.which("rustc") or not shutil.which("git"):
        pytest.skip("rustc or git is missing")
    program = tmp_path_factory.mktemp("build") / "script"
    subprocess.run(
        ["rustc", "--edition", "2024", "-o", program, REPO / "crates/python/build.rs"], check=True
    )
    return program


def git(root: Path, *arguments: str | Path) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=root, env=ENVIRONMENT, check=True, capture_output=True, text=True
    ).stdout.strip()


def tree(root: Path) -> Path:
    """Creates the part of a checkout that the script reads."""
    (root / "crates/python").mkdir(parents=True)
    (root / "crates/python/lib.rs").write_text("// one\n")
    (root / "README.md").write_text("one\n")
    (root / ".gitignore").write_text("COMMIT\n")
    return root


def committed(root: Path, *arguments: str) -> str:
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "a commit", *arguments)
    return git(root, "rev-parse", "--short=7", "HEAD")


@pytest.fixture
def checkout(tmp_path) -> Path:
    root = tree(tmp_path / "checkout")
    git(root, "init", "--quiet", "--initial-branch", "main")
    committed(root)
    return root


def run(script: Path, root: Path, **environment: str) -> tuple[str, set[str]]:
    """Returns the build that the script determines, and the files whose change makes cargo run it
    again."""
    given = (
        ENVIRONMENT
        | {"CARGO_MANIFEST_DIR": str(root / "crates/python"), "CARGO_PKG_VERSION": "1.2.3"}
        | environment
    )
    said = subprocess.run(
        [script], cwd=root / "crates/python", env=given, check=True, capture_output=True, text=True
    ).stdout
    (build,) = re.findall(r"(?m)^cargo::rustc-env=AFFLUX_BUILD=(.*)$", said)
    return build, set(re.findall(r"(?m)^cargo::rerun-if-changed=(.*)$", said))


def test_a_checkout(script, checkout):
    commit = git(checkout, "rev-parse", "--short=7", "HEAD")
    build, watched = run(script, checkout)
    assert build == f"1.2.3+g{commit}"
    root = checkout.resolve()
    expected = {
        ".git/HEAD",
        ".git/logs/HEAD",
        ".git/index",
        ".git/refs/heads/main",
        "README.md",
        ".gitignore",
        "crates/python/lib.rs",
    }
    assert watched == {"build.rs"} | {str(root / path) for path in expected}
    # The script itself changes no file, because otherwise cargo would run it every time.
    assert run(script, checkout) == (build, watched)
    (checkout / "untracked").write_text("")
    assert run(script, checkout)[0] == build
    (checkout / "README.md").write_text("two\n")
    assert run(script, checkout)[0] == f"{build}.dirty"
    git(checkout, "add", "README.md")
    assert run(script, checkout)[0] == f"{build}.dirty"
    second = committed(checkout)
    assert second != commit
    assert run(script, checkout)[0] == f"1.2.3+g{second}"
    git(checkout, "checkout", "--quiet", "--detach", commit)
    assert run(script, checkout)[0] == build


def test_links_are_not_followed(script, checkout):
    (checkout / "python").symlink_to("crates/python")
    committed(checkout)
    assert str(checkout.resolve() / "python") not in run(script, checkout)[1]


def test_a_worktree_and_a_shallow_clone(script, checkout, tmp_path):
    git(checkout, "worktree", "add", "--quiet", "-b", "other", tmp_path / "worktree")
    (tmp_path / "worktree/README.md").write_text("two\n")
    commit = committed(tmp_path / "worktree")
    build, watched = run(script, tmp_path / "worktree")
    assert build == f"1.2.3+g{commit}"
    assert {
        str(checkout.resolve() / ".git" / path)
        for path in ("refs/heads/other", "worktrees/worktree/HEAD", "worktrees/worktree/index")
    } <= watched
    assert run(script, checkout)[0] != build
    git(
        tmp_path,
        "clone",
        "--quiet",
        "--depth",
        "1",
        "--branch",
        "other",
        f"file://{checkout}",
        "shallow",
    )
    assert run(script, tmp_path / "shallow")[0] == build


def test_the_repository_of_something_else(script, checkout, tmp_path):
    inner = tree(checkout / "third_party/afflux")
    assert run(script, inner) == ("1.2.3", {"build.rs"})
    committed(checkout)
    assert run(script, inner)[0] == "1.2.3"
    # A hook of another repository has set its own variables.
    other = tree(tmp_path / "other")
    git(other, "init", "--quiet")
    commit = committed(other)
    hook = {
        "GIT_DIR": str(checkout / ".git"),
        "GIT_WORK_TREE": str(checkout),
        "GIT_INDEX_FILE": str(checkout / ".git/index"),
    }
    assert run(script, other, **hook)[0] == f"1.2.3+g{commit}"


def test_without_git(script, checkout, tmp_path):
    assert run(script, checkout, PATH=str(tmp_path))[0] == "1.2.3"
    assert run(script, tree(tmp_path / "no repository"))[0] == "1.2.3"
    git(tmp_path, "init", "--quiet", "empty")
    assert run(script, tree(tmp_path / "empty/afflux"))[0] == "1.2.3"
    assert run(script, tree(tmp_path / "empty"))[0] == "1.2.3"


@pytest.mark.parametrize("place", ["alone", "checkout"])
def test_a_source_distribution(script, checkout, tmp_path, place):
    """The file in the source distribution names the commit, even if the distribution is inside
    another repository."""
    root = checkout if place == "checkout" else tree(tmp_path / "alone")
    (root / "PKG-INFO").write_text("Name: afflux\n")
    assert run(script, root)[0] == "1.2.3"
    for written, build in (
        ("1234abc", "1.2.3+g1234abc"),
        ("1234abc.dirty\n", "1.2.3+g1234abc.dirty"),
        ("", "1.2.3"),
        ("two words", "1.2.3"),
    ):
        (root / "COMMIT").write_text(written)
        named, watched = run(script, root)
        assert named == build
        assert str(root.resolve() / "COMMIT") in watched


def test_this_build():
    match = BUILD.fullmatch(_core.__build__)
    assert match
    assert match[1] == afflux.__version__ == VERSION


def test_the_program_and_its_results_say_it(command, scenario, tmp_path):
    assert command("--version").stdout == f"afflux {_core.__build__}\n"
    afflux.load(scenario()).run(out=tmp_path / "result")
    summary = json.loads((tmp_path / "result/summary.json").read_text())
    assert (summary["afflux_version"], summary["build"]) == (VERSION, _core.__build__)
    assert afflux.load(scenario()).run().summary["build"] == _core.__build__


def test_every_file_quotes_one_version():
    citation = yaml.safe_load((REPO / "CITATION.cff").read_text())
    changelog = re.findall(
        r"(?m)^## \[(.*?)\](?: - (\d{4}-\d{2}-\d{2}))?$", (REPO / "CHANGELOG.md").read_text()
    )
    assert changelog[0] == ("Unreleased", "")
    assert changelog[1] == (VERSION, str(citation["date-released"]))
    assert citation["version"] == VERSION
    packages = tomllib.loads((REPO / "Cargo.lock").read_text())["package"]
    assert {
        package["version"] for package in packages if package["name"].startswith("afflux-")
    } == {VERSION}


def test_results_without_a_build(invoke, scenario, tmp_path, monkeypatch):
    """Versions before 0.3 wrote no build."""
    monkeypatch.chdir(tmp_path)
    for name in ("new", "old"):
        afflux.load(scenario()).run(out=tmp_path / name)
    afflux.load(scenario(('"small"', '"deep"'), ("30packets", "60packets"))).run(
        out=tmp_path / "deep"
    )
    path = tmp_path / "old/summary.json"
    summary = json.loads(path.read_text()) | {"summary_digest": ""}
    del summary["build"]
    text = json.dumps(summary)
    path.write_text(
        text.replace(
            '"summary_digest": ""',
            f'"summary_digest": "{hashlib.sha256(text.encode()).hexdigest()}"',
        )
    )
    assert afflux.Result.open(tmp_path / "old").summary["build"] is None
    assert invoke("verify", "old").exit_code == 0
    done = invoke("diff", "new", "old")
    assert done.exit_code == 0, done.output
    if _core.__build__ != VERSION:
        assert f"the results are of afflux {_core.__build__} and {VERSION}" in " ".join(
            done.output.split()
        )
    done = invoke("compare", "old", "deep")
    assert done.exit_code == 0, done.output
