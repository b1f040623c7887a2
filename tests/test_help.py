"""Help of the commands: its examples run, and every bracketed word of its sources appears on the
screen."""

import json
import re
import shlex
import shutil
import typing
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import pytest
import sonic_base
import typer
from conftest import INCAST, REPO
from rich.text import Text
from typer.testing import CliRunner

import afflux
from afflux import cli, commands
from afflux.commands import exchange
from docs.generator.commands import every, pages
from fuzz import importer_samples

#: Examples that are only parsed, to check that the command and its options exist, with the reason.
PARSED = {
    "afflux demo": "takes a minute; tests/test_demo.py runs it",
    "afflux demo --json": "takes a minute; tests/test_demo.py runs it",
    "afflux live examples/live-bottleneck.toml -- bash": "needs root",
    "afflux live fabric.toml --hosts host0,host16 --duration 30s -- ./experiment.sh": "needs root",
    "afflux live fabric.toml --attach host0=eth1 --attach host1=eth2 --duration 60s": "needs root and two network cards",
    "afflux live --check": "its answer depends on the machine",
    "afflux kernel build": "takes ten minutes",
    "afflux kernel build 6.1 --jobs 2": "takes ten minutes",
    "afflux kernel check": "needs an image; tests/test_kernels.py runs it where there is one",
    "afflux kernel check 6.1": "needs an image",
    "afflux explain out/long-path-1 --kernels": "needs an image; tests/test_kernels.py explains such results",
    "afflux run fabric.toml --watch": "serves a page until somebody ends it",
    "afflux study hadoop --quick": "takes minutes",
    "afflux study hadoop --quick --baseline deep": "takes minutes",
    "afflux study hadoop 10GB --quick --assume connections=4": "takes minutes",
    "afflux study standard --scenario mixture.toml --goals mixture-goals.toml": "takes minutes",
    "afflux study conweave --executor dask --address tcp://head:8786": "needs a cluster",
    "afflux plan --rate 1Gbps --rtt 300ms --loss 1e-6 --memory 256MB": "simulates for half a minute; tests/test_plan.py runs shorter ones",
    "afflux tune star.toml --vary switch.ecn.k=5kB..500kB --objective throughput --objective fct_p99 --budget 20": "takes a minute; tests/test_tune.py has one",
    "afflux tune fabric.toml --vary switch.ecn.kmin=20kB..400kB --vary host.transport.congestion=cubic,dctcp --objective job_time": "takes minutes",
    "afflux decide designs.toml --executor dask --address tcp://head:8786": "needs a cluster",
    "afflux sweep star.toml --vary switch.buffer=200kB,9MB --seeds 1-10 --executor dask --address tcp://head:8786": "needs a cluster",
}

#: Optional packages that an example needs.
NEEDS = {"afflux tune": "optuna", "--format pdf": "matplotlib"}

#: A scenario with a few senders and a small switch.
STAR = INCAST.replace('"small"', '"star"', 1).replace(
    'buffer = "30packets"', 'buffer = "200kB"\necn = { k = "50kB" }'
)
STAR = STAR.replace('stack = "basic"', 'stack = "basic"\ncongestion = "dctcp"').replace(
    "paths = true", 'waits = "switches"'
)
TREE = 'format = 1\nname = "tree"\n[topology]\nkind = "fat_tree"\nk = 4\n[[traffic]]\nkind = "permutation"\nsizes = "20kB"\n'
FABRIC = TREE.replace(
    'kind = "fat_tree"\nk = 4', 'kind = "leaf_spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2'
)
DESIGNS = """\
scenario = "star.toml"
[[design]]
name = "today"
[[design]]
name = "deep"
set = { switch.buffer = "9MB" }
[[goal]]
measure = "fct_p99"
at_most = "1s"
"""
SONIC = sonic_base.base()
TRACE = "".join(json.dumps(event) + "\n" for event in importer_samples.spark_log())

#: Files that the examples refer to, each as small as possible.
FILES: dict[str, str | bytes] = {
    "designs.toml": DESIGNS,
    "star.toml": STAR,
    "shallow.toml": STAR.replace('"star"', '"shallow"', 1),
    "deep.toml": STAR.replace('"star"', '"deep"', 1).replace("200kB", "9MB", 1),
    "fabric.toml": FABRIC,
    "leaf.toml": FABRIC.replace(
        'kind = "leaf_spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2',
        'kind = "star"\nhosts = 4\n[switch]\nsharing = "sonic"',
    ),
    "lab.clab.yml": importer_samples.LAB,
    "fct.txt": importer_samples.COMPLETIONS,
    "flow.txt": importer_samples.FLOWS,
    "topology.txt": importer_samples.TOPOLOGY,
    "perm.cm": importer_samples.MATRIX,
    "done/job.jhist": importer_samples.as_json(importer_samples.history()),
    "application_1": TRACE,
    "capture.pcapng": importer_samples.pcap(
        [(0.0, importer_samples.udp(1, 2, 900)), (0.5, importer_samples.udp(2, 1, 300))]
    ),
    "config_db.json": json.dumps(SONIC),
    "buffers.json": json.dumps(
        {name: table for name, table in SONIC.items() if name.startswith("BUFFER")}
    ),
    "qos.json": json.dumps(
        {name: table for name, table in SONIC.items() if not name.startswith("BUFFER")}
    ),
}
#: Different contents of these files for particular commands.
INSTEAD = {"afflux check": {"fabric.toml": TREE}}
#: Rounds of the examples, which the tests shorten.
ROUNDS = re.compile(r"rounds = \d+")


def examples() -> list[str]:
    """Returns the examples at the end of each command's help, as a user types them."""
    return [
        line
        for _, command in every()
        for line in re.findall(
            r"^\s*(afflux .*|sudo .*)$", Text.from_markup(command.epilog or "").plain, re.M
        )
    ]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Creates the directory `out` that the examples read."""
    out = tmp_path_factory.mktemp("results") / "out"
    for design, seeds in {
        "shallow": (1, 2),
        "deep": (1, 2),
        "incast-dctcp": (1,),
        "demo": (1,),
    }.items():
        for seed in seeds:
            text = FILES.get(f"{design}.toml", STAR)
            assert isinstance(text, str)
            afflux.Scenario.parse(text).run(seed=seed, out=out / f"{design}-{seed}")
    return out


def lay(line: str, folder: Path, results: Path) -> None:
    """Creates the files that an example reads, without those that it writes."""
    words = shlex.split(line)
    written = {after for word, after in pairwise(words) if word in ("-o", "--out", ">", "--flows")}
    for name, content in (
        FILES | next((files for begin, files in INSTEAD.items() if line.startswith(begin)), {})
    ).items():
        if name not in written:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    shutil.copytree(results, folder / "out")
    (folder / "examples").mkdir()
    for path in (REPO / "examples").glob("*.toml"):
        (folder / "examples" / path.name).write_text(ROUNDS.sub("rounds = 2", path.read_text()))


def arguments(line: str, folder: Path) -> list[str]:
    """Returns the words behind `afflux`, with patterns expanded like in a shell."""
    found = []
    for word in shlex.split(line.partition(" > ")[0])[1:]:
        found += (
            sorted(str(path.relative_to(folder)) for path in folder.glob(word))
            if "*" in word
            else [word]
        )
    return found


def timed(line: str) -> Any:
    """Marks examples of searches and sweeps as slow, because they simulate up to a
    hundred points.
    """
    return (
        pytest.param(line, marks=pytest.mark.slow)
        if line.startswith(("afflux sweep", "afflux study"))
        else line
    )


@pytest.mark.parametrize("line", [timed(line) for line in examples() if line not in PARSED])
@pytest.mark.usefixtures("here")
def test_examples_run(invoke, results: Path, tmp_path: Path, line: str) -> None:
    for begin, package in NEEDS.items():
        if begin in line and find_spec(package) is None:
            pytest.skip(f"needs {package}")
    lay(line, tmp_path, results)
    done = invoke(*arguments(line, tmp_path))
    # Like `diff`, it ends with 1 if its operands differ.
    assert done.exit_code == (1 if line.startswith("afflux diff") and "deep" in line else 0), (
        done.stderr or done.exception
    )
    assert "error:" not in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize("line", PARSED)
def test_other_examples_are_commands_with_options_that_exist(line: str) -> None:
    words = shlex.split(line)[1:]
    assert line in examples()
    known = {" ".join(path): command for path, command in every()}
    command = known[words[0]]
    context = command.make_context(words[0], words[1:])
    assert context.command is command


# ---------------------------------------------------------------------------------------------------------------- words in brackets

IN_BRACKETS = re.compile(r"\[+[\w/#@.-]+\]+")


def sources() -> Iterator[tuple[list[str], str]]:
    """Yields the words that call each command with every source text of its help."""
    rows = [
        ([], function, shown) for group in commands.GROUPS.values() for function, shown in group
    ]
    for name, formats in (("import", exchange.IMPORTS), ("export", exchange.EXPORTS)):
        rows += [
            ([name, format_name], function, shown)
            for group in formats.values()
            for format_name, function, shown in group
        ]
    for words, function, shown in rows:
        path = words or [function.__name__]
        yield from ((path, text) for text in (function.__doc__ or "", *shown))
        for hint in typing.get_type_hints(function, include_extras=True).values():
            for info in getattr(hint, "__metadata__", ()):
                yield from (
                    (path, text)
                    for text in (getattr(info, "help", None), getattr(info, "metavar", None))
                    if text
                )


def on_screen(text: str) -> str:
    """Returns the text on one line, without the frames around options."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


def test_words_in_brackets_are_on_the_screen(invoke) -> None:
    found = {
        (" ".join(path), word) for path, text in sources() for word in IN_BRACKETS.findall(text)
    }
    assert ("explain", "[record]") in found
    assert ("schema", "[0]") in found
    for path, word in sorted(found):
        assert word in on_screen(invoke(*path.split(), "-h").stdout), f"afflux {path} -h: {word}"
        text = pages()[f"reference/commands/{path.split()[0]}.md"]
        assert word in text, f"page of afflux {path}: {word}"


def test_no_text_of_a_command_is_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words in brackets are shown literally in the help of a command, of an option, in an example
    and in the list of commands."""
    monkeypatch.setenv("COLUMNS", "80")

    def new(
        of: Annotated[str, typer.Option(help="Option [bold] and [/bold], [[traffic]].")] = "",
    ) -> None:
        """Command [red] and [[switch.queue]]. More [record]."""

    app = typer.Typer(rich_markup_mode="rich")
    app.callback()(lambda: None)
    cli._register(app, new, "Panel", ["afflux new [dim] traffic[0].sizes"])
    shown = on_screen(CliRunner().invoke(app, ["new", "--help"]).stdout)
    for text in (
        "Command [red] and [[switch.queue]]. More [record].",
        "Option [bold] and [/bold], [[traffic]].",
        "afflux new [dim] traffic[0].sizes",
    ):
        assert text in shown
    assert "Command [red] and [[switch.queue]]" in on_screen(
        CliRunner().invoke(app, ["--help"]).stdout
    )
