"""Files with names that are refused, and files that must not grow without bounds."""

import gzip
import json
import lzma
import subprocess
import sys

import pytest
from conftest import as_many
from given import lay_defect

from afflux import _core
from afflux.exchange import reading
from afflux.exchange.account import Wrong
from afflux.files import toml
from fuzz import importers


@pytest.mark.parametrize(
    ("file", "arguments", "says"),
    [
        (
            "lol.yml",
            ("import", "containerlab"),
            "lol.yml:6: found more than 500,000 values once what is named by * and << is written out",
        ),
        ("lol2.yml", ("import", "containerlab"), "lol2.yml:9: found more than 500,000 values once"),
        (
            "merge.yml",
            ("import", "containerlab"),
            "merge.yml:11: found more than 500,000 values once",
        ),
        (
            "group-dict.clab.yml",
            ("import", "containerlab"),
            "group-dict.clab.yml:45: found the group a mapping of 'a' of the node 'a1'",
        ),
        ("lab.clab.yml", ("import", "containerlab"), "lab.clab.yml:5: found a node's name"),
        (
            "avro.jhist",
            ("import", "jhist"),
            "avro.jhist: found more than 2,000,000 values in a file of this size",
        ),
        (
            "fixed.jhist",
            ("import", "jhist"),
            "fixed.jhist: found a fixed 'F' of the size a list of 1",
        ),
        ("f6.jhist", ("import", "jhist"), "f6.jhist: found symbol 60 of 1"),
        ("s.json", ("import", "sonic"), "s.json:1: found values nested too deeply"),
        ("panic.toml", ("check",), "panic.parquet: the file is damaged"),
        (
            "one.toml",
            ("check",),
            'one.toml:10: key traffic[0].class: "x\\n9,0,2,1,99999999,y": write a name without control characters',
        ),
    ],
)
def test_defects_are_refused(invoke, tmp_path, file, arguments, says):
    lay_defect(file, tmp_path)
    options = ["--rate", "1Gbps"] if "containerlab" in arguments else []
    done = invoke(*arguments, file, *options)
    assert done.exit_code == 2, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert says in done.stderr
    assert len(done.stderr) < 1_500
    assert done.stderr.count("\n") == 1


def test_a_row_cannot_be_added(command, tmp_path):
    """Uses `one.toml` and `back.toml` of the defects with a legal but misleading class name: one
    flow must stay one flow."""
    name = "x,9,0,2,1,99999999,\"y'"
    topology = 'format = 1\n[topology]\nkind = "star"\nhosts = 4\nrate = "1Gbps"\n'
    (tmp_path / "one.toml").write_text(
        topology
        + f'[[traffic]]\nkind = "pairs"\npairs = [[1, 0]]\nsizes = "30kB"\nclass = {toml.value(name)}\n'
    )
    (tmp_path / "back.toml").write_text(topology + '[[traffic]]\nkind = "flows"\nfile = "fl.csv"\n')
    assert command("export", "flows", "one.toml", "-o", "fl.csv").returncode == 0
    table, _ = _core.load(tmp_path / "back.toml").flow_list()
    assert (len(table["id"]), table["class"]) == (1, [name])


def test_nothing_grows_without_bounds(tmp_path):
    packed = {"bomb.gz": gzip.compress(bytes(40 << 20)), "bomb.xz": lzma.compress(bytes(40 << 20))}
    for name, data in packed.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(
            Wrong,
            match=f"{name}: found a compressed file: more than 17 MB come out of it.*AFFLUX_MAX_UNPACKED=4GB",
        ):
            list(reading.lines(tmp_path / name))
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                f"from afflux.exchange import reading; print(len(reading.opened({str(tmp_path / name)!r}).read()))",
            ],
            env={"AFFLUX_MAX_UNPACKED": "100MB"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout.strip() == str(40 << 20), done.stderr
    # Several members one after the other with zeros behind, and a member that is truncated.
    (tmp_path / "two.gz").write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n") + bytes(512))
    assert [line for _, line in reading.lines(tmp_path / "two.gz")] == ["a", "b"]
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"a\n" * 1_000)[:-9])
    with pytest.raises(Wrong, match=r"cut\.gz:\d+: found a compressed file that breaks off"):
        list(reading.lines(tmp_path / "cut.gz"))


def test_what_is_nested_or_circular_is_refused(invoke, tmp_path):
    deep = "[" * 5_000 + "]" * 5_000
    for name, text, kind, says in (
        ("deep.yml", f"topology: {deep}\n", "containerlab", "nested more than 50 deep"),
        ("circle.yml", "topology: &t\n  nodes: {a: *t}\n", "containerlab", "a value within itself"),
        ("deep.log", '{"Event": ' + "[" * 300 + "]" * 300 + "}\n", "spark", "nested too deeply"),
        ("digits.json", '{"a": ' + "9" * 5_000 + "}", "sonic", "thousands of digits"),
        ("half.json", '{"BUFFER_POOL": {"\\ud800": {}}}', "sonic", "half a character"),
    ):
        (tmp_path / name).write_text(text)
        done = invoke("import", kind, name)
        assert done.exit_code == 2, (name, done.output, done.exception)
        assert name in done.stderr
        assert says in done.stderr


def test_small_logs_do_not_make_large_tables(invoke, tmp_path):
    def task(stage: int, host: str, **metrics: dict) -> str:
        event = {
            "Event": "SparkListenerTaskEnd",
            "Stage ID": stage,
            "Task End Reason": {"Reason": "Success"},
            "Task Info": {"Host": host, "Launch Time": 1},
        }
        return json.dumps(event | {"Task Metrics": metrics}) + "\n"

    start = {
        "Event": "SparkListenerJobStart",
        "Job ID": 0,
        "Submission Time": 1,
        "Stage Infos": [{"Stage ID": 1, "Parent IDs": [0]}],
        "Stage IDs": [0, 1],
    }
    lines = [json.dumps(start) + "\n"]
    lines += [
        task(0, f"w{at}", **{"Shuffle Write Metrics": {"Shuffle Bytes Written": 9}})
        for at in range(1_100)
    ]
    lines += [
        task(1, f"r{at}", **{"Shuffle Read Metrics": {"Remote Bytes Read": 99_999}})
        for at in range(1_100)
    ]
    (tmp_path / "app.log").write_text("".join(lines))
    assert invoke("import", "spark", "app.log", "-o", "jobs.tsv").exit_code == 0
    done = invoke("import", "spark", "app.log", "-o", "more.tsv", "--flows", "flows.csv")
    assert done.exit_code == 2
    assert "app.log: found" in done.stderr
    assert "transfers between machines, expected at most 1,000,000" in done.stderr
    (tmp_path / "coflows.txt").write_text(
        "9999 1\n1 0 5000 " + "1 " * 5_000 + "5000 " + "2:1 " * 5_000 + "\n"
    )
    star = '[topology]\nkind = "star"\nhosts = 9999\n[[traffic]]\nkind = "flows"\nformat = "coflow"\nfile = "coflows.txt"\n'
    (tmp_path / "s.toml").write_text(f"format = 1\n{star}")
    done = invoke("check", "s.toml")
    assert done.exit_code == 2
    assert (
        "coflows.txt:2: found 5000 mappers and 5000 reducers, which make 25000000 flows so far"
        in done.stderr
    )


# Runs processes with their own limits.
@pytest.mark.slow
def test_mutated_files_are_read_or_refused():
    """A short run of `python -m fuzz.importers`: every kind of file, in a separate process with
    limited memory and time."""
    found = [one for one in importers.run(as_many(24), seed=7) if one is not None]
    assert not found, [(one.sample.name, one.case, one.why, one.said[:500]) for one in found]
