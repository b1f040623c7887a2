"""Dependencies between crates, modules and packages go in one direction only."""

import ast
import functools
import itertools
import re
import tomllib

import pytest
import rust_items
from conftest import REPO

from afflux import _core

#: Crates in order of dependency. Each may use those before it.
ORDER = ["units", "config", "engine", "net", "traffic", "scenario"]
ALLOWED = {name: set(ORDER[:place]) for place, name in enumerate(ORDER)}
# The key declarations do not depend on the simulation, and the simulation engine does not depend on
# the key declarations.
ALLOWED["engine"] = {"units"}
ALLOWED["results"] = set(ORDER)
# Guests know no networks.
ALLOWED["kernel"] = set()
ALLOWED["live"] = {*ORDER, "kernel"}
# `fuzz` is not part of the product.
ALLOWED["fuzz"] = {*ORDER, "results"}
ALLOWED["python"] = {*ORDER, "results", "live"}
#: Crates that use Arrow, and crates that use Python.
ARROW = {"results", "python"}
PYTHON = {"python"}

CRATES = sorted(path.parent.name for path in (REPO / "crates").glob("*/Cargo.toml"))


def dependencies(crate: str) -> set[str]:
    manifest = tomllib.loads((REPO / "crates" / crate / "Cargo.toml").read_text())
    tables = [manifest, *manifest.get("target", {}).values()]
    return {
        name
        for table in tables
        for kind in ("dependencies", "build-dependencies")
        for name in table.get(kind, {})
    }


def test_every_crate_has_its_place():
    assert set(CRATES) <= set(ALLOWED)


@pytest.mark.parametrize("crate", CRATES)
def test_dependencies_point_one_way(crate):
    ours = {
        name.removeprefix("afflux-") for name in dependencies(crate) if name.startswith("afflux-")
    }
    assert ours <= ALLOWED[crate]


@pytest.mark.parametrize("crate", CRATES)
def test_arrow_and_python_stay_in_their_rooms(crate):
    names = dependencies(crate)
    if crate not in ARROW:
        assert not {name for name in names if re.match(r"arrow|parquet", name)}
    if crate not in PYTHON:
        assert not {name for name in names if name.startswith("pyo3")}


@pytest.mark.parametrize("crate", ["units", "engine", "net"])
def test_the_simulator_itself_sees_no_formats(crate):
    forbidden = re.compile(
        r"\b(arrow\w*|parquet|serde_json|tracing|pyo3\w*)::|\buse (arrow\w*|parquet|serde_json|tracing|pyo3\w*)\b"
    )
    for source in (REPO / "crates" / crate / "src").rglob("*.rs"):
        assert not forbidden.search(source.read_text()), source
    assert not dependencies(crate) & {"serde_json", "tracing", "tracing-core", "log"}


@pytest.mark.parametrize("crate", CRATES)
def test_no_platform_mathematics(crate):
    # ln, exp, pow and similar functions differ in the last bit between platforms, but results must
    # not (libm is exact). `make lint` forbids these functions too. This test needs no second
    # compilation.
    platform = re.compile(
        r"\.(ln|ln_1p|log|log2|log10|exp|exp2|exp_m1|powf|powi|cbrt|sin|cos|tan|sqrt)\("
    )
    exact = re.compile(r"\.sqrt\(")  # IEEE 754 requires it to be exact
    for source in (REPO / "crates" / crate / "src").rglob("*.rs"):
        for line in source.read_text().splitlines():
            found = platform.search(exact.sub("", line))
            assert not found, f"{source}: {line.strip()}"


#: Files and folders of `net/src` by level. Each uses only items of its own level or lower ones.
#: Plans, records and estimates describe all levels.
NET_LEVELS = (
    {"counters", "frame", "model", "telemetry"},
    {"balance", "congestion", "queue"},
    {
        "fault",
        "features",
        "idle",
        "pacer",
        "paths",
        "port",
        "processor",
        "routing",
        "shard",
        "transport",
        "world",
    },
    {"ideal", "run"},
)
NET_LEVEL = {room: place for place, rooms in enumerate(NET_LEVELS) for room in rooms}
#: Files that are next to their writers, but belong to the contents of frames.
CARRIED = {"balance/conweave/tag.rs", "balance/tag.rs", "transport/rated/allocation/header.rs"}


@functools.cache
def edges_of(crate: str) -> rust_items.Edges:
    return rust_items.Crate(REPO / "crates" / crate / "src").edges()


def steps(edges: rust_items.Edges, way: list[str]) -> str:
    return way[0] + "".join(
        f" uses {', '.join(sorted(edges[a][b]))} of {b}" + (", which" if b != way[-1] else "")
        for a, b in itertools.pairwise(way)
    )


@pytest.mark.parametrize("crate", CRATES)
def test_no_files_of_a_crate_use_each_other_in_a_circle(crate):
    edges = edges_of(crate)
    ways = [way for file in edges if (way := rust_items.circle(edges, file))]
    assert not ways, steps(edges, min(ways, key=len))


def test_files_of_net_use_no_level_behind_their_own():
    net_edges = edges_of("net")

    def level(file: str) -> int | None:
        return 0 if file in CARRIED else NET_LEVEL.get(file.partition("/")[0].removesuffix(".rs"))

    assert {file for file in net_edges if level(file) is not None} >= CARRIED
    for file, others in net_edges.items():
        for other in others:
            backward = None not in (level(file), level(other)) and level(file) < level(other)
            assert not backward, steps(net_edges, [file, other])


def test_items_of_rust_are_found(tmp_path):
    files = {
        "lib.rs": "mod a;\nmod b;\npub use a::One;\n#[cfg(test)]\nmod tests;\n",
        "a.rs": "use crate::b::{self, Two as Other};\npub struct One(b::Three);\n#[cfg(test)]\nmod tests { use crate::One; }\n",
        "b/mod.rs": "mod c;\npub use c::*;\npub use c::Two;\n// crate::One\n",
        "b/c.rs": 'pub struct Two;\npub struct Three;\npub fn f() -> &\'static str { "crate::One" }\n',
    }
    (tmp_path / "b").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    edges = rust_items.Crate(tmp_path).edges()
    assert edges == {
        "lib.rs": {},
        "a.rs": {"b/c.rs": {"Two", "Three"}},
        "b/mod.rs": {},
        "b/c.rs": {},
    }
    (tmp_path / "b" / "c.rs").write_text(files["b/c.rs"] + "fn g(_: crate::One) {}\n")
    edges = rust_items.Crate(tmp_path).edges()
    way = rust_items.circle(edges, "a.rs")
    assert steps(edges, way) == "a.rs uses Three, Two of b/c.rs, which uses One of a.rs"


def test_unsafe_code_is_where_it_is_needed():
    allowed = {
        "engine/src/prefetch.rs",
        "net/src/run/sorter.rs",
        "kernel/src/memory.rs",
        "kernel/src/process.rs",
        "kernel/src/socket.rs",
        "live/src/sys.rs",
        "live/src/command.rs",
    }
    crates = REPO / "crates"
    found = {
        str(source.relative_to(crates))
        for source in crates.rglob("src/**/*.rs")
        if re.search(r"allow\(unsafe_code\)", source.read_text())
    }
    assert found == allowed


def public(names) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_stubs_say_what_the_extension_module_has():
    stub = ast.parse((REPO / "python/afflux/_core.pyi").read_text())
    definitions = [node for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    assert {node.name for node in definitions} == public(vars(_core))
    for node in definitions:
        thing = getattr(_core, node.name)
        if isinstance(node, ast.ClassDef) and not issubclass(thing, Exception):
            members = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            assert public(members) == public(vars(thing)), node.name


def test_the_lock_file_has_what_the_tests_need():
    """`make test LOCKED=1` installs these versions."""
    from packaging.requirements import Requirement

    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    wanted = [
        Requirement(text)
        for text in [*project["dependencies"], *project["optional-dependencies"]["test"]]
    ]
    lines = [
        line
        for line in (REPO / "requirements-dev.lock").read_text().splitlines()
        if not line.startswith("#")
    ]
    locked = {one.name.lower().replace("_", "-"): one for one in map(Requirement, lines)}
    assert len(locked) == len(lines)
    for one in wanted:
        (pin,) = locked[one.name.lower()].specifier
        assert pin.operator == "=="
        assert one.specifier.contains(pin.version), f"{one} is locked to {pin.version}"
