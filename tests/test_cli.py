"""The command line: its output, the stream of the output, and its exit codes."""

import json
import subprocess
import sys

import pytest
import typer
from conftest import REPO

from afflux.commands import exchange
from afflux.terminal import values
from docs.generator.commands import every

#: Commands in the order of the help, by group.
COMMANDS = [
    "new",
    "check",
    "plan",
    "models",
    "schema",
    "run",
    "sweep",
    "decide",
    "tune",
    "study",
    "live",
    "demo",
    "kernel",
]
COMMANDS += ["explain", "compare", "report", "diff", "verify", "import", "export"]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(command, name):
    done = command(name, "--help")
    assert done.returncode == 0
    assert "xample" in done.stdout
    assert f"afflux {name}" in done.stdout


def test_help_lists_the_commands_there_are(command):
    done = command("--help")
    listed = [
        line.split()[1]
        for line in done.stdout.splitlines()
        if line.startswith("│ ") and line[2].isalpha()
    ]
    assert listed == COMMANDS


def test_version(process):
    done = process("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("afflux 0.")


#: Runs the command, then prints whether modules of pydantic were imported.
WITHOUT_PYDANTIC = "import sys; from afflux import cli; cli.app(sys.argv[1:], standalone_mode=False); print('pydantic' in sys.modules)"


def test_a_command_starts_without_pydantic(scenario, tmp_path):
    """The import of pydantic would take a third of the start-up time of a command."""
    words = [
        "run",
        str(scenario()),
        "--set",
        "traffic.0.rounds=1",
        "--seed",
        "3",
        "--threads",
        "1",
        "-o",
        "out",
    ]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYDANTIC, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["False"]), done.stderr


def test_values_are_those_of_typer():
    """Values are converted the same way with and without pydantic."""
    coercion = pytest.importorskip(
        "typer._coercion", reason="needs a version of typer that uses pydantic"
    )

    def outcome(convert, value, param, context):
        try:
            return convert.coerce(value, param=param, ctx=context)
        except typer.BadParameter as error:
            return error.message

    compared = set()
    for words, command in every():
        context = command.make_context(" ".join(words), [], resilient_parsing=True)
        for param in command.get_params(context):
            if type(param._runtime_param) is not values._Conversion:
                continue
            theirs = coercion.build_runtime_param(param.type_descriptor)
            for value in (
                None,
                "",
                "7",
                "-1",
                "0",
                "007",
                " 7",
                "1_0",
                "7.5",
                "99999999999999999999",
                "x.toml",
                3,
                str(REPO),
                str(REPO / "Makefile"),
            ):
                given = (
                    [value]
                    if value is not None and (param.multiple or param.nargs == -1)
                    else value
                )
                found, wanted = (
                    outcome(one, given, param, context) for one in (param._runtime_param, theirs)
                )
                assert (found, type(found)) == (wanted, type(wanted)), (
                    f"{words} {param.name} {value!r}"
                )
                compared.add(str(param.type_descriptor.annotation))
    assert {"<class 'str'>", "<class 'int'>", "list[str]", "<class 'pathlib.Path'>"} <= {
        name.replace("pathlib._local", "pathlib") for name in compared
    }


def test_run_prints_the_summary(command, scenario, tmp_path):
    done = command("run", scenario())
    assert done.returncode == 0, done.stderr
    for words in (
        "small  seed 1",
        "9 hosts, 1 switch",
        "24 started, 24 finished",
        "time-outs",
        "Slowdown",
        "Job completion time",
        "Slowest queries",
        "query.0",
        "out/small-1",
    ):
        assert words in done.stdout, words
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert (tmp_path / "out/small-1/summary.json").is_file()


def test_run_json_is_the_summary(command, scenario, tmp_path):
    done = command("run", scenario(), "--json", "-o", "here")
    assert json.loads(done.stdout) == json.loads((tmp_path / "here/summary.json").read_text())


def test_options_reach_the_run(command, scenario, tmp_path):
    options = [
        "--set",
        "switch.buffer=9packets",
        "--set",
        "traffic.0.rounds=2",
        "--seed",
        "7",
        "--threads",
        "2",
    ]
    done = command("run", scenario(), *options, "--json")
    summary = json.loads(done.stdout)
    assert (summary["seed"], summary["threads"], summary["flows"]["started"]) == (7, 2, 16)
    assert 'buffer = "9packets"' in (tmp_path / "out/small-7/scenario.toml").read_text()


def test_set_names_a_block_of_traffic(command, scenario):
    """The name of a traffic block works in keys for run, check and sweep."""
    path = scenario()
    by_number, by_name = (
        json.loads(
            command("run", path, "--set", f"traffic.{key}.senders=4", "-o", key, "--json").stdout
        )
        for key in ("0", "query")
    )
    assert by_number["flows"]["started"] == 12
    assert by_name["result_hash"] == by_number["result_hash"]
    assert (
        json.loads(command("check", path, "--set", "traffic.query.senders=4", "--json").stdout)[
            "flows"
        ]
        == 12
    )
    swept = json.loads(
        command("sweep", path, "--vary", "traffic.query.senders=4,8", "--json").stdout
    )
    assert [row["traffic.query.senders"] for row in swept] == [4, 8]
    assert swept[0]["result_hash"] == by_name["result_hash"]
    wrong = command("run", path, "--set", "traffic.querry.senders=4")
    assert wrong.returncode == 2
    assert (
        'traffic has no element with the name or class "querry" (did you mean "query"?): write "query" or the number 0'
        in wrong.stderr
    )


def test_explain(command, scenario, tmp_path):
    assert command("run", scenario()).returncode == 0
    done = command("explain", "out/small-1")
    assert done.returncode == 0
    assert "queueing" in done.stdout
    # The eight senders share the port to the receiver. It comes first in the list and has all the
    # drops.
    first = next(line for line in done.stdout.splitlines() if "→" in line)
    assert first.startswith("switch0 → host0")
    assert f" {json.loads((tmp_path / 'out/small-1/summary.json').read_text())['drops']:,}" in first
    slowest = json.loads(command("explain", "out/small-1", "--slowest", "3", "--json").stdout)
    assert len(slowest) == 3
    assert slowest[0]["slowdown"] >= slowest[1]["slowdown"] >= slowest[2]["slowdown"] > 1
    one = json.loads(command("explain", "out/small-1", "--flow", slowest[0]["id"], "--json").stdout)
    assert one == slowest[0]
    text = command("explain", "out/small-1", "--flow", slowest[0]["id"]).stdout
    assert f"{one['recovery_ns']:,}" in text
    assert f"{one['fct_ns']:,}" in text
    groups = json.loads(command("explain", "out/small-1", "--json").stdout)
    assert groups[0]["size"] is None
    assert groups[0]["flows"] == 24
    assert sum(groups[0]["shares"].values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "port"),
    [("incast", "compute → host0"), ("outcast", "host14 → data"), ("fabric", "compute → spine2")],
    ids=["incast", "outcast", "fabric"],
)
def test_explain_says_where_the_three_kinds_of_congestion_are(command, name, port):
    """As the comments of the files state: at the last hop, at the sender's own port, and at an
    uplink that too many flows share."""
    assert (
        command("run", REPO / "studies" / "hadoop" / f"{name}.toml", "-o", "result").returncode == 0
    )
    lines = [
        line for line in command("explain", "result", "--hosts").stdout.splitlines() if "→" in line
    ]
    assert lines[0].startswith(port), lines


def test_explain_without_a_split(command, scenario):
    assert command("run", scenario(("paths = true", "explain = false"))).returncode == 0
    done = command("explain", "out/small-1")
    assert done.returncode == 2
    assert "explain = true" in done.stderr


def test_schema(command):
    schema = json.loads(command("schema").stdout)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"format", "topology", "switch", "host", "traffic", "run", "record"} <= set(
        schema["properties"]
    )


def test_models(command):
    models = json.loads(command("models", "--json").stdout)
    assert {"newreno", "dctcp"} <= {
        model["name"] for model in models if model["kind"] == "congestion control"
    }
    assert all(
        model["source"] and model["faithful"] for model in models if model["kind"] != "arrivals"
    )
    assert "RFC 8257" in command("models").stdout


def test_models_by_name_and_kind(command):
    shown = command("models", "dctcp", "conga").stdout
    assert "RFC 8257" in shown
    assert "SIGCOMM 2014" in shown
    assert "RFC 9438" not in shown
    marking = json.loads(command("models", "--kind", "marking", "--json").stdout)
    assert {model["kind"] for model in marking} == {"marking"}
    assert {"ecn step", "red"} <= {model["name"] for model in marking}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["dctpc"],
            "there is no model called 'dctpc' (did you mean 'dctcp'?): `afflux models` lists all",
        ),
        (
            ["--kind", "markng"],
            "there is no kind of model called 'markng' (did you mean 'marking'?): there are application, ",
        ),
        (
            ["dctcp", "--kind", "marking"],
            "there is no model of kind 'marking' called 'dctcp': there are ",
        ),
    ],
)
def test_unknown_models(command, arguments, says):
    done = command("models", *arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_plain_progress_goes_to_stderr(command, scenario):
    done = command("run", scenario(), "--json")
    json.loads(done.stdout)
    assert done.stderr == ""


GROUPED = [name for name in COMMANDS if name not in ("kernel", "import", "export")]


@pytest.mark.parametrize("name", GROUPED)
def test_options_are_in_groups(invoke, name):
    """No command lists all of its options in one group "Options"."""
    shown = invoke(name, "--help").stdout
    assert "─ Options ─" not in shown
    assert "─ Output ─" in shown
    assert shown.count("--help") == 1


def test_commands_are_in_groups(invoke):
    shown = invoke("--help").stdout
    assert [line.split()[1] for line in shown.splitlines() if line.startswith("╭─")] == [
        "Options",
        "Scenarios",
        "Simulation",
        "Results",
        "Files",
    ]


@pytest.mark.parametrize("direction", ["import", "export"])
@pytest.mark.parametrize("columns", ["80", "120"])
def test_help_of_import_and_export_is_complete(invoke, monkeypatch, direction, columns):
    """The help shows every format with its options, their values and their defaults."""
    monkeypatch.setenv("COLUMNS", columns)
    shown = invoke(direction, "--help").stdout
    assert max(map(len, shown.splitlines())) <= int(columns)
    group = exchange.IMPORTS if direction == "import" else exchange.EXPORTS
    formats = [name for rows in group.values() for name, *_ in rows]
    lines = [line.strip("│ ") for line in shown.splitlines()]
    starts = [
        next(at for at, line in enumerate(lines) if line.split()[:1] == [name]) for name in formats
    ]
    assert starts == sorted(starts)
    common = " ".join(
        lines[next(at for at, line in enumerate(lines) if "Common options" in line) :]
    )
    for name, first, last in zip(formats, starts, [*starts[1:], len(lines)], strict=True):
        own = " ".join(lines[first:last])
        options = {
            word.rstrip(",)]")
            for word in invoke(direction, name, "--help").stdout.split()
            if word.startswith("--")
        }
        assert {
            option for option in options if option not in own and option not in common
        } == set(), name
    assert "[default: 2s]" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_values_in_the_terms_of_the_command_line(command, name):
    """A flag shows no value type, and a number is shown as N, not as a Python type."""
    shown = command(name, "--help").stdout
    assert "<bool>" not in shown
    assert "<int range>" not in shown
