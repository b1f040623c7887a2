"""Protection of the user's files: afflux deletes or overwrites no file that it did not write or
that it reads, limits lists, and reports failed outputs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import INCAST
from test_clusters import InPlace

import afflux
from afflux import settings
from afflux.batch.verification import verify
from afflux.files import plain
from afflux.files.storage import Folder

SMALL = (
    INCAST.replace("rounds = 3", "rounds = 2")
    .replace('bytes = "200kB"', 'bytes = "20kB"')
    .replace("paths = true", "")
)


@pytest.fixture
def small(tmp_path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def refused(done, *phrases: str) -> None:
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    for phrase in phrases:
        assert phrase in done.stderr, done.stderr


@pytest.mark.parametrize("summary", ["x", "{}", '{"name": "a", "seed": 1}'])
def test_force_replaces_no_result_of_another_program(summary, small, command, tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "summary.json").write_text(summary)
    refused(
        command("run", small, "-o", "theirs", "--force"),
        "theirs/summary.json",
        "--force replaces only results of afflux",
    )
    assert (tmp_path / "theirs" / "summary.json").read_text() == summary


@pytest.mark.parametrize("name", ["thesis.txt", ".hidden", "more/flows.csv"])
def test_force_keeps_files_that_are_no_part_of_the_result(name, small, command, tmp_path):
    assert command("run", small, "-o", "r").returncode == 0
    assert command("run", small, "-o", "r", "--force").returncode == 0
    precious = tmp_path / "r" / name
    precious.parent.mkdir(exist_ok=True)
    precious.write_text("precious")
    refused(
        command("run", small, "-o", "r", "--force"),
        name.partition("/")[0],
        "not part of its result",
    )
    with pytest.raises(ValueError, match="not part of its result"):
        afflux.load(small).run(out=tmp_path / "r", force=True)
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("name", ["flows.parquet", "scenario.toml", "summary.json"])
def test_force_keeps_a_file_of_the_result_that_somebody_changed(name, small, command, tmp_path):
    """A file with one of afflux's names but different content is kept."""
    assert command("run", small, "-o", "r").returncode == 0
    mine = tmp_path / "r" / name
    content = mine.read_bytes() + b"\n"
    mine.write_bytes(content)
    refused(
        command("run", small, "-o", "r", "--force"),
        f"r/{name} is not the file that afflux wrote",
        "--force does not delete it",
    )
    with pytest.raises(ValueError, match="is not the file that afflux wrote"):
        afflux.load(small).run(out=tmp_path / "r", force=True)
    assert mine.read_bytes() == content


@pytest.mark.parametrize("name", ["notes.txt", "flows.parquet"])
@pytest.mark.parametrize("there", [True, False])
def test_force_keeps_a_file_that_appears_during_the_run(there, name, small, tmp_path):
    """Files are checked again when they are deleted, not only before the run. The new result is not
    lost."""
    small.write_text(SMALL.replace('"20kB"', '"20MB"'))
    out = tmp_path / "r"
    if there:
        afflux.load(small).run(out=out)
    written = []

    def write(_: object) -> None:
        if not written:
            out.mkdir(exist_ok=True)
            (out / name).write_text("mine")
            written.append(name)

    with pytest.raises(
        afflux.RunError,
        match=rf"r was not replaced, because files in it appeared or changed during the run \({name}\)",
    ) as error:
        afflux.load(small).run(out=out, force=True, on_progress=write, interval=0.0)
    assert written
    assert (out / name).read_text() == "mine"
    assert (out / "summary.json").exists() == there
    (new,) = tmp_path.glob("r.new-*")
    assert str(new) in str(error.value)
    assert verify(new).good
    assert not list(tmp_path.glob(".r.*"))


def test_tables_that_grow_without_bounds_are_refused(small, tmp_path):
    """A text of 200 kB repeated 20,000 times expands a small file to 4 GB."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 20_000, pyarrow.int32()), ["x" * 200_000]
    )
    path = tmp_path / "flows.parquet"
    parquet.write_table(pyarrow.table({"class": texts}), path)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(
        afflux.Error,
        match=r"flows\.parquet: more than 2000 MB come out of it, the limit for this file: .* AFFLUX_MAX_UNPACKED=8GB",
    ):
        afflux._core.read_parquet(path)


def test_points_of_a_sweep_keep_them_too(small, tmp_path):
    afflux.sweep(small, {"traffic.0.senders": [2]}, out=tmp_path / "s")
    point = tmp_path / "s" / "points" / "traffic.0.senders=2-1"
    (point / "notes.txt").write_text("mine")
    again = afflux.sweep(small, {"traffic.0.senders": [2]}, out=tmp_path / "s", fresh=True)
    assert "notes.txt" in again.rows[0]["error"]
    assert (point / "notes.txt").read_text() == "mine"
    (point / "notes.txt").unlink()
    (point / "summary.json").write_text("damaged")
    assert (
        afflux.sweep(small, {"traffic.0.senders": [2]}, out=tmp_path / "s").rows[0]["error"] is None
    )


def test_no_output_replaces_an_input(small, command, tmp_path):
    assert command("run", small, "-o", "r").returncode == 0
    for name in ("summary.json", "flows.parquet", "scenario.toml"):
        refused(
            command("report", "r", "-o", f"r/{name}", "--force"), f"r/{name} is part of the result"
        )
        kind = "flows" if name.endswith(".parquet") else "htsim"
        refused(
            command("export", kind, "r", "-o", f"r/{name}", "--force"),
            f"r/{name} is part of the result",
        )
    assert verify(tmp_path / "r").good
    (tmp_path / "link.toml").symlink_to("small.toml")
    os.link(small, tmp_path / "hard.toml")
    for out in ("small.toml", "./small.toml", "link.toml", "hard.toml"):
        refused(
            command("export", "linux", "small.toml", "-o", out, "--force"),
            f"{Path(out)} is the input",
        )
    # The ending does not matter to the importer.
    (tmp_path / "matrix.csv").write_text("Nodes 2\nConnections 1\n0->1 start 0 size 100\n")
    refused(
        command("import", "htsim", "matrix.csv", "-o", "matrix.csv", "--force"),
        "matrix.csv is the input",
    )
    # Files that the scenario refers to are inputs as well.
    head, _, _ = SMALL.partition("[[traffic]]")
    (tmp_path / "listed.toml").write_text(
        head + '[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n'
    )
    (tmp_path / "flows.csv").write_text("start_ns,src,dst,bytes\n0,1,2,1000\n")
    refused(
        command("export", "flows", "listed.toml", "-o", "flows.csv", "--force"),
        "flows.csv is the input",
    )
    assert small.read_text() == SMALL


def stored(small: Path, out: Path, url: str, seeds=(1, 2)) -> afflux.Sweep:
    with InPlace(1, Folder(url)) as executor:
        return afflux.sweep(small, {}, seeds=seeds, out=out, executor=executor)


def test_shared_storage_belongs_to_one_batch(small, tmp_path):
    pytest.importorskip("fsspec")
    url = f"file://{tmp_path}/store"
    stored(small, tmp_path / "p1", url)
    other = small.with_name("other.toml")
    other.write_text(SMALL.replace('"20kB"', '"30kB"'))
    with pytest.raises(
        ValueError,
        match=r"store holds the results of .*p1/points on .*: give this one another folder",
    ):
        stored(other, tmp_path / "p2", url)
    assert verify(tmp_path / "p1").good
    assert stored(small, tmp_path / "p1", url, seeds=(1, 2, 3)).outcome.reused == 2
    # Results of an earlier version have no owner.
    (tmp_path / "store" / "afflux-batch.json").unlink()
    with pytest.raises(ValueError, match="store holds small-1 of another batch"):
        stored(other, tmp_path / "p3", url)


def test_damage_on_shared_storage_is_noticed_and_repaired(small, tmp_path):
    pytest.importorskip("fsspec")
    url = f"file://{tmp_path}/store"
    stored(small, tmp_path / "p", url)
    path = tmp_path / "store" / "small-1" / "flows.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    (problem,) = verify(tmp_path / "p").problems
    assert "run its batch again" in problem
    again = stored(small, tmp_path / "p", url)
    assert (again.outcome.reused, "small-1 was simulated again" in again.outcome.notes[0]) == (
        1,
        True,
    )
    assert verify(tmp_path / "p").good


@pytest.mark.parametrize(
    "url", ["memory://x", "http://host/x", "https://host/x", "data://x", "zip://x"]
)
def test_storage_that_others_cannot_use(url, small, command, tmp_path):
    refused(
        command("sweep", small, "--executor", "dask", "--storage", url),
        f"{url}: ",
        "all machines share",
    )
    assert not (tmp_path / "out").exists()


def test_errors_are_in_plain_words():
    assert plain.words(MemoryError()) == "there is not enough memory"
    assert (
        plain.words(OSError(28, "No space left on device", "/x/y"))
        == "/x/y: no space left on device"
    )
    assert (
        plain.words("x: cannot be read: Is a directory (os error 21)")
        == "x: cannot be read: Is a directory"
    )
    assert (
        plain.words(RuntimeError("PermissionError: [Errno 13] Permission denied: '/x'"))
        == "Permission denied: '/x'"
    )
    assert plain.words(KeyError()) == "it failed without saying why"


def test_lists_have_limits(small, command, tmp_path):
    for seeds in ("1-20000000", "1-100001", f"0-{2**62}", "1-60000,100000-150000"):
        refused(
            command("sweep", small, "--seeds", seeds), f"--seeds {seeds}", "more than 100,000 seeds"
        )
    values = ",".join(map(str, range(400)))
    refused(
        command(
            "sweep", small, "--vary", f"traffic.0.senders={values}", "--vary", f"run.until={values}"
        ),
        "more than 100,000 points",
    )
    with pytest.raises(ValueError, match="more than 100,000 points"):
        afflux.sweep(small, {}, seeds=range(10**12))
    assert not (tmp_path / "out").exists()


def test_numbers_of_options_have_limits(small, command):
    most = settings.MOST_SEED
    for option, value, limit in [
        ("--seed", 2**64, most),
        ("--seed", 2**63, most),
        ("--threads", 2**64, 1024),
        ("--threads", 2**40, 1024),
    ]:
        refused(command("run", small, option, value), option, "at most", str(limit))
    refused(command("sweep", small, "--jobs", 2**64), "--jobs", "at most")
    refused(command("sweep", small, "--seeds", str(2**64)), "--seeds", "at most")
    refused(command("export", "sonic", small, "--ports", 10**12), "--ports", "at most")
    for seed in (2**64, -1):
        with pytest.raises(ValueError, match="expected a whole number from 0 to"):
            afflux.load(small).run(seed=seed)


def test_preparation_is_shown(small, tmp_path):
    seen = []

    class Watch(afflux.batch.Silent):
        def preparing(self, done: int, total: int) -> None:
            seen.append((done, total))

    afflux.sweep(small, {}, seeds=[1, 2], out=tmp_path / "s", watch=Watch())
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4)]


def test_points_of_an_earlier_sweep_are_named(small, tmp_path):
    afflux.sweep(small, {"traffic.0.senders": [2, 3]}, out=tmp_path / "s")
    notes = afflux.sweep(small, {"traffic.0.senders": [3]}, out=tmp_path / "s").outcome.notes
    assert len(notes) == 1
    assert (
        "also holds 1 point of an earlier sweep (traffic.0.senders=2-1), which sweep.csv does not have"
        in notes[0]
    )
    assert (
        afflux.sweep(small, {"traffic.0.senders": [2, 3]}, out=tmp_path / "s").outcome.notes == ()
    )


def test_names_from_files_do_not_reach_the_terminal(small, command, tmp_path, capsys):
    from afflux.terminal.console import print_json, print_text

    print_text("a\x1b[31m\x9b\u202e\n")
    print_json({"a": "\x1b[31m\x9b\u202e"})
    printed = capsys.readouterr().out
    assert not set(printed) & {"\x1b", "\x9b", "\u202e"}
    assert json.loads(printed.partition("\n")[2]) == {"a": "\x1b[31m\x9b\u202e"}


@pytest.mark.parametrize(
    ("redirected", "code", "words"),
    [
        (">/dev/full", 1, "error: standard output: no space left on the device\n"),
        (">&-", 1, "error: standard output: it is closed\n"),
        ("| true", 0, ""),
        ("2>/dev/full >/dev/full", 1, ""),
        ("2>&- >/dev/full", 1, ""),
    ],
)
def test_standard_output_that_fails(redirected, code, words, tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m afflux models {redirected}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (code, words)


def test_a_reader_that_has_gone_ends_the_program_quietly(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "afflux", "models"],
            cwd=tmp_path,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
