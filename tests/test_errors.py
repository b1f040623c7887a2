"""Wrong input: exit code 2, no files written, and a message with a remedy."""

from pathlib import Path

import pytest
from conftest import INCAST

import afflux

FLOWS = '[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n'
WITHOUT_TRAFFIC = INCAST[: INCAST.index("[[traffic]]")]

#: name: (replacement, line of the mistake as written in the file, words that the message must
#: contain)
MISTAKES = {
    "unknown key": (
        ('buffer = "30packets"', 'bufer = "30packets"'),
        "bufer",
        ["bufer", "switch", "buffer"],
    ),
    "wrong unit": (
        ('delay = "1us"', 'delay = "1Gbps"'),
        'delay = "1Gbps"',
        ["delay", "1Gbps", "us"],
    ),
    "no unit": (('rate = "10Gbps"', "rate = 10"), "rate = 10", ["rate", "10", "Gbps"]),
    "negative size": (('bytes = "200kB"', 'bytes = "-200kB"'), "-200kB", ["bytes", "-200kB"]),
    "host out of range": (("to = 0", "to = 9"), "to = 9", ["to", "9", "8"]),
    "zero-rate link": (('rate = "10Gbps"', 'rate = "0Gbps"'), "0Gbps", ["rate", "0"]),
    "zero delay": (('delay = "1us"', 'delay = "0us"'), "0us", ["delay", "0"]),
    "unknown kind": (('kind = "star"', 'kind = "ring"'), "ring", ["kind", "ring", "star"]),
    "not TOML": (('name = "small"', "name = "), "name = ", []),
}


def refused(command, file: Path, *options: str) -> str:
    before = sorted(path.name for path in file.parent.iterdir())
    done = command("run", file, *options)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in file.parent.iterdir()) == before, (
        "a refused scenario writes nothing"
    )
    return done.stderr


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_in_a_scenario(command, scenario, mistake):
    replacement, at, words = MISTAKES[mistake]
    file = scenario(replacement)
    line = next(
        number
        for number, text in enumerate(file.read_text().splitlines(), 1)
        if text.startswith(at) or at in text
    )
    message = refused(command, file)
    for word in [f"small.toml:{line}", *words]:
        assert word in message, f"{word!r} is not in {message!r}"


def test_disconnected_hosts(command, scenario):
    topology = """\
[topology]
kind = "custom"
hosts = 4
switches = 2
[[topology.link]]
a = "host0"
b = "switch0"
[[topology.link]]
a = "host1"
b = "switch0"
[[topology.link]]
a = "host2"
b = "switch1"
[[topology.link]]
a = "host3"
b = "switch1"
"""
    traffic = '[[traffic]]\nkind = "pairs"\npairs = [[0, 2]]\nsizes = "10kB"\n'
    message = refused(command, scenario(text="format = 1\n" + topology + traffic))
    for word in ("small.toml", "traffic[0]", '"host0"', '"host2"'):
        assert word in message
    # Two planes without a connection are two separate networks.
    within = traffic.replace("[[0, 2]]", "[[0, 1], [2, 3]]")
    assert command("check", scenario(text="format = 1\n" + topology + within)).returncode == 0


@pytest.mark.parametrize(
    ("csv", "line", "words"),
    [
        ("start_ns,src,dst\n0,1,2\n", 1, ["bytes"]),
        ("start_ns,src,dst,bytes\n0,1,2,1000\n5,1,two,1000\n", 3, ["dst", "two"]),
        ("start_ns,src,dst,bytes\n0,1,2,1000\n5,1\n", 3, []),
        ("start_ns,src,dst,bytes\n0,1,2,-4\n", 2, ["bytes", "-4"]),
        ("start_ns,src,dst,bytes\n0,1,9,1000\n", 2, ["dst", "9", "8"]),
        ("start_ns,src,dst,bytes\n0,1,1,1000\n", 2, ["local"]),
    ],
    ids=[
        "missing column",
        "broken number",
        "short row",
        "negative bytes",
        "host out of range",
        "to itself",
    ],
)
def test_mistake_in_a_flow_list(command, scenario, csv, line, words):
    file = scenario(text=WITHOUT_TRAFFIC + FLOWS)
    (file.parent / "flows.csv").write_text(csv)
    message = refused(command, file)
    for word in [f"flows.csv:{line}", *words]:
        assert word in message, f"{word!r} is not in {message!r}"


def test_missing_files(command, scenario, tmp_path):
    assert "nowhere.toml" in refused(command, tmp_path / "nowhere.toml")
    message = refused(command, scenario(text=WITHOUT_TRAFFIC + FLOWS))
    assert "flows.csv" in message
    assert "small.toml:" in message


def test_mistakes_on_the_command_line(command, scenario):
    file = scenario()
    assert "switch.bufer" in refused(command, file, "--set", "switch.bufer=9MB")
    assert "KEY.PATH=VALUE" in refused(command, file, "--set", "nonsense")
    assert "--seed" in refused(command, file, "--seed", "many")
    assert "--threads" in refused(command, file, "--threads", "0")
    assert "--sed" in refused(command, file, "--sed", "1")


def test_result_directory_exists(command, scenario, tmp_path):
    file = scenario()
    assert command("run", file).returncode == 0
    written = (tmp_path / "out/small-1/summary.json").read_text()
    message = refused(command, file)
    assert "out/small-1" in message
    assert "--force" in message
    assert (tmp_path / "out/small-1/summary.json").read_text() == written
    assert command("run", file, "--force").returncode == 0
    # A directory that is not a result is never replaced.
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("x")
    assert "precious" in refused(command, file, "-o", "precious", "--force")


def test_explain_refuses(command, scenario, tmp_path):
    assert command("run", scenario()).returncode == 0
    for options, word in [
        (["--flow", "99999"], "99999"),
        (["--flow", "1", "--slowest", "2"], "--slowest"),
    ]:
        done = command("explain", "out/small-1", *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert word in done.stderr
    done = command("explain", tmp_path)
    assert done.returncode == 2
    assert "summary.json" in done.stderr


def test_scenario_error_in_python(scenario):
    file = scenario(('buffer = "30packets"', 'bufer = "30packets"'))
    with pytest.raises(afflux.ScenarioError) as caught:
        afflux.load(file)
    assert isinstance(caught.value, afflux.Error)
    assert Path(caught.value.file).name == "small.toml"
    assert caught.value.line == 12
    assert caught.value.key == "switch.bufer"
    assert f"{file}:12" in str(caught.value)


def test_changed_scenario_does_not_name_the_lines_of_its_file(scenario):
    changed = afflux.load(scenario())
    changed["switch"]["bufer"] = "9MB"
    with pytest.raises(afflux.ScenarioError) as caught:
        changed.check()
    assert "small.toml (changed)" in str(caught.value)
    assert "bufer" in str(caught.value)
